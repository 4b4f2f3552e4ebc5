// SPDX-License-Identifier: Apache-2.0
// The list of all operations, from a problem's kind to its type. Code for operations of any kind, such as copying
// operands to the host or adding up costs, uses visit_problem.
#pragma once

#include <algorithm>
#include <cstddef>
#include <type_traits>

#include "ops/activate.h"
#include "ops/attention.h"
#include "ops/dropout.h"
#include "ops/embedding.h"
#include "ops/linear.h"
#include "ops/merge.h"
#include "ops/norm.h"
#include "ops/op.h"
#include "ops/positions.h"
#include "ops/rotations.h"
#include "ops/softmax.h"

namespace heed {

// Calls visit(problem) with the problem whose first member is `op`; const if `op` is. Returns the result of visit.
template <typename AnyOp, typename Visit>
requires std::is_same_v<std::remove_const_t<AnyOp>, Op>
decltype(auto) visit_problem(AnyOp& op, Visit&& visit) {
  switch (op.kind) {
    case OpKind::Linear: return visit(problem_of<LinearProblem>(op));
    case OpKind::Attention: return visit(problem_of<AttentionProblem>(op));
    case OpKind::Softmax: return visit(problem_of<SoftmaxProblem>(op));
    case OpKind::Dropout: return visit(problem_of<DropoutProblem>(op));
    case OpKind::Merge: return visit(problem_of<MergeProblem>(op));
    case OpKind::Rotations: return visit(problem_of<RotationsProblem>(op));
    case OpKind::Positions: return visit(problem_of<PositionsProblem>(op));
    case OpKind::Norm: return visit(problem_of<NormProblem>(op));
    case OpKind::Embedding: return visit(problem_of<EmbeddingProblem>(op));
    case OpKind::Activate: return visit(problem_of<ActivateProblem>(op));
  }
  __builtin_unreachable();  // there is no other kind
}

// The size of the largest problem.
inline constexpr size_t kMaxProblemBytes =
    std::max({sizeof(LinearProblem), sizeof(AttentionProblem), sizeof(SoftmaxProblem), sizeof(DropoutProblem),
              sizeof(MergeProblem), sizeof(RotationsProblem), sizeof(PositionsProblem), sizeof(NormProblem),
              sizeof(EmbeddingProblem), sizeof(ActivateProblem)});

inline Cost cost_of(const Op& op) {
  return visit_problem(op, [](const auto& problem) { return cost_of(problem); });
}

}  // namespace heed
