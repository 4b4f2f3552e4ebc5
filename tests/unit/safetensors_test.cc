// SPDX-License-Identifier: Apache-2.0
#include "tensor/safetensors.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>

#include "base/error.h"
#include "failure.h"
#include "support/platform/files.h"

namespace heed {
namespace {

namespace fs = std::filesystem;

bool mentions(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

class SafetensorsTest : public testing::Test {
 protected:
  void SetUp() override { folder = fs::absolute(make_unique_folder("safetensors_test_")); }
  void TearDown() override {
    fs::permissions(folder, fs::perms::owner_all);
    fs::remove_all(folder);
  }

  std::string path(const std::string& name = "file.safetensors") const { return (folder / name).string(); }

  std::string write_bytes(const std::string& bytes) const {
    std::ofstream(path(), std::ios::binary) << bytes;
    return path();
  }

  static std::string with_length(uint64_t header_length, const std::string& rest) {
    std::string bytes(8, '\0');
    std::memcpy(bytes.data(), &header_length, 8);
    return bytes + rest;
  }

  std::string write_file(const std::string& header, const std::string& data) const {
    return write_bytes(with_length(header.size(), header + data));
  }

  static std::string read_bytes(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  // Opening a file with this header and `num_data_bytes` zeros must fail as a corrupt file, with a message that
  // contains all `parts`.
  void expect_corrupt(const std::string& header, size_t num_data_bytes, const std::vector<std::string>& parts) const {
    const std::string file = write_file(header, std::string(num_data_bytes, '\0'));
    const ThrownError failure = failure_of([&] { SafetensorsFile opened(file.c_str()); });
    EXPECT_EQ(failure.status, Status::CorruptFile) << header << "\n" << failure.text;
    EXPECT_TRUE(mentions(failure.text, "file.safetensors")) << failure.text;
    for (const std::string& part : parts) EXPECT_TRUE(mentions(failure.text, part)) << header << "\n" << failure.text;
  }

  size_t num_files() const {
    return static_cast<size_t>(std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
  }

  fs::path folder;
};

constexpr const char* kOne = R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})";

TEST_F(SafetensorsTest, KeepsEveryDTypeAtEveryRankAndEmptyTensors) {
  std::vector<std::string> names;
  std::vector<std::vector<unsigned char>> contents;
  std::vector<NamedTensor> tensors;
  names.reserve(1000);
  contents.reserve(1000);
  unsigned char next = 0;
  for (int32_t dtype = 0; dtype < kNumDTypes; ++dtype) {
    for (int32_t rank = 0; rank <= kMaxRank; ++rank) {
      for (const bool empty : {false, true}) {
        if (empty && rank == 0) continue;
        NamedTensor tensor;
        tensor.dtype = static_cast<DType>(dtype);
        tensor.shape.rank = rank;
        size_t num_bytes = size_of(tensor.dtype);
        for (int32_t axis = 0; axis < rank; ++axis) {
          tensor.shape[axis] = empty && axis == rank / 2 ? 0 : 1 + (axis + rank) % 3;
          num_bytes *= static_cast<size_t>(tensor.shape[axis]);
        }
        std::vector<unsigned char>& content = contents.emplace_back(num_bytes);
        for (unsigned char& byte : content) byte = next++;
        names.push_back(std::string(name_of(tensor.dtype)) + "." + std::to_string(rank) + (empty ? ".empty" : ""));
        tensor.name = names.back();
        tensor.data = empty ? nullptr : content.data();
        tensors.push_back(tensor);
      }
    }
  }
  save_safetensors(path().c_str(), tensors);

  const SafetensorsFile file(path().c_str());
  EXPECT_EQ(file.path(), path());
  ASSERT_EQ(file.num_tensors(), tensors.size());
  for (size_t i = 0; i + 1 < tensors.size(); ++i) EXPECT_LT(file.name(i), file.name(i + 1));
  for (size_t i = 0; i < tensors.size(); ++i) {
    const SafetensorsEntry* entry = file.find(tensors[i].name);
    ASSERT_NE(entry, nullptr) << tensors[i].name;
    EXPECT_EQ(entry->name, tensors[i].name);
    EXPECT_EQ(entry->dtype, tensors[i].dtype) << tensors[i].name;
    EXPECT_EQ(entry->shape, tensors[i].shape) << tensors[i].name;
    ASSERT_EQ(entry->num_bytes, contents[i].size()) << tensors[i].name;
    std::vector<unsigned char> read(entry->num_bytes);
    file.read(*entry, read.data());
    EXPECT_EQ(read, contents[i]) << tensors[i].name;
  }
  EXPECT_EQ(file.find("F32"), nullptr);
  EXPECT_EQ(file.find(""), nullptr);
  EXPECT_FALSE(file.contains("f32.0"));
  EXPECT_TRUE(file.contains("F32.0"));
}

TEST_F(SafetensorsTest, WritesAlignedDataAndAHeaderThatHuggingFaceAccepts) {
  const uint8_t byte = 7;
  const double number = 2.5;
  const NamedTensor tensors[] = {{"odd", DType::U8, {1}, &byte}, {"even", DType::F64, {}, &number}};
  save_safetensors(path().c_str(), tensors);
  const std::string bytes = read_bytes(path());
  uint64_t header_length = 0;
  std::memcpy(&header_length, bytes.data(), 8);
  EXPECT_EQ(header_length % 8, 0u);
  EXPECT_EQ(bytes.size(), 8 + header_length + 9);
  std::string header = bytes.substr(8, header_length);
  header.resize(header.find_last_not_of(' ') + 1);
  EXPECT_EQ(header, R"({"__metadata__":{"format":"pt"},"even":{"dtype":"F64","shape":[],"data_offsets":[0,8]},)"
                    R"("odd":{"dtype":"U8","shape":[1],"data_offsets":[8,9]}})");
}

TEST_F(SafetensorsTest, WritesTextsAfterTheFormat) {
  const FileText texts[] = {{"a.kind", "x"}, {"a.options", R"({"b":1})"}};
  save_safetensors(path().c_str(), {}, texts);
  const std::string bytes = read_bytes(path());
  EXPECT_EQ(bytes.substr(8, bytes.find_last_not_of(' ') - 7),
            R"({"__metadata__":{"format":"pt","a.kind":"x","a.options":"{\"b\":1}"}})");
}

TEST_F(SafetensorsTest, GivesTheSameBytesWhateverTheOrderOfTheTensors) {
  const float numbers[] = {1, 2, 3, 4};
  std::vector<NamedTensor> tensors = {{"b", DType::F32, {4}, numbers}, {"a", DType::F32, {2, 2}, numbers}};
  save_safetensors(path("one").c_str(), tensors);
  std::swap(tensors[0], tensors[1]);
  save_safetensors(path("two").c_str(), tensors);
  EXPECT_EQ(read_bytes(path("one")), read_bytes(path("two")));
}

TEST_F(SafetensorsTest, KeepsNamesThatNeedEscapesAndComparesThemBytewise) {
  const std::string names[] = {"",    "quote\"backslash\\",    "line\nbreak", "gr\xC3\xBC\xC3\x9F",
                               "grU", std::string("z\0ero", 5)};
  std::vector<NamedTensor> tensors;
  std::vector<float> numbers(std::size(names));
  for (size_t i = 0; i < std::size(names); ++i) {
    numbers[i] = static_cast<float>(i);
    tensors.push_back({names[i], DType::F32, {}, &numbers[i]});
  }
  save_safetensors(path().c_str(), tensors);
  const SafetensorsFile file(path().c_str());
  for (size_t i = 0; i < std::size(names); ++i) {
    const SafetensorsEntry* entry = file.find(names[i]);
    ASSERT_NE(entry, nullptr) << names[i];
    float number = -1;
    file.read(*entry, &number);
    EXPECT_EQ(number, numbers[i]);
  }
  // The same letter, composed of two code points.
  EXPECT_EQ(file.find("gru\xCC\x88\xC3\x9F"), nullptr);
}

TEST_F(SafetensorsTest, AcceptsWhatOtherWritersWrite) {
  // Padding after the header, metadata anywhere, fields in any order, entries in another order than their data, an
  // empty tensor between two others.
  const std::string header =
      "{\"b\" : {\"data_offsets\":[8,12],\"shape\":[1],\"dtype\":\"I32\"}, \"none\":{\"dtype\":\"F32\",\"shape\":[3,0],"
      "\"data_offsets\":[8,8]},\n\"__metadata__\":{\"format\":\"pt\",\"shape\":\"\"},"
      "\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}}     ";
  const float a[] = {1.5F, -2};
  const int32_t b = -9;
  std::string data(12, '\0');
  std::memcpy(data.data(), a, 8);
  std::memcpy(data.data() + 8, &b, 4);
  const SafetensorsFile file(write_file(header, data).c_str());
  EXPECT_EQ(file.num_tensors(), 3u);
  float read_a[2] = {};
  int32_t read_b = 0;
  file.read(*file.find("a"), read_a);
  file.read(*file.find("b"), &read_b);
  EXPECT_TRUE(std::equal(std::begin(a), std::end(a), read_a));
  EXPECT_EQ(read_b, b);
  EXPECT_EQ(file.find("none")->num_bytes, 0u);
  EXPECT_EQ(file.find("none")->shape, (Shape{3, 0}));
  EXPECT_FALSE(file.contains("__metadata__"));

  EXPECT_EQ(SafetensorsFile(write_file("{}", "").c_str()).num_tensors(), 0u);
  EXPECT_EQ(SafetensorsFile(write_file(R"({"__metadata__":{}})", "").c_str()).num_tensors(), 0u);
  save_safetensors(path().c_str(), {});
  EXPECT_EQ(SafetensorsFile(path().c_str()).num_tensors(), 0u);
}

// Tensors are read in pieces of 65536 bytes: a difference in any piece counts.
TEST_F(SafetensorsTest, ComparesTwoTensorsWhole) {
  constexpr size_t kNumBytes = 200'004;
  const std::string entry = R"("dtype":"I8","shape":[200004],"data_offsets":)";
  const std::string header = "{\"a\":{" + entry + "[0,200004]},\"b\":{" + entry + "[200004,400008]}," +
                             R"("c":{"dtype":"I8","shape":[2,100002],"data_offsets":[400008,600012]},)" +
                             R"("d":{"dtype":"F32","shape":[50001],"data_offsets":[600012,800016]}})";
  const auto are_equal = [&](const std::string& data, const char* other) {
    const SafetensorsFile file(write_file(header, data).c_str());
    return file.are_equal(*file.find("a"), *file.find(other));
  };
  const std::string same(4 * kNumBytes, '\1');
  EXPECT_TRUE(are_equal(same, "b"));
  EXPECT_FALSE(are_equal(same, "c")) << "another shape";
  EXPECT_FALSE(are_equal(same, "d")) << "another dtype";
  for (const size_t at : {size_t{0}, size_t{65535}, size_t{65536}, size_t{131071}, kNumBytes - 1}) {
    SCOPED_TRACE(at);
    std::string other = same;
    other[kNumBytes + at] = '\2';
    EXPECT_FALSE(are_equal(other, "b"));
  }
}

TEST_F(SafetensorsTest, RefusesATensorOfAnUnknownDtypeOnlyWhenItIsRequested) {
  const std::string header = R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},)"
                             R"("f8":{"dtype":"F8_E4M3","shape":[3],"data_offsets":[4,7]},)"
                             R"("f4":{"dtype":"F4","shape":[2,3],"data_offsets":[7,10]},)"
                             R"("new":{"dtype":"Q3","shape":[5],"data_offsets":[10,11]},)"
                             R"("u16":{"dtype":"U16","shape":[2],"data_offsets":[11,15]},)"
                             R"("deep":{"dtype":"U8","shape":[1,1,1,1,1,1,1,1,2],"data_offsets":[15,17]}})";
  const SafetensorsFile file(write_file(header, std::string(17, 'x')).c_str());
  EXPECT_EQ(file.find("a")->num_bytes, 4u);
  const std::pair<std::string, std::string> refused[] = {
      {"f8", "F8_E4M3"}, {"f4", "F4"}, {"new", "Q3"}, {"u16", "U16"}, {"deep", "9 dimensions, expected at most 8"}};
  for (const auto& [name, reason] : refused) {
    EXPECT_TRUE(file.contains(name));
    const ThrownError failure = failure_of([&, name = name] { file.find(name); });
    EXPECT_EQ(failure.status, Status::Unsupported) << name;
    EXPECT_TRUE(mentions(failure.text, "\"" + name + "\"") && mentions(failure.text, reason)) << failure.text;
    EXPECT_TRUE(mentions(failure.text, "file.safetensors")) << failure.text;
  }
}

