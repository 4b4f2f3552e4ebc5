// SPDX-License-Identifier: Apache-2.0
// PagedAttention takes tokens: each has one query, a list of pages and a number of keys, which are the first rows of these
// pages. So a query that sees the first rows of its sequence is a token, in a causal chunk with one key more than the query
// before. It reads them from memory for itself. A batch element with many queries, or with a query that does not see the
// first row, is computed by SelfAttention instead, which takes its keys from the call, if the sequence has no others, or
// from a copy of its pages without gaps.
#include "backends/ascend/cached_attention.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "backends/ascend/arrange.h"
#include "backends/ascend/attention.h"
#include "backends/ascend/fused_output.h"
#include "backends/ascend/known_features.h"
#include "backends/ascend/operations.h"
#include "backends/ascend/zeros.h"
#include "base/rounding.h"
#include "ops/visible_keys.h"

namespace heed::ascend {
namespace {

// Limits of ATB's PagedAttention for a page of one head, and for the rows of a page.
constexpr int64_t kMaxPageElements = 16384;
constexpr int64_t kMaxPageRows = 128;

// More queries of a sequence than this are computed by SelfAttention: it reads keys once for up to 128 queries.
constexpr int64_t kMaxTokensOfSequence = 16;

// A copy of a sequence is attended to by so many queries at a time that their mask takes at most 64 MiB, or by the fewest.
constexpr int64_t kMaxMaskElements = int64_t{1} << 25;
constexpr int64_t kFewestQueries = 128;

constexpr AttentionFeatures kKnown = {
    AttentionFeature::KeysInACache,    AttentionFeature::RaggedBatch,    AttentionFeature::Band,
    AttentionFeature::MeanOfEmptyRows, AttentionFeature::SharedKeyHeads,
};

constexpr MissingFeatureTexts kMissingTexts("ATB's attention over a cache");

int64_t rows_of_page(const CachedKeys& cached) { return cached.page_tiles * kCacheTileRows; }

// The rows of queries, keys and values of a call, (batch, heads, rows, size); a packed batch has one batch element.
StridedArray rows_of_call(const AttentionProblem& problem, const Operand& operand, int64_t heads, int64_t size) {
  const int64_t batch = problem.is_packed != 0 ? 1 : problem.batch;
  const int64_t rows = num_query_rows(problem.limits, problem.batch);
  return with_heads_inside(strided(operand, {batch, heads, rows, size}));
}

// The operand from a row of batch element b on.
Operand moved(const Operand& operand, int64_t b, int64_t row) {
  Operand part = operand;
  const int64_t offset = b * operand.strides[0] + row * operand.strides[2];
  part.data = static_cast<std::byte*>(operand.data) + offset * static_cast<int64_t>(size_of(operand.dtype));
  return part;
}

class CachedCall {
 public:
  CachedCall(Npu& npu, const AttentionProblem& problem, aclDataType dtype)
      : npu_(npu), problem_(problem), cached_(problem.cached), dtype_(dtype) {
    const int64_t g = problem.num_kv_heads;
    const auto cache_at = [&](int64_t offset, int64_t size) {
      DeviceArray cache;
      cache.data = cached_.memory + offset;
      cache.dtype = dtype;
      cache.shape = dims_of({cached_.num_pages, rows_of_page(cached_), g, size});
      return cache;
    };
    keys_ = cache_at(0, problem.head_size);
    values_ = cache_at(cached_.values_offset, problem.value_head_size);
  }

  // Stores the rows of the call.
  void store() {
    std::vector<int32_t> slots(static_cast<size_t>(num_call_rows()), -1);
    bool has_row = false;
    for (int64_t b = 0; b < problem_.batch; ++b) {
      const Sequence& sequence = sequence_of(problem_.limits, b);
      const int64_t held = sequence.key_count - sequence.query_count;
      int32_t* slot = slots.data() + first_row(b);
      for (int64_t i = 0; i < sequence.query_count; ++i) {
        const int64_t row = held + i;
        const int64_t page = cached_.elements[b].pages[row / rows_of_page(cached_)];
        slot[i] = static_cast<int32_t>(page * rows_of_page(cached_) + row % rows_of_page(cached_));
        has_row = true;
      }
    }
    if (!has_row) return;
    Temporary kept_keys;
    Temporary kept_values;
    const DeviceArray keys = load_rows(problem_.keys, problem_.num_kv_heads, problem_.head_size, kept_keys);
    const DeviceArray values = load_rows(problem_.values, problem_.num_kv_heads, problem_.value_head_size, kept_values);
    const Temporary on_device = uploaded(npu_, ACL_INT32, dims_of({num_call_rows()}), slots.data());
    store_in_cache(npu_, keys, values, on_device.array(), keys_, values_);
  }

