// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/isa.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "base/shown_text.h"

namespace heed::cpu {
namespace {

struct Isa {
  const KernelTable* kernels;
  bool (*is_supported)();
};

bool always() { return true; }

#if defined(__x86_64__)
// __builtin_cpu_supports asks the processor and, by XGETBV, whether the system saves the registers.
bool has_avx2() {
  return __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0 &&
         __builtin_cpu_supports("f16c") != 0;
}
bool has_avx512() {
  return has_avx2() && __builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512bw") != 0 &&
         __builtin_cpu_supports("avx512dq") != 0 && __builtin_cpu_supports("avx512vl") != 0;
}
bool has_avx512_bf16() {
  return has_avx512() && __builtin_cpu_supports("avx512bf16") != 0 && __builtin_cpu_supports("avx512vnni") != 0;
}
#endif

// From the narrowest to the widest.
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

Status refuse(const char* wish, Error* failure) {
  char available[64] = "";
  size_t length = 0;
  for (const Isa& isa : kIsas) {
    if (!isa.is_supported()) continue;
    length += static_cast<size_t>(std::snprintf(available + length, sizeof available - length, "%s%s",
                                                length == 0 ? "" : ", ", isa.kernels->isa));
  }
  failure->status = Status::InvalidArgument;
  std::snprintf(failure->text, sizeof failure->text,
                "the environment variable HEED_ISA is \"%s\", expected one of those that this processor has: %s",
                shown(wish).c_str(), available);
  return failure->status;
}

}  // namespace

const KernelTable& best_kernels() {
  const auto* best =
      std::find_if(std::rbegin(kIsas), std::rend(kIsas), [](const Isa& isa) { return isa.is_supported(); }).base() - 1;
  return *best->kernels;
}

Status choose_kernels(const KernelTable** kernels, Error* failure) {
  const char* wish = std::getenv("HEED_ISA");
  if (wish == nullptr || wish[0] == 0) {
    *kernels = &best_kernels();
    return Status::Ok;
  }
  for (const Isa& isa : kIsas) {
    if (std::strcmp(wish, isa.kernels->isa) != 0 || !isa.is_supported()) continue;
    *kernels = isa.kernels;
    return Status::Ok;
  }
  return refuse(wish, failure);
}

}  // namespace heed::cpu
