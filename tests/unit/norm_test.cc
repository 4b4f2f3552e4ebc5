// SPDX-License-Identifier: Apache-2.0
// Norms of rows on every ISA: against f64 within the bound of docs/semantics.md (rule 18), for rows of every size next to
// those of vectors, numbers of all magnitudes, any strides and dtypes; and with the same bits however the work is split.
#include "backends/cpu/operations.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "array_of_elements.h"
#include "available_isas.h"
#include "support/guarded_memory.h"
#include "turns.h"

namespace heed::cpu {
namespace {

struct NormForm {
  NormKind kind = NormKind::Layer;
  int64_t rows = 1;
  int64_t size = 1;
  float epsilon = 1e-5f;
  DType input_dtype = DType::F32;
  DType parameter_dtype = DType::F32;
  DType addend_dtype = DType::F32;
  DType output_dtype = DType::F32;
  int64_t element_stride = 1;
  int64_t gap = 0;     // between rows
  int64_t offset = 0;  // of all arrays, in elements
  bool has_bias = true;
  bool has_addend = false;
};

// One operation with the arrays that it reads and writes.
class RowNorms {
 public:
  // element(row, i): of the input.
  RowNorms(const KernelTable& kernels, const NormForm& form, const std::function<float(int64_t, int64_t)>& element,
           uint32_t seed = 1)
      : kernels_(kernels), form_(form), row_(form.size * form.element_stride + form.gap) {
    problem.sizes[kElementwiseRank - 2] = form.rows;
    problem.sizes[kElementwiseRank - 1] = form.size;
    problem.kind = form.kind;
    problem.epsilon = form.epsilon;
    make_rows(input, problem.input, form.input_dtype);
    make_rows(output, problem.output, form.output_dtype);
    if (form.has_addend) make_rows(addend, problem.addend, form.addend_dtype);
    make_parameter(weight, problem.weight);
    if (form.has_bias && form.kind == NormKind::Layer) make_parameter(bias, problem.bias);
    std::mt19937 random(seed);
    std::uniform_real_distribution<float> uniform(-2, 2);
    for (int64_t i = 0; i < form.size; ++i) {
      weight.set(i, uniform(random));
      if (problem.bias.given != 0) bias.set(i, uniform(random));
    }
    for (int64_t row = 0; row < form.rows; ++row) {
      for (int64_t i = 0; i < form.size; ++i) {
        input.set(index(row, i), element(row, i));
        if (form.has_addend) addend.set(index(row, i), uniform(random));
      }
    }
    std::ranges::fill(output.elements, kUntouched);
  }
  RowNorms(const RowNorms&) = delete;
  RowNorms& operator=(const RowNorms&) = delete;

  // Runs with scratch of exactly the planned size.
  void run(int32_t num_workers = 1) {
    Turns turns(num_workers);
    Failure failure;
    const Plan plan = plan_problem(kernels_, problem, num_workers);
    GuardedMemory scratch(plan.scratch_bytes);
    run_problem(kernels_, problem, plan, Workers(turns, &failure), scratch.data());
    EXPECT_TRUE(scratch.is_intact());
  }

  int64_t index(int64_t row, int64_t i) const { return row * row_ + i * form_.element_stride; }
  float result(int64_t row, int64_t i) const { return output.at(index(row, i)); }
  std::vector<uint32_t> bits() const {
    std::vector<uint32_t> all;
    for (int64_t row = 0; row < form_.rows; ++row) {
      for (int64_t i = 0; i < form_.size; ++i) all.push_back(std::bit_cast<uint32_t>(result(row, i)));
    }
    return all;
  }

  void expect_near_f64() const {
    std::vector<bool> is_output(output.elements.size() / size_of(form_.output_dtype) + 1, false);
    for (int64_t row = 0; row < form_.rows; ++row) {
      expect_row_near_f64(row);
      if (testing::Test::HasFatalFailure()) return;
      for (int64_t i = 0; i < form_.size; ++i) is_output[static_cast<size_t>(index(row, i))] = true;
    }
    const size_t first = output.begin + static_cast<size_t>(output.first) * size_of(form_.output_dtype);
    for (size_t byte = 0; byte < output.elements.size(); ++byte) {
      if (byte >= first && is_output[(byte - first) / size_of(form_.output_dtype)]) continue;
      ASSERT_EQ(output.elements[byte], kUntouched) << "byte " << byte;
    }
  }

