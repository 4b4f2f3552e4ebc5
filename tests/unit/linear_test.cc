// SPDX-License-Identifier: Apache-2.0
// Projections on every ISA: against sums in f64, with sizes next to those of vectors, tiles and packed panels, any
// strides and alignment; and with the same bits however the work is split.
#include "backends/cpu/operations.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "available_isas.h"
#include "linear_product.h"
#include "ops/linear.h"

namespace heed::cpu {
namespace {

class LinearKernel : public testing::TestWithParam<Isa> {
 protected:
  const KernelTable& kernels() const { return *GetParam().kernels; }
};

INSTANTIATE_TEST_SUITE_P(Isas, LinearKernel, testing::ValuesIn(available_isas()), name_of_isa);

TEST_P(LinearKernel, AgreesWithF64ForEverySize) {
  std::mt19937 random(6001);
  const auto below = [&random](int64_t count) { return static_cast<int64_t>(random() % static_cast<uint64_t>(count)); };
  constexpr DType kTypes[] = {DType::F32, DType::F16, DType::BF16};
  for (int64_t rows = 1; rows <= 17; ++rows) {
    for (int64_t columns = 1; columns <= 100; ++columns) {
      Form form;
      form.batch = rows % 3 == 0 ? 3 : 1;
      form.rows = rows / form.batch;
      form.input_size = below(20) == 0 ? 0 : 1 + (rows * 100 + columns) * 31 % 70;
      form.num_heads = columns % 4 == 0 ? 4 : columns % 3 == 0 ? 3 : 1;
      form.head_size = columns / form.num_heads;
      form.input_dtype = kTypes[below(3)];
      form.weight_dtype = kTypes[below(3)];
      form.output_dtype = kTypes[below(3)];
      form.offset = below(4);
      form.gap = below(3);
      form.element_stride = below(4) == 0 ? 2 : 1;
      form.transposes_weight = below(2) == 0;
      form.has_bias = below(2) == 0;
      form.head_major = below(2) == 0;
      form.packs = below(3) != 0;
      SCOPED_TRACE(std::to_string(rows) + " x " + std::to_string(form.input_size) + " x " + std::to_string(columns));
      Product product(kernels(), form, static_cast<uint32_t>(rows * 1000 + columns));
      product.run(1 + static_cast<int32_t>(below(3)));
      product.expect_near_f64();
      if (HasFatalFailure()) return;
    }
  }
}

// More rows than a task, more panels than a group, and more elements than a block; heads of whole vectors.
TEST_P(LinearKernel, AgreesWithF64ForLargeSizes) {
  struct Size {
    int64_t rows, input_size, num_heads, head_size;
  };
  for (const auto& [rows, input_size, num_heads, head_size] : {Size{300, 40, 2, 64},
                                                               {7, 1024, 3, 32},
                                                               {20, 1025, 1, 60},
                                                               {3, 2600, 5, 48},
                                                               {270, 530, 1, 16},
                                                               {1, 1100, 17, 64}}) {
    for (const bool packs : {true, false}) {
      for (const DType dtype : {DType::F32, DType::BF16}) {
        Form form;
        form.rows = rows;
        form.input_size = input_size;
        form.num_heads = num_heads;
        form.head_size = head_size;
        form.weight_dtype = dtype;
        form.has_bias = true;
        form.head_major = packs;
        form.packs = packs;
        Product product(kernels(), form, 6002);
        product.run(2);
        product.expect_near_f64();
        if (HasFatalFailure()) return;
      }
    }
  }
}

// Some of the rows, in any number and from any index; with a packed weight or with strides; with any number of workers.
TEST_P(LinearKernel, GivesTheSameBitsHoweverItIsSplit) {
  for (const int64_t input_size : {70, 1024, 1030, 2100}) {
    Form form;
    form.rows = 40;
    form.input_size = input_size;
    form.num_heads = 14;
    form.head_size = 16;
    form.has_bias = true;
    Product whole(kernels(), form, 6003);
    whole.run();
    std::vector<std::vector<uint32_t>> expected;
    for (int64_t row = 0; row < form.rows; ++row) expected.push_back(whole.row_bits(row));
    const auto expect_same = [&](const Product& product, int64_t first, int64_t end, const std::string& how) {
      SCOPED_TRACE(how + ", inner size " + std::to_string(input_size));
      for (int64_t row = first; row < end; ++row) ASSERT_EQ(product.row_bits(row), expected[static_cast<size_t>(row)]);
    };
    for (int32_t workers = 1; workers <= 8; ++workers) {
      whole.run(workers);
      expect_same(whole, 0, form.rows, std::to_string(workers) + " workers");
    }
    for (int64_t count = 1; count <= 17; ++count) {
      const int64_t first = (count * 5) % (form.rows - count);
      whole.run_rows(first, count, 2);
      expect_same(whole, first, first + count, std::to_string(count) + " rows");
    }
    form.packs = false;
    form.offset = 1;
    form.gap = 3;
    form.element_stride = 2;
    form.head_major = true;
    Product strided(kernels(), form, 0);
    for (int64_t row = 0; row < form.rows; ++row) {
      for (int64_t e = 0; e < input_size; ++e)
        strided.input.set(strided.input_index(row, e), whole.input.at(whole.input_index(row, e)));
    }
    for (int64_t i = 0; i < form.num_heads * form.head_size; ++i) {
      strided.bias.set(i, whole.bias.at(i));
      for (int64_t e = 0; e < input_size; ++e)
        strided.weight.set(strided.weight_index(i, e), whole.weight.at(whole.weight_index(i, e)));
    }
    strided.run(3);
    expect_same(strided, 0, form.rows, "strided");
  }
}

// With few rows the kernel reads several panels of a packed weight at once, to the end of the inputs. With many rows it
// reads one panel at a time, in blocks.
TEST_P(LinearKernel, GivesFewRowsTheSameBitsAsManyRows) {
  for (const DType dtype : {DType::F32, DType::F16, DType::BF16}) {
    Form form;
    form.rows = kernels().linear_tile_rows + 1;
    form.input_size = 1100;
    form.num_heads = 11;
    form.head_size = 20;
    form.weight_dtype = dtype;
    form.has_bias = dtype != DType::F16;
    Product product(kernels(), form, 6008);
    product.run();
    product.expect_near_f64();
    std::vector<std::vector<uint32_t>> expected;
    for (int64_t row = 0; row < form.rows; ++row) expected.push_back(product.row_bits(row));
    for (int64_t count = 1; count < form.rows; ++count) {
      for (int64_t first = 0; first < form.rows; first += count) {
        std::ranges::fill(product.output.elements, static_cast<unsigned char>(0));
        const int64_t end = std::min(form.rows, first + count);
        product.run_rows(first, end - first, 1 + static_cast<int32_t>(count % 3));
        for (int64_t row = first; row < end; ++row)
          ASSERT_EQ(product.row_bits(row), expected[static_cast<size_t>(row)]) << "row " << row << " of " << count;
      }
    }
  }
}

TEST_P(LinearKernel, PartsOfOneInputAreTheSameAsEachAlone) {
  Form form;
  form.rows = 33;
  form.input_size = 90;
  form.num_heads = 3;
  form.head_size = 24;
  Product first(kernels(), form, 6004);
  form.num_heads = 1;
  form.head_size = 7;
  form.packs = false;
  Product second(kernels(), form, 6005);
  form.num_heads = 4;
  form.head_size = 80;
  form.packs = true;
  form.has_bias = true;
  Product third(kernels(), form, 6006);
  second.problem.input = third.problem.input = first.problem.input;
  Product* all[] = {&first, &second, &third};
  std::vector<std::vector<uint32_t>> expected;
  for (Product* product : all) {
    product->run();
    for (int64_t row = 0; row < form.rows; ++row) expected.push_back(product->row_bits(row));
    std::ranges::fill(product->output.elements, static_cast<unsigned char>(0));
  }
  first.problem.num_parts = 3;
  first.problem.parts[1] = second.problem.parts[0];
  first.problem.parts[2] = third.problem.parts[0];
  for (const int32_t workers : {1, 2, 5}) {
    first.run(workers);
    size_t next = 0;
    for (const Product* product : all) {
      for (int64_t row = 0; row < form.rows; ++row) ASSERT_EQ(product->row_bits(row), expected[next++]);
    }
  }
}

TEST_P(LinearKernel, KeepsNonFiniteNumbersInTheirRowAndOutput) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
  for (const int64_t rows : {2, 5, 19}) {
    Form form;
    form.rows = rows;
    form.input_size = 50;
    form.head_size = 70;
    Product product(kernels(), form, 6007);
    product.run();
    std::vector<std::vector<uint32_t>> before;
    for (int64_t row = 0; row < rows; ++row) before.push_back(product.row_bits(row));
    product.input.set(product.input_index(1, 3), kInfinity);
    product.input.set(product.input_index(1, 4), kNaN);
    product.run();
    for (int64_t row = 0; row < rows; ++row) {
      if (row == 1) continue;
      EXPECT_EQ(product.row_bits(row), before[static_cast<size_t>(row)]);
    }
    for (int64_t n = 0; n < form.head_size; ++n) EXPECT_TRUE(std::isnan(product.result(1, n)));
    product.weight.set(product.weight_index(66, 0), kInfinity);
    product.pack();
    product.run();
    for (int64_t n = 0; n < form.head_size; ++n) {
      if (n == 66) continue;
      EXPECT_EQ(std::bit_cast<uint32_t>(product.result(0, n)), before[0][static_cast<size_t>(n)]);
    }
    EXPECT_TRUE(std::isinf(product.result(0, 66)));
  }
}

TEST_P(LinearKernel, NeedsNoLessScratchForMoreRows) {
  for (const int64_t input_size : {0, 10, 768, 1024, 1025, 5000}) {
    for (const int32_t is_packed : {0, 1}) {
      LinearProblem problem;
      problem.batch = 1;
      problem.input_size = input_size;
      problem.parts[0].output_size = problem.parts[0].head_size = 1000;
      problem.parts[0].is_packed = is_packed;
      size_t last = 0;
      for (problem.rows = 0; problem.rows < 600; ++problem.rows) {
        const size_t bytes = plan_problem(kernels(), problem, 2).scratch_bytes;
        ASSERT_GE(bytes, last) << problem.rows << " rows of " << input_size;
        last = bytes;
      }
      problem.batch = problem.rows = int64_t{1} << 40;
      EXPECT_EQ(plan_problem(kernels(), problem, 2).scratch_bytes, last);
    }
  }
}

}  // namespace
}  // namespace heed::cpu