  void attend() {
    if (num_call_rows() == 0) return;
    bool are_all_tokens = true;
    for (int64_t b = 0; b < problem_.batch && are_all_tokens; ++b) {
      const int64_t count = sequence_of(problem_.limits, b).query_count;
      are_all_tokens = has_tokens(b) && (problem_.is_packed != 0 || count == problem_.limits.num_queries);
    }
    if (are_all_tokens) {
      Temporary kept;
      const DeviceArray queries = load_rows(problem_.queries, problem_.num_heads, problem_.head_size, kept);
      const Target target(npu_, rows_of_call(problem_, problem_.output, problem_.num_heads, problem_.value_head_size),
                          dtype_);
      attend_to_pages(queries, 0, problem_.batch,
                      reshaped(target.array(), {num_call_rows(), problem_.num_heads, head_size()}));
      target.store();
      return;
    }
    for (int64_t b = 0; b < problem_.batch; ++b) {
      const Sequence& sequence = sequence_of(problem_.limits, b);
      const int64_t h = problem_.num_heads;
      if (sequence.query_count > 0 && has_tokens(b)) {
        Temporary kept;
        const Operand first = moved(problem_.queries, b, sequence.query_begin);
        const DeviceArray queries =
            load(npu_, with_heads_inside(strided(first, {1, h, sequence.query_count, head_size()})), dtype_, kept);
        const Target target = target_of(b, sequence.query_begin, sequence.query_count);
        attend_to_pages(reshaped(queries, {sequence.query_count, h, head_size()}), b, b + 1,
                        reshaped(target.array(), {sequence.query_count, h, head_size()}));
        target.store();
      } else if (sequence.query_count > 0) {
        attend_to_copy(b);
      }
      const int64_t num_beyond = problem_.limits.num_queries - sequence.query_count;
      if (problem_.is_packed != 0 || num_beyond == 0) continue;
      const Target beyond = target_of(b, sequence.query_count, num_beyond);
      write_zeros(npu_, beyond.array().data, beyond.array().num_bytes());
      beyond.store();
    }
  }

 private:
  // Keys and values have the same.
  int64_t head_size() const { return problem_.head_size; }

  int64_t num_call_rows() const {
    return num_query_rows(problem_.limits, problem_.batch) * (problem_.is_packed != 0 ? 1 : problem_.batch);
  }
  // The first row of a batch element among those of the call.
  int64_t first_row(int64_t b) const {
    return problem_.limits.table[b].query_begin +
           (problem_.is_packed != 0 ? 0 : b * num_query_rows(problem_.limits, problem_.batch));
  }

  DeviceArray load_rows(const Operand& operand, int64_t heads, int64_t size, Temporary& kept) {
    return reshaped(load(npu_, rows_of_call(problem_, operand, heads, size), dtype_, kept),
                    {num_call_rows(), heads, size});
  }

  Target target_of(int64_t b, int64_t first, int64_t count) {
    const Operand from_first = moved(problem_.output, b, first);
    return Target(npu_, with_heads_inside(strided(from_first, {1, problem_.num_heads, count, head_size()})), dtype_);
  }

  // Whether each query of a batch element sees the first rows of its sequence, and at least one.
  bool has_tokens(int64_t b) const {
    const int64_t count = sequence_of(problem_.limits, b).query_count;
    if (count > kMaxTokensOfSequence) return false;
    for (int64_t q = 0; q < count; ++q) {
      const KeyRange keys = keys_of_query(problem_.limits, b, q);
      if (keys.first != 0 || keys.size() == 0) return false;
    }
    return true;
  }

