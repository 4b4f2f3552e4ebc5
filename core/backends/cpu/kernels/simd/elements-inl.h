// SPDX-License-Identifier: Apache-2.0
// Conversion between the storage types of operands and vectors of f32.
#pragma once

#include "backends/cpu/kernels/simd/simd.h"
#include "ops/operand.h"
#include "tensor/dtype.h"

namespace heed::cpu::HEED_ISA_NAMESPACE {
namespace {

// Bytes of an element, for the dtypes that operations compute with.
HEED_INLINE int64_t size_of_element(DType dtype) {
  switch (dtype) {
    case DType::F32: return 4;
    case DType::F16:
    case DType::BF16: return 2;
    // No operation computes with these.
    case DType::F64:
    case DType::I32:
    case DType::I64:
    case DType::I8:
    case DType::U8:
    case DType::Bool: break;
  }
  __builtin_unreachable();
}

// The address of an element of an operand of f32, F16 or BF16.
HEED_INLINE const char* element_address(const Operand& operand, int64_t index) {
  return static_cast<const char*>(operand.data) + index * size_of_element(operand.dtype);
}

// Element types for kernels that are compiled once for each.
struct F16 {
  uint16_t bits;
};
struct BF16 {
  uint16_t bits;
};

HEED_INLINE Vec load(const F16* from) { return load_f16(&from->bits); }
HEED_INLINE Vec load(const BF16* from) { return load_bf16(&from->bits); }

// Loads kLanes contiguous elements.
HEED_INLINE Vec load_elements(const char* from, DType dtype) {
  if (dtype == DType::F32) return load(reinterpret_cast<const float*>(from));
  const auto* halves = reinterpret_cast<const uint16_t*>(from);
  return dtype == DType::F16 ? load_f16(halves) : load_bf16(halves);
}

// Loads the first `count` of kLanes contiguous elements; the other lanes are 0. Reads nothing beyond.
HEED_INLINE Vec load_first_elements(const char* from, DType dtype, int64_t count) {
  if (count >= kLanes) return load_elements(from, dtype);
  if (dtype == DType::F32) return load_first(reinterpret_cast<const float*>(from), count);
  uint16_t halves[kLanes] = {};
  __builtin_memcpy(halves, from, static_cast<size_t>(count) * sizeof(uint16_t));
  return dtype == DType::F16 ? load_f16(halves) : load_bf16(halves);
}

// ---- storing --------------------------------------------------------------------------------------------------------
// Rounds to nearest even. Overflow gives infinity, subnormals are kept. The bits equal those of narrow_to_half and
// narrow_to_bfloat16.

// With integer operations, since AVX-512's instruction for it turns subnormals into 0.
HEED_INLINE HalfVec round_to_bf16(Vec value) {
  const IntVec bits = bits_of(value);
  // Adds half a unit less one, and one more if the last bit is odd. A carry increments the exponent, in the end to
  // infinity.
  return __builtin_convertvector((bits + (0x7fff + ((bits >> 16) & 1))) >> 16, HalfVec);
}

HEED_INLINE HalfVec narrow(Vec value, DType dtype) {
  // NaN keeps its sign but not its other bits, which could round to infinity.
  const IntVec bits = bits_of(value);
  const Vec plain = select(value != value, from_bits((bits & ~0x007fffff) | 0x00400000), value);
  return dtype == DType::F16 ? round_to_f16(plain) : round_to_bf16(plain);
}

// Stores kLanes contiguous elements.
HEED_INLINE void store_elements(char* to, DType dtype, Vec value) {
  if (dtype == DType::F32) return store(reinterpret_cast<float*>(to), value);
  const HalfVec halves = narrow(value, dtype);
  __builtin_memcpy(to, &halves, sizeof halves);
}

// Stores the first `count` of kLanes contiguous elements; writes nothing beyond.
HEED_INLINE void store_first_elements(char* to, DType dtype, Vec value, int64_t count) {
  if (count >= kLanes) return store_elements(to, dtype, value);
  if (dtype == DType::F32) return store_first(reinterpret_cast<float*>(to), value, count);
  const HalfVec halves = narrow(value, dtype);
  __builtin_memcpy(to, &halves, static_cast<size_t>(count) * sizeof(uint16_t));
}

// ---- one by one and in rows -----------------------------------------------------------------------------------------

// One element, widened exactly.
static inline float load_element(const char* from, DType dtype) { return load_first_elements(from, dtype, 1)[0]; }

// Loads kLanes elements, `stride` elements apart.
template <DType type>
HEED_INLINE Vec gather_elements(const char* from, int64_t stride) {
  if constexpr (type == DType::F32) {
    Vec elements{};
#pragma GCC unroll 16
    for (int i = 0; i < kLanes; ++i) elements[i] = reinterpret_cast<const float*>(from)[i * stride];
    return elements;
  } else {
    HalfVec halves{};
#pragma GCC unroll 16
    for (int i = 0; i < kLanes; ++i) halves[i] = reinterpret_cast<const uint16_t*>(from)[i * stride];
    return load_elements(reinterpret_cast<const char*>(&halves), type);
  }
}

// Loads the first `count` of kLanes elements, `stride` elements apart; the other lanes are 0.
static inline Vec gather_first_elements(const char* from, DType dtype, int64_t stride, int64_t count) {
  if (stride == 1) return load_first_elements(from, dtype, count);
  if (count >= kLanes) {
    switch (dtype) {
      case DType::F16: return gather_elements<DType::F16>(from, stride);
      case DType::BF16: return gather_elements<DType::BF16>(from, stride);
      case DType::F32: return gather_elements<DType::F32>(from, stride);
      // No operation computes with these.
      case DType::F64:
      case DType::I32:
      case DType::I64:
      case DType::I8:
      case DType::U8:
      case DType::Bool: break;
    }
    __builtin_unreachable();
  }
  float elements[kLanes] = {};
  for (int64_t i = 0; i < count; ++i) elements[i] = load_element(from + i * stride * size_of_element(dtype), dtype);
  return load(elements);
}

template <DType type>
HEED_INLINE void widen_contiguous(const char* from, int64_t count, float* to) {
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) store(to + i, load_elements(from + i * size_of_element(type), type));
  if (i < count) store(to + i, load_first_elements(from + i * size_of_element(type), type, count - i));
}

// Widens `count` elements, `stride` elements apart, to contiguous f32. Lanes after the last element are written too:
// `to` must have room for whole vectors.
static inline void widen_row(const char* from, DType dtype, int64_t stride, int64_t count, float* to) {
  if (stride != 1) {
    for (int64_t i = 0; i < count; i += kLanes) {
      store(to + i, gather_first_elements(from + i * stride * size_of_element(dtype), dtype, stride,
                                          smaller(kLanes, count - i)));
    }
    return;
  }
  switch (dtype) {
    case DType::F16: return widen_contiguous<DType::F16>(from, count, to);
    case DType::BF16: return widen_contiguous<DType::BF16>(from, count, to);
    case DType::F32: return widen_contiguous<DType::F32>(from, count, to);
    // No operation computes with these.
    case DType::F64:
    case DType::I32:
    case DType::I64:
    case DType::I8:
    case DType::U8:
    case DType::Bool: break;
  }
  __builtin_unreachable();
}

// ---- blocks of rows -------------------------------------------------------------------------------------------------

// For rows whose elements are contiguous from row to row but not within a row: transposes tiles of kLanes elements of
// kLanes rows in registers. All rows of one group of kLanes elements are read before the next group, so that memory is
// read as kLanes streams. `row_step` is 1, or -1 if the rows are stored in reverse order.
template <DType type>
static void transpose_rows(const char* from, int64_t row_step, int64_t element_stride, int64_t num_rows, int64_t width,
                           float* to) {
  const int64_t to_stride = row_stride(width);
  for (int64_t d = 0; d < width; d += kLanes) {
    const int64_t count = smaller(kLanes, width - d);
    for (int64_t row = 0; row < num_rows; row += kLanes) {
      const int64_t rows = smaller(kLanes, num_rows - row);
      const int64_t lowest = row_step < 0 ? -(row + rows - 1) : row;
      const char* address = from + (d * element_stride + lowest) * size_of_element(type);
      float* block = to + row * to_stride + d;
      Vec tile[kLanes];
      if (count == kLanes && rows == kLanes) {
#pragma GCC unroll 16
        for (int i = 0; i < kLanes; ++i)
          tile[i] = load_elements(address + i * element_stride * size_of_element(type), type);
        transpose(tile);
        const int64_t step = row_step < 0 ? -to_stride : to_stride;
        float* first = row_step < 0 ? block + (kLanes - 1) * to_stride : block;
#pragma GCC unroll 16
        for (int i = 0; i < kLanes; ++i) store(first + i * step, tile[i]);
        continue;
      }
      for (int64_t i = 0; i < kLanes; ++i) {
        tile[i] =
            i < count ? load_first_elements(address + i * element_stride * size_of_element(type), type, rows) : Vec{};
      }
      transpose(tile);
      for (int64_t i = 0; i < rows; ++i) store(block + (row_step < 0 ? rows - 1 - i : i) * to_stride, tile[i]);
    }
  }
}

// For rows whose elements are contiguous in neither direction: gathers them one by one, in the order of transpose_rows.
template <DType type>
static void gather_rows(const char* from, int64_t stride, int64_t element_stride, int64_t num_rows, int64_t width,
                        float* to) {
  for (int64_t d = 0; d < width; d += kLanes) {
    const int64_t count = smaller(kLanes, width - d);
    for (int64_t row = 0; row < num_rows; ++row) {
      const char* address = from + (row * stride + d * element_stride) * size_of_element(type);
      store(to + row * row_stride(width) + d, count == kLanes
                                                  ? gather_elements<type>(address, element_stride)
                                                  : gather_first_elements(address, type, element_stride, count));
    }
  }
}

template <DType type>
static void widen_rows_of(const char* from, int64_t stride, int64_t element_stride, int64_t num_rows, int64_t width,
                          float* to) {
  if (element_stride == 1 || width <= 1) {
    for (int64_t row = 0; row < num_rows; ++row)
      widen_contiguous<type>(from + row * stride * size_of_element(type), width, to + row * row_stride(width));
  } else if (stride == 1 || stride == -1) {
    transpose_rows<type>(from, stride, element_stride, num_rows, width, to);
  } else {
    gather_rows<type>(from, stride, element_stride, num_rows, width, to);
  }
}

// Widens num_rows rows of `width` elements to f32, [num_rows][row_stride(width)]. Rows are `stride` elements apart, the
// elements of a row `element_stride` elements apart.
static inline void widen_rows(const char* from, DType dtype, int64_t stride, int64_t element_stride, int64_t num_rows,
                              int64_t width, float* to) {
  switch (dtype) {
    case DType::F16: return widen_rows_of<DType::F16>(from, stride, element_stride, num_rows, width, to);
    case DType::BF16: return widen_rows_of<DType::BF16>(from, stride, element_stride, num_rows, width, to);
    case DType::F32: return widen_rows_of<DType::F32>(from, stride, element_stride, num_rows, width, to);
    // No operation computes with these.
    case DType::F64:
    case DType::I32:
    case DType::I64:
    case DType::I8:
    case DType::U8:
    case DType::Bool: break;
  }
  __builtin_unreachable();
}

// Stores the first `count` lanes, `stride` elements apart; writes nothing else.
static inline void scatter_first_elements(char* to, DType dtype, int64_t stride, Vec value, int64_t count) {
  if (dtype == DType::F32) {
    float elements[kLanes];
    store(elements, value);
    for (int64_t i = 0; i < count; ++i) reinterpret_cast<float*>(to)[i * stride] = elements[i];
    return;
  }
  uint16_t elements[kLanes];
  const HalfVec halves = narrow(value, dtype);
  __builtin_memcpy(elements, &halves, sizeof halves);
  for (int64_t i = 0; i < count; ++i) reinterpret_cast<uint16_t*>(to)[i * stride] = elements[i];
}

// Narrows contiguous f32 to elements `stride` elements apart; reads and writes only `count` elements.
static inline void narrow_row(const float* from, int64_t count, char* to, DType dtype, int64_t stride) {
  const int64_t size = size_of_element(dtype);
  for (int64_t i = 0; i < count; i += kLanes) {
    const int64_t num = smaller(kLanes, count - i);
    const Vec value = load_first(from + i, num);
    if (stride == 1)
      store_first_elements(to + i * size, dtype, value, num);
    else
      scatter_first_elements(to + i * stride * size, dtype, stride, value, num);
  }
}

}  // namespace
}  // namespace heed::cpu::HEED_ISA_NAMESPACE
