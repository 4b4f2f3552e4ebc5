// SPDX-License-Identifier: Apache-2.0
#include "backends/workspace.h"

#include <heed/heed.h>

#include "arguments.h"
#include "errors.h"
#include "handles.h"

using namespace heed;        // NOLINT(google-build-using-namespace): the functions below are C
using namespace heed::capi;  // NOLINT(google-build-using-namespace)

extern "C" {

heed_status heed_workspace_create(heed_context* context, size_t num_bytes, heed_workspace** workspace) noexcept {
  return guarded(__func__, context, [&] {
    const std::shared_ptr<Context> owner = require(context, "context")->context;
    require(workspace, "workspace");
    *workspace = make_handle(heed_workspace{Workspace::create(owner, num_bytes)});
    owner->start();
  });
}

heed_status heed_workspace_wrap(heed_context* context, void* memory, size_t num_bytes,
                                heed_workspace** workspace) noexcept {
  return guarded(__func__, context, [&] {
    const std::shared_ptr<Context> owner = require(context, "context")->context;
    require(workspace, "workspace");
    *workspace = make_handle(heed_workspace{Workspace::wrap(owner, memory, num_bytes)});
    owner->start();
  });
}

size_t heed_workspace_num_bytes(const heed_workspace* workspace) noexcept {
  return guarded_value<size_t>(__func__, workspace, 0,
                               [&] { return require(workspace, "workspace")->workspace->num_bytes(); });
}

void heed_workspace_destroy(heed_workspace* workspace) noexcept { destroy_handle(workspace); }

}  // extern "C"
