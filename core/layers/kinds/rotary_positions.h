// SPDX-License-Identifier: Apache-2.0
// Rotary positions of a layer: its part of a head's transform, and the operations that compute the rotations of a call's
// rows.
#pragma once

#include <cstdint>
#include <memory>

#include "attention/rope.h"
#include "attention/rotary_table.h"
#include "base/host_allocator.h"
#include "layers/layer_call.h"
#include "layers/schedule.h"
#include "layers/value.h"
#include "ops/head_transform.h"

namespace heed {

class RotaryPositions {
 public:
  // Throws InvalidArgument that names the member of `options->rope`. Memory comes from the allocator.
  RotaryPositions(const RopeOptions& options, int64_t head_size, const HostAllocator& allocator);
  RotaryPositions(const RotaryPositions&) = delete;
  RotaryPositions& operator=(const RotaryPositions&) = delete;

  // With all defaults filled in.
  const RopeOptions& options() const { return options_; }
  const std::shared_ptr<const RotaryTable>& table() const { return table_; }
  // That of calls whose positions are all below original_length; null: the same for all calls.
  const std::shared_ptr<const RotaryTable>& short_table() const { return short_table_; }

  // Sets everything about the rotation except its operand.
  void set(HeadTransform& transform) const;

  struct Rotations {
    Value of_queries;
    Value of_keys;
  };
  // Adds the operations that compute the rotations of queries and keys, (batch, rows, rotary size), with a batch of 1
  // where all batch elements have the same positions. Both are one array where queries and keys have the same positions.
  Rotations add(Schedule& schedule, const LayerCall& call) const;
  // The same for all rows of the sequences of a call with a cache, (batch, rows, rotary size).
  Value add_cached_keys(Schedule& schedule, const LayerCall& call) const;

 private:
  Value add_rows(Schedule& schedule, const LayerCall& call, bool of_keys, const char* operation) const;
  // Sets what all operations of the layer have in common.
  void set(RotationsProblem& problem, const LayerCall& call, bool of_keys) const;

  RopeOptions options_;
  std::shared_ptr<const RotaryTable> table_;
  std::shared_ptr<const RotaryTable> short_table_;
};

}  // namespace heed
