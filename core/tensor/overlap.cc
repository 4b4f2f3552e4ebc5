// SPDX-License-Identifier: Apache-2.0
#include "tensor/overlap.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <utility>

#include "base/error.h"
#include "tensor/byte_span.h"
#include "tensor/tensor.h"

namespace heed {
namespace {

// Is there a choice of 0 <= x[i] <= limit[i] with sum of coefficient[i] * x[i] == target? Coefficients are positive.
//
// Solved by search, largest coefficient first. The terms of the smaller coefficients add at most a known sum, which
// bounds each choice from both sides: for tensors made by slicing and transposing one or two candidates remain at each
// level. The number of steps is limited because the problem is NP-hard.
class BoundedSum {
 public:
  void add(int64_t coefficient, int64_t limit) {
    if (coefficient == 0 || limit <= 0) return;
    for (size_t i = 0; i < count_; ++i) {
      if (terms_[i].coefficient == coefficient) {
        terms_[i].limit += limit;
        return;
      }
    }
    terms_[count_++] = {coefficient, limit, 0, 0};
  }

  bool may_reach(int64_t target) {
    std::sort(terms_.begin(), terms_.begin() + static_cast<std::ptrdiff_t>(count_),
              [](const Term& a, const Term& b) { return a.coefficient > b.coefficient; });
    int64_t reach = 0;
    int64_t divisor = 0;
    for (size_t i = count_; i-- > 0;) {
      terms_[i].reach_below = reach;
      reach += terms_[i].coefficient * terms_[i].limit;
      divisor = std::gcd(divisor, terms_[i].coefficient);
      terms_[i].divisor = divisor;
    }
    if (target < 0 || target > reach) return false;
    steps_ = 0;
    return search(0, target);
  }

 private:
  struct Term {
    int64_t coefficient;
    int64_t limit;
    int64_t reach_below;  // the largest sum of the smaller coefficients
    int64_t divisor;      // greatest common divisor of this and the smaller coefficients
  };

  bool search(size_t i, int64_t target) {
    if (target == 0) return true;
    if (i == count_ || target % terms_[i].divisor != 0) return false;
    const Term& term = terms_[i];
    const int64_t missing = std::max<int64_t>(target - term.reach_below, 0);
    const int64_t least = (missing + term.coefficient - 1) / term.coefficient;
    const int64_t most = std::min(term.limit, target / term.coefficient);
    for (int64_t x = most; x >= least; --x) {
      if (++steps_ > kMaxSteps || search(i + 1, target - x * term.coefficient)) return true;
    }
    return false;
  }

  static constexpr int kMaxSteps = 100'000;

  // One term for each axis of two tensors, and one for the bytes of an element.
  std::array<Term, 2 * kMaxRank + 1> terms_{};
  size_t count_ = 0;
  int steps_ = 0;
};

int64_t element_size(const Tensor& tensor) { return static_cast<int64_t>(size_of(tensor.dtype())); }

// Elements of `size` bytes along the axes of a tensor, or a single one if `axes` is null.
struct Elements {
  const Tensor* axes;
  uintptr_t begin;    // address of the first byte of the lowest element
  int64_t num_bytes;  // from there to the end of the highest element
  int64_t size;
};

Elements elements_of(const Tensor& tensor) {
  const ByteSpan span = byte_span_of(tensor);
  const uintptr_t begin = reinterpret_cast<uintptr_t>(tensor.data()) - static_cast<uintptr_t>(span.before);
  return {&tensor, begin, span.num_bytes, element_size(tensor)};
}

bool share_a_byte(const Elements& a, const Elements& b) {
  const auto distance = static_cast<int64_t>(b.begin - a.begin);
  if (distance >= a.num_bytes || -distance >= b.num_bytes) return false;

  // byte of a == byte of b, with b's indices counted from their ends so that every coefficient is positive:
  // sum |stride_a| * x + sum |stride_b| * (dim - 1 - y) + byte in a + (last byte - byte in b) == distance +
  // num_bytes_b - 1.
  BoundedSum sum;
  for (const Elements* elements : {&a, &b}) {
    if (elements->axes == nullptr) continue;
    for (int32_t axis = 0; axis < elements->axes->rank(); ++axis) {
      const int64_t stride = elements->axes->stride(axis) * element_size(*elements->axes);
      sum.add(stride < 0 ? -stride : stride, elements->axes->dim(axis) - 1);
    }
  }
  sum.add(1, a.size + b.size - 2);
  return sum.may_reach(distance + b.num_bytes - 1);
}

}  // namespace

bool overlaps(const Tensor& a, const Tensor& b) {
  if (a.num_elements() == 0 || b.num_elements() == 0 || a.data() == nullptr || b.data() == nullptr) return false;
  return share_a_byte(elements_of(a), elements_of(b));
}

bool overlaps(const Tensor& tensor, const void* begin, size_t num_bytes) {
  if (tensor.num_elements() == 0 || tensor.data() == nullptr || num_bytes == 0) return false;
  // The block is treated as one element of its size.
  const auto size = static_cast<int64_t>(num_bytes);
  return share_a_byte(elements_of(tensor), {nullptr, reinterpret_cast<uintptr_t>(begin), size, size});
}

void require_separate(const Tensor& tensor, const char* name, const Tensor& other, const char* other_name) {
  if (!overlaps(tensor, other)) return;
  fail(Status::InvalidArgument, "%s shares memory with %s, expected separate memory", name, other_name);
}

void require_separate_from_workspace(const Tensor& tensor, const char* name, const void* workspace, size_t num_bytes) {
  if (!overlaps(tensor, workspace, num_bytes)) return;
  fail(Status::InvalidArgument, "workspace shares memory with %s, expected separate memory", name);
}

bool overlaps_itself(const Tensor& tensor) {
  if (tensor.num_elements() <= 1 || tensor.is_row_major()) return false;
  // If two indices have the same address, their difference z satisfies sum stride * z == 0 and |z| < dim on each axis.
  // On the first axis with z != 0, z >= 1 can be assumed; the later axes may have any z. The search needs unknowns that
  // start from 0, so z + dim - 1 is the unknown on a later axis, and z - 1 on the first.
  for (int32_t first = 0; first < tensor.rank(); ++first) {
    if (tensor.dim(first) == 1) continue;
    BoundedSum sum;
    sum.add(tensor.stride(first), tensor.dim(first) - 2);
    int64_t target = -tensor.stride(first);
    for (int32_t axis = first + 1; axis < tensor.rank(); ++axis) {
      if (tensor.dim(axis) == 1) continue;
      sum.add(tensor.stride(axis), 2 * (tensor.dim(axis) - 1));
      target += tensor.stride(axis) * (tensor.dim(axis) - 1);
    }
    if (sum.may_reach(target)) return true;
  }
  return false;
}

}  // namespace heed
