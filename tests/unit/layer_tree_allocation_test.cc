// SPDX-License-Identifier: Apache-2.0
// A layer of layers allocates nothing in a forward that has a workspace.
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "backends/workspace.h"
#include "chain.h"
#include "layers/dropout.h"
#include "layers/linear.h"
#include "layers/multi_head_attention.h"
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

}  // namespace
}  // namespace heed
