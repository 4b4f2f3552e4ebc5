// SPDX-License-Identifier: Apache-2.0
#include "layers/layer.h"

#include <heed/heed.h>

#include <algorithm>
#include <cinttypes>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "arguments.h"
#include "base/file.h"
#include "base/shown_text.h"
#include "errors.h"
#include "handles.h"
#include "layer_options.h"
#include "layers/kinds/dot_product_attention.h"
#include "load_options.h"
#include "loading/layer_parameters.h"
#include "tensor/safetensors.h"

namespace heed::capi {
namespace {

static_assert(HEED_CACHE_APPEND == static_cast<int>(CacheUse::Append) &&
              HEED_CACHE_READ == static_cast<int>(CacheUse::Read));

// The sizes in the first version of each struct: the smallest that a caller's struct can have.
constexpr size_t kFirstInputsSize = 72;
constexpr size_t kFirstOutputsSize = 32;
constexpr size_t kFirstSequenceInputsSize = 40;
constexpr size_t kFirstCacheInputsSize = 40;
constexpr size_t kFirstDecoderInputsSize = 48;
constexpr size_t kFirstTapSize = 32;

// The tensors of heed_layer_outputs, each with the corresponding member of LayerOutputs.
constexpr std::pair<heed_tensor * heed_layer_outputs::*, const Tensor * LayerOutputs::*> kOutputs[] = {
    {&heed_layer_outputs::output, &LayerOutputs::output},
    {&heed_layer_outputs::weights, &LayerOutputs::weights},
    {&heed_layer_outputs::log_sum_exp, &LayerOutputs::log_sum_exp},
};

// The tensors of one call. They are copies that share storage with the handles: the storage stays alive during the call
// even if another thread destroys a handle.
class CallTensors {
 public:
  CallTensors(const heed_layer_inputs* given_inputs, const heed_layer_outputs* given_outputs) {
    require(given_inputs, "inputs");
    const heed_layer_inputs read =
        read_struct(given_inputs, HEED_LAYER_INPUTS_INIT, kFirstInputsSize, "inputs", "HEED_LAYER_INPUTS_INIT");
    // Names every member, here and below, so that a new one does not compile until it is handled.
    const auto& [struct_size, queries, keys, values, valid_lens, mask, bias, dropout_seed, training, reserved,
                 alibi_slopes, sequences, sinks, cache, decoder, token_types, progress, attention_mask, num_last_rows,
                 output_rows] = read;
    require_zero(reserved, INPUT("reserved"));
    inputs.queries = keep(queries);
    inputs.keys = keep(keys);
    inputs.values = keep(values);
    inputs.visibility = {keep(valid_lens), keep(mask), keep(bias), keep(alibi_slopes), keep(sinks)};
    inputs.token_types = keep(token_types);
    inputs.attention_mask = keep(attention_mask);
    inputs.wanted_output = {num_last_rows, keep(output_rows)};
    inputs.training = {read_flag(training, INPUT("training")), dropout_seed};
    if (progress != nullptr) inputs.progress = read_progress(*progress, INPUT("progress"));
    if (sequences != nullptr) inputs.sequences = read_sequences(*sequences);
    if (cache != nullptr) inputs.cache = &read_cache(*cache, "cache", INPUT("cache"), cache_);
    if (decoder != nullptr) inputs.decoder = read_decoder(*decoder);
    if (given_outputs == nullptr) return;
    const heed_layer_outputs wanted =
        read_struct(given_outputs, HEED_LAYER_OUTPUTS_INIT, kFirstOutputsSize, "outputs", "HEED_LAYER_OUTPUTS_INIT");
    for (const auto& [given, tensor] : kOutputs) outputs.*tensor = keep(wanted.*given);
    if (wanted.taps != nullptr || wanted.num_taps != 0) read_taps(wanted);
  }
  CallTensors(const CallTensors&) = delete;
  CallTensors& operator=(const CallTensors&) = delete;

  // For a caller that gave no outputs: requests only `output`, as a tensor without data.
  void want_output_alone(const Layer& layer) {
    const OutputShapes shapes = layer.output_shapes(inputs);
    outputs.output =
        &kept_[num_kept_++].emplace(Tensor::wrap(layer.context(), shapes.dtype, shapes.output, nullptr, nullptr));
  }

  LayerInputs inputs;
  LayerOutputs outputs;