TEST_F(SafetensorsTest, ChecksTheSizeOfDTypesItCannotHold) {
  expect_corrupt(R"({"a":{"dtype":"F8_E4M3","shape":[3],"data_offsets":[0,4]}})", 4, {"\"a\"", "4 bytes", "3 bytes"});
  expect_corrupt(R"({"a":{"dtype":"C64","shape":[3],"data_offsets":[0,4]}})", 4, {"\"a\"", "4 bytes", "24 bytes"});
  expect_corrupt(R"({"a":{"dtype":"F4","shape":[3],"data_offsets":[0,1]}})", 1,
                 {"\"a\"", "3 elements of F4", "whole bytes"});
}

TEST_F(SafetensorsTest, RefusesAFileCutAtAnyByte) {
  const float numbers[] = {1, 2, 3};
  const uint8_t bytes[] = {4, 5};
  const NamedTensor tensors[] = {{"a.weight", DType::F32, {3}, numbers}, {"b", DType::U8, {2}, bytes}};
  save_safetensors(path().c_str(), tensors);
  const std::string whole = read_bytes(path());
  const size_t header_length = whole.size() - 8 - 14;
  for (size_t size = 0; size < whole.size(); ++size) {
    const std::string file = write_bytes(whole.substr(0, size));
    const ThrownError failure = failure_of([&] { SafetensorsFile opened(file.c_str()); });
    EXPECT_EQ(failure.status, Status::CorruptFile) << size;
    EXPECT_TRUE(mentions(failure.text, "file.safetensors")) << failure.text;
    const size_t num_bytes_found = size < 8 ? size : (size < 8 + header_length ? size - 8 : size - 8 - header_length);
    EXPECT_TRUE(mentions(failure.text, std::to_string(num_bytes_found) + " bytes")) << size << ": " << failure.text;
  }
  write_bytes(whole + "x");
  const ThrownError failure = failure_of([&] { SafetensorsFile opened(path().c_str()); });
  EXPECT_EQ(failure.status, Status::CorruptFile);
  EXPECT_TRUE(mentions(failure.text, "end at byte 14") && mentions(failure.text, "15 bytes")) << failure.text;
}

