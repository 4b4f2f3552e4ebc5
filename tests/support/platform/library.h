// SPDX-License-Identifier: Apache-2.0
// Shared libraries that are loaded while a test runs.
#pragma once

#include <string>

namespace heed {

// Null where the library cannot be loaded; then load_failure() says why.
void* open_library(const char* path);
std::string load_failure();
// A library that is loaded already; null where it is not. It counts as one more use of the library.
void* open_loaded_library(const char* path);
void close_library(void* library);
// Null where the library exports no such function.
void* find_in_library(void* library, const char* name);

}  // namespace heed
