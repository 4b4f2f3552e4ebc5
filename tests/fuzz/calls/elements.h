// SPDX-License-Identifier: Apache-2.0
// A tensor as the fuzzer knows it, beside what heed says of it.
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

// More elements are not looked at: views with strides of zero can have as many as they like.
inline constexpr int64_t kMaxElements = 4096;

size_t size_of(heed_dtype dtype);

// The product, or nothing where it is above kMaxElements.
std::optional<int64_t> small_product(const Dims& dims);

// Whether every dim is one of a tensor that can be made and looked at, which a dim of zero alone does not say.
bool are_small(const Dims& dims);

// Row-major strides of small dims; of others zeros, since nothing is ever addressed by them.
Dims row_major(const Dims& dims);

// What the bytes of dense elements stand for.
std::vector<double> decode(heed_dtype dtype, const std::vector<uint8_t>& bytes);

// What heed_tensor_copy makes of a number of another dtype.
double converted(heed_dtype dtype, double number);

struct TensorModel {
  heed_dtype dtype = HEED_F32;
  Dims dims;
  Dims strides;
  uint8_t* first = nullptr;  // the element at index (0, 0, ...); NULL where it has no address for us
  bool has_no_memory = false;
  bool is_read_only = false;

  // Without elements there is nothing that memory would be missed for, also in a view of a shape.
  bool is_shape_only() const { return has_no_memory && small_product(dims) != 0; }

  // At most kMaxElements, and in memory that we may look at.
  bool can_be_read() const { return first != nullptr && small_product(dims).has_value(); }

  // The elements' bytes in row-major order, without heed. Only if can_be_read().
  std::vector<uint8_t> gather() const;

  // The first byte of every element. Only if can_be_read().
  std::set<const uint8_t*> addresses() const;
};

}  // namespace heed::fuzz
