// SPDX-License-Identifier: Apache-2.0
// How a failure travels inside heed: one exception type with a status and one sentence, thrown where the fault is seen
// and caught only at the C functions. The sentence lives in the object, so that reporting "out of memory" needs no
// memory of its own.
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
};

// Longer sentences are cut; the buffer is what heed_last_error() can hold.
inline constexpr size_t kErrorCapacity = 512;

struct Error {
  Status status = Status::Internal;
  char text[kErrorCapacity] = "";
};

// Throws an Error. The sentence names the argument, what it was and what was expected.
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
