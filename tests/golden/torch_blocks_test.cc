// SPDX-License-Identifier: Apache-2.0
// Encoder and decoder layers and stacks of them against PyTorch's nn.TransformerEncoderLayer, nn.TransformerDecoderLayer,
// nn.TransformerEncoder, nn.TransformerDecoder and nn.Transformer in float64: every case of data/torch_blocks.safetensors,
// its parameters loaded from the file by PyTorch's names. The options of a case are in the file's metadata.
#include <gtest/gtest.h>
#include <heed/heed.h>

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
#include "golden/support/torch_reference.h"

namespace heed::golden {
namespace {

using Json = nlohmann::json;

constexpr const char* kFile = "torch_blocks";

// Read once, since it has many tensors.
const TorchFile& the_file() {
  static const TorchFile file(kFile);
  return file;
}

// How a causal mask is given: as the mask that the file has, or by the option of the attention.
enum class Causal { Mask, Option };

// The layers of a case.
class Block {
 public:
  Block(heed_context* context, const Json& options, Causal causal) : context_(context) {
    const int32_t has_bias = options["bias"].get<bool>() ? 1 : 0;
    attention_.num_hiddens = options["d_model"];
    attention_.num_heads = options["nhead"];
    attention_.biases = has_bias != 0 ? HEED_BIAS_ALL : HEED_BIAS_NONE;
    const auto is_causal = [&](const char* mask) {
      return causal == Causal::Option && options.value(mask, "") == "causal";
    };
    encoder_attention_ = decoder_attention_ = attention_;
    if (is_causal("src_mask")) encoder_attention_.causal = HEED_CAUSAL_TOP_LEFT;
    if (is_causal("tgt_mask")) decoder_attention_.causal = HEED_CAUSAL_TOP_LEFT;
    feed_forward_.hidden_size = options["dim_feedforward"];
    feed_forward_.activation = activation_of(options["activation"]).value();
    feed_forward_.no_bias = 1 - has_bias;
    norm_.epsilon = options["layer_norm_eps"];
    norm_.no_bias = 1 - has_bias;
    const int32_t norm_first = options["norm_first"].get<bool>() ? 1 : 0;
    encoder_layer_.attention = &encoder_attention_;
    encoder_layer_.feed_forward = &feed_forward_;
    encoder_layer_.norm = &norm_;
    encoder_layer_.norm_first = norm_first;
    decoder_layer_.self_attention = &decoder_attention_;
    decoder_layer_.cross_attention = &attention_;
    decoder_layer_.feed_forward = &feed_forward_;
    decoder_layer_.norm = &norm_;
    decoder_layer_.norm_first = norm_first;
    num_layers_ = options.value("num_layers", int64_t{1});
    // nn.Transformer always has them.
    final_norm_ = options.value("final_norm", options["by"] == "Transformer") ? 1 : 0;
  }
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;

  Layer encoder_layer() const { return made(heed_encoder_layer_create, encoder_layer_); }
  Layer decoder_layer() const { return made(heed_decoder_layer_create, decoder_layer_); }
  Layer encoder() const {
    heed_encoder_options options = HEED_ENCODER_OPTIONS_INIT;
    return stack(heed_encoder_create, options, encoder_layer_);
  }
  Layer decoder() const {
    heed_decoder_options options = HEED_DECODER_OPTIONS_INIT;
    return stack(heed_decoder_create, options, decoder_layer_);
  }

 private:
  template <typename Options>
  Layer made(heed_status (*create)(heed_context*, const Options*, heed_layer**), const Options& options) const {
    heed_layer* layer = nullptr;
    check(create(context_, &options, &layer));
    return Layer(layer);
  }
  template <typename Options, typename LayerOptions>
  Layer stack(heed_status (*create)(heed_context*, const Options*, heed_layer**), Options& options,
              const LayerOptions& layer) const {
    options.layer = &layer;
    options.num_layers = num_layers_;
    options.final_norm = final_norm_;
    return made(create, options);
  }

