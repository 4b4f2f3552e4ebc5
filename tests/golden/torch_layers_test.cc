// SPDX-License-Identifier: Apache-2.0
// Norms, activations, feed-forward networks and embeddings against PyTorch's in float64: the cases of
// data/torch_layers.safetensors. The options of a case are in the file's metadata.
#include <gtest/gtest.h>
#include <heed/heed.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "golden/support/from_torch.h"
#include "golden/support/golden_file.h"
#include "golden/support/torch_backward.h"
#include "golden/support/torch_case.h"
#include "golden/support/torch_file.h"

namespace heed::golden {
namespace {

using Json = nlohmann::json;

constexpr const char* kFile = "torch_layers";

// Read once, since it has many tensors.
const TorchFile& the_file() {
  static const TorchFile file(kFile);
  return file;
}

// The file's own figure for an engine in f32, of the largest number of a row.
constexpr double kTolerance = 5e-7;

// The cases of functions that heed has whose names begin with this.
std::vector<std::string> cases_of(const std::string& beginning) {
  std::vector<std::string> result = the_file().cases();
  std::erase_if(result, [&](const std::string& name) {
    if (!name.starts_with(beginning)) return true;
    const Json options = the_file().options_of(name);
    if (beginning == "activation_") return !activation_of(name.substr(beginning.size()));
    return options.contains("activation") && !activation_of(options["activation"]);
  });
  return result;
}

class TorchLayers : public testing::TestWithParam<std::string> {
 protected:
  const std::string& name() const { return GetParam(); }
  Tensor load(const GoldenFile& file, const std::string& tensor) const {
    return file.load((name() + "." + tensor).c_str());
  }
  // Sets each parameter of the layer to the file's; of a case without parameters to 1.
  void set_parameters(const GoldenFile& file, heed_layer* layer) const {
    const int64_t count = heed_layer_parameter_count(layer);
    for (int64_t i = 0; i < count; ++i) {
      const char* parameter = heed_layer_parameter_name(layer, i);
      Tensor value = file.load_if_present((name() + ".param." + parameter).c_str());
      if (value == nullptr) {
        EXPECT_EQ(name(), "layer_norm_no_affine");
        const int64_t size = options_["size"];
        value = capi_test::make_tensor_of(file.context(), {size}, std::vector<float>(static_cast<size_t>(size), 1));
      }
      check(heed_layer_set_parameter(layer, parameter, value.get()));
    }
  }
  Tensor forward(const heed_layer* layer, const heed_tensor* input) const {
    heed_layer_inputs inputs = HEED_LAYER_INPUTS_INIT;
    inputs.queries = input;
    heed_layer_outputs outputs = HEED_LAYER_OUTPUTS_INIT;
    check(heed_layer_create_outputs(layer, &inputs, HEED_WANT_OUTPUT, &outputs));
    Tensor output(outputs.output);
    check(heed_layer_forward(layer, &inputs, nullptr, &outputs));
    return output;
  }

  // The gradients of the file's input, by heed's names, from the file's cotangent.
  reference::NamedRows gradients(const GoldenFile& file, const heed_layer* layer, const heed_tensor* input) const {
    heed_layer_inputs inputs = HEED_LAYER_INPUTS_INIT;
    inputs.queries = input;
    return backward(file.context(), layer, inputs, torch_case_.cotangent());
  }

