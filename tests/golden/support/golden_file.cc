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

std::vector<double> numbers_of(heed_context* context, const heed_tensor* tensor) {
  const Tensor wide = capi_test::make_tensor(context, capi_test::dims_of(tensor), HEED_F64);
  check(heed_tensor_copy(wide.get(), tensor));
  return capi_test::read_elements<double>(wide.get());
}

// Half a unit in the last place of a 16-bit type at a number of this magnitude; F32's own rounding is in the bounds.
double half_unit(heed_dtype dtype, double magnitude) {
  if (dtype == HEED_F32) return 0;
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

Comparison GoldenFile::compare(const heed_tensor* result, const std::string& name) const {
  const std::string prefix = name == "output" ? "" : name + "_";
  const Tensor expected = load(name.c_str());
  const Tensor bound = load((prefix + "bound").c_str());
  for (const heed_tensor* stored : {expected.get(), bound.get()}) {
    if (capi_test::dims_of(stored) != capi_test::dims_of(result) || heed_tensor_dtype(stored) != HEED_F64) {
      throw std::runtime_error(path_ + ": " + name + " has another shape or dtype than the result");
    }
  }

  const std::vector<double> is = numbers_of(context_, result);
  const std::vector<double> should = numbers_of(context_, expected.get());
  const std::vector<double> off = numbers_of(context_, bound.get());
  // A device that computes in 16 bits rounds no sum more often than twice, and its operands once: of the roundings that
  // the figures count, of each term one for each, and of a projection two more, that is as many at most.
  const Tensor queries = load_if_present("queries");
  const double coarseness = property::coarseness(queries != nullptr ? heed_tensor_dtype(queries.get()) : HEED_F32);
  Comparison comparison;
  comparison.deviation = coarseness * numbers_of(context_, load((prefix + "deviation").c_str()).get()).at(0);
  double sum_of_squares = 0;
  for (size_t i = 0; i < is.size(); ++i) {
    // The log_sum_exp of an empty row is -inf.
    const double difference = is[i] == should[i] ? 0 : std::abs(is[i] - should[i]);
    const double allowed = coarseness * off[i] + half_unit(heed_tensor_dtype(result), std::abs(should[i]) + off[i]);
    if (!(difference <= allowed)) ++comparison.num_beyond;
    comparison.largest_difference = std::max(comparison.largest_difference, difference);
    if (allowed > 0) comparison.largest_ratio = std::max(comparison.largest_ratio, difference / allowed);
    sum_of_squares += difference * difference;
  }
  comparison.root_mean_square = std::sqrt(sum_of_squares / static_cast<double>(is.size()));
  return comparison;
}

void GoldenFile::expect(const heed_tensor* result, const std::string& name) const {
  const Comparison comparison = compare(result, name);
  EXPECT_EQ(comparison.num_beyond, 0u) << name << " of " << heed_tensor_num_elements(result)
                                       << " elements, largest difference " << comparison.largest_difference << ", "
                                       << comparison.largest_ratio << " of its bound";
  std::printf("%-28s %-11s largest difference %.2e, %.4f of its bound", name_.c_str(), name.c_str(),
              comparison.largest_difference, comparison.largest_ratio);
  if (heed_tensor_dtype(result) == HEED_F32 || on_ascend()) {
    EXPECT_LE(comparison.root_mean_square, comparison.deviation) << "root mean square difference of " << name;
    std::printf("; root mean square %.2e, %.2f of the deviation", comparison.root_mean_square,
                comparison.root_mean_square / comparison.deviation);
  }
  std::printf("\n");
}

Inputs::Inputs(const GoldenFile& file)
    : queries(file.load("queries")),
      keys(file.load_if_present("keys")),
      values(file.load_if_present("values")),
      valid_lens(file.load_if_present("valid_lens")),
      mask(file.load_if_present("mask")),
      bias(file.load_if_present("bias")) {
  given.queries = queries.get();
  given.keys = keys.get();
  given.values = values.get();
  given.valid_lens = valid_lens.get();
  given.mask = mask.get();
  given.bias = bias.get();
}

void Outputs::expect_as_in(const GoldenFile& file) const {
  file.expect(output.get(), "output");
  file.expect(weights.get(), "weights");
  file.expect(log_sum_exp.get(), "log_sum_exp");
}

Outputs forward(const heed_layer* layer, const heed_layer_inputs& inputs) {
  heed_layer_outputs made = HEED_LAYER_OUTPUTS_INIT;
  check(heed_layer_create_outputs(layer, &inputs, HEED_WANT_OUTPUT | HEED_WANT_WEIGHTS | HEED_WANT_LOG_SUM_EXP, &made));
  Outputs outputs{Tensor(made.output), Tensor(made.weights), Tensor(made.log_sum_exp)};
  check(heed_layer_forward(layer, &inputs, nullptr, &made));
  return outputs;
}

}  // namespace heed::golden
