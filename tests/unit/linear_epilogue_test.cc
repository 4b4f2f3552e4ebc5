// SPDX-License-Identifier: Apache-2.0
// What a linear operation does to its sums before it stores them, on every ISA: output = activation(cap(sum * scale)) *
// factor + addend, each step rounded once in f32. So the outputs are exactly those that follow from the sums, however many
// rows there are and however the work is split.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "backends/cpu/engine/isa.h"
#include "kernel_probes.h"
#include "linear_product.h"

namespace heed::cpu {
namespace {

class LinearEpilogue : public testing::TestWithParam<MathProbe> {
 protected:
  const KernelTable& kernels() const {
    return *std::ranges::find_if(isas(), [](const Isa& isa) {
              return std::strcmp(isa.name(), GetParam().isa) == 0;
            })->kernels;
  }
};

HEED_FOR_EVERY_ISA(LinearEpilogue);

struct Epilogue {
  float scale = 1;
  float soft_cap = 0;
  Activation activation = Activation::None;
  bool has_factor = false;
  bool has_addend = false;
  bool factor_is_output = false;
  bool addend_is_output = false;
  bool stores_sums = false;
  DType factor_dtype = DType::F32;
  DType addend_dtype = DType::F32;
  int64_t factor_step = 1;  // between elements
  int64_t addend_step = 1;
  int64_t sum_step = 1;
};

// A product with an epilogue, and its sums without one.
class Finished {
 public:
  Finished(const MathProbe& probe, const KernelTable& kernels, const Form& form, const Epilogue& epilogue,
           uint32_t seed)
      : product(kernels, form, seed), probe_(probe), form_(form), epilogue_(epilogue) {
    LinearPart& part = product.problem.parts[0];
    find_sums(part);
    part.scale = epilogue.scale;
    part.soft_cap = epilogue.soft_cap;
    part.activation = epilogue.activation;
    std::mt19937 random(seed);
    std::uniform_real_distribution<float> uniform(-2, 2);
    if (epilogue.has_factor) {
      if (epilogue.factor_is_output) {
        for_each([&](int64_t row, int64_t n) { product.output.set(product.output_index(row, n), uniform(random)); });
        factor_ = product.output;
        part.factor = part.output;
      } else {
        make(factor_, part.factor, epilogue.factor_dtype, epilogue.factor_step);
        for_each([&](int64_t row, int64_t n) { factor_.set(index(part.factor, row, n), uniform(random)); });
      }
    }
    if (epilogue.stores_sums) {
      make(stored_sums_, part.sum, DType::F32, epilogue.sum_step);
      std::ranges::fill(stored_sums_.elements, kUntouched);
    }
    if (epilogue.has_addend && epilogue.addend_is_output) {
      if (!epilogue.has_factor || !epilogue.factor_is_output)
        for_each([&](int64_t row, int64_t n) { product.output.set(product.output_index(row, n), uniform(random)); });
      addend_ = product.output;
      part.addend = part.output;
    } else if (epilogue.has_addend) {
      make(addend_, part.addend, epilogue.addend_dtype, epilogue.addend_step);
      for_each([&](int64_t row, int64_t n) { addend_.set(index(part.addend, row, n), uniform(random)); });
    }
  }
  Finished(const Finished&) = delete;
  Finished& operator=(const Finished&) = delete;

  Product product;

  // The output as it must become, with all bytes around its elements.
  Array expected() const {
    Array result = product.output;
    const LinearPart& part = product.problem.parts[0];
    const int64_t num_outputs = form_.num_heads * form_.head_size;
    std::vector<float> row_sums(static_cast<size_t>(num_outputs + probe_.lanes));
    for (int64_t row = 0; row < form_.batch * form_.rows; ++row) {
      for (int64_t n = 0; n < num_outputs; ++n) row_sums[static_cast<size_t>(n)] = sum_at(row, n) * epilogue_.scale;
      if (epilogue_.soft_cap > 0) {
        for (float& sum : row_sums) sum *= 1 / epilogue_.soft_cap;
        probe_.tanh(row_sums.data(), num_outputs, row_sums.data());
        for (float& sum : row_sums) sum *= epilogue_.soft_cap;
      }
      probe_.activate_row(epilogue_.activation, row_sums.data(), num_outputs);
      for (int64_t n = 0; n < num_outputs; ++n) {
        float value = row_sums[static_cast<size_t>(n)];
        if (epilogue_.has_factor) value *= factor_.at(index(part.factor, row, n));
        if (epilogue_.has_addend) value += addend_.at(index(part.addend, row, n));
        result.set(product.output_index(row, n), value);
      }
    }
    return result;
  }

