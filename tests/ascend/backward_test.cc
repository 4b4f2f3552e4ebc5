// SPDX-License-Identifier: Apache-2.0
// Training with parameters on an NPU: the host computes calls with a backward, losses and steps, with the bits of the CPU.
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "ascend/support/explained.h"
#include "ascend/support/simulated.h"
#include "ascend/support/training.h"
#include "capi/support/refusal.h"

namespace heed::ascend_test {
namespace {

using capi_test::Gradients;
using capi_test::make_gradients;
using capi_test::Optimizer;
using capi_test::read_elements;
using property::check;

class BackwardOnTheNpu : public Simulated {};

constexpr const char* kReason = "calls with a backward compute in F32 on the host";
// Not strict.
Context make_lenient_context(bool allow_reduced_precision = true) {
  heed_context_options options = npu_options();
  options.strict = 0;
  options.allow_reduced_precision = allow_reduced_precision ? 1 : 0;
  return capi_test::make_context(&options);
}

// Also where the NPU may not narrow F32, and would refuse the forward alone.
TEST_F(BackwardOnTheNpu, GradientsHaveTheBitsOfTheCpu) {
  for (const TrainedKind& kind : trained_kinds()) {
    for (const bool saves : {false, true}) {
      SCOPED_TRACE(std::string(kind.name) + (saves ? ", saved" : ", computed again"));
      Training on_cpu(capi_test::make_context(), kind);
      Training narrowing(make_lenient_context(), kind);
      Training wide(make_lenient_context(false), kind);
      for (Training* const training : {&on_cpu, &narrowing, &wide}) {
        if (saves) {
          training->save();
          ASSERT_EQ(training->forward(), HEED_OK) << heed_last_error();
        }
        ASSERT_EQ(training->backward(), HEED_OK) << heed_last_error();
      }
      EXPECT_EQ(narrowing.parameters(), on_cpu.parameters());
      EXPECT_EQ(narrowing.numbers(), on_cpu.numbers());
      EXPECT_EQ(wide.numbers(), on_cpu.numbers());
    }
  }
}

TEST_F(BackwardOnTheNpu, GradientsAreAddedToWhatTheDeviceHolds) {
  for (const TrainedKind& kind : trained_kinds()) {
    SCOPED_TRACE(kind.name);
    Training on_cpu(capi_test::make_context(), kind);
    Training on_npu(make_lenient_context(), kind);
    for (Training* const training : {&on_cpu, &on_npu}) {
      ASSERT_EQ(training->backward(), HEED_OK) << heed_last_error();
      training->wanted.accumulate = 1;
      ASSERT_EQ(training->backward(), HEED_OK) << heed_last_error();
    }
    EXPECT_EQ(on_npu.numbers(), on_cpu.numbers());
  }
}

TEST_F(BackwardOnTheNpu, ExplainSaysThatTheHostComputesAndWhy) {
  const std::set<std::string> expected = {kReason};
  for (const TrainedKind& kind : trained_kinds()) {
    SCOPED_TRACE(kind.name);
    Training training(make_lenient_context(), kind);
    const auto expect_host = [&](const nlohmann::json& explained) {
      EXPECT_EQ(explained["backend"], "ascend");
      EXPECT_EQ(explained["not_fastest"].get<std::set<std::string>>(), expected);
      EXPECT_FALSE(explained["operations"].empty());
      for (const nlohmann::json& operation : explained["operations"])
        EXPECT_EQ(operation["not_fastest"].get<std::set<std::string>>(), expected) << operation["operation"];
    };
    expect_host(training.explain_backward());
    training.save();
    expect_host(training.explain_backward());
    expect_host(explain(training.layer.get(), training.inputs, training.outputs));
  }
}

TEST_F(BackwardOnTheNpu, StrictContextsRefuseIt) {
  for (const TrainedKind& kind : trained_kinds()) {
    SCOPED_TRACE(kind.name);
    Training training(make_npu_context(), kind);
    const Numbers before = training.numbers();
    const capi_test::Refusal refusal = {
        HEED_ERROR_NOT_FASTEST, {"the context is strict", std::string("would not take the fastest path: ") + kReason}};
    EXPECT_TRUE(capi_test::is_refused(training.backward(), refusal));
    training.save();
    EXPECT_TRUE(capi_test::is_refused(training.forward(), refusal));
    EXPECT_EQ(training.numbers(), before);
  }
}

// A call without a backward computes on the NPU, with parameters that steps have changed.
TEST_F(BackwardOnTheNpu, StepsChangeTheParametersThatTheNpuComputesWith) {
  const TrainedKind& kind = trained_kind("linear");
  Training training(make_lenient_context(), kind);
  check(training.forward());
  const Numbers before = training.numbers();
  check(training.backward());
  heed_sgd_options options = HEED_SGD_OPTIONS_INIT;
  options.learning_rate = 0.1;
  options.momentum = 0.9;
  const Optimizer optimizer = capi_test::make_sgd(training.context.get(), options);
  for (int step = 0; step < 2; ++step)
    ASSERT_EQ(heed_optimizer_step(optimizer.get(), training.layer.get(), training.gradients.get()), HEED_OK)
        << heed_last_error();
  check(training.forward());
  EXPECT_NE(training.numbers().at("output"), before.at("output"));
  Training fresh(make_npu_context(), kind);
  fresh.set_parameters(training.parameters());
  ASSERT_EQ(fresh.forward(), HEED_OK) << heed_last_error();
  EXPECT_EQ(training.numbers().at("output"), fresh.numbers().at("output"));
}

TEST_F(BackwardOnTheNpu, AModelLearnsWithTheBitsOfTheCpu) {
  const TrainedKind& kind = trained_kind("encoder");
  heed_adamw_options adamw = HEED_ADAMW_OPTIONS_INIT;
  adamw.learning_rate = 0.01;
  heed_sgd_options sgd = HEED_SGD_OPTIONS_INIT;
  sgd.momentum = 0.9;
  sgd.nesterov = 1;
  const std::function<Optimizer(heed_context*)> optimizers[] = {
      [&](heed_context* context) { return capi_test::make_adamw(context, adamw); },
      [&](heed_context* context) { return capi_test::make_sgd(context, sgd); }};
  for (const auto& make_optimizer : optimizers) {
    Training on_cpu(capi_test::make_context(), kind);
    Training on_npu(make_lenient_context(), kind);
    const std::vector<double> expected = train(on_cpu, make_optimizer(on_cpu.context.get()).get(), 3);
    const std::vector<double> found = train(on_npu, make_optimizer(on_npu.context.get()).get(), 3);
    EXPECT_EQ(found, expected);
    EXPECT_LT(found[found.size() - 2], found[0]);
    EXPECT_EQ(on_npu.parameters(), on_cpu.parameters());
  }
}

// Parameters and the optimizer's state are as before, so that the next step has the bits that it would have had.
TEST_F(BackwardOnTheNpu, AStepThatFailsChangesNothing) {
  const TrainedKind& kind = trained_kind("feed-forward network");
  Training training(make_lenient_context(), kind);
  Training other(make_lenient_context(), kind);
  const Optimizer optimizer = capi_test::make_adamw(training.context.get());
  const Optimizer of_other = capi_test::make_adamw(other.context.get());
  check(training.backward());
  check(other.backward());
  for (const std::string fault : {"malloc", "memcpy", "malloc", "memcpy"}) {
    check(heed_optimizer_step(of_other.get(), other.layer.get(), other.gradients.get()));
    const Numbers before = training.parameters();
    int num_failed = 0;
    for (;; ++num_failed) {
      ASSERT_LT(num_failed, 500);
      const std::string n = std::to_string(num_failed + 1);
      // A failed allocation is repeated once.
      const std::string faults =
          fault == "malloc" ? "malloc=" + n + ",malloc=" + std::to_string(num_failed + 2) : "memcpy=" + n + ":500003";
      // Memory that is kept for later calls would be taken in place of the device's.
      check(heed_context_trim(training.context.get()));
      ascend_sim_set_faults(faults.c_str());
      const heed_status status = heed_optimizer_step(optimizer.get(), training.layer.get(), training.gradients.get());
      ascend_sim_clear_faults();
      if (status == HEED_OK) break;
      ASSERT_EQ(training.parameters(), before) << faults << ": " << heed_last_error();
    }
    EXPECT_GT(num_failed, fault == "memcpy" ? 5 : 0);
    EXPECT_EQ(training.parameters(), other.parameters());
  }
}

constexpr int64_t kNumClasses = 11;

struct Loss {
  double total = 0;
  std::vector<float> losses;
  std::vector<float> gradient;
};

Loss cross_entropy(heed_context* context, bool in_place) {
  const Tensor logits = capi_test::make_random(context, {2, 3, kNumClasses}, 1);
  const Tensor labels = capi_test::make_tensor_of<int64_t>(context, {2, 3}, {0, 10, -100, 4, 3, 99});
  const Tensor lens = capi_test::make_tensor_of<float>(context, {2}, {3, 2});
  const Tensor losses = capi_test::make_tensor(context, {2, 3});
  const Tensor gradient = capi_test::make_tensor(context, {2, 3, kNumClasses});
  heed_cross_entropy_options options = HEED_CROSS_ENTROPY_OPTIONS_INIT;
  options.label_smoothing = 0.1F;
  heed_tensor* const written = in_place ? logits.get() : gradient.get();
  Loss loss;
  check(heed_cross_entropy(logits.get(), labels.get(), lens.get(), &options, losses.get(), &loss.total, written));
  loss.losses = read_elements<float>(losses.get());
  loss.gradient = read_elements<float>(written);
  return loss;
}

TEST_F(BackwardOnTheNpu, CrossEntropyHasTheBitsOfTheCpu) {
  const Context cpu = capi_test::make_context();
  const Context npu = make_lenient_context();
  for (const bool in_place : {false, true}) {
    const Loss expected = cross_entropy(cpu.get(), in_place);
    const Loss found = cross_entropy(npu.get(), in_place);
    EXPECT_EQ(found.total, expected.total);
    EXPECT_EQ(found.losses, expected.losses);
    EXPECT_EQ(found.gradient, expected.gradient);
  }
  try {
    cross_entropy(make_npu_context().get(), false);
    FAIL() << "a strict context computes it on the CPU";
  } catch (const property::CallFailed& failure) {
    EXPECT_EQ(failure.status, HEED_ERROR_NOT_FASTEST);
    EXPECT_NE(std::string(failure.what()).find("the device does not have this operation"), std::string::npos);
  }
}

// Sets of gradients, squared errors and steps are no operations of a device: a strict context computes them too.
TEST_F(BackwardOnTheNpu, StrictContextsTakeSteps) {
  const TrainedKind& kind = trained_kind("linear");
  std::map<std::string, Numbers> of_device;
  std::map<std::string, double> totals;
  for (const std::string device : {"cpu", "npu"}) {
    Training training(device == "cpu" ? capi_test::make_context() : make_npu_context(), kind);
    heed_context* const context = training.context.get();
    for (const char* const name : {"weight", "bias"}) {
      const Tensor gradient = capi_test::gradient_of(training.gradients.get(), name);
      const Tensor numbers = capi_test::make_random(context, capi_test::dims_of(gradient.get()), 9);
      check(heed_tensor_copy(gradient.get(), numbers.get()));
    }
    const Gradients addend = make_gradients(training.layer.get());
    check(heed_gradients_add(addend.get(), training.gradients.get()));
    check(heed_gradients_scale(training.gradients.get(), 0.5));
    check(heed_gradients_add(training.gradients.get(), addend.get()));
    heed_gradients* const sets[] = {training.gradients.get(), addend.get()};
    check(heed_gradients_norm(sets, 2, &totals[device + " norm"]));
    const Optimizer optimizer = capi_test::make_adamw(context);
    ASSERT_EQ(heed_optimizer_step(optimizer.get(), training.layer.get(), training.gradients.get()), HEED_OK)
        << heed_last_error();
    of_device[device] = training.parameters();
    const Tensor target = capi_test::make_random(context, kind.queries, 6);
    const Tensor gradient = capi_test::make_tensor(context, kind.queries);
    check(heed_squared_error(training.inputs.queries, target.get(), nullptr, nullptr, &totals[device + " error"],
                             gradient.get()));
    of_device[device]["of the squared error"] = read_elements<float>(gradient.get());
  }
  EXPECT_EQ(of_device["npu"], of_device["cpu"]);
  EXPECT_EQ(totals["npu norm"], totals["cpu norm"]);
  EXPECT_EQ(totals["npu error"], totals["cpu error"]);
}

}  // namespace
}  // namespace heed::ascend_test