TEST_F(SafetensorsTest, EveryFlippedByteIsRefusedOrHarmless) {
  const float numbers[] = {1, 2};
  const NamedTensor tensors[] = {{"a", DType::F32, {2}, numbers}, {"b", DType::I8, {2, 1}, numbers}};
  save_safetensors(path("whole").c_str(), tensors);
  const std::string whole = read_bytes(path("whole"));
  for (size_t at = 0; at < whole.size(); ++at) {
    for (const int flip : {1, 2, 4, 8, 16, 32, 64, 128, 255}) {
      std::string changed = whole;
      changed[at] = static_cast<char>(changed[at] ^ flip);
      write_bytes(changed);
      const ThrownError failure = failure_of([&] {
        const SafetensorsFile file(path().c_str());
        for (size_t i = 0; i < file.num_tensors(); ++i) {
          const SafetensorsEntry* entry = file.find(file.name(i));
          std::vector<char> content(entry->num_bytes);
          file.read(*entry, content.data());
        }
      });
      EXPECT_TRUE(failure.status == Status::Ok || failure.status == Status::CorruptFile ||
                  failure.status == Status::Unsupported)
          << at << ": " << failure.text;
    }
  }
}

TEST_F(SafetensorsTest, RefusesAWrongHeaderLength) {
  const std::string header = kOne;
  const std::string rest = header + std::string(8, '\0');
  const auto open_with = [&](uint64_t length) {
    write_bytes(with_length(length, rest));
    const ThrownError failure = failure_of([&] { SafetensorsFile opened(path().c_str()); });
    EXPECT_EQ(failure.status, Status::CorruptFile) << length;
    EXPECT_TRUE(mentions(failure.text, "file.safetensors")) << failure.text;
    return failure.text;
  };
  EXPECT_TRUE(mentions(open_with(0), "0 bytes"));
  EXPECT_TRUE(mentions(open_with(header.size() - 1), "not JSON"));
  EXPECT_TRUE(mentions(open_with(header.size() + 1), "zero byte at its byte " + std::to_string(header.size())));
  EXPECT_TRUE(mentions(open_with(rest.size() + 1), std::to_string(rest.size() + 1)));
  for (const uint64_t length :
       {uint64_t{1} << 31, uint64_t{1} << 32, uint64_t{1} << 63, ~uint64_t{0}, ~uint64_t{0} - 7}) {
    const std::string text = open_with(length);
    EXPECT_TRUE(mentions(text, std::to_string(length)) && mentions(text, std::to_string(rest.size()))) << text;
  }
  // A sparse file that is as long as its header states: it is refused before the header is read.
  write_bytes(with_length(kMaxSafetensorsHeader + 1, "{"));
  fs::resize_file(path(), kMaxSafetensorsHeader + 100);
  const ThrownError failure = failure_of([&] { SafetensorsFile opened(path().c_str()); });
  EXPECT_EQ(failure.status, Status::CorruptFile);
  EXPECT_TRUE(mentions(failure.text, "100000001") && mentions(failure.text, "at most 100000000")) << failure.text;
}

