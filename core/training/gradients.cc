// SPDX-License-Identifier: Apache-2.0
#include "training/gradients.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "base/decimal_text.h"
#include "base/error.h"
#include "base/shown_text.h"
#include "base/utf8.h"
#include "tensor/copy.h"
#include "tensor/device.h"
#include "tensor/dtype_term.h"
#include "tensor/host_image.h"
#include "tensor_functions/check.h"
#include "training/element_loops.h"
#include "training/pieces.h"

namespace heed {
namespace {

// The gradients of some sets on the host: the tensors themselves, or copies of a device's.
class OnHost {
 public:
  explicit OnHost(std::span<const Gradients* const> sets) : sets_(sets) {
    size_t count = 0;
    for (const Gradients* set : sets) count += set->count();
    tensors_.reserve(count);
    pieces_.reserve(count);
    for (const Gradients* set : sets) {
      for (size_t i = 0; i < set->count(); ++i) {
        tensors_.push_back(host_copy(set->tensor(i)));
        pieces_.add_elements(tensors_.back().num_elements());
        num_bytes_ += static_cast<double>(tensors_.back().num_bytes());
      }
    }
  }

  const Context& context() const { return *sets_.front()->context(); }
  const std::vector<Tensor>& tensors() const { return tensors_; }
  const Pieces& pieces() const { return pieces_; }

  // Calls function(gradient, first, count, number of the piece). `touches`: how often each byte is read or written.
  template <typename Function>
  void for_each_piece(double touches, const Function& function) const {
    pieces_.for_each(context(), touches * num_bytes_, [&](size_t gradient, int64_t piece, int32_t) {
      const PieceRange range = range_of_piece(piece, tensors_[gradient].num_elements());
      function(gradient, range.first, range.count, pieces_.first_of(gradient) + piece);
    });
  }
  float* numbers(size_t gradient) const { return reinterpret_cast<float*>(tensors_[gradient].data()); }

  // Writes the copies back to the device.
  void commit() const {
    if (context().is_host()) return;
    size_t number = 0;
    for (const Gradients* set : sets_) {
      for (size_t i = 0; i < set->count(); ++i) copy_tensor(set->tensor(i), tensors_[number++]);
    }
  }

