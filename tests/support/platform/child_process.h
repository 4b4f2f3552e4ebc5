// SPDX-License-Identifier: Apache-2.0
// Running parts of a test in a forked child, and running other programs.
#pragma once

#include <functional>

namespace heed {

// The thread sanitizer ends a forked child that creates threads if its parent had some.
#if defined(__SANITIZE_THREAD__)
inline constexpr bool kForkedChildMayHaveThreads = false;
#else
inline constexpr bool kForkedChildMayHaveThreads = true;
#endif

// Runs `work` in a child process, which ends without calling the destructors of the parent's objects. Returns the
// result of work, 0 to 255, or -1 if no child could be created or it did not exit normally.
int exit_code_in_a_child(const std::function<int()>& work);

// Runs `work` in a child process. Returns whether it ended without an exception and without a failed expectation.
bool succeeds_in_a_child(const std::function<void()>& work);

// Replaces this program by another one, which is searched in PATH. arguments[0] is its name; a null pointer ends the
// arguments. Returns only on failure.
void become_program(char** arguments);

}  // namespace heed
