// SPDX-License-Identifier: Apache-2.0
#include "backends/plugin.h"

#include <dlfcn.h>
#include <unistd.h>

#include <atomic>
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

// Of the library or program that this code is in; empty where the system does not say.
std::string own_folder() {
  Dl_info info;
  if (dladdr(reinterpret_cast<void*>(&ascend_backend), &info) == 0 || info.dli_fname == nullptr) return "";
  const std::string_view path = info.dli_fname;
  const size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? "." : std::string(path.substr(0, slash));
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
