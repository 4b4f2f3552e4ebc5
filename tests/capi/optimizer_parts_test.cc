// SPDX-License-Identifier: Apache-2.0
// Steps of one optimizer over several layers and tensors: the same bits as steps of an optimizer for each, names in files and groups,
// and steps that are refused.
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "capi/support/files.h"
#include "capi/support/objects.h"
#include "capi/support/refusal.h"

namespace heed::capi_test {
namespace {

constexpr int64_t kSize = 20000;  // of the tensor, more than a piece

Layer make_linear_of(heed_context* context, int64_t outputs, int64_t inputs, uint64_t seed) {
  heed_linear_options options = HEED_LINEAR_OPTIONS_INIT;
  options.output_size = outputs;
  Layer layer = make_linear(context, options);
  check(heed_layer_set_parameter(layer.get(), "weight", make_random(context, {outputs, inputs}, seed).get()));
  check(heed_layer_set_parameter(layer.get(), "bias", make_random(context, {outputs}, seed + 1).get()));
  return layer;
}

void fill_set(heed_gradients* set, uint64_t seed) {
  for (int64_t i = 0; i < heed_gradients_count(set); ++i) {
    const Tensor one = gradient_of(set, heed_gradients_name(set, i));
    check(heed_tensor_fill_normal(one.get(), 0, 1, seed + static_cast<uint64_t>(i)));
  }
}

// A model of a program's own: two layers, and a scale that belongs to none.
struct Model {
  explicit Model(heed_context* context, uint64_t seed = 1)
      : first(make_linear_of(context, 9, 6, seed)),
        second(make_linear_of(context, 300, 70, seed + 10)),
        scale(make_random(context, {kSize}, seed + 20)) {}

  Layer first;
  Layer second;
  Tensor scale;
  Gradients of_first = make_gradients(first.get());
  Gradients of_second = make_gradients(second.get());
  Gradients of_scale = make_gradients_of(scale.get(), "scale");

  void fill_gradients(uint64_t seed) const {
    fill_set(of_first.get(), seed);
    fill_set(of_second.get(), seed + 10);
    fill_set(of_scale.get(), seed + 20);
  }
  heed_step_part part_of_first(const char* prefix = "first.") const {
    return {sizeof(heed_step_part), prefix, first.get(), of_first.get()};
  }
  heed_step_part part_of_second(const char* prefix = "second_") const {
    return {sizeof(heed_step_part), prefix, second.get(), of_second.get()};
  }
  heed_step_part part_of_scale(const char* prefix = nullptr) const {
    return {sizeof(heed_step_part), prefix, nullptr, of_scale.get()};
  }
  std::vector<heed_step_part> parts() const { return {part_of_first(), part_of_second(), part_of_scale()}; }

  std::vector<std::vector<float>> numbers() const {
    std::vector<std::vector<float>> all = {read_elements<float>(scale.get())};
    for (const Layer* layer : {&first, &second}) {
      for (const char* name : {"weight", "bias"})
        all.push_back(read_elements<float>(snapshot(layer->get(), name).get()));
    }
    return all;
  }
};

heed_status step_of(const Optimizer& optimizer, const std::vector<heed_step_part>& parts) {
  std::vector<const heed_step_part*> pointers;
  for (const heed_step_part& part : parts) pointers.push_back(&part);
  return heed_optimizer_step_parts(optimizer.get(), pointers.data(), static_cast<int64_t>(pointers.size()));
}

heed_sgd_options some_sgd() {
  heed_sgd_options options = HEED_SGD_OPTIONS_INIT;
  options.learning_rate = 0.1;
  options.momentum = 0.7;
  options.weight_decay = 0.01;
  return options;
}

Optimizer make_optimizer(heed_context* context, bool is_sgd) {
  return is_sgd ? make_sgd(context, some_sgd()) : make_adamw(context);
}

class OptimizerParts : public testing::Test {
 protected:
  Context context = make_context();
  Model model = Model(context.get());
  TemporaryFolder folder;

