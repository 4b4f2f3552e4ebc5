// SPDX-License-Identifier: Apache-2.0
// Steps of SGD, Adam and AdamW against PyTorch's in float64: the cases of data/torch_optimizers.safetensors. And numbers of DJL's
// formula, which adds epsilon before the correction of the bias.
#include <gtest/gtest.h>
#include <heed/heed.h>

#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "capi/support/files.h"
#include "golden/support/golden_file.h"
#include "golden/support/torch_file.h"

namespace heed::golden {
namespace {

using Json = nlohmann::json;

constexpr const char* kFile = "torch_optimizers";
// The file's own figure for an engine in f32, of the largest number of a tensor.
constexpr double kTolerance = 1e-6;

const TorchFile& the_file() {
  static const TorchFile file(kFile);
  return file;
}

// A layer whose only parameter, "weight", has this value: a linear layer, which keeps it packed, or a norm.
Layer make_layer(heed_context* context, const heed_tensor* value) {
  Layer layer;
  if (heed_tensor_rank(value) == 2) {
    heed_linear_options options = HEED_LINEAR_OPTIONS_INIT;
    options.output_size = heed_tensor_dim(value, 0);
    options.no_bias = 1;
    layer = capi_test::make_linear(context, options);
  } else {
    heed_layer_norm_options options = HEED_LAYER_NORM_OPTIONS_INIT;
    options.no_bias = 1;
    layer = capi_test::make_layer_norm(context, options);
  }
  check(heed_layer_set_parameter(layer.get(), "weight", value));
  return layer;
}

class TorchOptimizers : public testing::TestWithParam<std::string> {
 protected:
  Tensor load(const std::string& tensor) const { return file_.load((GetParam() + "." + tensor).c_str()); }
  Tensor load_step(const std::string& tensor, int64_t step) const {
    const Tensor all = load(tensor);
    capi_test::Dims dims = capi_test::dims_of(all.get());
    dims.erase(dims.begin());
    return capi_test::make_reshaped(capi_test::make_slice(all.get(), 0, step, 1).get(), dims);
  }

  capi_test::Optimizer make_optimizer(double learning_rate, double weight_decay) const {
    if (options_["by"] == "torch.optim.SGD") {
      heed_sgd_options options = HEED_SGD_OPTIONS_INIT;
      options.learning_rate = learning_rate;
      options.momentum = options_.value("momentum", 0.0);
      options.nesterov = options_.value("nesterov", false) ? 1 : 0;
      options.weight_decay = weight_decay;
      return capi_test::make_sgd(context_.get(), options);
    }
    heed_adamw_options options = HEED_ADAMW_OPTIONS_INIT;
    options.learning_rate = learning_rate;
    const Json& defaults = options_["defaults"];
    options.beta1 = defaults["betas"][0];
    options.beta2 = defaults["betas"][1];
    options.epsilon = defaults["eps"];
    options.weight_decay = weight_decay;
    options.coupled_decay = options_["by"] == "torch.optim.Adam" ? 1 : 0;
    return capi_test::make_adamw(context_.get(), options);
  }

