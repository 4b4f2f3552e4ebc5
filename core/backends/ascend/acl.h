// SPDX-License-Identifier: Apache-2.0
// AscendCL and ATB for this folder, and what their codes mean to a caller of heed.
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

// Codes of AscendCL that are told apart; the numbers are those of its documentation.
inline constexpr aclError kNotInitialized = 100001;
inline constexpr aclError kRepeatedInitialize = 100002;
inline constexpr aclError kNoContext = 107002;
inline constexpr aclError kOutOfDeviceMemory = 207001;
inline constexpr aclError kOutOfDeviceMemoryOnDevice = 207018;
inline constexpr aclError kOutOfHostMemory = 200000;
// From here to kLastDeviceFailure a kernel or the device itself has failed, and the device's state is lost with it.
inline constexpr aclError kFirstDeviceFailure = 507000;
inline constexpr aclError kLastDeviceFailure = 507999;

inline bool is_device_failure(aclError code) { return code >= kFirstDeviceFailure && code <= kLastDeviceFailure; }

// What AscendCL says of this thread's last failure beyond the number, as ": ..."; empty where it says nothing.
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
       "the Ascend device has no memory left (%s failed with %d): expected fewer or smaller tensors, or a device that "
       "other processes leave more of",
       what, code);
}

[[noreturn]] inline void fail_host_full(int code, const char* what) {
  fail(Status::OutOfMemory, "the host has no memory left (%s failed with %d): expected fewer or smaller objects", what,
       code);
}

// Throws what a failed call of AscendCL means. `what` is the function, as "aclrtMalloc of 100 bytes". That a device is
// lost is said further by Npu, whose it is.
[[noreturn]] inline void fail_acl(aclError code, const char* what) {
  if (code == kOutOfDeviceMemory || code == kOutOfDeviceMemoryOnDevice) fail_device_full(code, what);
  if (code == kOutOfHostMemory) fail_host_full(code, what);
  if (is_device_failure(code)) fail(Status::DeviceLost, "%s gives %d%s", what, code, RecentMessage().text());
  fail(Status::Internal, "%s failed with %d, for which heed knows no reason%s", what, code, RecentMessage().text());
}

// The same for ATB, which gives no text: its reasons are in its log alone.
[[noreturn]] inline void fail_atb(atb::Status code, const char* what) {
  if (code == atb::ERROR_OUT_OF_DEVICE_MEMORY) fail_device_full(code, what);
  if (code == atb::ERROR_OUT_OF_HOST_MEMORY) fail_host_full(code, what);
  fail(Status::Internal,
       "%s failed with ATB's status %d, for which heed knows no reason: set ASCEND_SLOG_PRINT_TO_STDOUT=1 and "
       "ASCEND_GLOBAL_LOG_LEVEL=1 to see ATB's own",
       what, code);
}

}  // namespace heed::ascend
