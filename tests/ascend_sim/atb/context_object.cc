// SPDX-License-Identifier: Apache-2.0
#include "atb/context_object.h"

#include <new>

#include "atb/refusal.h"
#include "runtime/kernel_interface.h"

namespace ascend_sim::atb_library {
namespace {

// Device memory that the vendor's context takes for the parameters of kernels: 32 blocks of 3 MiB by default.
constexpr size_t kTilingBlockBytes = size_t{3} << 20;
constexpr uint32_t kTilingBlocks = 32;
constexpr aclError kOutOfDeviceMemory = 207001;

atb::Status create(atb::Context** context, size_t device_bytes) {
  if (context == nullptr) return refuse(atb::ERROR_INVALID_PARAM, "CreateContext", "context is null");
  int code = 0;
  if (ascend_sim_kernel_fault("create_context", &code) != 0) return refuse(code, "CreateContext", "a fault asked for");
  int32_t device = 0;
  const aclError error = ascend_sim_kernel_reserve(device_bytes, &device);
  if (error == kOutOfDeviceMemory) return refuse(atb::ERROR_OUT_OF_DEVICE_MEMORY, "CreateContext", "no device memory");
  if (error != ACL_SUCCESS)
    return refuse(atb::ERROR_RT_FAIL, "CreateContext", "AscendCL answers " + std::to_string(error));
  auto* const created = new (std::nothrow) ContextObject(device);
  if (created == nullptr) return atb::ERROR_OUT_OF_HOST_MEMORY;
  *context = created;
  return atb::NO_ERROR;
}

}  // namespace

ContextObject::ContextObject(int32_t device) : device_(device), streams_(1, nullptr) {
  ascend_sim_kernel_track(this, "context of ATB");
}

ContextObject::~ContextObject() {
  state_->is_alive = false;
  ascend_sim_kernel_untrack(this);
  ascend_sim_kernel_unreserve(kTilingBlocks * kTilingBlockBytes, device_);
}

atb::Status ContextObject::SetExecuteStream(aclrtStream stream) {
  streams_[0] = stream;
  return atb::NO_ERROR;
}

aclrtStream ContextObject::GetExecuteStream() const { return streams_[0]; }

// Copies of kernel parameters are not tasks of the simulator, so their stream makes no difference.
atb::Status ContextObject::SetAsyncTilingCopyStatus(bool enable) {
  if (!enable) return atb::NO_ERROR;
  violation("Context::SetAsyncTilingCopyStatus(true) is not simulated");
  return atb::ERROR_INVALID_PARAM;
}

bool ContextObject::GetAsyncTilingCopyStatus() const { return false; }

atb::Status ContextObject::SetExecuteStreams(const std::vector<aclrtStream>& streams) {
  if (streams.empty()) return refuse(atb::ERROR_INVALID_PARAM, "SetExecuteStreams", "no stream");
  streams_ = streams;
  return atb::NO_ERROR;
}

std::vector<aclrtStream> ContextObject::GetExecuteStreams() { return streams_; }

atb::Status ContextObject::SetExecuteType(atb::ExecuteType type) {
  if (type == atb::EXECUTE_NORMAL) return atb::NO_ERROR;
  violation("Context::SetExecuteType other than EXECUTE_NORMAL is not simulated");
  return atb::ERROR_INVALID_PARAM;
}

atb::ExecuteType ContextObject::GetExecuteType() { return atb::EXECUTE_NORMAL; }

atb::Status ContextObject::SetLaunchMode(atb::LaunchMode mode) {
  if (mode == atb::KERNEL_LAUNCH_MODE) return atb::NO_ERROR;
  violation("Context::SetLaunchMode(GRAPH_LAUNCH_MODE) is not simulated");
  return atb::ERROR_INVALID_PARAM;
}

atb::LaunchMode ContextObject::GetLaunchMode() { return atb::KERNEL_LAUNCH_MODE; }

}  // namespace ascend_sim::atb_library

namespace atb {

using ascend_sim::atb_library::ContextObject;

Status CreateContext(Context** context) {
  using namespace ascend_sim::atb_library;
  return create(context, kTilingBlocks * kTilingBlockBytes);
}

Status CreateContext(Context** context, const std::function<void*(size_t)>& /*alloc*/,
                     const std::function<void(void*)>& /*dealloc*/) {
  if (context != nullptr) *context = nullptr;
  ascend_sim::atb_library::violation("CreateContext with functions that allocate is not simulated");
  return ERROR_INVALID_PARAM;
}

Status CreateContext(Context** context, uint32_t host_tiling_blocks, uint32_t device_tiling_blocks) {
  using namespace ascend_sim::atb_library;
  if (host_tiling_blocks < 128 || host_tiling_blocks > 1024 || device_tiling_blocks < 32 || device_tiling_blocks > 1024)
    return refuse(ERROR_INVALID_PARAM, "CreateContext", "a number of tiling blocks outside [128, 1024] or [32, 1024]");
  return create(context, kTilingBlocks * kTilingBlockBytes);
}

Status DestroyContext(Context* context) {
  if (context == nullptr) return NO_ERROR;
  auto* const object = static_cast<ContextObject*>(context);
  if (object->state()->num_operations > 0)
    ascend_sim::atb_library::violation("DestroyContext before DestroyOperation of an operation that was set up for it");
  delete object;
  return NO_ERROR;
}

}  // namespace atb
