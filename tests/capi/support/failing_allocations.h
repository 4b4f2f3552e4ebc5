// SPDX-License-Identifier: Apache-2.0
// Every allocation of a function fails once. Linked with support/platform/allocation_hook_glibc.cc.
#pragma once

#include <heed/heed.h>

#include <cstdint>
#include <functional>
#include <memory>

namespace heed::capi_test {

// One function with its arguments, created again for each failing allocation.
class Scenario {
 public:
  virtual ~Scenario() = default;
  virtual heed_status run() = 0;
  // Called after a failed run: nothing may have changed.
  virtual void expect_unchanged() {}
  // Whether a run may succeed although an allocation failed.
  virtual bool can_do_without() const { return false; }
};

using MakeScenario = std::function<std::unique_ptr<Scenario>()>;

template <typename T>
MakeScenario scenario() {
  return [] { return std::make_unique<T>(); };
}

// Every `step`th allocation fails, alone and with all later ones: the call must report it and leak nothing.
void expect_recovery(const char* what, const MakeScenario& make, int64_t step = 1);

}  // namespace heed::capi_test
