// SPDX-License-Identifier: Apache-2.0
// The first C++ exception that libheed meets may be one of the host. Each test makes no other call before, so that none
// fails, and the program must not have another test that does.
#include <gtest/gtest.h>
#include <heed/heed.h>

#include <stdexcept>

#include "capi/support/objects.h"

namespace heed::capi_test {
namespace {

TEST(FirstException, MayBeThatOfALogger) {
  heed_logger logger = HEED_LOGGER_INIT;
  logger.write = [](void*, int32_t, const char*) { throw std::runtime_error("a logger must not"); };
  heed_context_options options = HEED_CONTEXT_OPTIONS_INIT;
  options.logger = &logger;
  heed_context* context = nullptr;
  EXPECT_EQ(heed_context_create(&options, &context), HEED_OK);
  heed_context_destroy(context);
}

}  // namespace
}  // namespace heed::capi_test
