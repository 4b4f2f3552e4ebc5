// SPDX-License-Identifier: Apache-2.0
// A named tensor that a layer learns or loads.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "backends/context.h"
#include "ops/linear.h"
#include "tensor/storage.h"
#include "tensor/tensor.h"

namespace heed {

// A dim that the options leave open, until the first value sets it.
inline constexpr int64_t kOpenDim = -1;

// The tensor of a call that a projection reads.
enum class Source { Queries, Keys, Values };

// What a parameter is for.
enum class Use {
  Projection,  // the weight of a linear operation, (out, in)
  Other,
};

// A parameter's value and, of a projection's weight, its packed form: null where there is none.
struct ParameterValue {
  Tensor tensor;
  std::shared_ptr<const Storage> packed;
};

class Parameter {
 public:
  // `name` is static. `num_heads`: how many heads share the axis of the features that are projected to or, in an
  // output's weight, from. With a source, `shape` is (output size, kOpenDim): the last dim of that tensor is the open
  // one.
  Parameter(const char* name, const Shape& shape, int64_t num_heads = 1, Use use = Use::Other,
            std::optional<Source> source = std::nullopt)
      : name_(name), shape_(shape), num_heads_(num_heads), use_(use), source_(source) {}

  const char* name() const { return name_; }
  const Shape& shape() const { return shape_; }
  int64_t num_heads() const { return num_heads_; }
  std::optional<Source> source() const { return source_; }
  bool is_bias() const { return shape_.rank == 1; }
  bool is_set() const { return value_.has_value(); }
  // Row-major, in the layer's memory. Replaced as a whole, never written: snapshots share it.
  const Tensor& value() const { return value_->tensor; }
  // The value as the device reads it, null where it reads the value itself.
  const void* packed() const { return value_->packed == nullptr ? nullptr : value_->packed->begin(); }
  void set(ParameterValue value) { value_ = std::move(value); }

  // The value with its packed form. Throws OutOfMemory.
  ParameterValue with_packed(const std::shared_ptr<const Context>& context, const Tensor& value) const;
  // Memory for it, null where there is none; what it holds is undefined. Throws OutOfMemory.
  std::shared_ptr<Storage> allocate_packed(const std::shared_ptr<const Context>& context, const Tensor& value) const;

  // Throws NotInitialized unless there is a value.
  void require_set() const;
  // The dtype in which a value of dtype `source` is kept: the current value's where `keeps_form`, otherwise the
  // source's, where F64 becomes F32.
  DType kept_dtype(DType source, bool keeps_form) const;
  // The dims of a new value: the current one's where `keeps_form`, otherwise shape().
  const Shape& expected_shape(bool keeps_form) const { return keeps_form ? value().shape() : shape_; }
  // Throws InvalidArgument unless a source of this shape and dtype can be converted; `expected` may hold kOpenDim.
  // `shown_name` is what messages call the source.
  void check(const Shape& shape, DType dtype, const Shape& expected, const char* shown_name) const;

 private:
  const char* name_;
  Shape shape_;
  int64_t num_heads_;
  Use use_;
  std::optional<Source> source_;
  std::optional<ParameterValue> value_;
};

// A projection's weight as the part of a linear operation, whole and as one head.
LinearPart weight_part(const Tensor& value);

// "W_q.weight, W_k.weight", or "none".
std::string joined_names(std::span<const Parameter> parameters);

}  // namespace heed
