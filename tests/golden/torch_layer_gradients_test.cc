// SPDX-License-Identifier: Apache-2.0
// The gradients of layers, the losses and the steps of optimizers in the f64 reference against PyTorch's: the cases of
// data/torch_layers.safetensors, data/torch_losses.safetensors and data/torch_optimizers.safetensors.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "golden/support/torch_case.h"
#include "golden/support/torch_reference.h"
#include "reference/feed_forward_gradients.h"
#include "reference/linear_gradients.h"
#include "reference/losses.h"
#include "reference/norm_gradients.h"
#include "reference/optimizers.h"

namespace heed::golden {
namespace {

using Json = nlohmann::json;
using Numbers = std::vector<double>;

TorchCase case_of(const std::string& file, const std::string& name) {
  static const TorchFile kLayers("torch_layers");
  static const TorchFile kLosses("torch_losses");
  static const TorchFile kOptimizers("torch_optimizers");
  return {file == "layers" ? kLayers : file == "losses" ? kLosses : kOptimizers, name};
}

std::vector<std::string> cases_of(const std::string& file, const std::string& prefix) {
  std::vector<std::string> cases = TorchFile("torch_" + file).cases();
  std::erase_if(cases, [&](const std::string& name) { return !name.starts_with(prefix); });
  return cases;
}

std::vector<int64_t> as_integers(const Numbers& numbers) { return {numbers.begin(), numbers.end()}; }

class NormGradientsOfTorch : public testing::TestWithParam<std::string> {};

TEST_P(NormGradientsOfTorch, AreTheReferencesRowByRow) {
  const TorchCase torch_case = case_of("layers", GetParam());
  const size_t size = torch_case.options()["size"];
  reference::Norm norm;
  norm.weight = torch_case.has("param.weight") ? torch_case.numbers("param.weight") : Numbers(size, 1.0);
  if (torch_case.has("param.bias")) norm.bias = torch_case.numbers("param.bias");
  norm.epsilon = torch_case.options()["epsilon"];
  norm.subtracts_mean = GetParam().starts_with("layer_norm");
  const reference::NormGradients gradients =
      reference::norm_gradients(norm, torch_case.numbers("input.x"), torch_case.cotangent());
  if (torch_case.has("param.weight")) torch_case.expect_gradient("weight", gradients.weight.values, kAgreement);
  if (torch_case.has("param.bias")) torch_case.expect_gradient("bias", gradients.bias.values, kAgreement);
  const Numbers expected = torch_case.numbers("grad.x");
  for (size_t first = 0; first < expected.size(); first += size) {
    SCOPED_TRACE("row " + std::to_string(first / size));
    const auto row_of = [&](const Numbers& rows) {
      const auto begin = rows.begin() + static_cast<std::ptrdiff_t>(first);
      return Numbers(begin, begin + static_cast<std::ptrdiff_t>(size));
    };
    const Numbers row = row_of(expected);
    expect_numbers(row_of(gradients.rows.values), row, kAgreement, largest_magnitude(row));
  }
}

std::string name_of(std::string name) {
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(LayerNorm, NormGradientsOfTorch, testing::ValuesIn(cases_of("layers", "layer_norm")),
                         [](const auto& golden) { return name_of(golden.param); });
INSTANTIATE_TEST_SUITE_P(RmsNorm, NormGradientsOfTorch, testing::ValuesIn(cases_of("layers", "rms_norm")),
                         [](const auto& golden) { return name_of(golden.param); });

class ActivationGradientsOfTorch : public testing::TestWithParam<std::string> {};

TEST_P(ActivationGradientsOfTorch, AreTheReferences) {
  const TorchCase torch_case = case_of("layers", "activation_" + GetParam());
  const Numbers x = torch_case.numbers("input.x");
  const reference::Bounded gradient = reference::activation_gradient(
      torch_activation(GetParam()), x, torch_case.cotangent(), static_cast<int64_t>(x.size()));
  torch_case.expect_gradient("x", gradient.values, kAgreement);
}

INSTANTIATE_TEST_SUITE_P(File, ActivationGradientsOfTorch,
                         testing::Values("relu", "gelu", "gelu_tanh", "gelu_quick", "silu"),
                         [](const auto& golden) { return golden.param; });

class FeedForwardGradientsOfTorch : public testing::TestWithParam<std::string> {};

TEST_P(FeedForwardGradientsOfTorch, AreTheReferences) {
  const TorchCase torch_case = case_of("layers", "feed_forward_" + GetParam());
  const Json& options = torch_case.options();
  const bool has_bias = options["bias"];
  const int64_t hidden = options["hidden_size"];
  const int64_t size = torch_case.dims("input.x").back();
  const ReadParameter read = [&](const std::string& name) { return torch_case.numbers("param." + name); };
  reference::FeedForward network;
  network.first = torch_linear(read, "W_1.", size, hidden, has_bias);
  if (options["gated"].get<bool>()) network.gate = torch_linear(read, "W_gate.", size, hidden, has_bias);
  network.second = torch_linear(read, "W_2.", hidden, size, has_bias);
  network.activation = torch_activation(options["activation"]);
  const reference::NamedRows gradients = reference::feed_forward_gradients(network, torch_case.numbers("input.x"),
                                                                           torch_case.cotangent(), reference::unmoved);
  for (const std::string& name : torch_case.gradients())
    torch_case.expect_gradient(name, gradients.at(name == "x" ? "queries" : name).values, kAgreement);
}

// A sigmoid is no activation of heed's.
INSTANTIATE_TEST_SUITE_P(File, FeedForwardGradientsOfTorch,
                         testing::Values("relu", "gelu", "swiglu", "geglu", "geglu_tanh"),
                         [](const auto& golden) { return golden.param; });

TEST(EmbeddingGradientsOfTorch, AreTheReferences) {
  for (const char* name : {"embedding", "embedding_padding"}) {
    const TorchCase torch_case = case_of("layers", name);
    const Json& options = torch_case.options();
    const Json& padding = options["padding_index"];
    const reference::Bounded gradient = reference::embedding_gradient(
        as_integers(torch_case.numbers("input.ids")), options["num_embeddings"], options["embedding_size"],
        options["scale"], padding.is_null() ? -1 : padding.get<int64_t>(), torch_case.cotangent());
    torch_case.expect_gradient("weight", gradient.values, kAgreement);
  }
}

reference::CrossEntropyProblem cross_entropy_of(const TorchCase& torch_case) {
  reference::CrossEntropyProblem problem;
  const std::vector<int64_t> dims = torch_case.dims("input.logits");
  problem.batch = dims.size() == 3 ? dims[0] : 1;
  problem.steps = dims[dims.size() - 2];
  problem.classes = dims.back();
  problem.logits = torch_case.numbers("input.logits");
  problem.labels = as_integers(torch_case.numbers("input.target"));
  problem.label_smoothing = torch_case.options().value("label_smoothing", 0.0);
  problem.ignore_index = torch_case.options().value("ignore_index", int64_t{-100});
  if (torch_case.has("input.valid_lens")) problem.lengths = as_integers(torch_case.numbers("input.valid_lens"));
  return problem;
}

class CrossEntropyOfTorch : public testing::TestWithParam<std::string> {};

TEST_P(CrossEntropyOfTorch, IsTheReferences) {
  const TorchCase torch_case = case_of("losses", "cross_entropy_" + GetParam());
  reference::CrossEntropyProblem problem = cross_entropy_of(torch_case);
  const std::string reduction = torch_case.options()["reduction"];
  problem.reduction = reduction == "mean" ? reference::Reduction::Mean : reference::Reduction::Sum;
  reference::CrossEntropyResult result = reference::cross_entropy(problem);
  Numbers losses = {result.total.value};
  if (reduction == "none") {
    // Each loss has its own cotangent.
    losses = result.losses.values;
    const Numbers cotangent = torch_case.cotangent();
    for (size_t i = 0; i < result.logits.values.size(); ++i)
      result.logits.values[i] *= cotangent[i / static_cast<size_t>(problem.classes)];
  }
  Numbers expected = torch_case.numbers("output");
  // PyTorch's mean over no tokens is NaN, heed's is 0.
  if (GetParam() == "all_ignored_mean") {
    EXPECT_TRUE(std::isnan(expected[0]));
    expected[0] = 0;
  }
  expect_numbers(losses, expected, kAgreement, largest_magnitude(expected));
  torch_case.expect_gradient("logits", result.logits.values, kAgreement);
}

std::vector<std::string> cases_of_cross_entropy() {
  std::vector<std::string> cases = cases_of("losses", "cross_entropy_");
  for (std::string& name : cases) name = name.substr(std::string("cross_entropy_").size());
  return cases;
}

INSTANTIATE_TEST_SUITE_P(File, CrossEntropyOfTorch, testing::ValuesIn(cases_of_cross_entropy()),
                         [](const auto& golden) { return golden.param; });

TEST(SequenceLossesOfTorch, AreTheReferences) {
  for (const char* name : {"sequences", "sequences_smoothing"}) {
    SCOPED_TRACE(name);
    const TorchCase torch_case = case_of("losses", name);
    reference::CrossEntropyProblem problem = cross_entropy_of(torch_case);
    for (const auto& [key, reduction] :
         {std::pair{"mean", reference::Reduction::Mean}, std::pair{"sum", reference::Reduction::Sum},
          std::pair{"mean_of_items_all_steps", reference::Reduction::MeanOfItems}}) {
      SCOPED_TRACE(key);
      problem.reduction = reduction;
      const reference::CrossEntropyResult result = reference::cross_entropy(problem);
      expect_numbers(result.losses.values, torch_case.numbers("losses"), kAgreement, 1.0);
      expect_numbers({result.total.value}, torch_case.numbers(std::string(key) + ".output"), kAgreement, 1.0);
      const Numbers expected = torch_case.numbers(std::string(key) + ".grad.logits");
      expect_numbers(result.logits.values, expected, kAgreement, largest_magnitude(expected));
    }
  }
}

TEST(SquaredErrorOfTorch, IsTheReferences) {
  for (const char* name : {"mse_mean", "mse_sum"}) {
    const TorchCase torch_case = case_of("losses", name);
    const Numbers x = torch_case.numbers("input.x");
    const double factor = torch_case.options()["reduction"] == "mean" ? 1.0 / static_cast<double>(x.size()) : 1.0;
    const reference::SquaredError error = reference::squared_error(x, torch_case.numbers("input.target"), factor);
    expect_numbers({error.total.value}, torch_case.numbers("output"), kAgreement, std::fabs(error.total.value));
    torch_case.expect_gradient("x", error.gradient.values, kAgreement);
    Numbers of_target = error.gradient.values;
    for (double& element : of_target) element = -element;
    torch_case.expect_gradient("target", of_target, kAgreement);
  }
}

class ClippingOfTorch : public testing::TestWithParam<std::string> {};

TEST_P(ClippingOfTorch, IsTheReferences) {
  const TorchCase torch_case = case_of("losses", GetParam());
  std::vector<Numbers> gradients;
  while (torch_case.has("input.gradient" + std::to_string(gradients.size())))
    gradients.push_back(torch_case.numbers("input.gradient" + std::to_string(gradients.size())));
  ASSERT_FALSE(gradients.empty());
  const double norm = reference::norm_of(gradients);
  const Numbers expected_norm = torch_case.numbers("norm");
  expect_numbers({norm}, expected_norm, kAgreement, expected_norm[0]);
  const double factor = reference::clipping_factor(norm, torch_case.options()["max_norm"]);
  for (size_t i = 0; i < gradients.size(); ++i) {
    for (double& element : gradients[i]) element *= factor;
    const Numbers expected = torch_case.numbers("output" + std::to_string(i));
    expect_numbers(gradients[i], expected, kAgreement, largest_magnitude(expected));
  }
}

// An infinite norm is refused by heed.
INSTANTIATE_TEST_SUITE_P(File, ClippingOfTorch,
                         testing::Values("clip_above", "clip_below", "clip_exactly", "clip_zero", "clip_tiny"),
                         [](const auto& golden) { return golden.param; });

class OptimizersOfTorch : public testing::TestWithParam<std::string> {
 protected:
  const TorchCase torch_case = case_of("optimizers", GetParam());
  const Json& options = torch_case.options();

  // Part `step` of an array with one for each.
  Numbers part(const std::string& tensor, size_t step) const {
    const Numbers all = torch_case.numbers(tensor);
    const size_t size = all.size() / 6;
    return {all.begin() + static_cast<std::ptrdiff_t>(step * size),
            all.begin() + static_cast<std::ptrdiff_t>((step + 1) * size)};
  }
  void expect(const std::string& tensor, size_t step, const Numbers& numbers) const {
    if (!torch_case.has(tensor)) return;
    SCOPED_TRACE(tensor + ", step " + std::to_string(step));
    const Numbers expected = part(tensor, step);
    expect_numbers(numbers, expected, kAgreement, largest_magnitude(expected));
  }
};

TEST_P(OptimizersOfTorch, AreTheReferences) {
  const bool is_sgd = GetParam().starts_with("sgd");
  for (size_t group = 0; group < 2; ++group) {
    for (const std::string name : options["groups"][group]) {
      Numbers parameter = torch_case.numbers("param." + name);
      Numbers buffer;
      reference::Moments moments;
      for (size_t step = 0; step < 6; ++step) {
        const double learning_rate = torch_case.numbers("learning_rates")[2 * step + group];
        const double weight_decay = options["group_weight_decay"][group];
        const Numbers gradient = part("input.gradients." + name, step);
        if (is_sgd) {
          const reference::Sgd sgd = {learning_rate, options["defaults"]["momentum"], weight_decay,
                                      options.value("nesterov", false)};
          reference::step(sgd, gradient, parameter, buffer);
          expect("momentum_buffer." + name, step, buffer);
        } else {
          reference::Adam adam = {learning_rate, options["defaults"]["betas"][0], options["defaults"]["betas"][1],
                                  options["defaults"]["eps"], weight_decay};
          adam.is_coupled = !GetParam().starts_with("adamw");
          reference::step(adam, gradient, parameter, moments);
          expect("exp_avg." + name, step, moments.first);
          expect("exp_avg_sq." + name, step, moments.second);
        }
        expect("params." + name, step, parameter);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(File, OptimizersOfTorch, testing::ValuesIn(cases_of("optimizers", "")),
                         [](const auto& golden) { return golden.param; });

}  // namespace
}  // namespace heed::golden
