// SPDX-License-Identifier: Apache-2.0
// Operands of f32 in memory of their own, with strides in any order of the axes, for tests of gradients.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

#include "backends/cpu/operations.h"
#include "ops/operand.h"
#include "support/guarded_memory.h"
#include "turns.h"

namespace heed::cpu {

// Numbers of a test.
class Draw {
 public:
  explicit Draw(uint32_t seed) : random_(seed) {}
  int64_t below(int64_t count) { return static_cast<int64_t>(random_() % static_cast<uint64_t>(count)); }
  bool coin() { return below(2) == 0; }
  float number() { return std::uniform_real_distribution<float>(-2, 2)(random_); }
  template <size_t count>
  int64_t one_of(const int64_t (&choices)[count]) {
    return choices[below(count)];
  }

 private:
  std::mt19937 random_;
};

// The elements of an operand. All other floats of its memory stay NaN.
template <int rank>
class Floats {
 public:
  using Index = std::array<int64_t, rank>;

  // Dense, with the last axis innermost.
  explicit Floats(const Index& sizes) : sizes_(sizes) {
    Index order;
    std::iota(order.begin(), order.end(), 0);
    make(order, 1, 0);
  }
  // With axes in any order, and unused floats between elements.
  Floats(const Index& sizes, Draw& draw) : sizes_(sizes) {
    Index order;
    std::iota(order.begin(), order.end(), 0);
    const int64_t kind = draw.below(3);
    if (kind == 2) {
      for (int axis = rank - 1; axis > 0; --axis)
        std::swap(order[static_cast<size_t>(axis)], order[static_cast<size_t>(draw.below(axis + 1))]);
    }
    make(order, kind == 0 ? 1 : 1 + draw.below(2), draw.below(4));
  }

  void fill(const std::function<float()>& number) {
    for_each([&](const Index& index) { at(index) = number(); });
  }
  void fill(Draw& draw) {
    fill([&] { return draw.number(); });
  }

  float& at(const Index& index) { return memory_[static_cast<size_t>(offset_of(index))]; }
  float at(const Index& index) const { return memory_[static_cast<size_t>(offset_of(index))]; }

  // `operand` has these elements.
  void give_to(StridedOperand<rank>& operand) {
    operand.data = memory_.data() + kBefore;
    std::ranges::copy(strides_, operand.strides);
    for (int axis = 0; axis < rank; ++axis) {
      if (sizes_[static_cast<size_t>(axis)] == 1) operand.strides[axis] = 0;
    }
    operand.dtype = DType::F32;
    operand.given = 1;
  }

  // The bits of all elements in row-major order.
  std::vector<uint32_t> bits() const {
    std::vector<uint32_t> all;
    for_each([&](const Index& index) { all.push_back(std::bit_cast<uint32_t>(at(index))); });
    return all;
  }

  // Whether everything between and around the elements is as it was.
  bool is_intact_around() const {
    std::vector<bool> is_element(memory_.size(), false);
    for_each([&](const Index& index) { is_element[static_cast<size_t>(offset_of(index))] = true; });
    for (size_t i = 0; i < memory_.size(); ++i) {
      if (!is_element[i] && std::bit_cast<uint32_t>(memory_[i]) != kUnused) return false;
    }
    return true;
  }

  template <typename Function>
  void for_each(const Function& function) const {
    if (std::ranges::any_of(sizes_, [](int64_t size) { return size == 0; })) return;
    Index index{};
    for (;;) {
      function(index);
      int axis = rank - 1;
      while (axis >= 0 && ++index[static_cast<size_t>(axis)] == sizes_[static_cast<size_t>(axis)])
        index[static_cast<size_t>(axis--)] = 0;
      if (axis < 0) return;
    }
  }

  const Index& sizes() const { return sizes_; }

 private:
  static constexpr uint32_t kUnused = 0x7fc12345;
  static constexpr int64_t kBefore = 5;

  void make(const Index& order, int64_t step, int64_t gap) {
    int64_t stride = step;
    for (int i = rank - 1; i >= 0; --i) {
      const auto axis = static_cast<size_t>(order[static_cast<size_t>(i)]);
      strides_[axis] = stride;
      stride = stride * std::max<int64_t>(1, sizes_[axis]) + gap;
    }
    memory_.assign(static_cast<size_t>(stride + 2 * kBefore), std::bit_cast<float>(kUnused));
  }
  int64_t offset_of(const Index& index) const {
    return std::inner_product(index.begin(), index.end(), strides_.begin(), kBefore);
  }

  Index sizes_;
  Index strides_{};
  std::vector<float> memory_;
};

// Runs a problem with scratch memory of exactly the planned size.
template <typename Problem>
void run_on_workers(const KernelTable& kernels, const Problem& problem, int32_t num_workers) {
  Turns turns(num_workers);
  Failure failure;
  const Plan plan = plan_problem(kernels, problem, num_workers);
  GuardedMemory scratch(plan.scratch_bytes);
  run_problem(kernels, problem, plan, Workers(turns, &failure), scratch.data());
  EXPECT_TRUE(scratch.is_intact());
}

inline constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
inline constexpr float kInfinity = std::numeric_limits<float>::infinity();

}  // namespace heed::cpu
