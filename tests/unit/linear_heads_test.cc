// SPDX-License-Identifier: Apache-2.0
// Norm and rotation of the heads of a projection, on every ISA: against the formulas in f64, with heads that begin and end
// anywhere in the packed panels, and with the same bits however the work is split.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "available_isas.h"
#include "linear_product.h"
#include "ops/head_transform.h"

namespace heed::cpu {
namespace {

constexpr int64_t kHeadSizes[] = {2, 3, 6, 8, 12, 16, 24, 40, 64, 72, 80, 100, 128};

// A norm's weight and rotations for a Product with head-major F32 outputs.
struct Transform {
  Transform(const Form& form, NormKind norm, RotaryLayout layout, uint32_t seed) {
    const int64_t size = form.head_size;
    std::mt19937 random(seed);
    std::uniform_real_distribution<float> uniform(-1, 1);
    transform.norm = norm;
    transform.layout = layout;
    if (norm != NormKind::None) {
      transform.epsilon = 1e-3f;
      is_shared = norm == NormKind::Rms;
      weight.resize(static_cast<size_t>(is_shared ? size : size * form.num_heads));
      for (float& element : weight) element = uniform(random);
      set(transform.norm_weight, weight, {is_shared ? 0 : size, 0, 0, 1});
    }
    if (layout != RotaryLayout::None) {
      // Part of the head, or all of it.
      transform.rotary_offset = size >= 6 ? static_cast<int64_t>(random() % 3) : 0;
      const int64_t most = (size - transform.rotary_offset) / 2;
      transform.rotary_size =
          2 * (random() % 2 == 0 ? most : 1 + static_cast<int64_t>(random() % static_cast<uint64_t>(most)));
      rotations.resize(static_cast<size_t>(form.batch * form.rows * transform.rotary_size));
      const int64_t pairs = transform.rotary_size / 2;
      for (int64_t row = 0; row < form.batch * form.rows; ++row) {
        for (int64_t i = 0; i < pairs; ++i) {
          const float angle = 3 * uniform(random);
          rotations[static_cast<size_t>(row * 2 * pairs + i)] = std::cos(angle);
          rotations[static_cast<size_t>(row * 2 * pairs + pairs + i)] = std::sin(angle);
        }
      }
      set(transform.rotations, rotations, {0, form.rows * transform.rotary_size, transform.rotary_size, 1});
    }
  }
  Transform(const Transform&) = delete;
  Transform& operator=(const Transform&) = delete;

  static void set(Operand& operand, std::vector<float>& elements, const std::array<int64_t, kOperandRank>& strides) {
    operand.data = elements.data();
    operand.given = 1;
    std::ranges::copy(strides, operand.strides);
  }

  // The head of a row after the transform, and for each element the sum of the magnitudes from which it is made.
  struct Expected {
    std::vector<double> values;
    std::vector<double> magnitudes;
  };
  Expected of(std::vector<double> head, int64_t number, int64_t row) const {
    const auto size = static_cast<int64_t>(head.size());
    std::vector<double> magnitudes;
    double spread = 0;  // of a layer norm: what is subtracted from each element
    if (transform.norm != NormKind::None) {
      double mean = 0;
      if (transform.norm == NormKind::Layer) {
        for (const double element : head) {
          mean += element / static_cast<double>(size);
          spread += std::abs(element) / static_cast<double>(size);
        }
      }
      double squares = 0;
      for (const double element : head) squares += (element - mean) * (element - mean) / static_cast<double>(size);
      const double factor = 1 / std::sqrt(squares + static_cast<double>(transform.epsilon));
      for (int64_t d = 0; d < size; ++d) {
        const double gain =
            static_cast<double>(weight[static_cast<size_t>(is_shared ? d : number * size + d)]) * factor;
        double& element = head[static_cast<size_t>(d)];
        magnitudes.push_back((std::abs(element) + spread) * std::abs(gain));
        element = (element - mean) * gain;
      }
    } else {
      for (const double element : head) magnitudes.push_back(std::abs(element));
    }
    if (transform.layout == RotaryLayout::None) return {head, magnitudes};
    // All other elements keep their places.
    Expected result = {head, magnitudes};
    const int64_t pairs = transform.rotary_size / 2;
    const bool is_half = transform.layout == RotaryLayout::Half;
    for (int64_t i = 0; i < pairs; ++i) {
      const auto first = static_cast<size_t>(transform.rotary_offset + (is_half ? i : 2 * i));
      const size_t second = first + (is_half ? static_cast<size_t>(pairs) : 1);
      const auto stored = static_cast<size_t>(transform.rotary_offset + i);
      const auto cosine = static_cast<double>(rotations[static_cast<size_t>(row * 2 * pairs + i)]);
      const auto sine = static_cast<double>(rotations[static_cast<size_t>(row * 2 * pairs + pairs + i)]);
      const size_t other = stored + static_cast<size_t>(pairs);
      result.values[stored] = head[first] * cosine - head[second] * sine;
      result.values[other] = head[second] * cosine + head[first] * sine;
      result.magnitudes[stored] = magnitudes[first] * std::abs(cosine) + magnitudes[second] * std::abs(sine);
      result.magnitudes[other] = magnitudes[second] * std::abs(cosine) + magnitudes[first] * std::abs(sine);
    }
    return result;
  }

