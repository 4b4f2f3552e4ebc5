// SPDX-License-Identifier: Apache-2.0
#include "backends/ascend/linear.h"

#include <utility>
#include <vector>

#include "backends/ascend/arrange.h"
#include "backends/ascend/epilogue.h"
#include "backends/ascend/head_transform.h"
#include "backends/ascend/operations.h"
#include "backends/ascend/zeros.h"

namespace heed::ascend {
namespace {

DeviceArray packed_weight(const LinearPart& part, int64_t input_size) {
  DeviceArray array;
  // Only read. ATB's tensors have no pointer to const.
  array.data = const_cast<void*>(part.packed);
  array.dtype = ACL_BF16;
  array.shape = dims_of({part.output_size, input_size});
  return array;
}

// The weight as ATB takes it: (n, e), or (e, n) if that is its order in memory.
struct Weight {
  DeviceArray array;
  bool is_transposed = true;  // ATB's word for (n, e)
};

Weight load_weight(Npu& npu, const LinearPart& part, int64_t input_size, aclDataType dtype, Temporary& kept) {
  if (part.is_packed != 0 && dtype == ACL_BF16) return {packed_weight(part, input_size), true};
  const int64_t n = part.output_size;
  StridedArray weight = strided(part.weight, {1, 1, n, input_size});
  const bool lies_across = n > 1 && input_size > 1 && weight.strides[2] == 1 && weight.strides[3] == n;
  if (lies_across) {
    std::swap(weight.sizes[2], weight.sizes[3]);
    std::swap(weight.strides[2], weight.strides[3]);
    return {reshaped(load(npu, weight, dtype, kept), {input_size, n}), false};
  }
  return {reshaped(load(npu, weight, dtype, kept), {n, input_size}), true};
}

const char* kernel_of(const LinearProblem& problem) {
  if (has_epilogue(problem.parts[0])) return kernel_with_epilogue(problem.parts[0]);
  bool has_norm = false;
  bool is_rotated = false;
  for (int32_t i = 0; i < problem.num_parts; ++i) {
    has_norm = has_norm || problem.parts[i].transform.norm != NormKind::None;
    is_rotated = is_rotated || problem.parts[i].transform.layout != RotaryLayout::None;
  }
  if (has_norm) return is_rotated ? "ATB Linear, RmsNorm and Rope" : "ATB Linear and RmsNorm";
  return is_rotated ? "ATB Linear and Rope" : "ATB Linear";
}

}  // namespace

Plan plan_linear(const LinearProblem& problem, DType computed) {
  Plan plan;
  plan.kernel = kernel_of(problem);
  bool can = can_arrange(problem.input, {1, problem.batch, problem.rows, problem.input_size});
  for (int32_t i = 0; i < problem.num_parts; ++i) {
    const LinearPart& part = problem.parts[i];
    can = can && can_arrange(part.weight, {1, 1, part.output_size, problem.input_size}) &&
          can_arrange(rows_of(problem, part, part.output));
    if (part.transform.is_given()) add_transform_reasons(plan, problem, part, computed);
    add_epilogue_reasons(plan, problem, part);
  }
  if (problem.input_size == 0) plan.add_reason("ATB's products have at least one term");
  if (!can) plan.add_reason(kOutOfReach);
  return plan;
}

// Computes all rows, whatever wanted_rows says.
void run_linear(Npu& npu, const LinearProblem& problem, aclDataType dtype) {
  const int64_t num_rows = problem.batch * problem.rows;
  if (num_rows == 0) return;
  const int64_t e = problem.input_size;
  Temporary kept_input;
  const DeviceArray input = reshaped(
      load(npu, strided(problem.input, {1, problem.batch, problem.rows, e}), dtype, kept_input), {num_rows, e});
  // Of the parts whose heads are transformed.
  std::vector<Target> targets;
  std::vector<TransformedHeads> transformed;
  for (int32_t i = 0; i < problem.num_parts; ++i) {
    const LinearPart& part = problem.parts[i];
    const int64_t n = part.output_size;
    if (n == 0) continue;
    Temporary kept_weight;
    Temporary kept_bias;
    const Weight weight = load_weight(npu, part, e, dtype, kept_weight);
    DeviceArray bias;
    if (part.bias.given != 0) bias = load(npu, strided(part.bias, {1, 1, 1, n}), dtype, kept_bias);
    const DeviceArray* const added = part.bias.given != 0 ? &bias : nullptr;
    const auto multiply_into = [&](const DeviceArray& product) {
      linear(npu, input, weight.array, weight.is_transposed, added, product);
    };
    const auto zero_unwanted_of = [&](const DeviceArray& product) {
      if (part.zeroes_unwanted == 0) return;
      zero_unwanted(npu, problem.limits, part.wanted_rows, problem.batch, problem.rows, product);
    };
    if (part.transform.is_given()) {
      const Target& target = targets.emplace_back(npu, rows_of(problem, part, part.output), dtype);
      const DeviceArray product =
          transformed.emplace_back(npu, part, reshaped(target.array(), {num_rows, n})).projected();
      multiply_into(product);
      zero_unwanted_of(product);
      continue;
    }
    const Target target(npu, rows_of(problem, part, part.output), dtype);
    const DeviceArray result = reshaped(target.array(), {num_rows, n});
    if (has_epilogue(part)) {
      Temporary sums(npu, dtype, result.shape);
      multiply_into(sums.array());
      run_epilogue(npu, problem, part, sums, result);
    } else {
      multiply_into(result);
    }
    zero_unwanted_of(result);
    target.store();
  }
  transform_heads(npu, problem, transformed);
  for (const Target& target : targets) target.store();
}

size_t packed_bytes(const LinearPart& part, int64_t input_size) {
  switch (part.weight.dtype) {
    case DType::F32: return static_cast<size_t>(part.output_size * input_size) * size_of(DType::BF16);
    // Read as they are.
    case DType::F16:
    case DType::BF16:
    // No weight has the others.
    case DType::F64:
    case DType::I32:
    case DType::I64:
    case DType::I8:
    case DType::U8:
    case DType::Bool: break;
  }
  return 0;
}

void pack(Npu& npu, const LinearPart& part, int64_t input_size, void* packed) {
  const int64_t n = part.output_size;
  if (n * input_size == 0) return;
  Temporary kept;
  const DeviceArray weight = load(npu, strided(part.weight, {1, 1, n, input_size}), ACL_BF16, kept);
  npu.copy(packed, weight.data, weight.num_bytes());
}

}  // namespace heed::ascend
