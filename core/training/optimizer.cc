// SPDX-License-Identifier: Apache-2.0
#include "training/optimizer.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "base/decimal_text.h"
#include "base/error.h"
#include "base/shown_text.h"
#include "tensor/host_memory.h"
#include "training/pieces.h"

namespace heed {
namespace {

// The indices of things by their names.
class NameIndex {
 public:
  template <typename Range, typename NameOf>
  NameIndex(const Range& range, const NameOf& name_of) {
    entries_.reserve(range.size());
    for (size_t i = 0; i < range.size(); ++i) entries_.emplace_back(name_of(range[i]), i);
    std::ranges::sort(entries_);
  }
  std::optional<size_t> find(std::string_view name) const {
    const auto found = std::ranges::lower_bound(entries_, name, {}, &Entry::first);
    if (found == entries_.end() || found->first != name) return std::nullopt;
    return found->second;
  }

 private:
  using Entry = std::pair<std::string_view, size_t>;
  std::vector<Entry> entries_;
};

// Calls visit(prefix) for each prefix that a parameter of this name has, from the shortest to the longest.
template <typename Visit>
void for_each_prefix(std::string_view name, const Visit& visit) {
  visit(std::string_view());
  for (size_t dot = name.find('.'); dot != std::string_view::npos; dot = name.find('.', dot + 1))
    visit(name.substr(0, dot));
  visit(name);
}

constexpr double kLargest = std::numeric_limits<float>::max();

void require_number(double value, const char* name) {
  if (value >= 0 && value <= kLargest) return;
  fail(Status::InvalidArgument, "%s is %s, expected a number of at least 0 that is finite in " DTYPE("F32"), name,
       DecimalText(value).c_str());
}

void require_below_1(double value, const char* name) {
  if (value >= 0 && value < 1) return;
  fail(Status::InvalidArgument, "%s is %s, expected a number from 0 to below 1", name, DecimalText(value).c_str());
}

// A number of a step in f32.
float in_f32(double number, const char* what, const Parameter& parameter) {
  if (number <= kLargest) return static_cast<float>(number);
  fail(Status::InvalidArgument, "%s is %s for %s, expected a number that is finite in " DTYPE("F32"), what,
       DecimalText(number).c_str(), parameter.name());
}

}  // namespace

void check(const SgdOptions& options) {
  require_number(options.learning_rate, OPTION("learning_rate"));
  require_number(options.momentum, OPTION("momentum"));
  require_number(options.weight_decay, OPTION("weight_decay"));
  if (options.nesterov && options.momentum == 0) {
    fail(Status::InvalidArgument,
         OPTION("nesterov") " is " FLAG("nesterov", "1") " with " OPTION("momentum") " 0, expected a momentum above 0");
  }
}

void check(const AdamWOptions& options) {
  require_number(options.learning_rate, OPTION("learning_rate"));
  require_below_1(options.beta1, OPTION("beta1"));
  require_below_1(options.beta2, OPTION("beta2"));
  require_number(options.epsilon, OPTION("epsilon"));
  require_number(options.weight_decay, OPTION("weight_decay"));
}

void check(const ParameterGroup& group) {
  require_number(group.learning_rate_factor, "group->learning_rate_factor");
  require_number(group.weight_decay, "group->weight_decay");
}

Optimizer::Optimizer(std::shared_ptr<Context> context, const SgdOptions& options)
    : context_(std::move(context)),
      sgd_(options),
      groups_(context_->host_allocator()),
      states_(context_->host_allocator()),
      matches_(context_->host_allocator()) {
  check(options);
}

Optimizer::Optimizer(std::shared_ptr<Context> context, const AdamWOptions& options)
    : context_(std::move(context)),
      adamw_(options),
      groups_(context_->host_allocator()),
      states_(context_->host_allocator()),
      matches_(context_->host_allocator()) {
  check(options);
}

void Optimizer::set_learning_rate(double learning_rate) {
  require_number(learning_rate, "learning_rate");
  this->learning_rate() = learning_rate;
}

NamedGroup* Optimizer::find_group(std::string_view prefix) {
  const auto found = std::ranges::find_if(groups_, [&](const NamedGroup& group) { return group.prefix == prefix; });
  return found == groups_.end() ? nullptr : &*found;
}

void Optimizer::set_group(std::string_view prefix, const ParameterGroup& group) {
  check(group);
  if (prefix.find('\n') != std::string_view::npos) {
    fail(Status::InvalidArgument,
         "prefix is \"%s\", with a line feed, expected a parameter's name or its beginning before a dot",
         shown(prefix).c_str());
  }
  if (NamedGroup* const known = find_group(prefix); known != nullptr) {
    known->group = group;
    return;
  }
  if (const std::shared_ptr<const Layer> layer = layer_.lock(); layer != nullptr) {
    const auto has_prefix = [&](const Parameter& parameter) { return parameter.has_prefix(prefix); };
    if (std::ranges::none_of(layer->parameters(), has_prefix)) {
      fail(Status::NotFound,
           "prefix is \"%s\", which no parameter of the optimizer's " WORD(
               "layer") " has, expected a parameter's name or its beginning before a dot; it has %s",
           shown(prefix).c_str(), joined_names(layer->parameters()).c_str());
    }
  }
  groups_.push_back({HostString(prefix, context_->host_allocator()), group});
  matches_.clear();
}

void Optimizer::remove_group(std::string_view prefix) {
  NamedGroup* const known = find_group(prefix);
  if (known == nullptr) {
    fail(Status::NotFound,
         "group is " WORD(
             "NULL") " for the prefix \"%s\", of which the optimizer has no group, expected that of a group",
         shown(prefix).c_str());
  }
  groups_.erase(groups_.begin() + (known - groups_.data()));
  matches_.clear();
}

ParameterState Optimizer::new_state(const Parameter& parameter) const {
  ParameterState state = {
      HostString(parameter.name(), context_->host_allocator()), 0, {}, {}, parameter.value().shape()};
  const std::shared_ptr<const Memory> memory = host_memory_of(context_);
  if (has_first()) state.first = Tensor::zeros(memory, DType::F32, state.shape);
  if (has_second()) state.second = Tensor::zeros(memory, DType::F32, state.shape);
  return state;
}

void Optimizer::require_own(const Layer& layer) const {
  if (layer.context() != context_) {
    fail(Status::InvalidArgument,
         "the " WORD("layer") " is on %s in another " WORD("context") " than the optimizer, expected the same",
         layer.context()->device_name());
  }
  if (has_layer_ && layer_.lock().get() != &layer) {
    fail(Status::InvalidArgument,
         "optimizer is that of another " WORD("layer") " by its earlier steps, expected an optimizer for each");
  }
}

HostVector<Optimizer::Match> Optimizer::match(std::span<const Parameter> parameters) const {
  HostVector<Match> matches(parameters.size(), Match(), context_->host_allocator());
  const NameIndex groups(groups_, [](const NamedGroup& group) { return std::string_view(group.prefix); });
  std::vector<bool> is_used(groups_.size());
  for (size_t i = 0; i < parameters.size(); ++i) {
    for_each_prefix(parameters[i].name(), [&](std::string_view prefix) {
      const std::optional<size_t> found = groups.find(prefix);
      if (!found) return;
      matches[i].group = *found;
      is_used[*found] = true;
    });
  }
  for (size_t i = 0; i < groups_.size(); ++i) {
    if (is_used[i]) continue;
    fail(Status::NotFound,
         "the group \"%s\" has no parameter of the " WORD(
             "layer") ", expected a parameter's name or its beginning before a dot",
         shown(groups_[i].prefix).c_str());
  }
  const NameIndex names(parameters, [](const Parameter& parameter) { return std::string_view(parameter.name()); });
  for (size_t i = 0; i < states_.size(); ++i) {
    const std::optional<size_t> found = names.find(states_[i].name);
    if (!found) {
      fail(Status::NotFound,
           "the optimizer has the state of \"%s\", which is no parameter of the " WORD("layer") ", expected %s",
           shown(states_[i].name).c_str(), joined_names(parameters).c_str());
    }
    matches[*found].state = i;
  }
  return matches;
}

void Optimizer::require_shapes(std::span<const Parameter> parameters, std::span<const Match> matches) const {
  for (size_t i = 0; i < parameters.size(); ++i) {
    if (matches[i].state == Match::kNone) continue;
    const ParameterState& state = states_[matches[i].state];
    if (!state.first || parameters[i].value().shape() == state.shape) continue;
    fail(Status::InvalidArgument,
         "the optimizer has the state of %s with " ARGUMENT("dims") " %s, but the parameter has " ARGUMENT(
             "dims") " %s: expected the same",
         parameters[i].name(), to_string(state.shape).c_str(), to_string(parameters[i].value().shape()).c_str());
  }
}

void Optimizer::set_numbers(ParameterUpdate& update, const Parameter& parameter, const Match& match,
                            int64_t num_steps) const {
  const ParameterGroup group = match.group != Match::kNone
                                   ? groups_[match.group].group
                                   : ParameterGroup{1, sgd_ ? sgd_->weight_decay : adamw_->weight_decay};
  const double rate = (sgd_ ? sgd_->learning_rate : adamw_->learning_rate) * group.learning_rate_factor;
  in_f32(rate, "the learning rate times the group's factor", parameter);
  if (sgd_) {
    update.sgd = {rate, sgd_->momentum, group.weight_decay, sgd_->nesterov ? 1 : 0};
    return;
  }
  const AdamWOptions& options = *adamw_;
  const auto steps = static_cast<double>(num_steps + 1);
  const double root = std::sqrt(1 - std::pow(options.beta2, steps));
  const bool is_corrected = options.placement == EpsilonPlacement::Corrected;
  const double step = rate / (1 - std::pow(options.beta1, steps)) * (is_corrected ? 1 : root);
  const double decay = options.is_coupled ? 0 : rate * group.weight_decay;
  update.adam = {.one_minus_beta1 = static_cast<float>(1 - options.beta1),
                 .beta2 = static_cast<float>(options.beta2),
                 .one_minus_beta2 = static_cast<float>(1 - options.beta2),
                 .step = in_f32(step, "the learning rate with the bias corrected", parameter),
                 .root_factor = static_cast<float>(is_corrected ? 1 / root : 1),
                 .epsilon = static_cast<float>(options.epsilon),
                 .coupled = static_cast<float>(options.is_coupled ? group.weight_decay : 0),
                 .decoupled = in_f32(decay, "the learning rate times the weight decay", parameter)};
}

struct Optimizer::Step {
  explicit Step(HostVector<Match> of_parameters) : matches(std::move(of_parameters)) {}

