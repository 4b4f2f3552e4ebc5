// SPDX-License-Identifier: Apache-2.0
// Calls of operations on tensors: random inputs, the result of a call, and what is expected of it.
#pragma once

#include <gtest/gtest.h>
#include <heed/heed.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "property/support/device.h"
#include "reference/error_bound.h"
#include "support/numbers.h"
#include "support/samples.h"

namespace heed::property {

inline size_t to_size(int64_t index) { return static_cast<size_t>(index); }

inline Input random_input(const Dims& dims, heed_dtype dtype, Layout layout, Random& random, double amplitude = 2.0) {
  return make_input(random_array(dims, random, amplitude), dtype, make_strides(layout, dims, random));
}

// Results may have the dtype of the inputs, or F32.
inline heed_dtype result_dtype(heed_dtype input, Random& random) { return random.chance(0.5) ? input : HEED_F32; }

struct Out {
  Array contents;
  std::vector<uint8_t> bytes;
};

// Runs `call` with a result of these dims, and checks that it writes nothing but the elements.
template <typename Call>
Out into_result(heed_context* context, heed_dtype dtype, const Dims& dims, const Dims& strides,
                const std::vector<const HostTensor*>& inputs, Call call) {
  const HostTensor result(context, dtype, dims, strides);
  check(call(result.handle()));
  EXPECT_TRUE(result.padding_is_untouched());
  for (const HostTensor* input : inputs) EXPECT_TRUE(input->input_is_untouched());
  return {result.read(), result.read_bytes()};
}

// Whether each element of `actual` is within its error of the expected value.
inline testing::AssertionResult agree(heed_dtype dtype, const Array& actual, const Array& values, const Array& errors) {
  const reference::Format format = format_of(dtype);
  if (actual.values.size() != values.values.size())
    return testing::AssertionFailure() << "the numbers of elements differ";
  for (size_t i = 0; i < values.values.size(); ++i) {
    if (reference::accepts(format, values.values[i], errors.values[i], actual.values[i])) continue;
    return testing::AssertionFailure() << "element " << i << " is " << actual.values[i] << ", expected "
                                       << values.values[i] << " within " << errors.values[i];
  }
  return testing::AssertionSuccess();
}

inline double largest_fraction(heed_dtype dtype, const Array& actual, const Array& values, const Array& errors) {
  double largest = 0.0;
  for (size_t i = 0; i < values.values.size(); ++i) {
    largest = std::max(
        largest, reference::used_fraction(format_of(dtype), values.values[i], errors.values[i], actual.values[i]));
  }
  return largest;
}

struct Expected {
  Array values;
  Array errors;
};

// The bytes of part i of n equal parts.
inline std::vector<uint8_t> part(const std::vector<uint8_t>& bytes, int64_t i, int64_t n) {
  const auto size = static_cast<int64_t>(bytes.size()) / n;
  return {bytes.begin() + i * size, bytes.begin() + (i + 1) * size};
}

}  // namespace heed::property
