// SPDX-License-Identifier: Apache-2.0
// The gradients of multi-head attention, of layers of a Transformer and of stacks of them in the f64 reference against PyTorch's: the
// cases of data/torch_multi_head.safetensors and data/torch_blocks.safetensors; and ten steps of training: those of
// data/torch_training.safetensors.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "golden/support/torch_case.h"
#include "golden/support/torch_reference.h"
#include "reference/linear_gradients.h"
#include "reference/losses.h"
#include "reference/multi_head_gradients.h"
#include "reference/named_gradients.h"
#include "reference/optimizers.h"
#include "reference/positional_encoding.h"
#include "reference/transformer_gradients.h"

namespace heed::golden {
namespace {

using Json = nlohmann::json;
using Numbers = std::vector<double>;

const TorchFile& multi_head_file() {
  static const TorchFile file("torch_multi_head");
  return file;
}

const TorchFile& blocks_file() {
  static const TorchFile file("torch_blocks");
  return file;
}

ReadParameter parameters_of(const TorchCase& torch_case) {
  return [&torch_case](const std::string& name) { return torch_case.numbers("param." + name); };
}

Numbers sum_of(const Numbers& a, const Numbers& b) { return reference::added(a, b, reference::unmoved); }

class MultiHeadGradientsOfTorch : public testing::TestWithParam<std::string> {
 protected:
  // As (B, S, E); or back, of rows of the batch.
  Numbers turned(const Numbers& rows, int64_t first, int64_t second) const {
    return options["batch_first"].get<bool>() ? rows : with_first_axes_swapped(rows, first, second);
  }

  const TorchCase torch_case{multi_head_file(), GetParam()};
  const Json& options = torch_case.options();
};

TEST_P(MultiHeadGradientsOfTorch, AreTheReferences) {
  const int64_t batch = options["B"];
  const int64_t num_queries = options["Q"];
  const int64_t num_keys = options["K"];
  TorchAttention attention;
  attention.size = options["embed_dim"];
  attention.num_heads = options["num_heads"];
  attention.is_packed = options["kdim"].is_null();
  attention.key_size = attention.is_packed ? attention.size : options["kdim"].get<int64_t>();
  attention.value_size = attention.is_packed ? attention.size : options["vdim"].get<int64_t>();
  attention.has_bias = options["bias"];
  attention.has_bias_key = options["add_bias_kv"];
  reference::MultiHeadProblem problem =
      torch_attention(parameters_of(torch_case), "", attention, batch, num_queries, num_keys);
  problem.has_zero_key = options["add_zero_attn"];
  const bool is_self = options["self_attention"];
  problem.queries = turned(torch_case.numbers("input.query"), num_queries, batch);
  problem.keys = is_self ? problem.queries : turned(torch_case.numbers("input.key"), num_keys, batch);
  problem.values = is_self ? problem.queries : turned(torch_case.numbers("input.value"), num_keys, batch);
  for (const char* mask : {"input.attn_mask", "input.key_padding_mask"}) {
    if (torch_case.has(mask)) add_torch_mask(torch_case, mask, std::string(mask) == "input.key_padding_mask", problem);
  }
  const Numbers expected = turned(torch_case.numbers("output"), num_queries, batch);
  expect_numbers(reference::multi_head_attention(problem).output.values, expected, kAgreement,
                 largest_magnitude(expected));

  const reference::NamedRows gradients =
      reference::multi_head_gradients(problem, turned(torch_case.cotangent(), num_queries, batch), reference::unmoved);
  for (const std::string& name : torch_case.gradients()) {
    Numbers gradient;
    if (name == "query") {
      gradient = gradients.at("queries").values;
      if (is_self) gradient = sum_of(gradient, sum_of(gradients.at("keys").values, gradients.at("values").values));
      gradient = turned(gradient, batch, num_queries);
    } else if (name == "key" || name == "value") {
      gradient = turned(gradients.at(name + "s").values, batch, num_keys);
    } else if (name == "attn_mask" || name == "key_padding_mask") {
      gradient = torch_mask_gradient(torch_case, "input." + name, name == "key_padding_mask", problem.sizes,
                                     gradients.at("bias").values);
    } else {
      gradient = torch_gradient(gradients, name);
    }
    torch_case.expect_gradient(name, gradient, kAgreement);
  }
}

INSTANTIATE_TEST_SUITE_P(File, MultiHeadGradientsOfTorch, testing::ValuesIn(multi_head_file().cases()),
                         [](const auto& golden) { return golden.param; });

// A stack of PyTorch's, and the gradients that it has.
class BlockGradientsOfTorch : public testing::TestWithParam<std::string> {
 protected:
  BlockGradientsOfTorch() {
    layer_.size = options_["d_model"];
    layer_.num_heads = options_["nhead"];
    layer_.hidden_size = options_["dim_feedforward"];
    layer_.activation = torch_activation(options_["activation"]);
    layer_.norm_first = options_["norm_first"];
    layer_.has_bias = options_["bias"];
    layer_.epsilon = options_["layer_norm_eps"];
    is_layer_ = by_.ends_with("Layer");
  }

