// SPDX-License-Identifier: Apache-2.0
#include "ops/rotations.h"

#include <algorithm>
#include <cstdlib>

namespace heed {
namespace {

// Pairs that are computed at a time: their product of the higher digits is in memory on the stack.
constexpr int64_t kPairsAtOnce = 64;

struct Row {
  int64_t row;  // along axis r
  int64_t position;
};

Row row_at(const RotationsProblem& problem, int64_t b, int64_t i) {
  const Sequence& sequence = sequence_of(problem.limits, b);
  const CachedElement* element = problem.elements != nullptr ? problem.elements + b : nullptr;
  if (problem.of_keys != 0) {
    const bool has_own = element != nullptr && element->positions != nullptr;
    return {sequence.key_begin + i, has_own ? element->positions[i] : sequence.key_position + i};
  }
  if (element != nullptr && element->query_positions != nullptr)
    return {sequence.query_begin + i, element->query_positions[i]};
  return {sequence.query_begin + i, position_of_query(problem.limits, b, i)};
}

// The product of the rotations of all digits of `position` but the lowest, for `count` pairs from `first` on.
struct HigherDigits {
  double cosines[kPairsAtOnce];
  double sines[kPairsAtOnce];

  void set(const RotationsProblem& problem, int64_t position, int64_t first, int64_t count) {
    std::fill_n(cosines, count, 1.0);
    std::fill_n(sines, count, 0.0);
    const int64_t entry = 2 * problem.num_pairs;
    int64_t digit = 1;
    for (int64_t rest = position / kRotaryRadix; rest > 0; rest /= kRotaryRadix, ++digit) {
      const int64_t value = rest % kRotaryRadix;
      if (value == 0) continue;
      const double* cosine = problem.digits + (digit * kRotaryRadix + value) * entry + first;
      const double* sine = cosine + problem.num_pairs;
      for (int64_t i = 0; i < count; ++i) {
        const double real = cosines[i] * cosine[i] - sines[i] * sine[i];
        sines[i] = cosines[i] * sine[i] + sines[i] * cosine[i];
        cosines[i] = real;
      }
    }
  }
};

}  // namespace

int64_t num_rotated_rows(const RotationsProblem& problem, int64_t b) {
  const Sequence& sequence = sequence_of(problem.limits, b);
  return problem.of_keys != 0 ? sequence.key_count : sequence.query_count;
}

void write_rotations(const RotationsProblem& problem, int64_t b, int64_t begin, int64_t end) {
  const int64_t num_pairs = problem.num_pairs;
  for (int64_t first = 0; first < num_pairs; first += kPairsAtOnce) {
    const int64_t count = std::min(kPairsAtOnce, num_pairs - first);
    HigherDigits higher;
    int64_t current = -1;
    for (int64_t i = begin; i < end; ++i) {
      const Row row = row_at(problem, b, i);
      // A query before the first key has a negative position, which rotates the other way.
      const int64_t distance = std::abs(row.position);
      const double sine_factor = row.position < 0 ? -problem.factor : problem.factor;
      if (distance / kRotaryRadix != current) {
        current = distance / kRotaryRadix;
        higher.set(problem, distance, first, count);
      }
      const double* cosine = problem.digits + distance % kRotaryRadix * 2 * num_pairs + first;
      const double* sine = cosine + num_pairs;
      float* to = static_cast<float*>(problem.output.data) + b * problem.output.strides[1] +
                  row.row * problem.output.strides[2] + first;
      for (int64_t p = 0; p < count; ++p) {
        const double real = higher.cosines[p] * cosine[p] - higher.sines[p] * sine[p];
        const double imaginary = higher.cosines[p] * sine[p] + higher.sines[p] * cosine[p];
        to[p] = static_cast<float>(real * problem.factor);
        to[num_pairs + p] = static_cast<float>(imaginary * sine_factor);
      }
    }
  }
}

}  // namespace heed