TEST_F(SafetensorsTest, RefusesAHeaderThatIsNotAnObjectOfEntries) {
  const std::string one = kOne;
  for (const char* header : {" ", " {}", "\n{}", "[]", "[{}]", "1", "\"a\"", "null", "\xEF\xBB\xBF{}"}) {
    expect_corrupt(header, 0, {"does not begin with '{'"});
  }
  for (const char* header : {"{", "{}{}", "{} x", "{\"a\"}", "{\"a\":}", "{a:1}", "{\"a\":1e999}", "{,}", "{}//x"}) {
    expect_corrupt(header, 0, {"not JSON"});
  }
  expect_corrupt(one.substr(0, one.size() - 1) + ",}", 8, {"not JSON"});
  expect_corrupt("{\"\xFF\":{}}", 0, {"not JSON in UTF-8"});
  expect_corrupt("{\"\xC0\x80\":{}}", 0, {"not JSON in UTF-8"});
  expect_corrupt(R"({"\ud800":{}})", 0, {"not JSON in UTF-8"});
  expect_corrupt(std::string("{}\0{}", 5), 0, {"zero byte at its byte 2"});
  expect_corrupt(R"({"a":1})", 0, {"\"a\"", "is 1 in the header"});
  expect_corrupt(R"({"a":-1})", 0, {"\"a\"", "is -1 in the header"});
  expect_corrupt(R"({"a":[]})", 0, {"\"a\"", "an array"});
  expect_corrupt(R"({"a":"b"})", 0, {"\"a\"", "a string"});
  expect_corrupt(R"({"a":null})", 0, {"\"a\"", "null"});
  expect_corrupt(R"({"a":true})", 0, {"\"a\"", "true"});
}

TEST_F(SafetensorsTest, RefusesAnEntryWithOtherFields) {
  expect_corrupt(R"({"a":{}})", 0, {"\"a\"", "no dtype"});
  expect_corrupt(R"({"a":{"dtype":"F32","data_offsets":[0,4]}})", 4, {"\"a\"", "no shape"});
  expect_corrupt(R"({"a":{"dtype":"F32","shape":[1]}})", 4, {"\"a\"", "no data_offsets"});
  expect_corrupt(R"({"a":{"dtype":"F32","dtype":"F32","shape":[1],"data_offsets":[0,4]}})", 4,
                 {"\"a\"", "dtype twice"});
  expect_corrupt(R"({"a":{"dtype":"F32","shape":[1],"shape":[1],"data_offsets":[0,4]}})", 4, {"\"a\"", "shape twice"});
  expect_corrupt(R"({"a":{"dtype":7,"shape":[1],"data_offsets":[0,4]}})", 4, {"\"a\"", "7 as its dtype"});
  expect_corrupt(R"({"a":{"dtype":["F32"],"shape":[1],"data_offsets":[0,4]}})", 4, {"\"a\"", "an array as its dtype"});
  expect_corrupt(R"({"a":{"dtype":{"F32":1},"shape":[1],"data_offsets":[0,4]}})", 4,
                 {"\"a\"", "an object as its dtype"});
  expect_corrupt(R"({"a":{"dtype":"F32","shape":1,"data_offsets":[0,4]}})", 4, {"\"a\"", "1 as its shape"});
  expect_corrupt(R"({"a":{"dtype":"F32","shape":"1","data_offsets":[0,4]}})", 4, {"\"a\"", "a string as its shape"});
  expect_corrupt(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":4}})", 4, {"\"a\"", "4 as its data_offsets"});
}

