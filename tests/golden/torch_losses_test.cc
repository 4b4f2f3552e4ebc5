// SPDX-License-Identifier: Apache-2.0
// Losses, their gradients, and the clipping of gradients against PyTorch's in float64: the cases of data/torch_losses.safetensors.
#include <gtest/gtest.h>
#include <heed/heed.h>

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "golden/support/golden_file.h"
#include "golden/support/torch_file.h"

namespace heed::golden {
namespace {

using Json = nlohmann::json;

constexpr const char* kFile = "torch_losses";
// The file's own figures for an engine in f32, of the largest number of a tensor.
constexpr double kLossTolerance = 5e-7;
constexpr double kGradientTolerance = 1e-6;

const TorchFile& the_file() {
  static const TorchFile file(kFile);
  return file;
}

std::vector<std::string> cases_of(const std::string& beginning) {
  std::vector<std::string> result = the_file().cases();
  std::erase_if(result, [&](const std::string& name) { return !name.starts_with(beginning); });
  return result;
}

class TorchLosses : public testing::TestWithParam<std::string> {
 protected:
  Tensor load(const std::string& tensor) const { return file_.load((GetParam() + "." + tensor).c_str()); }
  // Expects the gradient to be the file's, which is of the sum of losses times the cotangent.
  void expect_gradient(const heed_tensor* gradient, const std::string& expected) const {
    const std::vector<double> cotangents = numbers_of(load("cotangent").get());
    std::vector<double> is = numbers_of(gradient);
    for (size_t i = 0; i < is.size(); ++i) is[i] *= cotangents[i / (is.size() / cotangents.size())];
    const Tensor scaled = capi_test::make_tensor_of(context(), capi_test::dims_of(gradient), is);
    expect_near(scaled.get(), load(expected).get(), kGradientTolerance);
  }
  double number(const std::string& tensor) const { return numbers_of(load(tensor).get())[0]; }
  heed_context* context() const { return context_.get(); }

