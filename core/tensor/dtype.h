// SPDX-License-Identifier: Apache-2.0
// Element types of tensors. Code that differs by element type is a switch that lists every type: when a type is added,
// the compiler refuses each switch without it (tests/structure/check_dtypes.py).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

namespace heed {

enum class DType : int32_t { F32 = 0, F16 = 1, BF16 = 2, F64 = 3, I32 = 4, I64 = 5, I8 = 6, U8 = 7, Bool = 8 };

inline constexpr int32_t kNumDTypes = 9;

// Bytes of one element.
constexpr size_t size_of(DType dtype) {
  switch (dtype) {
    case DType::F64:
    case DType::I64: return 8;
    case DType::F32:
    case DType::I32: return 4;
    case DType::F16:
    case DType::BF16: return 2;
    case DType::I8:
    case DType::U8:
    case DType::Bool: return 1;
  }
  return 0;
}

static_assert(size_of(static_cast<DType>(kNumDTypes - 1)) != 0 && size_of(static_cast<DType>(kNumDTypes)) == 0,
              "kNumDTypes is the number of enumerators of DType");

constexpr bool is_floating(DType dtype) {
  switch (dtype) {
    case DType::F32:
    case DType::F16:
    case DType::BF16:
    case DType::F64: return true;
    case DType::I32:
    case DType::I64:
    case DType::I8:
    case DType::U8:
    case DType::Bool: break;
  }
  return false;
}

// Whether operations take elements of this type as queries, keys, values and parameters, and write them as results.
constexpr bool is_computable(DType dtype) {
  switch (dtype) {
    case DType::F32:
    case DType::F16:
    case DType::BF16: return true;
    case DType::F64:
    case DType::I32:
    case DType::I64:
    case DType::I8:
    case DType::U8:
    case DType::Bool: break;
  }
  return false;
}

constexpr bool is_16_bit(DType dtype) { return dtype == DType::F16 || dtype == DType::BF16; }

// The types of integers in which arithmetic is defined.
constexpr bool is_integer(DType dtype) { return dtype == DType::I32 || dtype == DType::I64; }

// The type in which elements of this type are computed: F16 and BF16 in F32.
constexpr DType compute_dtype(DType dtype) { return is_16_bit(dtype) ? DType::F32 : dtype; }

// The name used in messages and in .safetensors headers, where the two agree for every type that heed has.
constexpr const char* name_of(DType dtype) {
  switch (dtype) {
    case DType::F32: return "F32";
    case DType::F16: return "F16";
    case DType::BF16: return "BF16";
    case DType::F64: return "F64";
    case DType::I32: return "I32";
    case DType::I64: return "I64";
    case DType::I8: return "I8";
    case DType::U8: return "U8";
    case DType::Bool: return "BOOL";
  }
  return "unknown";
}

// The first element type for which is_wanted(dtype) is true.
template <typename Condition>
constexpr std::optional<DType> find_dtype(const Condition& is_wanted) {
  for (int32_t value = 0; value < kNumDTypes; ++value) {
    const auto dtype = static_cast<DType>(value);
    if (is_wanted(dtype)) return dtype;
  }
  return std::nullopt;
}

}  // namespace heed
