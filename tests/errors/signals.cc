// SPDX-License-Identifier: Apache-2.0
#include "errors/provocation.h"

namespace heed::errors_test {

Topic signals() {
  return {"Images and audio",
          "`use_images()` makes an encoder with `patches` of 2 x 3 pixels, and `use_audio()` one with `audio` of 4 "
          "features.",
          {
              PROVOKE(heed_patch_embedding_create(context, &patches, &new_layer), patches.num_channels = 0),
              PROVOKE(heed_patch_embedding_create(context, &patches, &new_layer), patches.patch_height = INT64_MAX),
              PROVOKE(heed_patch_embedding_create(context, &patches, &new_layer), patches.image_height = 5),
              PROVOKE(heed_patch_embedding_create(context, &patches, &new_layer), patches.image_width = 6),
              PROVOKE(heed_audio_embedding_create(context, &audio, &new_layer), audio.num_mels = 0),
              PROVOKE(heed_encoder_create(context, &encoder, &new_layer), encoder.patches = &patches;
                      encoder.audio = &audio),
              PROVOKE(heed_encoder_create(context, &encoder, &new_layer), encoder.patches = &patches; patches.size = 9),
              PROVOKE(heed_transformer_create(context, &transformer, &new_layer), transformer.embedding = &embedding;
                      encoder.patches = &patches),
              PROVOKE(heed_layer_forward(layer, &inputs, NULL, &outputs), use_images();
                      inputs.queries = tensor_of(HEED_F32, {2, 1, 4, 6})),
              PROVOKE(heed_layer_forward(layer, &inputs, NULL, &outputs), use_images();
                      inputs.queries = tensor_of(HEED_F32, {2, 3, 4, 7})),
              PROVOKE(heed_layer_forward(layer, &inputs, NULL, &outputs), patches.image_height = 4;
                      patches.image_width = 6; use_images(); inputs.queries = tensor_of(HEED_F32, {2, 3, 2, 12})),
              PROVOKE(heed_layer_forward(layer, &inputs, NULL, &outputs), use_images(); inputs.sequences = &sequences;
                      sequences.query_offsets = numbers({0, 4, 8})),
              PROVOKE(heed_layer_forward(layer, &inputs, NULL, &outputs), encoding.kind = HEED_POSITIONS_LEARNED;
                      encoding.max_positions = 5; encoding.size = 0; encoder.positions = &encoding; use_images();
                      inputs.queries = tensor_of(HEED_F32, {2, 3, 2, 6})),
              PROVOKE(heed_layer_forward(layer, &inputs, NULL, &outputs), use_audio();
                      inputs.queries = tensor_of(HEED_F32, {2, 5, 6})),
              PROVOKE(heed_layer_load(new_layer,
                                      names({"patch_embeddings.projection.weight", "patch_embeddings.projection.bias",
                                             "cls_token"}),
                                      NULL),
                      patches.class_token = 0;
                      heed_patch_embedding_create(context, &patches, &new_layer)),
              PROVOKE(heed_layer_create_from_folder(
                  context,
                  folder("{'model_type':'vit','num_hidden_layers':1,'num_attention_heads':2}",
                         {{"encoder.layer.0.layernorm_after.weight", {8}},
                          {"encoder.layer.0.intermediate.dense.weight", {10, 8}},
                          {"embeddings.patch_embeddings.projection.weight", {8, 3}}}),
                  &new_layer)),
              PROVOKE(heed_layer_create_from_folder(
                  context,
                  folder("{'model_type':'vit','num_hidden_layers':1,'num_attention_heads':2,'image_size':6}",
                         {{"encoder.layer.0.layernorm_after.weight", {8}},
                          {"encoder.layer.0.intermediate.dense.weight", {10, 8}},
                          {"embeddings.patch_embeddings.projection.weight", {8, 3, 2, 2}},
                          {"embeddings.position_embeddings", {1, 5, 8}}}),
                  &new_layer)),
              PROVOKE(heed_layer_create_from_folder(
                  context,
                  folder("{'model_type':'vit','num_hidden_layers':1,'num_attention_heads':2,'image_size':'6'}",
                         {{"encoder.layer.0.layernorm_after.weight", {8}},
                          {"encoder.layer.0.intermediate.dense.weight", {10, 8}},
                          {"embeddings.patch_embeddings.projection.weight", {8, 3, 2, 2}},
                          {"embeddings.position_embeddings", {1, 5, 8}}}),
                  &new_layer)),
          }};
}

}  // namespace heed::errors_test
