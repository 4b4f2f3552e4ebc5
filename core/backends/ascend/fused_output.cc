// SPDX-License-Identifier: Apache-2.0
// The output of an attention by ATB's SelfAttention operation. It takes packed sequences: one after the other, without
// padding, each with at least one key, heads of one size, and a mask only if there is a bias or the rows of a sequence
// see different keys.
// The rules of docs/semantics.md are kept like this:
//
// - Keys that no row of a batch element sees are left out of its sequence, so their contents cannot matter (rule 8).
// - A batch element whose rows all see no key is left out; its output is set to 0 (rule 7).
// - In the other batch elements, rows without a visible key attend to all keys of the sequence, and are set to 0
//   afterwards.
// - If rows without a key must be the mean of all values (EmptyRows::Mean), their queries are set to 0 and the sequence
//   has all keys. Those keys that no other row sees are set to 0 as well.
// - A Hide mask is 1 where a key is hidden. The kernel adds -3e38 times the mask, which makes the weight exactly 0.
// - With a mask, infinite keys are replaced by NaN. Otherwise a row whose visible scores are all -infinity would attend
//   to its hidden keys.
// - A bias, ALiBi's penalty of distance, or a mask that differs between heads, is added to the scores from a square plane
//   for each head. The largest bias of a row is subtracted first, which changes no weight: so the differences that matter
//   fit F16.
#include "backends/ascend/fused_output.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include "backends/ascend/arrange.h"
#include "backends/ascend/operations.h"
#include "backends/ascend/zeros.h"
#include "base/half.h"
#include "base/rounding.h"

namespace heed::ascend {
namespace {

// ATB's kernel works in blocks of 128 keys for heads of up to kMostOfWideBlocks elements, and in blocks of 64 keys for
// heads of kLeastOfNarrowBlocks elements or more. For sizes between these it does not apply the triangle to a last pair
// of blocks that has at most 128 keys, so rows would see later keys.
constexpr int64_t kMostOfWideBlocks = 128;
constexpr int64_t kLeastOfNarrowBlocks = 208;

// Rows and columns of ATB's compressed causal mask, which serves any number of keys.
constexpr int64_t kTriangle = 128;

uint16_t narrow(float value, aclDataType dtype) {
  return dtype == ACL_FLOAT16 ? narrow_to_half(value).bits : narrow_to_bfloat16(value).bits;
}

// The number added to a hidden score, and the lowest number added to a visible score. Both are near the lower end of
// the dtype's range, with room between them for the scores themselves.
struct Additive {
  float hidden;
  float lowest_visible;
};
Additive additive_of(aclDataType dtype) {
  return dtype == ACL_FLOAT16 ? Additive{-65504.0f, -32768.0f} : Additive{-3e38f, -1e38f};
}

// Batch elements first .. first + count - 1 of the problem.
struct BatchRange {
  int64_t first;
  int64_t count;
};

// The packed sequences for the attention of these batch elements.
class Sequences {
 public:
  Sequences(const AttentionProblem& problem, const Visibility& visibility, const BatchRange& range)
      : problem_(problem), seen_(visibility), range_(range) {
    for (int64_t b = range.first; b < range.first + range.count; ++b) add_element(b);
    choose_mask();
  }

  // The batch elements that have a sequence, in order, counted from the first of the range.
  const std::vector<int32_t>& elements() const { return elements_; }
  // The keys of each sequence, as indices into the keys of its batch element.
  const std::vector<std::vector<int32_t>>& keys() const { return keys_; }
  bool has_all_elements() const { return static_cast<int64_t>(elements_.size()) == range_.count; }
  bool has_all_keys() const { return has_all_elements() && num_keys_ == range_.count * problem_.limits.num_keys; }
  int64_t num_keys() const { return num_keys_; }
  // Keys of zeros after the last sequence's own, hidden from all rows. With a mask, ATB wants at least one sequence to
  // have as many keys as there are queries.
  int64_t num_padding_keys() const { return num_padding_keys_; }
  FusedMask mask() const { return mask_; }
  // For each key of all sequences: 1 if it is there only for the mean of rows without a key. Empty if no sequence has
  // such a key.
  const std::vector<uint8_t>& unseen_keys() const { return unseen_keys_; }
  // (sequence, q, h): 1 for a row without a visible key. Empty if there is none.
  const std::vector<uint8_t>& empty_rows() const { return empty_rows_; }

