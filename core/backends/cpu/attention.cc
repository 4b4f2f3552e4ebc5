// SPDX-License-Identifier: Apache-2.0
// Attention for kLanes queries of one head at a time, over blocks of keys, with the online softmax (Milakov and
// Gimelshein, "Online normalizer calculation for softmax", arXiv 1805.02867; Rabe and Staats, "Self-attention does not
// need O(n^2) memory", arXiv 2112.05682): a running maximum m, the sum l of exp(score - m) and the sum of exp(score -
// m) * value. When a block raises the maximum, both sums are scaled by exp(old m - new m). One division at the end.
//
// Order of every sum: keys ascending, elements of a head ascending, whatever rows share the tile and whichever blocks
// are skipped; that makes a row's result depend on its own item alone. Blocks start at multiples of kBlockKeys, so
// that the same holds for the points at which sums are rescaled.
//
// Hidden keys never take part, not even as 0 * value: the value may be infinite or NaN.
#include "backends/cpu/attention.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "attention/lengths.h"
#include "backends/cpu/dropout_mask.h"
#include "backends/cpu/elements.h"
#include "backends/cpu/tile.h"

namespace heed::cpu {
namespace {

// 64 keys by 16 lanes of scores are 4 KiB, which with a block of keys and values of head size 64 stays in a
// first-level cache of 48 KiB.
constexpr int64_t kBlockKeys = 64;
constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

struct Scratch {
  float* query_panel;  // [head_size][kLanes]
  float* key_block;    // [kBlockKeys][head_size]
  float* value_block;  // [kBlockKeys][value_head_size]
  float* sums;         // [value_head_size][kLanes], weighted values
  float* scores;       // [kBlockKeys][kLanes], then probabilities
  int32_t* visible;  // [kBlockKeys][kLanes], 1 or 0; as wide as a score, so that choosing by it is one vector operation
  float* score_weights;  // [head_size], the head's, with additive scoring only

  Scratch(void* memory, const AttentionProblem& problem) {
    query_panel = static_cast<float*>(memory);
    key_block = query_panel + problem.head_size * kLanes;
    value_block = key_block + kBlockKeys * problem.head_size;
    sums = value_block + kBlockKeys * problem.value_head_size;
    scores = sums + problem.value_head_size * kLanes;
    visible = reinterpret_cast<int32_t*>(scores + kBlockKeys * kLanes);
    score_weights = scores + 2 * kBlockKeys * kLanes;
  }

  static size_t num_bytes(const AttentionProblem& problem) {
    const int64_t score_weights = problem.scoring == Scoring::Additive ? problem.head_size : 0;
    return (static_cast<size_t>(problem.head_size + problem.value_head_size) * (kLanes + kBlockKeys) +
            2 * kBlockKeys * kLanes + static_cast<size_t>(score_weights)) *
           sizeof(float);
  }
};

// The queries first_query .. first_query + num_rows - 1 of head h of item b.
class Tile {
 public:
  Tile(const AttentionProblem& problem, const Scratch& scratch, int64_t b, int64_t h, int64_t first_query)
      : problem_(problem),
        scratch_(scratch),
        b_(b),
        h_(h),
        kv_head_(h / (problem.num_heads / problem.num_kv_heads)),
        first_query_(first_query),
        num_rows_(std::min(kLanes, problem.num_queries - first_query)) {}

  void run() {
    find_ranges();
    load_queries();
    reset();
    for (int64_t k0 = first_block(); k0 < range_end_; k0 += kBlockKeys) {
      compute_scores(k0);
      add_block(k0);
    }
    close_rows();
    const bool renormalize = sums_overflowed();
    if (problem_.weights.given != 0 || renormalize) sweep_normalized(renormalize);
    store_rows();
  }

 private:
  // Keys that lengths, causal mask and window leave to each row, and to the tile as a whole.
  void find_ranges() {
    range_first_ = problem_.num_keys;
    range_end_ = 0;
    for (int64_t lane = 0; lane < num_rows_; ++lane) {
      const int64_t q = first_query_ + lane;
      const int64_t length = problem_.valid_lens.given != 0 ? length_of(problem_.valid_lens, b_, q) : problem_.num_keys;
      row_first_[lane] = std::max<int64_t>(0, q + problem_.band_first);
      row_end_[lane] = std::min(length, q + problem_.band_last + 1);
      if (row_first_[lane] >= row_end_[lane]) continue;
      range_first_ = std::min(range_first_, row_first_[lane]);
      range_end_ = std::max(range_end_, row_end_[lane]);
    }
  }

  int64_t first_block() const { return range_first_ / kBlockKeys * kBlockKeys; }
  int64_t block_size(int64_t k0) const { return std::min(kBlockKeys, problem_.num_keys - k0); }

