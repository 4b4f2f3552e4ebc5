// SPDX-License-Identifier: Apache-2.0
// What <filesystem> has not, or not on every system.
#pragma once

#include <cstdint>
#include <string>

namespace heed {

// A symbolic link to `target`, which need not exist. False where that fails.
bool make_link(const char* target, const char* path);

// A pipe with a name in the file system. False where that fails.
bool make_pipe(const char* path);

// A new folder in the working folder; its name is unique and begins with `prefix`.
std::string make_unique_folder(const std::string& prefix);

// The files, pipes and sockets that this process has open.
int64_t num_open_files();

// Whether this process may read and write every file, whatever its permissions.
bool is_superuser();

}  // namespace heed
