// SPDX-License-Identifier: Apache-2.0
// Failures of the NPU at every call where one is possible. The failing call returns a status and says what to do;
// nothing is lost or leaked; the next call works, unless the device itself is lost.
#include <acl/acl.h>

#include <algorithm>
#include <functional>
#include <thread>

#include "ascend/support/rotary_layer.h"
#include "ascend/support/simulated.h"
#include "ascend/support/training.h"
#include "cache/support/caches.h"
#include "cache/support/step.h"
#include "capi/support/refusal.h"
#include "support/platform/environment.h"

namespace heed::ascend_test {
namespace {

using capi_test::is_refused;
using capi_test::Refusal;

class Faults : public Simulated {};

// A cache in the device's memory, of 12 pages of 16 rows, and the layer that it is for.
class CacheOfPages {
 public:
  CacheOfPages() : layer_(make_npu_context(), spec()), cache_(cache_test::make_cache(layer_, options_of(layer_))) {}

  heed_cache* get() const { return cache_.get(); }
  void append(int64_t sequence, int64_t first, int64_t count) const {
    cache_test::Form form;
    form.with_log_sum_exp = false;
    cache_test::forward_one(layer_, get(), {sequence, cache_test::counting_from(first, count)}, form);
  }
  std::vector<uint8_t> bytes(int64_t sequence) const { return cache_test::saved(get(), sequence); }

 private:
  static cache_test::LayerSpec spec() {
    cache_test::LayerSpec spec = cache_test::grouped_heads(2, 2, 16, 16);
    spec.dtype = spec.parameter_dtype = HEED_F16;
    spec.rope = cache_test::rope_of(HEED_ROPE_HALF);
    return spec;
  }
  static heed_cache_options options_of(const cache_test::CachedLayer& layer) {
    return cache_test::with_sequences(cache_test::as_paged(layer.contiguous(64, HEED_F16), 16, 12), 3);
  }

