// SPDX-License-Identifier: Apache-2.0
// How an operation will be done: what a backend's `plan` returns and its `run` obeys.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <type_traits>

namespace heed {

// How many reasons a plan can give.
inline constexpr int kMaxReasons = 4;

// Bytes of what a backend keeps of its decisions in a plan.
inline constexpr size_t kMaxChoiceBytes = 64;

// How an operation will be done.
struct Plan {
  const char* kernel = "";  // static
  const char* isa = "";     // static; the instructions that it uses
  // Scratch for `run`, aligned to kMemoryAlignment. Does not depend on strides, and never decreases when batch, rows,
  // queries or keys grow; of a linear problem with several parts it is the largest that one of them alone takes. So one
  // size serves a layer however its inputs are laid out and whichever of them are the same tensor.
  size_t scratch_bytes = 0;
  // The tasks that threads take one after the other, and the threads that take them, the caller's included. Only these
  // two numbers, and `choice`, may depend on the values of lengths, where lengths have data.
  int64_t num_tasks = 1;
  int32_t num_threads = 1;
  // What the kernel computes at a time; 0 where it has no such block. A tile is of the outputs of a linear operation.
  int32_t tile_rows = 0;
  int32_t tile_columns = 0;
  int32_t block_queries = 0;
  int32_t block_keys = 0;
  // 1: the device cannot do this, for the reasons that are given. It is done by the CPU with copies, and nothing else in
  // the device's plan counts.
  int32_t on_host = 0;
  // What the CPU then takes of the host's memory.
  size_t host_scratch_bytes = 0;
  // Why this is not the fastest path, static sentences without a full stop; what is null is no reason.
  const char* not_fastest[kMaxReasons] = {};

  // What the backend decided when it planned, for its own run to obey. No one else reads it.
  alignas(8) std::byte choice[kMaxChoiceBytes];

  bool is_fastest() const { return not_fastest[0] == nullptr; }
  // Beyond kMaxReasons they are left out, and so is one that is there.
  void add_reason(const char* reason) {
    for (const char*& entry : not_fastest) {
      if (entry == reason) return;
      if (entry != nullptr) continue;
      entry = reason;
      return;
    }
  }
};

// Keeps a decision of the backend in a plan.
template <typename Choice>
void set_choice(Plan& plan, const Choice& choice) {
  static_assert(std::is_trivially_copyable_v<Choice> && sizeof(Choice) <= kMaxChoiceBytes);
  new (plan.choice) Choice(choice);
}

// The decision that set_choice kept. It has the same type.
template <typename Choice>
const Choice& choice_of(const Plan& plan) {
  static_assert(std::is_trivially_copyable_v<Choice> && sizeof(Choice) <= kMaxChoiceBytes);
  return *std::launder(reinterpret_cast<const Choice*>(plan.choice));
}

}  // namespace heed
