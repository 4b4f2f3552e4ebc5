// SPDX-License-Identifier: Apache-2.0
#include "support/platform/limits.h"

#include <sys/resource.h>
#include <unistd.h>

namespace heed {

FileSizeLimit::FileSizeLimit(uint64_t num_bytes) {
  rlimit limit = {};
  if (::getrlimit(RLIMIT_FSIZE, &limit) != 0) return;
  before_ = limit.rlim_cur;
  limit.rlim_cur = num_bytes;
  is_set_ = ::setrlimit(RLIMIT_FSIZE, &limit) == 0;
}

FileSizeLimit::~FileSizeLimit() {
  rlimit limit = {};
  if (!is_set_ || ::getrlimit(RLIMIT_FSIZE, &limit) != 0) return;
  limit.rlim_cur = before_;
  ::setrlimit(RLIMIT_FSIZE, &limit);
}

// The limit counts all processes of a user, and does not apply to root, so root becomes another user.
bool forbid_threads() {
  const rlimit none = {0, 0};
  constexpr uid_t kNobody = 65534;
  return ::setrlimit(RLIMIT_NPROC, &none) == 0 && (::getuid() != 0 || ::setresuid(kNobody, kNobody, kNobody) == 0);
}

}  // namespace heed
