// SPDX-License-Identifier: Apache-2.0
// Layers that are made of layers, by kinds that only this test has.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "chain.h"
#include "layers/child_seed.h"
#include "layers/kinds/dropout.h"
#include "layers/kinds/linear.h"
#include "layers/kinds/multi_head_attention.h"
#include "layers/kinds/transformer_layer.h"
#include "layers/kinds/transformer_stack.h"
#include "layers/layer.h"
#include "loading/layer_parameters.h"
#include "tensor/fill.h"
#include "tensor/safetensors.h"

namespace heed {
namespace {

constexpr PossibleParameter kScaledParameters[] = {{.name = "gain", .initializer = Initializer::Ones},
                                                   {.name = "shift", .initializer = Initializer::Zeros}};

// One own parameter of each initializer, of which nothing is computed, before a linear layer's.
class Scaled final : public Layer {
 public:
  Scaled(std::shared_ptr<Context> context, std::shared_ptr<Layer> child)
      : Layer(std::move(context),
              std::vector<Parameter>{{kScaledParameters[0], Shape{4}}, {kScaledParameters[1], Shape{4}}},
              kScaledParameters, std::vector<NamedLayer>{{"inner", std::move(child)}}) {}

  const char* kind() const override { return "scaled"; }
  InputRules input_rules(const LayerInputs&) const override { return {kAllInputs, {}}; }

 protected:
  LayerInputs check_tensors(const LayerInputs& inputs) const override { return inputs; }
  void check(Schedule& schedule, Purpose purpose, LayerCall& call) const override {
    call.shapes = check_child(0, call.inputs, schedule, purpose, call);
  }
  void compose(Schedule& schedule, const LayerCall& call, const OutputValues& outputs) const override {
    compose_child(0, schedule, call, outputs);
  }
  void compose_backward(Schedule& schedule, const LayerCall& call, const GradientValues& gradients) const override {
    compose_child_backward(0, schedule, call, gradients);
  }
  void write_options(JsonWriter& json) const override { json.member("inner", "linear"); }
};

class LayerTree : public testing::Test {
 protected:
  std::shared_ptr<Layer> linear(int64_t size) const {
    return std::make_shared<Linear>(context_, LinearOptions{.output_size = size});
  }
  std::shared_ptr<Layer> dropout() const {
    return std::make_shared<Dropout>(context_, DropoutOptions{.dropout = 0.3f});
  }
  std::shared_ptr<Layer> attention(int64_t size) const {
    MultiHeadAttentionOptions options;
    options.num_hiddens = size;
    options.num_heads = 2;
    options.biases = kBiasAll;
    return std::make_shared<MultiHeadAttention>(context_, options);
  }
  std::shared_ptr<Layer> chain(const Children& children) const { return std::make_shared<Chain>(context_, children); }

