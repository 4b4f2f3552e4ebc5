// SPDX-License-Identifier: Apache-2.0
// The floating-point state of a thread that a host may have set: which exceptions trap, how numbers are rounded,
// whether subnormal numbers are flushed, and which exception flags are set.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace heed::capi_test {

// The control and flag bits in the processor's registers.
struct FloatingPointState {
#if defined(__x86_64__)
  uint32_t mxcsr = 0x1f80;
  uint16_t x87_control = 0x37f;
  uint16_t x87_flags = 0;
#else
  uint64_t fpcr = 0;
  uint64_t fpsr = 0;
#endif

  static FloatingPointState of_this_thread() {
    FloatingPointState state;
#if defined(__x86_64__)
    asm volatile("stmxcsr %0" : "=m"(state.mxcsr) : : "memory");
    asm volatile("fnstcw %0" : "=m"(state.x87_control) : : "memory");
    asm volatile("fnstsw %0" : "=m"(state.x87_flags) : : "memory");
    state.x87_flags &= 0x7f;
#else
    asm volatile("mrs %0, fpcr" : "=r"(state.fpcr) : : "memory");
    asm volatile("mrs %0, fpsr" : "=r"(state.fpsr) : : "memory");
#endif
    return state;
  }

  void set_for_this_thread() const {
#if defined(__x86_64__)
    uint32_t x87[7];
    asm volatile("fnclex\n\tfnstenv %0" : "=m"(x87) : : "memory");
    x87[0] = x87_control;
    x87[1] = x87_flags;
    asm volatile("fldenv %0" : : "m"(x87) : "memory");
    asm volatile("ldmxcsr %0" : : "m"(mxcsr) : "memory");
#else
    asm volatile("msr fpcr, %0" : : "r"(fpcr) : "memory");
    asm volatile("msr fpsr, %0" : : "r"(fpsr) : "memory");
#endif
  }

  // The state without the flags.
  FloatingPointState control() const {
    FloatingPointState result = *this;
#if defined(__x86_64__)
    result.mxcsr &= ~uint32_t{0x3f};
    result.x87_flags = 0;
#else
    result.fpsr = 0;
#endif
    return result;
  }

  bool operator==(const FloatingPointState&) const = default;
};

struct NamedState {
  std::string name;
  FloatingPointState state;
};

// Each trap, all traps together, the four roundings, flushing of subnormal numbers, the x87 precisions, and all of
// these at once; each with no flag set, with some, and with all.
inline std::vector<NamedState> states_of_hosts() {
  std::vector<NamedState> controls = {{"the default", {}}};
#if defined(__x86_64__)
  const auto add = [&](const char* name, uint32_t mxcsr, uint32_t x87_control) {
    controls.push_back({name, {.mxcsr = mxcsr, .x87_control = static_cast<uint16_t>(x87_control)}});
  };
  const char* const exceptions[] = {"invalid", "denormal", "division by zero", "overflow", "underflow", "inexact"};
  for (uint32_t i = 0; i < 6; ++i) add(exceptions[i], 0x1f80 & ~(0x80u << i), 0x37f & ~(1u << i));
  add("all traps", 0, 0x340);
  add("downward", 0x1f80 | 1u << 13, 0x37f | 1u << 10);
  add("upward", 0x1f80 | 2u << 13, 0x37f | 2u << 10);
  add("towards zero", 0x1f80 | 3u << 13, 0x37f | 3u << 10);
  add("x87 alone downward", 0x1f80, 0x37f | 1u << 10);
  add("flush to zero", 0x9f80, 0x37f);
  add("denormals are zero", 0x1fc0, 0x37f);
  add("both flushed", 0x9fc0, 0x37f);
  add("x87 in double precision", 0x1f80, 0x27f);
  add("x87 in single precision", 0x1f80, 0x07f);
  add("all at once", 0x8040 | 3u << 13, 0x040 | 2u << 10);
  std::vector<NamedState> states;
  for (const uint32_t flags : {0u, 0x15u, 0x3fu}) {
    for (NamedState named : controls) {
      named.state.mxcsr |= flags;
      named.state.x87_flags = static_cast<uint16_t>(flags);
      named.name += ", flags " + std::to_string(flags);
      states.push_back(named);
    }
  }
#else
  const auto add = [&](const char* name, uint64_t fpcr) { controls.push_back({name, {.fpcr = fpcr, .fpsr = 0}}); };
  add("upward", 1u << 22);
  add("downward", 2u << 22);
  add("towards zero", 3u << 22);
  add("flush to zero", 1u << 24);
  add("default NaN", 1u << 25);
  add("all at once", 3u << 22 | 1u << 24 | 1u << 25);
  std::vector<NamedState> states;
  for (const uint64_t flags : {0x00u, 0x15u, 0x1fu}) {
    for (NamedState named : controls) {
      named.state.fpsr = flags;
      named.name += ", flags " + std::to_string(flags);
      states.push_back(named);
    }
  }
#endif
  return states;
}

// The thread has this state in the object's scope, and the default afterwards. Tests must not compute with floats
// inside.
class InState {
 public:
  explicit InState(const FloatingPointState& state) { state.set_for_this_thread(); }
  InState(const InState&) = delete;
  InState& operator=(const InState&) = delete;
  ~InState() { FloatingPointState{}.set_for_this_thread(); }
};

}  // namespace heed::capi_test
