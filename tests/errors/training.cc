// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "capi/support/files.h"
#include "errors/provocation.h"

namespace heed::errors_test {
namespace {

class TrainingScene : public Scene {
 public:
  ~TrainingScene() override {
    heed_gradients_destroy(new_gradients);
    heed_optimizer_destroy(new_optimizer);
  }

 protected:
  // Sets of gradients and an optimizer that the call does not make.
  heed_gradients* gradients_of(const heed_layer* of) { return sets_.emplace_back(capi_test::make_gradients(of)).get(); }
  // A linear layer of these sizes.
  heed_layer* dense(int64_t num_outputs, int64_t num_inputs, heed_dtype dtype = HEED_F32) {
    heed_linear_options linear = HEED_LINEAR_OPTIONS_INIT;
    linear.output_size = num_outputs;
    heed_layer* const made = dense_.emplace_back(capi_test::make_linear(context, linear)).get();
    initialize(made, num_inputs, dtype);
    return made;
  }
  void initialize(heed_layer* made, int64_t num_inputs, heed_dtype dtype = HEED_F32) {
    heed_layer_inputs given = HEED_LAYER_INPUTS_INIT;
    given.queries = shape_of(dtype, {1, num_inputs});
    check(heed_layer_initialize(made, &given, 1));
  }
  // Of this layer, after its first step.
  heed_optimizer* adamw_of(heed_layer* of) {
    check(heed_adamw_create(context, nullptr, &optimizer));
    check(heed_optimizer_step(optimizer, of, gradients_of(of)));
    return optimizer;
  }
  // That has loaded the state of a step of another layer.
  heed_optimizer* adamw_of_file_of(heed_layer* of) {
    check(heed_optimizer_save(adamw_of(of), "optimizer.safetensors"));
    heed_optimizer_destroy(optimizer);
    check(heed_adamw_create(context, nullptr, &optimizer));
    check(heed_optimizer_load(optimizer, "optimizer.safetensors"));
    return optimizer;
  }
  // One gradient of a tensor.
  heed_gradients* of_tensor(heed_tensor* value, const char* name = "scale") {
    return sets_.emplace_back(capi_test::make_gradients_of(value, name)).get();
  }
  // A step of an optimizer of SGD with these two parts, after another if there is one.
  heed_status step_of(const heed_step_part& first, const heed_step_part& second) {
    if (optimizer == nullptr) use_optimizer();
    const heed_step_part* const both[] = {&first, &second};
    return heed_optimizer_step_parts(optimizer, both, 2);
  }
  heed_status step_of(const heed_step_part& only) {
    if (optimizer == nullptr) use_optimizer();
    const heed_step_part* const one[] = {&only};
    return heed_optimizer_step_parts(optimizer, one, 1);
  }
  // A part of the layer, and one of a tensor.
  heed_step_part part(const char* prefix, heed_layer* of, heed_gradients* set) {
    return {sizeof(heed_step_part), prefix, of, set};
  }
  heed_step_part part(const char* prefix, heed_layer* of) { return part(prefix, of, gradients_of(of)); }
  heed_step_part part(const char* prefix, heed_tensor* of) { return part(prefix, nullptr, of_tensor(of)); }
  // Sets one gradient of a set to this number.
  static heed_gradients* with(heed_gradients* set, const char* name, double number) {
    check(heed_tensor_fill(capi_test::gradient_of(set, name).get(), number));
    return set;
  }
  // The file of an optimizer of SGD whose options are bytes of this value; and other tensors, from byte 32 on.
  static const char* sgd_file(char options, const std::string& more = "", const std::string& rest = "") {
    std::string header = "{'sgd.options':{'dtype':'F64','shape':[4],'data_offsets':[0,32]}" + more + "}";
    std::replace(header.begin(), header.end(), '\'', '"');
    std::string contents = capi_test::safetensors(header, 0) + std::string(32, options) + rest;
    return bytes("optimizer.safetensors", contents);
  }
  // The same, with groups of these prefixes and bytes of numbers.
  static const char* groups_file(const std::string& prefixes, const std::string& numbers) {
    const size_t end = 32 + numbers.size();
    return sgd_file('\0',
                    ",'groups.numbers':{'dtype':'F64','shape':[" + std::to_string(numbers.size() / 16) +
                        ",2],'data_offsets':[32," + std::to_string(end) +
                        "]},'groups.prefixes':{'dtype':'U8','shape':[" + std::to_string(prefixes.size()) +
                        "],'data_offsets':[" + std::to_string(end) + "," + std::to_string(end + prefixes.size()) + "]}",
                    numbers + prefixes);
  }

