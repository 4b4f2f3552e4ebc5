// SPDX-License-Identifier: Apache-2.0
// AscendCL's functions for data types.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

#include "acl/acl.h"

size_t aclDataTypeSize(aclDataType data_type) {
  switch (data_type) {
    case ACL_INT8:
    case ACL_UINT8:
    case ACL_BOOL: return 1;
    case ACL_FLOAT16:
    case ACL_BF16:
    case ACL_INT16:
    case ACL_UINT16: return 2;
    case ACL_FLOAT:
    case ACL_INT32:
    case ACL_UINT32: return 4;
    case ACL_INT64:
    case ACL_UINT64:
    case ACL_DOUBLE:
    case ACL_COMPLEX64: return 8;
    case ACL_COMPLEX128: return 16;
    case ACL_DT_UNDEFINED:
    case ACL_STRING:
    case ACL_INT4: break;
  }
  return 0;
}

aclFloat16 aclFloatToFloat16(float value) {
  constexpr uint16_t kLargest = 0x7BFF;
  const auto sign = static_cast<uint16_t>(std::signbit(value) ? 0x8000 : 0);
  const float magnitude = std::fabs(value);
  // A NaN takes this branch too, since its comparison is false.
  if (!(magnitude < 65520.0F)) return static_cast<uint16_t>(sign | kLargest);
  // The distance between adjacent binary16 numbers of this magnitude; below 2^-14 they are subnormal.
  const int exponent = std::max(magnitude > 0 ? std::ilogb(magnitude) : -14, -14);
  const auto steps = static_cast<int>(std::nearbyint(std::ldexp(magnitude, 10 - exponent)));
  // A significand that rounds up to 2^11 carries into the exponent without further work.
  const int bits = ((exponent + 14) << 10) + steps;
  return static_cast<uint16_t>(sign | bits);
}

float aclFloat16ToFloat(aclFloat16 value) {
  const int exponent = value >> 10 & 0x1F;
  const int mantissa = value & 0x3FF;
  const float magnitude = exponent == 0 ? std::ldexp(static_cast<float>(mantissa), -24)
                                        : std::ldexp(static_cast<float>(mantissa + 1024), exponent - 25);
  return (value & 0x8000) != 0 ? -magnitude : magnitude;
}
