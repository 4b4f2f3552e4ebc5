// SPDX-License-Identifier: Apache-2.0
// Calls that get the errors of plugins that cannot be loaded. The plugins are in folders below the one in which the
// program runs.
#include "ascend/errors_scene.h"
#include "support/platform/environment.h"

namespace heed::ascend_test {
namespace {

struct Scene : errors_test::Stage {};

}  // namespace

errors_test::Topic plugins() {
  return {
      "The plugin and the libraries that it needs",
      "Until a plugin has been loaded, each call looks for it again. Each folder stands for an installation: `empty` "
      "contains no plugin; `bare` does\nnot find the libraries that it needs; `other_abi` finds ATB of the other C++ "
      "ABI; `later_release` needs a "
      "newer AscendCL; `other_version` was built for\nanother heed.",
      {
          PROVOKE(heed_device_count(HEED_DEVICE_ASCEND), set_environment("HEED_PLUGIN_PATH", "empty")),
          PROVOKE(heed_device_count(HEED_DEVICE_ASCEND), set_environment("HEED_PLUGIN_PATH", "bare")),
          PROVOKE(heed_device_count(HEED_DEVICE_ASCEND), set_environment("HEED_PLUGIN_PATH", "other_abi")),
          PROVOKE(heed_device_count(HEED_DEVICE_ASCEND), set_environment("HEED_PLUGIN_PATH", "later_release")),
          PROVOKE(heed_device_count(HEED_DEVICE_ASCEND), set_environment("HEED_PLUGIN_PATH", "other_version")),
      }};
}

}  // namespace heed::ascend_test
