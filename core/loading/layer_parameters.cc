// SPDX-License-Identifier: Apache-2.0
#include "loading/layer_parameters.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/call_progress.h"
#include "base/checked.h"
#include "families/load_accept.h"
#include "loading/element_source.h"
#include "loading/file_context.h"
#include "loading/layer_weights.h"
#include "loading/value_writer.h"
#include "loading/weight_layout.h"
#include "tensor/copy.h"
#include "tensor/fill.h"
#include "tensor/host_image.h"
#include "tensor/host_memory.h"

namespace heed {
namespace {

// Copies the value to the device, which makes the packed form itself.
ParameterValue copied_value(const std::shared_ptr<Context>& context, const Parameter& parameter, const Tensor& source,
                            DType dtype) {
  return parameter.with_packed(context, converted_copy(context, source, dtype));
}

// Weights are normal with variance 2 / fan_in: DJL's default, XavierInitializer(GAUSSIAN, IN, 2) (Glorot and Bengio,
// "Understanding the difficulty of training deep feedforward neural networks", 2010). They are drawn in f32 and then
// converted, so that every dtype starts from the same numbers.
ParameterValue drawn_value(const std::shared_ptr<Context>& context, FreshMemory& fresh, const Parameter& parameter,
                           DType dtype, const Shape& shape, uint64_t seed, uint32_t stream, const char* subject,
                           CallProgress& progress) {
  const double deviation =
      parameter.initializer() == Initializer::Normal ? 1 : std::sqrt(2.0 / static_cast<double>(shape[1]));
  const DrawnElements source(seed, stream, deviation, shape[1], &progress, static_cast<int64_t>(size_of(dtype)));
  if (context->is_host() && parameter.zero_row() < 0)
    return write_value(context, fresh, parameter, source, dtype, shape, subject);
  const Tensor drawn = Tensor::undefined(host_memory_of(context), DType::F32, shape, subject);
  source.rows(0, shape[0], shape[1], shape[1], drawn.data());
  if (parameter.zero_row() >= 0) fill_tensor(drawn.slice(0, parameter.zero_row(), 1), 0);
  return copied_value(context, parameter, drawn, dtype);
}

ParameterValue initial_value(const std::shared_ptr<Context>& context, FreshMemory& fresh, const Parameter& parameter,
                             DType dtype, const Shape& shape, uint64_t seed, uint32_t stream, const char* subject,
                             CallProgress& progress) {
  switch (parameter.initializer()) {
    case Initializer::Xavier:
    case Initializer::Normal: break;
    case Initializer::Zeros: return parameter.with_packed(context, Tensor::zeros(context, dtype, shape, subject));
    case Initializer::Ones: {
      const Tensor ones = Tensor::undefined(host_memory_of(context), dtype, shape, subject);
      fill_tensor(ones, 1);
      return copied_value(context, parameter, ones, dtype);
    }
  }
  return drawn_value(context, fresh, parameter, dtype, shape, seed, stream, subject, progress);
}

// A whole tensor of the file in host memory. Throws also what the progress throws.
Tensor read_whole(const std::shared_ptr<const Memory>& memory, const SafetensorsFile& file,
                  const SafetensorsEntry& entry, CallProgress& progress) {
  constexpr size_t kPieceBytes = size_t{1} << 20;
  Tensor stored = Tensor::undefined(memory, entry.dtype, entry.shape);
  for (size_t begin = 0; begin < entry.num_bytes; begin += kPieceBytes) {
    const size_t num_bytes = std::min(kPieceBytes, entry.num_bytes - begin);
    file.read(entry, begin, num_bytes, stored.data() + begin);
    progress.add_bytes(static_cast<int64_t>(num_bytes));
  }
  return stored;
}

// A vector of the file plus 1.
ParameterValue value_plus_one(const std::shared_ptr<Context>& context, const Parameter& parameter,
                              const SafetensorsFile& file, const SafetensorsEntry& entry, DType dtype,
                              CallProgress& progress) {
  const std::shared_ptr<const Memory> memory = host_memory_of(context);
  const Tensor stored = read_whole(memory, file, entry, progress);
  const Tensor sums = converted_copy(memory, stored, DType::F32);
  auto* const numbers = reinterpret_cast<float*>(sums.data());
  for (int64_t i = 0; i < sums.num_elements(); ++i) numbers[i] += 1;
  return copied_value(context, parameter, sums, dtype);
}

// The weight of a convolution, whose elements lie in another order in the file.
ParameterValue convolution_value(const std::shared_ptr<Context>& context, const Parameter& parameter,
                                 const SafetensorsFile& file, const SafetensorsEntry& entry, const WeightSource& source,
                                 DType dtype, CallProgress& progress) {
  const Tensor stored = read_whole(host_memory_of(context), file, entry, progress);
  const Tensor ordered = converted_copy(context, view_as_parameters(source, stored), dtype);
  return parameter.with_packed(context, ordered.reshape({ordered.dim(0), ordered.dim(1) * ordered.dim(2)}));
}

// The bytes of a parameter in the file. `rows`: as for loaded_value.
int64_t stored_bytes(const SafetensorsEntry& entry, const FoundWeight& found, const PackedRows& rows) {
  const auto whole = static_cast<int64_t>(entry.num_bytes);
  if (found.source.num_parts == 1) return whole;
  const PartRows part = rows_of_part(found.source, rows);
  return part.step == 0 ? 0 : whole / part.step * part.block;
}

// The bytes of a parameter that is made.
int64_t bytes_of(const Shape& shape, DType dtype) {
  auto num_bytes = static_cast<int64_t>(size_of(dtype));
  for (int32_t axis = 0; axis < shape.rank; ++axis) {
    if (!checked_multiply(num_bytes, shape[axis], num_bytes)) return INT64_MAX;
  }
  return num_bytes;
}

// `rows`: of the tensor, if it packs several parameters.
ParameterValue loaded_value(const std::shared_ptr<Context>& context, FreshMemory& fresh, const Parameter& parameter,
                            const SafetensorsFile& file, const SafetensorsEntry& entry, const FoundWeight& found,
                            const PackedRows& rows, DType dtype, CallProgress& progress) {
  if (found.adds_one) return value_plus_one(context, parameter, file, entry, dtype, progress);
  const WeightSource& source = found.source;
  if (source.form == WeightForm::Kernel)
    return convolution_value(context, parameter, file, entry, source, dtype, progress);
  // The layout of the tensor in the file, without data.
  const Tensor view = view_as_parameters(source, Tensor::without_data(context, entry.dtype, entry.shape));
  PartRows part{.block = view.dim(0)};
  if (source.num_parts > 1) part = rows_of_part(source, rows);
  Shape shape = view.shape();
  shape[0] = part.block * part.num_blocks;
  const int64_t row_stride = view.stride(0);
  if (part.num_blocks > 1) {
    const FileElements whole(file, entry, 0, row_stride, 1, &progress);
    const BlockElements elements(whole, part.first * row_stride, part.block * row_stride, part.step * row_stride);
    if (context->is_host()) return write_value(context, fresh, parameter, elements, dtype, shape);
    const Tensor dense = Tensor::undefined(host_memory_of(context), entry.dtype, shape);
    if (dense.num_elements() > 0) elements.rows(0, 1, 0, dense.num_elements(), dense.data());
    return copied_value(context, parameter, dense, dtype);
  }
  if (context->is_host()) {
    const FileElements elements(file, entry, part.first * row_stride, row_stride, view.stride(view.rank() - 1),
                                &progress);
    return write_value(context, fresh, parameter, elements, dtype, shape);
  }
  const Tensor stored = read_whole(host_memory_of(context), file, entry, progress);
  return copied_value(context, parameter, view_as_parameters(source, stored).slice(0, part.first, part.block), dtype);
}

// Nothing here can fail, so either all parameters are replaced or none.
void replace_values(Layer& layer, std::vector<ParameterValue>& values) {
  for (size_t i = 0; i < values.size(); ++i) layer.set_value(i, std::move(values[i]));
}

// All parameters by their names; those without data at hand are read one at a time. Throws NotInitialized.
std::vector<NamedTensor> named_values(const Layer& layer) {
  std::vector<NamedTensor> tensors;
  tensors.reserve(layer.parameters().size());
  for (const Parameter& parameter : layer.parameters()) {
    parameter.require_set();
    const Tensor& value = parameter.value();
    NamedTensor tensor = {parameter.name(), value.dtype(), value.shape()};
    if (value.is_on_host() && value.has_data())
      tensor.data = value.data();
    else
      tensor.read = [&layer, &parameter](std::byte* destination) { parameter.read(*layer.context(), destination); };
    tensors.push_back(std::move(tensor));
  }
  return tensors;
}

// Returns write(tensors, texts) with the contents of the layer's file: its parameters, and its kind and options for
// __metadata__.
template <typename Write>
auto with_file_contents(const Layer& layer, const Write& write) {
  const std::vector<NamedTensor> values = named_values(layer);
  const std::string options = layer.options_text(JsonStyle::Compact);
  const FileText texts[] = {{"heed.kind", layer.kind()}, {"heed.options", options}};
  return write(values, texts);
}

}  // namespace

void initialize(Layer& layer, const LayerInputs& inputs, uint64_t seed) {
  const auto& [shapes, dtype] = layer.parameter_sizes(inputs);
  const std::span<const Parameter> parameters = layer.parameters();
  std::vector<ParameterValue> values;
  values.reserve(parameters.size());
  FreshMemory fresh;
  int64_t total = 0;
  for (const Shape& shape : shapes) total = saturating_add(total, bytes_of(shape, dtype));
  CallProgress progress(inputs.progress, INPUT("progress"), "bytes", total);
  for (size_t i = 0; i < parameters.size(); ++i) {
    progress.begin(bytes_of(shapes[i], dtype));
    const std::string subject = std::string(parameters[i].name()) + " would have " ARGUMENT("dims");
    values.push_back(initial_value(layer.context(), fresh, parameters[i], dtype, shapes[i], seed,
                                   static_cast<uint32_t>(i), subject.c_str(), progress));
    progress.end();
  }
  replace_values(layer, values);
}

void set_parameter(Layer& layer, std::string_view name, const Tensor& value) {
  const size_t index = layer.index_of(name);
  const Parameter& parameter = layer.parameters()[index];
  const std::shared_ptr<Context>& context = layer.context();
  const bool keeps_form = layer.is_initialized();
  parameter.check(value.shape(), value.dtype(), parameter.expected_shape(keeps_form), ARGUMENT("value"));
  value.require_data(ARGUMENT("value"));
  const DType dtype = parameter.kept_dtype(value.dtype(), keeps_form);
  if (!context->is_host()) return layer.set_value(index, copied_value(context, parameter, value, dtype));
  const Tensor source = host_copy(value);
  FreshMemory fresh;
  layer.set_value(index, write_value(context, fresh, parameter, TensorElements(source), dtype, source.shape()));
}

const char* load(Layer& layer, const SafetensorsFile& file, std::string_view prefix, const LoadOptions& options) {
  const std::span<const Parameter> parameters = layer.parameters();
  const bool keeps_form = layer.is_initialized();
  const bool has_config = options.config != nullptr && *options.config;
  LoadAccept(options.accept).check(file, has_config ? &**options.config : nullptr);
  const FoundWeights all_found = find_weights_of(layer, file, prefix, options);
  const char* layout_name = all_found.layout_name;
  const std::vector<FoundWeight>& found = all_found.weights;
  std::vector<ParameterValue> values;
  values.reserve(parameters.size());
  FreshMemory fresh;
  const auto rows_with = [&](const FoundWeight& weight) {
    return packed_rows(found, parameters, keeps_form, weight.name);
  };
  int64_t total = 0;
  for (const FoundWeight& weight : found) total += stored_bytes(*file.find(weight.name), weight, rows_with(weight));
  CallProgress progress(options.progress, options.progress_name, "bytes", total);
  if (options.read != nullptr) {
    *options.read = all_found.known;
    for (const FoundWeight& weight : found) options.read->push_back(weight.name);
  }
  for (size_t i = 0; i < found.size(); ++i) {
    const SafetensorsEntry& entry = *file.find(found[i].name);
    const PackedRows rows = rows_with(found[i]);
    progress.begin(stored_bytes(entry, found[i], rows));
    // 1 + weight in F32, as the model computes it: 16 bits would round the sum.
    const DType stored = found[i].adds_one ? DType::F32 : entry.dtype;
    const DType kept = parameters[i].kept_dtype(stored, keeps_form);
    const DType dtype = options.widens ? DType::F32 : kept;
    values.push_back(loaded_value(layer.context(), fresh, parameters[i], file, entry, found[i], rows, dtype, progress));
    progress.end();
  }
  replace_values(layer, values);
  return layout_name;
}

void save(const Layer& layer, const char* path) {
  with_file_contents(layer, [&](const auto& tensors, const auto& texts) { save_safetensors(path, tensors, texts); });
}

size_t save_to_memory(const Layer& layer, void* destination, size_t capacity) {
  return with_file_contents(layer, [&](const auto& tensors, const auto& texts) {
    return save_safetensors_to_memory(destination, capacity, tensors, texts);
  });
}

}  // namespace heed
