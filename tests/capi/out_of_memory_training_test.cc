// SPDX-License-Identifier: Apache-2.0
// Every allocation of the functions of training fails once: the call reports it, leaks nothing, and leaves parameters, gradients and
// optimizers unchanged.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "capi/support/attention_call.h"
#include "capi/support/failing_allocations.h"
#include "capi/support/files.h"
#include "capi/support/objects.h"

namespace heed::capi_test {
namespace {

// A linear layer with a set of gradients, and an optimizer that has made a step of its weight alone.
struct Training : Scenario {
  TemporaryFolder folder;
  std::string path = folder.path("optimizer.safetensors");
  Context context = make_context();
  Layer layer = make_layer();
  Gradients gradients = make_gradients(layer.get());
  heed_gradients* set = gradients.get();
  Optimizer optimizer = make_adamw(context.get());
  std::vector<std::vector<float>> before;

  Training() {
    check(heed_layer_set_trainable(layer.get(), "bias", 0));
    const Gradients first = make_gradients(layer.get());
    check(heed_optimizer_step(optimizer.get(), layer.get(), first.get()));
    check(heed_layer_set_trainable(layer.get(), "bias", 1));
    for (const char* name : {"weight", "bias"}) check(heed_tensor_fill(gradient_of(set, name).get(), 0.5));
    check(heed_optimizer_save(optimizer.get(), path.c_str()));
    before = numbers();
  }
  Layer make_layer() const {
    heed_linear_options options = HEED_LINEAR_OPTIONS_INIT;
    options.output_size = 20;
    Layer made = make_linear(context.get(), options);
    check(heed_layer_set_parameter(made.get(), "weight", make_random(context.get(), {20, 30}, 1).get()));
    check(heed_layer_set_parameter(made.get(), "bias", make_random(context.get(), {20}, 2).get()));
    return made;
  }
  std::vector<std::vector<float>> numbers() const {
    std::vector<std::vector<float>> all;
    for (const char* name : {"weight", "bias"}) {
      all.push_back(read_elements<float>(snapshot(layer.get(), name).get()));
      all.push_back(read_elements<float>(gradient_of(set, name).get()));
    }
    return all;
  }
  void expect_unchanged() override {
    EXPECT_EQ(numbers(), before);
    const std::string now = folder.path("now.safetensors");
    check(heed_optimizer_save(optimizer.get(), now.c_str()));
    EXPECT_EQ(read_file(now), read_file(path));
  }
};

struct MakeSet final : Training {
  heed_status run() override {
    heed_gradients* made = nullptr;
    const heed_status status = heed_gradients_create(layer.get(), &made);
    EXPECT_EQ(made != nullptr, status == HEED_OK);
    heed_gradients_destroy(made);
    return status;
  }
};
struct MakeSetOfTensor final : Training {
  Tensor value = make_random(context.get(), {30}, 1);
  heed_status run() override {
    heed_gradients* made = nullptr;
    const heed_status status =
        heed_gradients_create_of_tensor(value.get(), "a name that is too long for a string without memory", &made);
    EXPECT_EQ(made != nullptr, status == HEED_OK);
    heed_gradients_destroy(made);
    return status;
  }
};
struct ViewGradient final : Training {
  heed_status run() override {
    heed_tensor* view = nullptr;
    const heed_status status = heed_gradients_tensor(set, "weight", &view);
    EXPECT_EQ(view != nullptr, status == HEED_OK);
    heed_tensor_destroy(view);
    return status;
  }
};
struct Zero final : Training {
  heed_status run() override { return heed_gradients_zero(set); }
};
struct Scale final : Training {
  heed_status run() override { return heed_gradients_scale(set, 2); }
};
struct AddSets final : Training {
  heed_status run() override { return heed_gradients_add(set, set); }
};
struct Norm final : Training {
  double norm = -1;
  heed_status run() override {
    const heed_status status = heed_gradients_norm(&set, 1, &norm);
    EXPECT_EQ(norm >= 0, status == HEED_OK);
    return status;
  }
};
struct Clip final : Training {
  heed_status run() override { return heed_gradients_clip(&set, 1, 0.1, nullptr); }
};
struct MakeOptimizers final : Training {
  heed_status run() override {
    heed_optimizer* made[2] = {};
    heed_status status = heed_sgd_create(context.get(), nullptr, &made[0]);
    if (status == HEED_OK) status = heed_adamw_create(context.get(), nullptr, &made[1]);
    EXPECT_EQ(made[1] != nullptr, status == HEED_OK);
    heed_optimizer_destroy(made[0]);
    heed_optimizer_destroy(made[1]);
    return status;
  }
};
struct Step final : Training {
  heed_status run() override { return heed_optimizer_step(optimizer.get(), layer.get(), set); }
};
// Snapshots share the memory of the bias, so that it gets new memory.
struct StepBesideSnapshots final : Training {
  Tensor shared = snapshot(layer.get(), "bias");
  heed_status run() override { return heed_optimizer_step(optimizer.get(), layer.get(), set); }
};
// With another layer and a tensor, which are new to the optimizer.
struct StepOfParts final : Training {
  Layer second = make_layer();
  Tensor value = make_random(context.get(), {30}, 1);
  Gradients of_second = make_gradients(second.get());
  Gradients of_value = make_gradients_of(value.get(), "a name that is too long for a string without memory");
  std::vector<std::vector<float>> others = numbers_of_others();

