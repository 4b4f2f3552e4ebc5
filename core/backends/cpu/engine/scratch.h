// SPDX-License-Identifier: Apache-2.0
// The scratch memory of an operation: a part for each worker of its loops, then a part that they share. A plan makes the
// layout, and the run divides the memory by the same layout. Only a loop over tasks gives access to the part of a worker
// (Workers::for_each), so a run has no more workers than its plan has parts for.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/rounding.h"

#ifdef HEED_POISONS_SCRATCH
#include <sanitizer/asan_interface.h>
#endif

namespace heed::cpu {

// Unused bytes behind each part. In a build with the address sanitizer (HEED_POISONS_SCRATCH) any access to them ends the
// program while the operation runs.
#ifdef HEED_POISONS_SCRATCH
inline constexpr size_t kScratchGuardBytes = kMemoryAlignment;
#else
inline constexpr size_t kScratchGuardBytes = 0;
#endif

struct ScratchLayout {
  size_t worker_bytes = 0;
  size_t shared_bytes = 0;
  // How many workers have a part: the caller alone, or all of the team.
  int32_t num_workers = 1;

  size_t worker_stride() const { return round_up_to_alignment(worker_bytes) + kScratchGuardBytes; }
  size_t num_bytes() const {
    return worker_stride() * static_cast<size_t>(num_workers) + round_up_to_alignment(shared_bytes) +
           kScratchGuardBytes;
  }
  // How many of num_threads may run a loop whose tasks use these parts: all or, if the caller alone has a part, one.
  int32_t limit(int32_t num_threads) const { return num_workers > 1 ? num_threads : 1; }
};

// Memory of layout.num_bytes() bytes, divided by the layout.
class Scratch {
 public:
  Scratch(const ScratchLayout& layout, void* memory) : layout_(layout), memory_(static_cast<std::byte*>(memory)) {
#ifdef HEED_POISONS_SCRATCH
    for_each_guard([](const std::byte* guard) { __asan_poison_memory_region(guard, kScratchGuardBytes); });
#endif
  }
#ifdef HEED_POISONS_SCRATCH
  ~Scratch() {
    for_each_guard([](const std::byte* guard) { __asan_unpoison_memory_region(guard, kScratchGuardBytes); });
  }
#endif
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  const ScratchLayout& layout() const { return layout_; }
  std::byte* shared() const { return memory_ + layout_.worker_stride() * static_cast<size_t>(layout_.num_workers); }

 private:
  friend class Workers;

  std::byte* of_worker(int32_t worker) const { return memory_ + layout_.worker_stride() * static_cast<size_t>(worker); }

#ifdef HEED_POISONS_SCRATCH
  template <typename Function>
  void for_each_guard(const Function& function) const {
    for (int32_t worker = 0; worker < layout_.num_workers; ++worker)
      function(of_worker(worker) + round_up_to_alignment(layout_.worker_bytes));
    function(shared() + round_up_to_alignment(layout_.shared_bytes));
  }
#endif

  ScratchLayout layout_;
  std::byte* memory_;
};

}  // namespace heed::cpu
