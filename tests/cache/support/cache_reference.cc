// SPDX-License-Identifier: Apache-2.0
#include "cache/support/cache_reference.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>

#include "cache/support/rows.h"
#include "property/support/device.h"
#include "reference/error_bound.h"
#include "reference/head_norm.h"
#include "reference/multi_head_attention.h"
#include "reference/positions.h"
#include "reference/rotary.h"

namespace heed::cache_test {
namespace {

using reference::Bounded;

constexpr double kStepsOfI8 = 127.0;
constexpr double kRoundingsOfI8 = 8.0;

int64_t default_if_zero(int64_t value, int64_t fallback) { return value != 0 ? value : fallback; }

// (rows, heads, size) to (heads, rows, size).
Bounded by_heads(const Bounded& rows, int64_t num_rows, int64_t num_heads, int64_t size) {
  Bounded result(rows.values.size());
  for (int64_t row = 0; row < num_rows; ++row) {
    for (int64_t head = 0; head < num_heads; ++head) {
      for (int64_t d = 0; d < size; ++d) {
        const auto from = static_cast<size_t>((row * num_heads + head) * size + d);
        const auto to = static_cast<size_t>((head * num_rows + row) * size + d);
        result.values[to] = rows.values[from];
        result.errors[to] = rows.errors[from];
      }
    }
  }
  return result;
}

// What a cache of this dtype keeps of one row of a head.
void keep_row(heed_dtype dtype, double* values, double* errors, int64_t size) {
  if (dtype == HEED_F32) return;
  if (dtype != HEED_I8) {
    const reference::Format format = property::format_of(dtype);
    for (int64_t d = 0; d < size; ++d) errors[d] = reference::error_after_rounding(format, values[d], errors[d]);
    return;
  }
  double largest = 0.0;
  for (int64_t d = 0; d < size; ++d) largest = std::max(largest, std::fabs(values[d]) + errors[d]);
  const double term =
      largest * (0.5 / kStepsOfI8 + kRoundingsOfI8 * reference::kUnitRoundoff) + reference::underflow_error();
  for (int64_t d = 0; d < size; ++d) errors[d] += term;
}

// Solves a problem in the order of the layer: project, normalize, rotate and keep, attend, project.
class CacheSolver {
 public:
  explicit CacheSolver(const CacheProblem& problem)
      : problem_(problem),
        options_(problem.layer->spec().options),
        call_(problem.layer->call()),
        sizes_(problem.layer->sizes()),
        dtype_(static_cast<heed_dtype>(problem.cache.dtype)),
        format_(property::compute_format(problem.layer->spec().dtype)),
        num_keys_(static_cast<int64_t>(problem.keys.size())),
        num_queries_(static_cast<int64_t>(problem.queries.size())) {
    if (problem.layer->spec().rope) make_rotary(*problem.layer->spec().rope);
  }

  reference::AttentionResult solve() {
    queries_ = project("W_q", problem_.queries, sizes_.num_heads, sizes_.head_size);
    keys_ = project("W_k", problem_.keys, sizes_.num_kv_heads, sizes_.head_size);
    values_ = project("W_v", problem_.keys, sizes_.num_kv_heads, sizes_.value_head_size);
    normalize("q_norm.weight", sizes_.num_heads, num_queries_, queries_);
    normalize("k_norm.weight", sizes_.num_kv_heads, num_keys_, keys_);
    for (int64_t head = 0; head < sizes_.num_heads; ++head) {
      for (int64_t q = 0; q < num_queries_; ++q) rotate(queries_, head * num_queries_ + q, query(q).current_position());
    }
    for (int64_t head = 0; head < sizes_.num_kv_heads; ++head) {
      for (int64_t k = 0; k < num_keys_; ++k) {
        keep_key(head * num_keys_ + k, key(k));
        const int64_t first = (head * num_keys_ + k) * sizes_.value_head_size;
        keep_row(dtype_, values_.values.data() + first, values_.errors.data() + first, sizes_.value_head_size);
      }
    }
    return attend();
  }

