// SPDX-License-Identifier: Apache-2.0
// ALiBi through the C functions: where a distance is no float, and with a struct of the time before it.
#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "capi/support/attention_call.h"

namespace heed::capi_test {
namespace {

// Distances beyond 2^24 are rounded. All keys share one address, and the first thousand are visible.
TEST(Alibi, ReachesKeysFartherThanAFloatCounts) {
  constexpr int64_t kNumKeys = (int64_t{1} << 24) + 3;
  constexpr int64_t kNumVisible = 1000;
  constexpr double kSlope = 0x1p-20;
  AttentionCall call(Kind::DotProductRank3);
  heed_tensor* const zero = call.zeros({1, 1, 1});
  call.inputs.queries = zero;
  call.inputs.keys = call.inputs.values = call.keep(make_view(zero, {1, kNumKeys, 1}, {0, 0, 0}));
  call.inputs.valid_lens = call.tensor_of<int64_t>({1}, {kNumVisible});
  call.inputs.alibi_slopes = call.tensor_of<float>({1}, {kSlope});
  call.outputs = HEED_LAYER_OUTPUTS_INIT;
  call.outputs.log_sum_exp = call.zeros({1, 1});
  ASSERT_EQ(call.forward(), HEED_OK) << heed_last_error();
  double sum = 0;
  for (int64_t k = 0; k < kNumVisible; ++k) sum += std::exp(-kSlope * static_cast<double>(kNumKeys - 1 - k));
  EXPECT_NEAR(read_elements<float>(call.outputs.log_sum_exp)[0], std::log(sum), 2e-5);
}

TEST(Alibi, IsNotReadFromAStructThatEndsBeforeIt) {
  AttentionCall call(Kind::MultiHead);
  ASSERT_EQ(call.forward(), HEED_OK) << heed_last_error();
  const std::vector<uint8_t> plain = call.read_outputs();
  heed_tensor* const slopes = call.tensor_of<float>({2}, {0.5F, 1.0F});
  call.inputs.alibi_slopes = slopes;
  ASSERT_EQ(call.forward(), HEED_OK) << heed_last_error();
  EXPECT_NE(call.read_outputs(), plain);
  call.inputs.struct_size = offsetof(heed_layer_inputs, alibi_slopes);
  ASSERT_EQ(call.forward(), HEED_OK) << heed_last_error();
  EXPECT_EQ(call.read_outputs(), plain);
}

// A causal row alone, as a step with a cache computes it, is what it is among all rows.
TEST(Alibi, OfTheLastQueryAloneIsThatOfAllQueries) {
  for (const int64_t num_keys : {3, 40, 300}) {
    AttentionCall all(Kind::DotProductRank4, {1, num_keys, num_keys});
    heed_tensor* const slopes = all.keep(make_tensor(all.context.get(), {4}));
    check(heed_tensor_fill_alibi_slopes(slopes));
    all.inputs.alibi_slopes = slopes;
    heed_dot_product_attention_options options = HEED_DOT_PRODUCT_ATTENTION_OPTIONS_INIT;
    options.causal = HEED_CAUSAL_BOTTOM_RIGHT;
    all.layer = make_dot_product(all.context.get(), options);
    ASSERT_EQ(all.forward(), HEED_OK) << heed_last_error();
    const std::vector<float> of_all = read_elements<float>(all.outputs.log_sum_exp);

    heed_layer_inputs inputs = all.inputs;
    heed_tensor* const queries = const_cast<heed_tensor*>(all.inputs.queries);
    inputs.queries = all.keep(make_slice(queries, 2, num_keys - 1, 1));
    heed_layer_outputs outputs = HEED_LAYER_OUTPUTS_INIT;
    outputs.log_sum_exp = all.zeros({1, 4, 1});
    ASSERT_EQ(heed_layer_forward(all.layer.get(), &inputs, nullptr, &outputs), HEED_OK) << heed_last_error();
    const std::vector<float> of_last = read_elements<float>(outputs.log_sum_exp);
    for (int64_t h = 0; h < 4; ++h) {
      const auto last = static_cast<size_t>((h + 1) * num_keys - 1);
      EXPECT_NEAR(of_last[static_cast<size_t>(h)], of_all[last], 1e-5) << num_keys << " keys, head " << h;
    }
  }
}

}  // namespace
}  // namespace heed::capi_test
