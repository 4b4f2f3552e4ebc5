// SPDX-License-Identifier: Apache-2.0
// A layer takes the memory of its weights. Loading it takes besides a small buffer for each thread, saving it the largest
// weight, and a snapshot of a weight the memory of this weight.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "capi/support/files.h"
#include "capi/support/objects.h"
#include "support/platform/allocation_hook.h"

namespace heed::capi_test {
namespace {

constexpr int64_t kSize = 1024;
constexpr int64_t kThreads = 2;
// The largest buffer of a thread, and the memory for a file's names and messages.
constexpr int64_t kPieceBytes = int64_t{512} << 10;
constexpr int64_t kFixed = 100'000;

std::string entry(const std::string& name, const char* dtype, const std::string& shape, int64_t begin, int64_t end) {
  return "\"" + name + R"(":{"dtype":")" + dtype + R"(","shape":[)" + shape + R"(],"data_offsets":[)" +
         std::to_string(begin) + "," + std::to_string(end) + "]}";
}

// Three weights in one tensor, and the fourth in another.
std::string file_of(const char* dtype, int64_t element_size, bool is_transposed) {
  const int64_t weight = kSize * kSize * element_size;
  const std::string size = std::to_string(kSize);
  const std::string three = std::to_string(3 * kSize);
  return safetensors(
      "{" +
          entry(is_transposed ? "c_attn.weight" : "in_proj_weight", dtype,
                is_transposed ? size + "," + three : three + "," + size, 0, 3 * weight) +
          "," +
          entry(is_transposed ? "c_proj.weight" : "out_proj.weight", dtype, size + "," + size, 3 * weight, 4 * weight) +
          "}",
      static_cast<size_t>(4 * weight));
}

struct Case {
  const char* dtype;
  int64_t element_size;
  int64_t kept_size;
  bool is_transposed;
};

TEST(LoadingMemory, IsThatOfTheLoadedLayer) {
  heed_context_options context_options = HEED_CONTEXT_OPTIONS_INIT;
  context_options.num_threads = kThreads;
  heed_multi_head_attention_options options = HEED_MULTI_HEAD_ATTENTION_OPTIONS_INIT;
  options.num_hiddens = kSize;
  options.num_heads = 8;
  options.causal = HEED_CAUSAL_TOP_LEFT;  // by GPT-2's names
  const TemporaryFolder folder;
  for (const Case& one : {Case{"F32", 4, 4, false}, Case{"F32", 4, 4, true}, Case{"BF16", 2, 2, false},
                          Case{"BF16", 2, 2, true}, Case{"F64", 8, 4, false}, Case{"F64", 8, 4, true}}) {
    SCOPED_TRACE(std::string(one.dtype) + (one.is_transposed ? ", transposed" : ""));
    const std::string path = folder.write("weights", file_of(one.dtype, one.element_size, one.is_transposed));
    const Context context = make_context(&context_options);
    const Layer layer = make_multi_head(context.get(), options);
    // Creates the threads, since their stacks do not belong to the layer.
    check(heed_layer_load(make_multi_head(context.get(), options).get(), path.c_str(), nullptr));
    // Frees the memory that is kept from the first layer.
    check(heed_context_trim(context.get()));
    const int64_t live = num_live_blocks();
    const PeakOfBytes peak = PeakOfBytes::since_now();
    check(heed_layer_load(layer.get(), path.c_str(), nullptr));
    // Each weight once.
    const int64_t kept = int64_t{4} * kSize * kSize * one.kept_size;
    EXPECT_GE(peak.bytes(), kept);
    EXPECT_LE(peak.bytes(), kept + kThreads * kPieceBytes + kFixed);
    EXPECT_GT(num_live_blocks(), live);

    const PeakOfBytes saving = PeakOfBytes::since_now();
    check(heed_layer_save(layer.get(), folder.path("saved").c_str()));
    EXPECT_LE(saving.bytes(), kept / 4 + kFixed);
    check(heed_context_trim(context.get()));
    const PeakOfBytes reading = PeakOfBytes::since_now();
    const Tensor weight = snapshot(layer.get(), "W_v.weight");
    EXPECT_GE(reading.bytes(), kept / 4);
    EXPECT_LE(reading.bytes(), kept / 4 + kFixed);
  }
}

TEST(LoadingMemory, OfSettingAParameterIsThatOfItsValue) {
  heed_context_options context_options = HEED_CONTEXT_OPTIONS_INIT;
  context_options.num_threads = kThreads;
  const Context context = make_context(&context_options);
  heed_linear_options options = HEED_LINEAR_OPTIONS_INIT;
  options.output_size = kSize;
  options.no_bias = 1;
  const Layer layer = make_linear(context.get(), options);
  const Tensor value = make_random(context.get(), {kSize, kSize}, 3);
  const Tensor turned = make_transposed(value.get(), {1, 0});
  for (const heed_tensor* given : {value.get(), turned.get()}) {
    check(heed_layer_set_parameter(layer.get(), "weight", given));
    const PeakOfBytes peak = PeakOfBytes::since_now();
    check(heed_layer_set_parameter(layer.get(), "weight", given));
    EXPECT_LE(peak.bytes(), kSize * kSize * 4 + kThreads * kPieceBytes + kFixed);
  }
}

}  // namespace
}  // namespace heed::capi_test
