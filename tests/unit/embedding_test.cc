// SPDX-License-Identifier: Apache-2.0
// Rows of a table by ids, on every ISA: the bits of the table without a scale, and one rounding with one.
#include "backends/cpu/embedding.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

#include "array_of_elements.h"
#include "available_isas.h"
#include "turns.h"

namespace heed::cpu {
namespace {

constexpr int64_t kTableRows = 9;

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

  void run(const KernelTable& kernels, int32_t num_workers) const {
    Turns turns(num_workers);
    Failure failure;
    run_embedding(kernels, problem, plan_embedding(kernels, problem, num_workers), Workers(turns, &failure));
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
  EmbeddingProblem problem;
};

class EmbeddingKernel : public testing::TestWithParam<Isa> {};

INSTANTIATE_TEST_SUITE_P(Isas, EmbeddingKernel, testing::ValuesIn(available_isas()), name_of_isa);

constexpr int64_t kEmbeddingSizes[] = {1, 5, 16, 33, 100};

TEST_P(EmbeddingKernel, KeepsTheBitsOfTheTable) {
  for (const DType dtype : kElementTypes) {
    for (const int64_t size : kEmbeddingSizes) {
      for (const int64_t element_stride : {1, 2}) {
        const Lookup lookup(dtype, dtype, 400, size, element_stride);
        Array expected = lookup.output;
        const auto bytes = static_cast<int64_t>(size_of(dtype));
        lookup.for_each_element([&](int64_t from, int64_t to) {
          std::memcpy(static_cast<unsigned char*>(expected.data()) + to * bytes,
                      static_cast<const unsigned char*>(lookup.table.data()) + from * bytes, size_of(dtype));
        });
        lookup.run(*GetParam().kernels, 3);
        ASSERT_EQ(lookup.output.elements, expected.elements) << name_of(dtype) << ", rows of " << size;
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
        Array expected = lookup.output;
        lookup.for_each_element(
            [&](int64_t from, int64_t to) { expected.set(to, lookup.table.at(from) * lookup.problem.scale); });
        lookup.run(*GetParam().kernels, 2);
        ASSERT_EQ(lookup.output.elements, expected.elements)
            << name_of(table_dtype) << " to " << name_of(output_dtype) << ", rows of " << size;
      }
    }
  }
}

}  // namespace
}  // namespace heed::cpu
