// SPDX-License-Identifier: Apache-2.0
// Layers of several kinds and the gradients of a call of each, with the same numbers on every device.
#pragma once

#include <heed/heed.h>

#include <cstdint>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "ascend/support/simulated.h"

namespace heed::ascend_test {

// By name.
using Numbers = std::map<std::string, std::vector<float>>;

// A layer, and the dims of what it is called with.
struct TrainedKind {
  const char* name;
  Layer (*make)(heed_context*);
  Dims queries;
  Dims keys = {};
  Dims lens = {};
  bool reads_ids = false;
};

std::span<const TrainedKind> trained_kinds();
const TrainedKind& trained_kind(const char* name);

// A layer on a device with the inputs of a call, the gradient by its output and the gradients that are wanted.
class Training {
 public:
  Training(Context made, const TrainedKind& kind);

  // The forward fills saved arrays from now on, and the backward reads them.
  void save();
  heed_status forward() const { return heed_layer_forward(layer.get(), &inputs, nullptr, &outputs); }
  heed_status backward() const { return heed_layer_backward(layer.get(), &inputs, &outputs, nullptr, &wanted); }
  nlohmann::json explain_backward() const;

  // The gradients, and the output.
  Numbers numbers() const;
  Numbers parameters() const;
  void set_parameters(const Numbers& numbers);

  Context context;
  Layer layer;
  capi_test::Gradients gradients;
  heed_layer_inputs inputs = HEED_LAYER_INPUTS_INIT;
  heed_layer_outputs outputs = HEED_LAYER_OUTPUTS_INIT;
  heed_layer_gradients wanted = HEED_LAYER_GRADIENTS_INIT;

 private:
  heed_tensor* keep(Tensor tensor) { return kept_.emplace_back(std::move(tensor)).get(); }

  std::vector<Tensor> kept_;
  std::unique_ptr<heed_saved, property::Destroyer<heed_saved_destroy>> saved_;
};

// Some steps of the kind "encoder", from ids to logits: forward, cross-entropy, backward, clipping, step. Returns the loss and the norm
// of the gradients of each. Throws CallFailed.
std::vector<double> train(Training& model, heed_optimizer* optimizer, int num_steps);

}  // namespace heed::ascend_test
