// SPDX-License-Identifier: Apache-2.0
// One call of a layer: check, compose, plan, run.
#include "layers/layer.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cinttypes>
#include <memory>
#include <optional>
#include <utility>

#include "base/error.h"
#include "base/shown_text.h"
#include "layers/cache_call.h"
#include "layers/cache_changes.h"
#include "layers/call_memory.h"
#include "layers/child_seed.h"
#include "layers/output_rows.h"
#include "tensor/device.h"

namespace heed {
namespace {

// The bytes that a call without a workspace takes from the pool: up to a quarter more than it needs. So a sequence that
// grows by one key with each call, as in text generation, rarely needs a larger block.
size_t pooled_bytes(const Schedule& schedule) {
  const size_t held = schedule.held_bytes();
  const size_t step = std::max<size_t>(1, std::bit_floor(held) / 4);
  return std::min(schedule.workspace_bytes(), (held + step - 1) / step * step);
}

}  // namespace

namespace {

uint64_t next_number() {
  static std::atomic<uint64_t> last = 0;
  return ++last;
}

}  // namespace

Layer::Layer(std::shared_ptr<Context> context, std::span<const Parameter> parameters,
             std::span<const PossibleParameter> possible_parameters, std::span<const NamedLayer> children)
    : number_(next_number()),
      context_(std::move(context)),
      children_(context_->host_allocator()),
      parameters_(context_->host_allocator()),
      num_own_parameters_(parameters.size()),
      possible_parameters_(possible_parameters),
      index_of_row_(context_->host_allocator()) {
  const HostAllocator& allocator = context_->host_allocator();
  size_t num_parameters = parameters.size();
  for (const NamedLayer& child : children) num_parameters += child.layer->parameters().size();
  children_.reserve(children.size());
  parameters_.reserve(num_parameters);
  for (const Parameter& parameter : parameters) parameters_.emplace_back(parameter, allocator);
  index_of_row_.reserve(possible_parameters.size());
  for (const PossibleParameter& row : possible_parameters) {
    const auto own = std::ranges::find_if(parameters_, [&](const Parameter& one) { return &one.possible() == &row; });
    index_of_row_.push_back(own == parameters_.end() ? kLacking : static_cast<uint8_t>(own - parameters_.begin()));
  }
  for (const NamedLayer& child : children) {
    const bool is_repeated =
        std::ranges::any_of(children_, [&](const Child& earlier) { return earlier.layer == child.layer; });
    children_.push_back({HostString(child.name.c_str(), allocator), child.layer, child.role, is_repeated});
    if (is_repeated) continue;
    for (const Parameter& parameter : child.layer->parameters())
      parameters_.emplace_back(parameter, std::string_view(child.name), allocator);
  }
}

Layer::~Layer() = default;

Value* Layer::saved_values(Schedule& schedule) {
  Value* const values = schedule.arena().allocate_for<Value>(kMaxSavedValues);
  std::uninitialized_value_construct_n(values, kMaxSavedValues);
  return values;
}

bool Layer::is_initialized() const {
  for (const Parameter& parameter : parameters_) {
    if (!parameter.is_set()) return false;
  }
  return true;
}

template <typename Visit>
void Layer::visit_projected_inputs(const LayerCall& call, size_t first, const Visit& visit) const {
  for (size_t i = 0; i < num_own_parameters_; ++i) {
    if (const auto input = parameters_[i].projected_input()) visit(first + i, value_of(call.inputs, *input));
  }
  first += num_own_parameters_;
  for (size_t i = 0; i < children_.size(); ++i) {
    if (children_[i].is_repeated) continue;
    const Layer& child = *children_[i].layer;
    // Not every call needs all children.
    if (call.children[i].is_run) child.visit_projected_inputs(call.children[i], first, visit);
    first += child.parameters_.size();
  }
}

void Layer::check_fit(const LayerCall& call) const {
  visit_projected_inputs(call, 0, [this](size_t index, const InputValue& input) {
    const Parameter& parameter = parameters_[index];
    if (!parameter.is_set() || !input.value.is_given()) return;
    const auto& [name, value] = input;
    const Tensor& weight = parameter.value();
    const int64_t size = weight.dim(parameter.open_axis());
    if (value.dim(value.rank() - 1) == size) return;
    fail(Status::InvalidArgument,
         "%s has " ARGUMENT("dims") " %s, but %s has %s: the " WORD(
             "layer") " has parameters for an input size of %" PRId64,
         name, to_string(value.shape()).c_str(), parameter.name(), to_string(weight.shape()).c_str(), size);
  });
}

std::vector<Shape> Layer::parameter_shapes(const LayerCall& call) const {
  std::vector<Shape> shapes;
  shapes.reserve(parameters_.size());
  for (const Parameter& parameter : parameters_) shapes.push_back(parameter.shape());
  visit_projected_inputs(call, 0, [&](size_t index, const InputValue& input) {
    shapes[index][parameters_[index].open_axis()] = input.value.dim(input.value.rank() - 1);
  });
  for (size_t i = 0; i < shapes.size(); ++i) {
    if (std::ranges::find(shapes[i].dims, kOpenDim) == shapes[i].dims.end()) continue;
    fail(Status::InvalidArgument,
         "inputs are those of a call that does not read \"%s\", whose input size they do not say: expected the inputs "
         "of a call that reads all parameters",
         parameters_[i].name());
  }
  return shapes;
}

const OutputShapes& Layer::check_child(size_t index, const InputValues& inputs, Schedule& schedule, Purpose purpose,
                                       LayerCall& call) const {
  make_children(schedule, call);
  LayerCall& part = call.children[index];
  part.inputs = inputs;
  part.is_run = true;
  if (schedule.saves_arrays()) part.saved = saved_values(schedule);
  const Schedule::InChild in_child(schedule, *part.path);
  children_[index].layer->check(schedule, purpose, part);
  return part.shapes;
}

void Layer::make_children(Schedule& schedule, LayerCall& call) const {
  if (call.children != nullptr) return;
  call.children = schedule.arena().allocate_for<LayerCall>(children_.size());
  std::uninitialized_value_construct_n(call.children, children_.size());
  uint32_t number = call.first_child_number;
  for (size_t i = 0; i < children_.size(); ++i) {
    LayerCall& part = call.children[i];
    if (call.gradients != nullptr) part.gradients = call.gradients + first_parameter_of(i);
    part.path = &schedule.add_child(children_[i].name.c_str());
    part.called_dtype = call.called_dtype;
    part.called_seed = call.called_seed;
    part.training = call.training;
    if (call.training.is_on) part.training.dropout_seed = child_seed(call.called_seed, number);
    part.first_child_number = number + 1;
    number += 1 + children_[i].layer->num_descendants();
  }
}

size_t Layer::first_parameter_of(size_t child) const {
  size_t first = num_own_parameters_;
  for (size_t i = 0; children_[i].layer != children_[child].layer; ++i) {
    if (!children_[i].is_repeated) first += children_[i].layer->parameters_.size();
  }
  return first;
}

uint32_t Layer::num_descendants() const {
  uint32_t count = 0;
  for (const Child& child : children_) count += 1 + child.layer->num_descendants();
  return count;
}

std::string Layer::options_text(JsonStyle style) const {
  JsonWriter json(style);
  json.begin_object();
  write_options(json);
  json.end_object();
  return json.text();
}

void Layer::write_child_options(size_t index, const char* member, JsonWriter& json) const {
  json.key(member);
  write_child_options(index, json);
}

void Layer::write_child_options(size_t index, JsonWriter& json) const {
  json.begin_object();
  children_[index].layer->write_options(json);
  json.end_object();
}

std::shared_ptr<Layer> Layer::child(std::string_view name) const {
  for (const Child& child : children_) {
    if (name == child.name) return child.layer;
    if (!name.starts_with(child.name) || name[child.name.size()] != '.') continue;
    return child.layer->child(name.substr(child.name.size() + 1));
  }
  fail(Status::NotFound, "name is \"%s\", which is no child of " KIND("%s %s layer") "; it has %s", shown(name).c_str(),
       article_of(kind()), kind(), child_names().c_str());
}

std::string Layer::child_names() const {
  std::string names;
  for (const Child& child : children_) names += (names.empty() ? "\"" : ", \"") + std::string(child.name) + "\"";
  return names.empty() ? "none" : names;
}

void Layer::compose_child(size_t index, Schedule& schedule, const LayerCall& call, const OutputValues& outputs) const {
  const LayerCall& part = call.children[index];
  const Schedule::InChild in_child(schedule, *part.path);
  OutputValues all = outputs;
  if (part.tapped_weights.is_given()) all.weights = part.tapped_weights;
  if (part.tapped_log_sum_exp.is_given()) all.log_sum_exp = part.tapped_log_sum_exp;
  children_[index].layer->compose(schedule, part, all);
}

LayerCall& Layer::call_of(LayerCall& call, std::string_view name, const char* argument) const {
  for (size_t i = 0; i < children_.size(); ++i) {
    const std::string_view own = children_[i].name;
    if (!name.starts_with(own)) continue;
    const bool is_whole = name.size() == own.size();
    if (!is_whole && name[own.size()] != '.') continue;
    if (call.children == nullptr || !call.children[i].is_run) {
      fail(Status::InvalidArgument,
           "%s is \"%s\", which a call with these inputs does not run, expected a child that it runs", argument,
           shown(name).c_str());
    }
    if (is_whole) return call.children[i];
    return children_[i].layer->call_of(call.children[i], name.substr(own.size() + 1), argument);
  }
  fail(Status::NotFound, "%s ends in \"%s\", which is no child of " KIND("%s %s layer") "; it has %s", argument,
       shown(name).c_str(), article_of(kind()), kind(), child_names().c_str());
}

void Layer::set_taps(const LayerOutputs& outputs, MaskedInputs& masked, Schedule& schedule, LayerCall& call) const {
  for (size_t i = 0; i < outputs.taps.size(); ++i) {
    const LayerTap& tap = outputs.taps[i];
    LayerCall& part = call_of(call, tap.child, TapName(i, "child").text);
    if (!part.shapes.log_sum_exp) {
      fail(Status::InvalidArgument, "%s is \"%s\", which is no attention: expected a child with weights",
           TapName(i, "child").text, shown(tap.child).c_str());
    }
    if (tap.weights != nullptr) {
      const TapName name(i, "weights");
      if (!part.shapes.weights) {
        fail(Status::Unsupported,
             "%s is set, but " INPUT("sequences->query_offsets") " packs the batch: expected " WORD(
                 "NULL") ", since batch elements of different sizes have no weights of one shape",
             name.text);
      }
      check_output(*tap.weights, name.text, *part.shapes.weights, part.shapes.dtype, false, owner(),
                   context_->device_name());
    }
    if (tap.log_sum_exp != nullptr) {
      check_output(*tap.log_sum_exp, TapName(i, "log_sum_exp").text, *part.shapes.log_sum_exp, DType::F32, true,
                   owner(), context_->device_name());
    }
    if (tap.weights != nullptr) part.tapped_weights = masked.tapped(schedule, tap.child, *tap.weights, true);
    if (tap.log_sum_exp != nullptr)
      part.tapped_log_sum_exp = masked.tapped(schedule, tap.child, *tap.log_sum_exp, false);
  }
}

InputRules Layer::input_rules(const LayerInputs&) const {
  static constexpr Refusal kRefusals[] = {
      {kAllInputs, KIND("%s %s layer") " reads " INPUT("queries") " alone, expected " WORD("NULL")}};
  return {{Input::Queries}, kRefusals};
}

LayerInputs Layer::check_tensors(const LayerInputs& inputs) const {
  check_one_input(inputs);
  return inputs;
}

DType Layer::row_dtype(const LayerInputs& inputs) const {
  const DType dtype = (inputs.queries != nullptr ? inputs.queries : inputs.keys)->dtype();
  return is_floating(dtype) ? dtype : DType::F32;
}

void Layer::begin(const LayerInputs& given_inputs, Purpose purpose, Schedule& schedule, CalledInputs& inputs,
                  LayerCall& call) const {
  const GivenInputs given(given_inputs);
  const InputRules rules = input_rules(given_inputs);
  refuse_unread(given, rules, kind());
  const int64_t num_last_rows = given_inputs.wanted_output.num_last_rows;
  if (num_last_rows != 0 && !rules.reads.has(Input::OutputRows)) {
    fail(Status::InvalidArgument,
         INPUT("num_last_rows") " is %" PRId64
                                ", but the call of " KIND("%s %s layer") " gives the output of all rows, expected 0",
         num_last_rows, article_of(kind()), kind());
  }
  check_output_rows(given_inputs.wanted_output);
  inputs.complete = check_tensors(given_inputs);
  check_devices(given, owner(), context_->device_name());
  call.called_dtype = row_dtype(inputs.complete);
  // The host computes what has a backward.
  schedule.set_form(schedule.saves_arrays() && !context_->is_host() ? IntermediateForm{.all_rows = 1}
                                                                    : context_->intermediate_form(call.called_dtype));
  inputs.read = inputs.complete;
  inputs.masked.apply(row_masks(inputs.complete), schedule, purpose, inputs.read);
  // Names every member, so that a new one does not compile until it is handled here.
  const auto& [queries, keys, values, sequences, visibility, attention_mask, cache, decoder, token_types, wanted_output,
               training, progress] = inputs.read;
  call.inputs = {.queries = queries,
                 .keys = keys,
                 .values = values,
                 .sequences = &sequences,
                 .visibility = &visibility,
                 .cache = cache,
                 .decoder = &decoder,
                 .token_types = token_types,
                 .memory = decoder.memory,
                 .wanted_output = &wanted_output};
  inputs.masked.set_rows(schedule, inputs.read, call.inputs);
  call.training = training;
  call.called_seed = training.dropout_seed;
  if (schedule.saves_arrays()) call.saved = saved_values(schedule);
  try {
    check(schedule, purpose, call);
  } catch (Error& error) {
    inputs.masked.name_rows_of_call(error);
    throw;
  }
}

OutputShapes Layer::output_shapes(const LayerInputs& inputs) const {
  const CacheLock lock(inputs, Purpose::Shapes);
  CallArena arena(*context_);
  Schedule schedule(arena);
  CalledInputs called;
  LayerCall call;
  begin(inputs, Purpose::Shapes, schedule, called, call);
  check_fit(call);
  return call.shapes;
}

OutputShapes Layer::child_shapes(const LayerInputs& inputs, std::string_view child) const {
  const CacheLock lock(inputs, Purpose::Shapes);
  CallArena arena(*context_);
  Schedule schedule(arena);
  CalledInputs called;
  LayerCall call;
  begin(inputs, Purpose::Shapes, schedule, called, call);
  check_fit(call);
  return call_of(call, child, "child").shapes;
}

void Layer::require_wanted(const LayerOutputs& outputs) {
  if (outputs.output == nullptr && outputs.saved != nullptr) {
    fail(Status::InvalidArgument,
         OUTPUT("output") " is " WORD("NULL") ", but " OUTPUT("saved") " is set: expected both");
  }
  if (outputs.output == nullptr && outputs.weights == nullptr && outputs.log_sum_exp == nullptr) {
    fail(Status::InvalidArgument, "outputs has no " WORD("tensor") ", expected at least one of " OUTPUT(
                                      "output") ", " OUTPUT("weights") " and " OUTPUT("log_sum_exp"));
  }
}

void Layer::check_outputs(const LayerOutputs& outputs, const OutputShapes& shapes) const {
  const auto check_one = [&](const Tensor* tensor, const char* name, const std::optional<Shape>& expected,
                             bool f32_only) {
    if (tensor == nullptr) return;
    if (!expected && shapes.is_packed) {
      fail(Status::Unsupported,
           "%s is set, but " INPUT("sequences->query_offsets") " packs the batch: expected " WORD(
               "NULL") ", since batch elements of different sizes have no weights of one shape",
           name);
    }
    if (!expected) {
      fail(Status::InvalidArgument, "%s is set, but " KIND("%s %s layer") " has no such output, expected " WORD("NULL"),
           name, article_of(kind()), kind());
    }
    check_output(*tensor, name, *expected, shapes.dtype, f32_only, owner(), context_->device_name());
  };
  check_one(outputs.output, OUTPUT("output"), shapes.output, false);
  check_one(outputs.weights, OUTPUT("weights"), shapes.weights, false);
  check_one(outputs.log_sum_exp, OUTPUT("log_sum_exp"), shapes.log_sum_exp, true);
}

void Layer::prepare(const LayerInputs& inputs, const LayerOutputs& outputs, Purpose purpose, Schedule& schedule,
                    MaskHoles holes) const {
  CalledInputs called = {{}, {}, MaskedInputs(holes)};
  LayerCall call;
  if (outputs.saved != nullptr) {
    require_backward(inputs, outputs);
    schedule.save_arrays();
  }
  begin(inputs, purpose, schedule, called, call);
  for (const Parameter& parameter : parameters_) parameter.require_set();
  check_fit(call);
  if (!fills_cache(call.inputs)) {
    require_wanted(outputs);
    check_outputs(outputs, call.shapes);
  }
  set_taps(outputs, called.masked, schedule, call);
  if (purpose == Purpose::Run) check_memory(called.complete, outputs);
  const OutputValues results = called.masked.results(schedule, {outputs.output, outputs.weights, outputs.log_sum_exp});
  called.masked.gather(schedule);
  compose(schedule, call, results);
  called.masked.spread(schedule);
  schedule.plan(*context_);
}

size_t Layer::workspace_size(const LayerInputs& given_inputs, const LayerOutputs& outputs) const {
  LayerInputs inputs = given_inputs;
  CacheInputs filled;
  if (inputs.cache != nullptr && inputs.queries == nullptr) {
    filled = to_fill(*inputs.cache);
    inputs.cache = &filled;
  }
  const CacheLock lock(inputs, Purpose::Shapes);
  const size_t needed = most_bytes(*context_, inputs, [&](Schedule& schedule, const MaskHoles& holes) {
    prepare(inputs, outputs, Purpose::Shapes, schedule, holes);
    return schedule.workspace_bytes();
  });
  // The caller is about to run, and may bring a workspace of another context.
  context_->start();
  return needed;
}

void Layer::forward(const LayerInputs& inputs, Workspace* workspace, const LayerOutputs& outputs) const {
  const CacheLock lock(inputs, Purpose::Run);
  CallArena arena(*context_);
  Schedule schedule(arena);
  prepare(inputs, outputs, Purpose::Run, schedule);
  std::optional<Workspace::Lease> saved_lease;
  if (outputs.saved != nullptr) {
    outputs.saved->require_device(context_->device_name());
    saved_lease.emplace(outputs.saved->memory(), OUTPUT("saved"));
    outputs.saved->require_bytes(schedule.saved_bytes());
  }
  for (const Step& step : schedule) context_->require_fastest(forward_function(), step.operation, step.plan);
  // Everything else that can fail has passed when the cache makes room.
  const auto run = [&](void* memory) {
    std::optional<CallProgress> progress;
    if (inputs.progress.report != nullptr)
      progress.emplace(inputs.progress, INPUT("progress"), "tasks", schedule.num_tasks());
    CacheChanges changes(schedule.caches());
    changes.prepare(progress.has_value());
    if (outputs.saved == nullptr) {
      schedule.run(*context_, memory, progress ? &*progress : nullptr);
    } else {
      const SavedCall call = saved_call(inputs, schedule);
      outputs.saved->set_call(std::nullopt);
      schedule.run(*context_, memory, progress ? &*progress : nullptr, outputs.saved->data());
      outputs.saved->set_call(call);
    }
    changes.commit();
  };
  run_in(
      *context_, workspace, {schedule.workspace_bytes(), pooled_bytes(schedule), FUNCTION("heed_layer_workspace_size")},
      [&](const void* memory, size_t num_bytes) { check_workspace_memory(inputs, outputs, memory, num_bytes); }, run);
}

void Layer::fill_cache(const LayerInputs& given_inputs, Workspace* workspace) const {
  if (given_inputs.cache == nullptr)
    fail(Status::InvalidArgument, INPUT("cache") " is " WORD("NULL") ", expected the cache that is filled");
  if (!given_inputs.cache->appends()) {
    fail(Status::InvalidArgument, INPUT("cache->use") " is " CONSTANT("HEED_CACHE_READ") ", expected " CONSTANT(
                                      "HEED_CACHE_APPEND") ": the rows are appended");
  }
  LayerInputs inputs = given_inputs;
  const CacheInputs filled = to_fill(*inputs.cache);
  inputs.cache = &filled;
  forward(inputs, workspace, {});
}

}  // namespace heed
