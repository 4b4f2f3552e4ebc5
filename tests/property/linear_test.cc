// SPDX-License-Identifier: Apache-2.0
// Linear layers: docs/semantics.md, section "Linear layers, dropout and positional encodings", against the f64
// reference, and the cases that must agree to the bit.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <numeric>

#include "property/support/device.h"
#include "reference/error_bound.h"
#include "reference/multi_head_attention.h"
#include "support/one_input.h"
#include "support/samples.h"

namespace heed::property {
namespace {

class LinearSample {
 public:
  // Weight (N, E), and a bias if has_bias, both in `dtype`.
  LinearSample(int64_t output_size, int64_t input_size, bool has_bias, heed_dtype dtype, Random& random)
      : weight_(make_input(random_array({output_size, input_size}, random), dtype)),
        bias_(make_input(random_array({output_size}, random), dtype)),
        has_bias_(has_bias) {}

  OneOutput forward(const OneInputCall& call) const {
    return on_device([&](Fallback fallback) {
      Opened& opened = opened_[static_cast<size_t>(fallback)];
      if (opened.layer == nullptr) opened = open(fallback);
      return property::forward(opened.context.get(), opened.layer.get(), call);
    });
  }
  OneOutput forward(const Input& input) const { return forward(OneInputCall{input, input.dtype, {}}); }

  reference::Bounded expected(const Input& input) const {
    const std::optional<reference::Format> format = compute_format(input.dtype);
    reference::Projection projection;
    projection.output_size = weight_.contents.dims[0];
    projection.input_size = weight_.contents.dims[1];
    projection.weight = weight_.contents.values;
    if (has_bias_) projection.bias = bias_.contents.values;
    const Dims& dims = input.contents.dims;
    const int64_t rows = std::accumulate(dims.begin(), dims.end() - 1, int64_t{1}, std::multiplies<>());
    return reference::project(projection, reference::as_read(input.contents.values, format), rows, format);
  }

  const Array& bias() const { return bias_.contents; }

 private:
  struct Opened {
    Context context;
    Layer layer;
  };

  Opened open(Fallback fallback) const {
    Opened opened;
    opened.context = make_context(fallback);
    heed_context* const context = opened.context.get();
    heed_linear_options options = HEED_LINEAR_OPTIONS_INIT;
    options.output_size = weight_.contents.dims[0];
    options.no_bias = has_bias_ ? 0 : 1;
    heed_layer* layer = nullptr;
    check(heed_linear_create(context, &options, &layer));
    opened.layer.reset(layer);
    check(heed_layer_set_parameter(layer, "weight", HostTensor(context, weight_).handle()));
    if (has_bias_) check(heed_layer_set_parameter(layer, "bias", HostTensor(context, bias_).handle()));
    return opened;
  }

