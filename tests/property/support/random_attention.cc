// SPDX-License-Identifier: Apache-2.0
#include "property/support/random_attention.h"

#include "property/support/central_differences.h"

namespace heed::property {
namespace {

int64_t num_rows(const reference::AttentionSizes& sizes) { return sizes.batch * sizes.num_heads * sizes.num_queries; }

}  // namespace

std::vector<double> numbers_of_output(Random& random, const reference::AttentionProblem& problem) {
  return random_numbers(random, num_rows(problem.sizes) * problem.sizes.value_head_size);
}

reference::AttentionProblem random_attention_problem(Random& random, const LargestSizes& largest) {
  reference::AttentionProblem problem;
  reference::AttentionSizes& sizes = problem.sizes;
  sizes.batch = 1 + random.below(2);
  sizes.num_kv_heads = 1 + random.below(2);
  sizes.num_heads = sizes.num_kv_heads * (1 + random.below(2));
  sizes.num_queries = 1 + random.below(largest.queries);
  sizes.num_keys = 1 + random.below(largest.keys);
  sizes.head_size = 1 + random.below(largest.head_size);
  sizes.value_head_size = 1 + random.below(largest.head_size);
  reference::AttentionOptions& options = problem.options;
  if (random.chance(0.3)) options.scoring = reference::Scoring::Additive;
  if (random.chance(0.5)) options.scale = random.uniform(-1.5, 1.5);
  if (random.chance(0.4)) options.soft_cap = random.uniform(0.5, 2.0);
  const std::vector<reference::Alignment> alignments = {reference::Alignment::None, reference::Alignment::None,
                                                        reference::Alignment::TopLeft,
                                                        reference::Alignment::BottomRight};
  options.causal = random.one_of(alignments);
  options.window = random.one_of(alignments);
  options.window_left = random.below(4) - 1;
  options.window_right = random.below(4) - 1;
  if (random.chance(0.4)) options.empty_rows = reference::EmptyRows::Mean;
  if (random.chance(0.4)) {
    options.dropout = random.uniform(0.1, 0.7);
    options.training = true;
    options.dropout_seed = random.next();
  }
  reference::AttentionLimits& limits = problem.limits;
  const int64_t pairs = num_rows(sizes) * sizes.num_keys;
  for (int64_t b = 0; b < sizes.batch && random.chance(0.3); ++b) {
    limits.query_counts.resize(static_cast<size_t>(sizes.batch), sizes.num_queries);
    limits.key_counts.resize(static_cast<size_t>(sizes.batch), sizes.num_keys);
    limits.query_counts[static_cast<size_t>(b)] = random.below(sizes.num_queries + 1);
    limits.key_counts[static_cast<size_t>(b)] = random.below(sizes.num_keys + 1);
  }
  if (random.chance(0.3)) {
    for (int64_t i = 0; i < sizes.batch * sizes.num_queries; ++i)
      limits.lengths.push_back(static_cast<double>(random.below(sizes.num_keys + 1)));
  }
  if (random.chance(0.3)) {
    for (int64_t i = 0; i < pairs; ++i) limits.mask.push_back(random.chance(0.7) ? 1 : 0);
  }
  if (random.chance(0.4)) {
    limits.bias = random_numbers(random, pairs);
    for (double& bias : limits.bias) bias = random.chance(0.1) ? -reference::kInfinity : bias;
  }
  if (random.chance(0.3)) limits.alibi_slopes = random_numbers(random, sizes.num_heads);
  if (random.chance(0.3)) {
    limits.relative_bias = {random_numbers(random, 4 * sizes.num_heads), 4, 6, random.chance(0.5)};
  }
  if (random.chance(0.3)) limits.sinks = random_numbers(random, sizes.num_heads);
  problem.queries = exact(random_numbers(random, num_rows(sizes) * sizes.head_size, 2.0));
  const int64_t keys = sizes.batch * sizes.num_kv_heads * sizes.num_keys;
  problem.keys = exact(random_numbers(random, keys * sizes.head_size, 2.0));
  problem.values = exact(random_numbers(random, keys * sizes.value_head_size));
  if (options.scoring == reference::Scoring::Additive) {
    problem.score_weights = random_numbers(random, sizes.num_heads * sizes.head_size);
  } else if (random.chance(0.3)) {
    problem.constant_keys.count = 1 + random.below(2);
    const int64_t rows = sizes.num_kv_heads * problem.constant_keys.count;
    problem.constant_keys.keys = exact(random_numbers(random, rows * sizes.head_size, 2.0));
    problem.constant_keys.values = exact(random_numbers(random, rows * sizes.value_head_size));
  }
  return problem;
}

}  // namespace heed::property
