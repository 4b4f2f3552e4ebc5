// SPDX-License-Identifier: Apache-2.0
// How an operation will be computed: the result of a backend's `plan`, which its `run` obeys.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <type_traits>

namespace heed {

// The largest number of reasons in a plan.
inline constexpr int kMaxReasons = 4;

// Size of the backend's decisions in a plan.
inline constexpr size_t kMaxChoiceBytes = 96;

// How an operation will be computed.
struct Plan {
  const char* kernel = "";  // static
  const char* isa = "";     // static; the instructions that it uses
  // Size of the scratch memory for `run`, which is aligned to kMemoryAlignment. It does not depend on strides, and does
  // not decrease when batch, rows, queries or keys grow. For a linear problem with several parts it is the maximum over
  // the parts. So the size is the same for all strides of a layer's inputs, and whichever of them are the same tensor.
  size_t scratch_bytes = 0;
  // The number of tasks, and the number of threads that run them, including the caller's. Only these two numbers and
  // `choice` may depend on the values of valid_lens, if these have data.
  int64_t num_tasks = 1;
  int32_t num_threads = 1;
  // The rows and columns of outputs that a linear kernel computes at a time, and the queries and keys that an attention
  // kernel processes at a time; 0 if the kernel has no such block.
  int32_t tile_rows = 0;
  int32_t tile_columns = 0;
  int32_t block_queries = 0;
  int32_t block_keys = 0;
  // 1: the device cannot compute this problem, for the reasons in not_fastest. The CPU computes it, with copies, and
  // all other members of the device's plan are ignored.
  int32_t on_host = 0;
  // Size of the CPU's scratch memory in that case, on the host.
  size_t host_scratch_bytes = 0;
  // The reasons why this is not the fastest path: static sentences without a full stop; unused entries are null.
  const char* not_fastest[kMaxReasons] = {};

  // Decisions of the backend's `plan` for its `run`. No other code reads them.
  alignas(8) std::byte choice[kMaxChoiceBytes];

  bool is_fastest() const { return not_fastest[0] == nullptr; }
  // Does nothing if the reason is already there or if there are kMaxReasons.
  void add_reason(const char* reason) {
    for (const char*& entry : not_fastest) {
      if (entry == reason) return;
      if (entry != nullptr) continue;
      entry = reason;
      return;
    }
  }
};

// Stores the backend's decisions in a plan.
template <typename Choice>
void set_choice(Plan& plan, const Choice& choice) {
  static_assert(std::is_trivially_copyable_v<Choice> && sizeof(Choice) <= kMaxChoiceBytes);
  new (plan.choice) Choice(choice);
}

// The decisions that set_choice stored, with the same type.
template <typename Choice>
const Choice& choice_of(const Plan& plan) {
  static_assert(std::is_trivially_copyable_v<Choice> && sizeof(Choice) <= kMaxChoiceBytes);
  return *std::launder(reinterpret_cast<const Choice*>(plan.choice));
}

}  // namespace heed
