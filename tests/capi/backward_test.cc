// SPDX-License-Identifier: Apache-2.0
// Backward between the other calls of a program that trains: saved arrays that are too old, weights that a step has changed, sharing
// between threads.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <thread>
#include <vector>

#include "capi/support/objects.h"
#include "capi/support/refusal.h"

namespace heed::capi_test {
namespace {

using Saved = std::unique_ptr<heed_saved, property::Destroyer<heed_saved_destroy>>;

constexpr int64_t kInputs = 70;
constexpr int64_t kOutputs = 90;

// A feed-forward network and a call of it.
struct Network {
  Context context = make_context();
  Layer layer;
  Tensor rows = make_random(context.get(), {2, 3, kInputs}, 1);
  Tensor output = make_tensor(context.get(), {2, 3, kOutputs});
  Tensor of_output = make_random(context.get(), {2, 3, kOutputs}, 2);
  Tensor of_rows = make_tensor(context.get(), {2, 3, kInputs});
  heed_layer_inputs inputs = HEED_LAYER_INPUTS_INIT;
  heed_layer_outputs outputs = HEED_LAYER_OUTPUTS_INIT;
  heed_layer_gradients wanted = HEED_LAYER_GRADIENTS_INIT;
  Gradients gradients;
  Saved saved;
  heed_status status = HEED_ERROR_INTERNAL;  // of a backward on another thread

  Network() {
    heed_feed_forward_options options = HEED_FEED_FORWARD_OPTIONS_INIT;
    options.hidden_size = 130;
    options.output_size = kOutputs;
    heed_layer* made = nullptr;
    check(heed_feed_forward_create(context.get(), &options, &made));
    layer.reset(made);
    inputs.queries = rows.get();
    check(heed_layer_initialize(made, &inputs, 3));
    outputs.output = output.get();
    gradients = make_gradients(made);
    wanted.output = of_output.get();
    wanted.queries = of_rows.get();
    wanted.parameters = gradients.get();
  }
  void fill_saved() {
    size_t num_bytes = 0;
    check(heed_layer_saved_size(layer.get(), &inputs, &num_bytes));
    heed_saved* made = nullptr;
    check(heed_saved_create(context.get(), num_bytes, &made));
    saved.reset(made);
    outputs.saved = made;
    check(heed_layer_forward(layer.get(), &inputs, nullptr, &outputs));
  }
  heed_status backward() { return heed_layer_backward(layer.get(), &inputs, &outputs, nullptr, &wanted); }
  std::vector<float> numbers() {
    std::vector<float> all = read_elements<float>(of_rows.get());
    for (int64_t i = 0; i < heed_gradients_count(gradients.get()); ++i) {
      const Tensor view = gradient_of(gradients.get(), heed_gradients_name(gradients.get(), i));
      const std::vector<float> more = read_elements<float>(view.get());
      all.insert(all.end(), more.begin(), more.end());
    }
    return all;
  }
};

TEST(Backward, RefusesSavedArraysOfOlderParameters) {
  Network network;
  network.fill_saved();
  check(network.backward());
  const Optimizer optimizer = make_sgd(network.context.get());
  check(heed_optimizer_step(optimizer.get(), network.layer.get(), network.gradients.get()));
  EXPECT_TRUE(is_refused(network.backward(), invalid({"saved", "before parameters of the layer changed"})));
  check(heed_layer_forward(network.layer.get(), &network.inputs, nullptr, &network.outputs));
  check(network.backward());
}

// The second packing of each weight, which the first backward made, is that of the numbers after a step.
TEST(Backward, MultipliesByTheWeightsThatAStepHasChanged) {
  Network network;
  check(network.backward());
  const Optimizer optimizer = make_adamw(network.context.get());
  for (int i = 0; i < 2; ++i) check(heed_optimizer_step(optimizer.get(), network.layer.get(), network.gradients.get()));
  check(network.backward());
  Network fresh;
  for (int64_t i = 0; i < heed_layer_parameter_count(fresh.layer.get()); ++i) {
    const char* const name = heed_layer_parameter_name(fresh.layer.get(), i);
    check(heed_layer_set_parameter(fresh.layer.get(), name, snapshot(network.layer.get(), name).get()));
  }
  check(fresh.backward());
  EXPECT_EQ(network.numbers(), fresh.numbers());
}

TEST(Backward, OfOneLayerOnManyThreads) {
  Network first;
  check(first.backward());
  const std::vector<float> expected = first.numbers();
  std::vector<Network> networks(4);
  std::vector<std::thread> threads;
  threads.reserve(networks.size());
  // All of them are the first to ask the shared layer for the transposed weights.
  const Network shared;
  for (Network& network : networks) {
    network.gradients = make_gradients(shared.layer.get());
    network.wanted.parameters = network.gradients.get();
    threads.emplace_back([&network, &shared] {
      network.status = heed_layer_backward(shared.layer.get(), &network.inputs, nullptr, nullptr, &network.wanted);
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (Network& network : networks) {
    EXPECT_EQ(network.status, HEED_OK);
    EXPECT_EQ(network.numbers(), expected);
  }
}

TEST(Backward, LeavesFrozenParametersOut) {
  Network network;
  check(network.backward());
  const std::vector<float> of_rows = read_elements<float>(network.of_rows.get());
  check(heed_layer_set_trainable(network.layer.get(), nullptr, 0));
  check(heed_layer_set_trainable(network.layer.get(), "W_2.bias", 1));
  network.gradients = make_gradients(network.layer.get());
  network.wanted.parameters = network.gradients.get();
  ASSERT_EQ(heed_gradients_count(network.gradients.get()), 1);
  check(network.backward());
  EXPECT_EQ(read_elements<float>(network.of_rows.get()), of_rows);
  network.wanted.queries = nullptr;
  check(network.backward());
}

TEST(Backward, AccumulatesInputsAndParameters) {
  Network network;
  check(network.backward());
  const std::vector<float> once = network.numbers();
  network.wanted.accumulate = 1;
  check(network.backward());
  const std::vector<float> twice = network.numbers();
  for (size_t i = 0; i < once.size(); ++i) EXPECT_NEAR(twice[i], 2 * once[i], 1e-5 * std::abs(once[i]) + 1e-4);
}

}  // namespace
}  // namespace heed::capi_test