  // Those that the optimizer has after the step.
  HostVector<Match> matches;
  std::vector<ParameterState> new_states;
  // In the order of the gradients.
  std::vector<ParameterUpdate> updates;
  Pieces pieces;
  double num_bytes = 0;
  int64_t buffer_elements = 0;
  std::shared_ptr<Storage> buffers;  // one for each thread

  float* buffer_of(int32_t worker) const {
    return buffers == nullptr ? nullptr : reinterpret_cast<float*>(buffers->begin()) + worker * buffer_elements;
  }
};

Optimizer::Step Optimizer::prepare(const Layer& layer, const Gradients& gradients) const {
  const std::span<const Parameter> parameters = layer.parameters();
  Step step(matches_.empty() ? match(parameters) : matches_);
  require_shapes(parameters, step.matches);
  require_finite(gradients, "gradients");
  step.new_states.reserve(gradients.count());
  step.updates.reserve(gradients.count());
  step.pieces.reserve(gradients.count());
  for (size_t i = 0; i < gradients.count(); ++i) {
    const Parameter& parameter = parameters[gradients.parameter_index(i)];
    Match& match = step.matches[gradients.parameter_index(i)];
    const bool is_new = match.state == Match::kNone;
    if (is_new) match.state = states_.size() + step.new_states.size();
    const ParameterState& state = is_new ? step.new_states.emplace_back(new_state(parameter)) : states_[match.state];
    ParameterUpdate& update =
        step.updates.emplace_back(context_, parameter, gradients.tensor(i), state.first, state.second);
    set_numbers(update, parameter, match, state.num_steps);
    step.pieces.add(update.num_pieces());
    step.buffer_elements = std::max(step.buffer_elements, update.buffer_elements());
    step.num_bytes += (has_second() ? 28.0 : has_first() ? 20.0 : 12.0) * static_cast<double>(update.num_elements());
  }
  if (step.buffer_elements > 0) {
    const int64_t num_floats = step.buffer_elements * context_->num_threads();
    step.buffers = Storage::allocate(context_, static_cast<size_t>(num_floats) * sizeof(float), Contents::Undefined);
  }
  return step;
}

void Optimizer::commit(Layer& layer, const Gradients& gradients, Step& step) {
  for (ParameterState& state : step.new_states) states_.push_back(std::move(state));
  for (size_t i = 0; i < step.updates.size(); ++i) {
    const size_t index = gradients.parameter_index(i);
    ParameterState& state = states_[step.matches[index].state];
    ++state.num_steps;
    step.updates[i].commit(*context_, layer, index, state.first, state.second);
  }
  matches_ = std::move(step.matches);
  layer_ = gradients.layer();
  has_layer_ = true;
}

void Optimizer::step(Layer& layer, const Gradients& gradients) {
  gradients.require_fits(layer, "gradients");
  require_own(layer);
  Step step = prepare(layer, gradients);
  states_.reserve(states_.size() + step.new_states.size());
  try {
    step.pieces.for_each(*context_, step.num_bytes, [&](size_t array, int64_t piece, int32_t worker) {
      step.updates[array].run(*context_, piece, step.buffer_of(worker));
    });
  } catch (...) {
    // The loop is done nevertheless: an executor's defect is reported after each of its tasks has run.
    commit(layer, gradients, step);
    throw;
  }
  if (!context_->is_host()) {
    for (const ParameterUpdate& update : step.updates) update.write_to_device(*context_);
  }
  commit(layer, gradients, step);
}

}  // namespace heed
