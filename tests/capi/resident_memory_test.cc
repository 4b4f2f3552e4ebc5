// SPDX-License-Identifier: Apache-2.0
// The memory of destroyed objects goes back to the system, even if small objects between them stay.
#include <gtest/gtest.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "capi/support/objects.h"
#include "support/platform/memory.h"

namespace heed::capi_test {
namespace {

constexpr size_t kMiB = size_t{1} << 20;
// What the library keeps of freed blocks, and the memory of small objects and threads.
constexpr size_t kKept = 16 * kMiB;
constexpr size_t kSmall = 6 * kMiB;

class ResidentMemory : public testing::Test {
 protected:
  void SetUp() override {
    if (const char* reason = why_residency_is_unknown()) GTEST_SKIP() << reason;
    // After a large block has been freed, glibc allocates blocks of up to its size on its heap.
    make_tensor(context_.get(), {31 * int64_t{kMiB}}, HEED_U8).reset();
    check(heed_context_trim(context_.get()));
  }

  // A tensor with all its pages in use.
  Tensor full(size_t num_bytes) {
    Tensor tensor = make_tensor(context_.get(), {static_cast<int64_t>(num_bytes)}, HEED_U8);
    check(heed_tensor_fill(tensor.get(), 1));
    return tensor;
  }

  Context context_ = make_context();
};

// A layer over longer and longer sequences. The weights that it creates beside its output are freed, the outputs stay.
// This test comes first, before others leave free memory on glibc's heap.
TEST_F(ResidentMemory, GrowsByTheResultsThatStay) {
  heed_multi_head_attention_options options = HEED_MULTI_HEAD_ATTENTION_OPTIONS_INIT;
  options.num_hiddens = 64;
  options.num_heads = 8;
  const Layer layer = make_multi_head(context_.get(), options);
  constexpr int64_t kShortest = 400;
  constexpr int64_t kLongest = 512;
  const Tensor sequence = make_random(context_.get(), {1, kLongest, 64}, 1);
  heed_layer_inputs inputs = HEED_LAYER_INPUTS_INIT;
  inputs.queries = sequence.get();
  check(heed_layer_initialize(layer.get(), &inputs, 1));
  std::vector<Tensor> outputs_that_stay;
  Tensor weights;
  const size_t before = resident_bytes();
  size_t num_bytes = 0;
  for (int64_t length = kShortest; length <= kLongest; length += 4) {
    const Tensor part = make_slice(sequence.get(), 1, 0, length);
    inputs.queries = part.get();
    heed_layer_outputs outputs = HEED_LAYER_OUTPUTS_INIT;
    check(heed_layer_create_outputs(layer.get(), &inputs, HEED_WANT_OUTPUT | HEED_WANT_WEIGHTS, &outputs));
    outputs_that_stay.emplace_back(outputs.output);
    Tensor made(outputs.weights);
    check(heed_layer_forward(layer.get(), &inputs, nullptr, &outputs));
    num_bytes += heed_tensor_num_bytes(outputs.output);
    weights = std::move(made);
  }
  const size_t last_weights = heed_tensor_num_bytes(weights.get());
  EXPECT_LT(resident_bytes(), before + num_bytes + last_weights + kKept + kSmall);
}

TEST_F(ResidentMemory, OfDestroyedTensorsGoesBackFromBetweenSmallOnes) {
  for (const size_t size : {kMiB / 8, kMiB / 2 + 1, 5 * kMiB}) {
    const size_t before = resident_bytes();
    std::vector<Tensor> large;
    std::vector<Tensor> small;
    while (large.size() * size < 150 * kMiB) {
      large.push_back(full(size));
      small.push_back(full(1000));
    }
    EXPECT_GE(resident_bytes(), before + 150 * kMiB);
    large.clear();
    EXPECT_LT(resident_bytes(), before + kKept + kSmall) << "tensors of " << size << " bytes";
    check(heed_context_trim(context_.get()));
    EXPECT_LT(resident_bytes(), before + kSmall) << "tensors of " << size << " bytes, after heed_context_trim";
  }
}

TEST_F(ResidentMemory, GoesBackWithTheContextWhateverWasKept) {
  const size_t before = resident_bytes();
  {
    const Context context = make_context();
    const Tensor tensor = make_tensor(context.get(), {int64_t{10 * kMiB}}, HEED_U8);
    check(heed_tensor_fill(tensor.get(), 1));
  }
  EXPECT_LT(resident_bytes(), before + kSmall);
}

}  // namespace
}  // namespace heed::capi_test