 private:
  const ReferenceRow& query(int64_t q) const { return problem_.queries[static_cast<size_t>(q)]; }
  const ReferenceRow& key(int64_t k) const { return problem_.keys[static_cast<size_t>(k)]; }

  void make_rotary(const heed_rope_options& rope) {
    reference::RotaryOptions rotary;
    rotary.offset = rope.rotary_offset;
    rotary.size = default_if_zero(rope.rotary_size, sizes_.head_size - rope.rotary_offset);
    rotary.pairing = rope.layout == HEED_ROPE_HALF ? reference::Pairing::Half : reference::Pairing::Interleaved;
    if (rope.base != 0.0F) rotary.base = static_cast<double>(rope.base);
    rotary.attention_factor = static_cast<double>(rope.attention_factor);
    if (rope.scaling == HEED_ROPE_SCALING_LINEAR) {
      rotary.scaling = reference::RotaryScaling::Linear;
      rotary.factor = static_cast<double>(rope.factor);
    } else if (rope.scaling != HEED_ROPE_SCALING_NONE) {
      throw std::logic_error("the reference of caches has no other scaling");
    }
    frequencies_ = reference::rotary_frequencies(rotary);
    rotary_ = std::move(rotary);
  }

  Bounded project(const char* name, const std::vector<ReferenceRow>& rows, int64_t num_heads, int64_t size) const {
    const LayerSpec& spec = problem_.layer->spec();
    property::Array input = property::filled({static_cast<int64_t>(rows.size()), spec.input_size}, 0.0);
    input.values.clear();
    for (const ReferenceRow& row : rows) {
      const std::vector<double> elements = elements_of(row.number, spec.input_size, spec.seed);
      input.values.insert(input.values.end(), elements.begin(), elements.end());
    }
    // Rounded to the dtype of the rows, as the layer gets them.
    Bounded exact;
    exact.values = property::make_input(std::move(input), spec.dtype).contents.values;
    exact.errors.assign(exact.values.size(), 0.0);
    if (format_) exact = reference::as_read(exact.values, format_);
    const auto num_rows = static_cast<int64_t>(rows.size());
    return by_heads(reference::project(property::projection_of(call_, name), exact, num_rows, format_), num_rows,
                    num_heads, size);
  }

  void normalize(const char* name, int64_t num_heads, int64_t num_rows, Bounded& heads) const {
    if (options_.qk_norm_epsilon == 0.0F) return;
    const reference::HeadNorm norm = {call_.parameters.at(name).contents.values,
                                      static_cast<double>(options_.qk_norm_epsilon),
                                      options_.qk_norm == HEED_QK_NORM_LAYER};
    reference::normalize_heads(norm, num_heads, num_rows, sizes_.head_size, format_, heads);
  }

  void rotate(Bounded& heads, int64_t row, int64_t position) const {
    if (!rotary_) return;
    reference::rotate(*rotary_, frequencies_, position, format_, heads.values.data() + row * sizes_.head_size,
                      heads.errors.data() + row * sizes_.head_size);
  }

  // Rotates a kept key back, which leaves its magnitude as it is.
  void turn_back(int64_t row, int64_t distance) {
    if (!rotary_) return;
    reference::RotaryOptions turn = *rotary_;
    turn.attention_factor = 1.0;
    reference::rotate(turn, frequencies_, -distance, std::nullopt, keys_.values.data() + row * sizes_.head_size,
                      keys_.errors.data() + row * sizes_.head_size);
  }