  std::vector<std::vector<float>> numbers_of_others() const {
    return {read_elements<float>(value.get()), read_elements<float>(snapshot(second.get(), "weight").get())};
  }
  heed_status run() override {
    const heed_step_part parts[] = {{sizeof(heed_step_part), nullptr, layer.get(), set},
                                    {sizeof(heed_step_part), "a prefix that is too long for a string without memory.",
                                     second.get(), of_second.get()},
                                    {sizeof(heed_step_part), nullptr, nullptr, of_value.get()}};
    const heed_step_part* const pointers[] = {&parts[0], &parts[1], &parts[2]};
    return heed_optimizer_step_parts(optimizer.get(), pointers, 3);
  }
  void expect_unchanged() override {
    Training::expect_unchanged();
    EXPECT_EQ(numbers_of_others(), others);
  }
};
// Before its first step, when an optimizer takes any prefix.
struct SetGroup final : Training {
  SetGroup() {
    optimizer = make_adamw(context.get());
    check(heed_optimizer_save(optimizer.get(), path.c_str()));
  }
  heed_status run() override {
    const heed_parameter_group group = HEED_PARAMETER_GROUP_INIT;
    return heed_optimizer_set_group(optimizer.get(), "a prefix that is too long for a string without memory", &group);
  }
};
struct Save final : Training {
  std::string other = folder.path("other.safetensors");
  heed_status run() override { return heed_optimizer_save(optimizer.get(), other.c_str()); }
  // If the path's links cannot be resolved, it is used as it is.
  bool can_do_without() const override { return true; }
};
struct LoadOptimizer final : Training {
  heed_status run() override { return heed_optimizer_load(optimizer.get(), path.c_str()); }
};

struct CrossEntropy final : Scenario {
  Context context = make_context();
  Tensor logits = make_random(context.get(), {2, 3, 5}, 1);
  Tensor columns = make_transposed(logits.get(), {0, 2, 1});
  Tensor labels = make_tensor(context.get(), {2, 5}, HEED_I32);
  Tensor losses = make_tensor(context.get(), {2, 5});
  heed_status run() override {
    double total = 0;
    return heed_cross_entropy(columns.get(), labels.get(), nullptr, nullptr, losses.get(), &total, columns.get());
  }
  std::vector<float> before = read_elements<float>(logits.get());
  void expect_unchanged() override {
    EXPECT_EQ(read_elements<float>(logits.get()), before);
    EXPECT_EQ(read_elements<float>(losses.get()), std::vector<float>(10));
  }
};
struct SquaredError final : Scenario {
  Context context = make_context();
  Tensor a = make_random(context.get(), {20, 3000}, 1);
  heed_status run() override {
    double total = 0;
    return heed_squared_error(a.get(), a.get(), nullptr, nullptr, &total, a.get());
  }
  std::vector<float> before = read_elements<float>(a.get());
  void expect_unchanged() override { EXPECT_EQ(read_elements<float>(a.get()), before); }
};

// A backward of the layer with saved arrays.
struct Backward : Training {
  Tensor rows = make_random(context.get(), {3, 30}, 3);
  Tensor of_output = make_random(context.get(), {3, 20}, 4);
  Tensor output = make_tensor(context.get(), {3, 20});
  heed_layer_inputs inputs = HEED_LAYER_INPUTS_INIT;
  heed_layer_gradients wanted = HEED_LAYER_GRADIENTS_INIT;

