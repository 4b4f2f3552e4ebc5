// SPDX-License-Identifier: Apache-2.0
#include "golden/support/models.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "capi/support/model_copy.h"
#include "golden/support/derived_bound.h"
#include "property/support/device.h"

namespace heed::golden {

using capi_test::Context;
using capi_test::Dims;
using capi_test::Tensor;

std::string folder_of(const std::string& family) { return capi_test::golden_model(family); }
std::string path_of(const std::string& family) { return folder_of(family) + "/model.safetensors"; }

heed_status load_accepting(heed_layer* layer, const std::string& family, const char* prefix, const char* accept) {
  return load_file_accepting(layer, path_of(family), prefix, accept);
}

heed_status load_file_accepting(heed_layer* layer, const std::string& path, const char* prefix, const char* accept) {
  const Context context = capi_test::make_context();
  heed_weights* weights = nullptr;
  property::check(heed_weights_open(context.get(), path.c_str(), &weights));
  heed_load_options options = HEED_LOAD_OPTIONS_INIT;
  options.accept = accept;
  const heed_status status = heed_layer_load_weights(layer, weights, prefix, &options);
  heed_weights_destroy(weights);
  return status;
}

Tensor load_case(const Context& context, const std::string& family, const std::string& name) {
  heed_tensor* tensor = nullptr;
  const std::string path = folder_of(family) + "/cases.safetensors";
  const heed_status status = heed_tensor_load_safetensors(context.get(), path.c_str(), name.c_str(), &tensor);
  if (status != HEED_ERROR_NOT_FOUND) property::check(status);
  return Tensor(tensor);
}

std::vector<int32_t> lengths_of(const Context& context, const std::string& family) {
  const Tensor mask = load_case(context, family, "attention_mask");
  if (!mask) return {};
  const Dims dims = capi_test::dims_of(mask.get());
  const std::vector<double> ones = numbers_of(mask.get());
  std::vector<int32_t> lengths;
  for (auto row = ones.begin(); row != ones.end(); row += dims[1])
    lengths.push_back(static_cast<int32_t>(std::count(row, row + dims[1], 1.0)));
  return lengths;
}

double largest_of(const std::vector<double>& numbers) {
  double largest = 0;
  for (const double number : numbers) largest = std::max(largest, std::abs(number));
  return largest;
}

void expect_numbers_of_model(const std::vector<double>& is, const std::vector<double>& expected,
                             const heed_tensor* errors) {
  ASSERT_EQ(is.size(), expected.size());
  if (errors != nullptr) {
    // The file's inputs are the model's rounded to F32. That is one more rounding of each operand of a projection, and
    // the bound already counts as many roundings as the input is wide, so twice the bound suffices. Expected results
    // are rounded to F32, too.
    std::vector<double> bounds = numbers_of(errors);
    for (size_t i = 0; i < bounds.size(); ++i) bounds[i] = 2 * bounds[i] + std::ldexp(std::abs(expected.at(i)), -24);
    EXPECT_EQ(num_beyond(HEED_F32, is, expected, bounds), 0U);
    expect_that_zeros_are_refused(HEED_F32, expected, bounds);
  }
  if (property::on_ascend()) return;
  // The same limit as make_models.py sets for transformers in F32. Any other option moves some element by 5e-3 of the
  // largest one or more.
  const double largest = largest_of(expected);
  for (size_t i = 0; i < is.size(); ++i) ASSERT_LE(std::abs(is[i] - expected[i]), 1e-5 * largest) << "element " << i;
}

}  // namespace heed::golden
