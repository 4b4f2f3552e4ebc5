// SPDX-License-Identifier: Apache-2.0
// Parts of a test in a forked child, and other programs.
#pragma once

#include <functional>

namespace heed {

// The thread sanitizer ends a child that makes threads where its parent had some.
#if defined(__SANITIZE_THREAD__)
inline constexpr bool kForkedChildMayHaveThreads = false;
#else
inline constexpr bool kForkedChildMayHaveThreads = true;
#endif

// Runs `work` in a child process, which ends without the destructors of the parent's objects. Returns what work returned,
// 0 to 255, or -1 where there was no child or it did not come to its end.
int exit_code_in_a_child(const std::function<int()>& work);

// Whether `work` ended in a child process without an exception and without a failure of the test.
bool succeeds_in_a_child(const std::function<void()>& work);

// Runs another program in the place of this one, searched in PATH; arguments[0] is its name, a null pointer the end.
// Returns only where that fails.
void become_program(char** arguments);

}  // namespace heed
