// SPDX-License-Identifier: Apache-2.0
// Models in several files: the index names the file of each tensor, and files that do not fit together are refused by
// name.
#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "capi/support/attention_call.h"
#include "capi/support/cut_model.h"
#include "capi/support/files.h"
#include "capi/support/refusal.h"

namespace heed::capi_test {
namespace {

constexpr const char* kPrefix = "model.layers.3.";

// The parameters of AttentionCall's layer in three files: one has W_q and W_o, one has W_k, one has W_v.
class CutModels : public testing::Test {
 protected:
  CutModels() {
    check(call_.forward());
    expected_ = call_.read_outputs();
    tensors_ = parameters_of(call_.layer.get(), kPrefix);
    tensors_.push_back({"model.embedding", {1}, {1}});  // in the second file
    write_cut_model(folder_, tensors_, 3);
    call_.replace_layer(two_heads());
  }

  heed_status load(const std::string& name, const char* prefix = kPrefix) {
    return heed_layer_load(call_.layer.get(), folder_.path(name).c_str(), prefix);
  }

  void expect_loaded(heed_status status) {
    ASSERT_EQ(status, HEED_OK) << heed_last_error();
    check(heed_tensor_fill(call_.outputs.output, 0.0));
    ASSERT_EQ(call_.forward(), HEED_OK) << heed_last_error();
    EXPECT_EQ(call_.read_outputs(), expected_);
  }

  heed_status load_tensor(const std::string& name, const std::string& tensor_name) {
    heed_tensor* handle = nullptr;
    const heed_status status =
        heed_tensor_load_safetensors(call_.context.get(), folder_.path(name).c_str(), tensor_name.c_str(), &handle);
    const Tensor tensor(handle);
    if (status == HEED_OK) loaded_ = read_elements<float>(handle);
    return status;
  }

  void remove(const std::string& name) { std::filesystem::remove(folder_.path(name)); }

  // Loading a layer and loading a single tensor must report this.
  void expect_refused(const std::string& name, const Refusal& refusal) {
    EXPECT_TRUE(is_refused(load(name), refusal));
    EXPECT_TRUE(is_refused(load_tensor(name, tensors_[0].name), refusal));
    EXPECT_EQ(heed_layer_is_initialized(call_.layer.get()), 0);
  }

