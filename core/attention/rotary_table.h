// SPDX-License-Identifier: Apache-2.0
// Rotary positions of one layer: its options with all defaults, and the table from which rotations are computed. A cache
// whose keys are rotated shares the table of the layer that rotated them.
#pragma once

#include <string_view>

#include "attention/rope.h"
#include "base/host_allocator.h"

namespace heed {

class RotaryTable {
 public:
  // Throws InvalidArgument that names the member of `options->rope`. Memory comes from the allocator.
  RotaryTable(const RopeOptions& options, int64_t head_size, const HostAllocator& allocator);
  RotaryTable(const RotaryTable&) = delete;
  RotaryTable& operator=(const RotaryTable&) = delete;

  const RopeOptions& options() const { return options_; }
  // rotary_digits of its frequencies.
  const double* digits() const { return digits_.data(); }
  // All options that change a rotation, as JSON: equal for equal rotations.
  std::string_view text() const { return text_; }

 private:
  RopeOptions options_;
  HostVector<float> factors_;  // those of options_
  HostVector<double> digits_;
  HostString text_;
};

}  // namespace heed
