// SPDX-License-Identifier: Apache-2.0
// Weights and log_sum_exp from the scores themselves. The products of queries and keys are in the 16-bit dtype. From
// there on all is in f32: the scores are scaled, set to 0 where they are hidden, the bias is added, and a softmax over
// all keys gives the weights. Hidden weights end as 0, whatever their keys hold (rule 8). The host computes log_sum_exp
// from the same scores, because ATB has no operation for it.
#include "backends/ascend/score_chain.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "backends/ascend/arrange.h"
#include "backends/ascend/operations.h"
#include "ops/lengths.h"

namespace heed::ascend {
namespace {

// Batch elements are computed in groups whose scores take at most this many bytes on the device, or one by one if a
// single one takes more.
constexpr int64_t kMaxScoreBytes = int64_t{256} << 20;

// Added to hidden scores, which are 0: their weight is then exactly 0 if the row has a visible score. Not infinite,
// since a kernel that works through a row in blocks would get NaN from a block of -infinities.
constexpr float kHidden = -std::numeric_limits<float>::max();

// The part of the scale by which a 16-bit query can be multiplied without rounding: the largest power of two that is
// not larger than the scale's size, at most 1; 0 for a scale of 0.
float power_of_two_in(float scale) {
  if (scale == 0.0f) return 0.0f;
  return std::fabs(scale) > 1.0f ? 1.0f : std::ldexp(1.0f, std::ilogb(scale));
}

// What masks and changes the scores (batch elements, h, q, k) of some batch elements, on the device. Axes are 1 where
// all batch elements, heads or queries are alike.
struct ScoreMasks {
  // Bytes (b, h, q, k): not 0 where a key is hidden.
  std::optional<Temporary> hidden;
  // F32 (b, h, q, k): the bias, and kHidden where a key is hidden.
  std::optional<Temporary> added;
  // Bytes (b, h, q, 1): not 0 for rows whose scores all become 0, so that all keys get the same weight.
  std::optional<Temporary> zeroed;
};

// Computes weights from scores; both are f32 (batch elements, h, q, k). If `masked` is given, it receives the scores
// after masking and bias, whose softmax the weights are.
void softmax_within(Npu& npu, const DeviceArray& scores, const ScoreMasks& masks, const DeviceArray& weights,
                    Temporary* masked) {
  Temporary cleared;
  DeviceArray current = scores;
  const auto clear = [&](const std::optional<Temporary>& where) {
    if (!where) return;
    current = renewed(npu, ACL_FLOAT, scores.shape, cleared,
                      [&](const DeviceArray& next) { clear_where(npu, current, where->array(), next); });
  };
  clear(masks.hidden);
  clear(masks.zeroed);
  if (masks.added) {
    current = renewed(npu, ACL_FLOAT, scores.shape, cleared,
                      [&](const DeviceArray& next) { add(npu, current, masks.added->array(), next); });
  }
  if (!masks.hidden) {
    softmax(npu, current, weights);
  } else {
    const Temporary all(npu, ACL_FLOAT, scores.shape);
    softmax(npu, current, all.array());
    clear_where(npu, all.array(), masks.hidden->array(), weights);
  }
  if (masked == nullptr) return;
  if (cleared.data() == nullptr) {
    cleared = Temporary(npu, ACL_FLOAT, scores.shape);
    npu.copy(cleared.data(), scores.data, scores.num_bytes());
  }
  *masked = std::move(cleared);
}

class ScoreChain {
 public:
  ScoreChain(Npu& npu, const AttentionProblem& problem, const Visibility& visibility, aclDataType dtype)
      : npu_(npu), problem_(problem), seen_(visibility), dtype_(dtype) {}

  void run() {
    const int64_t element_bytes = problem_.num_heads * problem_.limits.num_queries * problem_.limits.num_keys * 4;
    const int64_t max_count = std::max<int64_t>(1, kMaxScoreBytes / element_bytes);
    for (int64_t first = 0; first < problem_.batch; first += max_count)
      run_range(first, std::min(max_count, problem_.batch - first));
  }

 private:
  bool is_mean() const { return problem_.empty_rows == EmptyRows::Mean; }

