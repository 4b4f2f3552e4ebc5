// SPDX-License-Identifier: Apache-2.0
// heed_weights: the tensors in files, and layers that are loaded from them.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "capi/support/attention_call.h"
#include "capi/support/counting_allocator.h"
#include "capi/support/cut_model.h"
#include "capi/support/files.h"
#include "capi/support/refusal.h"

namespace heed::capi_test {
namespace {

struct WeightsDestroyer {
  void operator()(heed_weights* weights) const { heed_weights_destroy(weights); }
};
using Weights = std::unique_ptr<heed_weights, WeightsDestroyer>;

Weights open(heed_context* context, const std::string& path) {
  heed_weights* weights = nullptr;
  check(heed_weights_open(context, path.c_str(), &weights));
  return Weights(weights);
}

Weights open_memory(heed_context* context, const std::string& bytes) {
  heed_weights* weights = nullptr;
  check(heed_weights_open_memory(context, bytes.data(), bytes.size(), &weights));
  return Weights(weights);
}

// "name dtype name-of-dtype (dims)" for each tensor.
std::vector<std::string> listed(const heed_weights* weights) {
  std::vector<std::string> lines;
  for (int64_t i = 0; i < heed_weights_count(weights); ++i) {
    std::string line = std::string(heed_weights_name(weights, i)) + " " +
                       std::to_string(heed_weights_dtype(weights, i)) + " " + heed_weights_dtype_name(weights, i) +
                       " (";
    for (int32_t axis = 0; axis < heed_weights_rank(weights, i); ++axis)
      line += (axis > 0 ? "," : "") + std::to_string(heed_weights_dim(weights, i, axis));
    lines.push_back(line + ")");
  }
  return lines;
}

const std::string kHeader =
    R"({"z":{"dtype":"F32","shape":[2,1],"data_offsets":[0,8]},)"
    R"("a":{"dtype":"BF16","shape":[],"data_offsets":[8,10]},)"
    R"("none":{"dtype":"I64","shape":[3,0],"data_offsets":[10,10]},)"
    R"("deep":{"dtype":"BOOL","shape":[1,1,1,1,1,1,1,1,2],"data_offsets":[10,12]},)"
    R"("\u00e9":{"dtype":"U8","shape":[3],"data_offsets":[12,15]},)"
    R"("later":{"dtype":"X9","shape":[5],"data_offsets":[15,16]},)"
    R"("quarter":{"dtype":"F8_E4M3","shape":[4],"data_offsets":[16,20]},"__metadata__":{"format":"pt"}})";

class WeightsTest : public testing::Test {
 protected:
  const TemporaryFolder folder_;
  const Context context_ = make_context();
};

TEST_F(WeightsTest, ListNamesTypesAndShapes) {
  const std::string bytes = safetensors(kHeader, 20);
  const std::vector<std::string> expected = {"a 2 BF16 ()",
                                             "deep 8 BOOL (-1,-1,-1,-1,-1,-1,-1,-1,-1)",
                                             "later -1 X9 (5)",
                                             "none 5 I64 (3,0)",
                                             "quarter -1 F8_E4M3 (4)",
                                             "z 0 F32 (2,1)",
                                             "\xC3\xA9 7 U8 (3)"};
  const Weights of_file = open(context_.get(), folder_.write("any name", bytes));
  EXPECT_EQ(listed(of_file.get()), expected);
  const Weights of_memory = open_memory(context_.get(), bytes);
  EXPECT_EQ(listed(of_memory.get()), expected);
  EXPECT_EQ(heed_weights_dim(of_file.get(), 5, -2), 2);
  EXPECT_EQ(heed_weights_dim(of_file.get(), 5, -1), 1);
  const Weights of_eight_axes = open_memory(
      context_.get(), safetensors(R"({"eight":{"dtype":"U8","shape":[1,1,1,1,1,1,1,2],"data_offsets":[0,2]}})", 2));
  EXPECT_EQ(heed_weights_dim(of_eight_axes.get(), 0, 7), 2);
  EXPECT_EQ(heed_weights_count(open_memory(context_.get(), safetensors("{}", 0)).get()), 0);
}

TEST_F(WeightsTest, AreAllTensorsOfAModelInSeveralFiles) {
  const AttentionCall call(Kind::MultiHead);
  write_cut_model(folder_, parameters_of(call.layer.get(), "m."), 3);
  const std::vector<std::string> expected = {"m.W_k.weight 0 F32 (8,7)", "m.W_o.weight 0 F32 (8,8)",
                                             "m.W_q.weight 0 F32 (8,6)", "m.W_v.weight 0 F32 (8,9)"};
  for (const std::string& name : {std::string(kIndexName), part_name(2, 3)}) {
    const Weights weights = open(context_.get(), folder_.path(name));
    EXPECT_EQ(listed(weights.get()), expected);
  }
}

// For a type that heed lacks, HEED_DTYPE_INVALID is a valid answer and not an error.
TEST_F(WeightsTest, GiveAnUnknownTypeWithoutAnError) {
  const Weights weights = open_memory(context_.get(), safetensors(kHeader, 20));
  forget_last_error();
  const std::string before = heed_last_error();
  EXPECT_EQ(heed_weights_dtype(weights.get(), 2), HEED_DTYPE_INVALID);
  EXPECT_STREQ(heed_weights_dtype_name(weights.get(), 2), "X9");
  EXPECT_EQ(heed_last_error(), before);
}

TEST_F(WeightsTest, RefuseUnknownNamesAndIndexes) {
  const Weights weights = open_memory(context_.get(), safetensors(kHeader, 20));
  for (const int64_t index : {int64_t{-1}, int64_t{7}, INT64_MAX, INT64_MIN}) {
    const Refusal refusal = invalid({"index is " + std::to_string(index), "7 tensors"});
    forget_last_error();
    EXPECT_EQ(heed_weights_name(weights.get(), index), nullptr);
    EXPECT_TRUE(is_refused(heed_last_status(), refusal));
    forget_last_error();
    EXPECT_EQ(heed_weights_dtype(weights.get(), index), HEED_DTYPE_INVALID);
    EXPECT_TRUE(is_refused(heed_last_status(), refusal));
    forget_last_error();
    EXPECT_EQ(heed_weights_dtype_name(weights.get(), index), nullptr);
    EXPECT_TRUE(is_refused(heed_last_status(), refusal));
    forget_last_error();
    EXPECT_EQ(heed_weights_rank(weights.get(), index), -1);
    EXPECT_TRUE(is_refused(heed_last_status(), refusal));
    forget_last_error();
    EXPECT_EQ(heed_weights_dim(weights.get(), index, 0), -1);
    EXPECT_TRUE(is_refused(heed_last_status(), refusal));
  }
  for (const int32_t axis : {2, -3, INT32_MAX, INT32_MIN}) {
    forget_last_error();
    EXPECT_EQ(heed_weights_dim(weights.get(), 5, axis), -1);
    EXPECT_TRUE(is_refused(heed_last_status(), invalid({"axis is " + std::to_string(axis), "\"z\"", "rank 2"})));
  }
  EXPECT_EQ(heed_weights_rank(weights.get(), 1), 9);
  forget_last_error();
  EXPECT_EQ(heed_weights_dim(weights.get(), 1, 0), -1);
  EXPECT_TRUE(is_refused(heed_last_status(), {HEED_ERROR_UNSUPPORTED, {"\"deep\"", "rank 9", "8"}}));
  forget_last_error();
  EXPECT_EQ(heed_weights_dim(weights.get(), 1, -10), -1);
  EXPECT_TRUE(is_refused(heed_last_status(), invalid({"axis is -10"})));
}

TEST_F(WeightsTest, AreRefusedAsFilesAre) {
  heed_weights* weights = nullptr;
  const auto open_file = [&](const std::string& bytes) {
    return heed_weights_open(context_.get(), folder_.write("file", bytes).c_str(), &weights);
  };
  EXPECT_TRUE(is_refused(heed_weights_open(context_.get(), "none", &weights), {HEED_ERROR_IO, {"\"none\""}}));
  EXPECT_TRUE(is_refused(open_file(safetensors(kHeader, 19)), {HEED_ERROR_CORRUPT_FILE, {"file"}}));
  EXPECT_TRUE(is_refused(open_file("GGUF\3\1\1\1"), {HEED_ERROR_CORRUPT_FILE, {"GGUF"}}));
  EXPECT_TRUE(is_refused(open_file(safetensors(R"({"a\u0000b":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}})", 0)),
                         {HEED_ERROR_UNSUPPORTED, {"a\\x00b", "zero byte"}}));
  EXPECT_TRUE(is_refused(heed_weights_open_memory(context_.get(), "{\"weight_map\":{}}", 17, &weights),
                         {HEED_ERROR_CORRUPT_FILE, {"\"memory\"", "path"}}));
  EXPECT_TRUE(
      is_refused(heed_weights_open_memory(context_.get(), "", 0, &weights), {HEED_ERROR_CORRUPT_FILE, {"\"memory\""}}));
  EXPECT_EQ(weights, nullptr);
}

// Layers of any context can be loaded from the open files, even after the context has been destroyed and the files
// removed.
TEST_F(WeightsTest, LoadLayers) {
  AttentionCall call(Kind::MultiHead);
  check(call.forward());
  const std::vector<uint8_t> expected = call.read_outputs();
  write_cut_model(folder_, parameters_of(call.layer.get(), "m."), 3);
  const std::string whole = safetensors_of(parameters_of(call.layer.get(), "m."));
  const Weights of_memory = open_memory(context_.get(), whole);
  const Weights of_files = open(make_context().get(), folder_.path(kIndexName));
  for (const std::string& name : folder_.file_names()) std::filesystem::remove(folder_.path(name));
  heed_load_options options = HEED_LOAD_OPTIONS_INIT;
  const heed_load_options* const given[] = {nullptr, &options};
  for (const Weights* weights : {&of_memory, &of_files}) {
    for (const heed_load_options* each : given) {
      call.replace_layer(two_heads());
      ASSERT_EQ(heed_layer_load_weights(call.layer.get(), weights->get(), "m", each), HEED_OK) << heed_last_error();
      check(heed_tensor_fill(call.outputs.output, 0.0));
      ASSERT_EQ(call.forward(), HEED_OK) << heed_last_error();
      EXPECT_EQ(call.read_outputs(), expected);
    }
  }
  EXPECT_TRUE(is_refused(heed_layer_load_weights(call.layer.get(), of_memory.get(), "n", nullptr),
                         {HEED_ERROR_NOT_FOUND, {"\"memory\"", "\"n.W_q.weight\""}}));
}

TEST_F(WeightsTest, CheckTheStructOfLoadOptions) {
  const AttentionCall call(Kind::MultiHead);
  const std::string whole = safetensors_of(parameters_of(call.layer.get()));
  const Weights weights = open_memory(context_.get(), whole);
  heed_load_options options = HEED_LOAD_OPTIONS_INIT;
  EXPECT_EQ(options.struct_size, sizeof options);
  EXPECT_EQ(options.accept, nullptr);
  EXPECT_EQ(options.progress, nullptr);
  options.struct_size = 15;
  EXPECT_TRUE(is_refused(heed_layer_load_weights(call.layer.get(), weights.get(), nullptr, &options),
                         invalid({"options->struct_size is 15", "HEED_LOAD_OPTIONS_INIT"})));
  struct {
    heed_load_options known = {sizeof(heed_load_options) + 8, nullptr, nullptr, 0, 0};
    int64_t more = 0;
  } later;
  EXPECT_EQ(heed_layer_load_weights(call.layer.get(), weights.get(), nullptr, &later.known), HEED_OK);
  later.more = 1;
  EXPECT_TRUE(is_refused(heed_layer_load_weights(call.layer.get(), weights.get(), nullptr, &later.known),
                         {HEED_ERROR_UNSUPPORTED, {"options->struct_size is 40", "beyond the 32 bytes"}}));
}

// Memory of the handle, and what remains after its destruction.
TEST_F(WeightsTest, TakeAllMemoryFromTheAllocator) {
  CountingAllocator allocator;
  {
    const Context context = allocator.make_context();
    const int64_t before = allocator.num_allocations();
    const AttentionCall call(Kind::MultiHead);
    write_cut_model(folder_, parameters_of(call.layer.get(), "m."), 2);
    Weights weights = open(context.get(), folder_.path(kIndexName));
    EXPECT_GT(allocator.num_allocations(), before);
    EXPECT_EQ(listed(weights.get()).size(), 4u);
  }
  EXPECT_EQ(allocator.num_live_blocks(), 0);
}

TEST_F(WeightsTest, ServeManyThreads) {
  const AttentionCall call(Kind::MultiHead);
  write_cut_model(folder_, parameters_of(call.layer.get(), "m."), 2);
  const Weights weights = open(context_.get(), folder_.path(kIndexName));
  const std::vector<std::string> expected = listed(weights.get());
  std::atomic<int> num_wrong{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int time = 0; time < 50; ++time) {
        const Layer layer = make_multi_head(context_.get(), two_heads());
        const bool is_loaded = heed_layer_load_weights(layer.get(), weights.get(), "m.", nullptr) == HEED_OK;
        if (!is_loaded || listed(weights.get()) != expected) ++num_wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(num_wrong, 0);
}

// The axes of a Keras file say how many heads it has; tests/errors has files with other heads.
TEST(Weights, OfKerasAreReadWithTheLayersHeads) {
  const Context context = make_context();
  heed_multi_head_attention_options grouped = two_heads();
  grouped.num_heads = 4;
  grouped.num_kv_heads = 2;
  const Layer layer = make_multi_head(context.get(), grouped);
  const std::string file =
      safetensors(R"({"a/query/kernel":{"dtype":"F32","shape":[8,4,2],"data_offsets":[0,256]},)"
                  R"("a/key/kernel":{"dtype":"F32","shape":[8,2,2],"data_offsets":[256,384]},)"
                  R"("a/value/kernel":{"dtype":"F32","shape":[8,2,2],"data_offsets":[384,512]},)"
                  R"("a/attention_output/kernel":{"dtype":"F32","shape":[4,2,8],"data_offsets":[512,768]}})",
                  768);
  EXPECT_EQ(heed_layer_load_memory(layer.get(), file.data(), file.size(), "a"), HEED_OK) << heed_last_error();
}

}  // namespace
}  // namespace heed::capi_test
