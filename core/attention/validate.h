// SPDX-License-Identifier: Apache-2.0
// Checks the lengths, mask, bias and options of a call and adds them to an AttentionProblem. All checks throw
// InvalidArgument with the argument's name, its value and what was expected.
#pragma once

#include <cstdint>

#include "attention/options.h"
#include "attention/sequences.h"
#include "ops/attention.h"
#include "tensor/tensor.h"

namespace heed {

// The words for tensors of a call in messages.
struct VisibilityNames {
  const char* valid_lens;
  const char* mask;
  const char* bias;
};
inline constexpr VisibilityNames kAttentionNames = {INPUT("valid_lens"), INPUT("mask"), INPUT("bias")};
inline constexpr VisibilityNames kSelfAttentionNames = {INPUT("decoder->self_valid_lens"), INPUT("decoder->self_mask"),
                                                        INPUT("decoder->self_bias")};

// What decides, beside sequences, which keys a query sees, and what is added to scores: tensors; null if not given.
struct Visibility {
  const Tensor* valid_lens = nullptr;
  const Tensor* mask = nullptr;
  const Tensor* bias = nullptr;
  const Tensor* alibi_slopes = nullptr;
  const Tensor* sinks = nullptr;
  // The words for valid_lens, mask and bias.
  const VisibilityNames* names = &kAttentionNames;
};

// How the tensors of a call are read.
struct CallForm {
  DType dtype;            // of the queries of the called layer
  bool has_heads;         // whether the inputs have an axis H
  bool keys_are_queries;  // self-attention
  bool reads_lengths;     // otherwise only the shapes and dtypes of lengths, positions and offsets are checked
  // Whether positions are those of queries and keys, which the band then does not compare: it compares rows.
  bool places_keys;
};

// Combines causal mask and window into the band of one batch element. `is_of_positions`: the band counts from positions, so
// that the alignments do not matter.
void set_band(Sequence& sequence, const AttentionOptions& options, bool is_of_positions);

// Adds sequences, positions, lengths, mask, bias, ALiBi slopes, sinks, band, scale, soft cap and the treatment of empty rows
// to a problem with sizes and with limits from unlimited().
void set_visibility(AttentionProblem& problem, const Visibility& visibility, const CallSequences& sequences,
                    const AttentionOptions& options, const CallForm& form);

}  // namespace heed
