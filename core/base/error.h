// SPDX-License-Identifier: Apache-2.0
// Failures inside heed: one exception type with a status and one sentence. It is thrown where the fault is found, and
// only the C functions catch it. The sentence is stored in the object, so that reporting "out of memory" allocates
// nothing.
#pragma once

#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <cstdio>

namespace heed {

// Same numbers as heed_status in heed.h; capi/src asserts it.
enum class Status : int32_t {
  Ok = 0,
  InvalidArgument = 1,
  OutOfMemory = 2,
  Unsupported = 3,
  NotInitialized = 4,
  WorkspaceTooSmall = 5,
  Busy = 6,
  Io = 7,
  CorruptFile = 8,
  NotFound = 9,
  CacheFull = 10,
  DeviceUnavailable = 11,
  DeviceLost = 12,
  NotFastest = 13,
  Internal = 14,
  Cancelled = 15,
};

// The size of the buffer behind heed_last_error(); longer sentences are cut.
inline constexpr size_t kErrorCapacity = 512;

struct Error {
  Status status = Status::Internal;
  char text[kErrorCapacity] = "";
};

// Throws an Error. The sentence names the argument, its value, and what was expected. Numbers that are not integers are
// passed as DecimalText with %s, since the text of %g depends on the host's locale.
[[noreturn]] __attribute__((format(printf, 2, 3))) inline void fail(Status status, const char* format, ...) {
  Error error;
  error.status = status;
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(error.text, sizeof error.text, format, arguments);
  va_end(arguments);
  throw error;
}

}  // namespace heed