  // parent is an encoder layer, and other its feed-forward network.
  void use_parent() {
    heed_encoder_layer_options block = HEED_ENCODER_LAYER_OPTIONS_INIT;
    heed_multi_head_attention_options attention = HEED_MULTI_HEAD_ATTENTION_OPTIONS_INIT;
    attention.num_heads = 1;
    attention.num_hiddens = 4;
    heed_feed_forward_options feed_forward = HEED_FEED_FORWARD_OPTIONS_INIT;
    feed_forward.hidden_size = 5;
    block.attention = &attention;
    block.feed_forward = &feed_forward;
    parent = dense_.emplace_back(capi_test::make_encoder_layer(context, block)).get();
    heed_layer_inputs given = HEED_LAYER_INPUTS_INIT;
    given.queries = shape_of(HEED_F32, {1, 2, 4});
    check(heed_layer_initialize(parent, &given, 1));
    other = dense_.emplace_back(capi_test::make_child(parent, "feed_forward")).get();
  }

  heed_layer* other = nullptr;
  heed_layer* parent = nullptr;
  heed_step_part other_part = HEED_STEP_PART_INIT;
  const heed_step_part* parts = nullptr;
  heed_gradients* new_gradients = nullptr;
  heed_optimizer* new_optimizer = nullptr;
  double norm = 0;
  double total = 0;
  heed_sgd_options sgd_options = HEED_SGD_OPTIONS_INIT;
  heed_adamw_options adamw_options = HEED_ADAMW_OPTIONS_INIT;
  heed_parameter_group group = HEED_PARAMETER_GROUP_INIT;
  heed_load_options load = HEED_LOAD_OPTIONS_INIT;
  heed_model_options model = HEED_MODEL_OPTIONS_INIT;
  heed_cross_entropy_options entropy = HEED_CROSS_ENTROPY_OPTIONS_INIT;
  heed_squared_error_options squared = HEED_SQUARED_ERROR_OPTIONS_INIT;
  heed_tensor* logits = tensor_of(HEED_F32, {2, 3, 5});
  heed_tensor* labels = tensor_with<int32_t>({2, 3}, {0, 1, 2, 3, 4, 0});
  heed_tensor* losses = tensor_of(HEED_F32, {2, 3});
  heed_tensor* slopes = tensor_of(HEED_F32, {2, 3, 5});
  const double infinity = std::numeric_limits<double>::infinity();

 private:
  std::vector<capi_test::Layer> dense_;
  std::vector<capi_test::Gradients> sets_;