  Backward() {
    inputs.queries = rows.get();
    wanted.output = of_output.get();
    wanted.parameters = set;
  }
};
struct SizesOfBackward final : Backward {
  heed_status run() override {
    size_t num_bytes = 0;
    const heed_status status = heed_layer_saved_size(layer.get(), &inputs, &num_bytes);
    if (status != HEED_OK) return status;
    return heed_layer_backward_workspace_size(layer.get(), &inputs, nullptr, &wanted, &num_bytes);
  }
};
struct MakeSaved final : Backward {
  heed_status run() override {
    heed_saved* made = nullptr;
    const heed_status status = heed_saved_create(context.get(), 1000, &made);
    EXPECT_EQ(made != nullptr, status == HEED_OK);
    heed_saved_destroy(made);
    return status;
  }
};
struct RunBackward final : Backward {
  heed_status run() override { return heed_layer_backward(layer.get(), &inputs, nullptr, nullptr, &wanted); }
};
struct ExplainBackward final : Backward {
  heed_status run() override {
    size_t num_bytes = 0;
    return heed_layer_explain_backward(layer.get(), &inputs, nullptr, &wanted, nullptr, 0, &num_bytes);
  }
};

// All calls of a step of a Transformer with a tied table. Until the optimizer's is done, no parameter changes.
struct StepOfATransformer final : Scenario {
  TemporaryFolder folder;
  std::string path = folder.path("optimizer.safetensors");
  Context context = make_context();
  BlockOptions blocks;
  heed_embedding_options embedding = ten_rows();
  Layer layer = make_layer();
  Tensor target = make_tensor_of<int32_t>(context.get(), {2, 3}, {1, 2, 3, 4, 5, 6});
  Tensor source = make_tensor_of<int32_t>(context.get(), {2, 4}, {8, 7, 6, 5, 4, 3, 2, 1});
  Tensor logits = make_tensor(context.get(), {2, 3, 10});
  Optimizer optimizer = make_adamw(context.get());
  Gradients gradients;
  heed_gradients* set = nullptr;
  heed_layer_inputs inputs = HEED_LAYER_INPUTS_INIT;
  std::vector<std::vector<float>> parameters_before;
  std::vector<std::vector<float>> gradients_before;

