// SPDX-License-Identifier: Apache-2.0
// A linear operation with one part, and the arrays that it reads and writes.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include "array_of_elements.h"
#include "backends/cpu/linear.h"
#include "backends/cpu/operations.h"
#include "ops/linear.h"
#include "turns.h"

namespace heed::cpu {

struct Form {
  int64_t batch = 1;
  int64_t rows = 1;
  int64_t input_size = 1;
  int64_t num_heads = 1;
  int64_t head_size = 1;
  DType input_dtype = DType::F32;
  DType weight_dtype = DType::F32;
  DType output_dtype = DType::F32;
  int64_t offset = 0;          // of all arrays, in elements
  int64_t gap = 0;             // between rows
  int64_t element_stride = 1;  // of input and output
  bool transposes_weight = false;
  bool has_bias = false;
  bool head_major = false;
  bool packs = true;
};

// One linear operation with the arrays that it reads and writes.
class Product {
 public:
  Product(const KernelTable& kernels, const Form& form, uint32_t seed) : kernels_(kernels), form_(form) {
    const int64_t outputs = form.num_heads * form.head_size;
    const int64_t step = form.element_stride;
    LinearPart& part = problem.parts[0];
    problem.batch = form.batch;
    problem.rows = form.rows;
    problem.input_size = form.input_size;
    part.output_size = outputs;
    part.head_size = form.head_size;
    const int64_t input_row = form.input_size * step + form.gap;
    make(input, problem.input, form.input_dtype, form.batch * form.rows * input_row);
    set_strides(problem.input, {0, form.rows * input_row, input_row, step});
    make(weight, part.weight, form.weight_dtype, outputs * form.input_size);
    set_strides(part.weight, form.transposes_weight ? std::vector<int64_t>{0, 0, 1, outputs}
                                                    : std::vector<int64_t>{0, 0, form.input_size, 1});
    if (form.has_bias) {
      make(bias, part.bias, form.weight_dtype, outputs);
      set_strides(part.bias, {0, 0, 0, 1});
    }
    const int64_t all_rows = form.batch * form.rows;
    const int64_t output_row = (form.head_major ? form.head_size : outputs) * step + form.gap;
    make(output, part.output, form.output_dtype, all_rows * output_row * (form.head_major ? form.num_heads : 1));
    set_strides(part.output, {form.head_major ? all_rows * output_row : form.head_size * step, form.rows * output_row,
                              output_row, step});
    std::mt19937 random(seed);
    std::uniform_real_distribution<float> uniform(-1, 1);
    for (Array* array : {&input, &weight, &bias}) {
      const auto size =
          static_cast<int64_t>((array->elements.size() - array->begin) / size_of(array->dtype)) - array->first;
      for (int64_t i = 0; i < size; ++i) array->set(i, uniform(random));
    }
    std::ranges::fill(output.elements, kUntouched);
    pack();
  }

  void pack() {
    LinearPart& part = problem.parts[0];
    if (!form_.packs) return;
    packed = Array(DType::F32, static_cast<int64_t>(packed_linear_bytes(kernels_, part, form_.input_size) / 4) + 1, 0);
    packed.first = 0;
    pack_linear(kernels_, part, form_.input_size, {0, part.output_size, 0, form_.input_size}, packed.data());
    part.packed = packed.data();
    part.is_packed = 1;
  }

  Product(const Product&) = delete;
  Product& operator=(const Product&) = delete;

  // Runs with scratch of exactly the planned size.
  void run(int32_t num_workers = 1) {
    Turns turns(num_workers);
    Failure failure;
    const Plan plan = plan_problem(kernels_, problem, num_workers);
    Array scratch(DType::F32, static_cast<int64_t>(plan.scratch_bytes / sizeof(float)), 0);
    scratch.first = 0;
    std::ranges::fill(scratch.elements, kUntouched);
    run_problem(kernels_, problem, plan, Workers(turns, &failure), scratch.data());
    const size_t end = scratch.begin + plan.scratch_bytes;
    EXPECT_TRUE(std::all_of(scratch.elements.begin() + static_cast<std::ptrdiff_t>(end), scratch.elements.end(),
                            [](unsigned char byte) { return byte == kUntouched; }));
  }

