// SPDX-License-Identifier: Apache-2.0
// Features of the processor.
#pragma once

#include <cstdint>

namespace heed::platform {

// Instruction sets beyond the baseline of the build, as bits. Bits of other processors are never set.
using CpuFeatures = uint32_t;
inline constexpr CpuFeatures kAvx2 = 1u << 0;
inline constexpr CpuFeatures kFma = 1u << 1;
inline constexpr CpuFeatures kF16c = 1u << 2;
inline constexpr CpuFeatures kAvx512F = 1u << 3;
inline constexpr CpuFeatures kAvx512Bw = 1u << 4;
inline constexpr CpuFeatures kAvx512Dq = 1u << 5;
inline constexpr CpuFeatures kAvx512Vl = 1u << 6;
inline constexpr CpuFeatures kAvx512Bf16 = 1u << 7;
inline constexpr CpuFeatures kAvx512Vnni = 1u << 8;

// A feature is set if the processor has it and the operating system saves its registers.
CpuFeatures cpu_features() noexcept;

inline bool has_cpu_features(CpuFeatures features) noexcept { return (cpu_features() & features) == features; }

// Call it in a loop that waits for a write of another processor: it gives the other hardware thread of the core more
// cycles, and saves power. Takes 40 to 140 cycles on x86.
void pause_processor() noexcept;

}  // namespace heed::platform
