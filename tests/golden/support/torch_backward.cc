// SPDX-License-Identifier: Apache-2.0
#include "golden/support/torch_backward.h"

#include <map>
#include <string>

#include "golden/support/golden_file.h"
#include "property/support/gradients.h"

namespace heed::golden {

reference::NamedRows backward(heed_context* context, const heed_layer* layer, const heed_layer_inputs& inputs,
                              const std::vector<double>& of_output) {
  heed_layer_outputs outputs = HEED_LAYER_OUTPUTS_INIT;
  check(heed_layer_create_outputs(layer, &inputs, HEED_WANT_OUTPUT, &outputs));
  const Tensor output(outputs.output);
  property::GradientRequest request;
  request.of_output = {capi_test::dims_of(output.get()), of_output};
  // What a forward saves has the bits of what the backward computes again.
  request.saved = inputs.training == 0;
  std::map<std::string, property::Dims> dims;
  const auto want = [&](const char* name, const heed_tensor* input) {
    if (input == nullptr) return;
    const heed_dtype dtype = heed_tensor_dtype(input);
    if (dtype == HEED_I32 || dtype == HEED_I64) return;
    dims[name] = capi_test::dims_of(input);
    request.inputs.insert(name);
  };
  want("queries", inputs.queries);
  want("keys", inputs.keys);
  want("values", inputs.values);
  want("bias", inputs.bias);
  want("alibi_slopes", inputs.alibi_slopes);
  want("sinks", inputs.sinks);
  if (inputs.decoder != nullptr) want("self_bias", inputs.decoder->self_bias);
  reference::NamedRows rows;
  for (auto& [name, gradient] : property::backward(context, layer, inputs, outputs, dims, request))
    rows[name] = {gradient.contents.values};
  return rows;
}

}  // namespace heed::golden
