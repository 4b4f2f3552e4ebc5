// SPDX-License-Identifier: Apache-2.0
// A layer's parameters by their names, the sizes that the inputs of a call give them, and its options as text.
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/shown_text.h"
#include "layers/layer.h"

namespace heed {

size_t Layer::index_of(std::string_view name) const {
  for (size_t i = 0; i < parameters_.size(); ++i) {
    if (name == parameters_[i].name()) return i;
  }
  fail(Status::NotFound, "name is \"%s\", which is no parameter of this " WORD("layer") "; it has %s",
       shown(name).c_str(), joined_names(parameters_).c_str());
}

Tensor Layer::parameter(std::string_view name) const {
  const Parameter& parameter = parameters_[index_of(name)];
  parameter.require_set();
  return parameter.unpacked_value(context_).read_only();
}

Tensor Layer::parameter_shape(std::string_view name) const {
  const Parameter& parameter = parameters_[index_of(name)];
  parameter.require_set();
  return Tensor::without_data(context_, parameter.value().dtype(), parameter.value().shape());
}

Layer::ParameterSizes Layer::parameter_sizes(const LayerInputs& given_inputs) const {
  CallArena arena(*context_);
  Schedule schedule(arena);
  CalledInputs inputs;
  LayerCall call;
  // Parameters do not depend on a cache.
  LayerInputs own_inputs = given_inputs;
  own_inputs.cache = nullptr;
  begin(own_inputs, Purpose::Shapes, schedule, inputs, call);
  return {parameter_shapes(call), row_dtype(inputs.complete)};
}

}  // namespace heed