  std::vector<int32_t> lengths() const {
    std::vector<int32_t> lengths(elements_.size(), static_cast<int32_t>(problem_.limits.num_queries));
    for (const auto& keys : keys_) lengths.push_back(static_cast<int32_t>(keys.size()));
    lengths.back() += static_cast<int32_t>(num_padding_keys_);
    return lengths;
  }

  int64_t longest() const {
    size_t longest = 0;
    for (const auto& keys : keys_) longest = std::max(longest, keys.size());
    return std::max(static_cast<int64_t>(longest), static_cast<int64_t>(keys_.back().size()) + num_padding_keys_);
  }

  // Whether one plane of the mask serves all sequences.
  bool is_shared() const { return seen_.batch_size() == 1; }
  int64_t num_planes() const { return is_shared() ? 1 : static_cast<int64_t>(elements_.size()); }

  // Writes the mask's elements. Hide: (sequences or 1, q, longest); Additive: (sequences or 1, h, side, side).
  void fill_hide(aclDataType dtype, uint16_t* next) const;
  void fill_additive(aclDataType dtype, int64_t side, uint16_t* plane) const;

 private:
  bool is_mean() const { return problem_.empty_rows == EmptyRows::Mean; }

  // The index of sequence i's batch element in the problem.
  int64_t element(size_t i) const { return range_.first + elements_[i]; }
  // Rows of one batch element.
  size_t num_rows() const { return static_cast<size_t>(problem_.limits.num_queries * problem_.num_heads); }

  void add_element(int64_t b) {
    const int64_t num_heads = seen_.num_heads();
    bool has_empty = false;
    bool has_visible = false;
    for (int64_t h = 0; h < num_heads; ++h) {
      for (int64_t q = 0; q < (seen_.is_lengths_only() ? 1 : problem_.limits.num_queries); ++q) {
        (seen_.count(b, h, q) == 0 ? has_empty : has_visible) = true;
      }
    }
    if (!has_visible && !is_mean()) return;
    elements_.push_back(static_cast<int32_t>(b - range_.first));
    if (has_empty && is_mean()) {
      std::vector<int32_t> all(static_cast<size_t>(problem_.limits.num_keys));
      std::iota(all.begin(), all.end(), 0);
      keys_.push_back(std::move(all));
      unseen_keys_.resize(static_cast<size_t>(num_keys_));
      unseen_keys_.resize(unseen_keys_.size() + static_cast<size_t>(problem_.limits.num_keys), 1);
      for (const int32_t key : seen_.keys_of(b))
        unseen_keys_[static_cast<size_t>(num_keys_) + static_cast<size_t>(key)] = 0;
    } else {
      keys_.push_back(seen_.keys_of(b));
    }
    num_keys_ += static_cast<int64_t>(keys_.back().size());
    if (has_empty) add_empty_rows(b);
  }

  void add_empty_rows(int64_t b) {
    empty_rows_.resize((elements_.size() - 1) * num_rows());
    for (int64_t q = 0; q < problem_.limits.num_queries; ++q) {
      for (int64_t h = 0; h < problem_.num_heads; ++h) empty_rows_.push_back(seen_.count(b, h, q) == 0 ? 1 : 0);
    }
  }

  void choose_mask() {
    if (elements_.empty()) return;
    if (!unseen_keys_.empty()) unseen_keys_.resize(static_cast<size_t>(num_keys_));
    if (!empty_rows_.empty()) empty_rows_.resize(elements_.size() * num_rows());
    if (seen_.is_triangle()) {
      mask_ = FusedMask::Triangle;
    } else if (seen_.has_bias()) {
      mask_ = FusedMask::Additive;
    } else if (has_partial_rows()) {
      mask_ = seen_.num_heads() > 1 ? FusedMask::Additive : FusedMask::Hide;
    }
    if (mask_ != FusedMask::None) num_padding_keys_ = std::max<int64_t>(0, problem_.limits.num_queries - longest());
    // The padding is added to the last sequence, which need not be the longest.
    if (num_padding_keys_ > 0)
      num_padding_keys_ = problem_.limits.num_queries - static_cast<int64_t>(keys_.back().size());
  }

