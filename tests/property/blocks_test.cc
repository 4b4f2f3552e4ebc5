// SPDX-License-Identifier: Apache-2.0
// Rules for encoder and decoder layers and stacks of them that random calls do not reach.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "property/support/device.h"
#include "support/numbers.h"
#include "support/random_block.h"

namespace heed::property {
namespace {

// A random call over padded rows, without options that read hidden keys and without limits of its own.
std::optional<Call> call_without_limits(uint64_t seed) {
  Call call = make_block_call(seed);
  Block& block = *call.block;
  if (call.query_offsets || num_elements(call.queries.contents.dims) == 0) return std::nullopt;
  block.self_attention.options.empty_rows = HEED_EMPTY_ROWS_ZERO;
  if (block.cross_attention) block.cross_attention->options.empty_rows = HEED_EMPTY_ROWS_ZERO;
  call.training = 0;
  for (std::optional<Input> Call::*const input : {&Call::self_valid_lens, &Call::self_mask, &Call::self_bias,
                                                  &Call::valid_lens, &Call::mask, &Call::bias, &Call::query_lens})
    (call.*input).reset();
  return call;
}

// Calls check(call) for some of these calls.
template <typename Check>
void for_each_call_without_limits(const Check& check) {
  int64_t num_checked = 0;
  for (uint64_t seed = 0; seed < static_cast<uint64_t>(num_rounds(200)) && !testing::Test::HasFailure(); ++seed) {
    const std::optional<Call> call = call_without_limits(seed);
    SCOPED_TRACE(seed);
    if (call) num_checked += check(*call) ? 1 : 0;
  }
  EXPECT_GT(num_checked, num_rounds(200) / 10);
}

// All of row `row` of each batch element becomes `number`.
void fill_row(Input& rows, int64_t row, double number) {
  Array contents = rows.contents;
  for_each_index(contents.dims, [&](const Dims& index, size_t i) {
    if (index[1] == row) contents.values[i] = number;
  });
  rows = make_input(std::move(contents), rows.dtype);
}

Input lengths(int64_t batch, int64_t length) {
  return make_input(filled({batch}, static_cast<double>(length)), HEED_I64);
}

// Whether the rows before `row` of each batch element have the same bits.
void expect_same_rows_before(int64_t row, const Results& a, const Results& b) {
  for_each_index(a.output->contents.dims, [&](const Dims& index, size_t i) {
    if (index[1] >= row) return;
    EXPECT_EQ(a.output->contents.values[i], b.output->contents.values[i]) << "row " << index[1];
  });
}

TEST(Blocks, HiddenTokenThatIsNaNMakesOnlyItsOwnRowNaN) {
  for_each_call_without_limits([](Call call) {
    const reference::AttentionSizes sizes = sizes_of(call);
    const int64_t last = sizes.num_queries - 1;
    if (last == 0) return false;
    (call.block->is_decoder ? call.self_valid_lens : call.valid_lens) = lengths(sizes.batch, last);
    fill_row(call.queries, last, 0.0);
    const Results finite = run(call);
    fill_row(call.queries, last, kNaN);
    const Results results = run(call);
    expect_same_rows_before(last, results, finite);
    for_each_index(results.output->contents.dims, [&](const Dims& index, size_t i) {
      EXPECT_EQ(std::isnan(results.output->contents.values[i]), index[1] == last);
    });
    return true;
  });
}

TEST(Blocks, HiddenRowOfTheEncoderChangesNothing) {
  for_each_call_without_limits([](Call call) {
    if (!call.keys || num_elements(call.keys->contents.dims) == 0) return false;
    const reference::AttentionSizes sizes = sizes_of(call);
    call.valid_lens = lengths(sizes.batch, sizes.num_keys - 1);
    fill_row(*call.keys, sizes.num_keys - 1, 0.0);
    const Results finite = run(call);
    fill_row(*call.keys, sizes.num_keys - 1, kNaN);
    EXPECT_TRUE(same_bits(run(call), finite));
    return true;
  });
}

TEST(Blocks, LaterQueriesAreZeroWhateverTheyHold) {
  for_each_call_without_limits([](Call call) {
    const reference::AttentionSizes sizes = sizes_of(call);
    const int64_t last = sizes.num_queries - 1;
    call.query_lens = lengths(sizes.batch, last);
    fill_row(call.queries, last, 0.0);
    const Results finite = run(call);
    fill_row(call.queries, last, kNaN);
    const Results results = run(call);
    EXPECT_TRUE(same_bits(results, finite));
    for_each_index(results.output->contents.dims, [&](const Dims& index, size_t i) {
      EXPECT_TRUE(index[1] < last || results.output->contents.values[i] == 0.0);
    });
    return true;
  });
}

// Calls that are large enough to be spread over threads.
TEST(Blocks, NumberOfThreadsChangesNoBitOfLargeCalls) {
  HEED_SKIP_ON_ASCEND("rule 10 is the CPU's");
  heed_context_options options = HEED_CONTEXT_OPTIONS_INIT;
  for (const int32_t norm_first : {0, 1}) {
    std::vector<uint8_t> expected;
    for (const int32_t num_threads : {1, 3}) {
      options.num_threads = num_threads;
      heed_context* made_context = nullptr;
      check(heed_context_create(&options, &made_context));
      const Context context(made_context);
      Block block;
      block.is_decoder = true;
      block.num_layers = 2;
      block.self_attention.options.num_hiddens = 96;
      block.self_attention.options.num_heads = 4;
      block.self_attention.options.causal = HEED_CAUSAL_TOP_LEFT;
      block.cross_attention = block.self_attention;
      block.feed_forward.hidden_size = 200;
      block.feed_forward.activation = HEED_ACTIVATION_GELU;
      block.feed_forward.gated = 1;
      block.norm_first = norm_first != 0;
      const Layer layer = make_block(context.get(), block);
      Random random(9);
      const auto rows = [&] {
        Array array = filled({3, 70, 96}, 0.0);
        for (double& element : array.values) element = random.uniform(-2.0, 2.0);
        return HostTensor(context.get(), make_input(std::move(array)));
      };
      const HostTensor queries = rows();
      const HostTensor keys = rows();
      const HostTensor output(context.get(), HEED_F32, {3, 70, 96}, row_major_strides({3, 70, 96}));
      heed_layer_inputs inputs = HEED_LAYER_INPUTS_INIT;
      inputs.queries = queries.handle();
      inputs.keys = keys.handle();
      heed_layer_outputs outputs = HEED_LAYER_OUTPUTS_INIT;
      outputs.output = output.handle();
      check(heed_layer_initialize(layer.get(), &inputs, 5));
      check(heed_layer_forward(layer.get(), &inputs, nullptr, &outputs));
      if (num_threads == 1) expected = output.read_bytes();
      EXPECT_EQ(output.read_bytes(), expected) << num_threads << " threads";
    }
  }
}

}  // namespace
}  // namespace heed::property
