// SPDX-License-Identifier: Apache-2.0
// A call of attention and its backward on the CPU's kernels, with the same problem in the f64 reference.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

#include "attention/relative_bias.h"
#include "backends/cpu/engine/isa.h"
#include "backends/cpu/operations.h"
#include "base/memory.h"
#include "ops/attention_backward.h"
#include "property/support/random.h"
#include "reference/attention_gradients.h"
#include "turns.h"

namespace heed::cpu {

using property::Random;

inline constexpr float kUnwritten = 77.0F;
inline constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

// An array of four axes in any layout: `order` has the axes from the outermost to the innermost. Rows may be apart.
struct Array {
  std::array<int64_t, 4> sizes = {};
  std::array<int64_t, 4> strides = {};
  std::vector<float> data;

  Array() = default;
  explicit Array(std::array<int64_t, 4> axes, std::array<size_t, 4> order = {0, 1, 2, 3}, int64_t gap = 0)
      : sizes(axes) {
    int64_t stride = 1;
    for (size_t i = 4; i-- > 0;) {
      strides[order[i]] = stride;
      stride = stride * axes[order[i]] + (i == 3 ? gap : 0);
    }
    data.assign(static_cast<size_t>(stride), kUnwritten);
  }

  bool is_given() const { return !data.empty(); }
  int64_t num_elements() const { return sizes[0] * sizes[1] * sizes[2] * sizes[3]; }
  size_t at(int64_t b, int64_t h, int64_t row, int64_t i) const {
    return static_cast<size_t>(b * strides[0] + h * strides[1] + row * strides[2] + i * strides[3]);
  }
  float& operator()(int64_t b, int64_t h, int64_t row, int64_t i) { return data[at(b, h, row, i)]; }

  template <typename Visit>
  void for_each(const Visit& visit) {
    for (int64_t b = 0; b < sizes[0]; ++b) {
      for (int64_t h = 0; h < sizes[1]; ++h) {
        for (int64_t row = 0; row < sizes[2]; ++row) {
          for (int64_t i = 0; i < sizes[3]; ++i) visit((*this)(b, h, row, i));
        }
      }
    }
  }
  void fill(Random& random, double largest) {
    for_each([&](float& element) { element = static_cast<float>(random.uniform(-largest, largest)); });
  }
  // Row-major, in f64.
  std::vector<double> dense() {
    std::vector<double> result;
    for_each([&](float element) { result.push_back(static_cast<double>(element)); });
    return result;
  }
  // Repeated to larger axes.
  std::vector<double> repeated(std::array<int64_t, 4> axes) {
    std::vector<double> result;
    for (int64_t b = 0; b < axes[0]; ++b) {
      for (int64_t h = 0; h < axes[1]; ++h) {
        for (int64_t row = 0; row < axes[2]; ++row) {
          for (int64_t i = 0; i < axes[3]; ++i)
            result.push_back(static_cast<double>(
                (*this)(sizes[0] == 1 ? 0 : b, sizes[1] == 1 ? 0 : h, sizes[2] == 1 ? 0 : row, sizes[3] == 1 ? 0 : i)));
        }
      }
    }
    return result;
  }
  // Axes of size 1 are repeated.
  Operand operand(int64_t first_batch = 0) {
    Operand result;
    if (!is_given()) return result;
    result.given = 1;
    result.data = data.data() + (sizes[0] == 1 ? 0 : first_batch * strides[0]);
    for (size_t axis = 0; axis < 4; ++axis) result.strides[axis] = sizes[axis] == 1 ? 0 : strides[axis];
    return result;
  }
};

// Runs a problem in scratch memory of exactly the planned size, and returns whether the bytes after it stay as they are.
template <typename Problem>
bool run_in_scratch(const KernelTable& kernels, const Problem& problem, int32_t num_workers) {
  constexpr size_t kGuard = 64;
  const Plan plan = plan_problem(kernels, problem, num_workers);
  std::vector<std::byte> memory(plan.scratch_bytes + kMemoryAlignment + kGuard, std::byte{0xff});
  const auto address = reinterpret_cast<uintptr_t>(memory.data());
  std::byte* scratch = memory.data() + (kMemoryAlignment - address % kMemoryAlignment) % kMemoryAlignment;
  Turns turns(num_workers);
  Failure failure;
  run_problem(kernels, problem, plan, Workers(turns, &failure), scratch);
  const std::byte* end = scratch + plan.scratch_bytes;
  for (size_t i = 0; i < kGuard; ++i) {
    if (end[i] != std::byte{0xff}) return false;
  }
  return true;
}

struct Gradients {
  Array queries, keys, values, bias, alibi_slopes, relative_bias, sinks, score_weights, bias_key, bias_value;

