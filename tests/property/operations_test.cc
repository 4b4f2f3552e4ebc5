// SPDX-License-Identifier: Apache-2.0
// Matrix products, softmax and masked softmax: docs/semantics.md, section "Operations", against the f64 reference, and
// the cases that must agree to the bit.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

#include "property/support/operation_call.h"
#include "reference/error_bound.h"
#include "reference/operations.h"
#include "support/numbers.h"
#include "support/samples.h"

namespace heed::property {
namespace {

// ---- running --------------------------------------------------------------------------------------------------------

Out matmul(const Input& a, const Input& b, heed_dtype dtype, const Dims& dims, const Dims& strides) {
  return on_device([&](Fallback fallback) {
    const Context context = make_context(fallback);
    const HostTensor left(context.get(), a);
    const HostTensor right(context.get(), b);
    return into_result(context.get(), dtype, dims, strides, {&left, &right},
                       [&](heed_tensor* product) { return heed_matmul(left.handle(), right.handle(), product); });
  });
}

Out matmul(const Input& a, const Input& b, heed_dtype dtype, const Dims& dims) {
  return matmul(a, b, dtype, dims, row_major_strides(dims));
}

Out softmax(const Input& tensor, int32_t axis, heed_dtype dtype, const Dims& strides) {
  return on_device([&](Fallback fallback) {
    const Context context = make_context(fallback);
    const HostTensor scores(context.get(), tensor);
    return into_result(context.get(), dtype, tensor.contents.dims, strides, {&scores},
                       [&](heed_tensor* result) { return heed_softmax(scores.handle(), axis, result); });
  });
}

Out softmax(const Input& tensor, int32_t axis, heed_dtype dtype = HEED_F32) {
  return softmax(tensor, axis, dtype, row_major_strides(tensor.contents.dims));
}

Out log_softmax(const Input& tensor, int32_t axis, heed_dtype dtype, const Dims& strides) {
  return on_device([&](Fallback fallback) {
    const Context context = make_context(fallback);
    const HostTensor scores(context.get(), tensor);
    return into_result(context.get(), dtype, tensor.contents.dims, strides, {&scores},
                       [&](heed_tensor* result) { return heed_log_softmax(scores.handle(), axis, result); });
  });
}

Out masked_softmax(const Input& scores, const std::optional<Input>& lens, heed_dtype dtype, const Dims& strides) {
  return on_device([&](Fallback fallback) {
    const Context context = make_context(fallback);
    const HostTensor given(context.get(), scores);
    std::optional<HostTensor> lengths;
    if (lens) lengths.emplace(context.get(), *lens);
    return into_result(context.get(), dtype, scores.contents.dims, strides, {&given}, [&](heed_tensor* result) {
      return heed_masked_softmax(given.handle(), lengths ? lengths->handle() : nullptr, result);
    });
  });
}

Out masked_softmax(const Input& scores, const std::optional<Input>& lens, heed_dtype dtype = HEED_F32) {
  return masked_softmax(scores, lens, dtype, row_major_strides(scores.contents.dims));
}

// ---- matmul ---------------------------------------------------------------------------------------------------------

// As NumPy's matmul: a vector is treated as a matrix, the axes before the last two are broadcast, and the axes that
// were added are removed.
Expected expected_product(const Input& first, const Input& second) {
  const Array& a = first.contents;
  const Array& b = second.contents;
  Array left = a;
  Array right = b;
  if (a.dims.size() == 1) left.dims.insert(left.dims.begin(), 1);
  if (b.dims.size() == 1) right.dims.push_back(1);
  const int64_t rows = left.dims.end()[-2];
  const int64_t inner = left.dims.end()[-1];
  const int64_t columns = right.dims.end()[-1];
  Dims batch;
  const size_t rank = std::max(left.dims.size(), right.dims.size());
  for (size_t axis = 0; axis + 2 < rank; ++axis) {
    const auto dim = [&](const Dims& dims) { return axis + dims.size() < rank ? 1 : dims[axis + dims.size() - rank]; };
    batch.push_back(dim(left.dims) == 1 ? dim(right.dims) : dim(left.dims));
  }
  const auto whole = [&](const Array& array, int64_t m, int64_t n) {
    Dims dims = batch;
    dims.insert(dims.end(), {m, n});
    return broadcast(array, dims);
  };
  left = whole(left, rows, inner);
  right = whole(right, inner, columns);
  Dims dims = batch;
  if (a.dims.size() > 1) dims.push_back(rows);
  if (b.dims.size() > 1) dims.push_back(columns);
  Expected expected{filled(dims, 0.0), filled(dims, 0.0)};
  for (int64_t i = 0; i < num_elements(dims); ++i) {
    const int64_t matrix = i / (rows * columns);
    const int64_t row = i / columns % rows;
    std::vector<double> x(to_size(inner));
    std::vector<double> y(to_size(inner));
    for (int64_t k = 0; k < inner; ++k) {
      x[to_size(k)] = left.values[to_size((matrix * rows + row) * inner + k)];
      y[to_size(k)] = right.values[to_size((matrix * inner + k) * columns + i % columns)];
    }
    const reference::BoundedNumber sum = reference::sum_of_products(x, y, compute_format(first.dtype));
    expected.values.values[to_size(i)] = sum.value;
    expected.errors.values[to_size(i)] = sum.error;
  }
  return expected;
}

// Random dims of a and b that can be multiplied, with axes that are broadcast.
std::pair<Dims, Dims> random_fit(Random& random) {
  const std::vector<int64_t> sizes = {0, 1, 1, 2, 3, 5, 17, 33};
  const int64_t inner = random.chance(0.1) ? 67 : random.one_of(sizes);
  Dims batch;
  const int64_t batch_rank = random.chance(0.1) ? 6 : random.below(4);
  for (int64_t axis = 0; axis < batch_rank; ++axis) batch.push_back(random.chance(0.05) ? 0 : 1 + random.below(3));
  const auto with_batch = [&](std::initializer_list<int64_t> matrix) {
    Dims dims = batch;
    for (int64_t& dim : dims) {
      if (random.chance(0.3)) dim = 1;
    }
    dims.erase(dims.begin(), dims.begin() + random.below(static_cast<int64_t>(dims.size()) + 1));
    dims.insert(dims.end(), matrix);
    return dims;
  };
  Dims a = random.chance(0.15) ? Dims{inner} : with_batch({random.one_of(sizes), inner});
  Dims b = random.chance(0.15) ? Dims{inner} : with_batch({inner, random.chance(0.05) ? 70 : random.one_of(sizes)});
  return {a, b};
}

TEST(Matmul, AgreesWithTheReference) {
  Random random(4001);
  double largest = 0.0;
  for (int64_t round = 0; round < num_rounds(1500); ++round) {
    const auto [a_dims, b_dims] = random_fit(random);
    const heed_dtype dtype = random.one_of(kFloats);
    const Input a = random_input(a_dims, dtype, random.one_of(kReadable), random);
    const Input b = random_input(b_dims, dtype, random.one_of(kReadable), random);
    const Expected expected = expected_product(a, b);
    const heed_dtype to = result_dtype(dtype, random);
    const Dims& dims = expected.values.dims;
    const Dims strides = dims.empty() ? Dims{} : make_strides(random.one_of(kWritable), dims, random);
    const Out product = matmul(a, b, to, dims, strides);
    ASSERT_TRUE(agree(to, product.contents, expected.values, expected.errors)) << "round " << round;
    largest = std::max(largest, largest_fraction(to, product.contents, expected.values, expected.errors));
  }
  // For 16-bit results the final rounding alone uses nearly the whole bound. So if only a small fraction is used, the
  // bound is too wide.
  EXPECT_GT(largest, 0.1);
  EXPECT_LE(largest, 1.0);
}

// With a fused multiply-add each term is rounded once, without it twice; all elements must follow the same of these
// two.
TEST(Matmul, AddsInTheOrderOfTheInnerIndex) {
  HEED_SKIP_ON_ASCEND("the order is the device's");
  Random random(4002);
  bool fits_fused = true;
  bool fits_apart = true;
  for (const int64_t inner : {1, 2, 16, 63, 64, 65, 1000, 3000}) {
    const Input a = random_input({3, inner}, HEED_F32, Layout::RowMajor, random);
    const Input b = random_input({inner, 5}, HEED_F32, Layout::Transposed, random);
    const Out product = matmul(a, b, HEED_F32, {3, 5});
    for (int64_t i = 0; i < 15; ++i) {
      float fused = 0.0F;
      float apart = 0.0F;
      for (int64_t k = 0; k < inner; ++k) {
        const auto of_a = static_cast<float>(a.contents.values[to_size(i / 5 * inner + k)]);
        const auto of_b = static_cast<float>(b.contents.values[to_size(k * 5 + i % 5)]);
        const volatile float term = of_a * of_b;
        apart += term;
        fused = std::fma(of_a, of_b, fused);
      }
      fits_fused = fits_fused && product.contents.values[to_size(i)] == static_cast<double>(fused);
      fits_apart = fits_apart && product.contents.values[to_size(i)] == static_cast<double>(apart);
    }
  }
  EXPECT_TRUE(fits_fused || fits_apart);
}

TEST(Matmul, BatchElementAloneHasTheSameBits) {
  Random random(4003);
  constexpr int64_t kBatch = 3;
  constexpr int64_t kRows = 37;
  constexpr int64_t kInner = 131;
  constexpr int64_t kColumns = 70;
  for (const heed_dtype dtype : kFloats) {
    const Input a = random_input({kBatch, kRows, kInner}, dtype, Layout::RowMajor, random);
    const auto matrix_of = [](const Input& input, int64_t i) {
      Array matrix = slice(input.contents, 0, i, 1);
      matrix.dims.erase(matrix.dims.begin());
      return make_input(matrix, input.dtype);
    };
    for (const Dims& b_dims : {Dims{kBatch, kInner, kColumns}, Dims{1, kInner, kColumns}, Dims{kInner, kColumns}}) {
      const Input b = random_input(b_dims, dtype, Layout::RowMajor, random);
      const Out whole = matmul(a, b, dtype, {kBatch, kRows, kColumns});
      for (int64_t i = 0; i < kBatch; ++i) {
        const Input b_matrix = b_dims.size() == 2 ? b : matrix_of(b, b_dims[0] == 1 ? 0 : i);
        const Out alone = matmul(matrix_of(a, i), b_matrix, dtype, {kRows, kColumns});
        EXPECT_EQ(alone.bytes, part(whole.bytes, i, kBatch));
        // The last row as a vector, then one column as a vector.
        const Input row = matrix_of(matrix_of(a, i), kRows - 1);
        EXPECT_EQ(matmul(row, b_matrix, dtype, {kColumns}).bytes, part(alone.bytes, kRows - 1, kRows));
        const Array column{{kInner}, slice(b_matrix.contents, 1, 5, 1).values};
        const Out of_column = matmul(matrix_of(a, i), make_input(column, dtype), dtype, {kRows});
        for (int64_t r = 0; r < kRows; ++r)
          EXPECT_EQ(part(of_column.bytes, r, kRows), part(part(alone.bytes, r, kRows), 5, kColumns));
      }
    }
  }
}

TEST(Matmul, StridesChangeNothing) {
  Random random(4004);
  const Input a = random_input({2, 1, 5, 9}, HEED_F32, Layout::RowMajor, random);
  const Input b = random_input({3, 9, 4}, HEED_F32, Layout::RowMajor, random);
  const Dims dims = {2, 3, 5, 4};
  const Out expected = matmul(a, b, HEED_F32, dims);
  for (const Layout layout : {Layout::Transposed, Layout::Padded, Layout::Reversed}) {
    const Input other_a = make_input(a.contents, HEED_F32, make_strides(layout, a.contents.dims, random));
    const Input other_b = make_input(b.contents, HEED_F32, make_strides(layout, b.contents.dims, random));
    EXPECT_EQ(matmul(other_a, other_b, HEED_F32, dims).bytes, expected.bytes);
    const Layout of_result = layout == Layout::Reversed ? Layout::RowMajor : layout;
    EXPECT_EQ(matmul(a, b, HEED_F32, dims, make_strides(of_result, dims, random)).bytes, expected.bytes);
  }
}

TEST(Matmul, WithoutInnerSizeIsZero) {
  for (const heed_dtype dtype : kFloats) {
    const Out product =
        matmul(make_input(filled({2, 3, 0}, 0.0), dtype), make_input(filled({0, 4}, 0.0), dtype), dtype, {2, 3, 4});
    EXPECT_EQ(product.contents.values, std::vector<double>(24, 0.0));
    EXPECT_EQ(
        matmul(make_input(filled({0}, 0.0), dtype), make_input(filled({0}, 0.0), dtype), dtype, {}).contents.values,
        std::vector<double>{0.0});
  }
}

TEST(Matmul, NonFiniteNumbersChangeOnlyTheirRowsAndColumns) {
  Random random(4005);
  Array a = random_array({4, 6}, random, 1.0);
  Array b = random_array({6, 5}, random, 1.0);
  a.values[to_size(1 * 6 + 2)] = kNaN;
  b.values[to_size(3 * 5 + 4)] = kInfinity;
  const Out product = matmul(make_input(a), make_input(b), HEED_F32, {4, 5});
  for (int64_t m = 0; m < 4; ++m) {
    for (int64_t n = 0; n < 5; ++n) {
      const double value = product.contents.values[to_size(m * 5 + n)];
      if (m == 1) {
        EXPECT_TRUE(std::isnan(value));
      } else if (n == 4) {
        EXPECT_EQ(value, std::copysign(kInfinity, a.values[to_size(m * 6 + 3)]));
      } else {
        EXPECT_TRUE(std::isfinite(value));
      }
    }
  }
}

TEST(Matmul, OfHalfPrecisionIsRoundedOnce) {
  // 2048 + 1 + 1: a sum in F16 would lose each addition of 1, since F16 has only even numbers above 2048.
  const Input ones = make_input(filled({3, 1}, 1.0), HEED_F16);
  const Out product = matmul(make_input({{1, 3}, {2048, 1, 1}}, HEED_F16), ones, HEED_F16, {1, 1});
  EXPECT_EQ(product.contents.values, std::vector<double>{2050});
  // Exceeds the largest number, 65504, by more than half a unit in the last place.
  const Out large = matmul(make_input({{1, 3}, {65504, 16, 1}}, HEED_F16), ones, HEED_F16, {1, 1});
  EXPECT_EQ(large.contents.values, std::vector<double>{kInfinity});
}

// ---- softmax --------------------------------------------------------------------------------------------------------

// Softmax along the last axis; `lengths` has the length of each row, in row-major order.
Expected expected_softmax(const Array& scores, const std::vector<int64_t>& lengths) {
  const auto format = compute_format(HEED_F32);
  const int64_t size = scores.dims.back();
  Expected expected{filled(scores.dims, 0.0), filled(scores.dims, 0.0)};
  for (size_t row = 0; row < lengths.size(); ++row) {
    const auto first = scores.values.begin() + static_cast<int64_t>(row) * size;
    const reference::Bounded weights = reference::softmax({first, first + size}, to_size(lengths[row]), format);
    std::copy(weights.values.begin(), weights.values.end(),
              expected.values.values.begin() + static_cast<int64_t>(row) * size);
    std::copy(weights.errors.begin(), weights.errors.end(),
              expected.errors.values.begin() + static_cast<int64_t>(row) * size);
  }
  return expected;
}

// The array with this axis moved to the end.
Array with_axis_last(const Array& array, size_t axis) {
  Dims dims = array.dims;
  dims.erase(dims.begin() + static_cast<int64_t>(axis));
  dims.push_back(array.dims[axis]);
  Array moved = filled(dims, 0.0);
  const Dims strides = row_major_strides(array.dims);
  for_each_index(dims, [&](const Dims& index, size_t position) {
    int64_t from = index.back() * strides[axis];
    for (size_t i = 0; i + 1 < index.size(); ++i) from += index[i] * strides[i < axis ? i : i + 1];
    moved.values[position] = array.values[to_size(from)];
  });
  return moved;
}

TEST(Softmax, AgreesWithTheReference) {
  Random random(4101);
  double largest = 0.0;
  for (int64_t round = 0; round < num_rounds(1500); ++round) {
    const int64_t rank = 1 + random.below(8);
    Dims dims;
    for (int64_t i = 0; i < rank; ++i) dims.push_back(random.chance(0.03) ? 0 : 1 + random.below(3));
    const int64_t axis = random.below(rank);
    dims[to_size(axis)] = random.one_of<int64_t>({0, 1, 2, 7, 64, 100});
    const heed_dtype dtype = random.one_of(kFloats);
    const heed_dtype to = result_dtype(dtype, random);
    const Input input =
        random_input(dims, dtype, random.one_of(kReadable), random, random.one_of<double>({0.1, 3.0, 100.0, 60000.0}));
    const auto given_axis = static_cast<int32_t>(random.chance(0.5) ? axis : axis - rank);
    const Out result = softmax(input, given_axis, to, make_strides(random.one_of(kWritable), dims, random));
    const Array scores = with_axis_last(input.contents, to_size(axis));
    const int64_t size = scores.dims.back();
    const Expected expected =
        expected_softmax(scores, std::vector<int64_t>(size == 0 ? 0 : scores.values.size() / to_size(size), size));
    const Array actual = with_axis_last(result.contents, to_size(axis));
    ASSERT_TRUE(agree(to, actual, expected.values, expected.errors)) << "round " << round;
    largest = std::max(largest, largest_fraction(to, actual, expected.values, expected.errors));
  }
  EXPECT_GT(largest, 0.1);
  EXPECT_LE(largest, 1.0);
}

TEST(Softmax, OfLongRowsAgreesWithTheReference) {
  Random random(4102);
  const Input input = random_input({2, 20000}, HEED_F32, Layout::RowMajor, random, 10.0);
  const Expected expected = expected_softmax(input.contents, {20000, 20000});
  EXPECT_TRUE(agree(HEED_F32, softmax(input, 1).contents, expected.values, expected.errors));
}

TEST(Softmax, SubtractsTheMaximum) {
  for (const double score : {-3e38, -1e5, 1e5, 3e38}) {
    EXPECT_EQ(softmax(make_input(filled({4}, score)), 0).contents.values, std::vector<double>(4, 0.25));
  }
  EXPECT_EQ(softmax(make_input({{2}, {-3e38, 3e38}}), 0).contents.values, (std::vector<double>{0, 1}));
}

TEST(Softmax, NumbersThatAreNotFinite) {
  const auto of = [](std::vector<double> scores) {
    return softmax(make_input({{static_cast<int64_t>(scores.size())}, scores}), 0).contents.values;
  };
  EXPECT_EQ(of({1, -kInfinity, 1}), (std::vector<double>{0.5, 0, 0.5}));
  EXPECT_EQ(of({-kInfinity, 7}), (std::vector<double>{0, 1}));
  for (const std::vector<double>& scores : {std::vector<double>{1, kNaN, 2},
                                            {kNaN},
                                            {kNaN, -kInfinity},
                                            {kInfinity, 1},
                                            {kInfinity, -kInfinity},
                                            {-kInfinity},
                                            {-kInfinity, -kInfinity},
                                            {kInfinity, kInfinity}}) {
    for (const double weight : of(scores)) EXPECT_TRUE(std::isnan(weight));
  }
  // Other rows are not affected.
  const Out rows = softmax(make_input({{2, 2}, {kNaN, 0, 3, 3}}), 1);
  EXPECT_TRUE(std::isnan(rows.contents.values[0]) && std::isnan(rows.contents.values[1]));
  EXPECT_EQ(rows.contents.values[2], 0.5);
}

TEST(Softmax, LogarithmAgreesWithTheReference) {
  Random random(4104);
  for (int64_t round = 0; round < num_rounds(400); ++round) {
    const Dims dims = {1 + random.below(3), random.one_of<int64_t>({0, 1, 2, 7, 64, 300}), 1 + random.below(3)};
    const heed_dtype dtype = random.one_of(kFloats);
    const heed_dtype to = result_dtype(dtype, random);
    const Input input =
        random_input(dims, dtype, random.one_of(kReadable), random, random.one_of<double>({0.1, 3.0, 100.0, 60000.0}));
    const Out result = log_softmax(input, -2, to, make_strides(random.one_of(kWritable), dims, random));
    for_each_index(dims, [&](const Dims& at, size_t position) {
      const auto row = to_size(at[0] * dims[1] * dims[2] + at[2]);
      double largest = -kInfinity;
      for (int64_t k = 0; k < dims[1]; ++k)
        largest = std::max(largest, input.contents.values[row + to_size(k * dims[2])]);
      double sum = 0;
      for (int64_t k = 0; k < dims[1]; ++k)
        sum += std::exp(input.contents.values[row + to_size(k * dims[2])] - largest);
      const double expected = input.contents.values[position] - largest - std::log(sum);
      const double error = (static_cast<double>(dims[1]) + 8 + 2 * std::abs(expected)) * 0x1p-24;
      ASSERT_TRUE(reference::accepts(format_of(to), expected, error, result.contents.values[position])) << round;
    });
  }
  const Out special = log_softmax(make_input({{2, 2}, {0, -kInfinity, kNaN, 1}}), 1, HEED_F32, {2, 1});
  EXPECT_EQ(special.contents.values[0], 0);
  EXPECT_EQ(special.contents.values[1], -kInfinity);
  EXPECT_TRUE(std::isnan(special.contents.values[2]) && std::isnan(special.contents.values[3]));
}

TEST(Softmax, RowAloneAndOnAnyAxisHasTheSameBits) {
  Random random(4103);
  for (const heed_dtype dtype : kFloats) {
    const Input rows = random_input({19, 131}, dtype, Layout::RowMajor, random, 5.0);
    const Out whole = softmax(rows, -1, dtype);
    for (int64_t i = 0; i < 19; ++i) {
      const Input row = make_input({{131}, slice(rows.contents, 0, i, 1).values}, dtype);
      EXPECT_EQ(softmax(row, 0, dtype).bytes, part(whole.bytes, i, 19));
    }
    // The same rows as columns: once of a transposed view, once of a tensor that is stored that way.
    Array columns = with_axis_last(rows.contents, 0);
    const Out along_columns = softmax(make_input(columns, dtype), 0, dtype);
    EXPECT_EQ(with_axis_last(along_columns.contents, 0).values, whole.contents.values);
  }
}

// ---- masked softmax -------------------------------------------------------------------------------------------------

TEST(MaskedSoftmax, AgreesWithTheReference) {
  Random random(4201);
  for (int64_t round = 0; round < num_rounds(800); ++round) {
    const bool has_heads = random.chance(0.5);
    const auto size = [&] { return random.one_of<int64_t>({0, 1, 2, 3, 7}); };
    const int64_t batch = size();
    const int64_t heads = has_heads ? size() : 1;
    const int64_t queries = size();
    const int64_t keys = random.one_of<int64_t>({0, 1, 2, 5, 70});
    const Dims dims = has_heads ? Dims{batch, heads, queries, keys} : Dims{batch, queries, keys};
    const heed_dtype dtype = random.one_of(kFloats);
    const Input scores = random_input(dims, dtype, random.one_of(kReadable), random, 10.0);
    const bool per_query = random.chance(0.5);
    Array lens = filled(per_query ? Dims{batch, queries} : Dims{batch}, 0.0);
    for (double& length : lens.values) length = static_cast<double>(random.below(keys + 1));
    const Input given = make_input(lens, random.one_of<heed_dtype>({HEED_F32, HEED_I32, HEED_I64}),
                                   make_strides(random.one_of(kReadable), lens.dims, random));
    std::vector<int64_t> lengths;
    for (int64_t b = 0; b < batch; ++b) {
      for (int64_t i = 0; i < heads * queries; ++i) {
        const int64_t from = per_query ? b * queries + i % queries : b;
        lengths.push_back(static_cast<int64_t>(given.contents.values[to_size(from)]));
      }
    }
    const Expected expected = expected_softmax(scores.contents, lengths);
    const heed_dtype to = result_dtype(dtype, random);
    const Out result = masked_softmax(scores, given, to, make_strides(random.one_of(kWritable), dims, random));
    ASSERT_TRUE(agree(to, result.contents, expected.values, expected.errors)) << "round " << round;
    // Hidden weights are exactly +0.
    for (size_t i = 0; i < result.contents.values.size(); ++i) {
      const auto key = static_cast<int64_t>(i) % keys;
      if (key < lengths[i / to_size(keys)]) continue;
      ASSERT_TRUE(result.contents.values[i] == 0.0 && !std::signbit(result.contents.values[i])) << "round " << round;
    }
  }
}

TEST(MaskedSoftmax, WithoutLengthsIsSoftmax) {
  Random random(4202);
  for (const Dims& dims : {Dims{2, 3, 70}, Dims{2, 4, 3, 70}}) {
    const Input scores = random_input(dims, HEED_F16, Layout::Padded, random, 10.0);
    EXPECT_EQ(masked_softmax(scores, std::nullopt).bytes, softmax(scores, -1).bytes);
    EXPECT_EQ(masked_softmax(scores, make_input({{2}, {70, 70}}, HEED_I64)).bytes, softmax(scores, -1).bytes);
  }
}

TEST(MaskedSoftmax, HiddenScoresChangeNothing) {
  Random random(4203);
  for (const heed_dtype dtype : kFloats) {
    const Array clean = random_array({2, 3, 9}, random, 4.0);
    const Input lens = make_input({{2, 3}, {9, 4, 1, 3, 0, 8}}, HEED_F32);
    const Out expected = masked_softmax(make_input(clean, dtype), lens, dtype);
    for (const double poison : {kNaN, kInfinity, -kInfinity, 6e4}) {
      Array spoiled = clean;
      for (size_t i = 0; i < spoiled.values.size(); ++i) {
        if (static_cast<double>(i % 9) >= lens.contents.values[i / 9]) spoiled.values[i] = poison;
      }
      EXPECT_EQ(masked_softmax(make_input(spoiled, dtype), lens, dtype).bytes, expected.bytes) << poison;
    }
  }
}

TEST(MaskedSoftmax, VisibleNaNLeavesHiddenWeightsZero) {
  const Out result = masked_softmax(make_input({{1, 1, 4}, {1, kNaN, 2, 3}}), make_input({{1}, {3}}, HEED_I32));
  for (size_t k = 0; k < 3; ++k) EXPECT_TRUE(std::isnan(result.contents.values[k]));
  EXPECT_EQ(result.contents.values[3], 0.0);
}

TEST(MaskedSoftmax, RowsWithoutVisibleKeysAreZero) {
  Random random(4204);
  const Input scores = random_input({2, 2, 3, 5}, HEED_F32, Layout::RowMajor, random);
  const Out result = masked_softmax(scores, make_input({{2}, {0, 5}}, HEED_F32));
  const auto middle = result.contents.values.begin() + 30;
  EXPECT_TRUE(std::all_of(result.contents.values.begin(), middle, [](double weight) { return weight == 0.0; }));
  EXPECT_TRUE(std::all_of(middle, result.contents.values.end(), [](double weight) { return weight > 0.0; }));
}

// d2l's masked_softmax sets hidden scores to -1e6 and takes the softmax of the whole row; here in f64.
TEST(MaskedSoftmax, GivesD2lsNumbersWhereAKeyIsVisible) {
  Random random(4205);
  const Input scores = random_input({2, 2, 4}, HEED_F32, Layout::RowMajor, random, 1.0);
  const Input lens = make_input({{2, 2}, {1, 3, 2, 4}}, HEED_F32);
  Array filled_in = scores.contents;
  for (size_t i = 0; i < 16; ++i) {
    if (static_cast<double>(i % 4) >= lens.contents.values[i / 4]) filled_in.values[i] = -1e6;
  }
  const Expected d2l = expected_softmax(filled_in, {4, 4, 4, 4});
  // exp(-1e6) is 0 in f64, too, so the expected numbers are equal; the bound is that of the visible scores.
  const Expected expected = expected_softmax(scores.contents, {1, 3, 2, 4});
  EXPECT_EQ(d2l.values.values, expected.values.values);
  EXPECT_TRUE(agree(HEED_F32, masked_softmax(scores, lens).contents, d2l.values, expected.errors));
}

TEST(MaskedSoftmax, BatchElementAloneHasTheSameBits) {
  Random random(4206);
  const Input scores = random_input({3, 2, 5, 131}, HEED_BF16, Layout::RowMajor, random, 5.0);
  const std::vector<double> lens = {131, 77, 3};
  const Out whole = masked_softmax(scores, make_input({{3}, lens}, HEED_I64), HEED_BF16);
  for (int64_t b = 0; b < 3; ++b) {
    const Out alone = masked_softmax(make_input(slice(scores.contents, 0, b, 1), HEED_BF16),
                                     make_input({{1}, {lens[to_size(b)]}}, HEED_I64), HEED_BF16);
    EXPECT_EQ(alone.bytes, part(whole.bytes, b, 3));
  }
}

}  // namespace
}  // namespace heed::property
