// SPDX-License-Identifier: Apache-2.0
// The barrier between C++ and C: what a body throws becomes the thread's last error, a message to the logger of the
// object whose call it is, and a status.
#pragma once

#include <heed/heed.h>

#include <utility>

#include "base/error.h"
#include "base/logger.h"
#include "handles.h"
#include "platform/floating_point_environment.h"

namespace heed::capi {

// Stores the thread's last error; characters that are not printable ASCII are shown as \xHH.
void set_last_error(Status status, const char* text) noexcept;

// Call inside a catch block: stores the exception being handled, whatever it is, as the last error, and logs it for the
// C function of that name.
heed_status report_current_exception(const char* function = "", const Logger& logger = {}) noexcept;

// To be asked for before the body runs, since another thread may destroy the handle meanwhile. Silence for NULL.
template <typename Handle>
Logger logger_of(const Handle* self) noexcept {
  return self == nullptr ? Logger{} : memory_of(*self).logger();
}

// A function of its own, so that the compiler moves no arithmetic of the body before or behind the switch of the
// floating-point environment.
template <typename Body>
[[gnu::noinline]] void run_apart(Body& body) {
  body();
}

// Runs the body of a function that returns a status, in the default floating-point environment. `function` is __func__,
// `self` the handle whose function it is.
template <typename Handle, typename Body>
heed_status guarded(const char* function, const Handle* self, Body&& body) noexcept {
  const platform::FloatingPointEnvironment environment;
  const Logger logger = logger_of(self);
  try {
    run_apart(body);
    return HEED_OK;
  } catch (...) {
    return report_current_exception(function, logger);
  }
}

// The same for a getter, which computes nothing and so runs in the thread's own environment; `on_failure` is what it
// returns when the body throws.
template <typename Result, typename Handle, typename Body>
Result guarded_value(const char* function, const Handle* self, Result on_failure, Body&& body) noexcept {
  const Logger logger = logger_of(self);
  try {
    return std::forward<Body>(body)();
  } catch (...) {
    // For the host's logger.
    const platform::FloatingPointEnvironment environment;
    report_current_exception(function, logger);
    return on_failure;
  }
}

// Functions that belong to no object, and so have no logger.
template <typename Body>
heed_status guarded(Body&& body) noexcept {
  const platform::FloatingPointEnvironment environment;
  try {
    run_apart(body);
    return HEED_OK;
  } catch (...) {
    return report_current_exception();
  }
}

template <typename Result, typename Body>
Result guarded_value(Result on_failure, Body&& body) noexcept {
  try {
    return std::forward<Body>(body)();
  } catch (...) {
    report_current_exception();
    return on_failure;
  }
}

}  // namespace heed::capi
