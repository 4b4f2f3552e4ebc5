// SPDX-License-Identifier: Apache-2.0
// Folders of models whose file has one table under another name, tables that are computed, and what a caller accepts in them.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "capi/support/model_call.h"
#include "capi/support/model_copy.h"
#include "capi/support/refusal.h"

namespace heed::capi_test {
namespace {

struct TiedTable {
  const char* family;
  const char* table;
  std::vector<std::string> others;  // its other names
};

const std::vector<TiedTable>& tied_tables() {
  static const std::vector<TiedTable> kTables = {
      {"gpt2", "transformer.wte.weight", {"lm_head.weight"}},
      {"opt", "model.decoder.embed_tokens.weight", {"lm_head.weight"}},
      {"gemma", "model.embed_tokens.weight", {"lm_head.weight"}},
      {"gemma2", "model.embed_tokens.weight", {"lm_head.weight"}},
      {"gemma3", "model.embed_tokens.weight", {"lm_head.weight"}},
      {"bart",
       "model.shared.weight",
       {"lm_head.weight", "model.encoder.embed_tokens.weight", "model.decoder.embed_tokens.weight"}},
      {"mbart",
       "model.shared.weight",
       {"lm_head.weight", "model.encoder.embed_tokens.weight", "model.decoder.embed_tokens.weight"}},
      {"marian",
       "model.shared.weight",
       {"lm_head.weight", "model.encoder.embed_tokens.weight", "model.decoder.embed_tokens.weight"}},
      {"t5", "shared.weight", {"lm_head.weight", "encoder.embed_tokens.weight", "decoder.embed_tokens.weight"}},
      {"bert", "embeddings.word_embeddings.weight", {"cls.predictions.decoder.weight"}},
      {"roberta", "embeddings.word_embeddings.weight", {"lm_head.decoder.weight"}},
      {"distilbert", "embeddings.word_embeddings.weight", {"vocab_projector.weight"}},
      {"electra", "embeddings.word_embeddings.weight", {"generator_lm_head.weight"}},
      {"albert", "embeddings.word_embeddings.weight", {"predictions.decoder.weight"}},
      {"modernbert", "model.embeddings.tok_embeddings.weight", {"decoder.weight"}},
  };
  return kTables;
}

// The name of the table in the golden model, whose modules may lie in no other one.
NamedFloats& table_of(ModelCopy& copy, const TiedTable& tied) {
  for (const std::string& prefix : {std::string(), std::string(tied.family) + "."}) {
    for (NamedFloats& tensor : copy.tensors) {
      if (tensor.name == prefix + tied.table) return tensor;
    }
  }
  const std::string table = tied.table;
  return copy.tensor(table.substr(table.find('.') + 1));
}

TEST(ModelTables, MayHaveAnyOfTheirNames) {
  for (const TiedTable& tied : tied_tables()) {
    ModelCopy copy(tied.family);
    const std::vector<uint8_t> expected = ModelCall(copy.write()).run();
    const NamedFloats table = table_of(copy, tied);
    const std::vector<NamedFloats> all = copy.tensors;
    // Every subset but the empty one of all names.
    std::vector<std::string> names = tied.others;
    names.push_back(table.name);
    for (size_t subset = 1; subset < size_t{1} << names.size(); ++subset) {
      copy.tensors = all;
      copy.remove_tensor(table.name);
      std::string text = tied.family;
      for (size_t i = 0; i < names.size(); ++i) {
        if ((subset >> i & 1) == 0) continue;
        copy.tensors.push_back({names[i], table.dims, table.elements});
        text += " " + names[i];
      }
      SCOPED_TRACE(text);
      EXPECT_EQ(ModelCall(copy.write()).run(), expected);
    }
  }
}

TEST(ModelTables, OfModelsThatAreNotTiedAreNoHeads) {
  ModelCopy copy("llama");
  copy.remove_tensor("model.embed_tokens.weight");
  EXPECT_TRUE(is_refused(try_model_folder(copy.write()), {HEED_ERROR_NOT_FOUND, {"model.embed_tokens"}}));
}

// safetensors' save_model writes one of two tensors that share memory, and notes the name of the other in __metadata__.
TEST(ModelTables, MayBeNotedInTheMetadata) {
  ModelCopy copy("llama");
  const NamedFloats table = copy.tensor("model.embed_tokens.weight");
  copy.tensor("lm_head.weight").elements = table.elements;
  const std::vector<uint8_t> expected = ModelCall(copy.write()).run();
  copy.remove_tensor("model.embed_tokens.weight");
  EXPECT_TRUE(is_refused(try_model_folder(copy.write()), {HEED_ERROR_NOT_FOUND, {"model.embed_tokens"}}));
  copy.metadata = R"({"format":"pt","model.embed_tokens.weight":"lm_head.weight"})";
  EXPECT_EQ(ModelCall(copy.write()).run(), expected);
}

// A Marian with two vocabularies has a table for each side. With two tables of the same numbers it computes what one gives.
TEST(ModelTables, OfMarianMayBeOneForEachSide) {
  ModelCopy copy("marian");
  const std::vector<uint8_t> expected = ModelCall(copy.write()).run();
  const NamedFloats table = copy.tensor("model.shared.weight");
  copy.remove_tensor(table.name);
  copy.set("share_encoder_decoder_embeddings", "false");
  EXPECT_TRUE(is_refused(try_model_folder(copy.write()), {HEED_ERROR_NOT_FOUND, {"embed_tokens"}}));
  copy.tensors.push_back({"model.decoder.embed_tokens.weight", table.dims, table.elements});
  EXPECT_TRUE(is_refused(try_model_folder(copy.write()), {HEED_ERROR_NOT_FOUND, {"model.encoder.embed_tokens"}}));
  copy.tensors.push_back({"model.encoder.embed_tokens.weight", table.dims, table.elements});
  EXPECT_EQ(ModelCall(copy.write()).run(), expected);
  // The head is tied to the decoder's table.
  copy.tensors.push_back({"lm_head.weight", table.dims, table.elements});
  EXPECT_EQ(ModelCall(copy.write()).run(), expected);
  copy.remove_tensor("model.decoder.embed_tokens.weight");
  EXPECT_EQ(ModelCall(copy.write()).run(), expected);
  copy.set("tie_word_embeddings", "false");
  copy.tensors.push_back({"model.decoder.embed_tokens.weight", table.dims, table.elements});
  EXPECT_TRUE(is_refused(try_model_folder(copy.write()), {HEED_ERROR_UNSUPPORTED, {"a head tied to neither"}}));
}

TEST(ModelTables, OfMarianForEachSideAreRefusedWithAnotherHead) {
  ModelCopy copy("marian");
  const NamedFloats table = copy.tensor("model.shared.weight");
  copy.remove_tensor(table.name);
  copy.set("share_encoder_decoder_embeddings", "false");
  for (const char* const name :
       {"model.encoder.embed_tokens.weight", "model.decoder.embed_tokens.weight", "lm_head.weight"})
    copy.tensors.push_back({name, table.dims, table.elements});
  copy.tensors.back().elements[0] += 1;
  EXPECT_TRUE(is_refused(try_model_folder(copy.write()), {HEED_ERROR_UNSUPPORTED, {"lm_head.weight"}}));
}

// As the published files of opus-mt have them: transformers reads them then.
TEST(ModelTables, OfMarianMayHaveTheSinusoids) {
  ModelCopy copy("marian");
  const std::vector<float> expected = ModelCall(copy.write()).run_for_floats();
  const int64_t size = copy.tensor("model.shared.weight").dims[1];
  for (const char* const side : {"encoder", "decoder"}) {
    constexpr int64_t kNumRows = 8;
    NamedFloats table = {std::string("model.") + side + ".embed_positions.weight", {kNumRows, size}, {}};
    for (int64_t row = 0; row < kNumRows; ++row) {
      for (int64_t i = 0; i < size; ++i) {
        const int64_t pair = i % (size / 2);
        const double angle =
            static_cast<double>(row) / std::pow(10000.0, 2.0 * static_cast<double>(pair) / static_cast<double>(size));
        table.elements.push_back(static_cast<float>(i < size / 2 ? std::sin(angle) : std::cos(angle)));
      }
    }
    copy.tensors.push_back(table);
  }
  const std::vector<float> actual = ModelCall(copy.write()).run_for_floats();
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t i = 0; i < actual.size(); ++i) ASSERT_NEAR(actual[i], expected[i], 1e-5) << i;
  copy.tensors.back().elements[0] += 1;
  EXPECT_NE(ModelCall(copy.write()).run_for_floats(), actual);
}

// ---- accept ---------------------------------------------------------------------------------------------------------

heed_status make_with(const std::string& folder, const char* accept) {
  const Context context = make_context();
  heed_load_options load = HEED_LOAD_OPTIONS_INIT;
  load.accept = accept;
  heed_model_options options = HEED_MODEL_OPTIONS_INIT;
  options.load = &load;
  heed_layer* layer = nullptr;
  forget_last_error();
  const heed_status status = heed_model_create(context.get(), folder.c_str(), &options, &layer);
  heed_layer_destroy(layer);
  return status;
}

// A model of Llama with one tensor more.
std::string with_tensor(ModelCopy& copy, const std::string& name) {
  copy.tensors.push_back({name, {1}, {1}});
  return copy.write();
}

TEST(ModelAccept, TakesTensorsByTheirNamesOrTheEndsOfThem) {
  for (const char* const name :
       {"model.layers.0.self_attn.k_proj.k_scale", "model.layers.0.self_attn.rotary_emb.cos_cached",
        "model.layers.2.input_layernorm.weight"}) {
    SCOPED_TRACE(name);
    ModelCopy copy("llama");
    const std::string folder = with_tensor(copy, name);
    EXPECT_NE(make_with(folder, nullptr), HEED_OK);
    EXPECT_NE(std::string(heed_last_error()).find("accept"), std::string::npos) << heed_last_error();
    EXPECT_EQ(make_with(folder, name), HEED_OK) << heed_last_error();
  }
  ModelCopy copy("llama");
  const std::string folder = with_tensor(copy, "model.layers.0.self_attn.k_proj.k_scale");
  EXPECT_EQ(make_with(folder, "k_proj.k_scale"), HEED_OK) << heed_last_error();
  EXPECT_TRUE(is_refused(make_with(folder, "k_proj.v_scale"), invalid({"accept has \"k_proj.v_scale\""})));
}

// What the sentence offers, without more.
std::string offered() {
  const std::string sentence = heed_last_error();
  const std::string before = "; with accept \"";
  const size_t begin = sentence.find(before);
  if (begin == std::string::npos) return "";
  const size_t name = begin + before.size();
  return sentence.substr(name, sentence.find('"', name) - name);
}

TEST(ModelAccept, TakesWhatTheSentenceOffers) {
  for (const char* const name : {"self_attn.k_scale", "self_attn.bias", "self_attn.foo.weight", "self_attn.weight"}) {
    for (const char* const prefix : {"", "module."}) {
      SCOPED_TRACE(std::string(prefix) + name);
      ModelCopy copy("llama");
      const std::vector<uint8_t> expected = ModelCall(copy.write()).run();
      copy.tensors.push_back({std::string("model.layers.1.") + name, {1}, {1}});
      for (NamedFloats& tensor : copy.tensors) tensor.name = prefix + tensor.name;
      const std::string folder = copy.write();
      EXPECT_TRUE(is_refused(make_with(folder, nullptr),
                             {HEED_ERROR_UNSUPPORTED, {"\"" + std::string(prefix) + "model.layers.1." + name + "\""}}));
      const std::string accept = offered();
      ASSERT_NE(accept, "") << heed_last_error();
      EXPECT_EQ(make_with(folder, accept.c_str()), HEED_OK) << accept << ": " << heed_last_error();
    }
  }
}

// Below a prefix a tensor has two names: that in the file, and that of the model.
TEST(ModelAccept, TakesBothNamesOfATensorBelowAPrefix) {
  for (const char* const name : {"model.layers.0.self_attn.k_scale", "model.layers.2.self_attn.q_proj.weight"}) {
    ModelCopy copy("llama");
    copy.tensors.push_back({name, {1}, {1}});
    for (NamedFloats& tensor : copy.tensors) tensor.name = "module." + tensor.name;
    const std::string folder = copy.write();
    const heed_status status = make_with(folder, nullptr);
    EXPECT_TRUE(is_refused(status, {status, {"\"module." + std::string(name) + "\""}}));
    for (const std::string& accept :
         {std::string(name), "module." + std::string(name), " module." + std::string(name) + " ,"})
      EXPECT_EQ(make_with(folder, accept.c_str()), HEED_OK) << accept << ": " << heed_last_error();
    EXPECT_NE(make_with(folder, "other.model"), HEED_OK);
  }
}

// "weight" alone would be most tensors.
TEST(ModelAccept, TakesNoEndThatMostTensorsHave) {
  ModelCopy copy("llama");
  const std::string folder = with_tensor(copy, "model.layers.0.self_attn.k_proj.k_scale");
  EXPECT_EQ(make_with(folder, "k_scale"), HEED_OK) << heed_last_error();
  EXPECT_NE(make_with(folder, "scale"), HEED_OK);
  ModelCopy of_weight("llama");
  const std::string folder_of_weight = with_tensor(of_weight, "model.layers.0.self_attn.other.weight");
  EXPECT_NE(make_with(folder_of_weight, "weight"), HEED_OK);
  EXPECT_EQ(make_with(folder_of_weight, "other.weight"), HEED_OK) << heed_last_error();
}

TEST(ModelAccept, TakesMembersOfRotarySettings) {
  ModelCopy copy("llama");
  copy.set("rope_parameters", R"({"rope_type": "default", "rope_theta": 10000.0})");
  const std::vector<uint8_t> expected = ModelCall(copy.write()).run();
  copy.set("rope_parameters", R"({"rope_type": "default", "rope_theta": 10000.0, "foo": 3})");
  const std::string folder = copy.write();
  EXPECT_TRUE(is_refused(make_with(folder, nullptr),
                         {HEED_ERROR_UNSUPPORTED, {"\"rope_parameters.foo\"", "with accept \"rope_parameters.foo\""}}));
  EXPECT_NE(make_with(folder, "foo"), HEED_OK);
  EXPECT_EQ(make_with(folder, "rope_parameters.foo"), HEED_OK) << heed_last_error();
  heed_load_options load = HEED_LOAD_OPTIONS_INIT;
  load.accept = "rope_parameters.foo";
  heed_model_options options = HEED_MODEL_OPTIONS_INIT;
  options.load = &load;
  EXPECT_EQ(ModelCall(folder, nullptr, &options).run(), expected);
}

TEST(ModelAccept, TakesSettingsThatHeedDoesNotKnow) {
  ModelCopy copy("llama");
  copy.set("an_unknown_setting", "2");
  const std::string folder = copy.write();
  EXPECT_TRUE(is_refused(make_with(folder, nullptr),
                         {HEED_ERROR_UNSUPPORTED, {"\"an_unknown_setting\"", "with accept \"an_unknown_setting\""}}));
  EXPECT_EQ(make_with(folder, "an_unknown_setting"), HEED_OK) << heed_last_error();
  EXPECT_TRUE(is_refused(make_with(folder, "another"), {HEED_ERROR_UNSUPPORTED, {"\"an_unknown_setting\""}}));
}

TEST(ModelAccept, IsNotOfferedByAFunctionWithoutIt) {
  ModelCopy copy("llama");
  for (const char* const name : {"model.layers.0.self_attn.k_proj.k_scale", "model.layers.2.input_layernorm.weight"}) {
    ModelCopy with_more("llama");
    EXPECT_NE(try_model_folder(with_tensor(with_more, name)), HEED_OK);
    EXPECT_EQ(std::string(heed_last_error()).find("accept"), std::string::npos) << heed_last_error();
  }
  copy.set("an_unknown_setting", "2");
  EXPECT_NE(try_model_folder(copy.write()), HEED_OK);
  EXPECT_EQ(std::string(heed_last_error()).find("accept"), std::string::npos) << heed_last_error();
}

}  // namespace
}  // namespace heed::capi_test
