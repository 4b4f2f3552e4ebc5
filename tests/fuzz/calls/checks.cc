// SPDX-License-Identifier: Apache-2.0
#include "fuzz/calls/checks.h"

#include <string>

namespace heed::fuzz {
namespace {

void require_error(heed_status status) {
  const testing::AssertionResult refused = capi_test::is_refused(status, {status, {}});
  require(static_cast<bool>(refused), refused.message());
  require(status > HEED_OK && status < HEED_ERROR_INTERNAL, heed_last_error());
  capi_test::forget_last_error();
}

}  // namespace

bool succeeded(heed_status status) {
  if (status == HEED_OK) return true;
  require_error(status);
  return false;
}

void require_result_or_error(bool is_result, const char* getter) {
  if (is_result) return;
  // The last error must be the getter's, not the one set by forget_last_error.
  require(heed_last_status() != HEED_ERROR_DEVICE_UNAVAILABLE, getter);
  require_error(heed_last_status());
}

void require_one_line(void* /*user*/, int32_t level, const char* text) {
  require(level >= HEED_LOG_ERROR && level <= HEED_LOG_DEBUG, "a message has a level");
  const std::string line = text;
  require(!line.empty() && line.find('\n') == std::string::npos, "a message is one line: " + line);
  require(heed_tensor_rank(nullptr) == -1, "a logger may call heed");
}

}  // namespace heed::fuzz