  // The step is refused, with these texts in its sentence, and nothing changes.
  void expect_refused(const Optimizer& optimizer, const std::vector<heed_step_part>& parts, heed_status status,
                      const std::vector<std::string>& texts) {
    const auto before = model.numbers();
    check(heed_optimizer_save(optimizer.get(), folder.path("before").c_str()));
    EXPECT_TRUE(is_refused(step_of(optimizer, parts), {status, texts}));
    EXPECT_EQ(model.numbers(), before);
    check(heed_optimizer_save(optimizer.get(), folder.path("after").c_str()));
    EXPECT_TRUE(read_file(folder.path("after")) == read_file(folder.path("before")));
  }
};

TEST_F(OptimizerParts, HaveTheBitsOfAnOptimizerForEach) {
  for (const bool is_sgd : {false, true}) {
    const Model together(context.get());
    const Model apart(context.get());
    const Optimizer one = make_optimizer(context.get(), is_sgd);
    const Optimizer each[] = {make_optimizer(context.get(), is_sgd), make_optimizer(context.get(), is_sgd),
                              make_optimizer(context.get(), is_sgd)};
    for (uint64_t step = 0; step < 3; ++step) {
      together.fill_gradients(100 * step);
      apart.fill_gradients(100 * step);
      ASSERT_EQ(step_of(one, together.parts()), HEED_OK) << heed_last_error();
      check(heed_optimizer_step(each[0].get(), apart.first.get(), apart.of_first.get()));
      check(heed_optimizer_step(each[1].get(), apart.second.get(), apart.of_second.get()));
      check(step_of(each[2], {apart.part_of_scale()}));
      ASSERT_EQ(together.numbers(), apart.numbers());
    }
  }
}

// A tensor's numbers are those of a parameter with the same numbers and gradients.
TEST_F(OptimizerParts, ATensorIsUpdatedAsAParameter) {
  for (const bool is_sgd : {false, true}) {
    heed_layer_norm_options options = HEED_LAYER_NORM_OPTIONS_INIT;
    const Layer norm = make_layer_norm(context.get(), options);
    const Tensor value = make_random(context.get(), {kSize}, 3);
    for (const char* name : {"weight", "bias"}) check(heed_layer_set_parameter(norm.get(), name, value.get()));
    const Gradients of_norm = make_gradients(norm.get());
    const Gradients of_value = make_gradients_of(value.get(), "value");
    const Optimizer first = make_optimizer(context.get(), is_sgd);
    const Optimizer second = make_optimizer(context.get(), is_sgd);
    for (uint64_t step = 0; step < 3; ++step) {
      fill_set(of_norm.get(), step);
      fill_set(of_value.get(), step);
      check(heed_optimizer_step(first.get(), norm.get(), of_norm.get()));
      check(step_of(second, {{sizeof(heed_step_part), nullptr, nullptr, of_value.get()}}));
      ASSERT_EQ(read_elements<float>(value.get()), read_elements<float>(snapshot(norm.get(), "weight").get()));
    }
  }
}

// The set keeps the memory of the tensor, and views see what a step writes.
TEST_F(OptimizerParts, ATensorIsWrittenInPlace) {
  std::vector<float> own(6, 1);
  const int64_t dims[] = {2, 3};
  heed_tensor* made = nullptr;
  check(heed_tensor_wrap(context.get(), HEED_F32, 2, dims, nullptr, own.data(), nullptr, nullptr, &made));
  Gradients set = make_gradients_of(made, "own");
  heed_tensor_destroy(made);
  EXPECT_EQ(heed_gradients_count(set.get()), 1);
  EXPECT_STREQ(heed_gradients_name(set.get(), 0), "own");
  const Tensor gradient = gradient_of(set.get(), "own");
  EXPECT_EQ(dims_of(gradient.get()), (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(read_elements<float>(gradient.get()), std::vector<float>(6));
  heed_sgd_options plain = HEED_SGD_OPTIONS_INIT;
  plain.learning_rate = 0.5;
  const Optimizer optimizer = make_sgd(context.get(), plain);
  check(heed_tensor_fill(gradient.get(), 3));
  check(step_of(optimizer, {{sizeof(heed_step_part), "", nullptr, set.get()}}));
  EXPECT_EQ(own, std::vector<float>(6, -0.5f));
}

TEST_F(OptimizerParts, SetsOfTensorsAreSetsLikeOthers) {
  model.fill_gradients(1);
  heed_gradients* sets[] = {model.of_first.get(), model.of_scale.get()};
  double both = 0, first = 0, scale = 0;
  check(heed_gradients_norm(sets, 2, &both));
  check(heed_gradients_norm(sets, 1, &first));
  check(heed_gradients_norm(sets + 1, 1, &scale));
  EXPECT_NEAR(both * both, first * first + scale * scale, 1e-9 * both * both);
  const std::vector<float> before = read_elements<float>(gradient_of(model.of_scale.get(), "scale").get());
  check(heed_gradients_add(model.of_scale.get(), model.of_scale.get()));
  check(heed_gradients_scale(model.of_scale.get(), 0.5));
  EXPECT_EQ(read_elements<float>(gradient_of(model.of_scale.get(), "scale").get()), before);
  check(heed_gradients_clip(sets, 2, 1, nullptr));
  check(heed_gradients_norm(sets, 2, &both));
  EXPECT_NEAR(both, 1, 1e-4);
  check(heed_gradients_zero(model.of_scale.get()));
  check(heed_gradients_norm(sets + 1, 1, &scale));
  EXPECT_EQ(scale, 0);
}

TEST_F(OptimizerParts, AFileHasFullNamesAndGoesOnWithTheSameBits) {
  const std::string path = folder.path("optimizer.safetensors");
  for (const bool is_sgd : {false, true}) {
    const Model trained(context.get());
    const Optimizer optimizer = make_optimizer(context.get(), is_sgd);
    const heed_parameter_group group = {sizeof group, 2, 0.25};
    check(heed_optimizer_set_group(optimizer.get(), "second", &group));
    for (uint64_t step = 0; step < 2; ++step) {
      trained.fill_gradients(step);
      check(step_of(optimizer, trained.parts()));
    }
    check(heed_optimizer_save(optimizer.get(), path.c_str()));
    const std::string bytes = read_file(path);
    for (const char* name : {"\"step.first.weight\"", "\"step.first.bias\"", "\"step.second_weight\"",
                             "\"step.second_bias\"", "\"step.scale\""})
      EXPECT_NE(bytes.find(name), std::string::npos) << name;

    const Model resumed(context.get(), 50);
    check(heed_tensor_copy(trained.scale.get(), resumed.scale.get()));
    for (const auto& [from, to] :
         {std::pair(&trained.first, &resumed.first), std::pair(&trained.second, &resumed.second)}) {
      for (const char* name : {"weight", "bias"})
        check(heed_layer_set_parameter(to->get(), name, snapshot(from->get(), name).get()));
    }
    ASSERT_EQ(resumed.numbers(), trained.numbers());
    const Optimizer again = make_optimizer(context.get(), is_sgd);
    check(heed_optimizer_load(again.get(), path.c_str()));
    for (uint64_t step = 2; step < 4; ++step) {
      trained.fill_gradients(step);
      resumed.fill_gradients(step);
      check(step_of(optimizer, trained.parts()));
      // In any order.
      check(step_of(again, {resumed.part_of_scale(), resumed.part_of_second(), resumed.part_of_first()}));
    }
    EXPECT_EQ(resumed.numbers(), trained.numbers());
    const std::string second = folder.path("again.safetensors");
    check(heed_optimizer_save(optimizer.get(), path.c_str()));
    check(heed_optimizer_save(again.get(), second.c_str()));
    EXPECT_TRUE(read_file(second) == read_file(path));
  }
}

// A state that no part has is refused, whichever part it was.
TEST_F(OptimizerParts, ALoadedStateNeedsItsPart) {
  const std::string path = folder.path("optimizer.safetensors");
  const Optimizer optimizer = make_adamw(context.get());
  check(step_of(optimizer, model.parts()));
  check(heed_optimizer_save(optimizer.get(), path.c_str()));
  check(heed_optimizer_load(optimizer.get(), path.c_str()));
  const std::vector<heed_step_part> parts = model.parts();
  expect_refused(optimizer, {parts[0], parts[1]}, HEED_ERROR_NOT_FOUND, {"\"scale\"", "no parameter of the parts"});
  expect_refused(optimizer, {parts[2], parts[1]}, HEED_ERROR_NOT_FOUND, {"\"first.bias\""});
  check(step_of(optimizer, parts));
  check(step_of(optimizer, {parts[0]}));
}

// As those of frozen parts; a later step goes on with their state.
TEST_F(OptimizerParts, PartsThatAreMissingKeepTheirState) {
  const Model twin(context.get());
  const Optimizer optimizer = make_adamw(context.get());
  const Optimizer of_twin = make_adamw(context.get());
  const std::vector<heed_step_part> parts = model.parts();
  for (const Model* each : {&std::as_const(model), &twin}) each->fill_gradients(5);
  const auto before = model.numbers();
  check(step_of(optimizer, {parts[0]}));
  EXPECT_EQ(model.numbers()[0], before[0]);
  check(step_of(optimizer, {parts[2]}));
  check(step_of(optimizer, {parts[1], parts[2]}));
  check(step_of(of_twin, {twin.part_of_first(), twin.part_of_second(), twin.part_of_scale()}));
  check(step_of(of_twin, {twin.part_of_scale()}));
  EXPECT_EQ(model.numbers(), twin.numbers());
}

TEST_F(OptimizerParts, GroupsHaveFullNamesAndPrefixesOfParts) {
  heed_sgd_options plain = HEED_SGD_OPTIONS_INIT;
  plain.learning_rate = 0.5;
  const Optimizer optimizer = make_sgd(context.get(), plain);
  const heed_parameter_group still = {sizeof still, 0, 0};
  const heed_parameter_group moving = {sizeof moving, 1, 0};
  // Which of the five parameters a step changes.
  const auto moves = [&] {
    model.fill_gradients(1);
    const auto before = model.numbers();
    check(step_of(optimizer, model.parts()));
    const auto after = model.numbers();
    std::string changed;
    for (size_t i = 0; i < after.size(); ++i) changed += after[i] == before[i] ? '-' : 'x';
    return changed;  // scale, first.weight, first.bias, second_weight, second_bias
  };
  const auto with = [&](const char* prefix, const heed_parameter_group& group) {
    check(heed_optimizer_set_group(optimizer.get(), prefix, &group));
    const std::string changed = moves();
    check(heed_optimizer_set_group(optimizer.get(), prefix, nullptr));
    return changed;
  };
  EXPECT_EQ(with("first", still), "x--xx");
  EXPECT_EQ(with("first.", still), "x--xx");
  EXPECT_EQ(with("second", still), "xxx--");
  EXPECT_EQ(with("second_", still), "xxx--");
  EXPECT_EQ(with("second_bias", still), "xxxx-");
  EXPECT_EQ(with("first.weight", still), "x-xxx");
  EXPECT_EQ(with("scale", still), "-xxxx");
  EXPECT_EQ(with("", still), "-----");
  // The longest counts.
  check(heed_optimizer_set_group(optimizer.get(), "second", &still));
  check(heed_optimizer_set_group(optimizer.get(), "second_weight", &moving));
  EXPECT_EQ(moves(), "xxxx-");
  EXPECT_EQ(heed_optimizer_set_group(optimizer.get(), "secon", &still), HEED_ERROR_NOT_FOUND);
  EXPECT_EQ(heed_optimizer_set_group(optimizer.get(), "second_w", &still), HEED_ERROR_NOT_FOUND);
  // A group of a part stays while the part is missing.
  check(step_of(optimizer, {model.part_of_first()}));
}

TEST_F(OptimizerParts, AStepThatFailsChangesNoPart) {
  const Optimizer optimizer = make_adamw(context.get());
  model.fill_gradients(1);
  const std::vector<heed_step_part> parts = model.parts();
  // Before the first step, and after it.
  for (int round = 0; round < 2; ++round) {
    for (const auto& [set, name, text] :
         {std::tuple(model.of_scale.get(), "scale", "parts[2]->gradients has nan for scale at index (19999)"),
          std::tuple(model.of_first.get(), "bias", "parts[0]->gradients has nan for first.bias at index (8)"),
          std::tuple(model.of_second.get(), "bias", "parts[1]->gradients has nan for second_bias at index (299)")}) {
      const Tensor gradient = gradient_of(set, name);
      const Tensor last = make_slice(gradient.get(), 0, heed_tensor_dim(gradient.get(), 0) - 1, 1);
      check(heed_tensor_fill(last.get(), std::numeric_limits<double>::quiet_NaN()));
      expect_refused(optimizer, parts, HEED_ERROR_INVALID_ARGUMENT, {text});
      check(heed_tensor_fill(last.get(), 1));
    }
    check(heed_layer_set_trainable(model.second.get(), "bias", 0));
    expect_refused(optimizer, parts, HEED_ERROR_INVALID_ARGUMENT, {"parts[1]->gradients", "\"bias\"", "trainable"});
    check(heed_layer_set_trainable(model.second.get(), "bias", 1));
    if (round == 0) check(step_of(optimizer, parts));
  }
  const Context elsewhere = make_context();
  const Model other(elsewhere.get());
  expect_refused(optimizer, {parts[0], other.part_of_second()}, HEED_ERROR_INVALID_ARGUMENT,
                 {"parts[1]->layer is on", "another context"});
  expect_refused(optimizer, {parts[0], other.part_of_scale()}, HEED_ERROR_INVALID_ARGUMENT,
                 {"parts[1]->gradients is on", "another context"});
}

TEST_F(OptimizerParts, EachIsThereOnce) {
  const Optimizer optimizer = make_adamw(context.get());
  const auto refuse = [&](const std::vector<heed_step_part>& parts, const std::vector<std::string>& texts) {
    expect_refused(optimizer, parts, HEED_ERROR_INVALID_ARGUMENT, texts);
  };
  const heed_step_part first = model.part_of_first();
  refuse({first, model.part_of_second(), model.part_of_first("x.")},
         {"parts[0]->gradients and parts[2]->gradients are the same set"});
  const Gradients again = make_gradients(model.first.get());
  refuse({first, {sizeof first, "x.", model.first.get(), again.get()}},
         {"parts[0]->layer and parts[1]->layer are the same layer"});
  const Tensor half = make_slice(model.scale.get(), 0, kSize / 2, kSize / 2);
  const Gradients of_half = make_gradients_of(half.get(), "half");
  refuse({{sizeof first, nullptr, nullptr, of_half.get()}, first, model.part_of_scale()},
         {"parts[0]->gradients and parts[2]->gradients are of tensors that share memory"});
  const Tensor beside = make_slice(model.scale.get(), 0, 0, kSize / 2);
  const Gradients of_beside = make_gradients_of(beside.get(), "beside");
  check(step_of(make_adamw(context.get()),
                {{sizeof first, nullptr, nullptr, of_half.get()}, {sizeof first, nullptr, nullptr, of_beside.get()}}));
  refuse({model.part_of_first(""), model.part_of_second("")}, {"two parameters have the name \"bias\""});
  const Tensor bias = make_tensor(context.get(), {3});
  const Gradients of_bias = make_gradients_of(bias.get(), "bias");
  refuse({first, {sizeof first, "first.", nullptr, of_bias.get()}}, {"the name \"first.bias\""});
}

// A layer and its child have the same parameters.
TEST_F(OptimizerParts, AChildIsNoPartBesideItsParent) {
  heed_encoder_layer_options options = HEED_ENCODER_LAYER_OPTIONS_INIT;
  heed_multi_head_attention_options attention = HEED_MULTI_HEAD_ATTENTION_OPTIONS_INIT;
  attention.num_heads = 1;
  attention.num_hiddens = 4;
  heed_feed_forward_options feed_forward = HEED_FEED_FORWARD_OPTIONS_INIT;
  feed_forward.hidden_size = 5;
  options.attention = &attention;
  options.feed_forward = &feed_forward;
  const Layer parent = make_encoder_layer(context.get(), options);
  heed_layer_inputs inputs = HEED_LAYER_INPUTS_INIT;
  const Tensor rows = make_shape_only(context.get(), {1, 2, 4});
  inputs.queries = rows.get();
  check(heed_layer_initialize(parent.get(), &inputs, 1));
  const Layer part_of_parent = make_child(parent.get(), "feed_forward");
  const Gradients of_parent = make_gradients(parent.get());
  const Gradients of_child = make_gradients(part_of_parent.get());
  const Optimizer optimizer = make_adamw(context.get());
  const heed_step_part whole = {sizeof whole, "whole.", parent.get(), of_parent.get()};
  expect_refused(optimizer, {whole, {sizeof whole, "part.", part_of_parent.get(), of_child.get()}},
                 HEED_ERROR_INVALID_ARGUMENT, {"parts[0]->layer and parts[1]->layer share a parameter"});
  check(heed_layer_set_trainable(part_of_parent.get(), nullptr, 0));
  const Gradients none = make_gradients(part_of_parent.get());
  EXPECT_EQ(heed_gradients_count(none.get()), 0);
  const Gradients rest = make_gradients(parent.get());
  check(step_of(optimizer, {{sizeof whole, "whole.", parent.get(), rest.get()},
                            {sizeof whole, "part.", part_of_parent.get(), none.get()}}));
}

TEST_F(OptimizerParts, PrefixesAndNamesKeepTheirLayersAndTensors) {
  const Optimizer optimizer = make_adamw(context.get());
  check(step_of(optimizer, model.parts()));
  const auto refuse = [&](const std::vector<heed_step_part>& parts, const std::vector<std::string>& texts) {
    expect_refused(optimizer, parts, HEED_ERROR_INVALID_ARGUMENT, texts);
  };
  refuse({model.part_of_first("x.")}, {"parts[0]->layer has the prefix \"x.\", but \"first.\" in earlier steps"});
  refuse({model.part_of_scale("x.")}, {"parts[0]->gradients is of the tensor that was \"scale\" in earlier steps"});
  const Model other(context.get());
  refuse({other.part_of_first()}, {"parts[0]->layer is another layer than that of the prefix \"first.\""});
  refuse({model.part_of_first(), other.part_of_scale()},
         {"parts[1]->gradients is of another tensor than \"scale\" in earlier steps"});
  // A name of a part that is missing now.
  const Tensor bias = make_tensor(context.get(), {9});
  const Gradients of_bias = make_gradients_of(bias.get(), "first.bias");
  refuse({{sizeof(heed_step_part), nullptr, nullptr, of_bias.get()}}, {"two parameters have the name \"first.bias\""});
  // New parts may come.
  check(step_of(optimizer, {other.part_of_second("other."), model.part_of_scale()}));
  // Also after the layer or the tensor is gone, its name is taken.
  {
    const Model gone(context.get());
    const Gradients of_gone = make_gradients_of(gone.scale.get(), "gone");
    check(step_of(optimizer, {gone.part_of_first("gone."), {sizeof(heed_step_part), "", nullptr, of_gone.get()}}));
  }
  refuse({other.part_of_first("gone.")}, {"another layer"});
  const Gradients new_gone = make_gradients_of(bias.get(), "gone");
  refuse({{sizeof(heed_step_part), "", nullptr, new_gone.get()}}, {"another tensor"});
}

// heed_optimizer_step is a step of a part without a prefix.
TEST_F(OptimizerParts, AStepOfALayerIsOneOfAPart) {
  const Optimizer optimizer = make_adamw(context.get());
  check(heed_optimizer_step(optimizer.get(), model.first.get(), model.of_first.get()));
  check(step_of(optimizer, {model.part_of_first(nullptr), model.part_of_second()}));
  check(heed_optimizer_step(optimizer.get(), model.first.get(), model.of_first.get()));
  EXPECT_TRUE(is_refused(heed_optimizer_step(optimizer.get(), model.second.get(), model.of_second.get()),
                         {HEED_ERROR_INVALID_ARGUMENT, {"earlier steps"}}));
}

TEST_F(OptimizerParts, SetsOfTensorsBelongToNoLayer) {
  const Optimizer optimizer = make_adamw(context.get());
  EXPECT_TRUE(is_refused(heed_optimizer_step(optimizer.get(), model.first.get(), model.of_scale.get()),
                         {HEED_ERROR_INVALID_ARGUMENT, {"gradients is that of the tensor \"scale\""}}));
  expect_refused(optimizer, {{sizeof(heed_step_part), "", model.first.get(), model.of_scale.get()}},
                 HEED_ERROR_INVALID_ARGUMENT, {"parts[0]->gradients is that of the tensor \"scale\""});
  expect_refused(optimizer, {{sizeof(heed_step_part), "", nullptr, model.of_first.get()}}, HEED_ERROR_INVALID_ARGUMENT,
                 {"parts[0]->layer is NULL, but parts[0]->gradients is that of a layer"});
  const Tensor rows = make_tensor(context.get(), {2, 6});
  const Tensor of_output = make_tensor(context.get(), {2, 9});
  heed_layer_inputs inputs = HEED_LAYER_INPUTS_INIT;
  inputs.queries = rows.get();
  heed_layer_gradients wanted = HEED_LAYER_GRADIENTS_INIT;
  wanted.output = of_output.get();
  wanted.parameters = model.of_scale.get();
  EXPECT_TRUE(is_refused(heed_layer_backward(model.first.get(), &inputs, nullptr, nullptr, &wanted),
                         {HEED_ERROR_INVALID_ARGUMENT, {"gradients->parameters is that of the tensor \"scale\""}}));
}

TEST_F(OptimizerParts, NamesAreThoseThatAFileCanHave) {
  const Optimizer optimizer = make_adamw(context.get());
  heed_gradients* none = nullptr;
  for (const auto& [name, is_right] : std::vector<std::pair<std::string, bool>>{{"gr\xC3\xB6\xC3\x9F"
                                                                                 "e",
                                                                                 true},
                                                                                {"\xE2\x82\xAC", true},
                                                                                {"\xF0\x9F\x90\x8D", true},
                                                                                {"a \"name\"", true},
                                                                                {"", false},
                                                                                {"a\nb", false},
                                                                                {"\xFF", false},
                                                                                {"\xC0\x80", false},
                                                                                {"\xC3", false},
                                                                                {"\xE0\x80\x80", false},
                                                                                {"\xED\xA0\x80", false},
                                                                                {"\xF4\x90\x80\x80", false},
                                                                                {"\xE2\x82z", false}}) {
    SCOPED_TRACE(name);
    EXPECT_EQ(heed_gradients_create_of_tensor(model.scale.get(), name.c_str(), &none) == HEED_OK, is_right);
    if (is_right) {
      const Gradients set(std::exchange(none, nullptr));
      const Optimizer own = make_adamw(context.get());
      check(step_of(own, {{sizeof(heed_step_part), "p.", nullptr, set.get()}}));
      check(heed_optimizer_save(own.get(), folder.path("own").c_str()));
      check(heed_optimizer_load(own.get(), folder.path("own").c_str()));
      check(step_of(own, {{sizeof(heed_step_part), "p.", nullptr, set.get()}}));
      check(step_of(own, {model.part_of_first((name + ".").c_str())}));
    } else if (!name.empty()) {
      expect_refused(optimizer, {model.part_of_first(name.c_str())}, HEED_ERROR_INVALID_ARGUMENT,
                     {"parts[0]->prefix is"});
    }
  }
  EXPECT_EQ(none, nullptr);
}

}  // namespace
}  // namespace heed::capi_test