 private:
  SequenceInputs read_sequences(const heed_sequence_inputs& given) {
    const heed_sequence_inputs read = read_struct(&given, HEED_SEQUENCE_INPUTS_INIT, kFirstSequenceInputsSize,
                                                  INPUT("sequences"), "HEED_SEQUENCE_INPUTS_INIT");
    const auto& [struct_size, positions, query_lens, query_offsets, key_offsets, key_positions] = read;
    return {keep(positions), keep(query_lens), keep(query_offsets), keep(key_offsets), keep(key_positions)};
  }

  DecoderInputs read_decoder(const heed_decoder_inputs& given) {
    const heed_decoder_inputs read = read_struct(&given, HEED_DECODER_INPUTS_INIT, kFirstDecoderInputsSize,
                                                 INPUT("decoder"), "HEED_DECODER_INPUTS_INIT");
    const auto& [struct_size, self_valid_lens, self_mask, self_bias, memory, memory_cache, self_attention_mask] = read;
    DecoderInputs decoder = {keep(self_valid_lens), keep(self_mask), keep(self_bias), keep(self_attention_mask),
                             keep(memory)};
    if (memory_cache != nullptr)
      decoder.memory_cache =
          &read_cache(*memory_cache, "decoder->memory_cache", INPUT("decoder->memory_cache"), memory_cache_);
    return decoder;
  }

  // Sets a cache of the call and returns it. `path`: its path in inputs, and `name` the same as a term, for messages.
  const CacheInputs& read_cache(const heed_cache_inputs& given, const char* path, const char* name,
                                CacheInputs& cache) {
    const auto member = [path](const char* one) { return marked(Role::Input, std::string(path) + "->" + one); };
    const heed_cache_inputs read =
        read_struct(&given, HEED_CACHE_INPUTS_INIT, kFirstCacheInputsSize, name, "HEED_CACHE_INPUTS_INIT");
    const auto& [struct_size, given_cache, sequences, layer, use, reserved] = read;
    if (reserved != 0) require_zero(reserved, member("reserved").c_str());
    if (given_cache == nullptr) require(given_cache, member("cache").c_str());
    if (use < 0 || use > HEED_CACHE_READ)
      read_enum(use, CacheUse::Read, member("use").c_str(),
                CONSTANT("HEED_CACHE_APPEND") " (0) or " CONSTANT("HEED_CACHE_READ") " (1)");
    cache = {given_cache->cache, keep(sequences), layer, static_cast<CacheUse>(use), false, path};
    return cache;
  }

  void read_taps(const heed_layer_outputs& wanted) {
    if (wanted.num_taps < 0 || (wanted.num_taps > 0) != (wanted.taps != nullptr)) {
      fail(Status::InvalidArgument,
           OUTPUT("num_taps") " is %" PRId64 ", but " OUTPUT("taps") " is %s: expected both or neither",
           wanted.num_taps, wanted.taps == nullptr ? WORD("NULL") : "set");
    }
    // The tensors may not move.
    tapped_.reserve(2 * static_cast<size_t>(wanted.num_taps));
    const auto keep_tapped = [this](const heed_tensor* handle) -> const Tensor* {
      return handle == nullptr ? nullptr : &tapped_.emplace_back(handle->tensor);
    };
    for (int64_t i = 0; i < wanted.num_taps; ++i) {
      const std::string path = "taps[" + std::to_string(i) + "]";
      const std::string name = marked(Role::Output, path);
      require(wanted.taps[i], name.c_str());
      const heed_layer_tap tap =
          read_struct(wanted.taps[i], HEED_LAYER_TAP_INIT, kFirstTapSize, name.c_str(), "HEED_LAYER_TAP_INIT");
      if (tap.child == nullptr) require(tap.child, marked(Role::Output, path + "->child").c_str());
      if (tap.weights == nullptr && tap.log_sum_exp == nullptr) {
        fail(Status::InvalidArgument, "%s has no " WORD("tensor") ", expected weights, log_sum_exp or both",
             name.c_str());
      }
      taps_.push_back({tap.child, keep_tapped(tap.weights), keep_tapped(tap.log_sum_exp)});
    }
    outputs.taps = taps_;
  }

  const Tensor* keep(const heed_tensor* handle) {
    if (handle == nullptr) return nullptr;
    return &kept_[num_kept_++].emplace(handle->tensor);
  }

