// SPDX-License-Identifier: Apache-2.0
// Checks the lengths, mask, bias and options of a call and adds them to an AttentionProblem. All checks throw
// InvalidArgument with the argument's name, its value and what was expected.
#pragma once

#include <cstdint>

#include "attention/options.h"
#include "ops/attention.h"
#include "tensor/tensor.h"

namespace heed {

// The tensors and settings that attention reads besides queries, keys and values; null if not given.
struct AttentionInputs {
  const Tensor* valid_lens = nullptr;
  const Tensor* mask = nullptr;
  const Tensor* bias = nullptr;
  const Tensor* alibi_slopes = nullptr;
  uint64_t dropout_seed = 0;
  bool training = false;
};

// A tensor of a call: its name in messages and its member.
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

// Adds lengths, mask, bias, ALiBi slopes, band, scale, soft cap, dropout and the treatment of empty rows to a problem
// with sizes and with limits from unlimited(). `dtype`: that of the queries. `has_heads`: whether the inputs have an
// axis H. Without `reads_lengths` only the shape and the dtype of lengths are checked.
void set_visibility(AttentionProblem& problem, const AttentionInputs& inputs, DType dtype,
                    const AttentionOptions& options, bool has_heads, bool reads_lengths);

}  // namespace heed
