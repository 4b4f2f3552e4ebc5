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
#include "call_tensors.h"
#include "errors.h"
#include "handles.h"
#include "layer_options.h"
#include "layers/kinds/dot_product_attention.h"
#include "load_options.h"
#include "loading/layer_parameters.h"
#include "tensor/safetensors.h"

namespace heed::capi {
namespace {

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