  StepOfATransformer() {
    inputs.queries = target.get();
    inputs.keys = source.get();
    inputs.training = 1;
    check(heed_layer_initialize(layer.get(), &inputs, 7));
    gradients = make_gradients(layer.get());
    set = gradients.get();
    check(heed_optimizer_save(optimizer.get(), path.c_str()));
    parameters_before = parameters();
    gradients_before = numbers_of_set();
  }
  Layer make_layer() {
    embedding.embedding_size = 0;
    blocks.output.size = 0;
    blocks.output.tied = 1;
    blocks.transformer.embedding = &embedding;
    blocks.transformer.output = &blocks.output;
    return make_transformer(context.get(), blocks.transformer);
  }
  heed_status run() override {
    size_t num_bytes = 0;
    heed_status status = heed_layer_saved_size(layer.get(), &inputs, &num_bytes);
    if (status != HEED_OK) return status;
    heed_layer_outputs outputs = HEED_LAYER_OUTPUTS_INIT;
    outputs.output = logits.get();
    status = heed_saved_create(context.get(), num_bytes, &outputs.saved);
    if (status != HEED_OK) return status;
    status = run(outputs);
    heed_saved_destroy(outputs.saved);
    return status;
  }
  heed_status run(const heed_layer_outputs& outputs) {
    heed_status status = heed_layer_forward(layer.get(), &inputs, nullptr, &outputs);
    if (status != HEED_OK) return status;
    double total = 0;
    status = heed_cross_entropy(logits.get(), target.get(), nullptr, nullptr, nullptr, &total, logits.get());
    if (status != HEED_OK) return status;
    heed_layer_gradients wanted = HEED_LAYER_GRADIENTS_INIT;
    wanted.output = logits.get();
    wanted.parameters = set;
    status = heed_layer_backward(layer.get(), &inputs, &outputs, nullptr, &wanted);
    if (status == HEED_OK) gradients_before.clear();
    if (status != HEED_OK) return status;
    status = heed_gradients_clip(&set, 1, 1.0, nullptr);
    return status != HEED_OK ? status : heed_optimizer_step(optimizer.get(), layer.get(), set);
  }
  std::vector<std::vector<float>> parameters() const {
    std::vector<std::vector<float>> all;
    for (int64_t i = 0; i < heed_layer_parameter_count(layer.get()); ++i)
      all.push_back(read_elements<float>(snapshot(layer.get(), heed_layer_parameter_name(layer.get(), i)).get()));
    return all;
  }
  std::vector<std::vector<float>> numbers_of_set() const {
    std::vector<std::vector<float>> all;
    for (int64_t i = 0; i < heed_gradients_count(set); ++i)
      all.push_back(read_elements<float>(gradient_of(set, heed_gradients_name(set, i)).get()));
    return all;
  }
  void expect_unchanged() override {
    EXPECT_EQ(parameters(), parameters_before);
    if (!gradients_before.empty()) {
      EXPECT_EQ(numbers_of_set(), gradients_before);
    }
    const std::string now = folder.path("now.safetensors");
    check(heed_optimizer_save(optimizer.get(), now.c_str()));
    EXPECT_EQ(read_file(now), read_file(path));
  }
};

TEST(OutOfMemory, InAWholeStep) { expect_recovery("step of a Transformer", scenario<StepOfATransformer>()); }

TEST(OutOfMemory, InBackward) {
  expect_recovery("sizes", scenario<SizesOfBackward>());
  expect_recovery("saved", scenario<MakeSaved>());
  expect_recovery("backward", scenario<RunBackward>());
  expect_recovery("explain", scenario<ExplainBackward>());
}

TEST(OutOfMemory, InGradients) {
  expect_recovery("create", scenario<MakeSet>());
  expect_recovery("create of a tensor", scenario<MakeSetOfTensor>());
  expect_recovery("tensor", scenario<ViewGradient>());
  expect_recovery("zero", scenario<Zero>());
  expect_recovery("scale", scenario<Scale>());
  expect_recovery("add", scenario<AddSets>());
  expect_recovery("norm", scenario<Norm>());
  expect_recovery("clip", scenario<Clip>());
}

TEST(OutOfMemory, InLosses) {
  expect_recovery("cross-entropy", scenario<CrossEntropy>());
  expect_recovery("squared error", scenario<SquaredError>());
}

TEST(OutOfMemory, InOptimizers) {
  expect_recovery("create", scenario<MakeOptimizers>());
  expect_recovery("step", scenario<Step>());
  expect_recovery("step beside snapshots", scenario<StepBesideSnapshots>());
  expect_recovery("step of parts", scenario<StepOfParts>());
  expect_recovery("set_group", scenario<SetGroup>());
  expect_recovery("save", scenario<Save>());
  expect_recovery("load", scenario<LoadOptimizer>());
}

}  // namespace
}  // namespace heed::capi_test
