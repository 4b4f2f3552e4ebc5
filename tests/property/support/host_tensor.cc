// SPDX-License-Identifier: Apache-2.0
#include "support/host_tensor.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <numeric>
#include <string_view>
#include <utility>

#include "property/support/handles.h"

namespace heed::property {
namespace {

constexpr uint8_t kUnusedByte = 0xFF;

size_t size_of(heed_dtype dtype) {
  switch (dtype) {
    case HEED_F64:
    case HEED_I64: return 8;
    case HEED_F32:
    case HEED_I32: return 4;
    case HEED_F16:
    case HEED_BF16: return 2;
    default: return 1;
  }
}

template <typename T>
void store_as(double number, uint8_t* bytes) {
  const T value = static_cast<T>(number);
  std::memcpy(bytes, &value, sizeof value);
}

template <typename T>
double load_as(const uint8_t* bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof value);
  return static_cast<double>(value);
}

void store(heed_dtype dtype, double number, uint8_t* bytes) {
  switch (dtype) {
    case HEED_F32: return store_as<float>(number, bytes);
    case HEED_F64: return store_as<double>(number, bytes);
    case HEED_I32: return store_as<int32_t>(number, bytes);
    case HEED_I64: return store_as<int64_t>(number, bytes);
    case HEED_I8: return store_as<int8_t>(number, bytes);
    case HEED_F16:
    case HEED_BF16: {
      const uint16_t bits = reference::encode_bits(format_of(dtype), number);
      return static_cast<void>(std::memcpy(bytes, &bits, sizeof bits));
    }
    default: return store_as<uint8_t>(number, bytes);
  }
}

double load(heed_dtype dtype, const uint8_t* bytes) {
  switch (dtype) {
    case HEED_F32: return load_as<float>(bytes);
    case HEED_F64: return load_as<double>(bytes);
    case HEED_I32: return load_as<int32_t>(bytes);
    case HEED_I64: return load_as<int64_t>(bytes);
    case HEED_I8: return load_as<int8_t>(bytes);
    case HEED_F16:
    case HEED_BF16: {
      uint16_t bits = 0;
      std::memcpy(&bits, bytes, sizeof bits);
      return reference::decode_bits(format_of(dtype), bits);
    }
    default: return load_as<uint8_t>(bytes);
  }
}

// Whether the context's device has a memory of its own.
bool has_own_memory(const heed_context* context) {
  char text[1024] = "";
  size_t num_bytes = 0;
  check(heed_context_describe(context, text, sizeof text, &num_bytes));
  return std::string_view(text).find("\"ascend\"") != std::string_view::npos;
}

double round_to_dtype(heed_dtype dtype, double number) {
  uint8_t bytes[8];
  store(dtype, number, bytes);
  return load(dtype, bytes);
}

}  // namespace

Dims row_major_strides(const Dims& dims) {
  Dims strides(dims.size());
  int64_t stride = 1;
  for (size_t axis = dims.size(); axis-- > 0;) {
    strides[axis] = stride;
    stride *= std::max<int64_t>(dims[axis], 1);
  }
  return strides;
}

Dims make_strides(Layout layout, const Dims& dims, Random& random) {
  if (dims.empty()) return {};
  const auto rank = static_cast<int64_t>(dims.size());
  Dims strides = row_major_strides(dims);
  switch (layout) {
    case Layout::RowMajor: break;
    case Layout::Transposed: {
      std::vector<size_t> order(dims.size());
      std::iota(order.begin(), order.end(), size_t{0});
      for (int64_t i = rank - 1; i > 0; --i)
        std::swap(order[static_cast<size_t>(i)], order[static_cast<size_t>(random.below(i + 1))]);
      if (std::is_sorted(order.begin(), order.end())) std::reverse(order.begin(), order.end());
      int64_t stride = 1;
      for (size_t i = order.size(); i-- > 0;) {
        strides[order[i]] = stride;
        stride *= std::max<int64_t>(dims[order[i]], 1);
      }
      break;
    }
    case Layout::Padded: {
      int64_t stride = 1 + random.below(2);
      for (size_t axis = dims.size(); axis-- > 0;) {
        strides[axis] = stride;
        stride = stride * std::max<int64_t>(dims[axis], 1) + 1 + random.below(3);
      }
      break;
    }
    case Layout::Reversed:
    case Layout::Repeated: {
      const int64_t factor = layout == Layout::Reversed ? -1 : 0;
      const auto always = static_cast<size_t>(random.below(rank));
      for (size_t axis = 0; axis < dims.size(); ++axis) {
        if (axis == always || random.chance(0.3)) strides[axis] *= factor;
      }
      break;
    }
  }
  return strides;
}

const char* name_of(heed_dtype dtype) {
  switch (dtype) {
    case HEED_F32: return "F32";
    case HEED_F16: return "F16";
    case HEED_BF16: return "BF16";
    case HEED_F64: return "F64";
    case HEED_I32: return "I32";
    case HEED_I64: return "I64";
    case HEED_I8: return "I8";
    case HEED_U8: return "U8";
    case HEED_BOOL: return "BOOL";
    default: return "INVALID";
  }
}

