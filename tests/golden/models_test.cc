// SPDX-License-Identifier: Apache-2.0
// Models of Hugging Face transformers, in files written by save_pretrained. If heed has all options of a model, it must
// give the model's numbers; every other family must be refused with the options that heed lacks. make_models.py
// generates data/models.
#include <gtest/gtest.h>
#include <heed/heed.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <ostream>
#include <set>
#include <string>
#include <vector>

#include "capi/support/files.h"
#include "capi/support/objects.h"
#include "golden/support/derived_bound.h"
#include "property/support/device.h"

namespace heed::golden {
namespace {

using capi_test::Context;
using capi_test::Dims;
using capi_test::Layer;
using capi_test::Tensor;
using nlohmann::json;
using property::Fallback;
using property::on_device;

constexpr int32_t kNoBiases = HEED_BIAS_NONE;
constexpr int32_t kAll = HEED_BIAS_ALL;
constexpr int32_t kAllButKeys = HEED_BIAS_Q | HEED_BIAS_V | HEED_BIAS_O;
constexpr int32_t kAllButOutput = HEED_BIAS_Q | HEED_BIAS_K | HEED_BIAS_V;

std::string folder_of(const std::string& family) { return HEED_SOURCE_DIR "/tests/golden/data/models/" + family; }
std::string path_of(const std::string& family) { return folder_of(family) + "/model.safetensors"; }

json config_of(const std::string& family) { return json::parse(std::ifstream(folder_of(family) + "/config.json")); }

// The first of these settings in the configuration, or `otherwise`.
int64_t setting(const json& config, const std::vector<std::string>& names, int64_t otherwise) {
  for (const std::string& name : names) {
    if (config.contains(name) && config[name].is_number()) return config[name].get<int64_t>();
  }
  return otherwise;
}

// The options that a program would set after reading config.json.
heed_multi_head_attention_options options_of(const std::string& family, bool is_decoder, int32_t biases, bool causal) {
  const json config = config_of(family);
  heed_multi_head_attention_options options = HEED_MULTI_HEAD_ATTENTION_OPTIONS_INIT;
  options.num_hiddens = setting(config, {"hidden_size", "d_model", "n_embd", "dim"}, 0);
  options.num_heads = setting(config,
                              {is_decoder ? "decoder_attention_heads" : "encoder_attention_heads",
                               "num_attention_heads", "n_head", "n_heads", "num_heads"},
                              0);
  options.num_kv_heads = setting(config, {"num_key_value_heads"}, 0);
  options.head_size = setting(config, {"head_dim", "d_kv"}, 0);
  options.biases = biases;
  options.causal = causal ? HEED_CAUSAL_TOP_LEFT : HEED_CAUSAL_NONE;
  return options;
}

std::vector<double> as_doubles(const heed_tensor* tensor) { return numbers_of(tensor); }

// An attention for which heed has all options.
struct Stated {
  const char* family;
  const char* prefix;
  // The beginning of its tensors' names in cases.safetensors.
  const char* cases = "layer0.attention";
  int32_t biases = kAll;
  bool causal = false;
  bool is_decoder = false;
  float scale = 0;

