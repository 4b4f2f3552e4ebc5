// SPDX-License-Identifier: Apache-2.0
#include "fuzz/calls/checks.h"

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

}  // namespace heed::fuzz
