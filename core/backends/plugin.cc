// SPDX-License-Identifier: Apache-2.0
#include "backends/plugin.h"

#include <dlfcn.h>
#include <link.h>
#include <unistd.h>

#include <atomic>
#include <climits>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/shown_text.h"

namespace heed {
namespace {

constexpr const char* kFile = "libheed_ascend.so";
constexpr const char* kPathVariable = "HEED_PLUGIN_PATH";

// The file of the program that runs; empty where the system does not say.
std::string program_path() {
  std::string path(PATH_MAX, '\0');
  const ssize_t length = readlink("/proc/self/exe", path.data(), path.size());
  path.resize(length < 0 ? 0 : static_cast<size_t>(length));
  return path;
}

// Of the library or, where heed is linked into it, the program that this code is in; empty where the system does not say.
// dladdr's own name for a program is what it was called by, which may have no folder: that is not where it lies.
std::string own_folder() {
  Dl_info info;
  void* found = nullptr;
  const bool is_known = dladdr1(reinterpret_cast<void*>(&ascend_backend), &info, &found, RTLD_DL_LINKMAP) != 0;
  const char* name = is_known && found != nullptr ? static_cast<const link_map*>(found)->l_name : nullptr;
  // The program itself has no name there.
  const std::string path = name == nullptr || *name == '\0' ? program_path() : name;
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos) return path.empty() ? "" : ".";
  return path.substr(0, slash);
}

std::vector<std::string> folders() {
  std::vector<std::string> result;
  if (std::string own = own_folder(); !own.empty()) result.push_back(std::move(own));
  // Not for programs that run with another user's rights.
  const char* path = secure_getenv(kPathVariable);
  for (std::string_view rest = path == nullptr ? "" : path; !rest.empty();) {
    const size_t colon = rest.find(':');
    if (const std::string_view folder = rest.substr(0, colon); !folder.empty()) result.emplace_back(folder);
    rest = colon == std::string_view::npos ? std::string_view() : rest.substr(colon + 1);
  }
  return result;
}

[[noreturn]] void fail_missing(const std::vector<std::string>& tried) {
  std::string text;
  for (const std::string& folder : tried) text += (text.empty() ? "" : ", ") + ("\"" + shown(folder) + "\"");
  fail(Status::DeviceUnavailable,
       "device is HEED_DEVICE_ASCEND, but %s is not in %s: expected heed's Ascend plugin beside libheed, or its folder "
       "in %s",
       kFile, text.c_str(), kPathVariable);
}

// The loader's own words name what is missing.
[[noreturn]] void fail_loading(const std::string& path) {
  const char* reason = dlerror();
  const std::string_view text = reason == nullptr ? "the loader gives no reason" : reason;
  const char* cure =
      "expected the libraries of CANN and NNAL (ATB): source the set_env.sh of both before the program starts";
  // The one function of ATB whose symbol tells which C++ ABI it has.
  if (text.find("GetAtbVersion") != std::string_view::npos) {
    cure =
        "the plugin was built for the other C++ ABI of ATB: source its set_env.sh with the other --cxx_abi, or build "
        "the "
        "plugin for this one";
  } else if (text.find("undefined symbol") != std::string_view::npos) {
    cure =
        "CANN or ATB is of another release than the plugin was built with: build the plugin against the one installed";
  }
  fail(Status::DeviceUnavailable, "\"%s\" cannot be loaded (%s): %s", shown(path).c_str(), shown(text).c_str(), cure);
}

const Backend* load() {
  const std::vector<std::string> tried = folders();
  for (const std::string& folder : tried) {
    const std::string path = folder + "/" + kFile;
    if (access(path.c_str(), F_OK) != 0) continue;
    void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) fail_loading(path);
    const auto entry = reinterpret_cast<PluginEntry>(dlsym(library, kPluginEntry));
    const Backend* backend = entry == nullptr ? nullptr : entry();
    if (backend == nullptr || backend->version != kBackendVersion) {
      // Nothing of the driver has been called yet.
      const int32_t version = backend == nullptr ? 0 : backend->version;
      dlclose(library);
      fail(Status::DeviceUnavailable,
           "\"%s\" has interface version %d, expected %d: it was built for another heed, whose version it has to be of",
           shown(path).c_str(), version, kBackendVersion);
    }
    return backend;
  }
  fail_missing(tried);
}

}  // namespace

const Backend& ascend_backend() {
  // Two threads that load it at once get the same library.
  static std::atomic<const Backend*> loaded{nullptr};
  const Backend* backend = loaded.load(std::memory_order_acquire);
  if (backend == nullptr) {
    backend = load();
    loaded.store(backend, std::memory_order_release);
  }
  return *backend;
}

}  // namespace heed
