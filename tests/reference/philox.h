// SPDX-License-Identifier: Apache-2.0
// Which weights dropout keeps (rule 11), by Philox 4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2,
// 3", 2011).
#pragma once

#include <array>
#include <cstdint>

namespace heed::reference {

std::array<uint32_t, 4> philox_4x32_10(std::array<uint32_t, 4> counter, std::array<uint32_t, 2> key);

// Whether dropout keeps the weight of batch element b, query head h (0 without heads), query q and key k.
bool dropout_keeps(uint64_t seed, double dropout, int64_t b, int64_t h, int64_t q, int64_t k);

}  // namespace heed::reference