  Tensor random(const Shape& shape, uint64_t seed) const {
    const Tensor tensor = Tensor::zeros(context_, DType::F32, shape);
    fill_normal(tensor, 0, 1, seed);
    return tensor;
  }
  static LayerInputs inputs_of(const Tensor& tensor, uint64_t seed = kCalledSeed) {
    LayerInputs inputs;
    inputs.queries = &tensor;
    inputs.training = {true, seed};
    return inputs;
  }
  Tensor forward(const Layer& layer, const Tensor& input, uint64_t seed = kCalledSeed) const {
    const LayerInputs inputs = inputs_of(input, seed);
    const Tensor output = Tensor::zeros(context_, DType::F32, layer.output_shapes(inputs).output);
    LayerOutputs outputs;
    outputs.output = &output;
    layer.forward(inputs, nullptr, outputs);
    return output;
  }
  // The chain of these layers, none of which has children, by forwards of single layers, each with a tensor of its own and
  // the seed that it has in the chain.
  Tensor forward_one_by_one(const Children& layers, Tensor value) const {
    for (uint32_t i = 0; i < layers.size(); ++i) value = forward(*layers[i], value, child_seed(kCalledSeed, i));
    return value;
  }
  Tensor sum(const Tensor& a, const Tensor& b) const {
    const Tensor result = Tensor::zeros(context_, DType::F32, a.shape());
    const auto elements = [](const Tensor& tensor) { return reinterpret_cast<float*>(tensor.data()); };
    for (int64_t i = 0; i < result.num_elements(); ++i) elements(result)[i] = elements(a)[i] + elements(b)[i];
    return result;
  }
  // An encoder layer by forwards of its children, the first of which has this number in the tree of the call.
  Tensor encode_one_by_one(const Layer& layer, const Tensor& input, bool norm_first, uint32_t first_number) const {
    constexpr const char* kNames[] = {"self_attention", "feed_forward", "norm_1", "norm_2", "dropout_1", "dropout_2"};
    const auto apply = [&](uint32_t child, const Tensor& x) {
      return forward(*layer.child(kNames[child]), x, child_seed(kCalledSeed, first_number + child));
    };
    Tensor x = input;
    for (uint32_t i = 0; i < 2; ++i) {
      const uint32_t norm = 2 + i;
      const uint32_t dropout = 4 + i;
      if (norm_first)
        x = sum(x, apply(dropout, apply(i, apply(norm, x))));
      else
        x = apply(norm, sum(x, apply(dropout, apply(i, x))));
    }
    return x;
  }
  static EncoderLayerOptions encoder_options(bool norm_first) {
    EncoderLayerOptions options;
    options.attention.num_hiddens = 8;
    options.attention.num_heads = 2;
    options.attention.attention.dropout = 0.2f;
    options.feed_forward.hidden_size = 20;
    options.feed_forward.dropout = 0.3f;
    options.norm_first = norm_first;
    options.dropout = 0.4f;
    return options;
  }
  size_t workspace(const Layer& layer, const Tensor& input) const {
    const LayerInputs inputs = inputs_of(input);
    const Tensor output = Tensor::zeros(context_, DType::F32, layer.output_shapes(inputs).output);
    LayerOutputs outputs;
    outputs.output = &output;
    return layer.workspace_size(inputs, outputs);
  }

  static std::vector<std::string> names_of(const Layer& layer) {
    std::vector<std::string> names;
    for (const Parameter& parameter : layer.parameters()) names.emplace_back(parameter.name());
    return names;
  }
  static void expect_same(const Tensor& a, const Tensor& b) {
    ASSERT_EQ(a.shape(), b.shape());
    EXPECT_EQ(std::memcmp(a.data(), b.data(), a.num_bytes()), 0);
  }

  static constexpr uint64_t kCalledSeed = 5;

