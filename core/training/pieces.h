// SPDX-License-Identifier: Apache-2.0
// Arrays in pieces of a fixed size, which the context's threads share. The borders of pieces depend on the arrays alone, so
// that sums over pieces, added in order, are the same with any number of threads.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "backends/context.h"
#include "base/rounding.h"

namespace heed {

// Elements of a piece: 64 KiB of F32.
inline constexpr int64_t kPieceElements = int64_t{1} << 14;

// The pieces of some arrays, numbered through all of them.
class Pieces {
 public:
  void reserve(size_t num_arrays) { ends_.reserve(num_arrays); }
  // Adds an array of so many pieces.
  void add(int64_t num_pieces) { ends_.push_back(num_pieces + total()); }
  void add_elements(int64_t num_elements) { add(divide_up(num_elements, kPieceElements)); }

  int64_t total() const { return ends_.empty() ? 0 : ends_.back(); }
  // The number of the array's first piece.
  int64_t first_of(size_t array) const { return array == 0 ? 0 : ends_[array - 1]; }

  // Calls function(array, its piece, worker), which must not throw, once for each piece. On a context in host memory the
  // context's threads do, for about num_bytes that are read and written; on others the calling thread.
  template <typename Function>
  void for_each(const Context& context, double num_bytes, const Function& function) const {
    const auto run = [&](int64_t number, int32_t worker) {
      const auto array = static_cast<size_t>(std::ranges::upper_bound(ends_, number) - ends_.begin());
      function(array, number - first_of(array), worker);
    };
    if (context.is_host()) return context.for_each(total(), num_bytes, run);
    for (int64_t number = 0; number < total(); ++number) run(number, 0);
  }

 private:
  std::vector<int64_t> ends_;
};

// The elements of a piece of an array.
struct PieceRange {
  int64_t first;
  int64_t count;
};
inline PieceRange range_of_piece(int64_t piece, int64_t num_elements) {
  const int64_t first = piece * kPieceElements;
  return {first, std::min(kPieceElements, num_elements - first)};
}

}  // namespace heed
