// SPDX-License-Identifier: Apache-2.0
#include "fuzz/calls/elements.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "property/support/host_tensor.h"
#include "reference/number_format.h"

namespace heed::fuzz {
namespace {

using reference::Format;

template <typename T>
std::vector<double> decode_as(const std::vector<uint8_t>& bytes) {
  std::vector<double> numbers;
  for (size_t at = 0; at + sizeof(T) <= bytes.size(); at += sizeof(T)) {
    T number;
    std::memcpy(&number, bytes.data() + at, sizeof number);
    numbers.push_back(static_cast<double>(number));
  }
  return numbers;
}

std::vector<double> decode_half(Format format, const std::vector<uint8_t>& bytes) {
  std::vector<double> numbers;
  for (size_t at = 0; at + 2 <= bytes.size(); at += 2) {
    numbers.push_back(reference::decode_bits(format, static_cast<uint16_t>(bytes[at] | bytes[at + 1] << 8)));
  }
  return numbers;
}

template <typename T>
double saturated(double number) {
  if (std::isnan(number)) return 0;
  const double whole = std::trunc(number);
  // The largest int64_t is not a double; 2^63 is its upper limit as a double.
  return std::clamp(whole, static_cast<double>(std::numeric_limits<T>::min()),
                    static_cast<double>(std::numeric_limits<T>::max()));
}

template <typename Visit>
void for_each_element(const TensorModel& tensor, Visit visit) {
  property::for_each_index(tensor.dims, [&](const Dims& index, size_t) {
    int64_t offset = 0;
    for (size_t axis = 0; axis < index.size(); ++axis) offset += index[axis] * tensor.strides[axis];
    visit(tensor.first + offset * static_cast<int64_t>(size_of(tensor.dtype)));
  });
}

}  // namespace

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

std::optional<int64_t> small_product(const Dims& dims) {
  if (std::find(dims.begin(), dims.end(), 0) != dims.end()) return 0;
  int64_t product = 1;
  for (const int64_t dim : dims) {
    if (dim < 0 || dim > kMaxElements) return std::nullopt;
    product *= dim;
    if (product > kMaxElements) return std::nullopt;
  }
  return product;
}

bool are_small(const Dims& dims) {
  return small_product(dims) &&
         std::all_of(dims.begin(), dims.end(), [](int64_t dim) { return dim >= 0 && dim <= kMaxElements; });
}

Dims row_major(const Dims& dims) { return are_small(dims) ? property::row_major_strides(dims) : Dims(dims.size()); }

std::vector<double> decode(heed_dtype dtype, const std::vector<uint8_t>& bytes) {
  switch (dtype) {
    case HEED_F32: return decode_as<float>(bytes);
    case HEED_F16: return decode_half(Format::F16, bytes);
    case HEED_BF16: return decode_half(Format::BF16, bytes);
    case HEED_F64: return decode_as<double>(bytes);
    case HEED_I32: return decode_as<int32_t>(bytes);
    case HEED_I64: return decode_as<int64_t>(bytes);
    case HEED_I8: return decode_as<int8_t>(bytes);
    case HEED_U8: return decode_as<uint8_t>(bytes);
    default: break;
  }
  std::vector<double> truths;
  for (const uint8_t byte : bytes) truths.push_back(byte != 0 ? 1 : 0);
  return truths;
}

double converted(heed_dtype dtype, double number) {
  switch (dtype) {
    case HEED_F32: return reference::round_to(Format::F32, number);
    case HEED_F16: return reference::round_to(Format::F16, number);
    case HEED_BF16: return reference::round_to(Format::BF16, number);
    case HEED_F64: return number;
    case HEED_I32: return saturated<int32_t>(number);
    case HEED_I64: return saturated<int64_t>(number);
    case HEED_I8: return saturated<int8_t>(number);
    case HEED_U8: return saturated<uint8_t>(number);
    default: return number != 0 ? 1 : 0;
  }
}

std::vector<uint8_t> TensorModel::gather() const {
  std::vector<uint8_t> bytes;
  for_each_element(*this,
                   [&](const uint8_t* element) { bytes.insert(bytes.end(), element, element + size_of(dtype)); });
  return bytes;
}

std::set<const uint8_t*> TensorModel::addresses() const {
  std::set<const uint8_t*> addresses;
  for_each_element(*this, [&](const uint8_t* element) { addresses.insert(element); });
  return addresses;
}

}  // namespace heed::fuzz
