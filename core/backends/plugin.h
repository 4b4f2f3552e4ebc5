// SPDX-License-Identifier: Apache-2.0
// Backends in shared libraries of their own, which are loaded when a context first asks for their device.
#pragma once

#include "backends/backend.h"

namespace heed {

// What a plugin exports: a C function of this name and type. Its table has the layout of Backend where its first
// member, `version`, is kBackendVersion.
inline constexpr const char* kPluginEntry = "heed_backend";
using PluginEntry = const Backend* (*)();

// The Ascend backend, from libheed_ascend.so in the folder of the library or program that heed's code is in or, failing
// that, in one of the folders in HEED_PLUGIN_PATH, separated by colons. Loaded once in a process and never unloaded,
// since the driver's threads run in it. Throws DeviceUnavailable with what to do; then the next call tries again.
const Backend& ascend_backend();

}  // namespace heed
