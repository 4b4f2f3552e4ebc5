// SPDX-License-Identifier: Apache-2.0
// Every error sentence of heed with a call that gets it, held against docs/errors.md, which is written from here. Those
// of the Ascend backend are in docs/ascend.md.
#include "errors/list.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "capi/support/files.h"
#include "errors/provocation.h"

namespace heed::errors_test {
namespace {

constexpr const char* kBeginning = R"(# Errors

Every sentence that `heed_last_error()` can give, each with its status (without `HEED_ERROR_`) and a call that gets it. A test makes
these calls and writes this page: `scripts/errors` brings it up to date. What only an Ascend NPU can say is in [ascend.md](ascend.md#errors).
Exceptions of Java and C# say these sentences in the words of their language, by one table, `bindings/swig/words.c`: `options->num_heads`
is `numHeads` and `NumHeads` there, F32 `FLOAT32` and `Float32`, a tensor an array, a layer a block. What stands in quotes stays. What they refuse themselves is in [exceptions.md](exceptions.md).

| status | what to do |
|---|---|
| `INVALID_ARGUMENT` | mend the call: the sentence names the argument, what it was and what was expected |
| `OUT_OF_MEMORY` | free memory, or ask for less; every object is as it was before the call |
| `UNSUPPORTED` | the call is right, but this heed cannot do it: the sentence says what it can do instead |
| `NOT_INITIALIZED` | give the layer its parameters first: `heed_layer_load`, `heed_layer_initialize` or `heed_layer_set_parameter` |
| `WORKSPACE_TOO_SMALL` | ask `heed_layer_workspace_size`, or pass NULL |
| `BUSY` | give each thread a workspace of its own, or pass NULL |
| `IO` | the system's reason stands in the sentence: path, rights, space |
| `CORRUPT_FILE` | the file is damaged or was written wrongly: fetch or write it again |
| `NOT_FOUND` | the sentence tells which names there are, or which one is missing |
| `DEVICE_UNAVAILABLE` | install what the sentence names, or use `HEED_DEVICE_CPU` |
| `DEVICE_LOST` | destroy the context's objects, and open a new one |
| `NOT_FASTEST` | change the call as the reason says, or open a context that is not strict |
| `INTERNAL` | report the sentence as a defect of heed |

What the calls find: `context` on the CPU; `tensor` of F32 and dims (2, 3, 4), `shape_only` likewise without data; `layer`, multi-head
attention of `num_hiddens` 8 in 2 heads, as in `options`, with `inputs` (2, 3, 6), (2, 5, 7), (2, 5, 9) and `outputs` of a call that
works; `dot_product` with `heads` (2, 4, 3, 4), (2, 2, 5, 4), (2, 2, 5, 6) and `head_outputs`; `dims` {2, 3, 4, 1, ...}, `strides`
{12, 4, 1, 1, ...} and `axes` {0, 1, 2}. `tensor_of(dtype, sizes)` makes another tensor, `shape_of` one without data, `lengths` one of
these numbers, `layer_with(options)` a layer without parameters; `managed` lends `memory`, (2, 3, 4) of F32, by DLPack.
`result_by(parallel_for)` makes a tensor of F32 and dims (64, 1000) in a context with an executor of 2 threads. `part_outputs` and
`part_log_sum_exps` are two parts of an attention, (2, 3, 4) and (2, 3), `merged` is (2, 3, 4).
)";

// Files have short names, the same everywhere, in a folder of the test's own.
class Errors : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    const std::filesystem::path before = std::filesystem::current_path();
    const capi_test::TemporaryFolder folder;
    std::filesystem::current_path(folder.path(""));
    list = new List(
        {general(), contexts(), tensors(), views(), copies(), fills(), operations(), files(), npy_files(), dlpack(),
         layer_options(), layer_parameters(), weights(), weight_files(), layer_inputs(), layer_outputs()},
        unprovoked());
    std::filesystem::current_path(before);
  }
  static void TearDownTestSuite() { delete list; }

  static inline const List* list = nullptr;
};

TEST_F(Errors, EachCallIsRefusedWithASentenceOfItsOwn) { list->expect_helpful(); }

TEST_F(Errors, TheListInDocsIsThis) { expect_page(HEED_SOURCE_DIR "/docs/errors.md", kBeginning + list->text("##")); }

}  // namespace
}  // namespace heed::errors_test
