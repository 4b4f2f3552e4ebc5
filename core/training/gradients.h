// SPDX-License-Identifier: Apache-2.0
// The gradients of a layer's trainable parameters, or of a tensor that belongs to no layer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "backends/context.h"
#include "base/host_allocator.h"
#include "layers/layer.h"
#include "tensor/tensor.h"

namespace heed {

// One F32 tensor in the context's memory for each trainable parameter, in the order of the layer's parameters. Its memory
// comes from the context's allocator.
class Gradients {
 public:
  // Zeros. Throws NotInitialized, and Unsupported for a trainable parameter that is not F32.
  explicit Gradients(const std::shared_ptr<const Layer>& layer);
  // Zeros of one tensor, whose memory the set keeps alive. Throws InvalidArgument unless it is F32, row-major and writable, and
  // the name is UTF-8, not empty, without a line feed.
  Gradients(const Tensor& value, std::string_view name);
  Gradients(const Gradients&) = delete;
  Gradients& operator=(const Gradients&) = delete;

  const std::shared_ptr<const Context>& context() const { return context_; }
  // Expired for a tensor.
  const std::weak_ptr<const Layer>& layer() const { return layer_; }
  bool is_of_tensor() const { return value_.has_value(); }
  // The tensor. Only of a set of a tensor.
  const Tensor& value() const { return *value_; }
  size_t count() const { return entries_.size(); }
  const char* name(size_t index) const { return entries_[index].name.c_str(); }
  // Row-major, with the shape of its parameter.
  const Tensor& tensor(size_t index) const { return entries_[index].tensor; }
  // The index of its parameter in the layer; 0 for a tensor.
  size_t parameter_index(size_t index) const { return entries_[index].parameter_index; }
  // Throws NotFound.
  size_t index_of(std::string_view name) const;
  // The gradient of one of the layer's parameters; null if that is not trainable.
  const Tensor* tensor_of(size_t parameter_index) const { return of_parameters_[parameter_index]; }
  // tensor_of each of the layer's parameters.
  std::span<const Tensor* const> of_parameters() const { return of_parameters_; }

  // Throws InvalidArgument unless the set was made of this very layer, no tensor, and the layer's trainable parameters are still those of the
  // set, of F32 and with these shapes. A layer that has the layer as a child, or is one of its children, is another one, although
  // they share parameters. `argument`: the name of the set in messages.
  void require_fits(const Layer& layer, const char* argument) const;

  void zero() const;
  // Multiplies each gradient, in f64, and rounds once.
  void scale(double factor) const;
  // Throws InvalidArgument unless the sets have the same names and shapes, on one device: those of another layer with the same
  // options may be added.
  void add(const Gradients& addend) const;

 private:
  struct Entry {
    size_t parameter_index;
    HostString name;
    Tensor tensor;
  };

  std::shared_ptr<const Context> context_;
  std::weak_ptr<const Layer> layer_;
  std::optional<Tensor> value_;
  HostVector<Entry> entries_;
  HostVector<const Tensor*> of_parameters_;
};

// The root of the sum of squares of all gradients of all sets, in f64: pieces of each gradient, gradients in order, sets in
// order, so that any number of threads gives the same bits. Infinite or NaN if a gradient is. Throws InvalidArgument for a set
// that is there twice, and for several devices.
double norm_of(std::span<const Gradients* const> sets);

// Multiplies all gradients by min(1, max_norm / (norm + 1e-6)), as PyTorch's clip_grad_norm_, and returns the norm before. Throws
// InvalidArgument, with nothing changed, for a max_norm that is negative or NaN, and for a gradient that is not finite, by name.
double clip(std::span<const Gradients* const> sets, double max_norm);

// Throws InvalidArgument for a name, or the beginning of one, that a file of an optimizer cannot have: it is UTF-8 without a line
// feed. `argument`: what it is in messages.
void require_name(std::string_view name, const char* argument);

// Throws InvalidArgument that names the first number of the set that is not finite, if there is one. `prefix` stands before the
// names of the set's parameters.
void require_finite(const Gradients& gradients, const char* argument, std::string_view prefix);

}  // namespace heed