  Numbers turned(const Numbers& rows, int64_t first, int64_t second) const {
    return options_["batch_first"].get<bool>() ? rows : with_first_axes_swapped(rows, first, second);
  }
  Numbers rows(const std::string& tensor, int64_t num_rows) const {
    return turned(torch_case_.numbers(tensor), num_rows, batch_);
  }

  // `prefix` of its parameters' names; `who`: whose masks hide rows of the stack itself.
  reference::TransformerStack stack(const std::string& prefix, const std::string& who, int64_t num_rows,
                                    int64_t num_encoder_rows) const {
    const ReadParameter read = parameters_of(torch_case_);
    reference::TransformerStack result;
    for (int64_t i = 0; i < (is_layer_ ? 1 : options_["num_layers"].get<int64_t>()); ++i) {
      const std::string name = prefix + (is_layer_ ? "" : "layers." + std::to_string(i) + ".");
      result.layers.push_back(torch_layer(read, name, layer_, batch_, num_rows, num_encoder_rows));
      add_masks(who, result.layers.back().self_attention);
      if (num_encoder_rows > 0) add_masks("memory", *result.layers.back().cross_attention);
    }
    if (torch_case_.has("param." + prefix + "norm.weight"))
      result.final_norm = torch_norm(read, prefix + "norm.", layer_.epsilon, layer_.has_bias);
    return result;
  }
  void add_masks(const std::string& who, reference::MultiHeadProblem& problem) const {
    for (const char* kind : {"_mask", "_key_padding_mask"}) {
      const std::string tensor = "input." + who + kind;
      if (torch_case_.has(tensor))
        add_torch_mask(torch_case_, tensor, std::string(kind) == "_key_padding_mask", problem);
    }
  }

  void expect_output(const reference::TransformerStack& stack, const Numbers& rows, const Numbers& encoder_rows,
                     int64_t num_rows) const {
    const Numbers expected = this->rows("output", num_rows);
    expect_numbers(reference::transform(stack, rows, encoder_rows, reference::unmoved), expected, kAgreement,
                   largest_magnitude(expected));
  }

  // Those of parameters, and of masks of single layers.
  void expect_others(const reference::NamedRows& gradients, const std::string& prefix,
                     const reference::TransformerStack& stack) const {
    const std::string of_layer = is_layer_ ? "layers.0." : "";
    for (const std::string& name : torch_case_.gradients()) {
      if (name == "src" || name == "tgt" || name == "memory" || !name.starts_with(prefix)) continue;
      if (name.ends_with("_mask")) {
        const bool is_cross = name.starts_with("memory");
        const reference::MultiHeadProblem& attention =
            is_cross ? *stack.layers[0].cross_attention : stack.layers[0].self_attention;
        const Numbers& of_pairs =
            gradients.at(of_layer + (is_cross ? "cross_attention.bias" : "self_attention.bias")).values;
        torch_case_.expect_gradient(
            name, torch_mask_gradient(torch_case_, "input." + name, false, attention.sizes, of_pairs), kAgreement);
      } else {
        torch_case_.expect_gradient(name, torch_gradient(gradients, of_layer + name.substr(prefix.size())), kAgreement);
      }
    }
  }