  HeadTransform transform;
  std::vector<float> weight;
  std::vector<float> rotations;
  bool is_shared = false;
};

Form heads_of(int64_t rows, int64_t input_size, int64_t num_heads, int64_t head_size) {
  Form form;
  form.batch = rows % 3 == 0 ? 3 : 1;
  form.rows = rows / form.batch;
  form.input_size = input_size;
  form.num_heads = num_heads;
  form.head_size = head_size;
  form.head_major = true;
  return form;
}

// Roundings of an element: in a norm one for each vector of a sum, of which there are two, those of the sum of its lanes,
// and some more; in a rotation two.
double roundings_of(const HeadTransform& transform, int64_t size) {
  const double of_norm = transform.norm == NormKind::None ? 0 : 2 * (static_cast<double>(size) / 4 + 2) + 8;
  return (of_norm + 4) * 0x1p-24;
}

class HeadTransforms : public testing::TestWithParam<Isa> {
 protected:
  const KernelTable& kernels() const { return *GetParam().kernels; }

  // Runs the projection without and with the transform.
  void expect_near_f64(const Form& form, NormKind norm, RotaryLayout layout, uint32_t seed, int32_t num_workers) {
    Product product(kernels(), form, seed);
    product.run();
    const Array before = product.output;
    const Transform transform(form, norm, layout, seed);
    product.problem.parts[0].transform = transform.transform;
    // The heads before the transform, if they are stored besides.
    Array sums = before;
    std::ranges::fill(sums.elements, kUntouched);
    if (seed % 2 == 0) {
      product.problem.parts[0].sum = product.problem.parts[0].output;
      product.problem.parts[0].sum.data = sums.data();
    }
    product.run(num_workers);
    if (seed % 2 == 0) {
      ASSERT_EQ(sums.elements, before.elements);
    }
    const double roundings = roundings_of(transform.transform, form.head_size);
    for (int64_t row = 0; row < form.batch * form.rows; ++row) {
      for (int64_t number = 0; number < form.num_heads; ++number) {
        std::vector<double> head;
        for (int64_t d = 0; d < form.head_size; ++d)
          head.push_back(static_cast<double>(before.at(product.output_index(row, number * form.head_size + d))));
        const Transform::Expected expected = transform.of(head, number, row);
        for (int64_t d = 0; d < form.head_size; ++d) {
          const auto i = static_cast<size_t>(d);
          ASSERT_NEAR(product.result(row, number * form.head_size + d), expected.values[i],
                      roundings * expected.magnitudes[i])
              << "row " << row << ", head " << number << ", element " << d;
        }
      }
    }
  }
};

INSTANTIATE_TEST_SUITE_P(Isas, HeadTransforms, testing::ValuesIn(available_isas()), name_of_isa);

constexpr NormKind kNorms[] = {NormKind::None, NormKind::Rms, NormKind::Layer};
constexpr RotaryLayout kLayouts[] = {RotaryLayout::None, RotaryLayout::Half, RotaryLayout::Interleaved};
constexpr DType kWeights[] = {DType::F32, DType::F16, DType::BF16};

TEST_P(HeadTransforms, AgreeWithF64ForEverySizeOfHeads) {
  uint32_t seed = 0;
  for (const int64_t size : kHeadSizes) {
    for (int64_t num_heads = 1; num_heads <= 40; ++num_heads) {
      for (const int64_t rows : {1, 2, 7, 8, 9, 300}) {
        ++seed;
        if (rows == 300 && num_heads % 13 != 1) continue;
        if (size * num_heads > 2000 && seed % 3 != 0) continue;
        Form form = heads_of(rows, 1 + seed % 7, num_heads, size);
        form.weight_dtype = kWeights[seed % 3];
        form.has_bias = seed % 2 == 0;
        form.packs = seed / 2 % 3 != 0;
        form.offset = seed % 4;
        const NormKind norm = kNorms[seed / 3 % 3];
        // Without a norm there is a rotation.
        const RotaryLayout layout = kLayouts[norm == NormKind::None ? 1 + seed % 2 : seed / 9 % 3];
        SCOPED_TRACE(std::to_string(rows) + " rows, " + std::to_string(num_heads) + " heads of " +
                     std::to_string(size) + ", seed " + std::to_string(seed));
        expect_near_f64(form, norm, layout, seed, 1 + static_cast<int32_t>(seed % 5));
        if (HasFatalFailure()) return;
      }
    }
  }
}

// The sums of such inputs are made in blocks, between which a task keeps them in scratch memory.
TEST_P(HeadTransforms, AgreeWithF64ForInputsInBlocks) {
  uint32_t seed = 0;
  for (const int64_t size : kHeadSizes) {
    for (const int64_t num_heads : {1, 5, 12, 40}) {
      if (size * num_heads > 1000) continue;
      for (const int64_t rows : {1, 9}) {
        for (const bool packs : {true, false}) {
          ++seed;
          Form form = heads_of(rows, seed % 4 == 0 ? 2100 : 1030, num_heads, size);
          form.weight_dtype = kWeights[seed % 3];
          form.packs = packs;
          SCOPED_TRACE(std::to_string(rows) + " rows, " + std::to_string(num_heads) + " heads of " +
                       std::to_string(size) + (packs ? ", packed" : ""));
          expect_near_f64(form, kNorms[1 + seed % 2], kLayouts[1 + seed / 2 % 2], seed, 3);
          if (HasFatalFailure()) return;
        }
      }
    }
  }
}

TEST_P(HeadTransforms, GiveTheSameBitsHoweverTheWorkIsSplit) {
  uint32_t seed = 0;
  for (const int64_t size : kHeadSizes) {
    for (const int64_t num_heads : {1, 3, 8, 21}) {
      for (const int64_t input_size : {20, 1100}) {
        Form form = heads_of(16, input_size, num_heads, size);
        ++seed;
        const Transform transform(form, NormKind::Rms, kLayouts[1 + seed % 2], seed);
        Product product(kernels(), form, seed);
        product.problem.parts[0].transform = transform.transform;
        product.run();
        std::vector<std::vector<uint32_t>> expected;
        for (int64_t row = 0; row < form.rows; ++row) expected.push_back(product.row_bits(row));
        const auto expect_same = [&](int64_t first, int64_t end, const std::string& how) {
          SCOPED_TRACE(how + ", " + std::to_string(num_heads) + " heads of " + std::to_string(size));
          for (int64_t row = first; row < end; ++row)
            ASSERT_EQ(product.row_bits(row), expected[static_cast<size_t>(row)]) << "row " << row;
        };
        for (int32_t workers = 2; workers <= 8; workers += 3) {
          product.run(workers);
          expect_same(0, form.rows, std::to_string(workers) + " workers");
        }
        for (const int64_t count : {1, 2, 5}) {
          for (int64_t first = 0; first + count <= form.rows; first += 3) {
            Operand& rotations = product.problem.parts[0].transform.rotations;
            rotations.data = const_cast<float*>(transform.rotations.data()) + first * rotations.strides[2];
            product.run_rows(first, count, 2);
            rotations.data = const_cast<float*>(transform.rotations.data());
            expect_same(first, first + count, std::to_string(count) + " rows");
          }
        }
        if (HasFatalFailure()) return;
      }
    }
  }
}

// Interleaved pairs give the bits of halves whose rows of the weight, and of the norm's, are permuted.
TEST_P(HeadTransforms, OfOneLayoutAreThoseOfTheOtherWithPermutedRows) {
  for (const int64_t size : {2, 6, 16, 40, 64, 128}) {
    for (const NormKind norm : kNorms) {
      const Form form = heads_of(5, 30, 3, size);
      Transform interleaved(form, norm, RotaryLayout::Interleaved, 7);
      interleaved.transform.rotary_offset = 0;
      interleaved.transform.rotary_size = size;
      interleaved.rotations.assign(static_cast<size_t>(5 * size), 0.6f);
      Transform::set(interleaved.transform.rotations, interleaved.rotations, {0, 5 * size, size, 1});
      Product product(kernels(), form, 8);
      product.problem.parts[0].transform = interleaved.transform;
      product.run(2);
      Transform half(form, norm, RotaryLayout::Half, 7);
      half.transform.rotary_offset = 0;
      half.transform.rotary_size = size;
      half.transform.rotations = interleaved.transform.rotations;
      Product permuted(kernels(), form, 8);
      const auto source = [&](int64_t d) { return d < size / 2 ? 2 * d : 2 * (d - size / 2) + 1; };
      for (int64_t n = 0; n < 3 * size; ++n) {
        const int64_t from = n / size * size + source(n % size);
        for (int64_t e = 0; e < form.input_size; ++e)
          permuted.weight.set(permuted.weight_index(n, e), product.weight.at(product.weight_index(from, e)));
        if (norm == NormKind::Layer)
          half.weight[static_cast<size_t>(n)] = interleaved.weight[static_cast<size_t>(from)];
        if (norm == NormKind::Rms && n < size)
          half.weight[static_cast<size_t>(n)] = interleaved.weight[static_cast<size_t>(from)];
      }
      permuted.problem.parts[0].transform = half.transform;
      permuted.pack();
      permuted.run(3);
      for (int64_t row = 0; row < 5; ++row)
        ASSERT_EQ(permuted.row_bits(row), product.row_bits(row)) << "heads of " << size;
    }
  }
}

TEST_P(HeadTransforms, NeedNoLessScratchForMoreRows) {
  for (const int64_t size : kHeadSizes) {
    for (const int64_t input_size : {10, 1024, 1025, 5000}) {
      for (const int32_t is_packed : {0, 1}) {
        LinearProblem problem;
        problem.batch = 1;
        problem.input_size = input_size;
        problem.parts[0].output_size = 12 * size;
        problem.parts[0].head_size = size;
        problem.parts[0].is_packed = is_packed;
        problem.parts[0].transform.norm = NormKind::Rms;
        size_t last = 0;
        for (problem.rows = 0; problem.rows < 600; problem.rows += 7) {
          const size_t bytes = plan_problem(kernels(), problem, 2).scratch_bytes;
          ASSERT_GE(bytes, last) << problem.rows << " rows of " << input_size;
          last = bytes;
        }
      }
    }
  }
}

// Planning must not take time that grows with the size of a head.
TEST_P(HeadTransforms, OfAHugeHeadArePlanned) {
  LinearProblem problem;
  problem.batch = problem.rows = problem.input_size = 1;
  problem.parts[0].output_size = problem.parts[0].head_size = (int64_t{1} << 40) - 87;
  problem.parts[0].transform.norm = NormKind::Rms;
  EXPECT_EQ(plan_problem(kernels(), problem, 2).num_tasks, 1);
}

}  // namespace
}  // namespace heed::cpu