  std::array<Array*, 10> all() {
    return {&queries,       &keys,  &values,        &bias,     &alibi_slopes,
            &relative_bias, &sinks, &score_weights, &bias_key, &bias_value};
  }
};

inline constexpr std::array<const char*, 10> kGradientNames = {
    "queries",       "keys",  "values",        "bias",     "alibi_slopes",
    "relative_bias", "sinks", "score_weights", "bias_key", "bias_value"};

// What a call is made of.
struct BackwardCall {
  int64_t batch = 1;
  int64_t num_heads = 1;
  int64_t num_kv_heads = 1;
  int64_t num_queries = 1;
  int64_t num_keys = 1;
  int64_t head_size = 1;
  int64_t value_head_size = 1;
  reference::AttentionOptions options;  // with a scale
  bool has_zero_key = false;
  bool is_packed = false;                         // the rows of all elements follow each other, as the counts say
  std::vector<int64_t> query_counts, key_counts;  // (B), or empty
  std::vector<int64_t> positions;                 // (B, Q), or empty
  std::vector<int64_t> lengths;                   // (B) or (B, Q), or empty
  std::vector<uint8_t> mask;                      // of mask_sizes
  std::array<int64_t, 4> mask_sizes = {1, 1, 1, 1};
  Array queries, keys, values, bias, alibi_slopes, relative_bias, sinks, score_weights, bias_key, bias_value;
  Array output, log_sum_exp, output_gradient;
  RelativeBiasOptions buckets;
  std::vector<int32_t> bucket_of_distance;
  std::vector<Sequence> table;

  // Without values: arrays of queries, keys, values and results, whose rows are `gap` elements apart.
  void make_arrays(std::array<size_t, 4> order, int64_t gap) {
    const int64_t elements = is_packed ? 1 : batch;
    const int64_t query_rows =
        is_packed ? std::accumulate(query_counts.begin(), query_counts.end(), int64_t{0}) : num_queries;
    const int64_t key_rows = is_packed ? std::accumulate(key_counts.begin(), key_counts.end(), int64_t{0}) : num_keys;
    queries = Array({elements, num_heads, query_rows, head_size}, order, gap);
    keys = Array({elements, num_kv_heads, key_rows, head_size}, order, gap);
    values = Array({elements, num_kv_heads, key_rows, value_head_size}, order, gap);
    output = Array({elements, num_heads, query_rows, value_head_size}, order, gap);
    output_gradient = Array({elements, num_heads, query_rows, value_head_size}, order, gap);
    log_sum_exp = Array({elements, num_heads, query_rows, 1});
  }

  Sequence sequence_of_counts(int64_t query_count, int64_t key_count) const {
    Sequence sequence = unlimited(query_count, key_count).sequence;
    const bool has_positions = !positions.empty();
    const int64_t bottom_right = has_positions ? 0 : key_count - query_count;
    const int64_t first = has_positions ? -kUnlimited : -query_count;
    sequence.band_first = first;
    sequence.band_last = has_positions ? kUnlimited : key_count;
    using reference::Alignment;
    if (options.causal != Alignment::None)
      sequence.band_last = options.causal == Alignment::BottomRight ? bottom_right : 0;
    if (options.window != Alignment::None) {
      const int64_t shift = options.window == Alignment::BottomRight ? bottom_right : 0;
      if (options.window_left >= 0) sequence.band_first = std::max(first, shift - options.window_left);
      if (options.window_right >= 0) sequence.band_last = std::min(sequence.band_last, shift + options.window_right);
    }
    return sequence;
  }

