// SPDX-License-Identifier: Apache-2.0
#include "attention/options.h"

#include <cinttypes>
#include <cmath>

#include "base/decimal_text.h"
#include "base/error.h"

namespace heed {

void check_dropout(float dropout) {
  // Written so that NaN fails too.
  if (!(dropout >= 0 && dropout < 1)) {
    fail(Status::InvalidArgument, "options->dropout is %s, expected a probability from 0 to below 1",
         DecimalText(dropout).c_str());
  }
}

void check_options(const AttentionOptions& options) {
  if (!std::isfinite(options.scale)) {
    fail(Status::InvalidArgument, "options->scale is %s, expected a finite number, or 0 for the default",
         DecimalText(options.scale).c_str());
  }
  if (!std::isfinite(options.soft_cap) || options.soft_cap < 0) {
    fail(Status::InvalidArgument, "options->soft_cap is %s, expected a finite number above 0, or 0 for none",
         DecimalText(options.soft_cap).c_str());
  }
  check_dropout(options.dropout);
  if (options.window == Alignment::None && (options.window_left > 0 || options.window_right > 0)) {
    fail(Status::InvalidArgument,
         "options->window_left is %" PRId64 " and options->window_right %" PRId64
         ", but options->window is HEED_WINDOW_NONE: name an alignment, or leave both at 0",
         options.window_left, options.window_right);
  }
}

}  // namespace heed
