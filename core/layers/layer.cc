// SPDX-License-Identifier: Apache-2.0
// The walk of a call: check, compose, plan, run.
#include "layers/layer.h"

#include <cinttypes>
#include <cstring>

#include "base/error.h"

namespace heed {

bool Layer::is_initialized() const {
  for (const Parameter& parameter : parameters_) {
    if (!parameter.is_set()) return false;
  }
  return true;
}

OutputShapes Layer::output_shapes(const LayerInputs& inputs) const {
  const LayerInputs complete = complete_inputs(inputs, context_->device_name());
  const OutputShapes shapes = check_inputs(complete);
  check_fit(complete);
  attention_problem(complete, Purpose::Shapes);
  return shapes;
}

void Layer::prepare(const LayerInputs& given_inputs, const LayerOutputs& outputs, Purpose purpose,
                    Schedule& schedule) const {
  const char* device_name = context_->device_name();
  const LayerInputs inputs = complete_inputs(given_inputs, device_name);
  const OutputShapes shapes = check_inputs(inputs);
  for (const Parameter& parameter : parameters_) parameter.require_set();
  check_fit(inputs);
  if (outputs.output == nullptr && outputs.weights == nullptr && outputs.log_sum_exp == nullptr) {
    fail(Status::InvalidArgument, "outputs has no tensor, expected at least one of output, weights and log_sum_exp");
  }
  if (outputs.output != nullptr)
    check_output(*outputs.output, "outputs->output", shapes.output, shapes.dtype, false, device_name);
  if (outputs.weights != nullptr)
    check_output(*outputs.weights, "outputs->weights", shapes.weights, shapes.dtype, false, device_name);
  if (outputs.log_sum_exp != nullptr)
    check_output(*outputs.log_sum_exp, "outputs->log_sum_exp", shapes.log_sum_exp, shapes.dtype, true, device_name);
  if (purpose == Purpose::Run) check_memory(inputs, outputs);
  compose(inputs, outputs, purpose, schedule);
  schedule.plan(*context_);
}

size_t Layer::workspace_size(const LayerInputs& inputs, const LayerOutputs& outputs) const {
  Schedule schedule;
  prepare(inputs, outputs, Purpose::Shapes, schedule);
  return schedule.workspace_bytes();
}

void Layer::forward(const LayerInputs& inputs, Workspace* workspace, const LayerOutputs& outputs) const {
  Schedule schedule;
  prepare(inputs, outputs, Purpose::Run, schedule);
  for (const Step& step : schedule) context_->require_fastest("heed_layer_forward", step.operation, step.plan);
  const size_t needed = schedule.workspace_bytes();
  if (workspace == nullptr) {
    const Context::PooledScratch scratch(*context_, needed);
    schedule.run(*context_, scratch.data());
    return;
  }
  if (std::strcmp(workspace->memory().device_name(), context_->device_name()) != 0) {
    fail(Status::InvalidArgument, "workspace is on device %s, but the layer is on %s: expected the same device",
         workspace->memory().device_name(), context_->device_name());
  }
  const Workspace::Lease lease(*workspace);
  if (workspace->num_bytes() < needed) {
    fail(Status::WorkspaceTooSmall, "workspace has %zu bytes, but this call needs %zu: see heed_layer_workspace_size",
         workspace->num_bytes(), needed);
  }
  check_workspace_memory(inputs, outputs, workspace->data(), workspace->num_bytes());
  schedule.run(*context_, workspace->data());
}

}  // namespace heed
