// SPDX-License-Identifier: Apache-2.0
// Where a table of positions begins.
#include "families/rules.h"

namespace heed {

std::optional<int64_t> first_row(const Family& family, const ModelSettings& settings) {
  switch (family.positions.first_row) {
    case FirstRow::Zero: return 0;
    case FirstRow::Two: return 2;
    case FirstRow::AfterPadding:
      if (settings.number(Setting::PadTokenId) == 0) return 1;
      return settings.is_left_out(Setting::PadTokenId) ? 2 : settings.count({Setting::PadTokenId}).value_or(1) + 1;
    case FirstRow::Unknown: break;
  }
  return std::nullopt;
}

}  // namespace heed
