// SPDX-License-Identifier: Apache-2.0
// Random encoder and decoder layers and stacks of them: against the f64 reference, and by rule 10 to the bit.
//
// A failing case prints its number. HEED_BLOCK_CASE runs it alone.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <string>
#include <utility>

#include "property/support/device.h"
#include "support/batch_part.h"
#include "support/block_reference.h"
#include "support/one_input.h"
#include "support/packing.h"
#include "support/random_block.h"

namespace heed::property {
namespace {

// Calls check(call, random) for each random call.
template <typename Check>
void for_each_call(int64_t num_calls, const Check& check) {
  const int64_t only = from_environment("HEED_BLOCK_CASE", -1);
  for (int64_t number = 0; number < num_rounds(num_calls) && !testing::Test::HasFailure(); ++number) {
    if (only >= 0 && number != only) continue;
    SCOPED_TRACE("HEED_BLOCK_CASE=" + std::to_string(number));
    Random random(static_cast<uint64_t>(number));
    check(make_block_call(static_cast<uint64_t>(number)), random);
  }
}

bool drops(const Call& call) {
  const Block& block = *call.block;
  const float cross_attention = block.cross_attention ? block.cross_attention->options.dropout : 0.0F;
  return call.training != 0 &&
         block.self_attention.options.dropout + cross_attention + block.feed_forward.dropout + block.dropout != 0.0F;
}

TEST(Blocks, AgreeWithTheReference) {
  AccuracyStatistics statistics;
  for_each_call(900, [&](const Call& call, Random&) { EXPECT_TRUE(agrees_with_reference(call, &statistics)); });
  std::printf("largest used fraction of the bound: %.3g in %lld elements\n", statistics.largest_fraction,
              static_cast<long long>(statistics.elements));
  EXPECT_EQ(statistics.without_bound, 0);
  // The bound is not much wider than errors are.
  EXPECT_GT(statistics.largest_fraction, 0.02);
}

TEST(Blocks, ThreadsWorkspaceAndPartsOfABatchChangeNoBit) {
  HEED_SKIP_ON_ASCEND("rule 10 is the CPU's");
  for_each_call(400, [&](const Call& call, Random& random) {
    const Results expected = run(call);
    Call other = call;
    other.num_threads = call.num_threads == 1 ? 3 : 1;
    other.with_workspace = !call.with_workspace;
    EXPECT_TRUE(same_bits(run(other), expected)) << "threads and workspace";
    const int64_t batch = sizes_of(call).batch;
    if (batch == 0) return;
    // Which elements are dropped depends on their number in the batch.
    const int64_t first = drops(call) ? 0 : random.below(batch);
    const int64_t count = 1 + random.below(batch - first);
    EXPECT_TRUE(same_bits(run(part_of_batch(call, first, count)), part_of_batch(call, expected, first, count)))
        << "batch elements " << first << " to " << first + count - 1 << " of " << batch;
  });
}

TEST(Blocks, PackedBatchHasTheBitsOfThePaddedOne) {
  HEED_SKIP_ON_ASCEND("rule 10 is the CPU's");
  int64_t num_compared = 0;
  for_each_call(600, [&](const Call& call, Random&) {
    // Cross attention of padded rows has other positions K - Q + i, and its constant keys follow K keys.
    if (!is_packed(call) || call.block->cross_attention) return;
    EXPECT_TRUE(same_bits(packed_results(call, run(padded_form(call, 7.0))), run(call)));
    ++num_compared;
  });
  EXPECT_GT(num_compared, num_rounds(600) / 10);
}

TEST(Blocks, TrainingWithoutDropoutChangesNoBit) {
  for_each_call(200, [&](Call call, Random&) {
    call.training = 0;
    const Results expected = run(call);
    Block& block = *call.block;
    block.dropout = block.feed_forward.dropout = block.self_attention.options.dropout = 0.0F;
    if (block.cross_attention) block.cross_attention->options.dropout = 0.0F;
    call.training = 1;
    EXPECT_TRUE(same_bits(run(call), expected));
  });
}

// The same numbers in F32.
void widen(std::optional<Input>& input) {
  if (input) input = make_input(input->contents, HEED_F32, input->strides);
}

// The norm behind the last layer of a stack.
Results normalize(const Call& call, const Result& rows) {
  const Context context = make_context();
  heed_layer* made = nullptr;
  check(heed_layer_norm_create(context.get(), &call.block->norm, &made));
  const Layer layer(made);
  for (const char* name : {"weight", "bias"}) {
    const auto parameter = call.parameters.find(std::string("norm.") + name);
    if (parameter == call.parameters.end()) continue;
    check(heed_layer_set_parameter(layer.get(), name, HostTensor(context.get(), parameter->second).handle()));
  }
  OneOutput output = forward(context.get(), layer.get(), {make_input(rows.contents), HEED_F32, {}});
  return {Result{HEED_F32, std::move(output.contents), std::move(output.bytes)}, {}, {}};
}

TEST(Blocks, StackHasTheBitsOfItsLayersOneAfterAnother) {
  HEED_SKIP_ON_ASCEND("intermediates are F32 on the CPU");
  int64_t num_compared = 0;
  for_each_call(400, [&](Call call, Random&) {
    if (call.block->num_layers == 0 || (call.query_lens && call.block->final_norm)) return;
    call.training = 0;
    call.output = OutputRequest{HEED_F32};
    const Results whole = run(call);
    Results rows;
    for (int64_t i = 0; i < call.block->num_layers; ++i) {
      Call layer = layer_of_stack(call, i);
      layer.block->final_norm = false;
      if (i > 0) {
        layer.queries = make_input(rows.output->contents);
        for (std::optional<Input>* input : {&layer.keys, &layer.bias, &layer.self_bias}) widen(*input);
      }
      rows = run(layer);
    }
    if (call.block->final_norm) rows = normalize(call, *rows.output);
    EXPECT_TRUE(same_bits(rows, whole));
    ++num_compared;
  });
  EXPECT_GT(num_compared, num_rounds(400) / 3);
}

}  // namespace
}  // namespace heed::property
