// SPDX-License-Identifier: Apache-2.0
// Messages to a host's logger.
#include "base/logger.h"

#include <gtest/gtest.h>

#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/last_error.h"
#include "support/platform/threads.h"

namespace heed {
namespace {

// Records the messages, and calls a function of the test for each.
struct Recorder {
  std::function<void()> then;
  std::vector<std::string> texts;

  Logger logger() {
    return {[](void* user, int32_t level, const char* text) {
              auto& self = *static_cast<Recorder*>(user);
              self.texts.push_back(std::to_string(level) + " " + text);
              self.then();
            },
            this};
  }
};

void nothing() {}

TEST(Log, IsSilentWithoutALogger) {
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  log({}, LogLevel::Error, "%s", "unheard");
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

TEST(Log, HasTheLevelsOfTheHeader) {
  Recorder recorder{nothing, {}};
  log(recorder.logger(), LogLevel::Error, "a%d", 1);
  log(recorder.logger(), LogLevel::Warning, "b");
  log(recorder.logger(), LogLevel::Info, "c");
  log(recorder.logger(), LogLevel::Debug, "d");
  EXPECT_EQ(recorder.texts, (std::vector<std::string>{"1 a1", "2 b", "3 c", "4 d"}));
}

TEST(Log, IsOneLineOfAsciiThatFitsALongestError) {
  Recorder recorder{nothing, {}};
  log(recorder.logger(), LogLevel::Info, "caf\xc3\xa9\n");
  const std::string longest =
      "heed_a_function_with_a_long_name_of_some_60_letters_as_none_is: " + std::string(kErrorCapacity - 1, 'x');
  log(recorder.logger(), LogLevel::Info, "%s", longest.c_str());
  log(recorder.logger(), LogLevel::Info, "%s", std::string(5000, '\n').c_str());
  ASSERT_EQ(recorder.texts.size(), 3u);
  EXPECT_EQ(recorder.texts[0], "3 caf\\xc3\\xa9\\x0a");
  EXPECT_EQ(recorder.texts[1], "3 " + longest);
  EXPECT_LT(recorder.texts[2].size(), kLogCapacity + 2);
}

TEST(Log, DropsMessagesThatTheLoggerCauses) {
  Logger again;
  Recorder recorder{[&again] { log(again, LogLevel::Error, "inner"); }, {}};
  again = recorder.logger();
  log(again, LogLevel::Info, "outer");
  log(again, LogLevel::Info, "outer");
  EXPECT_EQ(recorder.texts, (std::vector<std::string>{"3 outer", "3 outer"}));
}

TEST(Log, KeepsTheLastError) {
  last_error() = {Status::Busy, {"before"}};
  Recorder recorder{[] { last_error() = {Status::Io, {"inside"}}; }, {}};
  log(recorder.logger(), LogLevel::Info, "message");
  EXPECT_EQ(last_error().status, Status::Busy);
  EXPECT_STREQ(last_error().sentence.text, "before");
}

TEST(Log, StopsExceptionsOfTheLogger) {
  Recorder recorder{[] { throw std::runtime_error("a logger must not"); }, {}};
  log(recorder.logger(), LogLevel::Info, "first");
  log(recorder.logger(), LogLevel::Info, "second");
  EXPECT_EQ(recorder.texts.size(), 2u);
}

TEST(Log, IsNoCancellationPoint) {
  Recorder recorder{cancellation_point, {}};
  const Logger logger = recorder.logger();
  bool came_back = false;
  EXPECT_TRUE(is_cancelled_in([&] {
    log(logger, LogLevel::Info, "message");
    came_back = true;
  }));
  EXPECT_TRUE(came_back);
}

}  // namespace
}  // namespace heed
