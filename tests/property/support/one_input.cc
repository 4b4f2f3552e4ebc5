// SPDX-License-Identifier: Apache-2.0
#include "support/one_input.h"

#include <gtest/gtest.h>

#include "property/support/guarded_workspace.h"

namespace heed::property {
namespace {

// The dims of the output that the layer makes for these inputs.
Dims output_dims(const heed_layer* layer, const heed_layer_inputs& inputs) {
  heed_layer_outputs made = HEED_LAYER_OUTPUTS_INIT;
  check(heed_layer_create_outputs(layer, &inputs, HEED_WANT_OUTPUT, &made));
  const Tensor output(made.output);
  EXPECT_EQ(heed_tensor_dtype(output.get()), heed_tensor_dtype(inputs.queries));
  Dims dims;
  for (int32_t axis = 0; axis < heed_tensor_rank(output.get()); ++axis)
    dims.push_back(heed_tensor_dim(output.get(), axis));
  return dims;
}

}  // namespace

OneOutput forward(heed_context* context, const heed_layer* layer, const OneInputCall& call) {
  const HostTensor input(context, call.input);
  heed_layer_inputs inputs = HEED_LAYER_INPUTS_INIT;
  inputs.queries = input.handle();
  inputs.dropout_seed = call.dropout_seed;
  inputs.training = call.training;
  heed_sequence_inputs sequences = HEED_SEQUENCE_INPUTS_INIT;
  std::optional<HostTensor> positions, query_offsets;
  if (call.positions) sequences.positions = positions.emplace(context, *call.positions).handle();
  if (call.query_offsets) sequences.query_offsets = query_offsets.emplace(context, *call.query_offsets).handle();
  if (call.positions || call.query_offsets) inputs.sequences = &sequences;
  const Dims dims = output_dims(layer, inputs);
  const HostTensor output(context, call.dtype, dims,
                          call.output_strides.empty() ? row_major_strides(dims) : call.output_strides);
  heed_layer_outputs outputs = HEED_LAYER_OUTPUTS_INIT;
  outputs.output = output.handle();
  GuardedWorkspace workspace;
  if (call.with_workspace) {
    size_t num_bytes = 0;
    check(heed_layer_workspace_size(layer, &inputs, &outputs, &num_bytes));
    workspace = GuardedWorkspace(context, num_bytes);
  }
  check(heed_layer_forward(layer, &inputs, workspace.get(), &outputs));
  EXPECT_TRUE(output.padding_is_untouched());
  EXPECT_TRUE(input.input_is_untouched());
  return {output.read(), output.read_bytes()};
}

}  // namespace heed::property
