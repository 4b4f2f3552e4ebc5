// SPDX-License-Identifier: Apache-2.0
// heed_layer_explain: describes a planned call as JSON.
#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "base/json_writer.h"
#include "base/sentence.h"
#include "layers/cache_call.h"
#include "layers/layer.h"

namespace heed {
namespace {

template <typename Number>
void write_count(JsonWriter& json, const char* name, Number number) {
  json.key(name);
  json.count(number);
}

// Writes how the step is computed. Block sizes that its kernel does not have are left out.
void write_plan(JsonWriter& json, const Step& step) {
  const Plan& plan = step.plan;
  json.member("kernel", plan.kernel);
  json.member("isa", plan.isa);
  const auto block = [&json](const char* name, int32_t size) {
    if (size != 0) json.member(name, size);
  };
  block("tile_rows", plan.tile_rows);
  block("tile_columns", plan.tile_columns);
  block("block_queries", plan.block_queries);
  block("block_keys", plan.block_keys);
  write_count(json, "items", static_cast<double>(plan.num_tasks) * step.num_runs());
  json.member("threads", plan.num_threads);
}

void write_reasons(JsonWriter& json, const std::vector<std::string_view>& reasons) {
  json.key("not_fastest");
  json.begin_array();
  for (const std::string_view reason : reasons) json.value(said_in_c(reason));
  json.end_array();
}

// Adds the plan's reasons that are not in the list yet.
void add_reasons(std::vector<std::string_view>& reasons, const Plan& plan) {
  for (const char* reason : plan.not_fastest) {
    if (reason != nullptr && std::find(reasons.begin(), reasons.end(), reason) == reasons.end())
      reasons.emplace_back(reason);
  }
}

}  // namespace

std::string Layer::explain(const LayerInputs& inputs, const LayerOutputs& outputs) const {
  CallArena arena(*context_);
  Schedule schedule(arena);
  const CacheLock lock(inputs, Purpose::Explain);
  prepare(inputs, outputs, Purpose::Explain, schedule);
  // The attention; for a layer without attention, its only operation.
  const Step* main = &*schedule.begin();
  for (const Step& step : schedule) {
    if (step.op->kind == OpKind::Attention) main = &step;
  }
  return explain_schedule(schedule, main, schedule.workspace_bytes());
}

std::string Layer::explain_backward(const LayerInputs& inputs, const LayerOutputs& outputs,
                                    const LayerGradients& gradients) const {
  CallArena arena(*context_);
  Schedule schedule(arena);
  prepare_backward(inputs, outputs, gradients, Purpose::Explain, schedule);
  // The attention's, otherwise the one with the most FLOPs. Where nothing is wanted there is none.
  const Step* main = nullptr;
  for (const Step& step : schedule) {
    const bool was_attention = main != nullptr && main->op->kind == OpKind::AttentionBackward;
    const bool is_attention = step.op->kind == OpKind::AttentionBackward;
    if (is_attention || (!was_attention && (main == nullptr || step.cost().flops >= main->cost().flops))) main = &step;
  }
  return explain_schedule(schedule, main, backward_bytes(schedule, outputs));
}

std::string Layer::explain_schedule(const Schedule& schedule, const Step* main, size_t workspace_bytes) const {
  Cost total;
  std::vector<std::string_view> reasons;
  for (const Step& step : schedule) {
    const Cost cost = step.cost();
    total.flops += cost.flops;
    total.bytes += cost.bytes;
    add_reasons(reasons, step.plan);
  }

  JsonWriter json;
  json.begin_object();
  json.member("layer", kind());
  json.member("backend", context()->backend().name);
  json.member("device", context()->device_name());
  if (main != nullptr) write_plan(json, *main);
  if (context()->options().flush_subnormals) json.member("flush_subnormals", true);
  write_count(json, "workspace_bytes", workspace_bytes);
  write_count(json, "flops", total.flops);
  write_count(json, "bytes", total.bytes);
  json.key("operations");
  json.begin_array();
  for (const Step& step : schedule) {
    const Cost cost = step.cost();
    std::vector<std::string_view> own_reasons;
    add_reasons(own_reasons, step.plan);
    json.begin_object();
    if (!step.path->is_called()) json.member("layer", path_text(*step.path));
    json.member("operation", step.operation);
    write_plan(json, step);
    write_count(json, "scratch_bytes", step.plan.scratch_bytes);
    write_count(json, "flops", cost.flops);
    write_count(json, "bytes", cost.bytes);
    write_reasons(json, own_reasons);
    json.end_object();
  }
  json.end_array();
  write_reasons(json, reasons);
  json.end_object();
  return json.text();
}

}  // namespace heed