TEST_F(SafetensorsTest, RefusesShapesThatAreNotSizes) {
  const auto with_shape = [](const std::string& shape) {
    return R"({"layer.weight":{"dtype":"F32","shape":)" + shape + R"(,"data_offsets":[0,8]}})";
  };
  expect_corrupt(with_shape("[-2]"), 8, {"\"layer.weight\"", "-2 as size 0"});
  expect_corrupt(with_shape("[1,-0]"), 8, {"\"layer.weight\"", "size 1"});
  expect_corrupt(with_shape("[2.0]"), 8, {"\"layer.weight\"", "2.0 as size 0"});
  expect_corrupt(with_shape("[2e0]"), 8, {"\"layer.weight\"", "2e0 as size 0"});
  expect_corrupt(with_shape("[9223372036854775808]"), 8,
                 {"\"layer.weight\"", "9223372036854775808", "9223372036854775807"});
  expect_corrupt(with_shape("[99999999999999999999]"), 8, {"\"layer.weight\"", "99999999999999999999"});
  expect_corrupt(with_shape("[\"2\"]"), 8, {"\"layer.weight\"", "a string as size 0"});
  expect_corrupt(with_shape("[null]"), 8, {"\"layer.weight\"", "null as size 0"});
  expect_corrupt(with_shape("[true]"), 8, {"\"layer.weight\"", "true as size 0"});
  expect_corrupt(with_shape("[[2]]"), 8, {"\"layer.weight\"", "an array as size 0"});
  expect_corrupt(with_shape("[{}]"), 8, {"\"layer.weight\"", "an object as size 0"});
  // Products that would wrap around to a plausible size.
  expect_corrupt(with_shape("[4294967296,4294967296]"), 8, {"\"layer.weight\"", "product", "size 1", "4294967296"});
  expect_corrupt(with_shape("[4294967296,4294967296,0]"), 0, {"\"layer.weight\"", "product"});
  expect_corrupt(with_shape("[0,4294967296,4294967296]"), 0, {"\"layer.weight\"", "product"});
  expect_corrupt(with_shape("[4611686018427387904]"), 8,
                 {"\"layer.weight\"", "4611686018427387904 elements", "overflows"});
  expect_corrupt(with_shape("[9223372036854775807]"), 8, {"\"layer.weight\"", "9223372036854775807 elements"});
  expect_corrupt(with_shape("[3,0]"), 8, {"\"layer.weight\"", "in 8 bytes", "its 0 elements of F32 are 0 bytes"});
  expect_corrupt(with_shape("[0,4611686018427387904]"), 8,
                 {"\"layer.weight\"", "sizes other than 0 that make 4611686018427387904 elements", "overflows"});
}

TEST_F(SafetensorsTest, RefusesOffsetsThatDoNotFit) {
  const auto with_offsets = [](const std::string& offsets) {
    return R"({"a":{"dtype":"F32","shape":[2],"data_offsets":)" + offsets + "}}";
  };
  expect_corrupt(with_offsets("[]"), 8, {"\"a\"", "0 data_offsets"});
  expect_corrupt(with_offsets("[0]"), 8, {"\"a\"", "1 data_offsets"});
  expect_corrupt(with_offsets("[0,8,8]"), 8, {"\"a\"", "more than two"});
  expect_corrupt(with_offsets("[8,0]"), 8, {"\"a\"", "bytes 8 to 0"});
  expect_corrupt(with_offsets("[-8,0]"), 8, {"\"a\"", "-8"});
  expect_corrupt(with_offsets("[0,8.0]"), 8, {"\"a\"", "8.0"});
  expect_corrupt(with_offsets("[0,1e1]"), 8, {"\"a\"", "1e1"});
  expect_corrupt(with_offsets("[0,18446744073709551616]"), 8, {"\"a\"", "18446744073709551616"});
  expect_corrupt(with_offsets("[0,[8]]"), 8, {"\"a\"", "an array in its data_offsets"});
  expect_corrupt(with_offsets("[0,8]"), 7, {"\"a\"", "bytes 0 to 8", "only 7 bytes"});
  expect_corrupt(with_offsets("[18446744073709551608,18446744073709551615]"), 8, {"\"a\"", "only 8 bytes"});
  expect_corrupt(with_offsets("[0,4]"), 4, {"\"a\"", "4 bytes", "8 bytes"});
  expect_corrupt(with_offsets("[0,16]"), 16, {"\"a\"", "16 bytes", "8 bytes"});
  expect_corrupt(with_offsets("[4,12]"), 12, {"\"a\"", "bytes 0 to 4"});
  expect_corrupt(with_offsets("[0,8]"), 9, {"end at byte 8", "9 bytes"});
}

