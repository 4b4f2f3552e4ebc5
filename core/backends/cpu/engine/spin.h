// SPDX-License-Identifier: Apache-2.0
// Waiting for a short time without sleeping: to sleep and to be woken takes 5 microseconds and more.
#pragma once

#include <chrono>

#include "platform/cpu_features.h"

namespace heed::cpu {

using SpinClock = std::chrono::steady_clock;

// Returns true as soon as is_over() does, or false after `end`.
template <typename IsOver>
bool spin_until(SpinClock::time_point end, IsOver is_over) {
  // On some processors reading the clock takes as long as one pause, on others as long as ten.
  constexpr int kPausesPerLook = 16;
  while (!is_over()) {
    if (SpinClock::now() >= end) return false;
    for (int i = 0; i < kPausesPerLook && !is_over(); ++i) platform::pause_processor();
  }
  return true;
}

}  // namespace heed::cpu
