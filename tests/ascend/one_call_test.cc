// SPDX-License-Identifier: Apache-2.0
// heed_tensor_create_from and heed_scaled_dot_product_attention on an NPU.
#include <gtest/gtest.h>

#include "ascend/support/simulated.h"
#include "capi/support/attention_call.h"
#include "capi/support/refusal.h"

namespace heed::ascend_test {
namespace {

using capi_test::AttentionCall;
using capi_test::Kind;

class OneCall : public Simulated {};

TEST_F(OneCall, CreatesATensorOnTheDeviceFromElements) {
  const Context context = make_npu_context();
  const std::vector<float> elements = {1, -2, 3.5f, 0, 5, 6};
  const int64_t dims[] = {2, 3};
  heed_tensor* made = nullptr;
  ASSERT_EQ(heed_tensor_create_from(context.get(), HEED_F32, 2, dims, elements.data(), &made), HEED_OK)
      << heed_last_error();
  const Tensor tensor(made);
  EXPECT_EQ(capi_test::read_elements<float>(tensor.get()), elements);
}

TEST_F(OneCall, GivesTheSameBitsAsALayer) {
  for (const Kind kind : {Kind::DotProductRank3, Kind::DotProductRank4}) {
    const AttentionCall call(make_npu_context(), kind, {}, HEED_F16);
    ASSERT_EQ(call.forward(), HEED_OK) << heed_last_error();
    const std::vector<uint8_t> expected = call.read_outputs();
    property::check(heed_tensor_fill(call.outputs.output, 7));
    ASSERT_EQ(heed_scaled_dot_product_attention(call.context.get(), nullptr, &call.inputs, &call.outputs), HEED_OK)
        << heed_last_error();
    EXPECT_EQ(call.read_outputs(), expected);
  }
}

TEST_F(OneCall, ReportsAnOperationThatCannotBeExecuted) {
  const AttentionCall call(make_npu_context(), Kind::DotProductRank3, {}, HEED_F16);
  ASSERT_EQ(call.forward(), HEED_OK) << heed_last_error();
  ascend_sim_set_faults("execute=1:4");
  EXPECT_TRUE(
      capi_test::is_refused(heed_scaled_dot_product_attention(call.context.get(), nullptr, &call.inputs, &call.outputs),
                            {HEED_ERROR_INTERNAL, {"(Execute) failed with ATB's status 4"}}));
}

TEST_F(OneCall, RefusesTensorsOfAnotherDeviceNamingTheContext) {
  const Context npu = make_npu_context();
  const AttentionCall call(Kind::DotProductRank3);
  capi_test::forget_last_error();
  EXPECT_TRUE(capi_test::is_refused(
      heed_scaled_dot_product_attention(npu.get(), nullptr, &call.inputs, &call.outputs),
      capi_test::invalid(
          {"inputs->queries is on device cpu:0, but the context is on ascend:0: expected the same device"})));
}

}  // namespace
}  // namespace heed::ascend_test
