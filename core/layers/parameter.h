// SPDX-License-Identifier: Apache-2.0
// A named tensor of a layer that is trained or loaded, and its initial value.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "backends/context.h"
#include "base/host_allocator.h"
#include "layers/backward/lazy_packing.h"
#include "ops/linear.h"
#include "tensor/storage.h"
#include "tensor/tensor.h"

namespace heed {

// A dim that the options leave open. The first value sets it.
inline constexpr int64_t kOpenDim = -1;

// How initialize fills a parameter.
enum class Initializer {
  Xavier,  // normal numbers of variance 2 / fan_in, for weights (out, in)
  Zeros,   // for biases
  Ones,    // for gains, such as a norm's
  Normal,  // normal numbers of variance 1, for embeddings
};

// The input of a call that a projection reads: queries, keys or values.
enum class ProjectedInput { Queries, Keys, Values };

// What a parameter is for.
enum class Use {
  Projection,  // the weight of a linear operation, (out, in)
  Other,
};

// The feature of attention that a parameter belongs to.
enum class ParameterFeature { None, QkNorm, Sinks, RelativeBias };

// A bit of options->biases.
struct BiasBit {
  int32_t bit = 0;                 // 0: none
  const char* constant = nullptr;  // for messages
};

// A parameter that layers of a kind can have with some options. Each kind has one table of them.
struct PossibleParameter {
  const char* name;
  Use use = Use::Other;
  Initializer initializer = Initializer::Xavier;
  // The setting of an option that gives it to a layer, for messages; null: none.
  const char* option = nullptr;
  // Instead of `option`: the bit of options->biases that gives it to a layer.
  BiasBit bias_bit = {};
  ParameterFeature feature = ParameterFeature::None;
};

// A parameter's value.
struct ParameterValue {
  // Row-major. On the CPU a packed weight is stored only in `packed`: this tensor then has a dtype and a shape, and no data.
  Tensor tensor;
  // The packed form of a projection's weight; otherwise null.
  std::shared_ptr<const Storage> packed;
};

// What a layer and its ancestors share of a parameter.
struct SharedParameter {
  explicit SharedParameter(const HostAllocator& allocator) : transposed(allocator) {}

  std::optional<ParameterValue> value;
  bool is_trainable = true;
  // Of the value, for backward.
  LazyPacking transposed;
  uint64_t version = 0;
};

class Parameter {
 public:
  // A parameter of a kind of layer, without memory for a value. `num_heads`: how many heads share the projected axis:
  // the output axis, or the input axis of the output projection. With a projected input, `shape` is (output size,
  // kOpenDim) or has kOpenDim elsewhere: the open dim becomes the last dim of that input.
  // `possible`: static.
  Parameter(const PossibleParameter& possible, const Shape& shape, int64_t num_heads = 1,
            std::optional<ProjectedInput> projected_input = std::nullopt);
  // A copy of `stated` with memory for a value, from the allocator.
  Parameter(const Parameter& stated, const HostAllocator& allocator);
  // A child's parameter in its parent: it has the name "<child>.<name>" and shares the value.
  Parameter(const Parameter& of_child, std::string_view child, const HostAllocator& allocator);

