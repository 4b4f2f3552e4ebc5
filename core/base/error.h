// SPDX-License-Identifier: Apache-2.0
// Failures inside heed: one exception type with a status and one sentence. It is thrown where the fault is found, and
// only the C functions catch it. The sentence is stored in the object, so that reporting "out of memory" allocates
// nothing.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/kept_sentence.h"
#include "base/sentence.h"
#include "base/terms.h"

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

struct Error {
  // Empty sentences. Initializers of the members would copy both buffers from zeros in the library wherever one is made.
  Error() noexcept {
    text[0] = '\0';
    marked[0] = '\0';
  }

  Status status = Status::Internal;
  // The sentence as C says it, and with its terms marked (base/terms.h).
  char text[kErrorCapacity];
  char marked[kMarkedCapacity];

  // The sentence names the argument, its value, and what was expected. Numbers that are not integers are passed as
  // DecimalText with %s, since the text of %g depends on the host's locale. Returns the status.
  __attribute__((format(printf, 3, 4))) Status say(Status said_status, const char* format, ...) noexcept;
  // Of a child: puts a member before the path of each option that the sentence names.
  void add_to_options(const char* member) noexcept;
};

// Throws an Error, which says what say() would.
[[noreturn]] __attribute__((format(printf, 2, 3))) void fail(Status status, const char* format, ...);

}  // namespace heed
