// SPDX-License-Identifier: Apache-2.0
// Gives the processor access to rows of a cache: to the cache's memory if it is on the host, otherwise to a copy.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/host_allocator.h"

namespace heed {

class Cache;
struct RopeOptions;

// One row of one key head.
struct StoredRow {
  std::byte* key = nullptr;    // its first element
  size_t key_step = 0;         // bytes from element to element
  std::byte* value = nullptr;  // contiguous
  float* key_scale = nullptr;  // for I8, else null
  float* value_scale = nullptr;
};

// The pages of some rows of a sequence in one layer.
class PagesImage {
 public:
  enum class Contents { Copied, Undefined };

  // The pages of rows first .. end - 1. Undefined: the rows are not read, and the sequence may get these pages later. Throws
  // OutOfMemory, or the failure of the device.
  PagesImage(const Cache& cache, int64_t layer, int64_t sequence, int64_t first, int64_t end,
             Contents contents = Contents::Copied);

  // A row of these pages.
  StoredRow row(int64_t head, int64_t row) const;
  // Writes all rows of the pages to the cache. Throws the failure of the device.
  void commit() const;

 private:
  // Calls visit(bytes of the cache, bytes of the copy, number of bytes) for the keys and for the values of each page.
  template <typename Visit>
  void visit_pages(const Visit& visit) const;

  const Cache* cache_;
  int64_t layer_;
  int64_t sequence_;
  int64_t first_page_;
  int64_t num_pages_;
  // The keys of all pages and then their values. Empty if the cache is in host memory.
  mutable HostVector<std::byte> copy_;
};

// Copies the key, the value and the scales of a row to another row.
void move_row(const Cache& cache, const PagesImage& image, int64_t from, int64_t to);
// Rotates the key of a row by `rotation`, cosines and then sines.
void rotate_row(const Cache& cache, const PagesImage& image, const RopeOptions& rope, int64_t row,
                std::span<const float> rotation);

}  // namespace heed
