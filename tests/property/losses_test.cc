// SPDX-License-Identifier: Apache-2.0
// Losses and their gradients: docs/semantics.md, section "Losses", against f64.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "property/support/bounded.h"
#include "property/support/operation_call.h"
#include "support/array.h"
#include "support/numbers.h"

namespace heed::property {
namespace {

constexpr double kU = 0x1p-24;

// Of a row of logits in f64, with the errors of the page.
struct Row {
  double loss = 0;
  double loss_error = 0;
  std::vector<double> gradient;  // of the loss, times `factor`
  std::vector<double> gradient_error;
};

Row reference_row(const double* logits, size_t num_classes, size_t label, double smoothing, double factor) {
  Row row;
  const double maximum = *std::max_element(logits, logits + num_classes);
  double sum = 0;
  double logit_sum = 0;
  for (size_t i = 0; i < num_classes; ++i) {
    sum += std::exp(logits[i] - maximum);
    logit_sum += logits[i];
  }
  const auto count = static_cast<double>(num_classes);
  row.loss = maximum + std::log(sum) - (1 - smoothing) * logits[label] - smoothing * logit_sum / count;
  double distance = 0;  // the mean distance to the maximum
  for (size_t i = 0; i < num_classes; ++i) distance += std::exp(logits[i] - maximum) / sum * (maximum - logits[i]);
  const double of_sum = kU * (20 + distance);
  row.loss_error = of_sum + 1e-12;
  for (size_t i = 0; i < num_classes; ++i) {
    const double weight = std::exp(logits[i] - maximum) / sum;
    const double target = smoothing / count + (i == label ? 1 - smoothing : 0);
    row.gradient.push_back(factor * (weight - target));
    row.gradient_error.push_back(std::abs(factor) *
                                     (weight * (of_sum + kU * (8 + maximum - logits[i])) + 2 * kU * smoothing / count) +
                                 kU * std::abs(row.gradient.back()) + 0x1p-140);
  }
  return row;
}

// A random call with its tensors.
struct EntropyCall {
  Dims rows;
  int64_t num_classes = 1;
  bool has_lens = false;
  heed_cross_entropy_options options = HEED_CROSS_ENTROPY_OPTIONS_INIT;
  Array labels;
  Array lens;

  explicit EntropyCall(Random& random) {
    const bool has_steps = random.chance(0.7);
    rows = {random.one_of<int64_t>({0, 1, 2, 3, 5})};
    if (has_steps) rows.push_back(random.one_of<int64_t>({0, 1, 2, 4, 9}));
    num_classes = random.one_of<int64_t>({1, 2, 3, 7, 15, 16, 17, 31, 33, 100, 255, 257, 1000});
    has_lens = has_steps && random.chance(0.6);
    options.reduction = static_cast<int32_t>(random.below(3));
    if (random.chance(0.5)) options.label_smoothing = random.one_of<float>({0.1f, 0.5f, 1.0f});
    if (random.chance(0.3)) options.ignore_index = random.below(num_classes);
    labels = filled(rows, 0);
    for (double& label : labels.values)
      label = random.chance(0.2) ? static_cast<double>(options.ignore_index)
                                 : static_cast<double>(random.below(num_classes));
    lens = filled({rows[0]}, 0);
    for (double& length : lens.values) length = static_cast<double>(random.below(num_steps() + 1));
  }

