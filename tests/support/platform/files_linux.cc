// SPDX-License-Identifier: Apache-2.0
#include "support/platform/files.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <stdexcept>

namespace heed {

bool make_link(const char* target, const char* path) { return ::symlink(target, path) == 0; }

bool make_pipe(const char* path) { return ::mkfifo(path, 0600) == 0; }

std::string make_unique_folder(const std::string& prefix) {
  std::string folder = prefix + "XXXXXX";
  if (::mkdtemp(folder.data()) == nullptr) throw std::runtime_error("no folder " + folder);
  return folder;
}

int64_t num_open_files() {
  return static_cast<int64_t>(std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {}));
}

bool is_superuser() { return ::geteuid() == 0; }

}  // namespace heed