  void load_queries() {
    const Operand& queries = problem_.queries;
    std::fill_n(scratch_.query_panel, problem_.head_size * kLanes, 0.0f);
    for (int64_t lane = 0; lane < num_rows_; ++lane) {
      const int64_t index =
          b_ * queries.strides[0] + h_ * queries.strides[1] + (first_query_ + lane) * queries.strides[2];
      load_row(queries.data, queries.dtype, index, queries.strides[3], problem_.head_size, scratch_.query_panel + lane,
               kLanes);
    }
    if (problem_.scoring != Scoring::Additive) return;
    const Operand& weights = problem_.score_weights;
    load_row(weights.data, weights.dtype, h_ * weights.strides[1], weights.strides[3], problem_.head_size,
             scratch_.score_weights);
  }

  void reset() {
    std::fill_n(maximum_, kLanes, -kInfinity);
    std::fill_n(total_, kLanes, 0.0f);
    std::fill_n(any_visible_, kLanes, false);
    std::fill_n(scratch_.sums, problem_.value_head_size * kLanes, 0.0f);
  }

  // Rows k0 .. of keys or values as a dense block [block_size][width].
  void load_block(const Operand& operand, int64_t k0, int64_t width, float* block) const {
    for (int64_t k = 0; k < block_size(k0); ++k) {
      const int64_t index = b_ * operand.strides[0] + kv_head_ * operand.strides[1] + (k0 + k) * operand.strides[2];
      load_row(operand.data, operand.dtype, index, operand.strides[3], width, block + k * width);
    }
  }

  // scores and visible for keys k0 ..; hidden scores are -inf. The order of design: scale, soft cap, bias, hide.
  void compute_scores(int64_t k0) {
    const int64_t count = block_size(k0);
    load_block(problem_.keys, k0, problem_.head_size, scratch_.key_block);
    std::fill_n(scratch_.scores, count * kLanes, 0.0f);
    if (problem_.scoring == Scoring::Additive) {
      add_additive_scores(k0);
    } else {
      accumulate_products(scratch_.key_block, problem_.head_size, scratch_.query_panel, problem_.head_size,
                          scratch_.scores, count);
    }
    for (int64_t k = 0; k < count; ++k) {
      for (int64_t lane = 0; lane < kLanes; ++lane) {
        float& score = scratch_.scores[k * kLanes + lane];
        bool visible = lane < num_rows_ && k0 + k >= row_first_[lane] && k0 + k < row_end_[lane];
        if (visible) score = finish_score(score, lane, k0 + k, visible);
        if (!visible) score = -kInfinity;
        scratch_.visible[k * kLanes + lane] = visible ? 1 : 0;
      }
    }
  }

  // scores[k][lane] = sum over d of score_weights[d] * tanh(query[d][lane] + key[k][d]), d ascending. Unlike products
  // only for pairs that lengths, causal mask and window leave: tanh is nearly all of the work.
  void add_additive_scores(int64_t k0) {
    for (int64_t lane = 0; lane < num_rows_; ++lane) {
      const int64_t end = std::min(block_size(k0), row_end_[lane] - k0);
      for (int64_t k = std::max<int64_t>(0, row_first_[lane] - k0); k < end; ++k) {
        const float* key = scratch_.key_block + k * problem_.head_size;
        float sum = 0.0f;
        for (int64_t d = 0; d < problem_.head_size; ++d)
          sum += scratch_.score_weights[d] * std::tanh(scratch_.query_panel[d * kLanes + lane] + key[d]);
        scratch_.scores[k * kLanes + lane] = sum;
      }
    }
  }

  // From a sum over the head to a score; clears `visible` where mask or bias hides the key.
  float finish_score(float sum, int64_t lane, int64_t key, bool& visible) const {
    float score = sum * problem_.scale;
    if (problem_.soft_cap != 0) score = problem_.soft_cap * std::tanh(score / problem_.soft_cap);
    const int64_t query = first_query_ + lane;
    if (problem_.mask.given != 0)
      visible = static_cast<const uint8_t*>(problem_.mask.data)[pair_index(problem_.mask, query, key)] != 0;
    if (problem_.bias.given != 0) {
      const float bias = load_element(problem_.bias.data, problem_.bias.dtype, pair_index(problem_.bias, query, key));
      score += bias;
      if (bias == -kInfinity) visible = false;
    }
    return score;
  }

  int64_t pair_index(const Operand& operand, int64_t query, int64_t key) const {
    return b_ * operand.strides[0] + h_ * operand.strides[1] + query * operand.strides[2] + key * operand.strides[3];
  }

  // What scores are taken relative to: the maximum, or anything finite while it is -inf, because -inf - -inf would be
  // NaN where exp(-inf) = 0 is meant.
  float pivot(int64_t lane) const { return maximum_[lane] == -kInfinity ? 0.0f : maximum_[lane]; }

