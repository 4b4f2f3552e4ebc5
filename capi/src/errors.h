// SPDX-License-Identifier: Apache-2.0
// Converts C++ exceptions to C statuses. An exception in the body of a C function becomes the thread's last error, a
// message to the logger of the function's object, and the function's status.
#pragma once

#include <heed/heed.h>

#include <utility>

#include "base/error.h"
#include "base/last_error.h"
#include "base/logger.h"
#include "handles.h"
#include "platform/floating_point_environment.h"

namespace heed::capi {

// Stores the thread's last error, whose terms are marked; other bytes that are not printable ASCII become \xHH.
void set_last_error(Status status, const char* sentence) noexcept;

// In a catch block: stores the exception that is being handled, of any type, as the thread's last error.
void keep_current_exception() noexcept;

// Call it after the catch block: logs the last error for the C function of that name, and returns its status. Do not
// call it inside the block: the logger may throw an exception of another C++ runtime library than heed's, which cannot
// be caught while heed's own exception is being handled.
heed_status report_last_error(const char* function, const Logger& logger) noexcept;

// Call it before the body runs, since another thread may destroy the handle while the body runs. For NULL it returns a
// logger that drops its messages.
template <typename Handle>
Logger logger_of(const Handle* self) noexcept {
  return self == nullptr ? Logger{} : memory_of(*self).logger();
}

// Not inlined, so that the compiler does not move arithmetic of the body to before or after the switch of the
// floating-point environment.
template <typename Body>
[[gnu::noinline]] void run_apart(Body& body) {
  body();
}

// Runs the body of a function that returns a status, in the default floating-point environment. `function` is __func__;
// `self` is the handle that the function was called with.
template <typename Handle, typename Body>
heed_status guarded(const char* function, const Handle* self, Body&& body) noexcept {
  const platform::FloatingPointEnvironment environment;
  const Logger logger = logger_of(self);
  try {
    run_apart(body);
    return HEED_OK;
  } catch (...) {
    keep_current_exception();
  }
  return report_last_error(function, logger);
}

// The same for a getter. A getter computes nothing, so its body runs in the thread's own floating-point environment.
// Returns `on_failure` if the body throws.
template <typename Result, typename Handle, typename Body>
Result guarded_value(const char* function, const Handle* self, Result on_failure, Body&& body) noexcept {
  const Logger logger = logger_of(self);
  try {
    return std::forward<Body>(body)();
  } catch (...) {
    keep_current_exception();
  }
  // The host's logger runs in the default environment.
  const platform::FloatingPointEnvironment environment;
  report_last_error(function, logger);
  return on_failure;
}

// For functions without an object, and so without a logger.
template <typename Body>
heed_status guarded(Body&& body) noexcept {
  const platform::FloatingPointEnvironment environment;
  try {
    run_apart(body);
    return HEED_OK;
  } catch (...) {
    keep_current_exception();
  }
  return static_cast<heed_status>(last_error().status);
}

template <typename Result, typename Body>
Result guarded_value(Result on_failure, Body&& body) noexcept {
  try {
    return std::forward<Body>(body)();
  } catch (...) {
    keep_current_exception();
    return on_failure;
  }
}

}  // namespace heed::capi
