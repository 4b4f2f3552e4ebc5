// SPDX-License-Identifier: Apache-2.0
// Plugins that cannot be loaded, in folders below the one where the program runs, and one that can.
#include "ascend/errors_scene.h"
#include "support/platform/environment.h"

namespace heed::ascend_test {
namespace {

struct Scene {};

}  // namespace

errors_test::Topic plugins() {
  return {"The plugin and the libraries that it needs",
          "Until a plugin has been loaded, each call looks for it again. The folders stand for installations: `empty` "
          "has none; the\n"
          "libraries that `bare` wants are not found; `other_abi` finds ATB of the other C++ ABI; `later_release` "
          "wants a newer\n"
          "AscendCL, and `other_version` another heed.",
          {
              PROVOKE(heed_device_count(HEED_DEVICE_ASCEND), set_environment("HEED_PLUGIN_PATH", "empty")),
              PROVOKE(heed_device_count(HEED_DEVICE_ASCEND), set_environment("HEED_PLUGIN_PATH", "bare")),
              PROVOKE(heed_device_count(HEED_DEVICE_ASCEND), set_environment("HEED_PLUGIN_PATH", "other_abi")),
              PROVOKE(heed_device_count(HEED_DEVICE_ASCEND), set_environment("HEED_PLUGIN_PATH", "later_release")),
              PROVOKE(heed_device_count(HEED_DEVICE_ASCEND), set_environment("HEED_PLUGIN_PATH", "other_version")),
          }};
}

}  // namespace heed::ascend_test
