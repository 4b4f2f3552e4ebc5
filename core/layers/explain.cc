// SPDX-License-Identifier: Apache-2.0
// heed_layer_explain: a planned call as JSON.
#include <string>

#include "base/json_writer.h"
#include "layers/layer.h"

namespace heed {

std::string Layer::explain(const LayerInputs& inputs, const LayerOutputs& outputs) const {
  Schedule schedule;
  prepare(inputs, outputs, Purpose::Explain, schedule);

  // The attention's; in a layer without one that of its only operation.
  const char* kernel = "";
  Cost total;
  for (const Step& step : schedule) {
    const Cost cost = step.cost();
    total.flops += cost.flops;
    total.bytes += cost.bytes;
    if (kernel[0] == 0 || step.kind == Step::Kind::Attention) kernel = step.plan.kernel;
  }

  JsonWriter json;
  const auto count = [&json](const char* name, double number) {
    json.key(name);
    json.count(number);
  };
  json.begin_object();
  json.member("layer", kind());
  json.member("backend", context()->backend().name);
  json.member("device", context()->device_name());
  json.member("kernel", kernel);
  json.member("threads", context()->num_threads());
  json.member("workspace_bytes", schedule.workspace_bytes());
  count("flops", total.flops);
  count("bytes", total.bytes);
  json.key("operations");
  json.begin_array();
  for (const Step& step : schedule) {
    const Cost cost = step.cost();
    json.begin_object();
    json.member("operation", step.operation);
    json.member("kernel", step.plan.kernel);
    count("flops", cost.flops);
    count("bytes", cost.bytes);
    json.end_object();
  }
  json.end_array();
  json.key("not_fastest");
  json.begin_array();
  for (const Step& step : schedule) {
    for (const char* reason : step.plan.not_fastest) {
      if (reason != nullptr) json.value(reason);
    }
  }
  json.end_array();
  json.end_object();
  return json.text();
}

}  // namespace heed
