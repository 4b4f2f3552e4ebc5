// SPDX-License-Identifier: Apache-2.0
#include "training/optimizer.h"

#include <heed/heed.h>

#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "arguments.h"
#include "errors.h"
#include "handles.h"

namespace heed::capi {
namespace {

static_assert(HEED_EPSILON_CORRECTED == static_cast<int>(EpsilonPlacement::Corrected) &&
              HEED_EPSILON_UNCORRECTED == static_cast<int>(EpsilonPlacement::Uncorrected));

// The sizes in the first version of each struct: the smallest that a caller's struct can have.
constexpr size_t kFirstSgdOptionsSize = 40;
constexpr size_t kFirstAdamwOptionsSize = 56;
constexpr size_t kFirstParameterGroupSize = 24;
constexpr size_t kFirstStepPartSize = 32;

SgdOptions read_sgd_options(const heed_sgd_options* options) {
  const heed_sgd_options read =
      read_struct(options, HEED_SGD_OPTIONS_INIT, kFirstSgdOptionsSize, "options", "HEED_SGD_OPTIONS_INIT");
  require_zero(read.reserved, OPTION("reserved"));
  return {read.learning_rate, read.momentum, read.weight_decay, read_flag(read.nesterov, OPTION("nesterov"))};
}

AdamWOptions read_adamw_options(const heed_adamw_options* options) {
  const heed_adamw_options read =
      read_struct(options, HEED_ADAMW_OPTIONS_INIT, kFirstAdamwOptionsSize, "options", "HEED_ADAMW_OPTIONS_INIT");
  return {read.learning_rate,
          read.beta1,
          read.beta2,
          read.epsilon,
          read.weight_decay,
          read_flag(read.coupled_decay, OPTION("coupled_decay")),
          read_enum(read.epsilon_placement, EpsilonPlacement::Uncorrected, OPTION("epsilon_placement"),
                    CONSTANT("HEED_EPSILON_CORRECTED") " (0) or " CONSTANT("HEED_EPSILON_UNCORRECTED") " (1)")};
}

std::shared_ptr<Optimizer> optimizer_of(const heed_optimizer* handle) {
  return require(handle, "optimizer")->optimizer;
}

// The parts of a call, whose layers and sets stay alive during it.
class Parts {
 public:
  Parts(const heed_step_part* const* parts, int64_t num_parts) {
    if (num_parts < 1) fail(Status::InvalidArgument, "num_parts is %" PRId64 ", expected at least 1", num_parts);
    require(parts, "parts");
    for (int64_t i = 0; i < num_parts; ++i) {
      const std::string name = "parts[" + std::to_string(i) + "]";
      const heed_step_part read = read_struct(require(parts[i], name.c_str()), HEED_STEP_PART_INIT, kFirstStepPartSize,
                                              name.c_str(), "HEED_STEP_PART_INIT");
      const char* const prefix = read.prefix == nullptr ? "" : read.prefix;
      char name_of_prefix[64];
      std::snprintf(name_of_prefix, sizeof name_of_prefix, ARGUMENT("parts[%" PRId64 "]->prefix"), i);
      require_name(prefix, name_of_prefix);
      add(prefix, read.layer, require(read.gradients, (name + "->gradients").c_str()), i);
    }
  }
  Parts(heed_layer* layer, const heed_gradients* gradients) {
    require(layer, "layer");
    add("", layer, require(gradients, "gradients"), -1);
  }
  const std::vector<StepPart>& read() const { return read_; }

 private:
  void add(const char* prefix, heed_layer* layer, const heed_gradients* gradients, int64_t number) {
    layers_.push_back(layer == nullptr ? nullptr : layer->layer);
    sets_.push_back(gradients->gradients);
    read_.push_back({prefix, layers_.back().get(), sets_.back().get(), number});
  }

  std::vector<std::shared_ptr<Layer>> layers_;
  std::vector<std::shared_ptr<const Gradients>> sets_;
  std::vector<StepPart> read_;
};

template <typename Options>
void create(heed_context* context, const Options& options, heed_optimizer** optimizer) {
  const std::shared_ptr<Context> owner = require(context, "context")->context;
  require(optimizer, "optimizer");
  *optimizer = make_handle(heed_optimizer{host_make_shared<Optimizer>(owner->host_allocator(), owner, options)});
}

}  // namespace
}  // namespace heed::capi

using namespace heed;        // NOLINT(google-build-using-namespace): the functions below are C
using namespace heed::capi;  // NOLINT(google-build-using-namespace)

extern "C" {

heed_status heed_sgd_create(heed_context* context, const heed_sgd_options* options,
                            heed_optimizer** optimizer) noexcept {
  return guarded(__func__, context, [&] { create(context, read_sgd_options(options), optimizer); });
}

heed_status heed_adamw_create(heed_context* context, const heed_adamw_options* options,
                              heed_optimizer** optimizer) noexcept {
  return guarded(__func__, context, [&] { create(context, read_adamw_options(options), optimizer); });
}

void heed_optimizer_destroy(heed_optimizer* optimizer) noexcept { destroy_handle(optimizer); }

heed_status heed_optimizer_step(heed_optimizer* optimizer, heed_layer* layer,
                                const heed_gradients* gradients) noexcept {
  return guarded(__func__, optimizer, [&] {
    const auto self = optimizer_of(optimizer);
    const Parts parts(layer, gradients);
    self->step(parts.read());
  });
}

heed_status heed_optimizer_step_parts(heed_optimizer* optimizer, const heed_step_part* const* parts,
                                      int64_t num_parts) noexcept {
  return guarded(__func__, optimizer, [&] {
    const auto self = optimizer_of(optimizer);
    const Parts read(parts, num_parts);
    self->step(read.read());
  });
}

heed_status heed_optimizer_set_learning_rate(heed_optimizer* optimizer, double learning_rate) noexcept {
  return guarded(__func__, optimizer, [&] { optimizer_of(optimizer)->set_learning_rate(learning_rate); });
}

heed_status heed_optimizer_set_group(heed_optimizer* optimizer, const char* prefix,
                                     const heed_parameter_group* group) noexcept {
  return guarded(__func__, optimizer, [&] {
    const auto self = optimizer_of(optimizer);
    const char* const beginning = prefix == nullptr ? "" : prefix;
    if (group == nullptr) return self->remove_group(beginning);
    const heed_parameter_group read =
        read_struct(group, HEED_PARAMETER_GROUP_INIT, kFirstParameterGroupSize, "group", "HEED_PARAMETER_GROUP_INIT");
    self->set_group(beginning, {read.learning_rate_factor, read.weight_decay});
  });
}

heed_status heed_optimizer_save(const heed_optimizer* optimizer, const char* path) noexcept {
  return guarded(__func__, optimizer, [&] {
    const auto self = optimizer_of(optimizer);
    self->save(require(path, "path"));
  });
}

heed_status heed_optimizer_load(heed_optimizer* optimizer, const char* path) noexcept {
  return guarded(__func__, optimizer, [&] {
    const auto self = optimizer_of(optimizer);
    self->load(require(path, "path"));
  });
}

}  // extern "C"
