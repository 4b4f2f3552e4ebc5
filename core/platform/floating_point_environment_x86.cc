// SPDX-License-Identifier: Apache-2.0
#include "platform/floating_point_environment.h"

namespace heed::platform {
namespace {

// SSE and AVX: all exceptions masked, round to nearest, neither flush-to-zero nor denormals-are-zero.
constexpr uint32_t kDefaultMxcsr = 0x1f80;
// Flush-to-zero and denormals-are-zero.
constexpr uint32_t kFlushed = 0x8040;
constexpr uint32_t kMxcsrFlags = 0x3f;
// x87: all exceptions masked, 64 bits of significand, round to nearest. heed computes nothing on x87, but its control
// word decides how the C library rounds the numbers that it prints and reads.
constexpr uint16_t kDefaultX87 = 0x37f;

// Words of the saved environment.
constexpr int kMxcsr = 0;
constexpr int kIsX87Changed = 1;
constexpr int kX87 = 2;  // 7 words as fnstenv stores them, where the host's control word is not the default

using X87State = uint32_t[7];

uint32_t read_mxcsr() noexcept {
  uint32_t value = 0;
  asm volatile("stmxcsr %0" : "=m"(value) : : "memory");
  return value;
}

void write_mxcsr(uint32_t value) noexcept { asm volatile("ldmxcsr %0" : : "m"(value) : "memory"); }

uint16_t read_x87_control() noexcept {
  uint16_t value = 0;
  asm volatile("fnstcw %0" : "=m"(value) : : "memory");
  return value;
}

void write_x87_control(uint16_t value) noexcept { asm volatile("fldcw %0" : : "m"(value) : "memory"); }

}  // namespace

void FloatingPointEnvironment::enter(Saved& host) noexcept {
  host[kMxcsr] = read_mxcsr();
  host[kIsX87Changed] = read_x87_control() != kDefaultX87 ? 1 : 0;
  // The flags stay as they are: nothing reads them meanwhile.
  if ((host[kMxcsr] & ~kMxcsrFlags) != kDefaultMxcsr) write_mxcsr(kDefaultMxcsr);
  if (host[kIsX87Changed] != 0) {
    // Neither instruction waits for a pending exception: if the host has an unmasked one pending, the trap must occur
    // at the host's own next x87 instruction.
    asm volatile("fnstenv %0\n\tfnclex" : "=m"(*reinterpret_cast<X87State*>(&host[kX87])) : : "memory");
    write_x87_control(kDefaultX87);
  }
}

void FloatingPointEnvironment::leave(const Saved& host) noexcept {
  if (read_mxcsr() != host[kMxcsr]) write_mxcsr(host[kMxcsr]);
  if (host[kIsX87Changed] != 0) {
    asm volatile("fldenv %0" : : "m"(*reinterpret_cast<const X87State*>(&host[kX87])) : "memory");
  } else if (read_x87_control() != kDefaultX87) {
    // A function of the host changed the control word. fnstenv masks all exceptions, so that none traps here.
    X87State dropped;
    asm volatile("fnstenv %0" : "=m"(dropped) : : "memory");
    write_x87_control(kDefaultX87);
  }
}

bool FlushedSubnormals::are_flushed() noexcept { return (read_mxcsr() & kFlushed) == kFlushed; }

void FlushedSubnormals::set(bool is_on) noexcept { write_mxcsr((read_mxcsr() & ~kFlushed) | (is_on ? kFlushed : 0)); }

}  // namespace heed::platform
