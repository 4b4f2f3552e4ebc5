// SPDX-License-Identifier: Apache-2.0
// What every function must do with a struct of another version: accept it if it can, and refuse an invalid struct_size before
// any other member is read. A struct that was not initialized by its macro may contain any number there, and may be at the end
// of readable memory.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <string>

#include "capi/support/first_size.h"
#include "capi/support/objects.h"
#include "capi/support/refusal.h"
#include "support/platform/memory.h"

namespace heed::capi_test {

// A struct of a later version, with more members at its end.
template <typename Struct>
struct Later {
  Struct known;
  unsigned char more[24] = {};
};

// Passes a struct of any size to one function.
template <typename Struct>
using Pass = std::function<heed_status(const Struct*)>;

// The name of the macro with the defaults of a struct.
template <typename Struct>
inline constexpr const char* kMacroOf = nullptr;
#define EVERY_STRUCT(name, macro) \
  template <>                     \
  inline constexpr const char* kMacroOf<name> = #macro;
#include "generated/every_struct.inc"
#undef EVERY_STRUCT

// `argument` is the name of the function's argument.
template <typename Struct>
void expect_growth(Struct valid, const char* argument, const Pass<Struct>& pass) {
  const char* const macro = kMacroOf<Struct>;
  SCOPED_TRACE(macro);
  ASSERT_EQ(valid.struct_size, sizeof(Struct)) << "the macro does not set it";
  EXPECT_EQ(pass(&valid), HEED_OK) << heed_last_error();

  for (const size_t too_small : {size_t{0}, size_t{1}, sizeof(size_t), kFirstSize<Struct> - 1}) {
    Struct smaller = valid;
    smaller.struct_size = too_small;
    forget_last_error();
    EXPECT_TRUE(is_refused(pass(&smaller), {HEED_ERROR_INVALID_ARGUMENT,
                                            {argument, "struct_size is " + std::to_string(too_small),
                                             std::to_string(kFirstSize<Struct>), macro}}));
  }

  Later<Struct> later{valid};
  for (const size_t extra : {size_t{1}, size_t{8}, sizeof later.more}) {
    later.known.struct_size = sizeof(Struct) + extra;
    EXPECT_EQ(pass(&later.known), HEED_OK) << heed_last_error();
    later.more[extra - 1] = 1;
    forget_last_error();
    EXPECT_TRUE(is_refused(pass(&later.known), {HEED_ERROR_UNSUPPORTED,
                                                {argument, std::to_string(sizeof(Struct) + extra),
                                                 std::to_string(sizeof(Struct)), heed_version_string()}}));
    later.more[extra - 1] = 0;
  }
  // Bytes after struct_size are ignored.
  later.known.struct_size = sizeof(Struct);
  later.more[0] = 1;
  EXPECT_EQ(pass(&later.known), HEED_OK) << heed_last_error();
}

inline constexpr size_t kLargest = 65536;

template <typename Struct>
void expect_limit(const Struct& valid, const char* argument, const Pass<Struct>& pass) {
  const char* const macro = kMacroOf<Struct>;
  SCOPED_TRACE(macro);
  const auto is_refused_for = [&](const Struct* given) {
    forget_last_error();
    return is_refused(pass(given), invalid({argument, "->struct_size is " + std::to_string(given->struct_size),
                                            std::to_string(kFirstSize<Struct>) + " to 65536", macro}));
  };
  // Exactly the struct can be read, and no byte after it.
  const BytesBeforeAWall whole(sizeof(Struct));
  auto* const given = static_cast<Struct*>(whole.get());
  std::memcpy(given, &valid, sizeof valid);
  EXPECT_EQ(pass(given), HEED_OK) << heed_last_error();
  for (const size_t size : {kLargest + 1, size_t{0x7FFF'0000'1234}, SIZE_MAX}) {
    given->struct_size = size;
    EXPECT_TRUE(is_refused_for(given));
  }
  // Only struct_size can be read.
  const BytesBeforeAWall only_size(sizeof(size_t));
  auto* const cut = static_cast<Struct*>(only_size.get());
  for (const size_t size : {size_t{0}, kFirstSize<Struct> - 1, kLargest + 1, SIZE_MAX}) {
    std::memcpy(only_size.get(), &size, sizeof size);
    EXPECT_TRUE(is_refused_for(cut));
  }
  // The largest size, which a later version of heed might have.
  const BytesBeforeAWall largest(kLargest);
  auto* const later = static_cast<Struct*>(largest.get());
  std::memcpy(later, &valid, sizeof valid);
  later->struct_size = kLargest;
  EXPECT_EQ(pass(later), HEED_OK) << heed_last_error();
  static_cast<std::byte*>(largest.get())[kLargest - 1] = std::byte{1};
  forget_last_error();
  EXPECT_TRUE(is_refused(pass(later), {HEED_ERROR_UNSUPPORTED, {argument, "65536"}}));
}

// Both.
template <typename Struct>
void expect_any_version(const Struct& valid, const char* argument, const Pass<Struct>& pass) {
  expect_growth(valid, argument, pass);
  expect_limit(valid, argument, pass);
}

}  // namespace heed::capi_test
