// SPDX-License-Identifier: Apache-2.0
// Reads the arguments of C callers (pointers, enumerations, structs that grow by version) and writes text results.
#pragma once

#include <heed/heed.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "base/error.h"
#include "ops/activation.h"
#include "ops/head_transform.h"
#include "tensor/dtype.h"
#include "tensor/shape.h"

namespace heed::capi {

// `name` is the argument's name in heed.h.
template <typename Pointer>
Pointer* require(Pointer* pointer, const char* name) {
  if (pointer == nullptr) fail(Status::InvalidArgument, "%s is " WORD("NULL") ", expected " WORD("a pointer"), name);
  return pointer;
}

// No struct of heed will be larger. A larger struct_size is an arbitrary value in a struct that was not initialized by
// its macro, and reading that many bytes could crash.
inline constexpr size_t kLargestStructSize = 65536;

// The member struct_size of a struct with this name in messages. That of a child's options gets the path of the child.
inline std::string size_of_struct(const char* name) {
  return std::string_view(name) == "options" ? OPTION("struct_size") : std::string(name) + "->struct_size";
}

// Converts the struct of a caller that was built for another version to this version's struct. Members that the
// caller's version does not have get their value from `defaults`; members that only a newer version has must be zero.
// Throws for a wrong struct_size without reading any other member. `first_size` is the struct's size in version 0.1,
// `macro` the name of its initializer.
template <typename Struct>
Struct read_struct(const Struct* given, const Struct& defaults, size_t first_size, const char* name,
                   const char* macro) {
  Struct result = defaults;
  if (given == nullptr) return result;
  const size_t size = given->struct_size;
  if (size < first_size || size > kLargestStructSize) {
    fail(Status::InvalidArgument, "%s is %zu, expected %zu to %zu: start from %s", size_of_struct(name).c_str(), size,
         first_size, kLargestStructSize, macro);
  }
  std::memcpy(&result, given, size < sizeof result ? size : sizeof result);
  result.struct_size = sizeof result;
  const auto* bytes = reinterpret_cast<const unsigned char*>(given);
  for (size_t i = sizeof result; i < size; ++i) {
    if (bytes[i] != 0) {
      fail(Status::Unsupported,
           "%s is %zu, and a member beyond the %zu bytes that this heed, version %s, knows is set: "
           "expected 0 there",
           size_of_struct(name).c_str(), size, sizeof result, heed_version_string());
    }
  }
  return result;
}

// A member that is 0 or 1.
inline bool read_flag(int32_t value, const char* name) {
  if (value != 0 && value != 1) fail(Status::InvalidArgument, "%s is %d, expected 0 or 1", name, value);
  return value == 1;
}

inline void require_zero(int32_t value, const char* name) {
  if (value != 0) fail(Status::InvalidArgument, "%s is %d, expected 0", name, value);
}

// An enumeration with the values 0 to `last`; `names` lists them for the caller.
template <typename Enum>
Enum read_enum(int32_t value, Enum last, const char* name, const char* names) {
  if (value < 0 || value > static_cast<int32_t>(last)) {
    fail(Status::InvalidArgument, "%s is %d, expected %s", name, value, names);
  }
  return static_cast<Enum>(value);
}

// Throws for a number that is no HEED_ACTIVATION_.
Activation read_activation(int32_t activation, const char* name);

// Throws for a number that is no HEED_ROPE_HALF or HEED_ROPE_INTERLEAVED.
RotaryLayout read_rotary_layout(int32_t layout, const char* name);

// Throws for a number that is not a dtype.
DType read_dtype(heed_dtype dtype);
heed_dtype c_dtype(DType dtype);

// Dims from (rank, dims). Negative dims are refused unless `allow_inferred` is true; the caller then checks them.
Shape read_shape(int32_t rank, const int64_t* dims, bool allow_inferred = false);

// Copies the strides for a shape to `storage` and returns its address; returns null for null.
const Dims* read_strides(const Shape& shape, const int64_t* strides, Dims& storage);

// Writes a text result as heed.h defines it ("TEXT RESULTS").
void write_text(const std::string& result, char* text, size_t capacity, size_t* num_bytes);

}  // namespace heed::capi
