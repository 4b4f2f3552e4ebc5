// SPDX-License-Identifier: Apache-2.0
// The fuzzer's model of a tensor, computed without heed, to compare with what heed reports.
#pragma once

#include <heed/heed.h>

#include <cstdint>
#include <optional>
#include <set>
#include <vector>

#include "property/support/array.h"

namespace heed::fuzz {

using property::Array;
using property::Dims;

// Tensors with more elements are not read: with strides of zero a view can have any number.
inline constexpr int64_t kMaxElements = 4096;

size_t size_of(heed_dtype dtype);

// The product of the dims, or nothing if it is above kMaxElements.
std::optional<int64_t> small_product(const Dims& dims);

// Whether every dim is small. The product alone does not show that, since one dim may be zero.
bool are_small(const Dims& dims);

// Row-major strides if the dims are small. Otherwise zeros, since such a tensor is never addressed.
Dims row_major(const Dims& dims);

// The numbers in dense elements.
std::vector<double> decode(heed_dtype dtype, const std::vector<uint8_t>& bytes);

// The number after heed_tensor_copy has converted it to a dtype.
double converted(heed_dtype dtype, double number);

struct TensorModel {
  heed_dtype dtype = HEED_F32;
  Dims dims;
  Dims strides;
  uint8_t* first = nullptr;  // the element at index (0, 0, ...); NULL if its address is unknown
  bool has_no_memory = false;
  bool is_read_only = false;

  // A tensor without elements needs no memory, so it is not shape-only, even as a view of a shape-only tensor.
  bool is_shape_only() const { return has_no_memory && small_product(dims) != 0; }

  // Whether it has at most kMaxElements elements, in memory that the program may read.
  bool can_be_read() const { return first != nullptr && small_product(dims).has_value(); }

  // The bytes of the elements in row-major order, computed without heed. Only if can_be_read().
  std::vector<uint8_t> gather() const;

  // The address of the first byte of every element. Only if can_be_read().
  std::set<const uint8_t*> addresses() const;
};

}  // namespace heed::fuzz
