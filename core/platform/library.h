// SPDX-License-Identifier: Apache-2.0
// Shared libraries that are loaded while the program runs.
#pragma once

#include <string>
#include <string_view>

namespace heed::platform {

// The separator between two folders in an environment variable.
inline constexpr char kPathListSeparator = ':';

// The file name of a library, such as "libheed_ascend.so" for "heed_ascend".
std::string library_file(std::string_view name);

// The folder of the library that contains this code or, if heed is linked into a program, of the program; empty if the
// system does not report it.
std::string own_folder();

// Whether the file exists and its folder may be searched.
bool is_library_there(const char* path) noexcept;

// Null on failure; `reason` is then the loader's own text, which names what is missing.
void* load_library(const char* path, std::string* reason);
// No code of the library may be running or run later.
void unload_library(void* library) noexcept;

// A function that the library exports; null if it has none of that name.
using LibraryFunction = void (*)();
LibraryFunction find_function(void* library, const char* name) noexcept;

}  // namespace heed::platform
