// SPDX-License-Identifier: Apache-2.0
#include "loading/weight_finder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/error.h"
#include "loading/model_check.h"

namespace heed {
namespace {

// Those of multi-head attention.
constexpr PossibleParameter kPossible[] = {
    {.name = "W_q.weight"},
    {.name = "W_q.bias", .bias_bit = {1, "HEED_BIAS_Q"}},
    {.name = "W_k.weight"},
    {.name = "W_k.bias", .bias_bit = {2, "HEED_BIAS_K"}},
    {.name = "W_v.weight"},
    {.name = "W_v.bias", .bias_bit = {4, "HEED_BIAS_V"}},
    {.name = "W_o.weight", .option = "options->no_output_projection 0"},
    {.name = "W_o.bias", .bias_bit = {8, "HEED_BIAS_O"}},
    {.name = "w_v.weight", .option = "HEED_SCORING_ADDITIVE in options->scoring"},
    {.name = "q_norm.weight", .option = "options->qk_norm_epsilon", .feature = ParameterFeature::QkNorm},
    {.name = "k_norm.weight", .option = "options->qk_norm_epsilon", .feature = ParameterFeature::QkNorm},
    {.name = "sinks", .option = "options->sinks", .feature = ParameterFeature::Sinks},
    {.name = "relative_bias.weight", .option = "options->relative_bias", .feature = ParameterFeature::RelativeBias},
};
constexpr WeightSentences kSentences = {
    .biases = {15, "options->biases HEED_BIAS_NONE", "options->biases HEED_BIAS_ALL"}};
constexpr PossibleParameter kLinearParameters[] = {{.name = "weight"},
                                                   {.name = "bias", .option = "options->no_bias 0"}};
// Weights with one option for their biases.
constexpr PossibleParameter kNetworkParameters[] = {
    {.name = "W_1.weight"}, {.name = "W_1.bias", .option = "options->no_bias 0"},
    {.name = "W_2.weight"}, {.name = "W_2.bias", .option = "options->no_bias 0"},
    {.name = "W_3.weight"}, {.name = "W_3.bias", .option = "options->no_bias 0"}};

// The row of that name in one of the tables.
const PossibleParameter& row_of(const std::string& name) {
  for (const auto& table :
       {std::span<const PossibleParameter>(kPossible), std::span<const PossibleParameter>(kLinearParameters),
        std::span<const PossibleParameter>(kNetworkParameters)}) {
    for (const PossibleParameter& row : table) {
      if (name == row.name) return row;
    }
  }
  throw std::out_of_range(name);
}

using Names = std::vector<std::string>;

const Names kWeights = {"W_q.weight", "W_k.weight", "W_v.weight", "W_o.weight"};
const Names kBiases = {"W_q.bias", "W_k.bias", "W_v.bias", "W_o.bias"};
const Names kAll = {"W_q.weight", "W_q.bias", "W_k.weight", "W_k.bias",
                    "W_v.weight", "W_v.bias", "W_o.weight", "W_o.bias"};

Names operator+(Names a, const Names& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

Names without(Names names, const std::string& name) {
  std::erase(names, name);
  return names;
}

// The names with a prefix.
Names below(const std::string& prefix, Names names, char separator = '.') {
  for (std::string& name : names) name = prefix + separator + name;
  return names;
}

// A file in memory with a name.
class NamedSource final : public ByteSource {
 public:
  NamedSource(const std::string& bytes, std::string name)
      : name_(std::move(name)), bytes_(bytes.data(), bytes.size()) {}

  std::string_view name() const override { return name_; }
  uint64_t num_bytes() const override { return bytes_.num_bytes(); }
  void read(uint64_t offset, void* destination, size_t num_bytes) const override {
    bytes_.read(offset, destination, num_bytes);
  }

 private:
  std::string name_;
  MemorySource bytes_;
};

// A file with tensors of these names; names that occur twice are written once.
class File {
 public:
  explicit File(Names names, std::string path = "memory") : names_(std::move(names)) {
    std::sort(names_.begin(), names_.end());
    names_.erase(std::unique(names_.begin(), names_.end()), names_.end());
    std::vector<NamedTensor> tensors;
    tensors.reserve(names_.size());
    for (const std::string& name : names_) tensors.push_back({name, DType::F32, {1}, &kNumber});
    bytes_.resize(save_safetensors_to_memory(nullptr, 0, tensors));
    save_safetensors_to_memory(bytes_.data(), bytes_.size(), tensors);
    file_.emplace(std::make_unique<const NamedSource>(bytes_, std::move(path)));
  }

  const SafetensorsFile& get() const { return *file_; }

 private:
  static constexpr float kNumber = 1;
  Names names_;
  std::string bytes_;
  std::optional<SafetensorsFile> file_;
};

FoundWeights find(const File& file, const std::string& prefix, const Names& parameters,
                  std::span<const PossibleParameter> possible = kPossible) {
  // Until the next call, since what is found refers to the parameters' names.
  static std::vector<Parameter> list;
  list.clear();
  list.reserve(parameters.size());
  for (const std::string& name : parameters)
    list.emplace_back(row_of(name), name.ends_with(".bias") ? Shape{4} : Shape{4, kOpenDim});
  FoundWeights found = find_weights(file.get(), prefix, list, possible, kSentences);
  // Refuses tensors that change the result, as load does.
  const std::vector<ModelAttention> no_models;
  const LoadAccept no_accept("");
  ModelCheck(file.get(), prefix, LayerAttention(), no_models, found.lacking, no_accept)
      .require_supported(found.changing);
  return found;
}

// The names in the file, in the order of the parameters.
Names found_names(const File& file, const std::string& prefix, const Names& parameters) {
  Names names;
  for (const FoundWeight& weight : find(file, prefix, parameters).weights) names.push_back(weight.name);
  return names;
}

// The end of a refusal that `accept` can override.
std::string with_accept(const std::string& name) { return "; with accept \"" + name + "\" it is loaded all the same"; }

void expect_refused(const Names& names, const std::string& prefix, const Names& parameters, Status status,
                    const std::string& sentence, std::span<const PossibleParameter> possible = kPossible) {
  const File file(names);
  try {
    find(file, prefix, parameters, possible);
    ADD_FAILURE() << "found, expected: " << sentence;
  } catch (const Error& error) {
    EXPECT_EQ(error.status, status);
    EXPECT_EQ(std::string(error.text), sentence);
  }
}

// A layout with all biases. `names` are its names for the parameters in kAll, in that order.
struct Layout {
  const char* name;
  Names names;
  char separator = '.';
};

std::vector<Layout> layouts() {
  const auto modules = [](const Names& projections, const std::string& weight, const std::string& bias) {
    Names names;
    for (const std::string& projection : projections) {
      names.push_back(projection + weight);
      names.push_back(projection + bias);
    }
    return names;
  };
  const auto linear = [&](const Names& projections) { return modules(projections, ".weight", ".bias"); };
  const auto packed = [&](const std::string& name, const std::string& output) {
    return linear({name, name, name, output});
  };
  return {
      {"heed", linear({"W_q", "W_k", "W_v", "W_o"})},
      {"PyTorch nn.MultiheadAttention",
       {"in_proj_weight", "in_proj_bias", "in_proj_weight", "in_proj_bias", "in_proj_weight", "in_proj_bias",
        "out_proj.weight", "out_proj.bias"}},
      {"PyTorch nn.MultiheadAttention with kdim or vdim",
       {"q_proj_weight", "in_proj_bias", "k_proj_weight", "in_proj_bias", "v_proj_weight", "in_proj_bias",
        "out_proj.weight", "out_proj.bias"}},
      {"Hugging Face BERT", linear({"self.query", "self.key", "self.value", "output.dense"})},
      {"Hugging Face ViT", linear({"attention.query", "attention.key", "attention.value", "output.dense"})},
      {"Hugging Face ALBERT", linear({"query", "key", "value", "dense"})},
      {"Hugging Face BART", linear({"q_proj", "k_proj", "v_proj", "out_proj"})},
      {"Hugging Face Llama", linear({"q_proj", "k_proj", "v_proj", "o_proj"})},
      {"Hugging Face T5", linear({"q", "k", "v", "o"})},
      {"Hugging Face DistilBERT", linear({"q_lin", "k_lin", "v_lin", "out_lin"})},
      {"Hugging Face GPT-2", packed("c_attn", "c_proj")},
      {"Hugging Face GPT-NeoX", packed("query_key_value", "dense")},
      {"Hugging Face Phi-3", packed("qkv_proj", "o_proj")},
      {"Hugging Face MPT", packed("Wqkv", "out_proj")},
      {"Hugging Face ModernBERT", packed("Wqkv", "Wo")},
      {"timm Attention", packed("qkv", "proj")},
      {"Keras MultiHeadAttention", modules({"query", "key", "value", "attention_output"}, "/kernel", "/bias"), '/'},
      {"Keras MultiHeadAttention", modules({"query", "key", "value", "attention_output"}, "/kernel:0", "/bias:0"), '/'},
      {"Keras MultiHeadAttention", modules({"query", "key", "value", "attention_output"}, ".kernel", ".bias")},
      {"DJL ScaledDotProductAttentionBlock",
       modules({"02queryProjection", "01keyProjection", "03valueProjection", "04resultProjection"}, "_weight", "_bias"),
       '_'},
      {"d2l-java MultiHeadAttention", modules({"01W_q", "02W_k", "03W_v", "04W_o"}, "_weight", "_bias"), '_'},
  };
}

TEST(WeightFinder, RecognisesEveryLayoutUnderAnyPrefix) {
  const Names others = {"embedding.weight", "model.layers.1.mlp.weight", "model.layers.10.W_q.weight"};
  for (const Layout& layout : layouts()) {
    SCOPED_TRACE(layout.name + (" as " + layout.names[0]));
    EXPECT_EQ(found_names(File(layout.names), "", kAll), layout.names);
    const std::string prefix = "model.layers.1";
    const Names names = below(prefix, layout.names, layout.separator);
    EXPECT_EQ(found_names(File(names + others), prefix, kAll), names);
    EXPECT_STREQ(find(File(names + others), prefix, kAll).layout_name, layout.name);
  }
}

TEST(WeightFinder, FindsThePartOfATensorThatAParameterIs) {
  for (const Layout& layout : layouts()) {
    SCOPED_TRACE(layout.name);
    const std::vector<FoundWeight> found = find(File(layout.names), "", kAll).weights;
    ASSERT_EQ(found.size(), kAll.size());
    for (size_t i = 0; i < found.size(); ++i) {
      EXPECT_EQ(found[i].source.parameter, kAll[i]);
      // Either three parameters share a tensor or none does. Queries, keys and values are its parts in this order.
      const auto num_sharing = std::count(layout.names.begin(), layout.names.end(), found[i].name);
      EXPECT_EQ(found[i].source.num_parts, num_sharing);
      EXPECT_EQ(found[i].source.part, num_sharing == 3 ? static_cast<int>(i / 2) : 0);
    }
  }
}

TEST(WeightFinder, BiasesAreThoseThatTheLayerHas) {
  // Whisper's keys and Qwen2's output have no bias.
  const Names whisper = {"q_proj.weight", "q_proj.bias",     "k_proj.weight", "v_proj.weight",
                         "v_proj.bias",   "out_proj.weight", "out_proj.bias"};
  EXPECT_EQ(found_names(File(whisper), "", without(kAll, "W_k.bias")), whisper);
  const Names qwen2 = {"q_proj.weight", "q_proj.bias", "k_proj.weight", "k_proj.bias",
                       "v_proj.weight", "v_proj.bias", "o_proj.weight"};
  EXPECT_EQ(found_names(File(qwen2), "", without(kAll, "W_o.bias")), qwen2);
  const Names llama = {"q_proj.weight", "k_proj.weight", "v_proj.weight", "o_proj.weight"};
  EXPECT_EQ(found_names(File(llama + Names{"rotary_emb.inv_freq"}), "", kWeights), llama);
}

TEST(WeightFinder, ALayerWithoutOutputNeedsNone) {
  const Names parameters = without(kWeights, "W_o.weight");
  // BART and Llama name only the output differently, so without it both layouts are found.
  const Names apart = {"q_proj.weight", "k_proj.weight", "v_proj.weight"};
  EXPECT_EQ(found_names(File(apart), "", parameters), apart);
  const Names bert = {"a.self.query.weight", "a.self.key.weight", "a.self.value.weight"};
  EXPECT_EQ(found_names(File(bert + Names{"a.output.dense.weight"}), "a.self", parameters), bert);
  const std::string lack = ", a parameter that this layer's options lack: expected options->no_output_projection 0";
  for (const char* output : {"o_proj.weight", "out_proj.weight"}) {
    expect_refused(apart + Names{output}, "", parameters, Status::InvalidArgument,
                   "\"memory\" has \"" + std::string(output) + "\" for W_o.weight" + lack);
  }
  expect_refused(apart + Names{"v_proj.bias", "out_proj.weight"}, "", parameters, Status::InvalidArgument,
                 "\"memory\" has \"v_proj.bias\" for W_v.bias, a parameter that this layer's options lack: expected "
                 "HEED_BIAS_V in options->biases, and as it has W_o.weight too, options->no_output_projection 0");
  expect_refused(apart + Names{"out_proj.weight", "out_proj.bias"}, "", parameters, Status::InvalidArgument,
                 "\"memory\" has \"out_proj.weight\" for W_o.weight" + lack +
                     ", and as it has W_o.bias too, options->biases HEED_BIAS_O");
  expect_refused(apart + Names{"q_proj.bias", "out_proj.weight", "out_proj.bias"}, "", parameters,
                 Status::InvalidArgument,
                 "\"memory\" has \"q_proj.bias\" for W_q.bias, a parameter that this layer's options lack: expected "
                 "HEED_BIAS_Q in options->biases, and as it has W_o.weight, W_o.bias too, "
                 "options->no_output_projection 0 and options->biases HEED_BIAS_Q | HEED_BIAS_O");
}

TEST(WeightFinder, KnowsAdditiveLayers) {
  const Names parameters = {"W_q.weight", "W_k.weight", "w_v.weight"};
  EXPECT_EQ(found_names(File(below("a", parameters)), "a", parameters), below("a", parameters));
  const Names d2l_java = {"02W_q_weight", "01W_k_weight", "03W_v_weight"};
  EXPECT_EQ(found_names(File(below("01attention", d2l_java, '_')), "01attention", parameters),
            below("01attention", d2l_java, '_'));
  // Only the additive layouts have such a score.
  expect_refused({"q.weight", "k.weight", "v.weight", "o.weight"}, "", parameters, Status::NotFound,
                 "\"memory\" has no tensor \"W_q.weight\", nor the names by which other frameworks call it; its 4 "
                 "tensors have other names, as \"k.weight\"");
}

TEST(WeightFinder, TensorsThatAdditiveLayersLackAreRefused) {
  constexpr PossibleParameter kOwn[] = {{.name = "W_q.weight"}, {.name = "W_k.weight"}, {.name = "w_v.weight"}};
  const Names parameters = {"W_q.weight", "W_k.weight", "w_v.weight"};
  for (const char* extra : {"W_q.bias", "W_k.bias", "w_v.bias", "W_v.weight"}) {
    expect_refused(below("a", parameters + Names{extra}), "a", parameters, Status::Unsupported,
                   "\"memory\" has \"a." + std::string(extra) +
                       "\", which changes what d2l AdditiveAttention computes, and heed has no option for it" +
                       with_accept(extra),
                   kOwn);
  }
  const Names d2l_java = {"02W_q_weight", "01W_k_weight", "03W_v_weight"};
  for (const char* extra : {"02W_q_bias", "01W_k_bias", "03W_v_bias"}) {
    expect_refused(d2l_java + Names{extra}, "", parameters, Status::Unsupported,
                   "\"memory\" has \"" + std::string(extra) +
                       "\", which changes what d2l-java AdditiveAttention computes, and heed has no option for it" +
                       with_accept(extra),
                   kOwn);
  }
}

TEST(WeightFinder, ALayerWithoutParametersFindsNone) { EXPECT_TRUE(find(File({"a"}), "b", {}).weights.empty()); }

TEST(WeightFinder, EveryBiasThatTheOptionsLackIsRefused) {
  const char* const bits[] = {"HEED_BIAS_Q", "HEED_BIAS_K", "HEED_BIAS_V", "HEED_BIAS_O"};
  for (const Layout& layout : layouts()) {
    for (size_t i = 0; i < kBiases.size(); ++i) {
      SCOPED_TRACE(layout.name + (" lacks " + kBiases[i]));
      const std::string name = "a" + std::string(1, layout.separator) + layout.names[2 * i + 1];
      const bool is_own = layout.names[2 * i + 1] == kBiases[i];
      expect_refused(below("a", layout.names, layout.separator), "a", without(kAll, kBiases[i]),
                     Status::InvalidArgument,
                     "\"memory\" has \"" + name + "\"" + (is_own ? "" : " for " + kBiases[i]) +
                         ", a parameter that this layer's options lack: expected " + bits[i] + " in options->biases");
    }
  }
}

TEST(WeightFinder, AParameterOfAnotherKindOfLayerIsRefused) {
  expect_refused(kWeights + Names{"w_v.weight"}, "", kWeights, Status::InvalidArgument,
                 "\"memory\" has \"w_v.weight\", a parameter that this layer's options lack: expected "
                 "HEED_SCORING_ADDITIVE in options->scoring");
}

TEST(WeightFinder, AMissingParameterIsNamedWithItsLayout) {
  const Names llama = below("a", {"q_proj.weight", "k_proj.weight", "v_proj.weight", "o_proj.weight"});
  expect_refused(llama, "a", kAll, Status::NotFound,
                 "\"memory\" has no tensor \"a.q_proj.bias\" for W_q.bias, which HEED_BIAS_Q in options->biases asks "
                 "for; it has 4 of the 8 parameters by the names of Hugging Face Llama, without W_k.bias, W_v.bias, "
                 "W_o.bias: expected options->biases HEED_BIAS_NONE");
  expect_refused(without(llama, "a.v_proj.weight"), "a", kWeights, Status::NotFound,
                 "\"memory\" has no tensor \"a.v_proj.weight\" for W_v.weight; it has 3 of the 4 parameters by the "
                 "names of Hugging Face Llama");
  expect_refused({"in_proj_weight"}, "", kWeights, Status::NotFound,
                 "\"memory\" has no tensor \"out_proj.weight\" for W_o.weight; it has 3 of the 4 parameters by the "
                 "names of PyTorch nn.MultiheadAttention");
  expect_refused(without(kWeights, "W_k.weight"), "", kWeights, Status::NotFound,
                 "\"memory\" has no tensor \"W_k.weight\"; it has 3 of the 4 parameters by the names of heed");
}

TEST(WeightFinder, BiasesOfAnOptionOfTheirOwnAreToldByIt) {
  const Names weights = {"W_1.weight", "W_2.weight", "W_3.weight"};
  const Names biases = {"W_1.bias", "W_2.bias", "W_3.bias"};
  expect_refused(
      weights, "", weights + biases, Status::NotFound,
      "\"memory\" has no tensor \"W_1.bias\", which options->no_bias 0 asks for; it has 3 of the 6 parameters by "
      "the names of heed, without W_2.bias, W_3.bias",
      kNetworkParameters);
  expect_refused(
      weights + biases, "", weights, Status::InvalidArgument,
      "\"memory\" has \"W_1.bias\", a parameter that this layer's options lack: expected options->no_bias 0, and "
      "as it has W_2.bias, W_3.bias too, options->no_bias 0",
      kNetworkParameters);
}

TEST(WeightFinder, NamesOfTwoLayoutsAreNotMixed) {
  // BART's output with the bias of Llama's.
  expect_refused({"q_proj.weight", "k_proj.weight", "v_proj.weight", "out_proj.weight", "o_proj.bias"}, "",
                 kWeights + Names{"W_o.bias"}, Status::NotFound,
                 "\"memory\" has no tensor \"out_proj.bias\" for W_o.bias, which HEED_BIAS_O in options->biases asks "
                 "for; it has 4 of the 5 parameters by the names of Hugging Face BART and by those of Hugging Face "
                 "Llama, which lack \"o_proj.weight\" for W_o.weight: expected options->biases HEED_BIAS_NONE");
}

TEST(WeightFinder, TwoCompleteLayoutsAreRefused) {
  expect_refused(below("a", kWeights) + Names{"a.in_proj_weight", "a.out_proj.weight"}, "a", kWeights,
                 Status::InvalidArgument,
                 "\"memory\" has this layer's parameters twice under the prefix \"a\": by the names of heed, as "
                 "\"W_q.weight\", and by those of PyTorch nn.MultiheadAttention, as \"in_proj_weight\"; expected "
                 "one");
  expect_refused({"q_proj.weight", "k_proj.weight", "v_proj.weight", "out_proj.weight", "o_proj.weight"}, "", kWeights,
                 Status::InvalidArgument,
                 "\"memory\" has this layer's parameters twice without a prefix: by the names of Hugging Face BART, as "
                 "\"q_proj.weight\", and by those of Hugging Face Llama, as \"q_proj.weight\"; expected one");
}

TEST(WeightFinder, TensorsForWhichHeedHasNoOptionAreRefused) {
  const Names pytorch = {"a.in_proj_weight", "a.out_proj.weight"};
  for (const char* added : {"a.logit_scale", "a.head_scale"}) {
    expect_refused(pytorch + Names{added}, "a", kWeights, Status::Unsupported,
                   "\"memory\" has \"" + std::string(added) +
                       "\", which changes what PyTorch nn.MultiheadAttention computes, and heed has no option for it" +
                       with_accept(added + 2));
  }
  const Names llama = {"q_proj.weight", "k_proj.weight", "v_proj.weight", "o_proj.weight"};
  expect_refused(
      llama + Names{"q_layernorm.weight", "bias_k"}, "", kWeights, Status::Unsupported,
      "\"memory\" has \"bias_k\", which changes what Hugging Face Llama computes, and heed has no option for "
      "it, nor for \"q_layernorm.weight\"" +
          with_accept("bias_k, qk_norm"));
  // Tensors of another module do not matter here.
  EXPECT_EQ(find(File(below("a", llama) + Names{"b.q_norm.weight", "q_norm.weight"}), "a", kWeights).weights.size(),
            4u);
}

// Norms, sinks and biases are parameters if the layer has them, otherwise the caller learns that it lacks them.
TEST(WeightFinder, FindsWhatOptionsAskForAndTellsWhichAreMissing) {
  const Names llama = {"q_proj.weight", "k_proj.weight", "v_proj.weight", "o_proj.weight"};
  const Names more = {"q_norm.weight", "k_norm.weight", "sinks"};
  EXPECT_EQ(found_names(File(below("a", llama + more)), "a", kWeights + more), below("a", llama + more));
  const auto lacking = [](const Names& names, const std::string& prefix, const Names& parameters) {
    Names found;
    for (const LackingWeight& weight : find(File(names), prefix, parameters).lacking)
      found.push_back(weight.name + " " + std::string(weight.feature));
    return found;
  };
  EXPECT_EQ(lacking(below("a", llama + more), "a", kWeights),
            (Names{"a.q_norm.weight qk_norm", "a.k_norm.weight qk_norm", "a.sinks sinks"}));
  EXPECT_EQ(lacking(below("a", kWeights + more), "a", kWeights),
            (Names{"a.q_norm.weight qk_norm", "a.k_norm.weight qk_norm", "a.sinks sinks"}));
  expect_refused(
      llama, "", kWeights + Names{"sinks"}, Status::NotFound,
      "\"memory\" has no tensor \"sinks\", which options->sinks asks for; it has 4 of the 5 parameters by the "
      "names of Hugging Face Llama");
}

// T5's table is in the first layer, unless each layer has its own.
TEST(WeightFinder, ATableOfTheFirstLayerServesAll) {
  const Names t5 = {"q.weight", "k.weight", "v.weight", "o.weight"};
  const Names parameters = kWeights + Names{"relative_bias.weight"};
  const std::string table = "relative_attention_bias.weight";
  const std::string first = "encoder.block.0.layer.0.SelfAttention";
  const std::string second = "encoder.block.12.layer.0.SelfAttention";
  const Names shared = below(first, t5 + Names{table}) + below(second, t5);
  EXPECT_EQ(found_names(File(shared), second, parameters), below(second, t5) + below(first, {table}));
  const Names own = shared + below(second, {table});
  EXPECT_EQ(found_names(File(own), second, parameters), below(second, t5 + Names{table}));
  const std::vector<LackingWeight> lacking = find(File(shared), second, kWeights).lacking;
  ASSERT_EQ(lacking.size(), 1U);
  EXPECT_EQ(lacking[0].name, first + "." + table);
  expect_refused(
      below(second, t5), second, parameters, Status::NotFound,
      "\"memory\" has no tensor \"" + second + "." + table +
          "\" for relative_bias.weight, which options->relative_bias asks for; it has 4 of the 5 parameters by "
          "the names of Hugging Face T5");
}

// The value of `accept` for a tensor of this name below the prefix.
std::string accepting(const std::string& name) {
  for (const char* relative : {"distance_embedding", "relative_position", "rel_pos"}) {
    if (name.find(relative) != std::string::npos) return "relative_bias";
  }
  return name.starts_with("q_layernorm") ? "qk_norm" : name;
}

TEST(WeightFinder, TensorsThatChangeTheResultAreRefusedByTheirFullName) {
  const auto refused = [](const Names& names, const std::string& prefix, const Names& parameters,
                          const std::string& name, const std::string& layout_name) {
    expect_refused(names + Names{name}, prefix, parameters, Status::Unsupported,
                   "\"memory\" has \"" + name + "\", which changes what " + layout_name +
                       " computes, and heed has no option for it" +
                       with_accept(accepting(prefix.empty() ? name : name.substr(prefix.size() + 1))));
  };
  const Names self = {"a.self.query.weight", "a.self.key.weight", "a.self.value.weight"};
  const Names inner = {"a.attention.query.weight", "a.attention.key.weight", "a.attention.value.weight"};
  const Names output = {"a.output.dense.weight"};
  const Names without_output = without(kWeights, "W_o.weight");
  for (const char* name : {"distance_embedding.weight", "relative_position_bias_table", "logit_scale",
                           "relative_position_bias.relative_position_bias_table", "query_global.weight"}) {
    // Once by the prefix of the attention, once by that of the module inside it with the projections.
    refused(self + output, "a", kWeights, "a.self." + std::string(name), "Hugging Face BERT");
    refused(self + output, "a.self", without_output, "a.self." + std::string(name), "Hugging Face ALBERT");
    refused(inner + output, "a", kWeights, "a.attention." + std::string(name), "Hugging Face ViT");
    refused(inner + output, "a.attention", without_output, "a.attention." + std::string(name), "Hugging Face ALBERT");
  }
  const Names bart = {"q_proj.weight", "k_proj.weight", "v_proj.weight", "out_proj.weight"};
  for (const char* name : {"gru_rel_pos_const", "inner_attn_ln.weight", "bias_k"})
    refused(bart, "", kWeights, name, "Hugging Face BART");
  const Names llama = {"q_proj.weight", "k_proj.weight", "v_proj.weight", "o_proj.weight"};
  for (const char* name : {"q_layernorm.weight", "q_layernorm.norms.0.weight", "attn_sub_norm.weight"})
    refused(llama, "", kWeights, name, "Hugging Face Llama");
  for (const char* name : {"q_bias", "norm.weight", "rel_pos_h", "logit_scale"})
    refused({"qkv.weight", "proj.weight"}, "", kWeights, name, "timm Attention");
  refused({"c_attn.weight", "c_proj.weight"}, "", kWeights, "q_attn.weight", "Hugging Face GPT-2");
}

TEST(WeightFinder, AdaptersAndScalesOfAProjectionAreRefused) {
  for (const Layout& layout : layouts()) {
    const std::string& output = layout.names[6];
    const char separator = output.find('/') == std::string::npos ? layout.separator : '/';
    const std::string module = output.substr(0, output.rfind(separator));
    SCOPED_TRACE(layout.name + (" with " + module));
    const std::string added = "a" + std::string(1, separator) + module + separator + "lora_A";
    const std::string computing = std::string_view(layout.name) == "heed" ? "this layer" : layout.name;
    const Names names = below("a", layout.names, separator);
    expect_refused(names + Names{added}, "a", kAll, Status::Unsupported,
                   "\"memory\" has \"" + added + "\", which changes what " + computing +
                       " computes, and heed has no option for it" + with_accept(added.substr(2)));
    // Only tensors inside the module are refused, not those of a module whose name begins with its name.
    const std::string other = "a" + std::string(1, separator) + module + "2" + separator + "weight";
    EXPECT_EQ(found_names(File(names + Names{other}), "a", kAll), names);
  }
}

TEST(WeightFinder, AWrongPrefixIsRefusedWithTheRightOnes) {
  Names bert;
  for (const char* prefix : {"bert.encoder.layer.0.attention", "bert.encoder.layer.1.attention"}) {
    bert = bert + below(prefix, {"self.query.weight", "self.key.weight", "self.value.weight", "output.dense.weight"});
  }
  const std::string no_name = ", nor the names by which other frameworks call it; ";
  expect_refused(bert, "encoder", kWeights, Status::NotFound,
                 "\"memory\" has no tensor \"encoder.W_q.weight\"" + no_name +
                     "found the names of Hugging Face BERT under the prefix \"bert.encoder.layer.0.attention\" and 1 "
                     "more");
  // The message names the prefix that begins most like the requested one.
  expect_refused(bert, "bert.encoder.layer.1", kWeights, Status::NotFound,
                 "\"memory\" has no tensor \"bert.encoder.layer.1.W_q.weight\"" + no_name +
                     "found the names of Hugging Face BERT under the prefix \"bert.encoder.layer.1.attention\" and 1 "
                     "more");
  // The requested model is part of a larger one.
  expect_refused(bert, "encoder.layer.1.attention", kWeights, Status::NotFound,
                 "\"memory\" has no tensor \"encoder.layer.1.attention.W_q.weight\"" + no_name +
                     "found the names of Hugging Face BERT under the prefix \"bert.encoder.layer.1.attention\" and 1 "
                     "more");
  // The prefix is one level too deep, where the output is not.
  expect_refused(bert, "bert.encoder.layer.1.attention.self", kWeights, Status::NotFound,
                 "\"memory\" has no tensor \"bert.encoder.layer.1.attention.self.dense.weight\" for W_o.weight; it has "
                 "3 of the 4 parameters by the names of Hugging Face "
                 "ALBERT; found the names of Hugging Face BERT under the prefix \"bert.encoder.layer.1.attention\" and "
                 "1 more");
  expect_refused(kWeights, "encoder", kWeights, Status::NotFound,
                 "\"memory\" has no tensor \"encoder.W_q.weight\"" + no_name +
                     "found the names of heed without a "
                     "prefix");
  expect_refused(below("encoder", kWeights), "encoder.", kWeights, Status::NotFound,
                 "\"memory\" has no tensor \"encoder..W_q.weight\"" + no_name +
                     "found the names of heed under the prefix \"encoder\"");
  expect_refused(below("net/mha", {"query/kernel", "key/kernel", "value/kernel", "attention_output/kernel"}, '/'),
                 "net.mha", kWeights, Status::NotFound,
                 "\"memory\" has no tensor \"net.mha.W_q.weight\"" + no_name +
                     "found the names of Keras MultiHeadAttention under the prefix \"net/mha\"");
}

TEST(WeightFinder, APrefixWithTwoLayoutsIsCountedOnce) {
  const std::string no_name = ", nor the names by which other frameworks call it; ";
  // Without its output BART's layer has the same names as Llama's.
  const Names projections = {"q_proj.weight", "k_proj.weight", "v_proj.weight"};
  const Names parameters = without(kWeights, "W_o.weight");
  expect_refused(below("a", projections), "", parameters, Status::NotFound,
                 "\"memory\" has no tensor \"W_q.weight\"" + no_name +
                     "found the names of Hugging Face BART under the prefix \"a\"");
  expect_refused(below("a", projections) + below("b", projections), "b.", parameters, Status::NotFound,
                 "\"memory\" has no tensor \"b..W_q.weight\"" + no_name +
                     "found the names of Hugging Face BART under the prefix \"b\" and 1 more");
  expect_refused(
      below("a", {"W_q.weight", "W_k.weight", "w_v.weight"}), "", {"W_q.weight", "W_k.weight", "w_v.weight"},
      Status::NotFound,
      "\"memory\" has no tensor \"W_q.weight\"" + no_name + "found the names of heed under the prefix \"a\"");
}

TEST(WeightFinder, AFileWithoutTheLayerIsDescribed) {
  const std::string no_name =
      "\"memory\" has no tensor \"W_q.weight\", nor the names by which other frameworks call "
      "it; ";
  expect_refused({}, "", kWeights, Status::NotFound, no_name + "it has no tensors at all");
  expect_refused({"b", "a"}, "", kWeights, Status::NotFound, no_name + "its 2 tensors have other names, as \"a\"");
  const std::string below_a =
      "\"memory\" has no tensor \"a.W_q.weight\", nor the names by which other frameworks "
      "call it; ";
  expect_refused({"b", "c"}, "a", kWeights, Status::NotFound, below_a + "none of its 2 tensors begins with \"a\"");
  expect_refused({"b", "a.x", "a.y"}, "a", kWeights, Status::NotFound,
                 below_a + "2 of its 3 tensors begin with the prefix, as \"a.x\"");
}

// Searching for a layer under a wrong prefix takes time proportional to the number of tensors, not to its square.
TEST(WeightFinder, AModelMayHaveManyThousandLayers) {
  Names names;
  for (int layer = 0; layer < 5000; ++layer) {
    names = std::move(names) + below("layers." + std::to_string(layer) + ".self_attn",
                                     {"q_proj.weight", "k_proj.weight", "v_proj.weight", "o_proj.weight"});
  }
  expect_refused(names, "layers.4321", kWeights, Status::NotFound,
                 "\"memory\" has no tensor \"layers.4321.W_q.weight\", nor the names by which other frameworks call "
                 "it; found the names of Hugging Face Llama under the prefix \"layers.4321.self_attn\" and 4999 more");
}

// No message is cut, however long path, prefix and names are.
TEST(WeightFinder, SentencesOfLongNamesAreWhole) {
  const std::string path(300, 'f');
  const std::string wrong(300, 'w');
  const std::string right(300, 'r');
  const Names apart = {"q_proj_weight", "k_proj_weight", "v_proj_weight", "out_proj.weight"};
  const Names llama = {"q_proj.weight", "k_proj.weight", "v_proj.weight", "o_proj.weight"};
  const auto sentence = [&](const Names& names, const Names& parameters) {
    const File file(names, path);
    try {
      find(file, wrong, parameters);
      ADD_FAILURE();
      return std::string();
    } catch (const Error& error) {
      EXPECT_LT(std::string(error.text).size(), kErrorCapacity - 1);
      return std::string(error.text);
    }
  };
  EXPECT_TRUE(sentence(below(wrong, apart + kWeights), kWeights).ends_with("; expected one"));
  EXPECT_TRUE(sentence(below(wrong, {"in_proj_weight", "in_proj_bias", "out_proj.weight"}), kWeights)
                  .ends_with("expected HEED_BIAS_Q in options->biases, and as it has W_k.bias, W_v.bias too, "
                             "options->biases HEED_BIAS_Q | HEED_BIAS_K | HEED_BIAS_V"));
  EXPECT_TRUE(sentence(below(wrong, llama), kAll).ends_with(": expected options->biases HEED_BIAS_NONE"));
  EXPECT_TRUE(sentence(below(wrong, llama + Names{"bias_k"}), kWeights)
                  .ends_with("and heed has no option for it" + with_accept("bias_k")));
  EXPECT_TRUE(sentence(below(wrong, {"x"}), kWeights).ends_with("www.x\""));
  EXPECT_TRUE(sentence(below(right, {"x"}), kWeights).ends_with("www\""));
  EXPECT_TRUE(sentence(below(right, apart) + below(right + "2", apart), kWeights).ends_with("rrr\" and 1 more"));
  EXPECT_TRUE(sentence(below(right, apart) + below(right + "2", apart) + below(wrong, {"q_proj.weight"}), kWeights)
                  .ends_with("rrr\" and 1 more"));
}

TEST(WeightFinder, LongNamesLeaveRoomForTheRightPrefix) {
  const std::string wrong(300, 'w');
  const std::string right(115, 'r');
  const File file(below(wrong, {"q_proj.weight"}) +
                  below(right, {"q_proj.weight", "k_proj.weight", "v_proj.weight", "o_proj.weight"}));
  try {
    find(file, wrong, kWeights);
    ADD_FAILURE();
  } catch (const Error& error) {
    const std::string text = error.text;
    EXPECT_LT(text.size(), kErrorCapacity);
    EXPECT_TRUE(text.ends_with("found the names of Hugging Face Llama under the prefix \"" + right + "\"")) << text;
  }
}

FoundWeights find_linear(const Names& names, const std::string& prefix, const Names& parameters) {
  return find(File(names), prefix, parameters, kLinearParameters);
}

TEST(LinearWeights, AreFoundByTheNamesOfEachFramework) {
  const struct {
    Names names;
    std::string prefix;
    const char* layout_name;
    WeightForm form;
  } cases[] = {
      {{"weight", "bias"}, "", "heed", WeightForm::Linear},
      {{"fc1.weight", "fc1.bias", "fc10.lora_A"}, "fc1", "heed", WeightForm::Linear},
      {{"mlp/dense/kernel", "mlp/dense/bias", "mlp/norm/gamma"}, "mlp/dense", "Keras Dense", WeightForm::Transposed},
      {{"dense/kernel:0", "dense/bias:0"}, "dense", "Keras Dense", WeightForm::Transposed},
      {{"dense.kernel", "dense.bias"}, "dense", "Keras Dense", WeightForm::Transposed},
      {{"01Linear_weight", "01Linear_bias"}, "01Linear", "DJL Linear", WeightForm::Linear},
  };
  for (const auto& known : cases) {
    SCOPED_TRACE(known.names.front());
    const FoundWeights found = find_linear(known.names, known.prefix, {"weight", "bias"});
    EXPECT_STREQ(found.layout_name, known.layout_name);
    ASSERT_EQ(found.weights.size(), 2u);
    EXPECT_EQ(found.weights[0].name, known.names[0]);
    EXPECT_EQ(found.weights[0].source.form, known.form);
    EXPECT_EQ(found.weights[1].name, known.names[1]);
    EXPECT_EQ(found.weights[1].source.form, WeightForm::Linear);
    EXPECT_EQ(find_linear(without(known.names, known.names[1]), known.prefix, {"weight"}).weights.size(), 1u);
  }
}

TEST(LinearWeights, AreRefusedWhereTheOptionsLackTheBias) {
  expect_refused({"fc.weight", "fc.bias"}, "fc", {"weight"}, Status::InvalidArgument,
                 "\"memory\" has \"fc.bias\", a parameter that this layer's options lack: expected "
                 "options->no_bias 0",
                 kLinearParameters);
}

TEST(LinearWeights, AreRefusedWithAnyOtherTensorInTheModule) {
  for (const char* other : {"lora_A", "weight_scale", "parametrizations.weight.original0"}) {
    expect_refused({"fc.weight", "fc.bias", std::string("fc.") + other}, "fc", {"weight", "bias"}, Status::Unsupported,
                   std::string("\"memory\" has \"fc.") + other +
                       "\", which changes what this layer computes, and heed has no option for it" + with_accept(other),
                   kLinearParameters);
  }
  expect_refused({"weight", "bias", "lora_A"}, "", {"weight", "bias"}, Status::Unsupported,
                 "\"memory\" has \"lora_A\", which changes what this layer computes, and heed has no option for it" +
                     with_accept("lora_A"),
                 kLinearParameters);
}

TEST(LinearWeights, AreRefusedInTwoForms) {
  expect_refused({"fc.weight", "fc.kernel", "fc.bias"}, "fc", {"weight", "bias"}, Status::InvalidArgument,
                 "\"memory\" has this layer's parameters twice under the prefix \"fc\": by the names of heed, as "
                 "\"weight\", and by those of Keras Dense, as \"kernel\"; expected one",
                 kLinearParameters);
}

}  // namespace
}  // namespace heed