 protected:
  heed_gradients* pair[2] = {gradients_of(layer), gradients_of(layer)};
};

Cases of_gradients() {
  using Scene = TrainingScene;
  return {
    PROVOKE(heed_layer_set_trainable(layer, "W_x", 0)),
        ALSO("trainable is 2, expected 0 or 1", heed_layer_set_trainable(layer, NULL, 2)),
        PROVOKE(heed_gradients_create(dense(3, 2, HEED_BF16), &new_gradients)),
        PROVOKE(heed_gradients_create_of_tensor(labels, "scale", &new_gradients)),
        PROVOKE(heed_gradients_create_of_tensor(view_of(logits, {2, 3, 5}, {1, 10, 2}), "scale", &new_gradients)),
        PROVOKE(heed_gradients_create_of_tensor(logits, "", &new_gradients)),
        PROVOKE(heed_gradients_create_of_tensor(logits, "a\nb", &new_gradients)),
        PROVOKE(heed_gradients_create_of_tensor(logits, "\xff", &new_gradients)),
        ALSO("value is a read-only snapshot of a parameter: use heed_layer_set_parameter to change it",
             heed_gradients_create_of_tensor(snapshot("W_q.weight"), "scale", &new_gradients)),
        ALSO_AS(NOT_INITIALIZED, "the layer is not initialized: W_q.weight is not set...",
                heed_gradients_create(layer_with(options), &new_gradients)),
        ALSO("options->widen is 2, expected 0 or 1", heed_layer_load_weights(layer, new_weights, NULL, &load),
             heed_weights_open(context, names({"a"}), &new_weights);
             load.widen = 2),
        ALSO("options->reserved is 1, expected 0", heed_layer_load_weights(layer, new_weights, NULL, &load),
             heed_weights_open(context, names({"a"}), &new_weights);
             load.reserved = 1),
        ALSO("options->load->widen is 2, expected 0 or 1", heed_model_create(context, "folder", &model, &new_layer),
             model.load = &load;
             load.widen = 2),
        PROVOKE(heed_gradients_name(pair[0], 99)), PROVOKE(heed_gradients_tensor(pair[0], "W_x.weight", &new_tensor)),
        PROVOKE(heed_gradients_tensor(gradients_of(layer), "W_q.weight", &new_tensor),
                heed_layer_set_trainable(layer, NULL, 0)),
        PROVOKE(heed_gradients_scale(pair[0], infinity)),
        PROVOKE(heed_gradients_add(gradients_of(dense(3, 2)), gradients_of(dense(3, 4)))),
        PROVOKE(heed_gradients_add(pair[0], gradients_of(dense(3, 4)))), PROVOKE(heed_gradients_norm(pair, 0, &norm)),
        PROVOKE(heed_gradients_norm(pair, 2, &norm), pair[1] = pair[0]),
        PROVOKE(heed_gradients_clip(pair, 2, -1, &norm)),
        ALSO("sets[1] has inf for W_q.weight at index (0, 0), expected finite numbers",
             heed_gradients_clip(pair, 2, 1, &norm), with(pair[1], "W_q.weight", infinity)),
  };
}

Cases of_losses() {
  using Scene = TrainingScene;
  return {
      PROVOKE(heed_cross_entropy(logits, labels, NULL, &entropy, losses, &total, slopes),
              entropy.label_smoothing = 1.5f),
      PROVOKE(heed_cross_entropy(logits, labels, NULL, &entropy, losses, &total, slopes), entropy.reduction = 3),
      PROVOKE(heed_cross_entropy(tensor_of(HEED_F32, {5}), labels, NULL, &entropy, losses, &total, slopes)),
      PROVOKE(heed_cross_entropy(tensor_of(HEED_F16, {2, 3, 5}), labels, NULL, &entropy, losses, &total, slopes)),
      PROVOKE(heed_cross_entropy(logits, tensor_of(HEED_I32, {2, 4}), NULL, &entropy, losses, &total, slopes)),
      ALSO("labels is F32, expected I32 or I64",
           heed_cross_entropy(logits, tensor_of(HEED_F32, {2, 3}), NULL, &entropy, losses, &total, slopes)),
      PROVOKE(heed_cross_entropy(logits, labels, NULL, &entropy, NULL, NULL, NULL)),
      PROVOKE(heed_cross_entropy(logits, tensor_with<int32_t>({2, 3}, {0, 1, 2, 3, 5, 0}), NULL, &entropy, losses,
                                 &total, slopes)),
      PROVOKE(heed_cross_entropy(logits, tensor_with<int32_t>({2, 3}, {0, 1, -1, 3, 4, 0}), lengths({3, 2}), &entropy,
                                 losses, &total, slopes)),
      PROVOKE(heed_cross_entropy(tensor_of(HEED_F32, {2, 5}), tensor_of(HEED_I32, {2}), lengths({3, 2}), &entropy, NULL,
                                 &total, NULL)),
      PROVOKE(heed_cross_entropy(logits, labels, lengths({3, 2, 1}), &entropy, losses, &total, slopes)),
      PROVOKE(heed_cross_entropy(logits, labels, lengths({3, 4}), &entropy, losses, &total, slopes)),
      PROVOKE(heed_cross_entropy(logits, labels, NULL, &entropy, tensor_of(HEED_F32, {2, 4}), &total, slopes)),
      PROVOKE(heed_cross_entropy(repeated(HEED_F32, {1, INT64_C(1) << 41}), tensor_of(HEED_I32, {1}), NULL, &entropy,
                                 NULL, &total, NULL)),
      ALSO("logits_gradient is F16, expected F32",
           heed_cross_entropy(logits, labels, NULL, &entropy, losses, &total, tensor_of(HEED_F16, {2, 3, 5}))),
      PROVOKE(
          heed_cross_entropy(logits, labels, NULL, &entropy, losses, &total, view_of(logits, {2, 3, 5}, {5, 10, 1}))),
      ALSO("losses shares memory with logits, expected separate memory",
           heed_cross_entropy(logits, labels, NULL, &entropy, view_of(logits, {2, 3}, {3, 1}), &total, slopes)),
      PROVOKE(heed_squared_error(logits, slopes, &squared, NULL, &total, NULL), squared.factor = infinity),
      ALSO("options->reduction is -1, expected ...", heed_squared_error(logits, slopes, &squared, NULL, &total, NULL),
           squared.reduction = -1),
      ALSO("options->reserved is 1, expected 0", heed_squared_error(logits, slopes, &squared, NULL, &total, NULL),
           squared.reserved = 1),
      PROVOKE(heed_squared_error(logits, losses, &squared, NULL, &total, NULL)),
      PROVOKE(heed_squared_error(logits, slopes, &squared, NULL, NULL, NULL)),
  };
}

Cases of_optimizers() {
  using Scene = TrainingScene;
  return {
    PROVOKE(heed_sgd_create(context, &sgd_options, &new_optimizer), sgd_options.learning_rate = -1),
        PROVOKE(heed_sgd_create(context, &sgd_options, &new_optimizer), sgd_options.nesterov = 1),
        ALSO("options->momentum is inf, expected a number of at least 0 that is finite in F32",
             heed_sgd_create(context, &sgd_options, &new_optimizer), sgd_options.momentum = infinity),
        PROVOKE(heed_adamw_create(context, &adamw_options, &new_optimizer), adamw_options.beta1 = 1),
        PROVOKE(heed_adamw_create(context, &adamw_options, &new_optimizer), adamw_options.epsilon_placement = 2),
        ALSO("options->beta2 is -0.5, expected a number from 0 to below 1",
             heed_adamw_create(context, &adamw_options, &new_optimizer), adamw_options.beta2 = -0.5),
        ALSO("options->epsilon is inf, expected a number of at least 0 that is finite in F32",
             heed_adamw_create(context, &adamw_options, &new_optimizer), adamw_options.epsilon = infinity),
        ALSO("options->weight_decay is -1, expected a number of at least 0 that is finite in F32",
             heed_adamw_create(context, &adamw_options, &new_optimizer), adamw_options.weight_decay = -1),
        ALSO("options->coupled_decay is 2, expected 0 or 1", heed_adamw_create(context, &adamw_options, &new_optimizer),
             adamw_options.coupled_decay = 2),
        ALSO("learning_rate is inf, expected a number of at least 0 that is finite in F32",
             heed_optimizer_set_learning_rate(use_optimizer(), infinity)),
        PROVOKE(heed_optimizer_set_group(use_optimizer(), NULL, &group), group.learning_rate_factor = -1),
        ALSO("group->weight_decay is inf, expected a number of at least 0 that is finite in F32",
             heed_optimizer_set_group(use_optimizer(), NULL, &group), group.weight_decay = infinity),

        PROVOKE(heed_optimizer_set_group(use_optimizer(), "W_q\n", &group)),
        PROVOKE(heed_optimizer_set_group(optimizer, "W_x", &group), adamw_of(layer)),
        PROVOKE(heed_optimizer_set_group(use_optimizer(), "W_q", NULL)),

        PROVOKE(heed_optimizer_step(use_optimizer(), layer, gradients_of(dense(3, 2)))),
        PROVOKE(heed_optimizer_step(use_optimizer(), layer, pair[0]), heed_layer_set_trainable(layer, "W_q", 0)),
        ALSO("gradients was made when \"W_q.weight\" was not trainable, and now it is trainable: expected ...",
             heed_optimizer_step(use_optimizer(), layer, pair[0]), heed_layer_set_trainable(layer, "W_q", 0);
             pair[0] = gradients_of(layer); heed_layer_set_trainable(layer, "W_q", 1)),
        PROVOKE(heed_optimizer_step(use_optimizer(), other, pair[0]), other = dense(3, 2);
                pair[0] = gradients_of(other); initialize(other, 4)),
        PROVOKE(heed_optimizer_step(use_optimizer(), layer, with(pair[0], "W_q.weight", infinity))),
        PROVOKE(heed_optimizer_step(new_optimizer, layer, pair[0]), group.learning_rate_factor = 1e38;
                sgd_options.learning_rate = 10; heed_sgd_create(context, &sgd_options, &new_optimizer);
                heed_optimizer_set_group(new_optimizer, NULL, &group)),
        PROVOKE(heed_optimizer_step(new_optimizer, layer, pair[0]), adamw_options.learning_rate = 1e38;
                heed_adamw_create(context, &adamw_options, &new_optimizer)),
        PROVOKE(heed_optimizer_step(new_optimizer, layer, pair[0]), adamw_options.learning_rate = 1e38;
                adamw_options.beta1 = 0; adamw_options.weight_decay = 10;
                heed_adamw_create(context, &adamw_options, &new_optimizer)),
        PROVOKE(heed_optimizer_step(adamw_of(dense(3, 2)), layer, pair[0])),
        PROVOKE(heed_optimizer_step(new_optimizer, layer, pair[0]), heed_context_create(NULL, &new_context);
                heed_sgd_create(new_context, NULL, &new_optimizer)),
        PROVOKE(heed_optimizer_step(adamw_of_file_of(dense(3, 2)), layer, pair[0])),
        PROVOKE(heed_optimizer_step(adamw_of_file_of(dense(3, 2)), other, pair[0]), other = dense(3, 4);
                pair[0] = gradients_of(other)),
        PROVOKE(heed_optimizer_step(new_optimizer, layer, pair[0]), heed_sgd_create(context, NULL, &new_optimizer);
                heed_optimizer_set_group(new_optimizer, "W_x", &group)),

        PROVOKE(heed_optimizer_step(use_optimizer(), layer, of_tensor(logits))),
        ALSO("num_parts is 0, expected at least 1", heed_optimizer_step_parts(use_optimizer(), &parts, 0)),
        ALSO("parts[0] is NULL, expected a pointer", heed_optimizer_step_parts(use_optimizer(), &parts, 1)),
        ALSO("parts[0]->gradients is NULL, expected a pointer", step_of(part("a.", layer, NULL))),
        ALSO("parts[0]->prefix is \"a\\x0A\", with a line feed, expected a name in one line",
             step_of(part("a\n", layer))),
        ALSO("parts[0]->prefix is \"\\xFF\", which is not UTF-8, expected a name that a file can have",
             step_of(part("\xff", layer))),
        PROVOKE(step_of(part("a.", NULL, pair[0]))),
        PROVOKE(step_of(part("a.", layer, pair[0]), part("b.", layer, pair[0]))),
        PROVOKE(step_of(part("a.", layer), part("b.", layer))),
        PROVOKE(step_of(part("a.", parent), part("b.", other)), use_parent()),
        PROVOKE(step_of(part("a.", logits), part("b.", logits))),
        PROVOKE(step_of(part("", dense(3, 2)), part("", dense(3, 2)))),
        ALSO("parts[0]->gradients is on cpu:0 in another context than the optimizer, expected the same",
             heed_optimizer_step_parts(new_optimizer, &parts, 1), heed_context_create(NULL, &new_context);
             heed_sgd_create(new_context, NULL, &new_optimizer); other_part = part("", logits); parts = &other_part),
        PROVOKE(step_of(part("b.", layer)), step_of(part("a.", layer))),
        PROVOKE(step_of(part("a.", dense(3, 2))), step_of(part("a.", dense(3, 2)))),
        PROVOKE(step_of(part("b.", logits)), step_of(part("a.", logits))),
        PROVOKE(step_of(part("a.", slopes)), step_of(part("a.", logits))),

        PROVOKE(heed_optimizer_load(use_optimizer(), names({"a"}))),
        PROVOKE(heed_optimizer_load(use_optimizer(),
                                    file("{'sgd.options':{'dtype':'F32','shape':[4],'data_offsets':[0,16]}}", 16))),
        PROVOKE(heed_optimizer_load(use_optimizer(), "optimizer.safetensors"), adamw_of_file_of(dense(3, 2));
                heed_optimizer_destroy(optimizer); optimizer = NULL),
        PROVOKE(heed_optimizer_load(use_optimizer(), sgd_file('\xff'))),
        PROVOKE(heed_optimizer_load(use_optimizer(), groups_file("W_q\n", std::string(16, '\xff')))),
        PROVOKE(heed_optimizer_load(use_optimizer(), groups_file("W_q", std::string(16, '\0')))),
        PROVOKE(heed_optimizer_load(use_optimizer(), groups_file("W_q\nW_q\n", std::string(32, '\0')))),
        PROVOKE(heed_optimizer_load(
            use_optimizer(), sgd_file('\0', ",'groups.numbers':{'dtype':'F64','shape':[0,2],'data_offsets':[32,32]}"))),
        PROVOKE(heed_optimizer_load(
            use_optimizer(),
            sgd_file('\0', ",'step.weight':{'dtype':'I64','shape':[1],'data_offsets':[32,40]}", std::string(8, '\0')))),
        PROVOKE(heed_optimizer_load(
            use_optimizer(), sgd_file('\0', ",'exp_avg.weight':{'dtype':'F32','shape':[0],'data_offsets':[32,32]}"))),
  };
}

}  // namespace

Topic training() {
  return {"Training",
          "`pair` are two sets of gradients of `layer`, `dense(outputs, inputs)` makes a linear layer, "
          "`gradients_of(layer)` a "
          "set of gradients of it, and `with(set, name, number)` fills one of them. `logits` and `slopes` are (2, 3, "
          "5) of F32, "
          "`labels` and `losses` (2, 3). `of_tensor(tensor)` is the set of a gradient with the name \"scale\", "
          "`part(prefix, layer)` a part with a set of a layer or a "
          "tensor, and `step_of(part, part)` a step of heed_optimizer_step_parts. `use_optimizer()` makes one of SGD, "
          "`adamw_of(layer)` one after its first "
          "step, and "
          "`adamw_of_file_of(layer)` one that has loaded the file of such a one.",
          {of_gradients(), of_losses(), of_optimizers()}};
}

}  // namespace heed::errors_test
