// SPDX-License-Identifier: Apache-2.0
// heed_scaled_dot_product_attention gives the same bits as a layer with the same options: random calls with any
// strides, dtypes, masks and options.
#include <gtest/gtest.h>

#include "support/random_case.h"

namespace heed::property {
namespace {

TEST(OneCall, GivesTheSameBitsAsALayerInRandomCases) {
  constexpr uint64_t kSeed = 90210;
  constexpr int kCases = 300;
  ChoiceSampler sampler(kSeed);
  int num_run = 0;
  for (uint64_t number = 0; num_run < kCases && !HasFailure(); ++number) {
    const Choice choice = sampler.next();
    Call call = make_call(choice, kSeed * 1000003 + number);
    if (call.kind != Kind::DotProductRank3 && call.kind != Kind::DotProductRank4) continue;
    ++num_run;
    const Results expected = run(call);
    call.in_one_call = true;
    EXPECT_TRUE(same_bits(expected, run(call))) << describe(choice);
  }
}

}  // namespace
}  // namespace heed::property
