// SPDX-License-Identifier: Apache-2.0
#include "attention/validate.h"

#include <algorithm>
#include <array>
#include <cinttypes>
#include <cmath>

#include "attention/lengths.h"
#include "base/checked.h"
#include "base/error.h"
#include "ops/tensor_operand.h"

namespace heed {
namespace {

// Sets mask or bias: (B, H, Q, K) or (Q, K), with size 1 where an axis is repeated.
void set_pair_operand(Operand& operand, const AttentionProblem& problem, const Tensor& tensor, const char* name,
                      bool has_heads) {
  const Shape full{problem.batch, has_heads ? problem.num_heads : 1, problem.limits.num_queries,
                   problem.limits.num_keys};
  const Shape plane{problem.limits.num_queries, problem.limits.num_keys};
  if (tensor.rank() != 4 && tensor.rank() != 2) {
    fail(Status::InvalidArgument,
         "%s has dims %s of rank %d, expected rank 4, %s, or rank 2, %s, with ones where it is repeated; one row of "
         "keys for each batch element is (B, 1, 1, K), one for each query (B, 1, Q, K)",
         name, to_string(tensor.shape()).c_str(), tensor.rank(), to_string(full).c_str(), to_string(plane).c_str());
  }
  const int32_t missing = 4 - tensor.rank();
  if (tensor.rank() == 2 && tensor.dim(0) != 1 && tensor.dim(0) != problem.limits.num_queries &&
      tensor.dim(0) == problem.batch && (tensor.dim(1) == 1 || tensor.dim(1) == problem.limits.num_keys)) {
    const Shape for_each_element{problem.batch, 1, 1, tensor.dim(1)};
    fail(Status::InvalidArgument,
         "%s has dims %s, expected %s, (Q, K), with ones where it is repeated; one row of keys for each batch element "
         "is "
         "(B, 1, 1, K): reshape it to %s",
         name, to_string(tensor.shape()).c_str(), to_string(plane).c_str(), to_string(for_each_element).c_str());
  }
  for (int32_t axis = 0; axis < tensor.rank(); ++axis) {
    if (tensor.dim(axis) != 1 && tensor.dim(axis) != full[axis + missing]) {
      fail(Status::InvalidArgument, "%s has dims %s, expected %s with ones where it is repeated%s", name,
           to_string(tensor.shape()).c_str(), to_string(missing == 0 ? full : plane).c_str(),
           has_heads ? "" : " (there are no heads here)");
    }
  }
  if (missing == 0) {
    set_operand(operand, tensor, {0, 1, 2, 3});
  } else {
    set_operand(operand, tensor, {-1, -1, 0, 1});
  }
}

// One slope for each head.
void set_alibi_slopes(AttentionProblem& problem, const Tensor& slopes, bool has_heads) {
  const Shape expected{has_heads ? problem.num_heads : 1};
  if (slopes.dtype() != DType::F32)
    fail(Status::InvalidArgument, "inputs->alibi_slopes is %s, expected F32", name_of(slopes.dtype()));
  if (!(slopes.shape() == expected)) {
    fail(Status::InvalidArgument, "inputs->alibi_slopes has dims %s, expected %s, one slope for each head%s",
         to_string(slopes.shape()).c_str(), to_string(expected).c_str(), has_heads ? "" : " (there are no heads here)");
  }
  set_operand(problem.alibi_slopes, slopes, {-1, 0, -1, -1});
}

// Combines causal mask and window into one band. Before, the band is unlimited.
void set_band(AttentionProblem& problem, const AttentionOptions& options) {
  Sequence& sequence = problem.limits.sequence;
  const int64_t bottom_right = sequence.key_count - sequence.query_count;
  if (options.causal != Alignment::None)
    sequence.band_last = options.causal == Alignment::BottomRight ? bottom_right : 0;
  if (options.window != Alignment::None) {
    const int64_t shift = options.window == Alignment::BottomRight ? bottom_right : 0;
    // The negation cannot overflow: only window_left >= 0 is negated, and -INT64_MAX is representable.
    if (options.window_left >= 0)
      sequence.band_first = std::max(-sequence.query_count, saturating_add(shift, -options.window_left));
    if (options.window_right >= 0)
      sequence.band_last = std::min(sequence.band_last, saturating_add(shift, options.window_right));
  }
}

void set_dropout(AttentionProblem& problem, const AttentionInputs& inputs, const AttentionOptions& options) {
  problem.dropout = inputs.training ? options.dropout : 0.0f;
  problem.dropout_seed = inputs.dropout_seed;
  if (problem.dropout == 0) return;
  // The counter of a weight's random number consists of its indices as 32-bit words.
  const std::array<int64_t, 4> sizes{problem.batch, problem.num_heads, problem.limits.num_queries,
                                     problem.limits.num_keys};
  const int64_t largest = *std::max_element(sizes.begin(), sizes.end());
  if (largest > int64_t{1} << 32) {
    fail(Status::Unsupported,
         "dropout with a dimension of %" PRId64
         " is not supported, expected at most 2^32 in batch, heads, queries and keys",
         largest);
  }
}

}  // namespace

void set_visibility(AttentionProblem& problem, const AttentionInputs& inputs, DType dtype,
                    const AttentionOptions& options, bool has_heads, bool reads_lengths) {
  set_band(problem, options);
  if (inputs.valid_lens != nullptr) {
    problem.limits.valid_lens =
        lengths_operand(*inputs.valid_lens, "inputs->valid_lens",
                        {problem.batch, problem.limits.num_queries, problem.limits.num_keys}, reads_lengths);
  }
  if (inputs.mask != nullptr) {
    if (inputs.mask->dtype() != DType::Bool) {
      fail(Status::InvalidArgument,
           "inputs->mask is %s, expected BOOL (true: may attend); a mask of numbers to be added is inputs->bias",
           name_of(inputs.mask->dtype()));
    }
    set_pair_operand(problem.mask, problem, *inputs.mask, "inputs->mask", has_heads);
  }
  if (inputs.bias != nullptr) {
    if (inputs.bias->dtype() != DType::F32 && inputs.bias->dtype() != dtype) {
      const bool both = dtype != DType::F32;
      fail(Status::InvalidArgument, "inputs->bias is %s, expected F32%s%s", name_of(inputs.bias->dtype()),
           both ? " or the dtype of inputs->queries, " : "", both ? name_of(dtype) : "");
    }
    set_pair_operand(problem.bias, problem, *inputs.bias, "inputs->bias", has_heads);
  }
  if (inputs.alibi_slopes != nullptr) set_alibi_slopes(problem, *inputs.alibi_slopes, has_heads);
  problem.scale =
      options.scale != 0 ? options.scale : static_cast<float>(1.0 / std::sqrt(static_cast<double>(problem.head_size)));
  problem.soft_cap = options.soft_cap;
  problem.empty_rows = options.empty_rows;
  set_dropout(problem, inputs, options);
}

}  // namespace heed
