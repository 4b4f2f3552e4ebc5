// SPDX-License-Identifier: Apache-2.0
#include "reference/moved_steps.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

#include "reference/philox.h"

namespace heed::reference {
namespace {

// By chance the moves of several steps nearly cancel: about once in a hundred times they leave a hundredth of what they usually do.
constexpr uint32_t kTimes = 6;

// Moves numbers by half to all of their errors, in directions that depend on `seed`.
class Mover {
 public:
  explicit Mover(uint32_t seed) : seed_(seed) {}

  std::vector<double> operator()(Bounded result) {
    for (size_t i = 0; i < result.values.size(); ++i) {
      const uint32_t word = philox_4x32_10({count_++, 0, 0, 0}, {seed_, 0})[0];
      const double part = 0.5 + 0x1p-32 * static_cast<double>(word >> 1);
      result.values[i] += (word & 1) != 0 ? part * result.errors[i] : -part * result.errors[i];
    }
    return std::move(result.values);
  }

 private:
  uint32_t seed_;
  uint32_t count_ = 0;
};

// Infinite where a step has no bound.
double largest_difference(const std::vector<double>& moved, const std::vector<double>& exact, size_t first,
                          size_t end) {
  double largest = 0.0;
  for (size_t i = first; i < end; ++i) {
    const double difference = std::fabs(moved[i] - exact[i]);
    largest = std::max(largest, std::isnan(difference) ? kInfinity : difference);
  }
  return largest;
}

}  // namespace

std::vector<double> unmoved(Bounded result) { return std::move(result.values); }

NamedBounds with_moved_steps(const std::function<NamedRows(const AfterStep& after_step)>& results) {
  const NamedRows exact = results(unmoved);
  NamedBounds bounds;
  for (const auto& [name, rows] : exact) {
    bounds[name].values = rows.values;
    bounds[name].errors.assign(rows.values.size(), 0.0);
  }
  for (uint32_t seed = 0; seed < kTimes; ++seed) {
    const NamedRows moved = results(Mover(seed));
    for (const auto& [name, rows] : exact) {
      std::vector<double>& errors = bounds[name].errors;
      const auto size = static_cast<size_t>(std::max<int64_t>(1, rows.size));
      for (size_t first = 0; first < errors.size(); first += size) {
        const double largest = largest_difference(moved.at(name).values, rows.values, first, first + size);
        for (size_t i = first; i < first + size; ++i) errors[i] = std::max(errors[i], kTimesMoved * largest);
      }
    }
  }
  return bounds;
}

}  // namespace heed::reference