  cache_test::CachedLayer layer_;
  cache_test::Cache cache_;
};

// What a cache holds after each of its functions, as the bytes of a file.
std::vector<float> run_a_cache() {
  const CacheOfPages cache;
  cache.append(0, 0, 20);
  property::check(heed_cache_fork(cache.get(), 0, 20, 1));
  cache.append(1, 20, 4);  // copies a page
  const int64_t kept[] = {1, 3};
  property::check(heed_cache_accept(cache.get(), 1, 20, kept, 2));
  property::check(heed_cache_discard(cache.get(), 1, 3, 2, 1));
  cache_test::load_saved(cache.get(), 2, cache.bytes(1));
  const std::vector<uint8_t> bytes = cache.bytes(2);
  return {bytes.begin(), bytes.end()};
}

// Opens a context, computes output and weights, rotary positions with a norm, and ALiBi, closes everything, and returns the
// numbers.
std::vector<float> run_layers() {
  const Context context = make_npu_context();
  Attention attention(context.get(), HEED_F32, {5, 0});
  const Tensor weights = capi_test::make_tensor(context.get(), {2, 4, 4, 6});
  attention.outputs.weights = weights.get();
  property::check(attention.forward());
  std::vector<float> numbers = attention.read();
  const auto append = [&numbers](const std::vector<float>& more) {
    numbers.insert(numbers.end(), more.begin(), more.end());
  };
  append(capi_test::read_floats(context.get(), weights.get()));
  RotaryCase rotary;
  rotary.head_size = 48;
  rotary.rotary_offset = 16;
  rotary.rotary_size = 20;
  rotary.epsilon = 1e-5f;
  const RotaryLayer rotated(context.get(), rotary);
  property::check(rotated.forward());
  append(rotated.read());
  RotaryCase alibi;
  alibi.layout = 0;
  alibi.alibi = HEED_ALIBI_ADDED;
  const RotaryLayer penalized(context.get(), alibi);
  property::check(penalized.forward());
  append(penalized.read());
  return numbers;
}

// The same for a small model: ids, positions, a layer with both norms' operations and a gate, a tied output with a scale.
std::vector<float> run_a_model() {
  const Context context = make_npu_context();
  heed_multi_head_attention_options attention = HEED_MULTI_HEAD_ATTENTION_OPTIONS_INIT;
  attention.num_hiddens = 32;
  attention.num_heads = 2;
  attention.qk_norm_epsilon = 1e-5f;
  heed_feed_forward_options feed_forward = HEED_FEED_FORWARD_OPTIONS_INIT;
  feed_forward.hidden_size = 24;
  feed_forward.activation = HEED_ACTIVATION_SILU;
  feed_forward.gated = 1;
  heed_layer_norm_options norm = HEED_LAYER_NORM_OPTIONS_INIT;
  norm.epsilon = 1e-12f;
  heed_encoder_layer_options layer = HEED_ENCODER_LAYER_OPTIONS_INIT;
  layer.attention = &attention;
  layer.feed_forward = &feed_forward;
  layer.norm = &norm;
  heed_embedding_options embedding = HEED_EMBEDDING_OPTIONS_INIT;
  embedding.num_embeddings = 10;
  embedding.scale = 3.0f;
  heed_positional_encoding_options positions = HEED_POSITIONAL_ENCODING_OPTIONS_INIT;
  positions.max_positions = 8;
  heed_output_options output = HEED_OUTPUT_OPTIONS_INIT;
  output.tied = 1;
  output.scale = 0.5f;
  heed_encoder_options options = HEED_ENCODER_OPTIONS_INIT;
  options.layer = &layer;
  options.num_layers = 1;
  options.embedding = &embedding;
  options.positions = &positions;
  options.embedding_norm = 1;
  options.output = &output;
  const Layer model = capi_test::make_encoder(context.get(), options);
  const Tensor ids = capi_test::make_tensor_of<int32_t>(context.get(), {2, 3}, {1, 2, 3, 9, 0, 4});
  const Tensor logits = capi_test::make_tensor(context.get(), {2, 3, 10});
  heed_layer_inputs inputs = HEED_LAYER_INPUTS_INIT;
  heed_layer_outputs outputs = HEED_LAYER_OUTPUTS_INIT;
  inputs.queries = ids.get();
  outputs.output = logits.get();
  property::check(heed_layer_initialize(model.get(), &inputs, 1));
  property::check(heed_layer_forward(model.get(), &inputs, nullptr, &outputs));
  return capi_test::read_floats(context.get(), logits.get());
}

// The same for a step of training, whose backward the host computes.
std::vector<float> run_a_step() {
  heed_context_options options = npu_options();
  options.strict = 0;
  Training network(capi_test::make_context(&options), trained_kind("feed-forward network"));
  network.save();
  property::check(network.forward());
  property::check(network.backward());
  heed_gradients* const sets[] = {network.gradients.get()};
  property::check(heed_gradients_clip(sets, 1, 1.0, nullptr));
  const capi_test::Optimizer optimizer = capi_test::make_adamw(network.context.get());
  property::check(heed_optimizer_step(optimizer.get(), network.layer.get(), network.gradients.get()));
  std::vector<float> all;
  for (const Numbers& numbers : {network.numbers(), network.parameters()}) {
    for (const auto& [name, elements] : numbers) all.insert(all.end(), elements.begin(), elements.end());
  }
  return all;
}

struct Outcome {
  heed_status status = HEED_OK;
  std::string sentence;
};

// The call's status, and its error sentence if it fails.
Outcome outcome_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const property::CallFailed& failure) {
    return {failure.status, heed_last_error()};
  }
  return {};
}

// Makes the n-th call of one kind fail, for n = 1, 2, ..., until `run` has fewer than n such calls. Each failure must have
// an allowed status, and everything must work afterwards. Returns how many calls have failed.
int num_that_fail_so(const std::string& fault, const std::string& code, const std::vector<heed_status>& allowed,
                     std::vector<float> (*run)()) {
  const std::vector<float> expected = run();
  int num_hit = 0;
  for (int n = 1; n < 2000; ++n) {
    // heed repeats a failed allocation once, so two in a row must fail.
    std::string list = fault + "=" + std::to_string(n) + code;
    if (fault == "malloc") list += ",malloc=" + std::to_string(n + 1);
    ascend_sim_set_faults(list.c_str());
    const Outcome outcome = outcome_of([run] { run(); });
    ascend_sim_clear_faults();
    if (outcome.status == HEED_OK) break;
    ++num_hit;
    EXPECT_NE(std::find(allowed.begin(), allowed.end(), outcome.status), allowed.end())
        << list << " gives " << heed_status_name(outcome.status) << ": " << outcome.sentence;
    EXPECT_FALSE(outcome.sentence.empty());
    char text[2048] = "";
    EXPECT_EQ(ascend_sim_leaks(text, sizeof text), 0u) << "after " << list << ": " << text;
    EXPECT_EQ(run(), expected) << "after " << list;
  }
  return num_hit;
}