  void run_range(int64_t first, int64_t count) {
    const int64_t h = problem_.num_heads;
    const int64_t q = problem_.limits.num_queries;
    const int64_t k = problem_.limits.num_keys;
    const ScoreMasks masks = make_masks(first, count);
    const Temporary scores = make_scores(first, count, masks.hidden.has_value());
    Temporary masked;
    Temporary* wanted = problem_.log_sum_exp.given != 0 ? &masked : nullptr;
    if (problem_.weights.given != 0) {
      const Target target(npu_, strided_from(problem_.weights, first, {count, h, q, k}), ACL_FLOAT);
      softmax_within(npu_, scores.array(), masks, reshaped(target.array(), {count, h, q, k}), wanted);
      target.store();
    } else {
      const Temporary unused(npu_, ACL_FLOAT, scores.array().shape);
      softmax_within(npu_, scores.array(), masks, unused.array(), wanted);
    }
    if (wanted != nullptr) sum(masked, first, count);
  }

  // The scaled scores, f32 (batch elements, h, q, k). Query heads that share a key head are rows of one product.
  Temporary make_scores(int64_t first, int64_t count, bool has_hidden) {
    const int64_t h = problem_.num_heads;
    const int64_t g = problem_.num_kv_heads;
    const int64_t q = problem_.limits.num_queries;
    const int64_t k = problem_.limits.num_keys;
    const int64_t d = problem_.head_size;
    Temporary kept_queries;
    Temporary kept_keys;
    DeviceArray queries = load(npu_, strided_from(problem_.queries, first, {count, h, q, d}), dtype_, kept_queries);
    DeviceArray keys = load(npu_, strided_from(problem_.keys, first, {count, g, k, d}), dtype_, kept_keys);
    if (has_hidden) {
      queries = without_infinities(npu_, queries, kept_queries);
      keys = without_infinities(npu_, keys, kept_keys);
    }
    // Multiplying the queries by a power of two keeps the products inside the dtype's range without rounding. The rest
    // of the scale is applied in f32.
    const float power = power_of_two_in(problem_.scale);
    const float rest = power == 0.0f ? 1.0f : problem_.scale / power;
    Temporary scaled;
    if (power != 1.0f) {
      queries = renewed(npu_, dtype_, queries.shape, scaled,
                        [&](const DeviceArray& result) { multiply(npu_, queries, power, result); });
    }
    const Temporary products(npu_, dtype_, dims_of({count * g, h / g * q, k}));
    linear(npu_, reshaped(queries, {count * g, h / g * q, d}), reshaped(keys, {count * g, k, d}), true, nullptr,
           products.array());
    Temporary scores(npu_, ACL_FLOAT, dims_of({count, h, q, k}));
    cast(npu_, reshaped(products.array(), {count, h, q, k}), scores.array());
    if (rest == 1.0f) return scores;
    Temporary multiplied(npu_, ACL_FLOAT, scores.array().shape);
    multiply(npu_, scores.array(), rest, multiplied.array());
    return multiplied;
  }

  ScoreMasks make_masks(int64_t first, int64_t count) {
    ScoreMasks masks;
    const int64_t batch_planes = seen_.batch_size() == 1 ? 1 : count;
    const int64_t head_planes = seen_.num_heads();
    const int64_t q = seen_.is_lengths_only() ? 1 : problem_.limits.num_queries;
    const int64_t k = problem_.limits.num_keys;
    const auto num_rows = static_cast<size_t>(batch_planes * head_planes * q);
    const size_t num_pairs = num_rows * static_cast<size_t>(k);
    std::vector<uint8_t> hidden(num_pairs);
    std::vector<uint8_t> zeroed(num_rows);
    std::vector<float> added(num_pairs);
    bool has_hidden = false;
    bool has_zeroed = false;
    size_t row = 0;
    for (int64_t b = first; b < first + batch_planes; ++b) {
      for (int64_t h = 0; h < head_planes; ++h) {
        for (int64_t i = 0; i < q; ++i, ++row) {
          const bool is_mean_row = is_mean() && seen_.count(b, h, i) == 0;
          zeroed[row] = is_mean_row ? 1 : 0;
          has_zeroed |= is_mean_row;
          // The row's largest bias is subtracted. Otherwise a bias that is very low for all visible keys would come
          // near the number that hides keys.
          const float largest = seen_.largest_bias(b, h, i);
          for (int64_t j = 0; j < k; ++j) {
            const size_t pair = row * static_cast<size_t>(k) + static_cast<size_t>(j);
            if (is_mean_row) continue;
            if (seen_.is_visible(b, h, i, j)) {
              added[pair] = seen_.bias(b, h, i, j) - largest;
            } else {
              hidden[pair] = 1;
              added[pair] = kHidden;
              has_hidden = true;
            }
          }
        }
      }
    }
    const atb::Dims pairs = dims_of({batch_planes, head_planes, q, k});
    if (has_hidden) masks.hidden = uploaded(npu_, ACL_INT8, pairs, hidden.data());
    if (has_hidden || seen_.has_bias()) masks.added = uploaded(npu_, ACL_FLOAT, pairs, added.data());
    if (has_zeroed) masks.zeroed = uploaded(npu_, ACL_INT8, dims_of({batch_planes, head_planes, q, 1}), zeroed.data());
    return masks;
  }

