// SPDX-License-Identifier: Apache-2.0
// Large heads, including heads of more than 4096 elements, the limit of the kernel for few queries; and rows of keys
// and values that are a multiple of 4 KiB apart, which kernels copy first.
#include <gtest/gtest.h>

#include <cstdint>
#include <utility>

#include "support/samples.h"

namespace heed::property {
namespace {

struct HeadSizes {
  int64_t keys;
  int64_t values;
};

TEST(HeadSizes, LargeHeadsAgreeWithTheReference) {
  Random random(2301);
  for (heed_dtype dtype : {HEED_F32, HEED_F16, HEED_BF16}) {
    for (const HeadSizes size : {HeadSizes{512, 300}, {513, 640}, {4096, 5}, {4097, 8}, {8, 4097}}) {
      // Few queries with few keys, few queries with enough keys for their kernel, and many queries.
      for (const auto& [num_queries, num_keys] : {std::pair{2, 7}, {3, 40}, {9, 300}}) {
        if (num_keys == 300 && size.keys != 512) continue;
        Call call = dot_product_call({2, 4, 2, num_queries, num_keys, size.keys, size.values}, random, dtype);
        call.options.causal = HEED_CAUSAL_BOTTOM_RIGHT;
        want_everything_in_f32(call);
        EXPECT_TRUE(agrees_with_reference(call)) << "head sizes " << size.keys << " and " << size.values << ", "
                                                 << num_queries << " queries, " << num_keys << " keys, dtype " << dtype;
      }
    }
  }
}

// A device may compute the weights of such heads even if it cannot compute their output.
TEST(HeadSizes, WithoutAnOutputTheWeightsOfLargeHeadsAgreeWithTheReference) {
  Random random(2304);
  for (heed_dtype dtype : {HEED_F32, HEED_F16, HEED_BF16}) {
    for (const HeadSizes size : {HeadSizes{300, 16}, {16, 300}, {1025, 640}}) {
      Call call = dot_product_call({2, 4, 2, 3, 40, size.keys, size.values}, random, dtype);
      call.options.causal = HEED_CAUSAL_BOTTOM_RIGHT;
      want_everything_in_f32(call);
      call.output.reset();
      EXPECT_TRUE(agrees_with_reference(call))
          << "head sizes " << size.keys << " and " << size.values << ", dtype " << dtype;
    }
  }
}

// Ascend's kernel works in blocks of 64 to 128 keys for these head sizes, and with these numbers of keys its last pair
// of blocks is not full. A row that saw a later key would differ by more than the roundings to F16.
TEST(HeadSizes, CausalRowsSeeNoLaterKeyWhereverBlocksEnd) {
  Random random(2303);
  struct Sizes {
    HeadSizes head;
    int64_t keys;
  };
  for (const auto& [size, num_keys] :
       {Sizes{{144, 144}, 576}, {{160, 100}, 512}, {{176, 176}, 448}, {{30, 192}, 410}, {{192, 192}, 576}}) {
    Call call = dot_product_call({1, 1, 1, num_keys, num_keys, size.keys, size.values}, random, HEED_F16);
    call.options.causal = HEED_CAUSAL_TOP_LEFT;
    EXPECT_TRUE(agrees_with_reference(call))
        << "head sizes " << size.keys << " and " << size.values << ", " << num_keys << " keys";
  }
}

// The strides of heads that are adjacent in a row: (B, S, H, D).
Input with_rows_apart(const Input& input, int64_t row_stride) {
  const Dims& dims = input.contents.dims;
  return make_input(input.contents, input.dtype, {dims[2] * row_stride, dims[3], row_stride, 1});
}

TEST(HeadSizes, RowsAMultipleOf4KiBApartChangeNothing) {
  Random random(2302);
  for (heed_dtype dtype : {HEED_F32, HEED_BF16}) {
    for (const int64_t num_queries : {1, 3, 5, 40}) {
      for (const int64_t num_keys : {20, 300}) {
        for (const HeadSizes size : {HeadSizes{64, 64}, {17, 30}}) {
          Call call = dot_product_call({2, 8, 4, num_queries, num_keys, size.keys, size.values}, random, dtype);
          want_everything(call);
          const Results expected = run(call);
          EXPECT_TRUE(agree(expected, solve(call)));
          for (const int64_t row_stride : {1023, 1024, 2048}) {
            Call apart = call;
            apart.keys = with_rows_apart(*call.keys, row_stride);
            apart.values = with_rows_apart(*call.values, row_stride);
            const Results results = run(apart);
            // The CPU computes what Ascend cannot, so the bits may differ there.
            EXPECT_TRUE(on_ascend() ? agree(results, solve(apart)) : same_bits(results, expected))
                << num_queries << " queries, " << num_keys << " keys, rows " << row_stride << " elements apart";
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace heed::property
