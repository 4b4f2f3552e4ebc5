// SPDX-License-Identifier: Apache-2.0
// Rows of a table by ids, on every ISA: the bits of the table without scale and addend, one rounding with a scale, and one
// more with an addend. The table is row-major, or packed as the weight of a projection.
#include "backends/cpu/operations.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

#include "array_of_elements.h"
#include "available_isas.h"
#include "backends/cpu/linear.h"
#include "turns.h"

namespace heed::cpu {
namespace {

// Packed with AVX-512, so many rows are two panels: one of three vectors, one of two.
constexpr int64_t kTableRows = 70;

struct Lookup {
  Lookup(DType table_dtype, DType output_dtype, int64_t rows, int64_t row_size, int64_t element_stride)
      : table(table_dtype, kTableRows * row_size, 1), output(output_dtype, rows * (row_size * element_stride + 1), 1) {
    std::mt19937 random(static_cast<uint32_t>(row_size));
    // All bits occur, those of NaN too.
    for (int64_t i = 0; i < kTableRows * row_size; ++i) {
      const auto bits = static_cast<uint32_t>(random());
      std::memcpy(static_cast<unsigned char*>(table.data()) + i * static_cast<int64_t>(size_of(table_dtype)), &bits,
                  size_of(table_dtype));
    }
    for (int64_t i = 0; i < rows; ++i) ids.push_back(static_cast<int32_t>(random() % kTableRows));
    std::ranges::fill(output.elements, kUntouched);
    problem.sizes[kElementwiseRank - 2] = rows;
    problem.sizes[kElementwiseRank - 1] = row_size;
    problem.ids = ids.data();
    problem.num_table_rows = kTableRows;
    problem.table.data = table.data();
    problem.table.dtype = table_dtype;
    problem.table.given = 1;
    problem.table.strides[2] = row_size;
    problem.table.strides[3] = 1;
    problem.output.data = output.data();
    problem.output.dtype = output_dtype;
    problem.output.given = 1;
    problem.output.strides[kElementwiseRank - 2] = row_size * element_stride + 1;
    problem.output.strides[kElementwiseRank - 1] = element_stride;
  }
  Lookup(const Lookup&) = delete;
  Lookup& operator=(const Lookup&) = delete;

  // Calls look_up() with the table as it is, and again with the packed table alone.
  template <typename LookUp>
  void in_both_forms(const KernelTable& kernels, const LookUp& look_up) {
    look_up("row-major");
    LinearPart part;
    part.output_size = part.head_size = kTableRows;
    part.weight = problem.table;
    const int64_t size = problem.sizes[kElementwiseRank - 1];
    packed.resize(packed_linear_bytes(kernels, part, size));
    pack_linear(kernels, part, size, {0, kTableRows, 0, size}, packed.data());
    problem.packed_table = packed.data();
    problem.table.data = nullptr;
    look_up("packed");
  }
  void run(const KernelTable& kernels, int32_t num_workers) const {
    Turns turns(num_workers);
    Failure failure;
    run_problem(kernels, problem, plan_problem(kernels, problem, num_workers), Workers(turns, &failure), nullptr);
  }
  // Sets the elements of an output that is still untouched; `of` is called with the index in the table and in the output.
  template <typename Set>
  void for_each_element(const Set& set) const {
    const int64_t row_size = problem.sizes[kElementwiseRank - 1];
    for (size_t row = 0; row < ids.size(); ++row) {
      for (int64_t i = 0; i < row_size; ++i) {
        set(ids[row] * row_size + i, static_cast<int64_t>(row) * problem.output.strides[kElementwiseRank - 2] +
                                         i * problem.output.strides[kElementwiseRank - 1]);
      }
    }
  }

  Array table;
  Array output;
  std::vector<int32_t> ids;
  std::vector<unsigned char> packed;
  EmbeddingProblem problem;
};

class EmbeddingKernel : public testing::TestWithParam<Isa> {};

INSTANTIATE_TEST_SUITE_P(Isas, EmbeddingKernel, testing::ValuesIn(available_isas()), name_of_isa);

constexpr int64_t kEmbeddingSizes[] = {1, 5, 16, 33, 100};

TEST_P(EmbeddingKernel, KeepsTheBitsOfTheTable) {
  for (const DType dtype : kElementTypes) {
    for (const int64_t size : kEmbeddingSizes) {
      for (const int64_t element_stride : {1, 2}) {
        Lookup lookup(dtype, dtype, 400, size, element_stride);
        const Array untouched = lookup.output;
        Array expected = untouched;
        const auto bytes = static_cast<int64_t>(size_of(dtype));
        lookup.for_each_element([&](int64_t from, int64_t to) {
          std::memcpy(static_cast<unsigned char*>(expected.data()) + to * bytes,
                      static_cast<const unsigned char*>(lookup.table.data()) + from * bytes, size_of(dtype));
        });
        lookup.in_both_forms(*GetParam().kernels, [&](const char* form) {
          lookup.output.elements = untouched.elements;
          lookup.run(*GetParam().kernels, 3);
          ASSERT_EQ(lookup.output.elements, expected.elements)
              << name_of(dtype) << ", rows of " << size << ", " << form;
        });
      }
    }
  }
}

TEST_P(EmbeddingKernel, RoundsTheProductWithTheScaleOnce) {
  for (const DType table_dtype : kElementTypes) {
    for (const DType output_dtype : kElementTypes) {
      for (const int64_t size : kEmbeddingSizes) {
        Lookup lookup(table_dtype, output_dtype, 40, size, size == 33 ? 3 : 1);
        lookup.problem.scale = 11.3137085f;
        for (int64_t i = 0; i < kTableRows * size; ++i) lookup.table.set(i, static_cast<float>(i * 37 % 101 - 50) / 7);
        const Array untouched = lookup.output;
        Array expected = untouched;
        lookup.for_each_element(
            [&](int64_t from, int64_t to) { expected.set(to, lookup.table.at(from) * lookup.problem.scale); });
        lookup.in_both_forms(*GetParam().kernels, [&](const char* form) {
          lookup.output.elements = untouched.elements;
          lookup.run(*GetParam().kernels, 2);
          ASSERT_EQ(lookup.output.elements, expected.elements)
              << name_of(table_dtype) << " to " << name_of(output_dtype) << ", rows of " << size << ", " << form;
        });
      }
    }
  }
}

// An array of the output's rows, with its own dtype and distance of elements.
struct Addend {
  Addend(Lookup& lookup, DType dtype, int64_t step) : array(dtype, rows_of(lookup) * size_of_row(lookup) * step, 2) {
    ElementwiseOperand& operand = lookup.problem.addend;
    operand.data = array.data();
    operand.dtype = dtype;
    operand.given = 1;
    operand.strides[kElementwiseRank - 2] = size_of_row(lookup) * step;
    operand.strides[kElementwiseRank - 1] = step;
  }
  Addend(const Addend&) = delete;
  Addend& operator=(const Addend&) = delete;
  static int64_t rows_of(const Lookup& lookup) { return lookup.problem.sizes[kElementwiseRank - 2]; }
  static int64_t size_of_row(const Lookup& lookup) { return lookup.problem.sizes[kElementwiseRank - 1]; }