  // Writes log_sum_exp of the scores that the softmax was given.
  void sum(const Temporary& masked, int64_t first, int64_t count) {
    const int64_t h = problem_.num_heads;
    const int64_t q = problem_.limits.num_queries;
    const auto k = static_cast<size_t>(problem_.limits.num_keys);
    std::vector<float> scores(static_cast<size_t>(count * h * q) * k);
    npu_.download(scores.data(), masked.data(), masked.array().num_bytes());
    std::vector<float> sums(static_cast<size_t>(count * h * q));
    size_t row = 0;
    for (int64_t b = first; b < first + count; ++b) {
      for (int64_t head = 0; head < h; ++head) {
        for (int64_t i = 0; i < q; ++i, ++row) {
          // The largest bias, which was subtracted from the row, belongs to the sum.
          sums[row] = sum_of_row(scores.data() + row * k, b, head, i) + seen_.largest_bias(b, head, i);
        }
      }
    }
    const Target target(npu_, strided_from(problem_.log_sum_exp, first, {count, h, q, 1}), ACL_FLOAT);
    npu_.upload(target.array().data, sums.data(), target.array().num_bytes());
    target.store();
  }

  float sum_of_row(const float* scores, int64_t b, int64_t h, int64_t q) const {
    double largest = -HUGE_VAL;
    bool is_number = true;
    for (int64_t k = 0; k < problem_.limits.num_keys; ++k) {
      if (!seen_.is_visible(b, h, q, k)) continue;
      is_number &= !std::isnan(scores[k]);
      largest = std::max(largest, static_cast<double>(scores[k]));
    }
    if (seen_.count(b, h, q) == 0) return -HUGE_VALF;
    // Rule 8: a NaN makes the row NaN, and so does an infinity as the largest score.
    if (!is_number || std::isinf(largest)) return std::nanf("");
    double total = 0;
    for (int64_t k = 0; k < problem_.limits.num_keys; ++k) {
      if (seen_.is_visible(b, h, q, k)) total += std::exp(static_cast<double>(scores[k]) - largest);
    }
    return static_cast<float>(largest + std::log(total));
  }

  Npu& npu_;
  const AttentionProblem& problem_;
  const Visibility& seen_;
  aclDataType dtype_;
};

}  // namespace

void run_score_chain(Npu& npu, const AttentionProblem& problem, const Visibility& visibility, aclDataType dtype) {
  ScoreChain(npu, problem, visibility, dtype).run();
}

void run_softmax(Npu& npu, const SoftmaxProblem& problem) {
  const int64_t b = problem.batch;
  const int64_t h = problem.num_heads;
  const int64_t q = problem.num_queries;
  const int64_t k = problem.num_keys;
  Temporary kept;
  const DeviceArray scores = load(npu, strided(problem.scores, {b, h, q, k}), ACL_FLOAT, kept);
  const Target target(npu, strided(problem.weights, {b, h, q, k}), ACL_FLOAT);
  ScoreMasks masks;
  if (problem.valid_lens.given != 0) {
    const int64_t rows = problem.valid_lens.strides[2] == 0 ? 1 : q;
    std::vector<uint8_t> hidden(static_cast<size_t>(b * rows * k));
    std::vector<float> added(hidden.size());
    size_t pair = 0;
    for (int64_t element = 0; element < b; ++element) {
      for (int64_t row = 0; row < rows; ++row) {
        const int64_t length = length_of(problem.valid_lens, element, row);
        for (int64_t key = 0; key < k; ++key, ++pair) {
          hidden[pair] = key >= length ? 1 : 0;
          added[pair] = key >= length ? kHidden : 0.0f;
        }
      }
    }
    masks.hidden = uploaded(npu, ACL_INT8, dims_of({b, 1, rows, k}), hidden.data());
    masks.added = uploaded(npu, ACL_FLOAT, dims_of({b, 1, rows, k}), added.data());
  }
  softmax_within(npu, reshaped(scores, {b, h, q, k}), masks, reshaped(target.array(), {b, h, q, k}), nullptr);
  target.store();
}

}  // namespace heed::ascend
