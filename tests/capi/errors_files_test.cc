// SPDX-License-Identifier: Apache-2.0
// Files that are missing, truncated or wrong, and files without a layer's parameters.
#include <gtest/gtest.h>

#include <filesystem>

#include "capi/support/attention_call.h"
#include "capi/support/files.h"
#include "capi/support/refusal.h"
#include "support/platform/limits.h"
#include "support/platform/threads.h"

namespace heed::capi_test {
namespace {

// The header of a file with tensor "a", F32, (2, 3), bytes 0 to 24. The caller changes one of these.
std::string header_of(const std::string& dtype, const std::string& shape, const std::string& offsets) {
  return R"({"a":{"dtype":)" + dtype + R"(,"shape":)" + shape + R"(,"data_offsets":)" + offsets + "}}";
}

const std::string kGoodHeader = header_of(R"("F32")", "[2,3]", "[0,24]");

class FileErrors : public testing::Test {
 protected:
  std::function<heed_status(OutParameters&)> load(const std::string& path, const char* name = "a") {
    return [this, path, name](OutParameters& out) {
      return heed_tensor_load_safetensors(context_.get(), path.c_str(), name, &out.tensor);
    };
  }

  const TemporaryFolder folder_;
  const Context context_ = make_context();
};

TEST_F(FileErrors, FilesThatCannotBeRead) {
  expect_refused({
      {"missing", load(folder_.path("none")), {HEED_ERROR_IO, {"none", "No such file"}}},
      {"a folder", load(folder_.path("")), {HEED_ERROR_IO, {"directory"}}},
      {"below a file", load(folder_.write("plain", "") + "/a"), {HEED_ERROR_IO, {"plain/a", "Not a directory"}}},
      {"an empty path", load(""), {HEED_ERROR_IO, {"No such file"}}},
  });
}

TEST_F(FileErrors, FilesThatEndTooEarly) {
  const std::string whole = safetensors(kGoodHeader, 24);
  heed_tensor* tensor = nullptr;
  ASSERT_EQ(heed_tensor_load_safetensors(context_.get(), folder_.write("whole", whole).c_str(), "a", &tensor), HEED_OK)
      << heed_last_error();
  heed_tensor_destroy(tensor);
  for (size_t num_bytes = 0; num_bytes < whole.size(); ++num_bytes) {
    const std::string path = folder_.write("cut", whole.substr(0, num_bytes));
    expect_refused({{"cut", load(path), {HEED_ERROR_CORRUPT_FILE, {"cut"}}}});
  }
  const std::string path = folder_.write("long", whole + "x");
  expect_refused({{"one byte too many", load(path), {HEED_ERROR_CORRUPT_FILE, {"long", "24", "25"}}}});
}

TEST_F(FileErrors, HeadersThatAreWrong) {
  struct Lie {
    const char* what;
    std::string header;
    std::vector<std::string> words;
  };
  const std::string first = R"("a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]})";
  const std::string a = R"("a":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]})";
  const std::vector<Lie> lies = {
      {"nothing", "", {"header"}},
      {"not JSON", "{\"a\":", {"JSON"}},
      {"no object", "[]", {"header"}},
      {"a zero byte", kGoodHeader + std::string(3, '\0'), {"zero byte"}},
      {"dtype is a number", header_of("3", "[2,3]", "[0,24]"), {"\"a\"", "dtype"}},
      {"a negative size", header_of(R"("F32")", "[2,-3]", "[0,24]"), {"\"a\"", "-3", "shape"}},
      {"a fractional size", header_of(R"("F32")", "[2,3.0]", "[0,24]"), {"\"a\"", "3.0", "shape"}},
      {"sizes that overflow", header_of(R"("F32")", "[4294967296,4294967296]", "[0,24]"), {"\"a\"", "shape"}},
      {"a size of 2^64", header_of(R"("F32")", "[18446744073709551616]", "[0,24]"), {"\"a\"", "18446744073709551616"}},
      {"fewer bytes than elements", header_of(R"("F32")", "[2,4]", "[0,24]"), {"\"a\"", "24", "32"}},
      {"more bytes than elements", header_of(R"("F32")", "[2,2]", "[0,24]"), {"\"a\"", "24", "16"}},
      {"beyond the end", header_of(R"("F32")", "[2,4]", "[0,32]"), {"\"a\"", "32", "24"}},
      {"backwards", header_of(R"("F32")", "[2,3]", "[24,0]"), {"\"a\"", "24", "0"}},
      {"offsets that wrap round", header_of(R"("F32")", "[2,3]", "[18446744073709551600,8]"), {"\"a\""}},
      {"one offset", header_of(R"("F32")", "[2,3]", "[0]"), {"\"a\"", "data_offsets"}},
      {"three offsets", header_of(R"("F32")", "[2,3]", "[0,24,24]"), {"\"a\"", "data_offsets"}},
      {"no dtype", R"({"a":{"shape":[2,3],"data_offsets":[0,24]}})", {"\"a\"", "dtype"}},
      {"no shape", R"({"a":{"dtype":"F32","data_offsets":[0,24]}})", {"\"a\"", "shape"}},
      {"no offsets", R"({"a":{"dtype":"F32","shape":[2,3]}})", {"\"a\"", "data_offsets"}},
      {"the name twice", "{" + a + "," + a + "}", {"\"a\"", "twice"}},
      {"two tensors in one place",
       "{" + first + R"(,"b":{"dtype":"F32","shape":[5],"data_offsets":[4,24]}})",
       {"\"a\"", "\"b\"", "4", "8"}},
      {"a gap", "{" + first + R"(,"b":{"dtype":"F32","shape":[3],"data_offsets":[12,24]}})", {"\"b\"", "8", "12"}},
      {"deep nesting", R"({"a":)" + std::string(100000, '[') + std::string(100000, ']') + "}", {"\"a\""}},
  };
  for (const Lie& lie : lies) {
    const std::string path = folder_.write("lie", safetensors(lie.header, 24));
    expect_refused({{lie.what, load(path), {HEED_ERROR_CORRUPT_FILE, lie.words}}});
    // Loading a layer from the file reports the same.
    const Layer layer = make_multi_head(context_.get(), two_heads());
    EXPECT_TRUE(is_refused(heed_layer_load(layer.get(), path.c_str(), nullptr), {HEED_ERROR_CORRUPT_FILE, lie.words}));
  }

  std::string long_header = safetensors(kGoodHeader, 24);
  long_header.replace(0, 8, "\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF");
  expect_refused({{"a header of 2^64 - 1 bytes",
                   load(folder_.write("long", long_header)),
                   {HEED_ERROR_CORRUPT_FILE, {"header", "18446744073709551615"}}}});
}

