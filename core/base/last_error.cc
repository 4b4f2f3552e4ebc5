// SPDX-License-Identifier: Apache-2.0
#include "base/last_error.h"

namespace heed {
namespace {

thread_local constinit Error the_last_error{Status::Ok, ""};

}  // namespace

Error& last_error() noexcept { return the_last_error; }

}  // namespace heed
