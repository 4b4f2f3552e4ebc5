// SPDX-License-Identifier: Apache-2.0
// The backward of a call: check, compose the forward and then its backward, plan, run.
#include <algorithm>
#include <array>
#include <cinttypes>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/error.h"
#include "layers/cache_call.h"
#include "layers/call_memory.h"
#include "layers/layer.h"
#include "layers/visible_rows.h"
#include "ops/dropout.h"
#include "ops/lengths.h"
#include "ops/tensor_operand.h"
#include "tensor/device.h"
#include "tensor/dtype_term.h"
#include "tensor/overlap.h"

namespace heed {
namespace {

// A member of heed_layer_gradients, for messages.
#define GRADIENT(name) ARGUMENT("gradients->" name)

constexpr const char* kBackwardFunction = "heed_layer_backward";

// A gradient of the call that the backward writes, the input it is of, and the words for both in messages.
struct WantedGradient {
  const char* name;
  const Tensor* gradient;
  const char* input_name;
  const Tensor* input;
  const char* when_missing;  // why a call without the input has no such gradient
};

constexpr const char* kNotGiven = "the input is not given";

std::array<WantedGradient, 8> wanted_gradients(const LayerInputs& inputs, const LayerGradients& gradients) {
  // Names every member, so that a new one does not compile until it is handled here.
  const auto& [output, queries, keys, values, bias, alibi_slopes, sinks, self_bias, memory, parameters, accumulates] =
      gradients;
  const Visibility& visibility = inputs.visibility;
  return {{
      {GRADIENT("queries"), queries, INPUT("queries"), inputs.queries, kNotGiven},
      {GRADIENT("keys"), keys, INPUT("keys"), inputs.keys,
       "the keys are the queries, whose gradient has the sum of both roles"},
      {GRADIENT("values"), values, INPUT("values"), inputs.values,
       "the values are the keys, whose gradient has the sum of both roles"},
      {GRADIENT("bias"), bias, INPUT("bias"), visibility.bias, kNotGiven},
      {GRADIENT("alibi_slopes"), alibi_slopes, INPUT("alibi_slopes"), visibility.alibi_slopes, kNotGiven},
      {GRADIENT("sinks"), sinks, INPUT("sinks"), visibility.sinks, kNotGiven},
      {GRADIENT("self_bias"), self_bias, INPUT("decoder->self_bias"), inputs.decoder.self_bias, kNotGiven},
      {GRADIENT("memory"), memory, INPUT("decoder->memory"), inputs.decoder.memory, kNotGiven},
  }};
}

// Checks that rows are F32, if they are no ids.
void check_f32(const Tensor* rows, const char* name) {
  if (rows == nullptr || !is_floating(rows->dtype()) || rows->dtype() == DType::F32) return;
  fail(Status::Unsupported, "%s is %s, expected " DTYPE("F32") ": training computes in " DTYPE("F32"), name,
       term_of(rows->dtype()));
}

void check_gradient(const Tensor& gradient, const char* name, const Shape& expected, const char* of) {
  if (!(gradient.shape() == expected)) {
    fail(Status::InvalidArgument, "%s has " ARGUMENT("dims") " %s, expected %s, those of %s", name,
         to_string(gradient.shape()).c_str(), to_string(expected).c_str(), of);
  }
  if (gradient.dtype() != DType::F32)
    fail(Status::InvalidArgument, "%s is %s, expected " DTYPE("F32"), name, term_of(gradient.dtype()));
}

// Checks that the gradients have data, that those that are written can be, and that each has memory of its own.
void check_gradient_memory(const LayerInputs& inputs, const LayerGradients& gradients) {
  gradients.output->require_data(GRADIENT("output"));
  const GivenInputs given(inputs);
  for (const Tensor* const parameter : gradients.parameters) {
    if (parameter == nullptr) continue;
    require_separate(*gradients.output, GRADIENT("output"), *parameter, GRADIENT("parameters"));
    for (const auto& [input, name, tensor] : given) {
      if (tensor != nullptr) require_separate(*tensor, name, *parameter, GRADIENT("parameters"));
    }
  }
  const auto wanted = wanted_gradients(inputs, gradients);
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (wanted[i].gradient == nullptr) continue;
    wanted[i].gradient->require_writable(wanted[i].name);
    const auto require_apart = [&of = wanted[i]](const char* other_name, const Tensor* other) {
      if (other != nullptr) require_separate(*of.gradient, of.name, *other, other_name);
    };
    require_apart(GRADIENT("output"), gradients.output);
    for (size_t k = 0; k < i; ++k) require_apart(wanted[k].name, wanted[k].gradient);
    for (const auto& [input, name, other] : given) require_apart(name, other);
    for (const Tensor* const parameter : gradients.parameters) require_apart(GRADIENT("parameters"), parameter);
  }
}

// Checks that no tensor of the call shares memory with the workspace.
void check_backward_workspace(const LayerInputs& inputs, const LayerGradients& gradients, const void* workspace,
                              size_t num_bytes) {
  check_workspace_memory(inputs, {}, workspace, num_bytes);
  const auto check = [&](const char* name, const Tensor* tensor) {
    if (tensor != nullptr) require_separate_from_workspace(*tensor, name, workspace, num_bytes);
  };
  check(GRADIENT("output"), gradients.output);
  for (const Tensor* const parameter : gradients.parameters) check(GRADIENT("parameters"), parameter);
  for (const WantedGradient& wanted : wanted_gradients(inputs, gradients)) check(wanted.name, wanted.gradient);
}

void check_saved(const Saved& saved, const SavedCall& expected) {
  saved.require_bytes(expected.num_bytes);
  if (!saved.call())
    fail(Status::InvalidArgument, OUTPUT("saved") " is that of no forward, expected that of " FUNCTION(
                                      "heed_layer_forward") " with these inputs");
  const SavedCall& call = *saved.call();
  if (call == expected) return;
  const char* what = "whose inputs differ in shapes, lengths or other whole numbers";
  if (call.layer != expected.layer) {
    what = "of another layer";
  } else if (call.parameters != expected.parameters) {
    what = "before parameters of the layer changed";
  } else if (call.is_training != expected.is_training || call.dropout_seed != expected.dropout_seed) {
    what = "with another " INPUT("training") " or " INPUT("dropout_seed");
  }
  fail(Status::InvalidArgument, OUTPUT("saved") " is that of a forward %s, expected that of this call", what);
}

InputGradient first_of(const Tensor* gradient, bool accumulates) {
  return {gradient, accumulates ? Value(gradient) : Value()};
}

// The gradient by the output with zeros in rows that are no queries: what the caller's tensor holds there does not count.
Value gradient_of_queries(Schedule& schedule, const Tensor& gradient, const Tensor& query_lens, bool reads) {
  const int32_t row_axis = gradient.rank() - 2;
  const int64_t batch = gradient.dim(0);
  const int64_t num_rows = gradient.dim(row_axis);
  int32_t* rows = nullptr;
  if (reads && query_lens.has_data()) {
    Operand lens;
    set_operand(lens, schedule.on_host(query_lens), {0, -1, -1, -1});
    rows = schedule.arena().allocate_for<int32_t>(static_cast<size_t>(batch * num_rows));
    for (int64_t b = 0; b < batch; ++b) {
      const int64_t length = length_of(lens, b, 0);
      for (int64_t row = 0; row < num_rows; ++row)
        rows[b * num_rows + row] = row < length ? static_cast<int32_t>(row) : -1;
    }
  }
  const Value copy = schedule.reserve(DType::F32, gradient.shape());
  add_copies_of_rows(schedule, "gradient of the queries' rows", gradient, copy, row_axis, rows, true);
  return copy;
}

// Writes zeros to a sum to which no operation has added.
void zero_unused(Schedule& schedule, const std::shared_ptr<Context>& context, const GradientSum& sum) {
  if (!sum.to.is_given() || sum.is_begun) return;
  DropoutProblem& problem = schedule.add<DropoutProblem>("zero gradient");
  const Shape shape = sum.to.shape();
  std::ranges::copy_n(shape.dims.begin(), shape.rank, problem.sizes + kElementwiseRank - shape.rank);
  if (context->is_host())
    problem.input = {.data = &schedule.arena().make<float>(0.0F), .given = 1};
  else
    schedule.set_operand(problem.input, *schedule.keep(Tensor::zeros(context, DType::F32, {1})),
                         {-1, -1, -1, -1, -1, -1, -1, -1});
  schedule.set_elementwise(problem.output, sum.to);
}

}  // namespace