  void keep_key(int64_t row, const ReferenceRow& of) {
    double* const values = keys_.values.data() + row * sizes_.head_size;
    double* const errors = keys_.errors.data() + row * sizes_.head_size;
    if (problem_.cache.unrotated_keys != 0 || !rotary_) {
      keep_row(dtype_, values, errors, sizes_.head_size);
      rotate(keys_, row, of.current_position());
      return;
    }
    rotate(keys_, row, of.position);
    keep_row(dtype_, values, errors, sizes_.head_size);
    for (const int64_t distance : of.turns) {
      turn_back(row, distance);
      keep_row(dtype_, values, errors, sizes_.head_size);
    }
  }

  bool is_visible(int64_t h, int64_t q, int64_t k) const {
    if (problem_.sees && !problem_.sees(h, q, k)) return false;
    if (options_.window == HEED_WINDOW_NONE) return true;
    const int64_t distance = key(k).current_position() - query(q).current_position();
    if (options_.window_left >= 0 && -distance > options_.window_left) return false;
    return options_.window_right < 0 || distance <= options_.window_right;
  }

  bool is_visible_in_a_head(int64_t q, int64_t k) const {
    for (int64_t h = 0; h < sizes_.num_heads; ++h) {
      if (is_visible(h, q, k)) return true;
    }
    return false;
  }

  bool depends_on_distances() const {
    return !problem_.alibi_slopes.empty() || options_.alibi != HEED_ALIBI_NONE ||
           options_.relative_bias != HEED_RELATIVE_BIAS_NONE;
  }

  // Where the keys are on the axis of the reference, in which key j has the position j. It only matters to what depends on
  // distances. Of the keys that the query sees, no two have one position.
  std::vector<int64_t> places_on_axis(int64_t q) const {
    std::vector<int64_t> places(static_cast<size_t>(num_keys_));
    std::iota(places.begin(), places.end(), int64_t{0});
    const auto is_at_its_index = [&](int64_t k) { return key(k).current_position() == k; };
    if (!depends_on_distances() || std::all_of(places.begin(), places.end(), is_at_its_index)) return places;
    if (options_.empty_rows == HEED_EMPTY_ROWS_MEAN) throw std::logic_error("the mean is of keys without gaps");
    std::set<int64_t> taken;
    for (int64_t& place : places) {
      const int64_t k = place;
      place = -1;
      if (!is_visible_in_a_head(q, k)) continue;
      place = key(k).current_position();
      if (!taken.insert(place).second) throw std::logic_error("a query sees two keys of one position");
    }
    return places;
  }

  reference::AttentionOptions reference_options() const {
    reference::AttentionOptions options;
    options.scale = static_cast<double>(options_.scale);
    options.soft_cap = static_cast<double>(options_.soft_cap);
    options.empty_rows =
        options_.empty_rows == HEED_EMPTY_ROWS_MEAN ? reference::EmptyRows::Mean : reference::EmptyRows::Zero;
    return options;
  }

  void set_slopes(reference::AttentionLimits& limits) const {
    limits.alibi_slopes = problem_.alibi_slopes;
    if (options_.alibi == HEED_ALIBI_NONE) return;
    const bool is_scaled = options_.alibi == HEED_ALIBI_SCALED;
    const double usual_scale = 1.0 / std::sqrt(static_cast<double>(sizes_.head_size));
    const double scale = options_.scale != 0.0F ? static_cast<double>(options_.scale) : usual_scale;
    for (int64_t h = 0; h < sizes_.num_heads; ++h) {
      const double slope = reference::alibi_slope(h, sizes_.num_heads);
      limits.alibi_slopes.push_back(is_scaled ? reference::round_to(reference::Format::BF16, slope) * scale : slope);
    }
    limits.slope_roundings = is_scaled ? 2.0 : 1.0;
  }

