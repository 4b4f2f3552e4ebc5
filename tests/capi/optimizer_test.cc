// SPDX-License-Identifier: Apache-2.0
// Steps of optimizers: where parameters are written, groups, files, and steps that are refused. tests/golden has the numbers.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "capi/support/counting_allocator.h"
#include "capi/support/files.h"
#include "capi/support/objects.h"
#include "capi/support/refusal.h"
#include "support/platform/environment.h"

namespace heed::capi_test {
namespace {

Layer make_dense(heed_context* context, int64_t outputs, int64_t inputs, uint64_t seed = 1) {
  heed_linear_options options = HEED_LINEAR_OPTIONS_INIT;
  options.output_size = outputs;
  Layer layer = make_linear(context, options);
  check(heed_layer_set_parameter(layer.get(), "weight", make_random(context, {outputs, inputs}, seed).get()));
  check(heed_layer_set_parameter(layer.get(), "bias", make_random(context, {outputs}, seed + 1).get()));
  return layer;
}

Gradients random_gradients(const heed_layer* layer, uint64_t seed) {
  Gradients gradients = make_gradients(layer);
  for (int64_t i = 0; i < heed_gradients_count(gradients.get()); ++i) {
    const Tensor one = gradient_of(gradients.get(), heed_gradients_name(gradients.get(), i));
    check(heed_tensor_fill_normal(one.get(), 0, 1, seed + static_cast<uint64_t>(i)));
  }
  return gradients;
}

std::vector<float> numbers_of(const heed_layer* layer, const char* name) {
  return read_elements<float>(snapshot(layer, name).get());
}

std::vector<float> all_of(const heed_layer* layer) {
  std::vector<float> numbers;
  for (int64_t i = 0; i < heed_layer_parameter_count(layer); ++i) {
    const std::vector<float> own = numbers_of(layer, heed_layer_parameter_name(layer, i));
    numbers.insert(numbers.end(), own.begin(), own.end());
  }
  return numbers;
}

heed_sgd_options plain_sgd(double learning_rate) {
  heed_sgd_options options = HEED_SGD_OPTIONS_INIT;
  options.learning_rate = learning_rate;
  return options;
}

class OptimizerTest : public testing::Test {
 protected:
  Context context = make_context();
  Layer layer = make_dense(context.get(), 7, 5);
};

// Sizes at the borders of panels, of the blocks in which packed weights are updated, and of pieces.
TEST(OptimizerStep, ReachesEachElementOfEveryShape) {
  const Context context = make_context();
  for (const auto& [outputs, inputs] : std::vector<std::pair<int64_t, int64_t>>{{1, 1},
                                                                                {1, 400},
                                                                                {3, 1024},
                                                                                {16, 1025},
                                                                                {17, 3},
                                                                                {47, 5},
                                                                                {48, 1023},
                                                                                {49, 2100},
                                                                                {97, 341},
                                                                                {100, 64},
                                                                                {2100, 7},
                                                                                {20000, 1}}) {
    SCOPED_TRACE(std::to_string(outputs) + " x " + std::to_string(inputs));
    const Layer layer = make_dense(context.get(), outputs, inputs);
    const Gradients gradients = random_gradients(layer.get(), 5);
    const std::vector<float> before = numbers_of(layer.get(), "weight");
    const std::vector<float> gradient = read_elements<float>(gradient_of(gradients.get(), "weight").get());
    const Optimizer optimizer = make_sgd(context.get(), plain_sgd(0.25));
    check(heed_optimizer_step(optimizer.get(), layer.get(), gradients.get()));
    const std::vector<float> after = numbers_of(layer.get(), "weight");
    ASSERT_EQ(after.size(), before.size());
    for (size_t i = 0; i < after.size(); ++i) {
      const double exact = static_cast<double>(before[i]) - 0.25 * static_cast<double>(gradient[i]);
      ASSERT_EQ(after[i], static_cast<float>(exact)) << "element " << i;
    }
    // A call computes with them.
    const Tensor ones = make_tensor(context.get(), {1, inputs});
    check(heed_tensor_fill(ones.get(), 1));
    heed_layer_inputs given = HEED_LAYER_INPUTS_INIT;
    given.queries = ones.get();
    heed_layer_outputs outputs_of = HEED_LAYER_OUTPUTS_INIT;
    check(heed_layer_create_outputs(layer.get(), &given, HEED_WANT_OUTPUT, &outputs_of));
    const Tensor output(outputs_of.output);
    check(heed_layer_forward(layer.get(), &given, nullptr, &outputs_of));
    const std::vector<float> is = read_elements<float>(output.get());
    const std::vector<float> bias = numbers_of(layer.get(), "bias");
    for (int64_t n = 0; n < outputs; ++n) {
      double sum = static_cast<double>(bias[static_cast<size_t>(n)]);
      for (int64_t e = 0; e < inputs; ++e) sum += static_cast<double>(after[static_cast<size_t>(n * inputs + e)]);
      ASSERT_NEAR(is[static_cast<size_t>(n)], sum, 1e-4 * (1 + std::abs(sum)));
    }
  }
}

// The parameters after three steps.
std::vector<float> trained(heed_context* context, bool is_sgd) {
  const Layer layer = make_dense(context, 300, 700);
  heed_sgd_options sgd = plain_sgd(0.1);
  sgd.momentum = 0.9;
  const Optimizer optimizer = is_sgd ? make_sgd(context, sgd) : make_adamw(context);
  for (uint64_t step = 0; step < 3; ++step)
    check(heed_optimizer_step(optimizer.get(), layer.get(), random_gradients(layer.get(), 10 * step).get()));
  return all_of(layer.get());
}

TEST(OptimizerStep, GivesTheSameBitsOnAnyNumberOfThreads) {
  for (const bool is_sgd : {false, true}) {
    std::vector<float> expected;
    for (const int32_t threads : {1, 2, 3, 4, 10, 16}) {
      heed_context_options options = HEED_CONTEXT_OPTIONS_INIT;
      options.num_threads = threads;
      const Context context = make_context(&options);
      const std::vector<float> is = trained(context.get(), is_sgd);
      if (expected.empty()) expected = is;
      EXPECT_EQ(is, expected) << threads << " threads";
    }
  }
}

TEST(OptimizerStep, GivesTheSameBitsOnEveryInstructionSet) {
  for (const bool is_sgd : {false, true}) {
    std::vector<float> expected;
    for (const char* isa : {"portable", "avx2", "avx512", "neon"}) {
      const Variable forced("HEED_ISA");
      forced.set(isa);
      heed_context* made = nullptr;
      if (heed_context_create(nullptr, &made) != HEED_OK) continue;  // the processor lacks it
      const Context context(made);
      const std::vector<float> is = trained(made, is_sgd);
      if (expected.empty()) expected = is;
      EXPECT_EQ(is, expected) << isa;
    }
  }
}

TEST_F(OptimizerTest, LeavesSnapshotsAsTheyWere) {
  const Tensor weight = snapshot(layer.get(), "weight");
  const Tensor bias = snapshot(layer.get(), "bias");
  const std::vector<float> old_weight = read_elements<float>(weight.get());
  const std::vector<float> old_bias = read_elements<float>(bias.get());
  const Optimizer optimizer = make_sgd(context.get(), plain_sgd(1));
  const Gradients gradients = random_gradients(layer.get(), 1);
  check(heed_optimizer_step(optimizer.get(), layer.get(), gradients.get()));
  EXPECT_EQ(read_elements<float>(weight.get()), old_weight);
  EXPECT_EQ(read_elements<float>(bias.get()), old_bias);
  const std::vector<float> gradient = read_elements<float>(gradient_of(gradients.get(), "bias").get());
  const std::vector<float> new_bias = numbers_of(layer.get(), "bias");
  for (size_t i = 0; i < new_bias.size(); ++i)
    EXPECT_EQ(new_bias[i], static_cast<float>(static_cast<double>(old_bias[i]) - static_cast<double>(gradient[i])));
}

// After the first step no memory as large as the weight is needed, but for a snapshot's sake.
TEST(OptimizerStep, WritesInPlaceWhereNothingSharesTheMemory) {
  CountingAllocator allocator;
  const heed_allocator functions = allocator.as_struct();
  heed_context_options options = HEED_CONTEXT_OPTIONS_INIT;
  options.allocator = &functions;
  options.num_threads = 1;
  const Context context = make_context(&options);
  heed_layer_norm_options norm_options = HEED_LAYER_NORM_OPTIONS_INIT;
  const Layer norm = make_layer_norm(context.get(), norm_options);
  constexpr int64_t kSize = 200000;
  for (const char* name : {"weight", "bias"})
    check(heed_layer_set_parameter(norm.get(), name, make_random(context.get(), {kSize}, 1).get()));
  const Layer dense = make_dense(context.get(), 400, 500);
  for (const Layer* layer : {&norm, &dense}) {
    const Optimizer optimizer = make_adamw(context.get());
    const Gradients gradients = random_gradients(layer->get(), 1);
    check(heed_optimizer_step(optimizer.get(), layer->get(), gradients.get()));
    const std::vector<float> before = numbers_of(layer->get(), "weight");
    allocator.limit_allocations(size_t{200} << 10);
    check(heed_optimizer_step(optimizer.get(), layer->get(), gradients.get()));
    allocator.limit_allocations(SIZE_MAX);
    EXPECT_NE(numbers_of(layer->get(), "weight"), before);
  }
  const Tensor shared = snapshot(norm.get(), "weight");
  const std::vector<float> before = numbers_of(norm.get(), "bias");
  const Optimizer optimizer = make_sgd(context.get());
  const Gradients gradients = random_gradients(norm.get(), 1);
  allocator.limit_allocations(size_t{200} << 10);
  EXPECT_EQ(heed_optimizer_step(optimizer.get(), norm.get(), gradients.get()), HEED_ERROR_OUT_OF_MEMORY);
  allocator.limit_allocations(SIZE_MAX);
  EXPECT_EQ(numbers_of(norm.get(), "bias"), before);
}

TEST_F(OptimizerTest, TheLongestPrefixWins) {
  heed_encoder_layer_options options = HEED_ENCODER_LAYER_OPTIONS_INIT;
  heed_multi_head_attention_options attention = HEED_MULTI_HEAD_ATTENTION_OPTIONS_INIT;
  attention.num_heads = 1;
  attention.num_hiddens = 4;
  heed_feed_forward_options feed_forward = HEED_FEED_FORWARD_OPTIONS_INIT;
  feed_forward.hidden_size = 4;
  options.attention = &attention;
  options.feed_forward = &feed_forward;
  const Layer block = make_encoder_layer(context.get(), options);
  heed_layer_inputs inputs = HEED_LAYER_INPUTS_INIT;
  const Tensor queries = make_shape_only(context.get(), {1, 2, 4});
  inputs.queries = queries.get();
  check(heed_layer_initialize(block.get(), &inputs, 1));
  for (int64_t i = 0; i < heed_layer_parameter_count(block.get()); ++i) {
    const char* name = heed_layer_parameter_name(block.get(), i);
    const Tensor ones = make_tensor(context.get(), dims_of(snapshot(block.get(), name).get()));
    check(heed_tensor_fill(ones.get(), 1));
    check(heed_layer_set_parameter(block.get(), name, ones.get()));
  }
  heed_sgd_options sgd = plain_sgd(0.5);
  sgd.weight_decay = 0.125;
  const Optimizer optimizer = make_sgd(context.get(), sgd);
  const auto set_group = [&](const char* prefix, double factor, double decay) {
    const heed_parameter_group group = {sizeof group, factor, decay};
    check(heed_optimizer_set_group(optimizer.get(), prefix, &group));
  };
  set_group("feed_forward.W_1", 1, 1);
  set_group("feed_forward", 1, 0.5);
  set_group(nullptr, 0.5, 0.125);
  set_group("norm_1.weight", 3, 9);
  set_group("norm_1.weight", 0, 1);  // instead
  // Gradients of 0 leave the decay alone.
  check(heed_optimizer_step(optimizer.get(), block.get(), make_gradients(block.get()).get()));
  EXPECT_EQ(numbers_of(block.get(), "feed_forward.W_1.weight")[0], 0.5f);
  EXPECT_EQ(numbers_of(block.get(), "feed_forward.W_1.bias")[0], 0.5f);
  EXPECT_EQ(numbers_of(block.get(), "feed_forward.W_2.weight")[0], 0.75f);
  EXPECT_EQ(numbers_of(block.get(), "self_attention.W_q.weight")[0], 1 - 0.5f * 0.5f * 0.125f);
  EXPECT_EQ(numbers_of(block.get(), "norm_1.weight")[0], 1);
  EXPECT_EQ(numbers_of(block.get(), "norm_1.bias")[0], 1 - 0.5f * 0.5f * 0.125f);
}

// A group with a misspelled prefix can be removed; once there is a layer it cannot be made.
TEST_F(OptimizerTest, GroupsAreRemovedByNull) {
  const Optimizer optimizer = make_sgd(context.get(), plain_sgd(0.5));
  const Gradients gradients = random_gradients(layer.get(), 1);
  const heed_parameter_group still = {sizeof still, 0, 0};
  const auto set_group = [&](const char* prefix, const heed_parameter_group* group) {
    return heed_optimizer_set_group(optimizer.get(), prefix, group);
  };
  const auto moves = [&](const char* name) {
    const std::vector<float> before = numbers_of(layer.get(), name);
    check(heed_optimizer_step(optimizer.get(), layer.get(), gradients.get()));
    return numbers_of(layer.get(), name) != before;
  };
  check(set_group("weigth", &still));
  const std::vector<float> before = all_of(layer.get());
  EXPECT_EQ(heed_optimizer_step(optimizer.get(), layer.get(), gradients.get()), HEED_ERROR_NOT_FOUND);
  EXPECT_EQ(all_of(layer.get()), before);
  check(set_group("weigth", nullptr));
  EXPECT_TRUE(moves("weight"));
  EXPECT_EQ(set_group("weigth", &still), HEED_ERROR_NOT_FOUND);
  EXPECT_EQ(set_group("weigth", nullptr), HEED_ERROR_NOT_FOUND);
  check(set_group("weight", &still));
  EXPECT_FALSE(moves("weight"));
  check(set_group(nullptr, &still));
  check(set_group("weight", nullptr));
  EXPECT_FALSE(moves("bias"));
  EXPECT_FALSE(moves("weight"));
  check(set_group("", nullptr));
  EXPECT_TRUE(moves("weight"));
  EXPECT_EQ(set_group("we\night", &still), HEED_ERROR_INVALID_ARGUMENT);
}

TEST_F(OptimizerTest, AFileGoesOnWithTheSameBits) {
  const TemporaryFolder folder;
  const std::string path = folder.path("optimizer.safetensors");
  const auto gradients = [&](const heed_layer* of, uint64_t step) { return random_gradients(of, 100 * step); };
  const heed_parameter_group group = {sizeof group, 2, 0.25};
  for (const bool is_sgd : {false, true}) {
    heed_sgd_options sgd = plain_sgd(0.1);
    sgd.momentum = 0.7;
    sgd.nesterov = 1;
    heed_adamw_options adamw = HEED_ADAMW_OPTIONS_INIT;
    adamw.beta1 = 0.3;
    adamw.coupled_decay = 1;
    adamw.epsilon_placement = HEED_EPSILON_UNCORRECTED;
    const Layer trained = make_dense(context.get(), 9, 6);
    const Optimizer optimizer = is_sgd ? make_sgd(context.get(), sgd) : make_adamw(context.get(), adamw);
    check(heed_optimizer_set_group(optimizer.get(), "bias", &group));
    for (uint64_t step = 0; step < 3; ++step)
      check(heed_optimizer_step(optimizer.get(), trained.get(), gradients(trained.get(), step).get()));
    check(heed_optimizer_save(optimizer.get(), path.c_str()));
    const std::string weights = folder.path("weights.safetensors");
    check(heed_layer_save(trained.get(), weights.c_str()));

    const Layer resumed = make_dense(context.get(), 9, 6, 77);
    check(heed_layer_load(resumed.get(), weights.c_str(), nullptr));
    const Optimizer again = is_sgd ? make_sgd(context.get()) : make_adamw(context.get());
    check(heed_optimizer_load(again.get(), path.c_str()));
    for (uint64_t step = 3; step < 6; ++step) {
      check(heed_optimizer_step(optimizer.get(), trained.get(), gradients(trained.get(), step).get()));
      check(heed_optimizer_step(again.get(), resumed.get(), gradients(resumed.get(), step).get()));
    }
    EXPECT_EQ(all_of(resumed.get()), all_of(trained.get()));
    // The same file.
    const std::string second = folder.path("again.safetensors");
    check(heed_optimizer_save(optimizer.get(), path.c_str()));
    check(heed_optimizer_save(again.get(), second.c_str()));
    EXPECT_EQ(read_file(second), read_file(path));
    // Not of the other kind, and nothing has changed then.
    const Optimizer other = is_sgd ? make_adamw(context.get()) : make_sgd(context.get());
    EXPECT_EQ(heed_optimizer_load(other.get(), path.c_str()), HEED_ERROR_INVALID_ARGUMENT);
  }
}

// A parameter that is trained later has its own first step.
TEST_F(OptimizerTest, CountsTheStepsOfEachParameter) {
  const Layer twin = make_dense(context.get(), 7, 5);
  const Optimizer optimizer = make_adamw(context.get());
  check(heed_layer_set_trainable(layer.get(), "bias", 0));
  check(heed_optimizer_step(optimizer.get(), layer.get(), random_gradients(layer.get(), 1).get()));
  EXPECT_EQ(numbers_of(layer.get(), "bias"), numbers_of(twin.get(), "bias"));
  check(heed_layer_set_trainable(layer.get(), "bias", 1));
  const Gradients gradients = random_gradients(layer.get(), 2);
  check(heed_optimizer_step(optimizer.get(), layer.get(), gradients.get()));
  const Optimizer fresh = make_adamw(context.get());
  check(heed_optimizer_step(fresh.get(), twin.get(), random_gradients(twin.get(), 2).get()));
  EXPECT_EQ(numbers_of(layer.get(), "bias"), numbers_of(twin.get(), "bias"));
  EXPECT_NE(numbers_of(layer.get(), "weight"), numbers_of(twin.get(), "weight"));
}

TEST_F(OptimizerTest, ARefusedStepChangesNothing) {
  const TemporaryFolder folder;
  const Optimizer optimizer = make_adamw(context.get());
  const Gradients gradients = random_gradients(layer.get(), 1);
  check(heed_optimizer_step(optimizer.get(), layer.get(), gradients.get()));
  const std::vector<float> before = all_of(layer.get());
  check(heed_optimizer_save(optimizer.get(), folder.path("before").c_str()));
  const auto expect_refused = [&](heed_layer* of, const heed_gradients* set, const char* sentence) {
    EXPECT_EQ(heed_optimizer_step(optimizer.get(), of, set), HEED_ERROR_INVALID_ARGUMENT);
    EXPECT_NE(std::string(heed_last_error()).find(sentence), std::string::npos) << heed_last_error();
    EXPECT_EQ(all_of(layer.get()), before);
    check(heed_optimizer_save(optimizer.get(), folder.path("after").c_str()));
    EXPECT_EQ(read_file(folder.path("after")), read_file(folder.path("before")));
  };
  const Layer other = make_dense(context.get(), 7, 5);
  const Gradients of_other = random_gradients(other.get(), 1);
  expect_refused(layer.get(), of_other.get(), "that of another layer");
  expect_refused(other.get(), of_other.get(), "earlier steps");
  // The last element of the last parameter: the others are not written either.
  const Tensor bias = gradient_of(gradients.get(), "bias");
  const Tensor last = make_slice(bias.get(), 0, 6, 1);
  for (const double number : {std::numeric_limits<double>::quiet_NaN(), -std::numeric_limits<double>::infinity()}) {
    check(heed_tensor_fill(last.get(), number));
    expect_refused(layer.get(), gradients.get(), "bias at index (6)");
  }
  check(heed_layer_set_trainable(layer.get(), "bias", 0));
  expect_refused(layer.get(), gradients.get(), "trainable");
  check(heed_layer_set_trainable(layer.get(), "bias", 1));
  // Another shape.
  const Tensor queries = make_shape_only(context.get(), {2, 4});
  heed_layer_inputs inputs = HEED_LAYER_INPUTS_INIT;
  inputs.queries = queries.get();
  check(heed_tensor_fill(last.get(), 0));
  check(heed_layer_initialize(layer.get(), &inputs, 1));
  EXPECT_EQ(heed_optimizer_step(optimizer.get(), layer.get(), gradients.get()), HEED_ERROR_INVALID_ARGUMENT);
}

// Gradients of 0, without epsilon too, leave a parameter as it is.
TEST_F(OptimizerTest, WithoutEpsilonAStepIsFinite) {
  heed_adamw_options options = HEED_ADAMW_OPTIONS_INIT;
  options.epsilon = 0;
  options.weight_decay = 0;
  const Optimizer optimizer = make_adamw(context.get(), options);
  const std::vector<float> before = all_of(layer.get());
  check(heed_optimizer_step(optimizer.get(), layer.get(), make_gradients(layer.get()).get()));
  EXPECT_EQ(all_of(layer.get()), before);
}

// Squares of gradients below about 1e-17 lose digits in F32, and those above 1e19 are infinite: the parameter then stays.
TEST_F(OptimizerTest, AdamHoldsWhereSquaresAreInF32) {
  heed_adamw_options options = HEED_ADAMW_OPTIONS_INIT;
  options.epsilon = 0;
  options.weight_decay = 0;
  for (const auto& [number, step] :
       std::vector<std::pair<double, double>>{{1e-17, 1e-3}, {1e-3, 1e-3}, {1e19, 1e-3}, {1e-24, 0}, {1e25, 0}}) {
    SCOPED_TRACE(number);
    const Layer dense = make_dense(context.get(), 3, 2);
    check(heed_layer_set_parameter(dense.get(), "bias", make_tensor(context.get(), {3}).get()));
    const Gradients gradients = make_gradients(dense.get());
    check(heed_tensor_fill(gradient_of(gradients.get(), "bias").get(), number));
    const Optimizer optimizer = make_adamw(context.get(), options);
    check(heed_optimizer_step(optimizer.get(), dense.get(), gradients.get()));
    EXPECT_NEAR(numbers_of(dense.get(), "bias")[0], -step, 1e-6);
  }
}

TEST_F(OptimizerTest, ALearningRateIsFiniteInF32) {
  heed_optimizer* none = nullptr;
  heed_adamw_options adamw = HEED_ADAMW_OPTIONS_INIT;
  adamw.learning_rate = 1e39;
  EXPECT_EQ(heed_adamw_create(context.get(), &adamw, &none), HEED_ERROR_INVALID_ARGUMENT);
  const heed_sgd_options sgd = plain_sgd(1e39);
  EXPECT_EQ(heed_sgd_create(context.get(), &sgd, &none), HEED_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(none, nullptr);

  const Gradients gradients = random_gradients(layer.get(), 1);
  const std::vector<float> before = all_of(layer.get());
  const auto expect_refused = [&](heed_optimizer* optimizer, const std::string& text) {
    EXPECT_TRUE(is_refused(heed_optimizer_step(optimizer, layer.get(), gradients.get()),
                           {HEED_ERROR_INVALID_ARGUMENT, {text, "expected a number that is finite in F32"}}));
    EXPECT_EQ(all_of(layer.get()), before);
  };
  // The step is the learning rate by 1 - beta1.
  adamw.learning_rate = 1e38;
  adamw.weight_decay = 0;
  expect_refused(make_adamw(context.get(), adamw).get(), "the learning rate with the bias corrected is 1e+39");
  adamw.learning_rate = 1e30;
  adamw.weight_decay = 1e10;
  expect_refused(make_adamw(context.get(), adamw).get(), "the learning rate times the weight decay is 1e+40");
  const Optimizer optimizer = make_sgd(context.get(), plain_sgd(1e30));
  const heed_parameter_group group = {sizeof group, 1e20, 0};
  check(heed_optimizer_set_group(optimizer.get(), "bias", &group));
  expect_refused(optimizer.get(), "the learning rate times the group's factor is 1e+50 for bias");
  check(heed_optimizer_set_group(optimizer.get(), "bias", nullptr));
  check(heed_optimizer_set_learning_rate(optimizer.get(), 0));
  check(heed_optimizer_step(optimizer.get(), layer.get(), gradients.get()));
}

constexpr const char* kOptimizerFile = "optimizer.safetensors";

// A file of AdamW with these options and tensors behind them, as JSON with ' for ".
void write_adamw(const TemporaryFolder& folder, const std::vector<double>& options, const std::string& more = "",
                 const std::string& rest = "") {
  std::string header = "{'adamw.options':{'dtype':'F64','shape':[7],'data_offsets':[0,56]}" + more + "}";
  std::replace(header.begin(), header.end(), '\'', '"');
  std::string data(7 * sizeof(double), '\0');
  std::memcpy(data.data(), options.data(), data.size());
  folder.write(kOptimizerFile, safetensors(header, 0) + data + rest);
}

TEST_F(OptimizerTest, RefusesFilesWithImpossibleContents) {
  const TemporaryFolder folder;
  const std::string path = folder.path(kOptimizerFile);
  const Optimizer optimizer = make_adamw(context.get());
  const auto expect_refused = [&](const std::string& text) {
    EXPECT_TRUE(
        is_refused(heed_optimizer_load(optimizer.get(), path.c_str()), {HEED_ERROR_CORRUPT_FILE, {path, text}}));
  };
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const std::vector<double> good = {1e-3, 0.9, 0.999, 1e-8, 0.01, 0, 1};
  write_adamw(folder, good);
  EXPECT_EQ(heed_optimizer_load(optimizer.get(), path.c_str()), HEED_OK) << heed_last_error();
  for (const auto& [index, number, text] : std::vector<std::tuple<size_t, double, const char*>>{
           {0, 1e39, "options->learning_rate is 1e+39"},
           {1, 1, "options->beta1 is 1"},
           {5, nan, "options->coupled_decay is nan, expected 0 or 1"},
           {5, 0.5, "options->coupled_decay is 0.5, expected 0 or 1"},
           {6, 7, "options->epsilon_placement is 7, expected 0 or 1"}}) {
    std::vector<double> options = good;
    options[index] = number;
    write_adamw(folder, options);
    expect_refused(text);
  }
  const std::string step = ",'step.w':{'dtype':'I64','shape':[1],'data_offsets':[56,64]}";
  const std::string moments =
      ",'exp_avg.w':{'dtype':'F32','shape':[0],'data_offsets':[64,64]},'exp_avg_sq.w':{'dtype':'F32','shape':[0],"
      "'data_offsets':[64,64]}";
  const auto steps = [](int64_t number) {
    std::string bytes(sizeof number, '\0');
    std::memcpy(bytes.data(), &number, sizeof number);
    return bytes;
  };
  const int64_t most = int64_t{1} << 53;
  write_adamw(folder, good, step + moments, steps(most));
  EXPECT_EQ(heed_optimizer_load(optimizer.get(), path.c_str()), HEED_OK) << heed_last_error();
  for (const int64_t number : {most + 1, std::numeric_limits<int64_t>::max(), int64_t{0}, int64_t{-1}}) {
    write_adamw(folder, good, step + moments, steps(number));
    expect_refused("\"step.w\"");
  }
  for (const char* name : {"exp_avg", "exp_avg_sq", "momentum_buffer"}) {
    write_adamw(folder, good, ",'" + std::string(name) + ".w':{'dtype':'F32','shape':[1],'data_offsets':[56,60]}",
                std::string(4, '\0'));
    expect_refused("has \"" + std::string(name) + ".w\", but no tensor \"step.w\"");
  }
  write_adamw(folder, good, ",'groups.numbers':{'dtype':'F64','shape':[1,2],'data_offsets':[56,72]}",
              std::string(16, '\0'));
  expect_refused("has \"groups.numbers\", but no tensor \"groups.prefixes\"");
}

TEST_F(OptimizerTest, OutlivesItsLayerAndContext) {
  Optimizer optimizer = make_sgd(context.get());
  Gradients gradients = random_gradients(layer.get(), 1);
  check(heed_optimizer_step(optimizer.get(), layer.get(), gradients.get()));
  layer.reset();
  context.reset();
  const Context other = make_context();
  const Layer another = make_dense(other.get(), 7, 5);
  EXPECT_EQ(heed_optimizer_step(optimizer.get(), another.get(), gradients.get()), HEED_ERROR_INVALID_ARGUMENT);
  check(heed_gradients_zero(gradients.get()));
  check(heed_optimizer_set_learning_rate(optimizer.get(), 3));
}

}  // namespace
}  // namespace heed::capi_test
