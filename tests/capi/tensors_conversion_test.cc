// SPDX-License-Identifier: Apache-2.0
// How copy, fill, read and write convert elements.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

#include "capi/support/objects.h"
#include "support/numbers.h"

namespace heed::capi_test {
namespace {

class Conversion : public testing::Test {
 protected:
  // Converts one element by heed_tensor_copy.
  template <typename To, typename From>
  To convert(From value, heed_dtype to, heed_dtype from = kDTypeOf<From>) const {
    const Tensor source = make_tensor_of(context_.get(), {}, std::vector<From>{value}, from);
    const Tensor destination = make_tensor(context_.get(), {}, to);
    check(heed_tensor_copy(destination.get(), source.get()));
    To converted;
    check(heed_tensor_read(destination.get(), &converted, sizeof converted));
    return converted;
  }

  // Converts one element by heed_tensor_fill, which must agree with a copy from F64.
  template <typename To>
  To from_double(double value, heed_dtype to) const {
    const auto copied = convert<To>(value, to);
    const Tensor filled = make_tensor(context_.get(), {}, to);
    check(heed_tensor_fill(filled.get(), value));
    To element;
    check(heed_tensor_read(filled.get(), &element, sizeof element));
    EXPECT_EQ(std::memcmp(&copied, &element, sizeof element), 0) << value;
    return element;
  }

  uint16_t half(double value) const { return from_double<uint16_t>(value, HEED_F16); }
  uint16_t bfloat(double value) const { return from_double<uint16_t>(value, HEED_BF16); }
  double of_half(uint16_t bits) const { return convert<double>(bits, HEED_F64, HEED_F16); }
  double of_bfloat(uint16_t bits) const { return convert<double>(bits, HEED_F64, HEED_BF16); }

