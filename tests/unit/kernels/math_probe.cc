// SPDX-License-Identifier: Apache-2.0
// Compiled once per ISA, with the flags of its kernels.
#include "math_probe.h"

#include "backends/cpu/kernels/elements-inl.h"

namespace heed::cpu {
namespace HEED_ISA_NAMESPACE {
namespace {

void load_array(const void* from, int32_t type, int64_t count, float* to) {
  const auto* next = static_cast<const char*>(from);
  for (int64_t i = 0; i < count; i += kLanes, next += kLanes * size_of_element(type)) {
    if (i + kLanes <= count)
      store(to + i, load_elements(next, type));
    else
      store_first(to + i, load_first_elements(next, type, count - i), count - i);
  }
}

void store_array(const float* from, int32_t type, int64_t count, void* to) {
  auto* next = static_cast<char*>(to);
  for (int64_t i = 0; i < count; i += kLanes, next += kLanes * size_of_element(type)) {
    if (i + kLanes <= count)
      store_elements(next, type, load(from + i));
    else
      store_first_elements(next, type, load_first(from + i, count - i), count - i);
  }
}

void store_one(float value, int32_t type, void* to) { store_element(static_cast<char*>(to), type, value); }

constexpr MathProbe kProbe = {
    .isa = HEED_ISA_TEXT,
    .lanes = kLanes,
    .load_elements = load_array,
    .store_elements = store_array,
    .store_element = store_one,
};

}  // namespace
}  // namespace HEED_ISA_NAMESPACE

#define HEED_NAMED_PROBE(isa) HEED_MATH_PROBE(isa)
HEED_NAMED_PROBE(HEED_ISA_NAMESPACE) { return HEED_ISA_NAMESPACE::kProbe; }

}  // namespace heed::cpu
