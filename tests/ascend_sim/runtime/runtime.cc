// SPDX-License-Identifier: Apache-2.0
#include "runtime/runtime.h"

#include <algorithm>

#include "ascend_sim/control.h"
#include "runtime/faults.h"
#include "runtime/pinned_memory.h"
#include "runtime/report.h"

namespace ascend_sim {
namespace {

struct Tracked {
  std::mutex mutex;
  std::map<const void*, std::string> lines;
};

Tracked& tracked() {
  static Tracked& tracked = *new Tracked;
  return tracked;
}

// Handles begin at a number that is no address of a process on today's 64-bit systems.
constexpr uintptr_t kFirstHandle = uintptr_t{1} << 62;

}  // namespace

Runtime& runtime() {
  static Runtime& runtime = *new Runtime;
  return runtime;
}

Handle& current_handle() {
  thread_local Handle handle = nullptr;
  return handle;
}

Handle Runtime::new_handle() {
  ++num_handles_;
  return reinterpret_cast<Handle>(kFirstHandle + 16 * num_handles_);
}

Runtime::DeviceState& Runtime::device_state(int32_t id) {
  DeviceState& state = devices[id];
  if (!state.device) state.device = std::make_shared<Device>(id);
  return state;
}

aclError require_init(const char* function) {
  const std::lock_guard lock(runtime().mutex);
  if (runtime().init_count > 0) return ACL_SUCCESS;
  return fail(ACL_ERROR_UNINITIALIZE, std::string(function) + " before aclInit");
}

Caller caller(const char* function, Manner manner) {
  Caller caller;
  caller.code = require_init(function);
  if (caller.code != ACL_SUCCESS) return caller;
  {
    const std::lock_guard lock(runtime().mutex);
    const auto found = runtime().contexts.find(current_handle());
    if (found != runtime().contexts.end()) caller.context = found->second;
  }
  if (!caller.context) {
    caller.code = fail(kNoCurrentContext, std::string(function) +
                                              ": this thread has no current context; call aclrtSetDevice or "
                                              "aclrtSetCurrentContext on it");
    return caller;
  }
  if (manner == Manner::Meets) caller.code = caller.context->device->meet();
  if (manner == Manner::Plain) caller.code = caller.context->device->lost();
  return caller;
}

aclError find_stream(const char* function, const Caller& caller, aclrtStream handle, StreamObject& found) {
  const std::lock_guard lock(runtime().mutex);
  if (handle == nullptr) {
    Context& context = *caller.context;
    if (!context.default_stream) context.default_stream = std::make_shared<Stream>(context.device);
    found = {nullptr, context.handle, context.default_stream, context.device};
    return ACL_SUCCESS;
  }
  const auto object = runtime().streams.find(handle);
  if (object == runtime().streams.end())
    return fail(kInvalidHandle, std::string(function) + ": there is no such stream, or no longer");
  if (object->second.context != caller.context->handle)
    return fail(kOfAnotherContext, std::string(function) + ": the stream belongs to another context than the thread's");
  found = object->second;
  return ACL_SUCCESS;
}

void end_context_objects(Handle context) {
  // Ending a stream waits for its work, which may need the mutex: it must not be held.
  std::vector<StreamObject> ending;
  {
    const std::lock_guard lock(runtime().mutex);
    for (auto next = runtime().streams.begin(); next != runtime().streams.end();) {
      if (next->second.context == context) {
        ending.push_back(next->second);
        next = runtime().streams.erase(next);
      } else {
        ++next;
      }
    }
    std::erase_if(runtime().events, [context](const auto& event) { return event.second.context == context; });
  }
}

void track(const void* object, const std::string& line) {
  const std::lock_guard lock(tracked().mutex);
  tracked().lines[object] = line;
}

void untrack(const void* object) {
  const std::lock_guard lock(tracked().mutex);
  tracked().lines.erase(object);
}

uint64_t num_devices_set() {
  const std::lock_guard lock(runtime().mutex);
  uint64_t sum = 0;
  for (const auto& [id, device] : runtime().devices) sum += device.set_count;
  return sum;
}

std::vector<std::string> leaks() {
  std::vector<std::string> lines;
  {
    const std::lock_guard lock(runtime().mutex);
    for (const auto& [handle, context] : runtime().contexts) {
      if (!context->is_default) lines.push_back("context of device " + std::to_string(context->device->id));
    }
    lines.insert(lines.end(), runtime().streams.size(), "stream");
    lines.insert(lines.end(), runtime().events.size(), "event");
  }
  {
    const std::lock_guard lock(tracked().mutex);
    for (const auto& [object, line] : tracked().lines) lines.push_back(line);
  }
  for (auto& line : device_memory().leaks()) lines.push_back(std::move(line));
  for (auto& line : pinned_memory().leaks()) lines.push_back(std::move(line));
  return lines;
}

}  // namespace ascend_sim

size_t ascend_sim_leaks(char* text, size_t capacity) {
  const std::vector<std::string> lines = ascend_sim::leaks();
  ascend_sim::write_lines(lines, text, capacity);
  return lines.size();
}
