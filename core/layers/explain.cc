// SPDX-License-Identifier: Apache-2.0
// heed_layer_explain: a planned call as JSON.
#include <nlohmann/json.hpp>
#include <string>

#include "layers/layer.h"

namespace heed {

std::string Layer::explain(const LayerInputs& inputs, const LayerOutputs& outputs) const {
  Schedule schedule;
  prepare(inputs, outputs, Purpose::Explain, schedule);

  // Counts can pass what a double holds exactly, but not what it rounds to; JSON has no better number.
  nlohmann::ordered_json operations = nlohmann::ordered_json::array();
  nlohmann::ordered_json not_fastest = nlohmann::ordered_json::array();
  const char* attention_kernel = "";
  Cost total;
  for (const Step& step : schedule) {
    const Cost cost = step.cost();
    total.flops += cost.flops;
    total.bytes += cost.bytes;
    operations.push_back(
        {{"operation", step.operation}, {"kernel", step.plan.kernel}, {"flops", cost.flops}, {"bytes", cost.bytes}});
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
      {"flops", total.flops},
      {"bytes", total.bytes},
      {"operations", operations},
      {"not_fastest", not_fastest},
  };
  return result.dump(2);
}

}  // namespace heed
