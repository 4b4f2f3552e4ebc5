// SPDX-License-Identifier: Apache-2.0
// The state of the process: whether AscendCL is initialised, the devices in use, and the objects that handles stand
// for.
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

// A handle is a number that is never reused and is not an address. So the simulator notices a handle whose object has
// ended, and a handle that is dereferenced.
using Handle = void*;

struct Context {
  Handle handle;
  std::shared_ptr<Device> device;
  // Whether this is the device's default context, of aclrtSetDevice, and not one of aclrtCreateContext.
  bool is_default;
  // The stream that a null handle stands for. Its thread starts at the first use.
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
  // Calls of aclInit that have not been ended.
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
  // Needs `mutex`.
  DeviceState& device_state(int32_t id);

 private:
  uint64_t num_handles_ = 0;
};

// The only instance, never destroyed.
Runtime& runtime();

// The context that this thread has set. It may have been destroyed since.
Handle& current_handle();

// The check at the beginning of nearly every call of the runtime: AscendCL is initialised, the thread has a context,
// and its device is not lost. `code` is 0 or the error.
struct Caller {
  aclError code = ACL_SUCCESS;
  std::shared_ptr<Context> context;
};
// Meets: the call reports a fault of the device (Device::meet). Releases: the call works on a lost device too.
enum class Manner { Plain, Meets, Releases };
Caller caller(const char* function, Manner manner = Manner::Plain);
aclError require_init(const char* function);

// Finds the stream of a handle; a null handle stands for the caller's default stream. Returns an error code if there is
// none.
aclError find_stream(const char* function, const Caller& caller, aclrtStream handle, StreamObject& found);

// Ends the streams and events of a context.
void end_context_objects(Handle context);

// Live objects of libatb, which it registers here.
void track(const void* object, const std::string& line);
void untrack(const void* object);

// Calls of aclrtSetDevice that no aclrtResetDevice has ended.
uint64_t num_devices_set();

std::vector<std::string> leaks();

}  // namespace ascend_sim
