// SPDX-License-Identifier: Apache-2.0
// Files that are truncated at every byte, saves that fail, and files in memory. Single sentences are in tests/errors.
#include <gtest/gtest.h>

#include <filesystem>

#include "capi/support/attention_call.h"
#include "capi/support/files.h"
#include "capi/support/refusal.h"
#include "support/platform/limits.h"
#include "support/platform/threads.h"

namespace heed::capi_test {
namespace {

const std::string kGoodHeader = R"({"a":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]}})";

class FileErrors : public testing::Test {
 protected:
  std::function<heed_status(OutParameters&)> load(const std::string& path) {
    return [this, path](OutParameters& out) {
      return heed_tensor_load_safetensors(context_.get(), path.c_str(), "a", &out.tensor);
    };
  }

  const TemporaryFolder folder_;
  const Context context_ = make_context();
};

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

// A file with the parameters of two_heads().
std::string file_of_projections() {
  return safetensors(R"({"W_q.weight":{"dtype":"F32","shape":[8,6],"data_offsets":[0,192]},)"
                     R"("W_k.weight":{"dtype":"F32","shape":[8,7],"data_offsets":[192,416]},)"
                     R"("W_v.weight":{"dtype":"F32","shape":[8,9],"data_offsets":[416,704]},)"
                     R"("W_o.weight":{"dtype":"F32","shape":[8,8],"data_offsets":[704,960]}})",
                     960);
}

TEST_F(FileErrors, MemoryThatIsNotAFileIsRefused) {
  const Layer layer = make_multi_head(context_.get(), two_heads());
  const std::string whole = file_of_projections();
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
