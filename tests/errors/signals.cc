// SPDX-License-Identifier: Apache-2.0
#include "errors/provocation.h"

namespace heed::errors_test {

namespace {

class SignalScene : public Scene {
 protected:
  // Makes an encoder of images of 4 patches and a class token.
  void make_encoder_of_five_rows() {
    encoding.kind = HEED_POSITIONS_LEARNED;
    encoding.max_positions = 5;
    encoding.size = patches.size = 0;
    encoder.patches = &patches;
    encoder.positions = &encoding;
    heed_encoder_create(context, &encoder, &new_layer);
  }
  void read(const Dims& sizes) {
    inputs.keys = inputs.values = nullptr;
    inputs.queries = tensor_of(HEED_F32, sizes);
  }
};

#define PATCHES(its_sentence, ...) \
  ALSO(its_sentence, heed_patch_embedding_create(context, &patches, &new_layer), __VA_ARGS__)
#define AUDIO(its_sentence, ...) \
  ALSO(its_sentence, heed_audio_embedding_create(context, &audio, &new_layer), __VA_ARGS__)
#define ENCODER(its_sentence, ...) ALSO(its_sentence, heed_encoder_create(context, &encoder, &new_layer), __VA_ARGS__)
#define QUERIES(its_sentence, ...) \
  ALSO(its_sentence, heed_layer_create_outputs(new_layer, &inputs, HEED_WANT_OUTPUT, &new_outputs), __VA_ARGS__)
#define IMAGE(its_sentence, ...) \
  QUERIES(its_sentence, heed_patch_embedding_create(context, &patches, &new_layer); read({__VA_ARGS__}))
#define SIZED_IMAGE(its_sentence, ...)                                     \
  QUERIES(its_sentence, patches.image_height = 4; patches.image_width = 9; \
          heed_patch_embedding_create(context, &patches, &new_layer); read({__VA_ARGS__}))
#define SPECTRUM(its_sentence, ...) \
  QUERIES(its_sentence, heed_audio_embedding_create(context, &audio, &new_layer); read({__VA_ARGS__}))
#define FIVE_ROWS(its_sentence, ...) QUERIES(its_sentence, make_encoder_of_five_rows(); read({__VA_ARGS__}))

Cases options_of_signals() {
  return {
    PATCHES("options->patch_height is 0, expected at least 1", patches.patch_height = 0),
        PATCHES("options->patch_width is -1, expected at least 1", patches.patch_width = -1),
        PATCHES("options->size is 0, expected at least 1", patches.size = 0),
        PATCHES(
            "options->patch_height is 4294967296, options->patch_width 4294967296 and options->num_channels 3: "
            "expected a product below 2^63",
            patches.patch_height = patches.patch_width = int64_t{1} << 32),
        PATCHES("options->class_token is 2, expected 0 or 1", patches.class_token = 2),
        PATCHES("options->no_bias is -1, expected 0 or 1", patches.no_bias = -1),
        PATCHES("options->image_height is -2...", patches.image_height = -2),
        PATCHES("options->image_width is 4, expected a multiple of options->patch_width, 3, or 0",
                patches.image_height = 4;
                patches.image_width = 4),
        PATCHES("options->image_width is 4, expected a multiple of options->patch_width, 3, or 0",
                patches.image_height = 4),
        PATCHES("options->image_width is 3, but options->image_height is 0: expected both, or 0",
                patches.image_width = 3),
        AUDIO("options->num_mels is -1, expected 1 to 3074457345618258602", audio.num_mels = -1),
        AUDIO("options->num_mels is 3074457345618258603, expected 1 to 3074457345618258602",
              audio.num_mels = INT64_MAX / 3 + 1),
        AUDIO("options->size is 0, expected 1 to 3074457345618258602", audio.size = 0),
        AUDIO("options->size is -1, expected 1 to 3074457345618258602", audio.size = -1),
        AUDIO("options->size is 3074457345618258603, expected 1 to 3074457345618258602",
              audio.size = INT64_MAX / 3 + 1),
        ENCODER("options->patches is set, but so is options->embedding: expected NULL for one of them",
                encoder.patches = &patches;
                encoder.embedding = &embedding; embedding.embedding_size = 0),
        ENCODER("options->audio->size is 6, expected 8 or 0, the size of the rows", encoder.audio = &audio;
                audio.size = 6),
        ENCODER("options->audio->num_mels is 0...", encoder.audio = &audio; audio.num_mels = 0),
        ENCODER("options->patches->class_token is 3, expected 0 or 1", encoder.patches = &patches;
                patches.class_token = 3),
  };
}

Cases sizes_of_signals() {
  using Scene = SignalScene;
  return {
    IMAGE("inputs->queries has dims (3, 4, 6), expected (B, 3, H, W), the channels of images", 3, 4, 6),
        IMAGE("inputs->queries has dims (1, 1, 4, 6), expected (B, 3, H, W), the channels of images", 1, 1, 4, 6),
        IMAGE("inputs->queries has dims (1, 3, 5, 6), expected a height that is a multiple of 2...", 1, 3, 5, 6),
        IMAGE(
            "inputs->queries has dims (1, 3, 4, 7), expected a height that is a multiple of 2 and a width that is one "
            "of 3...",
            1, 3, 4, 7),
        SIZED_IMAGE("inputs->queries has dims (1, 3, 4, 6), expected (B, 3, 4, 9): the layer reads images of one size",
                    1, 3, 4, 6),
        SIZED_IMAGE("inputs->queries has dims (1, 3, 6, 6), expected (B, 3, 4, 9): the layer reads images of one size",
                    1, 3, 6, 6),
        SIZED_IMAGE("inputs->queries has dims (1, 3, 12, 3), expected (B, 3, 4, 9): the layer reads images of one size",
                    1, 3, 12, 3),
        SPECTRUM("inputs->queries has dims (4, 6), expected (B, 4, T), the features of frames", 4, 6),
        SPECTRUM("inputs->queries has dims (1, 5, 6), expected (B, 4, T), the features of frames", 1, 5, 6),
        FIVE_ROWS(
            "inputs->queries has dims (2, 3, 4, 9), whose patches make 7 rows, expected 5, "
            "options->positions->max_positions...",
            2, 3, 4, 9),
        FIVE_ROWS(
            "inputs->queries has dims (2, 3, 2, 6), whose patches make 3 rows, expected 5, "
            "options->positions->max_positions...",
            2, 3, 2, 6),
        FIVE_ROWS("inputs->queries has dims (2, 8, 8), expected (B, 3, H, W), the channels of images", 2, 8, 8),
        QUERIES("inputs->sequences has offsets...", make_encoder_of_five_rows(); read({2, 3, 4, 6});
                sequences.query_offsets = numbers({0, 5, 10})),
  };
}

}  // namespace

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
              options_of_signals(),
              sizes_of_signals(),
          }};
}

}  // namespace heed::errors_test
