// SPDX-License-Identifier: Apache-2.0
// Makes a call for every error sentence of the Ascend backend, on the simulator, and compares the sentences with the
// last part of docs/ascend.md, which scripts/errors writes from here.
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "ascend/errors_scene.h"
#include "errors/said_lines.h"

namespace heed::ascend_test {
namespace {

constexpr const char* kPage = HEED_SOURCE_DIR "/docs/ascend.md";
constexpr const char* kHeading = "\n## Errors\n";

constexpr const char* kIntroduction = R"(
Every sentence that only an Ascend NPU can give, with its status (without `HEED_ERROR_`) and a call that gets it on the simulator; all
others are in [errors.md](errors.md). A test makes these calls and writes this list: `scripts/errors` brings it up to date.

| status | what to do |
|---|---|
| `DEVICE_UNAVAILABLE` | install or source what the sentence names; until then, `HEED_DEVICE_CPU` |
| `UNSUPPORTED` | convert the tensors to F16 or BF16, or allow reduced precision; exchange tensors through the CPU |
| `NOT_FASTEST` | change the call as the reason says, or open a context that is not strict: then the CPU does it |
| `OUT_OF_MEMORY` | destroy tensors, make smaller batches, or stop other processes on the device (`npu-smi info`); every object is as it was |
| `DEVICE_LOST` | destroy every context, tensor and layer on the device and open a new context; see [A device that fails](#a-device-that-fails) |
| `INTERNAL` | set `ASCEND_SLOG_PRINT_TO_STDOUT=1` and `ASCEND_GLOBAL_LOG_LEVEL=1`, run once more, and report sentence and log as a defect of heed |
)";

// The page before the list.
std::string beginning() {
  std::ostringstream text;
  text << std::ifstream(kPage).rdbuf();
  const std::string page = text.str();
  return page.substr(0, page.find(kHeading));
}

class Errors : public Simulated {
 protected:
  static void SetUpTestSuite() {
    // The plugins are in folders below this one. Those that cannot be loaded come first, since the one that can be
    // loaded stays loaded.
    const std::filesystem::path before = std::filesystem::current_path();
    std::filesystem::current_path(HEED_PLUGINS);
    list = new errors_test::List({plugins(), devices(), precision(), gaps(), failures()}, unprovoked());
    std::filesystem::current_path(before);
  }
  static void TearDownTestSuite() { delete list; }

  static inline const errors_test::List* list = nullptr;
};

TEST_F(Errors, EachCallIsRefusedWithASentenceOfItsOwn) { list->expect_helpful(); }

TEST_F(Errors, EachIsSaidInJavaAndInCsharp) { errors_test::write_said(HEED_SAID_FILE); }

TEST_F(Errors, TheListInDocsIsUpToDate) {
  errors_test::expect_page(kPage, beginning() + kHeading + kIntroduction + list->text("###"));
}

}  // namespace
}  // namespace heed::ascend_test
