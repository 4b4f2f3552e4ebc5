// SPDX-License-Identifier: Apache-2.0
// No exception passes the barrier, and each kind becomes the right status.
#include <gtest/gtest.h>

#include <exception>
#include <new>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "errors.h"

namespace heed::capi {
namespace {

TEST(Barrier, StopsEveryException) {
  EXPECT_EQ(guarded([] { fail(Status::NotFound, "name is \"%s\"", "x"); }), HEED_ERROR_NOT_FOUND);
  EXPECT_STREQ(heed_last_error(), "name is \"x\"");
  EXPECT_EQ(guarded([] { throw std::bad_alloc(); }), HEED_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(heed_last_status(), HEED_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(guarded([] { throw std::logic_error("some check"); }), HEED_ERROR_INTERNAL);
  EXPECT_NE(std::string(heed_last_error()).find("some check"), std::string::npos);
  EXPECT_EQ(guarded([] { throw 42; }), HEED_ERROR_INTERNAL);
  EXPECT_EQ(guarded_value(-1, []() -> int { throw 42; }), -1);
}

// A handle with the members that memory_of needs.
struct LoggedHandle {
  Memory* memory;
};
const Memory& memory_of(const LoggedHandle& handle) { return *handle.memory; }

class LoggedMemory final : public Memory {
 public:
  using Memory::Memory;
  void* allocate(size_t, Contents) const override { return nullptr; }
  void release(void*, size_t) const noexcept override {}
  const char* device_name() const noexcept override { return "none"; }
};

// A logger's C++ library may be different from heed's. If it threw while heed handles an exception, it could end the
// process.
TEST(Barrier, CallsTheLoggerWhenTheExceptionHasBeenHandled) {
  struct Call {
    std::string text;
    bool is_handling;
    std::string last_error;
  };
  std::vector<Call> calls;
  const auto write = [](void* user, int32_t, const char* text) {
    static_cast<std::vector<Call>*>(user)->push_back({text, std::current_exception() != nullptr, heed_last_error()});
  };
  LoggedMemory memory({}, {write, &calls});
  const LoggedHandle handle{&memory};
  EXPECT_EQ(guarded("f", &handle, [] { fail(Status::Io, "first"); }), HEED_ERROR_IO);
  EXPECT_EQ(guarded_value("g", &handle, -1, []() -> int { throw 42; }), -1);
  EXPECT_EQ(heed_last_status(), HEED_ERROR_INTERNAL);
  ASSERT_EQ(calls.size(), 2u);
  EXPECT_EQ(calls[0].text, "f: first");
  EXPECT_EQ(calls[0].last_error, "first");
  EXPECT_EQ(calls[1].text, std::string("g: ") + heed_last_error());
  for (const Call& call : calls) EXPECT_FALSE(call.is_handling) << call.text;
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

TEST(Barrier, SentencesArePrintableAsciiAndCutToTheBuffer) {
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
