// SPDX-License-Identifier: Apache-2.0
// Sorting, choosing by indices and joining: docs/semantics.md, section "Order and selection".
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <vector>

#include "property/support/array_dtypes.h"
#include "property/support/operation_call.h"
#include "support/array.h"
#include "support/numbers.h"

namespace heed::property {
namespace {

// Whole numbers, many of them equal, with some that are no numbers.
Input random_elements(const Dims& dims, heed_dtype dtype, Random& random) {
  Array array = random_array(dims, random, 6.0);
  const bool is_float = dtype == HEED_F32 || dtype == HEED_F16 || dtype == HEED_BF16 || dtype == HEED_F64;
  for (double& value : array.values) {
    value = std::trunc(value);
    if (dtype == HEED_U8) value = std::abs(value);
    if (dtype == HEED_BOOL) value = value > 0 ? 1 : 0;
    if (is_float && random.chance(0.1)) value = random.one_of<double>({kNaN, kInfinity, -kInfinity, -0.0, 0.0});
  }
  return make_input(array, dtype, make_strides(random.one_of(kReadable), dims, random));
}

Dims small_dims(Random& random) {
  Dims dims;
  for (int64_t i = random.below(3); i >= 0; --i) dims.push_back(1 + random.below(4));
  dims[to_size(random.below(static_cast<int64_t>(dims.size())))] = random.one_of<int64_t>({0, 1, 2, 40, 300});
  return dims;
}

// The positions, in row-major order, of the elements of `dims` along `axis` through the one at `at`.
std::vector<size_t> line_through(const Dims& dims, size_t axis, Dims at) {
  const Dims strides = row_major_strides(dims);
  at[axis] = 0;
  const int64_t first = std::inner_product(at.begin(), at.end(), strides.begin(), int64_t{0});
  std::vector<size_t> line;
  for (int64_t i = 0; i < dims[axis]; ++i) line.push_back(to_size(first + i * strides[axis]));
  return line;
}

// NaN is the largest number.
bool is_less(double a, double b) { return std::isnan(b) ? !std::isnan(a) : a < b; }

bool is_same(double a, double b) {
  return a == b ? std::signbit(a) == std::signbit(b) : std::isnan(a) && std::isnan(b);
}

TEST(Sort, IsStableInBothDirections) {
  Random random(4601);
  for (int64_t round = 0; round < num_rounds(500); ++round) {
    const heed_dtype dtype = random.one_of(kDtypes);
    const Dims dims = small_dims(random);
    const auto axis = static_cast<size_t>(random.below(static_cast<int64_t>(dims.size())));
    const Input input = random_elements(dims, dtype, random);
    const bool is_descending = random.chance(0.5);
    // All of a line, or the first ones.
    const bool is_top = random.chance(0.5);
    Dims wanted = dims;
    if (is_top) wanted[axis] = random.below(dims[axis] + 1);
    const Context context = make_context();
    const HostTensor tensor(context.get(), input);
    const HostTensor indices(context.get(), HEED_I64, wanted, make_strides(random.one_of(kWritable), wanted, random));
    const bool has_values = random.chance(0.8);
    const HostTensor values(context.get(), dtype, wanted, make_strides(random.one_of(kWritable), wanted, random));
    heed_tensor* to = has_values ? values.handle() : nullptr;
    const auto number = static_cast<int32_t>(axis);
    check(is_top ? heed_top_k(tensor.handle(), number, is_descending ? 1 : 0, to, indices.handle())
                 : heed_sort(tensor.handle(), number, is_descending ? 1 : 0, to, indices.handle()));
    ASSERT_TRUE(indices.padding_is_untouched() && values.padding_is_untouched());
    const Array places = indices.read();
    const Array sorted = values.read();
    for_each_index(wanted, [&](const Dims& at, size_t position) {
      if (at[axis] != 0) return;
      const std::vector<size_t> line = line_through(dims, axis, at);
      std::vector<size_t> order(line.size());
      std::iota(order.begin(), order.end(), size_t{0});
      std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
        const double x = input.contents.values[line[a]];
        const double y = input.contents.values[line[b]];
        return is_descending ? is_less(y, x) : is_less(x, y);
      });
      const std::vector<size_t> results = line_through(wanted, axis, at);
      for (size_t i = 0; i < results.size(); ++i) {
        ASSERT_EQ(places.values[results[i]], static_cast<double>(order[i])) << name_of(dtype) << ", round " << round;
        if (has_values) {
          ASSERT_TRUE(is_same(sorted.values[results[i]], input.contents.values[line[order[i]]])) << name_of(dtype);
        }
      }
      static_cast<void>(position);
    });
  }
}

TEST(Sort, InPlace) {
  const Context context = make_context();
  const HostTensor tensor(context.get(), make_input({{2, 3}, {3, 1, 2, 6, 5, 4}}));
  check(heed_sort(tensor.handle(), 1, 0, tensor.handle(), nullptr));
  EXPECT_EQ(tensor.read().values, (std::vector<double>{1, 2, 3, 4, 5, 6}));
  check(heed_sort(tensor.handle(), 0, 1, tensor.handle(), nullptr));
  EXPECT_EQ(tensor.read().values, (std::vector<double>{4, 5, 6, 1, 2, 3}));
}

Input random_indices(const Dims& dims, int64_t size, Random& random) {
  Array indices = filled(dims, 0);
  for (double& index : indices.values) index = static_cast<double>(random.below(2 * size) - size);
  return make_input(indices, random.one_of<heed_dtype>({HEED_I32, HEED_I64}),
                    make_strides(random.one_of(kReadable), dims, random));
}

