// SPDX-License-Identifier: Apache-2.0
// Reads the options of each kind of layer from the structs of heed.h. NULL means the macro's values. Errors call the
// argument "options".
#pragma once

#include <heed/heed.h>

#include "attention/options.h"
#include "layers/kinds/additive_attention.h"
#include "layers/kinds/dropout.h"
#include "layers/kinds/embedding.h"
#include "layers/kinds/feed_forward.h"
#include "layers/kinds/general_attention.h"
#include "layers/kinds/layer_norm.h"
#include "layers/kinds/linear.h"
#include "layers/kinds/multi_head_attention.h"
#include "layers/kinds/positional_encoding.h"
#include "layers/kinds/transformer.h"
#include "layers/kinds/transformer_layer.h"
#include "layers/kinds/transformer_stack.h"

namespace heed::capi {

AttentionOptions read_layer_options(const heed_dot_product_attention_options* options);
AdditiveAttentionOptions read_layer_options(const heed_additive_attention_options* options);
GeneralAttentionOptions read_layer_options(const heed_general_attention_options* options);
MultiHeadAttentionOptions read_layer_options(const heed_multi_head_attention_options* options);
LinearOptions read_layer_options(const heed_linear_options* options);
DropoutOptions read_layer_options(const heed_dropout_options* options);
PositionalEncodingOptions read_layer_options(const heed_positional_encoding_options* options);
LayerNormOptions read_layer_options(const heed_layer_norm_options* options);
FeedForwardOptions read_layer_options(const heed_feed_forward_options* options);
EmbeddingOptions read_layer_options(const heed_embedding_options* options);
PatchEmbeddingOptions read_layer_options(const heed_patch_embedding_options* options);
AudioEmbeddingOptions read_layer_options(const heed_audio_embedding_options* options);
EncoderLayerOptions read_layer_options(const heed_encoder_layer_options* options);
DecoderLayerOptions read_layer_options(const heed_decoder_layer_options* options);
EncoderOptions read_layer_options(const heed_encoder_options* options);
DecoderOptions read_layer_options(const heed_decoder_options* options);
TransformerOptions read_layer_options(const heed_transformer_options* options);

}  // namespace heed::capi
