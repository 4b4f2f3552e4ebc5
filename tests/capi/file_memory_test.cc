// SPDX-License-Identifier: Apache-2.0
// Files that would be expensive to open: the memory that opening one takes is bounded by its size, whatever its header
// says.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <memory>
#include <string>

#include "capi/support/attention_call.h"
#include "capi/support/files.h"
#include "capi/support/refusal.h"
#include "support/platform/allocation_hook.h"

namespace heed::capi_test {
namespace {

constexpr size_t kHeaderBytes = 1'000'000;

// `begin`, then unit(0), unit(1), ... until the header is large, then `end`.
template <typename Unit>
std::string repeated(const std::string& begin, Unit unit, const std::string& end) {
  std::string header = begin;
  for (int i = 0; header.size() < kHeaderBytes; ++i) header += unit(i);
  return header + end;
}

std::string always(const std::string& begin, const std::string& unit, const std::string& end) {
  return repeated(
      begin, [&unit](int) { return unit; }, end);
}

// The shortest entry of a tensor, under the shortest unused name.
std::string empty_tensor(int i) {
  return (i > 0 ? ",\"" : "\"") + std::to_string(i) + R"(":{"dtype":"U8","shape":[0],"data_offsets":[0,0]})";
}

struct Costly {
  const char* what;
  std::string header;
};

// Opening the file must fail with at most this much memory, and leave nothing allocated.
void expect_bounded(const std::string& file, int64_t most_per_byte, int64_t fixed) {
  const TemporaryFolder folder;
  const Context context = make_context();
  const std::string path = folder.write("costly", file);
  const int64_t live = num_live_blocks();
  heed_tensor* tensor = nullptr;
  const PeakOfBytes peak = PeakOfBytes::since_now();
  const heed_status status = heed_tensor_load_safetensors(context.get(), path.c_str(), "none", &tensor);
  const int64_t most = peak.bytes();
  EXPECT_NE(status, HEED_OK);
  EXPECT_NE(status, HEED_ERROR_OUT_OF_MEMORY);
  check(heed_context_trim(context.get()));
  EXPECT_EQ(num_live_blocks(), live) << "leaked";
  const auto num_bytes = static_cast<int64_t>(file.size());
  EXPECT_LE(most, most_per_byte * num_bytes + fixed) << static_cast<double>(most) / static_cast<double>(num_bytes);
}

TEST(FileMemory, IsBoundedByTheFilesSize) {
  // The text of the header, and its entries. The most expensive entry is the shortest: 53 bytes of text become an entry
  // of some 200 bytes, in a vector that doubles and then holds the old entries beside the new ones.
  constexpr int64_t kMostPerByte = 16;
  constexpr int64_t kFixed = 20'000;  // the path, an error message, an exception
  const Costly files[] = {
      {"many tensors", repeated("{", empty_tensor, "}")},
      {"many tensors of one name", always(R"({"a":{"dtype":"U8","shape":[0],"data_offsets":[0,0]})",
                                          R"(,"a":{"dtype":"U8","shape":[0],"data_offsets":[0,0]})", "}")},
      {"much metadata",
       repeated(R"({"__metadata__":{"":"")", [](int i) { return ",\"" + std::to_string(i) + "\":\"\""; }, "}}")},
      {"metadata of one name", always(R"({"__metadata__":{"":"")", R"(,"":"")", "}}")},
      {"a long name", always("{\"", "n", R"(":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}})")},
      {"a long name of escapes", always("{\"", "\\u0001", R"(":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}})")},
      {"a long dtype", always(R"({"a":{"dtype":")", "D", R"(","shape":[0],"data_offsets":[0,0]}})")},
      {"a long shape", always(R"({"a":{"dtype":"U8","shape":[0)", ",0", R"(],"data_offsets":[0,0]}})")},
      {"a long number", always(R"({"a":{"dtype":"U8","shape":[)", "9", R"(],"data_offsets":[0,0]}})")},
      {"many offsets", always(R"({"a":{"dtype":"U8","shape":[0],"data_offsets":[0)", ",0", "]}}")},
      {"deep nesting", always(R"({"a":)", "[", "")},
      {"deep objects", always(R"({"a":)", R"({"a":)", "")},
      {"spaces", always("{", " ", "}")},
      {"a name that does not end", always("{\"", "n", "")},
  };
  for (const Costly& costly : files) {
    SCOPED_TRACE(costly.what);
    expect_bounded(safetensors(costly.header, 0), kMostPerByte, kFixed);
  }
}