// For layers, a model, a cache and a step of training. At least `least` calls must have failed.
void expect_each_to_fail_so(const std::string& fault, const std::string& code, const std::vector<heed_status>& allowed,
                            int least) {
  int num_hit = 0;
  for (const auto run : {run_layers, run_a_model, run_a_cache, run_a_step})
    num_hit += num_that_fail_so(fault, code, allowed, run);
  EXPECT_GE(num_hit, least) << fault;
}

TEST_F(Faults, OutOfDeviceMemoryAnywhere) { expect_each_to_fail_so("malloc", "", {HEED_ERROR_OUT_OF_MEMORY}, 5); }
TEST_F(Faults, OutOfPinnedMemory) { expect_each_to_fail_so("malloc_host", "", {HEED_ERROR_OUT_OF_MEMORY}, 1); }
TEST_F(Faults, StreamCannotBeMade) {
  expect_each_to_fail_so("create_stream", ":207008", {HEED_ERROR_INTERNAL, HEED_ERROR_OUT_OF_MEMORY}, 1);
}
TEST_F(Faults, OverflowModeCannotBeRead) {
  expect_each_to_fail_so("saturation", ":507000", {HEED_ERROR_DEVICE_LOST}, 1);
  expect_each_to_fail_so("saturation", ":500001", {HEED_ERROR_INTERNAL}, 1);
}
TEST_F(Faults, ADriverWithoutOverflowModesIsAccepted) {
  const std::vector<float> expected = run_layers();
  ascend_sim_set_faults("saturation=1:207000");
  EXPECT_EQ(run_layers(), expected);
}
TEST_F(Faults, AtbContextCannotBeMade) {
  expect_each_to_fail_so("create_context", ":26", {HEED_ERROR_OUT_OF_MEMORY}, 1);
}
// The first one is made to check the installation.
TEST_F(Faults, OperationCannotBeMade) {
  expect_each_to_fail_so("create_operation", ":1", {HEED_ERROR_DEVICE_UNAVAILABLE, HEED_ERROR_INTERNAL}, 5);
}
TEST_F(Faults, SetupFails) { expect_each_to_fail_so("setup", ":4", {HEED_ERROR_INTERNAL}, 10); }
TEST_F(Faults, SetupRunsOutOfDeviceMemory) { expect_each_to_fail_so("setup", ":26", {HEED_ERROR_OUT_OF_MEMORY}, 10); }
TEST_F(Faults, SetupThrows) { expect_each_to_fail_so("throw", "", {HEED_ERROR_OUT_OF_MEMORY}, 10); }
TEST_F(Faults, ExecuteFails) { expect_each_to_fail_so("execute", ":4", {HEED_ERROR_INTERNAL}, 10); }
TEST_F(Faults, CopyFails) { expect_each_to_fail_so("memcpy", ":500003", {HEED_ERROR_INTERNAL}, 10); }
TEST_F(Faults, KernelFailsAndTheDeviceIsLost) {
  expect_each_to_fail_so("kernel", ":507015", {HEED_ERROR_DEVICE_LOST}, 10);
}

