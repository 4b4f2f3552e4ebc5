// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "errors/provocation.h"

namespace heed::errors_test {
namespace {

// The layers with projections have the same requirements.
Cases shapes() {
  return {
      by(Reach::Inputs, {Kind::MultiHead, Kind::MultiHeadAdditive, Kind::Additive},
         {
             FAULT("inputs->queries has dims (2, 1, 3, 6) of rank 4, expected rank 3, (B, Q, E)",
                   inputs.queries = tensor_of(HEED_F32, {2, 1, 3, 6})),
             FAULT("inputs->values has dims (9) of rank 1, expected rank 3, (B, K, E)",
                   inputs.values = tensor_of(HEED_F32, {9})),
             FAULT("inputs->keys has dims (4, 5, 7), but inputs->queries has (2, 3, 6): expected the same batch, 2",
                   inputs.keys = tensor_of(HEED_F32, {4, 5, 7})),
             FAULT("inputs->values has dims (1, 5, 9), but inputs->queries has (2, 3, 6): expected the same batch, 2",
                   inputs.values = tensor_of(HEED_F32, {1, 5, 9})),
         }),
      by(Reach::Inputs, {Kind::DotProductRank3},
         {
             FAULT("inputs->queries has dims (3, 4) of rank 2, expected rank 3, (B, Q, D), or rank 4, (B, H, Q, D)",
                   inputs.queries = tensor_of(HEED_F32, {3, 4})),
             FAULT("inputs->queries has dims (1, 1, 1, 3, 4) of rank 5...",
                   inputs.queries = tensor_of(HEED_F32, {1, 1, 1, 3, 4})),
             FAULT("inputs->keys has dims (2, 1, 5, 4) of rank 4, but inputs->queries has (2, 3, 4): expected rank 3",
                   inputs.keys = tensor_of(HEED_F32, {2, 1, 5, 4})),
             FAULT("inputs->keys has dims (1, 5, 4), but inputs->queries has (2, 3, 4): expected the same batch, 2",
                   inputs.keys = tensor_of(HEED_F32, {1, 5, 4})),
             FAULT("inputs->keys has dims (2, 5, 3), but inputs->queries has (2, 3, 4): expected the same head size, 4",
                   inputs.keys = tensor_of(HEED_F32, {2, 5, 3})),
             FAULT("inputs->values has dims (2, 6, 6), but inputs->keys has (2, 5, 4): expected the same number of "
                   "keys, 5",
                   inputs.values = tensor_of(HEED_F32, {2, 6, 6})),
             FAULT("inputs->values has dims (3, 5, 6), but inputs->queries has (2, 3, 4): expected the same batch, 2",
                   inputs.values = tensor_of(HEED_F32, {3, 5, 6})),
         }),
      by(Reach::Inputs, {Kind::DotProductRank4},
         {
           FAULT("inputs->keys has dims (2, 5, 4) of rank 3, but inputs->queries has (2, 4, 3, 4): expected rank 4",
                 inputs.keys = tensor_of(HEED_F32, {2, 5, 4})),
               FAULT("inputs->keys has 3 heads, expected a divisor of the 4 of inputs->queries",
                     inputs.keys = tensor_of(HEED_F32, {2, 3, 5, 4});
                     inputs.values = tensor_of(HEED_F32, {2, 3, 5, 6})),
               FAULT("inputs->keys has 8 heads, expected a divisor of the 4 of inputs->queries",
                     inputs.keys = tensor_of(HEED_F32, {2, 8, 5, 4});
                     inputs.values = tensor_of(HEED_F32, {2, 8, 5, 6})),
               FAULT("inputs->keys has 0 heads, expected a divisor of the 4 of inputs->queries",
                     inputs.keys = tensor_of(HEED_F32, {2, 0, 5, 4});
                     inputs.values = tensor_of(HEED_F32, {2, 0, 5, 6})),
               FAULT(
                   "inputs->values has dims (2, 4, 5, 6), but inputs->keys has (2, 2, 5, 4): expected the same number "
                   "of heads, 2",
                   inputs.values = tensor_of(HEED_F32, {2, 4, 5, 6})),
               FAULT("inputs->queries has dims (2, 4, 3, 0) with head size 0, expected at least 1",
                     inputs.queries = tensor_of(HEED_F32, {2, 4, 3, 0});
                     inputs.keys = tensor_of(HEED_F32, {2, 2, 5, 0})),
         }),
  };
}

Cases dtypes_and_flags() {
  return {
      by(Reach::Inputs, kKinds,
         {
             FAULT("inputs->queries is F64, expected F32, F16 or BF16",
                   inputs.queries = tensor_of(HEED_F64, dims_of(inputs.queries))),
             FAULT("inputs->queries is I32...", inputs.queries = tensor_of(HEED_I32, dims_of(inputs.queries))),
             FAULT("inputs->queries is BOOL...", inputs.queries = tensor_of(HEED_BOOL, dims_of(inputs.queries))),
             FAULT("inputs->keys is F32, but inputs->queries is F16: expected the same dtype",
                   inputs.queries = tensor_of(HEED_F16, dims_of(inputs.queries))),
             FAULT("inputs->keys is BF16, but inputs->queries is F32: expected the same dtype",
                   inputs.keys = tensor_of(HEED_BF16, dims_of(inputs.keys))),
             FAULT("inputs->values is F64, but inputs->queries is F32: expected the same dtype",
                   inputs.values = tensor_of(HEED_F64, dims_of(inputs.values))),
         }),
      by(Reach::Inputs, {Kind::MultiHead},
         {
             FAULT("inputs->reserved is 1, expected 0", inputs.reserved = 1),
             FAULT("inputs->training is 2, expected 0 or 1", inputs.training = 2),
             FAULT("inputs->training is -1, expected 0 or 1", inputs.training = -1),
         }),
  };
}

Cases lengths_of_keys() {
  return {
      by(Reach::Inputs, kKinds,
         {
             FAULT("inputs->valid_lens has dims (2, 1), expected (2) for the batch or (2, 3) for batch and queries",
                   inputs.valid_lens = tensor_of(HEED_I32, {2, 1})),
             FAULT("inputs->valid_lens has dims (2, 5), expected (2) for the batch or (2, 3) for batch and queries",
                   inputs.valid_lens = tensor_of(HEED_I32, {2, 5})),
             FAULT("inputs->valid_lens has dims (2, 2, 3)...", inputs.valid_lens = tensor_of(HEED_I32, {2, 2, 3})),
             FAULT("inputs->valid_lens has dims ()...", inputs.valid_lens = tensor_of(HEED_I32, {})),
             FAULT("inputs->valid_lens is F64, expected F32, I32 or I64", inputs.valid_lens = tensor_of(HEED_F64, {2})),
             FAULT("inputs->valid_lens is F16...", inputs.valid_lens = tensor_of(HEED_F16, {2})),
             FAULT("inputs->valid_lens is U8...", inputs.valid_lens = tensor_of(HEED_U8, {2})),
         }),
      by(Reach::Lengths, kKinds,
         {
             FAULT("inputs->valid_lens[1] is -1, expected a whole number from 0 to the number of keys, 5",
                   inputs.valid_lens = numbers({5, -1})),
             FAULT("inputs->valid_lens[1] is 6, expected a whole number from 0 to the number of keys, 5",
                   inputs.valid_lens = numbers({5, 6})),
             FAULT("inputs->valid_lens[1] is -1, expected a whole number from 0 to the number of keys, 5",
                   inputs.valid_lens = tensor_with<int64_t>({2}, {5, -1})),
             FAULT("inputs->valid_lens[1] is 1099511627776...",
                   inputs.valid_lens = tensor_with<int64_t>({2}, {5, int64_t{1} << 40})),
             FAULT("inputs->valid_lens[1] is -2, expected a whole number from 0 to the number of keys, 5",
                   inputs.valid_lens = lengths({5, -2.0f})),
             FAULT("inputs->valid_lens[1] is 1.5, expected a whole...", inputs.valid_lens = lengths({5, 1.5f})),
             FAULT("inputs->valid_lens[1] is 4.00000048, expected a whole...",
                   inputs.valid_lens = lengths({5, 4.0000005f})),
             FAULT("inputs->valid_lens[1] is nan...", inputs.valid_lens = lengths({5, NAN})),
             FAULT("inputs->valid_lens[1] is inf, expected a whole number from 0 to the number of keys, 5",
                   inputs.valid_lens = lengths({5, INFINITY})),
             FAULT("inputs->valid_lens[1] is 6, expected a whole number from 0 to the number of keys, 5",
                   inputs.valid_lens = lengths({5, 6.0f})),
             FAULT("inputs->valid_lens[1, 2] is 6, expected a whole number from 0 to the number of keys, 5",
                   inputs.valid_lens = tensor_with<int32_t>({2, 3}, {5, 4, 3, 2, 1, 6})),
             FAULT("inputs->valid_lens[1, 2] is nan...",
                   inputs.valid_lens = tensor_with<float>({2, 3}, {5, 4, 3, 2, 1, NAN})),
         }),
  };
}

// `full`: the dims of a mask without broadcast axes.
Cases of_heads(Kind kind, const std::string& full) {
  return {
      by(Reach::Inputs, {kind},
         {
             FAULT("inputs->mask is U8, expected BOOL...", inputs.mask = tensor_of(HEED_U8, {3, 5})),
             FAULT("inputs->mask has dims (2, 3, 5) of rank 3, expected rank 4, " + full + "...(B, 1, 1, K)...",
                   inputs.mask = tensor_of(HEED_BOOL, {2, 3, 5})),
             FAULT("...mask...(5)...rank 1...(B, 1, 1, K)...", inputs.mask = tensor_of(HEED_BOOL, {5})),
             FAULT("inputs->mask has dims (3, 1, 3, 5), expected " + full + "...",
                   inputs.mask = tensor_of(HEED_BOOL, {3, 1, 3, 5})),
             FAULT("inputs->mask has dims (2, 3, 3, 5), expected " + full + "...",
                   inputs.mask = tensor_of(HEED_BOOL, {2, 3, 3, 5})),
         }),

      by(Reach::Inputs, {kind},
         {
             FAULT("inputs->bias is BOOL, expected F32", inputs.bias = tensor_of(HEED_BOOL, {3, 5})),
             FAULT("inputs->bias is F64, expected F32", inputs.bias = tensor_of(HEED_F64, {3, 5})),
             FAULT("...bias...(2, 3, 5)...rank 3...(B, 1, 1, K)...", inputs.bias = tensor_of(HEED_F32, {2, 3, 5})),
             FAULT("inputs->bias has dims (2, 5), expected (3, 5)...", inputs.bias = tensor_of(HEED_F32, {2, 5})),
         }),
  };
}

Cases slopes(Kind kind, const std::string& heads) {
  return {
      by(Reach::Inputs, {kind},
         {
             FAULT("inputs->alibi_slopes has dims (7), expected " + heads + "...",
                   inputs.alibi_slopes = tensor_of(HEED_F32, {7})),
             FAULT("inputs->alibi_slopes has dims (), expected " + heads + "...",
                   inputs.alibi_slopes = tensor_of(HEED_F32, {})),
         }),
  };
}

Cases masks_without_heads() {
  return {
      by(Reach::Inputs, {Kind::DotProductRank3, Kind::Additive},
         {
             FAULT("inputs->mask has dims (2, 2, 3, 5), expected (2, 1, 3, 5) with ones where it is repeated (there "
                   "are no heads...",
                   inputs.mask = tensor_of(HEED_BOOL, {2, 2, 3, 5})),
         }),
  };
}

Cases tensors_without_data() {
  return {
      by(Reach::Memory, {Kind::MultiHead},
         {
             FAULT("inputs->queries is a shape-only...", inputs.queries = shape_of(HEED_F32, {2, 3, 6})),
             FAULT("inputs->keys is a shape-only...", inputs.keys = shape_of(HEED_F32, {2, 5, 7})),
             FAULT("inputs->values is a shape-only...", inputs.values = shape_of(HEED_F32, {2, 5, 9})),
             FAULT("inputs->valid_lens is a shape-only...", inputs.valid_lens = shape_of(HEED_I32, {2})),
             FAULT("inputs->mask is a shape-only...", inputs.mask = shape_of(HEED_BOOL, {3, 5})),
             FAULT("inputs->bias is a shape-only...", inputs.bias = shape_of(HEED_F32, {3, 5})),
             FAULT("inputs->alibi_slopes is a shape-only...", inputs.alibi_slopes = shape_of(HEED_F32, {2})),
             FAULT("outputs->output is a shape-only...", outputs.output = shape_of(HEED_F32, {2, 3, 8})),
         }),
  };
}

Cases sizes() {
  return {
      by(Reach::Call, {Kind::MultiHead},
         {
           FAULT("inputs are so large that the size of the workspace overflows...",
                 inputs.queries = tensor_of(HEED_F16, {2, 3, 6});
                 inputs.keys = repeated(HEED_F16, {2, int64_t{1} << 57, 7});
                 inputs.values = repeated(HEED_F16, {2, int64_t{1} << 57, 9}); outputs.weights = NULL),
         }),
      by(Reach::Inputs, {Kind::DotProductRank3},
         {
           FAULT_AS(UNSUPPORTED, "dropout with a dimension of 4294967297...", dot_product_options.dropout = 0.5f;
                    heed_dot_product_attention_create(context, &dot_product_options, &new_layer); layer = new_layer;
                    inputs.keys = repeated(HEED_F32, {2, (int64_t{1} << 32) + 1, 4});
                    inputs.values = repeated(HEED_F32, {2, (int64_t{1} << 32) + 1, 6}); inputs.training = 1;
                    outputs.weights = NULL),
         }),
  };
}

Cases inputs_of_layers_of_one_input(Kind kind) {
  const std::string name = capi_test::name_of(kind);
  return {
      by(Reach::Inputs, {kind},
         {
             FAULT("inputs->queries has dims () of rank 0, expected rank 1 to 8",
                   inputs.queries = tensor_of(HEED_F32, {})),
             FAULT("inputs->keys is set, but a " + name + " layer reads inputs->queries alone, expected NULL",
                   inputs.keys = inputs.queries),
             FAULT("inputs->values is set, but a " + name + " layer reads inputs->queries alone, expected NULL",
                   inputs.values = inputs.queries),
             FAULT("inputs->valid_lens is set, but a " + name + " layer reads inputs->queries alone, expected NULL",
                   inputs.valid_lens = tensor_of(HEED_I32, {2})),
             FAULT("inputs->mask is set, but a " + name + " layer reads inputs->queries alone, expected NULL",
                   inputs.mask = tensor_of(HEED_BOOL, {3, 3})),
             FAULT("inputs->bias is set, but a " + name + " layer reads inputs->queries alone, expected NULL",
                   inputs.bias = tensor_of(HEED_F32, {3, 3})),
             FAULT("inputs->reserved is 1, expected 0", inputs.reserved = 1),
         }),
      by(Reach::Memory, {kind},
         {
             FAULT("inputs->queries is a shape-only...", inputs.queries = shape_of(HEED_F32, {2, 3, 6})),
         }),
  };
}

}  // namespace

Topic layer_inputs() {
  return {
      "Inputs of layers",
      "",
      {
          by(Reach::Inputs,
             {Kind::MultiHead, Kind::Linear, Kind::Dropout, Kind::Norm, Kind::FeedForward, Kind::Positions,
              Kind::Embedding, Kind::EncoderLayer, Kind::Encoder},
             PROVOKE(heed_layer_forward(layer, &inputs, NULL, &outputs), inputs.queries = NULL)),
          PROVOKE(heed_layer_forward(layer, &inputs, NULL, &outputs), progress.report = stop;
                  inputs.progress = &progress),
          PROVOKE(heed_layer_forward(layer, &inputs, NULL, &outputs), progress.report = throw_number;
                  inputs.progress = &progress),
          by(Reach::Inputs, {Kind::MultiHead, Kind::Linear, Kind::Dropout, Kind::Norm, Kind::FeedForward},
             PROVOKE(heed_layer_forward(layer, &inputs, NULL, &outputs),
                     inputs.queries = tensor_of(HEED_F64, {2, 3, 6}))),
          by(Reach::Inputs, {Kind::MultiHead, Kind::Decoder},
             PROVOKE(heed_layer_forward(layer, &inputs, NULL, &outputs), inputs.keys = tensor_of(HEED_F16, {2, 5, 7}))),
          by(Reach::Inputs, {Kind::MultiHead, Kind::MultiHeadAdditive, Kind::Additive},
             PROVOKE(heed_layer_forward(layer, &inputs, NULL, &outputs), inputs.queries = tensor_of(HEED_F32, {3, 6}))),
          by(Reach::Inputs, {Kind::MultiHead, Kind::MultiHeadAdditive, Kind::Additive},
             PROVOKE(heed_layer_forward(layer, &inputs, NULL, &outputs), inputs.keys = tensor_of(HEED_F32, {5, 7}))),
          PROVOKE(heed_layer_forward(layer, &inputs, NULL, &outputs), inputs.keys = tensor_of(HEED_F32, {1, 5, 7})),
          by(Reach::Inputs, {Kind::MultiHead, Kind::MultiHeadAdditive, Kind::Additive},
             PROVOKE(heed_layer_forward(layer, &inputs, NULL, &outputs),
                     inputs.values = tensor_of(HEED_F32, {2, 4, 9}))),
          by(Reach::Parameters, {Kind::MultiHead},
             PROVOKE(heed_layer_forward(layer, &inputs, NULL, &outputs),
                     inputs.queries = tensor_of(HEED_F32, {2, 3, 5}))),
          PROVOKE(heed_layer_forward(dot_product, &heads, NULL, &head_outputs),
                  heads.queries = tensor_of(HEED_F32, {3, 4})),
          PROVOKE(heed_layer_forward(dot_product, &heads, NULL, &head_outputs),
                  heads.keys = tensor_of(HEED_F32, {2, 5, 4})),
          PROVOKE(heed_layer_forward(dot_product, &heads, NULL, &head_outputs),
                  heads.keys = tensor_of(HEED_F32, {2, 2, 5, 3})),
          PROVOKE(heed_layer_forward(dot_product, &heads, NULL, &head_outputs),
                  heads.values = tensor_of(HEED_F32, {2, 2, 4, 6})),
          PROVOKE(heed_layer_forward(dot_product, &heads, NULL, &head_outputs),
                  heads.values = tensor_of(HEED_F32, {2, 4, 5, 6})),
          PROVOKE(heed_layer_forward(dot_product, &heads, NULL, &head_outputs),
                  heads.keys = heads.values = tensor_of(HEED_F32, {2, 3, 5, 4})),
          PROVOKE(heed_layer_forward(dot_product, &heads, NULL, &head_outputs),
                  heads.queries = tensor_of(HEED_F32, {2, 0, 3, 4})),
          PROVOKE(heed_layer_forward(dot_product, &heads, NULL, &head_outputs),
                  heads.queries = heads.keys = heads.values = tensor_of(HEED_F32, {2, 4, 3, 0})),
          PROVOKE(heed_layer_forward(layer, &inputs, NULL, &outputs), inputs.valid_lens = tensor_of(HEED_I8, {2})),
          by(Reach::Inputs, kKinds,
             PROVOKE(heed_layer_forward(layer, &inputs, NULL, &outputs), inputs.valid_lens = tensor_of(HEED_I32, {3}))),
          PROVOKE(heed_layer_forward(layer, &inputs, NULL, &outputs), inputs.valid_lens = lengths({5, 6})),
          PROVOKE(heed_layer_forward(layer, &inputs, NULL, &outputs), inputs.valid_lens = lengths({2.5f, 5})),
          PROVOKE(heed_layer_forward(layer, &inputs, NULL, &outputs),
                  heed_tensor_reshape(lengths({1, 2, 3, 4, 5, -1}), 2, dims, &new_tensor);
                  inputs.valid_lens = new_tensor),
          by(Reach::Inputs, {Kind::MultiHead, Kind::DotProductRank4},
             PROVOKE(heed_layer_forward(layer, &inputs, NULL, &outputs), inputs.mask = tensor_of(HEED_F32, {3, 5}))),
          PROVOKE(heed_layer_forward(layer, &inputs, NULL, &outputs), inputs.mask = tensor_of(HEED_BOOL, {2, 3, 5})),
          by(Reach::Inputs, {Kind::MultiHead, Kind::DotProductRank4},
             PROVOKE(heed_layer_forward(layer, &inputs, NULL, &outputs), inputs.mask = tensor_of(HEED_BOOL, {3, 4}))),
          PROVOKE(heed_layer_forward(layer, &inputs, NULL, &outputs), inputs.mask = tensor_of(HEED_BOOL, {2, 5})),
          by(Reach::Inputs, {Kind::MultiHead, Kind::DotProductRank4},
             PROVOKE(heed_layer_forward(layer, &inputs, NULL, &outputs), inputs.bias = tensor_of(HEED_F16, {3, 5}))),
          by(Reach::Inputs, {Kind::MultiHead, Kind::DotProductRank4, Kind::DotProductRank3},
             PROVOKE(heed_layer_forward(layer, &inputs, NULL, &outputs),
                     inputs.alibi_slopes = tensor_of(HEED_F16, {2}))),
          PROVOKE(heed_layer_forward(layer, &inputs, NULL, &outputs), inputs.alibi_slopes = tensor_of(HEED_F32, {4})),
          PROVOKE(heed_layer_initialize(layer, &inputs, 42), inputs.queries = shape_of(HEED_F16, {2, 3, 6});
                  inputs.keys = inputs.values = NULL; inputs.bias = shape_of(HEED_I32, {3, 3})),
          PROVOKE(heed_layer_create_outputs(dot_product, &inputs, HEED_WANT_OUTPUT, &new_outputs),
                  inputs.queries = tensor_of(HEED_F32, {2, 3, 4});
                  inputs.keys = inputs.values = NULL; inputs.mask = tensor_of(HEED_BOOL, {2, 2, 3, 3})),
          PROVOKE(heed_layer_create_outputs(new_layer, &inputs, HEED_WANT_OUTPUT, &new_outputs), general.query_size = 5;
                  heed_general_attention_create(context, &general, &new_layer)),
          PROVOKE(heed_layer_forward(new_layer, &inputs, NULL, &outputs),
                  heed_dropout_create(context, NULL, &new_layer)),
          PROVOKE(heed_layer_create_outputs(new_layer, &inputs, HEED_WANT_OUTPUT, &new_outputs),
                  heed_dropout_create(context, NULL, &new_layer);
                  inputs.queries = tensor_of(HEED_F32, {}); inputs.keys = inputs.values = NULL),
          PROVOKE(heed_layer_workspace_size(layer, &inputs, &new_outputs, &num_bytes),
                  inputs.queries = shape_of(HEED_F32, {1, INT64_MAX / 64, 6});
                  inputs.keys = shape_of(HEED_F32, {1, 5, 7}); inputs.values = shape_of(HEED_F32, {1, 5, 9});
                  new_outputs.log_sum_exp = shape_of(HEED_F32, {1, 2, INT64_MAX / 64})),
          PROVOKE(heed_layer_workspace_size(layer, &inputs, &new_outputs, &num_bytes), options.num_heads = 1;
                  layer = layer_with(options); inputs.queries = shape_of(HEED_F32, {1, INT64_MAX / 8 + 1, 1});
                  inputs.keys = inputs.values = NULL; heed_layer_initialize(layer, &inputs, 42);
                  new_outputs.log_sum_exp = shape_of(HEED_F32, {1, 1, INT64_MAX / 8 + 1})),
          PROVOKE(heed_layer_workspace_size(new_layer, &inputs, &new_outputs, &num_bytes),
                  dot_product_options.dropout = 0.5f;
                  inputs.training = 1; heed_dot_product_attention_create(context, &dot_product_options, &new_layer);
                  inputs.queries = new_outputs.output = shape_of(HEED_F32, {1, 4294967297, 1});
                  inputs.keys = inputs.values = NULL),
          PROVOKE(heed_layer_workspace_size(dot_product, &inputs, &new_outputs, &num_bytes),
                  inputs.queries = new_outputs.output = shape_of(HEED_F32, {1, 1, 1099511627777});
                  inputs.keys = inputs.values = NULL),
          PROVOKE(heed_layer_workspace_size(dot_product, &inputs, &new_outputs, &num_bytes),
                  inputs.queries = inputs.keys = shape_of(HEED_F32, {1, 1, 4});
                  inputs.values = new_outputs.output = shape_of(HEED_F32, {1, 1, 1099511627777})),
          shapes(),
          dtypes_and_flags(),
          lengths_of_keys(),
          of_heads(Kind::MultiHead, "(2, 2, 3, 5)"),
          of_heads(Kind::DotProductRank4, "(2, 4, 3, 5)"),
          slopes(Kind::MultiHead, "(2)"),
          slopes(Kind::DotProductRank4, "(4)"),
          slopes(Kind::DotProductRank3, "(1)"),
          masks_without_heads(),
          tensors_without_data(),
          sizes(),
          each_of(kKindsOfOneInput, inputs_of_layers_of_one_input),

      }};
}

}  // namespace heed::errors_test
