// SPDX-License-Identifier: Apache-2.0
// A Transformer that learns to copy in ten steps against PyTorch's nn.Transformer in float64, with SGD and AdamW: losses and norms of
// gradients of each step, and parameters after the first and the last. The cases of data/torch_training.safetensors.
#include <gtest/gtest.h>
#include <heed/heed.h>

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "golden/support/golden_file.h"
#include "golden/support/torch_case.h"
#include "golden/support/torch_file.h"
#include "golden/support/torch_reference.h"
#include "property/support/gradients.h"

namespace heed::golden {
namespace {

using Json = nlohmann::json;

constexpr const char* kFile = "torch_training";
constexpr int64_t kSteps = 10;
// The file's own figures for an engine in f32, which are four times the error of PyTorch in float32: of losses and norms relative,
// of parameters to the largest number of a tensor.
constexpr double kLossTolerance = 1e-6;
constexpr double kNormTolerance = 6e-6;
constexpr double kFirstTolerance = 4e-7;
constexpr double kLastTolerance = 3e-6;

const TorchFile& the_file() {
  static const TorchFile file(kFile);
  return file;
}

class TorchTraining : public testing::TestWithParam<std::string> {
 protected:
  TorchTraining() {
    const std::string prefix = GetParam() + ".param.";
    for (const std::string child : {"encoder.layers.0", "encoder.norm", "decoder.layers.0", "decoder.norm"})
      load(child, prefix + "transformer." + child);
    load("encoder.embedding", prefix + "source_embedding");
    load("decoder.embedding", prefix + "target_embedding");
    load("output", prefix + "projection");
  }

  // The loss of the batch of a step, and its gradients.
  double loss(int64_t step, heed_gradients* gradients) const {
    const Tensor source = of_step("source", step);
    const Tensor target = of_step("target_input", step);
    const Tensor source_lens = of_step("source_lens", step);
    // A target has one row more than its source: the mark before, or that behind it.
    std::vector<int32_t> lens = capi_test::read_elements<int32_t>(source_lens.get());
    for (int32_t& length : lens) ++length;
    const Tensor target_lens = capi_test::make_tensor_of(context(), {std::ssize(lens)}, lens);
    heed_decoder_inputs decoder = HEED_DECODER_INPUTS_INIT;
    decoder.self_valid_lens = target_lens.get();
    heed_layer_inputs inputs = HEED_LAYER_INPUTS_INIT;
    inputs.queries = target.get();
    inputs.keys = source.get();
    inputs.valid_lens = source_lens.get();
    inputs.decoder = &decoder;
    inputs.training = 1;

    heed_layer_outputs outputs = HEED_LAYER_OUTPUTS_INIT;
    check(heed_layer_create_outputs(layer_.get(), &inputs, HEED_WANT_OUTPUT, &outputs));
    const Tensor logits(outputs.output);
    const property::Saved saved = property::make_saved(context(), layer_.get(), inputs);
    outputs.saved = saved.get();
    check(heed_layer_forward(layer_.get(), &inputs, nullptr, &outputs));
    double total = 0;
    check(heed_cross_entropy(logits.get(), of_step("target", step).get(), target_lens.get(), nullptr, nullptr, &total,
                             logits.get()));
    heed_layer_gradients wanted = HEED_LAYER_GRADIENTS_INIT;
    wanted.output = logits.get();
    wanted.parameters = gradients;
    check(heed_layer_backward(layer_.get(), &inputs, &outputs, nullptr, &wanted));
    return total;
  }

  capi_test::Optimizer make_optimizer() const {
    const Json& numbers = options_["optimizer"];
    if (GetParam() == "sgd") {
      heed_sgd_options options = HEED_SGD_OPTIONS_INIT;
      options.learning_rate = numbers["lr"];
      options.momentum = numbers["momentum"];
      options.weight_decay = numbers["weight_decay"];
      return capi_test::make_sgd(context(), options);
    }
    heed_adamw_options options = HEED_ADAMW_OPTIONS_INIT;
    options.learning_rate = numbers["lr"];
    options.beta1 = numbers["betas"][0];
    options.beta2 = numbers["betas"][1];
    options.epsilon = numbers["eps"];
    options.weight_decay = numbers["weight_decay"];
    return capi_test::make_adamw(context(), options);
  }

  // `when`: "after1." or "after10.". AdamW makes steps of the rounding errors of gradients that are 0, those of the biases of keys.
  void expect_parameters(const std::string& when, double tolerance) const {
    const std::string prefix = GetParam() + "." + when;
    size_t num_compared = 0;
    for (const std::string& tensor : the_file().tensors()) {
      if (!tensor.starts_with(prefix)) continue;
      const std::string name = tensor.substr(prefix.size());
      SCOPED_TRACE(when + name);
      std::vector<double> expected = the_file().numbers(tensor);
      std::vector<double> numbers = torch_gradient(parameters(), heeds_name(name));
      if (GetParam() == "adamw" && name.ends_with("in_proj_bias")) {
        const std::ptrdiff_t size = options_["d_model"];
        for (std::vector<double>* biases : {&expected, &numbers})
          biases->erase(biases->begin() + size, biases->begin() + 2 * size);
      }
      expect_numbers(numbers, expected, tolerance, largest_magnitude(expected));
      ++num_compared;
    }
    EXPECT_EQ(num_compared, 38U);
  }

  double number(const std::string& tensor, int64_t i) const {
    return the_file().numbers(GetParam() + "." + tensor)[static_cast<size_t>(i)];
  }
  heed_context* context() const { return context_.get(); }
  heed_layer* layer() const { return layer_.get(); }

