// SPDX-License-Identifier: Apache-2.0
// Files at the limits of the format, and tensors that the writer refuses before it creates a file.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "tensor/safetensors.h"

namespace heed {
namespace {

constexpr const char* kPath = "safetensors-bounds.tmp";

// A file that states the length of its header, followed by zeros.
class ZeroSource final : public ByteSource {
 public:
  ZeroSource(std::string header, uint64_t header_length, uint64_t num_bytes)
      : header_(std::move(header)), header_length_(header_length), num_bytes_(num_bytes) {}

  std::string_view name() const override { return name_; }
  uint64_t num_bytes() const override { return num_bytes_; }
  void read(uint64_t offset, void* destination, size_t num_bytes) const override {
    std::string begin(8, '\0');
    std::memcpy(begin.data(), &header_length_, begin.size());
    begin += header_;
    std::memset(destination, 0, num_bytes);
    if (offset < begin.size()) begin.copy(static_cast<char*>(destination), num_bytes, offset);
  }

 private:
  const std::string name_ = "zeros";
  std::string header_;
  uint64_t header_length_;
  uint64_t num_bytes_;
};

Error no_error() {
  Error error;
  error.status = Status::Ok;
  return error;
}

Error error_of_opening(const std::string& header, uint64_t header_length, uint64_t num_bytes) {
  try {
    SafetensorsFile file(std::make_unique<const ZeroSource>(header, header_length, num_bytes));
  } catch (const Error& error) {
    return error;
  }
  return no_error();
}

Error error_of_header(const std::string& header, uint64_t num_data_bytes) {
  return error_of_opening(header, header.size(), 8 + header.size() + num_data_bytes);
}

Error error_of_saving(const std::vector<NamedTensor>& tensors) {
  std::filesystem::remove(kPath);
  try {
    save_safetensors(kPath, tensors);
  } catch (const Error& error) {
    EXPECT_FALSE(std::filesystem::exists(kPath));
    return error;
  }
  return no_error();
}

std::string saved_header(const std::vector<NamedTensor>& tensors) {
  save_safetensors(kPath, tensors);
  std::ifstream file(kPath, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  std::filesystem::remove(kPath);
  uint64_t length = 0;
  std::memcpy(&length, bytes.data(), sizeof length);
  return bytes.substr(sizeof length, length);
}

TEST(SafetensorsBounds, AHeaderMayHaveTheLargestLengthAndNoMore) {
  constexpr uint64_t kMost = kMaxSafetensorsHeader;
  EXPECT_STREQ(error_of_opening("[]", kMost, kMost + 8).text,
               "\"zeros\": the header of 100000000 bytes does not begin with '{'");
  EXPECT_STREQ(error_of_opening("[]", kMost + 1, kMost + 9).text,
               "\"zeros\": the header's length is 100000001, expected at most 100000000");
}

TEST(SafetensorsBounds, NamesOfDtypesThatOnlyHeedUsesAreRefused) {
  const std::string header = R"({"a":{"dtype":"unknown","shape":[],"data_offsets":[0,1]}})";
  const SafetensorsFile file(std::make_unique<const ZeroSource>(header, header.size(), 9 + header.size()));
  try {
    file.find("a");
    FAIL() << "expected an error";
  } catch (const Error& error) {
    EXPECT_EQ(error.status, Status::Unsupported);
  }
}

TEST(SafetensorsBounds, RangesThatAreWrongByOneByte) {
  EXPECT_STREQ(error_of_header(R"({"a":{"dtype":"U8","shape":[0],"data_offsets":[1,0]}})", 1).text,
               "\"zeros\": tensor \"a\" lies at bytes 1 to 0, expected the end not to come before the beginning");
  EXPECT_STREQ(error_of_header(R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}})", 2).text,
               "\"zeros\": bytes 0 to 1 before tensor \"a\" belong to no tensor");
  EXPECT_STREQ(error_of_header(R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},)"
                               R"("b":{"dtype":"U8","shape":[2],"data_offsets":[1,2]}})",
                               2)
                   .text,
               "\"zeros\": tensor \"b\" lies in 1 bytes, but its 2 elements of U8 are 2 bytes");
}

TEST(SafetensorsBounds, TensorsThatCannotBeSaved) {
  const auto error_of_tensor = [](const Shape& shape, DType dtype) {
    return std::string(error_of_saving({{"a", dtype, shape, nullptr}}).text);
  };
  const std::string tensor = "cannot write \"safetensors-bounds.tmp\": tensor \"a\" ";
  EXPECT_EQ(error_of_tensor({1}, DType::U8), tensor + "has no data");
  EXPECT_EQ(error_of_tensor({INT64_MAX}, DType::U8), tensor + "has no data");
  EXPECT_EQ(error_of_tensor({INT64_MAX / 2 + 1}, DType::F16), tensor + "has sizes that overflow");
  EXPECT_EQ(error_of_tensor({INT64_MAX, 2}, DType::U8), tensor + "has sizes that overflow");
  EXPECT_EQ(error_of_tensor({INT64_MAX, INT64_MAX}, DType::U8), tensor + "has sizes that overflow");
  EXPECT_EQ(error_of_tensor({0}, DType::U8), "");
  std::filesystem::remove(kPath);
}

TEST(SafetensorsBounds, AFileThatCouldNotBeAddressed) {
  const char byte = 0;
  const Shape most{INT64_MAX};
  EXPECT_STREQ(
      error_of_saving({{"a", DType::U8, most, &byte}, {"b", DType::U8, most, &byte}, {"c", DType::U8, most, &byte}})
          .text,
      "cannot write \"safetensors-bounds.tmp\": tensor \"c\" makes the file's size overflow");
}

TEST(SafetensorsBounds, NamesThatMakeTheHeaderTooLarge) {
  const std::string name(kMaxSafetensorsHeader, 'x');
  const Error error = error_of_saving({{name, DType::U8, {0}, nullptr}});
  EXPECT_EQ(error.status, Status::InvalidArgument);
  EXPECT_STREQ(error.text,
               "cannot write \"safetensors-bounds.tmp\": the header would have 100000088 bytes, expected at most "
               "100000000");
}

TEST(SafetensorsBounds, HeadersArePaddedToTheNextMultipleOfEight) {
  for (size_t length = 1; length <= 16; ++length) {
    const std::string name(length, 'x');
    const std::string header = saved_header({{name, DType::U8, {0}, nullptr}});
    EXPECT_EQ(header.size() % 8, 0u);
    EXPECT_LT(header.size() - (header.find_last_not_of(' ') + 1), 8u) << header;
  }
}

TEST(SafetensorsBounds, OneByteIsSavedToMemoryToo) {
  const unsigned char seven = 7;
  const std::vector<NamedTensor> tensors{{"a", DType::U8, {1}, &seven}};
  std::vector<char> memory(save_safetensors_to_memory(nullptr, 0, tensors));
  ASSERT_EQ(save_safetensors_to_memory(memory.data(), memory.size(), tensors), memory.size());
  EXPECT_EQ(memory.back(), 7);
}

TEST(SafetensorsBounds, TensorsOfOneDTypeAreOrderedByName) {
  const float values[2] = {1, 2};
  const std::string header = saved_header({{"b", DType::F32, {1}, values}, {"a", DType::F32, {1}, values + 1}});
  EXPECT_LT(header.find("\"a\""), header.find("\"b\"")) << header;
}

}  // namespace
}  // namespace heed
