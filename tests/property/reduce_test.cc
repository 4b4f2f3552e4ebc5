// SPDX-License-Identifier: Apache-2.0
// Reductions and cumulative sums: docs/semantics.md, section "Reductions", against f64.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <vector>

#include "property/support/array_dtypes.h"
#include "property/support/bounded.h"
#include "property/support/operation_call.h"
#include "support/array.h"
#include "support/numbers.h"

namespace heed::property {
namespace {

bool is_index(int32_t reduction) { return reduction == HEED_REDUCE_ARGMAX || reduction == HEED_REDUCE_ARGMIN; }
bool is_extreme(int32_t reduction) { return reduction == HEED_REDUCE_MAX || reduction == HEED_REDUCE_MIN; }

// The dtype of a result, but for F16 and BF16, which may be F32.
heed_dtype result_of(int32_t reduction, heed_dtype dtype) {
  if (is_index(reduction)) return HEED_I64;
  if (!is_whole(dtype) || is_extreme(reduction)) return dtype;
  return reduction == HEED_REDUCE_SUM || reduction == HEED_REDUCE_PROD ? HEED_I64 : HEED_F32;
}

// `u` is the unit round-off.
Bounded reduce(int32_t reduction, const std::vector<double>& elements, double u) {
  const auto n = static_cast<double>(elements.size());
  // More digits than F64 has, which is tested too.
  long double sum = 0;
  double magnitude = 0;
  long double squares = 0;
  long double product = 1;
  for (const double x : elements) {
    sum += x;
    magnitude += std::abs(x);
    squares += static_cast<long double>(x) * x;
    product *= x;
  }
  const double depth = std::log2(n + 1) + 24;
  const auto index = [&](auto found) { return static_cast<double>(found - elements.begin()); };
  switch (reduction) {
    case HEED_REDUCE_SUM: return {static_cast<double>(sum), depth * u * magnitude};
    case HEED_REDUCE_MEAN: return {static_cast<double>(sum / n), (depth + 1) * u * magnitude / n};
    case HEED_REDUCE_MAX: return {*std::max_element(elements.begin(), elements.end()), 0};
    case HEED_REDUCE_MIN: return {*std::min_element(elements.begin(), elements.end()), 0};
    case HEED_REDUCE_PROD: {
      const auto rounded = static_cast<double>(product);
      return {rounded, n * u * std::abs(rounded) * 1.01};
    }
    case HEED_REDUCE_NORM: {
      const auto root = static_cast<double>(std::sqrt(squares));
      return {root, (depth + 2) * 0x1p-53 * root};
    }
    case HEED_REDUCE_ARGMAX: return {index(std::max_element(elements.begin(), elements.end())), 0};
    default: return {index(std::min_element(elements.begin(), elements.end())), 0};
  }
}

// An array, the axes that are reduced, and for each result the elements that it is of, in row-major order.
struct Case {
  Dims dims;
  std::vector<int32_t> axes;
  Dims without;
  Dims with_ones;
};

Case random_reduction(Random& random) {
  Case drawn;
  for (int64_t i = random.below(5); i >= 0; --i) drawn.dims.push_back(1 + random.below(4));
  drawn.dims[to_size(random.below(static_cast<int64_t>(drawn.dims.size())))] =
      random.one_of<int64_t>({1, 5, 16, 65, 255, 256, 257, 700});
  for (size_t axis = 0; axis < drawn.dims.size(); ++axis) {
    const bool is_reduced = random.chance(0.5) || (drawn.axes.empty() && axis + 1 == drawn.dims.size());
    if (is_reduced) drawn.axes.push_back(static_cast<int32_t>(axis));
    if (!is_reduced) drawn.without.push_back(drawn.dims[axis]);
    drawn.with_ones.push_back(is_reduced ? 1 : drawn.dims[axis]);
  }
  return drawn;
}

std::vector<std::vector<double>> groups_of(const Case& drawn, const Array& contents) {
  std::vector<std::vector<double>> groups(to_size(num_elements(drawn.without)));
  const Dims strides = row_major_strides(drawn.with_ones);
  for_each_index(drawn.dims, [&](const Dims& at, size_t position) {
    int64_t group = 0;
    for (size_t axis = 0; axis < at.size(); ++axis) {
      if (drawn.with_ones[axis] != 1 || drawn.dims[axis] == 1) group += at[axis] * strides[axis];
    }
    groups[to_size(group)].push_back(contents.values[position]);
  });
  return groups;
}

Out run(int32_t reduction, const Input& input, const std::vector<int32_t>& axes, heed_dtype dtype, const Dims& dims,
        const Dims& strides, int32_t num_threads = 0) {
  return on_device([&](Fallback fallback) {
    heed_context_options options = device_options(fallback);
    options.num_threads = num_threads;
    heed_context* opened = nullptr;
    check(heed_context_create(&options, &opened));
    const Context context(opened);
    const HostTensor tensor(context.get(), input);
    return into_result(context.get(), dtype, dims, strides, {&tensor}, [&](heed_tensor* result) {
      return heed_reduce_axes(reduction, tensor.handle(), axes.data(), static_cast<int32_t>(axes.size()), result);
    });
  });
}

TEST(Reduce, AgreesWithTheReference) {
  Random random(4501);
  const std::vector<heed_dtype> dtypes = {HEED_F32, HEED_F16, HEED_BF16, HEED_F64, HEED_I32, HEED_I64, HEED_BOOL};
  for (int64_t round = 0; round < num_rounds(900); ++round) {
    const auto reduction = static_cast<int32_t>(random.below(8));
    const heed_dtype given = random.one_of(dtypes);
    if (given == HEED_BOOL && reduction == HEED_REDUCE_NORM) continue;
    const Case drawn = random_reduction(random);
    if (is_index(reduction) && drawn.axes.size() != 1 && drawn.axes.size() != drawn.dims.size()) continue;
    Array numbers = random_array(drawn.dims, random, random.one_of<double>({1.0, 3.0}));
    for (double& number : numbers.values) {
      if (is_whole(given)) number = std::trunc(number);
      if (given == HEED_BOOL) number = number != 0 ? 1 : 0;
    }
    const Input input = make_input(numbers, given, make_strides(random.one_of(kReadable), drawn.dims, random));
    const std::vector<std::vector<double>> groups = groups_of(drawn, input.contents);
    const heed_dtype wanted = result_of(reduction, given);
    const heed_dtype dtype = is_narrow(wanted) ? random.one_of<heed_dtype>({wanted, HEED_F32}) : wanted;
    const Dims& dims = random.chance(0.5) ? drawn.without : drawn.with_ones;
    const Out result =
        run(reduction, input, drawn.axes, dtype, dims, make_strides(random.one_of(kWritable), dims, random));
    for (size_t i = 0; i < groups.size(); ++i) {
      // Products of many integers wrap around.
      if (reduction == HEED_REDUCE_PROD && is_whole(given) && groups[i].size() > 30) continue;
      const double u = given == HEED_F64 || is_whole(given) ? 0x1p-53 : 0x1p-24;
      ASSERT_TRUE(is_within(result.contents.values[i], reduce(reduction, groups[i], u), dtype))
          << "reduction " << reduction << " of " << groups[i].size() << " elements of " << name_of(given) << ", round "
          << round;
    }
  }
}

TEST(Reduce, AnyStridesAndThreadsHaveTheSameBits) {
  Random random(4502);
  for (const heed_dtype dtype : {HEED_F32, HEED_F64, HEED_BF16}) {
    for (const int64_t length : {1, 15, 16, 17, 255, 256, 257, 16384, 16385, 50000}) {
      const Dims dims = {3, length, 2};
      const Array numbers = random_array(dims, random, 3.0);
      for (const int32_t reduction : {HEED_REDUCE_SUM, HEED_REDUCE_PROD, HEED_REDUCE_NORM, HEED_REDUCE_ARGMAX}) {
        const heed_dtype to = reduction == HEED_REDUCE_ARGMAX ? HEED_I64 : dtype;
        const Out expected = run(reduction, make_input(numbers, dtype), {1}, to, {3, 2}, {2, 1}, 1);
        for (const Layout layout : {Layout::Transposed, Layout::Padded, Layout::Reversed}) {
          const Input moved = make_input(numbers, dtype, make_strides(layout, dims, random));
          EXPECT_EQ(run(reduction, moved, {1}, to, {3, 2}, {1, 3}, 4).contents.values, expected.contents.values)
              << reduction << ", " << length;
        }
      }
    }
  }
}

TEST(Reduce, OneAxisOrAllByTheResult) {
  const Context context = make_context();
  const HostTensor tensor(context.get(), make_input({{2, 3}, {1, 2, 3, 4, 5, 6}}));
  const auto sums = [&](int32_t axis, const Dims& dims) {
    return into_result(context.get(), HEED_F32, dims, row_major_strides(dims), {&tensor},
                       [&](heed_tensor* result) { return heed_reduce(HEED_REDUCE_SUM, tensor.handle(), axis, result); })
        .contents.values;
  };
  EXPECT_EQ(sums(0, {3}), (std::vector<double>{5, 7, 9}));
  EXPECT_EQ(sums(-2, {1, 3}), (std::vector<double>{5, 7, 9}));
  EXPECT_EQ(sums(1, {2, 1}), (std::vector<double>{6, 15}));
  EXPECT_EQ(sums(1, {}), (std::vector<double>{21}));
  EXPECT_EQ(sums(0, {1, 1}), (std::vector<double>{21}));
  const HostTensor column(context.get(), make_input({{3, 1}, {1, 2, 3}}));
  const HostTensor result(context.get(), HEED_F32, {1}, {1});
  check(heed_reduce(HEED_REDUCE_SUM, column.handle(), 0, result.handle()));
  EXPECT_EQ(result.read().values, (std::vector<double>{6}));
}

TEST(Reduce, WithoutElementsAndOfNumbersThatAreNotFinite) {
  const auto value_of = [](int32_t reduction, std::vector<double> numbers, heed_dtype dtype = HEED_F32) {
    const auto size = static_cast<int64_t>(numbers.size());
    return run(reduction, make_input({{size}, std::move(numbers)}, dtype), {0}, result_of(reduction, dtype), {}, {})
        .contents.values[0];
  };
  EXPECT_EQ(value_of(HEED_REDUCE_SUM, {}), 0);
  EXPECT_EQ(value_of(HEED_REDUCE_PROD, {}), 1);
  EXPECT_EQ(value_of(HEED_REDUCE_NORM, {}), 0);
  EXPECT_TRUE(std::isnan(value_of(HEED_REDUCE_MEAN, {})));
  EXPECT_TRUE(std::isnan(value_of(HEED_REDUCE_MAX, {1, kNaN, 2})));
  EXPECT_TRUE(std::isnan(value_of(HEED_REDUCE_MIN, {kNaN, -kInfinity})));
  EXPECT_EQ(value_of(HEED_REDUCE_ARGMAX, {3, kNaN, kInfinity, kNaN}), 1);
  EXPECT_EQ(value_of(HEED_REDUCE_ARGMIN, {3, 1, 1}), 1);
  EXPECT_EQ(value_of(HEED_REDUCE_MAX, {-kInfinity, -kInfinity}), -kInfinity);
  EXPECT_TRUE(std::signbit(value_of(HEED_REDUCE_SUM, {-0.0, -0.0})));
  EXPECT_EQ(value_of(HEED_REDUCE_SUM, {1, 0, 1, 1}, HEED_BOOL), 3);
  // A sum that I64 cannot hold.
  EXPECT_EQ(value_of(HEED_REDUCE_MEAN, {0x1p62, 0x1p62, 0x1p62}, HEED_I64), 0x1p62);
  EXPECT_EQ(value_of(HEED_REDUCE_MIN, {1, 0, 1}, HEED_BOOL), 0);
  // Squares that overflow or vanish.
  EXPECT_NEAR(value_of(HEED_REDUCE_NORM, {3e200, 4e200}, HEED_F64), 5e200, 1e185);
  EXPECT_NEAR(value_of(HEED_REDUCE_NORM, {3e-200, -4e-200}, HEED_F64), 5e-200, 1e-215);
  EXPECT_EQ(value_of(HEED_REDUCE_NORM, {kInfinity, 1}, HEED_F64), kInfinity);
  EXPECT_EQ(value_of(HEED_REDUCE_NORM, {0x1p-1074, 0}, HEED_F64), 0x1p-1074);
}

TEST(CumulativeSum, AddsInTheOrderOfTheAxis) {
  Random random(4503);
  for (int64_t round = 0; round < num_rounds(300); ++round) {
    const heed_dtype dtype = random.one_of<heed_dtype>({HEED_F32, HEED_BF16, HEED_F64, HEED_I32, HEED_I64, HEED_BOOL});
    const Dims dims = {1 + random.below(3), random.one_of<int64_t>({1, 4, 300}), 1 + random.below(4)};
    const auto axis = static_cast<int32_t>(random.below(3));
    Array numbers = random_array(dims, random, 3.0);
    for (double& number : numbers.values) number = dtype == HEED_BOOL ? (number > 0 ? 1 : 0) : std::trunc(number);
    const Input input = make_input(numbers, dtype, make_strides(random.one_of(kReadable), dims, random));
    const Context context = make_context();
    const HostTensor tensor(context.get(), input);
    const heed_dtype to = is_whole(dtype) ? HEED_I64 : (dtype == HEED_BF16 ? HEED_F32 : dtype);
    const Dims strides = make_strides(random.one_of(kWritable), dims, random);
    const Out result = into_result(context.get(), to, dims, strides, {&tensor}, [&](heed_tensor* sums) {
      return heed_cumulative_sum(tensor.handle(), axis - 3, sums);
    });
    // Sums of small whole numbers are exact.
    Array expected = input.contents;
    const int64_t step = row_major_strides(dims)[to_size(axis)];
    for_each_index(dims, [&](const Dims& at, size_t position) {
      if (at[to_size(axis)] > 0) expected.values[position] += expected.values[position - to_size(step)];
    });
    ASSERT_EQ(result.contents.values, expected.values) << round;
  }
}

}  // namespace
}  // namespace heed::property
