// SPDX-License-Identifier: Apache-2.0
#include <cstring>

#include "platform/floating_point_environment.h"

namespace heed::platform {
namespace {

struct Registers {
  uint64_t control;
  uint64_t status;
};

// Flushes numbers that are read and results.
constexpr uint64_t kFlushed = uint64_t{1} << 24;

uint64_t read_control() noexcept {
  uint64_t value = 0;
  asm volatile("mrs %0, fpcr" : "=r"(value) : : "memory");
  return value;
}

// In the default environment all bits of the control register are 0.
void write_control(uint64_t value) noexcept { asm volatile("msr fpcr, %0" : : "r"(value) : "memory"); }

}  // namespace

void FloatingPointEnvironment::enter(Saved& host) noexcept {
  static_assert(sizeof(Registers) <= sizeof host);
  Registers registers;
  registers.control = read_control();
  asm volatile("mrs %0, fpsr" : "=r"(registers.status) : : "memory");
  std::memcpy(&host, &registers, sizeof registers);
  if (registers.control != 0) write_control(0);
}

void FloatingPointEnvironment::leave(const Saved& host) noexcept {
  Registers registers;
  std::memcpy(&registers, &host, sizeof registers);
  if (read_control() != registers.control) write_control(registers.control);
  uint64_t value = 0;
  asm volatile("mrs %0, fpsr" : "=r"(value) : : "memory");
  if (value != registers.status) asm volatile("msr fpsr, %0" : : "r"(registers.status) : "memory");
}

bool FlushedSubnormals::are_flushed() noexcept { return (read_control() & kFlushed) != 0; }

void FlushedSubnormals::set(bool is_on) noexcept {
  write_control((read_control() & ~kFlushed) | (is_on ? kFlushed : 0));
}

}  // namespace heed::platform