  const TorchCase torch_case_{blocks_file(), GetParam()};
  const Json& options_ = torch_case_.options();
  const std::string by_ = options_["by"];
  const int64_t batch_ = options_["B"];
  const int64_t num_source_ = options_["S"];
  const int64_t num_target_ = options_["T"];
  TorchLayer layer_;
  bool is_layer_ = false;
};

TEST_P(BlockGradientsOfTorch, AreTheReferences) {
  using reference::unmoved;
  if (by_.find("Encoder") != std::string::npos) {
    const reference::TransformerStack encoder = stack("", "src", num_source_, 0);
    const Numbers source = rows("input.src", num_source_);
    expect_output(encoder, source, {}, num_source_);
    const reference::NamedRows gradients =
        transformer_gradients(encoder, source, {}, rows("cotangent", num_source_), unmoved);
    torch_case_.expect_gradient("src", turned(gradients.at("queries").values, batch_, num_source_), kAgreement);
    expect_others(gradients, "", encoder);
    return;
  }
  const bool is_whole = by_ == "Transformer";
  const reference::TransformerStack decoder = stack(is_whole ? "decoder." : "", "tgt", num_target_, num_source_);
  const Numbers target = rows("input.tgt", num_target_);
  reference::TransformerStack encoder;
  Numbers source;
  Numbers memory;
  if (is_whole) {
    encoder = stack("encoder.", "src", num_source_, 0);
    source = rows("input.src", num_source_);
    memory = reference::transform(encoder, source, {}, unmoved);
  } else {
    memory = rows("input.memory", num_source_);
  }
  expect_output(decoder, target, memory, num_target_);
  const reference::NamedRows gradients =
      transformer_gradients(decoder, target, memory, rows("cotangent", num_target_), unmoved);
  torch_case_.expect_gradient("tgt", turned(gradients.at("queries").values, batch_, num_target_), kAgreement);
  expect_others(gradients, is_whole ? "decoder." : "", decoder);
  if (!is_whole) {
    torch_case_.expect_gradient("memory", turned(gradients.at("keys").values, batch_, num_source_), kAgreement);
    return;
  }
  const reference::NamedRows of_encoder =
      transformer_gradients(encoder, source, {}, gradients.at("keys").values, unmoved);
  torch_case_.expect_gradient("src", turned(of_encoder.at("queries").values, batch_, num_source_), kAgreement);
  expect_others(of_encoder, "encoder.", encoder);
}

INSTANTIATE_TEST_SUITE_P(File, BlockGradientsOfTorch, testing::ValuesIn(blocks_file().cases()),
                         [](const auto& golden) { return golden.param; });

// A Transformer that learns to copy, by PyTorch's names of its parameters.
class Training : public testing::TestWithParam<std::string> {
 protected:
  using Parameters = std::map<std::string, Numbers>;

  Training() {
    layer_.size = options_["d_model"];
    layer_.num_heads = options_["nhead"];
    layer_.hidden_size = options_["dim_feedforward"];
    layer_.norm_first = options_["norm_first"];
    layer_.epsilon = options_["layer_norm_eps"];
    for (const std::string& tensor : file().tensors()) {
      const std::string prefix = GetParam() + ".param.";
      if (tensor.starts_with(prefix)) parameters_[tensor.substr(prefix.size())] = file().numbers(tensor);
    }
  }

  static const TorchFile& file() {
    static const TorchFile file("torch_training");
    return file;
  }

