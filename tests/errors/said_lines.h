// SPDX-License-Identifier: Apache-2.0
// Sentences as Java and C# say them, for tests/bindings/check_words.py, which checks that no word of C is left.
#pragma once

#include <string>

namespace heed::errors_test {

// Adds this thread's last error to what write_said() writes.
void keep_said();

// One line for each different sentence: C's, Java's, C#'s, and its terms by role and name, with tabs between them.
void write_said(const std::string& path);

}  // namespace heed::errors_test
