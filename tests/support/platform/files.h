// SPDX-License-Identifier: Apache-2.0
// Functions on files that <filesystem> lacks, or lacks on some systems.
#pragma once

#include <cstdint>
#include <string>

namespace heed {

// Creates a symbolic link to `target`, which need not exist. False on failure.
bool make_link(const char* target, const char* path);

// Creates a named pipe. False on failure.
bool make_pipe(const char* path);

// Creates a folder in the working folder, with a unique name that begins with `prefix`.
std::string make_unique_folder(const std::string& prefix);

// The number of files, pipes and sockets that this process has open.
int64_t num_open_files();

// Whether this process may read and write every file, even against its permissions.
bool is_superuser();

}  // namespace heed
