// SPDX-License-Identifier: Apache-2.0
// The headers of AscendCL and ATB, and the heed error for each of their codes.
//
// All types and functions are the vendor's, documented with CANN (AscendCL, "acl/acl.h") and with ATB ("Ascend
// Transformer Boost", "atb/atb_infer.h"). This code compiles against their headers, and against those of
// tests/ascend_sim.
#pragma once

#include <acl/acl.h>

#include <cstdio>
#include <cstdlib>  // before ATB's headers, which use malloc and free without it

#include <atb/atb_infer.h>

#include "base/error.h"

namespace heed::ascend {

// Codes of AscendCL that heed handles each in its own way; the numbers are those of its documentation.
inline constexpr aclError kNotInitialized = 100001;
inline constexpr aclError kRepeatedInitialize = 100002;
inline constexpr aclError kNoContext = 107002;
inline constexpr aclError kOutOfDeviceMemory = 207001;
inline constexpr aclError kOutOfDeviceMemoryOnDevice = 207018;
inline constexpr aclError kOutOfHostMemory = 200000;
inline constexpr aclError kNotSupported = 207000;

// Whether the code says that a kernel or the device failed, so that everything on the device is lost. The device
// survives the codes between these ranges: an event is not complete, or a kernel is unknown.
inline bool is_device_failure(aclError code) {
  struct Range {
    aclError first;
    aclError last;
  };
  constexpr Range kFailures[] = {
      {107020, 107020},  // a task timed out
      {107022, 107023},  // the device's tasks, or the stream's, were aborted
      {507000, 507001},  // the runtime or the task scheduler failed
      {507010, 507018},  // no heartbeat or report; timeout, exception or trap of an AI core
      {507033, 507036},  // the device did not start; timeout or exception of a vector core
      {507042, 507057},  // access out of bounds, no answer, memory error, broken link
      {507899, 507901},  // the driver or the AI CPU failed, or the host's connection to the device
      {507914, 507916},  // codes of later releases for a lost device
  };
  for (const Range& failures : kFailures) {
    if (code >= failures.first && code <= failures.last) return true;
  }
  return false;
}

// AscendCL's message about the last failure in this thread, as ": ..."; empty if there is none. AscendCL clears it when
// it is read.
class RecentMessage {
 public:
  RecentMessage() {
    if (const char* message = aclGetRecentErrMsg(); message != nullptr && *message != '\0')
      std::snprintf(text_, sizeof text_, ": %s", message);
  }
  const char* text() const { return text_; }

 private:
  char text_[192] = "";
};

[[noreturn]] inline void fail_device_full(int code, const char* what) {
  fail(Status::OutOfMemory,
       "the Ascend device has no memory left (%s failed with %d): expected fewer or smaller " WORD(
           "tensors") ", or a device that other processes leave more of",
       what, code);
}

[[noreturn]] inline void fail_host_full(int code, const char* what) {
  fail(Status::OutOfMemory, "the host has no memory left (%s failed with %d): expected fewer or smaller objects", what,
       code);
}

// Throws the heed error for a failed call of AscendCL. `what` names the function, such as "aclrtMalloc of 100 bytes".
// For a lost device, Npu catches the error and throws its own (Npu::watched).
[[noreturn]] inline void fail_acl(aclError code, const char* what) {
  if (code == kOutOfDeviceMemory || code == kOutOfDeviceMemoryOnDevice) fail_device_full(code, what);
  if (code == kOutOfHostMemory) fail_host_full(code, what);
  if (is_device_failure(code)) fail(Status::DeviceLost, "%s gives %d%s", what, code, RecentMessage().text());
  fail(Status::Internal, "%s failed with %d, for which heed knows no reason%s", what, code, RecentMessage().text());
}

// The same for ATB. It has no function that gives a message: reasons are only in its log.
[[noreturn]] inline void fail_atb(atb::Status code, const char* what) {
  if (code == atb::ERROR_OUT_OF_DEVICE_MEMORY) fail_device_full(code, what);
  if (code == atb::ERROR_OUT_OF_HOST_MEMORY) fail_host_full(code, what);
  fail(Status::Internal,
       "%s failed with ATB's status %d, for which heed knows no reason: set ASCEND_SLOG_PRINT_TO_STDOUT=1 and "
       "ASCEND_GLOBAL_LOG_LEVEL=1 to see ATB's own",
       what, code);
}

}  // namespace heed::ascend
