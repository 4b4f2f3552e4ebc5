// SPDX-License-Identifier: Apache-2.0
// Part of a test in a forked child.
#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <exception>
#include <functional>

namespace heed::capi_test {

// Runs `work` in a child process; whether it came to its end without a failure. The child does not return to the test.
inline bool succeeds_in_a_child(const std::function<void()>& work) {
  const pid_t child = ::fork();
  if (child == 0) {
    bool has_failed = true;
    try {
      work();
      has_failed = testing::Test::HasFailure();
    } catch (const std::exception& failure) {
      std::fprintf(stderr, "in the child: %s\n", failure.what());
    }
    // Without the destructors of the parent's objects, which the test's end would run a second time.
    ::_exit(has_failed ? 1 : 0);
  }
  int status = 0;
  return child > 0 && ::waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

}  // namespace heed::capi_test