  // What LinearPart::sum must become.
  void expect_stored_sums() const {
    Array expected = stored_sums_;
    std::ranges::fill(expected.elements, kUntouched);
    for_each(
        [&](int64_t row, int64_t n) { expected.set(index(product.problem.parts[0].sum, row, n), sum_at(row, n)); });
    ASSERT_EQ(stored_sums_.elements, expected.elements) << "stored sums";
  }

  // With its bias.
  float sum_at(int64_t row, int64_t n) const { return sums_.at(product.output_index(row, n)); }

 private:
  void find_sums(LinearPart& part) {
    const Operand output = part.output;
    const auto size = static_cast<int64_t>(product.output.elements.size() / size_of(form_.output_dtype));
    sums_ = Array(DType::F32, size, form_.offset);
    part.output.data = sums_.data();
    part.output.dtype = DType::F32;
    product.run();
    part.output = output;
  }
  // Rows of all outputs, with a gap between them.
  void make(Array& array, Operand& operand, DType dtype, int64_t step) const {
    const int64_t num_outputs = form_.num_heads * form_.head_size;
    const int64_t row = num_outputs * step + form_.gap;
    array = Array(dtype, form_.batch * form_.rows * row, form_.offset);
    operand.data = array.data();
    operand.dtype = dtype;
    operand.given = 1;
    std::ranges::copy(std::vector<int64_t>{form_.head_size * step, form_.rows * row, row, step}, operand.strides);
  }
  int64_t index(const Operand& operand, int64_t row, int64_t n) const {
    return n / form_.head_size * operand.strides[0] + row / form_.rows * operand.strides[1] +
           row % form_.rows * operand.strides[2] + n % form_.head_size * operand.strides[3];
  }
  template <typename Visit>
  void for_each(const Visit& visit) const {
    for (int64_t row = 0; row < form_.batch * form_.rows; ++row) {
      for (int64_t n = 0; n < form_.num_heads * form_.head_size; ++n) visit(row, n);
    }
  }

