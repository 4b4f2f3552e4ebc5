// SPDX-License-Identifier: Apache-2.0
// How a layer gets and gives its parameters.
#include <cmath>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/normal.h"
#include "base/shown_text.h"
#include "layers/layer.h"
#include "tensor/copy.h"
#include "tensor/safetensors.h"

namespace heed {
namespace {

// Normal with variance 2 / fan_in: DJL's default for weights, XavierInitializer(GAUSSIAN, IN, 2) (Glorot and Bengio,
// "Understanding the difficulty of training deep feedforward neural networks", 2010). Drawn in f32 and then converted,
// so that every dtype starts from the same numbers.
Tensor draw_weight(const std::shared_ptr<const Memory>& memory, DType dtype, const Shape& shape, uint64_t seed,
                   uint32_t stream) {
  const Tensor weight = Tensor::zeros(memory, DType::F32, shape);
  const double deviation = std::sqrt(2.0 / static_cast<double>(shape[1]));
  auto* elements = reinterpret_cast<float*>(weight.data());
  for (int64_t i = 0; i < weight.num_elements(); ++i) {
    elements[i] = static_cast<float>(deviation * normal_number(seed, stream, static_cast<uint64_t>(i)));
  }
  return dtype == DType::F32 ? weight : converted_copy(memory, weight, dtype);
}

std::string joined_names(std::span<const Parameter> parameters) {
  std::string names;
  for (const Parameter& parameter : parameters) {
    if (!names.empty()) names += ", ";
    names += parameter.name();
  }
  return names.empty() ? "none" : names;
}

}  // namespace

void Layer::initialize(const LayerInputs& given_inputs, uint64_t seed) {
  const LayerInputs inputs = checked(given_inputs, Purpose::Shapes).inputs;
  const std::vector<Shape> shapes = parameter_shapes(inputs);
  const DType dtype = inputs.queries->dtype();
  std::vector<Tensor> values;
  values.reserve(parameters_.size());
  for (size_t i = 0; i < parameters_.size(); ++i) {
    values.push_back(parameters_[i].is_bias()
                         ? Tensor::zeros(context_, dtype, shapes[i])
                         : draw_weight(context_, dtype, shapes[i], seed, static_cast<uint32_t>(i)));
  }
  for (size_t i = 0; i < parameters_.size(); ++i) parameters_[i].set(std::move(values[i]));
}

size_t Layer::index_of(std::string_view name) const {
  for (size_t i = 0; i < parameters_.size(); ++i) {
    if (name == parameters_[i].name()) return i;
  }
  fail(Status::NotFound, "name is \"%s\", which is no parameter of this layer; it has %s", shown(name).c_str(),
       joined_names(parameters_).c_str());
}

Tensor Layer::parameter(std::string_view name) const {
  const Parameter& parameter = parameters_[index_of(name)];
  parameter.require_set();
  return parameter.value().read_only();
}

void Layer::set_parameter(std::string_view name, const Tensor& value) {
  Parameter& parameter = parameters_[index_of(name)];
  parameter.set(parameter.accept(context_, value, is_initialized()));
}

void Layer::load(const char* path, std::string_view prefix) {
  const SafetensorsFile file(path);
  const std::string shown_path = shown(path);
  const bool keeps_form = is_initialized();
  const auto full_name = [prefix](const char* name) {
    return prefix.empty() ? std::string(name) : std::string(prefix) + "." + name;
  };

  for (const char* const* possible = possible_parameters(); *possible != nullptr; ++possible) {
    bool wanted = false;
    for (const Parameter& parameter : parameters_) wanted |= std::string_view(parameter.name()) == *possible;
    if (!wanted && file.contains(full_name(*possible))) {
      fail(Status::InvalidArgument, "\"%s\" has \"%s\", a parameter that this layer's options lack; it has %s",
           shown_path.c_str(), shown(full_name(*possible)).c_str(), joined_names(parameters_).c_str());
    }
  }

  std::vector<Tensor> values;
  values.reserve(parameters_.size());
  for (const Parameter& parameter : parameters_) {
    const std::string name = full_name(parameter.name());
    const SafetensorsEntry* entry = file.find(name);
    if (entry == nullptr)
      fail(Status::NotFound, "\"%s\" has no tensor \"%s\", which this layer needs", shown_path.c_str(),
           shown(name).c_str());
    const std::string shown_name = "\"" + shown(name) + "\" in \"" + shown_path + "\"";
    parameter.check(entry->shape, entry->dtype, keeps_form, shown_name.c_str());
    const Tensor stored = Tensor::zeros(context_, entry->dtype, entry->shape);
    file.read(*entry, stored.data());
    const DType dtype = parameter.kept_dtype(entry->dtype, keeps_form);
    values.push_back(dtype == stored.dtype() ? stored : converted_copy(context_, stored, dtype));
  }
  for (size_t i = 0; i < parameters_.size(); ++i) parameters_[i].set(std::move(values[i]));
  log(context_->logger(), LogLevel::Info, "heed_layer_load: %s has its %zu parameters from \"%s\"", kind(),
      parameters_.size(), shown_path.c_str());
}

void Layer::save(const char* path) const {
  std::vector<NamedTensor> tensors;
  for (const Parameter& parameter : parameters_) {
    const Tensor value = this->parameter(parameter.name());
    tensors.push_back({parameter.name(), value.dtype(), value.shape(), value.data()});
  }
  save_safetensors(path, tensors);
}

}  // namespace heed
