// SPDX-License-Identifier: Apache-2.0
// The one place where the arguments of a layer's call are checked, and how those of attention become an
// AttentionProblem. Everything throws InvalidArgument with the argument's name, what it was and what was expected.
#pragma once

#include <cstddef>
#include <cstdint>

#include "attention/options.h"
#include "ops/attention.h"
#include "tensor/tensor.h"

namespace heed {

// heed_layer_inputs with tensors; null where not given.
struct LayerInputs {
  const Tensor* queries = nullptr;
  const Tensor* keys = nullptr;
  const Tensor* values = nullptr;
  const Tensor* valid_lens = nullptr;
  const Tensor* mask = nullptr;
  const Tensor* bias = nullptr;
  uint64_t dropout_seed = 0;
  bool training = false;
};

// heed_layer_outputs with tensors; null where not wanted.
struct LayerOutputs {
  const Tensor* output = nullptr;
  const Tensor* weights = nullptr;
  const Tensor* log_sum_exp = nullptr;
};

// How far a call goes, and so what has to hold of its tensors.
enum class Purpose {
  Shapes,   // sizes and dtypes only; nothing is read
  Explain,  // lengths are read where they have data
  Run,      // every tensor has data, and outputs can be written
};

// Fills in the defaults (keys: queries, values: keys) and checks that queries are there, that the three share one
// floating dtype, and that every tensor is on `device_name`, the device of `owner`: what messages call it, as
// "the layer".
LayerInputs complete_inputs(const LayerInputs& inputs, const char* owner, const char* device_name);

// For layers that read one tensor: checks that queries are there, of a floating dtype, of rank 1 to 8 and on
// `device_name`, and that nothing else is given. `kind` is the layer's, as "linear".
void check_one_input(const LayerInputs& inputs, const char* kind, const char* device_name);

// The sizes of a problem are set, its limits as unlimited() makes them; adds lengths, mask, bias, band, scale, cap, dropout and the treatment of empty rows.
// `has_heads` is false where H is not an axis.
void set_visibility(AttentionProblem& problem, const LayerInputs& inputs, const AttentionOptions& options,
                    bool has_heads, Purpose purpose);

// Checks one output against the shape it must have, its dtype (the inputs', or F32) and its device, that of `owner`.
void check_output(const Tensor& tensor, const char* name, const Shape& expected, DType input_dtype, bool f32_only,
                  const char* owner, const char* device_name);

// For Purpose::Run: all tensors have data, outputs can be written, and no output shares memory with another tensor of
// the call.
void check_memory(const LayerInputs& inputs, const LayerOutputs& outputs);

// No tensor of the call shares memory with the workspace, which is written while inputs are still read.
void check_workspace_memory(const LayerInputs& inputs, const LayerOutputs& outputs, const void* workspace,
                            size_t num_bytes);

// Makes an operand of the tensor, whose axes are `axes` of it (-1: repeated). Axes of size 1, whose stride means
// nothing, are repeated too. It is written in place: copying a struct that was just written stalls on store
// forwarding.
inline void set_operand(Operand& operand, const Tensor& tensor, const int32_t (&axes)[kOperandRank]) {
  operand.data = tensor.data();
  operand.dtype = tensor.dtype();
  operand.given = 1;
  for (int place = 0; place < kOperandRank; ++place) {
    const int32_t axis = axes[place];
    operand.strides[place] = axis < 0 || tensor.dim(axis) == 1 ? 0 : tensor.stride(axis);
  }
}

}  // namespace heed
