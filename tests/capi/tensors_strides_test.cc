// SPDX-License-Identifier: Apache-2.0
// Strides that are never used may have any value: those of axes of size 1, and those of tensors without elements. With
// the undefined behaviour sanitizer these calls also show that no arithmetic on them overflows.
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "capi/support/objects.h"

namespace heed::capi_test {
namespace {

constexpr int64_t kHuge = INT64_MAX;
constexpr int64_t kLow = INT64_MIN;

Tensor wrap(heed_context* context, heed_dtype dtype, const std::vector<int64_t>& dims,
            const std::vector<int64_t>& strides, void* data) {
  heed_tensor* tensor = nullptr;
  check(heed_tensor_wrap(context, dtype, static_cast<int32_t>(dims.size()), dims.data(), strides.data(), data, nullptr,
                         nullptr, &tensor));
  return Tensor(tensor);
}

TEST(StridesWithoutSteps, OfAxesOfSizeOneAreIgnored) {
  const Context context = make_context();
  std::vector<float> data = {1, 2, 3, 4};
  for (const int64_t stride : {kHuge, kLow, int64_t{0}}) {
    const Tensor tensor = wrap(context.get(), HEED_F32, {1, 4}, {stride, 1}, data.data());
    std::vector<float> read(4);
    EXPECT_EQ(heed_tensor_read(tensor.get(), read.data(), 16), HEED_OK);
    EXPECT_EQ(read, data);
    const std::vector<float> written = {5, 6, 7, 8};
    EXPECT_EQ(heed_tensor_write(tensor.get(), written.data(), 16), HEED_OK);
    EXPECT_EQ(data, written);
    data = {1, 2, 3, 4};
    std::vector<float> other(4);
    const Tensor copy = wrap(context.get(), HEED_F32, {1, 4}, {stride, 1}, other.data());
    EXPECT_EQ(heed_tensor_copy(copy.get(), tensor.get()), HEED_OK);
    EXPECT_EQ(other, data);
  }
}

TEST(StridesWithoutSteps, OfTensorsWithoutElementsAreIgnored) {
  const Context context = make_context();
  const Tensor empty = wrap(context.get(), HEED_F32, {2, 0, 3}, {kHuge, kLow, kHuge}, nullptr);
  EXPECT_EQ(heed_tensor_fill(empty.get(), 1), HEED_OK);
  EXPECT_EQ(heed_tensor_read(empty.get(), nullptr, 0), HEED_OK);
}

// The extent of such a tensor in bytes fits into an unsigned number, but not into a signed one.
TEST(StridesThatReachFar, InBothDirectionsDoNotOverflow) {
  const Context context = make_context();
  void* const middle = reinterpret_cast<void*>(uintptr_t{1} << 63u);  // NOLINT(performance-no-int-to-ptr): never read
  const int64_t far = int64_t{1} << 62;
  const Tensor tensor = wrap(context.get(), HEED_U8, {2, 2}, {far, -far}, middle);
  EXPECT_EQ(heed_tensor_num_elements(tensor.get()), 4);
}

TEST(StridesWithoutSteps, OfShapesCanBeReshaped) {
  const Context context = make_context();
  const Tensor shape = wrap(context.get(), HEED_BOOL, {2}, {kHuge - 1}, nullptr);
  const int64_t dims[] = {1, 2, 1};
  heed_tensor* view = nullptr;
  EXPECT_EQ(heed_tensor_reshape(shape.get(), 3, dims, &view), HEED_OK);
  EXPECT_EQ(heed_tensor_stride(view, 1), kHuge - 1);
  heed_tensor_destroy(view);
}

TEST(StridesWithoutSteps, OfCallsAreIgnored) {
  const Context context = make_context();
  std::vector<float> data(64, 1.0F);
  heed_layer* made = nullptr;
  check(heed_dot_product_attention_create(context.get(), nullptr, &made));
  const Layer layer(made);
  const Tensor queries = wrap(context.get(), HEED_F32, {1, 3, 4}, {kLow, 4, 1}, data.data());
  const Tensor values = wrap(context.get(), HEED_F32, {1, 3, 0}, {1, kHuge, 1}, data.data());
  heed_layer_inputs inputs = HEED_LAYER_INPUTS_INIT;
  inputs.queries = queries.get();
  inputs.values = values.get();
  heed_layer_outputs outputs = HEED_LAYER_OUTPUTS_INIT;
  check(heed_layer_create_outputs(layer.get(), &inputs, HEED_WANT_OUTPUT | HEED_WANT_WEIGHTS, &outputs));
  EXPECT_EQ(heed_layer_forward(layer.get(), &inputs, nullptr, &outputs), HEED_OK);
  heed_tensor_destroy(outputs.output);
  heed_tensor_destroy(outputs.weights);
}

}  // namespace
}  // namespace heed::capi_test
