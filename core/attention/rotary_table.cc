// SPDX-License-Identifier: Apache-2.0
#include "attention/rotary_table.h"

#include <vector>

#include "base/json_writer.h"

namespace heed {

RotaryTable::RotaryTable(const RopeOptions& options, int64_t head_size, const HostAllocator& allocator)
    : options_(with_defaults(options, head_size)),
      factors_(options_.factors.begin(), options_.factors.end(), HostStlAllocator<float>(allocator)),
      digits_(HostStlAllocator<double>(allocator)),
      text_(HostStlAllocator<char>(allocator)) {
  options_.factors = factors_;
  const std::vector<double> digits = rotary_digits(rotary_frequencies(options_));
  digits_.assign(digits.begin(), digits.end());
  JsonWriter json(JsonStyle::Compact);
  json.begin_object();
  write_options(options_, json);
  json.end_object();
  text_.assign(json.text());
}

}  // namespace heed
