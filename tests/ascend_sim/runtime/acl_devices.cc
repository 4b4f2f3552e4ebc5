// SPDX-License-Identifier: Apache-2.0
// AscendCL's functions for the process, devices and contexts.
#include <cstdio>
#include <string>

#include "ascend_sim/control.h"
#include "runtime/errors.h"
#include "runtime/faults.h"
#include "runtime/report.h"
#include "runtime/runtime.h"

using namespace ascend_sim;

namespace {

aclError check_device(const char* function, int32_t device_id) {
  const uint32_t num_devices = device_count();
  if (num_devices == 0) return fail(kNoDevice, std::string(function) + ": there is no device");
  if (device_id >= 0 && static_cast<uint32_t>(device_id) < num_devices) return ACL_SUCCESS;
  return fail(kInvalidDevice, std::string(function) + ": the device is " + std::to_string(device_id) +
                                  ", but there are " + std::to_string(num_devices));
}

void say_leaks() {
  const std::vector<std::string> lines = leaks();
  if (lines.empty()) return;
  std::fprintf(stderr, "ascend_sim: %zu objects are alive at the end of AscendCL:\n", lines.size());
  for (const std::string& line : lines) std::fprintf(stderr, "  %s\n", line.c_str());
}

// Ends a device after its last reset. Memory on a lost device is dropped. On a working device, memory that was not
// freed stays, and is reported as a leak.
void end_device(int32_t device_id) {
  std::vector<Handle> contexts;
  std::shared_ptr<Device> device;
  {
    const std::lock_guard lock(runtime().mutex);
    Runtime::DeviceState& state = runtime().device_state(device_id);
    device = state.device;
    state.set_count = 0;
    for (const auto& [handle, context] : runtime().contexts) {
      if (context->device == device && (context->is_default || device->is_faulty())) contexts.push_back(handle);
    }
    state.default_context = nullptr;
    // Assumed: a device's settings end with the device.
    device->overflow_mode = ACL_RT_OVERFLOW_MODE_INFNAN;
  }
  for (const Handle handle : contexts) {
    end_context_objects(handle);
    std::shared_ptr<Context> context;
    const std::lock_guard lock(runtime().mutex);
    context = runtime().contexts[handle];
    runtime().contexts.erase(handle);
  }
  if (!device->is_faulty()) return;
  device_memory().drop(device_id);
  device->repair();
}

aclError reset_device(const char* function, int32_t device_id, bool forced) {
  if (const aclError code = require_init(function)) return code;
  if (const aclError code = check_device(function, device_id)) return code;
  bool is_last;
  {
    const std::lock_guard lock(runtime().mutex);
    Runtime::DeviceState& state = runtime().device_state(device_id);
    // Contexts of aclrtCreateContext do not count as users, but a device on which only they failed must be usable again
    // too.
    if (state.set_count == 0 && !forced && !state.device->is_faulty())
      return fail(kInvalidValue,
                  std::string(function) + ": nobody has called aclrtSetDevice for device " + std::to_string(device_id));
    state.set_count = forced || state.set_count == 0 ? 0 : state.set_count - 1;
    is_last = state.set_count == 0;
  }
  if (is_last) end_device(device_id);
  return ACL_SUCCESS;
}

aclError finalize(bool is_for_all, uint64_t* left) {
  {
    const std::lock_guard lock(runtime().mutex);
    if (runtime().init_count == 0) {
      return runtime().was_finalized ? fail(ACL_ERROR_REPEAT_FINALIZE, "AscendCL was finalised before")
                                     : fail(ACL_ERROR_UNINITIALIZE, "aclFinalize before aclInit");
    }
    runtime().init_count = is_for_all ? 0 : runtime().init_count - 1;
    if (left != nullptr) *left = runtime().init_count;
    if (runtime().init_count > 0) return ACL_SUCCESS;
    runtime().was_finalized = true;
  }
  say_leaks();
  return ACL_SUCCESS;
}

}  // namespace

aclError aclInit(const char* /*configPath*/) {
  if (driver_is_missing()) return fail(ACL_ERROR_DRV_FAILURE, "aclInit: there is no driver");
  const std::lock_guard lock(runtime().mutex);
  if (runtime().init_count++ == 0) return ACL_SUCCESS;
  return fail(ACL_ERROR_REPEAT_INITIALIZE, "aclInit: AscendCL is initialised already");
}

aclError aclFinalize() { return finalize(true, nullptr); }

aclError aclFinalizeReference(uint64_t* ref_count) { return finalize(false, ref_count); }

const char* aclrtGetSocName() { return soc_name(); }

aclError aclrtGetDeviceCount(uint32_t* count) {
  if (count == nullptr) return fail(ACL_ERROR_INVALID_PARAM, "aclrtGetDeviceCount: count is null");
  if (const aclError code = require_init("aclrtGetDeviceCount")) return code;
  *count = device_count();
  return ACL_SUCCESS;
}

aclError aclrtGetRunMode(aclrtRunMode* run_mode) {
  if (run_mode == nullptr) return fail(ACL_ERROR_INVALID_PARAM, "aclrtGetRunMode: runMode is null");
  if (const aclError code = require_init("aclrtGetRunMode")) return code;
  *run_mode = ACL_HOST;
  return ACL_SUCCESS;
}