  const TemporaryFolder folder_;
  AttentionCall call_{Kind::MultiHead};
  std::vector<uint8_t> expected_;
  std::vector<NamedFloats> tensors_;
  std::vector<float> loaded_;
};

TEST_F(CutModels, LoadByTheIndexAndByEachFile) {
  for (const std::string& name : {std::string(kIndexName), part_name(1, 3), part_name(2, 3), part_name(3, 3)}) {
    SCOPED_TRACE(name);
    call_.replace_layer(two_heads());
    expect_loaded(load(name));
    for (const NamedFloats& tensor : tensors_) {
      ASSERT_EQ(load_tensor(name, tensor.name), HEED_OK) << heed_last_error();
      EXPECT_EQ(loaded_, tensor.elements);
    }
    EXPECT_TRUE(is_refused(load_tensor(name, "none"), {HEED_ERROR_NOT_FOUND, {kIndexName, "\"none\"", "5"}}));
  }
}

TEST_F(CutModels, LoadFromTheWorkingFolderAndByAnAbsolutePath) {
  const std::filesystem::path before = std::filesystem::current_path();
  const std::string absolute = std::filesystem::absolute(folder_.path(part_name(2, 3))).string();
  std::filesystem::current_path(folder_.path(""));
  const heed_status by_name = heed_layer_load(call_.layer.get(), kIndexName, kPrefix);
  const heed_status by_part = heed_layer_load(call_.layer.get(), part_name(1, 3).c_str(), kPrefix);
  std::filesystem::current_path(before);
  EXPECT_EQ(by_name, HEED_OK);
  EXPECT_EQ(by_part, HEED_OK);
  expect_loaded(heed_layer_load(call_.layer.get(), absolute.c_str(), kPrefix));
}

// As in the cache of Hugging Face's hub: the folder has links to files with other names in other folders.
TEST_F(CutModels, LoadThroughLinks) {
  std::filesystem::create_directory(folder_.path("blobs"));
  for (size_t i = 1; i <= 3; ++i) {
    const std::string blob = "blobs/" + std::to_string(i);
    std::filesystem::rename(folder_.path(part_name(i, 3)), folder_.path(blob));
    std::filesystem::create_symlink(blob, folder_.path(part_name(i, 3)));
  }
  expect_loaded(load(part_name(3, 3)));
}

TEST_F(CutModels, ReadOnlyTheFilesThatAreNeeded) {
  const std::string header = R"("other":"not-there.safetensors",)";
  std::string index = read_file(folder_.path(kIndexName));
  index.insert(index.find("\"model.embedding\""), header);
  folder_.write(kIndexName, index);
  expect_loaded(load(kIndexName));
  expect_loaded(load(part_name(1, 3)));
  EXPECT_TRUE(is_refused(load_tensor(kIndexName, "other"), {HEED_ERROR_IO, {"not-there.safetensors", kIndexName}}));
  // The tensor is in the first file, so the others are not opened.
  folder_.write(part_name(2, 3), "version https://git-lfs.github.com/spec/v1\noid sha256:1\nsize 1\n");
  remove(part_name(3, 3));
  EXPECT_EQ(load_tensor(part_name(1, 3), tensors_[0].name), HEED_OK) << heed_last_error();
  EXPECT_TRUE(is_refused(load(kIndexName), {HEED_ERROR_CORRUPT_FILE, {part_name(2, 3), "Git LFS", "git lfs pull"}}));
}

TEST_F(CutModels, NameTheMissingFile) {
  remove(part_name(2, 3));
  EXPECT_TRUE(is_refused(load(kIndexName), {HEED_ERROR_IO, {part_name(2, 3), "not there", kIndexName}}));
  // The given file must exist, although its index names the other files.
  EXPECT_TRUE(is_refused(load(part_name(2, 3)), {HEED_ERROR_IO, {"cannot open", part_name(2, 3)}}));
  heed_weights* weights = nullptr;
  EXPECT_TRUE(is_refused(heed_weights_open(call_.context.get(), folder_.path(kIndexName).c_str(), &weights),
                         {HEED_ERROR_IO, {part_name(2, 3), "not there", kIndexName}}));
  EXPECT_EQ(weights, nullptr);
}

TEST_F(CutModels, ReadASingleFileWithoutAnIndex) {
  remove(kIndexName);
  EXPECT_TRUE(is_refused(load(part_name(2, 3)),
                         {HEED_ERROR_NOT_FOUND, {part_name(2, 3), "part 2 of 3", kIndexName, "not there"}}));
  EXPECT_TRUE(is_refused(load_tensor(part_name(2, 3), tensors_[0].name),
                         {HEED_ERROR_NOT_FOUND, {part_name(2, 3), "part 2 of 3", kIndexName, "not there"}}));
  ASSERT_EQ(load_tensor(part_name(1, 3), tensors_[0].name), HEED_OK) << heed_last_error();
  EXPECT_EQ(loaded_, tensors_[0].elements);
  // A model of a single part needs no index.
  write_cut_model(folder_, tensors_, 1);
  remove(kIndexName);
  expect_loaded(load(part_name(1, 1)));
  EXPECT_EQ(load_tensor(part_name(1, 1), "none"), HEED_ERROR_NOT_FOUND);
  EXPECT_EQ(std::string(heed_last_error()).find("part"), std::string::npos) << heed_last_error();
}

// File names of parts have exactly this form.
TEST_F(CutModels, TreatOtherNamesAsSingleFiles) {
  const std::string whole = safetensors_of(tensors_);
  for (const char* name : {"model-00001-of-.safetensors", "model-1a-of-00003.safetensors",
                           "model_00001-of-00003.safetensors", "00001-of-00003.safetensors", "model-00001-of-00003.bin",
                           "model-00001-of-00003", "model-00001of-00003.safetensors"}) {
    SCOPED_TRACE(name);
    folder_.write(name, whole);
    expect_loaded(load(name));
    EXPECT_EQ(load_tensor(name, "none"), HEED_ERROR_NOT_FOUND);
    EXPECT_EQ(std::string(heed_last_error()).find("part"), std::string::npos) << heed_last_error();
  }
  // DeepSeek's part numbers have five digits, but the number of parts has six.
  write_cut_model(folder_, tensors_, 3);
  std::string index = read_file(folder_.path(kIndexName));
  for (size_t i = 1; i <= 3; ++i) {
    const std::string new_name = "model-0000" + std::to_string(i) + "-of-000003.safetensors";
    std::filesystem::rename(folder_.path(part_name(i, 3)), folder_.path(new_name));
    for (size_t at = 0; (at = index.find(part_name(i, 3))) != std::string::npos;)
      index.replace(at, part_name(i, 3).size(), new_name);
  }
  folder_.write(kIndexName, index);
  expect_loaded(load("model-00002-of-000003.safetensors"));
}

TEST_F(CutModels, AreRefusedIfFilesAndIndexDisagree) {
  const auto index_with = [&](const std::string& name, const std::string& file) {
    std::map<std::string, std::string> weight_map;
    for (size_t i = 0; i < tensors_.size(); ++i) weight_map[tensors_[i].name] = part_name(i % 3 + 1, 3);
    if (file.empty()) {
      weight_map.erase(name);
    } else {
      weight_map[name] = file;
    }
    folder_.write(kIndexName, index_of(weight_map));
  };
  index_with("another", part_name(1, 3));
  expect_refused(kIndexName, {HEED_ERROR_CORRUPT_FILE, {part_name(1, 3), "\"another\"", kIndexName}});
  expect_refused(part_name(1, 3), {HEED_ERROR_CORRUPT_FILE, {part_name(1, 3), "\"another\"", kIndexName}});
  index_with(tensors_[3].name, "");
  EXPECT_TRUE(is_refused(load_tensor(kIndexName, tensors_[0].name),
                         {HEED_ERROR_CORRUPT_FILE, {part_name(1, 3), tensors_[3].name, "does not name"}}));
  // The tensor is in two files, the one that the index names and the first.
  index_with(tensors_[3].name, part_name(2, 3));
  expect_refused(kIndexName, {HEED_ERROR_CORRUPT_FILE, {part_name(1, 3), tensors_[3].name, part_name(2, 3)}});
  // A file of the same model that was split into a different number of parts.
  folder_.write(part_name(1, 4), safetensors_of({tensors_[0]}));
  expect_refused(part_name(1, 4), {HEED_ERROR_CORRUPT_FILE, {part_name(1, 4), kIndexName, "does not name"}});
}

TEST_F(CutModels, AreRefusedWithAnIndexThatIsWrong) {
  const std::string file = "\"" + part_name(1, 3) + "\"";
  const auto corrupt = [&](const std::string& text, std::vector<std::string> words) {
    SCOPED_TRACE(text);
    folder_.write(kIndexName, text);
    words.emplace_back(kIndexName);
    expect_refused(kIndexName, {HEED_ERROR_CORRUPT_FILE, words});
    expect_refused(part_name(2, 3), {HEED_ERROR_CORRUPT_FILE, words});
  };
  corrupt(R"({"weight_map":{"a":)", {"byte"});
  corrupt(R"({"weight_map":{"a":"b"}} x)", {"byte"});
  corrupt(R"({"weight_map":{"a)"
          "\xFF"
          R"(":"b"}})",
          {"byte"});
  corrupt(R"({"weight_map":{"a":1}})", {"a number", "\"a\""});
  corrupt(R"({"weight_map":{"a":-1}})", {"a number", "\"a\""});
  corrupt(R"({"weight_map":{"a":0.5}})", {"a number", "\"a\""});
  corrupt(R"({"weight_map":{"a":null}})", {"null", "\"a\""});
  corrupt(R"({"weight_map":{"a":true}})", {"a boolean", "\"a\""});
  corrupt(R"({"weight_map":{"a":["b"]}})", {"an array", "\"a\""});
  corrupt(R"({"weight_map":{"a":{"b":"c"}}})", {"an object", "\"a\""});
  corrupt(R"({"weight_map":["a"]})", {"an array", "weight_map"});
  corrupt(R"({"weight_map":"a"})", {"a string", "weight_map"});
  corrupt(R"({"weight_map":null})", {"null", "weight_map"});
  corrupt(R"({"weight_map":{}, "weight_map":{}})", {"weight_map twice"});
  corrupt(R"({"weight_map":{"a":)" + file + R"(,"a":)" + file + "}}", {"\"a\" twice"});
  corrupt(R"({"weight_map":{"a\u0000b":)" + file + "}}", {"zero byte"});
  corrupt(R"({"weight_map":{}})" + std::string(1, '\0'), {"zero byte"});
  for (const char* name : {"", ".", "..", "../model.safetensors", "/etc/passwd", "sub/model.safetensors",
                           "sub\\\\model.safetensors", "model\\u0000.safetensors"})
    corrupt(std::string(R"({"weight_map":{"a":")") + name + "\"}}", {"\"a\"", "beside the index"});
  for (const char* text : {R"({})", R"({"metadata":{"weight_map":{}}})", R"( {"model_type":"bert"})"})
    corrupt(std::string(text) + "        ", {"weight_map", "JSON"});
  std::filesystem::resize_file(folder_.write(kIndexName, R"({"weight_map":{)"), 100'000'001);
  expect_refused(kIndexName, {HEED_ERROR_CORRUPT_FILE, {kIndexName, "100000001", "100000000"}});
}

