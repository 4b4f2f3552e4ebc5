// SPDX-License-Identifier: Apache-2.0
#include "errors/provocation.h"

namespace heed::errors_test {
namespace {

Cases dtypes_and_shapes() {
  return {
      by(Reach::Inputs, kKinds,
         {
           FAULT("inputs->sequences->positions is U8, expected I32 or I64",
                 sequences.positions = tensor_of(HEED_U8, {2, 3})),
               FAULT("inputs->sequences->positions has dims (2, 4), expected (2, 3), (B, Q)",
                     sequences.positions = tensor_of(HEED_I64, {2, 4})),
               FAULT("inputs->sequences->positions has dims (1, 3), expected (2, 3), (B, Q)",
                     sequences.positions = tensor_of(HEED_I64, {1, 3})),
               FAULT("inputs->sequences->query_lens is F32, expected I32 or I64",
                     sequences.query_lens = tensor_of(HEED_F32, {2})),
               FAULT("inputs->sequences->query_lens has dims (3), expected (2), one length for each batch element",
                     sequences.query_lens = tensor_of(HEED_I32, {3})),
               FAULT("inputs->sequences->query_lens has dims ()...", sequences.query_lens = tensor_of(HEED_I32, {})),
               FAULT("inputs->sequences->query_offsets is F32, expected I32 or I64",
                     inputs.queries = inputs.keys = inputs.values = tensor_of(HEED_F32, {6, 6});
                     sequences.query_offsets = sequences.key_offsets = tensor_of(HEED_F32, {3})),
               FAULT("inputs->sequences->query_offsets has dims (1, 3), expected (B + 1)...",
                     inputs.queries = inputs.keys = inputs.values = tensor_of(HEED_F32, {6, 6});
                     sequences.query_offsets = sequences.key_offsets = tensor_of(HEED_I32, {1, 3})),
               FAULT("inputs->sequences->query_offsets has dims (0), expected (B + 1)...",
                     inputs.queries = inputs.keys = inputs.values = tensor_of(HEED_F32, {6, 6});
                     sequences.query_offsets = sequences.key_offsets = tensor_of(HEED_I32, {0})),
         }),
  };
}

Cases numbers_that_cannot_be() {
  return {
      by(Reach::Lengths, kKinds,
         {
             FAULT("inputs->sequences->positions[1, 2] is -1, expected a position from 0 to 2147483647",
                   sequences.positions = tensor_with<int32_t>({2, 3}, {0, 1, 2, 0, 5, -1})),
             FAULT("inputs->sequences->positions[1, 2] is -9223372036854775808...",
                   sequences.positions = tensor_with<int64_t>({2, 3}, {0, 1, 2, 0, 5, INT64_MIN})),
             FAULT("inputs->sequences->positions[1, 2] is 2147483648, expected a position from 0 to 2147483647",
                   sequences.positions = tensor_with<int64_t>({2, 3}, {0, 1, 2, 0, 5, int64_t{1} << 31})),
             FAULT("inputs->sequences->positions[1, 2] is 9223372036854775807...",
                   sequences.positions = tensor_with<int64_t>({2, 3}, {0, 1, 2, 0, 5, INT64_MAX})),
         }),
      by(Reach::Lengths, {Kind::Packed},
         {
             FAULT("inputs->sequences->positions[4] is -3, expected a position from 0 to 2147483647",
                   sequences.positions = numbers({0, 1, 2, 0, -3})),
         }),
      by(Reach::Inputs, {Kind::Packed},
         {
             FAULT("inputs->sequences->positions has dims (2, 3), expected (5), one for each row of the packed queries",
                   sequences.positions = tensor_of(HEED_I32, {2, 3})),
         }),
      by(Reach::Lengths, kKinds,
         {
             FAULT("inputs->sequences->query_lens[1] is -1, expected a whole number from 0 to the number of queries, 3",
                   sequences.query_lens = numbers({3, -1})),
             FAULT("inputs->sequences->query_lens[1] is 4, expected a whole number from 0 to the number of queries, 3",
                   sequences.query_lens = tensor_with<int64_t>({2}, {3, 4})),
             FAULT("inputs->sequences->query_lens[1] is 9223372036854775807...",
                   sequences.query_lens = tensor_with<int64_t>({2}, {3, INT64_MAX})),
         }),
      by(Reach::Lengths, {Kind::Packed},
         {
             FAULT("inputs->sequences->query_offsets[0] is 1, expected 0",
                   sequences.query_offsets = tensor_with<int64_t>({3}, {1, 3, 5})),
             FAULT("inputs->sequences->query_offsets[0] is -1, expected 0",
                   sequences.query_offsets = tensor_with<int64_t>({3}, {-1, 3, 5})),
             FAULT("inputs->sequences->query_offsets[2] is 5, below 6 before it: expected offsets that never fall",
                   sequences.query_offsets = tensor_with<int64_t>({3}, {0, 6, 5})),
             FAULT("inputs->sequences->query_offsets[2] is 4, expected 5, the number of rows of inputs->queries",
                   sequences.query_offsets = tensor_with<int64_t>({3}, {0, 3, 4})),
             FAULT("inputs->sequences->query_offsets[2] is 9223372036854775807, expected 5...",
                   sequences.query_offsets = tensor_with<int64_t>({3}, {0, 3, INT64_MAX})),
             FAULT("inputs->sequences->query_offsets[1] is -3, below 0...",
                   sequences.query_offsets = tensor_with<int64_t>({3}, {0, -3, 5})),
             FAULT("inputs->sequences->key_offsets[0] is 2, expected 0", sequences.key_offsets = numbers({2, 5, 9})),
             FAULT("inputs->sequences->key_offsets[2] is 9, below 10...", sequences.key_offsets = numbers({0, 10, 9})),
             FAULT("inputs->sequences->key_offsets[2] is 8, expected 9, the number of rows of inputs->keys",
                   sequences.key_offsets = numbers({0, 5, 8})),
         }),
  };
}

Cases offsets_that_fight_other_inputs() {
  return {
      by(Reach::Inputs, {Kind::Packed},
         {
             FAULT("inputs->sequences->query_lens is set, but so is inputs->sequences->query_offsets...",
                   sequences.query_lens = tensor_of(HEED_I32, {2})),
             FAULT("inputs->valid_lens is set, but so is inputs->sequences->query_offsets, by which the batch is "
                   "packed: expected NULL",
                   inputs.valid_lens = tensor_of(HEED_I32, {2})),
             FAULT("inputs->mask is set, but so is inputs->sequences->query_offsets...",
                   inputs.mask = tensor_of(HEED_BOOL, {3, 5})),
             FAULT("inputs->bias is set, but so is inputs->sequences->query_offsets...",
                   inputs.bias = tensor_of(HEED_F32, {3, 5})),
             FAULT("inputs->sequences->key_offsets is NULL, but inputs->sequences->query_offsets is set and "
                   "inputs->keys has rows of its own: expected dims (3)",
                   sequences.key_offsets = NULL),
             FAULT("inputs->sequences->key_offsets has dims (4), but inputs->sequences->query_offsets has (3): "
                   "expected the same number of batch elements",
                   sequences.key_offsets = tensor_of(HEED_I32, {4})),
             FAULT("inputs->sequences->key_offsets has dims (1, 3), expected (B + 1)...",
                   sequences.key_offsets = tensor_of(HEED_I32, {1, 3})),
             FAULT("inputs->sequences->key_offsets is F32, expected I32 or I64",
                   sequences.key_offsets = tensor_of(HEED_F32, {3})),
             FAULT("inputs->queries has dims (2, 3, 6) of rank 3, expected rank 2, (total, E), of a packed batch",
                   inputs.queries = tensor_of(HEED_F32, {2, 3, 6})),
             FAULT("inputs->keys has dims (2, 5, 7) of rank 3, expected rank 2...",
                   inputs.keys = tensor_of(HEED_F32, {2, 5, 7})),
             FAULT("inputs->values has dims (8, 9), but inputs->keys has (9, 7)...",
                   inputs.values = tensor_of(HEED_F32, {8, 9})),
             FAULT("inputs->alibi_slopes is set, but the layer has slopes of its own, by options->alibi: expected NULL",
                   inputs.alibi_slopes = tensor_of(HEED_F32, {2})),
             FAULT("inputs->sinks is set, but the layer has the parameter sinks: expected NULL",
                   inputs.sinks = tensor_of(HEED_F32, {2})),
         }),
      by(Reach::Call, {Kind::Packed},
         {
             FAULT_AS(UNSUPPORTED,
                      "outputs->weights is set, but inputs->sequences->query_offsets packs the batch: expected NULL, "
                      "since batch elements of different sizes have no weights of one shape",
                      outputs.weights = tensor_of(HEED_F32, {2, 2, 3, 5})),
             FAULT("outputs->output has dims (2, 3, 8), expected (5, 8)",
                   outputs.output = tensor_of(HEED_F32, {2, 3, 8})),
             FAULT("outputs->log_sum_exp has dims (2, 2, 3), expected (2, 5)",
                   outputs.log_sum_exp = tensor_of(HEED_F32, {2, 2, 3})),
         }),
      by(Reach::Inputs, {Kind::Rotary},
         {
             FAULT("inputs->sequences->key_offsets is set, but inputs->sequences->query_offsets is NULL...",
                   sequences.key_offsets = tensor_of(HEED_I32, {3})),
         }),
  };
}

Cases sinks(Kind kind, const std::string& heads) {
  return {
      by(Reach::Inputs, {kind},
         {
             FAULT("inputs->sinks is F16, expected F32", inputs.sinks = tensor_of(HEED_F16, {2})),
             FAULT("inputs->sinks has dims (7), expected " + heads + ", one score for each head...",
                   inputs.sinks = tensor_of(HEED_F32, {7})),
             FAULT("inputs->sinks has dims (), expected " + heads + "...", inputs.sinks = tensor_of(HEED_F32, {})),
         }),
  };
}

Cases memory_of_sequences() {
  return {
      by(Reach::Memory, {Kind::Rotary},
         {
             FAULT("inputs->sequences->positions is a shape-only...", sequences.positions = shape_of(HEED_I32, {2, 3})),
             FAULT("inputs->sequences->query_lens is a shape-only...", sequences.query_lens = shape_of(HEED_I32, {2})),
         }),
      by(Reach::Memory, {Kind::Packed},
         {
           FAULT("inputs->sequences->query_offsets is a shape-only...",
                 sequences.query_offsets = shape_of(HEED_I32, {3})),
               FAULT("inputs->sequences->key_offsets is a shape-only...",
                     sequences.key_offsets = shape_of(HEED_I64, {3})),
               FAULT("inputs->sequences->query_offsets is a shape-only...",
                     sequences.query_offsets = shape_of(HEED_I64, {3});
                     sequences.key_offsets = shape_of(HEED_I64, {3})),
         }),
      by(Reach::Memory, {Kind::MultiHead},
         {
             FAULT("inputs->sinks is a shape-only...", inputs.sinks = shape_of(HEED_F32, {2})),
         }),
      by(Reach::Memory, {Kind::Rotary},
         {
           FAULT("outputs->output shares memory with inputs->sequences->positions...",
                 heed_tensor* whole = tensor_of(HEED_I32, {64});
                 outputs.output = bytes_of(whole, HEED_F32, {2, 3, 8});
                 sequences.positions = view_of(whole, {2, 3}, {})),
               FAULT("outputs->output shares memory with inputs->sequences->query_lens...",
                     heed_tensor* whole = tensor_of(HEED_I32, {64});
                     outputs.output = bytes_of(whole, HEED_F32, {2, 3, 8});
                     sequences.query_lens = view_of(whole, {2}, {})),
         }),
  };
}

Cases inputs_of_positional_encoding() {
  return {
      by(Reach::Inputs, {Kind::Positions},
         {
           FAULT("inputs->queries has dims (2, 3, 7), expected (B, S, 6)",
                 inputs.queries = tensor_of(HEED_F32, {2, 3, 7})),
               FAULT("inputs->queries has 4 rows in a batch element, expected at most 3, options->max_positions",
                     inputs.queries = tensor_of(HEED_F32, {2, 4, 6});
                     outputs.output = tensor_of(HEED_F32, {2, 4, 6})),
               FAULT(
                   "inputs->keys is set, but a positional_encoding layer reads inputs->queries, positions and "
                   "query_offsets alone, expected NULL",
                   inputs.keys = inputs.queries),
               FAULT(
                   "inputs->sinks is set, but a positional_encoding layer reads inputs->queries, positions and "
                   "query_offsets alone, expected NULL",
                   inputs.sinks = tensor_of(HEED_F32, {1})),
               FAULT(
                   "inputs->sequences->query_lens is set, but a positional_encoding layer reads inputs->queries, "
                   "positions and query_offsets alone, expected NULL",
                   sequences.query_lens = tensor_of(HEED_I32, {2})),
               FAULT(
                   "inputs->sequences->key_offsets is set, but a positional_encoding layer reads inputs->queries, "
                   "positions and query_offsets alone, expected NULL",
                   sequences.key_offsets = tensor_of(HEED_I32, {3})),
               FAULT("inputs->queries has dims (2, 3, 6), expected (total, 6)",
                     sequences.query_offsets = tensor_of(HEED_I32, {3})),
         }),
      by(Reach::Inputs, {Kind::Positions},
         {
             FAULT("inputs->sequences->positions is F32, expected I32 or I64",
                   sequences.positions = tensor_of(HEED_F32, {2, 3})),
             FAULT("inputs->sequences->positions has dims (3), expected (2, 3)...",
                   sequences.positions = tensor_of(HEED_I32, {3})),
         }),
      by(Reach::Lengths, {Kind::Positions},
         {
           FAULT("inputs->sequences->positions[1, 1] is 3, expected a position from 0 to 2",
                 sequences.positions = tensor_with<int32_t>({2, 3}, {0, 1, 2, 2, 3, 0})),
               FAULT("inputs->sequences->positions[0, 1] is -1, expected a position from 0 to 2",
                     sequences.positions = tensor_with<int64_t>({2, 3}, {0, -1, 2, 2, 0, 0})),
               FAULT("inputs->queries has 4 rows in a batch element, expected at most 3, options->max_positions",
                     inputs.queries = tensor_of(HEED_F32, {6, 6});
                     outputs.output = tensor_of(HEED_F32, {6, 6}); sequences.query_offsets = numbers({0, 2, 6})),
               FAULT("inputs->sequences->query_offsets[2] is 5, expected 6, the number of rows of inputs->queries",
                     inputs.queries = tensor_of(HEED_F32, {6, 6});
                     outputs.output = tensor_of(HEED_F32, {6, 6}); sequences.query_offsets = numbers({0, 2, 5})),
         }),
      by(Reach::Call, {Kind::Positions},
         {
             FAULT("outputs->weights is set, but a positional_encoding layer has no such output, expected NULL",
                   outputs.weights = tensor_of(HEED_F32, {2, 3, 3})),
         }),
  };
}

Cases positions_of_keys() {
  return {
    PROVOKE(heed_layer_forward(layer, &inputs, NULL, &outputs), sequences.positions = tensor_of(HEED_I32, {2, 3});
            sequences.key_positions = tensor_of(HEED_I32, {2, 3})),
        PROVOKE(heed_layer_forward(layer, &inputs, NULL, &outputs),
                sequences.key_positions = tensor_of(HEED_I32, {2, 5})),
        PROVOKE(heed_layer_forward(layer, &inputs, NULL, &outputs), sequences.positions = tensor_of(HEED_I32, {2, 3});
                sequences.key_positions = tensor_of(HEED_I32, {2, 5}); inputs.keys = inputs.values = NULL),
        PROVOKE(heed_layer_forward(layer, &inputs, NULL, &outputs), options.causal = HEED_CAUSAL_TOP_LEFT;
                layer = layer_with(options); inputs.keys = inputs.values = NULL;
                heed_layer_initialize(layer, &inputs, 42);
                sequences.positions = tensor_with<int32_t>({2, 3}, {0, 1, 2, 0, 1, 0})),
        PROVOKE(heed_layer_forward(layer, &inputs, NULL, &outputs), use_encoder_layer();
                sequences.key_positions = tensor_of(HEED_I32, {2, 3})),
        PROVOKE(heed_layer_forward(layer, &inputs, NULL, &outputs), use_decoder();
                sequences.key_positions = tensor_of(HEED_I32, {2, 3})),
        by(Reach::Inputs, kKinds,
           {
             FAULT("inputs->sequences->key_positions has dims (2, 3), expected (2, 5), (B, K)",
                   sequences.positions = tensor_of(HEED_I32, {2, 3});
                   sequences.key_positions = tensor_of(HEED_I32, {2, 3})),
                 FAULT("inputs->sequences->key_positions is F32, expected I32 or I64",
                       sequences.positions = tensor_of(HEED_I32, {2, 3});
                       sequences.key_positions = tensor_of(HEED_F32, {2, 5})),
           }),
        by(Reach::Lengths, {Kind::Packed}, {
          FAULT("inputs->sequences->key_positions[8] is -3, expected a position from 0 to 2147483647",
                sequences.positions = numbers({0, 1, 2, 0, 1});
                sequences.key_positions = numbers({0, 1, 2, 3, 4, 0, 1, 2, -3})),
        }),
  };
}

Cases masks_of_rows() {
  return {
    PROVOKE(heed_layer_forward(layer, &inputs, NULL, &outputs), inputs.attention_mask = tensor_of(HEED_I32, {2, 4})),
        PROVOKE(heed_layer_forward(layer, &inputs, NULL, &outputs),
                inputs.attention_mask = tensor_with<int32_t>({2, 5}, {1, 1, 1, 1, 1, 1, 1, 2, 0, 0})),
        PROVOKE(heed_layer_forward(layer, &inputs, NULL, &outputs), inputs.attention_mask = tensor_of(HEED_F32, {2, 5});
                inputs.valid_lens = lengths({5, 4})),
        PROVOKE(heed_layer_forward(layer, &inputs, NULL, &outputs), decoder_layer.cross_attention = NULL; use_decoder();
                inputs.keys = inputs.values = NULL;
                inputs.attention_mask = self_attention.self_attention_mask = tensor_of(HEED_F32, {2, 3})),
        PROVOKE(heed_layer_forward(layer, &inputs, NULL, &outputs), use_images();
                inputs.attention_mask = tensor_of(HEED_F32, {2, 3})),
        PROVOKE(heed_layer_forward(layer, &inputs, NULL, &outputs), use_encoder();
                inputs.valid_lens = tensor_of(HEED_I32, {2, 3})),
        PROVOKE(heed_layer_forward(layer, &inputs, NULL, &outputs), use_cache(); with_cache.use = HEED_CACHE_READ;
                inputs.keys = inputs.values = NULL; inputs.attention_mask = tensor_of(HEED_F32, {2, 3})),
        by(Reach::Inputs, {Kind::Packed},
           {
               FAULT("inputs->attention_mask is set, but so is inputs->sequences->query_offsets: expected NULL for one "
                     "of them",
                     inputs.attention_mask = tensor_of(HEED_F32, {2, 5})),
           }),
        by(Reach::Inputs, {Kind::EncoderLayer}, {
          FAULT("inputs->attention_mask is set, but so is inputs->sequences->query_lens...",
                sequences.query_lens = numbers({3, 3});
                inputs.attention_mask = tensor_of(HEED_F32, {2, 3})),
              FAULT("inputs->attention_mask has dims (2, 3, 8), expected (2, 3)...",
                    inputs.attention_mask = tensor_of(HEED_F32, {2, 3, 8})),
        }),
  };
}

Cases rows_of_outputs() {
  return {
    PROVOKE(heed_layer_forward(layer, &inputs, NULL, &outputs), inputs.num_last_rows = 1),
        PROVOKE(heed_layer_forward(layer, &inputs, NULL, &outputs), use_encoder_layer();
                inputs.output_rows = tensor_of(HEED_I32, {2, 1})),
        PROVOKE(heed_layer_forward(layer, &inputs, NULL, &outputs), use_encoder(); inputs.num_last_rows = -1),
        PROVOKE(heed_layer_forward(layer, &inputs, NULL, &outputs), use_encoder(); inputs.num_last_rows = 1;
                inputs.output_rows = tensor_of(HEED_I32, {2, 1})),
        PROVOKE(heed_layer_forward(layer, &inputs, NULL, &outputs), use_encoder();
                inputs.output_rows = tensor_of(HEED_F32, {2, 1})),
        PROVOKE(heed_layer_forward(layer, &inputs, NULL, &outputs), use_encoder();
                inputs.output_rows = tensor_of(HEED_I32, {3, 1})),
        PROVOKE(heed_layer_forward(layer, &inputs, NULL, &outputs), use_encoder(); inputs.num_last_rows = 2;
                outputs.output = tensor_of(HEED_F32, {2, 2, 8}); inputs.sequences = &sequences;
                sequences.query_lens = numbers({3, 1})),
        PROVOKE(heed_layer_forward(layer, &inputs, NULL, &outputs), use_encoder();
                outputs.output = tensor_of(HEED_F32, {2, 1, 8});
                inputs.output_rows = tensor_with<int32_t>({2, 1}, {2, 3})),
        PROVOKE(heed_layer_forward(layer, &inputs, NULL, &outputs), use_encoder();
                outputs.output = tensor_of(HEED_F32, {2, 1, 8});
                inputs.attention_mask = tensor_with<int32_t>({2, 3}, {1, 1, 1, 0, 1, 1});
                inputs.output_rows = tensor_with<int32_t>({2, 1}, {2, 0})),
  };
}

Cases sequences_of_layers_of_one_input() {
  return {
      by(Reach::Inputs, kKindsOfOneInput,
         {
             FAULT("inputs->sequences->positions is set, but a...", sequences.positions = tensor_of(HEED_I32, {2, 3})),
             FAULT("inputs->sequences->query_offsets is set, but a...",
                   sequences.query_offsets = tensor_of(HEED_I32, {3})),
         }),
  };
}

}  // namespace

Topic sequences() {
  return {
      "Positions, packed batches, lengths of queries and masks of tokenizers",
      "`inputs.sequences` is `&sequences`. `pack({0, 3, 5}, {0, 5, 9})` packs elements of 3 and 2 queries and of 5 and "
      "4 keys with "
      "these offsets, and makes `outputs` fit.",
      {
          by(Reach::Inputs, kKinds,
             PROVOKE(heed_layer_forward(layer, &inputs, NULL, &outputs),
                     sequences.positions = tensor_of(HEED_F32, {2, 3}))),
          by(Reach::Inputs, kKinds,
             PROVOKE(heed_layer_forward(layer, &inputs, NULL, &outputs),
                     sequences.positions = tensor_of(HEED_I32, {3}))),
          PROVOKE(heed_layer_forward(layer, &inputs, NULL, &outputs),
                  heed_tensor_reshape(numbers({0, 1, 2, 0, 1, -1}), 2, dims, &new_tensor);
                  sequences.positions = new_tensor),
          by(Reach::Inputs, kKinds,
             PROVOKE(heed_layer_forward(layer, &inputs, NULL, &outputs),
                     sequences.query_lens = tensor_of(HEED_I32, {2, 3}))),
          PROVOKE(heed_layer_forward(layer, &inputs, NULL, &outputs), sequences.query_lens = numbers({3, 4})),
          PROVOKE(heed_layer_forward(layer, &inputs, NULL, &outputs), sequences.key_offsets = numbers({0, 5, 9})),
          PROVOKE(heed_layer_forward(layer, &inputs, NULL, &outputs), sequences.query_offsets = numbers({0, 3, 5})),
          PROVOKE(heed_layer_forward(dot_product, &inputs, NULL, &outputs),
                  sequences.query_offsets = numbers({0, 3, 5});
                  inputs.queries = tensor_of(HEED_F32, {2, 4, 3, 4})),
          PROVOKE(heed_layer_forward(layer, &inputs, NULL, &outputs), pack({0, 3, 5}, {0, 5, 9});
                  sequences.query_offsets = tensor_of(HEED_I32, {1, 3})),
          PROVOKE(heed_layer_forward(layer, &inputs, NULL, &outputs), pack({1, 3, 5}, {0, 5, 9})),
          PROVOKE(heed_layer_forward(layer, &inputs, NULL, &outputs), pack({0, 6, 5}, {0, 5, 9})),
          PROVOKE(heed_layer_forward(layer, &inputs, NULL, &outputs), pack({0, 3, 4}, {0, 5, 9})),
          PROVOKE(heed_layer_forward(layer, &inputs, NULL, &outputs), pack({0, 3, 5}, {0, 5, 9});
                  sequences.key_offsets = NULL),
          PROVOKE(heed_layer_forward(layer, &inputs, NULL, &outputs), pack({0, 3, 5}, {0, 5, 8, 9})),
          PROVOKE(heed_layer_forward(layer, &inputs, NULL, &outputs), pack({0, 3, 5}, {0, 5, 9});
                  sequences.query_lens = numbers({3, 2})),
          PROVOKE(heed_layer_forward(layer, &inputs, NULL, &outputs), pack({0, 3, 5}, {0, 5, 9});
                  sequences.positions = tensor_of(HEED_I64, {2, 3})),
          PROVOKE(heed_layer_forward(layer, &inputs, NULL, &outputs), pack({0, 3, 5}, {0, 5, 9});
                  sequences.positions = numbers({0, 1, 2, 0, -1})),
          PROVOKE(heed_layer_forward(layer, &inputs, NULL, &outputs), pack({0, 3, 5}, {0, 5, 9});
                  inputs.valid_lens = lengths({5, 4})),
          PROVOKE(heed_layer_forward(layer, &inputs, NULL, &outputs), pack({0, 3, 5}, {0, 5, 9});
                  outputs.weights = tensor_of(HEED_F32, {2, 2, 3, 5})),
          PROVOKE(heed_layer_create_outputs(layer, &inputs, HEED_WANT_WEIGHTS, &new_outputs),
                  pack({0, 3, 5}, {0, 5, 9})),
          PROVOKE(heed_layer_forward(layer, &inputs, NULL, &outputs), inputs.sinks = tensor_of(HEED_F32, {3})),
          PROVOKE(heed_layer_forward(layer, &inputs, NULL, &outputs), options.sinks = 1; layer = layer_with(options);
                  heed_layer_initialize(layer, &inputs, 42); inputs.sinks = tensor_of(HEED_F32, {2})),
          PROVOKE(heed_layer_forward(layer, &inputs, NULL, &outputs), options.alibi = HEED_ALIBI_ADDED;
                  layer = layer_with(options); heed_layer_initialize(layer, &inputs, 42);
                  inputs.alibi_slopes = tensor_of(HEED_F32, {2})),
          PROVOKE(heed_layer_workspace_size(layer, &inputs, NULL, &num_bytes), options.rope = &rope;
                  layer = layer_with(options); heed_layer_initialize(layer, &inputs, 42);
                  inputs.queries = shape_of(HEED_F32, {2, 4294967297, 6})),
          PROVOKE(heed_layer_create_outputs(new_layer, &inputs, HEED_WANT_OUTPUT, &new_outputs),
                  heed_positional_encoding_create(context, &encoding, &new_layer)),
          PROVOKE(heed_layer_create_outputs(new_layer, &inputs, HEED_WANT_OUTPUT, &new_outputs),
                  heed_positional_encoding_create(context, &encoding, &new_layer);
                  inputs.keys = inputs.values = NULL; inputs.queries = tensor_of(HEED_F32, {2, 3, 7})),
          PROVOKE(heed_layer_create_outputs(new_layer, &inputs, HEED_WANT_OUTPUT, &new_outputs),
                  heed_positional_encoding_create(context, &encoding, &new_layer);
                  inputs.keys = inputs.values = NULL; inputs.queries = tensor_of(HEED_F32, {2, 11, 6})),
          dtypes_and_shapes(),
          numbers_that_cannot_be(),
          offsets_that_fight_other_inputs(),
          sinks(Kind::MultiHead, "(2)"),
          sinks(Kind::DotProductRank4, "(4)"),
          sinks(Kind::DotProductRank3, "(1)"),
          memory_of_sequences(),
          inputs_of_positional_encoding(),
          sequences_of_layers_of_one_input(),
          positions_of_keys(),
          masks_of_rows(),
          rows_of_outputs(),
      }};
}

}  // namespace heed::errors_test