aclError aclrtSetDeviceSatMode(aclrtFloatOverflowMode mode) {
  if (mode != ACL_RT_OVERFLOW_MODE_SATURATION && mode != ACL_RT_OVERFLOW_MODE_INFNAN)
    return fail(ACL_ERROR_INVALID_PARAM, "aclrtSetDeviceSatMode: mode is neither SATURATION nor INFNAN");
  const Caller caller = ascend_sim::caller("aclrtSetDeviceSatMode");
  if (caller.code != ACL_SUCCESS) return caller.code;
  if (const auto code = fault_of(Call::Saturation))
    return fail(*code, "aclrtSetDeviceSatMode: a fault that the test asked for");
  caller.context->device->overflow_mode = mode;
  return ACL_SUCCESS;
}

aclError aclrtGetDeviceSatMode(aclrtFloatOverflowMode* mode) {
  if (mode == nullptr) return fail(ACL_ERROR_INVALID_PARAM, "aclrtGetDeviceSatMode: mode is null");
  const Caller caller = ascend_sim::caller("aclrtGetDeviceSatMode");
  if (caller.code != ACL_SUCCESS) return caller.code;
  if (const auto code = fault_of(Call::Saturation))
    return fail(*code, "aclrtGetDeviceSatMode: a fault that the test asked for");
  *mode = caller.context->device->overflow_mode;
  return ACL_SUCCESS;
}

aclError aclrtSetDevice(int32_t device_id) {
  if (const aclError code = require_init("aclrtSetDevice")) return code;
  if (const aclError code = check_device("aclrtSetDevice", device_id)) return code;
  const std::lock_guard lock(runtime().mutex);
  Runtime::DeviceState& state = runtime().device_state(device_id);
  if (const aclError code = state.device->lost()) return code;
  if (state.default_context == nullptr) {
    state.default_context = runtime().new_handle();
    auto context = std::make_shared<Context>();
    *context = {state.default_context, state.device, true, nullptr};
    runtime().contexts[state.default_context] = std::move(context);
  }
  ++state.set_count;
  current_handle() = state.default_context;
  return ACL_SUCCESS;
}

aclError aclrtResetDevice(int32_t device_id) { return reset_device("aclrtResetDevice", device_id, false); }

aclError aclrtResetDeviceForce(int32_t device_id) { return reset_device("aclrtResetDeviceForce", device_id, true); }

aclError aclrtGetDevice(int32_t* device_id) {
  if (device_id == nullptr) return fail(ACL_ERROR_INVALID_PARAM, "aclrtGetDevice: deviceId is null");
  const Caller caller = ascend_sim::caller("aclrtGetDevice", Manner::Releases);
  if (caller.code != ACL_SUCCESS) return caller.code;
  *device_id = caller.context->device->id;
  return ACL_SUCCESS;
}

aclError aclrtCreateContext(aclrtContext* context, int32_t device_id) {
  if (context == nullptr) return fail(ACL_ERROR_INVALID_PARAM, "aclrtCreateContext: context is null");
  if (const aclError code = require_init("aclrtCreateContext")) return code;
  if (const aclError code = check_device("aclrtCreateContext", device_id)) return code;
  const std::lock_guard lock(runtime().mutex);
  const std::shared_ptr<Device> device = runtime().device_state(device_id).device;
  if (const aclError code = device->lost()) return code;
  const Handle handle = runtime().new_handle();
  auto created = std::make_shared<Context>();
  *created = {handle, device, false, nullptr};
  runtime().contexts[handle] = std::move(created);
  current_handle() = handle;
  *context = handle;
  return ACL_SUCCESS;
}

aclError aclrtDestroyContext(aclrtContext context) {
  if (const aclError code = require_init("aclrtDestroyContext")) return code;
  if (context == nullptr) return fail(ACL_ERROR_INVALID_PARAM, "aclrtDestroyContext: context is null");
  bool has_objects = false;
  {
    const std::lock_guard lock(runtime().mutex);
    const auto found = runtime().contexts.find(context);
    if (found == runtime().contexts.end())
      return fail(kInvalidHandle, "aclrtDestroyContext: there is no such context, or no longer");
    if (found->second->is_default)
      return fail(kInvalidValue, "aclrtDestroyContext: this context is aclrtSetDevice's; aclrtResetDevice ends it");
    for (const auto& [handle, stream] : runtime().streams) has_objects = has_objects || stream.context == context;
    for (const auto& [handle, event] : runtime().events) has_objects = has_objects || event.context == context;
  }
  if (has_objects) report_violation("aclrtDestroyContext before the end of the context's streams and events");
  end_context_objects(context);
  std::shared_ptr<Context> ending;
  const std::lock_guard lock(runtime().mutex);
  const auto found = runtime().contexts.find(context);
  if (found == runtime().contexts.end()) return ACL_SUCCESS;
  ending = found->second;
  runtime().contexts.erase(found);
  return ending->device->lost();
}

aclError aclrtSetCurrentContext(aclrtContext context) {
  if (const aclError code = require_init("aclrtSetCurrentContext")) return code;
  if (context == nullptr) return fail(ACL_ERROR_INVALID_PARAM, "aclrtSetCurrentContext: context is null");
  const std::lock_guard lock(runtime().mutex);
  if (!runtime().contexts.contains(context))
    return fail(kInvalidHandle, "aclrtSetCurrentContext: there is no such context, or no longer");
  current_handle() = context;
  return ACL_SUCCESS;
}

aclError aclrtGetCurrentContext(aclrtContext* context) {
  if (context == nullptr) return fail(ACL_ERROR_INVALID_PARAM, "aclrtGetCurrentContext: context is null");
  const Caller caller = ascend_sim::caller("aclrtGetCurrentContext", Manner::Releases);
  if (caller.code != ACL_SUCCESS) return caller.code;
  *context = caller.context->handle;
  return ACL_SUCCESS;
}
