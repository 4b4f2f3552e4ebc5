// SPDX-License-Identifier: Apache-2.0
// Folders of whole models: in one file or several, incomplete, with too much, and what the logger is told of them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <tuple>
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
  ModelCall call(copy.write());
  call.run();
  EXPECT_EQ(dims_of(call.outputs.output), (Dims{2, 5, 32}));
}

// What heed_layer_save writes: the options and parameters.
std::vector<uint8_t> saved_model(const std::string& folder) {
  const Context context = make_context();
  const Layer model = make_model(context.get(), folder);
  size_t num_bytes = 0;
  check(heed_layer_save_memory(model.get(), nullptr, 0, &num_bytes));
  std::vector<uint8_t> file(num_bytes);
  check(heed_layer_save_memory(model.get(), file.data(), file.size(), nullptr));
  return file;
}

// The modules around a model of the family in the file of one with a head, from the outermost.
std::vector<std::string> modules_around(const std::string& family) {
  if (family == "opt") return {"model", "decoder"};
  if (family == "t5") return {};
  if (family == "gpt2") return {"transformer"};
  if (family == "clip-text") return {"text_model"};
  if (std::ranges::find(kEncoderModels, family) != std::end(kEncoderModels) && family != "modernbert") return {family};
  return {family == "vit" ? "vit" : "model"};
}

// The same models without a head, by the names of every class of transformers that has them: GPT2Model without "transformer.",
// OPTModel with "decoder." in place of "model.decoder.".
TEST(ModelFolders, OfModelsWithoutAHeadMayLackTheModulesAroundThem) {
  for (const std::string& family : every_model_of_any_input()) {
    SCOPED_TRACE(family);
    ModelCopy copy(family);
    copy.set("architectures", R"(["AModel"])");
    std::erase_if(copy.tensors, [](const NamedFloats& tensor) {
      return tensor.name.starts_with("lm_head.") || tensor.name.starts_with("proj_out.") ||
             tensor.name == "final_logits_bias" || tensor.name.starts_with("cls.") ||
             tensor.name.starts_with("classifier.");
    });
    const std::vector<std::string> modules = modules_around(family);
    std::string prefix;
    for (const std::string& module : modules) prefix += module + ".";
    for (NamedFloats& tensor : copy.tensors) {
      if (tensor.name.starts_with(prefix)) tensor.name = tensor.name.substr(prefix.size());
    }
    const std::vector<NamedFloats> bare = copy.tensors;
    const std::vector<uint8_t> expected = saved_model(copy.write());
    prefix.clear();
    for (const std::string& module : std::vector<std::string>(modules.rbegin(), modules.rend())) {
      prefix = module + "." + prefix;
      SCOPED_TRACE(prefix);
      copy.tensors = bare;
      for (NamedFloats& tensor : copy.tensors) tensor.name = prefix + tensor.name;
      EXPECT_EQ(saved_model(copy.write()), expected);
    }
  }
}