  // Rows first .. first + count - 1 of one batch element; inputs and outputs are f32.
  void run_rows(int64_t first, int64_t count, int32_t num_workers) {
    LinearPart& part = problem.parts[0];
    problem.rows = count;
    problem.input.data = static_cast<float*>(input.data()) + first * problem.input.strides[2];
    part.output.data = static_cast<float*>(output.data()) + first * part.output.strides[2];
    run(num_workers);
    problem.rows = form_.rows;
    problem.input.data = input.data();
    part.output.data = output.data();
  }

  int64_t input_index(int64_t row, int64_t e) const {
    const int64_t* strides = problem.input.strides;
    return row / form_.rows * strides[1] + row % form_.rows * strides[2] + e * strides[3];
  }
  int64_t weight_index(int64_t n, int64_t e) const {
    return n * problem.parts[0].weight.strides[2] + e * problem.parts[0].weight.strides[3];
  }
  int64_t output_index(int64_t row, int64_t n) const {
    const int64_t* strides = problem.parts[0].output.strides;
    return n / form_.head_size * strides[0] + row / form_.rows * strides[1] + row % form_.rows * strides[2] +
           n % form_.head_size * strides[3];
  }
  float result(int64_t row, int64_t n) const { return output.at(output_index(row, n)); }
  std::vector<uint32_t> row_bits(int64_t row) const {
    std::vector<uint32_t> bits;
    for (int64_t n = 0; n < form_.num_heads * form_.head_size; ++n)
      bits.push_back(std::bit_cast<uint32_t>(result(row, n)));
    return bits;
  }

  // The bound: each of input_size terms is rounded when it is multiplied and in each sum that contains it, at most
  // input_size times, and once more when the bias is added. A product that underflows has an error of up to 2^-150.
  // Then the result is rounded to its dtype.
  void expect_near_f64() const {
    const auto depth = static_cast<double>(form_.input_size);
    const double roundings = (depth + 1) * 0x1p-24 / (1 - (depth + 1) * 0x1p-24);
    std::vector<bool> is_output(output.elements.size() / size_of(form_.output_dtype) + 1, false);
    for (int64_t row = 0; row < form_.batch * form_.rows; ++row) {
      for (int64_t n = 0; n < form_.num_heads * form_.head_size; ++n) {
        double sum = 0;
        double sum_of_magnitudes = 0;
        for (int64_t e = 0; e < form_.input_size; ++e) {
          const double term = static_cast<double>(input.at(input_index(row, e))) * weight.at(weight_index(n, e));
          sum += term;
          sum_of_magnitudes += std::abs(term);
        }
        if (form_.has_bias) {
          sum += bias.at(n);
          sum_of_magnitudes += std::abs(static_cast<double>(bias.at(n)));
        }
        const double error = roundings * sum_of_magnitudes + depth * 0x1p-149;
        const double rounding =
            form_.output_dtype == DType::F32
                ? 0
                : unit_of(form_.output_dtype) * (std::abs(sum) + error) + least_of(form_.output_dtype);
        ASSERT_NEAR(result(row, n), sum, error + rounding) << "row " << row << ", output " << n;
        is_output[static_cast<size_t>(output_index(row, n))] = true;
      }
    }
    const size_t first = output.begin + static_cast<size_t>(output.first) * size_of(form_.output_dtype);
    for (size_t byte = 0; byte < output.elements.size(); ++byte) {
      if (byte >= first && is_output[(byte - first) / size_of(form_.output_dtype)]) continue;
      ASSERT_EQ(output.elements[byte], kUntouched) << "byte " << byte;
    }
  }

  LinearProblem problem;
  Array input;
  Array weight;
  Array bias;
  Array output;
  Array packed;

 private:
  void make(Array& array, Operand& operand, DType dtype, int64_t size) const {
    array = Array(dtype, size, form_.offset);
    operand.data = array.data();
    operand.dtype = dtype;
    operand.given = 1;
  }
  static void set_strides(Operand& operand, const std::vector<int64_t>& strides) {
    std::ranges::copy(strides, operand.strides);
  }

  const KernelTable& kernels_;
  Form form_;
};

}  // namespace heed::cpu
