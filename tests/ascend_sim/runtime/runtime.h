// SPDX-License-Identifier: Apache-2.0
// The state of the process: whether AscendCL is initialised, the devices in use, and the objects behind the handles.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "acl/acl.h"
#include "runtime/errors.h"
#include "runtime/stream.h"

namespace ascend_sim {

// A handle is a number that never was one before and that is no address, so that an object that is used after its end, and
// a handle that is dereferenced, are both noticed.
using Handle = void*;

struct Context {
  Handle handle;
  std::shared_ptr<Device> device;
  // That of the device itself, which aclrtSetDevice makes; not one by aclrtCreateContext.
  bool is_default;
  // For the stream null; its thread begins when it is first used.
  std::shared_ptr<Stream> default_stream;
};

struct StreamObject {
  Handle handle;
  Handle context;
  std::shared_ptr<Stream> stream;
  std::shared_ptr<Device> device;
};

struct EventObject {
  Handle handle;
  Handle context;
  std::shared_ptr<Event> event;
};

class Runtime {
 public:
  std::mutex mutex;
  // How often aclInit was called without an end.
  uint64_t init_count = 0;
  bool was_finalized = false;

  struct DeviceState {
    std::shared_ptr<Device> device;
    uint64_t set_count = 0;
    Handle default_context = nullptr;
  };
  std::map<int32_t, DeviceState> devices;
  std::unordered_map<Handle, std::shared_ptr<Context>> contexts;
  std::unordered_map<Handle, StreamObject> streams;
  std::unordered_map<Handle, EventObject> events;

  Handle new_handle();
  // With `mutex` held.
  DeviceState& device_state(int32_t id);

 private:
  uint64_t num_handles_ = 0;
};

// The only one, never destroyed.
Runtime& runtime();

// This thread's, as it was set; it may have been destroyed since.
Handle& current_handle();

// What nearly every call of the runtime begins with: AscendCL is initialised, the thread has a context, and its device is
// not lost. `code` is 0, or says what is missing.
struct Caller {
  aclError code = ACL_SUCCESS;
  std::shared_ptr<Context> context;
};
// Meets: the call is one that shows a fault of the device (Device::meet); Releases: it goes on where the device is lost.
enum class Manner { Plain, Meets, Releases };
Caller caller(const char* function, Manner manner = Manner::Plain);
aclError require_init(const char* function);

// The stream of a handle for this caller, null for its default stream; or a code.
aclError find_stream(const char* function, const Caller& caller, aclrtStream handle, StreamObject& found);

// Ends the streams and events of a context.
void end_context_objects(Handle context);

// What libatb keeps alive, told by it.
void track(const void* object, const std::string& line);
void untrack(const void* object);

// aclrtSetDevices without an aclrtResetDevice.
uint64_t num_devices_set();

std::vector<std::string> leaks();

}  // namespace ascend_sim
