// SPDX-License-Identifier: Apache-2.0
// Which pages sequences have, as a table of numbers: a plain model of what a cache does with them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace heed::cache_test {

class PageCount {
 public:
  PageCount(int64_t num_sequences, int64_t page_size, int64_t num_pages)
      : page_size_(page_size), num_pages_(num_pages), tables_(static_cast<size_t>(num_sequences)) {}

  // Below 0 after a write that a cache must refuse.
  int64_t num_free() const { return num_pages_ - num_used(); }

  // Pages for rows up to `length`; those that the rows from `first` on are written to are the sequence's own afterwards.
  void write(int64_t sequence, int64_t first, int64_t length) {
    if (first >= length) return;
    reserve(sequence, length);
    for (int64_t page = first / page_size_; page < pages_of(length); ++page) {
      if (num_users(at(sequence, page)) > 1) at(sequence, page) = next_++;
    }
  }

  void reserve(int64_t sequence, int64_t length) {
    std::vector<int64_t>& table = tables_[static_cast<size_t>(sequence)];
    while (static_cast<int64_t>(table.size()) < pages_of(length)) table.push_back(next_++);
  }

  void cut(int64_t sequence, int64_t length) {
    std::vector<int64_t>& table = tables_[static_cast<size_t>(sequence)];
    if (static_cast<int64_t>(table.size()) > pages_of(length)) table.resize(static_cast<size_t>(pages_of(length)));
  }

  void copy(int64_t from, int64_t length, int64_t to) {
    tables_[static_cast<size_t>(to)] = tables_[static_cast<size_t>(from)];
    cut(to, length);
  }

  void reorder(const std::vector<int64_t>& sources) {
    const std::vector<std::vector<int64_t>> before = tables_;
    for (size_t i = 0; i < sources.size(); ++i) tables_[i] = before[static_cast<size_t>(sources[i])];
  }

  // New pages for all rows.
  void replace(int64_t sequence, int64_t length) {
    cut(sequence, 0);
    reserve(sequence, length);
  }

  int64_t pages_of(int64_t length) const { return (length + page_size_ - 1) / page_size_; }

  // How many pages that hold the rows first to length - 1 another sequence has too.
  int64_t num_shared(int64_t sequence, int64_t first, int64_t length) const {
    const std::vector<int64_t>& table = tables_[static_cast<size_t>(sequence)];
    const int64_t end = std::min(pages_of(length), static_cast<int64_t>(table.size()));
    int64_t count = 0;
    for (int64_t page = first / page_size_; page < end; ++page)
      count += num_users(table[static_cast<size_t>(page)]) > 1 ? 1 : 0;
    return count;
  }

  int64_t num_missing(int64_t sequence, int64_t length) const {
    const auto present = static_cast<int64_t>(tables_[static_cast<size_t>(sequence)].size());
    return std::max<int64_t>(0, pages_of(length) - present);
  }

 private:
  int64_t& at(int64_t sequence, int64_t page) {
    return tables_[static_cast<size_t>(sequence)][static_cast<size_t>(page)];
  }

  int64_t num_users(int64_t page) const {
    int64_t count = 0;
    for (const std::vector<int64_t>& table : tables_) count += std::count(table.begin(), table.end(), page);
    return count;
  }

  int64_t num_used() const {
    std::vector<int64_t> all;
    for (const std::vector<int64_t>& table : tables_) all.insert(all.end(), table.begin(), table.end());
    std::sort(all.begin(), all.end());
    return std::unique(all.begin(), all.end()) - all.begin();
  }

  int64_t page_size_;
  int64_t num_pages_;
  int64_t next_ = 0;  // the number of the next page
  std::vector<std::vector<int64_t>> tables_;
};

}  // namespace heed::cache_test
