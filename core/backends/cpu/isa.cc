// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/isa.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "base/shown_text.h"

namespace heed::cpu {
namespace {

bool always() { return true; }

#if defined(__x86_64__)
// By CPUID, since clang 14 does not know the name "f16c".
bool has_f16c() {
  unsigned a = 0;
  unsigned b = 0;
  unsigned c = 0;
  unsigned d = 0;
  return __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & bit_F16C) != 0;
}
// __builtin_cpu_supports asks the processor and, by XGETBV, whether the system saves the registers.
bool has_avx2() { return __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0 && has_f16c(); }
bool has_avx512() {
  return has_avx2() && __builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512bw") != 0 &&
         __builtin_cpu_supports("avx512dq") != 0 && __builtin_cpu_supports("avx512vl") != 0;
}
bool has_avx512_bf16() {
  return has_avx512() && __builtin_cpu_supports("avx512bf16") != 0 && __builtin_cpu_supports("avx512vnni") != 0;
}
#endif

constexpr Isa kIsas[] = {
    {&kPortableKernels, always},
#if defined(__x86_64__)
    {&kAvx2Kernels, has_avx2},
    {&kAvx512Kernels, has_avx512},
    {&kAvx512Bf16Kernels, has_avx512_bf16},
#elif defined(__aarch64__)
    {&kNeonKernels, always},
#endif
};

// Allocates nothing: whoever opens a backend expects no exception.
Status refuse(const char* wish, Error* failure) {
  char printable[kMaxShownText + 1];
  copy_printable(printable, sizeof printable, wish);
  char available[64] = "";
  size_t length = 0;
  for (const Isa& isa : kIsas) {
    if (!isa.is_available()) continue;
    length += static_cast<size_t>(
        std::snprintf(available + length, sizeof available - length, "%s%s", length == 0 ? "" : ", ", isa.name()));
  }
  failure->status = Status::InvalidArgument;
  std::snprintf(failure->text, sizeof failure->text,
                "the environment variable HEED_ISA is \"%s\", expected one of those that this processor has: %s",
                printable, available);
  return failure->status;
}

}  // namespace

std::span<const Isa> isas() { return kIsas; }

const Isa& widest_isa() {
  const Isa* widest = &kIsas[0];
  for (const Isa& isa : kIsas) {
    if (isa.is_available()) widest = &isa;
  }
  return *widest;
}

Status choose_kernels(const KernelTable** kernels, Error* failure) {
  const char* wish = std::getenv("HEED_ISA");
  if (wish == nullptr || wish[0] == '\0') {
    *kernels = widest_isa().kernels;
    return Status::Ok;
  }
  for (const Isa& isa : kIsas) {
    if (std::strcmp(wish, isa.name()) != 0 || !isa.is_available()) continue;
    *kernels = isa.kernels;
    return Status::Ok;
  }
  return refuse(wish, failure);
}

}  // namespace heed::cpu
