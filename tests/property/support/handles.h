// SPDX-License-Identifier: Apache-2.0
// C++ objects that own heed's handles, and an exception for its errors.
#pragma once

#include <heed/heed.h>

#include <memory>
#include <stdexcept>

namespace heed::property {

template <auto destroy>
struct Destroyer {
  template <typename T>
  void operator()(T* handle) const {
    destroy(handle);
  }
};

using Context = std::unique_ptr<heed_context, Destroyer<heed_context_destroy>>;
using Tensor = std::unique_ptr<heed_tensor, Destroyer<heed_tensor_destroy>>;
using Layer = std::unique_ptr<heed_layer, Destroyer<heed_layer_destroy>>;
using Workspace = std::unique_ptr<heed_workspace, Destroyer<heed_workspace_destroy>>;

// A call that did not return HEED_OK. what() is its error message.
struct CallFailed : std::runtime_error {
  explicit CallFailed(heed_status failed) : std::runtime_error(heed_last_error()), status(failed) {}

  heed_status status;
};

inline void check(heed_status status) {
  if (status != HEED_OK) throw CallFailed(status);
}

}  // namespace heed::property