  const MathProbe& probe_;
  Form form_;
  Epilogue epilogue_;
  Array sums_;
  Array factor_;
  Array addend_;
  Array stored_sums_;
};

constexpr Activation kAnyActivation[] = {Activation::None,
#define HEED_ITEM(name, upper, word, flops) Activation::name,
                                         HEED_ACTIVATIONS(HEED_ITEM)
#undef HEED_ITEM
};
constexpr float kScales[] = {1, 0.22f, 8};
constexpr float kSoftCaps[] = {0, 0.7f, 30};

TEST_P(LinearEpilogue, IsExactForEveryNumberOfRowsAndOutputs) {
  std::mt19937 random(8001);
  const auto below = [&random](int64_t count) { return static_cast<int64_t>(random() % static_cast<uint64_t>(count)); };
  const int64_t panel = kernels().linear_panel_columns;
  const int64_t lanes = kernels().lanes;
  const int64_t sizes[] = {1,
                           2,
                           lanes - 1,
                           lanes,
                           lanes + 1,
                           panel - 1,
                           panel,
                           panel + 1,
                           panel + lanes,
                           2 * panel - 1,
                           2 * panel,
                           3 * panel + 5,
                           4 * panel,
                           4 * panel + lanes,
                           5 * panel - lanes,
                           8 * panel,
                           9 * panel + 3};
  uint32_t seed = 0;
  for (int64_t rows = 1; rows <= 20; ++rows) {
    for (const int64_t size : sizes) {
      for (const bool is_plain : {true, false}) {
        ++seed;
        Form form;
        form.batch = rows % 5 == 0 ? 5 : 1;
        form.rows = rows / form.batch;
        form.input_size = 1 + below(20);
        form.num_heads = size % 4 == 0 && below(2) == 0 ? 4 : 1;
        form.head_size = size / form.num_heads;
        form.weight_dtype = kElementTypes[below(3)];
        form.has_bias = below(2) == 0;
        form.packs = below(4) != 0;
        Epilogue epilogue;
        epilogue.scale = kScales[below(3)];
        epilogue.soft_cap = kSoftCaps[below(3)];
        epilogue.activation = kAnyActivation[below(std::ssize(kAnyActivation))];
        epilogue.has_factor = below(2) == 0;
        epilogue.has_addend = below(2) == 0;
        epilogue.factor_is_output = below(2) == 0;
        epilogue.addend_is_output = below(2) == 0;
        epilogue.stores_sums = below(2) == 0;
        if (!is_plain) {
          form.input_dtype = kElementTypes[below(3)];
          form.output_dtype = kElementTypes[below(3)];
          form.offset = below(4);
          form.gap = below(3);
          form.element_stride = 1 + below(2);
          form.head_major = below(2) == 0;
          epilogue.factor_dtype = kElementTypes[below(3)];
          epilogue.addend_dtype = kElementTypes[below(3)];
          epilogue.factor_step = 1 + below(2);
          epilogue.addend_step = 1 + below(2);
          epilogue.sum_step = 1 + below(2);
        }
        Finished finished(GetParam(), kernels(), form, epilogue, seed);
        const Array expected = finished.expected();
        finished.product.run(1 + static_cast<int32_t>(below(5)));
        ASSERT_EQ(finished.product.output.elements, expected.elements)
            << rows << " rows of " << size << " outputs, seed " << seed << ", scale " << epilogue.scale << ", soft cap "
            << epilogue.soft_cap << ", activation " << static_cast<int>(epilogue.activation)
            << (epilogue.has_factor ? ", factor" : "") << (epilogue.factor_is_output ? " in the output" : "")
            << (epilogue.has_addend ? ", addend" : "") << (epilogue.addend_is_output ? " in the output" : "")
            << (epilogue.stores_sums ? ", stores sums" : "");
        if (epilogue.stores_sums) finished.expect_stored_sums();
        if (HasFatalFailure()) return;
      }
    }
  }
}

// Inputs in blocks, more rows than a task, and more panels than a group.
TEST_P(LinearEpilogue, IsExactForLargeSizes) {
  struct Size {
    int64_t rows, input_size, num_outputs;
  };
  for (const auto& [rows, input_size, num_outputs] :
       {Size{300, 30, 50}, Size{9, 1100, 200}, Size{2, 1030, 17}, Size{140, 1100, 33}, Size{3, 20, 1700}}) {
    for (const Activation activation : {Activation::None, Activation::Gelu}) {
      for (const bool packs : {true, false}) {
        Form form;
        form.rows = rows;
        form.input_size = input_size;
        form.head_size = num_outputs;
        form.has_bias = true;
        form.packs = packs;
        Epilogue epilogue;
        epilogue.scale = 0.22f;
        epilogue.soft_cap = packs ? 2.0f : 0.0f;
        epilogue.activation = activation;
        epilogue.has_factor = epilogue.has_addend = true;
        epilogue.addend_is_output = epilogue.stores_sums = packs;
        Finished finished(GetParam(), kernels(), form, epilogue, 8002);
        const Array expected = finished.expected();
        finished.product.run(3);
        ASSERT_EQ(finished.product.output.elements, expected.elements)
            << rows << " rows of " << input_size << " x " << num_outputs;
        if (packs) finished.expect_stored_sums();
        if (HasFatalFailure()) return;
      }
    }
  }
}

// Each of them is an epilogue without the other, an activation or an operand too.
TEST_P(LinearEpilogue, ScalesOrCapsAlone) {
  const int64_t panel = kernels().linear_panel_columns;
  for (const int64_t rows : {1, 4, 9}) {
    for (const int64_t size : {int64_t{3}, panel, 4 * panel}) {
      for (const bool scales : {true, false}) {
        Form form;
        form.rows = rows;
        form.input_size = 7;
        form.head_size = size;
        form.has_bias = true;
        Epilogue epilogue;
        if (scales)
          epilogue.scale = -0.5f;
        else
          epilogue.soft_cap = 1.5f;
        Finished finished(GetParam(), kernels(), form, epilogue, 8003);
        const Array expected = finished.expected();
        finished.product.run();
        ASSERT_EQ(finished.product.output.elements, expected.elements) << rows << " rows of " << size;
      }
    }
  }
}

// Against the definition in f64. 1 / cap, the product with it and that with the cap are off by a unit of round-off each,
// the tanh by 3.5; the tanh of a number that is off by some units is off by at most as many.
TEST_P(LinearEpilogue, CapIsWithinItsUnits) {
  for (const float cap : {1e-3f, 0.3f, 1.0f, 2.5f, 30.0f, 50.0f, 1e6f}) {
    for (const float scale : kScales) {
      Form form;
      form.rows = 50;
      form.input_size = 30;
      form.head_size = 40;
      form.has_bias = true;
      Epilogue epilogue;
      epilogue.scale = scale;
      epilogue.soft_cap = cap;
      Finished finished(GetParam(), kernels(), form, epilogue, 8004);
      finished.product.run();
      for (int64_t row = 0; row < form.rows; ++row) {
        for (int64_t n = 0; n < form.head_size; ++n) {
          const auto scaled = static_cast<double>(finished.sum_at(row, n) * scale);
          const double wide = static_cast<double>(cap);
          const double expected = wide * std::tanh(scaled / wide);
          const auto found = static_cast<double>(finished.product.output.at(finished.product.output_index(row, n)));
          ASSERT_NEAR(found, expected, 7 * unit_of(DType::F32) * std::fabs(expected))
              << scaled << " with a cap of " << cap;
        }
      }
    }
  }
}

// Rows that are no queries of their batch element become 0, if that is requested, and are not written otherwise.
TEST_P(LinearEpilogue, LeavesOtherRowsAloneOrMakesThemZero) {
  const Sequence table[] = {{.query_count = 3}, {.query_count = 0}, {.query_count = 7}, {.query_count = 1}};
  uint32_t seed = 0;
  for (const int64_t size : {5, 48, 100}) {
    for (const DType dtype : kElementTypes) {
      for (const int32_t zeroes : {0, 1}) {
        Form form;
        form.batch = 4;
        form.rows = 7;
        form.input_size = 9;
        form.head_size = size;
        form.output_dtype = dtype;
        form.gap = 1;
        Epilogue epilogue;
        epilogue.scale = 8;
        epilogue.activation = Activation::Silu;
        epilogue.has_addend = true;
        Finished finished(GetParam(), kernels(), form, epilogue, ++seed);
        Array expected = finished.expected();
        const Array before = finished.product.output;
        const auto bytes = static_cast<int64_t>(size_of(dtype));
        for (int64_t row = 0; row < form.batch * form.rows; ++row) {
          if (row % form.rows < table[row / form.rows].query_count) continue;
          for (int64_t n = 0; n < size; ++n) {
            const int64_t at = finished.product.output_index(row, n) * bytes;
            auto* to = static_cast<unsigned char*>(expected.data()) + at;
            std::memcpy(to, static_cast<const unsigned char*>(before.data()) + at, static_cast<size_t>(bytes));
            if (zeroes != 0) std::fill_n(to, bytes, static_cast<unsigned char>(0));
          }
        }
        LinearProblem& problem = finished.product.problem;
        problem.limits = unlimited(form.rows, form.rows);
        problem.limits.has_table = 1;
        problem.limits.table = table;
        problem.parts[0].wanted_rows = WantedRows::Queries;
        problem.parts[0].zeroes_unwanted = zeroes;
        finished.product.run(2);
        ASSERT_EQ(finished.product.output.elements, expected.elements) << size << " outputs in " << name_of(dtype);
      }
    }
  }
}

}  // namespace
}  // namespace heed::cpu
