// SPDX-License-Identifier: Apache-2.0
#include "backends/ascend/visibility.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <string>
#include <type_traits>
#include <utility>

#include "ops/attention_features.h"
#include "ops/lengths.h"
#include "ops/visible_keys.h"
#include "tensor/convert.h"

namespace heed::ascend {
namespace {

// A sum that does not fit is the nearest finite number; infinities and NaN stay.
float to_float(double sum) {
  constexpr double kMost = std::numeric_limits<float>::max();
  return static_cast<float>(std::isfinite(sum) ? std::clamp(sum, -kMost, kMost) : sum);
}

bool is_per_query(const Operand& lens) { return lens.given != 0 && lens.strides[2] != 0; }

bool has_band(const AttentionProblem& problem) { return features_of(problem).has(AttentionFeature::Band); }

bool needs_planes(const AttentionProblem& problem) {
  return is_per_query(problem.limits.valid_lens) || problem.mask.given != 0 || problem.bias.given != 0;
}

// Whether no length hides a key. Lengths without data count as all keys.
bool has_full_lengths(const AttentionProblem& problem) {
  const Operand& lens = problem.limits.valid_lens;
  if (lens.given == 0 || lens.data == nullptr) return true;
  for (int64_t b = 0; b < problem.batch; ++b) {
    if (length_of(lens, b, 0) < problem.limits.num_keys) return false;
  }
  return true;
}

bool is_triangular(const AttentionProblem& problem) {
  return !needs_planes(problem) && problem.alibi_slopes.given == 0 &&
         problem.limits.num_queries == problem.limits.num_keys && problem.limits.sequence.band_last == 0 &&
         problem.limits.sequence.band_first <= -problem.limits.num_queries + 1 && has_full_lengths(problem);
}

}  // namespace

bool differs(const AttentionProblem& problem, int axis) {
  const auto differs_in = [axis](const Operand& operand) { return operand.given != 0 && operand.strides[axis] != 0; };
  return differs_in(problem.mask) || differs_in(problem.bias) || (axis == 1 && differs_in(problem.alibi_slopes)) ||
         (axis == 0 && differs_in(problem.limits.valid_lens));
}

double masked_pairs(const AttentionProblem& problem) {
  const bool has_mask = needs_planes(problem) || has_band(problem) || problem.alibi_slopes.given != 0;
  if (is_triangular(problem) || !has_mask) return 0;
  return (differs(problem, 0) ? static_cast<double>(problem.batch) : 1.0) *
         (differs(problem, 1) ? static_cast<double>(problem.num_heads) : 1.0) *
         static_cast<double>(problem.limits.num_queries) * static_cast<double>(problem.limits.num_keys);
}

Visibility::HostBytes Visibility::read(Npu& npu, const Operand& operand, const int64_t (&sizes)[kOperandRank]) {
  const auto size = static_cast<int64_t>(size_of(operand.dtype));
  int64_t before = 0;
  int64_t span = size;
  for (int axis = 0; axis < kOperandRank; ++axis) {
    const int64_t reach = (sizes[axis] - 1) * operand.strides[axis] * size;
    span += reach < 0 ? -reach : reach;
    if (reach < 0) before -= reach;
  }
  HostBytes result;
  result.bytes.resize(static_cast<size_t>(span));
  result.first = before;
  npu.download(result.bytes.data(), static_cast<const char*>(operand.data) - before, result.bytes.size());
  return result;
}

const char* Visibility::HostBytes::element(const Operand& operand, int64_t b, int64_t h, int64_t q, int64_t k) const {
  const int64_t* strides = operand.strides;
  const int64_t offset = b * strides[0] + h * strides[1] + q * strides[2] + k * strides[3];
  return bytes.data() + first + offset * static_cast<int64_t>(size_of(operand.dtype));
}

Visibility::Visibility(Npu& npu, const AttentionProblem& problem) : problem_(problem), limits_(problem.limits) {
  if (differs(problem, 0)) batch_size_ = problem.batch;
  if (differs(problem, 1)) num_heads_ = problem.num_heads;
  if (problem.alibi_slopes.given != 0) {
    const HostBytes slopes = read(npu, problem.alibi_slopes, {1, problem.num_heads, 1, 1});
    slopes_.resize(static_cast<size_t>(num_heads_ > 1 ? problem.num_heads : 1));
    for (size_t h = 0; h < slopes_.size(); ++h)
      std::memcpy(&slopes_[h], slopes.element(problem.alibi_slopes, 0, static_cast<int64_t>(h), 0, 0), sizeof(float));
  }
  if (is_triangular(problem)) {
    form_ = Form::Triangle;
    batch_size_ = 1;
    return;
  }
  if (!needs_planes(problem)) {
    form_ = has_band(problem) ? Form::Band : Form::Lengths;
    return;
  }
  form_ = Form::Planes;
  const int64_t pairs[kOperandRank] = {problem.batch, problem.num_heads, problem.limits.num_queries,
                                       problem.limits.num_keys};
  if (problem.mask.given != 0) mask_ = read(npu, problem.mask, pairs);
  if (problem.bias.given != 0) bias_ = read(npu, problem.bias, pairs);
  find_visible();
}

void Visibility::find_visible() {
  const int64_t num_rows = batch_size_ * num_heads_ * problem_.limits.num_queries;
  visible_.resize(static_cast<size_t>(num_rows * problem_.limits.num_keys));
  counts_.resize(static_cast<size_t>(num_rows));
  uint8_t* next = visible_.data();
  int64_t* next_count = counts_.data();
  for (int64_t b = 0; b < batch_size_; ++b) {
    for (int64_t h = 0; h < num_heads_; ++h) {
      for (int64_t q = 0; q < problem_.limits.num_queries; ++q, ++next_count) {
        for (int64_t k = 0; k < problem_.limits.num_keys; ++k, ++next) {
          *next = is_in_limits(b, h, q, k) ? 1 : 0;
          *next_count += *next;
        }
      }
    }
  }
}

// By rule 5 a bias of -infinity hides the key.
bool Visibility::is_in_limits(int64_t b, int64_t h, int64_t q, int64_t k) const {
  const KeyRange seen = keys_of_query(limits_, b, q);
  if (k < seen.first || k >= seen.end) return false;
  if (!mask_.bytes.empty() && *mask_.element(problem_.mask, b, h, q, k) == 0) return false;
  return given_bias(b, h, q, k) != -HUGE_VALF;
}

int64_t Visibility::distance_to_first_key(int64_t b, int64_t q) const {
  return sequence_of(limits_, b).key_position - position_of_query(limits_, b, q);
}

float Visibility::bias(int64_t b, int64_t h, int64_t q, int64_t k) const {
  const float given = given_bias(b, h, q, k);
  if (slopes_.empty()) return given;
  const auto distance = static_cast<double>(std::abs(distance_to_first_key(b, q) + k));
  return to_float(static_cast<double>(given) - slope(h) * distance);
}

void Visibility::write_biases(int64_t b, int64_t h, int64_t q, const std::vector<int32_t>& keys, float* biases) const {
  const auto largest = static_cast<double>(largest_bias(b, h, q));
  if (form_ == Form::Planes) {
    for (size_t i = 0; i < keys.size(); ++i) {
      biases[i] =
          is_visible(b, h, q, keys[i]) ? to_float(static_cast<double>(bias(b, h, q, keys[i])) - largest) : -HUGE_VALF;
    }
    return;
  }
  // Without a table of pairs, what is the same for a row is looked up once.
  const KeyRange seen = keys_of_query(limits_, b, q);
  const int64_t first = distance_to_first_key(b, q);
  const double of_head = slopes_.empty() ? 0.0 : slope(h);
  for (size_t i = 0; i < keys.size(); ++i) {
    const int64_t k = keys[i];
    biases[i] = k < seen.first || k >= seen.end
                    ? -HUGE_VALF
                    : to_float(-of_head * static_cast<double>(std::abs(first + k)) - largest);
  }
}

float Visibility::given_bias(int64_t b, int64_t h, int64_t q, int64_t k) const {
  if (bias_.bytes.empty()) return 0.0f;
  const char* element = bias_.element(problem_.bias, b, h, q, k);
  return visit_dtype(problem_.bias.dtype, [&](auto* type) {
    std::remove_pointer_t<decltype(type)> number;
    std::memcpy(&number, element, sizeof number);
    return convert<float>(number);
  });
}

// An infinite or NaN bias is ignored: it makes the row NaN (rule 5), whatever is subtracted.
float Visibility::largest_bias(int64_t b, int64_t h, int64_t q) const {
  if (!has_bias()) return 0.0f;
  if (form_ != Form::Planes && slope(h) >= 0) {
    // The nearest visible key has it.
    const KeyRange seen = keys_of_query(limits_, b, q);
    if (seen.size() == 0) return 0.0f;
    const float nearest = bias(b, h, q, std::clamp(-distance_to_first_key(b, q), seen.first, seen.end - 1));
    return std::isfinite(nearest) ? nearest : 0.0f;
  }
  float largest = -HUGE_VALF;
  for (int64_t k = 0; k < problem_.limits.num_keys; ++k) {
    const float number = bias(b, h, q, k);
    if (std::isfinite(number) && is_visible(b, h, q, k)) largest = std::max(largest, number);
  }
  return std::isfinite(largest) ? largest : 0.0f;
}

size_t Visibility::row(int64_t b, int64_t h, int64_t q) const {
  return static_cast<size_t>(
      ((batch_size_ == 1 ? 0 : b) * num_heads_ + (num_heads_ == 1 ? 0 : h)) * problem_.limits.num_queries + q);
}

bool Visibility::is_visible(int64_t b, int64_t h, int64_t q, int64_t k) const {
  if (form_ == Form::Planes)
    return visible_[row(b, h, q) * static_cast<size_t>(problem_.limits.num_keys) + static_cast<size_t>(k)] != 0;
  const KeyRange seen = keys_of_query(limits_, b, q);
  return k >= seen.first && k < seen.end;
}

int64_t Visibility::count(int64_t b, int64_t h, int64_t q) const {
  if (form_ == Form::Planes) return counts_[row(b, h, q)];
  return keys_of_query(limits_, b, q).size();
}

std::vector<int32_t> Visibility::keys_of(int64_t b) const {
  std::vector<int32_t> keys;
  if (form_ != Form::Planes) {
    // A band moves by one key from row to row, so the keys that any row sees are contiguous.
    const KeyRange seen = keys_of_element(limits_, b);
    for (int64_t k = seen.first; k < seen.end; ++k) keys.push_back(static_cast<int32_t>(k));
    return keys;
  }
  for (int64_t k = 0; k < problem_.limits.num_keys; ++k) {
    bool is_seen = false;
    for (int64_t h = 0; h < num_heads_ && !is_seen; ++h) {
      for (int64_t q = 0; q < problem_.limits.num_queries && !is_seen; ++q) is_seen = is_visible(b, h, q, k);
    }
    if (is_seen) keys.push_back(static_cast<int32_t>(k));
  }
  return keys;
}

std::string Visibility::name() const {
  std::string name =
      "visible " + std::to_string(problem_.limits.num_queries) + " " + std::to_string(problem_.limits.num_keys) + " " +
      std::to_string(problem_.limits.sequence.band_first) + " " + std::to_string(problem_.limits.sequence.band_last);
  if (!slopes_.empty()) {
    name += " from " + std::to_string(distance_to_first_key(0, 0)) + " by";
    for (const float of_head : slopes_) name += " " + std::to_string(std::bit_cast<uint32_t>(of_head));
    name += " over";
  }
  if (problem_.limits.valid_lens.given == 0) return name;
  for (int64_t b = 0; b < batch_size_; ++b) name += " " + std::to_string(length_of(problem_.limits.valid_lens, b, 0));
  return name;
}

}  // namespace heed::ascend
