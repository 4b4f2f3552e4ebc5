// SPDX-License-Identifier: Apache-2.0
// Folders of whole models: in one file or several, incomplete, with too much, and what the logger is told of them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "capi/support/model_call.h"
#include "capi/support/model_copy.h"
#include "capi/support/refusal.h"

namespace heed::capi_test {
namespace {

TEST(ModelFolders, InSeveralFilesGiveTheSameBits) {
  for (const std::string& family : every_model()) {
    SCOPED_TRACE(family);
    const std::vector<uint8_t> expected = ModelCall(golden_model(family)).run();
    const ModelCopy copy(family);
    for (const size_t num_files : {1, 2, 3, 7})
      EXPECT_EQ(ModelCall(copy.write(num_files)).run(), expected) << num_files;
  }
}

// Some libraries leave out the prefix of the model without a head, and others write it.
TEST(ModelFolders, OfModelsWithoutAHeadGiveHiddenStates) {
  ModelCopy copy("llama");
  copy.set("architectures", R"(["LlamaModel"])");
  copy.remove_tensor("lm_head.weight");
  ModelCall with_prefix(copy.write());
  const std::vector<uint8_t> expected = with_prefix.run();
  EXPECT_EQ(dims_of(with_prefix.outputs.output), (Dims{2, 5, 32}));
  constexpr std::string_view kPrefix = "model.";
  for (NamedFloats& tensor : copy.tensors) {
    ASSERT_TRUE(tensor.name.starts_with(kPrefix)) << tensor.name;
    tensor.name = tensor.name.substr(kPrefix.size());
  }
  EXPECT_EQ(ModelCall(copy.write()).run(), expected);
}

struct WrongFolder {
  const char* what;
  const char* family;
  std::function<void(ModelCopy& copy)> change;
  Refusal expected;
};

TEST(ModelFolders, WithWrongTensorsAreRefused) {
  const std::vector<WrongFolder> table = {
      {"a missing projection in the middle",
       "bert",
       [](ModelCopy& copy) { copy.remove_tensor("encoder.layer.1.attention.self.key.weight"); },
       {HEED_ERROR_NOT_FOUND, {"encoder.layer.1.attention", "model.safetensors"}}},
      {"a missing norm in the middle",
       "llama",
       [](ModelCopy& copy) { copy.remove_tensor("model.layers.1.input_layernorm.weight"); },
       {HEED_ERROR_NOT_FOUND, {"model.layers.1.input_layernorm"}}},
      {"a missing bias in a later layer",
       "bert",
       [](ModelCopy& copy) { copy.remove_tensor("encoder.layer.1.output.dense.bias"); },
       {HEED_ERROR_NOT_FOUND, {"encoder.layer.1", "bias"}}},
      {"no token types",
       "bert",
       [](ModelCopy& copy) { copy.remove_tensor("embeddings.token_type_embeddings.weight"); },
       {HEED_ERROR_NOT_FOUND, {"token_type_embeddings"}}},
      {"no table of positions",
       "opt",
       [](ModelCopy& copy) { copy.remove_tensor("model.decoder.embed_positions.weight"); },
       {HEED_ERROR_NOT_FOUND, {"embed_positions"}}},
      {"no embedding",
       "llama",
       [](ModelCopy& copy) { copy.remove_tensor("model.embed_tokens.weight"); },
       {HEED_ERROR_NOT_FOUND, {"embed_tokens"}}},
      {"no final norm",
       "llama",
       [](ModelCopy& copy) { copy.remove_tensor("model.norm.weight"); },
       {HEED_ERROR_NOT_FOUND, {"norm"}}},
      {"a missing bias of an attention in the middle",
       "bert",
       [](ModelCopy& copy) { copy.remove_tensor("encoder.layer.1.attention.self.query.bias"); },
       {HEED_ERROR_NOT_FOUND, {"encoder.layer.1.attention"}}},
      {"one tensor too many in an attention",
       "bert",
       [](ModelCopy& copy) {
         copy.tensors.push_back({"encoder.layer.1.attention.self.extra.weight", {1}, {0}});
       },
       {HEED_ERROR_UNSUPPORTED, {"encoder.layer.1.attention.self.extra.weight"}}},
      {"one tensor too many in a layer", "bert",
       [](ModelCopy& copy) {
         copy.tensors.push_back({"encoder.layer.1.adapter.weight", {1}, {0}});
       },
       invalid({"encoder.layer.1.adapter.weight", "which the encoder_layer layer does not read"})},
      {"a layer too many", "bert",
       [](ModelCopy& copy) {
         copy.tensors.push_back({"encoder.layer.2.output.dense.bias", {1}, {0}});
       },
       invalid({"encoder.layer.2.output.dense.bias"})},
      {"fewer layers in the settings", "llama", [](ModelCopy& copy) { copy.set("num_hidden_layers", "1"); },
       invalid({"model.layers.1."})},
      {"more layers in the settings",
       "llama",
       [](ModelCopy& copy) { copy.set("num_hidden_layers", "3"); },
       {HEED_ERROR_NOT_FOUND, {"layers.2"}}},
      {"a missing head",
       "llama",
       [](ModelCopy& copy) { copy.remove_tensor("lm_head.weight"); },
       {HEED_ERROR_NOT_FOUND, {"lm_head", "llama"}}},
      {"a head of another size",
       "llama",
       [](ModelCopy& copy) {
         copy.tensor("lm_head.weight").dims = {32, 40};
       },
       {HEED_ERROR_UNSUPPORTED, {"lm_head.weight", "rows of 40", "rows of 32"}}},
      {"a table of another size", "bert",
       [](ModelCopy& copy) {
         copy.tensor("embeddings.token_type_embeddings.weight").dims = {1, 64};
       },
       invalid({"embeddings.token_type_embeddings.weight", "(1, 64)"})},
      {"heads that do not divide the rows", "bert", [](ModelCopy& copy) { copy.set("num_attention_heads", "5"); },
       invalid({"attention.self.query.weight", "(32, 32)"})},
  };
  for (const WrongFolder& row : table) {
    SCOPED_TRACE(row.what);
    ModelCopy copy(row.family);
    row.change(copy);
    for (const size_t num_files : {1, 2})
      EXPECT_TRUE(is_refused(try_model_folder(copy.write(num_files)), row.expected));
  }
}

TEST(ModelFolders, WithoutFilesAreRefused) {
  const ModelCopy copy("bert");
  const std::string folder = copy.write(2);
  EXPECT_EQ(try_model_folder(folder), HEED_OK) << heed_last_error();
  std::filesystem::remove(copy.path(part_name(2, 2)));
  EXPECT_TRUE(is_refused(try_model_folder(folder), {HEED_ERROR_IO, {part_name(2, 2), "get all files of the model"}}));
  std::filesystem::remove(copy.path(kIndexName));
  EXPECT_TRUE(is_refused(try_model_folder(folder), {HEED_ERROR_IO, {"neither model.safetensors nor", kIndexName}}));
  std::filesystem::remove(copy.path("config.json"));
  EXPECT_TRUE(is_refused(try_model_folder(folder), {HEED_ERROR_IO, {"has no config.json"}}));
  EXPECT_TRUE(is_refused(try_model_folder(copy.path("nowhere")), {HEED_ERROR_IO, {"nowhere", "has no config.json"}}));
  EXPECT_TRUE(is_refused(try_model_folder(""), {HEED_ERROR_IO, {"has no config.json"}}));
}

TEST(ModelFolders, WithBrokenFilesAreRefused) {
  ModelCopy copy("bert");
  const std::string config = copy.config;
  for (const char* broken : {"", "{", "[]", "7", "{\"model_type\": \"bert\"", "{\"a\":1}{"}) {
    copy.config = broken;
    EXPECT_TRUE(is_refused(try_model_folder(copy.write()), {HEED_ERROR_CORRUPT_FILE, {"config.json"}})) << broken;
  }
  copy.config = config;
  const std::string folder = copy.write();
  const std::string path = copy.path("model.safetensors");
  const auto num_bytes = std::filesystem::file_size(path);
  for (const uintmax_t cut : {uintmax_t{0}, uintmax_t{7}, uintmax_t{100}, num_bytes - 1}) {
    copy.write();
    std::filesystem::resize_file(path, cut);
    EXPECT_TRUE(is_refused(try_model_folder(folder), {HEED_ERROR_CORRUPT_FILE, {"model.safetensors"}})) << cut;
  }
}

// ---- the logger -----------------------------------------------------------------------------------------------------

struct Messages {
  std::vector<std::string> warnings;
  std::vector<std::string> errors;

