// SPDX-License-Identifier: Apache-2.0
// Layer norms and RMS norms of rows: rule 18 against the f64 reference.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "property/support/device.h"
#include "reference/error_bound.h"
#include "reference/norm.h"
#include "support/numbers.h"
#include "support/one_input.h"
#include "support/samples.h"

namespace heed::property {
namespace {

struct NormSample {
  heed_layer_norm_options options = HEED_LAYER_NORM_OPTIONS_INIT;
  Input weight;
  Input bias;

  bool has_bias() const { return options.kind == HEED_NORM_LAYER && options.no_bias == 0; }

  OneOutput forward(const OneInputCall& call) const {
    return on_device([&](Fallback fallback) {
      const Context context = make_context(fallback);
      heed_layer* made = nullptr;
      check(heed_layer_norm_create(context.get(), &options, &made));
      const Layer layer(made);
      check(heed_layer_set_parameter(made, "weight", HostTensor(context.get(), weight).handle()));
      if (has_bias()) check(heed_layer_set_parameter(made, "bias", HostTensor(context.get(), bias).handle()));
      return property::forward(context.get(), made, call);
    });
  }
  OneOutput forward(const Array& rows, heed_dtype dtype = HEED_F32) const {
    return forward(OneInputCall{make_input(rows, dtype), dtype, {}});
  }

