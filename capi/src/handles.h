// SPDX-License-Identifier: Apache-2.0
// The objects behind the handles, and the only functions that create and destroy them. Each handle holds a counted
// reference to an object. A C function copies the reference first, so that the object stays alive during the call even
// if another thread destroys the handle.
#pragma once

#include <heed/heed.h>

#include <memory>
#include <optional>
#include <utility>

#include "backends/context.h"
#include "backends/workspace.h"
#include "base/host_allocator.h"
#include "cache/cache.h"
#include "layers/layer.h"
#include "platform/floating_point_environment.h"
#include "tensor/safetensors.h"
#include "tensor/tensor.h"
#include "training/gradients.h"
#include "training/optimizer.h"

struct heed_context {
  std::shared_ptr<heed::Context> context;
};

struct heed_tensor {
  heed::Tensor tensor;
};

struct heed_layer {
  std::shared_ptr<heed::Layer> layer;
};

struct heed_weights {
  std::shared_ptr<heed::Context> context;
  // All its files are open.
  std::shared_ptr<const heed::SafetensorsFile> file;
};

struct heed_workspace {
  std::shared_ptr<heed::Workspace> workspace;
};

struct heed_saved {
  std::shared_ptr<heed::Saved> saved;
};

struct heed_cache {
  std::shared_ptr<heed::Cache> cache;
};

struct heed_gradients {
  std::shared_ptr<heed::Gradients> gradients;
};

struct heed_optimizer {
  std::shared_ptr<heed::Optimizer> optimizer;
};

namespace heed::capi {

// The context of the object, which knows the host's allocator and logger.
inline const Memory& memory_of(const heed_context& handle) { return *handle.context; }
inline const Memory& memory_of(const heed_tensor& handle) { return *handle.tensor.memory(); }
inline const Memory& memory_of(const heed_layer& handle) { return *handle.layer->context(); }
inline const Memory& memory_of(const heed_weights& handle) { return *handle.context; }
inline const Memory& memory_of(const heed_workspace& handle) { return handle.workspace->memory(); }
inline const Memory& memory_of(const heed_saved& handle) { return handle.saved->memory().memory(); }
inline const Memory& memory_of(const heed_cache& handle) { return *handle.cache->context(); }
inline const Memory& memory_of(const heed_gradients& handle) { return *handle.gradients->context(); }
inline const Memory& memory_of(const heed_optimizer& handle) { return *handle.optimizer->context(); }

// An argument that may be NULL: a copy of the tensor, which keeps its storage alive during the call.
inline std::optional<Tensor> copy_of(const heed_tensor* tensor) {
  return tensor == nullptr ? std::nullopt : std::optional(tensor->tensor);
}
inline const Tensor* pointer_to(const std::optional<Tensor>& tensor) { return tensor ? &*tensor : nullptr; }

// A new handle in host memory that holds `content`.
template <typename Handle>
Handle* make_handle(Handle content) {
  return host_create<Handle>(memory_of(content).host_allocator(), std::move(content));
}

// NULL is allowed. Runs in the default floating-point environment, since it may call the host's release functions.
template <typename Handle>
void destroy_handle(Handle* handle) noexcept {
  if (handle == nullptr) return;
  const platform::FloatingPointEnvironment environment;
  host_destroy(memory_of(*handle).host_allocator(), handle);
}

struct HandleDestroyer {
  template <typename Handle>
  void operator()(Handle* handle) const noexcept {
    destroy_handle(handle);
  }
};

// A handle that the caller does not own yet.
template <typename Handle>
using OwnedHandle = std::unique_ptr<Handle, HandleDestroyer>;

}  // namespace heed::capi
