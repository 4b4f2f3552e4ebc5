// SPDX-License-Identifier: Apache-2.0
// What libatb needs from libascendcl beyond AscendCL. It is C, because the two libraries may be built for different
// ABIs of the C++ library. Tests and programs do not use it.
#pragma once

#include <stddef.h>

#include "acl/acl.h"

// Device memory that a kernel reads or writes.
struct AscendSimKernelRange {
  // For error sentences, such as "input 0".
  const char* name;
  const void* device;
  size_t bytes;
  int writes;
};

struct AscendSimKernel {
  // GetName() of the operation.
  const char* name;
  const struct AscendSimKernelRange* ranges;
  size_t num_ranges;
  // Runs in the stream's thread, with the hidden addresses of the ranges. Returns 0, or the code with which the device
  // fails. `saturates` is not 0 on a stream that was created while its device was in saturation mode.
  int (*run)(void* argument, void* const* host_addresses, int saturates);
  // Called exactly once, even if the launch fails.
  void (*release)(void* argument);
  void* argument;
};

// Queues a kernel on a stream of the thread's current context. If a range is not live device memory, the kernel fails
// with 507015 when it runs, as on hardware.
ACL_SIM_API aclError ascend_sim_kernel_launch(aclrtStream stream, const struct AscendSimKernel* kernel);

// Counts a call that ascend_sim_set_faults knows by this word. Returns 1 and sets the code if the call must fail.
ACL_SIM_API int ascend_sim_kernel_fault(const char* call, int* code);

ACL_SIM_API void ascend_sim_kernel_violation(const char* sentence);
ACL_SIM_API void ascend_sim_kernel_count(const char* what, const char* name);
ACL_SIM_API void ascend_sim_kernel_track(const void* object, const char* line);
ACL_SIM_API void ascend_sim_kernel_untrack(const void* object);
// Sleeps for the delay of ascend_sim_delay_tasks.
ACL_SIM_API void ascend_sim_kernel_delay(void);

// Takes memory from the current device's capacity. `device` receives the device's number, with which it is given back.
ACL_SIM_API aclError ascend_sim_kernel_reserve(size_t bytes, int32_t* device);
ACL_SIM_API void ascend_sim_kernel_unreserve(size_t bytes, int32_t device);

// Called before and after a call that submits to a stream, which one thread at a time may do. Returns null if there is
// no such stream.
ACL_SIM_API void* ascend_sim_kernel_enter_stream(aclrtStream stream, const char* what);
ACL_SIM_API void ascend_sim_kernel_leave_stream(void* entered);
