// SPDX-License-Identifier: Apache-2.0
// The update of one parameter in a step of an optimizer: where its elements and its state are, and the loop over its pieces.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "backends/context.h"
#include "layers/layer.h"
#include "layers/parameter.h"
#include "ops/update.h"
#include "tensor/tensor.h"

namespace heed {

class ParameterUpdate {
 public:
  // Allocates what the update writes. `first` and `second`: the state of the parameter, in host memory.
  ParameterUpdate(const std::shared_ptr<Context>& context, const Parameter& parameter, const Tensor& gradient,
                  std::optional<Tensor> first, std::optional<Tensor> second);
  // The same of a tensor that belongs to no layer: it is written in place, row-major.
  ParameterUpdate(const std::shared_ptr<Context>& context, const Tensor& value, const Tensor& gradient,
                  std::optional<Tensor> first, std::optional<Tensor> second);

  // The numbers of the formula; of one of them.
  SgdNumbers sgd{};
  AdamNumbers adam{};

  int64_t num_elements() const { return gradient_.num_elements(); }
  // A piece of a packed weight is a block of it, which is unpacked into a buffer of this many floats.
  int64_t num_pieces() const;
  int64_t buffer_elements() const;
  // Updates a piece. Throws nothing.
  void run(const Context& context, int64_t piece, float* buffer) const;
  // Whether write_to_device writes what others see before `commit`: a tensor that belongs to no layer.
  bool is_of_tensor() const { return parameter_ == nullptr; }
  // After all pieces: copies the value to a device that has its own memory, and packs it there.
  void write_to_device(const Context& context) const;

  // Gives the layer, which is null for a tensor, the new value, and the optimizer the new state.
  void commit(const Context& context, Layer* layer, size_t index, std::optional<Tensor>& first,
              std::optional<Tensor>& second) noexcept;

 private:
  // The state that is written on a device: copies, which replace the own at `commit`.
  void copy_state();
  void run_block(const Context& context, int64_t number, float* buffer) const;
  void run_range(const Context& context, int64_t number) const;
  // Updates adjacent elements of the parameter.
  void run_elements(const Context& context, float* elements, int64_t first, int64_t count) const;

  const Parameter* parameter_;  // null: a tensor that belongs to no layer
  bool is_shared_;              // whether something else uses the memory of the parameter's own forms
  Tensor gradient_;             // on the host
  // The forms that the layer gets, and on a device the value on the host. They are the parameter's own unless those
  // are shared.
  ParameterValue value_;
  Tensor on_host_;
  bool is_packed_ = false;  // in blocks of the packed form
  bool is_copied_ = false;  // from the parameter's own value while it is written
  std::optional<Tensor> first_;
  std::optional<Tensor> second_;
};

}  // namespace heed
