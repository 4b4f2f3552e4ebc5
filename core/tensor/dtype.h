// SPDX-License-Identifier: Apache-2.0
// Element types of tensors.
#pragma once

#include <cstddef>
#include <cstdint>

namespace heed {

// Same numbers as heed_dtype in heed.h; capi/src asserts it.
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

constexpr bool is_floating(DType dtype) {
  return dtype == DType::F32 || dtype == DType::F16 || dtype == DType::BF16 || dtype == DType::F64;
}

// The name used in messages and in .safetensors headers, where the two agree for every type heed has.
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

}  // namespace heed