  // The forward of batch elements first .. first + count - 1.
  AttentionProblem forward(int64_t first, int64_t count) {
    AttentionProblem problem;
    problem.batch = count;
    problem.num_heads = num_heads;
    problem.num_kv_heads = num_kv_heads;
    problem.head_size = head_size;
    problem.value_head_size = value_head_size;
    problem.limits = unlimited(num_queries, num_keys);
    problem.limits.sequence = sequence_of_counts(num_queries, num_keys);
    if (!query_counts.empty()) {
      table.clear();
      for (size_t b = 0; b < query_counts.size(); ++b)
        table.push_back(sequence_of_counts(query_counts[b], key_counts[b]));
      for (size_t b = 1; b < table.size() && is_packed; ++b) {
        table[b].query_begin = table[b - 1].query_begin + table[b - 1].query_count;
        table[b].key_begin = table[b - 1].key_begin + table[b - 1].key_count;
      }
      problem.is_packed = is_packed ? 1 : 0;
      problem.limits.has_table = 1;
      problem.limits.table = table.data() + first;
    }
    if (!lengths.empty()) {
      const int64_t of_element = static_cast<int64_t>(lengths.size()) / batch;
      problem.limits.valid_lens = {.data = lengths.data() + first * of_element,
                                   .strides = {of_element, 0, of_element == 1 ? 0 : 1, 0},
                                   .dtype = DType::I64,
                                   .given = 1};
    }
    if (!positions.empty()) {
      problem.limits.positions = {.data = positions.data() + first * num_queries,
                                  .strides = {num_queries, 0, 1, 0},
                                  .dtype = DType::I64,
                                  .given = 1};
    }
    problem.queries = queries.operand(first);
    problem.keys = keys.operand(first);
    problem.values = values.operand(first);
    problem.output = output.operand(first);
    problem.log_sum_exp = log_sum_exp.operand(first);
    problem.bias = bias.operand(first);
    if (!mask.empty()) {
      problem.mask.given = 1;
      problem.mask.dtype = DType::Bool;
      int64_t stride = 1;
      for (size_t axis = 4; axis-- > 0;) {
        problem.mask.strides[axis] = mask_sizes[axis] == 1 ? 0 : stride;
        stride *= mask_sizes[axis];
      }
      problem.mask.data = mask.data() + first * problem.mask.strides[0];
    }
    problem.alibi_slopes = alibi_slopes.operand();
    problem.sinks = sinks.operand();
    problem.score_weights = score_weights.operand();
    problem.bias_key = bias_key.operand();
    problem.bias_value = bias_value.operand();
    problem.has_zero_key = has_zero_key ? 1 : 0;
    if (relative_bias.is_given()) {
      problem.relative_bias = relative_bias.operand();
      bucket_of_distance = relative_buckets(buckets);
      problem.buckets = bucket_of_distance.data();
      problem.num_buckets = buckets.num_buckets;
      problem.max_distance = static_cast<int64_t>(bucket_of_distance.size()) / 2;
    }
    problem.scale = static_cast<float>(options.scale);
    problem.soft_cap = static_cast<float>(options.soft_cap);
    problem.dropout = options.drops() ? static_cast<float>(options.dropout) : 0.0F;
    problem.dropout_seed = options.dropout_seed;
    problem.empty_rows =
        options.empty_rows == reference::EmptyRows::Mean ? heed::EmptyRows::Mean : heed::EmptyRows::Zero;
    problem.scoring =
        options.scoring == reference::Scoring::Additive ? heed::Scoring::Additive : heed::Scoring::DotProduct;
    return problem;
  }

  // Arrays for all gradients of what the call has.
  Gradients gradients() const {
    const auto like = [](const Array& array) {
      Array result = array;
      for (float& element : result.data) element = kUnwritten;
      return result;
    };
    return {like(queries),       like(keys),  like(values),        like(bias),     like(alibi_slopes),
            like(relative_bias), like(sinks), like(score_weights), like(bias_key), like(bias_value)};
  }

