// SPDX-License-Identifier: Apache-2.0
// The simulator's declarations of AscendCL's runtime: devices, contexts, streams, events, memory. README.md states what
// each function refuses, and with which code.
#pragma once

#include "acl/acl_base.h"

#define ACL_EVENT_SYNC 0x00000001U
#define ACL_EVENT_TIME_LINE 0x00000008U

#define ACL_STREAM_FAST_LAUNCH 0x00000001U
#define ACL_STREAM_FAST_SYNC 0x00000002U

// NOLINTBEGIN(modernize-use-using)
typedef enum aclrtRunMode { ACL_DEVICE, ACL_HOST } aclrtRunMode;

typedef enum aclrtEventRecordedStatus {
  ACL_EVENT_RECORDED_STATUS_NOT_READY = 0,
  ACL_EVENT_RECORDED_STATUS_COMPLETE = 1
} aclrtEventRecordedStatus;

typedef enum aclrtMemcpyKind {
  ACL_MEMCPY_HOST_TO_HOST,
  ACL_MEMCPY_HOST_TO_DEVICE,
  ACL_MEMCPY_DEVICE_TO_HOST,
  ACL_MEMCPY_DEVICE_TO_DEVICE,
  ACL_MEMCPY_DEFAULT
} aclrtMemcpyKind;

typedef enum aclrtMemMallocPolicy {
  ACL_MEM_MALLOC_HUGE_FIRST,
  ACL_MEM_MALLOC_HUGE_ONLY,
  ACL_MEM_MALLOC_NORMAL_ONLY,
  ACL_MEM_MALLOC_HUGE_FIRST_P2P,
  ACL_MEM_MALLOC_HUGE_ONLY_P2P,
  ACL_MEM_MALLOC_NORMAL_ONLY_P2P,
  ACL_MEM_MALLOC_HUGE1G_ONLY
} aclrtMemMallocPolicy;

typedef enum aclrtMemAttr {
  ACL_DDR_MEM,
  ACL_HBM_MEM,
  ACL_DDR_MEM_HUGE,
  ACL_DDR_MEM_NORMAL,
  ACL_HBM_MEM_HUGE,
  ACL_HBM_MEM_NORMAL
} aclrtMemAttr;

// What happens to floating-point results that are not finite. SATURATION: infinities become the largest finite number,
// NaN becomes 0. INFNAN: as in IEEE 754.
typedef enum aclrtFloatOverflowMode {
  ACL_RT_OVERFLOW_MODE_SATURATION = 0,
  ACL_RT_OVERFLOW_MODE_INFNAN = 1,
  ACL_RT_OVERFLOW_MODE_UNDEF = 2
} aclrtFloatOverflowMode;
// NOLINTEND(modernize-use-using)

// ---- the process ----------------------------------------------------------------------------------------------------
ACL_SIM_API aclError aclInit(const char* configPath);
ACL_SIM_API aclError aclFinalize(void);
ACL_SIM_API aclError aclFinalizeReference(uint64_t* refCount);
// A sentence about this thread's last failed call, or null. Reading it clears it. Valid until the thread's next call.
ACL_SIM_API const char* aclGetRecentErrMsg(void);

// ---- devices and contexts -------------------------------------------------------------------------------------------
ACL_SIM_API aclError aclrtSetDevice(int32_t deviceId);
ACL_SIM_API aclError aclrtResetDevice(int32_t deviceId);
ACL_SIM_API aclError aclrtResetDeviceForce(int32_t deviceId);
ACL_SIM_API aclError aclrtGetDevice(int32_t* deviceId);
ACL_SIM_API aclError aclrtGetDeviceCount(uint32_t* count);
ACL_SIM_API aclError aclrtGetRunMode(aclrtRunMode* runMode);
// The overflow mode of the device of the thread's current context. Streams take the mode when they are created.
ACL_SIM_API aclError aclrtSetDeviceSatMode(aclrtFloatOverflowMode mode);
ACL_SIM_API aclError aclrtGetDeviceSatMode(aclrtFloatOverflowMode* mode);
ACL_SIM_API aclError aclrtSynchronizeDevice(void);
ACL_SIM_API aclError aclrtCreateContext(aclrtContext* context, int32_t deviceId);
ACL_SIM_API aclError aclrtDestroyContext(aclrtContext context);
ACL_SIM_API aclError aclrtSetCurrentContext(aclrtContext context);
ACL_SIM_API aclError aclrtGetCurrentContext(aclrtContext* context);

// ---- streams and events ---------------------------------------------------------------------------------------------
ACL_SIM_API aclError aclrtCreateStream(aclrtStream* stream);
ACL_SIM_API aclError aclrtCreateStreamWithConfig(aclrtStream* stream, uint32_t priority, uint32_t flag);
ACL_SIM_API aclError aclrtDestroyStream(aclrtStream stream);
ACL_SIM_API aclError aclrtDestroyStreamForce(aclrtStream stream);
ACL_SIM_API aclError aclrtSynchronizeStream(aclrtStream stream);
ACL_SIM_API aclError aclrtSynchronizeStreamWithTimeout(aclrtStream stream, int32_t timeout);
ACL_SIM_API aclError aclrtStreamWaitEvent(aclrtStream stream, aclrtEvent event);
ACL_SIM_API aclError aclrtCreateEvent(aclrtEvent* event);
ACL_SIM_API aclError aclrtCreateEventWithFlag(aclrtEvent* event, uint32_t flag);
ACL_SIM_API aclError aclrtDestroyEvent(aclrtEvent event);
ACL_SIM_API aclError aclrtRecordEvent(aclrtEvent event, aclrtStream stream);
ACL_SIM_API aclError aclrtQueryEventStatus(aclrtEvent event, aclrtEventRecordedStatus* status);
ACL_SIM_API aclError aclrtSynchronizeEvent(aclrtEvent event);
ACL_SIM_API aclError aclrtEventElapsedTime(float* ms, aclrtEvent startEvent, aclrtEvent endEvent);

// ---- memory ---------------------------------------------------------------------------------------------------------
ACL_SIM_API aclError aclrtMalloc(void** devPtr, size_t size, aclrtMemMallocPolicy policy);
ACL_SIM_API aclError aclrtFree(void* devPtr);
ACL_SIM_API aclError aclrtMallocHost(void** hostPtr, size_t size);
ACL_SIM_API aclError aclrtFreeHost(void* hostPtr);
ACL_SIM_API aclError aclrtMemcpy(void* dst, size_t destMax, const void* src, size_t count, aclrtMemcpyKind kind);
ACL_SIM_API aclError aclrtMemcpyAsync(void* dst, size_t destMax, const void* src, size_t count, aclrtMemcpyKind kind,
                                      aclrtStream stream);
ACL_SIM_API aclError aclrtMemset(void* devPtr, size_t maxCount, int32_t value, size_t count);
ACL_SIM_API aclError aclrtMemsetAsync(void* devPtr, size_t maxCount, int32_t value, size_t count, aclrtStream stream);
ACL_SIM_API aclError aclrtGetMemInfo(aclrtMemAttr attr, size_t* free, size_t* total);
