// SPDX-License-Identifier: Apache-2.0
// The structs of a layer's call, read.
#pragma once

#include <heed/heed.h>

#include <cinttypes>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "arguments.h"
#include "handles.h"
#include "layers/layer.h"
#include "load_options.h"

namespace heed::capi {

static_assert(HEED_CACHE_APPEND == static_cast<int>(CacheUse::Append) &&
              HEED_CACHE_READ == static_cast<int>(CacheUse::Read));

// The sizes in the first version of each struct: the smallest that a caller's struct can have.
inline constexpr size_t kFirstInputsSize = 72;
inline constexpr size_t kFirstOutputsSize = 32;
inline constexpr size_t kFirstSequenceInputsSize = 40;
inline constexpr size_t kFirstCacheInputsSize = 40;
inline constexpr size_t kFirstDecoderInputsSize = 48;
inline constexpr size_t kFirstTapSize = 32;

// The tensors of heed_layer_outputs, each with the corresponding member of LayerOutputs.
inline constexpr std::pair<heed_tensor * heed_layer_outputs::*, const Tensor * LayerOutputs::*> kOutputs[] = {
    {&heed_layer_outputs::output, &LayerOutputs::output},
    {&heed_layer_outputs::weights, &LayerOutputs::weights},
    {&heed_layer_outputs::log_sum_exp, &LayerOutputs::log_sum_exp},
};

// The tensors of one call. They are copies that share storage with the handles: the storage stays alive during the call
// even if another thread destroys a handle.
class CallTensors {
 public:
  CallTensors(const heed_layer_inputs* given_inputs, const heed_layer_outputs* given_outputs) {
    require(given_inputs, "inputs");
    const heed_layer_inputs read =
        read_struct(given_inputs, HEED_LAYER_INPUTS_INIT, kFirstInputsSize, "inputs", "HEED_LAYER_INPUTS_INIT");
    // Names every member, here and below, so that a new one does not compile until it is handled.
    const auto& [struct_size, queries, keys, values, valid_lens, mask, bias, dropout_seed, training, reserved,
                 alibi_slopes, sequences, sinks, cache, decoder, token_types, progress, attention_mask, num_last_rows,
                 output_rows] = read;
    require_zero(reserved, INPUT("reserved"));
    inputs.queries = keep(queries);
    inputs.keys = keep(keys);
    inputs.values = keep(values);
    inputs.visibility = {keep(valid_lens), keep(mask), keep(bias), keep(alibi_slopes), keep(sinks)};
    inputs.token_types = keep(token_types);
    inputs.attention_mask = keep(attention_mask);
    inputs.wanted_output = {num_last_rows, keep(output_rows)};
    inputs.training = {read_flag(training, INPUT("training")), dropout_seed};
    if (progress != nullptr) inputs.progress = read_progress(*progress, INPUT("progress"));
    if (sequences != nullptr) inputs.sequences = read_sequences(*sequences);
    if (cache != nullptr) inputs.cache = &read_cache(*cache, "cache", INPUT("cache"), cache_);
    if (decoder != nullptr) inputs.decoder = read_decoder(*decoder);
    if (given_outputs == nullptr) return;
    const heed_layer_outputs wanted =
        read_struct(given_outputs, HEED_LAYER_OUTPUTS_INIT, kFirstOutputsSize, "outputs", "HEED_LAYER_OUTPUTS_INIT");
    for (const auto& [given, tensor] : kOutputs) outputs.*tensor = keep(wanted.*given);
    if (wanted.taps != nullptr || wanted.num_taps != 0) read_taps(wanted);
    if (wanted.saved == nullptr) return;
    saved_ = wanted.saved->saved;
    outputs.saved = saved_.get();
  }
  CallTensors(const CallTensors&) = delete;
  CallTensors& operator=(const CallTensors&) = delete;

  // For a caller that gave no outputs: requests only `output`, as a tensor without data.
  void want_output_alone(const Layer& layer) {
    const OutputShapes shapes = layer.output_shapes(inputs);
    outputs.output =
        &kept_[num_kept_++].emplace(Tensor::wrap(layer.context(), shapes.dtype, shapes.output, nullptr, nullptr));
  }

  LayerInputs inputs;
  LayerOutputs outputs;

 private:
  SequenceInputs read_sequences(const heed_sequence_inputs& given) {
    const heed_sequence_inputs read = read_struct(&given, HEED_SEQUENCE_INPUTS_INIT, kFirstSequenceInputsSize,
                                                  INPUT("sequences"), "HEED_SEQUENCE_INPUTS_INIT");
    const auto& [struct_size, positions, query_lens, query_offsets, key_offsets, key_positions] = read;
    return {keep(positions), keep(query_lens), keep(query_offsets), keep(key_offsets), keep(key_positions)};
  }

