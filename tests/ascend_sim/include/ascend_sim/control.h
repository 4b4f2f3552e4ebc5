// SPDX-License-Identifier: Apache-2.0
// How a test steers the simulated NPU and asks what happened on it. All of this is C, may be called from any thread, with
// or without aclInit, and has no counterpart on real hardware: code under test must not know of it.
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
#define ASCEND_SIM_API extern "C" __attribute__((visibility("default")))
#else
#define ASCEND_SIM_API __attribute__((visibility("default")))
#endif

// ---- faults ---------------------------------------------------------------------------------------------------------
// Replaces all faults by those of `list`, separated by commas; n counts calls from 1, from this moment on. Several of one
// kind are allowed. Unless said otherwise a fault happens once.
//
//   device_count=N          aclrtGetDeviceCount answers N, and devices from N on do not exist           (default 1)
//   soc=NAME                aclrtGetSocName answers NAME                                      (default Ascend910B4)
//   driver=missing          aclInit fails with 500004
//   memory=BYTES            what all allocations of a device may come to, with their spare bytes     (default 8 GiB)
//   malloc=n                the n-th aclrtMalloc fails with 207001
//   malloc_host=n           the n-th aclrtMallocHost fails with 207001
//   memcpy=n:CODE           the n-th of aclrtMemcpy, aclrtMemcpyAsync, aclrtMemset and aclrtMemsetAsync fails with CODE
//   memset=n                the n-th aclrtMemsetAsync finds no memory of the host's and fails with 207001
//   create_stream=n:CODE    the n-th aclrtCreateStream(WithConfig) fails with CODE
//   saturation=n:CODE       the n-th of aclrtSetDeviceSatMode and aclrtGetDeviceSatMode fails with CODE
//   kernel=n:CODE           the n-th kernel that an operation puts on a stream fails there with the AscendCL code CODE: the
//                           next synchronisation or copy answers CODE, and the device is lost
//   create_context=n:CODE   the n-th atb::CreateContext answers the ATB code CODE
//   create_operation=n:CODE, setup=n:CODE, execute=n:CODE    the same for these calls of ATB
//   throw=n                 the n-th Operation::Setup lets std::bad_alloc out of ATB
//
// An empty list, or NULL, removes them all. A list that cannot be read is a test's mistake: a sentence on stderr, and abort.
// The environment variable ASCEND_SIM_FAULTS holds the list that a process begins with.
ASCEND_SIM_API void ascend_sim_set_faults(const char* list);

// The same as an empty list.
ASCEND_SIM_API void ascend_sim_clear_faults(void);

// ---- reports --------------------------------------------------------------------------------------------------------
// Both write at most `capacity` bytes with the final zero, a line each, to `text`, which may be NULL with capacity 0, and
// return how many lines there are in all.

// What is alive: AscendCL's contexts, streams and events that were created (not the defaults of a device), ATB's contexts
// and operations, device memory and page-locked host memory, each with what tells it from others.
ASCEND_SIM_API size_t ascend_sim_leaks(char* text, size_t capacity);

// What real hardware answers with undefined behaviour and happened here: memory freed while queued work uses it, a guard
// that was overwritten, an object used by two threads at once, shapes that ATB does not check but the kernel relies on.
ASCEND_SIM_API size_t ascend_sim_violations(char* text, size_t capacity);
ASCEND_SIM_API void ascend_sim_clear_violations(void);

// How often something happened since the process began, or, for the last three, how much there is now:
//   malloc free memcpy_h2d memcpy_d2h memcpy_d2d memcpy_h2h memset synchronize     calls of AscendCL that succeeded
//   memset_host_bytes                               what aclrtMemsetAsync took of the host's memory; its copies count as such
//   create_operation setup execute                                                 calls of ATB that succeeded
//   create_operation:NAME setup:NAME execute:NAME        of those, the ones of operations whose GetName() is NAME
//   bytes_allocated                                                                what live aclrtMallocs asked for
//   violations                                                                     as ascend_sim_violations counts them
//   devices_set                                              aclrtSetDevices without an aclrtResetDevice, of all devices
// Anything else is 0.
ASCEND_SIM_API uint64_t ascend_sim_count(const char* what);

// ---- time -----------------------------------------------------------------------------------------------------------
// With 1 no stream begins another task until the call with 0. What runs when it is called is finished first.
// Whoever synchronises meanwhile waits; so does the destruction of a stream with work in it.
ASCEND_SIM_API void ascend_sim_hold_workers(int hold);

// Each task of a stream, and each Setup and Execute of ATB, takes this long before it does anything.
ASCEND_SIM_API void ascend_sim_delay_tasks(unsigned microseconds);

// ---- memory ---------------------------------------------------------------------------------------------------------
// Where the bytes at a device address really are, or NULL where no allocation is. Writing there, or reading while work is
// queued, is what a simulated kernel may do and a host may not; this is for tests that look behind the curtain.
ASCEND_SIM_API const void* ascend_sim_host_address(const void* device);
