// SPDX-License-Identifier: Apache-2.0
// The tensors of a layer's call, and the checks that all kinds of layers share. A new input is a member of LayerInputs,
// or of AttentionInputs where only attention reads it, and a line in the list of members beside it. Everything here
// throws InvalidArgument with the argument's name, what it was and what was expected.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <iterator>

#include "attention/validate.h"
#include "tensor/tensor.h"

namespace heed {

// heed_layer_inputs with tensors; null where not given.
struct LayerInputs : AttentionInputs {
  const Tensor* queries = nullptr;
  const Tensor* keys = nullptr;
  const Tensor* values = nullptr;
};

// heed_layer_outputs with tensors; null where not wanted.
struct LayerOutputs {
  const Tensor* output = nullptr;
  const Tensor* weights = nullptr;
  const Tensor* log_sum_exp = nullptr;
};

// All tensors of LayerInputs, those of AttentionInputs last; and all of LayerOutputs. The checks of devices, of data, of
// shared memory and of what a kind of layer does not read go through these lists.
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

// How far a call goes, and so what has to hold of its tensors.
enum class Purpose {
  Shapes,   // sizes and dtypes only; nothing is read
  Explain,  // lengths are read where they have data
  Run,      // every tensor has data, and outputs can be written
};

// Fills in the defaults (keys: queries, values: keys) and checks that queries are there, that the three share one
// floating dtype, and that every tensor is on `device_name`, the device of `owner`. `owner` is what messages call it, as
// "the layer".
LayerInputs complete_inputs(const LayerInputs& inputs, const char* owner, const char* device_name);

// For layers that read one tensor: checks that queries are there, of a floating dtype, of rank 1 to 8 and on
// `device_name`, and that nothing else is given. `kind` is the layer's, as "linear".
void check_one_input(const LayerInputs& inputs, const char* kind, const char* device_name);

// Checks one output against the shape it must have, its dtype (the inputs', or F32) and its device, that of `owner`.
void check_output(const Tensor& tensor, const char* name, const Shape& expected, DType input_dtype, bool f32_only,
                  const char* owner, const char* device_name);

// For Purpose::Run: all tensors have data, outputs can be written, and no output shares memory with another tensor of
// the call.
void check_memory(const LayerInputs& inputs, const LayerOutputs& outputs);

// No tensor of the call shares memory with the workspace, which is written while inputs are still read.
void check_workspace_memory(const LayerInputs& inputs, const LayerOutputs& outputs, const void* workspace,
                            size_t num_bytes);

}  // namespace heed
