// SPDX-License-Identifier: Apache-2.0
#include "layers/parameter.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

#include "base/error.h"
#include "base/rounding.h"
#include "tensor/dtype_term.h"

namespace heed {
namespace {

// As "(100, any)".
std::string shown_shape(const Shape& shape) {
  std::string text = "(";
  for (int32_t axis = 0; axis < shape.rank; ++axis) {
    if (axis > 0) text += ", ";
    text += shape[axis] == kOpenDim ? "any" : std::to_string(shape[axis]);
  }
  return text + ")";
}

}  // namespace

Parameter::Parameter(const PossibleParameter& possible, const Shape& shape, int64_t num_heads,
                     std::optional<ProjectedInput> projected_input)
    : possible_(&possible),
      name_(possible.name, HostAllocator()),
      shape_(shape),
      num_heads_(num_heads),
      use_(possible.use),
      projected_input_(projected_input) {}

Parameter::Parameter(const Parameter& other, HostString name, std::shared_ptr<SharedParameter> shared)
    : possible_(other.possible_),
      name_(std::move(name)),
      shape_(other.shape_),
      num_heads_(other.num_heads_),
      use_(other.use_),
      projected_input_(other.projected_input_),
      zero_row_(other.zero_row_),
      shared_(std::move(shared)) {}

Parameter::Parameter(const Parameter& stated, const HostAllocator& allocator)
    : Parameter(stated, HostString(stated.name_, allocator), host_make_shared<SharedParameter>(allocator, allocator)) {}

Parameter::Parameter(const Parameter& of_child, std::string_view child, const HostAllocator& allocator)
    : Parameter(of_child, HostString(child, allocator) + "." + of_child.name_, of_child.shared_) {}

bool Parameter::has_prefix(std::string_view prefix) const {
  const std::string_view name = name_;
  if (prefix.empty()) return true;
  return name.starts_with(prefix) && (name.size() == prefix.size() || name[prefix.size()] == '.');
}

void Parameter::check(const Shape& shape, DType dtype, const Shape& expected, const char* shown_name) const {
  bool fits = shape.rank == expected.rank;
  for (int32_t axis = 0; fits && axis < shape.rank; ++axis)
    fits = expected[axis] == kOpenDim || expected[axis] == shape[axis];
  if (!fits) {
    fail(Status::InvalidArgument, "%s has " ARGUMENT("dims") " %s, expected %s for %s", shown_name,
         to_string(shape).c_str(), shown_shape(expected).c_str(), name());
  }
  if (!is_floating(dtype)) {
    fail(Status::InvalidArgument,
         "%s is %s, expected " DTYPE("F32") ", " DTYPE("F16") ", " DTYPE("BF16") " or " DTYPE("F64") " for %s",
         shown_name, term_of(dtype), name());
  }
}

void Parameter::require_set() const {
  if (is_set()) return;
  fail(
      Status::NotInitialized,
      "the " WORD("layer") " is not initialized: %s is not set, expected " FUNCTION(
          "heed_layer_initialize") ", " FUNCTION("heed_layer_load") " or " FUNCTION("heed_layer_set_parameter") " firs"
                                                                                                                "t",
      name());
}

DType Parameter::kept_dtype(DType source, bool keeps_form) const {
  if (keeps_form) return value().dtype();
  return source == DType::F64 ? DType::F32 : source;
}

std::shared_ptr<Storage> Parameter::allocate_packed(const std::shared_ptr<const Context>& context, DType dtype,
                                                    const Shape& shape) const {
  if (use_ != Use::Projection) return nullptr;
  const size_t num_bytes = context->packed_bytes(weight_part(dtype, shape), shape[1]);
  if (num_bytes > static_cast<size_t>(PTRDIFF_MAX)) {
    fail(Status::InvalidArgument,
         "%s would have " ARGUMENT("dims") " %s, whose packed form overflows, expected at most 2^63 - 1 bytes", name(),
         to_string(shape).c_str());
  }
  return num_bytes == 0 ? nullptr : Storage::allocate(context, num_bytes, Contents::Undefined);
}

ParameterValue Parameter::with_packed(const std::shared_ptr<const Context>& context, const Tensor& value) const {
  std::shared_ptr<Storage> packed = allocate_packed(context, value.dtype(), value.shape());
  if (packed == nullptr) return {value, nullptr};
  LinearPart part = weight_part(value.dtype(), value.shape());
  part.weight.data = value.data();
  context->pack(part, value.dim(1), {0, value.dim(0), 0, value.dim(1)}, packed->begin());
  return {context->is_host() ? Tensor::without_data(context, value.dtype(), value.shape()) : value, std::move(packed)};
}

const void* Parameter::packed_transposed(const std::shared_ptr<const Context>& context) const {
  if (packed() == nullptr || !context->is_host()) return nullptr;
  return shared_->transposed.get_or_make([&]() -> std::shared_ptr<const Storage> {
    const Tensor whole = unpacked_value(context);
    const int64_t num_outputs = whole.dim(0);
    const int64_t num_inputs = whole.dim(1);
    const Shape transposed = {num_inputs, num_outputs};
    std::shared_ptr<Storage> storage = allocate_packed(context, whole.dtype(), transposed);
    LinearPart part = weight_part(whole.dtype(), transposed);
    part.weight.strides[2] = 1;
    part.weight.strides[3] = num_inputs;
    part.weight.data = whole.data();
    context->pack(part, num_outputs, {0, num_inputs, 0, num_outputs}, storage->begin());
    return storage;
  });
}

Tensor Parameter::unpacked_value(const std::shared_ptr<const Context>& context) const {
  if (value().has_data()) return value();
  Tensor unpacked = Tensor::undefined(context, value().dtype(), value().shape());
  read(*context, unpacked.data());
  return unpacked;
}

void Parameter::read(const Context& context, std::byte* destination) const {
  const Tensor& value = this->value();
  const size_t num_bytes = value.num_bytes();
  if (value.has_data()) return context.copy(destination, value.data(), num_bytes, Direction::ToHost);
  // The rows of a task fit the second-level cache, unless whole panels are larger.
  constexpr int64_t kTaskBytes = int64_t{256} << 10;
  const int64_t num_rows = value.dim(0);
  const int64_t row_bytes = value.dim(1) * static_cast<int64_t>(size_of(value.dtype()));
  const int64_t rows = round_up(divide_up(kTaskBytes, row_bytes), kWholePanelRows);
  context.for_each(divide_up(num_rows, rows), 2 * static_cast<double>(num_bytes), [&](int64_t task, int32_t) {
    const int64_t first = task * rows;
    LinearPart part = weight_part(value.dtype(), value.shape());
    part.weight.data = destination + first * row_bytes;
    context.unpack(part, value.dim(1), {first, std::min(num_rows, first + rows), 0, value.dim(1)}, packed());
  });
}

LinearPart weight_part(DType dtype, const Shape& shape) {
  LinearPart part;
  part.output_size = part.head_size = shape[0];
  part.weight.dtype = dtype;
  part.weight.given = 1;
  part.weight.strides[2] = shape[1];
  part.weight.strides[3] = 1;
  return part;
}

std::string joined_names(std::span<const Parameter> parameters) {
  std::string names;
  for (const Parameter& parameter : parameters) {
    if (!names.empty()) names += ", ";
    names += parameter.name();
  }
  return names.empty() ? "none" : names;
}

}  // namespace heed
