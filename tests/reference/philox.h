// SPDX-License-Identifier: Apache-2.0
// Which weights dropout keeps (rule 11), from Philox 4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", 2011).
#pragma once

#include <array>
#include <cstdint>

namespace heed::reference {

std::array<uint32_t, 4> philox_4x32_10(std::array<uint32_t, 4> counter, std::array<uint32_t, 2> key);

// Whether the weight of key k for query q of head h (the query head; 0 where there are none) and batch item b is kept.
bool dropout_keeps(uint64_t seed, double dropout, int64_t b, int64_t h, int64_t q, int64_t k);

}  // namespace heed::reference