  const Context context_ = make_context();
  const GoldenFile file_ = GoldenFile(context_.get(), kFile);
  const Json options_ = the_file().options_of(GetParam());
  const capi_test::TemporaryFolder folder_;
};

// A parameter of the second group has the learning rate of the first times the factor of its group. After three steps the optimizer
// is saved, and another one goes on.
TEST_P(TorchOptimizers, AgreeWithPyTorchStepByStep) {
  const std::vector<double> rates = numbers_of(load("learning_rates").get());
  for (size_t group = 0; group < 2; ++group) {
    for (const std::string& name : options_["groups"][group].get<std::vector<std::string>>()) {
      SCOPED_TRACE(name);
      const Layer layer = make_layer(context_.get(), load("param." + name).get());
      const capi_test::Gradients gradients = capi_test::make_gradients(layer.get());
      const Tensor gradient = capi_test::gradient_of(gradients.get(), "weight");
      capi_test::Optimizer optimizer = make_optimizer(rates[0], options_["group_weight_decay"][0]);
      if (group == 1) {
        const heed_parameter_group own = {sizeof own, rates[1] / rates[0], options_["group_weight_decay"][1]};
        check(heed_optimizer_set_group(optimizer.get(), "weight", &own));
      }
      for (int64_t step = 0; step < 6; ++step) {
        SCOPED_TRACE("step " + std::to_string(step));
        if (step == 3) {
          const std::string path = folder_.path(name);
          check(heed_optimizer_save(optimizer.get(), path.c_str()));
          optimizer = make_optimizer(1, 1);
          check(heed_optimizer_load(optimizer.get(), path.c_str()));
        }
        check(heed_optimizer_set_learning_rate(optimizer.get(), rates[static_cast<size_t>(2 * step)]));
        check(heed_tensor_copy(gradient.get(), load_step("input.gradients." + name, step).get()));
        check(heed_optimizer_step(optimizer.get(), layer.get(), gradients.get()));
        expect_near(capi_test::snapshot(layer.get(), "weight").get(), load_step("params." + name, step).get(),
                    kTolerance);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(File, TorchOptimizers, testing::ValuesIn(the_file().cases()),
                         [](const auto& golden) { return golden.param; });

// The numbers of one parameter of 1 after each step.
std::vector<double> steps_of(const capi_test::Optimizer& optimizer, heed_context* context,
                             const std::vector<float>& gradients) {
  const Layer layer = make_layer(context, capi_test::make_tensor_of(context, {1}, std::vector{1.0f}).get());
  const capi_test::Gradients set = capi_test::make_gradients(layer.get());
  const Tensor gradient = capi_test::gradient_of(set.get(), "weight");
  std::vector<double> result;
  for (const float number : gradients) {
    check(heed_tensor_fill(gradient.get(), static_cast<double>(number)));
    check(heed_optimizer_step(optimizer.get(), layer.get(), set.get()));
    result.push_back(numbers_of(capi_test::snapshot(layer.get(), "weight").get())[0]);
  }
  return result;
}

void expect_steps(const std::vector<double>& actual, const std::vector<double>& expected) {
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t i = 0; i < actual.size(); ++i) EXPECT_NEAR(actual[i], expected[i], 1.5e-7) << "step " << i;
}

TEST(Optimizers, PlaceEpsilonAsPyTorchOrAsDjl) {
  const Context context = make_context();
  heed_adamw_options djl = HEED_ADAMW_OPTIONS_INIT;
  djl.epsilon_placement = HEED_EPSILON_UNCORRECTED;
  const auto steps = [&](const heed_adamw_options& options, const std::vector<float>& gradients) {
    return steps_of(capi_test::make_adamw(context.get(), options), context.get(), gradients);
  };
  const std::vector<float> large = {0.5f, -0.25f, 0.125f};
  expect_steps(steps(HEED_ADAMW_OPTIONS_INIT, large), {.99899, .998713673, .998363257});
  expect_steps(steps(djl, large), {.99899, .998713673, .998363257});
  const std::vector<float> tiny(3, 1e-7f);
  expect_steps(steps(HEED_ADAMW_OPTIONS_INIT, tiny), {.999080909, .998161827, .997242755});
  expect_steps(steps(djl, tiny), {.999749747, .999430786, .999067016});
}

TEST(Optimizers, DescendWithMomentum) {
  const Context context = make_context();
  heed_sgd_options options = HEED_SGD_OPTIONS_INIT;
  options.learning_rate = 0.1;
  options.momentum = 0.9;
  expect_steps(steps_of(capi_test::make_sgd(context.get(), options), context.get(), {0.5f, -0.25f, 0.125f}),
               {.95, .93, .8995});
}

}  // namespace
}  // namespace heed::golden
