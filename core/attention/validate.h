// SPDX-License-Identifier: Apache-2.0
// How the lengths, the mask, the bias and the options of a call become part of an AttentionProblem, and their checks.
// Everything throws InvalidArgument with the argument's name, what it was and what was expected.
#pragma once

#include <cstdint>

#include "attention/options.h"
#include "ops/attention.h"
#include "tensor/tensor.h"

namespace heed {

// The tensors and settings of a call that attention reads beside queries, keys and values; null where not given.
struct AttentionInputs {
  const Tensor* valid_lens = nullptr;
  const Tensor* mask = nullptr;
  const Tensor* bias = nullptr;
  const Tensor* alibi_slopes = nullptr;
  uint64_t dropout_seed = 0;
  bool training = false;
};

// A tensor of a call: what messages call it, and the member that it is.
template <typename Call>
struct InputMember {
  const char* name = nullptr;
  const Tensor* Call::*tensor = nullptr;
};

// All tensors of AttentionInputs.
inline constexpr InputMember<AttentionInputs> kAttentionInputs[] = {
    {"inputs->valid_lens", &AttentionInputs::valid_lens},
    {"inputs->mask", &AttentionInputs::mask},
    {"inputs->bias", &AttentionInputs::bias},
    {"inputs->alibi_slopes", &AttentionInputs::alibi_slopes},
};

// The sizes of a problem are set, its limits as unlimited() makes them. Adds lengths, mask, bias, ALiBi slopes, band,
// scale, cap, dropout and the treatment of empty rows.
// `dtype` is the queries'. `has_heads` is false where H is not an axis. Without `reads_lengths` only the shape and the
// dtype of lengths are looked at.
void set_visibility(AttentionProblem& problem, const AttentionInputs& inputs, DType dtype,
                    const AttentionOptions& options, bool has_heads, bool reads_lengths);

// Makes an operand of the tensor, whose axes are `axes` of it (-1: repeated). Axes of size 1, whose stride means
// nothing, are repeated too. It is written in place: copying a struct that was just written stalls on store
// forwarding.
inline void set_operand(Operand& operand, const Tensor& tensor, const int32_t (&axes)[kOperandRank]) {
  operand.data = tensor.data();
  operand.dtype = tensor.dtype();
  operand.given = 1;
  for (int i = 0; i < kOperandRank; ++i) {
    const int32_t axis = axes[i];
    operand.strides[i] = axis < 0 || tensor.dim(axis) == 1 ? 0 : tensor.stride(axis);
  }
}

}  // namespace heed
