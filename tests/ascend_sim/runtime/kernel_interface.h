// SPDX-License-Identifier: Apache-2.0
// What libatb needs of libascendcl beyond AscendCL. It is C, because the two may be built for different ABIs of the C++
// library, and no test or program has a use for it.
#pragma once

#include <stddef.h>

#include "acl/acl.h"

// What a kernel reads or writes on the device.
struct AscendSimKernelRange {
  // For sentences: "input 0".
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
  // Runs on the stream's thread with the places of the ranges' bytes; answers 0, or the code that the device fails with.
  // `saturates` is not 0 on a stream that was created while its device was in saturation mode.
  int (*run)(void* argument, void* const* host_addresses, int saturates);
  // Called once, whatever happens, also where launching fails.
  void (*release)(void* argument);
  void* argument;
};

// Puts a kernel on a stream of the thread's current context. A range that is no live memory of the device makes the kernel
// fail with 507015 when its turn comes, as on hardware.
ACL_SIM_API aclError ascend_sim_kernel_launch(aclrtStream stream, const struct AscendSimKernel* kernel);

// Counts a call of this word of ascend_sim_set_faults; 1 and its code if it is to fail.
ACL_SIM_API int ascend_sim_kernel_fault(const char* call, int* code);

ACL_SIM_API void ascend_sim_kernel_violation(const char* sentence);
ACL_SIM_API void ascend_sim_kernel_count(const char* what, const char* name);
ACL_SIM_API void ascend_sim_kernel_track(const void* object, const char* line);
ACL_SIM_API void ascend_sim_kernel_untrack(const void* object);
// The delay of ascend_sim_delay_tasks.
ACL_SIM_API void ascend_sim_kernel_delay(void);

// Memory that is taken of the current device's capacity. The device's number is needed to give it back.
ACL_SIM_API aclError ascend_sim_kernel_reserve(size_t bytes, int32_t* device);
ACL_SIM_API void ascend_sim_kernel_unreserve(size_t bytes, int32_t device);

// Around a call that submits to a stream, which one thread at a time may do; null where there is no such stream.
ACL_SIM_API void* ascend_sim_kernel_enter_stream(aclrtStream stream, const char* what);
ACL_SIM_API void ascend_sim_kernel_leave_stream(void* entered);