  int64_t num_steps() const { return rows.size() == 2 ? rows[1] : 1; }
  Dims dims() const {
    Dims dims = rows;
    dims.push_back(num_classes);
    return dims;
  }
  bool counts(size_t row) const {
    const int64_t b = static_cast<int64_t>(row) / num_steps();
    const int64_t s = static_cast<int64_t>(row) % num_steps();
    if (has_lens && static_cast<double>(s) >= lens.values[to_size(b)]) return false;
    return labels.values[row] != static_cast<double>(options.ignore_index);
  }
  double factor() const {
    int64_t num_counted = 0;
    for (size_t row = 0; row < labels.values.size(); ++row) num_counted += counts(row) ? 1 : 0;
    if (num_counted == 0) return 1;
    if (options.reduction == HEED_LOSS_MEAN) return 1 / static_cast<double>(num_counted);
    return options.reduction == HEED_LOSS_SUM ? 1 : 1 / static_cast<double>(num_steps());
  }
};

// Hidden rows hold NaN, and labels beyond the length are out of range.
TEST(CrossEntropy, AgreesWithTheReference) {
  Random random(5101);
  for (int64_t round = 0; round < num_rounds(600); ++round) {
    SCOPED_TRACE("round " + std::to_string(round));
    const EntropyCall call(random);
    Array contents = random_array(call.dims(), random, random.one_of<double>({0.1, 3.0, 30.0}));
    Array labels = call.labels;
    for (size_t row = 0; row < labels.values.size(); ++row) {
      if (call.counts(row)) continue;
      for (int64_t i = 0; i < call.num_classes; ++i)
        contents.values[row * to_size(call.num_classes) + to_size(i)] = std::numeric_limits<double>::quiet_NaN();
      const auto s = static_cast<double>(static_cast<int64_t>(row) % call.num_steps());
      const double length = call.lens.values[row / to_size(call.num_steps())];
      if (call.has_lens && s >= length && random.chance(0.5)) labels.values[row] = -7;
    }
    const Context context = make_context();
    const auto input = [&](const Array& array, heed_dtype dtype) {
      return make_input(array, dtype,
                        make_strides(random.one_of(std::vector{Layout::RowMajor, Layout::Padded}), array.dims, random));
    };
    const Layout layout =
        random.one_of(std::vector{Layout::RowMajor, Layout::Transposed, Layout::Padded, Layout::Reversed});
    const Input given = make_input(contents, HEED_F32, make_strides(layout, contents.dims, random));
    const HostTensor logits(context.get(), given);
    const HostTensor of_labels(context.get(), input(labels, random.one_of<heed_dtype>({HEED_I32, HEED_I64})));
    const HostTensor lens(context.get(), input(call.lens, random.one_of<heed_dtype>({HEED_F32, HEED_I32, HEED_I64})));
    const HostTensor losses(context.get(), HEED_F32, call.rows, row_major_strides(call.rows));
    double total = -1;
    const Out gradient = into_result(
        context.get(), HEED_F32, call.dims(), make_strides(random.one_of(kWritable), call.dims(), random),
        {&logits, &of_labels, &lens}, [&](heed_tensor* written) {
          return heed_cross_entropy(logits.handle(), of_labels.handle(), call.has_lens ? lens.handle() : nullptr,
                                    &call.options, losses.handle(), &total, written);
        });
    const Array of_rows = losses.read();
    double expected_total = 0;
    double total_error = 1e-12;
    const double factor = call.factor();
    for (size_t row = 0; row < of_rows.values.size(); ++row) {
      const size_t first = row * to_size(call.num_classes);
      if (!call.counts(row)) {
        ASSERT_EQ(of_rows.values[row], 0);
        for (size_t i = 0; i < to_size(call.num_classes); ++i) ASSERT_EQ(gradient.contents.values[first + i], 0);
        continue;
      }
      const auto label = static_cast<size_t>(call.labels.values[row]);
      const Row expected = reference_row(&given.contents.values[first], to_size(call.num_classes), label,
                                         static_cast<double>(call.options.label_smoothing), factor);
      ASSERT_TRUE(is_within(of_rows.values[row], {expected.loss, expected.loss_error}, HEED_F32)) << "row " << row;
      expected_total += factor * expected.loss;
      total_error += factor * expected.loss_error;
      for (size_t i = 0; i < to_size(call.num_classes); ++i) {
        ASSERT_TRUE(is_within(gradient.contents.values[first + i], {expected.gradient[i], expected.gradient_error[i]},
                              HEED_F32))
            << "row " << row << ", class " << i;
      }
    }
    ASSERT_NEAR(total, expected_total, total_error + 1e-12 * std::abs(expected_total));
  }
}

// The gradient in the place of the logits, without the other results, and a row alone, have the same bits.
TEST(CrossEntropy, HasTheSameBitsInPlaceAndAlone) {
  Random random(5102);
  for (const Layout layout : kWritable) {
    const Dims dims = {3, 4, 50};
    const Context context = make_context();
    const Input given = random_input(dims, HEED_F32, layout, random);
    const HostTensor logits(context.get(), given);
    Array numbers = filled({3, 4}, 0);
    for (double& label : numbers.values) label = static_cast<double>(random.below(50));
    const HostTensor labels(context.get(), make_input(numbers, HEED_I32, row_major_strides({3, 4})));
    heed_cross_entropy_options options = HEED_CROSS_ENTROPY_OPTIONS_INIT;
    options.reduction = HEED_LOSS_SUM;
    options.label_smoothing = 0.1f;
    const HostTensor gradient(context.get(), HEED_F32, dims, row_major_strides(dims));
    const HostTensor losses(context.get(), HEED_F32, {3, 4}, row_major_strides({3, 4}));
    check(heed_cross_entropy(logits.handle(), labels.handle(), nullptr, &options, losses.handle(), nullptr,
                             gradient.handle()));
    const std::vector<uint8_t> bytes = gradient.read_bytes();
    for (size_t row = 0; row < 12; ++row) {
      const Array of_row = {{1, 50},
                            {given.contents.values.begin() + static_cast<int64_t>(row * 50),
                             given.contents.values.begin() + static_cast<int64_t>((row + 1) * 50)}};
      const HostTensor alone(context.get(), make_input(of_row, HEED_F32, row_major_strides({1, 50})));
      const HostTensor label(context.get(), make_input({{1}, {numbers.values[row]}}, HEED_I64, {1}));
      const HostTensor loss(context.get(), HEED_F32, {1}, {1});
      check(heed_cross_entropy(alone.handle(), label.handle(), nullptr, &options, loss.handle(), nullptr,
                               alone.handle()));
      EXPECT_EQ(alone.read_bytes(), part(bytes, static_cast<int64_t>(row), 12));
      EXPECT_EQ(loss.read_bytes(), part(losses.read_bytes(), static_cast<int64_t>(row), 12));
    }
    check(heed_cross_entropy(logits.handle(), labels.handle(), nullptr, &options, nullptr, nullptr, logits.handle()));
    EXPECT_EQ(logits.read_bytes(), bytes);
  }
}

TEST(CrossEntropy, HasTheSameBitsOnAnyNumberOfThreads) {
  Random random(5103);
  const Dims dims = {40, 30, 200};
  const Input given = random_input(dims, HEED_F32, Layout::RowMajor, random);
  Array numbers = filled({40, 30}, 0);
  for (double& label : numbers.values) label = static_cast<double>(random.below(200));
  std::optional<std::vector<uint8_t>> expected;
  double expected_total = 0;
  for (const int32_t threads : {1, 2, 3, 8, 16}) {
    heed_context_options options = HEED_CONTEXT_OPTIONS_INIT;
    options.num_threads = threads;
    heed_context* made = nullptr;
    check(heed_context_create(&options, &made));
    const Context context(made);
    const HostTensor logits(made, given);
    const HostTensor labels(made, make_input(numbers, HEED_I32, row_major_strides({40, 30})));
    double total = 0;
    check(heed_cross_entropy(logits.handle(), labels.handle(), nullptr, nullptr, nullptr, &total, logits.handle()));
    if (!expected) {
      expected = logits.read_bytes();
      expected_total = total;
    }
    EXPECT_EQ(logits.read_bytes(), *expected);
    EXPECT_EQ(total, expected_total);
  }
}

// NaN, infinity, and a row of -inf alone reach their own row, and the total.
TEST(CrossEntropy, NumbersThatAreNotFiniteAreReported) {
  const double infinity = std::numeric_limits<double>::infinity();
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const Context context = make_context();
  for (const std::vector<double>& row :
       {std::vector{nan, 0.0, 1.0}, std::vector{infinity, 0.0, 1.0}, std::vector{-infinity, -infinity, -infinity}}) {
    Array array = filled({2, 3}, 0.5);
    std::copy(row.begin(), row.end(), array.values.begin());
    const HostTensor logits(context.get(), make_input(array, HEED_F32, row_major_strides({2, 3})));
    const HostTensor labels(context.get(), make_input(filled({2}, 1), HEED_I32, {1}));
    const HostTensor losses(context.get(), HEED_F32, {2}, {1});
    const HostTensor gradient(context.get(), HEED_F32, {2, 3}, row_major_strides({2, 3}));
    double total = 0;
    check(heed_cross_entropy(logits.handle(), labels.handle(), nullptr, nullptr, losses.handle(), &total,
                             gradient.handle()));
    EXPECT_TRUE(std::isnan(total));
    EXPECT_TRUE(std::isnan(losses.read().values[0]));
    EXPECT_NEAR(losses.read().values[1], std::log(3.0), 1e-6);
    const std::vector<double> is = gradient.read().values;
    for (size_t i = 0; i < 3; ++i) EXPECT_TRUE(std::isnan(is[i]));
    for (size_t i = 3; i < 6; ++i) EXPECT_TRUE(std::isfinite(is[i]));
  }
}

// The numbers of docs/semantics.md.
TEST(CrossEntropy, HasTheNumbersOfThePage) {
  Array array = filled({2, 3, 5}, 0);
  for (size_t i = 0; i < array.values.size(); ++i) array.values[i] = 2 * std::sin(0.3 + 0.9 * static_cast<double>(i));
  const Context context = make_context();
  const HostTensor logits(context.get(), make_input(array, HEED_F32, row_major_strides(array.dims)));
  const HostTensor labels(context.get(), make_input({{2, 3}, {1, 4, 0, 2, 3, 2}}, HEED_I64, {3, 1}));
  const HostTensor lens(context.get(), make_input({{2}, {3, 1}}, HEED_I32, {1}));
  const HostTensor losses(context.get(), HEED_F32, {2, 3}, {3, 1});
  heed_cross_entropy_options options = HEED_CROSS_ENTROPY_OPTIONS_INIT;
  const auto call = [&](int32_t reduction, float smoothing) {
    options.reduction = reduction;
    options.label_smoothing = smoothing;
    double total = 0;
    check(heed_cross_entropy(logits.handle(), labels.handle(), lens.handle(), &options, losses.handle(), &total,
                             nullptr));
    return total;
  };
  EXPECT_NEAR(call(HEED_LOSS_MEAN, 0), 1.3373755, 2e-7);
  EXPECT_NEAR(call(HEED_LOSS_MEAN_OF_ITEMS, 0), 0.9837961 + 0.7993713, 2e-7);
  const std::vector<double> rows = losses.read().values;
  const double expected[] = {0.8738638, 0.9570112, 1.1205132, 2.3981139, 0, 0};
  for (size_t i = 0; i < 6; ++i) EXPECT_NEAR(rows[i], expected[i], 2e-7);
  call(HEED_LOSS_SUM, 0.1f);
  EXPECT_NEAR(losses.read().values[0], 0.9985067, 2e-7);
}

TEST(SquaredError, AgreesWithTheReference) {
  Random random(5104);
  for (int64_t round = 0; round < num_rounds(300); ++round) {
    SCOPED_TRACE("round " + std::to_string(round));
    Dims dims;
    for (int64_t i = random.below(4); i > 0; --i) dims.push_back(random.one_of<int64_t>({0, 1, 2, 5, 30}));
    heed_squared_error_options options = HEED_SQUARED_ERROR_OPTIONS_INIT;
    options.factor = random.one_of<double>({1, 0.5, 0, -2});
    options.reduction = static_cast<int32_t>(random.below(dims.empty() ? 2 : 3));
    const Context context = make_context();
    const Input x = random_input(dims, HEED_F32, random.one_of(kReadable), random);
    const Input y = random_input(dims, HEED_F32, random.one_of(kReadable), random);
    const HostTensor predictions(context.get(), x);
    const HostTensor targets(context.get(), y);
    const HostTensor losses(context.get(), HEED_F32, dims, make_strides(random.one_of(kWritable), dims, random));
    double total = -1;
    const Out gradient = into_result(
        context.get(), HEED_F32, dims, make_strides(random.one_of(kWritable), dims, random), {&predictions, &targets},
        [&](heed_tensor* written) {
          return heed_squared_error(predictions.handle(), targets.handle(), &options, losses.handle(), &total, written);
        });
    const std::vector<double> each = losses.read().values;
    const auto count = static_cast<double>(each.size());
    double divisor = 1;
    if (options.reduction == HEED_LOSS_MEAN) divisor = count;
    if (options.reduction == HEED_LOSS_MEAN_OF_ITEMS) divisor = count / static_cast<double>(dims[0]);
    double sum = 0;
    for (size_t i = 0; i < each.size(); ++i) {
      const double difference = x.contents.values[i] - y.contents.values[i];
      const double loss = options.factor * difference * difference;
      ASSERT_TRUE(is_within(each[i], {loss, 1e-14}, HEED_F32));
      const double slope = 2 * options.factor * difference / divisor;
      ASSERT_TRUE(is_within(gradient.contents.values[i], {slope, 1e-14}, HEED_F32));
      sum += loss;
    }
    ASSERT_NEAR(total, each.empty() ? 0 : sum / divisor, 1e-12 * (1 + std::abs(sum)));
  }
}

TEST(SquaredError, HasTheSameBitsInPlaceAndOnAnyNumberOfThreads) {
  Random random(5105);
  const Dims dims = {300, 401};
  const Input x = random_input(dims, HEED_F32, Layout::RowMajor, random);
  const Input y = random_input(dims, HEED_F32, Layout::RowMajor, random);
  std::optional<std::vector<uint8_t>> expected;
  double expected_total = 0;
  for (const int32_t threads : {1, 2, 5, 16}) {
    heed_context_options options = HEED_CONTEXT_OPTIONS_INIT;
    options.num_threads = threads;
    heed_context* made = nullptr;
    check(heed_context_create(&options, &made));
    const Context context(made);
    const HostTensor predictions(made, x);
    const HostTensor targets(made, y);
    double total = 0;
    check(heed_squared_error(predictions.handle(), targets.handle(), nullptr, nullptr, &total, predictions.handle()));
    if (!expected) {
      expected = predictions.read_bytes();
      expected_total = total;
    }
    EXPECT_EQ(predictions.read_bytes(), *expected);
    EXPECT_EQ(total, expected_total);
  }
}

}  // namespace
}  // namespace heed::property
