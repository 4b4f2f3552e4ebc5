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
  std::optional<std::string_view> find_twice() const {
    const auto found = std::ranges::adjacent_find(entries_, {}, &Entry::first);
    return found == entries_.end() ? std::nullopt : std::optional(found->first);
  }

 private:
  using Entry = std::pair<std::string_view, size_t>;
  std::vector<Entry> entries_;
};

// As "W_q.weight, W_k.weight"; "none" for no names.
std::string joined(std::span<const HostString> names) {
  std::string text;
  for (const HostString& name : names) text.append(text.empty() ? "" : ", ").append(shown(name));
  return text.empty() ? "none" : text;
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
float in_f32(double number, const char* what, std::string_view parameter) {
  if (number <= kLargest) return static_cast<float>(number);
  fail(Status::InvalidArgument, "%s is %s for %s, expected a number that is finite in " DTYPE("F32"), what,
       DecimalText(number).c_str(), shown(parameter).c_str());
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
  require_number(group.learning_rate_factor, ARGUMENT("group->learning_rate_factor"));
  require_number(group.weight_decay, ARGUMENT("group->weight_decay"));
}

Optimizer::Optimizer(std::shared_ptr<Context> context, const SgdOptions& options)
    : context_(std::move(context)),
      sgd_(options),
      groups_(context_->host_allocator()),
      states_(context_->host_allocator()),
      tied_(context_->host_allocator()),
      matches_(context_->host_allocator()) {
  check(options);
}

Optimizer::Optimizer(std::shared_ptr<Context> context, const AdamWOptions& options)
    : context_(std::move(context)),
      adamw_(options),
      groups_(context_->host_allocator()),
      states_(context_->host_allocator()),
      tied_(context_->host_allocator()),
      matches_(context_->host_allocator()) {
  check(options);
}

void Optimizer::set_learning_rate(double learning_rate) {
  require_number(learning_rate, ARGUMENT("learning_rate"));
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
  if (!tied_.is_empty() && !has_prefix(prefix)) {
    fail(Status::NotFound,
         "prefix is \"%s\", which no parameter of the optimizer's %s has, expected a parameter's name or its beginning "
         "before a dot; it has %s",
         shown(prefix).c_str(), tied_.kind(), joined(tied_.names()).c_str());
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

bool Optimizer::has_prefix(std::string_view prefix) const {
  bool is_found = false;
  for (size_t i = 0; i < tied_.names().size() && !is_found; ++i)
    tied_.for_each_prefix(i, [&](std::string_view possible) { is_found = is_found || possible == prefix; });
  return is_found;
}

ParameterState Optimizer::new_state(std::string_view name, const Shape& shape) const {
  ParameterState state = {HostString(name, context_->host_allocator()), 0, {}, {}, shape};
  const std::shared_ptr<const Memory> memory = host_memory_of(context_);
  if (has_first()) state.first = Tensor::zeros(memory, DType::F32, state.shape);
  if (has_second()) state.second = Tensor::zeros(memory, DType::F32, state.shape);
  return state;
}

HostVector<Optimizer::Match> Optimizer::match(const TiedParts& tied) const {
  const std::span<const HostString> names = tied.names();
  const NameIndex indices(names, [](const HostString& name) { return std::string_view(name); });
  if (const std::optional<std::string_view> twice = indices.find_twice()) {
    fail(Status::InvalidArgument, "two parameters have the name \"%s\", expected another prefix for each part",
         shown(*twice).c_str());
  }
  HostVector<Match> matches(names.size(), Match(), context_->host_allocator());
  const NameIndex groups(groups_, [](const NamedGroup& group) { return std::string_view(group.prefix); });
  std::vector<bool> is_used(groups_.size());
  for (size_t i = 0; i < names.size(); ++i) {
    size_t longest = 0;
    tied.for_each_prefix(i, [&](std::string_view prefix) {
      const std::optional<size_t> found = groups.find(prefix);
      if (!found) return;
      is_used[*found] = true;
      if (prefix.size() < longest) return;
      longest = prefix.size();
      matches[i].group = *found;
    });
  }
  for (size_t i = 0; i < groups_.size(); ++i) {
    if (is_used[i]) continue;
    fail(Status::NotFound,
         "the group \"%s\" has no parameter of the %s, expected a parameter's name or its beginning before a dot",
         shown(groups_[i].prefix).c_str(), tied.kind());
  }
  for (size_t i = 0; i < states_.size(); ++i) {
    const std::optional<size_t> found = indices.find(states_[i].name);
    if (!found) {
      fail(Status::NotFound, "the optimizer has the state of \"%s\", which is no parameter of the %s, expected %s",
           shown(states_[i].name).c_str(), tied.kind(), joined(names).c_str());
    }
    matches[*found].state = i;
  }
  return matches;
}

void Optimizer::set_numbers(ParameterUpdate& update, std::string_view name, const Match& match,
                            int64_t num_steps) const {
  const ParameterGroup group = match.group != Match::kNone
                                   ? groups_[match.group].group
                                   : ParameterGroup{1, sgd_ ? sgd_->weight_decay : adamw_->weight_decay};
  const double rate = (sgd_ ? sgd_->learning_rate : adamw_->learning_rate) * group.learning_rate_factor;
  in_f32(rate, "the learning rate times the group's factor", name);
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
                 .step = in_f32(step, "the learning rate with the bias corrected", name),
                 .root_factor = static_cast<float>(is_corrected ? 1 / root : 1),
                 .epsilon = static_cast<float>(options.epsilon),
                 .coupled = static_cast<float>(options.is_coupled ? group.weight_decay : 0),
                 .decoupled = in_f32(decay, "the learning rate times the weight decay", name)};
}

struct Optimizer::Step {
  explicit Step(const HostVector<Match>& of_names) : matches(of_names) {}

  // Those that the optimizer has after the step; no `tied`: the same as before.
  std::optional<TiedParts> tied;
  HostVector<Match> matches;
  std::vector<ParameterState> new_states;
  // What an update changes: a parameter of a layer, which is null for a tensor, and the state with this index.
  struct Target {
    Layer* layer;
    size_t parameter;
    size_t state;
  };
  std::vector<Target> targets;  // of each update
  std::vector<ParameterUpdate> updates;
  Pieces pieces;
  double num_bytes = 0;
  int64_t buffer_elements = 0;
  std::shared_ptr<Storage> buffers;  // one for each thread

  float* buffer_of(int32_t worker) const {
    return buffers == nullptr ? nullptr : reinterpret_cast<float*>(buffers->begin()) + worker * buffer_elements;
  }
  void write_to_device(const Context& context) const {
    for (const bool of_tensors : {false, true}) {
      for (const ParameterUpdate& update : updates) {
        if (update.is_of_tensor() == of_tensors) update.write_to_device(context);
      }
    }
  }
};

void Optimizer::tie(std::span<const StepPart> parts, Step& step) const {
  for (size_t i = 0; i < parts.size(); ++i) {
    if (tied_.find(parts[i], i)) continue;
    if (!step.tied) step.tied = tied_;
    step.tied->add(parts[i]);
  }
  const TiedParts& tied = step.tied ? *step.tied : tied_;
  if (step.tied || matches_.size() != tied.names().size()) step.matches = match(tied);
}

void Optimizer::require_shapes(const StepPart& part, size_t first, const Step& step) const {
  for (size_t i = 0; i < part.num_parameters(); ++i) {
    const size_t index = step.matches[first + i].state;
    if (index == Match::kNone) continue;
    const ParameterState& state = states_[index];
    if (!state.first || part.parameter_shape(i) == state.shape) continue;
    fail(Status::InvalidArgument,
         "the optimizer has the state of %s with " ARGUMENT("dims") " %s, but the parameter has " ARGUMENT(
             "dims") " %s: expected the same",
         shown(state.name).c_str(), to_string(state.shape).c_str(), to_string(part.parameter_shape(i)).c_str());
  }
}

void Optimizer::add_updates(const StepPart& part, size_t first, Step& step) const {
  const Gradients& gradients = *part.gradients;
  const std::span<const HostString> names = (step.tied ? *step.tied : tied_).names();
  for (size_t i = 0; i < gradients.count(); ++i) {
    const size_t parameter = gradients.parameter_index(i);
    const HostString& name = names[first + parameter];
    Match& match = step.matches[first + parameter];
    const bool is_new = match.state == Match::kNone;
    if (is_new) match.state = states_.size() + step.new_states.size();
    const ParameterState& state =
        is_new ? step.new_states.emplace_back(new_state(name, part.parameter_shape(parameter))) : states_[match.state];
    step.targets.push_back({part.layer, parameter, match.state});
    ParameterUpdate& update =
        part.layer == nullptr
            ? step.updates.emplace_back(context_, gradients.value(), gradients.tensor(i), state.first, state.second)
            : step.updates.emplace_back(context_, part.layer->parameters()[parameter], gradients.tensor(i), state.first,
                                        state.second);
    set_numbers(update, name, match, state.num_steps);
    step.pieces.add(update.num_pieces());
    step.buffer_elements = std::max(step.buffer_elements, update.buffer_elements());
    step.num_bytes += (has_second() ? 28.0 : has_first() ? 20.0 : 12.0) * static_cast<double>(update.num_elements());
  }
}

Optimizer::Step Optimizer::prepare(std::span<const StepPart> parts) const {
  Step step(matches_);
  tie(parts, step);
  const TiedParts& tied = step.tied ? *step.tied : tied_;
  std::vector<size_t> first_names;
  size_t num_gradients = 0;
  for (size_t i = 0; i < parts.size(); ++i) {
    first_names.push_back(*tied.find(parts[i], i));
    require_shapes(parts[i], first_names[i], step);
    num_gradients += parts[i].gradients->count();
  }
  for (const StepPart& part : parts) require_finite(*part.gradients, part.gradients_name().c_str(), part.prefix);
  step.new_states.reserve(num_gradients);
  step.targets.reserve(num_gradients);
  step.updates.reserve(num_gradients);
  step.pieces.reserve(num_gradients);
  for (size_t i = 0; i < parts.size(); ++i) add_updates(parts[i], first_names[i], step);
  if (step.buffer_elements > 0) {
    const int64_t num_floats = step.buffer_elements * context_->num_threads();
    step.buffers = Storage::allocate(context_, static_cast<size_t>(num_floats) * sizeof(float), Contents::Undefined);
  }
  return step;
}

void Optimizer::commit(Step& step) {
  for (ParameterState& state : step.new_states) states_.push_back(std::move(state));
  for (size_t i = 0; i < step.updates.size(); ++i) {
    const Step::Target& target = step.targets[i];
    ParameterState& state = states_[target.state];
    ++state.num_steps;
    step.updates[i].commit(*context_, target.layer, target.parameter, state.first, state.second);
  }
  matches_ = std::move(step.matches);
  if (step.tied) tied_ = std::move(*step.tied);
}

void Optimizer::step(std::span<const StepPart> parts) {
  require_parts(parts, context_);
  Step step = prepare(parts);
  states_.reserve(states_.size() + step.new_states.size());
  try {
    step.pieces.for_each(*context_, step.num_bytes, [&](size_t array, int64_t piece, int32_t worker) {
      step.updates[array].run(*context_, piece, step.buffer_of(worker));
    });
  } catch (...) {
    // The loop is done nevertheless: an executor's defect is reported after each of its tasks has run.
    commit(step);
    throw;
  }
  if (!context_->is_host()) step.write_to_device(*context_);
  commit(step);
}

}  // namespace heed
