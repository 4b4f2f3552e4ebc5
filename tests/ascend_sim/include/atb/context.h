// SPDX-License-Identifier: Apache-2.0
// A context, in which operations run: a stream, and device memory for the parameters of kernels.
#pragma once

#include <functional>
#include <vector>

#include "acl/acl.h"
#include "atb/types.h"

namespace atb {

enum ExecuteType : int { EXECUTE_NORMAL = 0, EXECUTE_PRELAUNCH, EXECUTE_LAUNCH };

enum LaunchMode : int { KERNEL_LAUNCH_MODE = 0, GRAPH_LAUNCH_MODE };

// The order of the virtual functions is part of the ABI.
class ATB_SIM_API Context {
 public:
  Context() = default;
  virtual ~Context() = default;
  virtual Status SetExecuteStream(aclrtStream stream) = 0;
  virtual aclrtStream GetExecuteStream() const = 0;
  virtual Status SetAsyncTilingCopyStatus(bool enable) = 0;
  virtual bool GetAsyncTilingCopyStatus() const = 0;
  virtual Status SetExecuteStreams(const std::vector<aclrtStream>& streams) = 0;
  virtual std::vector<aclrtStream> GetExecuteStreams() = 0;
  virtual Status SetExecuteType(ExecuteType type) = 0;
  virtual ExecuteType GetExecuteType() = 0;
  virtual Status SetLaunchMode(LaunchMode mode) = 0;
  virtual LaunchMode GetLaunchMode() = 0;
};

// A context takes 96 MiB of device memory, so the thread needs a current AscendCL context.
ATB_SIM_API Status CreateContext(Context** context);
ATB_SIM_API Status CreateContext(Context** context, const std::function<void*(size_t)>& alloc,
                                 const std::function<void(void*)>& dealloc);
ATB_SIM_API Status CreateContext(Context** context, uint32_t hostTilingBlockNum, uint32_t deviceTilingBlockNum);
ATB_SIM_API Status DestroyContext(Context* context);

}  // namespace atb
