// SPDX-License-Identifier: Apache-2.0
// Loads and stores of the kernels against base/half.h, on every ISA.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#include "backends/cpu/kernels/attention.h"
#include "base/half.h"
#include "kernel_probes.h"

namespace heed::cpu {
namespace {

class KernelElements : public testing::TestWithParam<MathProbe> {};

float widened(int32_t type, uint16_t bits) { return type == kF16 ? widen(Half{bits}) : widen(BFloat16{bits}); }
uint16_t narrowed(int32_t type, float value) {
  return type == kF16 ? narrow_to_half(value).bits : narrow_to_bfloat16(value).bits;
}

std::vector<uint16_t> all_halves() {
  std::vector<uint16_t> halves(0x10000);
  for (size_t bits = 0; bits < halves.size(); ++bits) halves[bits] = static_cast<uint16_t>(bits);
  return halves;
}

TEST_P(KernelElements, WidenEveryNumberExactly) {
  const std::vector<uint16_t> halves = all_halves();
  std::vector<float> floats(halves.size());
  for (const int32_t type : {kF16, kBF16}) {
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

// Every number of the format, what lies in the middle between it and the next, and the floats beside both; and floats
// of all magnitudes.
std::vector<float> floats_to_narrow(int32_t type) {
  std::vector<float> floats;
  const auto add = [&](float value) {
    const uint32_t bits = std::bit_cast<uint32_t>(value);
    for (const uint32_t neighbour : {bits - 1, bits, bits + 1}) floats.push_back(std::bit_cast<float>(neighbour));
  };
  for (const uint16_t half : all_halves()) {
    const float value = widened(type, half);
    add(value);
    if (!std::isfinite(value)) continue;
    // The middle is a float: there are at least 13 bits more. Half a unit of F16 is the same for subnormals and 2^-14.
    const int exponent = value == 0 ? -1000 : std::ilogb(value);
    const int least = type == kF16 ? -14 : -126;
    const int unit = std::max(exponent, least) - (type == kF16 ? 10 : 7);
    add(static_cast<float>(static_cast<double>(value) + std::copysign(std::ldexp(0.5, unit), value)));
  }
  for (uint32_t i = 0; i < 200000; ++i) floats.push_back(std::bit_cast<float>(i * 2654435761U));
  return floats;
}

TEST_P(KernelElements, NarrowToTheBitsOfTheBase) {
  for (const int32_t type : {kF16, kBF16}) {
    const std::vector<float> floats = floats_to_narrow(type);
    std::vector<uint16_t> halves(floats.size());
    GetParam().store_elements(floats.data(), type, std::ssize(floats), halves.data());
    for (size_t i = 0; i < floats.size(); ++i) {
      ASSERT_EQ(halves[i], narrowed(type, floats[i])) << std::hexfloat << floats[i] << " type " << type;
      if (i % 101 != 0) continue;
      uint16_t one = 0;
      GetParam().store_element(floats[i], type, &one);
      ASSERT_EQ(one, halves[i]);
    }
  }
}

TEST_P(KernelElements, CountsAroundTheVectorWidthAndMisalignedStayInTheirPlace) {
  constexpr unsigned char kGuard = 0xA5;
  const int64_t most = int64_t{3} * GetParam().lanes;
  for (const int32_t type : {kF32, kF16, kBF16}) {
    const int64_t size = type == kF32 ? 4 : 2;
    for (int64_t count = 0; count <= most; ++count) {
      for (const int64_t offset : {0, 1, 3}) {  // in elements
        std::vector<float> floats(static_cast<size_t>(offset + count));
        for (size_t i = 0; i < floats.size(); ++i) floats[i] = static_cast<float>(i) - 3.5F;
        std::vector<unsigned char> bytes(static_cast<size_t>((offset + count) * size + 64), kGuard);
        GetParam().store_elements(floats.data() + offset, type, count, bytes.data() + offset * size);
        for (int64_t i = 0; i < offset * size; ++i) ASSERT_EQ(bytes[static_cast<size_t>(i)], kGuard);
        for (size_t i = static_cast<size_t>((offset + count) * size); i < bytes.size(); ++i)
          ASSERT_EQ(bytes[i], kGuard);

        // An array of exactly so many elements: what reads beyond is seen by the address sanitizer.
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
  const std::vector<float> floats = floats_to_narrow(kBF16);
  std::vector<float> stored(floats.size());
  GetParam().store_elements(floats.data(), kF32, std::ssize(floats), stored.data());
  EXPECT_EQ(std::memcmp(stored.data(), floats.data(), floats.size() * sizeof(float)), 0);
}

HEED_FOR_EVERY_ISA(KernelElements);

}  // namespace
}  // namespace heed::cpu
