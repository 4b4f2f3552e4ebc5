// SPDX-License-Identifier: Apache-2.0
// The tensors of a layer's call, and checks that all kinds of layers share. To add an input, add a member to
// LayerInputs, or to AttentionInputs if only attention reads it, and a line to the list of members beside it. All
// checks throw InvalidArgument with the argument's name, its value and what was expected.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <iterator>
#include <span>
#include <string_view>

#include "attention/validate.h"
#include "base/call_progress.h"
#include "tensor/tensor.h"

namespace heed {

// heed_layer_inputs as tensors; null if not given.
struct LayerInputs : AttentionInputs {
  const Tensor* queries = nullptr;
  const Tensor* keys = nullptr;
  const Tensor* values = nullptr;
  Progress progress = {};
};

// heed_layer_tap: outputs of an attention in the called layer; null if not requested.
struct LayerTap {
  std::string_view child;
  const Tensor* weights = nullptr;
  const Tensor* log_sum_exp = nullptr;
};

// heed_layer_outputs as tensors; null if not requested.
struct LayerOutputs {
  const Tensor* output = nullptr;
  const Tensor* weights = nullptr;
  const Tensor* log_sum_exp = nullptr;
  std::span<const LayerTap> taps = {};
};

// All members of LayerInputs, those of AttentionInputs last, and all members of LayerOutputs. The checks of devices,
// data, shared memory and unused inputs loop over these lists.
inline constexpr auto kLayerInputs = [] {
  constexpr InputMember<LayerInputs> kOwn[] = {
      {"inputs->queries", &LayerInputs::queries},
      {"inputs->keys", &LayerInputs::keys},
      {"inputs->values", &LayerInputs::values},
  };
  std::array<InputMember<LayerInputs>, std::size(kOwn) + std::size(kAttentionInputs)> all{};
  auto next = std::copy(std::begin(kOwn), std::end(kOwn), all.begin());
  for (const auto& [name, tensor] : kAttentionInputs) *next++ = {name, tensor};
  return all;
}();
inline constexpr InputMember<LayerOutputs> kLayerOutputs[] = {
    {"outputs->output", &LayerOutputs::output},
    {"outputs->weights", &LayerOutputs::weights},
    {"outputs->log_sum_exp", &LayerOutputs::log_sum_exp},
};

// The words for a tensor of a tap in messages.
struct TapName {
  TapName(size_t tap, const char* member);
  char text[64];
};

// What a call is for, which decides what is required of its tensors.
enum class Purpose {
  Shapes,   // only sizes and dtypes are read
  Explain,  // lengths are also read if they have data
  Run,      // all tensors must have data, and outputs must be writable
};

// Fills in the defaults (keys: queries, values: keys). Checks that queries are given, that queries, keys and values
// share one floating dtype, and that every tensor is on `device_name`, the device of `owner`. `owner`: the words for it
// in messages, such as "the layer".
LayerInputs complete_inputs(const LayerInputs& inputs, const char* owner, const char* device_name);

// Checks that every tensor is on `device_name`, the device of `owner`.
void check_devices(const LayerInputs& inputs, const char* owner, const char* device_name);

// "an" before "encoder", "a" before "linear".
const char* article_of(const char* noun);

// Checks that queries are given and floating. `what`: as in check_rows.
void check_queries(const LayerInputs& inputs, const char* what = nullptr);

// Checks that no input but queries is given. `reads`: the words for all that the layer reads.
void check_no_other_inputs(const LayerInputs& inputs, const char* kind, const char* reads);

// Checks that rows are floating. `what`: the words for them, if they are not rows of any meaning.
void check_rows(const Tensor& rows, const char* name, const char* what = nullptr);

// For layers without an embedding.
void check_no_token_types(const LayerInputs& inputs, const char* kind);

// For layers that are no decoders.
void check_no_decoder_inputs(const LayerInputs& inputs, const char* kind);

// For layers that read only queries: checks that queries are given, floating, of rank 1 to 8 and on `device_name`, and
// that no other input is given. `kind`: the kind of the layer, such as "linear".
// `reads`: the words for all that the layer reads.
void check_one_input(const LayerInputs& inputs, const char* kind, const char* device_name,
                     const char* reads = "inputs->queries");

// Checks one output against its expected shape, its dtype (that of the inputs, or F32) and the device of `owner`.
void check_output(const Tensor& tensor, const char* name, const Shape& expected, DType input_dtype, bool f32_only,
                  const char* owner, const char* device_name);

// For Purpose::Run: checks that all tensors have data, that outputs are writable, and that no output shares memory with
// another tensor of the call.
void check_memory(const LayerInputs& inputs, const LayerOutputs& outputs);

// Checks that no tensor shares memory with the workspace, which is written while inputs are still read.
void check_workspace_memory(const LayerInputs& inputs, const LayerOutputs& outputs, const void* workspace,
                            size_t num_bytes);

}  // namespace heed