  reference::Bounded expected(const Input& input) const {
    reference::Norm norm;
    norm.weight = weight.contents.values;
    if (has_bias()) norm.bias = bias.contents.values;
    norm.subtracts_mean = options.kind == HEED_NORM_LAYER;
    norm.epsilon = options.epsilon != 0.0F ? static_cast<double>(options.epsilon) : static_cast<double>(1e-5F);
    norm.compute_format = compute_format(input.dtype);
    return reference::normalize(norm, input.contents.values);
  }
};

NormSample random_norm(int64_t size, Random& random, int32_t kind, heed_dtype dtype = HEED_F32) {
  NormSample sample;
  sample.options.kind = kind;
  sample.weight = make_input(random_array({size}, random, 2.0), dtype);
  sample.bias = make_input(random_array({size}, random, 1.0), dtype);
  return sample;
}

// The largest used fraction of the bound; a failure where a number is outside.
double largest_fraction(const NormSample& sample, const OneInputCall& call) {
  const OneOutput output = sample.forward(call);
  const reference::Bounded expected = sample.expected(call.input);
  EXPECT_EQ(output.contents.values.size(), expected.values.size());
  double largest = 0.0;
  for (size_t i = 0; i < expected.values.size(); ++i) {
    const auto format = format_of(call.dtype);
    const double actual = output.contents.values[i];
    EXPECT_TRUE(reference::accepts(format, expected.values[i], expected.errors[i], actual))
        << "element " << i << " is " << actual << ", expected " << expected.values[i] << " within "
        << expected.errors[i];
    if (call.dtype == HEED_F32)
      largest = std::max(largest, reference::used_fraction(format, expected.values[i], expected.errors[i], actual));
  }
  return largest;
}

TEST(Norm, AgreesWithTheReference) {
  Random random(7001);
  double largest = 0.0;
  for (int64_t round = 0; round < num_rounds(1500) && !HasFailure(); ++round) {
    SCOPED_TRACE(round);
    Dims dims;
    const int64_t rank = 1 + random.below(8);
    for (int64_t axis = 1; axis < rank; ++axis) dims.push_back(random.chance(0.03) ? 0 : 1 + random.below(3));
    dims.push_back(random.one_of(std::vector<int64_t>{1, 2, 3, 8, 15, 16, 17, 33, 64, 100, 257}));
    NormSample sample = random_norm(dims.back(), random, random.one_of<int32_t>({HEED_NORM_LAYER, HEED_NORM_RMS}),
                                    random.one_of(kFloats));
    if (random.chance(0.5)) sample.options.epsilon = random.one_of<float>({1e-12F, 1e-6F, 0.5F});
    sample.options.no_bias = random.chance(0.3) ? 1 : 0;
    OneInputCall call;
    const heed_dtype dtype = random.one_of(kFloats);
    Array rows = random_array(dims, random, random.one_of<double>({1e-3, 1.0, 1e3}));
    const double center = random.one_of<double>({0.0, 0.0, 1.0, 1000.0});
    for (double& element : rows.values) element += center;
    call.input = make_input(std::move(rows), dtype, make_strides(random.one_of(kReadable), dims, random));
    call.dtype = random.chance(0.5) ? dtype : HEED_F32;
    call.output_strides = make_strides(random.one_of(kWritable), dims, random);
    call.with_workspace = random.chance(0.5);
    largest = std::max(largest, largest_fraction(sample, call));
  }
  EXPECT_GT(largest, 0.05);
}

// A mean that is rounded is off by more than the numbers differ by.
TEST(Norm, NumbersFarFromZeroThatHardlyDifferAreExact) {
  HEED_SKIP_ON_ASCEND("the bound is that of the CPU");
  Random random(7002);
  for (const int64_t size : {2, 3, 7, 64, 1000}) {
    Array rows = filled({4, size}, 0.0);
    for (double& element : rows.values) element = 1000.0 + static_cast<double>(random.below(3)) / 16.0;
    OneInputCall call;
    call.input = make_input(rows);
    largest_fraction(random_norm(size, random, HEED_NORM_LAYER), call);
  }
}

// Squares that overflow, sums that do, and rows of one number.
TEST(Norm, LargeNumbersAreNormalized) {
  HEED_SKIP_ON_ASCEND("the bound is that of the CPU");
  Random random(7003);
  for (const int32_t kind : {HEED_NORM_LAYER, HEED_NORM_RMS}) {
    for (const int64_t size : {1, 2, 5, 16, 40}) {
      for (const double magnitude : {1e18, 1e20, 1e30, 3.4e38}) {
        for (const bool is_constant : {false, true}) {
          SCOPED_TRACE(testing::Message() << "kind " << kind << ", " << size << " numbers of " << magnitude
                                          << (is_constant ? ", all alike" : ""));
          Array rows = random_array({3, size}, random, magnitude);
          if (is_constant) rows = filled({3, size}, magnitude);
          OneInputCall call;
          call.input = make_input(rows);
          largest_fraction(random_norm(size, random, kind), call);
        }
      }
    }
  }
}

TEST(Norm, NumbersThatAreNotFiniteMakeOnlyTheirRowNaN) {
  Random random(7004);
  for (const int32_t kind : {HEED_NORM_LAYER, HEED_NORM_RMS}) {
    const NormSample sample = random_norm(20, random, kind);
    Array rows = random_array({3, 20}, random);
    const OneOutput finite = sample.forward(rows);
    rows.values[20 + 13] = kNaN;
    const OneOutput results = sample.forward(rows);
    for (size_t i = 0; i < 60; ++i) {
      if (i / 20 == 1) {
        EXPECT_TRUE(std::isnan(results.contents.values[i]));
      } else {
        EXPECT_EQ(results.contents.values[i], finite.contents.values[i]);
      }
    }
  }
}

TEST(Norm, RowAloneHasTheSameBits) {
  HEED_SKIP_ON_ASCEND("rule 10 is the CPU's");
  Random random(7005);
  for (const int32_t kind : {HEED_NORM_LAYER, HEED_NORM_RMS}) {
    const NormSample sample = random_norm(131, random, kind);
    const Array rows = random_array({400, 131}, random);
    const OneOutput whole = sample.forward(rows);
    const size_t row_bytes = 131 * sizeof(float);
    for (const int64_t row : {0, 7, 399}) {
      const auto first = whole.bytes.begin() + static_cast<std::ptrdiff_t>(static_cast<size_t>(row) * row_bytes);
      EXPECT_EQ(sample.forward(slice(rows, 0, row, 1)).bytes,
                std::vector<uint8_t>(first, first + static_cast<std::ptrdiff_t>(row_bytes)));
    }
  }
}

TEST(Norm, OfHalfPrecisionIsRoundedOnce) {
  HEED_SKIP_ON_ASCEND("the NPU rounds more often");
  Random random(7006);
  for (const heed_dtype dtype : {HEED_F16, HEED_BF16}) {
    const NormSample sample = random_norm(50, random, HEED_NORM_LAYER, dtype);
    OneInputCall call;
    call.input = make_input(random_array({20, 50}, random), dtype);
    const OneOutput wide = sample.forward(call);
    call.dtype = dtype;
    const OneOutput narrow = sample.forward(call);
    for (size_t i = 0; i < wide.contents.values.size(); ++i)
      EXPECT_EQ(narrow.contents.values[i], reference::round_to(format_of(dtype), wide.contents.values[i]));
  }
}

}  // namespace
}  // namespace heed::property