TEST(FileMemory, OfAnIndexIsBoundedByItsSize) {
  // The text of the index, and its entries. The most expensive is the shortest: 16 bytes in a list that doubles, then
  // 24 bytes for the name and 32 for the file.
  constexpr int64_t kMostPerByte = 16;
  constexpr int64_t kFixed = 20'000;
  const auto entries = [](const std::string& begin) {
    return repeated(R"({"weight_map":{"":"f")",
                    [&](int i) { return ",\"" + std::to_string(i) + "\":\"" + begin + "\""; }, "}}");
  };
  const auto files = [](int i) { return ",\"" + std::to_string(i) + "\":\"" + std::to_string(i) + "\""; };
  const Costly indexes[] = {
      {"many tensors", entries("f")},
      {"many tensors of one name", always(R"({"weight_map":{"":"f")", R"(,"":"f")", "}}")},
      {"many files", repeated(R"({"weight_map":{"":"f")", files, "}}")},
      {"a long name", always(R"({"weight_map":{")", "n", R"(":"f"}})")},
      {"a long file name", always(R"({"weight_map":{"n":")", "f", R"("}})")},
      {"much metadata", always(R"({"metadata":[0)", ",{}", R"(],"weight_map":{"n":"f"}})")},
      {"deep nesting", always(R"({"metadata":)", "[", "")},
      {"deep objects", always(R"({"metadata":)", R"({"a":)", "")},
      {"deep in the map", always(R"({"weight_map":)", R"({"a":)", "")},
      {"spaces", always(R"({"weight_map":{)", " ", "}}")},
      {"a name that does not end", always(R"({"weight_map":{")", "n", "")},
  };
  for (const Costly& costly : indexes) {
    SCOPED_TRACE(costly.what);
    expect_bounded(costly.header, kMostPerByte, kFixed);
  }
}

// Small files whose headers claim huge contents.
TEST(FileMemory, DoesNotDependOnTheSizesThatAHeaderClaims) {
  const std::string header =
      R"({"a":{"dtype":"U8","shape":[4611686018427387904],"data_offsets":[0,4611686018427387904]}})";
  std::string long_header = safetensors(header, 0);
  long_header.replace(0, 8, std::string("\x00\x00\x00\x00\x00\x00\x00\x40", 8));
  std::string header_at_the_limit = safetensors(header, 0);
  header_at_the_limit.replace(0, 8, std::string("\x00\xE1\xF5\x05\x00\x00\x00\x00", 8));  // 100,000,000
  const TemporaryFolder folder;
  AttentionCall call(Kind::MultiHead);
  for (const std::string& bytes : {safetensors(header, 8), long_header, header_at_the_limit}) {
    const std::string path = folder.write("promise", bytes);
    heed_tensor* tensor = nullptr;
    const PeakOfBytes peak = PeakOfBytes::since_now();
    EXPECT_TRUE(is_refused(heed_tensor_load_safetensors(call.context.get(), path.c_str(), "a", &tensor),
                           {HEED_ERROR_CORRUPT_FILE, {"promise"}}));
    EXPECT_TRUE(
        is_refused(heed_layer_load(call.layer.get(), path.c_str(), nullptr), {HEED_ERROR_CORRUPT_FILE, {"promise"}}));
    EXPECT_LE(peak.bytes(), 20'000);
  }
}

// The number of rows of a sequence is an element of the file.
TEST(FileMemory, DoesNotDependOnTheRowsThatACachesFileClaims) {
  const Context context = make_context();
  heed_cache_options options = HEED_CACHE_OPTIONS_INIT;
  options.num_kv_heads = options.head_size = options.capacity = 1;
  heed_cache* made = nullptr;
  check(heed_cache_create(context.get(), &options, &made));
  const std::unique_ptr<heed_cache, property::Destroyer<heed_cache_destroy>> cache(made);
  std::string file = safetensors(
      R"({"rows":{"dtype":"I64","shape":[5],"data_offsets":[0,40]},"rope":{"dtype":"U8","shape":[4],"data_offsets":[40,44]},)"
      R"("layers.0.keys":{"dtype":"F32","shape":[1,0,1],"data_offsets":[44,44]}})",
      44);
  const int64_t rows[] = {1, 2147483647, 0, 0, 0};
  std::memcpy(file.data() + file.size() - 44, rows, sizeof rows);
  const PeakOfBytes peak = PeakOfBytes::since_now();
  EXPECT_TRUE(is_refused(heed_cache_load_memory(cache.get(), 0, file.data(), file.size()),
                         invalid({"\"layers.0.keys\"", "(1, 0, 1)", "(1, 2147483647, 1)"})));
  EXPECT_LE(peak.bytes(), 20'000);
}

}  // namespace
}  // namespace heed::capi_test