  // In a tree of layers it begins with the names of the children, as in "0.self_attention.W_q.weight".
  const char* name() const { return name_.c_str(); }
  // The row of the table of its kind.
  const PossibleParameter& possible() const { return *possible_; }
  const Shape& shape() const { return shape_; }
  // The axis of the open dim. Only with a projected input.
  int32_t open_axis() const { return shape_[0] == kOpenDim ? 0 : 1; }
  int64_t num_heads() const { return num_heads_; }
  std::optional<ProjectedInput> projected_input() const { return projected_input_; }
  Initializer initializer() const { return possible_->initializer; }
  // The row that is initialized to 0; negative: none.
  int64_t zero_row() const { return zero_row_; }
  void set_zero_row(int64_t row) { zero_row_ = row; }
  // Another use than that in the table.
  void set_use(Use use) { use_ = use; }
  // The address of what the parameter of a layer shares with the same parameter of the layer's ancestors and children.
  const void* identity() const { return shared_.get(); }
  bool is_set() const { return shared_ != nullptr && shared_->value.has_value(); }
  // Row-major, in the layer's memory; without data if only the packed form is kept. It is replaced as a whole, or written in
  // place by an optimizer, if no snapshot shares its data.
  const Tensor& value() const { return shared_->value->tensor; }
  // The packed form; null if the device reads the value itself.
  const void* packed() const { return forms().packed == nullptr ? nullptr : forms().packed->begin(); }
  // All forms of the value.
  const ParameterValue& forms() const { return *shared_->value; }
  void set(ParameterValue value) {
    set_updated(std::move(value));
    shared_->transposed.clear();
  }
  // The same where the transposed form has got the new numbers already.
  void set_updated(ParameterValue value) {
    shared_->value = std::move(value);
    ++shared_->version;
  }
  // Whether training changes it; true until set_trainable says otherwise. Only of a parameter of a layer.
  bool is_trainable() const { return shared_->is_trainable; }
  void set_trainable(bool is_trainable) const { shared_->is_trainable = is_trainable; }
  // Whether something else has the memory of a form of the value, as a snapshot has. Such memory may not be written.
  bool is_shared() const { return (value().has_data() && !value().is_only_user()) || forms().packed.use_count() > 1; }
  // How often the parameter got other numbers.
  uint64_t version() const { return shared_->version; }
  // The packed form of the transposed weight, (in, out), by which backward multiplies; null if the value is not packed, and
  // on a device with its own memory. The first call makes it, and the next value ends it. May be called from many threads. Throws the errors of
  // unpacked_value and allocate_packed.
  const void* packed_transposed(const std::shared_ptr<const Context>& context) const;
  // The same if it has been made, to be written; otherwise null.
  void* transposed() const { return shared_->transposed.get(); }
  // Whether the name is the prefix, or begins with it and a dot; all do with an empty prefix.
  bool has_prefix(std::string_view prefix) const;
  // The value with data: itself, or unpacked into memory of its own. Throws OutOfMemory and the errors of `read`.
  Tensor unpacked_value(const std::shared_ptr<const Context>& context) const;
  // Writes the value, row-major, to host memory: from the device, or unpacked on the context's threads. Throws the errors of
  // the device and of the host's executor.
  void read(const Context& context, std::byte* destination) const;

  // Returns the value in the forms that are kept of it. Throws the errors of allocate_packed.
  ParameterValue with_packed(const std::shared_ptr<const Context>& context, const Tensor& value) const;
  // Allocates undefined memory for the packed form of a value; null if there is none. Throws OutOfMemory, and
  // InvalidArgument for more bytes than any memory has.
  std::shared_ptr<Storage> allocate_packed(const std::shared_ptr<const Context>& context, DType dtype,
                                           const Shape& shape) const;

  // Throws NotInitialized unless there is a value.
  void require_set() const;
  // The dtype to keep a value in whose source has dtype `source`: with keeps_form that of the current value; otherwise
  // `source`, or F32 for F64.
  DType kept_dtype(DType source, bool keeps_form) const;
  // The dims required of a new value: with keeps_form those of the current value, otherwise shape().
  const Shape& expected_shape(bool keeps_form) const { return keeps_form ? value().shape() : shape_; }
  // Throws InvalidArgument unless a source of this shape and dtype can be converted to the parameter; `expected` may
  // contain kOpenDim. `shown_name`: the name of the source in messages.
  void check(const Shape& shape, DType dtype, const Shape& expected, const char* shown_name) const;

 private:
  Parameter(const Parameter& other, HostString name, std::shared_ptr<SharedParameter> shared);

  const PossibleParameter* possible_;
  HostString name_;
  Shape shape_;
  int64_t num_heads_;
  Use use_;
  std::optional<ProjectedInput> projected_input_;
  int64_t zero_row_ = -1;
  // Shared by a layer and its ancestors. Null for a parameter that belongs to no layer.
  std::shared_ptr<SharedParameter> shared_;
};

// Describes a projection's weight (n, e) as the part of a linear operation, with all outputs as one head. Its rows are
// contiguous, and it has no data.
LinearPart weight_part(DType dtype, const Shape& shape);

// For example "W_q.weight, W_k.weight"; "none" for no parameters.
std::string joined_names(std::span<const Parameter> parameters);

}  // namespace heed