  void add_block(int64_t k0) {
    const int64_t count = block_size(k0);
    for (int64_t lane = 0; lane < num_rows_; ++lane) {
      const float old_maximum = maximum_[lane];
      for (int64_t k = 0; k < count; ++k) {
        // A NaN is never greater; it reaches the sums through exp.
        maximum_[lane] = std::max(maximum_[lane], scratch_.scores[k * kLanes + lane]);
        any_visible_[lane] |= scratch_.visible[k * kLanes + lane] != 0;
      }
      const float new_pivot = pivot(lane);
      if (maximum_[lane] != old_maximum) {
        const float factor = std::exp(old_maximum - new_pivot);
        total_[lane] *= factor;
        for (int64_t d = 0; d < problem_.value_head_size; ++d) scratch_.sums[d * kLanes + lane] *= factor;
      }
      for (int64_t k = 0; k < count; ++k) {
        float& score = scratch_.scores[k * kLanes + lane];
        score = scratch_.visible[k * kLanes + lane] != 0 ? std::exp(score - new_pivot) : 0.0f;
        total_[lane] += score;
      }
    }
    if (problem_.output.given == 0) return;
    drop(k0);
    add_values(k0);
  }

  // Sets the probabilities that dropout takes to zero; the normalizer has them already.
  void drop(int64_t k0) {
    if (problem_.dropout == 0) return;
    const DropoutMask dropout(problem_.dropout, problem_.dropout_seed);
    for (int64_t k = 0; k < block_size(k0); ++k) {
      for (int64_t lane = 0; lane < num_rows_; ++lane) {
        if (!dropout.keeps(b_, h_, first_query_ + lane, k0 + k)) scratch_.scores[k * kLanes + lane] = 0.0f;
      }
    }
  }

  // sums[d][lane] += probability[k][lane] * value[k][d] over the visible keys of the block.
  void add_values(int64_t k0) {
    load_block(problem_.values, k0, problem_.value_head_size, scratch_.value_block);
    for (int64_t d = 0; d < problem_.value_head_size; ++d) {
      float sums[kLanes];
      for (int64_t lane = 0; lane < kLanes; ++lane) sums[lane] = scratch_.sums[d * kLanes + lane];
      for (int64_t k = 0; k < block_size(k0); ++k) {
        const float value = scratch_.value_block[k * problem_.value_head_size + d];
        for (int64_t lane = 0; lane < kLanes; ++lane) {
          const float sum = sums[lane] + scratch_.scores[k * kLanes + lane] * value;
          sums[lane] = scratch_.visible[k * kLanes + lane] != 0 ? sum : sums[lane];
        }
      }
      for (int64_t lane = 0; lane < kLanes; ++lane) scratch_.sums[d * kLanes + lane] = sums[lane];
    }
  }

  void close_rows() {
    for (int64_t lane = 0; lane < num_rows_; ++lane) {
      // Scores that are all -inf leave nothing to normalize by; this is not an empty row.
      if (any_visible_[lane] && maximum_[lane] == -kInfinity) total_[lane] = kNaN;
      // The sums of an empty row are 0, or will be a mean.
      divisor_[lane] = any_visible_[lane] ? total_[lane] : 1.0f;
    }
  }

  // Whether values near the largest float overflowed a sum that the division would have brought back.
  bool sums_overflowed() const {
    for (int64_t lane = 0; lane < num_rows_; ++lane) {
      if (row_overflowed(lane)) return true;
    }
    return false;
  }

  bool row_overflowed(int64_t lane) const {
    if (!any_visible_[lane] || !std::isfinite(total_[lane]) || problem_.output.given == 0) return false;
    for (int64_t d = 0; d < problem_.value_head_size; ++d) {
      if (!std::isfinite(scratch_.sums[d * kLanes + lane])) return true;
    }
    return false;
  }

  // A second walk over the keys, now that maximum and total are known: writes the weights, and where `renormalize`
  // sums the values again with weights that add up to one, for the rows whose first sums overflowed.
  void sweep_normalized(bool renormalize) {
    bool again[kLanes] = {};
    for (int64_t lane = 0; lane < num_rows_; ++lane) {
      again[lane] = renormalize && row_overflowed(lane);
      if (!again[lane]) continue;
      divisor_[lane] = 1.0f;
      for (int64_t d = 0; d < problem_.value_head_size; ++d) scratch_.sums[d * kLanes + lane] = 0.0f;
    }
    for (int64_t k0 = 0; k0 < problem_.num_keys; k0 += kBlockKeys) {
      const int64_t count = block_size(k0);
      if (k0 < first_block() || k0 >= range_end_) {
        std::fill_n(scratch_.scores, count * kLanes, 0.0f);
        std::fill_n(scratch_.visible, count * kLanes, 0);
      } else {
        compute_scores(k0);
        for (int64_t lane = 0; lane < num_rows_; ++lane) {
          for (int64_t k = 0; k < count; ++k) {
            float& score = scratch_.scores[k * kLanes + lane];
            score = scratch_.visible[k * kLanes + lane] != 0 ? std::exp(score - pivot(lane)) / total_[lane] : 0.0f;
          }
        }
      }
      if (problem_.weights.given != 0) store_weights(k0);
      if (!renormalize) continue;
      drop(k0);
      for (int64_t i = 0; i < count * kLanes; ++i) {
        if (!again[i % kLanes]) scratch_.visible[i] = 0;
      }
      add_values(k0);
    }
  }

