// SPDX-License-Identifier: Apache-2.0
// How an operation spreads its work: independent items, which whoever takes part fetches one by one.
#pragma once

#include <cstdint>

namespace heed::cpu {

class Workers {
 public:
  // At most so many take part, the caller included: what each needs for itself is made so many times.
  int32_t num_workers() const { return 1; }

  // Calls function(item, worker) once for each item from 0 to num_items - 1, handed out ascending, so that the largest
  // belong first; 0 <= worker < num_workers(), and no two calls at a time have the same one. Returns when all are done,
  // and sees all that they wrote. `flops` is a rough estimate of the whole: too little to share runs on the caller
  // alone, as worker 0. The function must not call for_each, and must not throw.
  template <typename Function>
  void for_each(int64_t num_items, double /*flops*/, const Function& function) const {
    for (int64_t item = 0; item < num_items; ++item) function(item, int32_t{0});
  }
};

}  // namespace heed::cpu
