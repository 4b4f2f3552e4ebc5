// SPDX-License-Identifier: Apache-2.0
#include "runtime/kernel_interface.h"

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/faults.h"
#include "runtime/report.h"
#include "runtime/runtime.h"

using namespace ascend_sim;

namespace {

// Owns the kernel's argument, which is released with the last copy of the task.
using Argument = std::shared_ptr<void>;

std::shared_ptr<Stream> stream_of(aclrtStream handle) {
  const std::lock_guard lock(runtime().mutex);
  const auto found = runtime().streams.find(handle);
  return found == runtime().streams.end() ? nullptr : found->second.stream;
}

}  // namespace

aclError ascend_sim_kernel_launch(aclrtStream stream, const AscendSimKernel* kernel) {
  const Argument argument(kernel->argument, kernel->release);
  const Caller caller = ascend_sim::caller(kernel->name);
  if (caller.code != ACL_SUCCESS) return caller.code;
  StreamObject found;
  if (const aclError code = find_stream(kernel->name, caller, stream, found)) return code;

  Task task;
  task.name = kernel->name;
  std::vector<void*> addresses;
  std::string fault;
  for (size_t i = 0; i < kernel->num_ranges && fault.empty(); ++i) {
    const AscendSimKernelRange& wanted = kernel->ranges[i];
    std::string problem;
    const std::optional<DeviceRange> range = device_memory().find(wanted.device, wanted.bytes, problem);
    if (range) {
      addresses.push_back(range->host);
      task.uses.push_back(device_memory().use({*range, wanted.writes != 0, task.name}));
    } else {
      fault = std::string(" (") + wanted.name + " " + problem + ")";
    }
  }
  const std::optional<int> asked = fault_of(Call::Kernel);
  if (!fault.empty() || asked) {
    task.name += fault;
    task.run = [code = asked.value_or(kKernelException)] { return code; };
  } else {
    task.run = [run = kernel->run, argument, addresses, saturates = found.stream->saturates() ? 1 : 0] {
      return run(argument.get(), addresses.data(), saturates);
    };
  }
  found.stream->submit(std::move(task));
  return ACL_SUCCESS;
}

int ascend_sim_kernel_fault(const char* call, int* code) {
  const std::string_view word = call;
  const Call which = word == "setup"              ? Call::Setup
                     : word == "execute"          ? Call::Execute
                     : word == "create_operation" ? Call::CreateOperation
                     : word == "create_context"   ? Call::CreateContext
                                                  : Call::Throw;
  const std::optional<int> fault = fault_of(which);
  if (fault) *code = *fault;
  return fault ? 1 : 0;
}

void ascend_sim_kernel_violation(const char* sentence) { report_violation(sentence); }

void ascend_sim_kernel_count(const char* what, const char* name) {
  count(what);
  count(std::string(what) + ":" + name);
}

void ascend_sim_kernel_track(const void* object, const char* line) { track(object, line); }

void ascend_sim_kernel_untrack(const void* object) { untrack(object); }

void ascend_sim_kernel_delay() { Stream::sleep_for_delay(); }

aclError ascend_sim_kernel_reserve(size_t bytes, int32_t* device) {
  const Caller caller = ascend_sim::caller("atb::CreateContext");
  if (caller.code != ACL_SUCCESS) return caller.code;
  *device = caller.context->device->id;
  if (device_memory().reserve(bytes, *device)) return ACL_SUCCESS;
  return fail(kOutOfDeviceMemory, "atb::CreateContext: the device has no " + std::to_string(bytes) + " bytes left");
}

void ascend_sim_kernel_unreserve(size_t bytes, int32_t device) { device_memory().unreserve(bytes, device); }

void* ascend_sim_kernel_enter_stream(aclrtStream stream, const char* what) {
  std::shared_ptr<Stream> found = stream_of(stream);
  if (!found) return nullptr;
  found->enter(what);
  return new std::shared_ptr<Stream>(std::move(found));
}

void ascend_sim_kernel_leave_stream(void* entered) {
  const std::unique_ptr<std::shared_ptr<Stream>> stream(static_cast<std::shared_ptr<Stream>*>(entered));
  if (stream) (*stream)->leave();
}