  const Context context_ = make_context();
};

TEST_F(Conversion, ToF32RoundsToNearestEven) {
  const auto single = [this](double value) { return from_double<float>(value, HEED_F32); };
  EXPECT_EQ(single(0.1), 0.1f);
  EXPECT_EQ(single(1 + 0x1p-24), 1.0f);              // a tie: to even
  EXPECT_EQ(single(1 + 3 * 0x1p-24), 1 + 0x1p-22f);  // a tie: up to even
  EXPECT_EQ(single(1 + 0x1p-24 + 0x1p-52), 1 + 0x1p-23f);
  EXPECT_EQ(single(1e39), std::numeric_limits<float>::infinity());
  EXPECT_EQ(single(-1e39), -std::numeric_limits<float>::infinity());
  EXPECT_EQ(single(0x1p-149), 0x1p-149f);
  EXPECT_EQ(single(0x1p-150), 0.0f);
  EXPECT_TRUE(std::signbit(single(-0.0)));
  EXPECT_TRUE(std::isnan(single(kNaN)));
}

TEST_F(Conversion, ToF16RoundsOnce) {
  EXPECT_EQ(half(1.0), 0x3C00);
  EXPECT_EQ(half(-2.0), 0xC000);
  EXPECT_EQ(half(1 + 0x1p-11), 0x3C00);            // a tie: to even
  EXPECT_EQ(half(1 + 3 * 0x1p-11), 0x3C02);        // a tie: up to even
  EXPECT_EQ(half(1 + 0x1p-11 + 0x1p-40), 0x3C01);  // above a tie, by less than F32 can represent
  EXPECT_EQ(half(65504.0), 0x7BFF);                // the largest
  EXPECT_EQ(half(65519.99), 0x7BFF);
  EXPECT_EQ(half(65520.0), 0x7C00);  // overflow
  EXPECT_EQ(half(-kInfinity), 0xFC00);
  EXPECT_EQ(half(0x1p-24), 0x0001);  // the smallest
  EXPECT_EQ(half(0x1p-25), 0x0000);  // a tie: to even
  EXPECT_EQ(half(0x1p-25 + 0x1p-60), 0x0001);
  EXPECT_EQ(half(-0x1p-26), 0x8000);
  EXPECT_EQ(half(0x1p-14 - 0x1p-25), 0x0400);  // from the subnormals up to the normals
  EXPECT_TRUE(std::isnan(of_half(half(kNaN))));
}

TEST_F(Conversion, ToBF16RoundsOnce) {
  EXPECT_EQ(bfloat(1.0), 0x3F80);
  EXPECT_EQ(bfloat(1 + 0x1p-8), 0x3F80);  // a tie: to even
  EXPECT_EQ(bfloat(1 + 3 * 0x1p-8), 0x3F82);
  EXPECT_EQ(bfloat(1 + 0x1p-8 + 0x1p-40), 0x3F81);
  EXPECT_EQ(bfloat(0x1.FEp127), 0x7F7F);  // the largest
  EXPECT_EQ(bfloat(0x1.FFp127), 0x7F80);  // overflow
  EXPECT_EQ(bfloat(-1e300), 0xFF80);
  EXPECT_EQ(bfloat(0x1p-133), 0x0001);  // the smallest
  EXPECT_EQ(bfloat(0x1p-134), 0x0000);
  EXPECT_TRUE(std::isnan(of_bfloat(bfloat(kNaN))));
}

TEST_F(Conversion, EveryNarrowFloatGoesToF64AndBack) {
  for (uint32_t bits = 0; bits < 0x10000; bits += 7) {
    const auto element = static_cast<uint16_t>(bits);
    const double from_half = of_half(element);
    if (!std::isnan(from_half)) {
      ASSERT_EQ(half(from_half), element);
    }
    const double from_bfloat = of_bfloat(element);
    if (!std::isnan(from_bfloat)) {
      ASSERT_EQ(bfloat(from_bfloat), element);
    }
  }
  EXPECT_EQ(of_half(0x0001), 0x1p-24);
  EXPECT_EQ(of_half(0x3555), 0x1.554p-2);
  EXPECT_EQ(of_half(0xFC00), -kInfinity);
  EXPECT_EQ(of_bfloat(0x3EAB), 0x1.56p-2);
}

TEST_F(Conversion, FloatsToIntegersTruncateAndSaturate) {
  const auto i8 = [this](double value) { return from_double<int8_t>(value, HEED_I8); };
  EXPECT_EQ(i8(2.9), 2);
  EXPECT_EQ(i8(-2.9), -2);
  EXPECT_EQ(i8(127.9), 127);
  EXPECT_EQ(i8(128.0), 127);
  EXPECT_EQ(i8(-128.9), -128);
  EXPECT_EQ(i8(-1e9), -128);
  EXPECT_EQ(i8(kNaN), 0);
  EXPECT_EQ(i8(kInfinity), 127);
  const auto u8 = [this](double value) { return from_double<uint8_t>(value, HEED_U8); };
  EXPECT_EQ(u8(255.9), 255);
  EXPECT_EQ(u8(256.0), 255);
  EXPECT_EQ(u8(-0.9), 0);
  EXPECT_EQ(u8(-1.0), 0);
  const auto i32 = [this](double value) { return from_double<int32_t>(value, HEED_I32); };
  EXPECT_EQ(i32(2147483647.5), INT32_MAX);
  EXPECT_EQ(i32(2147483648.0), INT32_MAX);
  EXPECT_EQ(i32(-2147483648.9), INT32_MIN);
  EXPECT_EQ(i32(kNaN), 0);
  const auto i64 = [this](double value) { return from_double<int64_t>(value, HEED_I64); };
  EXPECT_EQ(i64(0x1p62), int64_t{1} << 62);
  EXPECT_EQ(i64(0x1p63), INT64_MAX);
  EXPECT_EQ(i64(-0x1p63), INT64_MIN);
  EXPECT_EQ(i64(-kInfinity), INT64_MIN);
  EXPECT_EQ(convert<int32_t>(3.9e9f, HEED_I32), INT32_MAX);
  EXPECT_EQ((convert<int32_t>(uint16_t{0xFC00}, HEED_I32, HEED_F16)), INT32_MIN);
}

TEST_F(Conversion, IntegersToIntegersSaturate) {
  EXPECT_EQ(convert<int8_t>(int32_t{200}, HEED_I8), 127);
  EXPECT_EQ(convert<int8_t>(int32_t{-200}, HEED_I8), -128);
  EXPECT_EQ(convert<uint8_t>(int32_t{-1}, HEED_U8), 0);
  EXPECT_EQ(convert<uint8_t>(int64_t{300}, HEED_U8), 255);
  EXPECT_EQ(convert<int32_t>(INT64_MAX, HEED_I32), INT32_MAX);
  EXPECT_EQ(convert<int32_t>(INT64_MIN, HEED_I32), INT32_MIN);
  EXPECT_EQ(convert<int8_t>(uint8_t{200}, HEED_I8), 127);
  EXPECT_EQ(convert<int64_t>(int8_t{-5}, HEED_I64), -5);
  EXPECT_EQ(convert<int64_t>(INT64_MIN, HEED_I64), INT64_MIN);
}

TEST_F(Conversion, IntegersToFloatsRoundOnce) {
  EXPECT_EQ(convert<float>(int32_t{16777217}, HEED_F32), 16777216.0f);  // a tie: to even
  EXPECT_EQ(convert<float>(int32_t{16777219}, HEED_F32), 16777220.0f);
  EXPECT_EQ(convert<double>(INT64_MAX, HEED_F64), 0x1p63);
  // Just above a tie of F32; a conversion by way of F64 would round to the tie first.
  EXPECT_EQ(convert<float>((int64_t{1} << 60) + (int64_t{1} << 36) + 1, HEED_F32), 0x1p60f + 0x1p37f);
  EXPECT_EQ((convert<uint16_t>(int32_t{2049}, HEED_F16)), 0x6800);
  EXPECT_EQ((convert<uint16_t>(int32_t{65520}, HEED_F16)), 0x7C00);
  EXPECT_EQ((convert<uint16_t>(int64_t{257}, HEED_BF16)), 0x4380);
  EXPECT_EQ((convert<uint16_t>((int64_t{1} << 62) + (int64_t{1} << 54) + 1, HEED_BF16)), 0x5E81);
}

TEST_F(Conversion, ToAndFromBool) {
  const auto boolean = [this](double value) { return from_double<uint8_t>(value, HEED_BOOL); };
  EXPECT_EQ(boolean(0.0), 0);
  EXPECT_EQ(boolean(-0.0), 0);
  EXPECT_EQ(boolean(1e-300), 1);
  EXPECT_EQ(boolean(-7.0), 1);
  EXPECT_EQ(boolean(kNaN), 1);
  EXPECT_EQ(convert<uint8_t>(int32_t{256}, HEED_BOOL), 1);
  EXPECT_EQ((convert<uint8_t>(uint16_t{0x0001}, HEED_BOOL, HEED_F16)), 1);
  EXPECT_EQ((convert<uint8_t>(uint16_t{0x8000}, HEED_BOOL, HEED_F16)), 0);
  EXPECT_EQ((convert<float>(uint8_t{2}, HEED_F32, HEED_BOOL)), 1.0f);
  EXPECT_EQ((convert<int32_t>(uint8_t{255}, HEED_I32, HEED_BOOL)), 1);
  EXPECT_EQ((convert<uint8_t>(uint8_t{255}, HEED_BOOL, HEED_BOOL)), 1);
  EXPECT_EQ((convert<uint8_t>(uint8_t{255}, HEED_BOOL, HEED_U8)), 1);
}

TEST_F(Conversion, ReadAndWriteKeepEveryBit) {
  const std::vector<uint32_t> bits = {0x7FA00001, 0xFFFFFFFF, 0x80000000, 0x00000001};  // including NaNs with a payload
  const Tensor tensor = make_tensor(context_.get(), {4});
  check(heed_tensor_write(tensor.get(), bits.data(), 16));
  std::vector<uint32_t> read(4);
  check(heed_tensor_read(tensor.get(), read.data(), 16));
  EXPECT_EQ(read, bits);
  const Tensor copy = make_tensor(context_.get(), {4});
  check(heed_tensor_copy(copy.get(), tensor.get()));
  check(heed_tensor_read(copy.get(), read.data(), 16));
  EXPECT_EQ(read, bits);
}

TEST_F(Conversion, CopyBroadcasts) {
  const Tensor destination = make_tensor(context_.get(), {2, 2, 3});
  const auto copy = [&](const Tensor& source) {
    check(heed_tensor_copy(destination.get(), source.get()));
    return read_elements<float>(destination.get());
  };
  using Floats = std::vector<float>;
  EXPECT_EQ(copy(make_tensor_of<int32_t>(context_.get(), {}, {4})), Floats(12, 4.0f));
  EXPECT_EQ(copy(make_tensor_of<float>(context_.get(), {3}, {1, 2, 3})), (Floats{1, 2, 3, 1, 2, 3, 1, 2, 3, 1, 2, 3}));
  EXPECT_EQ(copy(make_tensor_of<double>(context_.get(), {2, 1}, {1, 2})), (Floats{1, 1, 1, 2, 2, 2, 1, 1, 1, 2, 2, 2}));
  EXPECT_EQ(copy(make_tensor_of<int8_t>(context_.get(), {2, 1, 1}, {1, 2})),
            (Floats{1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2}));
  EXPECT_EQ(copy(make_tensor_of<uint8_t>(context_.get(), {1, 2, 3}, {1, 2, 3, 4, 5, 6})),
            (Floats{1, 2, 3, 4, 5, 6, 1, 2, 3, 4, 5, 6}));
}

TEST_F(Conversion, CopyWorksThroughStridesOnBothSides) {
  const Tensor source = make_tensor_of<int32_t>(context_.get(), {2, 3}, {0, 1, 2, 3, 4, 5});
  const Tensor transposed = make_transposed(source.get(), {1, 0});
  const Tensor storage = make_tensor(context_.get(), {3, 4});
  const Tensor columns = make_view(storage.get(), {3, 2}, {4, 2}, 1);
  check(heed_tensor_copy(columns.get(), transposed.get()));
  EXPECT_EQ(read_elements<float>(storage.get()), (std::vector<float>{0, 0, 0, 3, 0, 1, 0, 4, 0, 2, 0, 5}));
  const Tensor reversed = make_view(source.get(), {6}, {-1}, 5);
  const Tensor row = make_tensor(context_.get(), {6}, HEED_I32);
  check(heed_tensor_copy(row.get(), reversed.get()));
  EXPECT_EQ(read_elements<int32_t>(row.get()), (std::vector<int32_t>{5, 4, 3, 2, 1, 0}));
}

TEST_F(Conversion, CopyGoesBetweenContextsOfOneDevice) {
  const Context other = make_context();
  const Tensor source = make_random(other.get(), {5}, 1);
  const Tensor destination = make_tensor(context_.get(), {5});
  EXPECT_EQ(heed_tensor_copy(destination.get(), source.get()), HEED_OK) << heed_last_error();
  EXPECT_EQ(read_elements<float>(destination.get()), read_elements<float>(source.get()));
}

TEST_F(Conversion, CopyBetweenInterleavedPartsOfOneTensor) {
  const Tensor tensor = make_tensor_of<float>(context_.get(), {6}, {0, 1, 2, 3, 4, 5});
  const Tensor even = make_view(tensor.get(), {3}, {2}, 0);
  const Tensor odd = make_view(tensor.get(), {3}, {2}, 1);
  EXPECT_EQ(heed_tensor_copy(even.get(), odd.get()), HEED_OK) << heed_last_error();
  EXPECT_EQ(read_elements<float>(tensor.get()), (std::vector<float>{1, 1, 3, 3, 5, 5}));
}

}  // namespace
}  // namespace heed::capi_test