  const Context context_ = make_context();
  const GoldenFile file_ = GoldenFile(context_.get(), kFile);
  const Json options_ = the_file().options_of(GetParam());
};

std::string name_of(const testing::TestParamInfo<std::string>& golden) { return golden.param; }

class TorchCrossEntropy : public TorchLosses {
 protected:
  heed_cross_entropy_options options() const {
    heed_cross_entropy_options options = HEED_CROSS_ENTROPY_OPTIONS_INIT;
    options.label_smoothing = options_.value("label_smoothing", 0.0f);
    options.ignore_index = options_.value("ignore_index", int64_t{-100});
    // The gradient of "none" is that of the sum.
    options.reduction = options_.value("reduction", "") == "mean" ? HEED_LOSS_MEAN : HEED_LOSS_SUM;
    return options;
  }
};

TEST_P(TorchCrossEntropy, AgreesWithPyTorch) {
  const Tensor logits = load("input.logits");
  const Tensor labels = load("input.target");
  const heed_cross_entropy_options options = this->options();
  const Tensor losses = capi_test::make_tensor(context(), capi_test::dims_of(labels.get()));
  const Tensor gradient = capi_test::make_tensor(context(), capi_test::dims_of(logits.get()));
  double total = 0;
  check(heed_cross_entropy(logits.get(), labels.get(), nullptr, &options, losses.get(), &total, gradient.get()));
  if (options_["reduction"] == "none") {
    expect_near(losses.get(), load("output").get(), kLossTolerance);
  } else if (std::isnan(number("output"))) {
    // PyTorch's mean of no rows.
    EXPECT_EQ(GetParam(), "cross_entropy_all_ignored_mean");
    EXPECT_EQ(total, 0);
  } else {
    EXPECT_NEAR(total, number("output"), kLossTolerance * std::abs(number("output")));
  }
  expect_gradient(gradient.get(), "grad.logits");
  // In place.
  check(heed_cross_entropy(logits.get(), labels.get(), nullptr, &options, nullptr, nullptr, logits.get()));
  EXPECT_EQ(capi_test::read_bytes(logits.get()), capi_test::read_bytes(gradient.get()));
}

INSTANTIATE_TEST_SUITE_P(File, TorchCrossEntropy, testing::ValuesIn(cases_of("cross_entropy_")), name_of);

class TorchSequences : public TorchCrossEntropy {};

TEST_P(TorchSequences, AgreeWithPyTorchAndD2l) {
  const Tensor logits = load("input.logits");
  const Tensor labels = load("input.target");
  const Tensor lens = load("input.valid_lens");
  const Tensor losses = capi_test::make_tensor(context(), capi_test::dims_of(labels.get()));
  const Tensor gradient = capi_test::make_tensor(context(), capi_test::dims_of(logits.get()));
  struct Reduction {
    const char* name;
    int32_t value;
  };
  for (const auto& [name, value] : {Reduction{"mean", HEED_LOSS_MEAN}, Reduction{"sum", HEED_LOSS_SUM},
                                    Reduction{"mean_of_items_all_steps", HEED_LOSS_MEAN_OF_ITEMS}}) {
    SCOPED_TRACE(name);
    heed_cross_entropy_options options = this->options();
    options.reduction = value;
    double total = 0;
    check(heed_cross_entropy(logits.get(), labels.get(), lens.get(), &options, losses.get(), &total, gradient.get()));
    expect_near(losses.get(), load("losses").get(), kLossTolerance);
    const std::string prefix = name;
    EXPECT_NEAR(total, number(prefix + ".output"), kLossTolerance * std::abs(number(prefix + ".output")));
    expect_near(gradient.get(), load(prefix + ".grad.logits").get(), kGradientTolerance);
  }
}

INSTANTIATE_TEST_SUITE_P(File, TorchSequences, testing::ValuesIn(cases_of("sequences")), name_of);

class TorchSquaredError : public TorchLosses {};

TEST_P(TorchSquaredError, AgreesWithPyTorch) {
  const Tensor x = load("input.x");
  const Tensor target = load("input.target");
  heed_squared_error_options options = HEED_SQUARED_ERROR_OPTIONS_INIT;
  options.reduction = options_["reduction"] == "mean" ? HEED_LOSS_MEAN : HEED_LOSS_SUM;
  const Tensor losses = capi_test::make_tensor(context(), capi_test::dims_of(x.get()));
  const Tensor gradient = capi_test::make_tensor(context(), capi_test::dims_of(x.get()));
  double total = 0;
  check(heed_squared_error(x.get(), target.get(), &options, losses.get(), &total, gradient.get()));
  if (options_["reduction"] == "none") {
    expect_near(losses.get(), load("output").get(), kLossTolerance);
  } else {
    EXPECT_NEAR(total, number("output"), kLossTolerance * std::abs(number("output")));
  }
  expect_gradient(gradient.get(), "grad.x");
}

INSTANTIATE_TEST_SUITE_P(File, TorchSquaredError, testing::ValuesIn(cases_of("mse_")), name_of);

class TorchClipping : public TorchLosses {
 protected:
  // Linear layers without bias whose weights have as many elements as the gradients.
  Layer make_layer(const heed_tensor* gradient) const {
    heed_layer_norm_options norm = HEED_LAYER_NORM_OPTIONS_INIT;
    norm.no_bias = 1;
    Layer layer = capi_test::make_layer_norm(context(), norm);
    const Tensor weight = capi_test::make_tensor(context(), {heed_tensor_num_elements(gradient)});
    check(heed_layer_set_parameter(layer.get(), "weight", weight.get()));
    return layer;
  }
};

// Each gradient is a set of its own: the norm is of all.
TEST_P(TorchClipping, AgreesWithPyTorch) {
  std::vector<Layer> layers;
  std::vector<capi_test::Gradients> sets;
  std::vector<heed_gradients*> handles;
  std::vector<Tensor> views;
  for (int i = 0;; ++i) {
    const Tensor given = file_.load_if_present((GetParam() + ".input.gradient" + std::to_string(i)).c_str());
    if (given == nullptr) break;
    layers.push_back(make_layer(given.get()));
    sets.push_back(capi_test::make_gradients(layers.back().get()));
    handles.push_back(sets.back().get());
    views.push_back(capi_test::gradient_of(sets.back().get(), "weight"));
    const Tensor flat = capi_test::make_reshaped(given.get(), {heed_tensor_num_elements(given.get())});
    check(heed_tensor_copy(views.back().get(), flat.get()));
  }
  ASSERT_FALSE(sets.empty());
  const auto count = static_cast<int64_t>(handles.size());
  const double expected = number("norm");
  double norm = -1;
  check(heed_gradients_norm(handles.data(), count, &norm));
  if (std::isinf(expected)) {
    EXPECT_EQ(norm, expected);
    const std::vector<uint8_t> before = capi_test::read_bytes(views[0].get());
    EXPECT_EQ(heed_gradients_clip(handles.data(), count, options_["max_norm"], &norm), HEED_ERROR_INVALID_ARGUMENT);
    EXPECT_EQ(capi_test::read_bytes(views[0].get()), before);
    return;
  }
  EXPECT_NEAR(norm, expected, 1e-15 * expected);
  check(heed_gradients_clip(handles.data(), count, options_["max_norm"], &norm));
  EXPECT_NEAR(norm, expected, 1e-15 * expected);
  for (size_t i = 0; i < views.size(); ++i) {
    const Tensor output = load("output" + std::to_string(i));
    const Tensor flat = capi_test::make_reshaped(output.get(), {heed_tensor_num_elements(output.get())});
    expect_near(views[i].get(), flat.get(), kGradientTolerance);
  }
}

INSTANTIATE_TEST_SUITE_P(File, TorchClipping, testing::ValuesIn(cases_of("clip_")), name_of);

}  // namespace
}  // namespace heed::golden
