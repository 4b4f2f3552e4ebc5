// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "backends/cpu/element_blocks.h"
#include "backends/cpu/elementwise_rows.h"
#include "backends/cpu/engine/planned_loop.h"
#include "backends/cpu/kernel_operand.h"
#include "backends/cpu/operations.h"
#include "tensor/copy.h"

namespace heed::cpu {
namespace {

// For one element: a load, a store and a few steps; a call of the C library, or an exponential.
constexpr double kFlopsOfArithmetic = 4;
constexpr double kFlopsOfFunction = 20;

double flops_of(ElementFunction function) {
  const bool is_real = row_of(function).elements == FunctionElements::Real;
  const bool is_call = function == ElementFunction::Power || function == ElementFunction::Remainder;
  return is_real || is_call ? kFlopsOfFunction : kFlopsOfArithmetic;
}

// What the elements of an input become before they are computed: those of a condition are one byte.
DType staged_dtype(const ElementwiseProblem& problem, int input) {
  return problem.function == ElementFunction::Select && input == 0 ? DType::Bool : problem.compute;
}

// What the function gives before it is converted.
DType written_dtype(const ElementwiseProblem& problem) {
  return gives_truth(problem.function) ? DType::Bool : problem.compute;
}

// Whether elements are adjacent and of the dtype that they are computed in. Any byte but 0 is a true BOOL, so its bytes are staged.
bool is_direct(DType dtype, int64_t stride, DType staged) {
  return dtype == staged && stride == 1 && staged != DType::Bool;
}

// Copies elements `to` another dtype: floats of 16 bits by the kernels, which convert vectors.
void convert_row(const KernelTable& kernels, const StridedRow& from, const StridedRow& to, int64_t count) {
  const bool is_narrow = is_16_bit(from.dtype) || is_16_bit(to.dtype);
  const auto is_kernels = [](DType dtype) { return is_16_bit(dtype) || dtype == DType::F32; };
  if (is_narrow && is_kernels(from.dtype) && is_kernels(to.dtype)) return kernels.copy_row(&from, &to, count);
  const auto step = [](const StridedRow& row) { return row.stride * static_cast<int64_t>(size_of(row.dtype)); };
  convert_elements(to.dtype, to.data, step(to), from.dtype, from.data, step(from), count);
}

StridedRow behind(const StridedRow& row, int64_t i) {
  const int64_t bytes = i * row.stride * static_cast<int64_t>(size_of(row.dtype));
  return {static_cast<std::byte*>(row.data) + bytes, row.stride, row.dtype};
}

// An operand of a row as adjacent elements of the dtype in which it is computed: in place if they are, otherwise in a block.
class StagedOperand {
 public:
  void open(const StridedRow& row, DType staged) {
    row_ = row;
    staged_ = staged;
    is_direct_ = is_direct(row.dtype, row.stride, staged);
  }

  // The elements from `first` on. A number that is repeated is converted once.
  const void* read(const KernelTable& kernels, int64_t first, int64_t count) {
    if (is_direct_) return behind(row_, first).data;
    if (row_.stride == 0 && filled_ >= count) return block_;
    convert_row(kernels, behind(row_, first), in_block(), count);
    filled_ = count;
    return block_;
  }

  void* begin_write(int64_t first) { return is_direct_ ? behind(row_, first).data : block_; }
  void end_write(const KernelTable& kernels, int64_t first, int64_t count) {
    if (!is_direct_) convert_row(kernels, in_block(), behind(row_, first), count);
  }

 private:
  StridedRow in_block() { return {block_, 1, staged_}; }

  StridedRow row_{};
  DType staged_ = DType::F32;
  bool is_direct_ = false;
  int64_t filled_ = 0;
  alignas(
      kMemoryAlignment) std::byte block_[kBlockBytes];  // NOLINT(cppcoreguidelines-pro-type-member-init): written first
};

// A row of which some operand is staged, in blocks.
void compute_row(const KernelTable& kernels, const ElementwiseProblem& problem, int64_t row, int64_t begin,
                 int64_t count) {
  const int num_inputs = row_of(problem.function).num_inputs;
  StagedOperand operands[kMaxFunctionInputs];
  for (int input = 0; input < num_inputs; ++input)
    operands[input].open(row_of(problem.sizes, problem.inputs[input], row, begin), staged_dtype(problem, input));
  StagedOperand output;
  output.open(row_of(problem.sizes, problem.output, row, begin), written_dtype(problem));
  const int64_t block = kBlockBytes / static_cast<int64_t>(size_of(problem.compute));
  const void* inputs[kMaxFunctionInputs] = {};
  for (int64_t i = 0; i < count; i += block) {
    const int64_t part = std::min(block, count - i);
    for (int input = 0; input < num_inputs; ++input) inputs[input] = operands[input].read(kernels, i, part);
    compute_block(kernels, problem.function, problem.compute, inputs, output.begin_write(i), part);
    output.end_write(kernels, i, part);
  }
}

// The rows of a problem whose elements are adjacent and of the dtype in which they are computed, so that nothing is staged. A row
// that follows another one is found without a division.
class DirectRows {
 public:
  explicit DirectRows(const ElementwiseProblem& problem)
      : problem_(problem), num_inputs_(row_of(problem.function).num_inputs) {}

