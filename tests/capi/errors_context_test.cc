// SPDX-License-Identifier: Apache-2.0
// Options with which no context can be created, and the functions that report errors.
#include <gtest/gtest.h>

#include <string>
#include <thread>

#include "capi/support/objects.h"
#include "capi/support/refusal.h"

namespace heed::capi_test {
namespace {

// heed_context_create with the macro's options after `change`.
template <typename Change>
std::function<heed_status(OutParameters&)> create_with(Change change) {
  return [change](OutParameters& out) {
    heed_context_options options = HEED_CONTEXT_OPTIONS_INIT;
    change(options);
    return heed_context_create(&options, &out.context);
  };
}

TEST(ContextErrors, OptionsOutOfRangeAreRefused) {
  using Options = heed_context_options;
  expect_refused({
      {"negative device",
       create_with([](Options& options) { options.device = -1; }),
       {HEED_ERROR_INVALID_ARGUMENT, {"device", "-1"}}},
      {"unknown device",
       create_with([](Options& options) { options.device = 2; }),
       {HEED_ERROR_INVALID_ARGUMENT, {"device", "2"}}},
      {"second CPU",
       create_with([](Options& options) { options.device_index = 1; }),
       {HEED_ERROR_INVALID_ARGUMENT, {"device_index", "1"}}},
      {"negative index",
       create_with([](Options& options) { options.device_index = -1; }),
       {HEED_ERROR_INVALID_ARGUMENT, {"device_index", "-1"}}},
      {"negative threads",
       create_with([](Options& options) { options.num_threads = -1; }),
       {HEED_ERROR_INVALID_ARGUMENT, {"num_threads", "-1", "1024"}}},
      {"too many threads",
       create_with([](Options& options) { options.num_threads = 1025; }),
       {HEED_ERROR_INVALID_ARGUMENT, {"num_threads", "1025", "1024"}}},
      {"strict 2",
       create_with([](Options& options) { options.strict = 2; }),
       {HEED_ERROR_INVALID_ARGUMENT, {"strict", "2"}}},
      {"strict -1",
       create_with([](Options& options) { options.strict = -1; }),
       {HEED_ERROR_INVALID_ARGUMENT, {"strict", "-1"}}},
      {"reduced precision 2",
       create_with([](Options& options) { options.allow_reduced_precision = 2; }),
       {HEED_ERROR_INVALID_ARGUMENT, {"allow_reduced_precision", "2"}}},
      {"flush_subnormals 2",
       create_with([](Options& options) { options.flush_subnormals = 2; }),
       {HEED_ERROR_INVALID_ARGUMENT, {"flush_subnormals", "2"}}},
  });
}

// heed_context_create with an executor of this number of threads.
auto create_with_executor(int64_t num_threads) {
  return create_with([num_threads](heed_context_options& options) {
    static heed_executor executor = HEED_EXECUTOR_INIT;
    executor.parallel_for = [](void*, int64_t, void (*)(void*, int64_t), void*) {};
    executor.num_threads = num_threads;
    options.executor = &executor;
  });
}

TEST(ContextErrors, OfExecutors) {
  static const heed_executor kEmpty = HEED_EXECUTOR_INIT;
  expect_refused({
      {"no function",
       create_with([](heed_context_options& options) { options.executor = &kEmpty; }),
       {HEED_ERROR_INVALID_ARGUMENT, {"options->executor->parallel_for", "NULL"}}},
      {"no threads",
       create_with_executor(0),
       {HEED_ERROR_INVALID_ARGUMENT, {"options->executor->num_threads is 0", "1 to 1024"}}},
      {"negative threads",
       create_with_executor(-1),
       {HEED_ERROR_INVALID_ARGUMENT, {"options->executor->num_threads is -1", "1 to 1024"}}},
      {"too many threads",
       create_with_executor(1025),
       {HEED_ERROR_INVALID_ARGUMENT, {"options->executor->num_threads is 1025", "1 to 1024"}}},
      {"more than 32 bits",
       create_with_executor((int64_t{1} << 32) + 1),
       {HEED_ERROR_INVALID_ARGUMENT, {"options->executor->num_threads is 4294967297", "1 to 1024"}}},
  });
}

TEST(ContextErrors, AMissingDeviceIsUnavailable) {
  heed_tensor_rank(nullptr);  // replaces the last error
  heed_context* context = nullptr;
  heed_context_options options = HEED_CONTEXT_OPTIONS_INIT;
  options.device = HEED_DEVICE_ASCEND;
  EXPECT_TRUE(is_refused(heed_context_create(&options, &context), {HEED_ERROR_DEVICE_UNAVAILABLE, {"ASCEND"}}));
  EXPECT_EQ(context, nullptr);

  heed_tensor_rank(nullptr);
  EXPECT_EQ(heed_device_count(HEED_DEVICE_ASCEND), 0);
  EXPECT_TRUE(is_refused(heed_last_status(), {HEED_ERROR_DEVICE_UNAVAILABLE, {"ASCEND"}}));
}

TEST(ContextErrors, DevicesAreCounted) {
  EXPECT_EQ(heed_device_count(HEED_DEVICE_CPU), 1);
  for (const int32_t unknown : {-1, 2, 1000}) {
    forget_last_error();
    EXPECT_EQ(heed_device_count(static_cast<heed_device>(unknown)), 0);
    EXPECT_TRUE(is_refused(heed_last_status(), {HEED_ERROR_INVALID_ARGUMENT, {"device", std::to_string(unknown)}}));
  }
}

TEST(LastError, SuccessKeepsIt) {
  forget_last_error();
  const std::string before = heed_last_error();
  const Context context = make_context();
  EXPECT_EQ(heed_context_synchronize(context.get()), HEED_OK);
  EXPECT_EQ(heed_last_status(), HEED_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(heed_last_error(), before);
}

TEST(LastError, BelongsToItsThread) {
  forget_last_error();
  const std::string before = heed_last_error();
  std::thread([&before] {
    EXPECT_EQ(heed_last_status(), HEED_OK);
    EXPECT_STREQ(heed_last_error(), "");
    heed_tensor_load_npy(nullptr, "nowhere.npy", nullptr);
    EXPECT_NE(heed_last_error(), before);
  }).join();
  EXPECT_EQ(heed_last_error(), before);
}

TEST(LastError, IsOneLineOfAsciiWhateverTheNamesHold) {
  const Context context = make_context();
  const std::string path = "no\nsuch \xC3\xA4\x01 folder/" + std::string(2000, 'x') + "/file";
  heed_tensor* tensor = nullptr;
  EXPECT_TRUE(is_refused(heed_tensor_load_safetensors(context.get(), path.c_str(), "name", &tensor),
                         {HEED_ERROR_IO, {"no\\x0Asuch \\xC3\\xA4\\x01"}}));
}

TEST(StatusName, IsTheEnumerators) {
  EXPECT_STREQ(heed_status_name(HEED_OK), "HEED_OK");
  EXPECT_STREQ(heed_status_name(HEED_ERROR_INVALID_ARGUMENT), "HEED_ERROR_INVALID_ARGUMENT");
  EXPECT_STREQ(heed_status_name(HEED_ERROR_OUT_OF_MEMORY), "HEED_ERROR_OUT_OF_MEMORY");
  EXPECT_STREQ(heed_status_name(HEED_ERROR_UNSUPPORTED), "HEED_ERROR_UNSUPPORTED");
  EXPECT_STREQ(heed_status_name(HEED_ERROR_NOT_INITIALIZED), "HEED_ERROR_NOT_INITIALIZED");
  EXPECT_STREQ(heed_status_name(HEED_ERROR_WORKSPACE_TOO_SMALL), "HEED_ERROR_WORKSPACE_TOO_SMALL");
  EXPECT_STREQ(heed_status_name(HEED_ERROR_BUSY), "HEED_ERROR_BUSY");
  EXPECT_STREQ(heed_status_name(HEED_ERROR_IO), "HEED_ERROR_IO");
  EXPECT_STREQ(heed_status_name(HEED_ERROR_CORRUPT_FILE), "HEED_ERROR_CORRUPT_FILE");
  EXPECT_STREQ(heed_status_name(HEED_ERROR_NOT_FOUND), "HEED_ERROR_NOT_FOUND");
  EXPECT_STREQ(heed_status_name(HEED_ERROR_CACHE_FULL), "HEED_ERROR_CACHE_FULL");
  EXPECT_STREQ(heed_status_name(HEED_ERROR_DEVICE_UNAVAILABLE), "HEED_ERROR_DEVICE_UNAVAILABLE");
  EXPECT_STREQ(heed_status_name(HEED_ERROR_DEVICE_LOST), "HEED_ERROR_DEVICE_LOST");
  EXPECT_STREQ(heed_status_name(HEED_ERROR_NOT_FASTEST), "HEED_ERROR_NOT_FASTEST");
  EXPECT_STREQ(heed_status_name(HEED_ERROR_INTERNAL), "HEED_ERROR_INTERNAL");
  EXPECT_STREQ(heed_status_name(HEED_ERROR_CANCELLED), "HEED_ERROR_CANCELLED");
  for (const int32_t unknown : {-1, 16, 1000000})
    EXPECT_STREQ(heed_status_name(static_cast<heed_status>(unknown)), "HEED_ERROR_UNKNOWN");
}

TEST(Version, AgreesWithTheHeader) {
  EXPECT_EQ(heed_version(), HEED_VERSION);
  const std::string text = std::to_string(HEED_VERSION_MAJOR) + "." + std::to_string(HEED_VERSION_MINOR) + "." +
                           std::to_string(HEED_VERSION_PATCH);
  EXPECT_EQ(heed_version_string(), text);
}

}  // namespace
}  // namespace heed::capi_test