  bool is_cross() const { return std::string(cases).find("cross") != std::string::npos; }
};

constexpr const char* kEncoder = "encoder.layer0.attention";
constexpr const char* kDecoder = "decoder.layer0.self_attention";
constexpr const char* kCross = "decoder.layer0.cross_attention";

const Stated kStated[] = {
    {.family = "bert", .prefix = "encoder.layer.0.attention"},
    {.family = "roberta", .prefix = "roberta.encoder.layer.0.attention"},
    {.family = "electra", .prefix = "encoder.layer.0.attention"},
    {.family = "distilbert", .prefix = "transformer.layer.0.attention"},
    {.family = "albert", .prefix = "encoder.albert_layer_groups.0.albert_layers.0.attention"},
    {.family = "vit", .prefix = "encoder.layer.0.attention"},
    {.family = "clip-text", .prefix = "encoder.layers.0.self_attn", .causal = true},
    {.family = "gpt2", .prefix = "transformer.h.0.attn", .causal = true},
    {.family = "opt", .prefix = "model.decoder.layers.0.self_attn", .causal = true},
    {.family = "bart", .prefix = "model.encoder.layers.0.self_attn", .cases = kEncoder},
    {.family = "bart",
     .prefix = "model.decoder.layers.0.self_attn",
     .cases = kDecoder,
     .causal = true,
     .is_decoder = true},
    {.family = "bart", .prefix = "model.decoder.layers.0.encoder_attn", .cases = kCross, .is_decoder = true},
    {.family = "mbart", .prefix = "model.encoder.layers.0.self_attn", .cases = kEncoder},
    {.family = "mbart",
     .prefix = "model.decoder.layers.0.self_attn",
     .cases = kDecoder,
     .causal = true,
     .is_decoder = true},
    {.family = "mbart", .prefix = "model.decoder.layers.0.encoder_attn", .cases = kCross, .is_decoder = true},
    {.family = "marian", .prefix = "model.encoder.layers.0.self_attn", .cases = kEncoder},
    {.family = "marian",
     .prefix = "model.decoder.layers.0.self_attn",
     .cases = kDecoder,
     .causal = true,
     .is_decoder = true},
    {.family = "marian", .prefix = "model.decoder.layers.0.encoder_attn", .cases = kCross, .is_decoder = true},
    {.family = "whisper", .prefix = "model.encoder.layers.0.self_attn", .cases = kEncoder, .biases = kAllButKeys},
    {.family = "whisper",
     .prefix = "model.decoder.layers.0.self_attn",
     .cases = kDecoder,
     .biases = kAllButKeys,
     .causal = true,
     .is_decoder = true},
    {.family = "whisper",
     .prefix = "model.decoder.layers.0.encoder_attn",
     .cases = kCross,
     .biases = kAllButKeys,
     .is_decoder = true},
    {.family = "t5",
     .prefix = "decoder.block.0.layer.1.EncDecAttention",
     .cases = kCross,
     .biases = kNoBiases,
     .is_decoder = true,
     .scale = 1},
};

std::ostream& operator<<(std::ostream& stream, const Stated& stated) {
  return stream << stated.family << " " << stated.prefix;
}

class StatedModel : public testing::TestWithParam<Stated> {
 protected:
  static heed_multi_head_attention_options options() {
    const Stated& stated = GetParam();
    heed_multi_head_attention_options options =
        options_of(stated.family, stated.is_decoder, stated.biases, stated.causal);
    options.scale = stated.scale;
    return options;
  }

  static Tensor load_case(const Context& context, const std::string& name) {
    heed_tensor* tensor = nullptr;
    const std::string path = folder_of(GetParam().family) + "/cases.safetensors";
    const heed_status status = heed_tensor_load_safetensors(context.get(), path.c_str(), name.c_str(), &tensor);
    if (status != HEED_ERROR_NOT_FOUND) property::check(status);
    return Tensor(tensor);
  }

  // The number of tokens of each batch element; empty if nothing is padded.
  static std::vector<int32_t> lengths(const Context& context) {
    const Tensor mask = load_case(context, "attention_mask");
    if (!mask) return {};
    const Dims dims = capi_test::dims_of(mask.get());
    const std::vector<double> ones = as_doubles(mask.get());
    std::vector<int32_t> lengths;
    for (auto row = ones.begin(); row != ones.end(); row += dims[1])
      lengths.push_back(static_cast<int32_t>(std::count(row, row + dims[1], 1.0)));
    return lengths;
  }