  // Whether some row sees some keys of its sequence and not others.
  bool has_partial_rows() const {
    if (seen_.is_lengths_only()) return false;
    for (size_t i = 0; i < elements_.size(); ++i) {
      for (int64_t h = 0; h < seen_.num_heads(); ++h) {
        for (int64_t q = 0; q < problem_.limits.num_queries; ++q) {
          const int64_t count = seen_.count(element(i), h, q);
          if (count != 0 && count != static_cast<int64_t>(keys_[i].size())) return true;
        }
      }
    }
    return false;
  }

  const AttentionProblem& problem_;
  const Visibility& seen_;
  BatchRange range_;
  std::vector<int32_t> elements_;
  std::vector<std::vector<int32_t>> keys_;
  int64_t num_keys_ = 0;
  int64_t num_padding_keys_ = 0;
  std::vector<uint8_t> unseen_keys_;
  FusedMask mask_ = FusedMask::None;
  std::vector<uint8_t> empty_rows_;
};

void Sequences::fill_hide(aclDataType dtype, uint16_t* next) const {
  const uint16_t hidden = narrow(1.0f, dtype);
  const int64_t num_columns = longest();
  for (size_t i = 0; i < static_cast<size_t>(num_planes()); ++i) {
    const auto num_keys = static_cast<int64_t>(keys_[i].size());
    for (int64_t q = 0; q < problem_.limits.num_queries; ++q) {
      // A row without a visible key attends to all keys: its result is set to 0 afterwards, or is the mean of all
      // values.
      const bool is_empty = seen_.count(element(i), 0, q) == 0;
      for (int64_t k = 0; k < num_columns; ++k) {
        const bool is_visible =
            k < num_keys && (is_empty || seen_.is_visible(element(i), 0, q, keys_[i][static_cast<size_t>(k)]));
        *next++ = is_visible ? 0 : hidden;
      }
    }
  }
}

void Sequences::fill_additive(aclDataType dtype, int64_t side, uint16_t* plane) const {
  const Additive additive = additive_of(dtype);
  const uint16_t hidden = narrow(additive.hidden, dtype);
  std::fill_n(plane, num_planes() * problem_.num_heads * side * side, hidden);
  for (size_t i = 0; i < static_cast<size_t>(num_planes()); ++i) {
    const std::vector<int32_t>& keys = keys_[i];
    const int64_t b = element(i);
    std::vector<float> biases(keys.size());
    for (int64_t h = 0; h < problem_.num_heads; ++h, plane += side * side) {
      for (int64_t q = 0; q < problem_.limits.num_queries; ++q) {
        uint16_t* row = plane + q * side;
        if (seen_.count(b, h, q) == 0) {
          std::fill_n(row, keys.size(), uint16_t{0});
          continue;
        }
        seen_.write_biases(b, h, q, keys, biases.data());
        for (size_t column = 0; column < keys.size(); ++column) {
          const float bias = biases[column];
          if (bias == -HUGE_VALF) continue;
          row[column] = narrow(std::isfinite(bias) ? std::max(bias, additive.lowest_visible) : std::nanf(""), dtype);
        }
      }
    }
  }
}

// The head size that ATB computes with. Queries, keys and values are all padded to it with zeros.
int64_t padded_head_size(const AttentionProblem& problem, FusedMask mask) {
  const int64_t size = round_up(std::max(problem.head_size, problem.value_head_size), kHeadUnit);
  return mask == FusedMask::Triangle && size > kMostOfWideBlocks ? std::max(size, kLeastOfNarrowBlocks) : size;
}

class FusedOutput {
 public:
  FusedOutput(Npu& npu, const AttentionProblem& problem, const Visibility& visibility, aclDataType dtype,
              const BatchRange& range)
      : npu_(npu),
        problem_(problem),
        seen_(visibility),
        dtype_(dtype),
        range_(range),
        sequences_(problem, visibility, range),
        head_size_(padded_head_size(problem, sequences_.mask())) {}

