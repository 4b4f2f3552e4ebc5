// SPDX-License-Identifier: Apache-2.0
// What heed_last_status and heed_last_error tell.
#pragma once

#include "base/error.h"

namespace heed {

// Of the calling thread; Status::Ok until a call fails. A fixed buffer: reporting that memory has run out must not need
// any.
Error& last_error() noexcept;

}  // namespace heed
