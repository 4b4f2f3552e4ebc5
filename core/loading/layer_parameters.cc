// SPDX-License-Identifier: Apache-2.0
// Initializing, loading, setting, reading and saving a layer's parameters.
#include <algorithm>
#include <cinttypes>
#include <cmath>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/call_progress.h"
#include "base/checked.h"
#include "base/error.h"
#include "base/shown_text.h"
#include "families/load_accept.h"
#include "families/model_config.h"
#include "families/model_family.h"
#include "layers/layer.h"
#include "loading/element_source.h"
#include "loading/file_context.h"
#include "loading/model_check.h"
#include "loading/unknown_tensors.h"
#include "loading/value_writer.h"
#include "loading/weight_finder.h"
#include "loading/weight_layout.h"
#include "tensor/copy.h"
#include "tensor/fill.h"
#include "tensor/host_image.h"
#include "tensor/host_memory.h"
#include "tensor/safetensors.h"

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

// The rows of the parameters in the tensor that holds this one.
PackedRows packed_rows(std::span<const FoundWeight> found, std::span<const Parameter> parameters, bool keeps_form,
                       const std::string& name) {
  PackedRows rows;
  for (size_t i = 0; i < found.size(); ++i) {
    if (found[i].name != name || found[i].source.num_parts == 1) continue;
    rows.parts[found[i].source.part] = parameters[i].expected_shape(keeps_form)[0];
    if (found[i].source.part == 1) rows.num_kv_heads = parameters[i].num_heads();
  }
  return rows;
}

// Parameters that share a tensor in equal parts must have equal sizes.
void check_parts(std::span<const FoundWeight> found, std::span<const Parameter> parameters, bool keeps_form,
                 const std::string& shown_path) {
  for (size_t i = 0; i < found.size(); ++i) {
    const auto first =
        std::find_if(found.begin(), found.end(), [&](const FoundWeight& other) { return other.name == found[i].name; });
    const Parameter& one = parameters[static_cast<size_t>(first - found.begin())];
    const int64_t rows_of_one = one.expected_shape(keeps_form)[0];
    const int64_t rows = parameters[i].expected_shape(keeps_form)[0];
    if (rows == rows_of_one || found[i].source.packing != Packing::Equal) continue;
    fail(Status::InvalidArgument,
         "\"%s\" in \"%s\" holds equal parts for %s and %s, but this layer's have %" PRId64 " and %" PRId64
         " rows: expected options with as many key and value heads as query heads, of one size",
         shown(found[i].name).c_str(), shown_path.c_str(), one.name(), parameters[i].name(), rows_of_one, rows);
  }
}

// Norms that multiply by 1 + weight.
void set_norms_plus_one(FoundWeights& found, const std::vector<ModelAttention>& models) {
  const bool adds_one = std::any_of(models.begin(), models.end(), [](const ModelAttention& model) {
    return model.qk_norm.has_value() && model.qk_norm->adds_one;
  });
  // heed's own files have the parameters themselves.
  if (!adds_one || found.title == kOwnTitle) return;
  for (FoundWeight& weight : found.weights) {
    const char* feature = feature_of_parameter(weight.source.parameter);
    weight.adds_one = feature != nullptr && feature == std::string_view(feature::kQkNorm);
  }
}

// A tensor of rotary frequencies, as old files have, says what the options of rotary positions say.
void move_rotary_tensors(std::vector<UnsupportedTensor>& changing, bool is_rotary,
                         std::vector<LackingWeight>& lacking) {
  std::erase_if(changing, [&](const UnsupportedTensor& tensor) {
    if (!tensor.name.ends_with("inv_freq")) return false;
    if (!is_rotary) lacking.push_back({tensor.name, feature::kRotary});
    return true;
  });
}