TEST_F(SafetensorsTest, RefusesOverlapsHolesAndNamesThatComeTwice) {
  const auto two = [](const std::string& second_name, const std::string& second) {
    return R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},")" + second_name + R"(":)" + second + "}";
  };
  expect_corrupt(two("b", R"({"dtype":"U8","shape":[4],"data_offsets":[3,7]})"), 7,
                 {"\"b\"", "byte 3", "\"a\"", "byte 4"});
  expect_corrupt(two("b", R"({"dtype":"U8","shape":[4],"data_offsets":[0,4]})"), 4, {"\"a\"", "\"b\""});
  expect_corrupt(two("b", R"({"dtype":"U8","shape":[0],"data_offsets":[2,2]})"), 4, {"\"b\"", "\"a\""});
  expect_corrupt(two("b", R"({"dtype":"U8","shape":[4],"data_offsets":[6,10]})"), 10, {"bytes 4 to 6", "\"b\""});
  expect_corrupt(two("b", R"({"dtype":"U8","shape":[0],"data_offsets":[6,6]})"), 6, {"bytes 4 to 6", "\"b\""});
  expect_corrupt(two("a", R"({"dtype":"U8","shape":[4],"data_offsets":[4,8]})"), 8, {"\"a\" twice"});
  expect_corrupt(two("\\u0061", R"({"dtype":"U8","shape":[4],"data_offsets":[4,8]})"), 8, {"\"a\" twice"});
  // A tensor of an unknown dtype has no size to check, but its bytes must not overlap others.
  expect_corrupt(two("b", R"({"dtype":"Q3","shape":[4],"data_offsets":[3,7]})"), 7, {"\"b\"", "\"a\""});
}

// As the format's own reader does.
TEST_F(SafetensorsTest, TakesMetadataThatIsNullAndIgnoresFurtherMembersOfTensors) {
  EXPECT_EQ(SafetensorsFile(write_file(R"({"__metadata__":null})", "").c_str()).num_tensors(), 0u);
  const std::string header =
      R"({"__metadata__":null,"a":{"more":[1,{"dtype":[null,-1.5]},"x"],"dtype":"U8","of":{"shape":{}},"shape":[4],)"
      R"("e":null,"f":true,"g":-1,"data_offsets":[0,4],"h":1e9}})";
  const std::string path = write_file(header, "abcd");
  const SafetensorsFile file(path.c_str());
  const SafetensorsEntry* const entry = file.find("a");
  ASSERT_NE(entry, nullptr);
  EXPECT_EQ(entry->shape, Shape({4}));
  char bytes[4];
  file.read(*entry, bytes);
  EXPECT_EQ(std::string(bytes, 4), "abcd");
  expect_corrupt(R"({"a":{"dtype":"U8","shape":[4],"offsets":[0,4]}})", 4, {"\"a\"", "no data_offsets"});
  expect_corrupt(R"({"a":{"x":1,"dtype":1}})", 0, {"\"a\"", "1 as its dtype"});
}

TEST_F(SafetensorsTest, GivesTensorsTheNamesThatSaveModelNotes) {
  const std::string one = R"("b":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}})";
  const std::string path =
      write_file(R"({"__metadata__":{"format":"pt","a":"b","c":"b","d":"e","b":"b"},)" + one, "abcd");
  SafetensorsFile file(path.c_str());
  EXPECT_EQ(file.num_tensors(), 1u);
  file.add_noted_names();
  ASSERT_EQ(file.num_tensors(), 3u);
  EXPECT_EQ(file.name(0), "a");
  EXPECT_EQ(file.name(1), "b");
  EXPECT_EQ(file.name(2), "c");
  EXPECT_EQ(file.find("a"), file.find("b"));
  EXPECT_EQ(&file.stored(2), file.find("b"));
  EXPECT_FALSE(file.contains("d"));
  EXPECT_TRUE(file.has_other_name("b"));
  EXPECT_FALSE(file.has_other_name("a"));
}

TEST_F(SafetensorsTest, RemovesAPrefixFromEveryName) {
  const std::string path =
      write_file(R"({"__metadata__":{"x.c":"x.b"},"x.a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},)"
                 R"("x.b":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}})",
                 "ab");
  SafetensorsFile file(path.c_str());
  file.add_noted_names();
  file.remove_prefix("x.");
  file.add_name("d", "a");
  ASSERT_EQ(file.num_tensors(), 4u);
  const char* const names[] = {"a", "b", "c", "d"};
  for (size_t i = 0; i < 4; ++i) EXPECT_EQ(file.name(i), names[i]);
  char byte = 0;
  file.read(*file.find("b"), &byte);
  EXPECT_EQ(byte, 'b');
  EXPECT_EQ(file.find("c"), file.find("b"));
  EXPECT_EQ(file.find("d"), file.find("a"));
  EXPECT_EQ(&file.stored(3), &file.stored(0));
  EXPECT_EQ(file.find("x.a"), nullptr);
  EXPECT_TRUE(file.has_other_name("a"));
  EXPECT_TRUE(file.has_other_name("b"));
  EXPECT_FALSE(file.has_other_name("c"));
  EXPECT_EQ(file.name_in_file("b"), "x.b");
}

TEST_F(SafetensorsTest, RefusesMetadataThatIsNotStrings) {
  for (const char* value : {"1", "-1", "1.5", "null", "true", "[]", "{}"}) {
    expect_corrupt(std::string(R"({"__metadata__":{"k":)") + value + "}}", 0, {"__metadata__"});
  }
  for (const char* value : {"1", "[]", "\"x\""}) {
    expect_corrupt(std::string(R"({"__metadata__":)") + value + "}", 0, {"__metadata__"});
  }
  expect_corrupt(R"({"__metadata__":{"k":"1","k":"2"}})", 0, {"__metadata__", "\"k\" twice"});
  expect_corrupt(R"({"__metadata__":{},"__metadata__":{}})", 0, {"__metadata__ twice"});
}

