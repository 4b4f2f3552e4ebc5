// SPDX-License-Identifier: Apache-2.0
#include <heed/heed.h>

#include "arguments.h"
#include "base/file.h"
#include "base/shown_text.h"
#include "errors.h"
#include "handles.h"
#include "tensor/host_image.h"
#include "tensor/npy.h"
#include "tensor/safetensors.h"

using namespace heed;        // NOLINT(google-build-using-namespace): the functions below are C
using namespace heed::capi;  // NOLINT(google-build-using-namespace)

extern "C" {

heed_status heed_tensor_load_safetensors(heed_context* context, const char* path, const char* name,
                                         heed_tensor** tensor) noexcept {
  return guarded(__func__, context, [&] {
    const std::shared_ptr<Context> owner = require(context, "context")->context;
    require(path, "path");
    require(name, "name");
    require(tensor, ARGUMENT("tensor"));
    const SafetensorsFile file(path);
    const SafetensorsEntry* entry = file.find(name);
    if (entry == nullptr) {
      const std::string lone_part = file.lone_part_text();
      fail(Status::NotFound, "\"%s\" has no tensor \"%s\" (it has %zu)%s%s", shown(file.path()).c_str(),
           shown(name).c_str(), file.num_tensors(), lone_part.empty() ? "" : "; the file is ", lone_part.c_str());
    }
    const Tensor loaded = Tensor::zeros(owner, entry->dtype, entry->shape);
    const HostImage written(loaded);
    file.read(*entry, written.image().data());
    written.commit();
    *tensor = make_handle(heed_tensor{loaded});
  });
}

heed_status heed_tensor_load_npy(heed_context* context, const char* path, heed_tensor** tensor) noexcept {
  return guarded(__func__, context, [&] {
    const std::shared_ptr<Context> owner = require(context, "context")->context;
    require(path, "path");
    require(tensor, ARGUMENT("tensor"));
    *tensor = make_handle(heed_tensor{load_npy(owner, FileSource(path))});
  });
}

heed_status heed_tensor_save_npy(const heed_tensor* tensor, const char* path) noexcept {
  return guarded(__func__, tensor, [&] {
    const Tensor self = require(tensor, ARGUMENT("tensor"))->tensor;
    save_npy(require(path, "path"), self);
  });
}

}  // extern "C"
