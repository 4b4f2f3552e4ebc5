// SPDX-License-Identifier: Apache-2.0
#include "training/gradients.h"

#include <heed/heed.h>

#include <cinttypes>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "arguments.h"
#include "base/shown_text.h"
#include "errors.h"
#include "handles.h"

namespace heed::capi {
namespace {

std::shared_ptr<Gradients> gradients_of(const heed_gradients* handle, const char* name = "gradients") {
  return require(handle, name)->gradients;
}

// The sets of a call, which stay alive during it.
class Sets {
 public:
  Sets(heed_gradients* const* sets, int64_t num_sets) {
    if (num_sets < 1) fail(Status::InvalidArgument, "num_sets is %" PRId64 ", expected at least 1", num_sets);
    require(sets, "sets");
    kept_.reserve(static_cast<size_t>(num_sets));
    pointers_.reserve(static_cast<size_t>(num_sets));
    for (int64_t i = 0; i < num_sets; ++i) {
      kept_.push_back(gradients_of(sets[i], ("sets[" + std::to_string(i) + "]").c_str()));
      pointers_.push_back(kept_.back().get());
    }
  }
  const std::vector<const Gradients*>& pointers() const { return pointers_; }

 private:
  std::vector<std::shared_ptr<Gradients>> kept_;
  std::vector<const Gradients*> pointers_;
};

// The handle whose logger gets the error; null if there is none.
const heed_gradients* first_of(heed_gradients* const* sets, int64_t num_sets) {
  return sets == nullptr || num_sets < 1 ? nullptr : sets[0];
}

}  // namespace
}  // namespace heed::capi

using namespace heed;        // NOLINT(google-build-using-namespace): the functions below are C
using namespace heed::capi;  // NOLINT(google-build-using-namespace)

extern "C" {

heed_status heed_layer_set_trainable(heed_layer* layer, const char* prefix, int32_t trainable) noexcept {
  return guarded(__func__, layer, [&] {
    const std::shared_ptr<Layer> self = require(layer, "layer")->layer;
    const bool is_trainable = read_flag(trainable, "trainable");
    const std::string_view beginning = prefix == nullptr ? "" : prefix;
    bool is_any = beginning.empty();
    for (const Parameter& parameter : self->parameters()) {
      if (!parameter.has_prefix(beginning)) continue;
      parameter.set_trainable(is_trainable);
      is_any = true;
    }
    if (is_any) return;
    fail(Status::NotFound,
         "prefix is \"%s\", which no parameter of this " WORD("layer") " has, expected a parameter's name or its beginning "
         "before a dot; it has %s",
         shown(beginning).c_str(), joined_names(self->parameters()).c_str());
  });
}

heed_status heed_gradients_create(const heed_layer* layer, heed_gradients** gradients) noexcept {
  return guarded(__func__, layer, [&] {
    const std::shared_ptr<const Layer> self = require(layer, "layer")->layer;
    require(gradients, "gradients");
    *gradients = make_handle(heed_gradients{host_make_shared<Gradients>(self->context()->host_allocator(), self)});
  });
}

heed_status heed_gradients_create_of_tensor(heed_tensor* value, const char* name, heed_gradients** gradients) noexcept {
  return guarded(__func__, value, [&] {
    const Tensor trained = require(value, "value")->tensor;
    require(name, "name");
    require(gradients, "gradients");
    const HostAllocator& allocator = trained.memory()->host_allocator();
    *gradients = make_handle(heed_gradients{host_make_shared<Gradients>(allocator, trained, std::string_view(name))});
  });
}

void heed_gradients_destroy(heed_gradients* gradients) noexcept { destroy_handle(gradients); }

int64_t heed_gradients_count(const heed_gradients* gradients) noexcept {
  return guarded_value<int64_t>(__func__, gradients, -1,
                                [&] { return static_cast<int64_t>(gradients_of(gradients)->count()); });
}

const char* heed_gradients_name(const heed_gradients* gradients, int64_t index) noexcept {
  return guarded_value<const char*>(__func__, gradients, nullptr, [&] {
    const auto self = gradients_of(gradients);
    const auto count = static_cast<int64_t>(self->count());
    if (index < 0 || index >= count) {
      fail(Status::InvalidArgument, "index is %" PRId64 ", but there are %" PRId64 " gradients, expected 0 to %" PRId64,
           index, count, count - 1);
    }
    return self->name(static_cast<size_t>(index));
  });
}

heed_status heed_gradients_tensor(heed_gradients* gradients, const char* name, heed_tensor** view) noexcept {
  return guarded(__func__, gradients, [&] {
    const auto self = gradients_of(gradients);
    require(name, "name");
    require(view, "view");
    *view = make_handle(heed_tensor{self->tensor(self->index_of(name))});
  });
}

heed_status heed_gradients_zero(heed_gradients* gradients) noexcept {
  return guarded(__func__, gradients, [&] { gradients_of(gradients)->zero(); });
}

heed_status heed_gradients_scale(heed_gradients* gradients, double factor) noexcept {
  return guarded(__func__, gradients, [&] { gradients_of(gradients)->scale(factor); });
}

heed_status heed_gradients_add(heed_gradients* sum, const heed_gradients* addend) noexcept {
  return guarded(__func__, sum, [&] {
    const auto self = gradients_of(sum, "sum");
    self->add(*gradients_of(addend, "addend"));
  });
}

heed_status heed_gradients_norm(heed_gradients* const* sets, int64_t num_sets, double* norm) noexcept {
  return guarded(__func__, first_of(sets, num_sets), [&] {
    const Sets read(sets, num_sets);
    require(norm, "norm");
    *norm = norm_of(read.pointers());
  });
}

heed_status heed_gradients_clip(heed_gradients* const* sets, int64_t num_sets, double max_norm, double* norm) noexcept {
  return guarded(__func__, first_of(sets, num_sets), [&] {
    const Sets read(sets, num_sets);
    const double before = clip(read.pointers(), max_norm);
    if (norm != nullptr) *norm = before;
  });
}

}  // extern "C"
