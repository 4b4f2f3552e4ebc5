// SPDX-License-Identifier: Apache-2.0
#include <heed/heed.h>

#include <memory>
#include <optional>

#include "arguments.h"
#include "call_tensors.h"
#include "errors.h"
#include "handles.h"
#include "layers/backward/gradients_of_call.h"
#include "layers/backward/saved.h"
#include "layers/layer.h"

namespace heed::capi {
namespace {

// The size in the first version of the struct: the smallest that a caller's struct can have.
constexpr size_t kFirstGradientsSize = 96;

// The tensors of heed_layer_gradients, copied as those of CallTensors.
class CallGradients {
 public:
  CallGradients(const Layer& layer, const heed_layer_gradients* given) {
    require(given, "gradients");
    const heed_layer_gradients read =
        read_struct(given, HEED_LAYER_GRADIENTS_INIT, kFirstGradientsSize, "gradients", "HEED_LAYER_GRADIENTS_INIT");
    // Names every member, so that a new one does not compile until it is handled.
    const auto& [struct_size, output, queries, keys, values, bias, alibi_slopes, sinks, self_bias, memory, parameters,
                 accumulate, reserved] = read;
    require_zero(reserved, ARGUMENT("gradients->reserved"));
    gradients.output = keep(output);
    gradients.queries = keep(queries);
    gradients.keys = keep(keys);
    gradients.values = keep(values);
    gradients.bias = keep(bias);
    gradients.alibi_slopes = keep(alibi_slopes);
    gradients.sinks = keep(sinks);
    gradients.self_bias = keep(self_bias);
    gradients.memory = keep(memory);
    gradients.accumulates = read_flag(accumulate, ARGUMENT("gradients->accumulate"));
    if (parameters == nullptr) return;
    parameters_ = parameters->gradients;
    parameters_->require_fits(layer, ARGUMENT("gradients->parameters"));
    gradients.parameters = parameters_->of_parameters();
  }
  CallGradients(const CallGradients&) = delete;
  CallGradients& operator=(const CallGradients&) = delete;

  LayerGradients gradients;

 private:
  const Tensor* keep(const heed_tensor* handle) {
    if (handle == nullptr) return nullptr;
    return &kept_[num_kept_++].emplace(handle->tensor);
  }

  std::optional<Tensor> kept_[9];
  size_t num_kept_ = 0;
  std::shared_ptr<const Gradients> parameters_;
};

}  // namespace
}  // namespace heed::capi

using namespace heed;        // NOLINT(google-build-using-namespace): the functions below are C
using namespace heed::capi;  // NOLINT(google-build-using-namespace)

extern "C" {

heed_status heed_layer_saved_size(const heed_layer* layer, const heed_layer_inputs* inputs,
                                  size_t* num_bytes) noexcept {
  return guarded(__func__, layer, [&] {
    const auto self = layer_of(layer);
    const CallTensors call(inputs, nullptr);
    require(num_bytes, "num_bytes");
    *num_bytes = self->saved_size(call.inputs);
  });
}

heed_status heed_saved_create(heed_context* context, size_t num_bytes, heed_saved** saved) noexcept {
  return guarded(__func__, context, [&] {
    const std::shared_ptr<Context> owner = require(context, "context")->context;
    require(saved, "saved");
    const HostAllocator& allocator = owner->host_allocator();
    *saved = make_handle(heed_saved{host_make_shared<Saved>(allocator, Workspace::create(owner, num_bytes))});
  });
}

void heed_saved_destroy(heed_saved* saved) noexcept { destroy_handle(saved); }

heed_status heed_layer_backward_workspace_size(const heed_layer* layer, const heed_layer_inputs* inputs,
                                               const heed_layer_outputs* outputs, const heed_layer_gradients* gradients,
                                               size_t* num_bytes) noexcept {
  return guarded(__func__, layer, [&] {
    const auto self = layer_of(layer);
    const CallTensors call(inputs, outputs);
    const CallGradients wanted(*self, gradients);
    require(num_bytes, "num_bytes");
    *num_bytes = self->backward_workspace_size(call.inputs, call.outputs, wanted.gradients);
  });
}

heed_status heed_layer_backward(const heed_layer* layer, const heed_layer_inputs* inputs,
                                const heed_layer_outputs* outputs, heed_workspace* workspace,
                                const heed_layer_gradients* gradients) noexcept {
  return guarded(__func__, layer, [&] {
    const auto self = layer_of(layer);
    const CallTensors call(inputs, outputs);
    const CallGradients wanted(*self, gradients);
    const std::shared_ptr<Workspace> scratch = workspace == nullptr ? nullptr : workspace->workspace;
    self->backward(call.inputs, call.outputs, scratch.get(), wanted.gradients);
  });
}

heed_status heed_layer_explain_backward(const heed_layer* layer, const heed_layer_inputs* inputs,
                                        const heed_layer_outputs* outputs, const heed_layer_gradients* gradients,
                                        char* text, size_t capacity, size_t* num_bytes) noexcept {
  return guarded(__func__, layer, [&] {
    const auto self = layer_of(layer);
    const CallTensors call(inputs, outputs);
    const CallGradients wanted(*self, gradients);
    write_text(self->explain_backward(call.inputs, call.outputs, wanted.gradients), text, capacity, num_bytes);
  });
}

}  // extern "C"