  reference::ConstantKeys constant_keys() const {
    reference::ConstantKeys constant;
    constant.count = property::num_constant_keys(call_);
    const bool has_bias = options_.add_bias_kv != 0;
    const auto fill = [&](Bounded& rows, const char* name, int64_t size) {
      rows = Bounded(static_cast<size_t>(sizes_.num_kv_heads * constant.count * size));
      if (!has_bias) return;
      const std::vector<double>& bias = call_.parameters.at(name).contents.values;
      for (int64_t head = 0; head < sizes_.num_kv_heads; ++head) {
        std::copy_n(bias.begin() + head * size, size, rows.values.begin() + head * constant.count * size);
      }
    };
    fill(constant.keys, "bias_k", sizes_.head_size);
    fill(constant.values, "bias_v", sizes_.value_head_size);
    return constant;
  }

  // Query q alone, over keys at these places.
  reference::AttentionProblem problem_of(int64_t q, const std::vector<int64_t>& places) const {
    const int64_t last = places.empty() ? -1 : *std::max_element(places.begin(), places.end());
    reference::AttentionProblem problem;
    problem.sizes = sizes_;
    problem.sizes.batch = 1;
    problem.sizes.num_queries = 1;
    // The bound counts the roundings of at least as many keys as there are.
    problem.sizes.num_keys = std::max(num_keys_, last + 1);
    problem.options = reference_options();
    const int64_t columns = problem.sizes.num_keys;
    const auto move = [&](const Bounded& from, Bounded& to, int64_t size) {
      to = Bounded(static_cast<size_t>(sizes_.num_kv_heads * columns * size));
      for (int64_t head = 0; head < sizes_.num_kv_heads; ++head) {
        for (int64_t k = 0; k < num_keys_; ++k) {
          if (places[static_cast<size_t>(k)] < 0) continue;
          const int64_t source = (head * num_keys_ + k) * size;
          const int64_t target = (head * columns + places[static_cast<size_t>(k)]) * size;
          std::copy_n(from.values.begin() + source, size, to.values.begin() + target);
          std::copy_n(from.errors.begin() + source, size, to.errors.begin() + target);
        }
      }
    };
    move(keys_, problem.keys, sizes_.head_size);
    move(values_, problem.values, sizes_.value_head_size);
    problem.queries = Bounded(static_cast<size_t>(sizes_.num_heads * sizes_.head_size));
    for (int64_t h = 0; h < sizes_.num_heads; ++h) {
      const int64_t source = (h * num_queries_ + q) * sizes_.head_size;
      const int64_t target = h * sizes_.head_size;
      std::copy_n(queries_.values.begin() + source, sizes_.head_size, problem.queries.values.begin() + target);
      std::copy_n(queries_.errors.begin() + source, sizes_.head_size, problem.queries.errors.begin() + target);
    }
    problem.constant_keys = constant_keys();
    problem.compute_format = format_;

    reference::AttentionLimits& limits = problem.limits;
    limits.positions = {query(q).current_position()};
    set_slopes(limits);
    if (options_.relative_bias != HEED_RELATIVE_BIAS_NONE) {
      limits.relative_bias = {call_.parameters.at("relative_bias.weight").contents.values,
                              default_if_zero(options_.relative_bias_buckets, 32),
                              default_if_zero(options_.relative_bias_max_distance, 128),
                              options_.relative_bias == HEED_RELATIVE_BIAS_BOTH_WAYS};
    }
    limits.sinks = options_.sinks != 0 ? call_.parameters.at("sinks").contents.values : problem_.sinks;
    limits.mask.assign(static_cast<size_t>(sizes_.num_heads * columns), 0);
    if (problem_.bias) limits.bias.assign(static_cast<size_t>(sizes_.num_heads * columns), 0.0);
    for (int64_t h = 0; h < sizes_.num_heads; ++h) {
      for (int64_t k = 0; k < num_keys_; ++k) {
        const int64_t place = places[static_cast<size_t>(k)];
        if (place < 0) continue;
        limits.mask[static_cast<size_t>(h * columns + place)] = is_visible(h, q, k) ? 1 : 0;
        if (problem_.bias) limits.bias[static_cast<size_t>(h * columns + place)] = problem_.bias(h, q, k);
      }
    }
    return problem;
  }