  void run() {
    const int64_t h = problem_.num_heads;
    const int64_t d = problem_.value_head_size;
    const Target target(npu_, with_heads_inside(part_of(problem_.output, h, problem_.limits.num_queries, d)), dtype_);
    const int64_t num_sequences = static_cast<int64_t>(sequences_.elements().size());
    if (num_sequences == 0) {
      write_zeros(npu_, target.array().data, target.array().num_bytes());
      target.store();
      return;
    }
    const int64_t num_tokens = num_sequences * problem_.limits.num_queries;
    if (!sequences_.empty_rows().empty())
      empty_rows_ = uploaded(npu_, ACL_INT8, dims_of({num_tokens, h, 1}), sequences_.empty_rows().data());
    // ATB writes into the target directly if the target has exactly these sequences and this head size, and no row
    // needs to be set to 0.
    const bool is_direct = sequences_.has_all_elements() && head_size_ == d && empty_rows_.data() == nullptr;
    Temporary attended;
    DeviceArray result = reshaped(target.array(), {num_tokens, h, head_size_});
    if (!is_direct) {
      attended = Temporary(npu_, dtype_, dims_of({num_tokens, h, head_size_}));
      result = attended.array();
    }
    attend(result);
    if (!is_direct) finish(attended, target);
    target.store();
  }

 private:
  // The range's part of queries, keys, values or the output: (batch elements, heads, s, d).
  StridedArray part_of(const Operand& operand, int64_t heads, int64_t s, int64_t d) const {
    return strided_from(operand, range_.first, {range_.count, heads, s, d});
  }

  void attend(const DeviceArray& result) {
    Temporary kept_queries;
    Temporary kept_keys;
    Temporary kept_values;
    const DeviceArray queries = load_queries(kept_queries);
    DeviceArray keys = load_keys(problem_.keys, problem_.head_size, sequences_.unseen_keys(), kept_keys);
    if (sequences_.mask() != FusedMask::None) keys = without_infinities(npu_, keys, kept_keys);
    const DeviceArray values = load_keys(problem_.values, problem_.value_head_size, {}, kept_values);
    Temporary kept_mask;
    const DeviceArray mask = make_mask(kept_mask);
    std::vector<int32_t> lengths = sequences_.lengths();
    const FusedAttention parameters = {problem_.num_heads, problem_.num_kv_heads, problem_.scale, sequences_.mask()};
    fused_attention(npu_, parameters, queries, keys, values, mask, lengths, result);
  }

  // The rows of `array` (rows, ...) at these indices.
  DeviceArray rows_of(const DeviceArray& array, const std::vector<int32_t>& indices, Temporary& kept) {
    const Temporary on_device =
        uploaded(npu_, ACL_INT32, dims_of({static_cast<int64_t>(indices.size())}), indices.data());
    atb::Dims shape = array.shape;
    shape.dims[0] = static_cast<int64_t>(indices.size());
    return renewed(npu_, array.dtype, shape, kept,
                   [&](const DeviceArray& result) { gather(npu_, array, on_device.array(), result); });
  }

  // The array, set to 0 where `where` is not 0.
  DeviceArray cleared_where(const DeviceArray& array, const Temporary& where, Temporary& kept) {
    return renewed(npu_, dtype_, array.shape, kept,
                   [&](const DeviceArray& result) { clear_where(npu_, array, where.array(), result); });
  }

  // Writes the array to `result`, and zeros to the rest of `result`. The zeros are written first and begin at an
  // aligned address, as copies on the device need; the array then overwrites the first of them.
  void copy_with_zeros(const DeviceArray& array, const DeviceArray& result) {
    const size_t num_bytes = array.num_bytes();
    const size_t aligned = num_bytes / kMemoryAlignment * kMemoryAlignment;
    write_zeros(npu_, static_cast<char*>(result.data) + aligned, result.num_bytes() - aligned);
    npu_.copy(result.data, array.data, num_bytes);
  }

  // Appends zeros to each head, up to head_size_. They add nothing to a product.
  DeviceArray widened(const DeviceArray& array, Temporary& kept) {
    const int64_t tokens = array.shape.dims[0];
    const int64_t heads = array.shape.dims[1];
    const int64_t missing = head_size_ - array.shape.dims[2];
    if (missing == 0) return array;
    Temporary kept_zeros;
    const DeviceArray zeros = zeros_of(npu_, dtype_, dims_of({tokens, heads, missing}), kept_zeros);
    return renewed(npu_, dtype_, dims_of({tokens, heads, head_size_}), kept,
                   [&](const DeviceArray& result) { concatenate(npu_, array, zeros, result); });
  }

