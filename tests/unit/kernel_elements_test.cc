// SPDX-License-Identifier: Apache-2.0
// The kernels' loads and stores of elements against base/half.h, on every ISA.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <utility>
#include <vector>

#include "backends/cpu/kernels/attention/attention.h"
#include "base/half.h"
#include "kernel_probes.h"

namespace heed::cpu {
namespace {

class KernelElements : public testing::TestWithParam<MathProbe> {};

float widened(DType type, uint16_t bits) { return type == DType::F16 ? widen(Half{bits}) : widen(BFloat16{bits}); }
uint16_t narrowed(DType type, float value) {
  return type == DType::F16 ? narrow_to_half(value).bits : narrow_to_bfloat16(value).bits;
}

std::vector<uint16_t> all_halves() {
  std::vector<uint16_t> halves(0x10000);
  for (size_t bits = 0; bits < halves.size(); ++bits) halves[bits] = static_cast<uint16_t>(bits);
  return halves;
}

TEST_P(KernelElements, WidenEveryNumberExactly) {
  const std::vector<uint16_t> halves = all_halves();
  std::vector<float> floats(halves.size());
  for (const DType type : {DType::F16, DType::BF16}) {
    GetParam().load_elements(halves.data(), type, std::ssize(halves), floats.data());
    for (size_t i = 0; i < halves.size(); ++i) {
      const float expected = widened(type, halves[i]);
      if (std::isnan(expected)) {
        ASSERT_TRUE(std::isnan(floats[i])) << i;
        ASSERT_EQ(std::signbit(floats[i]), std::signbit(expected)) << i;
      } else {
        ASSERT_EQ(std::bit_cast<uint32_t>(floats[i]), std::bit_cast<uint32_t>(expected)) << i;
      }
    }
  }
}

// Every number of the format, the middle between it and the next, and the floats next to both; and floats of all
// magnitudes.
std::vector<float> floats_to_narrow(DType type) {
  std::vector<float> floats;
  const auto add = [&](float value) {
    const uint32_t bits = std::bit_cast<uint32_t>(value);
    for (const uint32_t neighbour : {bits - 1, bits, bits + 1}) floats.push_back(std::bit_cast<float>(neighbour));
  };
  for (const uint16_t half : all_halves()) {
    const float value = widened(type, half);
    add(value);
    if (!std::isfinite(value)) continue;
    // The middle is exact in f32, which has at least 13 more bits. Half a unit of F16 is the same for subnormals and
    // for 2^-14.
    const int exponent = value == 0 ? -1000 : std::ilogb(value);
    const int least = type == DType::F16 ? -14 : -126;
    const int unit = std::max(exponent, least) - (type == DType::F16 ? 10 : 7);
    add(static_cast<float>(static_cast<double>(value) + std::copysign(std::ldexp(0.5, unit), value)));
  }
  for (uint32_t i = 0; i < 200000; ++i) floats.push_back(std::bit_cast<float>(i * 2654435761U));
  return floats;
}

TEST_P(KernelElements, NarrowToTheBitsOfTheBase) {
  for (const DType type : {DType::F16, DType::BF16}) {
    const std::vector<float> floats = floats_to_narrow(type);
    std::vector<uint16_t> halves(floats.size());
    GetParam().store_elements(floats.data(), type, std::ssize(floats), halves.data());
    for (size_t i = 0; i < floats.size(); ++i) {
      ASSERT_EQ(halves[i], narrowed(type, floats[i])) << std::hexfloat << floats[i] << " type " << name_of(type);
      if (i % 101 != 0) continue;
      uint16_t one = 0;
      GetParam().store_element(floats[i], type, &one);
      ASSERT_EQ(one, halves[i]);
    }
  }
}

TEST_P(KernelElements, StoresOfAnyCountAndAlignmentWriteOnlyTheirElements) {
  constexpr unsigned char kGuard = 0xA5;
  const int64_t most = int64_t{3} * GetParam().lanes;
  for (const DType type : {DType::F32, DType::F16, DType::BF16}) {
    const int64_t size = type == DType::F32 ? 4 : 2;
    for (int64_t count = 0; count <= most; ++count) {
      for (const int64_t offset : {0, 1, 3}) {  // in elements
        std::vector<float> floats(static_cast<size_t>(offset + count));
        for (size_t i = 0; i < floats.size(); ++i) floats[i] = static_cast<float>(i) - 3.5F;
        std::vector<unsigned char> bytes(static_cast<size_t>((offset + count) * size + 64), kGuard);
        GetParam().store_elements(floats.data() + offset, type, count, bytes.data() + offset * size);
        for (int64_t i = 0; i < offset * size; ++i) ASSERT_EQ(bytes[static_cast<size_t>(i)], kGuard);
        for (size_t i = static_cast<size_t>((offset + count) * size); i < bytes.size(); ++i)
          ASSERT_EQ(bytes[i], kGuard);

        // An array of exactly `count` elements, so that the address sanitizer finds reads after its end.
        const std::vector<unsigned char> stored(bytes.begin() + offset * size, bytes.begin() + (offset + count) * size);
        std::vector<float> back(static_cast<size_t>(count));
        GetParam().load_elements(stored.data(), type, count, back.data());
        for (int64_t i = 0; i < count; ++i) {
          ASSERT_EQ(back[static_cast<size_t>(i)], floats[static_cast<size_t>(offset + i)]) << count << " at " << i;
        }
      }
    }
  }
}

TEST_P(KernelElements, F32KeepsItsBits) {
  const std::vector<float> floats = floats_to_narrow(DType::BF16);
  std::vector<float> stored(floats.size());
  GetParam().store_elements(floats.data(), DType::F32, std::ssize(floats), stored.data());
  EXPECT_EQ(std::memcmp(stored.data(), floats.data(), floats.size() * sizeof(float)), 0);
}

// Memory that ends where the strides end. The element at index i of the memory is the number i % 251 - 125; `first` is
// the index of element (0, 0).
struct Elements {
  std::vector<unsigned char> bytes;
  int64_t first;
};

Elements elements_of(DType type, int64_t stride, int64_t element_stride, int64_t num_rows, int64_t width) {
  int64_t lowest = 0;
  int64_t highest = 0;
  for (const auto& [step, count] : {std::pair(stride, num_rows), std::pair(element_stride, width)})
    (step < 0 ? lowest : highest) += step * (count - 1);
  const int64_t size = type == DType::F32 ? 4 : 2;
  Elements elements = {std::vector<unsigned char>(static_cast<size_t>((highest - lowest + 1) * size)), -lowest};
  for (int64_t i = 0; i <= highest - lowest; ++i) {
    // Exact in every type.
    const auto number = static_cast<float>(i % 251 - 125);
    const uint16_t half = type == DType::F32 ? uint16_t{0} : narrowed(type, number);
    std::memcpy(elements.bytes.data() + i * size, type == DType::F32 ? static_cast<const void*>(&number) : &half,
                static_cast<size_t>(size));
  }
  return elements;
}

// Elements contiguous along a row, along a column in either direction, and neither; counts and widths near multiples of
// a vector.
TEST_P(KernelElements, RowsOfAnyStridesAreWidenedIntoABlock) {
  constexpr float kGuard = 12345.0F;
  const int64_t lanes = GetParam().lanes;
  for (const DType type : {DType::F32, DType::F16, DType::BF16}) {
    const int64_t size = type == DType::F32 ? 4 : 2;
    for (const int64_t width : {int64_t{1}, lanes - 1, lanes, lanes + 1, 2 * lanes + 3}) {
      for (const int64_t num_rows : {int64_t{1}, lanes - 1, lanes, lanes + 1, 3 * lanes + 2}) {
        const int64_t row_size = width + 2;
        const int64_t column_size = num_rows + 3;
        const std::pair<int64_t, int64_t> strides[] = {
            {row_size, 1},     {-row_size, 1},       {1, column_size},  {-1, column_size},
            {1, -column_size}, {2, 2 * column_size}, {3 * row_size, 3}, {0, 5}};
        for (const auto& [stride, element_stride] : strides) {
          const Elements elements = elements_of(type, stride, element_stride, num_rows, width);
          const int64_t to_stride = (width + lanes - 1) / lanes * lanes;
          std::vector<float> block(static_cast<size_t>(num_rows * to_stride + lanes), kGuard);
          GetParam().widen_rows(elements.bytes.data() + elements.first * size, type, stride, element_stride, num_rows,
                                width, block.data());
          for (int64_t row = 0; row < num_rows; ++row) {
            for (int64_t d = 0; d < width; ++d) {
              const int64_t index = elements.first + row * stride + d * element_stride;
              ASSERT_EQ(block[static_cast<size_t>(row * to_stride + d)], static_cast<float>(index % 251 - 125))
                  << "row " << row << " of " << num_rows << ", element " << d << " of " << width << ", strides "
                  << stride << " and " << element_stride << ", type " << name_of(type);
            }
          }
          for (size_t i = block.size() - static_cast<size_t>(lanes); i < block.size(); ++i) ASSERT_EQ(block[i], kGuard);
        }
      }
    }
  }
}

TEST_P(KernelElements, ScatteredElementsEqualContiguousOnes) {
  constexpr unsigned char kGuard = 0xA5;
  const int64_t most = int64_t{2} * GetParam().lanes + 1;
  for (const DType type : {DType::F32, DType::F16, DType::BF16}) {
    const int64_t size = type == DType::F32 ? 4 : 2;
    for (int64_t count = 1; count <= most; ++count) {
      std::vector<float> floats(static_cast<size_t>(count));
      for (size_t i = 0; i < floats.size(); ++i) floats[i] = static_cast<float>(i) * 1.37F - 9.0F;
      std::vector<unsigned char> expected(static_cast<size_t>(count * size));
      GetParam().store_elements(floats.data(), type, count, expected.data());
      for (const int64_t stride : {2, 7, -3}) {
        const int64_t first = stride < 0 ? -stride * (count - 1) : 0;
        const int64_t reach = (stride < 0 ? -stride : stride) * (count - 1) + 1;
        std::vector<unsigned char> bytes(static_cast<size_t>(reach * size), kGuard);
        GetParam().scatter_elements(floats.data(), type, stride, count, bytes.data() + first * size);
        int64_t num_untouched = 0;
        for (const unsigned char byte : bytes) num_untouched += byte == kGuard ? 1 : 0;
        for (int64_t i = 0; i < count; ++i) {
          ASSERT_EQ(std::memcmp(bytes.data() + (first + i * stride) * size, expected.data() + i * size,
                                static_cast<size_t>(size)),
                    0)
              << i << " of " << count << ", stride " << stride << ", type " << name_of(type);
        }
        ASSERT_GE(num_untouched, (reach - count) * size);
      }
    }
  }
}

HEED_FOR_EVERY_ISA(KernelElements);

}  // namespace
}  // namespace heed::cpu
