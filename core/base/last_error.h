// SPDX-License-Identifier: Apache-2.0
// The last error, which heed_last_status and heed_last_error return.
#pragma once

#include "base/error.h"

namespace heed {

struct LastError {
  Status status = Status::Ok;
  KeptSentence sentence;
};

// The last error of the calling thread; its status is Ok until a call fails. The buffer has a fixed size, since the
// report that memory has run out must not allocate.
LastError& last_error() noexcept;

}  // namespace heed
