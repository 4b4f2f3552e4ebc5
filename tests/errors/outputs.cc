// SPDX-License-Identifier: Apache-2.0
#include "errors/provocation.h"

namespace heed::errors_test {
namespace {

Cases shapes_and_dtypes() {
  return {
      by(Reach::Call, {Kind::MultiHead},
         {
             FAULT("outputs has no tensor, expected at least one of outputs->output, outputs->weights and "
                   "outputs->log_sum_exp",
                   outputs = HEED_LAYER_OUTPUTS_INIT),
             FAULT("outputs->output has dims (2, 3, 9), expected (2, 3, 8)",
                   outputs.output = tensor_of(HEED_F32, {2, 3, 9})),
             FAULT("outputs->output has dims (6, 8), expected (2, 3, 8)", outputs.output = tensor_of(HEED_F32, {6, 8})),
             FAULT("outputs->weights has dims (2, 3, 5), expected (2, 2, 3, 5)",
                   outputs.weights = tensor_of(HEED_F32, {2, 3, 5})),
             FAULT("outputs->log_sum_exp has dims (2, 2, 5), expected (2, 2, 3)",
                   outputs.log_sum_exp = tensor_of(HEED_F32, {2, 2, 5})),
             FAULT("outputs->output is F16, expected F32", outputs.output = tensor_of(HEED_F16, {2, 3, 8})),
             FAULT("outputs->output is F64, expected F32", outputs.output = tensor_of(HEED_F64, {2, 3, 8})),
             FAULT("outputs->weights is I32, expected F32", outputs.weights = tensor_of(HEED_I32, {2, 2, 3, 5})),
             FAULT("outputs->log_sum_exp is F64, expected F32", outputs.log_sum_exp = tensor_of(HEED_F64, {2, 2, 3})),
         }),
  };
}

Cases memory_that_cannot_be_written() {
  return {
      by(Reach::Memory, {Kind::MultiHead},
         {
             FAULT("outputs->output has stride 0 on axis 1 of dims (2, 3, 8)...",
                   outputs.output = view_of(tensor_of(HEED_F32, {100}), {2, 3, 8}, {24, 0, 1})),
             FAULT("outputs->output has stride -1 on axis 2 of dims (2, 3, 8)...",
                   outputs.output = view_of(tensor_of(HEED_F32, {100}), {2, 3, 8}, {24, 8, -1}, 7)),
             FAULT("outputs->weights has stride -30 on axis 0...",
                   outputs.weights = view_of(tensor_of(HEED_F32, {100}), {2, 2, 3, 5}, {-30, 15, 5, 1}, 30)),
             FAULT("outputs->output has dims (2, 3, 8) with strides that put two elements in the same place...",
                   outputs.output = view_of(tensor_of(HEED_F32, {100}), {2, 3, 8}, {24, 4, 1})),
             FAULT("outputs->log_sum_exp has dims (2, 2, 3) with strides that put two elements in the same place...",
                   outputs.log_sum_exp = view_of(tensor_of(HEED_F32, {100}), {2, 2, 3}, {5, 3, 1})),
         }),
      by(Reach::Memory, {Kind::MultiHead},
         {
           FAULT("outputs->output shares memory with inputs->queries...",
                 heed_tensor* whole = tensor_of(HEED_F32, {100});
                 inputs.queries = view_of(whole, {2, 3, 6}, {}); outputs.output = view_of(whole, {2, 3, 8}, {}, 35)),
               FAULT("outputs->log_sum_exp shares memory with inputs->mask...",
                     heed_tensor* whole = tensor_of(HEED_F32, {100});
                     inputs.mask = bytes_of(whole, HEED_BOOL, {3, 5}, 47);
                     outputs.log_sum_exp = bytes_of(whole, HEED_F32, {2, 2, 3})),
               FAULT("outputs->log_sum_exp shares memory with inputs->valid_lens...",
                     heed_tensor* whole = tensor_of(HEED_I32, {100});
                     inputs.valid_lens = bytes_of(whole, HEED_I32, {2}, 44);
                     outputs.log_sum_exp = bytes_of(whole, HEED_F32, {2, 2, 3})),
               FAULT("outputs->weights shares memory with inputs->bias...",
                     heed_tensor* whole = tensor_of(HEED_F32, {100});
                     inputs.bias = view_of(whole, {3, 5}, {}); outputs.weights = view_of(whole, {2, 2, 3, 5}, {}, 14)),
               FAULT("outputs->output shares memory with inputs->values...",
                     heed_tensor* whole = tensor_of(HEED_F32, {100});
                     inputs.values = view_of(whole, {2, 5, 9}, {}); outputs.output = view_of(whole, {2, 3, 8}, {})),
               FAULT("outputs->log_sum_exp shares memory with outputs->output...",
                     heed_tensor* whole = tensor_of(HEED_F32, {100});
                     outputs.output = view_of(whole, {2, 3, 8}, {});
                     outputs.log_sum_exp = view_of(whole, {2, 2, 3}, {}, 47)),
               FAULT("outputs->weights shares memory with outputs->output...", layer = dot_product;
                     inputs.queries = tensor_of(HEED_F32, {2, 3, 4}); inputs.keys = tensor_of(HEED_F32, {2, 5, 4});
                     inputs.values = tensor_of(HEED_F32, {2, 5, 5}); outputs = HEED_LAYER_OUTPUTS_INIT;
                     outputs.output = outputs.weights = tensor_of(HEED_F32, {2, 3, 5})),
         }),
      by(Reach::Memory, {Kind::MultiHead},
         {
             FAULT("outputs->output is a read-only...",
                   outputs.output = view_of(snapshot("W_q.weight"), {2, 3, 8}, {})),
         }),
  };
}

Cases layers_that_are_not_ready() {
  return {
      by(Reach::Call, {Kind::MultiHead},
         {
           FAULT_AS(NOT_INITIALIZED, "the layer is not initialized: W_q.weight...", layer = layer_with(options)),
               FAULT_AS(NOT_INITIALIZED, "the layer is not initialized: W_v.weight...", layer = layer_with(options);
                        heed_layer_set_parameter(layer, "W_q.weight", tensor_of(HEED_F32, {8, 6}));
                        heed_layer_set_parameter(layer, "W_k.weight", tensor_of(HEED_F32, {8, 7}));
                        heed_layer_set_parameter(layer, "W_o.weight", tensor_of(HEED_F32, {8, 8}))),
         }),
      by(Reach::Parameters, {Kind::MultiHead},
         {
           FAULT("inputs->keys has dims (2, 5, 8), but W_k.weight has (8, 7)...",
                 inputs.keys = tensor_of(HEED_F32, {2, 5, 8})),
               FAULT("inputs->values has dims (2, 5, 1), but W_v.weight has (8, 9)...",
                     inputs.values = tensor_of(HEED_F32, {2, 5, 1})),
               FAULT("inputs->keys has dims (2, 3, 6), but W_k.weight has (8, 7)...", inputs.keys = NULL;
                     inputs.values = NULL; outputs.weights = NULL),
         }),
      by(Reach::Call, {Kind::Additive},
         {
           FAULT_AS(NOT_INITIALIZED, "the layer is not initialized: w_v.weight...",
                    heed_additive_attention_create(context, &additive, &new_layer);
                    layer = new_layer; heed_layer_set_parameter(layer, "W_q.weight", tensor_of(HEED_F32, {5, 6}));
                    heed_layer_set_parameter(layer, "W_k.weight", tensor_of(HEED_F32, {5, 7}))),
         }),
      by(Reach::Parameters, {Kind::Additive},
         {
             FAULT("inputs->queries has dims (2, 3, 5), but W_q.weight has (5, 6)...",
                   inputs.queries = tensor_of(HEED_F32, {2, 3, 5})),
             FAULT("inputs->keys has dims (2, 5, 8), but W_k.weight has (5, 7)...",
                   inputs.keys = tensor_of(HEED_F32, {2, 5, 8})),
         }),
      by(Reach::Call, {Kind::Additive},
         {
             FAULT("outputs->output has dims (2, 3, 9), expected (2, 3, 4)",
                   inputs.values = tensor_of(HEED_F32, {2, 5, 4})),
         }),
      by(Reach::Parameters, {Kind::Linear},
         {
             FAULT("inputs->queries has dims (2, 3, 7), but weight has (5, 6): the layer has parameters for an input "
                   "size of 6",
                   inputs.queries = tensor_of(HEED_F32, {2, 3, 7})),
         }),
      by(Reach::Call, {Kind::Linear},
         {
           FAULT_AS(NOT_INITIALIZED, "the layer is not initialized: weight is not set...",
                    heed_linear_create(context, &linear_options, &new_layer);
                    layer = new_layer),
               FAULT_AS(NOT_INITIALIZED, "the layer is not initialized: bias is not set...",
                        heed_linear_create(context, &linear_options, &new_layer);
                        layer = new_layer; heed_layer_set_parameter(layer, "weight", tensor_of(HEED_F32, {5, 6}))),
         }),
  };
}

// Of a layer with a `name`, which has no output of this flag.
#define WANTED(flags, its_flag)                                                                                  \
  ALSO("wanted has " #its_flag ", but a " + name + " layer has no such output, expected HEED_WANT_OUTPUT alone", \
       heed_layer_create_outputs(layer, &inputs, flags, &new_outputs))

Cases outputs_of_layers_of_one_input(Kind kind) {
  const std::string name = capi_test::name_of(kind);
  return {
      by(Reach::Call, {kind},
         {
           FAULT("outputs->weights is set, but a " + name + " layer has no such output, expected NULL",
                 outputs.weights = tensor_of(HEED_F32, {2, 3, 3})),
               FAULT("outputs->log_sum_exp is set, but a " + name + " layer has no such output, expected NULL",
                     outputs.log_sum_exp = tensor_of(HEED_F32, {2, 3})),
               FAULT("outputs->log_sum_exp is set, but a " + name + " layer has no such output, expected NULL",
                     outputs.output = NULL;
                     outputs.log_sum_exp = tensor_of(HEED_F32, {2, 3})),
               FAULT("outputs has no tensor...", outputs.output = NULL),
               FAULT(std::string("outputs->output has dims (2, 3, 7), expected ") +
                         (kind == Kind::Linear ? "(2, 3, 5)" : "(2, 3, 6)"),
                     outputs.output = tensor_of(HEED_F32, {2, 3, 7})),
         }),
      of({kind},
         {
             WANTED(2, HEED_WANT_WEIGHTS),
             WANTED(3, HEED_WANT_WEIGHTS),
             WANTED(4, HEED_WANT_LOG_SUM_EXP),
             WANTED(5, HEED_WANT_LOG_SUM_EXP),
             WANTED(6, HEED_WANT_WEIGHTS),
             WANTED(7, HEED_WANT_WEIGHTS),
         }),
  };
}

Cases made_outputs() {
  return {
    ALSO_AS(UNSUPPORTED, "wanted...HEED_WANT_WEIGHTS...inputs->sequences->query_offsets...",
            heed_layer_create_outputs(layer, &inputs, HEED_WANT_OUTPUT | HEED_WANT_WEIGHTS, &new_outputs),
            use(Kind::Packed)),
        ALSO("wanted is 8...", heed_layer_create_outputs(layer, &inputs, 8, &new_outputs)),
        ALSO("wanted is -1...", heed_layer_create_outputs(layer, &inputs, -1, &new_outputs)),
        ALSO("outputs->weights is set, expected NULL: the tensor is made here",
             heed_layer_create_outputs(layer, &inputs, HEED_WANT_OUTPUT, &new_outputs), new_outputs.weights = tensor),
        ALSO("outputs->log_sum_exp is set, expected NULL: the tensor is made here",
             heed_layer_create_outputs(layer, &inputs, HEED_WANT_OUTPUT, &new_outputs),
             new_outputs.log_sum_exp = tensor),
        ALSO(
            "outputs->weights would have dims (1, 1099511627776, 1099511627776), whose product overflows, expected at "
            "most 2^63 - 1 elements",
            heed_layer_create_outputs(layer, &inputs, HEED_WANT_WEIGHTS, &new_outputs), use(Kind::DotProductRank3);
            inputs.queries = inputs.keys = inputs.values = shape_of(HEED_F32, {1, int64_t{1} << 40, 1})),
  };
}
}  // namespace

Topic layer_outputs() {
  return {
      "Outputs of layers, and workspaces",
      "",
      {
          PROVOKE(heed_layer_create_outputs(layer, &inputs, 0, &new_outputs)),
          PROVOKE(heed_layer_create_outputs(layer, &inputs, HEED_WANT_OUTPUT, &outputs)),
          PROVOKE(heed_layer_create_outputs(dot_product, &inputs, HEED_WANT_WEIGHTS, &new_outputs),
                  inputs.queries = shape_of(HEED_F32, {1, 4294967296, 1});
                  inputs.keys = inputs.values = NULL),
          PROVOKE(heed_layer_create_outputs(new_layer, &inputs, HEED_WANT_OUTPUT | HEED_WANT_WEIGHTS, &new_outputs),
                  heed_dropout_create(context, NULL, &new_layer);
                  inputs.keys = inputs.values = NULL),
          PROVOKE(heed_layer_forward(layer, &inputs, NULL, &new_outputs)),
          PROVOKE(heed_layer_forward(new_layer, &inputs, NULL, &outputs),
                  heed_dropout_create(context, NULL, &new_layer);
                  inputs.keys = inputs.values = NULL; outputs.output = NULL),
          PROVOKE(heed_layer_forward(layer, &inputs, NULL, &outputs), outputs.output = tensor_of(HEED_F32, {2, 3, 7})),
          PROVOKE(heed_layer_forward(layer, &inputs, NULL, &outputs), outputs.output = tensor_of(HEED_I32, {2, 3, 8})),
          PROVOKE(heed_layer_workspace_size(layer, &inputs, &outputs, &num_bytes),
                  inputs.queries = shape_of(HEED_F16, {2, 3, 6});
                  inputs.keys = shape_of(HEED_F16, {2, 5, 7}); inputs.values = shape_of(HEED_F16, {2, 5, 9});
                  outputs.output = shape_of(HEED_BF16, {2, 3, 8})),
          PROVOKE(heed_layer_forward(layer, &inputs, NULL, &outputs),
                  outputs.log_sum_exp = tensor_of(HEED_F16, {2, 2, 3})),
          PROVOKE(heed_layer_forward(dot_product, &heads, NULL, &head_outputs), heads.values = NULL;
                  head_outputs.output = (heed_tensor*)heads.queries),
          PROVOKE(heed_layer_forward(layer, &inputs, workspace_of(0), &outputs)),
          PROVOKE(heed_layer_forward(layer, &inputs, new_workspace, &outputs),
                  heed_tensor * large = tensor_of(HEED_F32, {1048576});
                  dims[2] = 6; heed_tensor_view(large, 3, dims, NULL, 0, &new_tensor); inputs.queries = new_tensor;
                  heed_workspace_wrap(context, heed_tensor_data(large), 4194304, &new_workspace)),
          PROVOKE(heed_workspace_wrap(context, NULL, 64, &new_workspace)),
          shapes_and_dtypes(),
          memory_that_cannot_be_written(),
          layers_that_are_not_ready(),
          made_outputs(),
          each_of(kKindsOfOneInput, outputs_of_layers_of_one_input),
      }};
}

Topic taps() {
  return {"Taps",
          "`use_tap()` makes `tap` the one of `outputs`.",
          {
              PROVOKE(heed_layer_create_tap(layer, &inputs, "layers.0.self_attention", 0, &tap), use_encoder()),
              PROVOKE(heed_layer_create_tap(layer, &inputs, "layers.0.self_attention", HEED_WANT_OUTPUT, &tap),
                      use_encoder()),
              PROVOKE(heed_layer_create_tap(layer, &inputs, "layers.0.self_attention", HEED_WANT_WEIGHTS, &tap),
                      use_encoder();
                      tap.weights = tensor),
              PROVOKE(heed_layer_create_tap(layer, &inputs, "layers.0", HEED_WANT_WEIGHTS, &tap), use_encoder()),
              PROVOKE(heed_layer_create_tap(layer, &inputs, "layers.2", HEED_WANT_WEIGHTS, &tap), use_encoder()),
              PROVOKE(heed_layer_create_tap(layer, &inputs, "encoder.layers.0.self_attention", HEED_WANT_WEIGHTS, &tap),
                      use_transformer();
                      self_attention.memory = inputs.keys; inputs.keys = NULL),
              PROVOKE(heed_layer_forward(layer, &inputs, NULL, &outputs), use_encoder(); outputs.num_taps = 1),
              PROVOKE(heed_layer_forward(layer, &inputs, NULL, &outputs), use_encoder(); use_tap()),
              PROVOKE(heed_layer_forward(layer, &inputs, NULL, &outputs), use_encoder();
                      tap.child = "layers.0.self_attention"; use_tap()),
              PROVOKE(heed_layer_forward(layer, &inputs, NULL, &outputs), use_encoder(); tap.child = "layers.0.norm1";
                      tap.weights = tensor; use_tap()),
              PROVOKE(heed_layer_forward(layer, &inputs, NULL, &outputs), use_encoder();
                      tap.child = "layers.0.self_attention"; tap.weights = tensor; use_tap()),
              PROVOKE(heed_layer_forward(layer, &inputs, NULL, &outputs), use_encoder();
                      tap.child = "layers.1.self_attention"; tap.log_sum_exp = tensor; use_tap()),
          }};
}

}  // namespace heed::errors_test
