// SPDX-License-Identifier: Apache-2.0
#include "attention/options.h"

#include <cinttypes>
#include <cmath>

#include "base/decimal_text.h"
#include "base/error.h"

namespace heed {
namespace {

const char* name_of(Alignment alignment) {
  switch (alignment) {
    case Alignment::None: return "none";
    case Alignment::TopLeft: return "top_left";
    case Alignment::BottomRight: return "bottom_right";
  }
  __builtin_unreachable();  // check_options accepts no other value
}

}  // namespace

void check_dropout(float dropout) {
  // Written so that NaN fails too.
  if (!(dropout >= 0 && dropout < 1)) {
    fail(Status::InvalidArgument, OPTION("dropout") " is %s, expected a probability from 0 to below 1",
         DecimalText(dropout).c_str());
  }
}

void check_options(const AttentionOptions& options) {
  if (!std::isfinite(options.scale)) {
    fail(Status::InvalidArgument, OPTION("scale") " is %s, expected a finite number, or 0 for the default",
         DecimalText(options.scale).c_str());
  }
  if (!std::isfinite(options.soft_cap) || options.soft_cap < 0) {
    fail(Status::InvalidArgument, OPTION("soft_cap") " is %s, expected a finite number above 0, or 0 for none",
         DecimalText(options.soft_cap).c_str());
  }
  check_dropout(options.dropout);
  if (options.window == Alignment::None && (options.window_left > 0 || options.window_right > 0)) {
    fail(Status::InvalidArgument,
         OPTION("window_left") " is %" PRId64 " and " OPTION("window_right") " %" PRId64 ", but " OPTION(
             "window") " is " CONSTANT("HEED_WINDOW_NONE") ": name an alignment, or leave both at 0",
         options.window_left, options.window_right);
  }
}

void write_options(const AttentionOptions& options, JsonWriter& json) {
  json.member("scale", options.scale);
  json.member("soft_cap", options.soft_cap);
  json.member("dropout", options.dropout);
  json.member("causal", name_of(options.causal));
  json.member("window", name_of(options.window));
  json.member("window_left", options.window_left);
  json.member("window_right", options.window_right);
  json.member("empty_rows", options.empty_rows == EmptyRows::Mean ? "mean" : "zero");
}

}  // namespace heed
