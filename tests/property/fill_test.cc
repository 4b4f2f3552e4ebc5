// SPDX-License-Identifier: Apache-2.0
// Sequences and random numbers in tensors: the formulas of docs/semantics.md, section "Random numbers", in every dtype
// and with any strides.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "golden/random_numbers.h"
#include "property/support/device.h"
#include "support/host_tensor.h"
#include "support/numbers.h"

namespace heed::property {
namespace {

constexpr heed_dtype kAllDtypes[] = {HEED_F32, HEED_F16, HEED_BF16, HEED_F64, HEED_I32,
                                     HEED_I64, HEED_I8,  HEED_U8,   HEED_BOOL};

using Fill = std::function<heed_status(heed_tensor*)>;

const std::vector<Dims>& some_dims() {
  static const std::vector<Dims> kDims = {{}, {0}, {1}, {7}, {2, 3, 4}, {3, 0, 2}, {5, 1, 3}, {2, 1, 2, 1, 3, 1, 2, 2}};
  return kDims;
}

std::vector<double> filled_with(const Fill& fill, heed_dtype dtype, int64_t count) {
  const Context context = make_context();
  const HostTensor tensor(context.get(), dtype, {count}, {1});
  check(fill(tensor.handle()));
  return tensor.read().values;
}

// The bytes of the elements after filling, in row-major order.
std::vector<uint8_t> bytes_of(const Fill& fill, heed_dtype dtype, const Dims& dims, const Dims& strides) {
  const Context context = make_context();
  const HostTensor tensor(context.get(), dtype, dims, strides);
  check(fill(tensor.handle()));
  EXPECT_TRUE(tensor.padding_is_untouched());
  return tensor.read_bytes();
}

// The bytes that heed_tensor_copy writes when it converts the numbers to a dtype.
std::vector<uint8_t> copied_to(heed_dtype dtype, const std::vector<double>& numbers) {
  const Context context = make_context();
  const Dims dims = {static_cast<int64_t>(numbers.size())};
  const HostTensor source(context.get(), make_input({dims, numbers}, HEED_F64));
  const HostTensor copy(context.get(), dtype, dims, {1});
  check(heed_tensor_copy(copy.handle(), source.handle()));
  return copy.read_bytes();
}

const std::vector<Fill>& every_fill() {
  static const std::vector<Fill> kFills = {
      [](heed_tensor* tensor) { return heed_tensor_fill(tensor, -2.6); },
      [](heed_tensor* tensor) { return heed_tensor_fill_arange(tensor, -3.3, 0.7); },
      [](heed_tensor* tensor) { return heed_tensor_fill_uniform(tensor, 0.1, 9.7, 11); },
      [](heed_tensor* tensor) { return heed_tensor_fill_normal(tensor, 1.0, 3.0, 12); },
  };
  return kFills;
}

TEST(Fills, FollowTheLogicalOrderWhateverTheStrides) {
  Random random(1);
  for (const Fill& fill : every_fill()) {
    for (const heed_dtype dtype : kAllDtypes) {
      for (const Dims& dims : some_dims()) {
        const std::vector<uint8_t> expected = bytes_of(fill, dtype, {num_elements(dims)}, {1});
        for (const Layout layout : kWritable)
          EXPECT_EQ(bytes_of(fill, dtype, dims, make_strides(layout, dims, random)), expected) << name_of(dtype);
      }
    }
  }
}

TEST(Fills, ConvertFromF64AsCopiesDo) {
  // The uniform numbers are inside the range of every dtype, and in most dtypes away from the ends of their interval.
  const std::vector<Fill> fills = {every_fill()[0], every_fill()[1], every_fill()[3]};
  for (const Fill& fill : fills) {
    const std::vector<double> numbers = filled_with(fill, HEED_F64, 301);
    for (const heed_dtype dtype : kAllDtypes)
      EXPECT_EQ(bytes_of(fill, dtype, {301}, {1}), copied_to(dtype, numbers)) << name_of(dtype);
  }
}

// ---- arange ---------------------------------------------------------------------------------------------------------

TEST(Arange, RoundsTheProductAndThenTheSum) {
  const double start = 0.1;
  const double step = 1.0 / 3.0;
  const std::vector<double> numbers =
      filled_with([&](heed_tensor* tensor) { return heed_tensor_fill_arange(tensor, start, step); }, HEED_F64, 1000);
  int64_t num_fused_differ = 0;
  for (size_t i = 0; i < numbers.size(); ++i) {
    const volatile double product = static_cast<double>(i) * step;
    EXPECT_EQ(numbers[i], start + product) << i;
    num_fused_differ += numbers[i] != std::fma(static_cast<double>(i), step, start);
  }
  EXPECT_GT(num_fused_differ, 0) << "with these numbers a fused multiply-add makes no difference";
}

TEST(Arange, AcceptsNegativeAndZeroStepsAndOverflow) {
  const auto arange = [](double start, double step, heed_dtype dtype) {
    return filled_with([=](heed_tensor* tensor) { return heed_tensor_fill_arange(tensor, start, step); }, dtype, 4);
  };
  EXPECT_EQ(arange(3, -2, HEED_I32), (std::vector<double>{3, 1, -1, -3}));
  EXPECT_EQ(arange(2.5, 0, HEED_F16), (std::vector<double>{2.5, 2.5, 2.5, 2.5}));
  EXPECT_EQ(arange(126, 1, HEED_I8), (std::vector<double>{126, 127, 127, 127}));
  EXPECT_EQ(arange(-1, 1, HEED_U8), (std::vector<double>{0, 0, 1, 2}));
  EXPECT_EQ(arange(-1, 1, HEED_BOOL), (std::vector<double>{1, 0, 1, 1}));
  EXPECT_EQ(arange(0, 1e308, HEED_F64), (std::vector<double>{0, 1e308, kInfinity, kInfinity}));
  EXPECT_EQ(arange(0, -3e38, HEED_F32), (std::vector<double>{0, static_cast<float>(-3e38), -kInfinity, -kInfinity}));
}

// ---- slopes of ALiBi ------------------------------------------------------------------------------------------------

TEST(AlibiSlopes, ArePowersOfTwoWhereTheHeadsAre) {
  const auto slopes = [](int64_t heads, heed_dtype dtype) {
    return filled_with([](heed_tensor* tensor) { return heed_tensor_fill_alibi_slopes(tensor); }, dtype, heads);
  };
  EXPECT_EQ(slopes(1, HEED_F64), (std::vector<double>{0x1p-8}));
  EXPECT_EQ(slopes(2, HEED_F32), (std::vector<double>{0x1p-4, 0x1p-8}));
  EXPECT_EQ(slopes(8, HEED_F16), (std::vector<double>{0x1p-1, 0x1p-2, 0x1p-3, 0x1p-4, 0x1p-5, 0x1p-6, 0x1p-7, 0x1p-8}));
  EXPECT_EQ(slopes(3, HEED_F32), (std::vector<double>{0x1p-4, 0x1p-8, 0x1p-2}));
  EXPECT_EQ(slopes(0, HEED_F32), std::vector<double>());
}

// Every number of heads up to 100, compared with the recursion in the program of the paper: the slopes of the largest
// power of two below, then every second slope of twice as many heads.
TEST(AlibiSlopes, OfEveryNumberOfHeadsAreThoseOfTheRecursion) {
  const auto expected = [](const auto& self, int64_t heads) -> std::vector<double> {
    int64_t power = 1;
    while (2 * power <= heads) power *= 2;
    std::vector<double> slopes;
    for (int64_t h = 1; h <= power; ++h)
      slopes.push_back(std::pow(2.0, -8.0 * static_cast<double>(h) / static_cast<double>(power)));
    if (power == heads) return slopes;
    const std::vector<double> twice = self(self, 2 * power);
    for (size_t h = 0; slopes.size() < static_cast<size_t>(heads); h += 2) slopes.push_back(twice[h]);
    return slopes;
  };
  for (int64_t heads = 1; heads <= 100; ++heads) {
    const std::vector<double> slopes =
        filled_with([](heed_tensor* tensor) { return heed_tensor_fill_alibi_slopes(tensor); }, HEED_F64, heads);
    const std::vector<double> wanted = expected(expected, heads);
    for (size_t h = 0; h < wanted.size(); ++h)
      EXPECT_NEAR(slopes[h], wanted[h], 1e-15) << heads << " heads, head " << h;
  }
}

// ---- random numbers -------------------------------------------------------------------------------------------------

TEST(RandomNumbers, OfTheUniformDistributionAreThoseOfTheFormula) {
  for (const golden::UniformNumbers& expected : golden::kUniformNumbers) {
    const auto fill = [&](heed_tensor* tensor) {
      return heed_tensor_fill_uniform(tensor, expected.low, expected.high, expected.seed);
    };
    EXPECT_EQ(filled_with(fill, expected.dtype, static_cast<int64_t>(expected.numbers.size())), expected.numbers)
        << name_of(expected.dtype) << " from " << expected.low << " to " << expected.high;
  }
}

TEST(RandomNumbers, OfTheNormalDistributionAreThoseOfTheFormula) {
  for (const golden::NormalNumbers& expected : golden::kNormalNumbers) {
    const auto fill = [&](heed_tensor* tensor) {
      return heed_tensor_fill_normal(tensor, expected.mean, expected.standard_deviation, expected.seed);
    };
    const std::vector<double> numbers = filled_with(fill, HEED_F64, static_cast<int64_t>(expected.numbers.size()));
    const std::vector<double> singles = filled_with(fill, HEED_F32, static_cast<int64_t>(expected.numbers.size()));
    for (size_t i = 0; i < numbers.size(); ++i) {
      const double z = (expected.numbers[i] - expected.mean) / expected.standard_deviation;
      // Both implementations of the inverse are accurate to about 1e-15, and the expected numbers have 15 digits.
      const double tolerance = 1e-14 * (std::fabs(z) * expected.standard_deviation + std::fabs(expected.mean));
      EXPECT_NEAR(numbers[i], expected.numbers[i], tolerance);
      EXPECT_EQ(singles[i], static_cast<double>(static_cast<float>(expected.numbers[i])));
    }
  }
}

TEST(RandomNumbers, OfTheUniformDistributionStayInsideTheIntervalInEveryDtype) {
  const std::vector<std::pair<double, double>> ranges = {
      {0, 1},          {-1, 0},        {0.1, 0.101},       {1, 1.02},      {-1e6, 1e6},     {65000, 66000},
      {-6.5, -0.5},    {0, 300},       {-1e-7, 1e-7},      {5e-324, 1e-3}, {0, 1e-45},      {16777216, 16777219},
      {-3e38, 3.4e38}, {9e18, 9.3e18}, {-9.3e18, -9.2e18}, {-0.0, 5e-324}, {1e300, 1.7e308}};
  for (const heed_dtype dtype : kAllDtypes) {
    if (dtype == HEED_BOOL) continue;
    int64_t num_filled = 0;
    for (const auto& [low, high] : ranges) {
      const Context context = make_context();
      const HostTensor tensor(context.get(), dtype, {5000}, {1});
      const heed_status status = heed_tensor_fill_uniform(tensor.handle(), low, high, 5);
      if (status != HEED_OK) {
        EXPECT_NE(std::string(heed_last_error()).find("has no number"), std::string::npos) << heed_last_error();
        continue;
      }
      ++num_filled;
      for (const double number : tensor.read().values) {
        ASSERT_GE(number, low) << name_of(dtype) << " from " << low << " to " << high;
        ASSERT_LT(number, high) << name_of(dtype) << " from " << low << " to " << high;
      }
    }
    EXPECT_GT(num_filled, dtype == HEED_U8 ? 1 : 3) << name_of(dtype);
  }
}

TEST(RandomNumbers, OfTheUniformDistributionReachEveryNumberOfANarrowInterval) {
  const auto distinct = [](heed_dtype dtype, double low, double high) {
    std::vector<double> numbers =
        filled_with([=](heed_tensor* tensor) { return heed_tensor_fill_uniform(tensor, low, high, 8); }, dtype, 2000);
    std::sort(numbers.begin(), numbers.end());
    numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
    return numbers;
  };
  EXPECT_EQ(distinct(HEED_BF16, 1, 1.02), (std::vector<double>{1, 1.0078125, 1.015625}));
  EXPECT_EQ(distinct(HEED_F32, 16777216, 16777221), (std::vector<double>{16777216, 16777218, 16777220}));
  EXPECT_EQ(distinct(HEED_I64, 3, 7), (std::vector<double>{3, 4, 5, 6}));
  EXPECT_EQ(distinct(HEED_I8, -2, 2), (std::vector<double>{-1, 0, 1}));
  EXPECT_EQ(distinct(HEED_I32, -2.5, -0.5), (std::vector<double>{-2, -1}));
  EXPECT_EQ(distinct(HEED_BOOL, 0.25, 0.5), (std::vector<double>{1}));
}

TEST(RandomNumbers, OfOneValueAreThatValue) {
  for (const heed_dtype dtype : kAllDtypes) {
    const std::vector<uint8_t> expected = copied_to(dtype, std::vector<double>(9, 0.3));
    EXPECT_EQ(bytes_of([](heed_tensor* t) { return heed_tensor_fill_uniform(t, 0.3, 0.3, 1); }, dtype, {9}, {1}),
              expected);
    EXPECT_EQ(bytes_of([](heed_tensor* t) { return heed_tensor_fill_normal(t, 0.3, 0.0, 1); }, dtype, {9}, {1}),
              expected);
  }
}

TEST(RandomNumbers, HaveTheMomentsOfTheirDistribution) {
  constexpr int64_t kCount = 1 << 17;
  const auto moments = [](const Fill& fill) {
    double sum = 0;
    double squares = 0;
    for (const double x : filled_with(fill, HEED_F64, kCount)) {
      sum += x;
      squares += x * x;
    }
    return std::pair(sum / kCount, squares / kCount);
  };
  // Six standard errors: sqrt(variance of x^n / count). Variances of x and x^2, uniform in [-1, 1): 1/3 and 4/45;
  // normal: 1 and 2.
  const double error = 6 / std::sqrt(static_cast<double>(kCount));
  const auto [mean, square] = moments([](heed_tensor* t) { return heed_tensor_fill_uniform(t, -1, 1, 99); });
  EXPECT_NEAR(mean, 0, error * std::sqrt(1.0 / 3));
  EXPECT_NEAR(square, 1.0 / 3, error * std::sqrt(4.0 / 45));
  const auto [normal_mean, normal_square] =
      moments([](heed_tensor* t) { return heed_tensor_fill_normal(t, 0, 1, 99); });
  EXPECT_NEAR(normal_mean, 0, error);
  EXPECT_NEAR(normal_square, 1, error * std::sqrt(2.0));
}

TEST(RandomNumbers, OfOneSeedDifferBetweenUniformNormalAndWeights) {
  // Input size 2, so that the layer draws weights of variance 1, which are comparable with standard normal numbers.
  constexpr int64_t kCount = 400;
  const uint64_t seed = 21;
  const Context context = make_context();
  heed_multi_head_attention_options options = HEED_MULTI_HEAD_ATTENTION_OPTIONS_INIT;
  options.num_hiddens = kCount / 2;
  options.num_heads = 1;
  heed_layer* made = nullptr;
  check(heed_multi_head_attention_create(context.get(), &options, &made));
  const Layer layer(made);
  const HostTensor queries(context.get(), HEED_F32, {1, 1, 2}, {2, 2, 1});
  heed_layer_inputs inputs = HEED_LAYER_INPUTS_INIT;
  inputs.queries = queries.handle();
  check(heed_layer_initialize(layer.get(), &inputs, seed));
  heed_tensor* snapshot = nullptr;
  check(heed_layer_parameter(layer.get(), "W_q.weight", &snapshot));
  const Tensor weight(snapshot);
  std::vector<float> weights(kCount);
  check(heed_tensor_read(weight.get(), weights.data(), kCount * sizeof(float)));

  const std::vector<double> normals = filled_with(
      [&](heed_tensor* tensor) { return heed_tensor_fill_normal(tensor, 0, 1, seed); }, HEED_F64, 2 * kCount);
  const std::vector<double> uniforms =
      filled_with([&](heed_tensor* tensor) { return heed_tensor_fill_uniform(tensor, 0, 1, seed); }, HEED_F64, kCount);
  const auto word_of = [](double z) { return std::floor(0x1p32 * 0.5 * std::erfc(-z / std::sqrt(2.0))); };
  for (size_t i = 0; i < kCount; ++i) {
    EXPECT_NE(static_cast<float>(normals[i]), weights[i]) << i;
    // Two equal words would differ by at most one rounding here.
    EXPECT_GT(std::fabs(word_of(normals[2 * i]) - std::floor(uniforms[i] * 0x1p32)), 2) << i;
    EXPECT_GT(std::fabs(word_of(weights[i]) - word_of(normals[i])), 1024) << i;
  }
}

TEST(RandomNumbers, DependOnEveryBitOfTheSeedAndNothingElse) {
  const std::vector<std::function<heed_status(heed_tensor*, uint64_t)>> fills = {
      [](heed_tensor* tensor, uint64_t seed) { return heed_tensor_fill_uniform(tensor, 0, 1, seed); },
      [](heed_tensor* tensor, uint64_t seed) { return heed_tensor_fill_normal(tensor, 0, 1, seed); }};
  for (const auto& fill : fills) {
    const auto numbers = [&](uint64_t seed, int64_t count) {
      return filled_with([&](heed_tensor* tensor) { return fill(tensor, seed); }, HEED_F64, count);
    };
    const std::vector<double> expected = numbers(0, 6);
    EXPECT_EQ(numbers(0, 6), expected);
    for (int bit = 0; bit < 64; ++bit) {
      const std::vector<double> others = numbers(uint64_t{1} << bit, 6);
      for (size_t i = 0; i < others.size(); ++i) EXPECT_NE(others[i], expected[i]) << bit;
    }
    // A long tensor begins with the numbers of a short one.
    std::vector<double> longer = numbers(0, 100);
    longer.resize(6);
    EXPECT_EQ(longer, expected);
  }
}

}  // namespace
}  // namespace heed::property