int64_t from_front(double index, int64_t size) {
  const auto whole = static_cast<int64_t>(index);
  return whole < 0 ? whole + size : whole;
}

TEST(Gather, TakesAnElementForEachIndex) {
  Random random(4602);
  for (int64_t round = 0; round < num_rounds(400); ++round) {
    const heed_dtype dtype = random.one_of(kDtypes);
    Dims dims = small_dims(random);
    const auto axis = static_cast<size_t>(random.below(static_cast<int64_t>(dims.size())));
    dims[axis] = std::max<int64_t>(dims[axis], 1);
    const Input input = random_elements(dims, dtype, random);
    Dims chosen = dims;
    chosen[axis] = random.one_of<int64_t>({0, 1, 3, 70});
    Dims of_indices = chosen;
    for (size_t other = 0; other < dims.size(); ++other) {
      if (other != axis && random.chance(0.2)) of_indices[other] = 1;
    }
    const Input indices = random_indices(of_indices, dims[axis], random);
    const Context context = make_context();
    const HostTensor tensor(context.get(), input);
    const HostTensor places(context.get(), indices);
    const Out result = into_result(
        context.get(), dtype, chosen, make_strides(random.one_of(kWritable), chosen, random), {&tensor, &places},
        [&](heed_tensor* to) { return heed_gather(tensor.handle(), places.handle(), static_cast<int32_t>(axis), to); });
    const Array repeated = broadcast(indices.contents, chosen);
    for_each_index(chosen, [&](const Dims& at, size_t position) {
      const int64_t index = from_front(repeated.values[position], dims[axis]);
      const double expected = input.contents.values[line_through(dims, axis, at)[to_size(index)]];
      ASSERT_TRUE(is_same(result.contents.values[position], expected)) << round;
    });
  }
}

TEST(Take, TakesASliceForEachIndex) {
  Random random(4603);
  for (int64_t round = 0; round < num_rounds(400); ++round) {
    const heed_dtype dtype = random.one_of(kDtypes);
    Dims dims = small_dims(random);
    const auto axis = random.below(static_cast<int64_t>(dims.size()));
    dims[to_size(axis)] = std::max<int64_t>(dims[to_size(axis)], 1);
    const Input input = random_elements(dims, dtype, random);
    Dims of_indices;
    for (int64_t i = random.below(3); i > 0; --i) of_indices.push_back(random.one_of<int64_t>({0, 1, 2, 9}));
    const Input indices = random_indices(of_indices, dims[to_size(axis)], random);
    Dims taken(dims.begin(), dims.begin() + axis);
    taken.insert(taken.end(), of_indices.begin(), of_indices.end());
    taken.insert(taken.end(), dims.begin() + axis + 1, dims.end());
    const Context context = make_context();
    const HostTensor tensor(context.get(), input);
    const HostTensor places(context.get(), indices);
    const Out result = into_result(
        context.get(), dtype, taken, make_strides(random.one_of(kWritable), taken, random), {&tensor, &places},
        [&](heed_tensor* to) { return heed_take(tensor.handle(), places.handle(), static_cast<int32_t>(axis), to); });
    const Dims index_strides = row_major_strides(of_indices);
    const auto num_index_axes = static_cast<int64_t>(of_indices.size());
    for_each_index(taken, [&](const Dims& at, size_t position) {
      int64_t offset = 0;
      for (int64_t i = 0; i < num_index_axes; ++i) offset += at[to_size(axis + i)] * index_strides[to_size(i)];
      Dims from(at.begin(), at.begin() + axis);
      from.push_back(0);
      from.insert(from.end(), at.begin() + axis + num_index_axes, at.end());
      const int64_t index = from_front(indices.contents.values[to_size(offset)], dims[to_size(axis)]);
      const double expected = input.contents.values[line_through(dims, to_size(axis), from)[to_size(index)]];
      ASSERT_TRUE(is_same(result.contents.values[position], expected)) << round;
    });
  }
}

TEST(Concatenate, JoinsTensorsInTheirOrder) {
  Random random(4604);
  for (int64_t round = 0; round < num_rounds(200); ++round) {
    const heed_dtype dtype = random.one_of(kDtypes);
    Dims dims = small_dims(random);
    const auto axis = static_cast<size_t>(random.below(static_cast<int64_t>(dims.size())));
    const Context context = make_context();
    std::vector<Input> inputs;
    std::vector<HostTensor> tensors;
    std::vector<const heed_tensor*> handles;
    int64_t total = 0;
    for (int64_t i = random.below(4); i >= 0; --i) {
      dims[axis] = random.one_of<int64_t>({0, 1, 3});
      total += dims[axis];
      inputs.push_back(random_elements(dims, dtype, random));
    }
    for (const Input& input : inputs) tensors.emplace_back(context.get(), input);
    for (const HostTensor& tensor : tensors) handles.push_back(tensor.handle());
    dims[axis] = total;
    const Out result = into_result(
        context.get(), dtype, dims, make_strides(random.one_of(kWritable), dims, random), {}, [&](heed_tensor* to) {
          return heed_concatenate(handles.data(), static_cast<int64_t>(handles.size()), static_cast<int32_t>(axis), to);
        });
    for_each_index(dims, [&](const Dims& at, size_t position) {
      Dims from = at;
      size_t part = 0;
      while (from[axis] >= inputs[part].contents.dims[axis]) from[axis] -= inputs[part++].contents.dims[axis];
      const Array& contents = inputs[part].contents;
      const double expected = contents.values[line_through(contents.dims, axis, from)[to_size(from[axis])]];
      ASSERT_TRUE(is_same(result.contents.values[position], expected)) << round;
    });
  }
}

}  // namespace
}  // namespace heed::property