  Array array;
};

// The addend in an array of its own, or in the output.
TEST_P(EmbeddingKernel, RoundsTheSumWithTheAddendOnce) {
  constexpr int64_t kRows = 40;
  int64_t variant = 0;
  for (const DType table_dtype : kElementTypes) {
    for (const DType output_dtype : kElementTypes) {
      for (const DType addend_dtype : kElementTypes) {
        for (const int64_t size : kEmbeddingSizes) {
          ++variant;
          const bool is_in_place = addend_dtype == output_dtype && variant % 2 == 0;
          Lookup lookup(table_dtype, output_dtype, kRows, size, 1 + variant % 3);
          EmbeddingProblem& problem = lookup.problem;
          problem.scale = variant % 5 == 0 ? 1.0f : 11.3137085f;
          for (int64_t i = 0; i < kTableRows * size; ++i)
            lookup.table.set(i, static_cast<float>(i * 37 % 101 - 50) / 7);
          Addend addend(lookup, addend_dtype, 1 + variant % 2);
          if (is_in_place) problem.addend = problem.output;
          Array& added = is_in_place ? lookup.output : addend.array;
          const int64_t* const strides = problem.addend.strides;
          const auto index = [&](int64_t row, int64_t i) {
            return row * strides[kElementwiseRank - 2] + i * strides[kElementwiseRank - 1];
          };
          for (int64_t row = 0; row < kRows; ++row) {
            for (int64_t i = 0; i < size; ++i)
              added.set(index(row, i), static_cast<float>((row + i) * 53 % 97 - 40) / 3);
          }
          const Array untouched = lookup.output;
          Array expected = untouched;
          int64_t element = 0;
          lookup.for_each_element([&](int64_t from, int64_t to) {
            const float product = lookup.table.at(from) * problem.scale;
            expected.set(to, product + added.at(index(element / size, element % size)));
            ++element;
          });
          lookup.in_both_forms(*GetParam().kernels, [&](const char* form) {
            lookup.output.elements = untouched.elements;
            lookup.run(*GetParam().kernels, 2);
            ASSERT_EQ(lookup.output.elements, expected.elements)
                << name_of(table_dtype) << " to " << name_of(output_dtype) << " with " << name_of(addend_dtype)
                << ", rows of " << size << ", variant " << variant << ", " << form;
          });
        }
      }
    }
  }
}

// One row for all: an axis of stride 0.
TEST_P(EmbeddingKernel, AddsOneRowToAll) {
  Lookup lookup(DType::BF16, DType::F32, 6, 33, 1);
  for (int64_t i = 0; i < kTableRows * 33; ++i) lookup.table.set(i, static_cast<float>(i % 19) - 9);
  Addend addend(lookup, DType::F32, 1);
  lookup.problem.addend.strides[kElementwiseRank - 2] = 0;
  for (int64_t i = 0; i < 33; ++i) addend.array.set(i, static_cast<float>(i) / 4);
  Array expected = lookup.output;
  int64_t element = 0;
  lookup.for_each_element(
      [&](int64_t from, int64_t to) { expected.set(to, lookup.table.at(from) + addend.array.at(element++ % 33)); });
  lookup.run(*GetParam().kernels, 1);
  ASSERT_EQ(lookup.output.elements, expected.elements);
}

TEST_P(EmbeddingKernel, SaysWhichElementsItHasToGather) {
  Lookup lookup(DType::F32, DType::F32, 6, 33, 1);
  Addend addend(lookup, DType::F32, 1);
  EXPECT_TRUE(plan_problem(*GetParam().kernels, lookup.problem, 1).is_fastest());
  lookup.problem.addend.strides[kElementwiseRank - 1] = 2;
  EXPECT_STREQ(plan_problem(*GetParam().kernels, lookup.problem, 1).not_fastest[0],
               "the elements of the input's last axis do not lie side by side (stride 1), so they are gathered");
  lookup.problem.addend.strides[kElementwiseRank - 1] = 0;
  EXPECT_TRUE(plan_problem(*GetParam().kernels, lookup.problem, 1).is_fastest());
}

}  // namespace
}  // namespace heed::cpu