  heed_context* context_;
  heed_multi_head_attention_options attention_ = HEED_MULTI_HEAD_ATTENTION_OPTIONS_INIT;
  heed_multi_head_attention_options encoder_attention_;
  heed_multi_head_attention_options decoder_attention_;
  heed_feed_forward_options feed_forward_ = HEED_FEED_FORWARD_OPTIONS_INIT;
  heed_layer_norm_options norm_ = HEED_LAYER_NORM_OPTIONS_INIT;
  heed_encoder_layer_options encoder_layer_ = HEED_ENCODER_LAYER_OPTIONS_INIT;
  heed_decoder_layer_options decoder_layer_ = HEED_DECODER_LAYER_OPTIONS_INIT;
  int64_t num_layers_;
  int32_t final_norm_;
};

// Which keys an attention sees; NULL: no limit of that kind.
struct Visibility {
  heed_tensor* lens = nullptr;
  heed_tensor* mask = nullptr;
  heed_tensor* bias = nullptr;
};

class TorchBlocks : public testing::TestWithParam<std::string> {
 protected:
  const std::string& name() const { return GetParam(); }

  void expect_the_files_output(Causal causal) {
    on_device([&](Fallback fallback) {
      const Context context = make_context(fallback);
      const GoldenFile file(context.get(), kFile);
      const Tensor output = output_of(file, Block(context.get(), options_, causal), causal);
      // 2e-6 is the file's own figure for an engine in f32.
      expect_near(output.get(), file.load((name() + ".output").c_str()).get(), 2e-6 * property::coarseness(HEED_F32));
      kept_.clear();
    });
  }

  void expect_the_files_gradients(Causal causal) {
    const Context context = make_context();
    const GoldenFile file(context.get(), kFile);
    const Block block(context.get(), options_, causal);
    const std::string by = options_["by"];
    const std::vector<double> of_output = in_rows(file, "cotangent");
    const auto load = [&](const Layer& layer, const std::string& prefix) {
      check(heed_layer_load(layer.get(), file.path().c_str(), (name() + ".param" + prefix).c_str()));
    };
    if (by.find("Encoder") != std::string::npos) {
      const Layer layer = by == "TransformerEncoder" ? block.encoder() : block.encoder_layer();
      load(layer, "");
      return expect_gradients(backward(context.get(), layer.get(), encoder_inputs(file, causal), of_output), "", "src");
    }
    const Layer decoder = by == "TransformerDecoderLayer" ? block.decoder_layer() : block.decoder();
    if (by != "Transformer") {
      load(decoder, "");
      const heed_layer_inputs inputs = decoder_inputs(file, rows(file, "memory"), causal);
      return expect_gradients(backward(context.get(), decoder.get(), inputs, of_output), "", "tgt");
    }
    HEED_SKIP_ON_ASCEND("the device computes the encoder's output, which no forward saves");
    const Layer encoder = block.encoder();
    load(decoder, ".decoder");
    heed_tensor* const memory = keep(encode(file, encoder, name() + ".param.encoder", causal));
    const reference::NamedRows of_decoder =
        backward(context.get(), decoder.get(), decoder_inputs(file, memory, causal), of_output);
    expect_gradients(of_decoder, "decoder.", "tgt");
    expect_gradients(backward(context.get(), encoder.get(), encoder_inputs(file, causal), of_decoder.at("keys").values),
                     "encoder.", "src");
  }

  const Json options_ = the_file().options_of(GetParam());

 private:
  heed_tensor* keep(Tensor tensor) {
    kept_.push_back(std::move(tensor));
    return kept_.back().get();
  }
  // Rows as (B, S, E), and back as the file has them.
  Tensor turned(heed_tensor* rows) const {
    const bool batch_first = options_["batch_first"];
    return capi_test::make_transposed(rows, batch_first ? std::vector{0, 1, 2} : std::vector{1, 0, 2});
  }
  heed_tensor* rows(const GoldenFile& file, const char* input) {
    return keep(turned(keep(file.load((name() + ".input." + input).c_str()))));
  }

