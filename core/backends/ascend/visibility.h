// SPDX-License-Identifier: Apache-2.0
// Which keys each query of an attention sees, computed on the host: ATB takes lengths there, and rows without a visible
// key must be known before they are computed.
//
// Rows are (b, h, q), pairs (b, h, q, k). If all batch elements, or all heads, see the same keys, one plane of pairs is
// stored for all of them.
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
  // Copies mask, bias and ALiBi slopes to the host, if they are given, which waits for the device.
  Visibility(Npu& npu, const AttentionProblem& problem);

  // Sizes of the stored planes' axes; 1 if all batch elements, or all heads, see the same keys.
  int64_t batch_size() const { return batch_size_; }
  int64_t num_heads() const { return num_heads_; }

  // Whether all queries and heads of a batch element see the same keys, the first ones, without a bias. Lengths alone
  // then describe what is visible.
  bool is_lengths_only() const { return form_ == Form::Lengths && !has_bias(); }
  // Whether there are as many keys as queries, and query i sees keys 0 to i.
  bool is_triangle() const { return form_ == Form::Triangle; }
  // Whether visibility and biases follow from sizes, band, ALiBi slopes and one length for each batch element. Then
  // name() states all of them, and a mask can be kept under that name.
  bool has_name() const { return form_ != Form::Planes; }
  std::string name() const;

  bool is_visible(int64_t b, int64_t h, int64_t q, int64_t k) const;
  // The number of keys that a row sees.
  int64_t count(int64_t b, int64_t h, int64_t q) const;
  // What is added to the score of a visible pair: the problem's bias, and -slope * distance with ALiBi slopes; 0 if the
  // problem has neither.
  float bias(int64_t b, int64_t h, int64_t q, int64_t k) const;
  bool has_bias() const { return !bias_.bytes.empty() || !slopes_.empty(); }
  // The largest finite bias of a row's visible pairs; 0 if there is none.
  float largest_bias(int64_t b, int64_t h, int64_t q) const;
  // Writes for each of these keys the bias less largest_bias of the row, or -infinity if the key is hidden.
  void write_biases(int64_t b, int64_t h, int64_t q, const std::vector<int32_t>& keys, float* biases) const;

  // The keys that at least one row of the batch element sees, in order.
  std::vector<int32_t> keys_of(int64_t b) const;

 private:
  // What decides which keys are visible. ALiBi slopes hide none. Lengths: one length for each batch element. Triangle: the order of queries and
  // keys alone, with as many keys as queries. Band: a band, and one length for each batch element. Planes: lengths for
  // each query, a mask or a bias, looked up pair by pair.
  enum class Form { Lengths, Triangle, Band, Planes };

  // A copy on the host of the memory that an operand spans. `first` is the offset of its first element in bytes.
  struct HostBytes {
    std::vector<char> bytes;
    int64_t first = 0;

    // The address of element (b, h, q, k) of the operand in the copy.
    const char* element(const Operand& operand, int64_t b, int64_t h, int64_t q, int64_t k) const;
  };
  static HostBytes read(Npu& npu, const Operand& operand, const int64_t (&sizes)[kOperandRank]);
  void find_visible();
  size_t row(int64_t b, int64_t h, int64_t q) const;
  bool is_in_limits(int64_t b, int64_t h, int64_t q, int64_t k) const;
  // The element of the problem's bias; 0 if there is none.
  float given_bias(int64_t b, int64_t h, int64_t q, int64_t k) const;
  double slope(int64_t h) const {
    return static_cast<double>(slopes_[slopes_.size() == 1 ? 0 : static_cast<size_t>(h)]);
  }
  // The distance from query q to key 0 along the axis of positions; key k is k further.
  int64_t distance_to_first_key(int64_t b, int64_t q) const;

  const AttentionProblem& problem_;
  KeyLimits limits_;
  Form form_ = Form::Lengths;
  int64_t batch_size_ = 1;
  int64_t num_heads_ = 1;
  // Only for Form::Planes.
  std::vector<uint8_t> visible_;  // (b, h, q, k)
  std::vector<int64_t> counts_;   // (b, h, q)
  HostBytes mask_;
  HostBytes bias_;
  std::vector<float> slopes_;  // of ALiBi: of each head, or one for all; empty without
};

// The number of pairs of query and key for which the host computes an element of the NPU's mask. It is 0 in two cases:
// if all queries of a batch element see the same keys; and if there are as many keys as queries and only a causal mask
// hides keys, since the NPU then reads a triangular mask of constant size. With a bias or ALiBi slopes it is never 0. It
// depends on sizes, strides, on which operands are given, on the band and, in the second case, on the valid lengths.
double masked_pairs(const AttentionProblem& problem);

// Whether lengths, mask, bias or ALiBi slopes differ along an axis of (b, h, q, k).
bool differs(const AttentionProblem& problem, int axis);

}  // namespace heed::ascend