  AttentionBackwardProblem backward(Gradients& gradients, int64_t first, int64_t count) {
    AttentionBackwardProblem problem;
    problem.forward = forward(first, count);
    problem.output_gradient = output_gradient.operand(first);
    problem.queries_gradient = gradients.queries.operand(first);
    problem.keys_gradient = gradients.keys.operand(first);
    problem.values_gradient = gradients.values.operand(first);
    problem.bias_gradient = gradients.bias.operand(first);
    problem.alibi_slopes_gradient = gradients.alibi_slopes.operand();
    problem.relative_bias_gradient = gradients.relative_bias.operand();
    problem.sinks_gradient = gradients.sinks.operand();
    problem.score_weights_gradient = gradients.score_weights.operand();
    problem.bias_key_gradient = gradients.bias_key.operand();
    problem.bias_value_gradient = gradients.bias_value.operand();
    return problem;
  }

  reference::AttentionProblem reference_problem() {
    reference::AttentionProblem problem;
    problem.sizes = {batch, num_heads, num_kv_heads, num_queries, num_keys, head_size, value_head_size};
    problem.options = options;
    problem.limits.query_counts = query_counts;
    problem.limits.key_counts = key_counts;
    problem.limits.positions = positions;
    for (int64_t b = 0; b < batch && !lengths.empty(); ++b) {
      for (int64_t q = 0; q < num_queries; ++q) {
        const bool is_one = static_cast<int64_t>(lengths.size()) == batch;
        problem.limits.lengths.push_back(
            static_cast<double>(lengths[static_cast<size_t>(is_one ? b : b * num_queries + q)]));
      }
    }
    const std::array<int64_t, 4> pairs = {batch, num_heads, num_queries, num_keys};
    if (!mask.empty()) {
      Array as_numbers(mask_sizes);
      for (size_t i = 0; i < mask.size(); ++i) as_numbers.data[i] = mask[i];
      for (double element : as_numbers.repeated(pairs)) problem.limits.mask.push_back(element != 0 ? 1 : 0);
    }
    if (bias.is_given()) problem.limits.bias = bias.repeated(pairs);
    problem.limits.alibi_slopes = alibi_slopes.dense();
    problem.limits.sinks = sinks.dense();
    if (relative_bias.is_given()) {
      problem.limits.relative_bias.num_buckets = buckets.num_buckets;
      problem.limits.relative_bias.max_distance = buckets.max_distance;
      problem.limits.relative_bias.both_ways = buckets.kind == RelativeBias::BothWays;
      for (int64_t n = 0; n < buckets.num_buckets; ++n) {
        for (int64_t h = 0; h < num_heads; ++h)
          problem.limits.relative_bias.weight.push_back(static_cast<double>(relative_bias(0, h, 0, n)));
      }
    }
    problem.score_weights = score_weights.dense();
    const auto exact = [](std::vector<double> numbers) {
      reference::Bounded result;
      result.errors.assign(numbers.size(), 0.0);
      result.values = std::move(numbers);
      return result;
    };
    problem.queries = exact(queries.dense());
    problem.keys = exact(keys.dense());
    problem.values = exact(values.dense());
    problem.constant_keys.count = (bias_key.is_given() ? 1 : 0) + (has_zero_key ? 1 : 0);
    std::vector<double> constant_keys;
    std::vector<double> constant_values;
    for (int64_t h = 0; h < num_kv_heads; ++h) {
      for (int64_t d = 0; d < head_size && bias_key.is_given(); ++d)
        constant_keys.push_back(static_cast<double>(bias_key(0, h, 0, d)));
      for (int64_t d = 0; d < value_head_size && bias_key.is_given(); ++d)
        constant_values.push_back(static_cast<double>(bias_value(0, h, 0, d)));
      constant_keys.resize(constant_keys.size() + static_cast<size_t>(has_zero_key ? head_size : 0));
      constant_values.resize(constant_values.size() + static_cast<size_t>(has_zero_key ? value_head_size : 0));
    }
    problem.constant_keys.keys = exact(constant_keys);
    problem.constant_keys.values = exact(constant_values);
    return problem;
  }
};

}  // namespace heed::cpu
