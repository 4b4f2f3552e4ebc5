// SPDX-License-Identifier: Apache-2.0
// Conditions that hold for every call, whatever its arguments are.
#pragma once

#include <heed/heed.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "capi/support/first_size.h"
#include "capi/support/refusal.h"
#include "fuzz/support/bytes.h"
#include "fuzz/support/require.h"

namespace heed::fuzz {

// Whether the call succeeded. If it failed, checks its error message and then clears it, so that it cannot be mistaken
// for that of a later call.
bool succeeded(heed_status status);

// The same for getters, which have no status: `is_result` says whether the returned value is a result.
void require_result_or_error(bool is_result, const char* getter);

// A logger that calls back into heed. Fails unless a message is one line.
void require_one_line(void* user, int32_t level, const char* text);

// Creates an object by create(&object). Nothing on failure; the out-parameter must then be unchanged.
template <typename Object, typename Create>
Object* made_by(Object* capi_test::OutParameters::*member, Create create) {
  capi_test::OutParameters out;
  if (succeeded(create(&(out.*member)))) {
    require(out.*member != nullptr && out.*member != capi_test::OutParameters().*member, "a call made its object");
    return out.*member;
  }
  require(out == capi_test::OutParameters(), "a call that failed left its out-parameter");
  return nullptr;
}

// Gets a text by ask(text, capacity, &num_bytes): its size, the whole text, and a part of it. Nothing on failure.
template <typename Ask>
std::optional<std::vector<char>> text_of(Ask ask, Bytes& bytes) {
  size_t num_bytes = 0x5EED;
  if (!succeeded(ask(nullptr, 0, &num_bytes))) {
    require(num_bytes == 0x5EED, "a text that was refused has no size");
    return std::nullopt;
  }
  require(num_bytes >= 3, "a JSON object has its braces and a terminating zero");
  std::vector<char> whole(num_bytes, '#');
  require(succeeded(ask(whole.data(), whole.size(), nullptr)), "a text with enough room is written");
  require(whole.front() == '{' && whole[num_bytes - 2] == '}' && whole.back() == '\0', "a text is a whole JSON object");
  std::vector<char> part(static_cast<size_t>(1 + bytes.below(64)), '#');
  size_t again = 0;
  require(succeeded(ask(part.data(), part.size(), &again)) && again == num_bytes, "a text that is cut says its size");
  require(part[std::min(part.size(), num_bytes) - 1] == '\0', "a text that is cut is terminated");
  return whole;
}

// A struct as a caller may pass it: sometimes with a wrong struct_size, with or without bytes after its members.
template <typename Struct>
class Passed {
 public:
  Passed(const Struct& contents, Bytes& bytes) : memory_{contents, {}} {
    if (!bytes.rarely()) return;
    const int64_t kind = bytes.below(5);
    if (kind == 0) memory_.contents.struct_size = 0;
    if (kind == 1) {
      // The first version of the struct, or one that there never was.
      constexpr size_t kFirst = capi_test::kFirstSize<Struct>;
      memory_.contents.struct_size = kFirst < sizeof(Struct) ? kFirst : sizeof(Struct) - sizeof(void*);
    }
    if (kind >= 2) memory_.contents.struct_size += sizeof memory_.behind;
    if (kind >= 3) memory_.behind[bytes.below(sizeof memory_.behind)] = bytes.next();
  }

  const Struct* get() const { return &memory_.contents; }
  // Whether the struct has all members: that of the first version lacks those that were added.
  bool is_whole() const { return memory_.contents.struct_size >= sizeof(Struct); }

 private:
  struct {
    Struct contents;
    uint8_t behind[16];
  } memory_;
};

}  // namespace heed::fuzz
