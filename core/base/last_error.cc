// SPDX-License-Identifier: Apache-2.0
#include "base/last_error.h"

namespace heed {
namespace {

thread_local constinit LastError the_last_error;

}  // namespace

LastError& last_error() noexcept { return the_last_error; }

}  // namespace heed
