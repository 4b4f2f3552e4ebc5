// SPDX-License-Identifier: Apache-2.0
// Decoders with a cache: however the rows are divided into calls, they are those of the whole sequence within the bound, and
// without cross attention, whose sums may depend on the number of queries, they have the same bits.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "property/support/device.h"
#include "support/random_block.h"

namespace heed::property {
namespace {

using Cache = std::unique_ptr<heed_cache, Destroyer<heed_cache_destroy>>;

// For every layer of the decoder, and `num_missing` layers fewer.
Cache make_cache(const Runner& runner, const Call& call, int64_t num_missing = 0) {
  const reference::AttentionSizes sizes = sizes_of(call);
  heed_cache_options options = HEED_CACHE_OPTIONS_INIT;
  options.num_layers = std::max<int64_t>(1, call.block->num_layers) - num_missing;
  options.max_sequences = sizes.batch;
  options.num_kv_heads = sizes.num_kv_heads;
  options.head_size = sizes.head_size;
  options.value_head_size = sizes.value_head_size;
  options.capacity = sizes.num_queries;
  heed_cache* cache = nullptr;
  check(heed_cache_create(runner.context(), &options, &cache));
  return Cache(cache);
}

// The decoder of a random call, causal, with nothing that depends on how many rows a call has. False if it can have no
// cache.
bool make_cacheable(Call& call) {
  Block& block = *call.block;
  heed_multi_head_attention_options& self = block.self_attention.options;
  if (!block.is_decoder || call.query_lens || call.query_offsets || self.scoring != HEED_SCORING_DOT_PRODUCT)
    return false;
  if (num_elements(call.queries.contents.dims) == 0) return false;
  self.causal = HEED_CAUSAL_BOTTOM_RIGHT;
  self.empty_rows = HEED_EMPTY_ROWS_ZERO;
  if (block.cross_attention) {
    heed_multi_head_attention_options& cross = block.cross_attention->options;
    cross.causal = HEED_CAUSAL_NONE;
    cross.window = HEED_WINDOW_NONE;
    cross.window_left = cross.window_right = 0;
    cross.alibi = HEED_ALIBI_NONE;
    if (cross.relative_bias != HEED_RELATIVE_BIAS_NONE || block.cross_attention->rope) return false;
  }
  for (std::optional<Input> Call::*const input : {&Call::self_valid_lens, &Call::self_mask, &Call::self_bias,
                                                  &Call::valid_lens, &Call::mask, &Call::bias, &Call::positions})
    (call.*input).reset();
  call.training = 0;
  call.output = OutputRequest{HEED_F32};
  call.options = self;
  return true;
}

// The output of calls with `counts` rows each.
Results forward_in_pieces(const Runner& runner, Call call, const std::vector<int64_t>& counts) {
  const Cache cache = make_cache(runner, call);
  heed_cache_inputs inputs = HEED_CACHE_INPUTS_INIT;
  inputs.cache = cache.get();
  call.cache = &inputs;
  const Array rows = call.queries.contents;
  Result whole = {HEED_F32, filled(rows.dims, 0.0), {}};
  int64_t first = 0;
  for (const int64_t count : counts) {
    call.queries = make_input(slice(rows, 1, first, count), call.queries.dtype);
    const Results results = runner.forward(call);
    for_each_index(results.output->contents.dims, [&](const Dims& index, size_t i) {
      const int64_t row = index[0] * rows.dims[1] + first + index[1];
      whole.contents.values[static_cast<size_t>(row * rows.dims[2] + index[2])] = results.output->contents.values[i];
    });
    first += count;
    EXPECT_EQ(heed_cache_length(cache.get(), 0), first);
  }
  return {whole, {}, {}};
}

TEST(BlockCache, RowsMayBeCutIntoCallsAnyhowAndAreThoseOfTheSequence) {
  HEED_SKIP_ON_ASCEND("rule 10 is the CPU's");
  int64_t num_compared = 0;
  for (uint64_t seed = 0; seed < static_cast<uint64_t>(num_rounds(400)) && !HasFailure(); ++seed) {
    Call call = make_block_call(seed);
    if (!make_cacheable(call)) continue;
    SCOPED_TRACE(seed);
    const Runner runner(call);
    const int64_t num_rows = sizes_of(call).num_queries;
    const Results whole = forward_in_pieces(runner, call, {num_rows});
    const reference::AttentionResult expected = solve(call);
    EXPECT_TRUE(agree(whole, expected));
    std::vector<std::vector<int64_t>> divisions = {std::vector<int64_t>(static_cast<size_t>(num_rows), 1)};
    if (num_rows > 2) divisions.push_back({2, num_rows - 2});
    for (const std::vector<int64_t>& counts : divisions) {
      const Results pieces = forward_in_pieces(runner, call, counts);
      EXPECT_TRUE(agree(pieces, expected));
      if (call.block->cross_attention) continue;
      EXPECT_EQ(pieces.output->contents.values, whole.output->contents.values);
    }
    ++num_compared;
  }
  EXPECT_GT(num_compared, num_rounds(400) / 20);
}

TEST(BlockCache, OfTooFewLayersStaysAsItIs) {
  int64_t num_refused = 0;
  for (uint64_t seed = 0; seed < 60 && !HasFailure(); ++seed) {
    Call call = make_block_call(seed);
    if (!make_cacheable(call) || call.block->num_layers < 2) continue;
    const Runner runner(call);
    const Cache cache = make_cache(runner, call, 1);
    heed_cache_inputs inputs = HEED_CACHE_INPUTS_INIT;
    inputs.cache = cache.get();
    call.cache = &inputs;
    EXPECT_THROW(runner.forward(call), CallFailed);
    EXPECT_EQ(heed_cache_length(cache.get(), 0), 0);
    ++num_refused;
  }
  EXPECT_GT(num_refused, 0);
}

}  // namespace
}  // namespace heed::property
