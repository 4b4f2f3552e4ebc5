// SPDX-License-Identifier: Apache-2.0
// The functions that report errors, and a device that is missing.
#include <gtest/gtest.h>

#include <string>
#include <thread>

#include "capi/support/objects.h"
#include "capi/support/refusal.h"

namespace heed::capi_test {
namespace {

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

TEST(Devices, TheCpuIsOne) { EXPECT_EQ(heed_device_count(HEED_DEVICE_CPU), 1); }

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

TEST(LastError, DestroyingNothingKeepsIt) {
  forget_last_error();
  const std::string before = heed_last_error();
  heed_context_destroy(nullptr);
  heed_tensor_destroy(nullptr);
  heed_layer_destroy(nullptr);
  heed_weights_destroy(nullptr);
  heed_workspace_destroy(nullptr);
  EXPECT_EQ(heed_last_error(), before);
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