  // Padding is given as lengths, since it may come with a mask of the same kind. `who`: "src", "tgt" or "memory".
  Visibility visibility(const GoldenFile& file, const std::string& who, Causal causal) {
    Visibility result;
    if (options_.contains(who + "_lens")) {
      const auto lens = options_[who + "_lens"].get<std::vector<int32_t>>();
      result.lens = keep(capi_test::make_tensor_of(file.context(), {std::ssize(lens)}, lens));
    }
    if (causal == Causal::Option && options_.value(who + "_mask", "") == "causal") return result;
    Tensor mask = file.load_if_present((name() + ".input." + who + "_mask").c_str());
    if (mask == nullptr) return result;
    const bool is_bias = heed_tensor_dtype(mask.get()) != HEED_BOOL;
    if (!is_bias) mask = inverted(file.context(), mask.get());
    (is_bias ? result.bias : result.mask) = keep(with_heads_apart(keep(std::move(mask)), options_["nhead"]));
    return result;
  }

  Tensor forward(const Layer& layer, const heed_layer_inputs& inputs) const {
    heed_layer_outputs outputs = HEED_LAYER_OUTPUTS_INIT;
    check(heed_layer_create_outputs(layer.get(), &inputs, HEED_WANT_OUTPUT, &outputs));
    Tensor output(outputs.output);
    check(heed_layer_forward(layer.get(), &inputs, nullptr, &outputs));
    return output;
  }
  heed_layer_inputs encoder_inputs(const GoldenFile& file, Causal causal) {
    const Visibility source = visibility(file, "src", causal);
    heed_layer_inputs inputs = HEED_LAYER_INPUTS_INIT;
    inputs.queries = rows(file, "src");
    inputs.valid_lens = source.lens;
    inputs.mask = source.mask;
    inputs.bias = source.bias;
    return inputs;
  }
  // Valid until the next ones.
  heed_layer_inputs decoder_inputs(const GoldenFile& file, heed_tensor* memory, Causal causal) {
    const Visibility target = visibility(file, "tgt", causal);
    const Visibility cross = visibility(file, "memory", causal);
    decoder_.self_valid_lens = target.lens;
    decoder_.self_mask = target.mask;
    decoder_.self_bias = target.bias;
    heed_layer_inputs inputs = HEED_LAYER_INPUTS_INIT;
    inputs.queries = rows(file, "tgt");
    inputs.keys = memory;
    inputs.valid_lens = cross.lens;
    inputs.mask = cross.mask;
    inputs.bias = cross.bias;
    inputs.decoder = &decoder_;
    return inputs;
  }
  Tensor encode(const GoldenFile& file, const Layer& layer, const std::string& prefix, Causal causal) {
    check(heed_layer_load(layer.get(), file.path().c_str(), prefix.c_str()));
    return forward(layer, encoder_inputs(file, causal));
  }
  Tensor decode(const GoldenFile& file, const Layer& layer, const std::string& prefix, heed_tensor* memory,
                Causal causal) {
    check(heed_layer_load(layer.get(), file.path().c_str(), prefix.c_str()));
    return forward(layer, decoder_inputs(file, memory, causal));
  }

  Tensor output_of(const GoldenFile& file, const Block& block, Causal causal) {
    const std::string by = options_["by"];
    const std::string prefix = name() + ".param";
    Tensor output;
    if (by == "TransformerEncoderLayer")
      output = encode(file, block.encoder_layer(), prefix, causal);
    else if (by == "TransformerEncoder")
      output = encode(file, block.encoder(), prefix, causal);
    else if (by == "TransformerDecoderLayer")
      output = decode(file, block.decoder_layer(), prefix, rows(file, "memory"), causal);
    else if (by == "TransformerDecoder")
      output = decode(file, block.decoder(), prefix, rows(file, "memory"), causal);
    else
      output = decode(file, block.decoder(), prefix + ".decoder",
                      keep(encode(file, block.encoder(), prefix + ".encoder", causal)), causal);
    return turned(keep(std::move(output)));
  }