  DeviceArray load_queries(Temporary& kept) {
    const int64_t h = problem_.num_heads;
    const int64_t q = problem_.limits.num_queries;
    const int64_t d = problem_.head_size;
    DeviceArray queries = load(npu_, with_heads_inside(part_of(problem_.queries, h, q, d)), dtype_, kept);
    if (!sequences_.has_all_elements())
      queries = rows_of(reshaped(queries, {range_.count, q * h * d}), sequences_.elements(), kept);
    queries = reshaped(queries, {static_cast<int64_t>(sequences_.elements().size()) * q, h, d});
    queries = widened(queries, kept);
    // The query of a row without a visible key is set to 0, whatever it holds: it then gives all keys the same weight.
    return empty_rows_.data() == nullptr ? queries : cleared_where(queries, empty_rows_, kept);
  }

  // Keys or values of all sequences. Those for which `cleared` is not 0 are set to 0.
  DeviceArray load_keys(const Operand& operand, int64_t d, const std::vector<uint8_t>& cleared, Temporary& kept) {
    const int64_t g = problem_.num_kv_heads;
    const int64_t k = problem_.limits.num_keys;
    DeviceArray all =
        reshaped(load(npu_, with_heads_inside(part_of(operand, g, k, d)), dtype_, kept), {range_.count * k, g, d});
    if (!sequences_.has_all_keys()) {
      std::vector<int32_t> indices;
      indices.reserve(static_cast<size_t>(sequences_.num_keys()));
      for (size_t i = 0; i < sequences_.elements().size(); ++i) {
        for (const int32_t key : sequences_.keys()[i])
          indices.push_back(static_cast<int32_t>(sequences_.elements()[i] * k) + key);
      }
      all = rows_of(all, indices, kept);
    }
    all = widened(all, kept);
    if (!cleared.empty()) {
      const Temporary where = uploaded(npu_, ACL_INT8, dims_of({sequences_.num_keys(), 1, 1}), cleared.data());
      all = cleared_where(all, where, kept);
    }
    if (sequences_.num_padding_keys() == 0) return all;
    const atb::Dims shape = dims_of({sequences_.num_keys() + sequences_.num_padding_keys(), g, head_size_});
    return renewed(npu_, dtype_, shape, kept, [&](const DeviceArray& padded) { copy_with_zeros(all, padded); });
  }

  DeviceArray make_mask(Temporary& kept) {
    switch (sequences_.mask()) {
      case FusedMask::None: return {};
      case FusedMask::Triangle: return triangle();
      case FusedMask::Hide: return hide(kept);
      case FusedMask::Additive: break;
    }
    const int64_t side = std::max(problem_.limits.num_queries, sequences_.longest());
    const int64_t h = problem_.num_heads;
    const int64_t n = sequences_.num_planes();
    const atb::Dims shape = sequences_.is_shared() ? dims_of({h, side, side}) : dims_of({n, h, side, side});
    const auto fill = [this, side](void* host) {
      sequences_.fill_additive(dtype_, side, static_cast<uint16_t*>(host));
    };
    return kept_or_uploaded("additive " + std::to_string(h) + " heads", shape, fill, kept);
  }

  // The mask that `fill` writes. It is kept for later calls if visibility has a name; otherwise `kept` owns it.
  template <typename Fill>
  DeviceArray kept_or_uploaded(const std::string& kind, const atb::Dims& shape, const Fill& fill, Temporary& kept) {
    if (seen_.has_name()) {
      std::string name = kind + " " + std::to_string(dtype_) +
                         (problem_.empty_rows == EmptyRows::Mean ? " mean " : " ") + seen_.name();
      if (!sequences_.is_shared()) name += " from " + std::to_string(range_.first);
      return npu_.constant(name, dtype_, shape, fill);
    }
    DeviceArray array;
    array.dtype = dtype_;
    array.shape = shape;
    std::vector<uint16_t> plane(static_cast<size_t>(array.num_elements()));
    fill(plane.data());
    kept = uploaded(npu_, dtype_, shape, plane.data());
    return kept.array();
  }