// Functions that change rows in place write all of them at the end. If a copy fails before, the cache is as it was; if it fails
// then, the sequence is cut to the rows that do not change.
TEST_F(Faults, ASequenceIsUnchangedOrCut) {
  struct Change {
    const char* name;
    int64_t num_unchanged;
    std::function<heed_status(heed_cache*)> call;
  };
  const std::vector<uint8_t> other = [] {
    const CacheOfPages cache;
    cache.append(0, 100, 30);
    return cache.bytes(0);
  }();
  const std::vector<Change> changes = {
      {"accept", 19,
       [](heed_cache* cache) {
         const int64_t kept[] = {0, 4, 30};
         return heed_cache_accept(cache, 0, 18, kept, 3);
       }},
      {"discard", 5, [](heed_cache* cache) { return heed_cache_discard(cache, 0, 5, 10, 1); }},
      {"load", 0, [&](heed_cache* cache) { return heed_cache_load_memory(cache, 0, other.data(), other.size()); }},
  };
  for (const Change& change : changes) {
    int num_unchanged = 0;
    int num_cut = 0;
    for (int n = 1; n < 100; ++n) {
      const CacheOfPages cache;
      cache.append(0, 0, 50);
      const std::vector<uint8_t> before = cache.bytes(0);
      property::check(heed_cache_fork(cache.get(), 0, 50, 1));
      ascend_sim_set_faults(("memcpy=" + std::to_string(n) + ":500003").c_str());
      const heed_status status = change.call(cache.get());
      ascend_sim_clear_faults();
      if (status == HEED_OK) break;
      EXPECT_EQ(status, HEED_ERROR_INTERNAL) << heed_last_error();
      EXPECT_EQ(cache.bytes(1), before) << change.name << ", copy " << n;
      const int64_t length = heed_cache_length(cache.get(), 0);
      (length == 50 ? num_unchanged : num_cut) += 1;
      if (length == 50) {
        EXPECT_EQ(cache.bytes(0), before) << change.name << ", copy " << n;
      } else {
        EXPECT_EQ(length, change.num_unchanged) << change.name << ", copy " << n;
        property::check(heed_cache_rewind(cache.get(), 1, length));
        EXPECT_EQ(cache.bytes(0), cache.bytes(1)) << change.name << ", copy " << n;
      }
      // No page is lost.
      property::check(heed_cache_rewind(cache.get(), 0, 0));
      property::check(heed_cache_rewind(cache.get(), 1, 0));
      EXPECT_EQ(heed_cache_free_pages(cache.get()), 12) << change.name << ", copy " << n;
    }
    EXPECT_GE(num_cut, 2) << change.name;
    // A load reads nothing from the cache.
    EXPECT_GE(num_unchanged, change.num_unchanged > 0 ? 2 : 0) << change.name;
  }
}

// Beyond 2048 operations all are destroyed, with ATB's context. If a new one cannot be made, the next call makes it.
TEST_F(Faults, ANewContextOfAtbCannotBeMade) {
  const Context context = make_npu_context();
  RotaryCase call;
  call.dtype = HEED_F32;
  call.layout = HEED_ROPE_INTERLEAVED;
  call.rotary_size = 10;
  const RotaryLayer layer(context.get(), call);
  property::check(layer.forward());
  const std::vector<float> expected = layer.read();
  ascend_sim_set_faults("create_context=1:26");
  int num_failed = 0;
  for (int i = 0; i < 500 && num_failed == 0; ++i) {
    std::thread([&] {
      if (layer.forward() == HEED_OK) return;
      ++num_failed;
      EXPECT_TRUE(is_refused(heed_last_status(), {HEED_ERROR_OUT_OF_MEMORY, {"atb::CreateContext"}}));
    }).join();
  }
  EXPECT_EQ(num_failed, 1);
  property::check(layer.forward());
  EXPECT_EQ(layer.read(), expected);
}

TEST_F(Faults, AFullDeviceSaysWhatToDoAndGoesOn) {
  const Context context = make_npu_context();
  const Attention attention(context.get());
  property::check(attention.forward());
  const std::vector<float> expected = attention.read();
  ascend_sim_set_faults("memory=100000");
  heed_tensor* tensor = nullptr;
  const int64_t dims[] = {1'000'000};
  EXPECT_TRUE(is_refused(heed_tensor_create(context.get(), HEED_F32, 1, dims, &tensor),
                         {HEED_ERROR_OUT_OF_MEMORY, {"Ascend device", "4000000 bytes", "fewer or smaller"}}));
  ascend_sim_clear_faults();
  property::check(heed_tensor_create(context.get(), HEED_F32, 1, dims, &tensor));
  heed_tensor_destroy(tensor);
  property::check(attention.forward());
  EXPECT_EQ(attention.read(), expected);
}

// Kept blocks are returned to the driver if an allocation of another size finds the device full.
TEST_F(Faults, KeptMemoryIsFreedIfTheDeviceIsFull) {
  const Context context = make_npu_context();
  // ATB's context takes 32 blocks of 3 MiB.
  constexpr size_t kTakenByAtb = 32 * (size_t{3} << 20);
  ascend_sim_set_faults(("memory=" + std::to_string(kTakenByAtb + 6'000'000)).c_str());
  for (const int64_t size : {1'000'000, 1'100'000, 1'300'000}) {
    heed_tensor* tensor = nullptr;
    property::check(heed_tensor_create(context.get(), HEED_F32, 1, &size, &tensor));
    heed_tensor_destroy(tensor);
  }
}

