// SPDX-License-Identifier: Apache-2.0
// A set of enumerators, whose numbers are below 64.
#pragma once

#include <bit>
#include <cstdint>
#include <initializer_list>

namespace heed {

template <typename Enum>
class EnumSet {
 public:
  constexpr EnumSet() = default;
  constexpr EnumSet(std::initializer_list<Enum> members) {
    for (const Enum member : members) add(member);
  }

  constexpr void add(Enum member) { bits_ |= bit(member); }
  constexpr bool has(Enum member) const { return (bits_ & bit(member)) != 0; }
  constexpr EnumSet with(EnumSet others) const { return EnumSet(bits_ | others.bits_); }
  constexpr EnumSet without(EnumSet others) const { return EnumSet(bits_ & ~others.bits_); }

  // Calls visit(member) for each member, in the order of the enumerators.
  template <typename Visit>
  constexpr void for_each(Visit visit) const {
    for (uint64_t left = bits_; left != 0; left &= left - 1) visit(static_cast<Enum>(std::countr_zero(left)));
  }

  friend constexpr bool operator==(EnumSet, EnumSet) = default;

 private:
  explicit constexpr EnumSet(uint64_t bits) : bits_(bits) {}
  static constexpr uint64_t bit(Enum member) { return uint64_t{1} << static_cast<uint32_t>(member); }

  uint64_t bits_ = 0;
};

}  // namespace heed
