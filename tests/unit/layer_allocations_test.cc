// SPDX-License-Identifier: Apache-2.0
// Calls of layers that allocate nothing: of a layer of layers with a workspace, and of multi-head attention, whose schedule
// fits on the stack.
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "backends/workspace.h"
#include "chain.h"
#include "layers/kinds/dropout.h"
#include "layers/kinds/linear.h"
#include "layers/kinds/multi_head_attention.h"
#include "support/platform/allocation_hook.h"
#include "tensor/fill.h"

namespace heed {
namespace {

TEST(LayerTree, AllocatesNothingInForward) {
  const auto context = Context::open({});
  const auto linear = [&] { return std::make_shared<Linear>(context, LinearOptions{.output_size = 64}); };
  MultiHeadAttentionOptions options;
  options.num_hiddens = 64;
  options.num_heads = 2;
  const auto attention = [&] { return std::make_shared<MultiHeadAttention>(context, options); };
  const auto dropout = std::make_shared<Dropout>(context, DropoutOptions{.dropout = 0.3f});
  const auto inner = std::make_shared<Chain>(context, Children{attention(), dropout, linear()});
  Chain tree(context, {linear(), inner, attention()});

  const Tensor input = Tensor::zeros(context, DType::F32, {2, 5, 64});
  fill_normal(input, 0, 1, 1);
  LayerInputs inputs;
  inputs.queries = &input;
  inputs.training = true;
  tree.initialize(inputs, 1);
  const Tensor output = Tensor::zeros(context, DType::F32, {2, 5, 64});
  LayerOutputs outputs;
  outputs.output = &output;
  const auto workspace = Workspace::create(context, tree.workspace_size(inputs, outputs));
  const int64_t before = num_allocations();
  tree.forward(inputs, workspace.get(), outputs);
  tree.forward(inputs, workspace.get(), outputs);
  EXPECT_EQ(num_allocations() - before, 0);
}

// If the first part of the arena were too small, this call would be the first of its context to take a block.
TEST(MultiHeadAttention, HasItsScheduleOnTheStack) {
  ContextOptions single_thread;
  single_thread.num_threads = 1;
  const auto context = Context::open(single_thread);
  MultiHeadAttentionOptions options;
  options.num_hiddens = 64;
  options.num_heads = 2;
  MultiHeadAttention layer(context, options);
  const auto input = [&](int64_t rows) { return Tensor::zeros(context, DType::F32, {2, rows, 64}); };
  const Tensor queries = input(5);
  const Tensor keys = input(6);
  const Tensor values = input(6);
  const Tensor output = input(5);
  LayerInputs inputs;
  inputs.queries = &queries;
  inputs.keys = &keys;
  inputs.values = &values;
  LayerOutputs outputs;
  outputs.output = &output;
  layer.initialize(inputs, 1);
  const int64_t before = num_allocations();
  layer.workspace_size(inputs, outputs);
  EXPECT_EQ(num_allocations() - before, 0);
}

}  // namespace
}  // namespace heed
