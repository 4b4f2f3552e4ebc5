// SPDX-License-Identifier: Apache-2.0
// Which keys each query of an attention sees, worked out on the host: ATB takes lengths from there, and rows without keys
// have to be known before it computes them.
//
// Rows are (b, h, q), pairs (b, h, q, k). Where nothing differs between items or between heads, one plane of pairs
// stands for all of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "attention/problem.h"
#include "backends/ascend/npu.h"

namespace heed::ascend {

class Visibility {
 public:
  // Reads mask and bias from the device, and waits for it where there are any.
  Visibility(Npu& npu, const AttentionProblem& problem);

  // 1 where all items, or all heads, see the same.
  int64_t num_items() const { return num_items_; }
  int64_t num_heads() const { return num_heads_; }

  // Whether each query of an item sees the same keys, the first ones, whatever its head.
  bool is_by_item() const { return visible_.empty(); }
  // Whether key j is visible to query i exactly if j <= i, for as many keys as queries.
  bool is_triangle() const { return is_triangle_; }
  // Whether it follows from sizes, band and lengths alone, which have a name.
  bool has_name() const { return mask_.empty() && bias_.empty(); }
  std::string name() const;

  bool is_visible(int64_t b, int64_t h, int64_t q, int64_t k) const;
  // Keys that a row sees.
  int64_t count(int64_t b, int64_t h, int64_t q) const;
  // What is added to a visible pair's score; 0 without a bias.
  float bias(int64_t b, int64_t h, int64_t q, int64_t k) const;
  // The largest finite bias that a row sees, or 0. No weight depends on it: it is taken away from the row's others before
  // they are added to scores, so that those stay far from what hidden keys get.
  float largest_bias(int64_t b, int64_t h, int64_t q) const;
  bool has_bias() const { return !bias_.empty(); }

  // The keys that any row of the item sees, in order.
  std::vector<int32_t> keys_of(int64_t b) const;

 private:
  // The bytes that an operand steps over, on the host, and where its first element is among them.
  struct HostBytes {
    std::vector<char> bytes;
    size_t first = 0;
  };
  static HostBytes read(Npu& npu, const Operand& operand, const int64_t (&sizes)[kOperandRank]);
  void find_visible();
  size_t row(int64_t b, int64_t h, int64_t q) const;
  bool is_in_limits(int64_t b, int64_t h, int64_t q, int64_t k) const;

  const AttentionProblem& problem_;
  bool is_triangle_ = false;
  int64_t num_items_ = 1;
  int64_t num_heads_ = 1;
  std::vector<uint8_t> visible_;  // (items, heads, q, k); empty where is_by_item or is_triangle
  std::vector<int64_t> counts_;   // (items, heads, q); likewise
  // As the operands have them, with their strides.
  std::vector<char> mask_;
  size_t mask_first_ = 0;
  std::vector<char> bias_;
  size_t bias_first_ = 0;
};

// The sizes and strides of what Visibility reads, for plans: bytes that it takes on the host at most.
double visibility_bytes(const AttentionProblem& problem);

}  // namespace heed::ascend