  NormProblem problem;
  Array input;
  Array addend;
  Array weight;
  Array bias;
  Array output;

 private:
  // The bound of rule 18, one rounding more for the addend, and that to the output's dtype.
  void expect_row_near_f64(int64_t row) const {
    constexpr double kUnit = 0x1p-24;
    const auto size = static_cast<double>(form_.size);
    double mean = 0;
    for (int64_t i = 0; i < form_.size && form_.kind == NormKind::Layer; ++i)
      mean += static_cast<double>(input.at(index(row, i))) / size;
    double squares = 0;
    double largest = 0;
    for (int64_t i = 0; i < form_.size; ++i) {
      const double x = input.at(index(row, i));
      squares += (x - mean) * (x - mean) / size;
      largest = std::max(largest, std::abs(x));
    }
    const double n = std::sqrt(squares + static_cast<double>(form_.epsilon));
    for (int64_t i = 0; i < form_.size; ++i) {
      const double normalized = (static_cast<double>(input.at(index(row, i))) - mean) / n;
      const double gain = weight.at(i);
      const double shift = problem.bias.given != 0 ? static_cast<double>(bias.at(i)) : 0;
      const double added = form_.has_addend ? static_cast<double>(addend.at(index(row, i))) : 0;
      const double y = normalized * gain + shift;
      double bound = (size + 8) * kUnit * (std::abs(normalized) + 1) * std::abs(gain) +
                     2 * kUnit * (std::abs(shift) + std::abs(y)) + size * kUnit * kUnit * largest / n * std::abs(gain);
      const double sum = y + added;
      if (form_.has_addend) bound += kUnit * (std::abs(sum) + bound);
      if (form_.output_dtype != DType::F32)
        bound += unit_of(form_.output_dtype) * (std::abs(sum) + bound) + least_of(form_.output_dtype);
      ASSERT_NEAR(result(row, i), sum, bound) << "row " << row << ", element " << i << " of " << form_.size;
    }
  }

  void make_rows(Array& array, ElementwiseOperand& operand, DType dtype) const {
    array = Array(dtype, form_.rows * row_, form_.offset);
    operand.data = array.data();
    operand.dtype = dtype;
    operand.given = 1;
    operand.strides[kElementwiseRank - 2] = row_;
    operand.strides[kElementwiseRank - 1] = form_.element_stride;
  }
  void make_parameter(Array& array, Operand& operand) const {
    array = Array(form_.parameter_dtype, form_.size, form_.offset);
    operand.data = array.data();
    operand.dtype = form_.parameter_dtype;
    operand.given = 1;
    operand.strides[3] = 1;
  }