  std::optional<Tensor> kept_[kNumInputs + std::size(kOutputs)];
  size_t num_kept_ = 0;
  CacheInputs cache_;
  CacheInputs memory_cache_;
  std::vector<Tensor> tapped_;
  std::vector<LayerTap> taps_;
};

std::shared_ptr<Layer> layer_of(const heed_layer* handle) { return require(handle, "layer")->layer; }

// Throws the error with an addition: the file is one of several, so the missing tensor may be in another one. If the
// text becomes too long, the end of the original sentence is cut.
[[noreturn]] void fail_in_lone_part(const Error& error, const std::string& lone_part) {
  const std::string ending = "; the file is " + lone_part;
  std::string sentence = error.marked;
  cut_for_c(sentence.data(), kErrorCapacity - 1 - std::min(ending.size(), kErrorCapacity / 2));
  fail(error.status, "%s%s", sentence.c_str(), ending.c_str());
}

// `function` is the name of the C function, for the logger.
void load(const char* function, Layer& layer, const SafetensorsFile& file, const char* prefix,
          LoadOptions options = {}) {
  options.function = function;
  // These texts are made first: after the parameters have been replaced, nothing may fail.
  const std::string shown_path = shown(file.path());
  const std::string lone_part = file.lone_part_text();
  const char* layout_name = nullptr;
  try {
    layout_name = heed::load(layer, file, prefix == nullptr ? "" : prefix, options);
  } catch (const Error& error) {
    if (error.status != Status::NotFound || lone_part.empty()) throw;
    fail_in_lone_part(error, lone_part);
  }
  const Logger& logger = layer.context()->logger();
  log(logger, LogLevel::Info, FUNCTION("%s") ": %s has its %zu parameters from \"%s\" by the names of %s", function,
      layer.kind(), layer.parameters().size(), shown_path.c_str(), layout_name);
  if (!lone_part.empty()) {
    log(logger, LogLevel::Warning,
        FUNCTION("%s") ": \"%s\" is %s: what the other files hold of this " WORD("layer") " is not known", function,
        shown_path.c_str(), lone_part.c_str());
  }
}

// `name`: the words for the tensor in messages.
OwnedHandle<heed_tensor> make_output(const std::shared_ptr<Context>& context, DType dtype, const Shape& shape,
                                     const std::string& name) {
  const std::string subject = name + " would have " ARGUMENT("dims");
  return OwnedHandle<heed_tensor>(make_handle(heed_tensor{Tensor::zeros(context, dtype, shape, subject.c_str())}));
}

}  // namespace
}  // namespace heed::capi

using namespace heed;        // NOLINT(google-build-using-namespace): the functions below are C
using namespace heed::capi;  // NOLINT(google-build-using-namespace)

