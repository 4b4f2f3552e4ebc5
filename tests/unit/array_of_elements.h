// SPDX-License-Identifier: Apache-2.0
// An array of F32, F16 or BF16 in memory of any alignment, for tests of kernels.
#pragma once

#include <cstdint>
#include <vector>

#include "base/half.h"
#include "base/memory.h"
#include "tensor/dtype.h"

namespace heed::cpu {

inline constexpr DType kElementTypes[] = {DType::F32, DType::F16, DType::BF16};

// What the bytes of an output are before it is written.
inline constexpr unsigned char kUntouched = 0x7a;

// Memory that begins `offset` elements after an aligned address, with one unused element on either side.
struct Array {
  Array() = default;
  Array(DType type, int64_t size, int64_t offset) : dtype(type), first(offset + 1) {
    elements.resize(static_cast<size_t>(size + offset + 2) * size_of(type) + kMemoryAlignment);
    const auto address = reinterpret_cast<uintptr_t>(elements.data());
    begin = static_cast<size_t>((kMemoryAlignment - address % kMemoryAlignment) % kMemoryAlignment);
  }

  void* data() { return elements.data() + begin + static_cast<size_t>(first) * size_of(dtype); }
  const void* data() const { return const_cast<Array*>(this)->data(); }

  float at(int64_t i) const {
    if (dtype == DType::F16) return widen(static_cast<const Half*>(data())[i]);
    if (dtype == DType::BF16) return widen(static_cast<const BFloat16*>(data())[i]);
    return static_cast<const float*>(data())[i];
  }
  void set(int64_t i, float value) {
    if (dtype == DType::F16)
      static_cast<Half*>(data())[i] = narrow_to_half(value);
    else if (dtype == DType::BF16)
      static_cast<BFloat16*>(data())[i] = narrow_to_bfloat16(value);
    else
      static_cast<float*>(data())[i] = value;
  }

  DType dtype = DType::F32;
  int64_t first = 0;
  std::vector<unsigned char> elements;
  size_t begin = 0;
};

// The unit round-off.
inline double unit_of(DType dtype) { return dtype == DType::F16 ? 0x1p-11 : dtype == DType::BF16 ? 0x1p-8 : 0x1p-24; }
inline double least_of(DType dtype) { return dtype == DType::F16 ? 0x1p-24 : 0x1p-133; }

}  // namespace heed::cpu
