// SPDX-License-Identifier: Apache-2.0
// What a step of an optimizer changes together: layers, and tensors that belong to no layer, with their gradients.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "backends/context.h"
#include "layers/layer.h"
#include "tensor/tensor.h"
#include "training/gradients.h"

namespace heed {

struct StepPart {
  std::string_view prefix;  // stands before the names of its parameters
  Layer* layer = nullptr;   // of the gradients; null: they are of a tensor
  const Gradients* gradients = nullptr;
  // Its number in the call; negative: it is the only one, as arguments of the call.
  int64_t number = -1;

  // The words for the part, its layer and its gradients in messages.
  std::string name() const;
  std::string layer_name() const;
  std::string gradients_name() const;

  // Parameters without the prefix, in the order of the layer; a tensor is one.
  size_t num_parameters() const { return layer == nullptr ? 1 : layer->parameters().size(); }
  const char* parameter_name(size_t index) const {
    return layer == nullptr ? gradients->name(index) : layer->parameters()[index].name();
  }
  const Shape& parameter_shape(size_t index) const {
    return layer == nullptr ? gradients->value().shape() : layer->parameters()[index].value().shape();
  }
};

// Throws InvalidArgument unless each part's gradients fit its layer or are of a tensor, all in this context, and no set, layer,
// parameter or tensor's memory is there twice.
void require_parts(std::span<const StepPart> parts, const std::shared_ptr<Context>& context);

}  // namespace heed
