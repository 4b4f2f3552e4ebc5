// SPDX-License-Identifier: Apache-2.0
// Stochastic gradient descent, Adam and AdamW: options, state, and the step that changes the parameters of layers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "backends/context.h"
#include "base/host_allocator.h"
#include "tensor/tensor.h"
#include "training/parameter_update.h"
#include "training/step_part.h"
#include "training/tied_parts.h"

namespace heed {

// The numbers of heed_sgd_options.
struct SgdOptions {
  double learning_rate = 0;
  double momentum = 0;
  double weight_decay = 0;
  bool nesterov = false;
};

// The same numbers as HEED_EPSILON_ in heed.h.
enum class EpsilonPlacement : int32_t { Corrected = 0, Uncorrected = 1 };

// The numbers of heed_adamw_options.
struct AdamWOptions {
  double learning_rate = 0;
  double beta1 = 0;
  double beta2 = 0;
  double epsilon = 0;
  double weight_decay = 0;
  bool is_coupled = false;
  EpsilonPlacement placement = EpsilonPlacement::Corrected;
};

// Of all parameters whose names have a prefix.
struct ParameterGroup {
  double learning_rate_factor = 1;
  double weight_decay = 0;
};
struct NamedGroup {  // NOLINT(bugprone-exception-escape)
  HostString prefix;
  ParameterGroup group;
};

// What an optimizer remembers of a parameter.
struct ParameterState {  // NOLINT(bugprone-exception-escape)
  HostString name;
  int64_t num_steps = 0;
  // Row-major F32 in host memory: the buffer of momentum, or the first moment; and the second moment.
  std::optional<Tensor> first;
  std::optional<Tensor> second;
  Shape shape;
};

class Optimizer {
 public:
  // All throw InvalidArgument that names the option.
  Optimizer(std::shared_ptr<Context> context, const SgdOptions& options);
  Optimizer(std::shared_ptr<Context> context, const AdamWOptions& options);
  Optimizer(const Optimizer&) = delete;
  Optimizer& operator=(const Optimizer&) = delete;

  const std::shared_ptr<Context>& context() const { return context_; }

  void set_learning_rate(double learning_rate);
  // Throws NotFound for a prefix that no parameter of the steps so far has, if there was a step.
  void set_group(std::string_view prefix, const ParameterGroup& group);
  // Throws NotFound.
  void remove_group(std::string_view prefix);

  // Changes the parameters of the parts that have gradients. A step ties the optimizer to its parts; the first one of a loaded
  // optimizer has all parameters with a state. All checks and allocations come before the first number is written. The loop over
  // the numbers fails only by a defect of the host's executor, which is reported after the step is done. On a device with its own
  // memory the tensors of parts without a layer are written last, and a failure of the device leaves some of them changed.
  void step(std::span<const StepPart> parts);

  void save(const char* path) const;
  // Takes everything of the file: options, groups, and state. Either all or nothing.
  void load(const char* path);

 private:
  // The indices of a parameter's state and of its group, that of the longest prefix.
  struct Match {
    static constexpr size_t kNone = SIZE_MAX;
    size_t state = kNone;
    size_t group = kNone;
  };
  // What a step allocates.
  struct Step;

  double& learning_rate() { return sgd_ ? sgd_->learning_rate : adamw_->learning_rate; }
  bool has_first() const { return !sgd_ || sgd_->momentum != 0; }
  bool has_second() const { return adamw_.has_value(); }
  NamedGroup* find_group(std::string_view prefix);
  // Whether a parameter of the steps so far has the prefix of a group.
  bool has_prefix(std::string_view prefix) const;
  // The match of each name. Throws NotFound for a group or a state without a parameter, InvalidArgument for a name that is there
  // twice.
  HostVector<Match> match(const TiedParts& tied) const;
  // Throws InvalidArgument for a state with other dims than those of its parameter. `first`: the index of the part's first name.
  void require_shapes(const StepPart& part, size_t first, const Step& step) const;
  ParameterState new_state(std::string_view name, const Shape& shape) const;
  // Of the step after `num_steps`. Throws InvalidArgument for numbers that are not finite in f32.
  void set_numbers(ParameterUpdate& update, std::string_view name, const Match& match, int64_t num_steps) const;
  // Ties the parts, and matches all names.
  void tie(std::span<const StepPart> parts, Step& step) const;
  // The updates of the part's parameters that have gradients. `first`: the index of its first name.
  void add_updates(const StepPart& part, size_t first, Step& step) const;
  Step prepare(std::span<const StepPart> parts) const;
  // Throws nothing: the states have been reserved.
  void commit(Step& step);

  std::shared_ptr<Context> context_;
  // One of them.
  std::optional<SgdOptions> sgd_;
  std::optional<AdamWOptions> adamw_;
  HostVector<NamedGroup> groups_;
  HostVector<ParameterState> states_;
  TiedParts tied_;
  // Of the names of tied_; empty until a step, and after another group is set.
  HostVector<Match> matches_;
};

// The names of the tensors of a file of an optimizer, before "." and the name of a parameter.
inline constexpr const char* kStepName = "step";
inline constexpr const char* kMomentumName = "momentum_buffer";
inline constexpr const char* kFirstMomentName = "exp_avg";
inline constexpr const char* kSecondMomentName = "exp_avg_sq";

// Throw InvalidArgument that names the member.
void check(const SgdOptions& options);
void check(const AdamWOptions& options);
void check(const ParameterGroup& group);

}  // namespace heed