TEST_F(SafetensorsTest, RefusesDeepNestingAtItsFirstBracket) {
  const std::string deep(5'000'000, '[');
  expect_corrupt(R"({"a":)" + deep, 0, {"\"a\"", "an array"});
  expect_corrupt(R"({"a":{"dtype":"F32","shape":)" + deep, 0, {"\"a\"", "an array as size 0"});
  std::string objects;
  for (int i = 0; i < 200'000; ++i) objects += R"({"a":)";
  expect_corrupt(objects, 0, {"\"a\""});
}

TEST_F(SafetensorsTest, ShowsHostileNamesOnOneShortLine) {
  const std::string long_name(100'000, 'n');
  expect_corrupt("{\"" + long_name + "\":1}", 0, {"nnn...nnn", "is 1 in the header"});
  expect_corrupt(R"({"line\nbreak\u0000":1})", 0, {R"("line\x0Abreak\x00")", "is 1 in the header"});
  // The name is cut between escapes, whatever the bytes before are.
  for (const char* beginning : {"", "x", "xy", "xyz"}) {
    std::string umlauts = beginning;
    for (int i = 0; i < 1000; ++i) umlauts += "\xC3\xBC";
    expect_corrupt("{\"" + umlauts + "\":1}", 0, {"...\\x", "\\xBC\" is 1 in the header"});
  }
  const ThrownError failure = failure_of([] { SafetensorsFile opened("no/\xC3\xBC/\n"); });
  EXPECT_EQ(failure.text, "cannot open \"no/\\xC3\\xBC/\\x0A\": No such file or directory");
}

TEST_F(SafetensorsTest, NamesAPathThatCannotBeRead) {
  const auto open = [](const std::string& path) { return failure_of([&] { SafetensorsFile opened(path.c_str()); }); };
  const ThrownError missing = open(path("missing"));
  EXPECT_EQ(missing.status, Status::Io);
  EXPECT_TRUE(mentions(missing.text, path("missing")) && mentions(missing.text, "No such file")) << missing.text;

  const ThrownError empty = open("");
  EXPECT_EQ(empty.status, Status::Io);
  EXPECT_TRUE(mentions(empty.text, "No such file")) << empty.text;

  const ThrownError directory = open(folder.string());
  EXPECT_EQ(directory.status, Status::Io);
  EXPECT_TRUE(mentions(directory.text, folder.string()) && mentions(directory.text, "a directory")) << directory.text;

  ASSERT_TRUE(make_pipe(path("pipe").c_str()));
  const ThrownError pipe = open(path("pipe"));
  EXPECT_EQ(pipe.status, Status::Io);
  EXPECT_TRUE(mentions(pipe.text, "expected a regular file")) << pipe.text;

  // The superuser can read any file.
  if (!is_superuser()) {
    write_file(kOne, std::string(8, '\0'));
    fs::permissions(path(), fs::perms::none);
    const ThrownError unreadable = open(path());
    EXPECT_EQ(unreadable.status, Status::Io);
    EXPECT_TRUE(mentions(unreadable.text, "Permission denied")) << unreadable.text;
  }
}

TEST_F(SafetensorsTest, NoticesAFileThatShrinksAfterItsOpening) {
  write_file(kOne, std::string(8, '\1'));
  const SafetensorsFile file(path().c_str());
  fs::resize_file(path(), fs::file_size(path()) - 1);
  float numbers[2] = {};
  const ThrownError failure = failure_of([&] { file.read(*file.find("a"), numbers); });
  EXPECT_EQ(failure.status, Status::Io);
  EXPECT_TRUE(mentions(failure.text, "file.safetensors") && mentions(failure.text, "it ended at byte")) << failure.text;
}

TEST_F(SafetensorsTest, MemoryIsReadAndWrittenLikeAFile) {
  const float numbers[] = {3, 4};
  const NamedTensor tensor{"a", DType::F32, {2}, numbers};
  save_safetensors(path().c_str(), std::span(&tensor, 1));
  const std::string bytes = read_bytes(path());

  ASSERT_EQ(save_safetensors_to_memory(nullptr, 0, std::span(&tensor, 1)), bytes.size());
  std::string memory(bytes.size(), '~');
  EXPECT_EQ(save_safetensors_to_memory(memory.data(), memory.size(), std::span(&tensor, 1)), bytes.size());
  EXPECT_EQ(memory, bytes);
  memory.assign(bytes.size(), '~');
  const ThrownError failure =
      failure_of([&] { save_safetensors_to_memory(memory.data(), bytes.size() - 1, std::span(&tensor, 1)); });
  EXPECT_EQ(failure.status, Status::InvalidArgument);
  EXPECT_EQ(failure.text, "capacity is " + std::to_string(bytes.size() - 1) + ", expected at least " +
                              std::to_string(bytes.size()) + " bytes");
  EXPECT_EQ(memory, std::string(bytes.size(), '~'));

  const SafetensorsFile file(std::make_unique<const MemorySource>(bytes.data(), bytes.size()));
  EXPECT_EQ(file.path(), "memory");
  float read[2] = {};
  file.read(*file.find("a"), read);
  EXPECT_TRUE(std::equal(std::begin(numbers), std::end(numbers), read));
}

TEST_F(SafetensorsTest, SizesThatOverflowTogetherAreRefused) {
  // Each has the largest size of a tensor; two of them and a header exceed 2^64.
  const uint8_t byte = 0;
  const Shape largest = {std::numeric_limits<int64_t>::max()};
  const NamedTensor tensors[] = {{"a", DType::U8, largest, &byte}, {"b", DType::U8, largest, &byte}};
  const ThrownError failure = failure_of([&] { save_safetensors_to_memory(nullptr, 0, tensors); });
  EXPECT_EQ(failure.status, Status::InvalidArgument);
  EXPECT_EQ(failure.text, "cannot write \"memory\": tensor \"b\" makes the file's size overflow");
}

TEST_F(SafetensorsTest, RefusesToSaveNamesThatItCouldNotRead) {
  const float number = 1;
  const auto save = [&](const std::vector<NamedTensor>& tensors) {
    const ThrownError failure = failure_of([&] { save_safetensors(path().c_str(), tensors); });
    EXPECT_EQ(failure.status, Status::InvalidArgument) << failure.text;
    EXPECT_EQ(num_files(), 0u);
    return failure.text;
  };
  const NamedTensor good = {"a", DType::F32, {}, &number};
  EXPECT_TRUE(mentions(save({good, good}), "\"a\" is given twice"));
  EXPECT_TRUE(mentions(save({{"__metadata__", DType::F32, {}, &number}}), "metadata"));
  EXPECT_TRUE(mentions(save({{"\xFF", DType::F32, {}, &number}}), "not UTF-8"));
  EXPECT_TRUE(mentions(save({{"a", DType::F32, {-1}, &number}}), "negative"));
  EXPECT_TRUE(mentions(save({{"a", DType::F32, {int64_t{1} << 40, int64_t{1} << 40}, &number}}), "overflow"));
  EXPECT_TRUE(mentions(save({{"a", DType::F32, {1}, nullptr}}), "no data"));
}

TEST_F(SafetensorsTest, AFailedSaveLeavesTheOldFileAndNothingElse) {
  const float number = 1;
  const NamedTensor tensor = {"a", DType::F32, {}, &number};
  save_safetensors(path().c_str(), std::span(&tensor, 1));
  const std::string before = read_bytes(path());

  const NamedTensor bad[] = {tensor, tensor};
  EXPECT_EQ(failure_of([&] { save_safetensors(path().c_str(), bad); }).status, Status::InvalidArgument);

  // Address 16 cannot be read, so the system call fails in the middle of the data.
  const NamedTensor unreadable = {"b", DType::U8, {4096}, reinterpret_cast<const void*>(16)};
  const ThrownError failure = failure_of([&] { save_safetensors(path().c_str(), std::span(&unreadable, 1)); });
  EXPECT_EQ(failure.status, Status::Io);
  EXPECT_TRUE(mentions(failure.text, path()) && mentions(failure.text, "Bad address")) << failure.text;

  EXPECT_EQ(read_bytes(path()), before);
  EXPECT_EQ(num_files(), 1u);
}

TEST_F(SafetensorsTest, ReplacesAFileWhileAnotherReaderKeepsTheOldOne) {
  const float old_number = 1;
  const float new_number = 2;
  const NamedTensor old_tensor = {"a", DType::F32, {}, &old_number};
  const NamedTensor new_tensor = {"a", DType::F32, {}, &new_number};
  save_safetensors(path().c_str(), std::span(&old_tensor, 1));
  fs::permissions(path(), fs::perms::owner_read | fs::perms::owner_write);
  fs::create_symlink("file.safetensors", path("link"));
  const SafetensorsFile old_file(path().c_str());
  save_safetensors(path("link").c_str(), std::span(&new_tensor, 1));

  float number = 0;
  old_file.read(*old_file.find("a"), &number);
  EXPECT_EQ(number, old_number);
  const SafetensorsFile new_file(path().c_str());
  new_file.read(*new_file.find("a"), &number);
  EXPECT_EQ(number, new_number);
  EXPECT_TRUE(fs::is_symlink(path("link")));
  EXPECT_EQ(fs::status(path()).permissions(), fs::perms::owner_read | fs::perms::owner_write);
  EXPECT_EQ(num_files(), 2u);
}

TEST_F(SafetensorsTest, NamesAPathThatCannotBeWritten) {
  const float number = 1;
  const NamedTensor tensor = {"a", DType::F32, {}, &number};
  const auto save = [&](const std::string& path) {
    const ThrownError failure = failure_of([&] { save_safetensors(path.c_str(), std::span(&tensor, 1)); });
    EXPECT_EQ(failure.status, Status::Io) << path;
    EXPECT_TRUE(path.empty() || mentions(failure.text, "\"" + path + "\"")) << failure.text;
    return failure.text;
  };
  EXPECT_TRUE(mentions(save(path("no/such/folder")), "No such file"));
  EXPECT_TRUE(mentions(save(folder.string()), "a directory"));
  EXPECT_TRUE(mentions(save("/dev/null"), "expected a regular file"));
  save("");
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
  EXPECT_EQ(num_files(), 0u);
  if (!is_superuser()) {
    fs::permissions(folder, fs::perms::owner_read | fs::perms::owner_exec);
    EXPECT_TRUE(mentions(save(path()), "Permission denied"));
    fs::permissions(folder, fs::perms::owner_all);
    write_bytes("old");
    fs::permissions(path(), fs::perms::owner_read);
    EXPECT_TRUE(mentions(save(path()), "Permission denied"));
    EXPECT_EQ(read_bytes(path()), "old");
  }
  // The longest file name.
  save_safetensors(path(std::string(255, 'f')).c_str(), std::span(&tensor, 1));
  EXPECT_TRUE(fs::exists(path(std::string(255, 'f'))));
}

}  // namespace
}  // namespace heed
