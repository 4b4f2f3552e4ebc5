// SPDX-License-Identifier: Apache-2.0
// Strides change no bit of a result: any axis of queries, keys, values and outputs may be the contiguous one, in either
// direction, with sizes below and above a vector and a block.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <optional>
#include <vector>

#include "support/samples.h"

namespace heed::property {
namespace {

// Row-major strides for the axes in that order. With `reverses`, the contiguous axis has a negative stride.
Dims strides_of(const Dims& dims, const std::vector<size_t>& order, bool reverses) {
  Dims strides(dims.size());
  int64_t stride = 1;
  for (size_t i = order.size(); i-- > 0;) {
    strides[order[i]] = stride;
    stride *= std::max<int64_t>(dims[order[i]], 1);
  }
  if (reverses) strides[order.back()] *= -1;
  return strides;
}

// The same call with other strides of queries, keys and values.
Call in_layout(Call call, const std::vector<size_t>& order, bool reverses) {
  const auto arrange = [&](Input& input) {
    input = make_input(input.contents, input.dtype, strides_of(input.contents.dims, order, reverses));
  };
  arrange(call.queries);
  if (call.keys) arrange(*call.keys);
  if (call.values) arrange(*call.values);
  return call;
}

void expect_the_same_bits_in_every_layout(Call call, Random& random) {
  want_everything(call);
  const Results expected = run(call);
  std::vector<size_t> order(call.queries.contents.dims.size());
  std::iota(order.begin(), order.end(), size_t{0});
  do {
    for (const bool reverses : {false, true}) {
      Call other = in_layout(call, order, reverses);
      for (std::optional<OutputRequest>* request : {&other.output, &other.weights})
        (*request)->layout = random.one_of(kWritable);
      other.num_threads = 1 + static_cast<int32_t>(random.below(3));
      const Results results = run(other);
      ASSERT_TRUE(same_bits(results, expected)) << testing::PrintToString(order) << (reverses ? ", backwards" : "");
    }
  } while (std::ranges::next_permutation(order).found);
}

TEST(Layouts, OfManyQueriesChangeNoBit) {
  HEED_SKIP_ON_ASCEND("rule 10 is the CPU's");
  Random random(7401);
  for (heed_dtype dtype : kFloats) {
    expect_the_same_bits_in_every_layout(dot_product_call({2, 4, 2, 19, 7, 33, 36}, random, dtype), random);
    expect_the_same_bits_in_every_layout(dot_product_call({1, 2, 2, 70, 33, 5, 8}, random, dtype), random);
    expect_the_same_bits_in_every_layout(dot_product_call({1, 2, 1, 18, 257, 16, 19}, random, dtype), random);
  }
}

TEST(Layouts, OfFewQueriesChangeNoBit) {
  HEED_SKIP_ON_ASCEND("rule 10 is the CPU's");
  Random random(7402);
  for (heed_dtype dtype : kFloats) {
    expect_the_same_bits_in_every_layout(dot_product_call({2, 12, 6, 1, 32, 33, 36}, random, dtype), random);
    Call call = dot_product_call({2, 6, 3, 3, 45, 5, 8}, random, dtype);
    call.options.causal = HEED_CAUSAL_BOTTOM_RIGHT;
    expect_the_same_bits_in_every_layout(call, random);
    expect_the_same_bits_in_every_layout(dot_product_call({1, 5, 5, 1, 1030, 16, 19}, random, dtype), random);
  }
}

TEST(Layouts, OfEveryKindOfLayerChangeNoBit) {
  HEED_SKIP_ON_ASCEND("rule 10 is the CPU's");
  Random random(7403);
  for (heed_dtype dtype : kFloats) {
    for (const Call& call : call_of_each_kind(random, dtype, 18, 35))
      expect_the_same_bits_in_every_layout(call, random);
  }
}

}  // namespace
}  // namespace heed::property