  reference::AttentionResult attend() const {
    const int64_t num_constant = property::num_constant_keys(call_);
    const int64_t columns = num_keys_ + num_constant;
    reference::AttentionResult result;
    result.weights = Bounded(static_cast<size_t>(sizes_.num_heads * num_queries_ * columns));
    result.log_sum_exp = Bounded(static_cast<size_t>(sizes_.num_heads * num_queries_));
    Bounded joined(static_cast<size_t>(num_queries_ * sizes_.num_heads * sizes_.value_head_size));
    for (int64_t q = 0; q < num_queries_; ++q) {
      const std::vector<int64_t> places = places_on_axis(q);
      const reference::AttentionProblem problem = problem_of(q, places);
      const reference::AttentionResult row = reference::attention(problem);
      const int64_t row_columns = problem.sizes.num_keys + num_constant;
      for (const auto member : {&Bounded::values, &Bounded::errors}) {
        std::copy((row.output.*member).begin(), (row.output.*member).end(),
                  (joined.*member).begin() + q * sizes_.num_heads * sizes_.value_head_size);
        for (int64_t h = 0; h < sizes_.num_heads; ++h) {
          const int64_t target = h * num_queries_ + q;
          (result.log_sum_exp.*member)[static_cast<size_t>(target)] = (row.log_sum_exp.*member)[static_cast<size_t>(h)];
          for (int64_t k = 0; k < columns; ++k) {
            const int64_t place =
                k < num_keys_ ? places[static_cast<size_t>(k)] : problem.sizes.num_keys + k - num_keys_;
            if (place < 0) continue;
            (result.weights.*member)[static_cast<size_t>(target * columns + k)] =
                (row.weights.*member)[static_cast<size_t>(h * row_columns + place)];
          }
        }
      }
    }
    result.output = options_.no_output_projection != 0
                        ? std::move(joined)
                        : reference::project(property::projection_of(call_, "W_o"), joined, num_queries_, format_);
    return result;
  }

  const CacheProblem& problem_;
  const heed_multi_head_attention_options& options_;
  const property::Call& call_;
  const reference::AttentionSizes& sizes_;
  heed_dtype dtype_;
  std::optional<reference::Format>
      format_;  // of what the device computes, but for a key that is renumbered by the host
  int64_t num_keys_;
  int64_t num_queries_;
  std::optional<reference::RotaryOptions> rotary_;
  std::vector<reference::Frequency> frequencies_;
  Bounded queries_;  // (H, Q, D)
  Bounded keys_;     // (Hkv, K, D)
  Bounded values_;   // (Hkv, K, Dv)
};

}  // namespace

int64_t ReferenceRow::current_position() const {
  return std::accumulate(turns.begin(), turns.end(), position, std::minus<>());
}

std::vector<ReferenceRow> reference_rows(const std::vector<int64_t>& numbers, const std::vector<int64_t>& positions) {
  std::vector<ReferenceRow> rows;
  for (size_t i = 0; i < numbers.size(); ++i)
    rows.push_back({numbers[i], positions.empty() ? static_cast<int64_t>(i) : positions[i]});
  return rows;
}

CacheProblem appended(const CachedLayer& layer, const heed_cache_options& cache, std::vector<ReferenceRow> rows,
                      int64_t num_queries) {
  CacheProblem problem;
  problem.layer = &layer;
  problem.cache = cache;
  const auto num_keys = static_cast<int64_t>(rows.size());
  problem.queries.assign(rows.end() - num_queries, rows.end());
  problem.keys = std::move(rows);
  if (layer.spec().options.causal != HEED_CAUSAL_NONE)
    problem.sees = [=](int64_t /*h*/, int64_t q, int64_t k) { return k <= num_keys - num_queries + q; };
  return problem;
}

reference::AttentionResult solve(const CacheProblem& problem) { return CacheSolver(problem).solve(); }

}  // namespace heed::cache_test