  // Results of padded queries have no meaning, and are 0 in the file. Sets both to 0.
  static void clear_padding(std::vector<double>& numbers, const Dims& dims, const std::vector<int32_t>& lengths) {
    const size_t query_axis = dims.size() == 3 ? 1 : 2;
    size_t row_size = 1;
    for (size_t axis = query_axis + 1; axis < dims.size(); ++axis) row_size *= static_cast<size_t>(dims[axis]);
    const size_t num_rows = numbers.size() / row_size;
    const size_t rows_of_item = num_rows / static_cast<size_t>(dims[0]);
    for (size_t row = 0; row < num_rows; ++row) {
      const auto query = static_cast<int64_t>(row) % dims[query_axis];
      if (query < lengths.at(row / rows_of_item)) continue;
      std::fill_n(numbers.begin() + static_cast<std::ptrdiff_t>(row * row_size), row_size, 0.0);
    }
  }
};

TEST_P(StatedModel, GivesTheModelsNumbers) {
  on_device([&](Fallback fallback) {
    const Stated& stated = GetParam();
    const Context context = property::make_context(fallback);
    const Layer layer = capi_test::make_multi_head(context.get(), options());
    property::check(heed_layer_load(layer.get(), path_of(stated.family).c_str(), stated.prefix));

    const std::string cases = stated.cases;
    const Tensor queries = load_case(context, cases + ".input");
    const Tensor keys = load_case(context, cases + ".memory");
    heed_layer_inputs inputs = HEED_LAYER_INPUTS_INIT;
    inputs.queries = queries.get();
    inputs.keys = keys.get();
    ASSERT_EQ(keys != nullptr, stated.is_cross());
    // The sequence of a decoder is not padded; cross attention sees the encoder's, which is.
    std::vector<int32_t> lens = lengths(context);
    if (stated.is_decoder && !stated.is_cross()) lens.clear();
    Tensor valid_lens;
    if (!lens.empty()) {
      valid_lens = capi_test::make_tensor_of(context.get(), {static_cast<int64_t>(lens.size())}, lens);
      inputs.valid_lens = valid_lens.get();
    }
    heed_layer_outputs outputs = HEED_LAYER_OUTPUTS_INIT;
    property::check(heed_layer_create_outputs(layer.get(), &inputs, HEED_WANT_OUTPUT | HEED_WANT_WEIGHTS, &outputs));
    const Tensor output(outputs.output);
    const Tensor weights(outputs.weights);
    property::check(heed_layer_forward(layer.get(), &inputs, nullptr, &outputs));

    const Derived derived = derive_anywhere(layer.get(), options(), inputs);
    const auto expect = [&](const char* name, const Tensor& is, const Tensor& errors) {
      SCOPED_TRACE(name);
      const Tensor should = load_case(context, cases + "." + name);
      ASSERT_TRUE(should);
      const Dims dims = capi_test::dims_of(should.get());
      ASSERT_EQ(capi_test::dims_of(is.get()), dims);
      std::vector<double> numbers = as_doubles(is.get());
      std::vector<double> expected = as_doubles(should.get());
      std::vector<double> bounds = as_doubles(errors.get());
      if (!lens.empty() && !stated.is_cross()) {
        clear_padding(numbers, dims, lens);
        clear_padding(expected, dims, lens);
      }
      // The file's inputs are the model's rounded to F32. That is one more rounding of each operand of a projection,
      // and the bound already counts as many roundings as the input is wide, so twice the bound suffices. Expected
      // results are rounded to F32, too.
      for (size_t i = 0; i < bounds.size(); ++i) bounds[i] = 2 * bounds[i] + std::ldexp(std::abs(expected[i]), -24);
      EXPECT_EQ(num_beyond(HEED_F32, numbers, expected, bounds), 0U);
      expect_that_zeros_are_refused(HEED_F32, expected, bounds);
      if (property::on_ascend()) return;
      // The same limit as make_models.py sets for transformers in F32.
      const double largest = std::abs(*std::max_element(expected.begin(), expected.end(),
                                                        [](double a, double b) { return std::abs(a) < std::abs(b); }));
      for (size_t i = 0; i < numbers.size(); ++i)
        ASSERT_LE(std::abs(numbers[i] - expected[i]), 1e-5 * largest) << "element " << i;
    };
    expect("output", output, derived.errors.output);
    expect("weights", weights, derived.errors.weights);
  });
}

// Without config.json, by the names alone.
TEST_P(StatedModel, LoadsFromMemoryToo) {
  const Stated& stated = GetParam();
  const Context context = capi_test::make_context();
  const std::string bytes = capi_test::read_file(path_of(stated.family));
  const Layer layer = capi_test::make_multi_head(context.get(), options());
  EXPECT_EQ(heed_layer_load_memory(layer.get(), bytes.data(), bytes.size(), stated.prefix), HEED_OK)
      << heed_last_error();
}

// If the configuration determines causal, the other value is refused by name.
TEST_P(StatedModel, IsRefusedWithoutItsCausalMaskOrWithAnother) {
  const Stated& stated = GetParam();
  const Context context = capi_test::make_context();
  heed_multi_head_attention_options other = options();
  other.causal = stated.causal ? HEED_CAUSAL_NONE : HEED_CAUSAL_TOP_LEFT;
  const Layer layer = capi_test::make_multi_head(context.get(), other);
  EXPECT_EQ(heed_layer_load(layer.get(), path_of(stated.family).c_str(), stated.prefix), HEED_ERROR_INVALID_ARGUMENT);
  const std::string sentence = heed_last_error();
  EXPECT_NE(sentence.find(stated.causal ? "options->causal is HEED_CAUSAL_NONE, expected HEED_CAUSAL_TOP_LEFT or "
                                          "HEED_CAUSAL_BOTTOM_RIGHT; with accept \"causal\" it is loaded all the same"
                                        : "options->causal is HEED_CAUSAL_TOP_LEFT, expected HEED_CAUSAL_NONE"),
            std::string::npos)
      << sentence;
}

TEST_P(StatedModel, IsRefusedWithAnotherNumberOfHeadsOrScale) {
  const Stated& stated = GetParam();
  const Context context = capi_test::make_context();
  heed_multi_head_attention_options other = options();
  other.num_heads *= 2;
  if (other.head_size > 0) other.head_size /= 2;
  other.num_kv_heads = other.num_kv_heads * 2;
  const Layer layer = capi_test::make_multi_head(context.get(), other);
  EXPECT_EQ(heed_layer_load(layer.get(), path_of(stated.family).c_str(), stated.prefix), HEED_ERROR_INVALID_ARGUMENT);
  EXPECT_NE(std::string(heed_last_error()).find("options->num_heads is 8, expected 4"), std::string::npos)
      << heed_last_error();

  heed_multi_head_attention_options scaled = options();
  scaled.scale = 0.25F;
  const Layer with_scale = capi_test::make_multi_head(context.get(), scaled);
  EXPECT_EQ(heed_layer_load(with_scale.get(), path_of(stated.family).c_str(), stated.prefix),
            HEED_ERROR_INVALID_ARGUMENT);
  EXPECT_NE(std::string(heed_last_error()).find("options->scale is 0.25, expected "), std::string::npos)
      << heed_last_error();
}

INSTANTIATE_TEST_SUITE_P(Golden, StatedModel, testing::ValuesIn(kStated),
                         [](const testing::TestParamInfo<Stated>& test) {
                           std::string name = std::string(test.param.family) + "_" + test.param.cases;
                           std::replace_if(
                               name.begin(), name.end(), [](char c) { return c == '-' || c == '.'; }, '_');
                           return name;
                         });

// A family with options that heed lacks.
struct Refused {
  const char* family;
  const char* prefix;
  // Parts of the message, with config.json beside the file and without.
  std::vector<std::string> words;
  std::vector<std::string> words_by_names;
  int32_t biases = kNoBiases;
};

const std::string kRotary = "has attention with rotary positions";
const std::string kNoOption = "and heed has no option for it";
const std::string kAcceptRotary = "; with accept \"rotary\" it is loaded all the same";
const std::string kByNames = "(by the names of Hugging Face Llama and its kin)";

const char* const kLlamaPrefix = "model.layers.0.self_attn";

std::vector<Refused> refused() {
  const std::string in_order =
      "packs queries, keys and values in its family's own order: expected the projections apart";
  const std::string packed = "packs queries, keys and values one after another: expected the projections apart";
  const std::string latent = "holds keys and values compressed (multi-head latent attention)";
  std::vector<Refused> all;
  const auto add_rotary = [&](const char* family, const std::string& type, int32_t biases = kNoBiases,
                              std::vector<std::string> more = {}) {
    std::vector<std::string> words = {kRotary, "(by model_type \"" + type + "\" in config.json)", kNoOption,
                                      "with accept \"rotary"};
    words.insert(words.end(), more.begin(), more.end());
    all.push_back({family, kLlamaPrefix, words, {kRotary, kByNames, kNoOption, kAcceptRotary}, biases});
  };
  for (const char* family :
       {"llama", "llama-rope-linear", "llama-rope-llama3", "llama-rope-yarn", "llama-rope-yarn-factor"})
    add_rotary(family, "llama");
  add_rotary(
      "mistral", "mistral", kNoBiases,
      {"options->window is HEED_WINDOW_NONE, expected options->window_left 3 and options->window_right unlimited"});
  add_rotary("qwen2", "qwen2", kAllButOutput);
  add_rotary("gemma", "gemma");
  add_rotary("gemma2", "gemma2", kNoBiases,
             {"options->scale is 0.288675135, expected 0.223606798", "options->soft_cap is 0, expected 2",
              "options->window is HEED_WINDOW_NONE, expected options->window_left 3"});
  add_rotary("granite", "granite", kNoBiases, {"options->scale is 0.353553391, expected 0.5"});
  add_rotary("cohere", "cohere", kAll);
  for (const char* family : {"qwen3", "gemma3"}) {
    const std::string norm =
        "\"model.layers.0.self_attn.q_norm.weight\", which changes what Hugging Face Llama computes";
    const std::string type = std::string(family) == "qwen3" ? "qwen3" : "gemma3_text";
    all.push_back({family,
                   kLlamaPrefix,
                   {norm, kNoOption, "rotary positions (by model_type \"" + type + "\" in config.json)",
                    "with accept \"qk_norm, rotary\""},
                   {norm, kNoOption, "rotary positions " + kByNames, "with accept \"qk_norm, rotary\""}});
  }
  all.push_back({"gpt-oss",
                 kLlamaPrefix,
                 {"\"model.layers.0.self_attn.sinks\"", kNoOption, "rotary positions (by model_type \"gpt_oss\"",
                  "with accept \"sinks, rotary\"", "expected options->window_left 3"},
                 {"\"model.layers.0.self_attn.sinks\"", kNoOption, "rotary positions " + kByNames},
                 kAll});
  all.push_back({"gptj",
                 "transformer.h.0.attn",
                 {kRotary, "(by model_type \"gptj\" in config.json)", kNoOption, kAcceptRotary},
                 {kRotary, "(by the names of Hugging Face GPT-J)", kNoOption, kAcceptRotary}});
  for (const char* family : {"phi3", "phi3-longrope-long", "phi3-longrope-short"}) {
    all.push_back({family,
                   kLlamaPrefix,
                   {"qkv_proj.weight\", which " + packed,
                    "nor has heed an option for rotary positions (by model_type "
                    "\"phi3\" in config.json)"},
                   {"qkv_proj.weight\", which " + packed}});
  }
  all.push_back({"bloom",
                 "transformer.h.0.self_attention",
                 {"query_key_value.weight\", which " + in_order, "nor has heed an option for ALiBi"},
                 {in_order}});
  all.push_back({"falcon-alibi",
                 "transformer.h.0.self_attention",
                 {in_order, "nor has heed an option for ALiBi (by model_type \"falcon\""},
                 {in_order}});
  for (const char* family : {"falcon-multi-query", "falcon-new"}) {
    all.push_back({family,
                   "transformer.h.0.self_attention",
                   {in_order, "nor has heed an option for rotary positions"},
                   {in_order}});
  }
  all.push_back({"gpt-neox",
                 "gpt_neox.layers.0.attention",
                 {in_order, "nor has heed an option for rotary positions"},
                 {in_order}});
  all.push_back({"mpt",
                 "transformer.blocks.0.attn",
                 {"Wqkv.weight\", which " + packed, "nor has heed an option for ALiBi"},
                 {packed}});
  all.push_back({"modernbert",
                 "layers.0.attn",
                 {"Wqkv.weight\", which " + packed, "nor has heed an option for rotary positions"},
                 {packed}});
  all.push_back({"deepseek-v3", kLlamaPrefix, {latent, "nor has heed an option for rotary positions"}, {latent}});
  const std::string bias =
      "SelfAttention.relative_attention_bias.weight\", which changes what Hugging Face T5 computes";
  for (const char* side : {"encoder", "decoder"}) {
    static const std::string prefixes[] = {"encoder.block.0.layer.0.SelfAttention",
                                           "decoder.block.0.layer.0.SelfAttention"};
    all.push_back({"t5",
                   prefixes[side[0] == 'e' ? 0 : 1].c_str(),
                   {bias, kNoOption, "with accept \"relative_bias"},
                   {bias, kNoOption, "with accept \"relative_bias"}});
  }
  // Only the first layer has the table of biases.
  all.push_back({"t5",
                 "encoder.block.1.layer.0.SelfAttention",
                 {"has attention with a bias of relative positions (by model_type \"t5\" in config.json)", kNoOption},
                 {"has attention with a bias of relative positions (by the names of Hugging Face T5)", kNoOption}});
  return all;
}

heed_multi_head_attention_options options_of(const Refused& refused) {
  return options_of(refused.family, false, refused.biases, std::string(refused.prefix).find("encoder") != 0);
}

void expect_refused(const Refused& refused, const std::string& path, const std::vector<std::string>& words) {
  const Context context = capi_test::make_context();
  const Layer layer = capi_test::make_multi_head(context.get(), options_of(refused));
  EXPECT_EQ(heed_layer_load(layer.get(), path.c_str(), refused.prefix), HEED_ERROR_UNSUPPORTED) << heed_last_error();
  const std::string sentence = heed_last_error();
  EXPECT_LT(sentence.size(), 511U) << "cut: " << sentence;
  for (const std::string& word : words)
    EXPECT_NE(sentence.find(word), std::string::npos) << word << "\nin " << sentence;
  EXPECT_EQ(heed_layer_is_initialized(layer.get()), 0);
}

TEST(OtherModels, AreRefusedWithTheMissingOptions) {
  for (const Refused& refused : refused()) {
    SCOPED_TRACE(refused.family + std::string(" ") + refused.prefix);
    expect_refused(refused, path_of(refused.family), refused.words);
  }
}

TEST(OtherModels, AreRefusedByTheirNamesAlone) {
  for (const Refused& refused : refused()) {
    SCOPED_TRACE(refused.family + std::string(" ") + refused.prefix);
    const capi_test::TemporaryFolder folder;
    const std::string path = folder.write("model.safetensors", capi_test::read_file(path_of(refused.family)));
    expect_refused(refused, path, refused.words_by_names);
  }
}

// Each folder is in one of the tables above, or has no weights.
TEST(OtherModels, AreInTheTables) {
  std::set<std::string> known = {"llama-rope-dynamic"};
  for (const Stated& stated : kStated) known.insert(stated.family);
  for (const Refused& one : refused()) known.insert(one.family);
  std::set<std::string> folders;
  for (const auto& entry : std::filesystem::directory_iterator(folder_of("")))
    folders.insert(entry.path().filename().string());
  EXPECT_EQ(known, folders);
}

heed_status load_accepting(const heed_layer* layer, const std::string& path, const char* prefix, const char* accept) {
  const Context context = capi_test::make_context();
  heed_weights* weights = nullptr;
  property::check(heed_weights_open(context.get(), path.c_str(), &weights));
  heed_load_options options = HEED_LOAD_OPTIONS_INIT;
  options.accept = accept;
  const heed_status status = heed_layer_load_weights(const_cast<heed_layer*>(layer), weights, prefix, &options);
  heed_weights_destroy(weights);
  return status;
}

TEST(OtherModels, AreLoadedIfTheCallerAcceptsTheMissingOptions) {
  const struct {
    const char* family;
    const char* accept;
    int32_t biases = kNoBiases;
  } cases[] = {
      {"llama", "rotary"},
      {"mistral", "rotary, window"},
      {"gemma2", "rotary,scale , soft_cap,window"},
      {"granite", "scale,rotary"},
      {"qwen3", "qk_norm, rotary"},
      {"qwen3", "q_norm.weight, model.layers.0.self_attn.k_norm.weight, rotary"},
      {"gpt-oss", "sinks, rotary, window", kAll},
  };
  for (const auto& one : cases) {
    SCOPED_TRACE(one.family + std::string(" with ") + one.accept);
    const Context context = capi_test::make_context();
    const Layer layer = capi_test::make_multi_head(context.get(), options_of(one.family, false, one.biases, true));
    EXPECT_EQ(load_accepting(layer.get(), path_of(one.family), kLlamaPrefix, one.accept), HEED_OK) << heed_last_error();
  }
}

// Accepting one difference does not hide the others.
TEST(OtherModels, AreRefusedForOtherOptionsEvenIfRotaryIsAccepted) {
  const Context context = capi_test::make_context();
  const Layer layer = capi_test::make_multi_head(context.get(), options_of("gemma2", false, kNoBiases, true));
  EXPECT_EQ(load_accepting(layer.get(), path_of("gemma2"), kLlamaPrefix, "rotary"), HEED_ERROR_INVALID_ARGUMENT);
  EXPECT_NE(std::string(heed_last_error())
                .find("is of a model with other options by model_type \"gemma2\" in config.json: options->scale is "
                      "0.288675135, expected 0.223606798; options->soft_cap is 0, expected 2; options->window is "
                      "HEED_WINDOW_NONE, expected options->window_left 3 and options->window_right unlimited; with "
                      "accept \"scale, "
                      "soft_cap, window\" it is loaded all the same"),
            std::string::npos)
      << heed_last_error();

  // As in the model, whose second layer has no window.
  heed_multi_head_attention_options options = options_of("gemma2", false, kNoBiases, true);
  options.scale = 1 / std::sqrt(20.0F);
  options.soft_cap = 2;
  const Layer second = capi_test::make_multi_head(context.get(), options);
  EXPECT_EQ(load_accepting(second.get(), path_of("gemma2"), "model.layers.1.self_attn", "rotary"), HEED_OK)
      << heed_last_error();
  options.window = HEED_WINDOW_TOP_LEFT;
  options.window_left = 3;
  const Layer first = capi_test::make_multi_head(context.get(), options);
  EXPECT_EQ(load_accepting(first.get(), path_of("gemma2"), kLlamaPrefix, "rotary"), HEED_OK) << heed_last_error();
}

// The frequencies of llama-rope-dynamic, which has only a configuration, with Llama's weights.
TEST(OtherModels, WithFrequenciesThatChangeAreRefused) {
  const capi_test::TemporaryFolder folder;
  const std::string path = folder.write("model.safetensors", capi_test::read_file(path_of("llama")));
  folder.write("config.json", capi_test::read_file(folder_of("llama-rope-dynamic") + "/config.json"));
  expect_refused({"llama", kLlamaPrefix, {}, {}}, path, {kRotary, kNoOption, kAcceptRotary});
}

// transformers 5 uses other names in memory than save_pretrained writes.
TEST(StateDictNames, OfViTAreLoadedAsTheSavedOnes) {
  const Context context = capi_test::make_context();
  std::string bytes = capi_test::read_file(path_of("vit"));
  uint64_t header_size = 0;
  std::copy_n(bytes.begin(), sizeof header_size, reinterpret_cast<char*>(&header_size));
  std::string header = bytes.substr(8, header_size);
  const auto rename = [&](const std::string& from, const std::string& to) {
    for (size_t at = header.find(from); at != std::string::npos; at = header.find(from, at + to.size()))
      header.replace(at, from.size(), to);
  };
  rename("encoder.layer.", "layers.");
  rename("attention.attention.query", "attention.q_proj");
  rename("attention.attention.key", "attention.k_proj");
  rename("attention.attention.value", "attention.v_proj");
  rename("attention.output.dense", "attention.o_proj");
  const std::string data = bytes.substr(8 + header_size);
  const std::string renamed = capi_test::safetensors(header, 0) + data;

  const heed_multi_head_attention_options options = options_of("vit", false, kAll, false);
  const Layer saved = capi_test::make_multi_head(context.get(), options);
  property::check(heed_layer_load(saved.get(), path_of("vit").c_str(), "encoder.layer.0.attention"));
  const capi_test::TemporaryFolder folder;
  const std::string path = folder.write("model.safetensors", renamed);
  for (const bool has_config : {false, true}) {
    if (has_config) folder.write("config.json", capi_test::read_file(folder_of("vit") + "/config.json"));
    const Layer in_memory = capi_test::make_multi_head(context.get(), options);
    ASSERT_EQ(heed_layer_load(in_memory.get(), path.c_str(), "layers.0.attention"), HEED_OK) << heed_last_error();
    for (int64_t i = 0; i < heed_layer_parameter_count(saved.get()); ++i) {
      const char* name = heed_layer_parameter_name(saved.get(), i);
      EXPECT_EQ(capi_test::read_bytes(capi_test::snapshot(in_memory.get(), name).get()),
                capi_test::read_bytes(capi_test::snapshot(saved.get(), name).get()));
    }
  }
}

}  // namespace
}  // namespace heed::golden
