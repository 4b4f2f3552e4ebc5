// SPDX-License-Identifier: Apache-2.0
// What the handles point to. Each holds a counted reference, of which functions take a copy before they work: a handle
// that is destroyed by another thread does not pull the object from under a running call.
#pragma once

#include <heed/heed.h>

#include <memory>

#include "backends/context.h"
#include "backends/workspace.h"
#include "layers/layer.h"
#include "tensor/tensor.h"

struct heed_context {
  std::shared_ptr<heed::Context> context;
};

struct heed_tensor {
  heed::Tensor tensor;
};

struct heed_layer {
  std::shared_ptr<heed::Layer> layer;
};

struct heed_workspace {
  std::shared_ptr<heed::Workspace> workspace;
};
