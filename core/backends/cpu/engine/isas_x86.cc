// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/engine/isa.h"

namespace heed::cpu {
namespace {

constexpr platform::CpuFeatures kAvx2Needs = platform::kAvx2 | platform::kFma | platform::kF16c;
constexpr platform::CpuFeatures kAvx512Needs =
    kAvx2Needs | platform::kAvx512F | platform::kAvx512Bw | platform::kAvx512Dq | platform::kAvx512Vl;
constexpr platform::CpuFeatures kAvx512Bf16Needs = kAvx512Needs | platform::kAvx512Bf16 | platform::kAvx512Vnni;

constexpr Isa kIsas[] = {
    {&kPortableKernels, 0},
    {&kAvx2Kernels, kAvx2Needs},
    {&kAvx512Kernels, kAvx512Needs},
    {&kAvx512Bf16Kernels, kAvx512Bf16Needs},
};

}  // namespace

std::span<const Isa> isas() { return kIsas; }

}  // namespace heed::cpu
