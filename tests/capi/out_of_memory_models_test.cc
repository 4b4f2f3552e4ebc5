// SPDX-License-Identifier: Apache-2.0
// As out_of_memory_test.cc, for functions of whole models.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "capi/support/failing_allocations.h"
#include "capi/support/model_call.h"
#include "capi/support/model_copy.h"

namespace heed::capi_test {
namespace {

enum class Family { Albert, Llama, T5 };
template <Family family>
const char* const kName = family == Family::Albert  ? "albert"
                          : family == Family::Llama ? "llama"
                                                    : "t5";

// A model in two files with their index.
template <Family family>
struct CreateFromFolder final : Scenario {
  // Written before an allocation of run() fails, since this writes with allocations of its own.
  static const std::string& folder_of_copy() {
    static const ModelCopy copy(kName<family>);
    static const std::string folder = copy.write(2);
    return folder;
  }
  heed_status run() override {
    heed_layer* layer = nullptr;
    const heed_status status = heed_layer_create_from_folder(context.get(), folder.c_str(), &layer);
    EXPECT_EQ(layer != nullptr, status == HEED_OK);
    heed_layer_destroy(layer);
    return status;
  }
  Context context = make_context();
  const std::string& folder = folder_of_copy();
};

// With options of the load.
struct CreateWithOptions final : Scenario {
  heed_status run() override {
    heed_load_options load = HEED_LOAD_OPTIONS_INIT;
    load.accept = "scale";
    heed_model_options options = HEED_MODEL_OPTIONS_INIT;
    options.load = &load;
    heed_layer* layer = nullptr;
    const heed_status status = heed_model_create(context.get(), folder.c_str(), &options, &layer);
    EXPECT_EQ(layer != nullptr, status == HEED_OK);
    heed_layer_destroy(layer);
    return status;
  }
  Context context = make_context();
  const std::string folder = golden_model("albert");
};

// Without a workspace.
template <Family family>
struct ForwardOfAModel final : Scenario {
  ForwardOfAModel() {
    call.make_output();
    check(call.forward());
    before = read_bytes(call.outputs.output);
    check(heed_context_trim(call.context.get()));
  }
  heed_status run() override { return call.forward(); }
  void expect_unchanged() override {
    EXPECT_EQ(call.forward(), HEED_OK) << heed_last_error();
    EXPECT_EQ(read_bytes(call.outputs.output), before) << "the model changed";
  }
  ModelCall call{golden_model(kName<family>)};
  std::vector<uint8_t> before;
};

// Rows behind those in a cache; of a Transformer with the memory's keys and values in another cache. A call
// that fails leaves both as they were.
template <Family family>
struct AppendToCaches : Scenario {
  AppendToCaches() {
    cached.cache = cache.get();
    if (call.is_transformer) {
      memory = make_cache_of(call.context.get(), call.layer.get(), 2, 5);
      of_memory.cache = memory.get();
      source = call.inputs;
      source.queries = nullptr;
      source.cache = &of_memory;
      check(heed_layer_fill_cache(call.layer.get(), &source, nullptr));
      read_memory = of_memory;
      read_memory.use = HEED_CACHE_READ;
      call.decoder.memory_cache = &read_memory;
      call.inputs.decoder = &call.decoder;
      call.inputs.keys = nullptr;
    }
    call.inputs.cache = &cached;
    num_rows = heed_tensor_dim(call.inputs.queries, 1);
    call.make_output();
    check(call.forward());
    check(call.forward());
    expected = read_bytes(call.outputs.output);
    for (int64_t sequence = 0; sequence < 2; ++sequence) check(heed_cache_rewind(cache.get(), sequence, num_rows));
    check(heed_context_trim(call.context.get()));
  }
  // A scenario has one call that succeeds.
  ~AppendToCaches() override {
    EXPECT_EQ(heed_cache_length(cache.get(), 0), 2 * num_rows);
    EXPECT_EQ(read_bytes(call.outputs.output), expected) << "the rows before changed";
  }
  heed_status run() override { return call.forward(); }
  void expect_unchanged() override {
    for (int64_t sequence = 0; sequence < 2; ++sequence) {
      EXPECT_EQ(heed_cache_length(cache.get(), sequence), num_rows);
      if (memory != nullptr) {
        EXPECT_EQ(heed_cache_length(memory.get(), sequence), 5);
      }
    }
  }
  ModelCall call{golden_model(kName<family>)};
  Cache cache = make_cache_of(call.context.get(), call.layer.get(), 2, 10);
  Cache memory;
  heed_cache_inputs cached = HEED_CACHE_INPUTS_INIT;
  heed_cache_inputs of_memory = HEED_CACHE_INPUTS_INIT;
  heed_cache_inputs read_memory = HEED_CACHE_INPUTS_INIT;
  heed_layer_inputs source = HEED_LAYER_INPUTS_INIT;
  int64_t num_rows = 0;
  std::vector<uint8_t> expected;
};

// The keys and values of an encoder's output. The destructor of the other scenario needs them.
struct FillMemory final : AppendToCaches<Family::T5> {
  FillMemory() {
    for (int64_t sequence = 0; sequence < 2; ++sequence) check(heed_cache_rewind(memory.get(), sequence, 0));
  }
  ~FillMemory() override { EXPECT_EQ(call.forward(), HEED_OK) << heed_last_error(); }
  heed_status run() override { return heed_layer_fill_cache(call.layer.get(), &source, nullptr); }
  void expect_unchanged() override { EXPECT_EQ(heed_cache_length(memory.get(), 0), 0); }
};

// With the weights of an attention inside the model.
struct ForwardWithATap final : Scenario {
  ForwardWithATap() {
    check(heed_layer_create_tap(call.layer.get(), &call.inputs, "decoder.layers.0.cross_attention", HEED_WANT_WEIGHTS,
                                &tap));
    call.keep(Tensor(tap.weights));
    call.make_output();
    call.outputs.taps = &list;
    call.outputs.num_taps = 1;
    check(call.forward());
    expected = read_bytes(tap.weights);
    check(heed_context_trim(call.context.get()));
  }
  heed_status run() override { return call.forward(); }
  void expect_unchanged() override {
    EXPECT_EQ(call.forward(), HEED_OK) << heed_last_error();
    EXPECT_EQ(read_bytes(tap.weights), expected) << "the model changed";
  }
  ModelCall call{golden_model("t5")};
  heed_layer_tap tap = HEED_LAYER_TAP_INIT;
  const heed_layer_tap* list = &tap;
  std::vector<uint8_t> expected;
};

TEST(OutOfMemory, InCallsOfModels) {
  expect_recovery("forward of a whole encoder", scenario<ForwardOfAModel<Family::Albert>>());
  expect_recovery("forward of a whole Transformer", scenario<ForwardOfAModel<Family::T5>>());
  expect_recovery("forward of a whole decoder with a cache", scenario<AppendToCaches<Family::Llama>>());
  expect_recovery("forward of a Transformer's decoder with caches", scenario<AppendToCaches<Family::T5>>());
  expect_recovery("fill_cache", scenario<FillMemory>());
  expect_recovery("forward with a tap", scenario<ForwardWithATap>());
}

// A model takes thousands of allocations, most of which are alike.
TEST(OutOfMemory, InFoldersOfModels) {
  expect_recovery("create an encoder", scenario<CreateFromFolder<Family::Albert>>(), 7);
  expect_recovery("create an encoder with options", scenario<CreateWithOptions>(), 13);
  expect_recovery("create a decoder", scenario<CreateFromFolder<Family::Llama>>(), 11);
  expect_recovery("create a Transformer", scenario<CreateFromFolder<Family::T5>>(), 23);
}

}  // namespace
}  // namespace heed::capi_test
