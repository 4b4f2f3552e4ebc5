// SPDX-License-Identifier: Apache-2.0
// By CPUID and XGETBV. Not __builtin_cpu_supports: with some runtimes (Zig's, for musl and glibc) it is always 0.
#include "platform/cpu_features_x86.h"

#include <cpuid.h>

#include <atomic>

namespace heed::platform {
namespace {

constexpr uint32_t kOsxsaveBit = 1u << 27;  // of leaf 1, ecx
constexpr uint32_t kAvxBit = 1u << 28;

// Bits of XCR0: XMM and YMM registers; mask registers, upper halves of ZMM 0 to 15, ZMM 16 to 31.
constexpr uint64_t kAvxState = 0x6;
constexpr uint64_t kAvx512State = kAvxState | 0xe0;

// Set in the cached word once it holds the features.
constexpr uint32_t kIsKnown = 1u << 31;

uint64_t read_xcr0() {
  uint32_t low = 0;
  uint32_t high = 0;
  asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return uint64_t{high} << 32 | low;
}

CpuidResult ask_processor() {
  CpuidResult result;
  unsigned a = 0;
  unsigned b = 0;
  unsigned c = 0;
  unsigned d = 0;
  if (__get_cpuid(1, &a, &b, &c, &d) == 0) return result;
  result.leaf1_ecx = c;
  if ((c & kOsxsaveBit) != 0) result.xcr0 = read_xcr0();
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d) == 0) return result;
  result.leaf7_ebx = b;
  result.leaf7_ecx = c;
  const unsigned last_subleaf = a;
  if (last_subleaf >= 1 && __get_cpuid_count(7, 1, &a, &b, &c, &d) != 0) result.leaf7_1_eax = a;
  return result;
}

}  // namespace

CpuFeatures features_of(const CpuidResult& result) noexcept {
  const bool has_avx = (result.leaf1_ecx & kOsxsaveBit) != 0 && (result.leaf1_ecx & kAvxBit) != 0 &&
                       (result.xcr0 & kAvxState) == kAvxState;
  if (!has_avx) return 0;
  CpuFeatures features = 0;
  const auto add = [&features](CpuFeatures feature, uint32_t word, unsigned bit) {
    if ((word >> bit & 1) != 0) features |= feature;
  };
  add(kFma, result.leaf1_ecx, 12);
  add(kF16c, result.leaf1_ecx, 29);
  add(kAvx2, result.leaf7_ebx, 5);
  if ((result.xcr0 & kAvx512State) != kAvx512State) return features;
  add(kAvx512F, result.leaf7_ebx, 16);
  add(kAvx512Dq, result.leaf7_ebx, 17);
  add(kAvx512Bw, result.leaf7_ebx, 30);
  add(kAvx512Vl, result.leaf7_ebx, 31);
  add(kAvx512Vnni, result.leaf7_ecx, 11);
  add(kAvx512Bf16, result.leaf7_1_eax, 5);
  return features;
}

// Read once and cached: in a virtual machine each CPUID traps to the hypervisor, which takes microseconds.
CpuFeatures cpu_features() noexcept {
  static constinit std::atomic<uint32_t> cached = 0;
  uint32_t known = cached.load(std::memory_order_relaxed);
  if (known == 0) {
    known = features_of(ask_processor()) | kIsKnown;
    cached.store(known, std::memory_order_relaxed);
  }
  return known & ~kIsKnown;
}

void pause_processor() noexcept { __builtin_ia32_pause(); }

}  // namespace heed::platform
