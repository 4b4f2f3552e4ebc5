// SPDX-License-Identifier: Apache-2.0
// Every error sentence of heed, with a call that causes it, compared with docs/errors.md, which is generated from this
// list. The sentences of the Ascend backend are in docs/ascend.md.
#include "errors/list.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "capi/support/files.h"
#include "errors/provocation.h"
#include "errors/said_lines.h"

namespace heed::errors_test {
namespace {

constexpr const char* kBeginning = R"(# Errors

Every sentence that `heed_last_error()` can return, each with its status (without `HEED_ERROR_`) and a call that provokes it. A test makes
these calls and generates this page; `scripts/errors` updates it. The sentences that only an Ascend NPU gives are in [ascend.md](ascend.md#errors).
Exceptions of Java and C# have the same sentences with the names of their language, of which `bindings/swig/said.c` has the rules: `options->num_heads`
becomes `numHeads` and `NumHeads`, F32 becomes `FLOAT32` and `Float32`, a tensor an array, a layer a block. Names in quotes stay as they are. The errors that Java and C# add are in [exceptions.md](exceptions.md).

| status | what to do |
|---|---|
| `INVALID_ARGUMENT` | correct the call: the sentence names the argument, its value and the expected value |
| `OUT_OF_MEMORY` | free memory, or use smaller sizes; every object is as it was before the call |
| `UNSUPPORTED` | the call is valid, but this version of heed cannot do it: the sentence says what it can do instead |
| `NOT_INITIALIZED` | give the layer its parameters first: `heed_layer_load`, `heed_layer_initialize` or `heed_layer_set_parameter` |
| `WORKSPACE_TOO_SMALL` | ask `heed_layer_workspace_size`, or pass NULL |
| `BUSY` | give each thread a workspace of its own, or pass NULL |
| `IO` | the sentence has the system's reason: check path, permissions and free space |
| `CORRUPT_FILE` | the file is damaged or invalid: download or write it again |
| `NOT_FOUND` | the sentence lists the existing names, or names the missing one |
| `DEVICE_UNAVAILABLE` | install what the sentence names, or use `HEED_DEVICE_CPU` |
| `DEVICE_LOST` | destroy the context's objects, and open a new one |
| `NOT_FASTEST` | change the call as the reason says, or open a context that is not strict |
| `CANCELLED` | nothing: the report of the call's `heed_progress` has stopped it, and it can be made again |
| `INTERNAL` | report the sentence as a bug in heed |

The calls use these objects: `context` on the CPU; `tensor` of F32 and dims (2, 3, 4), `shape_only`, the same without data; `layer`, multi-head
attention of `num_hiddens` 8 in 2 heads, as in `options`, with `inputs` (2, 3, 6), (2, 5, 7), (2, 5, 9) and `outputs` of a valid
call; `dot_product` with `heads` (2, 4, 3, 4), (2, 2, 5, 4), (2, 2, 5, 6) and `head_outputs`; `dims` {2, 3, 4, 1, ...}, `strides`
{12, 4, 1, 1, ...} and `axes` {0, 1, 2}. `tensor_of(dtype, sizes)` makes another tensor, `shape_of` one without data, `lengths` one of
these numbers, `layer_with(options)` a layer without parameters; `managed` lends `memory`, (2, 3, 4) of F32, by DLPack.
`stop` and `throw_number` are reports of a `heed_progress`. `result_by(parallel_for)` makes a tensor of F32 and dims (64, 1000) in a context with an executor of 2 threads. `part_outputs` and
`part_log_sum_exps` are two parts of an attention, (2, 3, 4) and (2, 3), `merged` is (2, 3, 4).

`encoder_layer`, `decoder_layer`, `encoder` and `decoder` are options of blocks of 2 layers: `attention` is that of the encoder and the decoder's cross attention,
`causal` the decoder's self-attention, with the options of `layer`; `feed_forward` has 10 hidden elements. `embedding` has 10 rows of 6 elements. `use_encoder_layer()`, `use_encoder()`, `use_decoder()` and `use_embedding()` make
`layer` such a layer, and `inputs` and `outputs` those of a valid call: rows (2, 3, 8), the encoder's rows (2, 5, 7), ids (2, 3); `self_attention` is `inputs.decoder`. `transformer` has the options of both stacks, `use_transformer()` makes `layer` one that reads rows (2, 3, 8) and (2, 5, 8), `output` has 5 logits. `saved_model(config, more)` is a file of `layer`, with another tensor, beside a config.json with this text.
)";

// Runs in a new folder, so that file names are short and the same on every machine.
class Errors : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    const std::filesystem::path before = std::filesystem::current_path();
    const capi_test::TemporaryFolder folder;
    std::filesystem::current_path(folder.path(""));
    list = new List({general(),       contexts(),      tensors(),          views(),         copies(),
                     fills(),         operations(),    arrays(),           files(),         npy_files(),
                     dlpack(),        layer_options(), position_options(), block_options(), layer_parameters(),
                     weights(),       weight_files(),  layer_inputs(),     sequences(),     layer_outputs(),
                     taps(),          blocks(),        stack_options(),    stacks(),        transformers(),
                     model_folders(), signals(),       caches(),           cache_calls(),   memory_caches(),
                     cache_files(),   training(),      backward()},
                    unprovoked());
    std::filesystem::current_path(before);
  }
  static void TearDownTestSuite() { delete list; }

  static inline const List* list = nullptr;
};

TEST_F(Errors, EachCallIsRefusedWithASentenceOfItsOwn) { list->expect_helpful(); }

TEST_F(Errors, EachIsSaidInJavaAndInCsharp) { write_said(HEED_SAID_FILE); }

TEST_F(Errors, TheListInDocsIsThis) { expect_page(HEED_SOURCE_DIR "/docs/errors.md", kBeginning + list->text("##")); }

}  // namespace
}  // namespace heed::errors_test