  std::vector<int64_t> of_step(const std::string& input, size_t step) const {
    const Numbers all = torch_case_.numbers("input." + input);
    const size_t size = all.size() / 10;
    const auto begin = all.begin() + static_cast<std::ptrdiff_t>(step * size);
    return {begin, begin + static_cast<std::ptrdiff_t>(size)};
  }

  Numbers embedded(const std::string& table, const std::vector<int64_t>& ids, int64_t num_rows) const {
    const Numbers& weight = parameters_.at(table + "_embedding.weight");
    Numbers rows;
    for (size_t i = 0; i < ids.size(); ++i) {
      const int64_t position = static_cast<int64_t>(i) % num_rows;
      for (int64_t d = 0; d < layer_.size; ++d) {
        rows.push_back(weight[static_cast<size_t>(ids[i] * layer_.size + d)] * scale() +
                       reference::sinusoid(reference::Sinusoids::InTurn, layer_.size, position, d).value);
      }
    }
    return rows;
  }
  double scale() const { return std::sqrt(static_cast<double>(layer_.size)); }

  reference::TransformerStack stack(const std::string& name, int64_t num_rows, int64_t num_encoder_rows) const {
    const ReadParameter read = [&](const std::string& parameter) { return parameters_.at(parameter); };
    reference::TransformerStack result;
    const std::string prefix = "transformer." + name + ".";
    result.layers.push_back(torch_layer(read, prefix + "layers.0.", layer_, batch_, num_rows, num_encoder_rows));
    result.final_norm = torch_norm(read, prefix + "norm.", layer_.epsilon, true);
    return result;
  }
  static void hide(const std::vector<int64_t>& lengths, int64_t more, reference::MultiHeadProblem& problem) {
    for (int64_t row = 0; row < problem.sizes.batch * problem.sizes.num_queries; ++row)
      problem.limits.lengths.push_back(
          static_cast<double>(lengths[static_cast<size_t>(row / problem.sizes.num_queries)] + more));
  }

  // The loss of the batch of a step, and its gradients by PyTorch's names.
  double loss(size_t step, Parameters& gradients) const {
    using reference::unmoved;
    const std::vector<int64_t> source_ids = of_step("source", step);
    const std::vector<int64_t> target_ids = of_step("target_input", step);
    const std::vector<int64_t> lengths = of_step("source_lens", step);
    const int64_t num_source = static_cast<int64_t>(source_ids.size()) / batch_;
    const int64_t num_target = static_cast<int64_t>(target_ids.size()) / batch_;
    reference::TransformerStack encoder = stack("encoder", num_source, 0);
    reference::TransformerStack decoder = stack("decoder", num_target, num_source);
    hide(lengths, 0, encoder.layers[0].self_attention);
    hide(lengths, 1, decoder.layers[0].self_attention);
    hide(lengths, 0, *decoder.layers[0].cross_attention);
    decoder.layers[0].self_attention.options.causal = reference::Alignment::TopLeft;
    const Numbers source = embedded("source", source_ids, num_source);
    const Numbers target = embedded("target", target_ids, num_target);
    const Numbers memory = reference::transform(encoder, source, {}, unmoved);
    const Numbers rows = reference::transform(decoder, target, memory, unmoved);
    const reference::Projection projection = {layer_.size, options_["vocabulary"], parameters_.at("projection.weight"),
                                              parameters_.at("projection.bias")};
    reference::CrossEntropyProblem problem;
    problem.batch = batch_;
    problem.steps = num_target;
    problem.classes = projection.output_size;
    problem.logits = reference::project(projection, reference::as_read(rows, std::nullopt), batch_ * num_target).values;
    problem.labels = of_step("target", step);
    for (int64_t length : lengths) problem.lengths.push_back(length + 1);
    const reference::CrossEntropyResult result = reference::cross_entropy(problem);

    const reference::ProjectionGradients of_projection =
        reference::projection_gradients(projection, rows, result.logits.values);
    const reference::NamedRows of_decoder =
        transformer_gradients(decoder, target, memory, of_projection.input.values, unmoved);
    const reference::NamedRows of_encoder =
        transformer_gradients(encoder, source, {}, of_decoder.at("keys").values, unmoved);
    const auto of_table = [&](const std::vector<int64_t>& ids, const reference::NamedRows& of_rows) {
      return reference::embedding_gradient(ids, projection.output_size, layer_.size, scale(), -1,
                                           of_rows.at("queries").values)
          .values;
    };
    for (const auto& [name, parameter] : parameters_) {
      const std::string encoder_prefix = "transformer.encoder.";
      const std::string decoder_prefix = "transformer.decoder.";
      if (name.starts_with(encoder_prefix))
        gradients[name] = torch_gradient(of_encoder, name.substr(encoder_prefix.size()));
      if (name.starts_with(decoder_prefix))
        gradients[name] = torch_gradient(of_decoder, name.substr(decoder_prefix.size()));
    }
    gradients["projection.weight"] = of_projection.weight.values;
    gradients["projection.bias"] = of_projection.bias.values;
    gradients["source_embedding.weight"] = of_table(source_ids, of_encoder);
    gradients["target_embedding.weight"] = of_table(target_ids, of_decoder);
    return result.total.value;
  }

