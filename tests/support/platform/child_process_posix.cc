// SPDX-License-Identifier: Apache-2.0
#include "support/platform/child_process.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <exception>

namespace heed {

int exit_code_in_a_child(const std::function<int()>& work) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(work());
  int status = 0;
  const bool has_ended = child > 0 && ::waitpid(child, &status, 0) == child && WIFEXITED(status);
  return has_ended ? WEXITSTATUS(status) : -1;
}

bool succeeds_in_a_child(const std::function<void()>& work) {
  return exit_code_in_a_child([&work] {
           try {
             work();
             return testing::Test::HasFailure() ? 1 : 0;
           } catch (const std::exception& failure) {
             std::fprintf(stderr, "in the child: %s\n", failure.what());
             return 1;
           }
         }) == 0;
}

}  // namespace heed
