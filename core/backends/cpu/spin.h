// SPDX-License-Identifier: Apache-2.0
// Waiting awake, for a short time: sleeping and being woken takes some 5 microseconds and more.
#pragma once

#include <chrono>

namespace heed::cpu {

// Lets the other thread of the core, and the core that writes what is waited for, go ahead.
inline void pause_in_spin() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("isb" ::: "memory");
#endif
}

using SpinClock = std::chrono::steady_clock;

// Until is_over(), or else until `end`; whether it came to be over.
template <typename IsOver>
bool spin_until(SpinClock::time_point end, IsOver is_over) {
  // Reading the clock takes about as long as a pause on some processors and as ten on others.
  constexpr int kPausesPerLook = 16;
  while (!is_over()) {
    if (SpinClock::now() >= end) return false;
    for (int i = 0; i < kPausesPerLook && !is_over(); ++i) pause_in_spin();
  }
  return true;
}

}  // namespace heed::cpu