  std::shared_ptr<Context> context_ = Context::open({});
};

TEST_F(LayerTree, HasSeedsThatFollowFromTheCalledLayers) {
  EXPECT_EQ(child_seed(7, 0), 0x38b546e2ef8f7f56u);
  EXPECT_EQ(child_seed(7, 1), 0xb0e43d3934d59037u);
  EXPECT_EQ(child_seed(7, 2), 0xd83816615d845cadu);
}

using Names = std::vector<std::string>;

TEST_F(LayerTree, NamesParametersByThePathOfTheirLayer) {
  const auto inner = chain({linear(3), dropout(), linear(4)});
  EXPECT_EQ(names_of(*inner), (Names{"0.weight", "0.bias", "2.weight", "2.bias"}));
  const auto outer = chain({std::make_shared<Scaled>(context_, linear(4)), inner});
  EXPECT_EQ(names_of(*outer), (Names{"0.gain", "0.shift", "0.inner.weight", "0.inner.bias", "1.0.weight", "1.0.bias",
                                     "1.2.weight", "1.2.bias"}));
}

TEST_F(LayerTree, LearnsSizesThroughItsChildren) {
  const auto layer = chain({linear(7), dropout(), linear(3), attention(6), linear(2)});
  const Tensor input = random({2, 5, 4}, 1);
  EXPECT_EQ(layer->output_shapes(inputs_of(input)).output, (Shape{2, 5, 2}));
  initialize(*layer, inputs_of(input), 9);
  ASSERT_TRUE(layer->is_initialized());
  EXPECT_EQ(layer->parameter("0.weight").shape(), (Shape{7, 4}));
  EXPECT_EQ(layer->parameter("2.weight").shape(), (Shape{3, 7}));
  EXPECT_EQ(layer->parameter("3.W_k.weight").shape(), (Shape{6, 3}));
  EXPECT_EQ(layer->parameter("4.weight").shape(), (Shape{2, 6}));
}

TEST_F(LayerTree, InitializesByTheInitializerOfEachParameter) {
  const auto layer = std::make_shared<Scaled>(context_, linear(4));
  const Tensor input = random({3, 5}, 1);
  initialize(*layer, inputs_of(input), 9);
  const auto elements = [&](const char* name) {
    const Tensor tensor = layer->parameter(name);
    const auto* data = reinterpret_cast<const float*>(tensor.data());
    return std::vector<float>(data, data + tensor.num_elements());
  };
  EXPECT_EQ(elements("gain"), std::vector<float>(4, 1));
  EXPECT_EQ(elements("shift"), std::vector<float>(4, 0));
  EXPECT_EQ(elements("inner.bias"), std::vector<float>(4, 0));
  const std::vector<float> weight = elements("inner.weight");
  EXPECT_TRUE(std::all_of(weight.begin(), weight.end(), [](float x) { return x != 0 && x != 1; }));
}

TEST_F(LayerTree, GivesTheBitsOfItsChildrenOneByOne) {
  const Tensor input = random({2, 5, 4}, 1);
  const std::vector<Children> all = {
      {linear(3), dropout(), linear(4)},
      {attention(6), linear(5)},
      {linear(4), attention(4), attention(8), dropout(), linear(1)},
  };
  for (const Children& layers : all) {
    const auto tree = chain(layers);
    initialize(*tree, inputs_of(input), 3);
    expect_same(forward(*tree, input), forward_one_by_one(layers, input));
  }
}

// Number 0 is the inner chain, 1 its dropout and 2 the outer one.
TEST_F(LayerTree, NumbersALayerBeforeItsChildren) {
  const Tensor input = random({4, 100}, 1);
  const auto inner = dropout();
  const auto outer = dropout();
  const Tensor expected =
      forward(*outer, forward(*inner, input, child_seed(kCalledSeed, 1)), child_seed(kCalledSeed, 2));
  expect_same(forward(*chain({chain({inner}), outer}), input), expected);
}

// With dropout of the weights, of the hidden rows and of both residuals.
TEST_F(LayerTree, DropsInEncoderLayersByTheSeedOfEachChild) {
  const Tensor input = random({2, 7, 8}, 1);
  for (const bool norm_first : {false, true}) {
    EncoderLayer layer(context_, encoder_options(norm_first));
    initialize(layer, inputs_of(input), 3);
    expect_same(forward(layer, input), encode_one_by_one(layer, input, norm_first, 0));
    EncoderOptions options;
    options.layers = {encoder_options(norm_first)};
    options.num_layers = 3;
    options.final_norm = true;
    Encoder encoder(context_, options);
    initialize(encoder, inputs_of(input), 4);
    Tensor x = input;
    uint32_t number = 0;
    for (const char* name : {"layers.0", "layers.1", "layers.2"}) {
      x = encode_one_by_one(*encoder.child(name), x, norm_first, number + 1);
      number += 7;
    }
    expect_same(forward(encoder, input), forward(*encoder.child("norm"), x));
  }
}

TEST_F(LayerTree, IsDeepAndHasManyChildren) {
  const Tensor input = random({2, 5, 4}, 1);
  const Children innermost = {linear(6), attention(4)};
  const Children second = {dropout(), linear(3)};
  const auto tree = chain({chain({chain(innermost), linear(4)}), chain(second)});
  initialize(*tree, inputs_of(input), 3);
  EXPECT_EQ(names_of(*tree).front(), "0.0.0.weight");
  Children many;
  for (int i = 0; i < 40; ++i) many.push_back(linear(1 + i % 7));
  const auto wide = chain(many);
  initialize(*wide, inputs_of(input), 4);
  EXPECT_EQ(wide->parameters().size(), 80u);
  expect_same(forward(*wide, input), forward_one_by_one(many, input));
  EXPECT_EQ(forward(*tree, input).shape(), (Shape{2, 5, 3}));
}

TEST_F(LayerTree, SharesParametersWithItsChildren) {
  const auto child = linear(3);
  const auto tree = chain({child});
  const Tensor weight = random({3, 4}, 8);
  set_parameter(*tree, "0.weight", weight);
  expect_same(child->parameter("weight"), weight);
  const Tensor bias = random({3}, 9);
  set_parameter(*child, "bias", bias);
  expect_same(tree->parameter("0.bias"), bias);
  EXPECT_TRUE(tree->is_initialized());
}

TEST_F(LayerTree, LoadsWhatItSaves) {
  const Tensor input = random({2, 5, 4}, 1);
  const auto make = [&] { return chain({attention(6), chain({linear(3), dropout(), linear(4)})}); };
  const auto saved = make();
  initialize(*saved, inputs_of(input), 3);
  std::string bytes(save_to_memory(*saved, nullptr, 0), '\0');
  save_to_memory(*saved, bytes.data(), bytes.size());
  const SafetensorsFile file(std::make_shared<const MemorySource>(bytes.data(), bytes.size()));
  EXPECT_TRUE(file.contains("1.2.weight"));
  const auto loaded = make();
  EXPECT_STREQ(load(*loaded, file, ""), "heed");
  for (const std::string& name : names_of(*saved)) expect_same(loaded->parameter(name), saved->parameter(name));
  expect_same(forward(*loaded, input), forward(*saved, input));
}

TEST_F(LayerTree, ErrorsNameTheParameterByItsPath) {
  const auto tree = chain({linear(3), chain({linear(4)})});
  const Tensor input = random({2, 4}, 1);
  const auto text_of = [](const auto& call) {
    try {
      call();
    } catch (const Error& error) {
      return std::string(error.text);
    }
    return std::string("no error");
  };
  EXPECT_NE(text_of([&] { forward(*tree, input); }).find("0.weight is not set"), std::string::npos);
  EXPECT_NE(text_of([&] {
              set_parameter(*tree, "1.0.weight", random({5, 3}, 1));
            }).find("for 1.0.weight"),
            std::string::npos);
  EXPECT_NE(text_of([&] { tree->parameter("1.weight"); }).find("it has 0.weight, 0.bias, 1.0.weight, 1.0.bias"),
            std::string::npos);
  initialize(*tree, inputs_of(input), 1);
  const Tensor other = random({2, 5}, 1);
  EXPECT_NE(text_of([&] { forward(*tree, other); }).find("0.weight has (3, 4)"), std::string::npos);
}

TEST_F(LayerTree, UsesMemoryOfTheWorkspaceAgain) {
  const Tensor input = random({8, 100, 64}, 1);
  Children two = {linear(64), linear(64), linear(64)};
  Children many;
  for (int i = 0; i < 40; ++i) many.push_back(linear(64));
  const auto small = chain(two);
  const auto large = chain(many);
  initialize(*small, inputs_of(input), 1);
  initialize(*large, inputs_of(input), 1);
  // Two arrays are in use at a time, however many there are.
  EXPECT_EQ(workspace(*large, input), workspace(*small, input));
  EXPECT_LT(workspace(*large, input), 39 * input.num_bytes());
}

TEST_F(LayerTree, SaysInExplainWhichChildAnOperationIsOf) {
  const Tensor input = random({2, 5, 4}, 1);
  const auto tree = chain({linear(4), chain({attention(6)})});
  initialize(*tree, inputs_of(input), 1);
  const Tensor output = Tensor::zeros(context_, DType::F32, {2, 5, 6});
  LayerOutputs outputs;
  outputs.output = &output;
  const std::string text = tree->explain(inputs_of(input), outputs);
  EXPECT_NE(text.find(R"("layer": "0")"), std::string::npos) << text;
  EXPECT_NE(text.find(R"("layer": "1.0")"), std::string::npos) << text;
}

TEST_F(LayerTree, OutlivesAndIsOutlivedByItsChildren) {
  const Tensor input = random({2, 4}, 1);
  auto child = linear(3);
  auto tree = chain({child});
  initialize(*tree, inputs_of(input), 1);
  const Tensor expected = forward(*child, input);
  child.reset();
  expect_same(forward(*tree, input), expected);
  child = linear(3);
  tree = chain({child});
  initialize(*tree, inputs_of(input), 1);
  tree.reset();
  expect_same(forward(*child, input), expected);
}

}  // namespace
}  // namespace heed
