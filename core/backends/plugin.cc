// SPDX-License-Identifier: Apache-2.0
#include "backends/plugin.h"

#include <atomic>
#include <cstddef>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/shown_text.h"
#include "platform/library.h"
#include "platform/process.h"

namespace heed {
namespace {

constexpr std::string_view kLibrary = "heed_ascend";
constexpr const char* kPathVariable = "HEED_PLUGIN_PATH";

std::vector<std::string> folders() {
  std::vector<std::string> result;
  if (std::string own = platform::own_folder(); !own.empty()) result.push_back(std::move(own));
  const char* path = platform::safe_environment(kPathVariable);
  for (std::string_view rest = path == nullptr ? "" : path; !rest.empty();) {
    const size_t end = rest.find(platform::kPathListSeparator);
    if (const std::string_view folder = rest.substr(0, end); !folder.empty()) result.emplace_back(folder);
    rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 1);
  }
  return result;
}

[[noreturn]] void fail_missing(const std::vector<std::string>& tried) {
  std::string text;
  for (const std::string& folder : tried) text += (text.empty() ? "" : ", ") + ("\"" + shown(folder) + "\"");
  fail(Status::DeviceUnavailable,
       "device is " CONSTANT("HEED_DEVICE_ASCEND") ", but %s is not in %s: expected heed's Ascend plugin beside "
"libheed, or its folder in %s",
       platform::library_file(kLibrary).c_str(), text.c_str(), kPathVariable);
}

// `reason` is the text of the loader, which names what is missing.
[[noreturn]] void fail_loading(const std::string& path, std::string_view reason) {
  const char* cure =
      "expected the libraries of CANN and NNAL (ATB): source the set_env.sh of both before the program starts";
  // The only function of ATB whose symbol depends on the C++ ABI.
  if (reason.find("GetAtbVersion") != std::string_view::npos) {
    cure =
        "the plugin was built for the other C++ ABI of ATB: source its set_env.sh with the other --cxx_abi, or build "
        "the plugin for this one";
  } else if (reason.find("undefined symbol") != std::string_view::npos) {
    cure =
        "CANN or ATB is of another release than the plugin was built with: build the plugin against the one installed";
  }
  fail(Status::DeviceUnavailable, "\"%s\" cannot be loaded (%s): %s", shown(path).c_str(), shown(reason).c_str(), cure);
}

// Returns 0 if the plugin has no table. The table of every version begins with its version. The table of another version
// may have another alignment, so the number is copied as bytes.
int32_t version_of(const Backend* backend) {
  static_assert(offsetof(Backend, version) == 0);
  int32_t version = 0;
  if (backend != nullptr) std::memcpy(&version, static_cast<const void*>(backend), sizeof version);
  return version;
}

const Backend* load() {
  const std::vector<std::string> tried = folders();
  for (const std::string& folder : tried) {
    const std::string path = folder + "/" + platform::library_file(kLibrary);
    if (!platform::is_library_there(path.c_str())) continue;
    std::string reason;
    void* library = platform::load_library(path.c_str(), &reason);
    if (library == nullptr) fail_loading(path, reason);
    const auto entry = reinterpret_cast<PluginEntry>(platform::find_function(library, kPluginEntry));
    const Backend* backend = entry == nullptr ? nullptr : entry();
    const int32_t version = version_of(backend);
    if (version != kBackendVersion) {
      // The library can be unloaded: no function of the driver has been called yet, so none of its threads runs in it.
      platform::unload_library(library);
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
  // If two threads load it at the same time, both get the same library.
  static std::atomic<const Backend*> loaded{nullptr};
  const Backend* backend = loaded.load(std::memory_order_acquire);
  if (backend == nullptr) {
    backend = load();
    loaded.store(backend, std::memory_order_release);
  }
  return *backend;
}

}  // namespace heed
