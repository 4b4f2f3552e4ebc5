// SPDX-License-Identifier: Apache-2.0
// Checks the lengths, mask, bias and options of a call and adds them to an AttentionProblem. All checks throw
// InvalidArgument with the argument's name, its value and what was expected.
#pragma once

#include <cstdint>
#include <optional>

#include "attention/options.h"
#include "attention/sequences.h"
#include "ops/attention.h"
#include "tensor/tensor.h"

namespace heed {

struct CacheInputs;

// The words for tensors of a call in messages.
struct VisibilityNames {
  const char* valid_lens;
  const char* mask;
  const char* bias;
};
inline constexpr VisibilityNames kAttentionNames = {"inputs->valid_lens", "inputs->mask", "inputs->bias"};
inline constexpr VisibilityNames kSelfAttentionNames = {"inputs->decoder->self_valid_lens",
                                                        "inputs->decoder->self_mask", "inputs->decoder->self_bias"};

// The tensors and settings that attention reads besides queries, keys and values; null if not given.
struct AttentionInputs : SequenceInputs {
  const Tensor* valid_lens = nullptr;
  const Tensor* mask = nullptr;
  const Tensor* bias = nullptr;
  const Tensor* alibi_slopes = nullptr;
  const Tensor* sinks = nullptr;
  const CacheInputs* cache = nullptr;  // layers/cache_call.h
  const Tensor* cache_sequences = nullptr;
  // heed_decoder_inputs; only decoder layers read them.
  const Tensor* self_valid_lens = nullptr;
  const Tensor* self_mask = nullptr;
  const Tensor* self_bias = nullptr;
  // The encoder's output, in a call of a Transformer; only these read it.
  const Tensor* memory = nullptr;
  // What cross attention of decoders reads in place of keys.
  const CacheInputs* memory_cache = nullptr;
  const Tensor* memory_cache_sequences = nullptr;
  // Only layers with an embedding read them.
  const Tensor* token_types = nullptr;
  // The words for valid_lens, mask and bias.
  const VisibilityNames* names = &kAttentionNames;
  // Of the called layer's rows. Those of its children may be intermediates of another dtype.
  std::optional<DType> called_dtype;
  // Added to the layer of the cache, by a stack of layers.
  int64_t cache_layer_offset = 0;
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
    {"inputs->sinks", &AttentionInputs::sinks},
    {"inputs->sequences->positions", &AttentionInputs::positions},
    {"inputs->sequences->query_lens", &AttentionInputs::query_lens},
    {"inputs->sequences->query_offsets", &AttentionInputs::query_offsets},
    {"inputs->sequences->key_offsets", &AttentionInputs::key_offsets},
    {"inputs->cache->sequences", &AttentionInputs::cache_sequences},
    {kSelfAttentionNames.valid_lens, &AttentionInputs::self_valid_lens},
    {kSelfAttentionNames.mask, &AttentionInputs::self_mask},
    {kSelfAttentionNames.bias, &AttentionInputs::self_bias},
    {"inputs->decoder->memory", &AttentionInputs::memory},
    {"inputs->decoder->memory_cache->sequences", &AttentionInputs::memory_cache_sequences},
    {"inputs->token_types", &AttentionInputs::token_types},
};

// How the tensors of a call are read.
struct CallForm {
  DType dtype;            // of the queries of the called layer
  bool has_heads;         // whether the inputs have an axis H
  bool keys_are_queries;  // self-attention
  bool reads_lengths;     // otherwise only the shapes and dtypes of lengths, positions and offsets are checked
};

// Combines causal mask and window into the band of one batch element. `is_of_positions`: the band counts from positions, so
// that the alignments do not matter.
void set_band(Sequence& sequence, const AttentionOptions& options, bool is_of_positions);

// Adds sequences, positions, lengths, mask, bias, ALiBi slopes, sinks, band, scale, soft cap, dropout and the treatment of
// empty rows to a problem with sizes and with limits from unlimited().
void set_visibility(AttentionProblem& problem, const AttentionInputs& inputs, const AttentionOptions& options,
                    const CallForm& form);

}  // namespace heed