  DeviceArray triangle() {
    return npu_.constant("triangle " + std::to_string(dtype_), dtype_, dims_of({kTriangle, kTriangle}),
                         [&](void* host) {
                           auto* next = static_cast<uint16_t*>(host);
                           const uint16_t hidden = narrow(1.0f, dtype_);
                           for (int64_t q = 0; q < kTriangle; ++q) {
                             for (int64_t k = 0; k < kTriangle; ++k) *next++ = k <= q ? uint16_t{0} : hidden;
                           }
                         });
  }

  DeviceArray hide(Temporary& kept) {
    const int64_t q = problem_.limits.num_queries;
    const int64_t k = sequences_.longest();
    const int64_t n = sequences_.num_planes();
    const atb::Dims shape = sequences_.is_shared() ? dims_of({q, k}) : dims_of({n, q, k});
    const auto fill = [this](void* host) { sequences_.fill_hide(dtype_, static_cast<uint16_t*>(host)); };
    return kept_or_uploaded("hide", shape, fill, kept);
  }

  // Copies the result to the target: without the padding of the heads, with rows without a visible key set to 0, and
  // with zeros for batch elements that have no sequence.
  void finish(Temporary& attended, const Target& target) {
    const int64_t h = problem_.num_heads;
    const int64_t d = problem_.value_head_size;
    const int64_t num_tokens = attended.array().shape.dims[0];
    DeviceArray result = attended.array();
    if (empty_rows_.data() != nullptr && problem_.empty_rows == EmptyRows::Zero)
      result = cleared_where(result, empty_rows_, attended);
    if (head_size_ != d) {
      result = renewed(npu_, dtype_, dims_of({num_tokens, h, d}), attended,
                       [&](const DeviceArray& narrowed) { keep_first(npu_, result, narrowed); });
    }
    if (sequences_.has_all_elements()) {
      npu_.copy(target.array().data, result.data, result.num_bytes());
      return;
    }
    // One batch element of zeros after the computed ones stands for all that have no sequence.
    const auto num_sequences = static_cast<int64_t>(sequences_.elements().size());
    const int64_t element_size = problem_.limits.num_queries * h * d;
    const Temporary with_zeros(npu_, dtype_, dims_of({num_sequences + 1, element_size}));
    copy_with_zeros(result, with_zeros.array());
    std::vector<int32_t> indices(static_cast<size_t>(range_.count), static_cast<int32_t>(num_sequences));
    for (size_t i = 0; i < sequences_.elements().size(); ++i)
      indices[static_cast<size_t>(sequences_.elements()[i])] = static_cast<int32_t>(i);
    const Temporary on_device = uploaded(npu_, ACL_INT32, dims_of({range_.count}), indices.data());
    gather(npu_, with_zeros.array(), on_device.array(), reshaped(target.array(), {range_.count, element_size}));
  }

  Npu& npu_;
  const AttentionProblem& problem_;
  const Visibility& seen_;
  aclDataType dtype_;
  BatchRange range_;
  Sequences sequences_;
  int64_t head_size_;
  Temporary empty_rows_;
};

}  // namespace

double fused_mask_bytes(const AttentionProblem& problem) {
  if (masked_pairs(problem) == 0) return 0;
  const auto q = static_cast<double>(problem.limits.num_queries);
  const double side = std::max(q, static_cast<double>(problem.limits.num_keys));
  const double num_planes = differs(problem, 0) ? static_cast<double>(std::min(problem.batch, kMaxSequences)) : 1.0;
  const bool is_additive = problem.bias.given != 0 || problem.alibi_slopes.given != 0 || differs(problem, 1);
  return 2.0 * num_planes * side * (is_additive ? static_cast<double>(problem.num_heads) * side : q);
}

void run_fused_output(Npu& npu, const AttentionProblem& problem, const Visibility& visibility, aclDataType dtype) {
  for (int64_t first = 0; first < problem.batch; first += kMaxSequences) {
    const BatchRange range = {first, std::min(kMaxSequences, problem.batch - first)};
    FusedOutput(npu, problem, visibility, dtype, range).run();
  }
}

}  // namespace heed::ascend