TEST_F(FileErrors, TensorsThatAreMissingOrUnsupported) {
  const std::string good = folder_.write("good", safetensors(kGoodHeader, 24));
  const std::string other = folder_.write("other", safetensors(header_of(R"("U16")", "[12]", "[0,24]"), 24));
  const std::string unknown = folder_.write("unknown", safetensors(header_of(R"("F33")", "[2,3]", "[0,24]"), 24));
  const std::string ranked =
      folder_.write("ranked", safetensors(header_of(R"("F32")", "[1,1,1,1,1,1,1,2,3]", "[0,24]"), 24));
  expect_refused({
      {"another name", load(good, "b"), {HEED_ERROR_NOT_FOUND, {"good", "\"b\""}}},
      {"a longer name", load(good, "a.a"), {HEED_ERROR_NOT_FOUND, {"\"a.a\""}}},
      {"the metadata's name", load(good, "__metadata__"), {HEED_ERROR_NOT_FOUND, {"__metadata__"}}},
      {"a dtype of the format", load(other), {HEED_ERROR_UNSUPPORTED, {"\"a\"", "U16"}}},
      {"a dtype of no format", load(unknown), {HEED_ERROR_UNSUPPORTED, {"\"a\"", "F33"}}},
      {"rank 9", load(ranked), {HEED_ERROR_UNSUPPORTED, {"\"a\"", "9", "8"}}},
  });
}