// A byte order mark and spaces, as editors write them.
TEST_F(CutModels, AcceptAnIndexAfterSpacesAndAByteOrderMark) {
  const std::string index = read_file(folder_.path(kIndexName));
  for (const char* begin : {" ", "\n\t\r ", "\xEF\xBB\xBF"}) {
    folder_.write(kIndexName, begin + index);
    expect_loaded(load(kIndexName));
  }
}

TEST_F(CutModels, RefuseAnIndexInMemory) {
  const std::string index = read_file(folder_.path(kIndexName));
  EXPECT_TRUE(is_refused(heed_layer_load_memory(call_.layer.get(), index.data(), index.size(), kPrefix),
                         {HEED_ERROR_CORRUPT_FILE, {"\"memory\"", "JSON", "path"}}));
}

TEST_F(CutModels, FindUnsupportedTensorsInAnotherFile) {
  // The third file has a norm of the keys, the first has the projections.
  std::vector<NamedFloats> layer = parameters_of(AttentionCall(Kind::MultiHead).layer.get());
  const char* names[] = {"self_attn.q_proj.weight", "self_attn.k_proj.weight", "self_attn.v_proj.weight",
                         "self_attn.o_proj.weight"};
  std::map<std::string, std::string> weight_map = {{"self_attn.q_norm.weight", part_name(2, 2)}};
  for (size_t i = 0; i < 4; ++i) {
    layer[i].name = names[i];
    weight_map[names[i]] = part_name(1, 2);
  }
  folder_.write(part_name(1, 2), safetensors_of(layer));
  folder_.write(part_name(2, 2), safetensors_of({{"self_attn.q_norm.weight", {1}, {1}}}));
  folder_.write(kIndexName, index_of(weight_map));
  EXPECT_TRUE(
      is_refused(load(part_name(1, 2), "self_attn"), {HEED_ERROR_INVALID_ARGUMENT, {"self_attn.q_norm.weight"}}));
}

}  // namespace
}  // namespace heed::capi_test