  DecoderInputs read_decoder(const heed_decoder_inputs& given) {
    const heed_decoder_inputs read = read_struct(&given, HEED_DECODER_INPUTS_INIT, kFirstDecoderInputsSize,
                                                 INPUT("decoder"), "HEED_DECODER_INPUTS_INIT");
    const auto& [struct_size, self_valid_lens, self_mask, self_bias, memory, memory_cache, self_attention_mask] = read;
    DecoderInputs decoder = {keep(self_valid_lens), keep(self_mask), keep(self_bias), keep(self_attention_mask),
                             keep(memory)};
    if (memory_cache != nullptr)
      decoder.memory_cache =
          &read_cache(*memory_cache, "decoder->memory_cache", INPUT("decoder->memory_cache"), memory_cache_);
    return decoder;
  }

  // Sets a cache of the call and returns it. `path`: its path in inputs, and `name` the same as a term, for messages.
  const CacheInputs& read_cache(const heed_cache_inputs& given, const char* path, const char* name,
                                CacheInputs& cache) {
    const auto member = [path](const char* one) { return marked(Role::Input, std::string(path) + "->" + one); };
    const heed_cache_inputs read =
        read_struct(&given, HEED_CACHE_INPUTS_INIT, kFirstCacheInputsSize, name, "HEED_CACHE_INPUTS_INIT");
    const auto& [struct_size, given_cache, sequences, layer, use, reserved] = read;
    if (reserved != 0) require_zero(reserved, member("reserved").c_str());
    if (given_cache == nullptr) require(given_cache, member("cache").c_str());
    if (use < 0 || use > HEED_CACHE_READ)
      read_enum(use, CacheUse::Read, member("use").c_str(),
                CONSTANT("HEED_CACHE_APPEND") " (0) or " CONSTANT("HEED_CACHE_READ") " (1)");
    cache = {given_cache->cache, keep(sequences), layer, static_cast<CacheUse>(use), false, path};
    return cache;
  }

  void read_taps(const heed_layer_outputs& wanted) {
    if (wanted.num_taps < 0 || (wanted.num_taps > 0) != (wanted.taps != nullptr)) {
      fail(Status::InvalidArgument,
           OUTPUT("num_taps") " is %" PRId64 ", but " OUTPUT("taps") " is %s: expected both or neither",
           wanted.num_taps, wanted.taps == nullptr ? WORD("NULL") : "set");
    }
    // The tensors may not move.
    tapped_.reserve(2 * static_cast<size_t>(wanted.num_taps));
    const auto keep_tapped = [this](const heed_tensor* handle) -> const Tensor* {
      return handle == nullptr ? nullptr : &tapped_.emplace_back(handle->tensor);
    };
    for (int64_t i = 0; i < wanted.num_taps; ++i) {
      const std::string path = "taps[" + std::to_string(i) + "]";
      const std::string name = marked(Role::Output, path);
      require(wanted.taps[i], name.c_str());
      const heed_layer_tap tap =
          read_struct(wanted.taps[i], HEED_LAYER_TAP_INIT, kFirstTapSize, name.c_str(), "HEED_LAYER_TAP_INIT");
      if (tap.child == nullptr) require(tap.child, marked(Role::Output, path + "->child").c_str());
      if (tap.weights == nullptr && tap.log_sum_exp == nullptr) {
        fail(Status::InvalidArgument, "%s has no " WORD("tensor") ", expected weights, log_sum_exp or both",
             name.c_str());
      }
      taps_.push_back({tap.child, keep_tapped(tap.weights), keep_tapped(tap.log_sum_exp)});
    }
    outputs.taps = taps_;
  }

  const Tensor* keep(const heed_tensor* handle) {
    if (handle == nullptr) return nullptr;
    return &kept_[num_kept_++].emplace(handle->tensor);
  }

  std::optional<Tensor> kept_[kNumInputs + std::size(kOutputs)];
  size_t num_kept_ = 0;
  CacheInputs cache_;
  CacheInputs memory_cache_;
  std::vector<Tensor> tapped_;
  std::vector<LayerTap> taps_;
  std::shared_ptr<Saved> saved_;
};

inline std::shared_ptr<Layer> layer_of(const heed_layer* handle) { return require(handle, "layer")->layer; }

}  // namespace heed::capi