  const TorchCase torch_case_{the_file(), GetParam()};
  const Json& options_ = torch_case_.options();
};

// The file's own figure for gradients by an engine in f32.
constexpr double kGradientTolerance = 1e-6;

class TorchNorms : public TorchLayers {
 protected:
  // With the file's parameters.
  Layer make_norm(const GoldenFile& file) const {
    heed_layer_norm_options heed_options = HEED_LAYER_NORM_OPTIONS_INIT;
    heed_options.epsilon = options_["epsilon"];
    heed_options.kind = options_["by"] == "RMSNorm" ? HEED_NORM_RMS : HEED_NORM_LAYER;
    heed_options.no_bias = bias_of(file) == nullptr ? 1 : 0;
    heed_layer* layer = nullptr;
    check(heed_layer_norm_create(file.context(), &heed_options, &layer));
    set_parameters(file, layer);
    return Layer(layer);
  }
  Tensor bias_of(const GoldenFile& file) const { return file.load_if_present((name() + ".param.bias").c_str()); }
};

// Row by row: a row of large numbers would hide the errors of the others. Row 2, of numbers near 1000 that differ by
// 1/16, needs no tolerance of its own, since the mean's rounding is corrected.
TEST_P(TorchNorms, AgreeWithPyTorchRowByRow) {
  on_device([&](Fallback fallback) {
    const Context context = make_context(fallback);
    const GoldenFile file(context.get(), kFile);
    const Tensor output = forward(make_norm(file).get(), load(file, "input.x").get());
    const Tensor expected = load(file, "output");
    const int64_t num_rows = heed_tensor_dim(expected.get(), 0);
    for (int64_t row = 0; row < num_rows; ++row) {
      SCOPED_TRACE("row " + std::to_string(row));
      expect_near(capi_test::make_slice(output.get(), 0, row, 1).get(),
                  capi_test::make_slice(expected.get(), 0, row, 1).get(), kTolerance * property::coarseness(HEED_F32));
    }
  });
}

// Row by row, as above. The rows of equal numbers divide by the root of epsilon alone.
TEST_P(TorchNorms, HavePyTorchsGradients) {
  const Context context = make_context();
  const GoldenFile file(context.get(), kFile);
  const reference::NamedRows gradients = this->gradients(file, make_norm(file).get(), load(file, "input.x").get());
  for (const char* parameter : {"weight", "bias"}) {
    if (torch_case_.has(std::string("grad.") + parameter))
      torch_case_.expect_gradient(parameter, gradients.at(parameter).values, kGradientTolerance);
  }
  const std::vector<double> expected = torch_case_.numbers("grad.x");
  const std::vector<double>& numbers = gradients.at("queries").values;
  ASSERT_EQ(numbers.size(), expected.size());
  const size_t size = options_["size"];
  for (size_t first = 0; first < expected.size(); first += size) {
    SCOPED_TRACE("row " + std::to_string(first / size));
    const auto row_of = [&](const std::vector<double>& rows) {
      const auto begin = rows.begin() + static_cast<std::ptrdiff_t>(first);
      return std::vector<double>(begin, begin + static_cast<std::ptrdiff_t>(size));
    };
    const std::vector<double> row = row_of(expected);
    expect_numbers(row_of(numbers), row, kGradientTolerance, largest_magnitude(row));
  }
}

std::string name_of_norm(const testing::TestParamInfo<std::string>& golden) {
  std::string name = golden.param;
  std::ranges::replace(name, '-', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Layer, TorchNorms, testing::ValuesIn(cases_of("layer_norm")), name_of_norm);
INSTANTIATE_TEST_SUITE_P(Rms, TorchNorms, testing::ValuesIn(cases_of("rms_norm")), name_of_norm);

class TorchLayerNorms : public TorchNorms {};

// Rows 3 and 4: the variance of equal numbers is exactly 0, whatever epsilon is.
TEST_P(TorchLayerNorms, OfEqualNumbersAreTheBias) {
  HEED_SKIP_ON_ASCEND("the device rounds intermediate results");
  const Context context = make_context();
  const GoldenFile file(context.get(), kFile);
  const Tensor x = load(file, "input.x");
  const Tensor rows = capi_test::make_slice(x.get(), 0, 3, 2);
  const Tensor bias = bias_of(file);
  const std::vector<double> is = numbers_of(forward(make_norm(file).get(), rows.get()).get());
  const std::vector<double> numbers = numbers_of(rows.get());
  const size_t size = options_["size"];
  for (size_t i = 0; i < is.size(); ++i) {
    EXPECT_EQ(numbers[i], numbers[i / size * size]) << "not a row of equal numbers";
    EXPECT_EQ(is[i], bias == nullptr ? 0 : numbers_of(bias.get())[i % size]);
  }
}

INSTANTIATE_TEST_SUITE_P(File, TorchLayerNorms, testing::ValuesIn(cases_of("layer_norm")), name_of_norm);

class TorchActivations : public TorchLayers {};

// A feed-forward network whose weights are 1 is its activation.
TEST_P(TorchActivations, AgreeWithPyTorchElementByElement) {
  heed_feed_forward_options heed_options = HEED_FEED_FORWARD_OPTIONS_INIT;
  heed_options.hidden_size = 1;
  heed_options.activation = activation_of(name().substr(std::string("activation_").size())).value();
  heed_options.no_bias = 1;
  on_device([&](Fallback fallback) {
    const Context context = make_context(fallback);
    const GoldenFile file(context.get(), kFile);
    heed_layer* made = nullptr;
    check(heed_feed_forward_create(context.get(), &heed_options, &made));
    const Layer layer(made);
    const Tensor one = capi_test::make_tensor_of(context.get(), {1, 1}, std::vector{1.0f});
    for (const char* parameter : {"W_1.weight", "W_2.weight"})
      check(heed_layer_set_parameter(made, parameter, one.get()));
    const Tensor x = load(file, "input.x");
    const Tensor column = capi_test::make_reshaped(x.get(), {heed_tensor_dim(x.get(), 0), 1});
    const std::vector<double> is = numbers_of(forward(made, column.get()).get());
    const std::vector<double> expected = numbers_of(load(file, "output").get());
    const std::vector<double> at = numbers_of(x.get());
    ASSERT_EQ(is.size(), expected.size());
    const double largest = largest_finite(expected);
    for (size_t i = 0; i < is.size(); ++i) {
      if (is[i] == expected[i]) continue;
      EXPECT_NEAR(is[i], expected[i], kTolerance * largest * property::coarseness(HEED_F32)) << "of " << at[i];
    }
  });
}

TEST_P(TorchActivations, HavePyTorchsGradients) {
  heed_feed_forward_options heed_options = HEED_FEED_FORWARD_OPTIONS_INIT;
  heed_options.hidden_size = 1;
  heed_options.activation = activation_of(name().substr(std::string("activation_").size())).value();
  heed_options.no_bias = 1;
  const Context context = make_context();
  const GoldenFile file(context.get(), kFile);
  heed_layer* made = nullptr;
  check(heed_feed_forward_create(context.get(), &heed_options, &made));
  const Layer layer(made);
  const Tensor one = capi_test::make_tensor_of(context.get(), {1, 1}, std::vector{1.0f});
  for (const char* parameter : {"W_1.weight", "W_2.weight"})
    check(heed_layer_set_parameter(made, parameter, one.get()));
  const Tensor x = load(file, "input.x");
  const Tensor column = capi_test::make_reshaped(x.get(), {heed_tensor_dim(x.get(), 0), 1});
  torch_case_.expect_gradient("x", gradients(file, made, column.get()).at("queries").values, kGradientTolerance);
}

INSTANTIATE_TEST_SUITE_P(File, TorchActivations, testing::ValuesIn(cases_of("activation_")),
                         [](const auto& golden) { return golden.param; });

class TorchFeedForward : public TorchLayers {};

TEST_P(TorchFeedForward, AgreesWithPyTorch) {
  heed_feed_forward_options heed_options = HEED_FEED_FORWARD_OPTIONS_INIT;
  heed_options.hidden_size = options_["hidden_size"];
  heed_options.activation = activation_of(options_["activation"]).value();
  heed_options.gated = options_["gated"].get<bool>() ? 1 : 0;
  heed_options.no_bias = options_["bias"].get<bool>() ? 0 : 1;
  on_device([&](Fallback fallback) {
    const Context context = make_context(fallback);
    const GoldenFile file(context.get(), kFile);
    heed_layer* made = nullptr;
    check(heed_feed_forward_create(context.get(), &heed_options, &made));
    const Layer layer(made);
    set_parameters(file, made);
    const Tensor x = load(file, "input.x");
    expect_near(forward(made, x.get()).get(), load(file, "output").get(), kTolerance * property::coarseness(HEED_F32));
    if (on_ascend()) return;
    const reference::NamedRows gradients = this->gradients(file, made, x.get());
    for (const std::string& gradient : torch_case_.gradients())
      torch_case_.expect_gradient(gradient, gradients.at(gradient == "x" ? "queries" : gradient).values,
                                  kGradientTolerance);
  });
}

INSTANTIATE_TEST_SUITE_P(File, TorchFeedForward, testing::ValuesIn(cases_of("feed_forward_")),
                         [](const auto& golden) { return golden.param; });

class TorchEmbedding : public TorchLayers {};

// One product, rounded once.
TEST_P(TorchEmbedding, IsPyTorchsRoundedOnce) {
  heed_embedding_options heed_options = HEED_EMBEDDING_OPTIONS_INIT;
  heed_options.num_embeddings = options_["num_embeddings"];
  heed_options.embedding_size = options_["embedding_size"];
  if (!options_["padding_index"].is_null()) heed_options.padding_index = options_["padding_index"];
  heed_options.scale = options_["scale"];
  on_device([&](Fallback fallback) {
    const Context context = make_context(fallback);
    const GoldenFile file(context.get(), kFile);
    heed_layer* made = nullptr;
    check(heed_embedding_create(context.get(), &heed_options, &made));
    const Layer layer(made);
    set_parameters(file, made);
    const std::vector<double> is = numbers_of(forward(made, load(file, "input.ids").get()).get());
    const std::vector<double> expected = numbers_of(load(file, "output").get());
    ASSERT_EQ(is.size(), expected.size());
    // The scale is rounded to F32 too.
    for (size_t i = 0; i < is.size(); ++i) EXPECT_NEAR(is[i], expected[i], 2.01 * 0x1p-24 * std::abs(expected[i]));
    if (on_ascend()) return;
    const Tensor ids = load(file, "input.ids");
    torch_case_.expect_gradient("weight", gradients(file, made, ids.get()).at("weight").values, kGradientTolerance);
  });
}

INSTANTIATE_TEST_SUITE_P(File, TorchEmbedding, testing::ValuesIn(cases_of("embedding")),
                         [](const auto& golden) { return golden.param; });

class TorchSinusoids : public TorchLayers {};

TEST_P(TorchSinusoids, AreAddedToRows) {
  const std::map<std::string, int32_t> kinds = {{"sinusoidal", HEED_POSITIONS_SINUSOIDAL},
                                                {"sinusoidal_halves", HEED_POSITIONS_SINUSOIDAL_HALVES},
                                                {"sinusoidal_halves_marian", HEED_POSITIONS_SINUSOIDAL_HALVES_2I}};
  const Context context = make_context();
  const GoldenFile file(context.get(), kFile);
  const Tensor expected = load(file, "output");
  const Dims dims = capi_test::dims_of(expected.get());
  heed_positional_encoding_options heed_options = HEED_POSITIONAL_ENCODING_OPTIONS_INIT;
  heed_options.kind = kinds.at(name());
  heed_options.max_positions = dims[0];
  heed_options.size = dims[1];
  const Layer layer = capi_test::make_positional_encoding(context.get(), heed_options);
  const Tensor zeros = capi_test::make_tensor(context.get(), {1, dims[0], dims[1]});
  // Computed in f64 and rounded once.
  expect_near(forward(layer.get(), zeros.get()).get(), expected.get(), 0x1.1p-24);
}

INSTANTIATE_TEST_SUITE_P(File, TorchSinusoids, testing::ValuesIn(cases_of("sinusoidal")),
                         [](const auto& golden) { return golden.param; });

TEST(TorchLayersFile, HasOtherCasesOnlyOfFunctionsThatHeedLacks) {
  std::vector<std::string> others = the_file().cases();
  for (const char* beginning : {"layer_norm", "rms_norm", "activation_", "feed_forward_", "embedding", "sinusoidal"}) {
    for (const std::string& tested : cases_of(beginning)) std::erase(others, tested);
  }
  EXPECT_EQ(others,
            (std::vector<std::string>{"activation_sigmoid", "activation_tanh", "feed_forward_glu", "glu_packed"}));
}

}  // namespace
}  // namespace heed::golden
