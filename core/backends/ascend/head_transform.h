// SPDX-License-Identifier: Apache-2.0
// Norms and rotary positions of projected heads, by ATB's RmsNorm and Rope.
#pragma once

#include <memory>
#include <vector>

#include "backends/ascend/npu.h"
#include "backends/plan.h"
#include "ops/linear.h"

namespace heed::ascend {

// Adds the reasons why ATB cannot transform the heads of this part. `computed`: the dtype of the computation.
void add_transform_reasons(Plan& plan, const LinearProblem& problem, const LinearPart& part, DType computed);

// The heads of a part that has a transform, before and after it.
class TransformedHeads {
 public:
  // `result` (tokens, heads * head size), dense and of the dtype of the computation, gets the transformed heads.
  TransformedHeads(Npu& npu, const LinearPart& part, const DeviceArray& result);
  TransformedHeads(TransformedHeads&& other) noexcept;
  ~TransformedHeads();

  const LinearPart& part() const { return part_; }
  // Of the same shape: where the projection has to be written.
  const DeviceArray& projected() const { return projected_; }

 private:
  friend void transform_heads(Npu& npu, const LinearProblem& problem, std::vector<TransformedHeads>& heads);
  class Slices;

  void normalize();
  static void rotate(Npu& npu, const LinearProblem& problem, TransformedHeads& heads, TransformedHeads* others);

  Npu& npu_;
  const LinearPart& part_;
  DeviceArray result_;
  std::unique_ptr<Slices> slices_;
  Temporary product_;
  DeviceArray projected_;
};

// Transforms the heads of all these parts of a problem.
void transform_heads(Npu& npu, const LinearProblem& problem, std::vector<TransformedHeads>& heads);

}  // namespace heed::ascend
