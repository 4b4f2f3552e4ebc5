// SPDX-License-Identifier: Apache-2.0
// heed_layer_explain: a planned call as JSON.
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

#include "layers/layer.h"

namespace heed {
namespace {

// A whole number as JSON writes one; past 64 bits, which only shapes that nobody could run reach, as a float.
nlohmann::ordered_json whole(double number) {
  if (number < 0x1p63) return static_cast<int64_t>(number);
  return number;
}

}  // namespace

std::string Layer::explain(const LayerInputs& inputs, const LayerOutputs& outputs) const {
  Schedule schedule;
  prepare(inputs, outputs, Purpose::Explain, schedule);

  nlohmann::ordered_json operations = nlohmann::ordered_json::array();
  nlohmann::ordered_json not_fastest = nlohmann::ordered_json::array();
  const char* attention_kernel = "";
  Cost total;
  for (const Step& step : schedule) {
    const Cost cost = step.cost();
    total.flops += cost.flops;
    total.bytes += cost.bytes;
    operations.push_back({{"operation", step.operation},
                          {"kernel", step.plan.kernel},
                          {"flops", whole(cost.flops)},
                          {"bytes", whole(cost.bytes)}});
    if (step.kind == Step::Kind::Attention) attention_kernel = step.plan.kernel;
    if (step.plan.not_fastest != nullptr) not_fastest.push_back(step.plan.not_fastest);
  }
  const nlohmann::ordered_json result = {
      {"layer", kind()},
      {"backend", context()->backend().name},
      {"device", context()->device_name()},
      {"kernel", attention_kernel},
      {"threads", context()->num_threads()},
      {"workspace_bytes", schedule.workspace_bytes()},
      {"flops", whole(total.flops)},
      {"bytes", whole(total.bytes)},
      {"operations", operations},
      {"not_fastest", not_fastest},
  };
  return result.dump(2);
}

}  // namespace heed