extern "C" {

void heed_layer_destroy(heed_layer* layer) noexcept { destroy_handle(layer); }

heed_status heed_layer_initialize(heed_layer* layer, const heed_layer_inputs* inputs, uint64_t seed) noexcept {
  return guarded(__func__, layer, [&] {
    const auto self = layer_of(layer);
    const CallTensors call(inputs, nullptr);
    initialize(*self, call.inputs, seed);
  });
}

int32_t heed_layer_is_initialized(const heed_layer* layer) noexcept {
  return guarded_value<int32_t>(__func__, layer, -1, [&] { return layer_of(layer)->is_initialized() ? 1 : 0; });
}

const char* heed_layer_kind(const heed_layer* layer) noexcept {
  return guarded_value<const char*>(__func__, layer, nullptr, [&] { return layer_of(layer)->kind(); });
}

heed_status heed_layer_options(const heed_layer* layer, char* text, size_t capacity, size_t* num_bytes) noexcept {
  return guarded(__func__, layer,
                 [&] { write_text(layer_of(layer)->options_text(JsonStyle::Indented), text, capacity, num_bytes); });
}

int64_t heed_layer_child_count(const heed_layer* layer) noexcept {
  return guarded_value<int64_t>(__func__, layer, -1,
                                [&] { return static_cast<int64_t>(layer_of(layer)->num_children()); });
}

const char* heed_layer_child_name(const heed_layer* layer, int64_t index) noexcept {
  return guarded_value<const char*>(__func__, layer, nullptr, [&] {
    const auto self = layer_of(layer);
    const auto count = static_cast<int64_t>(self->num_children());
    if (index < 0 || index >= count)
      fail(Status::InvalidArgument, "index is %" PRId64 ", but the " WORD("layer") " has %" PRId64 " children", index,
           count);
    return self->child_name(static_cast<size_t>(index));
  });
}

heed_status heed_layer_child(const heed_layer* layer, const char* name, heed_layer** child) noexcept {
  return guarded(__func__, layer, [&] {
    const auto self = layer_of(layer);
    require(name, "name");
    require(child, "child");
    *child = make_handle(heed_layer{self->child(name)});
  });
}

int64_t heed_layer_parameter_count(const heed_layer* layer) noexcept {
  return guarded_value<int64_t>(__func__, layer, -1,
                                [&] { return static_cast<int64_t>(layer_of(layer)->parameters().size()); });
}

const char* heed_layer_parameter_name(const heed_layer* layer, int64_t index) noexcept {
  return guarded_value<const char*>(__func__, layer, nullptr, [&] {
    const auto self = layer_of(layer);
    const auto count = static_cast<int64_t>(self->parameters().size());
    if (index < 0 || index >= count)
      fail(Status::InvalidArgument, "index is %" PRId64 ", but the " WORD("layer") " has %" PRId64 " parameters", index,
           count);
    return self->parameters()[static_cast<size_t>(index)].name();
  });
}

heed_status heed_layer_parameter(const heed_layer* layer, const char* name, heed_tensor** snapshot) noexcept {
  return guarded(__func__, layer, [&] {
    const auto self = layer_of(layer);
    require(name, "name");
    require(snapshot, "snapshot");
    *snapshot = make_handle(heed_tensor{self->parameter(name)});
  });
}

heed_status heed_layer_parameter_shape(const heed_layer* layer, const char* name, heed_tensor** shape) noexcept {
  return guarded(__func__, layer, [&] {
    const auto self = layer_of(layer);
    require(name, "name");
    require(shape, "shape");
    *shape = make_handle(heed_tensor{self->parameter_shape(name)});
  });
}

heed_status heed_layer_set_parameter(heed_layer* layer, const char* name, const heed_tensor* value) noexcept {
  return guarded(__func__, layer, [&] {
    const auto self = layer_of(layer);
    require(name, "name");
    const Tensor source = require(value, ARGUMENT("value"))->tensor;
    set_parameter(*self, name, source);
  });
}

heed_status heed_layer_load(heed_layer* layer, const char* path, const char* prefix) noexcept {
  return guarded(__func__, layer, [&] {
    const auto self = layer_of(layer);
    require(path, "path");
    load("heed_layer_load", *self, SafetensorsFile(path), prefix);
  });
}

heed_status heed_layer_load_memory(heed_layer* layer, const void* data, size_t num_bytes, const char* prefix) noexcept {
  return guarded(__func__, layer, [&] {
    const auto self = layer_of(layer);
    require(data, "data");
    load("heed_layer_load_memory", *self, SafetensorsFile(std::make_unique<const MemorySource>(data, num_bytes)),
         prefix);
  });
}

heed_status heed_layer_load_weights(heed_layer* layer, const heed_weights* weights, const char* prefix,
                                    const heed_load_options* options) noexcept {
  return guarded(__func__, layer, [&] {
    const auto self = layer_of(layer);
    const std::shared_ptr<const SafetensorsFile> file = require(weights, "weights")->file;
    load("heed_layer_load_weights", *self, *file, prefix, read_load_options(options, "options", OPTION("progress")));
  });
}

heed_status heed_layer_save(const heed_layer* layer, const char* path) noexcept {
  return guarded(__func__, layer, [&] {
    const auto self = layer_of(layer);
    require(path, "path");
    save(*self, path);
  });
}

heed_status heed_layer_save_memory(const heed_layer* layer, void* destination, size_t capacity,
                                   size_t* num_bytes) noexcept {
  return guarded(__func__, layer, [&] {
    const auto self = layer_of(layer);
    if (destination == nullptr) require(num_bytes, "num_bytes");
    const size_t written = save_to_memory(*self, destination, capacity);
    if (num_bytes != nullptr) *num_bytes = written;
  });
}

heed_status heed_layer_create_outputs(const heed_layer* layer, const heed_layer_inputs* inputs, int32_t wanted,
                                      heed_layer_outputs* outputs) noexcept {
  return guarded(__func__, layer, [&] {
    const auto self = layer_of(layer);
    require(outputs, "outputs");
    constexpr int32_t kAll = HEED_WANT_OUTPUT | HEED_WANT_WEIGHTS | HEED_WANT_LOG_SUM_EXP;
    if (wanted <= 0 || wanted > kAll)
      fail(Status::InvalidArgument, "wanted is %d, expected a set of " WORD("HEED_WANT_ bits") ", 1 to %d", wanted,
           kAll);
    const heed_layer_outputs given =
        read_struct(outputs, HEED_LAYER_OUTPUTS_INIT, kFirstOutputsSize, "outputs", "HEED_LAYER_OUTPUTS_INIT");
    for (const auto& [member, name] : {std::pair{given.output, "output"}, std::pair{given.weights, "weights"},
                                       std::pair{given.log_sum_exp, "log_sum_exp"}}) {
      if (member != nullptr)
        fail(Status::InvalidArgument,
             OUTPUT("%s") " is set, expected " WORD("NULL") ": the " WORD("tensor") " is made here", name);
    }
    const CallTensors call(inputs, nullptr);
    const OutputShapes shapes = self->output_shapes(call.inputs);
    const auto create = [&](int32_t bit, DType dtype, const std::optional<Shape>& shape, const char* name) {
      if ((wanted & bit) == 0) return OwnedHandle<heed_tensor>();
      if (!shape && shapes.is_packed) {
        fail(Status::Unsupported,
             "wanted has " CONSTANT("HEED_WANT_WEIGHTS") ", but " INPUT("sequences->query_offsets") " packs the "
"batch: expected it without, since batch elements of different sizes have no weights of one shape");
      }
      if (!shape) {
        fail(Status::InvalidArgument,
             "wanted has %s, but " KIND("%s %s layer") " has no such output, expected " CONSTANT(
                 "HEED_WANT_OUTPUT") " alone",
             bit == HEED_WANT_WEIGHTS ? CONSTANT("HEED_WANT_WEIGHTS") : CONSTANT("HEED_WANT_LOG_SUM_EXP"),
             article_of(self->kind()), self->kind());
      }
      return make_output(self->context(), dtype, *shape, marked(Role::Output, name));
    };
    auto output = create(HEED_WANT_OUTPUT, shapes.dtype, shapes.output, "output");
    auto weights = create(HEED_WANT_WEIGHTS, shapes.dtype, shapes.weights, "weights");
    auto log_sum_exp = create(HEED_WANT_LOG_SUM_EXP, DType::F32, shapes.log_sum_exp, "log_sum_exp");
    outputs->output = output.release();
    outputs->weights = weights.release();
    outputs->log_sum_exp = log_sum_exp.release();
  });
}

heed_status heed_layer_create_tap(const heed_layer* layer, const heed_layer_inputs* inputs, const char* child,
                                  int32_t wanted, heed_layer_tap* tap) noexcept {
  return guarded(__func__, layer, [&] {
    const auto self = layer_of(layer);
    require(child, "child");
    require(tap, "tap");
    constexpr int32_t kAll = HEED_WANT_WEIGHTS | HEED_WANT_LOG_SUM_EXP;
    if (wanted == 0 || (wanted & ~kAll) != 0) {
      fail(Status::InvalidArgument,
           "wanted is %d, expected " CONSTANT("HEED_WANT_WEIGHTS") " (%d), " CONSTANT(
               "HEED_WANT_LOG_SUM_EXP") " (%d) or both",
           wanted, HEED_WANT_WEIGHTS, HEED_WANT_LOG_SUM_EXP);
    }
    const heed_layer_tap given = read_struct(tap, HEED_LAYER_TAP_INIT, kFirstTapSize, "tap", "HEED_LAYER_TAP_INIT");
    for (const auto& [member, name] : {std::pair{given.weights, "weights"}, {given.log_sum_exp, "log_sum_exp"}}) {
      if (member != nullptr)
        fail(Status::InvalidArgument, "tap->%s is set, expected " WORD("NULL") ": the " WORD("tensor") " is made here",
             name);
    }
    const CallTensors call(inputs, nullptr);
    const OutputShapes shapes = self->child_shapes(call.inputs, child);
    if (!shapes.log_sum_exp)
      fail(Status::InvalidArgument, "child is %s, which is no attention: expected a child with weights",
           in_quotes(child).c_str());
    if ((wanted & HEED_WANT_WEIGHTS) != 0 && !shapes.weights) {
      fail(Status::Unsupported,
           "wanted has " CONSTANT("HEED_WANT_WEIGHTS") ", but " INPUT("sequences->query_offsets") " packs the "
"batch: expected it without, since batch elements of different sizes have no weights of one shape");
    }
    const auto create = [&](int32_t bit, const std::optional<Shape>& shape, const char* name) {
      if ((wanted & bit) == 0) return OwnedHandle<heed_tensor>();
      return make_output(self->context(), DType::F32, *shape, std::string("tap->") + name);
    };
    auto weights = create(HEED_WANT_WEIGHTS, shapes.weights, "weights");
    auto log_sum_exp = create(HEED_WANT_LOG_SUM_EXP, shapes.log_sum_exp, "log_sum_exp");
    tap->child = child;
    tap->weights = weights.release();
    tap->log_sum_exp = log_sum_exp.release();
  });
}

heed_status heed_layer_workspace_size(const heed_layer* layer, const heed_layer_inputs* inputs,
                                      const heed_layer_outputs* outputs, size_t* num_bytes) noexcept {
  return guarded(__func__, layer, [&] {
    const auto self = layer_of(layer);
    CallTensors call(inputs, outputs);
    require(num_bytes, "num_bytes");
    const bool fills = call.inputs.cache != nullptr && call.inputs.queries == nullptr;
    if (outputs == nullptr && !fills) call.want_output_alone(*self);
    *num_bytes = self->workspace_size(call.inputs, call.outputs);
  });
}

heed_status heed_layer_forward(const heed_layer* layer, const heed_layer_inputs* inputs, heed_workspace* workspace,
                               const heed_layer_outputs* outputs) noexcept {
  return guarded(__func__, layer, [&] {
    const auto self = layer_of(layer);
    const CallTensors call(inputs, require(outputs, "outputs"));
    const std::shared_ptr<Workspace> scratch = workspace == nullptr ? nullptr : workspace->workspace;
    self->forward(call.inputs, scratch.get(), call.outputs);
  });
}

heed_status heed_layer_cache_options(const heed_layer* layer, heed_cache_options* options) noexcept {
  return guarded(__func__, layer, [&] {
    const std::shared_ptr<Layer> self = layer_of(layer);
    require(options, "options");
    // The four sizes are in the first version of the struct.
    constexpr size_t kFirstCacheOptionsSize = 96;
    read_struct(options, HEED_CACHE_OPTIONS_INIT, kFirstCacheOptionsSize, "options", "HEED_CACHE_OPTIONS_INIT");
    const std::optional<Layer::CacheShape> shape = self->cache_shape();
    if (!shape) {
      fail(Status::Unsupported,
           WORD("layer") " is " KIND("%s %s layer") ", which caches no keys and values or those of several "
"sizes: expected " KIND("a multi-head attention") " with scores by dot "
"products, " WORD("a decoder layer") ", " WORD("a decoder") " or " WORD("a transformer") " of one size",
           article_of(self->kind()), self->kind());
    }
    options->num_layers = shape->num_layers;
    options->num_kv_heads = shape->num_kv_heads;
    options->head_size = shape->head_size;
    options->value_head_size = shape->value_head_size;
    const std::span<const int64_t> windows = self->cache_windows();
    if (options->struct_size >= offsetof(heed_cache_options, layer_capacities) + sizeof options->layer_capacities)
      options->layer_capacities = windows.empty() ? nullptr : windows.data();
  });
}

heed_status heed_layer_fill_cache(const heed_layer* layer, const heed_layer_inputs* inputs,
                                  heed_workspace* workspace) noexcept {
  return guarded(__func__, layer, [&] {
    const auto self = layer_of(layer);
    const CallTensors call(inputs, nullptr);
    const std::shared_ptr<Workspace> scratch = workspace == nullptr ? nullptr : workspace->workspace;
    self->fill_cache(call.inputs, scratch.get());
  });
}

heed_status heed_scaled_dot_product_attention(heed_context* context, const heed_dot_product_attention_options* options,
                                              const heed_layer_inputs* inputs,
                                              const heed_layer_outputs* outputs) noexcept {
  return guarded(__func__, context, [&] {
    const std::shared_ptr<Context> self = require(context, "context")->context;
    const AttentionOptions read = read_layer_options(options);
    const CallTensors call(inputs, require(outputs, "outputs"));
    scaled_dot_product_attention(self, read, call.inputs, call.outputs);
  });
}

heed_status heed_layer_explain(const heed_layer* layer, const heed_layer_inputs* inputs,
                               const heed_layer_outputs* outputs, char* text, size_t capacity,
                               size_t* num_bytes) noexcept {
  return guarded(__func__, layer, [&] {
    const auto self = layer_of(layer);
    CallTensors call(inputs, outputs);
    if (outputs == nullptr) call.want_output_alone(*self);
    write_text(self->explain(call.inputs, call.outputs), text, capacity, num_bytes);
  });
}

}  // extern "C"
