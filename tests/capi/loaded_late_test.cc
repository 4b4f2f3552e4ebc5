// SPDX-License-Identifier: Apache-2.0
// heed as the bindings load it: by dlopen while the program runs. Its thread-local data must exist without an
// allocation, because otherwise the system's loader ends the process when a new thread reports its first error without
// memory.
#include <gtest/gtest.h>
#include <heed/heed.h>

#include <chrono>
#include <string>
#include <thread>

#include "support/platform/allocation_hook.h"
#include "support/platform/files.h"
#include "support/platform/library.h"
#include "support/platform/threads.h"

namespace heed::capi_test {
namespace {

TEST(LoadedLate, ReportsInANewThreadThatMemoryHasRunOut) {
  void* library = open_library(HEED_LIBRARY);
  ASSERT_NE(library, nullptr) << load_failure();
  const auto create = reinterpret_cast<decltype(&heed_context_create)>(find_in_library(library, "heed_context_create"));
  const auto last_error = reinterpret_cast<decltype(&heed_last_error)>(find_in_library(library, "heed_last_error"));
  ASSERT_NE(create, nullptr);
  ASSERT_NE(last_error, nullptr);
  std::string text;
  text.reserve(1000);
  heed_status status = HEED_OK;
  heed_context* context = nullptr;
  std::thread([&] {
    const FailAllocations none_left(1, true);
    status = create(nullptr, &context);
    text = last_error();
  }).join();
  EXPECT_EQ(status, HEED_ERROR_OUT_OF_MEMORY);
  EXPECT_NE(text.find("memory"), std::string::npos) << text;
  EXPECT_EQ(context, nullptr);
  close_library(library);
}

// libheed, loaded as long as this object lives.
class Library {
 public:
  Library() : handle_(open_library(HEED_LIBRARY)) { EXPECT_NE(handle_, nullptr) << load_failure(); }
  ~Library() { close_library(handle_); }
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;

  // `declared` is only used for its type.
  template <typename Function>
  Function* find(const char* name, Function* /*declared*/) const {
    auto* found = reinterpret_cast<Function*>(find_in_library(handle_, name));
    EXPECT_NE(found, nullptr) << name;
    return found;
  }

 private:
  void* handle_;
};

// NOLINTNEXTLINE(bugprone-macro-parentheses): a type is no expression
#define FIND(library, function) (library).find(#function, decltype (&function)(nullptr))

// Attention from creating the context to the output, with one failing call, on one thread.
void use(const Library& library, const char* prefix) {
  const auto last_status = FIND(library, heed_last_status);
  const auto last_error = FIND(library, heed_last_error);
  EXPECT_EQ(last_status(), HEED_OK) << prefix;
  EXPECT_STREQ(last_error(), "") << prefix;

  heed_context* context = nullptr;
  heed_context_options wrong = HEED_CONTEXT_OPTIONS_INIT;
  wrong.num_threads = -1;
  EXPECT_EQ(FIND(library, heed_context_create)(&wrong, &context), HEED_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(last_status(), HEED_ERROR_INVALID_ARGUMENT);
  EXPECT_NE(std::string(last_error()).find("num_threads is -1"), std::string::npos) << last_error();
  ASSERT_EQ(FIND(library, heed_context_create)(nullptr, &context), HEED_OK) << last_error();

  heed_multi_head_attention_options options = HEED_MULTI_HEAD_ATTENTION_OPTIONS_INIT;
  options.num_hiddens = 8;
  options.num_heads = 2;
  const int64_t dims[] = {2, 3, 8};
  heed_layer* layer = nullptr;
  heed_tensor* words = nullptr;
  heed_layer_inputs inputs = HEED_LAYER_INPUTS_INIT;
  heed_layer_outputs outputs = HEED_LAYER_OUTPUTS_INIT;
  ASSERT_EQ(FIND(library, heed_multi_head_attention_create)(context, &options, &layer), HEED_OK) << last_error();
  ASSERT_EQ(FIND(library, heed_tensor_create)(context, HEED_F32, 3, dims, &words), HEED_OK) << last_error();
  inputs.queries = words;
  ASSERT_EQ(FIND(library, heed_layer_initialize)(layer, &inputs, 1), HEED_OK) << last_error();
  ASSERT_EQ(FIND(library, heed_layer_create_outputs)(layer, &inputs, HEED_WANT_OUTPUT, &outputs), HEED_OK);
  EXPECT_EQ(FIND(library, heed_layer_forward)(layer, &inputs, nullptr, &outputs), HEED_OK) << last_error();
  FIND(library, heed_tensor_destroy)(outputs.output);
  FIND(library, heed_tensor_destroy)(words);
  FIND(library, heed_layer_destroy)(layer);
  FIND(library, heed_context_destroy)(context);
}

struct Resources {
  int64_t blocks;
  int64_t descriptors;
  int64_t threads;
  bool operator==(const Resources&) const = default;
};

// After joining, the system may list a thread for a moment longer.
int64_t num_threads_left() {
  int64_t count = 0;
  for (int attempt = 0; attempt < 1000; ++attempt) {
    count = num_threads();
    if (count == 1) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return count;
}

Resources resources() {
  // Counted first, since listing a folder allocates blocks for a while.
  const int64_t descriptors = num_open_files();
  const int64_t threads = num_threads_left();
  return {num_live_blocks(), descriptors, threads};
}

TEST(LoadedLate, CanBeLoadedAndUnloadedAHundredTimes) {
  Resources warm{};
  for (int round = 0; round < 100; ++round) {
    {
      const Library library;
      use(library, "in the first thread");
      // Each thread has its own last error, in memory that is freed with the library.
      std::thread([&library] { use(library, "in a new thread"); }).join();
    }
    ASSERT_EQ(open_loaded_library(HEED_LIBRARY), nullptr) << "the library is still loaded";
    // After a few rounds the loader and the C++ library have allocated what they keep.
    if (round == 10) warm = resources();
    if (round > 10) {
      ASSERT_TRUE(resources() == warm) << "round " << round << ": " << resources().blocks - warm.blocks << " blocks, "
                                       << resources().descriptors - warm.descriptors << " descriptors and "
                                       << resources().threads - warm.threads << " threads more";
    }
  }
}

}  // namespace
}  // namespace heed::capi_test
