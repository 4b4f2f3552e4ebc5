// SPDX-License-Identifier: Apache-2.0
// How a layer gets and gives its parameters.
#include <algorithm>
#include <cinttypes>
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
#include "layers/weight_finder.h"
#include "layers/weight_layout.h"
#include "tensor/copy.h"
#include "tensor/host_image.h"
#include "tensor/host_memory.h"
#include "tensor/safetensors.h"

namespace heed {
namespace {

// Normal with variance 2 / fan_in: DJL's default for weights, XavierInitializer(GAUSSIAN, IN, 2) (Glorot and Bengio,
// "Understanding the difficulty of training deep feedforward neural networks", 2010). Drawn in f32 and then converted,
// so that every dtype starts from the same numbers.
Tensor draw_weight(const std::shared_ptr<const Memory>& memory, DType dtype, const Shape& shape, uint64_t seed,
                   uint32_t stream, const char* subject) {
  const Tensor weight = Tensor::zeros(host_memory_of(memory), DType::F32, shape, subject);
  const double deviation = std::sqrt(2.0 / static_cast<double>(shape[1]));
  auto* elements = reinterpret_cast<float*>(weight.data());
  for (int64_t i = 0; i < weight.num_elements(); ++i) {
    elements[i] = static_cast<float>(deviation * normal_number(seed, stream, static_cast<uint64_t>(i)));
  }
  return memory->is_host() && dtype == DType::F32 ? weight : converted_copy(memory, weight, dtype);
}

// Parameters that share a tensor have equal parts of it.
void check_parts(std::span<const FoundWeight> found, std::span<const Parameter> parameters, bool keeps_form,
                 const std::string& shown_path) {
  for (size_t i = 0; i < found.size(); ++i) {
    const auto first =
        std::find_if(found.begin(), found.end(), [&](const FoundWeight& other) { return other.name == found[i].name; });
    const Parameter& one = parameters[static_cast<size_t>(first - found.begin())];
    const int64_t rows_of_one = one.expected_shape(keeps_form)[0];
    const int64_t rows = parameters[i].expected_shape(keeps_form)[0];
    if (rows == rows_of_one) continue;
    fail(Status::InvalidArgument,
         "\"%s\" in \"%s\" holds equal parts for %s and %s, but this layer's have %" PRId64 " and %" PRId64
         " rows: expected options with as many key and value heads as query heads, of one size",
         shown(found[i].name).c_str(), shown_path.c_str(), one.name(), parameters[i].name(), rows_of_one, rows);
  }
}

}  // namespace

void Layer::initialize(const LayerInputs& given_inputs, uint64_t seed) {
  const LayerInputs inputs = check(given_inputs, Purpose::Shapes).inputs;
  const std::vector<Shape> shapes = parameter_shapes(inputs);
  const DType dtype = inputs.queries->dtype();
  std::vector<ParameterValue> values;
  values.reserve(parameters_.size());
  for (size_t i = 0; i < parameters_.size(); ++i) {
    const std::string subject = std::string(parameters_[i].name()) + " would have dims";
    const Tensor value = parameters_[i].is_bias()
                             ? Tensor::zeros(context_, dtype, shapes[i], subject.c_str())
                             : draw_weight(context_, dtype, shapes[i], seed, static_cast<uint32_t>(i), subject.c_str());
    values.push_back(parameters_[i].with_packed(context_, value));
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
  parameter.set(parameter.with_packed(context_, parameter.accept(context_, value, is_initialized())));
}

const char* Layer::load(const SafetensorsFile& file, std::string_view prefix) {
  const std::string shown_path = shown(file.path());
  const bool keeps_form = is_initialized();
  const auto [title, found] = find_weights(file, prefix, parameters_, possible_parameters());
  check_parts(found, parameters_, keeps_form, shown_path);
  for (size_t i = 0; i < found.size(); ++i) {
    const Parameter& parameter = parameters_[i];
    const SafetensorsEntry& entry = *file.find(found[i].name);
    const std::string shown_name = "\"" + shown(entry.name) + "\" in \"" + shown_path + "\"";
    const Shape expected = stored_shape(found[i].source, parameter.expected_shape(keeps_form), parameter.num_heads());
    parameter.check(entry.shape, entry.dtype, expected, shown_name.c_str());
  }

  std::vector<ParameterValue> values;
  values.reserve(parameters_.size());
  for (size_t i = 0; i < found.size(); ++i) {
    const SafetensorsEntry& entry = *file.find(found[i].name);
    const Tensor stored = Tensor::zeros(host_memory_of(context_), entry.dtype, entry.shape);
    file.read(entry, stored.data());
    const Tensor value = view_as_parameter(found[i].source, stored);
    const DType dtype = parameters_[i].kept_dtype(entry.dtype, keeps_form);
    const bool is_whole = value.is_row_major() && value.num_elements() == stored.num_elements();
    const bool is_fit = context_->is_host() && is_whole && dtype == value.dtype();
    values.push_back(parameters_[i].with_packed(context_, is_fit ? value : converted_copy(context_, value, dtype)));
  }
  // From here on nothing can fail.
  for (size_t i = 0; i < parameters_.size(); ++i) parameters_[i].set(std::move(values[i]));
  return title;
}

std::vector<Tensor> Layer::values_on_host() const {
  std::vector<Tensor> values;
  values.reserve(parameters_.size());
  for (const Parameter& parameter : parameters_) {
    parameter.require_set();
    values.push_back(host_copy(parameter.value()));
  }
  return values;
}

std::vector<NamedTensor> Layer::named(std::span<const Tensor> values) const {
  std::vector<NamedTensor> tensors;
  tensors.reserve(values.size());
  for (size_t i = 0; i < values.size(); ++i) {
    tensors.push_back({parameters_[i].name(), values[i].dtype(), values[i].shape(), values[i].data()});
  }
  return tensors;
}

void Layer::save(const char* path) const {
  const std::vector<Tensor> values = values_on_host();
  save_safetensors(path, named(values));
}

size_t Layer::save_to_memory(void* destination, size_t capacity) const {
  const std::vector<Tensor> values = values_on_host();
  return save_safetensors_to_memory(destination, capacity, named(values));
}

}  // namespace heed