  static bool can_read(const ElementwiseProblem& problem) {
    const auto can_read_operand = [](const ElementwiseOperand& operand, DType staged) {
      return is_direct(operand.dtype, operand.strides[kRowAxis], staged);
    };
    bool can_read_all = can_read_operand(problem.output, written_dtype(problem));
    for (int input = 0; input < row_of(problem.function).num_inputs; ++input)
      can_read_all = can_read_all && can_read_operand(problem.inputs[input], staged_dtype(problem, input));
    return can_read_all;
  }

  void compute(const KernelTable& kernels, int64_t row, int64_t begin, int64_t count) {
    move_to(row);
    const auto at = [&](std::byte* address) {
      return address + begin * static_cast<int64_t>(size_of(problem_.compute));
    };
    const void* inputs[kMaxFunctionInputs] = {};
    for (int input = 0; input < num_inputs_; ++input) inputs[input] = at(inputs_[input]);
    compute_block(kernels, problem_.function, problem_.compute, inputs, at(output_), count);
  }

 private:
  void move_to(int64_t row) {
    if (row == row_) return;
    if (row == row_ + 1 && num_following_ > 0) {
      --num_following_;
      for (int input = 0; input < num_inputs_; ++input) inputs_[input] += bytes_of_row(problem_.inputs[input]);
      output_ += bytes_of_row(problem_.output);
    } else {
      num_following_ = problem_.sizes[kRowAxis - 1] - 1 - row % problem_.sizes[kRowAxis - 1];
      for (int input = 0; input < num_inputs_; ++input) inputs_[input] = first_of(problem_.inputs[input], row);
      output_ = first_of(problem_.output, row);
    }
    row_ = row;
  }

  std::byte* first_of(const ElementwiseOperand& operand, int64_t row) const {
    return static_cast<std::byte*>(row_of(problem_.sizes, operand, row, 0).data);
  }
  static int64_t bytes_of_row(const ElementwiseOperand& operand) {
    return operand.strides[kRowAxis - 1] * static_cast<int64_t>(size_of(operand.dtype));
  }

  const ElementwiseProblem& problem_;
  int num_inputs_;
  int64_t row_ = -1;
  int64_t num_following_ = 0;  // rows after this one on their axis
  std::byte* inputs_[kMaxFunctionInputs] = {};
  std::byte* output_ = nullptr;
};

}  // namespace

Plan plan_problem(const KernelTable& kernels, const ElementwiseProblem& problem, int32_t num_workers) {
  Plan plan;
  plan.kernel = "elementwise";
  plan.isa = kernels.isa;
  const double num_elements = count_elements(problem.sizes);
  Cost cost = {.flops = num_elements * flops_of(problem.function), .bytes = 0};
  // One task is not divided, whatever it costs: small arrays are planned in each call.
  if (num_elements > kTaskElements) cost.bytes = bytes_of_operands(problem);
  plan_loop(plan, count_tasks_of_elements(problem.sizes), work_of(cost), num_workers);
  // Where the output's adjacent elements make short rows, rows are along a longer axis, which is the faster way.
  const bool has_short_rows = problem.output.strides[kRowAxis] != 1 &&
                              std::find(problem.output.strides, problem.output.strides + kElementwiseRank, 1) !=
                                  problem.output.strides + kElementwiseRank;
  for (const ElementwiseOperand& input : problem.inputs) {
    if (!has_short_rows) add_reasons_of_strides(plan, input, problem.output, problem.sizes[kRowAxis]);
  }
  return plan;
}

void run_problem(const KernelTable& kernels, const ElementwiseProblem& problem, const Plan& plan,
                 const Workers& workers, void*) {
  if (count_elements(problem.sizes) == 0) return;
  const bool is_all_direct = DirectRows::can_read(problem);
  run_loop(plan, workers, [&](int64_t task) {
    if (is_all_direct) {
      DirectRows rows(problem);
      for_each_part_of_row(problem.sizes, task, [&](int64_t, int64_t row, int64_t i, int64_t count) {
        rows.compute(kernels, row, i, count);
      });
      return;
    }
    for_each_part_of_row(problem.sizes, task, [&](int64_t, int64_t row, int64_t i, int64_t count) {
      compute_row(kernels, problem, row, i, count);
    });
  });
}

}  // namespace heed::cpu
