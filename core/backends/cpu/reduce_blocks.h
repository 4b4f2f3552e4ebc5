// SPDX-License-Identifier: Apache-2.0
// Reductions of blocks of elements, in one order for rows of adjacent elements and for adjacent columns: element k of a block
// goes to lane k % 16, and the lanes are combined by halves. Loops without branches, so that compilers vectorize them.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace heed::cpu {

inline constexpr int64_t kReduceLanes = 16;
inline constexpr int64_t kReduceBlock = 256;
// The columns of a task, and blocks whose results are combined in a task.
inline constexpr int64_t kReduceColumns = 64;
inline constexpr int64_t kChunkBlocks = 64;
inline constexpr int64_t kChunkElements = kReduceBlock * kChunkBlocks;

// How results are combined. Each has the value that changes no other, and what an element adds to a lane.
template <typename T>
struct SumOf {
  using Type = T;
  // -0 for floats, since 0 + -0 is 0.
  static constexpr T kIdentity = std::is_floating_point_v<T> ? static_cast<T>(-0.0) : T{};
  static T combine(T a, T b) {
    if constexpr (std::is_integral_v<T>) {
      return static_cast<T>(static_cast<std::make_unsigned_t<T>>(a) + static_cast<std::make_unsigned_t<T>>(b));
    } else {
      return a + b;
    }
  }
  T add(T lane, T element) const { return combine(lane, element); }
};
template <typename T>
struct ProductOf {
  using Type = T;
  static constexpr T kIdentity = T{1};
  static T combine(T a, T b) {
    if constexpr (std::is_integral_v<T>) {
      return static_cast<T>(static_cast<std::make_unsigned_t<T>>(a) * static_cast<std::make_unsigned_t<T>>(b));
    } else {
      return a * b;
    }
  }
  T add(T lane, T element) const { return combine(lane, element); }
};
template <typename T>
struct MaximumOf {
  using Type = T;
  static constexpr T kIdentity =
      std::is_floating_point_v<T> ? -std::numeric_limits<T>::infinity() : std::numeric_limits<T>::lowest();
  // NaN in b is not equal to itself; with NaN in a the comparison is false.
  static T combine(T a, T b) { return b > a || b != b ? b : a; }
  T add(T lane, T element) const { return combine(lane, element); }
};
template <typename T>
struct MinimumOf {
  using Type = T;
  static constexpr T kIdentity =
      std::is_floating_point_v<T> ? std::numeric_limits<T>::infinity() : std::numeric_limits<T>::max();
  static T combine(T a, T b) { return b < a || b != b ? b : a; }
  T add(T lane, T element) const { return combine(lane, element); }
};
// Of elements times a power of 2.
struct SquareSum {
  using Type = double;
  static constexpr double kIdentity = 0;
  static double combine(double a, double b) { return a + b; }
  double add(double lane, double element) const {
    const double scaled = element * scale;
    return lane + scaled * scaled;
  }
  double scale = 1;
};

// Of 1 to kReduceBlock adjacent elements.
template <typename Rule, typename T = typename Rule::Type>
T reduce_block(const Rule& rule, const T* elements, int64_t count) {
  T lanes[kReduceLanes];
  for (T& lane : lanes) lane = Rule::kIdentity;
  int64_t k = 0;
  for (; k + kReduceLanes <= count; k += kReduceLanes) {
    for (int64_t lane = 0; lane < kReduceLanes; ++lane) lanes[lane] = rule.add(lanes[lane], elements[k + lane]);
  }
  for (int64_t lane = 0; k + lane < count; ++lane) lanes[lane] = rule.add(lanes[lane], elements[k + lane]);
  for (int64_t half = kReduceLanes / 2; half > 0; half /= 2) {
    for (int64_t lane = 0; lane < half; ++lane) lanes[lane] = Rule::combine(lanes[lane], lanes[lane + half]);
  }
  return lanes[0];
}

// The same for each of `columns` columns, at most kReduceColumns, whose elements row(k) has side by side.
template <typename Rule, typename Row, typename T = typename Rule::Type>
void reduce_columns(const Rule& rule, const Row& row, int64_t count, int64_t columns, T* results) {
  T lanes[kReduceLanes][kReduceColumns];
  for (auto& lane : lanes) std::fill_n(lane, columns, Rule::kIdentity);
  for (int64_t k = 0; k < count; ++k) {
    const T* elements = row(k);
    T* lane = lanes[k % kReduceLanes];
    for (int64_t column = 0; column < columns; ++column) lane[column] = rule.add(lane[column], elements[column]);
  }
  for (int64_t half = kReduceLanes / 2; half > 0; half /= 2) {
    for (int64_t lane = 0; lane < half; ++lane) {
      for (int64_t column = 0; column < columns; ++column)
        lanes[lane][column] = Rule::combine(lanes[lane][column], lanes[lane + half][column]);
    }
  }
  std::copy_n(lanes[0], columns, results);
}

// Combines the results of blocks pairwise: after each block, those of equally many blocks are combined, as the carries of a
// binary counter. A power of 2 of blocks is combined by itself, so parts of a row can be computed apart.
template <typename Rule, int64_t max_blocks, int64_t columns = 1, typename T = typename Rule::Type>
class PairwiseResults {
 public:
  // Room for the result of the next block.
  T* next() { return levels_[depth_].data(); }

  void add_block(int64_t used_columns) {
    ++depth_;
    ++num_blocks_;
    for (int64_t carry = num_blocks_; carry % 2 == 0; carry /= 2) combine_last(used_columns);
  }

  // Of all blocks, at least one.
  const T* finish(int64_t used_columns) {
    while (depth_ > 1) combine_last(used_columns);
    return levels_[0].data();
  }

 private:
  static constexpr size_t levels_of(int64_t blocks) {
    size_t levels = 2;
    for (; blocks > 1; blocks /= 2) ++levels;
    return levels;
  }

  void combine_last(int64_t used_columns) {
    --depth_;
    T* before = levels_[depth_ - 1].data();
    const T* last = levels_[depth_].data();
    for (int64_t column = 0; column < used_columns; ++column)
      before[column] = Rule::combine(before[column], last[column]);
  }

  std::array<std::array<T, columns>, levels_of(max_blocks)> levels_;
  size_t depth_ = 0;
  int64_t num_blocks_ = 0;
};

}  // namespace heed::cpu
