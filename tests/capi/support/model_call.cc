// SPDX-License-Identifier: Apache-2.0
#include "capi/support/model_call.h"

#include <string_view>
#include <utility>

namespace heed::capi_test {
namespace {

// Of the ids of each model.
constexpr int32_t kNumIds = 40;

bool has_encoder(const heed_layer* layer) {
  for (int64_t i = 0; i < heed_layer_child_count(layer); ++i) {
    if (heed_layer_child_name(layer, i) == std::string_view("encoder")) return true;
  }
  return false;
}

}  // namespace

ModelCall::ModelCall(const std::string& folder, const heed_context_options* options, const heed_model_options* of_model)
    : context(make_context(options)),
      layer(make_model(context.get(), folder, of_model)),
      is_transformer(has_encoder(layer.get())) {
  inputs.sequences = &sequences;
  inputs.queries = ids({2, is_transformer ? 3 : 5}, 7);
  if (is_transformer) inputs.keys = ids({2, 5}, 11);
}

heed_tensor* ModelCall::ids(const Dims& dims, int32_t seed) {
  Tensor tensor = make_tensor(context.get(), dims, HEED_I32);
  std::vector<int32_t> elements(static_cast<size_t>(heed_tensor_num_elements(tensor.get())));
  for (size_t i = 0; i < elements.size(); ++i) elements[i] = (seed + 13 * static_cast<int32_t>(i)) % kNumIds;
  check(heed_tensor_write(tensor.get(), elements.data(), elements.size() * sizeof(int32_t)));
  return keep(std::move(tensor));
}

heed_tensor* ModelCall::keep(Tensor tensor) { return tensors_.emplace_back(std::move(tensor)).get(); }

void ModelCall::make_output() {
  outputs = HEED_LAYER_OUTPUTS_INIT;
  check(heed_layer_create_outputs(layer.get(), &inputs, HEED_WANT_OUTPUT, &outputs));
  keep(Tensor(outputs.output));
}

std::vector<uint8_t> ModelCall::run() {
  make_output();
  check(forward());
  return read_bytes(outputs.output);
}

std::vector<float> ModelCall::run_for_floats() {
  run();
  return read_floats(context.get(), outputs.output);
}

}  // namespace heed::capi_test