  static void write(void* user, int32_t level, const char* text) {
    auto& self = *static_cast<Messages*>(user);
    if (level == HEED_LOG_WARNING) self.warnings.emplace_back(text);
    if (level == HEED_LOG_ERROR) self.errors.emplace_back(text);
  }
};

Messages messages_of(const std::string& folder) {
  Messages messages;
  const heed_logger logger = {sizeof(heed_logger), Messages::write, &messages};
  heed_context_options options = HEED_CONTEXT_OPTIONS_INIT;
  options.logger = &logger;
  const Context context = make_context(&options);
  heed_layer* layer = nullptr;
  heed_layer_create_from_folder(context.get(), folder.c_str(), &layer);
  heed_layer_destroy(layer);
  return messages;
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST(ModelFolders, WarnOfTensorsThatAreNotRead) {
  ModelCopy copy("bert");
  Messages messages = messages_of(copy.write());
  ASSERT_EQ(messages.warnings.size(), 1u);
  EXPECT_TRUE(contains(messages.warnings[0], "heed_layer_create_from_folder: ")) << messages.warnings[0];
  EXPECT_TRUE(contains(messages.warnings[0], "has 2 tensors")) << messages.warnings[0];
  EXPECT_TRUE(contains(messages.warnings[0], "such as \"pooler.dense.bias\"")) << messages.warnings[0];
  copy.remove_tensor("pooler.dense.bias");
  messages = messages_of(copy.write());
  ASSERT_EQ(messages.warnings.size(), 1u);
  EXPECT_TRUE(contains(messages.warnings[0], "\"pooler.dense.weight\"")) << messages.warnings[0];
  copy.remove_tensor("pooler.dense.weight");
  EXPECT_EQ(messages_of(copy.write()).warnings, std::vector<std::string>());
  // A table of numbers that the model knows, as files of earlier versions have.
  copy.tensors.push_back({"embeddings.position_ids", {1, 2}, {0, 1}});
  EXPECT_EQ(messages_of(copy.write()).warnings, std::vector<std::string>());
}

// A layer of the model reads the same file without config.json.
TEST(ModelFolders, WithoutSettingsGiveTheirLayersAWarning) {
  ModelCopy copy("bert");
  const std::string folder = copy.write();
  Messages messages;
  const heed_logger logger = {sizeof(heed_logger), Messages::write, &messages};
  heed_context_options options = HEED_CONTEXT_OPTIONS_INIT;
  options.logger = &logger;
  const Context context = make_context(&options);
  heed_layer* made = nullptr;
  check(heed_layer_create_from_folder(context.get(), folder.c_str(), &made));
  const Layer model(made);
  check(heed_layer_child(model.get(), "layers.0", &made));
  const Layer layer(made);
  const std::string path = folder + "/model.safetensors";
  messages.warnings.clear();
  check(heed_layer_load(layer.get(), path.c_str(), "encoder.layer.0"));
  EXPECT_EQ(messages.warnings, std::vector<std::string>());
  std::filesystem::remove(folder + "/config.json");
  check(heed_layer_load(layer.get(), path.c_str(), "encoder.layer.0"));
  EXPECT_TRUE(std::any_of(messages.warnings.begin(), messages.warnings.end(), [](const std::string& warning) {
    return contains(warning, "has no config.json, which says the epsilon");
  }));
}

TEST(ModelFolders, TellWhyTheyAreRefused) {
  ModelCopy copy("llama");
  copy.remove_tensor("lm_head.weight");
  const Messages messages = messages_of(copy.write());
  ASSERT_EQ(messages.errors.size(), 1u);
  EXPECT_EQ(messages.errors[0], std::string("heed_layer_create_from_folder: ") + heed_last_error());
}

}  // namespace
}  // namespace heed::capi_test
