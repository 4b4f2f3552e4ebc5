// SPDX-License-Identifier: Apache-2.0
// Sets of gradients, and which parameters are trained.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "capi/support/files.h"
#include "capi/support/objects.h"
#include "capi/support/refusal.h"

namespace heed::capi_test {
namespace {

// An encoder of two layers with parameters of F32.
Layer make_small_encoder(heed_context* context, heed_dtype dtype = HEED_F32) {
  heed_multi_head_attention_options attention = HEED_MULTI_HEAD_ATTENTION_OPTIONS_INIT;
  attention.num_heads = 2;
  attention.num_hiddens = 8;
  heed_feed_forward_options feed_forward = HEED_FEED_FORWARD_OPTIONS_INIT;
  feed_forward.hidden_size = 12;
  heed_encoder_layer_options layer = HEED_ENCODER_LAYER_OPTIONS_INIT;
  layer.attention = &attention;
  layer.feed_forward = &feed_forward;
  heed_encoder_options options = HEED_ENCODER_OPTIONS_INIT;
  options.layer = &layer;
  options.num_layers = 2;
  Layer encoder = make_encoder(context, options);
  const Tensor queries = make_shape_only(context, {1, 3, 8}, dtype);
  heed_layer_inputs inputs = HEED_LAYER_INPUTS_INIT;
  inputs.queries = queries.get();
  check(heed_layer_initialize(encoder.get(), &inputs, 1));
  return encoder;
}

std::vector<std::string> names_of(const heed_gradients* gradients) {
  std::vector<std::string> names;
  for (int64_t i = 0; i < heed_gradients_count(gradients); ++i) names.emplace_back(heed_gradients_name(gradients, i));
  return names;
}

std::vector<std::string> parameters_of(const heed_layer* layer) {
  std::vector<std::string> names;
  for (int64_t i = 0; i < heed_layer_parameter_count(layer); ++i)
    names.emplace_back(heed_layer_parameter_name(layer, i));
  return names;
}

// Different numbers for each gradient.
void fill(heed_gradients* gradients, uint64_t seed) {
  for (const std::string& name : names_of(gradients))
    check(heed_tensor_fill_normal(gradient_of(gradients, name.c_str()).get(), 0, 1, seed++));
}

std::vector<float> all_of(heed_gradients* gradients) {
  std::vector<float> numbers;
  for (const std::string& name : names_of(gradients)) {
    const std::vector<float> own = read_elements<float>(gradient_of(gradients, name.c_str()).get());
    numbers.insert(numbers.end(), own.begin(), own.end());
  }
  return numbers;
}

double norm_of(heed_gradients* gradients) {
  double norm = -1;
  check(heed_gradients_norm(&gradients, 1, &norm));
  return norm;
}

class GradientsTest : public testing::Test {
 protected:
  Context context = make_context();
  Layer encoder = make_small_encoder(context.get());
};

TEST_F(GradientsTest, AreZerosOfEachParameterInOrder) {
  const Gradients gradients = make_gradients(encoder.get());
  EXPECT_EQ(names_of(gradients.get()), parameters_of(encoder.get()));
  for (const std::string& name : names_of(gradients.get())) {
    const Tensor gradient = gradient_of(gradients.get(), name.c_str());
    EXPECT_EQ(heed_tensor_dtype(gradient.get()), HEED_F32);
    EXPECT_EQ(dims_of(gradient.get()), dims_of(snapshot(encoder.get(), name.c_str()).get()));
  }
  for (const float number : all_of(gradients.get())) EXPECT_EQ(number, 0);
  EXPECT_EQ(heed_gradients_count(nullptr), -1);
  EXPECT_EQ(heed_gradients_name(gradients.get(), heed_gradients_count(gradients.get())), nullptr);
}

TEST_F(GradientsTest, TensorsShareTheirMemoryAndOutliveTheSet) {
  Gradients gradients = make_gradients(encoder.get());
  const std::string name = names_of(gradients.get()).front();
  const Tensor view = gradient_of(gradients.get(), name.c_str());
  check(heed_tensor_fill(view.get(), 3));
  EXPECT_EQ(read_elements<float>(gradient_of(gradients.get(), name.c_str()).get())[0], 3);
  gradients.reset();
  EXPECT_EQ(read_elements<float>(view.get())[0], 3);
}

TEST_F(GradientsTest, AreScaledAddedAndSetToZero) {
  const Gradients a = make_gradients(encoder.get());
  // Another layer with the same options: a copy of the model.
  const Layer copy = make_small_encoder(context.get());
  const Gradients b = make_gradients(copy.get());
  fill(a.get(), 1);
  fill(b.get(), 100);
  const std::vector<float> first = all_of(a.get());
  const std::vector<float> second = all_of(b.get());
  check(heed_gradients_add(a.get(), b.get()));
  check(heed_gradients_scale(b.get(), 0.3));
  const std::vector<float> sums = all_of(a.get());
  const std::vector<float> products = all_of(b.get());
  for (size_t i = 0; i < first.size(); ++i) {
    EXPECT_EQ(sums[i], first[i] + second[i]);
    EXPECT_EQ(products[i], static_cast<float>(0.3 * static_cast<double>(second[i])));
  }
  check(heed_gradients_zero(a.get()));
  for (const float number : all_of(a.get())) EXPECT_EQ(number, 0);
  check(heed_gradients_scale(b.get(), 0));
  EXPECT_EQ(norm_of(b.get()), 0);
}

TEST_F(GradientsTest, ANormIsOfAllSets) {
  const Layer other = make_small_encoder(context.get());
  const Gradients a = make_gradients(encoder.get());
  const Gradients b = make_gradients(other.get());
  fill(a.get(), 1);
  fill(b.get(), 2);
  double expected = 0;
  for (const float number : all_of(a.get())) expected += static_cast<double>(number) * static_cast<double>(number);
  for (const float number : all_of(b.get())) expected += static_cast<double>(number) * static_cast<double>(number);
  heed_gradients* const sets[] = {a.get(), b.get()};
  double norm = 0;
  check(heed_gradients_norm(sets, 2, &norm));
  EXPECT_NEAR(norm, std::sqrt(expected), 1e-13 * norm);
  check(heed_gradients_clip(sets, 2, 0.5, nullptr));
  check(heed_gradients_norm(sets, 2, &norm));
  EXPECT_NEAR(norm, 0.5, 1e-6);
  const std::vector<float> before = all_of(a.get());
  check(heed_gradients_clip(sets, 2, std::numeric_limits<double>::infinity(), nullptr));
  EXPECT_EQ(all_of(a.get()), before);
  check(heed_gradients_clip(sets, 2, 0, nullptr));
  EXPECT_EQ(norm_of(a.get()), 0);
}

// Large enough for several threads.
TEST(Gradients, HaveTheSameNormOnAnyNumberOfThreads) {
  double expected = 0;
  for (const int32_t threads : {1, 2, 3, 5, 16}) {
    heed_context_options options = HEED_CONTEXT_OPTIONS_INIT;
    options.num_threads = threads;
    const Context context = make_context(&options);
    heed_linear_options linear = HEED_LINEAR_OPTIONS_INIT;
    linear.output_size = 700;
    const Layer layer = make_linear(context.get(), linear);
    check(heed_layer_set_parameter(layer.get(), "weight", make_tensor(context.get(), {700, 900}).get()));
    check(heed_layer_set_parameter(layer.get(), "bias", make_tensor(context.get(), {700}).get()));
    const Gradients gradients = make_gradients(layer.get());
    fill(gradients.get(), 3);
    const double norm = norm_of(gradients.get());
    if (expected == 0) expected = norm;
    EXPECT_EQ(norm, expected) << threads << " threads";
  }
}

TEST_F(GradientsTest, ANormThatIsNotFiniteIsSaidAndNotClipped) {
  const Gradients gradients = make_gradients(encoder.get());
  fill(gradients.get(), 1);
  const std::string name = names_of(gradients.get()).back();
  for (const double number : {std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()}) {
    check(heed_tensor_fill(gradient_of(gradients.get(), name.c_str()).get(), number));
    const std::vector<float> before = all_of(gradients.get());
    const double norm = norm_of(gradients.get());
    EXPECT_EQ(std::isnan(norm), std::isnan(number));
    EXPECT_FALSE(std::isfinite(norm));
    heed_gradients* const set = gradients.get();
    double untouched = 7;
    EXPECT_TRUE(
        is_refused(heed_gradients_clip(&set, 1, 1, &untouched), {HEED_ERROR_INVALID_ARGUMENT, {"sets[0]", name}}));
    EXPECT_EQ(untouched, 7);
    const std::vector<float> after = all_of(gradients.get());
    for (size_t i = 0; i < after.size(); ++i)
      EXPECT_TRUE(after[i] == before[i] || (std::isnan(after[i]) && std::isnan(before[i])));
  }
}

TEST_F(GradientsTest, AreOfTrainableParametersAlone) {
  check(heed_layer_set_trainable(encoder.get(), nullptr, 0));
  EXPECT_EQ(heed_gradients_count(make_gradients(encoder.get()).get()), 0);
  check(heed_layer_set_trainable(encoder.get(), "layers.1.feed_forward", 1));
  check(heed_layer_set_trainable(encoder.get(), "layers.0.norm_1.weight", 1));
  const std::vector<std::string> expected = {"layers.0.norm_1.weight", "layers.1.feed_forward.W_1.weight",
                                             "layers.1.feed_forward.W_1.bias", "layers.1.feed_forward.W_2.weight",
                                             "layers.1.feed_forward.W_2.bias"};
  std::vector<std::string> in_order;
  for (const std::string& name : parameters_of(encoder.get())) {
    if (std::find(expected.begin(), expected.end(), name) != expected.end()) in_order.push_back(name);
  }
  EXPECT_EQ(in_order.size(), expected.size());
  EXPECT_EQ(names_of(make_gradients(encoder.get()).get()), in_order);
  // The flag is the child's too, and the parent's.
  const Layer child = make_child(encoder.get(), "layers.1.feed_forward");
  EXPECT_EQ(heed_gradients_count(make_gradients(child.get()).get()), 4);
  check(heed_layer_set_trainable(child.get(), "W_1", 0));
  EXPECT_EQ(heed_gradients_count(make_gradients(encoder.get()).get()), 3);
  check(heed_layer_set_trainable(encoder.get(), "", 1));
  EXPECT_EQ(names_of(make_gradients(encoder.get()).get()), parameters_of(encoder.get()));
}

// "layers.1" is no prefix of "layers.10", nor "norm" of "norm_1".
TEST_F(GradientsTest, APrefixEndsBeforeADot) {
  for (const char* prefix : {"layers.0.norm", "layer", "layers.", "layers.0.norm_1.weight.", "x"})
    EXPECT_EQ(heed_layer_set_trainable(encoder.get(), prefix, 0), HEED_ERROR_NOT_FOUND) << prefix;
  EXPECT_EQ(names_of(make_gradients(encoder.get()).get()), parameters_of(encoder.get()));
}

TEST_F(GradientsTest, NeedParametersOfF32) {
  const Layer half = make_small_encoder(context.get(), HEED_BF16);
  heed_gradients* gradients = nullptr;
  EXPECT_EQ(heed_gradients_create(half.get(), &gradients), HEED_ERROR_UNSUPPORTED);
  EXPECT_NE(std::string(heed_last_error()).find("widen"), std::string::npos);
  EXPECT_EQ(gradients, nullptr);
  check(heed_layer_set_trainable(half.get(), nullptr, 0));
  EXPECT_EQ(heed_gradients_count(make_gradients(half.get()).get()), 0);
}

// A file of BF16, into a new layer and into one that had 16 bits.
TEST_F(GradientsTest, LoadingWidensParametersOf16Bits) {
  const TemporaryFolder folder;
  const std::string path = folder.path("half.safetensors");
  const Layer half = make_small_encoder(context.get(), HEED_BF16);
  check(heed_layer_save(half.get(), path.c_str()));
  heed_weights* opened = nullptr;
  check(heed_weights_open(context.get(), path.c_str(), &opened));
  const std::unique_ptr<heed_weights, property::Destroyer<heed_weights_destroy>> weights(opened);
  heed_load_options load = HEED_LOAD_OPTIONS_INIT;
  load.widen = 1;
  const Layer wide = make_small_encoder(context.get());
  const Layer other_half = make_small_encoder(context.get(), HEED_F16);
  for (const Layer* layer : {&wide, &other_half}) {
    check(heed_layer_load_weights(layer->get(), opened, nullptr, &load));
    for (const std::string& name : parameters_of(half.get())) {
      const Tensor is = snapshot(layer->get(), name.c_str());
      EXPECT_EQ(heed_tensor_dtype(is.get()), HEED_F32);
      EXPECT_EQ(read_elements<float>(is.get()), read_floats(context.get(), snapshot(half.get(), name.c_str()).get()));
    }
    EXPECT_EQ(names_of(make_gradients(layer->get()).get()), parameters_of(half.get()));
  }
  load.widen = 0;
  const Layer kept = make_small_encoder(context.get(), HEED_F16);
  check(heed_layer_load_weights(kept.get(), opened, nullptr, &load));
  EXPECT_EQ(heed_tensor_dtype(snapshot(kept.get(), parameters_of(kept.get()).front().c_str()).get()), HEED_F16);
}

}  // namespace
}  // namespace heed::capi_test