void Layer::require_backward(const LayerInputs& inputs, const LayerOutputs& outputs) {
  for (const CacheInputs* const cache : {inputs.cache, inputs.decoder.memory_cache}) {
    if (cache == nullptr) continue;
    fail(Status::Unsupported,
         INPUT("%s") " is set, but the call has a backward: expected " WORD("NULL") ", since caches have no gradients",
         cache->path);
  }
  check_f32(inputs.queries, INPUT("queries"));
  check_f32(inputs.keys, INPUT("keys"));
  check_f32(inputs.values, INPUT("values"));
  check_f32(inputs.decoder.memory, INPUT("decoder->memory"));
  if (outputs.taps.empty()) return;
  fail(Status::Unsupported, OUTPUT("taps") " is set, but the call has a backward: expected " WORD(
                                "NULL") ", since attention's weights have no gradients");
}

void Layer::compose_child_backward(size_t index, Schedule& schedule, const LayerCall& call,
                                   const GradientValues& gradients) const {
  const LayerCall& part = call.children[index];
  const Schedule::InChild in_child(schedule, *part.path);
  children_[index].layer->compose_backward(schedule, part, gradients);
}

bool Layer::learns(const LayerCall& call) const {
  if (call.gradients == nullptr) return false;
  const std::span<const GradientSum> sums(call.gradients, parameters_.size());
  return std::ranges::any_of(sums, [](const GradientSum& sum) { return sum.to.is_given(); });
}

