// SPDX-License-Identifier: Apache-2.0
// Failures of the NPU at every call where one is possible. The failing call returns a status and says what to do;
// nothing is lost or leaked; the next call works, unless the device itself is lost.
#include <acl/acl.h>

#include <algorithm>
#include <functional>
#include <thread>

#include "ascend/support/rotary_layer.h"
#include "ascend/support/simulated.h"
#include "capi/support/refusal.h"

namespace heed::ascend_test {
namespace {

using capi_test::is_refused;
using capi_test::Refusal;

class Faults : public Simulated {};

// Opens a context, computes output and weights, rotary positions with a norm, and ALiBi, closes everything, and returns the
// numbers.
std::vector<float> run_everything() {
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

// Makes the n-th call of one kind fail, for n = 1, 2, ..., until there are fewer than n such calls. Each failure must
// have an allowed status, and everything must work afterwards. At least `least` calls must have failed.
void expect_each_to_fail_so(const std::string& fault, const std::string& code, const std::vector<heed_status>& allowed,
                            int least) {
  const std::vector<float> expected = run_everything();
  int num_hit = 0;
  for (int n = 1; n < 2000; ++n) {
    // heed repeats a failed allocation once, so two in a row must fail.
    std::string list = fault + "=" + std::to_string(n) + code;
    if (fault == "malloc") list += ",malloc=" + std::to_string(n + 1);
    ascend_sim_set_faults(list.c_str());
    const Outcome outcome = outcome_of([] { run_everything(); });
    ascend_sim_clear_faults();
    if (outcome.status == HEED_OK) break;
    ++num_hit;
    EXPECT_NE(std::find(allowed.begin(), allowed.end(), outcome.status), allowed.end())
        << list << " gives " << heed_status_name(outcome.status) << ": " << outcome.sentence;
    EXPECT_FALSE(outcome.sentence.empty());
    char text[2048] = "";
    EXPECT_EQ(ascend_sim_leaks(text, sizeof text), 0u) << "after " << list << ": " << text;
    EXPECT_EQ(run_everything(), expected) << "after " << list;
  }
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
  const std::vector<float> expected = run_everything();
  ascend_sim_set_faults("saturation=1:207000");
  EXPECT_EQ(run_everything(), expected);
}
TEST_F(Faults, AtbContextCannotBeMade) {
  expect_each_to_fail_so("create_context", ":26", {HEED_ERROR_OUT_OF_MEMORY}, 1);
}
TEST_F(Faults, OperationCannotBeMade) { expect_each_to_fail_so("create_operation", ":1", {HEED_ERROR_INTERNAL}, 5); }
TEST_F(Faults, SetupFails) { expect_each_to_fail_so("setup", ":4", {HEED_ERROR_INTERNAL}, 10); }
TEST_F(Faults, SetupRunsOutOfDeviceMemory) { expect_each_to_fail_so("setup", ":26", {HEED_ERROR_OUT_OF_MEMORY}, 10); }
TEST_F(Faults, SetupThrows) { expect_each_to_fail_so("throw", "", {HEED_ERROR_OUT_OF_MEMORY}, 10); }
TEST_F(Faults, ExecuteFails) { expect_each_to_fail_so("execute", ":4", {HEED_ERROR_INTERNAL}, 10); }
TEST_F(Faults, CopyFails) { expect_each_to_fail_so("memcpy", ":500003", {HEED_ERROR_INTERNAL}, 10); }
TEST_F(Faults, KernelFailsAndTheDeviceIsLost) {
  expect_each_to_fail_so("kernel", ":507015", {HEED_ERROR_DEVICE_LOST}, 10);
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
  for (const char* code : {"107020", "107023", "507001", "507010", "507036", "507057", "507899", "507900", "507901"}) {
    const Context context = make_npu_context();
    const Tensor tensor = capi_test::make_tensor(context.get(), {16});
    ascend_sim_set_faults((std::string("memcpy=1:") + code).c_str());
    EXPECT_EQ(outcome_of([&] { capi_test::read_floats(context.get(), tensor.get()); }).status, HEED_ERROR_DEVICE_LOST)
        << code;
    EXPECT_EQ(heed_context_synchronize(context.get()), HEED_ERROR_DEVICE_LOST) << code;
  }
  for (const char* code :
       {"107019", "107024", "507002", "507009", "507019", "507032", "507041", "507058", "507898", "507902"}) {
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
  const std::vector<float> expected = run_everything();
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
  EXPECT_EQ(run_everything(), expected);
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
