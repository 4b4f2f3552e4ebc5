// SPDX-License-Identifier: Apache-2.0
// Shared libraries that are loaded while a test runs.
#pragma once

#include <string>

namespace heed {

// Null if the library cannot be loaded; then load_failure() returns the reason.
void* open_library(const char* path);
std::string load_failure();
// A library that is already loaded, or null. It must be closed like one from open_library.
void* open_loaded_library(const char* path);
void close_library(void* library);
// Null if the library exports no such function.
void* find_in_library(void* library, const char* name);

}  // namespace heed
