// SPDX-License-Identifier: Apache-2.0
// The functions that create layers.
#include <heed/heed.h>

#include <memory>

#include "arguments.h"
#include "errors.h"
#include "handles.h"
#include "layer_options.h"
#include "layers/kinds/dot_product_attention.h"
#include "load_options.h"
#include "models/model_folder.h"

namespace heed::capi {
namespace {

// The size in the first version of the struct.
constexpr size_t kFirstModelOptionsSize = 16;

// Creates a layer of that kind with the options of the caller. `function`: the C function's name in messages.
template <typename Kind, typename Options>
heed_status create_layer(const char* function, heed_context* context, const Options* options,
                         heed_layer** layer) noexcept {
  return guarded(function, context, [&] {
    const std::shared_ptr<Context> owner = require(context, "context")->context;
    require(layer, "layer");
    *layer =
        make_handle(heed_layer{host_make_shared<Kind>(owner->host_allocator(), owner, read_layer_options(options))});
  });
}

// `function`: the C function's name in messages.
heed_status create_model(const char* function, heed_context* context, const char* folder,
                         const heed_model_options* options, bool has_options, heed_layer** layer) noexcept {
  return guarded(function, context, [&] {
    const std::shared_ptr<Context> owner = require(context, "context")->context;
    require(folder, "folder");
    require(layer, "layer");
    const heed_model_options read =
        read_struct(options, HEED_MODEL_OPTIONS_INIT, kFirstModelOptionsSize, "options", "HEED_MODEL_OPTIONS_INIT");
    LoadOptions load = read_load_options(read.load, OPTION("load"), OPTION("load->progress"));
    load.function = function;
    load.offers_accept = has_options;
    *layer = make_handle(heed_layer{model_from_folder(owner, folder, load)});
  });
}

}  // namespace
}  // namespace heed::capi

using namespace heed;        // NOLINT(google-build-using-namespace): the functions below are C
using namespace heed::capi;  // NOLINT(google-build-using-namespace)

extern "C" {

heed_status heed_dot_product_attention_create(heed_context* context, const heed_dot_product_attention_options* options,
                                              heed_layer** layer) noexcept {
  return create_layer<DotProductAttention>(__func__, context, options, layer);
}

heed_status heed_additive_attention_create(heed_context* context, const heed_additive_attention_options* options,
                                           heed_layer** layer) noexcept {
  return create_layer<AdditiveAttention>(__func__, context, options, layer);
}

heed_status heed_general_attention_create(heed_context* context, const heed_general_attention_options* options,
                                          heed_layer** layer) noexcept {
  return create_layer<GeneralAttention>(__func__, context, options, layer);
}

heed_status heed_multi_head_attention_create(heed_context* context, const heed_multi_head_attention_options* options,
                                             heed_layer** layer) noexcept {
  return create_layer<MultiHeadAttention>(__func__, context, options, layer);
}

heed_status heed_positional_encoding_create(heed_context* context, const heed_positional_encoding_options* options,
                                            heed_layer** layer) noexcept {
  return create_layer<PositionalEncoding>(__func__, context, options, layer);
}

heed_status heed_linear_create(heed_context* context, const heed_linear_options* options, heed_layer** layer) noexcept {
  return create_layer<Linear>(__func__, context, options, layer);
}

heed_status heed_layer_norm_create(heed_context* context, const heed_layer_norm_options* options,
                                   heed_layer** layer) noexcept {
  return create_layer<LayerNorm>(__func__, context, options, layer);
}

heed_status heed_feed_forward_create(heed_context* context, const heed_feed_forward_options* options,
                                     heed_layer** layer) noexcept {
  return create_layer<FeedForward>(__func__, context, options, layer);
}

heed_status heed_embedding_create(heed_context* context, const heed_embedding_options* options,
                                  heed_layer** layer) noexcept {
  return create_layer<Embedding>(__func__, context, options, layer);
}

heed_status heed_patch_embedding_create(heed_context* context, const heed_patch_embedding_options* options,
                                        heed_layer** layer) noexcept {
  return create_layer<PatchEmbedding>(__func__, context, options, layer);
}

heed_status heed_audio_embedding_create(heed_context* context, const heed_audio_embedding_options* options,
                                        heed_layer** layer) noexcept {
  return create_layer<AudioEmbedding>(__func__, context, options, layer);
}

heed_status heed_encoder_layer_create(heed_context* context, const heed_encoder_layer_options* options,
                                      heed_layer** layer) noexcept {
  return create_layer<EncoderLayer>(__func__, context, options, layer);
}

heed_status heed_decoder_layer_create(heed_context* context, const heed_decoder_layer_options* options,
                                      heed_layer** layer) noexcept {
  return create_layer<DecoderLayer>(__func__, context, options, layer);
}

heed_status heed_encoder_create(heed_context* context, const heed_encoder_options* options,
                                heed_layer** layer) noexcept {
  return create_layer<Encoder>(__func__, context, options, layer);
}

heed_status heed_decoder_create(heed_context* context, const heed_decoder_options* options,
                                heed_layer** layer) noexcept {
  return create_layer<Decoder>(__func__, context, options, layer);
}

heed_status heed_transformer_create(heed_context* context, const heed_transformer_options* options,
                                    heed_layer** layer) noexcept {
  return create_layer<Transformer>(__func__, context, options, layer);
}

heed_status heed_model_create(heed_context* context, const char* folder, const heed_model_options* options,
                              heed_layer** layer) noexcept {
  return create_model(__func__, context, folder, options, true, layer);
}

heed_status heed_layer_create_from_folder(heed_context* context, const char* folder, heed_layer** layer) noexcept {
  return create_model(__func__, context, folder, nullptr, false, layer);
}

heed_status heed_dropout_create(heed_context* context, const heed_dropout_options* options,
                                heed_layer** layer) noexcept {
  return create_layer<Dropout>(__func__, context, options, layer);
}

}  // extern "C"
