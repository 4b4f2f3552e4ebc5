// SPDX-License-Identifier: Apache-2.0
#include "errors/provocation.h"

namespace heed::errors_test {

namespace {

#define SET_ADDITIVE(its_status, its_sentence, its_name, ...)                                                        \
  ALSO_AS(its_status, its_sentence, heed_layer_set_parameter(new_layer, its_name, tensor_of(HEED_F32, __VA_ARGS__)), \
          heed_additive_attention_create(context, &additive, &new_layer))

Cases names() {
  return {
      ALSO_AS(NOT_FOUND,
              "name is \"W_x.weight\", which is no parameter of this layer; it has W_q.weight, W_k.weight, W_v.weight, "
              "W_o.weight",
              heed_layer_parameter(layer, "W_x.weight", &new_tensor)),
      ALSO_AS(
          NOT_FOUND,
          "name is \"\", which is no parameter of this layer; it has W_q.weight, W_k.weight, W_v.weight, W_o.weight",
          heed_layer_parameter(layer, "", &new_tensor)),
      ALSO_AS(NOT_FOUND,
              "name is \"w_q.weight\", which is no parameter of this layer; it has W_q.weight, W_k.weight, W_v.weight, "
              "W_o.weight",
              heed_layer_parameter(layer, "w_q.weight", &new_tensor)),
      ALSO_AS(NOT_FOUND,
              "name is \"W_\\xC3\\xA4\", which is no parameter of this layer; it has W_q.weight, W_k.weight, "
              "W_v.weight, W_o.weight",
              heed_layer_parameter(layer, "W_\xC3\xA4", &new_tensor)),
      ALSO_AS(NOT_FOUND,
              "name is \"W\\x22q\", which is no parameter of this layer; it has W_q.weight, W_k.weight, W_v.weight, "
              "W_o.weight",
              heed_layer_parameter(layer, "W\"q", &new_tensor)),
      ALSO_AS(NOT_FOUND,
              "name is \"W_x.weight\", which is no parameter of this layer; it has W_q.weight, W_k.weight, W_v.weight, "
              "W_o.weight",
              heed_layer_set_parameter(layer, "W_x.weight", tensor)),
      ALSO_AS(NOT_FOUND,
              "name is \"W_o.bias\", which is no parameter of this layer; it has W_q.weight, W_k.weight, W_v.weight, "
              "W_o.weight",
              heed_layer_set_parameter(layer, "W_o.bias", tensor)),
      ALSO_AS(NOT_FOUND,
              "name is \"W_x.weight\", which is no parameter of this layer; it has W_q.weight, W_k.weight, W_v.weight, "
              "W_o.weight",
              heed_layer_parameter_shape(layer, "W_x.weight", &new_tensor)),
      ALSO("index is -1, but the layer has 4 parameters", heed_layer_parameter_name(layer, -1)),
      ALSO("index is 9223372036854775807...", heed_layer_parameter_name(layer, INT64_MAX)),
      ALSO("index is -9223372036854775808...", heed_layer_parameter_name(layer, INT64_MIN)),
      ALSO_AS(NOT_FOUND, "name is \"W_q.weight\", which is no parameter of this layer; it has none",
              heed_layer_parameter(dot_product, "W_q.weight", &new_tensor)),
      ALSO_AS(NOT_FOUND, "name is \"W_q.weight\", which is no parameter of this layer; it has none",
              heed_layer_set_parameter(dot_product, "W_q.weight", tensor)),
      ALSO_AS(NOT_INITIALIZED, "the layer is not initialized: W_k.weight...",
              heed_layer_parameter(layer_with(options), "W_k.weight", &new_tensor)),
      ALSO_AS(NOT_INITIALIZED, "the layer is not initialized: W_k.weight...",
              heed_layer_parameter_shape(layer_with(options), "W_k.weight", &new_tensor)),
      ALSO_AS(NOT_INITIALIZED, "the layer is not initialized: W_q.weight...",
              heed_layer_save(layer_with(options), "never-written.safetensors")),
  };
}

// Before a layer has parameters only the size of its input is open.
Cases values() {
  return {
      ALSO("value has dims (9, 7), expected (8, 7) for W_k.weight",
           heed_layer_set_parameter(layer, "W_k.weight", tensor_of(HEED_F32, {9, 7}))),
      ALSO("value has dims (9, 8), expected (8, 9) for W_v.weight",
           heed_layer_set_parameter(layer, "W_v.weight", tensor_of(HEED_F32, {9, 8}))),
      ALSO("value has dims (64), expected (8, 8) for W_o.weight",
           heed_layer_set_parameter(layer, "W_o.weight", tensor_of(HEED_F32, {64}))),
      ALSO("value is BOOL...", heed_layer_set_parameter(layer, "W_q.weight", tensor_of(HEED_BOOL, {8, 6}))),
      ALSO("value is a shape-only...", heed_layer_set_parameter(layer, "W_q.weight", shape_of(HEED_F32, {8, 6}))),
      ALSO("value has dims (7, 6), expected (8, any) for W_q.weight",
           heed_layer_set_parameter(layer, "W_q.weight", tensor_of(HEED_F32, {7, 6})), layer = layer_with(options)),
      ALSO("value has dims (8), expected (8, any) for W_q.weight",
           heed_layer_set_parameter(layer, "W_q.weight", tensor_of(HEED_F32, {8})), layer = layer_with(options)),
      ALSO("value has dims (8, 9), expected (8, 8) for W_o.weight",
           heed_layer_set_parameter(layer, "W_o.weight", tensor_of(HEED_F32, {8, 9})), layer = layer_with(options)),
      ALSO("value is I64...", heed_layer_set_parameter(layer, "W_q.weight", tensor_of(HEED_I64, {8, 6})),
           layer = layer_with(options)),

      SET_ADDITIVE(INVALID_ARGUMENT, "value has dims (6, 6), expected (5, any) for W_q.weight", "W_q.weight", {6, 6}),
      SET_ADDITIVE(INVALID_ARGUMENT, "value has dims (5), expected (1, 5) for w_v.weight", "w_v.weight", {5}),
      SET_ADDITIVE(INVALID_ARGUMENT, "value has dims (5, 1), expected (1, 5) for w_v.weight", "w_v.weight", {5, 1}),
      SET_ADDITIVE(
          NOT_FOUND,
          "name is \"W_v.weight\", which is no parameter of this layer; it has W_q.weight, W_k.weight, w_v.weight",
          "W_v.weight", {5, 9}),
      SET_ADDITIVE(NOT_FOUND, "name is \"W_q.bias\"...", "W_q.bias", {5}),
  };
}

}  // namespace

Topic layer_parameters() {
  return {"Parameters of layers",
          "",
          {
              PROVOKE(heed_layer_parameter_name(layer, 4)),
              PROVOKE(heed_layer_parameter(layer, "W_q.bias", &new_tensor)),
              PROVOKE(heed_layer_parameter(layer_with(options), "W_q.weight", &new_tensor)),
              PROVOKE(heed_layer_initialize(layer, &inputs, 42), options.num_hiddens = options.num_heads = 1;
                      layer = layer_with(options); inputs.queries = shape_of(HEED_F32, {1, 1, INT64_MAX / 8});
                      inputs.keys = inputs.values = NULL),
              PROVOKE(heed_layer_set_parameter(layer, "W_q.weight", tensor_of(HEED_F32, {8, 5}))),
              PROVOKE(heed_layer_set_parameter(layer_with(options), "W_q.weight", tensor_of(HEED_F32, {7, 5}))),
              PROVOKE(heed_layer_set_parameter(layer, "W_q.weight", tensor_of(HEED_I32, {8, 6}))),
              names(),
              values(),
          }};
}

}  // namespace heed::errors_test
