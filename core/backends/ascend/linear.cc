// SPDX-License-Identifier: Apache-2.0
#include "backends/ascend/linear.h"

#include <utility>
#include <vector>

#include "backends/ascend/arrange.h"
#include "backends/ascend/head_transform.h"
#include "backends/ascend/operations.h"
#include "backends/ascend/zeros.h"
#include "ops/visible_keys.h"

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

// The rows of ATB's result, (s, r, h, d): those of the output (h, s, r, d).
StridedArray rows_of(const LinearProblem& problem, const LinearPart& part) {
  const StridedArray output =
      strided(part.output, {part.output_size / part.head_size, problem.batch, problem.rows, part.head_size});
  StridedArray rows = output;
  for (const auto& [to, from] : {std::pair{0, 1}, std::pair{1, 2}, std::pair{2, 0}}) {
    rows.sizes[to] = output.sizes[from];
    rows.strides[to] = output.strides[from];
  }
  return rows;
}

// Sets the rows of a dense result that are not wanted to 0.
void zero_unwanted(Npu& npu, const LinearProblem& problem, const LinearPart& part, const DeviceArray& result) {
  if (part.zeroes_unwanted == 0) return;
  const auto row_bytes = static_cast<int64_t>(size_of_element(result.dtype)) * part.output_size;
  const auto zero = [&](int64_t s, int64_t first, int64_t end) {
    void* begin = static_cast<char*>(result.data) + (s * problem.rows + first) * row_bytes;
    if (first < end) write_zeros(npu, begin, static_cast<size_t>((end - first) * row_bytes));
  };
  for (int64_t s = 0; s < problem.batch; ++s) {
    const KeyRange wanted = wanted_rows(problem.limits, part.wanted_rows, s);
    zero(s, 0, wanted.first);
    zero(s, wanted.end, problem.rows);
  }
}

const char* kernel_of(const LinearProblem& problem) {
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

Plan plan_linear(const LinearProblem& problem) {
  Plan plan;
  plan.kernel = kernel_of(problem);
  bool can = problem.input.given == 0 ||
             can_arrange(strided(problem.input, {1, problem.batch, problem.rows, problem.input_size}));
  for (int32_t i = 0; i < problem.num_parts; ++i) {
    const LinearPart& part = problem.parts[i];
    const int64_t d = part.head_size;
    can = can && can_arrange(strided(part.weight, {1, 1, part.output_size, problem.input_size})) &&
          can_arrange(strided(part.output, {part.output_size / d, problem.batch, problem.rows, d}));
    if (part.transform.is_given()) add_transform_reasons(plan, problem, part);
    if (part.scale != 1 || part.soft_cap > 0 || part.activation != Activation::None || part.factor.given != 0 ||
        part.addend.given != 0)
      plan.add_reason("the device only adds a bias to a product, no scale, soft cap, activation, gate or residual");
  }
  if (problem.input_size == 0) plan.add_reason("ATB's products have at least one term");
  if (!can) plan.add_reason(kOutOfReach);
  plan.on_host = plan.is_fastest() ? 0 : 1;
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
      zero_unwanted(npu, problem, part, product);
    };
    if (!part.transform.is_given()) {
      const Target target(npu, rows_of(problem, part), dtype);
      multiply_into(reshaped(target.array(), {num_rows, n}));
      target.store();
      continue;
    }
    const Target& target = targets.emplace_back(npu, rows_of(problem, part), dtype);
    multiply_into(transformed.emplace_back(npu, part, reshaped(target.array(), {num_rows, n})).projected());
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