  // The queries of batch elements first_element .. end_element - 1, one after the other.
  void attend_to_pages(const DeviceArray& queries, int64_t first_element, int64_t end_element,
                       const DeviceArray& result) {
    std::vector<int32_t> lengths;
    std::vector<const int32_t*> pages;
    for (int64_t b = first_element; b < end_element; ++b) {
      for (int64_t q = 0; q < sequence_of(problem_.limits, b).query_count; ++q) {
        lengths.push_back(static_cast<int32_t>(keys_of_query(problem_.limits, b, q).size()));
        pages.push_back(cached_.elements[b].pages);
      }
    }
    const auto num_tokens = static_cast<int64_t>(lengths.size());
    // The numbers of keys are sent with the launch of the kernel, as those of SelfAttention are.
    for (int64_t first = 0; first < num_tokens; first += kMaxSequences) {
      const int64_t count = std::min(kMaxSequences, num_tokens - first);
      attend_tokens(queries, lengths.data() + first, pages.data() + first, first, count, result);
    }
  }

  void attend_tokens(const DeviceArray& queries, const int32_t* lengths, const int32_t* const* pages, int64_t first,
                     int64_t count, const DeviceArray& result) {
    const auto tokens_of = [&](const DeviceArray& array) {
      DeviceArray part = array;
      part.shape.dims[0] = count;
      part.data = static_cast<std::byte*>(array.data) + static_cast<int64_t>(part.num_bytes()) / count * first;
      return part;
    };
    const int64_t most_pages = divide_up(int64_t{*std::max_element(lengths, lengths + count)}, rows_of_page(cached_));
    std::vector<int32_t> tables(static_cast<size_t>(count * most_pages), 0);
    for (int64_t i = 0; i < count; ++i)
      std::copy_n(pages[i], divide_up(int64_t{lengths[i]}, rows_of_page(cached_)), tables.data() + i * most_pages);
    const Temporary on_device = uploaded(npu_, ACL_INT32, dims_of({count, most_pages}), tables.data());
    std::vector<int32_t> host_lengths(lengths, lengths + count);
    const FusedAttention parameters = {problem_.num_heads, problem_.num_kv_heads, problem_.scale, FusedMask::None};
    paged_attention(npu_, parameters, tokens_of(queries), keys_, values_, on_device.array(), host_lengths,
                    tokens_of(result));
  }

  // Attention of a batch element to keys and values without gaps.
  void attend_to_copy(int64_t b) {
    const Sequence& sequence = sequence_of(problem_.limits, b);
    AttentionProblem problem = problem_;
    problem.cached = {};
    problem.batch = 1;
    problem.is_packed = 0;
    problem.limits = unlimited(sequence.query_count, sequence.key_count);
    problem.limits.sequence = sequence;
    problem.limits.sequence.query_begin = 0;
    problem.queries = moved(problem_.queries, b, sequence.query_begin);
    problem.output = moved(problem_.output, b, sequence.query_begin);
    if (cached_.appends != 0 && sequence.key_count == sequence.query_count) {
      // The sequence has no other rows, and they are stored without another rounding.
      problem.keys = moved(problem_.keys, b, sequence.query_begin);
      problem.values = moved(problem_.values, b, sequence.query_begin);
      run_attention(npu_, problem, dtype_);
      return;
    }
    const int64_t num_pages = divide_up(sequence.key_count, rows_of_page(cached_));
    Temporary pages;
    if (num_pages > 0) pages = uploaded(npu_, ACL_INT32, dims_of({num_pages}), cached_.elements[b].pages);
    const Temporary keys = copied_pages(keys_, pages, num_pages, problem.keys);
    const Temporary values = copied_pages(values_, pages, num_pages, problem.values);
    const int64_t most = std::max(kFewestQueries, kMaxMaskElements / std::max<int64_t>(1, sequence.key_count));
    for (int64_t first = 0; first < sequence.query_count; first += most) {
      AttentionProblem part = problem;
      Sequence& of_part = part.limits.sequence;
      part.limits.num_queries = of_part.query_count = std::min(most, sequence.query_count - first);
      // Query 0 of the part is query `first` of the batch element.
      of_part.band_first += first;
      of_part.band_last += first;
      part.queries = moved(problem.queries, 0, first);
      part.output = moved(problem.output, 0, first);
      run_attention(npu_, part, dtype_);
    }
  }