  Input weight_;
  Input bias_;
  bool has_bias_;
  mutable Opened opened_[2];  // Indexed by Fallback; each is opened at its first use
};

Dims with_last(Dims dims, int64_t size) {
  dims.back() = size;
  return dims;
}

TEST(Linear, AgreesWithTheReference) {
  Random random(5001);
  double largest = 0.0;
  for (int64_t round = 0; round < num_rounds(2000); ++round) {
    Dims dims;
    const int64_t rank = 1 + random.below(8);
    for (int64_t axis = 1; axis < rank; ++axis) dims.push_back(random.chance(0.03) ? 0 : 1 + random.below(3));
    dims.push_back(random.one_of(std::vector<int64_t>{0, 1, 2, 3, 16, 31, 67}));
    const int64_t output_size = random.one_of(std::vector<int64_t>{1, 2, 5, 63, 65});
    const LinearSample sample(output_size, dims.back(), random.chance(0.5), random.one_of(kFloats), random);
    OneInputCall call;
    const heed_dtype dtype = random.one_of(kFloats);
    call.input =
        make_input(random_array(dims, random, 2.0), dtype, make_strides(random.one_of(kReadable), dims, random));
    call.dtype = random.chance(0.5) ? dtype : HEED_F32;
    call.output_strides = make_strides(random.one_of(kWritable), with_last(dims, output_size), random);
    call.with_workspace = random.chance(0.5);
    call.training = random.chance(0.5) ? 1 : 0;
    const OneOutput output = sample.forward(call);
    ASSERT_EQ(output.contents.dims, with_last(dims, output_size));
    const reference::Bounded expected = sample.expected(call.input);
    ASSERT_EQ(output.contents.values.size(), expected.values.size());
    for (size_t i = 0; i < expected.values.size(); ++i) {
      const auto format = format_of(call.dtype);
      const double actual = output.contents.values[i];
      ASSERT_TRUE(reference::accepts(format, expected.values[i], expected.errors[i], actual))
          << "round " << round << ", element " << i << " is " << actual << ", expected " << expected.values[i]
          << " within " << expected.errors[i];
      largest = std::max(largest, reference::used_fraction(format, expected.values[i], expected.errors[i], actual));
    }
  }
  // For 16-bit results the final rounding alone uses nearly the whole bound. So if only a small fraction is used, the
  // bound is too wide.
  EXPECT_GT(largest, 0.1);
  EXPECT_LE(largest, 1.0);
}

TEST(Linear, RowAloneHasTheSameBits) {
  HEED_SKIP_ON_ASCEND("rule 10 is the CPU's");
  Random random(5002);
  constexpr int64_t kRows = 37;
  for (const heed_dtype dtype : kFloats) {
    const LinearSample sample(70, 131, true, dtype, random);
    const Input all = make_input(random_array({kRows, 131}, random, 2.0), dtype);
    const OneOutput whole = sample.forward(all);
    const auto row_bytes = static_cast<int64_t>(whole.bytes.size()) / kRows;
    for (int64_t row = 0; row < kRows; ++row) {
      Array one = slice(all.contents, 0, row, 1);
      const std::vector<uint8_t> expected(whole.bytes.begin() + row * row_bytes,
                                          whole.bytes.begin() + (row + 1) * row_bytes);
      EXPECT_EQ(sample.forward(make_input(one, dtype)).bytes, expected);
      one.dims = {131};
      EXPECT_EQ(sample.forward(make_input(one, dtype)).bytes, expected);
    }
  }
}

TEST(Linear, ShapeAndStridesChangeNothing) {
  Random random(5003);
  const LinearSample sample(6, 9, true, HEED_F32, random);
  const Dims dims = {2, 3, 2, 1, 3, 2, 2, 9};
  const Array contents = random_array(dims, random, 2.0);
  Array flat = contents;
  flat.dims = {144, 9};
  const OneOutput expected = sample.forward(make_input(flat));
  for (int round = 0; round < 60; ++round) {
    OneInputCall call;
    call.input = make_input(contents, HEED_F32,
                            make_strides(random.one_of(std::vector<Layout>{Layout::Transposed, Layout::Padded,
                                                                           Layout::Reversed, Layout::RowMajor}),
                                         dims, random));
    call.output_strides = make_strides(random.one_of(kWritable), with_last(dims, 6), random);
    EXPECT_EQ(sample.forward(call).bytes, expected.bytes);
  }
}

TEST(Linear, WithoutInputsIsItsBias) {
  Random random(5004);
  const LinearSample sample(5, 0, true, HEED_F32, random);
  const OneOutput output = sample.forward(make_input(filled({3, 0}, 0.0)));
  for (size_t i = 0; i < 15; ++i) EXPECT_EQ(output.contents.values[i], sample.bias().values[i % 5]);
}

TEST(Linear, NonFiniteNumbersChangeOnlyTheirRow) {
  Random random(5005);
  const LinearSample sample(3, 4, true, HEED_F32, random);
  Array contents = random_array({5, 4}, random);
  const OneOutput before = sample.forward(make_input(contents));
  contents.values[2 * 4 + 1] = std::numeric_limits<double>::quiet_NaN();
  const OneOutput after = sample.forward(make_input(contents));
  for (size_t i = 0; i < 15; ++i) {
    if (i / 3 == 2) {
      EXPECT_TRUE(std::isnan(after.contents.values[i]));
    } else {
      EXPECT_EQ(after.contents.values[i], before.contents.values[i]);
    }
  }
}

TEST(Linear, OfHalfPrecisionIsRoundedOnce) {
  Random random(5006);
  for (const heed_dtype dtype : {HEED_F16, HEED_BF16}) {
    const LinearSample sample(30, 50, true, dtype, random);
    OneInputCall call;
    call.input = make_input(random_array({20, 50}, random, 2.0), dtype);
    const OneOutput wide = sample.forward(call);
    call.dtype = dtype;
    const OneOutput narrow = sample.forward(call);
    for (size_t i = 0; i < wide.contents.values.size(); ++i)
      EXPECT_EQ(narrow.contents.values[i], reference::round_to(format_of(dtype), wide.contents.values[i]));
  }
}

}  // namespace
}  // namespace heed::property
