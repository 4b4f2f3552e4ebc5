// SPDX-License-Identifier: Apache-2.0
// What heed_layer_explain says of a call.
#pragma once

#include <heed/heed.h>

#include <nlohmann/json.hpp>
#include <string>

#include "capi/support/objects.h"

namespace heed::ascend_test {

inline nlohmann::json explain(const heed_layer* layer, const heed_layer_inputs& inputs,
                              const heed_layer_outputs& outputs) {
  size_t num_bytes = 0;
  property::check(heed_layer_explain(layer, &inputs, &outputs, nullptr, 0, &num_bytes));
  std::string text(num_bytes, '\0');
  property::check(heed_layer_explain(layer, &inputs, &outputs, text.data(), text.size(), &num_bytes));
  return nlohmann::json::parse(text.c_str());
}

}  // namespace heed::ascend_test
