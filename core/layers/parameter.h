// SPDX-License-Identifier: Apache-2.0
// A named tensor that a layer learns or loads, and how it begins.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "backends/context.h"
#include "base/host_allocator.h"
#include "ops/linear.h"
#include "tensor/storage.h"
#include "tensor/tensor.h"

namespace heed {

// A dim that the options leave open, until the first value sets it.
inline constexpr int64_t kOpenDim = -1;

// How initialize fills a parameter.
enum class Initializer {
  Xavier,  // normal numbers of variance 2 / fan_in, for weights (out, in)
  Zeros,   // for biases
  Ones,    // for gains, as a norm's
};

// The input of a call that a projection reads.
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
  // As a kind of layer states it, without memory for a value. `num_heads`: how many heads share the axis of the features
  // that are projected to or, in an output's weight, from. With a source, `shape` is (output size, kOpenDim): the last
  // dim of that input is the open one.
  Parameter(const char* name, const Shape& shape, int64_t num_heads = 1, Use use = Use::Other,
            std::optional<Source> source = std::nullopt, Initializer initializer = Initializer::Xavier)
      : name_(name, HostAllocator()),
        shape_(shape),
        num_heads_(num_heads),
        use_(use),
        source_(source),
        initializer_(initializer) {}
  // The same with memory for a value, all of it the allocator's.
  Parameter(const Parameter& stated, const HostAllocator& allocator)
      : Parameter(stated, HostString(stated.name_, allocator),
                  host_make_shared<std::optional<ParameterValue>>(allocator)) {}
  // The parameter of a child as its parent has it: under the name "<child>.<name>", with the same value.
  Parameter(const Parameter& of_child, std::string_view child, const HostAllocator& allocator)
      : Parameter(of_child, HostString(child, allocator) + "." + of_child.name_, of_child.value_) {}

  // In a tree of layers with the names of the children before it, as "0.self_attention.W_q.weight".
  const char* name() const { return name_.c_str(); }
  const Shape& shape() const { return shape_; }
  int64_t num_heads() const { return num_heads_; }
  std::optional<Source> source() const { return source_; }
  Initializer initializer() const { return initializer_; }
  bool is_set() const { return value_ != nullptr && value_->has_value(); }
  // Row-major, in the layer's memory. Replaced as a whole, never written: snapshots share it.
  const Tensor& value() const { return (*value_)->tensor; }
  // The value as the device reads it, null where it reads the value itself.
  const void* packed() const { return (*value_)->packed == nullptr ? nullptr : (*value_)->packed->begin(); }
  void set(ParameterValue value) { *value_ = std::move(value); }

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
  Parameter(const Parameter& other, HostString name, std::shared_ptr<std::optional<ParameterValue>> value)
      : name_(std::move(name)),
        shape_(other.shape_),
        num_heads_(other.num_heads_),
        use_(other.use_),
        source_(other.source_),
        initializer_(other.initializer_),
        value_(std::move(value)) {}

  HostString name_;
  Shape shape_;
  int64_t num_heads_;
  Use use_;
  std::optional<Source> source_;
  Initializer initializer_;
  // Shared by a layer and those that it is a child of. Null where there is no layer.
  std::shared_ptr<std::optional<ParameterValue>> value_;
};

// A projection's weight as the part of a linear operation, whole and as one head.
LinearPart weight_part(const Tensor& value);

// "W_q.weight, W_k.weight", or "none".
std::string joined_names(std::span<const Parameter> parameters);

}  // namespace heed