  // AdamW makes steps of the rounding errors of gradients that are 0, those of the biases of keys.
  void expect_parameters(const std::string& prefix) const {
    for (const auto& [name, parameter] : parameters_) {
      SCOPED_TRACE(prefix + name);
      Numbers expected = torch_case_.numbers(prefix + name);
      Numbers numbers = parameter;
      if (GetParam() == "adamw" && name.ends_with("in_proj_bias")) {
        for (Numbers* biases : {&expected, &numbers})
          biases->erase(biases->begin() + layer_.size, biases->begin() + 2 * layer_.size);
      }
      expect_numbers(numbers, expected, kAgreement, largest_magnitude(expected));
    }
  }

  const TorchCase torch_case_{file(), GetParam()};
  const Json& options_ = torch_case_.options();
  const int64_t batch_ = options_["batch"];
  TorchLayer layer_;
  Parameters parameters_;
};

TEST_P(Training, IsPyTorchs) {
  const Json& numbers = options_["optimizer"];
  std::map<std::string, Numbers> buffers;
  std::map<std::string, reference::Moments> moments;
  for (size_t step = 0; step < 10; ++step) {
    SCOPED_TRACE("step " + std::to_string(step));
    Parameters gradients;
    EXPECT_NEAR(loss(step, gradients), torch_case_.numbers("losses")[step], kAgreement);
    ASSERT_EQ(gradients.size(), parameters_.size());
    std::vector<Numbers> all;
    for (const auto& [name, gradient] : gradients) all.push_back(gradient);
    const double norm = reference::norm_of(all);
    EXPECT_NEAR(norm, torch_case_.numbers("gradient_norms")[step], kAgreement * norm);
    const double factor = options_["max_norm"].is_null() ? 1.0 : reference::clipping_factor(norm, options_["max_norm"]);
    for (auto& [name, gradient] : gradients) {
      for (double& element : gradient) element *= factor;
      if (GetParam() == "sgd") {
        const reference::Sgd sgd = {numbers["lr"], numbers["momentum"], numbers["weight_decay"]};
        reference::step(sgd, gradient, parameters_.at(name), buffers[name]);
      } else {
        const reference::Adam adam = {numbers["lr"], numbers["betas"][0], numbers["betas"][1], numbers["eps"],
                                      numbers["weight_decay"]};
        reference::step(adam, gradient, parameters_.at(name), moments[name]);
      }
    }
    if (step == 0) expect_parameters("after1.");
  }
  expect_parameters("after10.");
  Parameters unused;
  EXPECT_NEAR(loss(0, unused), torch_case_.numbers("loss_afterwards")[0], kAgreement);
}

INSTANTIATE_TEST_SUITE_P(File, Training, testing::Values("sgd", "adamw"),
                         [](const auto& golden) { return golden.param; });

}  // namespace
}  // namespace heed::golden
