// SPDX-License-Identifier: Apache-2.0
#include "support/platform/library.h"

#include <dlfcn.h>

namespace heed {

void* open_library(const char* path) { return ::dlopen(path, RTLD_NOW | RTLD_LOCAL); }

std::string load_failure() {
  const char* text = ::dlerror();
  return text == nullptr ? "" : text;
}

void* open_loaded_library(const char* path) { return ::dlopen(path, RTLD_LAZY | RTLD_NOLOAD); }

void close_library(void* library) { ::dlclose(library); }

void* find_in_library(void* library, const char* name) { return ::dlsym(library, name); }

}  // namespace heed