 private:
  std::span<const Gradients* const> sets_;
  std::vector<Tensor> tensors_;
  Pieces pieces_;
  double num_bytes_ = 0;
};

std::string name_of_set(size_t index) {
  char text[64];
  std::snprintf(text, sizeof text, ARGUMENT("sets[%zu]"), index);
  return text;
}

// Throws InvalidArgument for a set that is there twice, and for several devices.
void require_sets(std::span<const Gradients* const> sets) {
  for (size_t i = 1; i < sets.size(); ++i) {
    check_same_device(name_of_set(i).c_str(), sets[i]->context()->device_name(), "sets[0]",
                      sets[0]->context()->device_name());
    for (size_t earlier = 0; earlier < i; ++earlier) {
      if (sets[i] != sets[earlier]) continue;
      fail(Status::InvalidArgument, "sets[%zu] and sets[%zu] are the same set, expected each set once", earlier, i);
    }
  }
}

double norm_of(const OnHost& gradients) {
  std::vector<double> sums(static_cast<size_t>(gradients.pieces().total()));
  gradients.for_each_piece(1, [&](size_t gradient, int64_t first, int64_t count, int64_t piece) {
    sums[static_cast<size_t>(piece)] = sum_of_squares(gradients.numbers(gradient) + first, count);
  });
  double total = 0;
  for (const double sum : sums) total += sum;
  return std::sqrt(total);
}

void scale_each(const OnHost& gradients, double factor) {
  gradients.for_each_piece(2, [&](size_t gradient, int64_t first, int64_t count, int64_t) {
    scale_elements(gradients.numbers(gradient) + first, count, factor);
  });
  gradients.commit();
}

}  // namespace

Gradients::Gradients(const std::shared_ptr<const Layer>& layer)
    : context_(layer->context()),
      layer_(layer),
      entries_(context_->host_allocator()),
      of_parameters_(context_->host_allocator()) {
  const std::span<const Parameter> parameters = layer->parameters();
  entries_.reserve(parameters.size());
  for (size_t i = 0; i < parameters.size(); ++i) {
    const Parameter& parameter = parameters[i];
    parameter.require_set();
    if (!parameter.is_trainable()) continue;
    if (parameter.value().dtype() != DType::F32) {
      fail(Status::Unsupported,
           "%s is %s, expected " DTYPE("F32") " of a parameter that is trained: load it with " OPTION(
               "widen") " 1, or exclude it with " FUNCTION("heed_layer_set_trainable"),
           parameter.name(), term_of(parameter.value().dtype()));
    }
    entries_.push_back({i, HostString(parameter.name(), context_->host_allocator()),
                        Tensor::zeros(context_, DType::F32, parameter.value().shape())});
  }
  of_parameters_.resize(parameters.size());
  for (const Entry& entry : entries_) of_parameters_[entry.parameter_index] = &entry.tensor;
}

Gradients::Gradients(const Tensor& value, std::string_view name)
    : context_(std::dynamic_pointer_cast<const Context>(value.memory())),
      value_(value),
      entries_(context_->host_allocator()),
      of_parameters_(context_->host_allocator()) {
  if (value.dtype() != DType::F32) {
    fail(Status::InvalidArgument, "value is %s, expected " DTYPE("F32") " of " WORD("a tensor") " that is trained",
         term_of(value.dtype()));
  }
  value.require_writable("value");
  if (!value.is_row_major()) {
    fail(Status::InvalidArgument,
         "value has " ARGUMENT("dims") " %s with other strides than row-major ones, expected a row-major " WORD(
             "tensor"),
         to_string(value.shape()).c_str());
  }
  if (name.empty()) fail(Status::InvalidArgument, "name is \"\", expected the name of a parameter");
  require_name(name, "name");
  entries_.push_back(
      {0, HostString(name, context_->host_allocator()), Tensor::zeros(context_, DType::F32, value.shape())});
  of_parameters_.push_back(&entries_.front().tensor);
}

size_t Gradients::index_of(std::string_view name) const {
  for (size_t i = 0; i < entries_.size(); ++i) {
    if (entries_[i].name == name) return i;
  }
  if (entries_.empty()) {
    fail(Status::NotFound,
         "name is \"%s\", but the set has no gradients, expected one that is made while parameters are trainable",
         shown(name).c_str());
  }
  fail(Status::NotFound,
       "name is \"%s\", which has no gradient in this set, expected the name of a parameter that was trainable when "
       "the set was made, such as \"%s\"",
       shown(name).c_str(), shown(entries_.front().name).c_str());
}

void Gradients::require_fits(const Layer& layer, const char* argument) const {
  if (is_of_tensor()) {
    fail(Status::InvalidArgument,
         "%s is that of the tensor \"%s\", expected a set that " FUNCTION("heed_gradients_create") " made of the " WORD(
             "layer"),
         argument, shown(entries_.front().name).c_str());
  }
  if (layer_.lock().get() != &layer) {
    fail(Status::InvalidArgument,
         "%s is that of another " WORD("layer") ", expected a set that " FUNCTION(
             "heed_gradients_create") " made of this one",
         argument);
  }
  const std::span<const Parameter> parameters = layer.parameters();
  for (size_t i = 0; i < parameters.size(); ++i) {
    const Parameter& parameter = parameters[i];
    const Tensor* gradient = tensor_of(i);
    if (parameter.is_trainable() != (gradient != nullptr)) {
      fail(Status::InvalidArgument,
           "%s was made when \"%s\" was %strainable, and now it is %s: expected a set that is made after " FUNCTION(
               "heed_layer_set_trainable"),
           argument, parameter.name(), gradient == nullptr ? "not " : "", gradient == nullptr ? "trainable" : "not");
    }
    if (gradient == nullptr) continue;
    const Tensor& value = parameter.value();
    if (value.dtype() == DType::F32 && value.shape() == gradient->shape()) continue;
    fail(Status::InvalidArgument,
         "%s has " DTYPE("F32") " with " ARGUMENT("dims") " %s for %s, which is %s with " ARGUMENT(
             "dims") " %s, expected the same",
         argument, to_string(gradient->shape()).c_str(), parameter.name(), term_of(value.dtype()),
         to_string(value.shape()).c_str());
  }
}

void Gradients::zero() const {
  const Gradients* const set = this;
  const OnHost gradients({&set, 1});
  gradients.for_each_piece(1, [&](size_t gradient, int64_t first, int64_t count, int64_t) {
    std::memset(gradients.numbers(gradient) + first, 0, static_cast<size_t>(count) * sizeof(float));
  });
  gradients.commit();
}

void Gradients::scale(double factor) const {
  if (!std::isfinite(factor)) {
    fail(Status::InvalidArgument, "factor is %s, expected a finite number", DecimalText(factor).c_str());
  }
  const Gradients* const set = this;
  scale_each(OnHost({&set, 1}), factor);
}

void Gradients::add(const Gradients& addend) const {
  check_same_device("addend", addend.context_->device_name(), "sum", context_->device_name());
  bool fits = count() == addend.count();
  for (size_t i = 0; fits && i < count(); ++i) {
    const Tensor& other = addend.tensor(i);
    if (entries_[i].name == addend.entries_[i].name && tensor(i).shape() == other.shape()) continue;
    fail(Status::InvalidArgument,
         "addend has %s with " ARGUMENT("dims") " %s, where the sum has %s with " ARGUMENT(
             "dims") " %s: expected the same parameters",
         shown(addend.name(i)).c_str(), to_string(other.shape()).c_str(), shown(name(i)).c_str(),
         to_string(tensor(i).shape()).c_str());
  }
  if (!fits) {
    fail(Status::InvalidArgument, "addend has %zu gradients, expected %zu, as the sum has", addend.count(), count());
  }
  const Gradients* const set = this;
  const Gradients* const added = &addend;
  const OnHost sums({&set, 1});
  const OnHost addends({&added, 1});
  sums.for_each_piece(3, [&](size_t gradient, int64_t first, int64_t count, int64_t) {
    add_elements(sums.numbers(gradient) + first, addends.numbers(gradient) + first, count);
  });
  sums.commit();
}

double norm_of(std::span<const Gradients* const> sets) {
  require_sets(sets);
  return norm_of(OnHost(sets));
}

double clip(std::span<const Gradients* const> sets, double max_norm) {
  if (!(max_norm >= 0)) {
    fail(Status::InvalidArgument, ARGUMENT("max_norm") " is %s, expected a number of at least 0",
         DecimalText(max_norm).c_str());
  }
  require_sets(sets);
  const OnHost gradients(sets);
  const double norm = norm_of(gradients);
  if (!std::isfinite(norm)) {
    // Squares of finite floats have a finite sum in f64.
    for (size_t i = 0; i < sets.size(); ++i) require_finite(*sets[i], name_of_set(i).c_str(), "");
  }
  const double factor = max_norm / (norm + 1e-6);
  if (factor < 1) scale_each(gradients, factor);
  return norm;
}

void require_name(std::string_view name, const char* argument) {
  if (name.find('\n') != std::string_view::npos) {
    fail(Status::InvalidArgument, "%s is \"%s\", with a line feed, expected a name in one line", argument,
         shown(name).c_str());
  }
  if (is_utf8(name)) return;
  fail(Status::InvalidArgument, "%s is \"%s\", which is not UTF-8, expected a name that a file can have", argument,
       shown(name).c_str());
}

void require_finite(const Gradients& set, const char* argument, std::string_view prefix) {
  const Gradients* const sets[] = {&set};
  const OnHost gradients(sets);
  std::vector<uint8_t> is_wrong(static_cast<size_t>(gradients.pieces().total()));
  gradients.for_each_piece(1, [&](size_t gradient, int64_t first, int64_t count, int64_t piece) {
    is_wrong[static_cast<size_t>(piece)] = are_finite(gradients.numbers(gradient) + first, count) ? 0 : 1;
  });
  const auto wrong = std::ranges::find(is_wrong, 1);
  if (wrong == is_wrong.end()) return;
  const int64_t piece = wrong - is_wrong.begin();
  size_t gradient = 0;
  while (gradients.pieces().first_of(gradient + 1) <= piece) ++gradient;
  int64_t element = (piece - gradients.pieces().first_of(gradient)) * kPieceElements;
  const float* const numbers = gradients.numbers(gradient);
  while (std::isfinite(numbers[element])) ++element;
  fail(Status::InvalidArgument, "%s has %s for %s at index %s, expected finite numbers", argument,
       DecimalText(static_cast<double>(numbers[element])).c_str(),
       shown(std::string(prefix) + set.name(gradient)).c_str(),
       index_text(set.tensor(gradient).shape(), element).c_str());
}

}  // namespace heed