// The header of a file with the parameters of two_heads(); `changed` is the name of one whose dims are replaced.
std::string layer_file(const std::string& prefix, const std::string& changed = "", const std::string& dims = "",
                       const std::string& dtype = "F32", const std::string& without = "",
                       const std::string& extra = "") {
  struct Parameter {
    std::string name;
    std::string dims;
    size_t num_elements;
  };
  std::vector<Parameter> parameters = {{"W_q.weight", "8,6", 48},
                                       {"W_k.weight", "8,7", 56},
                                       {"W_v.weight", "8,9", 72},
                                       {"W_o.weight", "8,8", 64},
                                       {"unrelated", "3", 3}};
  if (!extra.empty()) parameters.push_back({extra, "8", 8});
  std::string header;
  size_t offset = 0;
  for (const Parameter& parameter : parameters) {
    if (parameter.name == without) continue;
    const bool is_changed = parameter.name == changed;
    const size_t end = offset + 4 * parameter.num_elements;
    header += (header.empty() ? "{\"" : ",\"") + prefix + parameter.name + R"(":{"dtype":")" +
              (is_changed ? dtype : "F32") + R"(","shape":[)" + (is_changed ? dims : parameter.dims) +
              R"(],"data_offsets":[)" + std::to_string(offset) + "," + std::to_string(end) + "]}";
    offset = end;
  }
  return safetensors(header + "}", offset);
}

TEST_F(FileErrors, AFailedLoadLeavesTheLayerUnchanged) {
  AttentionCall call(Kind::MultiHead);
  ASSERT_EQ(call.forward(), HEED_OK) << heed_last_error();
  const std::vector<uint8_t> before = call.read_outputs();
  heed_layer* const layer = call.layer.get();
  const auto load_layer = [&](const std::string& bytes, const char* prefix = nullptr) {
    static int number = 0;
    const std::string path = folder_.write("layer" + std::to_string(number++), bytes);
    return [=](OutParameters&) { return heed_layer_load(layer, path.c_str(), prefix); };
  };
  expect_refused({
      {"a missing file",
       [&](OutParameters&) { return heed_layer_load(layer, folder_.path("none").c_str(), nullptr); },
       {HEED_ERROR_IO, {"none"}}},
      {"the last is missing",
       load_layer(layer_file("", "", "", "F32", "W_o.weight")),
       {HEED_ERROR_NOT_FOUND, {"\"W_o.weight\""}}},
      {"another prefix",
       load_layer(layer_file("encoder."), "decoder"),
       {HEED_ERROR_NOT_FOUND, {"\"decoder.W_q.weight\""}}},
      {"a prefix with two dots",
       load_layer(layer_file("encoder."), "encoder.."),
       {HEED_ERROR_NOT_FOUND, {"\"encoder...W_q.weight\""}}},
      {"no prefix", load_layer(layer_file("encoder.")), {HEED_ERROR_NOT_FOUND, {"\"W_q.weight\""}}},
      {"a bias that the options lack",
       load_layer(layer_file("", "", "", "F32", "", "W_q.bias")),
       {HEED_ERROR_INVALID_ARGUMENT, {"\"W_q.bias\"", "options"}}},
      {"the same with a prefix",
       load_layer(layer_file("encoder.", "", "", "F32", "", "W_o.bias"), "encoder"),
       {HEED_ERROR_INVALID_ARGUMENT, {"\"encoder.W_o.bias\"", "options"}}},
      {"a parameter of additive scoring",
       load_layer(layer_file("", "", "", "F32", "", "w_v.weight")),
       {HEED_ERROR_INVALID_ARGUMENT, {"\"w_v.weight\"", "options"}}},
      {"another shape",
       load_layer(layer_file("", "W_v.weight", "9,8")),
       {HEED_ERROR_INVALID_ARGUMENT, {"W_v.weight", "(9, 8)", "(8, 9)"}}},
      {"another shape, with a prefix",
       load_layer(layer_file("encoder.", "W_v.weight", "72"), "encoder"),
       {HEED_ERROR_INVALID_ARGUMENT, {"encoder.W_v.weight", "(72)", "(8, 9)"}}},
      {"integers",
       load_layer(layer_file("", "W_o.weight", "8,8", "I32")),
       {HEED_ERROR_INVALID_ARGUMENT, {"W_o.weight", "I32"}}},
      {"a dtype that heed lacks",
       load_layer(layer_file("", "W_o.weight", "8,8", "U32")),
       {HEED_ERROR_UNSUPPORTED, {"W_o.weight", "U32"}}},
  });
  ASSERT_EQ(call.forward(), HEED_OK) << heed_last_error();
  EXPECT_EQ(call.read_outputs(), before) << "a refused file changed the layer";

  // A layer without parameters is still without parameters.
  const Layer fresh = make_multi_head(context_.get(), two_heads());
  const std::string path = folder_.write("fresh", layer_file("", "W_o.weight", "8,9"));
  EXPECT_TRUE(
      is_refused(heed_layer_load(fresh.get(), path.c_str(), nullptr), {HEED_ERROR_CORRUPT_FILE, {"W_o.weight"}}));
  OutParameters out;
  EXPECT_TRUE(is_refused(heed_layer_parameter(fresh.get(), "W_q.weight", &out.tensor),
                         {HEED_ERROR_NOT_INITIALIZED, {"W_q.weight"}}));
}

TEST_F(FileErrors, AFailedSaveLeavesTheOldFile) {
  const AttentionCall call(Kind::MultiHead);
  const heed_layer* layer = call.layer.get();
  expect_refused({
      {"into a missing folder",
       [&](OutParameters&) { return heed_layer_save(layer, folder_.path("none/file").c_str()); },
       {HEED_ERROR_IO, {"none/file", "No such file"}}},
      {"over a folder",
       [&](OutParameters&) { return heed_layer_save(layer, folder_.path("").c_str()); },
       {HEED_ERROR_IO, {"directory"}}},
      {"an empty path", [&](OutParameters&) { return heed_layer_save(layer, ""); }, {HEED_ERROR_IO, {}}},
  });
  const std::string old = folder_.write("old", "old contents");
  const Layer fresh = make_multi_head(context_.get(), two_heads());
  EXPECT_TRUE(is_refused(heed_layer_save(fresh.get(), old.c_str()), {HEED_ERROR_NOT_INITIALIZED, {}}));
  EXPECT_EQ(read_file(old), "old contents");
  EXPECT_EQ(folder_.file_names(), std::vector<std::string>{"old"});
}

// At this limit the system sends a signal that would end the process; heed blocks it.
TEST_F(FileErrors, ALimitOnTheSizeOfFilesIsAnErrorAsAnyOther) {
  const AttentionCall call(Kind::MultiHead);
  const Tensor tensor = make_tensor(context_.get(), {1000});
  const std::string old = folder_.write("old", "old contents");
  heed_status layer_status = HEED_OK;
  std::string layer_sentence;
  heed_status tensor_status = HEED_OK;
  {
    const FileSizeLimit limit(100);
    ASSERT_TRUE(limit.is_set());
    layer_status = heed_layer_save(call.layer.get(), old.c_str());
    layer_sentence = heed_last_error();
    tensor_status = heed_tensor_save_npy(tensor.get(), old.c_str());
  }

  EXPECT_EQ(layer_status, HEED_ERROR_IO);
  EXPECT_TRUE(layer_sentence.ends_with("old\": File too large")) << layer_sentence;
  EXPECT_EQ(tensor_status, HEED_ERROR_IO);
  EXPECT_EQ(read_file(old), "old contents");
  EXPECT_EQ(folder_.file_names(), std::vector<std::string>{"old"});
  EXPECT_FALSE(pending_signals().contains("SIGXFSZ")) << "it would end the process when the host unblocks it";
  EXPECT_FALSE(blocked_signals().contains("SIGXFSZ")) << "the thread's signals are not as they were";
}

TEST_F(FileErrors, MemoryThatIsTooSmallIsNotWritten) {
  const AttentionCall call(Kind::MultiHead);
  const heed_layer* layer = call.layer.get();
  size_t num_bytes = 0;
  check(heed_layer_save_memory(layer, nullptr, 0, &num_bytes));
  const std::string too_small(num_bytes - 1, '~');
  std::string memory = too_small;
  const auto save = [&](size_t capacity) {
    return [&, capacity](OutParameters& out) {
      return heed_layer_save_memory(layer, memory.data(), capacity, &out.num_bytes);
    };
  };
  const std::string needed = std::to_string(num_bytes);
  expect_refused({
      {"one byte too small",
       save(num_bytes - 1),
       {HEED_ERROR_INVALID_ARGUMENT,
        {"capacity is " + std::to_string(num_bytes - 1) + ", expected at least " + needed + " bytes"}}},
      {"nothing", save(0), {HEED_ERROR_INVALID_ARGUMENT, {"capacity is 0, expected at least " + needed + " bytes"}}},
  });
  EXPECT_EQ(memory, too_small);
  const Layer fresh = make_multi_head(context_.get(), two_heads());
  expect_refused({{"not initialized",
                   [&](OutParameters& out) {
                     return heed_layer_save_memory(fresh.get(), memory.data(), memory.size(), &out.num_bytes);
                   },
                   {HEED_ERROR_NOT_INITIALIZED, {"W_q.weight"}}}});
  EXPECT_EQ(memory, too_small);
}

TEST_F(FileErrors, MemoryThatIsNotAFileIsRefused) {
  const Layer layer = make_multi_head(context_.get(), two_heads());
  const std::string whole = layer_file("");
  const auto load = [&](size_t num_bytes) {
    return [&, num_bytes](OutParameters&) {
      return heed_layer_load_memory(layer.get(), whole.data(), num_bytes, nullptr);
    };
  };
  for (const size_t num_bytes : {size_t{0}, size_t{7}, size_t{8}, size_t{100}, whole.size() - 1})
    expect_refused({{"cut", load(num_bytes), {HEED_ERROR_CORRUPT_FILE, {"\"memory\": "}}}});
  EXPECT_EQ(heed_layer_is_initialized(layer.get()), 0);
  EXPECT_EQ(heed_layer_load_memory(layer.get(), whole.data(), whole.size(), nullptr), HEED_OK) << heed_last_error();
}

}  // namespace
}  // namespace heed::capi_test
