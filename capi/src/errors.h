// SPDX-License-Identifier: Apache-2.0
// The barrier between C++ and C: what a body throws becomes the thread's last error and a status.
#pragma once

#include <heed/heed.h>

#include <utility>

#include "base/error.h"

namespace heed::capi {

// Stores the thread's last error; characters that are not printable ASCII are shown as \xHH.
void set_last_error(Status status, const char* text) noexcept;

// Call inside a catch block: stores the exception being handled, whatever it is, as the last error.
heed_status report_current_exception() noexcept;

// Runs the body of a function that returns a status.
template <typename Body>
heed_status guarded(Body&& body) noexcept {
  try {
    std::forward<Body>(body)();
    return HEED_OK;
  } catch (...) {
    return report_current_exception();
  }
}

// Runs the body of a getter; `on_failure` is what it returns when the body throws.
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