  const Json options_ = the_file().options_of(GetParam());

 private:
  Layer make_layer() const {
    heed_multi_head_attention_options attention = HEED_MULTI_HEAD_ATTENTION_OPTIONS_INIT;
    attention.num_hiddens = options_["d_model"];
    attention.num_heads = options_["nhead"];
    attention.biases = HEED_BIAS_ALL;
    heed_multi_head_attention_options causal = attention;
    causal.causal = HEED_CAUSAL_TOP_LEFT;
    heed_feed_forward_options feed_forward = HEED_FEED_FORWARD_OPTIONS_INIT;
    feed_forward.hidden_size = options_["dim_feedforward"];
    heed_layer_norm_options norm = HEED_LAYER_NORM_OPTIONS_INIT;
    norm.epsilon = options_["layer_norm_eps"];
    heed_encoder_layer_options encoder_layer = HEED_ENCODER_LAYER_OPTIONS_INIT;
    encoder_layer.attention = &attention;
    encoder_layer.feed_forward = &feed_forward;
    encoder_layer.norm = &norm;
    heed_decoder_layer_options decoder_layer = HEED_DECODER_LAYER_OPTIONS_INIT;
    decoder_layer.self_attention = &causal;
    decoder_layer.cross_attention = &attention;
    decoder_layer.feed_forward = &feed_forward;
    decoder_layer.norm = &norm;
    heed_embedding_options embedding = HEED_EMBEDDING_OPTIONS_INIT;
    embedding.num_embeddings = options_["vocabulary"];
    embedding.scale = std::sqrt(options_["d_model"].get<float>());
    heed_positional_encoding_options positions = HEED_POSITIONAL_ENCODING_OPTIONS_INIT;
    positions.max_positions = 7;
    heed_encoder_options encoder = HEED_ENCODER_OPTIONS_INIT;
    encoder.layer = &encoder_layer;
    encoder.num_layers = 1;
    encoder.final_norm = 1;
    encoder.embedding = &embedding;
    encoder.positions = &positions;
    heed_decoder_options decoder = HEED_DECODER_OPTIONS_INIT;
    decoder.layer = &decoder_layer;
    decoder.num_layers = 1;
    decoder.final_norm = 1;
    decoder.embedding = &embedding;
    decoder.positions = &positions;
    heed_output_options output = HEED_OUTPUT_OPTIONS_INIT;
    output.size = options_["vocabulary"];
    output.bias = 1;
    heed_transformer_options options = HEED_TRANSFORMER_OPTIONS_INIT;
    options.encoder = &encoder;
    options.decoder = &decoder;
    options.output = &output;
    return capi_test::make_transformer(context(), options);
  }

  void load(const std::string& child, const std::string& prefix) const {
    check(heed_layer_load(capi_test::make_child(layer_.get(), child.c_str()).get(), file_.path().c_str(),
                          prefix.c_str()));
  }

  Tensor of_step(const std::string& input, int64_t step) const {
    const Tensor all = file_.load((GetParam() + ".input." + input).c_str());
    capi_test::Dims dims = capi_test::dims_of(all.get());
    dims.erase(dims.begin());
    return capi_test::make_reshaped(capi_test::make_slice(all.get(), 0, step, 1).get(), dims);
  }

  // What the layer calls a module of PyTorch's, in names of parameters.
  static std::string heeds_name(const std::string& name) {
    for (const auto& [from, to] :
         {std::pair("transformer.", ""), std::pair("source_embedding.", "encoder.embedding."),
          std::pair("target_embedding.", "decoder.embedding."), std::pair("projection.", "output.")}) {
      if (name.starts_with(from)) return to + name.substr(std::string(from).size());
    }
    return name;
  }

  reference::NamedRows parameters() const {
    reference::NamedRows rows;
    for (int64_t i = 0; i < heed_layer_parameter_count(layer_.get()); ++i) {
      const char* const name = heed_layer_parameter_name(layer_.get(), i);
      rows[name] = {numbers_of(capi_test::snapshot(layer_.get(), name).get())};
    }
    return rows;
  }

  const Context context_ = make_context();
  const GoldenFile file_ = GoldenFile(context_.get(), kFile);
  const Layer layer_ = make_layer();
};

TEST_P(TorchTraining, IsPyTorchsStepByStep) {
  HEED_SKIP_ON_ASCEND("the CPU computes gradients");
  const capi_test::Gradients gradients = capi_test::make_gradients(layer());
  heed_gradients* const set = gradients.get();
  const capi_test::Optimizer optimizer = make_optimizer();
  for (int64_t step = 0; step < kSteps; ++step) {
    SCOPED_TRACE("step " + std::to_string(step));
    EXPECT_NEAR(loss(step, set) / number("losses", step), 1, kLossTolerance);
    double norm = 0;
    check(heed_gradients_norm(&set, 1, &norm));
    EXPECT_NEAR(norm / number("gradient_norms", step), 1, kNormTolerance);
    if (!options_["max_norm"].is_null()) check(heed_gradients_clip(&set, 1, options_["max_norm"], nullptr));
    check(heed_optimizer_step(optimizer.get(), layer(), set));
    if (step == 0) expect_parameters("after1.", kFirstTolerance);
  }
  expect_parameters("after10.", kLastTolerance);
  EXPECT_NEAR(loss(0, set) / number("loss_afterwards", 0), 1, kLossTolerance);
}

INSTANTIATE_TEST_SUITE_P(File, TorchTraining, testing::ValuesIn(the_file().cases()),
                         [](const auto& golden) { return golden.param; });

}  // namespace
}  // namespace heed::golden
