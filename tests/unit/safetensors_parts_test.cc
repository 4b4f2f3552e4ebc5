// SPDX-License-Identifier: Apache-2.0
// The files of a model in several parts: names of parts, folders, and when each file is opened.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <thread>

#include "base/error.h"
#include "failure.h"
#include "support/platform/files.h"
#include "tensor/safetensors.h"

namespace heed {
namespace {

namespace fs = std::filesystem;

class SafetensorsParts : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = make_unique_folder("safetensors_parts_");
    const float one[] = {1};
    const float two[] = {2, 3};
    const NamedTensor first[] = {{"a", DType::F32, {1}, one}};
    const NamedTensor second[] = {{"b", DType::F32, {2}, two}};
    save_safetensors(path("m-1-of-2.safetensors").c_str(), first);
    save_safetensors(path("m-2-of-2.safetensors").c_str(), second);
    write_index(R"({"weight_map":{"b":"m-2-of-2.safetensors","a":"m-1-of-2.safetensors"}})");
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string path(const std::string& name) const { return folder_ + "/" + name; }
  void write_index(const std::string& text) const { std::ofstream(path("m.safetensors.index.json")) << text; }

  std::string folder_;
};

TEST(PartNames, HaveANumberACountAndAnIndex) {
  const auto name = part_name_of("models/m-00002-of-000163.safetensors");
  ASSERT_TRUE(name.has_value());
  EXPECT_EQ(name->number, 2u);
  EXPECT_EQ(name->num_parts, 163u);
  EXPECT_EQ(name->index_path, "models/m.safetensors.index.json");
  EXPECT_EQ(part_name_of("a-b-of-1-of-2.safetensors")->index_path, "a-b-of.safetensors.index.json");
  for (const char* other :
       {"", ".safetensors", "m.safetensors", "-of-.safetensors", "m-1-of-.safetensors", "m--of-2.safetensors",
        "1-of-2.safetensors", "-of-2.safetensors", "m-12.safetensors", "m-1-of-2.bin", "m-1-of-2",
        "m-1of-2.safetensors", "m-1-of-2x.safetensors", "m-x1-of-2.safetensors", "m-1/1-of-2.safetensors",
        "m-1234567890-of-2.safetensors", "m-1-of-1234567890.safetensors"})
    EXPECT_FALSE(part_name_of(other).has_value()) << other;
}

TEST_F(SafetensorsParts, KnowTheirFolder) {
  EXPECT_EQ(SafetensorsFile(path("m-1-of-2.safetensors").c_str()).folder(), folder_);
  EXPECT_EQ(SafetensorsFile(path("m.safetensors.index.json").c_str()).folder(), folder_);
  EXPECT_EQ(platform::folder_of("model.safetensors"), ".");
  EXPECT_EQ(platform::folder_of("/model.safetensors"), "/");
  EXPECT_EQ(platform::folder_of("a//b"), "a/");
  std::string bytes(save_safetensors_to_memory(nullptr, 0, {}), '\0');
  save_safetensors_to_memory(bytes.data(), bytes.size(), {});
  EXPECT_EQ(SafetensorsFile(std::make_shared<MemorySource>(bytes.data(), bytes.size())).folder(), "");
  // A path without a folder; the index is in the current folder.
  const fs::path before = fs::current_path();
  fs::current_path(folder_);
  const SafetensorsFile file("m-2-of-2.safetensors");
  EXPECT_EQ(file.folder(), ".");
  EXPECT_EQ(file.path(), "m.safetensors.index.json");
  EXPECT_NE(file.find("a"), nullptr);
  fs::current_path(before);
}

TEST_F(SafetensorsParts, AreOpenedWhenTheyAreNeeded) {
  const SafetensorsFile file(path("m.safetensors.index.json").c_str());
  fs::remove(path("m-2-of-2.safetensors"));
  EXPECT_EQ(file.num_tensors(), 2u);
  EXPECT_EQ(file.name(0), "a");
  EXPECT_EQ(file.name(1), "b");
  EXPECT_TRUE(file.contains("b"));
  EXPECT_FALSE(file.contains("c"));
  EXPECT_EQ(file.find("c"), nullptr);
  const SafetensorsEntry* entry = file.find("a");
  ASSERT_NE(entry, nullptr);
  float element = 0;
  file.read(*entry, &element);
  EXPECT_EQ(element, 1);
  EXPECT_EQ(failure_of([&] { static_cast<void>(file.find("b")); }).status, Status::Io);
  EXPECT_EQ(file.lone_part_text(), "");
}

TEST_F(SafetensorsParts, AreAllOpenedAtOnceIfRequested) {
  const SafetensorsFile file(path("m-1-of-2.safetensors").c_str(), {}, Opening::AllAtOnce);
  fs::remove(path("m-1-of-2.safetensors"));
  fs::remove(path("m-2-of-2.safetensors"));
  float elements[2] = {};
  // Another thread than the one that opened the files can read them.
  std::thread([&] { file.read(*file.find("b"), elements); }).join();
  EXPECT_EQ(elements[0], 2);
  EXPECT_EQ(elements[1], 3);
  EXPECT_EQ(file.stored(0).dtype_name, "F32");
  file.read(*file.find("b"), 4, 4, elements);
  EXPECT_EQ(elements[0], 3);
}

// The parts have the names of the files, also those that are opened later.
TEST_F(SafetensorsParts, MayLoseAPrefix) {
  const float one[] = {4};
  const NamedTensor first[] = {{"x.a", DType::F32, {1}, one}};
  const NamedTensor second[] = {{"x.c", DType::F32, {1}, one}};
  save_safetensors(path("m-1-of-2.safetensors").c_str(), first);
  save_safetensors(path("m-2-of-2.safetensors").c_str(), second);
  write_index(R"({"weight_map":{"x.b":"m-2-of-2.safetensors","x.a":"m-1-of-2.safetensors"}})");
  SafetensorsFile file(path("m.safetensors.index.json").c_str());
  file.remove_prefix("x.");
  float element = 0;
  file.read(*file.find("a"), &element);
  EXPECT_EQ(element, 4);
  EXPECT_FALSE(file.contains("x.a"));
  EXPECT_EQ(file.name_in_file("a"), "x.a");
  const ThrownError failure = failure_of([&] { static_cast<void>(file.find("b")); });
  EXPECT_EQ(failure.status, Status::CorruptFile);
  EXPECT_NE(failure.text.find("tensor \"x.c\""), std::string::npos) << failure.text;
  save_safetensors(path("m-2-of-2.safetensors").c_str(), {});
  EXPECT_NE(failure_of([&] { static_cast<void>(file.find("b")); }).text.find("no tensor \"x.b\""), std::string::npos);
}

TEST_F(SafetensorsParts, WithoutAnIndexAreSeparateFiles) {
  fs::remove(path("m.safetensors.index.json"));
  const SafetensorsFile file(path("m-2-of-2.safetensors").c_str());
  EXPECT_EQ(file.num_tensors(), 1u);
  EXPECT_EQ(file.lone_part_text(),
            "part 2 of 2, whose index, \"" + path("m.safetensors.index.json") + "\", is not there");
}

}  // namespace
}  // namespace heed