  // The pages one after another, (pages, page rows, kv heads, head size), as the keys or values of one batch element.
  Temporary copied_pages(const DeviceArray& cache, const Temporary& pages, int64_t num_pages, Operand& operand) {
    const int64_t page_elements = rows_of_page(cached_) * problem_.num_kv_heads * head_size();
    Temporary copy(npu_, dtype_, dims_of({num_pages, page_elements}));
    if (num_pages > 0) gather(npu_, reshaped(cache, {cached_.num_pages, page_elements}), pages.array(), copy.array());
    operand = {};
    operand.given = 1;
    operand.dtype = cached_.dtype;
    operand.data = copy.data();
    operand.strides[1] = head_size();
    operand.strides[2] = problem_.num_kv_heads * head_size();
    operand.strides[3] = 1;
    return copy;
  }

  Npu& npu_;
  const AttentionProblem& problem_;
  const CachedKeys& cached_;
  aclDataType dtype_;
  // The caches of all pages, (pages, rows, kv heads, head size).
  DeviceArray keys_;
  DeviceArray values_;
};

}  // namespace

int64_t cache_page_rows(const CacheShape& shape) {
  const bool has_dtype = shape.dtype == DType::F16 || shape.dtype == DType::BF16;
  const bool has_size =
      shape.head_size == shape.value_head_size && shape.head_size % kHeadUnit == 0 && shape.head_size <= kMaxHeadSize;
  if (!has_dtype || !has_size || shape.is_ring != 0 || shape.unrotated_keys != 0) return 0;
  const int64_t most = std::min(kMaxPageRows, kMaxPageElements / shape.head_size / kCacheTileRows * kCacheTileRows);
  if (shape.page_rows == 0) return most;
  return shape.page_rows <= most ? shape.page_rows : 0;
}

Plan plan_cached_attention(const AttentionProblem& problem, DType computed) {
  const CachedKeys& cached = problem.cached;
  Plan plan;
  plan.kernel = problem.queries.given == 0 ? "ATB ReshapeAndCache"
                : cached.appends != 0      ? "ATB ReshapeAndCache, PagedAttention or SelfAttention"
                                           : "ATB PagedAttention or SelfAttention";
  add_unknown_features(plan, problem, kKnown, kMissingTexts);
  if (cached.form == CacheForm::Tiles) {
    plan.add_reason("the cache is in host memory, expected one in " DTYPE("F16") " or " DTYPE(
        "BF16") ", contiguous or in pages of at most 128 rows and 16384 elements of a head, with rotated keys, and "
                "with keys and values of one head size, a multiple of 16");
  } else if (cached.dtype != computed) {
    plan.add_reason("the cache has another " WORD("dtype") " than the device computes in, expected " DTYPE(
        "F16") " for " DTYPE("F16") " and otherwise " DTYPE("BF16"));
  }
  if (cached.has_window != 0) plan.add_reason("ATB's attention over a cache has no window over positions with gaps");
  if (problem.scale != 0 && std::fabs(problem.scale) < kMinFactor) plan.add_reason(kTooSmallScale);
  const auto can = [&](const Operand& operand, int64_t heads) {
    return operand.given == 0 || can_arrange(rows_of_call(problem, operand, heads, problem.head_size));
  };
  if (!can(problem.queries, problem.num_heads) || !can(problem.keys, problem.num_kv_heads) ||
      !can(problem.values, problem.num_kv_heads) || !can(problem.output, problem.num_heads))
    plan.add_reason(kOutOfReach);
  return plan;
}

void run_cached_attention(Npu& npu, const AttentionProblem& problem, aclDataType dtype) {
  CachedCall call(npu, problem, dtype);
  if (problem.cached.appends != 0) call.store();
  if (problem.queries.given != 0) call.attend();
}

}  // namespace heed::ascend
