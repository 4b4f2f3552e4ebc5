// SPDX-License-Identifier: Apache-2.0
// The list of all operations. Code for operations of any kind, such as adding up costs, copying operands to the host or
// calling the CPU's functions, is made from it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <type_traits>

#include "ops/activate.h"
#include "ops/activate_backward.h"
#include "ops/attention.h"
#include "ops/attention_backward.h"
#include "ops/cross_entropy.h"
#include "ops/cumulative_sum.h"
#include "ops/dropout.h"
#include "ops/elementwise.h"
#include "ops/embedding.h"
#include "ops/embedding_backward.h"
#include "ops/gather.h"
#include "ops/head_transform_backward.h"
#include "ops/linear.h"
#include "ops/matmul.h"
#include "ops/merge.h"
#include "ops/norm.h"
#include "ops/norm_backward.h"
#include "ops/op.h"
#include "ops/positions.h"
#include "ops/reduce.h"
#include "ops/rotate.h"
#include "ops/rotations.h"
#include "ops/softmax.h"
#include "ops/sort.h"
#include "ops/weight_gradient.h"

// One row for each operation X, whose problem is XProblem. A new one is at the end, since devices know an operation by the
// number of its row.
#define HEED_OPERATIONS(OPERATION) \
  OPERATION(Linear)                \
  OPERATION(Attention)             \
  OPERATION(Softmax)               \
  OPERATION(Dropout)               \
  OPERATION(Merge)                 \
  OPERATION(Rotations)             \
  OPERATION(Positions)             \
  OPERATION(Norm)                  \
  OPERATION(Embedding)             \
  OPERATION(Activate)              \
  OPERATION(Elementwise)           \
  OPERATION(Reduce)                \
  OPERATION(CumulativeSum)         \
  OPERATION(Sort)                  \
  OPERATION(Gather)                \
  OPERATION(Matmul)                \
  OPERATION(Rotate)                \
  OPERATION(WeightGradient)        \
  OPERATION(AttentionBackward)     \
  OPERATION(NormBackward)          \
  OPERATION(ActivateBackward)      \
  OPERATION(EmbeddingBackward)     \
  OPERATION(HeadTransformBackward) \
  OPERATION(CrossEntropy)

namespace heed {

enum class OpKind : int32_t {
#define HEED_KIND(name) name,
  HEED_OPERATIONS(HEED_KIND)
#undef HEED_KIND
};

// What a device and a copy of a problem's bytes rely on. A problem has no other requirement: `visit_operands` and `cost_of`
// are called for each, so that the compiler wants them.
template <typename Problem, OpKind kind>
constexpr bool is_problem_of() {
  static_assert(Problem().op.kind == kind, "the kind of a problem is the number of its row in the list of operations");
  static_assert(Problem().op.num_bytes == sizeof(Problem), "num_bytes is the size of the problem");
  static_assert(std::is_trivially_copyable_v<Problem> && std::is_standard_layout_v<Problem>,
                "a problem is a plain struct");
  static_assert(offsetof(Problem, op) == 0, "op is the first member");
  static_assert(static_cast<uint32_t>(kind) < 64, "Backend::operations has a bit for each kind");
  return true;
}
#define HEED_CHECK(name) static_assert(is_problem_of<name##Problem, OpKind::name>());
HEED_OPERATIONS(HEED_CHECK)
#undef HEED_CHECK

// The bits of all operations.
#define HEED_BIT(name) | bit_of(OpKind::name)
inline constexpr uint64_t kAllOperations = 0 HEED_OPERATIONS(HEED_BIT);
#undef HEED_BIT

// The size of the largest problem, and an alignment for all of them.
#define HEED_SIZE(name) sizeof(name##Problem),
inline constexpr size_t kMaxProblemBytes = std::max({HEED_OPERATIONS(HEED_SIZE)});
#undef HEED_SIZE
#define HEED_ALIGNMENT(name) alignof(name##Problem),
inline constexpr size_t kProblemAlignment = std::max({HEED_OPERATIONS(HEED_ALIGNMENT)});
#undef HEED_ALIGNMENT

// Calls visit(problem) with the problem whose first member is `op`; const if `op` is. Returns the result of visit.
template <typename AnyOp, typename Visit>
requires std::is_same_v<std::remove_const_t<AnyOp>, Op>
decltype(auto) visit_problem(AnyOp& op, Visit&& visit) {
  switch (op.kind) {
#define HEED_CASE(name) \
  case OpKind::name: return visit(problem_of<name##Problem>(op));
    HEED_OPERATIONS(HEED_CASE)
#undef HEED_CASE
  }
  __builtin_unreachable();  // there is no other kind
}

inline Cost cost_of(const Op& op) {
  return visit_problem(op, [](const auto& problem) { return cost_of(problem); });
}

}  // namespace heed
