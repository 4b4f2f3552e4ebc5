// SPDX-License-Identifier: Apache-2.0
// Controls for tests of the simulated NPU: set faults, hold it, and ask what happened. All of this is C, may be called
// from any thread, before and after aclInit, and does not exist on real hardware: code under test must not use it.
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
#define ASCEND_SIM_API extern "C" __attribute__((visibility("default")))
#else
#define ASCEND_SIM_API __attribute__((visibility("default")))
#endif

// ---- faults ---------------------------------------------------------------------------------------------------------
// Replaces all faults by those of `list`, which are separated by commas. n counts calls from 1, beginning now. Several of one by commas; n counts calls from 1, from this moment on. Several of one
// kind are allowed. A fault happens once, if nothing else is said.
//
//   device_count=N          aclrtGetDeviceCount gives N, and devices from N on do not exist             (default 1)
//   soc=NAME                aclrtGetSocName returns NAME                                      (default Ascend910B4)
//   driver=missing          aclInit fails with 500004
//   memory=BYTES            a device's capacity for all allocations, with their spare bytes          (default 8 GiB)
//   malloc=n                the n-th aclrtMalloc fails with 207001
//   malloc_host=n           the n-th aclrtMallocHost fails with 207001
//   memcpy=n:CODE           the n-th of aclrtMemcpy, aclrtMemcpyAsync, aclrtMemset and aclrtMemsetAsync fails with CODE
//   memset=n                the n-th aclrtMemsetAsync finds no host memory and fails with 207001
//   create_stream=n:CODE    the n-th aclrtCreateStream(WithConfig) fails with CODE
//   saturation=n:CODE       the n-th of aclrtSetDeviceSatMode and aclrtGetDeviceSatMode fails with CODE
//   kernel=n:CODE           the n-th kernel that an operation queues on a stream fails there with the AscendCL code CODE: the
//                           next synchronisation or copy returns CODE, and the device is lost
//   create_context=n:CODE   the n-th atb::CreateContext returns the ATB code CODE
//   create_operation=n:CODE, setup=n:CODE, execute=n:CODE    the same for these calls of ATB
//   throw=n                 the n-th Operation::Setup throws std::bad_alloc
//
// An empty list, or NULL, removes all faults. A list that cannot be read is a mistake of the test: the process prints a
// sentence to stderr and aborts.
// A process begins with the list in the environment variable ASCEND_SIM_FAULTS.
ASCEND_SIM_API void ascend_sim_set_faults(const char* list);

// The same as an empty list.
ASCEND_SIM_API void ascend_sim_clear_faults(void);

// Both write one line for each entry to `text`, at most `capacity` bytes including the final zero, and return the
// number of all entries. `text` may be NULL if capacity is 0.

// Live objects: AscendCL's contexts, streams and events that were created (not a device's default ones), ATB's contexts
// and operations, device memory and page-locked host memory, each with text that identifies it.
ASCEND_SIM_API size_t ascend_sim_leaks(char* text, size_t capacity);

// Everything that happened here and would be undefined behaviour on real hardware: memory freed while queued work uses
// it, an overwritten guard, an object used by two threads at once, shapes that ATB does not check but the kernel relies
// on.
ASCEND_SIM_API size_t ascend_sim_violations(char* text, size_t capacity);
ASCEND_SIM_API void ascend_sim_clear_violations(void);

// How often something happened since the process began; for the last three, the current number:
//   malloc free memcpy_h2d memcpy_d2h memcpy_d2d memcpy_h2h memset synchronize     calls of AscendCL that succeeded
//   memset_host_bytes                               bytes of host memory that aclrtMemsetAsync allocated; its copies count as copies
//   create_operation setup execute                                                 calls of ATB that succeeded
//   create_operation:NAME setup:NAME execute:NAME        the same, of operations for which GetName() returns NAME
//   bytes_allocated                                              bytes requested by aclrtMalloc and not freed yet
//   violations                                                                     as ascend_sim_violations returns
//   devices_set                                    calls of aclrtSetDevice minus those of aclrtResetDevice, all devices
// Anything else is 0.
ASCEND_SIM_API uint64_t ascend_sim_count(const char* what);

// With 1, no stream begins another task until the call with 0; running tasks are finished. A synchronisation waits
// meanwhile, and so does destroying a stream that has work.
ASCEND_SIM_API void ascend_sim_hold_workers(int hold);

// Every task of a stream, and every Setup and Execute of ATB, first sleeps this long.
ASCEND_SIM_API void ascend_sim_delay_tasks(unsigned microseconds);

// The hidden address of the bytes at a device address; NULL if no allocation is there. A host may not write there, or
// read there while work is queued: only simulated kernels may. This is for tests that examine the device's memory.
ASCEND_SIM_API const void* ascend_sim_host_address(const void* device);
