// SPDX-License-Identifier: Apache-2.0
// own_folder uses functions of Linux (dladdr1, /proc); the rest is POSIX.
#include <dlfcn.h>
#include <link.h>
#include <unistd.h>

#include <climits>

#include "platform/library.h"

namespace heed::platform {
namespace {

// The file of the running program; empty if the system does not report it.
std::string program_path() {
  std::string path(PATH_MAX, '\0');
  const ssize_t length = ::readlink("/proc/self/exe", path.data(), path.size());
  path.resize(length < 0 ? 0 : static_cast<size_t>(length));
  return path;
}

}  // namespace

std::string library_file(std::string_view name) { return "lib" + std::string(name) + ".so"; }

// For a program, dladdr returns the name by which it was started, which may have no folder. So the path of a program is
// read from /proc.
std::string own_folder() {
  Dl_info info;
  void* found = nullptr;
  const bool is_known = ::dladdr1(reinterpret_cast<void*>(&own_folder), &info, &found, RTLD_DL_LINKMAP) != 0;
  const char* name = is_known && found != nullptr ? static_cast<const link_map*>(found)->l_name : nullptr;
  // The name of the program itself is empty there.
  const std::string path = name == nullptr || *name == '\0' ? program_path() : name;
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos) return path.empty() ? "" : ".";
  return path.substr(0, slash);
}

bool is_library_there(const char* path) noexcept { return ::access(path, F_OK) == 0; }

void* load_library(const char* path, std::string* reason) {
  void* library = ::dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* text = ::dlerror();
    *reason = text == nullptr ? "the loader gives no reason" : text;
  }
  return library;
}

void unload_library(void* library) noexcept { ::dlclose(library); }

LibraryFunction find_function(void* library, const char* name) noexcept {
  return reinterpret_cast<LibraryFunction>(::dlsym(library, name));
}

}  // namespace heed::platform