  const KernelTable& kernels_;
  NormForm form_;
  int64_t row_;
};

class NormKernel : public testing::TestWithParam<Isa> {
 protected:
  const KernelTable& kernels() const { return *GetParam().kernels; }
};

INSTANTIATE_TEST_SUITE_P(Isas, NormKernel, testing::ValuesIn(available_isas()), name_of_isa);

constexpr NormKind kNormKinds[] = {NormKind::Layer, NormKind::Rms};

std::function<float(int64_t, int64_t)> ordinary(uint32_t seed) {
  return [random = std::mt19937(seed)](int64_t, int64_t) mutable {
    return std::normal_distribution<float>(0.5f, 1)(random);
  };
}

TEST_P(NormKernel, AgreesWithF64ForEverySizeStrideAndDType) {
  std::mt19937 random(7001);
  const auto below = [&random](int64_t count) { return static_cast<int64_t>(random() % static_cast<uint64_t>(count)); };
  for (int64_t size = 1; size <= 150; ++size) {
    for (const NormKind kind : kNormKinds) {
      for (int64_t variant = 0; variant < 4; ++variant) {
        NormForm form;
        form.kind = kind;
        form.rows = 1 + below(4);
        form.size = size;
        form.input_dtype = kElementTypes[variant == 0 ? 0 : below(3)];
        form.parameter_dtype = kElementTypes[below(3)];
        form.addend_dtype = kElementTypes[below(3)];
        form.output_dtype = kElementTypes[variant == 0 ? 0 : below(3)];
        form.element_stride = variant == 3 ? 2 : 1;
        form.gap = below(3);
        form.offset = below(4);
        form.has_bias = below(2) == 0;
        form.has_addend = below(2) == 0;
        SCOPED_TRACE("size " + std::to_string(size) + ", variant " + std::to_string(variant));
        RowNorms norms(kernels(), form, ordinary(static_cast<uint32_t>(size)), static_cast<uint32_t>(size));
        norms.run();
        norms.expect_near_f64();
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST_P(NormKernel, AgreesWithF64ForNumbersOfAllMagnitudes) {
  struct Numbers {
    const char* what;
    std::function<float(int64_t, int64_t)> element;
  };
  const auto scaled = [](float scale) {
    return [scale](int64_t row, int64_t i) { return scale * static_cast<float>((row * 5 + i * 7) % 11 - 4); };
  };
  const Numbers all[] = {
      {"near 1000, 1/16 apart", [](int64_t, int64_t i) { return 1000 + static_cast<float>(i * 3 % 5) / 16; }},
      {"near -1e6, 1/16 apart", [](int64_t, int64_t i) { return -1e6f + static_cast<float>(i * 3 % 5) / 16; }},
      {"one far from the others",
       [](int64_t, int64_t i) { return i == 0 ? 500.0f : static_cast<float>(i % 3) * 0.1f; }},
      {"zeros", scaled(0)},
      {"1e-45", scaled(1e-45f)},
      {"1e-30", scaled(1e-30f)},
      {"1e-6", scaled(1e-6f)},
      {"1e9", scaled(1e9f)},
      {"2^61, whose squares overflow only in a sum", scaled(0x1p61f)},
      {"1e30", scaled(1e30f)},
      {"3e37", scaled(3e37f)},
      {"1e30 among ones", [](int64_t, int64_t i) { return i % 9 == 3 ? 1e30f : 1.0f; }},
      {"3e38 and -3e38", [](int64_t, int64_t i) { return i % 2 == 0 ? 3e38f : -3e38f; }}};
  for (const Numbers& numbers : all) {
    for (const int64_t size : {1, 2, 6, 15, 16, 17, 64, 100, 1000}) {
      for (const NormKind kind : kNormKinds) {
        for (const float epsilon : {1e-5f, 1e-12f, 1e-30f, 10.0f}) {
          NormForm form;
          form.kind = kind;
          form.rows = 2;
          form.size = size;
          form.epsilon = epsilon;
          SCOPED_TRACE(std::string(numbers.what) + ", size " + std::to_string(size) + ", epsilon " +
                       std::to_string(epsilon) + (kind == NormKind::Rms ? ", rms" : ", layer"));
          RowNorms norms(kernels(), form, numbers.element);
          norms.run();
          norms.expect_near_f64();
          if (HasFatalFailure()) return;
        }
      }
    }
  }
}

TEST_P(NormKernel, AgreesWithF64ForLongRows) {
  for (const int64_t size : {4096, 12289, 70001}) {
    for (const NormKind kind : kNormKinds) {
      NormForm form;
      form.kind = kind;
      form.rows = 2;
      form.size = size;
      RowNorms norms(kernels(), form, ordinary(3));
      norms.run();
      norms.expect_near_f64();
      if (HasFatalFailure()) return;
    }
  }
}

// Whatever the numbers are, and however small epsilon is.
TEST_P(NormKernel, OfEqualNumbersIsTheBias) {
  for (const float number : {0.0f, 1.0f, 0.1f, -1234.567f, 1e-40f, 1e30f, 3e38f, -3.4e38f}) {
    for (const int64_t size : {1, 3, 6, 16, 17, 63, 100, 1000, 5000}) {
      NormForm form;
      form.size = size;
      form.epsilon = 1e-12f;
      RowNorms norms(kernels(), form, [number](int64_t, int64_t) { return number; });
      norms.run();
      for (int64_t i = 0; i < size; ++i)
        ASSERT_EQ(norms.result(0, i), norms.bias.at(i)) << "rows of " << size << " times " << number;
    }
  }
}

TEST_P(NormKernel, OfNumbersThatAreNotFiniteChangesNoOtherRow) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
  for (const int64_t size : {1, 5, 16, 37}) {
    for (const NormKind kind : kNormKinds) {
      for (const float strange : {kInfinity, -kInfinity, kNaN}) {
        NormForm form;
        form.kind = kind;
        form.rows = 3;
        form.size = size;
        const auto element = [](int64_t row, int64_t i) { return static_cast<float>((row * 3 + i * 5) % 7); };
        RowNorms finite(kernels(), form, element);
        finite.run();
        const int64_t place = size / 2;
        RowNorms norms(kernels(), form,
                       [&](int64_t row, int64_t i) { return row == 1 && i == place ? strange : element(row, i); });
        norms.run();
        for (int64_t i = 0; i < size; ++i) {
          ASSERT_EQ(norms.result(0, i), finite.result(0, i));
          ASSERT_EQ(norms.result(2, i), finite.result(2, i));
          // x / sqrt(infinity) of the others is 0, and no difference from a mean that is not finite is finite.
          if (kind == NormKind::Rms && !std::isnan(strange) && i != place)
            ASSERT_EQ(norms.result(1, i), 0);
          else
            ASSERT_TRUE(std::isnan(norms.result(1, i))) << "element " << i << " of " << size;
        }
      }
    }
  }
}

TEST_P(NormKernel, MayWriteOverItsInput) {
  for (const DType dtype : kElementTypes) {
    for (const int64_t size : {1, 7, 16, 33, 64}) {
      NormForm form;
      form.rows = 3;
      form.size = size;
      form.input_dtype = form.output_dtype = dtype;
      RowNorms apart(kernels(), form, ordinary(5));
      apart.run();
      RowNorms in_place(kernels(), form, ordinary(5));
      in_place.problem.output = in_place.problem.input;
      in_place.run();
      in_place.output = in_place.input;
      ASSERT_EQ(in_place.bits(), apart.bits()) << "rows of " << size << " in " << name_of(dtype);
    }
  }
}

TEST_P(NormKernel, GivesTheSameBitsOnAnyNumberOfWorkersAndWithAnyStrides) {
  for (const int64_t size : {5, 64, 100}) {
    NormForm form;
    form.rows = 1000;
    form.size = size;
    form.has_addend = true;
    RowNorms norms(kernels(), form, ordinary(6));
    norms.run();
    const std::vector<uint32_t> expected = norms.bits();
    for (const int32_t workers : {2, 3, 8}) {
      std::ranges::fill(norms.output.elements, kUntouched);
      norms.run(workers);
      ASSERT_EQ(norms.bits(), expected) << workers << " workers";
    }
    form.element_stride = 3;
    form.gap = 1;
    form.offset = 1;
    RowNorms strided(kernels(), form, ordinary(6));
    strided.run(2);
    ASSERT_EQ(strided.bits(), expected);
    // A row alone.
    form.rows = 1;
    RowNorms alone(kernels(), form, [&](int64_t, int64_t i) { return norms.input.at(norms.index(777, i)); });
    for (int64_t i = 0; i < size; ++i) alone.addend.set(alone.index(0, i), norms.addend.at(norms.index(777, i)));
    alone.run();
    for (int64_t i = 0; i < size; ++i) ASSERT_EQ(alone.result(0, i), norms.result(777, i));
  }
}

// Rows of (batch, rows, size) beyond the queries of their batch element.
TEST_P(NormKernel, OfRowsThatAreNoQueriesIsZero) {
  constexpr int64_t kRows = 6;
  const Sequence table[] = {{.query_count = 6}, {.query_count = 0}, {.query_count = 2}};
  NormForm form;
  form.rows = 3 * kRows;
  form.size = 19;
  form.element_stride = 2;
  RowNorms norms(kernels(), form, ordinary(8));
  norms.run();
  const std::vector<uint32_t> expected = norms.bits();
  std::ranges::fill(norms.output.elements, kUntouched);
  NormProblem& problem = norms.problem;
  problem.sizes[kElementwiseRank - 3] = 3;
  problem.sizes[kElementwiseRank - 2] = kRows;
  for (ElementwiseOperand* operand : {&problem.input, &problem.output})
    operand->strides[kElementwiseRank - 3] = kRows * operand->strides[kElementwiseRank - 2];
  problem.has_limits = 1;
  problem.limits = unlimited(kRows, kRows);
  problem.limits.has_table = 1;
  problem.limits.table = table;
  norms.run(2);
  const std::vector<uint32_t> bits = norms.bits();
  for (int64_t row = 0; row < form.rows; ++row) {
    const bool is_query = row % kRows < table[row / kRows].query_count;
    for (int64_t i = 0; i < form.size; ++i) {
      const auto at = static_cast<size_t>(row * form.size + i);
      ASSERT_EQ(bits[at], is_query ? expected[at] : 0U) << "row " << row;
    }
  }
}

}  // namespace
}  // namespace heed::cpu
