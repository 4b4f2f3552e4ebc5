// SPDX-License-Identifier: Apache-2.0
// The floating-point environment that heed computes in, whatever the host has set for its thread: round to nearest,
// exceptions raise flags and trap nothing, subnormal numbers are kept, and x87's registers have their full precision.
//
// Every call of the C interface enters it, so this must take only a few nanoseconds: the control words are read, and
// written only if they differ. <cfenv> would store and load the whole state of x87 each time.
#pragma once

#include <cstdint>

namespace heed::platform {

// Sets the default environment for the calling thread until the scope ends; then the thread has its former environment
// again, with the exception flags that it had. Arithmetic has to be in functions that are not inlined into the scope,
// since compilers move arithmetic across the switch.
class FloatingPointEnvironment {
 public:
  FloatingPointEnvironment() noexcept { enter(host_); }
  FloatingPointEnvironment(const FloatingPointEnvironment&) = delete;
  FloatingPointEnvironment& operator=(const FloatingPointEnvironment&) = delete;
  ~FloatingPointEnvironment() { leave(host_); }

 private:
  // The host's environment; each processor's file has its own layout.
  static constexpr int kMaxWords = 10;
  using Saved = uint32_t[kMaxWords];

  static void enter(Saved& host) noexcept;
  static void leave(const Saved& host) noexcept;

  alignas(8) Saved host_;
};

// Until the scope ends, the calling thread takes subnormal numbers as 0, those that it reads and those that would be results;
// then it does what it did before. Only in the scope of a FloatingPointEnvironment, and with the same rule for arithmetic.
class FlushedSubnormals {
 public:
  // With false the scope changes nothing.
  explicit FlushedSubnormals(bool is_on) noexcept : is_on_(is_on && !are_flushed()) {
    if (is_on_) set(true);
  }
  FlushedSubnormals(const FlushedSubnormals&) = delete;
  FlushedSubnormals& operator=(const FlushedSubnormals&) = delete;
  ~FlushedSubnormals() {
    if (is_on_) set(false);
  }

  // Whether the calling thread is in such a scope.
  static bool are_flushed() noexcept;

 private:
  static void set(bool is_on) noexcept;

  bool is_on_;
};

}  // namespace heed::platform