  // Expects those of the layer whose parameters' names begin with `prefix` in the file, and which reads `rows`: "src" or "tgt".
  void expect_gradients(const reference::NamedRows& gradients, const std::string& prefix,
                        const std::string& rows) const {
    const TorchCase torch_case(the_file(), name());
    const auto expect = [&](const std::string& gradient, const std::vector<double>& numbers) {
      // 1e-5 is the file's own figure for an engine in f32.
      torch_case.expect_gradient(gradient, numbers, 1e-5);
    };
    const auto expect_rows = [&](const std::string& input, const std::vector<double>& numbers) {
      const int64_t batch = options_["B"];
      const int64_t num_rows = options_[input == "tgt" ? "T" : "S"];
      expect(input, options_["batch_first"] ? numbers : with_first_axes_swapped(numbers, batch, num_rows));
    };
    const bool is_decoder = rows == "tgt";
    for (const std::string& gradient : torch_case.gradients()) {
      if (gradient == rows)
        expect_rows(gradient, gradients.at("queries").values);
      else if (gradient == "memory" && is_decoder)
        expect_rows(gradient, gradients.at("keys").values);
      else if (gradient == rows + "_mask")
        expect(gradient, gradients.at(is_decoder ? "self_bias" : "bias").values);
      else if (gradient == "memory_mask" && is_decoder)
        expect(gradient, gradients.at("bias").values);
      else if (!gradient.ends_with("_mask") && gradient != "src" && gradient != "tgt" && gradient.starts_with(prefix))
        expect(gradient, torch_gradient(gradients, gradient.substr(prefix.size())));
    }
  }

  std::vector<double> in_rows(const GoldenFile& file, const char* tensor) {
    return numbers_of(turned(keep(file.load((name() + "." + tensor).c_str()))).get());
  }

  heed_decoder_inputs decoder_ = HEED_DECODER_INPUTS_INIT;
  std::vector<Tensor> kept_;
};

TEST_P(TorchBlocks, AgreeWithPyTorch) { expect_the_files_output(Causal::Mask); }

TEST_P(TorchBlocks, HavePyTorchsGradients) { expect_the_files_gradients(Causal::Mask); }

class CausalTorchBlocks : public TorchBlocks {};

TEST_P(CausalTorchBlocks, AgreeWithPyTorchByTheOptionCausal) { expect_the_files_output(Causal::Option); }

TEST_P(CausalTorchBlocks, HavePyTorchsGradientsByTheOptionCausal) { expect_the_files_gradients(Causal::Option); }

std::vector<std::string> causal_cases() {
  std::vector<std::string> cases = the_file().cases();
  std::erase_if(cases, [](const std::string& name) {
    const Json options = the_file().options_of(name);
    return options.value("src_mask", "") != "causal" && options.value("tgt_mask", "") != "causal";
  });
  return cases;
}

INSTANTIATE_TEST_SUITE_P(File, TorchBlocks, testing::ValuesIn(the_file().cases()),
                         [](const auto& golden) { return golden.param; });

INSTANTIATE_TEST_SUITE_P(File, CausalTorchBlocks, testing::ValuesIn(causal_cases()),
                         [](const auto& golden) { return golden.param; });

TEST(TorchBlocksFile, HasEveryClass) {
  std::map<std::string, int> cases;
  for (const std::string& name : the_file().cases()) ++cases[the_file().options_of(name)["by"]];
  EXPECT_EQ(cases, (std::map<std::string, int>{{"TransformerEncoderLayer", 12},
                                               {"TransformerDecoderLayer", 6},
                                               {"TransformerEncoder", 4},
                                               {"TransformerDecoder", 2},
                                               {"Transformer", 3}}));
}

}  // namespace
}  // namespace heed::golden
