// SPDX-License-Identifier: Apache-2.0
#include "golden/support/golden_file.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <stdexcept>
#include <vector>

namespace heed::golden {
namespace {

// Half a unit in the last place of a 16-bit dtype at this magnitude. The bounds already include the rounding to F32.
double half_unit(heed_dtype dtype, double magnitude) {
  if (dtype == HEED_F32 || dtype == HEED_F64) return 0;
  const int precision = dtype == HEED_F16 ? 11 : 8;
  const int smallest_exponent = dtype == HEED_F16 ? -14 : -126;
  const int exponent = magnitude > 0 ? std::max(std::ilogb(magnitude), smallest_exponent) : smallest_exponent;
  return std::ldexp(1.0, exponent - precision);
}

}  // namespace

GoldenFile::GoldenFile(heed_context* context, const std::string& name)
    : context_(context), name_(name), path_(HEED_SOURCE_DIR "/tests/golden/data/" + name + ".safetensors") {}

Tensor GoldenFile::load(const char* tensor) const {
  heed_tensor* loaded = nullptr;
  check(heed_tensor_load_safetensors(context_, path_.c_str(), tensor, &loaded));
  return Tensor(loaded);
}

Tensor GoldenFile::load_if_present(const char* tensor) const {
  heed_tensor* loaded = nullptr;
  const heed_status status = heed_tensor_load_safetensors(context_, path_.c_str(), tensor, &loaded);
  if (status != HEED_ERROR_NOT_FOUND) check(status);
  return Tensor(loaded);
}

Comparison GoldenFile::compare(const heed_tensor* result, const std::string& name, const heed_tensor* errors) const {
  const std::string prefix = name == "output" ? "" : name + "_";
  const Tensor expected = load(name.c_str());
  const Tensor bound = load((prefix + "bound").c_str());
  for (const heed_tensor* stored : {expected.get(), bound.get()}) {
    if (capi_test::dims_of(stored) != capi_test::dims_of(result) || heed_tensor_dtype(stored) != HEED_F64) {
      throw std::runtime_error(path_ + ": " + name + " has another shape or dtype than the result");
    }
  }

  const heed_dtype dtype = heed_tensor_dtype(result);
  const std::vector<double> is = numbers_of(result);
  const std::vector<double> should = numbers_of(expected.get());
  const std::vector<double> off = numbers_of(errors != nullptr ? errors : bound.get());
  // A device that computes in 16 bits rounds each operand once, and each sum at most twice. The deviation counts at
  // least as many roundings: one for each term of a sum, and two more for a projection. So multiplying it by the
  // coarseness suffices.
  const Tensor queries = load_if_present("queries");
  const double coarseness = property::coarseness(queries != nullptr ? heed_tensor_dtype(queries.get()) : HEED_F32);
  Comparison comparison;
  comparison.deviation = coarseness * numbers_of(load((prefix + "deviation").c_str()).get()).at(0);
  double sum_of_squares = 0;
  for (size_t i = 0; i < is.size(); ++i) {
    // For an empty row both are -inf.
    const double difference = is[i] == should[i] ? 0 : std::abs(is[i] - should[i]);
    const double allowed = off[i] + half_unit(dtype, std::abs(should[i]) + off[i]);
    if (!(difference <= allowed)) ++comparison.num_beyond;
    comparison.largest_difference = std::max(comparison.largest_difference, difference);
    if (allowed > 0) comparison.largest_ratio = std::max(comparison.largest_ratio, difference / allowed);
    sum_of_squares += difference * difference;
  }
  // The reference's errors do not include the rounding to F32.
  if (errors != nullptr) comparison.num_beyond = golden::num_beyond(dtype, is, should, off);
  comparison.root_mean_square = std::sqrt(sum_of_squares / static_cast<double>(is.size()));
  return comparison;
}

void GoldenFile::expect(const heed_tensor* result, const std::string& name, const heed_tensor* derived_values,
                        const heed_tensor* derived_errors) const {
  const Comparison comparison = compare(result, name, derived_errors);
  EXPECT_EQ(comparison.num_beyond, 0u) << name << " of " << heed_tensor_num_elements(result)
                                       << " elements, largest difference " << comparison.largest_difference << ", "
                                       << comparison.largest_ratio << " of its bound";
  std::printf("%-28s %-11s largest difference %.2e, %.4f of its bound", name_.c_str(), name.c_str(),
              comparison.largest_difference, comparison.largest_ratio);
  if (on_ascend()) {
    SCOPED_TRACE(name);
    EXPECT_EQ(compare(derived_values, name).num_beyond, 0u) << "the reference computed something other than the file";
    if (name != "output" || !output_is_vague_on_ascend()) {
      expect_that_zeros_are_refused(heed_tensor_dtype(result), numbers_of(load(name.c_str()).get()),
                                    numbers_of(derived_errors));
    }
  }
  if (heed_tensor_dtype(result) == HEED_F32 || on_ascend()) {
    EXPECT_LE(comparison.root_mean_square, comparison.deviation) << "root mean square difference of " << name;
    std::printf("; root mean square %.2e, %.2f of the deviation", comparison.root_mean_square,
                comparison.root_mean_square / comparison.deviation);
  }
  std::printf("\n");
}

void GoldenFile::expect(const Outputs& outputs, const Derived& derived) const {
  const auto expect_one = [&](const char* name, Tensor Outputs::*member) {
    expect((outputs.*member).get(), name, (derived.values.*member).get(), (derived.errors.*member).get());
  };
  expect_one("output", &Outputs::output);
  expect_one("weights", &Outputs::weights);
  expect_one("log_sum_exp", &Outputs::log_sum_exp);
}

Inputs::Inputs(const GoldenFile& file)
    : queries(file.load("queries")),
      keys(file.load_if_present("keys")),
      values(file.load_if_present("values")),
      valid_lens(file.load_if_present("valid_lens")),
      mask(file.load_if_present("mask")),
      bias(file.load_if_present("bias")) {
  give();
}

Inputs::Inputs(const GoldenFile& file, const std::string& torch_case)
    : queries(file.load((torch_case + ".input.query").c_str())),
      keys(file.load((torch_case + ".input.key").c_str())),
      values(file.load((torch_case + ".input.value").c_str())),
      valid_lens(file.load_if_present((torch_case + ".input.valid_lens").c_str())),
      mask(file.load_if_present((torch_case + ".input.mask").c_str())),
      bias(file.load_if_present((torch_case + ".input.bias").c_str())),
      alibi_slopes(file.load_if_present((torch_case + ".input.alibi_slopes").c_str())),
      sinks(file.load_if_present((torch_case + ".input.sinks").c_str())) {
  give();
}

void Inputs::give() {
  given.queries = queries.get();
  given.keys = keys.get();
  given.values = values.get();
  given.valid_lens = valid_lens.get();
  given.mask = mask.get();
  given.bias = bias.get();
  given.alibi_slopes = alibi_slopes.get();
  given.sinks = sinks.get();
}

double largest_finite(const std::vector<double>& numbers) {
  double largest = 0;
  for (const double number : numbers) {
    if (std::isfinite(number)) largest = std::max(largest, std::abs(number));
  }
  return largest;
}

void expect_near(const heed_tensor* result, const heed_tensor* expected, double tolerance) {
  const std::vector<double> is = numbers_of(result);
  const std::vector<double> should = numbers_of(expected);
  ASSERT_EQ(is.size(), should.size());
  const double largest = largest_finite(should);
  for (size_t i = 0; i < is.size(); ++i) {
    if (is[i] == should[i]) continue;  // -inf too
    EXPECT_NEAR(is[i], should[i], tolerance * largest) << "element " << i;
  }
}

Outputs forward(const heed_layer* layer, const heed_layer_inputs& inputs) {
  heed_layer_outputs made = HEED_LAYER_OUTPUTS_INIT;
  check(heed_layer_create_outputs(layer, &inputs, HEED_WANT_OUTPUT | HEED_WANT_WEIGHTS | HEED_WANT_LOG_SUM_EXP, &made));
  Outputs outputs{Tensor(made.output), Tensor(made.weights), Tensor(made.log_sum_exp)};
  check(heed_layer_forward(layer, &inputs, nullptr, &made));
  return outputs;
}

}  // namespace heed::golden
