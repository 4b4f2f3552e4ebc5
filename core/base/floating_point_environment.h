// SPDX-License-Identifier: Apache-2.0
// The floating-point environment that heed computes in, whatever the host has set for its thread: round to nearest,
// exceptions raise flags and trap nothing, subnormal numbers are kept, and x87's registers have their full precision.
//
// It is entered at each call of the C interface, so it costs a few nanoseconds: the control words are read, and written
// only where they differ. <cfenv> would store and load the whole of x87's state each time.
#pragma once

#include <cstdint>

#if !defined(__x86_64__) && !defined(__aarch64__)
#include <cfenv>
#endif

namespace heed {

// The default environment for the thread that makes the object, until its scope ends; then the thread has its own again,
// with the exception flags that it had. What is computed belongs into functions that are not inlined into the scope,
// since compilers move arithmetic across the switch.
class FloatingPointEnvironment {
 public:
  FloatingPointEnvironment() noexcept { enter(); }
  FloatingPointEnvironment(const FloatingPointEnvironment&) = delete;
  FloatingPointEnvironment& operator=(const FloatingPointEnvironment&) = delete;
  ~FloatingPointEnvironment() { leave(); }

 private:
#if defined(__x86_64__)
  // SSE and AVX: all exceptions masked, to nearest, neither flush-to-zero nor denormals-are-zero.
  static constexpr uint32_t kDefaultMxcsr = 0x1f80;
  static constexpr uint32_t kMxcsrFlags = 0x3f;
  // x87: all exceptions masked, 64 bits of significand, to nearest. heed computes nothing on it, but its control word
  // decides how the C library rounds the numbers that it prints and reads.
  static constexpr uint16_t kDefaultX87 = 0x37f;

  void enter() noexcept {
    mxcsr_ = read_mxcsr();
    is_x87_changed_ = read_x87_control() != kDefaultX87;
    // The flags are left as they are: nothing reads them meanwhile.
    if ((mxcsr_ & ~kMxcsrFlags) != kDefaultMxcsr) write_mxcsr(kDefaultMxcsr);
    if (is_x87_changed_) {
      // Neither waits for an exception: the host may have one pending that it traps, which must come to it at its own
      // next instruction of x87.
      asm volatile("fnstenv %0\n\tfnclex" : "=m"(x87_) : : "memory");
      write_x87_control(kDefaultX87);
    }
  }

  void leave() noexcept {
    if (read_mxcsr() != mxcsr_) write_mxcsr(mxcsr_);
    if (is_x87_changed_) {
      asm volatile("fldenv %0" : : "m"(x87_) : "memory");
    } else if (read_x87_control() != kDefaultX87) {
      // A function of the host left another one. fnstenv masks all exceptions, so that none is pending.
      asm volatile("fnstenv %0" : "=m"(x87_) : : "memory");
      write_x87_control(kDefaultX87);
    }
  }

  static uint32_t read_mxcsr() noexcept {
    uint32_t value = 0;
    asm volatile("stmxcsr %0" : "=m"(value) : : "memory");
    return value;
  }
  static void write_mxcsr(uint32_t value) noexcept { asm volatile("ldmxcsr %0" : : "m"(value) : "memory"); }
  static uint16_t read_x87_control() noexcept {
    uint16_t value = 0;
    asm volatile("fnstcw %0" : "=m"(value) : : "memory");
    return value;
  }
  static void write_x87_control(uint16_t value) noexcept { asm volatile("fldcw %0" : : "m"(value) : "memory"); }

  uint32_t mxcsr_;
  bool is_x87_changed_;
  uint32_t x87_[7];  // the host's state where it is changed, as fnstenv stores it
#elif defined(__aarch64__)
  // All bits 0 are the default of the control register.
  void enter() noexcept {
    asm volatile("mrs %0, fpcr" : "=r"(control_) : : "memory");
    asm volatile("mrs %0, fpsr" : "=r"(status_) : : "memory");
    if (control_ != 0) write_control(0);
  }

  void leave() noexcept {
    uint64_t value = 0;
    asm volatile("mrs %0, fpcr" : "=r"(value) : : "memory");
    if (value != control_) write_control(control_);
    asm volatile("mrs %0, fpsr" : "=r"(value) : : "memory");
    if (value != status_) asm volatile("msr fpsr, %0" : : "r"(status_) : "memory");
  }

  static void write_control(uint64_t value) noexcept { asm volatile("msr fpcr, %0" : : "r"(value) : "memory"); }

  uint64_t control_;
  uint64_t status_;
#else
  void enter() noexcept {
    std::fegetenv(&host_);
    std::fesetenv(FE_DFL_ENV);
  }
  void leave() noexcept { std::fesetenv(&host_); }

  std::fenv_t host_;
#endif
};

}  // namespace heed
