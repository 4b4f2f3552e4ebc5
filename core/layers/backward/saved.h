// SPDX-License-Identifier: Apache-2.0
// What a forward keeps for the backward of the same call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "backends/workspace.h"

namespace heed {

struct LayerInputs;

// The call whose arrays a Saved holds.
struct SavedCall {
  uint64_t layer = 0;         // its number: a later layer may have the address of an earlier one
  uint64_t inputs = 0;        // their hash_of_form
  size_t num_bytes = 0;       // of its saved arrays
  uint64_t dropout_seed = 0;  // 0 unless training
  bool is_training = false;
  uint64_t parameters = 0;  // the sum of the versions of all parameters

  friend bool operator==(const SavedCall&, const SavedCall&) = default;
};

// Hashes which inputs are given, their dims and dtypes, and the numbers of lengths, positions, ids, and other inputs of whole
// numbers. Not the numbers of rows, masks and biases, which may be as large as what is saved.
uint64_t hash_of_form(const LayerInputs& inputs);

// heed_saved.
class Saved {
 public:
  explicit Saved(std::shared_ptr<Workspace> memory) : memory_(std::move(memory)) {}

  Workspace& memory() const { return *memory_; }
  // Throws unless the memory is on `device_name`, the layer's device.
  void require_device(const char* device_name) const;
  // The first byte that is aligned to kMemoryAlignment.
  void* data() const;
  // Throws WorkspaceTooSmall unless arrays of num_bytes fit.
  void require_bytes(size_t num_bytes) const;

  // Nothing if no forward has filled it.
  const std::optional<SavedCall>& call() const { return call_; }
  void set_call(const std::optional<SavedCall>& call) { call_ = call; }

 private:
  std::shared_ptr<Workspace> memory_;
  std::optional<SavedCall> call_;
};

// The bytes of a Saved, of any alignment, for arrays of num_bytes.
size_t bytes_of_saved(size_t num_bytes);

}  // namespace heed