TEST_F(Faults, ADeferredFailureIsReportedByTheCallThatWaits) {
  Context context = make_npu_context();
  Attention attention(context.get());
  property::check(attention.forward());
  property::check(heed_context_synchronize(context.get()));
  ascend_sim_set_faults("kernel=1:507015");
  property::check(attention.forward());
  EXPECT_TRUE(is_refused(heed_context_synchronize(context.get()),
                         {HEED_ERROR_DEVICE_LOST, {"ascend:0", "failed while it worked", "507015"}}));
  // Later calls report that the device has been lost, and what to do.
  const Refusal lost = {HEED_ERROR_DEVICE_LOST, {"device ascend:0 has been lost", "507015", "open a new one"}};
  EXPECT_TRUE(is_refused(heed_context_synchronize(context.get()), lost));
  EXPECT_TRUE(is_refused(attention.forward(), lost));
  float number = 0;
  const Tensor element = capi_test::make_slice(capi_test::make_reshaped(attention.output.get(), {512}).get(), 0, 0, 1);
  EXPECT_TRUE(is_refused(heed_tensor_read(element.get(), &number, 2), lost));
  heed_context_options options = npu_options();
  heed_context* another = nullptr;
  EXPECT_EQ(heed_context_create(&options, &another), HEED_OK) << "that shares the device";
  heed_context_destroy(another);
}

// Some codes near 507000 mean that the device is lost, others do not.
TEST_F(Faults, ARefusedCallDoesNotLoseTheDevice) {
  for (const char* code : {"107020", "107023", "507001", "507010", "507036", "507057", "507899", "507900", "507901",
                           "507914", "507915", "507916"}) {
    const Context context = make_npu_context();
    const Tensor tensor = capi_test::make_tensor(context.get(), {16});
    ascend_sim_set_faults((std::string("memcpy=1:") + code).c_str());
    EXPECT_EQ(outcome_of([&] { capi_test::read_floats(context.get(), tensor.get()); }).status, HEED_ERROR_DEVICE_LOST)
        << code;
    EXPECT_EQ(heed_context_synchronize(context.get()), HEED_ERROR_DEVICE_LOST) << code;
  }
  for (const char* code : {"107019", "107024", "507002", "507009", "507019", "507032", "507041", "507058", "507898",
                           "507902", "507913", "507917"}) {
    const Context context = make_npu_context();
    const Tensor tensor = capi_test::make_tensor(context.get(), {16});
    ascend_sim_set_faults((std::string("memcpy=1:") + code).c_str());
    EXPECT_EQ(outcome_of([&] { capi_test::read_floats(context.get(), tensor.get()); }).status, HEED_ERROR_INTERNAL)
        << code;
    EXPECT_EQ(capi_test::read_floats(context.get(), tensor.get()), std::vector<float>(16, 0.0f)) << code;
  }
}

// If the host's own call of AscendCL meets the failure first, heed still finds the device lost at its next call,
// whichever that is.
TEST_F(Faults, ADeviceThatTheHostFoundLostIsLostForHeed) {
  for (const bool by_memory : {false, true}) {
    ascend_sim_clear_faults();
    {
      const Context context = make_npu_context();
      // A layer without parameters, so that nothing has been uploaded yet.
      const Layer layer = capi_test::make_dot_product(context.get(), HEED_DOT_PRODUCT_ATTENTION_OPTIONS_INIT);
      const Tensor queries = capi_test::make_tensor(context.get(), {1, 4, 16}, HEED_F16);
      const Tensor output = capi_test::make_tensor(context.get(), {1, 4, 16}, HEED_F16);
      heed_layer_inputs inputs = HEED_LAYER_INPUTS_INIT;
      inputs.queries = queries.get();
      heed_layer_outputs outputs = HEED_LAYER_OUTPUTS_INIT;
      outputs.output = output.get();
      ascend_sim_set_faults("kernel=1:507015");
      property::check(heed_layer_forward(layer.get(), &inputs, nullptr, &outputs));
      ASSERT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
      EXPECT_EQ(aclrtSynchronizeDevice(), 507015);
      heed_tensor* tensor = nullptr;
      const int64_t dims[] = {1'000'000};
      const std::vector<float> numbers(64, 1.0f);
      const heed_status status = by_memory ? heed_tensor_create(context.get(), HEED_F32, 1, dims, &tensor)
                                           : heed_tensor_write(queries.get(), numbers.data(), 128);
      EXPECT_TRUE(is_refused(status, {HEED_ERROR_DEVICE_LOST, {"device ascend:0 failed while it worked"}}));
      EXPECT_TRUE(is_refused(heed_context_synchronize(context.get()),
                             {HEED_ERROR_DEVICE_LOST, {"device ascend:0 has been lost", "open a new one"}}));
      EXPECT_EQ(aclrtResetDevice(0), ACL_SUCCESS);
    }
  }
}

