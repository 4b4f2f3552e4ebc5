// SPDX-License-Identifier: Apache-2.0
// Functions of elements, comparisons, heed_select and heed_clip: docs/semantics.md, section "Arithmetic", against f64.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

#include "property/support/array_dtypes.h"
#include "property/support/operation_call.h"
#include "support/array.h"
#include "support/numbers.h"

namespace heed::property {
namespace {

// ---- what heed.h says -----------------------------------------------------------------------------------------------

// A function, its largest error in units in the last place of F32, and what it is in double.
struct Function {
  int32_t number;
  double units;
  std::function<double(double, double)> formula;
  bool is_of_integers = true;  // whether integers are computed as such; otherwise they become F32
};

double remainder_of(double a, double b) {
  const double rest = std::fmod(a, b);
  if (rest == 0) return std::copysign(0.0, b);
  return (rest < 0) != (b < 0) ? rest + b : rest;
}

double sign_of(double x) { return std::isnan(x) ? x : static_cast<double>((x > 0) - (x < 0)); }

const std::vector<Function>& functions_of_two() {
  static const std::vector<Function> kFunctions = {
      {HEED_ELEMENTWISE_ADD, 0.5, [](double a, double b) { return a + b; }},
      {HEED_ELEMENTWISE_SUBTRACT, 0.5, [](double a, double b) { return a - b; }},
      {HEED_ELEMENTWISE_MULTIPLY, 0.5, [](double a, double b) { return a * b; }},
      {HEED_ELEMENTWISE_DIVIDE, 0.5, [](double a, double b) { return a / b; }, false},
      {HEED_ELEMENTWISE_POWER, 0.51, [](double a, double b) { return std::pow(a, b); }},
      {HEED_ELEMENTWISE_REMAINDER, 0.5, remainder_of},
      {HEED_ELEMENTWISE_MAXIMUM, 0, [](double a, double b) { return a >= b || std::isnan(a) ? a : b; }},
      {HEED_ELEMENTWISE_MINIMUM, 0, [](double a, double b) { return a <= b || std::isnan(a) ? a : b; }},
  };
  return kFunctions;
}

const std::vector<Function>& functions_of_one() {
  const auto one = [](auto function) { return [=](double a, double) { return function(a); }; };
  static const std::vector<Function> kFunctions = {
      {HEED_ELEMENTWISE_NEGATIVE, 0, one([](double x) { return -x; })},
      {HEED_ELEMENTWISE_ABSOLUTE, 0, one([](double x) { return std::abs(x); })},
      {HEED_ELEMENTWISE_SIGN, 0, one(sign_of)},
      {HEED_ELEMENTWISE_SQUARE, 0.5, one([](double x) { return x * x; })},
      {HEED_ELEMENTWISE_ROUND, 0, one([](double x) { return std::nearbyint(x); })},
      {HEED_ELEMENTWISE_FLOOR, 0, one([](double x) { return std::floor(x); })},
      {HEED_ELEMENTWISE_CEIL, 0, one([](double x) { return std::ceil(x); })},
      {HEED_ELEMENTWISE_TRUNCATE, 0, one([](double x) { return std::trunc(x); })},
      {HEED_ELEMENTWISE_SQRT, 0.5, one([](double x) { return std::sqrt(x); }), false},
      {HEED_ELEMENTWISE_EXP, 1.5, one([](double x) { return std::exp(x); }), false},
      {HEED_ELEMENTWISE_LOG, 1.5, one([](double x) { return std::log(x); }), false},
      {HEED_ELEMENTWISE_SIN, 0.51, one([](double x) { return std::sin(x); }), false},
      {HEED_ELEMENTWISE_COS, 0.51, one([](double x) { return std::cos(x); }), false},
      {HEED_ELEMENTWISE_TANH, 2, one([](double x) { return std::tanh(x); }), false},
      {HEED_ELEMENTWISE_SIGMOID, 3, one([](double x) { return 1 / (1 + std::exp(-x)); }), false},
      {HEED_ELEMENTWISE_ERF, 2.5, one([](double x) { return std::erf(x); }), false},
  };
  return kFunctions;
}

// The table of heed.h; nothing for F16 with BF16.
std::optional<heed_dtype> common_dtype(heed_dtype a, heed_dtype b) {
  if (a == b) return a;
  if (is_narrow(a) && is_narrow(b)) return std::nullopt;
  for (const heed_dtype dtype : {HEED_F64, HEED_F32, HEED_F16, HEED_BF16, HEED_I64}) {
    if (a == dtype || b == dtype) return dtype;
  }
  return HEED_I32;
}

// Whether `actual` is `expected` within `units` units in the last place of the dtype in which it is computed, and rounded
// to `dtype`.
testing::AssertionResult is_close(double actual, double expected, double units, heed_dtype compute, heed_dtype dtype) {
  bool accepted = false;
  if (is_whole(compute)) {
    accepted = actual == expected;
  } else if (std::isnan(expected)) {
    accepted = std::isnan(actual);
  } else if (compute == HEED_F64) {
    // 4 units for functions of the C library; the sums and products of double are exactly those of the formula.
    const double unit = std::nextafter(std::abs(expected), kInfinity) - std::abs(expected);
    accepted = actual == expected || std::abs(actual - expected) <= (units > 0.5 ? 4 * unit : 0);
  } else {
    // A unit is twice the largest error of rounding.
    const double unit = 2 * reference::half_unit(reference::Format::F32, expected);
    // An error of half a unit is that of the rounding itself.
    const double error = units <= 0.5 ? 0 : (units - 0.5) * unit;
    const double computed = units <= 0.5 ? reference::round_to(reference::Format::F32, expected) : expected;
    accepted = reference::accepts(format_of(dtype), computed, dtype == HEED_F32 ? error : error + unit / 2, actual);
  }
  if (accepted) return testing::AssertionSuccess();
  return testing::AssertionFailure() << "is " << actual << ", expected " << expected;
}

// ---- calls ----------------------------------------------------------------------------------------------------------

using Call = std::function<heed_status(const heed_tensor*, const heed_tensor*, heed_tensor*)>;

Context context_of_threads(Fallback fallback, int32_t num_threads) {
  heed_context_options options = device_options(fallback);
  options.num_threads = num_threads;
  heed_context* context = nullptr;
  check(heed_context_create(&options, &context));
  return Context(context);
}

// b is nothing for a function of one element.
Out compute(const Call& call, const Input& a, const std::optional<Input>& b, heed_dtype dtype, const Dims& dims,
            const Dims& strides, int32_t num_threads = 0) {
  return on_device([&](Fallback fallback) {
    const Context context = context_of_threads(fallback, num_threads);
    const HostTensor left(context.get(), a);
    std::optional<HostTensor> right;
    if (b) right.emplace(context.get(), *b);
    return into_result(context.get(), dtype, dims, strides, {&left, right ? &*right : &left}, [&](heed_tensor* result) {
      return call(left.handle(), right ? right->handle() : nullptr, result);
    });
  });
}

Call function_call(int32_t number) {
  return [number](const heed_tensor* a, const heed_tensor* b, heed_tensor* result) {
    return heed_elementwise(number, a, b, result);
  };
}

Dims broadcast_dims(Random& random, int64_t max_rank = 8) {
  Dims dims;
  for (int64_t i = random.below(max_rank + 1); i > 0; --i)
    dims.push_back(random.chance(0.03) ? 0 : 1 + random.below(3));
  if (!dims.empty()) {
    dims[to_size(random.below(static_cast<int64_t>(dims.size())))] =
        random.one_of<int64_t>({1, 2, 7, 15, 64, 257, 600});
  }
  return dims;
}

// Dims that are broadcast to `dims`.
Dims repeated_dims(const Dims& dims, Random& random) {
  const int64_t missing = random.chance(0.3) ? random.below(static_cast<int64_t>(dims.size()) + 1) : 0;
  Dims repeated(dims.begin() + missing, dims.end());
  for (int64_t& dim : repeated) dim = random.chance(0.2) ? 1 : dim;
  return repeated;
}

// Numbers of many magnitudes; of integers small ones, which powers and products do not make wrap around.
Input random_numbers(const Dims& dims, heed_dtype dtype, Random& random, bool is_positive) {
  Array array = random_array(dims, random, random.one_of<double>({0.5, 3.0, 9.0}));
  for (double& value : array.values) {
    if (is_whole(dtype) || dtype == HEED_I8 || dtype == HEED_U8) value = std::trunc(value);
    if (dtype == HEED_BOOL) value = value > 0 ? 1 : 0;
    if (is_positive) value = std::max(std::abs(value), is_whole(dtype) ? 1.0 : 0.0);
  }
  return make_input(array, dtype, make_strides(random.one_of(kReadable), dims, random));
}

// ---- tests ----------------------------------------------------------------------------------------------------------

TEST(Elementwise, FunctionsOfTwoAgreeWithTheirFormulas) {
  Random random(4401);
  for (int64_t round = 0; round < num_rounds(700); ++round) {
    const Function& function = random.one_of(functions_of_two());
    const heed_dtype first = random.one_of(kNumbers);
    const heed_dtype second = random.chance(0.5) ? first : random.one_of(kNumbers);
    const std::optional<heed_dtype> common = common_dtype(first, second);
    if (!common || (is_whole(*common) && !function.is_of_integers)) continue;
    const Dims dims = broadcast_dims(random);
    const bool is_power = function.number == HEED_ELEMENTWISE_POWER;
    const Input a = random_numbers(dims, first, random, false);
    const Input b = random_numbers(repeated_dims(dims, random), second, random,
                                   is_power || function.number == HEED_ELEMENTWISE_REMAINDER);
    const heed_dtype dtype = is_narrow(*common) ? random.one_of<heed_dtype>({*common, HEED_F32}) : *common;
    const Out result = compute(function_call(function.number), a, b, dtype, dims,
                               make_strides(random.one_of(kWritable), dims, random));
    const Array repeated = broadcast(b.contents, dims);
    for (size_t i = 0; i < result.contents.values.size(); ++i) {
      const double expected = function.formula(a.contents.values[i], repeated.values[i]);
      ASSERT_TRUE(is_close(result.contents.values[i], expected, function.units, *common, dtype))
          << "function " << function.number << " of " << a.contents.values[i] << " and " << repeated.values[i]
          << ", dtypes " << name_of(first) << " and " << name_of(second) << ", round " << round;
    }
  }
}

TEST(Elementwise, FunctionsOfOneAgreeWithTheirFormulas) {
  Random random(4402);
  for (int64_t round = 0; round < num_rounds(700); ++round) {
    const Function& function = random.one_of(functions_of_one());
    const heed_dtype given = random.one_of(kNumbers);
    const heed_dtype compute_dtype = is_whole(given) && !function.is_of_integers ? HEED_F32 : given;
    const Dims dims = broadcast_dims(random);
    const Input a = random_numbers(dims, given, random, false);
    const heed_dtype dtype = is_narrow(given) ? random.one_of<heed_dtype>({given, HEED_F32}) : compute_dtype;
    const Out result = compute(function_call(function.number), a, std::nullopt, dtype, dims,
                               make_strides(random.one_of(kWritable), dims, random));
    for (size_t i = 0; i < result.contents.values.size(); ++i) {
      const double expected = function.formula(a.contents.values[i], 0);
      ASSERT_TRUE(is_close(result.contents.values[i], expected, function.units, compute_dtype, dtype))
          << "function " << function.number << " of " << a.contents.values[i] << ", dtype " << name_of(given);
    }
  }
}

// Of floats of all magnitudes and both signs, with the errors that docs/semantics.md states.
TEST(Elementwise, FunctionsAreWithinTheirUnitsOverAllExponents) {
  Array numbers = filled({int64_t{1} << 18}, 0);
  for (size_t i = 0; i < numbers.values.size(); ++i) {
    // An odd step visits every exponent with many mantissas.
    const auto bits = static_cast<uint32_t>(i * 16381 * 1024 / 1023);
    numbers.values[i] = static_cast<double>(std::bit_cast<float>(bits));
  }
  const Input input = make_input(numbers);
  for (const Function& function : functions_of_one()) {
    const Out result = compute(function_call(function.number), input, std::nullopt, HEED_F32, numbers.dims, {1});
    double most = 0;
    for (size_t i = 0; i < numbers.values.size(); ++i) {
      const double expected = function.formula(numbers.values[i], 0);
      const double actual = result.contents.values[i];
      ASSERT_TRUE(is_close(actual, expected, function.units, HEED_F32, HEED_F32))
          << "function " << function.number << " of " << std::hexfloat << numbers.values[i];
      if (!std::isfinite(expected) || !std::isfinite(actual)) continue;
      most = std::max(most, std::abs(actual - expected) / (2 * reference::half_unit(reference::Format::F32, expected)));
    }
    RecordProperty("units_of_" + std::to_string(function.number), std::to_string(most));
  }
}

TEST(Elementwise, ComparisonsAndLogicGiveTruthValues) {
  Random random(4403);
  using Holds = std::function<bool(double, double)>;
  const std::vector<std::pair<Call, Holds>> calls = [] {
    std::vector<std::pair<Call, Holds>> made;
    const auto compare = [&](int32_t number, const Holds& holds) {
      made.emplace_back([number](const heed_tensor* a, const heed_tensor* b,
                                 heed_tensor* result) { return heed_compare(number, a, b, result); },
                        holds);
    };
    compare(HEED_COMPARE_EQUAL, [](double a, double b) { return a == b; });
    compare(HEED_COMPARE_NOT_EQUAL, [](double a, double b) { return a != b; });
    compare(HEED_COMPARE_LESS, [](double a, double b) { return a < b; });
    compare(HEED_COMPARE_LESS_EQUAL, [](double a, double b) { return a <= b; });
    compare(HEED_COMPARE_GREATER, [](double a, double b) { return a > b; });
    compare(HEED_COMPARE_GREATER_EQUAL, [](double a, double b) { return a >= b; });
    made.emplace_back(function_call(HEED_ELEMENTWISE_LOGICAL_AND), [](double a, double b) { return a != 0 && b != 0; });
    made.emplace_back(function_call(HEED_ELEMENTWISE_LOGICAL_OR), [](double a, double b) { return a != 0 || b != 0; });
    made.emplace_back(function_call(HEED_ELEMENTWISE_LOGICAL_XOR),
                      [](double a, double b) { return (a != 0) != (b != 0); });
    return made;
  }();
  std::vector<heed_dtype> dtypes = kNumbers;
  dtypes.push_back(HEED_BOOL);
  for (int64_t round = 0; round < num_rounds(600); ++round) {
    const auto& [call, holds] = random.one_of(calls);
    const heed_dtype dtype = random.one_of(dtypes);
    const Dims dims = broadcast_dims(random);
    const auto draw = [&](const Dims& of) {
      Array array = random_array(of, random, 2.0);
      for (double& value : array.values) {
        value = random.chance(0.1) && !is_whole(dtype) ? kNaN : std::trunc(value);
        if (dtype == HEED_BOOL) value = value == 0 ? 0 : 1;
      }
      return make_input(array, dtype, make_strides(random.one_of(kReadable), of, random));
    };
    const Input a = draw(dims);
    const Input b = draw(repeated_dims(dims, random));
    const Out result = compute(call, a, b, HEED_BOOL, dims, make_strides(random.one_of(kWritable), dims, random));
    const Array repeated = broadcast(b.contents, dims);
    for (size_t i = 0; i < result.contents.values.size(); ++i) {
      ASSERT_EQ(result.contents.values[i], holds(a.contents.values[i], repeated.values[i]) ? 1.0 : 0.0)
          << a.contents.values[i] << " and " << repeated.values[i] << " of " << name_of(dtype);
    }
  }
}

TEST(Elementwise, PropertiesOfNumbers) {
  for (const heed_dtype dtype : {HEED_F32, HEED_F16, HEED_BF16, HEED_F64}) {
    const Input numbers = make_input({{5}, {kNaN, kInfinity, -kInfinity, 0, -3}}, dtype);
    const auto truths = [&](int32_t number) {
      return compute(function_call(number), numbers, std::nullopt, HEED_BOOL, {5}, {1}).contents.values;
    };
    EXPECT_EQ(truths(HEED_ELEMENTWISE_IS_NAN), (std::vector<double>{1, 0, 0, 0, 0}));
    EXPECT_EQ(truths(HEED_ELEMENTWISE_IS_INFINITE), (std::vector<double>{0, 1, 1, 0, 0}));
    EXPECT_EQ(truths(HEED_ELEMENTWISE_LOGICAL_NOT), (std::vector<double>{0, 0, 0, 1, 0}));
  }
}

TEST(Elementwise, SelectTakesAWhereTheConditionHolds) {
  Random random(4404);
  std::vector<heed_dtype> dtypes = kNumbers;
  dtypes.insert(dtypes.end(), {HEED_I8, HEED_U8, HEED_BOOL});
  for (int64_t round = 0; round < num_rounds(400); ++round) {
    const heed_dtype dtype = random.one_of(dtypes);
    const Dims dims = broadcast_dims(random);
    Array chosen = random_array(repeated_dims(dims, random), random, 1.0);
    for (double& value : chosen.values) value = value > 0 ? 1 : 0;
    const Input condition = make_input(chosen, HEED_BOOL);
    const Input a = random_numbers(dims, dtype, random, dtype == HEED_U8);
    const Input b = random_numbers(repeated_dims(dims, random), dtype, random, dtype == HEED_U8);
    const Context context = make_context();
    const HostTensor where(context.get(), condition);
    const HostTensor first(context.get(), a);
    const HostTensor second(context.get(), b);
    const Out result =
        into_result(context.get(), dtype, dims, row_major_strides(dims), {&where, &first, &second},
                    [&](heed_tensor* to) { return heed_select(where.handle(), first.handle(), second.handle(), to); });
    const Array holds = broadcast(condition.contents, dims);
    const Array repeated = broadcast(b.contents, dims);
    for (size_t i = 0; i < result.contents.values.size(); ++i)
      ASSERT_EQ(result.contents.values[i], holds.values[i] != 0 ? a.contents.values[i] : repeated.values[i]);
  }
}

TEST(Elementwise, ClipLimitsBothSides) {
  const Context context = make_context();
  for (const heed_dtype dtype : kNumbers) {
    const HostTensor numbers(context.get(), make_input({{5}, {-7, -2, 0, 3, 9}}, dtype));
    const HostTensor low(context.get(), make_input({{}, {-2}}, dtype));
    const HostTensor high(context.get(), make_input({{1}, {3}}, dtype));
    const auto clipped = [&](const HostTensor* lower, const HostTensor* upper) {
      return into_result(context.get(), dtype, {5}, {1}, {&numbers},
                         [&](heed_tensor* result) {
                           return heed_clip(numbers.handle(), lower != nullptr ? lower->handle() : nullptr,
                                            upper != nullptr ? upper->handle() : nullptr, result);
                         })
          .contents.values;
    };
    EXPECT_EQ(clipped(&low, &high), (std::vector<double>{-2, -2, 0, 3, 3}));
    EXPECT_EQ(clipped(&low, nullptr), (std::vector<double>{-2, -2, 0, 3, 9}));
    EXPECT_EQ(clipped(nullptr, &high), (std::vector<double>{-7, -2, 0, 3, 3}));
  }
}

TEST(Elementwise, ShortNamesAreTheFunctions) {
  const Input a = make_input({{3}, {6, -2, 0.5}});
  const Input b = make_input({{1}, {2}});
  const auto values_of = [&](const Call& call) { return compute(call, a, b, HEED_F32, {3}, {1}).contents.values; };
  EXPECT_EQ(values_of(heed_add), (std::vector<double>{8, 0, 2.5}));
  EXPECT_EQ(values_of(heed_subtract), (std::vector<double>{4, -4, -1.5}));
  EXPECT_EQ(values_of(heed_multiply), (std::vector<double>{12, -4, 1}));
  EXPECT_EQ(values_of(heed_divide), (std::vector<double>{3, -1, 0.25}));
}

TEST(Elementwise, IntegersWrapAround) {
  const auto value_of = [](int32_t number, heed_dtype dtype, double a, std::optional<double> b) {
    const std::optional<Input> second = b ? std::optional(make_input({{1}, {*b}}, dtype)) : std::nullopt;
    return compute(function_call(number), make_input({{1}, {a}}, dtype), second, dtype, {1}, {1}).contents.values[0];
  };
  EXPECT_EQ(value_of(HEED_ELEMENTWISE_ADD, HEED_I32, 2147483647, 1), -2147483648.0);
  EXPECT_EQ(value_of(HEED_ELEMENTWISE_SUBTRACT, HEED_I32, -2147483648.0, 1), 2147483647.0);
  EXPECT_EQ(value_of(HEED_ELEMENTWISE_MULTIPLY, HEED_I32, 65536, 65537), 65536.0);
  EXPECT_EQ(value_of(HEED_ELEMENTWISE_POWER, HEED_I32, 3, 21), 1870418611.0);
  EXPECT_EQ(value_of(HEED_ELEMENTWISE_ADD, HEED_I64, -0x1p63, -0x1p63), 0.0);
  EXPECT_EQ(value_of(HEED_ELEMENTWISE_REMAINDER, HEED_I32, -2147483648.0, -1), 0.0);
  EXPECT_EQ(value_of(HEED_ELEMENTWISE_NEGATIVE, HEED_I32, -2147483648.0, std::nullopt), -2147483648.0);
  EXPECT_EQ(value_of(HEED_ELEMENTWISE_ABSOLUTE, HEED_I64, -0x1p63, std::nullopt), -0x1p63);
}

TEST(Elementwise, AnyStridesThreadsAndPlaceHaveTheSameBits) {
  Random random(4405);
  for (int64_t round = 0; round < num_rounds(60); ++round) {
    const Function& function =
        random.chance(0.5) ? random.one_of(functions_of_one()) : random.one_of(functions_of_two());
    const heed_dtype dtype = random.one_of<heed_dtype>({HEED_F32, HEED_F16, HEED_BF16, HEED_F64});
    const Dims dims = {random.one_of<int64_t>({1, 3, 90}), 7, random.one_of<int64_t>({1, 5, 333})};
    const bool is_of_two = function.number < HEED_ELEMENTWISE_LOGICAL_AND;
    const Input a = make_input(random_array(dims, random, 3.0), dtype);
    const std::optional<Input> b =
        is_of_two ? std::optional(make_input(random_array(dims, random, 3.0), dtype)) : std::nullopt;
    const Call call = function_call(function.number);
    const Dims dense = row_major_strides(dims);
    const Out expected = compute(call, a, b, dtype, dims, dense, 1);
    for (const Layout layout : {Layout::Transposed, Layout::Padded, Layout::Reversed}) {
      const Input moved = make_input(a.contents, dtype, make_strides(layout, dims, random));
      const Dims strides = make_strides(layout == Layout::Reversed ? Layout::Padded : layout, dims, random);
      EXPECT_EQ(compute(call, moved, b, dtype, dims, strides, 3).bytes, expected.bytes) << function.number;
    }
    // In place of a, and of b.
    const Context context = make_context();
    const HostTensor first(context.get(), a);
    std::optional<HostTensor> second;
    if (b) second.emplace(context.get(), *b);
    check(heed_elementwise(function.number, first.handle(), b ? second->handle() : nullptr, first.handle()));
    EXPECT_EQ(first.read_bytes(), expected.bytes) << function.number;
    if (!b) continue;
    const HostTensor again(context.get(), a);
    check(heed_elementwise(function.number, again.handle(), second->handle(), second->handle()));
    EXPECT_EQ(second->read_bytes(), expected.bytes) << function.number;
  }
}

// Sines, cosines and powers of any floats in one array, of which kernels compute some and the C library the others: within half a
// unit of those in f64, with the sign of zeros.
TEST(Elementwise, AnglesAndPowersOfAllFloats) {
  Random random(4406);
  const std::vector<double> special = {0.0,      -0.0,      1,    -1,    0.5,       -0.5,       2,
                                       -2,       3,         -3,   2.5,   1e-45,     -1e-45,     16777217,
                                       33554434, -33554435, 3e38, -3e38, kInfinity, -kInfinity, kNaN};
  std::vector<double> a;
  std::vector<double> b;
  for (const double x : special) {
    for (const double y : special) {
      a.push_back(static_cast<float>(x));
      b.push_back(static_cast<float>(y));
    }
  }
  for (int64_t i = 0; i < 20000; ++i) {
    // Any bits, or such as do not overflow.
    a.push_back(random.chance(0.5)
                    ? static_cast<double>(std::bit_cast<float>(static_cast<uint32_t>(random.below(int64_t{1} << 32))))
                    : static_cast<double>(static_cast<float>(std::exp(random.uniform(-20, 20)))));
    b.push_back(static_cast<double>(static_cast<float>(random.uniform(-10, 10))));
  }
  const auto size = static_cast<int64_t>(a.size());
  const Input bases = make_input({{size}, a});
  const Input exponents = make_input({{size}, b});
  const auto compare = [&](int32_t number, const std::optional<Input>& second, const auto& expected) {
    const Out result = compute(function_call(number), bases, second, HEED_F32, {size}, {1});
    for (size_t i = 0; i < a.size(); ++i) {
      const double actual = result.contents.values[i];
      const double exact = expected(a[i], b[i]);
      ASSERT_TRUE(is_close(actual, exact, 0.51, HEED_F32, HEED_F32)) << a[i] << " and " << b[i];
      ASSERT_TRUE(exact != 0 || std::signbit(actual) == std::signbit(exact)) << a[i] << " and " << b[i];
    }
  };
  compare(HEED_ELEMENTWISE_SIN, std::nullopt, [](double x, double) { return std::sin(x); });
  compare(HEED_ELEMENTWISE_COS, std::nullopt, [](double x, double) { return std::cos(x); });
  compare(HEED_ELEMENTWISE_POWER, exponents, [](double x, double y) { return std::pow(x, y); });
}

TEST(Elementwise, NumbersThatAreNotFinite) {
  const auto values_of = [](int32_t number, std::vector<double> a, std::vector<double> b) {
    const auto size = static_cast<int64_t>(a.size());
    const std::optional<Input> second = b.empty() ? std::nullopt : std::optional(make_input({{size}, std::move(b)}));
    return compute(function_call(number), make_input({{size}, std::move(a)}), second, HEED_F32, {size}, {1})
        .contents.values;
  };
  const std::vector<double> maxima = values_of(HEED_ELEMENTWISE_MAXIMUM, {kNaN, 1, -kInfinity}, {1, kNaN, 2});
  EXPECT_TRUE(std::isnan(maxima[0]) && std::isnan(maxima[1]));
  EXPECT_EQ(maxima[2], 2);
  EXPECT_EQ(values_of(HEED_ELEMENTWISE_EXP, {-kInfinity, kInfinity, 0}, {}), (std::vector<double>{0, kInfinity, 1}));
  const std::vector<double> logarithms = values_of(HEED_ELEMENTWISE_LOG, {0, -1, kInfinity, 1}, {});
  EXPECT_EQ(logarithms[0], -kInfinity);
  EXPECT_TRUE(std::isnan(logarithms[1]));
  EXPECT_EQ(logarithms[2], kInfinity);
  EXPECT_EQ(logarithms[3], 0);
  const std::vector<double> quotients = values_of(HEED_ELEMENTWISE_DIVIDE, {1, -1, 0}, {0, 0, 0});
  EXPECT_EQ(quotients[0], kInfinity);
  EXPECT_EQ(quotients[1], -kInfinity);
  EXPECT_TRUE(std::isnan(quotients[2]));
  EXPECT_TRUE(std::signbit(values_of(HEED_ELEMENTWISE_NEGATIVE, {0}, {})[0]));
  EXPECT_TRUE(std::signbit(values_of(HEED_ELEMENTWISE_ROUND, {-0.4}, {})[0]));
  EXPECT_TRUE(std::signbit(values_of(HEED_ELEMENTWISE_CEIL, {-0.4}, {})[0]));
  EXPECT_FALSE(std::signbit(values_of(HEED_ELEMENTWISE_SIGN, {-0.0}, {})[0]));
  EXPECT_EQ(values_of(HEED_ELEMENTWISE_ROUND, {0.5, 1.5, 2.5, 8388609}, {}), (std::vector<double>{0, 2, 2, 8388609}));
}

}  // namespace
}  // namespace heed::property