SavedCall Layer::saved_call(const LayerInputs& inputs, const Schedule& schedule) const {
  SavedCall call = {.layer = number_,
                    .inputs = hash_of_form(inputs),
                    .num_bytes = schedule.saved_bytes(),
                    .is_training = inputs.training.is_on};
  if (call.is_training) call.dropout_seed = inputs.training.dropout_seed;
  for (const Parameter& parameter : parameters_) call.parameters += parameter.version();
  return call;
}

size_t Layer::saved_size(const LayerInputs& inputs) const {
  require_backward(inputs, {});
  const Tensor output = Tensor::without_data(context_, DType::F32, output_shapes(inputs).output);
  LayerOutputs outputs;
  outputs.output = &output;
  return most_bytes(*context_, inputs, [&](Schedule& schedule, const MaskHoles& holes) {
    schedule.save_arrays();
    prepare(inputs, outputs, Purpose::Shapes, schedule, holes);
    return bytes_of_saved(schedule.saved_bytes());
  });
}

void Layer::check_gradients(const LayerInputs& inputs, const LayerOutputs& outputs, const LayerGradients& gradients,
                            const OutputShapes& shapes) const {
  if (gradients.output == nullptr)
    fail(Status::InvalidArgument, GRADIENT("output") " is " WORD("NULL") ", expected the gradient by the output");
  const char* const device = context_->device_name();
  check_same_device(GRADIENT("output"), gradients.output->device_name(), owner(), device);
  check_gradient(*gradients.output, GRADIENT("output"), shapes.output, "the output of the " WORD("layer"));
  check_outputs(outputs, shapes);
  for (const auto& [name, gradient, input_name, input, when_missing] : wanted_gradients(inputs, gradients)) {
    if (gradient == nullptr) continue;
    check_same_device(name, gradient->device_name(), owner(), device);
    if (input == nullptr)
      fail(Status::InvalidArgument, "%s is set, but %s is " WORD("NULL") ": expected " WORD("NULL") ", since %s", name,
           input_name, when_missing);
    if (!is_floating(input->dtype())) {
      fail(Status::InvalidArgument,
           "%s is set, but %s is %s: expected " WORD("NULL") ", since whole numbers have no gradient", name, input_name,
           term_of(input->dtype()));
    }
    check_gradient(*gradient, name, input->shape(), input_name);
  }
}

