// SPDX-License-Identifier: Apache-2.0
// Backends in separate shared libraries, which are loaded when their device is first used.
#pragma once

#include "backends/backend.h"

namespace heed {

// The C function that a plugin exports, by name and type. The table that it returns has the layout of Backend only if
// its first member, `version`, is kBackendVersion.
inline constexpr const char* kPluginEntry = "heed_backend";
using PluginEntry = const Backend* (*)();

// The Ascend backend, from libheed_ascend.so. heed looks for it in the folder of the library or program that contains
// heed's code, then in the folders of HEED_PLUGIN_PATH, separated by colons. Loaded once in a process and never
// unloaded, since the driver's threads run in it. Throws DeviceUnavailable with a sentence that says what to do; the
// next call tries again.
const Backend& ascend_backend();

}  // namespace heed