// A ViT's table of positions is for one grid of patches: another one with as many patches is refused.
TEST(ModelFolders, OfViTReadImagesOfOneSize) {
  ModelCopy copy("vit");
  const auto make_outputs = [&](const Dims& dims) {
    const Context context = make_context();
    const Layer model = make_model(context.get(), copy.write());
    const Tensor images = make_tensor(context.get(), dims);
    heed_layer_inputs inputs = HEED_LAYER_INPUTS_INIT;
    inputs.queries = images.get();
    heed_layer_outputs outputs = HEED_LAYER_OUTPUTS_INIT;
    forget_last_error();
    const heed_status status = heed_layer_create_outputs(model.get(), &inputs, HEED_WANT_OUTPUT, &outputs);
    heed_tensor_destroy(outputs.output);
    return status;
  };
  const Refusal square =
      invalid({"inputs->queries has dims (1, 3, 4, 36), expected (B, 3, 12, 12): the layer reads images of one size"});
  EXPECT_EQ(make_outputs({1, 3, 12, 12}), HEED_OK) << heed_last_error();
  EXPECT_TRUE(is_refused(make_outputs({1, 3, 4, 36}), square));
  copy.set("image_size", "[4, 36]");
  EXPECT_EQ(make_outputs({1, 3, 4, 36}), HEED_OK) << heed_last_error();
  EXPECT_TRUE(is_refused(make_outputs({1, 3, 12, 12}), invalid({"expected (B, 3, 4, 36)"})));
  copy.set("image_size", "8");
  EXPECT_TRUE(is_refused(try_model_folder(copy.write()),
                         invalid({"images of 8 x 8 by \"image_size\"", "the 9 patches of 4 x 4"})));
  copy.set("image_size", "14");
  EXPECT_TRUE(is_refused(try_model_folder(copy.write()), invalid({"images of 14 x 14 by \"image_size\""})));
  // The default of transformers.
  copy.remove_setting("image_size");
  EXPECT_TRUE(
      is_refused(try_model_folder(copy.write()), invalid({"images of 224 x 224, since it lacks \"image_size\""})));
  for (const char* wrong : {"{\"height\": 4, \"width\": 36}", "\"12\"", "0.5", "null", "[]"}) {
    copy.set("image_size", wrong);
    EXPECT_TRUE(is_refused(try_model_folder(copy.write()), invalid({"an \"image_size\" that is no size"}))) << wrong;
  }
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
      {"only the encoder of a Transformer",
       "t5",
       [](ModelCopy& copy) {
         std::erase_if(copy.tensors, [](const NamedFloats& tensor) { return tensor.name.starts_with("decoder."); });
       },
       {HEED_ERROR_NOT_FOUND, {"decoder.block.0", "model_type \"t5\""}}},
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
  EXPECT_TRUE(is_refused(try_model_folder(""), {HEED_ERROR_IO, {"\"\" is not there"}}));
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST(ModelFolders, ThatAreNoneAreCalledWhatTheyAre) {
  const ModelCopy copy("bert");
  const std::string folder = copy.write();
  for (const char* const file : {"model.safetensors", "config.json"}) {
    SCOPED_TRACE(file);
    EXPECT_TRUE(is_refused(try_model_folder(copy.path(file)),
                           {HEED_ERROR_IO, {file, "is a file, expected the folder that it and config.json are in"}}));
  }
  for (const char* const name : {"bert-base-uncased", "sentence-transformers/all-MiniLM-L6-v2"}) {
    SCOPED_TRACE(name);
    EXPECT_TRUE(
        is_refused(try_model_folder(name), {HEED_ERROR_IO, {name, "is not there", "name of a model on a hub"}}));
  }
  for (const char* const path : {"./a", "../a", "/a/b", "/a", "a/b/c", "a/", "~/a", "a b", "C:\\a", ""}) {
    SCOPED_TRACE(path);
    EXPECT_TRUE(is_refused(try_model_folder(path), {HEED_ERROR_IO, {"is not there"}}));
    EXPECT_FALSE(contains(heed_last_error(), "hub")) << heed_last_error();
  }
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
  std::vector<std::string> infos;

  static void write(void* user, int32_t level, const char* text) {
    auto& self = *static_cast<Messages*>(user);
    if (level == HEED_LOG_WARNING) self.warnings.emplace_back(text);
    if (level == HEED_LOG_ERROR) self.errors.emplace_back(text);
    if (level == HEED_LOG_INFO) self.infos.emplace_back(text);
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

// Both sides of a BART or T5 have the table, and some programs write it for each.
TEST(ModelFolders, MayHaveCopiesOfTheEmbeddingThatBothSidesShare) {
  for (const auto& [family, table, prefix] :
       {std::tuple{"bart", "model.shared.weight", "model."}, {"t5", "shared.weight", ""}}) {
    SCOPED_TRACE(family);
    ModelCopy copy(family);
    const std::vector<uint8_t> expected = ModelCall(copy.write()).run();
    for (const char* const side : {"encoder", "decoder"}) {
      NamedFloats another = copy.tensor(table);
      another.name = std::string(prefix) + side + ".embed_tokens.weight";
      copy.tensors.push_back(another);
    }
    EXPECT_EQ(ModelCall(copy.write()).run(), expected);
    EXPECT_EQ(messages_of(copy.write()).warnings, std::vector<std::string>());
    NamedFloats& last = copy.tensors.back();
    last.elements.back() += 1;
    EXPECT_TRUE(is_refused(try_model_folder(copy.write()), {HEED_ERROR_INVALID_ARGUMENT, {"\"" + last.name + "\""}}));
    last = copy.tensor(table);
    last.name = std::string(prefix) + "decoder.embed_tokens.weight";
    last.dims = {last.dims[1], last.dims[0]};
    EXPECT_TRUE(is_refused(try_model_folder(copy.write()), {HEED_ERROR_INVALID_ARGUMENT, {"\"" + last.name + "\""}}));
  }
}

// Some programs write it under the decoder's name alone.
TEST(ModelFolders, MayHaveTheEmbeddingOfBothSidesInTheDecoder) {
  for (const auto& [family, table, prefix] :
       {std::tuple{"bart", "model.shared.weight", "model."}, {"t5", "shared.weight", ""}}) {
    SCOPED_TRACE(family);
    ModelCopy copy(family);
    const std::vector<uint8_t> expected = ModelCall(copy.write()).run();
    copy.tensor(table).name = std::string(prefix) + "decoder.embed_tokens.weight";
    EXPECT_EQ(ModelCall(copy.write()).run(), expected);
  }
}

// transformers would use the encoder's own table then.
TEST(ModelFolders, OfT5EncoderModelWithAnotherTableAreRefused) {
  ModelCopy copy("t5");
  copy.set("architectures", R"(["T5EncoderModel"])");
  std::erase_if(copy.tensors, [](const NamedFloats& tensor) { return tensor.name.starts_with("decoder."); });
  NamedFloats table = copy.tensor("shared.weight");
  table.name = "encoder.embed_tokens.weight";
  copy.tensors.push_back(table);
  EXPECT_EQ(messages_of(copy.write()).warnings, std::vector<std::string>());
  EXPECT_EQ(try_model_folder(copy.write()), HEED_OK);
  copy.tensors.back().elements[0] += 1;
  EXPECT_TRUE(is_refused(try_model_folder(copy.write()), {HEED_ERROR_INVALID_ARGUMENT, {"\"" + table.name + "\""}}));
}

// Tensors of published files that no class of their models reads.
TEST(ModelFolders, MayHaveTensorsThatNoClassReads) {
  ModelCopy gpt2("gpt2");
  ModelCopy t5("t5");
  ModelCopy llama("llama");
  const auto expect_no_change = [](ModelCopy& copy, const char* name, const Dims& dims, size_t num_elements) {
    SCOPED_TRACE(name);
    const std::vector<uint8_t> expected = ModelCall(copy.write()).run();
    copy.tensors.push_back({name, dims, std::vector<float>(num_elements, 0.5f)});
    EXPECT_EQ(ModelCall(copy.write()).run(), expected);
    EXPECT_EQ(messages_of(copy.write()).warnings, std::vector<std::string>());
  };
  expect_no_change(gpt2, "transformer.h.0.attn.bias", {1, 1, 4, 4}, 16);
  expect_no_change(gpt2, "transformer.h.0.attn.masked_bias", {}, 1);
  expect_no_change(t5, "decoder.block.0.layer.1.EncDecAttention.relative_attention_bias.weight", {8, 4}, 32);
  expect_no_change(llama, "model.layers.1.self_attn.rotary_emb.inv_freq", {4}, 4);
  expect_no_change(llama, "model.rotary_emb.inv_freq", {4}, 4);
  // Of another shape it is no mask.
  gpt2.tensors.push_back({"transformer.h.1.attn.bias", {32}, std::vector<float>(32, 0.5f)});
  EXPECT_TRUE(is_refused(try_model_folder(gpt2.write()), {HEED_ERROR_UNSUPPORTED, {"h.1.attn.bias"}}));
}

// As transformers 5: a head with other values than the embedding is not tied to it.
TEST(ModelFolders, WithAHeadBesideATiedOneHaveThatOfTheFile) {
  ModelCopy copy("gpt2");
  const std::vector<uint8_t> tied = ModelCall(copy.write()).run();
  NamedFloats head = copy.tensor("transformer.wte.weight");
  head.name = "lm_head.weight";
  copy.tensors.push_back(head);
  EXPECT_EQ(ModelCall(copy.write()).run(), tied);
  EXPECT_EQ(messages_of(copy.write()).warnings, std::vector<std::string>());
  copy.tensors.back().elements[0] += 1;
  const std::vector<uint8_t> other = ModelCall(copy.write()).run();
  EXPECT_NE(other, tied);
  const std::vector<std::string> warnings = messages_of(copy.write()).warnings;
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_TRUE(contains(warnings[0], "has another head")) << warnings[0];
  copy.set("tie_word_embeddings", "false");
  EXPECT_EQ(ModelCall(copy.write()).run(), other);
}

// Their layouts have no module for a head.
TEST(ModelFolders, OfBartAndWhisperWithAnotherHeadAreRefused) {
  for (const auto& [family, table, name] : {std::tuple{"bart", "model.shared.weight", "lm_head.weight"},
                                            {"whisper", "model.decoder.embed_tokens.weight", "proj_out.weight"}}) {
    SCOPED_TRACE(family);
    ModelCopy copy(family);
    NamedFloats head = copy.tensor(table);
    head.name = name;
    copy.tensors.push_back(head);
    EXPECT_EQ(try_model_folder(copy.write()), HEED_OK);
    copy.tensors.back().elements[0] += 1;
    EXPECT_TRUE(is_refused(try_model_folder(copy.write()), {HEED_ERROR_UNSUPPORTED, {name, family}}));
  }
}

TEST(ModelFolders, WarnOfCodeOfTheirOwn) {
  ModelCopy copy("phi3");
  EXPECT_EQ(messages_of(copy.write()).warnings, std::vector<std::string>());
  copy.set("auto_map", "{\"AutoModelForCausalLM\": \"modeling_phi3.Phi3ForCausalLM\"}");
  const std::vector<std::string> warnings = messages_of(copy.write()).warnings;
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_TRUE(contains(warnings[0], "\"auto_map\"")) << warnings[0];
  EXPECT_TRUE(contains(warnings[0], "model_type \"phi3\"")) << warnings[0];
}

TEST(ModelFolders, TellWhatWasMade) {
  for (const auto& [family, model_type, kind, num_layers] : {std::tuple{"bert", "bert", "encoder", 2},
                                                             {"gemma3", "gemma3_text", "decoder", 2},
                                                             {"bart", "bart", "transformer", 3}}) {
    const std::string folder = golden_model(family);
    const Context context = make_context();
    const Layer model = make_model(context.get(), folder);
    const int64_t num_parameters = heed_layer_parameter_count(model.get());
    int64_t num_elements = 0;
    size_t num_bytes = 0;
    for (int64_t i = 0; i < num_parameters; ++i) {
      const Tensor parameter = snapshot(model.get(), heed_layer_parameter_name(model.get(), i));
      num_elements += heed_tensor_num_elements(parameter.get());
      num_bytes += heed_tensor_num_bytes(parameter.get());
    }
    const Messages messages = messages_of(folder);
    ASSERT_EQ(messages.infos.size(), 2u);  // the first is of the context
    EXPECT_EQ(messages.infos[1], std::string("heed_layer_create_from_folder: ") + kind + " has its " +
                                     std::to_string(num_parameters) + " parameters from \"" + folder +
                                     "\", of model_type \"" + model_type + "\": " + std::to_string(num_layers) +
                                     " layers, " + std::to_string(num_elements) + " numbers, " +
                                     std::to_string(num_bytes) + " bytes");
  }
  ModelCopy copy("llama");
  copy.remove_tensor("lm_head.weight");
  EXPECT_EQ(messages_of(copy.write()).infos.size(), 1u);
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