reference::Format format_of(heed_dtype dtype) {
  if (dtype == HEED_F16) return reference::Format::F16;
  return dtype == HEED_BF16 ? reference::Format::BF16 : reference::Format::F32;
}

Input make_input(Array contents, heed_dtype dtype, Dims strides) {
  if (std::find(strides.begin(), strides.end(), 0) == strides.end()) {
    for (double& number : contents.values) number = round_to_dtype(dtype, number);
    return {std::move(contents), dtype, std::move(strides)};
  }
  Array repeated = contents;
  for_each_index(contents.dims, [&](const Dims& index, size_t position) {
    int64_t from = 0;
    for (size_t axis = 0; axis < index.size(); ++axis) {
      from = from * contents.dims[axis] + (strides[axis] == 0 ? 0 : index[axis]);
    }
    repeated.values[position] = round_to_dtype(dtype, contents.values[static_cast<size_t>(from)]);
  });
  return {std::move(repeated), dtype, std::move(strides)};
}

Input make_input(Array contents, heed_dtype dtype) {
  Dims strides = row_major_strides(contents.dims);
  return make_input(std::move(contents), dtype, std::move(strides));
}

HostTensor::HostTensor(heed_context* context, const Input& input)
    : dtype_(input.dtype), dims_(input.contents.dims), strides_(input.strides) {
  allocate(input.unused_before);
  for_each_index(dims_, [&](const Dims& index, size_t position) {
    store(dtype_, input.contents.values[position], memory_.data() + offset_of(index));
  });
  original_hash_ = hash();
  make_tensor(context);
}

HostTensor::HostTensor(heed_context* context, heed_dtype dtype, Dims dims, Dims strides, int64_t unused_before)
    : dtype_(dtype), dims_(std::move(dims)), strides_(std::move(strides)) {
  allocate(unused_before);
  make_tensor(context);
}

void HostTensor::allocate(int64_t unused_before) {
  int64_t last = 0;
  for (size_t axis = 0; axis < dims_.size(); ++axis) {
    const int64_t reach = (dims_[axis] - 1) * strides_[axis];
    (reach < 0 ? first_ : last) += std::abs(reach);
  }
  if (num_elements(dims_) == 0) first_ = last = 0;
  first_ += unused_before;
  memory_.assign(static_cast<size_t>(first_ + last + 1) * size_of(dtype_), kUnusedByte);
}

void HostTensor::make_tensor(heed_context* context) {
  heed_tensor* tensor = nullptr;
  if (has_own_memory(context)) {
    const auto count = static_cast<int64_t>(memory_.size() / size_of(dtype_));
    check(heed_tensor_create(context, dtype_, 1, &count, &tensor));
    on_device_.reset(tensor);
    check(heed_tensor_write(tensor, memory_.data(), memory_.size()));
    check(heed_tensor_view(tensor, static_cast<int32_t>(dims_.size()), dims_.data(), strides_.data(), first_, &tensor));
    tensor_.reset(tensor);
    return;
  }
  check(heed_tensor_wrap(context, dtype_, static_cast<int32_t>(dims_.size()), dims_.data(), strides_.data(),
                         memory_.data() + static_cast<size_t>(first_) * size_of(dtype_), nullptr, nullptr, &tensor));
  tensor_.reset(tensor);
}

const std::vector<uint8_t>& HostTensor::memory() const {
  if (on_device_ != nullptr) check(heed_tensor_read(on_device_.get(), memory_.data(), memory_.size()));
  return memory_;
}

size_t HostTensor::hash() const {
  const std::vector<uint8_t>& bytes = memory();
  return std::hash<std::string_view>()({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

size_t HostTensor::offset_of(const Dims& index) const {
  const int64_t element = std::inner_product(index.begin(), index.end(), strides_.begin(), first_);
  return static_cast<size_t>(element) * size_of(dtype_);
}

Array HostTensor::read() const {
  Array result = filled(dims_, 0.0);
  const uint8_t* const data = memory().data();
  for_each_index(dims_, [&](const Dims& index, size_t position) {
    result.values[position] = load(dtype_, data + offset_of(index));
  });
  return result;
}

std::vector<uint8_t> HostTensor::read_bytes() const {
  std::vector<uint8_t> bytes(static_cast<size_t>(num_elements(dims_)) * size_of(dtype_));
  const uint8_t* const data = memory().data();
  for_each_index(dims_, [&](const Dims& index, size_t position) {
    std::memcpy(bytes.data() + position * size_of(dtype_), data + offset_of(index), size_of(dtype_));
  });
  return bytes;
}

bool HostTensor::padding_is_untouched() const {
  if (memory().size() == static_cast<size_t>(num_elements(dims_)) * size_of(dtype_)) return true;
  std::vector<uint8_t> rest = memory_;
  for_each_index(dims_, [&](const Dims& index, size_t) {
    std::memset(rest.data() + offset_of(index), kUnusedByte, size_of(dtype_));
  });
  return std::all_of(rest.begin(), rest.end(), [](uint8_t byte) { return byte == kUnusedByte; });
}

}  // namespace heed::property
