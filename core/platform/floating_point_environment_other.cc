// SPDX-License-Identifier: Apache-2.0
#include <cfenv>
#include <cstring>

#include "platform/floating_point_environment.h"

namespace heed::platform {

void FloatingPointEnvironment::enter(Saved& host) noexcept {
  static_assert(sizeof(std::fenv_t) <= sizeof host);
  std::fenv_t environment;
  std::fegetenv(&environment);
  std::memcpy(&host, &environment, sizeof environment);
  std::fesetenv(FE_DFL_ENV);
}

void FloatingPointEnvironment::leave(const Saved& host) noexcept {
  std::fenv_t environment;
  std::memcpy(&environment, &host, sizeof environment);
  std::fesetenv(&environment);
}

// C has no function for it, so subnormal numbers are kept.
bool FlushedSubnormals::are_flushed() noexcept { return false; }

void FlushedSubnormals::set(bool) noexcept {}

}  // namespace heed::platform