void Layer::prepare_backward(const LayerInputs& inputs, const LayerOutputs& outputs, const LayerGradients& gradients,
                             Purpose purpose, Schedule& schedule, MaskHoles holes) const {
  require_backward(inputs, outputs);
  schedule.save_arrays();
  CalledInputs called = {{}, {}, MaskedInputs(holes)};
  LayerCall call;
  if (!gradients.parameters.empty()) {
    call.gradients = schedule.arena().allocate_for<GradientSum>(parameters_.size());
    for (size_t i = 0; i < parameters_.size(); ++i)
      std::construct_at(&call.gradients[i], GradientSum{gradients.parameters[i], gradients.accumulates});
  }
  begin(inputs, purpose, schedule, called, call);
  for (const Parameter& parameter : parameters_) parameter.require_set();
  check_fit(call);
  check_gradients(inputs, outputs, gradients, call.shapes);
  if (purpose == Purpose::Run) {
    check_memory(called.complete, {});
    check_gradient_memory(inputs, gradients);
  }
  OutputValues results;
  Intermediate& output = schedule.reserve_unsaved(DType::F32, call.shapes.output);
  results.output = output;
  called.masked.gather(schedule);
  compose(schedule, call, results);
  if (outputs.saved != nullptr) schedule.drop_steps();
  schedule.begin_backward();

  const bool adds = gradients.accumulates;
  GradientValues values;
  values.output = called.masked.gradient_of_output(schedule, gradients.output);
  // Rows of the decoder, or of the encoder that runs alone.
  const Tensor* const lens =
      call.inputs.queries.is_given() ? call.inputs.sequences->query_lens : call.inputs.encoder_lens;
  if (lens != nullptr && values.output.tensor() != nullptr && call.output_rows == nullptr)
    values.output = gradient_of_queries(schedule, *gradients.output, *lens, purpose != Purpose::Shapes);
  ScoreGradients scores = {{gradients.bias, adds}, {gradients.alibi_slopes, adds}, {gradients.sinks, adds}};
  ScoreGradients self_scores = {{gradients.self_bias, adds}, {}, {}};
  GradientSum memory = {gradients.memory, adds};
  values.scores = &scores;
  values.self_scores = &self_scores;
  values.memory = &memory;
  // Inputs that are not given have the role of another one: their gradients are one sum.
  values.queries = first_of(gradients.queries, adds);
  const auto role = [&](const Tensor* input, const Tensor* gradient, const InputGradient& shared) -> InputGradient {
    if (input != nullptr) return first_of(gradient, adds);
    return {shared.to, shared.to};
  };
  values.keys = role(inputs.keys, gradients.keys, values.queries);
  values.values = role(inputs.values, gradients.values, values.keys);
  called.masked.move_gradients(schedule, inputs, values);
  compose_backward(schedule, call, values);
  called.masked.spread_gradients(schedule);
  if (call.gradients != nullptr) {
    for (size_t i = 0; i < parameters_.size(); ++i) zero_unused(schedule, context_, call.gradients[i]);
  }
  for (const GradientSum& sum : {scores.bias, scores.alibi_slopes, scores.sinks, self_scores.bias, memory})
    zero_unused(schedule, context_, sum);
  schedule.drop_unread_steps();
  schedule.plan(*context_);
}

size_t Layer::backward_workspace_size(const LayerInputs& inputs, const LayerOutputs& outputs,
                                      const LayerGradients& gradients) const {
  const size_t needed = most_bytes(*context_, inputs, [&](Schedule& schedule, const MaskHoles& holes) {
    prepare_backward(inputs, outputs, gradients, Purpose::Shapes, schedule, holes);
    return backward_bytes(schedule, outputs);
  });
  context_->start();
  return needed;
}

size_t Layer::backward_bytes(const Schedule& schedule, const LayerOutputs& outputs) {
  return outputs.saved == nullptr ? schedule.workspace_bytes_with_saved() : schedule.workspace_bytes();
}

void Layer::backward(const LayerInputs& inputs, const LayerOutputs& outputs, Workspace* workspace,
                     const LayerGradients& gradients) const {
  CallArena arena(*context_);
  Schedule schedule(arena);
  prepare_backward(inputs, outputs, gradients, Purpose::Run, schedule);
  for (const Step& step : schedule) context_->require_fastest(kBackwardFunction, step.operation, step.plan);
  std::optional<Workspace::Lease> saved_lease;
  if (outputs.saved != nullptr) {
    outputs.saved->require_device(context_->device_name());
    saved_lease.emplace(outputs.saved->memory(), OUTPUT("saved"));
    check_saved(*outputs.saved, saved_call(inputs, schedule));
  }
  const auto run = [&](void* memory) {
    std::optional<CallProgress> progress;
    if (inputs.progress.report != nullptr)
      progress.emplace(inputs.progress, INPUT("progress"), "tasks", schedule.num_tasks());
    schedule.run(*context_, memory, progress ? &*progress : nullptr,
                 outputs.saved == nullptr ? nullptr : outputs.saved->data());
  };
  const size_t needed = backward_bytes(schedule, outputs);
  run_in(
      *context_, workspace, {needed, needed, FUNCTION("heed_layer_backward_workspace_size")},
      [&](const void* memory, size_t num_bytes) { check_backward_workspace(inputs, gradients, memory, num_bytes); },
      run);
}

}  // namespace heed
