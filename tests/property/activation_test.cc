// SPDX-License-Identifier: Apache-2.0
// Activations of tensors: docs/semantics.md, section "Operations", against the f64 reference.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "property/support/operation_call.h"
#include "reference/feed_forward.h"
#include "support/activations.h"

namespace heed::property {
namespace {

Out activate(const Input& tensor, int32_t activation, heed_dtype dtype, const Dims& strides) {
  return on_device([&](Fallback fallback) {
    const Context context = make_context(fallback);
    const HostTensor given(context.get(), tensor);
    return into_result(context.get(), dtype, tensor.contents.dims, strides, {&given},
                       [&](heed_tensor* result) { return heed_activation(given.handle(), activation, result); });
  });
}

Out activate(const Input& tensor, int32_t activation, heed_dtype dtype = HEED_F32) {
  return activate(tensor, activation, dtype, row_major_strides(tensor.contents.dims));
}

constexpr std::pair<int32_t, reference::Activation> kActivations[] = {
#define HEED_ITEM(upper, name) {HEED_ACTIVATION_##upper, reference::Activation::name},
    HEED_TEST_ACTIVATIONS(HEED_ITEM)
#undef HEED_ITEM
};

// `dtype`: of the array.
Expected expected_activation(const Array& array, reference::Activation activation, heed_dtype dtype) {
  Expected expected{array, array};
  const std::optional<reference::Format> format = compute_format(dtype);
  const reference::Bounded read = reference::as_read(array.values, format);
  for (size_t i = 0; i < array.values.size(); ++i) {
    const auto [value, error] = reference::activate(activation, {read.values[i], read.errors[i]}, format);
    expected.values.values[i] = value;
    expected.errors.values[i] = error;
  }
  return expected;
}

TEST(Activation, AgreesWithTheReference) {
  Random random(4301);
  for (const auto& [activation, function] : kActivations) {
    double largest = 0.0;
    for (int64_t round = 0; round < num_rounds(300); ++round) {
      Dims dims;
      for (int64_t i = 1 + random.below(8); i > 0; --i) dims.push_back(random.chance(0.03) ? 0 : 1 + random.below(3));
      dims[to_size(random.below(static_cast<int64_t>(dims.size())))] = random.one_of<int64_t>({0, 1, 2, 7, 64, 300});
      const heed_dtype dtype = random.one_of(kFloats);
      const heed_dtype to = result_dtype(dtype, random);
      const Input input = random_input(dims, dtype, random.one_of(kReadable), random,
                                       random.one_of<double>({0.1, 3.0, 100.0, 60000.0}));
      const Out result = activate(input, activation, to, make_strides(random.one_of(kWritable), dims, random));
      const Expected expected = expected_activation(input.contents, function, dtype);
      ASSERT_TRUE(agree(to, result.contents, expected.values, expected.errors))
          << "activation " << activation << ", round " << round;
      largest = std::max(largest, largest_fraction(to, result.contents, expected.values, expected.errors));
    }
    EXPECT_TRUE(largest > 0.1 || activation == HEED_ACTIVATION_RELU) << activation;  // ReLU is exact
    EXPECT_LE(largest, 1.0);
  }
}

TEST(Activation, OfLongRowsAgreesWithTheReference) {
  Random random(4302);
  const Input input = random_input({3, 20001}, HEED_F32, Layout::RowMajor, random, 10.0);
  const Expected expected = expected_activation(input.contents, reference::Activation::Gelu, HEED_F32);
  EXPECT_TRUE(agree(HEED_F32, activate(input, HEED_ACTIVATION_GELU).contents, expected.values, expected.errors));
}

TEST(Activation, NumbersThatAreNotFinite) {
  for (const auto& [activation, function] : kActivations) {
    const Out result = activate(make_input({{4}, {kNaN, -kInfinity, kInfinity, 0}}), activation);
    const std::vector<double>& values = result.contents.values;
    EXPECT_TRUE(std::isnan(values[0]));
    EXPECT_TRUE(activation == HEED_ACTIVATION_RELU ? values[1] == 0 : std::isnan(values[1])) << activation;
    EXPECT_EQ(values[2], kInfinity);
    EXPECT_EQ(values[3], 0);
  }
}

TEST(Activation, ElementAloneAndWithAnyStridesHasTheSameBits) {
  Random random(4303);
  for (const heed_dtype dtype : kFloats) {
    const Input whole = random_input({5, 67}, dtype, Layout::RowMajor, random, 5.0);
    const Out expected = activate(whole, HEED_ACTIVATION_SILU, dtype);
    for (const int64_t i : {0, 66, 67, 334}) {
      const Input one = make_input({{1}, {whole.contents.values[to_size(i)]}}, dtype);
      EXPECT_EQ(activate(one, HEED_ACTIVATION_SILU, dtype).bytes, part(expected.bytes, i, 335));
    }
    for (const Layout layout : {Layout::Transposed, Layout::Padded, Layout::Reversed}) {
      const Input other = make_input(whole.contents, dtype, make_strides(layout, {5, 67}, random));
      EXPECT_EQ(activate(other, HEED_ACTIVATION_SILU, dtype).bytes, expected.bytes);
    }
  }
}

}  // namespace
}  // namespace heed::property
