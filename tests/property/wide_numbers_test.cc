// SPDX-License-Identifier: Apache-2.0
// Products of matrices, softmax and activations of F64 and of integers: docs/semantics.md, section "Operations", against long
// double, which has more digits than F64.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <vector>

#include "property/support/array_dtypes.h"
#include "property/support/bounded.h"
#include "property/support/operation_call.h"
#include "support/array.h"
#include "support/numbers.h"

namespace heed::property {
namespace {

using Wide = long double;

// Whole numbers for integers.
Input random_numbers(const Dims& dims, heed_dtype dtype, Random& random) {
  Array array = random_array(dims, random, dtype == HEED_I32 || dtype == HEED_I64 ? 1000.0 : 2.0);
  if (is_whole(dtype)) {
    for (double& value : array.values) value = std::trunc(value);
  }
  return make_input(array, dtype, make_strides(random.one_of(kReadable), dims, random));
}

// The common dtype (heed.h, 6.9) of two numbers, one of which a linear operation does not take.
heed_dtype common_of(heed_dtype a, heed_dtype b) {
  if (a == HEED_F64 || b == HEED_F64) return HEED_F64;
  if (is_whole(a) && is_whole(b)) return a == b ? a : HEED_I64;
  return is_whole(a) ? b : a;
}

TEST(WideMatmul, AgreesWithTheReference) {
  Random random(4701);
  const std::vector<int64_t> sizes = {0, 1, 2, 3, 5, 31, 33, 65};
  for (int64_t round = 0; round < num_rounds(200); ++round) {
    const heed_dtype of_a = random.one_of(kNumbers);
    const heed_dtype of_b = is_whole(of_a) || of_a == HEED_F64
                                ? random.one_of(kNumbers)
                                : random.one_of<heed_dtype>({HEED_F64, HEED_I32, HEED_I64});
    const heed_dtype common = common_of(of_a, of_b);
    const int64_t rows = random.one_of(sizes);
    const int64_t columns = random.one_of(sizes);
    // More than a block has.
    const int64_t inner = random.chance(0.2) ? 128 + random.below(150) : random.one_of(sizes);
    const int64_t batch = 1 + random.below(3);
    const bool has_one_b = random.chance(0.5);
    const Input a = random_numbers({batch, 1, rows, inner}, of_a, random);
    const Input b = random_numbers(has_one_b ? Dims{inner, columns} : Dims{batch, 2, inner, columns}, of_b, random);
    const int64_t groups = has_one_b ? 1 : 2;
    const heed_dtype to = is_narrow(common) ? result_dtype(common, random) : common;
    const Dims dims = {batch, groups, rows, columns};
    const Context context = make_context();
    const HostTensor left(context.get(), a);
    const HostTensor right(context.get(), b);
    const Out product =
        into_result(context.get(), to, dims, make_strides(random.one_of(kWritable), dims, random), {&left, &right},
                    [&](heed_tensor* result) { return heed_matmul(left.handle(), right.handle(), result); });
    const double u = common == HEED_F64 ? 0x1p-53 : is_whole(common) ? 0 : 0x1p-24;
    for_each_index(dims, [&](const Dims& at, size_t position) {
      Wide sum = 0;
      Wide magnitude = 0;
      for (int64_t k = 0; k < inner; ++k) {
        const Wide x = a.contents.values[to_size((at[0] * rows + at[2]) * inner + k)];
        const int64_t matrix = has_one_b ? 0 : at[0] * 2 + at[1];
        const Wide y = b.contents.values[to_size((matrix * inner + k) * columns + at[3])];
        sum += x * y;
        magnitude += std::abs(x * y);
      }
      // One rounding of each product, and one of each sum.
      const auto error = static_cast<double>(magnitude) * u * static_cast<double>(inner + 1) * 1.01;
      ASSERT_TRUE(is_within(product.contents.values[position], {static_cast<double>(sum), error}, to))
          << "round " << round << ": " << name_of(of_a) << " with " << name_of(of_b);
    });
  }
}

TEST(WideMatmul, IntegersWrapAround) {
  const Context context = make_context();
  const HostTensor a(context.get(), make_input({{1, 2}, {2147483647.0, 1.0}}, HEED_I32));
  const HostTensor b(context.get(), make_input({{2, 1}, {1.0, 1.0}}, HEED_I32));
  const HostTensor product(context.get(), HEED_I32, {1, 1}, {1, 1});
  check(heed_matmul(a.handle(), b.handle(), product.handle()));
  EXPECT_EQ(product.read().values, std::vector<double>{-2147483648.0});
}

TEST(WideMatmul, VectorsAndMatricesOfABatchHaveTheSameBits) {
  Random random(4702);
  const Input a = random_numbers({3, 70, 300}, HEED_F64, random);
  const Input b = random_numbers({300, 67}, HEED_F64, random);
  const Context context = make_context();
  const auto product = [&](const Array& left, const Array& right, const Dims& dims) {
    const HostTensor first(context.get(), make_input(left, HEED_F64));
    const HostTensor second(context.get(), make_input(right, HEED_F64));
    return into_result(context.get(), HEED_F64, dims, row_major_strides(dims), {},
                       [&](heed_tensor* result) { return heed_matmul(first.handle(), second.handle(), result); })
        .bytes;
  };
  const std::vector<uint8_t> whole = product(a.contents, b.contents, {3, 70, 67});
  const Array matrix = {{70, 300}, slice(a.contents, 0, 1, 1).values};
  EXPECT_EQ(product(matrix, b.contents, {70, 67}), part(whole, 1, 3));
  const Array row = {{300}, slice(matrix, 0, 69, 1).values};
  EXPECT_EQ(product(row, b.contents, {67}), part(part(whole, 1, 3), 69, 70));
  const Array column = {{300}, slice(b.contents, 1, 66, 1).values};
  const std::vector<uint8_t> of_column = product(matrix, column, {70});
  for (int64_t i = 0; i < 70; ++i) EXPECT_EQ(part(of_column, i, 70), part(part(part(whole, 1, 3), i, 70), 66, 67));
}

TEST(WideSoftmax, AgreesWithTheReference) {
  Random random(4703);
  for (int64_t round = 0; round < num_rounds(100); ++round) {
    const Dims dims = {1 + random.below(3), random.one_of<int64_t>({0, 1, 2, 7, 64, 300}), 1 + random.below(3)};
    const Input input =
        random_input(dims, HEED_F64, random.one_of(kReadable), random, random.one_of<double>({0.1, 3.0, 100.0, 1e300}));
    const bool is_logarithm = random.chance(0.5);
    const Context context = make_context();
    const HostTensor scores(context.get(), input);
    const Out result = into_result(context.get(), HEED_F64, dims, make_strides(random.one_of(kWritable), dims, random),
                                   {&scores}, [&](heed_tensor* to) {
                                     return is_logarithm ? heed_log_softmax(scores.handle(), 1, to)
                                                         : heed_softmax(scores.handle(), 1, to);
                                   });
    const auto place = [&](const Dims& at, int64_t k) { return to_size((at[0] * dims[1] + k) * dims[2] + at[1]); };
    for_each_index({dims[0], dims[2]}, [&](const Dims& at, size_t) {
      std::vector<double> row;
      for (int64_t k = 0; k < dims[1]; ++k) row.push_back(input.contents.values[place(at, k)]);
      if (row.empty()) return;
      const Wide largest = *std::max_element(row.begin(), row.end());
      Wide sum = 0;
      for (const double x : row) sum += std::exp(x - largest);
      for (int64_t k = 0; k < dims[1]; ++k) {
        const Wide distance = row[to_size(k)] - largest;
        const Wide expected = is_logarithm ? distance - std::log(sum) : std::exp(distance) / sum;
        // A rounding of the difference changes the power by as many units; the power, the sum and the quotient have an error each.
        const double power = is_logarithm ? 1.0 : static_cast<double>(expected);
        const double spread = static_cast<double>(std::min<Wide>(std::abs(distance), 800));
        const double units = is_logarithm
                                 ? static_cast<double>(dims[1]) + 8 + 2 * std::abs(static_cast<double>(expected))
                                 : static_cast<double>(dims[1]) + 8 + spread;
        const Bounded bounded = {static_cast<double>(expected), units * power * 0x1p-53};
        ASSERT_TRUE(is_within(result.contents.values[place(at, k)], bounded, HEED_F64)) << "round " << round;
      }
    });
  }
}

TEST(WideSoftmax, NumbersThatAreNotFinite) {
  const Context context = make_context();
  const auto softmax = [&](std::vector<double> scores) {
    const Dims dims = {static_cast<int64_t>(scores.size())};
    const HostTensor tensor(context.get(), make_input({dims, std::move(scores)}, HEED_F64));
    const HostTensor result(context.get(), HEED_F64, dims, {1});
    check(heed_softmax(tensor.handle(), 0, result.handle()));
    return result.read().values;
  };
  EXPECT_EQ(softmax({1, -kInfinity, 1}), (std::vector<double>{0.5, 0, 0.5}));
  for (const std::vector<double>& scores :
       {std::vector<double>{1, kNaN}, {kInfinity, 1}, {-kInfinity, -kInfinity}, {kNaN, -kInfinity}}) {
    for (const double weight : softmax(scores)) EXPECT_TRUE(std::isnan(weight));
  }
}

Wide logistic(Wide x) { return 1 / (1 + std::exp(-x)); }

// The formulas of heed.h (3.5).
Wide activated(int32_t activation, Wide x) {
  constexpr Wide kPi = std::numbers::pi_v<Wide>;
  switch (activation) {
    case HEED_ACTIVATION_RELU: return std::max<Wide>(x, 0);
    case HEED_ACTIVATION_GELU: return x * std::erfc(-x / std::sqrt(Wide{2})) / 2;
    case HEED_ACTIVATION_GELU_TANH:
      return x * logistic(2 * std::sqrt(2 / kPi) * (x + static_cast<Wide>(0.044715) * x * x * x));
    case HEED_ACTIVATION_GELU_QUICK: return x * logistic(static_cast<Wide>(1.702) * x);
    default: return x * logistic(x);
  }
}

TEST(WideActivation, AgreesWithTheReference) {
  Random random(4704);
  const Context context = make_context();
  for (int32_t activation = HEED_ACTIVATION_RELU; activation <= HEED_ACTIVATION_SILU; ++activation) {
    const Dims dims = {3, 5, 70};
    const Input input = random_input(dims, HEED_F64, random.one_of(kReadable), random, random.one_of<double>({1, 30}));
    const HostTensor tensor(context.get(), input);
    const Out result =
        into_result(context.get(), HEED_F64, dims, make_strides(random.one_of(kWritable), dims, random), {&tensor},
                    [&](heed_tensor* to) { return heed_activation(tensor.handle(), activation, to); });
    for (size_t i = 0; i < input.contents.values.size(); ++i) {
      const double x = input.contents.values[i];
      const Wide expected = activated(activation, x);
      // Roundings of the exponent, which is at most 2 |x| + |x|^3 / 12 where the result is not 0, or x^2 of the distribution.
      const double units = 16 + 2 * x * x + std::abs(x * x * x) / 4;
      const Bounded bounded = {static_cast<double>(expected),
                               units * std::abs(static_cast<double>(expected)) * 0x1p-53 + 0x1p-1060};
      ASSERT_TRUE(is_within(result.contents.values[i], bounded, HEED_F64))
          << "activation " << activation << " of " << x;
    }
  }
}

}  // namespace
}  // namespace heed::property
