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

#include "backends/ascend/npu.h"
#include "ops/attention.h"
#include "ops/sequence.h"

namespace heed::ascend {

class Visibility {
 public:
  // Reads mask and bias from the device, and waits for it where there are any.
  Visibility(Npu& npu, const AttentionProblem& problem);

  // 1 where all items, or all heads, see the same.
  int64_t num_items() const { return num_items_; }
  int64_t num_heads() const { return num_heads_; }

  // Whether each query of an item sees the same keys, the first ones, whatever its head.
  bool is_by_item() const { return form_ == Form::Items; }
  // Whether key j is visible to query i exactly if j <= i, for as many keys as queries.
  bool is_triangle() const { return form_ == Form::Triangle; }
  // Whether it follows from sizes, band and a length for each item, by which it can be named; what has a name need not be
  // worked out pair by pair.
  bool has_name() const { return form_ != Form::Planes; }
  std::string name() const;

  bool is_visible(int64_t b, int64_t h, int64_t q, int64_t k) const;
  // Keys that a row sees.
  int64_t count(int64_t b, int64_t h, int64_t q) const;
  // What is added to a visible pair's score; 0 without a bias.
  float bias(int64_t b, int64_t h, int64_t q, int64_t k) const;
  bool has_bias() const { return !bias_.bytes.empty(); }
  // The largest finite bias of a row's visible pairs; 0 where there is none.
  float largest_bias(int64_t b, int64_t h, int64_t q) const;

  // The keys that any row of the item sees, in order.
  std::vector<int32_t> keys_of(int64_t b) const;

 private:
  // What visibility depends on: lengths of items; nothing but the order of queries and keys; a band besides lengths of
  // items; anything.
  enum class Form { Items, Triangle, Band, Planes };

  // The bytes that an operand steps over, on the host, and where its first element is among them.
  struct HostBytes {
    std::vector<char> bytes;
    int64_t first = 0;

    // That of pair (b, h, q, k) of the operand.
    const char* element(const Operand& operand, int64_t b, int64_t h, int64_t q, int64_t k) const;
  };
  static HostBytes read(Npu& npu, const Operand& operand, const int64_t (&sizes)[kOperandRank]);
  void find_visible();
  size_t row(int64_t b, int64_t h, int64_t q) const;
  bool is_in_limits(int64_t b, int64_t h, int64_t q, int64_t k) const;

  const AttentionProblem& problem_;
  KeyLimits limits_;
  Form form_ = Form::Items;
  int64_t num_items_ = 1;
  int64_t num_heads_ = 1;
  // Of planes alone.
  std::vector<uint8_t> visible_;  // (items, heads, q, k)
  std::vector<int64_t> counts_;   // (items, heads, q)
  HostBytes mask_;
  HostBytes bias_;
};

// Pairs of a problem that have to be looked at one by one, on the host and in a mask, as far as sizes and strides tell;
// 0 where all rows of an item see the same keys, or where one triangle stands for the mask.
double masked_pairs(const AttentionProblem& problem);

// Whether lengths, mask or bias differ along an axis (b, h, q, k).
bool differs(const AttentionProblem& problem, int axis);

}  // namespace heed::ascend