TEST_F(Faults, ALostDeviceCanBeOpenedAgainWhenItsObjectsAreGone) {
  const std::vector<float> expected = run_layers();
  {
    const Context context = make_npu_context();
    const Attention attention(context.get());
    ascend_sim_set_faults("kernel=1:507014");
    EXPECT_EQ(outcome_of([&] {
                property::check(attention.forward());
                attention.read();
              }).status,
              HEED_ERROR_DEVICE_LOST);
  }
  ascend_sim_clear_faults();
  EXPECT_EQ(run_layers(), expected);
}

// What the scripts of CANN and of NNAL set.
TEST_F(Faults, AnEnvironmentThatWasNotSourcedIsNamed) {
  const heed_context_options options = npu_options();
  for (const auto& [name, script] : {std::pair("ASCEND_HOME_PATH", "the set_env.sh of the CANN toolkit"),
                                     std::pair("ATB_HOME_PATH", "the set_env.sh of NNAL (ATB)")}) {
    const Variable variable(name);
    variable.unset();
    const Refusal refusal = {HEED_ERROR_DEVICE_UNAVAILABLE, {name, "is not set", script}};
    EXPECT_EQ(heed_device_count(HEED_DEVICE_ASCEND), 0);
    EXPECT_TRUE(is_refused(heed_last_status(), refusal));
    heed_context* context = nullptr;
    EXPECT_TRUE(is_refused(heed_context_create(&options, &context), refusal));
    variable.set("");
    EXPECT_TRUE(is_refused(heed_context_create(&options, &context), refusal));
  }
  EXPECT_EQ(heed_device_count(HEED_DEVICE_ASCEND), 1);
}

// ATB opens a library of CANN when the first Elewise is created: as soon as the device is opened.
TEST_F(Faults, AnInstallationWithoutElewisesLibraryIsRefused) {
  const heed_context_options options = npu_options();
  heed_context* context = nullptr;
  ascend_sim_set_faults("create_operation=1:1");
  EXPECT_TRUE(is_refused(heed_context_create(&options, &context),
                         {HEED_ERROR_DEVICE_UNAVAILABLE, {"Elewise", "libopapi.so", "set_env.sh"}}));
  ascend_sim_set_faults("create_operation=1:26");
  EXPECT_TRUE(
      is_refused(heed_context_create(&options, &context), {HEED_ERROR_OUT_OF_MEMORY, {"atb::CreateOperation"}}));
}

TEST_F(Faults, WithoutADeviceTheCountIs0) {
  ascend_sim_set_faults("device_count=0");
  EXPECT_EQ(heed_device_count(HEED_DEVICE_ASCEND), 0);
  EXPECT_TRUE(is_refused(heed_last_status(), {HEED_ERROR_DEVICE_UNAVAILABLE, {"no NPU", "npu-smi"}}));
  const heed_context_options options = npu_options();
  heed_context* context = nullptr;
  EXPECT_TRUE(is_refused(heed_context_create(&options, &context), {HEED_ERROR_DEVICE_UNAVAILABLE, {"no NPU"}}));
}

TEST_F(Faults, OtherChipsAreRefusedByName) {
  for (const char* chip : {"Ascend310P3", "Ascend910A", "Ascend910B", "Ascend910_95", "Ascend310B1"}) {
    ascend_sim_set_faults((std::string("soc=") + chip).c_str());
    EXPECT_EQ(heed_device_count(HEED_DEVICE_ASCEND), 0) << chip;
    EXPECT_TRUE(is_refused(heed_last_status(), {HEED_ERROR_DEVICE_UNAVAILABLE, {chip, "Atlas A2"}})) << chip;
  }
  for (const char* chip : {"Ascend910B1", "Ascend910B4", "Ascend910_9392"}) {
    ascend_sim_set_faults((std::string("soc=") + chip).c_str());
    EXPECT_EQ(heed_device_count(HEED_DEVICE_ASCEND), 1) << chip;
  }
}

}  // namespace
}  // namespace heed::ascend_test