  void store_weights(int64_t k0) {
    const Operand& weights = problem_.weights;
    for (int64_t lane = 0; lane < num_rows_; ++lane) {
      const bool mean = !any_visible_[lane] && problem_.empty_rows == EmptyRows::Mean;
      for (int64_t k = 0; k < block_size(k0); ++k) {
        const float weight = mean ? 1.0f / static_cast<float>(problem_.num_keys) : scratch_.scores[k * kLanes + lane];
        store_element(weights.data, weights.dtype, pair_index(weights, first_query_ + lane, k0 + k), weight);
      }
    }
  }

  // The mean of all values, hidden or not, in place of the row's sums.
  void average_values(int64_t lane) {
    const Operand& values = problem_.values;
    const DropoutMask dropout(problem_.dropout, problem_.dropout_seed);
    const float weight = 1.0f / static_cast<float>(problem_.num_keys);
    for (int64_t k = 0; k < problem_.num_keys; ++k) {
      const float kept = problem_.dropout == 0 || dropout.keeps(b_, h_, first_query_ + lane, k) ? weight : 0.0f;
      const int64_t index = b_ * values.strides[0] + kv_head_ * values.strides[1] + k * values.strides[2];
      for (int64_t d = 0; d < problem_.value_head_size; ++d) {
        scratch_.sums[d * kLanes + lane] +=
            kept * load_element(values.data, values.dtype, index + d * values.strides[3]);
      }
    }
  }

  void store_rows() {
    const float scale = dropout_scale(problem_.dropout);
    for (int64_t lane = 0; lane < num_rows_; ++lane) {
      const int64_t q = first_query_ + lane;
      if (problem_.log_sum_exp.given != 0) {
        const Operand& operand = problem_.log_sum_exp;
        const float value = any_visible_[lane] ? maximum_[lane] + std::log(total_[lane]) : -kInfinity;
        static_cast<float*>(operand.data)[b_ * operand.strides[0] + h_ * operand.strides[1] + q * operand.strides[2]] =
            value;
      }
      if (problem_.output.given == 0) continue;
      if (!any_visible_[lane] && problem_.empty_rows == EmptyRows::Mean) average_values(lane);
      const Operand& output = problem_.output;
      for (int64_t d = 0; d < problem_.value_head_size; ++d) {
        const float mean = scratch_.sums[d * kLanes + lane] / divisor_[lane];
        const int64_t index =
            b_ * output.strides[0] + h_ * output.strides[1] + q * output.strides[2] + d * output.strides[3];
        store_element(output.data, output.dtype, index, problem_.dropout == 0 ? mean : mean * scale);
      }
    }
  }

  const AttentionProblem& problem_;
  const Scratch& scratch_;
  int64_t b_;
  int64_t h_;
  int64_t kv_head_;
  int64_t first_query_;
  int64_t num_rows_;

  int64_t row_first_[kLanes];
  int64_t row_end_[kLanes];
  int64_t range_first_ = 0;
  int64_t range_end_ = 0;
  float maximum_[kLanes];
  float total_[kLanes];
  bool any_visible_[kLanes];
  float divisor_[kLanes];
};

}  // namespace

Plan plan_attention(const AttentionProblem& problem, int32_t /*num_workers*/) {
  Plan plan;
  plan.kernel = problem.scoring == Scoring::Additive ? "tiled_online_softmax_additive" : "tiled_online_softmax";
  plan.isa = "portable";
  plan.scratch_bytes = Scratch::num_bytes(problem);
  plan.block_queries = kLanes;
  plan.block_keys = kBlockKeys;
  return plan;
}

void run_attention(const AttentionProblem& problem, const Workers& /*workers*/, void* memory) {
  // Items and heads without queries need no memory, so there may be more of them than anyone can count to.
  if (problem.num_queries == 0) return;
  const Scratch scratch(memory, problem);
  for (int64_t b = 0; b < problem.batch; ++b) {
    for (int64_t h = 0; h < problem.num_heads; ++h) {
      for (int64_t q = 0; q < problem.num_queries; q += kLanes) Tile(problem, scratch, b, h, q).run();
    }
  }
}

}  // namespace heed::cpu