// Fails if the tensor with queries, keys and values may be packed in another way than its layout says.
void require_known_packing(const SafetensorsFile& file, std::string_view prefix, const FoundWeights& found,
                           const std::optional<ModelConfig>& config, const std::string& besides) {
  for (const FoundWeight& weight : found.weights) {
    if (weight.source.packing == Packing::Equal) continue;
    std::string_view module = weight.source.name;
    module = module.substr(0, module.find('.'));
    if (is_packing_known(prefix, module, config)) continue;
    fail(Status::Unsupported,
         "%s has %s, and how it packs queries, keys and values is not known of its model: expected the projections "
         "apart, "
         "as \"W_q.weight\", \"W_k.weight\" and \"W_v.weight\"%s",
         in_quotes(file.path()).c_str(), in_quotes(weight.name).c_str(), besides.c_str());
  }
}

}  // namespace

void Layer::initialize(const LayerInputs& given_inputs, uint64_t seed) {
  CallArena arena(*context_);
  Schedule schedule(arena);
  LayerInputs inputs;
  LayerCall call;
  // Parameters do not depend on a cache.
  LayerInputs own_inputs = given_inputs;
  own_inputs.cache = nullptr;
  begin(own_inputs, Purpose::Shapes, schedule, inputs, call);
  const std::vector<Shape> shapes = parameter_shapes(call);
  const DType dtype = row_dtype(inputs);
  std::vector<ParameterValue> values;
  values.reserve(parameters_.size());
  FreshMemory fresh;
  int64_t total = 0;
  for (const Shape& shape : shapes) total = saturating_add(total, bytes_of(shape, dtype));
  CallProgress progress(given_inputs.progress, "inputs->progress", "bytes", total);
  for (size_t i = 0; i < parameters_.size(); ++i) {
    progress.begin(bytes_of(shapes[i], dtype));
    const std::string subject = std::string(parameters_[i].name()) + " would have dims";
    values.push_back(initial_value(context_, fresh, parameters_[i], dtype, shapes[i], seed, static_cast<uint32_t>(i),
                                   subject.c_str(), progress));
    progress.end();
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
  return parameter.unpacked_value(context_).read_only();
}

Tensor Layer::parameter_shape(std::string_view name) const {
  const Parameter& parameter = parameters_[index_of(name)];
  parameter.require_set();
  return Tensor::without_data(context_, parameter.value().dtype(), parameter.value().shape());
}

void Layer::set_parameter(std::string_view name, const Tensor& value) {
  Parameter& parameter = parameters_[index_of(name)];
  const bool keeps_form = is_initialized();
  parameter.check(value.shape(), value.dtype(), parameter.expected_shape(keeps_form), "value");
  value.require_data("value");
  const DType dtype = parameter.kept_dtype(value.dtype(), keeps_form);
  if (!context_->is_host()) return parameter.set(copied_value(context_, parameter, value, dtype));
  const Tensor source = host_copy(value);
  FreshMemory fresh;
  parameter.set(write_value(context_, fresh, parameter, TensorElements(source), dtype, source.shape()));
}

void Layer::check_found(const SafetensorsFile& file, const FoundWeights& found) const {
  const std::string shown_path = shown(file.path());
  const bool keeps_form = is_initialized();
  check_parts(found.weights, parameters_, keeps_form, shown_path);
  for (size_t i = 0; i < found.weights.size(); ++i) {
    const Parameter& parameter = parameters_[i];
    const FoundWeight& weight = found.weights[i];
    const SafetensorsEntry& entry = *file.find(weight.name);
    const std::string shown_name = "\"" + shown(entry.name) + "\" in \"" + shown_path + "\"";
    const Shape expected = stored_shape(weight.source, parameter.expected_shape(keeps_form), parameter.num_heads(),
                                        packed_rows(found.weights, parameters_, keeps_form, weight.name), patch());
    parameter.check(entry.shape, entry.dtype, expected, shown_name.c_str());
  }
}

FoundWeights Layer::find_in(const SafetensorsFile& file, std::string_view given_prefix,
                            const LoadOptions& options) const {
  if (parameters_.empty()) return {kOwnTitle, {}};
  if (num_own_parameters_ == 0) return find_in_children(file, given_prefix, options);
  const std::string_view prefix = without_separator(file, given_prefix);
  const LoadAccept accept(options.accept);
  const SharedConfig shared_config(file, accept, options);
  const std::optional<ModelConfig>& config = shared_config.get();

  const LayerAttention attention = layer_attention();
  const bool is_linear = kind() == std::string_view("linear");
  std::vector<ModelAttention> models;
  if (attention.is_multi_head) models = configured_attentions(prefix, config, attention.head_size);
  const std::string note = unsupported_note(models);
  FoundWeights found = find_weights(file, prefix, parameters_, possible_parameters_,
                                    options.bias_option != nullptr ? options.bias_option : bias_option(), note);
  require_known_packing(file, prefix, found, config, note);
  if (attention.is_multi_head) models = model_attentions(file, prefix, found.title, config, attention.head_size);
  set_norms_plus_one(found, models);
  std::vector<UnsupportedTensor> changing = found.changing;
  if (reads_whole_module()) {
    OtherTensors others = other_tensors(file, prefix, found);
    std::ranges::move(others.unknown, std::back_inserter(changing));
    // Otherwise a layer that has this one as a child would report them as tensors that nothing reads.
    std::ranges::move(others.unread, std::back_inserter(found.known));
    std::ranges::sort(found.known);
  }
  if (attention.is_multi_head) move_rotary_tensors(changing, attention.rope.has_value(), found.lacking);
  const ModelCheck check(file, prefix, attention, models, found.lacking, accept);
  check.require_supported(changing);
  if (attention.first_row) require_first_row(file, *attention.first_row, first_row_of(prefix, config), accept);
  if (is_linear && is_named_conv1d(prefix) && !has_linear_modules(prefix, config)) {
    const SafetensorsEntry* bias = found.weights.size() > 1 ? file.find(found.weights[1].name) : nullptr;
    require_linear_form(file, *file.find(found.weights[0].name), bias, accept);
  }
  // Before the shapes: other options explain other shapes.
  check.require_options();
  check_found(file, found);
  check.warn(context_->logger(), options.function);
  return found;
}

const char* Layer::load(const SafetensorsFile& file, std::string_view prefix, const LoadOptions& options) {
  const bool keeps_form = is_initialized();
  LoadAccept(options.accept).check(file, without_separator(file, prefix));
  const FoundWeights all_found = find_in(file, prefix, options);
  const char* title = all_found.title;
  const std::vector<FoundWeight>& found = all_found.weights;
  std::vector<ParameterValue> values;
  values.reserve(parameters_.size());
  FreshMemory fresh;
  const auto rows_with = [&](const FoundWeight& weight) {
    return packed_rows(found, parameters_, keeps_form, weight.name);
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
    const DType dtype = parameters_[i].kept_dtype(stored, keeps_form);
    values.push_back(loaded_value(context_, fresh, parameters_[i], file, entry, found[i], rows, dtype, progress));
    progress.end();
  }
  // Nothing below can fail, so either all parameters are replaced or none.
  for (size_t i = 0; i < parameters_.size(); ++i) parameters_[i].set(std::move(values[i]));
  return title;
}

std::vector<NamedTensor> Layer::named_values() const {
  std::vector<NamedTensor> tensors;
  tensors.reserve(parameters_.size());
  for (const Parameter& parameter : parameters_) {
    parameter.require_set();
    const Tensor& value = parameter.value();
    NamedTensor tensor = {parameter.name(), value.dtype(), value.shape()};
    if (value.is_on_host() && value.has_data())
      tensor.data = value.data();
    else
      tensor.read = [this, &parameter](std::byte* destination) { parameter.read(*context_, destination); };
    tensors.push_back(std::move(tensor));
  }
  return tensors;
}

template <typename Write>
auto Layer::with_file_contents(const Write& write) const {
  const std::vector<NamedTensor> values = named_values();
  const std::string options = options_text(JsonStyle::Compact);
  const FileText texts[] = {{"heed.kind", kind()}, {"heed.options", options}};
  return write(values, texts);
}

void Layer::save(const char* path) const {
  with_file_contents([&](const auto& tensors, const auto& texts) { save_safetensors(path, tensors, texts); });
}

size_t Layer::save_to_memory(void* destination, size_t capacity) const {
  return with_file_contents([&](const auto& tensors, const auto& texts) {
    return save_safetensors_to_memory(destination, capacity, tensors, texts);
  });
}

}  // namespace heed
