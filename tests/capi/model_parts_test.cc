// SPDX-License-Identifier: Apache-2.0
// A whole model never loads with a part missing: what the classes of its family have, or a setting asks for, is required of
// the file, in one layer and in all of them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <string>
#include <vector>

#include "capi/support/model_call.h"
#include "capi/support/model_copy.h"
#include "capi/support/refusal.h"

namespace heed::capi_test {
namespace {

// Models with parts that a setting asks for.
constexpr const char* kWithParts[] = {"../model_settings/bert-gamma-beta", "../model_settings/clip-text-prefix",
                                      "../model_settings/llama-biases",    "../model_settings/modernbert-biases",
                                      "../model_settings/mt5-head-beside", "../model_settings/opt-projection",
                                      "../model_settings/qwen3-biases",    "../model_settings/t5-encoder-alone",
                                      "../model_settings/t5-gated-untied", "../model_settings/vit-without-qkv-bias"};

// The name with '#' for each number: the same of all layers.
std::string kind_of(const std::string& name) {
  std::string kind;
  for (size_t i = 0; i < name.size(); ++i) {
    const bool is_digit = std::isdigit(static_cast<unsigned char>(name[i])) != 0;
    const bool is_number = is_digit && i > 0 && (name[i - 1] == '.' || kind.back() == '#');
    if (!is_number)
      kind += name[i];
    else if (kind.back() != '#')
      kind += '#';
  }
  return kind;
}

// Whether models of the family load without the tensor: it is no part of the layer, or docs/models.md says that it is optional.
bool may_be_absent(const std::string& family, const std::string& name) {
  constexpr const char* kNoParts[] = {"final_logits_bias", "pooler.", "position_ids", "decoder.version", "classifier."};
  const auto is_in_name = [&](const char* part) { return name.find(part) != std::string::npos; };
  if (std::ranges::any_of(kNoParts, is_in_name)) return true;
  // A head of an encoder.
  if (family == "roberta" && name.starts_with("lm_head.")) return true;
  // The settings tie the two, so that a file with one of them is that of a tied model.
  return family.find("mt5-head-beside") != std::string::npos &&
         (name.starts_with("lm_head.") || name == "shared.weight");
}

// The sentence about these tensors, the first of which is named.
Refusal missing(const std::vector<std::string>& names) {
  std::vector<std::string> words = {"has no tensor \"" + names.front() + "\"", "expected every tensor of a model of"};
  if (names.size() > 1) words.push_back("the first of " + std::to_string(names.size()) + " that are missing");
  return {HEED_ERROR_NOT_FOUND, words};
}

void remove_all(ModelCopy& copy, const std::vector<std::string>& names) {
  std::erase_if(copy.tensors,
                [&](const NamedFloats& tensor) { return std::ranges::find(names, tensor.name) != names.end(); });
}

TEST(ModelParts, ThatAreMissingInOneLayerOrInAllAreRefused) {
  std::vector<std::string> families = every_model_of_any_input();
  families.insert(families.end(), std::begin(kWithParts), std::end(kWithParts));
  for (const std::string& family : families) {
    ModelCopy copy(family);
    const std::vector<NamedFloats> all = copy.tensors;
    std::map<std::string, std::vector<std::string>> kinds;
    for (const NamedFloats& tensor : all) kinds[kind_of(tensor.name)].push_back(tensor.name);
    EXPECT_GT(kinds.size(), 8u);
    for (const auto& [kind, names] : kinds) {
      for (const bool in_all : {false, true}) {
        if (in_all && names.size() == 1) continue;
        SCOPED_TRACE(testing::Message() << family << " without " << kind << (in_all ? " in all layers" : ""));
        const std::vector<std::string> removed = in_all ? names : std::vector<std::string>{names.back()};
        copy.tensors = all;
        remove_all(copy, removed);
        const heed_status status = try_model_folder(copy.write());
        if (may_be_absent(family, names.front()))
          EXPECT_EQ(status, HEED_OK) << heed_last_error();
        else
          EXPECT_TRUE(is_refused(status, missing(removed)));
      }
    }
  }
}

// All tensors of a module, so that the file does not show by which names it would have them.
TEST(ModelParts, ThatAreWholeModulesAreNamedAsInTheFilesOfTheFamily) {
  struct Module {
    const char* family;
    const char* module;
    const char* first;
    size_t count;
  };
  constexpr Module kModules[] = {
      {"bert", "encoder.layer.#.attention.self.", "encoder.layer.0.attention.self.query.weight", 12},
      {"clip-text", "encoder.layers.#.mlp.", "encoder.layers.0.mlp.fc1.weight", 8},
      {"gemma2", "model.layers.#.mlp.", "model.layers.0.mlp.up_proj.weight", 6},
      {"gpt2", "transformer.h.#.mlp.", "transformer.h.0.mlp.c_fc.weight", 8},
      {"llama", "model.layers.#.self_attn.", "model.layers.0.self_attn.q_proj.weight", 8},
      {"modernbert", "layers.#.mlp.W", "layers.0.mlp.Wi.weight", 4},
      {"opt", "model.decoder.layers.#.self_attn.", "model.decoder.layers.0.self_attn.q_proj.weight", 16},
      {"phi3", "model.layers.#.mlp.", "model.layers.0.mlp.gate_up_proj.weight", 4},
      {"phi3", "model.layers.#.self_attn.", "model.layers.0.self_attn.qkv_proj.weight", 4},
      {"t5", "decoder.block.#.layer.#.DenseReluDense.", "decoder.block.0.layer.2.DenseReluDense.wi.weight", 4},
      {"vit", "encoder.layer.#.attention.", "encoder.layer.0.attention.attention.query.weight", 16},
      {"whisper", "model.encoder.layers.#.fc", "model.encoder.layers.0.fc1.weight", 8},
  };
  for (const auto& [family, module, first, count] : kModules) {
    SCOPED_TRACE(testing::Message() << family << " without " << module);
    ModelCopy copy(family);
    const size_t before = copy.tensors.size();
    std::erase_if(copy.tensors, [module = std::string(module)](const NamedFloats& tensor) {
      return kind_of(tensor.name).starts_with(module) && kind_of(tensor.name).find("LayerNorm") == std::string::npos;
    });
    const size_t removed = before - copy.tensors.size();
    EXPECT_EQ(removed, count);
    const heed_status status = try_model_folder(copy.write());
    EXPECT_TRUE(is_refused(status, {HEED_ERROR_NOT_FOUND,
                                    {std::string("has no tensor \"") + first + "\"",
                                     "the first of " + std::to_string(removed) + " that are missing"}}));
  }
}

TEST(ModelParts, ThatASettingAsksForAreRefusedByIt) {
  struct Part {
    const char* family;
    const char* setting;
    const char* json;  // null: left out
    const char* kind;
    const char* words;
  };
  constexpr Part kParts[] = {
      {"llama", "attention_bias", "true", "", "type \"llama\" with \"attention_bias\" true"},
      {"gemma", "attention_bias", "true", "", "with \"attention_bias\" true"},
      {"gemma2", "attention_bias", "true", "", "with \"attention_bias\" true"},
      {"gemma3", "attention_bias", "true", "", "with \"attention_bias\" true"},
      {"granite", "attention_bias", "true", "", "with \"attention_bias\" true"},
      {"qwen3", "attention_bias", "true", "", "with \"attention_bias\" true"},
      {"modernbert", "attention_bias", "true", "", "with \"attention_bias\" true"},
      {"llama", "mlp_bias", "true", "", "with \"mlp_bias\" true"},
      {"granite", "mlp_bias", "true", "", "with \"mlp_bias\" true"},
      {"modernbert", "mlp_bias", "true", "", "with \"mlp_bias\" true"},
      {"modernbert", "norm_bias", "true", "", "with \"norm_bias\" true"},
      {"../model_settings/vit-without-qkv-bias", "qkv_bias", "true", "", "with \"qkv_bias\" true"},
      {"../model_settings/vit-without-qkv-bias", "qkv_bias", nullptr, "", "\"qkv_bias\" true, which is the default"},
      {"opt", "enable_bias", "true", "model.decoder.layers.#.fc1.bias", "with \"enable_bias\" true"},
      {"opt", "enable_bias", nullptr, "model.decoder.layers.#.fc1.bias", "\"enable_bias\" true, which is the default"},
      {"../model_settings/t5-gated-untied", "feed_forward_proj", "\"gated-gelu\"",
       "encoder.block.#.layer.#.DenseReluDense.wi_#", "with \"feed_forward_proj\" \"gated-gelu\""},
      {"../model_settings/t5-gated-untied", "feed_forward_proj", nullptr, "encoder.block.#.layer.#.DenseReluDense.wi_0",
       "with \"is_gated_act\" true"},
      {"qwen2", "attention_bias", "false", "model.layers.#.self_attn.q_proj.bias", "type \"qwen2\""},
      {"mistral", "attention_bias", "true", "model.layers.#.mlp.gate_proj.weight", "type \"mistral\""},
  };
  for (const auto& [family, setting, json, kind, words] : kParts) {
    SCOPED_TRACE(testing::Message() << family << ": " << setting << " is " << (json == nullptr ? "left out" : json));
    ModelCopy copy(family);
    json == nullptr ? copy.remove_setting(setting) : copy.set(setting, json);
    std::erase_if(copy.tensors, [kind = std::string(kind)](const NamedFloats& tensor) {
      return kind_of(tensor.name) == kind || tensor.name.find("wi_0") != std::string::npos;
    });
    const heed_status status = try_model_folder(copy.write());
    EXPECT_TRUE(is_refused(status, {HEED_ERROR_NOT_FOUND, {"has no tensor", words}}));
  }
}

// What the class lacks by a setting is not read from the file.
TEST(ModelParts, ThatTheSettingsLackAreRefused) {
  ModelCopy copy("../model_settings/llama-biases");
  EXPECT_EQ(try_model_folder(copy.write()), HEED_OK) << heed_last_error();
  copy.remove_setting("mlp_bias");
  EXPECT_TRUE(is_refused(try_model_folder(copy.write()), invalid({"model.layers.0.mlp.up_proj.bias"})));
  ModelCopy opt("opt");
  opt.set("enable_bias", "false");
  EXPECT_TRUE(is_refused(try_model_folder(opt.write()), invalid({"self_attn.q_proj.bias"})));
  std::erase_if(opt.tensors, [](const NamedFloats& tensor) {
    return tensor.name.find("proj.bias") != std::string::npos || tensor.name.find(".fc") != std::string::npos;
  });
  ModelCopy whole("opt");
  for (const NamedFloats& tensor : whole.tensors) {
    if (tensor.name.find(".fc") != std::string::npos && tensor.name.ends_with(".weight")) opt.tensors.push_back(tensor);
  }
  EXPECT_EQ(try_model_folder(opt.write()), HEED_OK) << heed_last_error();
}

TEST(ModelParts, OfNormsWithoutWeightsAreRefused) {
  ModelCopy copy("opt");
  copy.set("layer_norm_elementwise_affine", "false");
  EXPECT_TRUE(is_refused(try_model_folder(copy.write()),
                         {HEED_ERROR_UNSUPPORTED, {"\"layer_norm_elementwise_affine\" false", "expected true"}}));
}

// The bias of logits of BART's kin is zeros in most files, and some lack it.
TEST(ModelParts, ThatAreOptionalMayBeAbsent) {
  for (const char* const family : {"bart", "marian", "mbart"}) {
    SCOPED_TRACE(family);
    ModelCopy copy(family);
    NamedFloats& bias = copy.tensor("final_logits_bias");
    std::ranges::fill(bias.elements, 0.0f);
    const std::vector<float> expected = ModelCall(copy.write()).run_for_floats();
    copy.remove_tensor("final_logits_bias");
    EXPECT_EQ(ModelCall(copy.write()).run_for_floats(), expected);
  }
}

}  // namespace
}  // namespace heed::capi_test
