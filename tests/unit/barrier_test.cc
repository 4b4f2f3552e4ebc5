// SPDX-License-Identifier: Apache-2.0
// Nothing that a body can throw passes the barrier, and each kind becomes the right status.
#include <gtest/gtest.h>

#include <new>
#include <stdexcept>
#include <string>
#include <thread>

#include "errors.h"

namespace heed::capi {
namespace {

TEST(Barrier, StopsWhateverIsThrown) {
  EXPECT_EQ(guarded([] { fail(Status::NotFound, "name is \"%s\"", "x"); }), HEED_ERROR_NOT_FOUND);
  EXPECT_STREQ(heed_last_error(), "name is \"x\"");
  EXPECT_EQ(guarded([] { throw std::bad_alloc(); }), HEED_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(heed_last_status(), HEED_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(guarded([] { throw std::logic_error("some check"); }), HEED_ERROR_INTERNAL);
  EXPECT_NE(std::string(heed_last_error()).find("some check"), std::string::npos);
  EXPECT_EQ(guarded([] { throw 42; }), HEED_ERROR_INTERNAL);
  EXPECT_EQ(guarded_value(-1, []() -> int { throw 42; }), -1);
}

TEST(Barrier, SuccessLeavesTheLastErrorAlone) {
  guarded([] { fail(Status::Io, "before"); });
  EXPECT_EQ(guarded([] {}), HEED_OK);
  EXPECT_EQ(heed_last_status(), HEED_ERROR_IO);
  EXPECT_STREQ(heed_last_error(), "before");
}

TEST(Barrier, LastErrorBelongsToItsThread) {
  guarded([] { fail(Status::Io, "mine"); });
  std::thread([] {
    EXPECT_EQ(heed_last_status(), HEED_OK);
    EXPECT_STREQ(heed_last_error(), "");
    guarded([] { fail(Status::Busy, "another's"); });
  }).join();
  EXPECT_STREQ(heed_last_error(), "mine");
}

TEST(Barrier, SentencesArePrintableAsciiAndFit) {
  set_last_error(Status::Io, "caf\xc3\xa9\n");
  EXPECT_STREQ(heed_last_error(), "caf\\xc3\\xa9\\x0a");
  set_last_error(Status::Io, "\x1f\x20\x7e\x7f");
  EXPECT_STREQ(heed_last_error(), "\\x1f ~\\x7f");
  set_last_error(Status::Io, std::string(5000, 'x').c_str());
  EXPECT_EQ(std::string(heed_last_error()), std::string(kErrorCapacity - 1, 'x'));
  set_last_error(Status::Io, std::string(5000, '\n').c_str());
  EXPECT_LT(std::string(heed_last_error()).size(), kErrorCapacity);
}

}  // namespace
}  // namespace heed::capi
