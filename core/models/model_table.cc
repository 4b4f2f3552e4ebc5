// SPDX-License-Identifier: Apache-2.0
#include "models/model_table.h"

#include <algorithm>
#include <iterator>

#include "layers/weight_layout.h"

namespace heed {
namespace {

using enum ModelKind;
using enum EmbeddingScale;
namespace title = layout_title;

constexpr int32_t kOfBert = kPositions | kTokenTypes | kNorm;
constexpr ModelFamily kModelFamilies[] = {
    {"albert", Encoder, kOfBert, title::kAlbert, title::kAlbert, "albert", One, true, false, false, EmbeddingProjection::WithBias},
    {"bart", ModelKind::Transformer, kPositions | kNorm, title::kBart, title::kBart, "model", RootIfSet},
    {"bert", Encoder, kOfBert, title::kBert, title::kBert, "bert"},
    {"camembert", Encoder, kOfBert, title::kBert, title::kBert, "roberta"},
    {"clip_text_model", Encoder, kPositions, title::kClip, title::kClip, "text_model"},
    {"distilbert", Encoder, kPositions | kNorm, title::kDistilBert, title::kDistilBert, "distilbert"},
    {"electra", Encoder, kOfBert, title::kBert, title::kBert, "electra", One, true, false, false, EmbeddingProjection::WithBias},
    {"gemma", Decoder, kNothing, title::kLlama, title::kLlama, "model", Root},
    {"gemma2", Decoder, kNothing, title::kLlama, title::kGemma2, "model", Root},
    {"gemma3_text", Decoder, kNothing, title::kLlama, title::kGemma2, "model", Root},
    {"gpt2", Decoder, kPositions, title::kGpt2, title::kGpt2, "transformer"},
    {"granite", Decoder, kNothing, title::kLlama, title::kLlama, "model", Multiplier, false},
    {"llama", Decoder, kNothing, title::kLlama, title::kLlama, "model", One, false},
    {"marian", ModelKind::Transformer, kSinusoids, title::kBart, title::kBart, "model", RootIfSet},
    {"mbart", ModelKind::Transformer, kPositions | kNorm, title::kBart, title::kBart, "model", RootIfSet},
    {"mistral", Decoder, kNothing, title::kLlama, title::kLlama, "model", One, false},
    {"modernbert", Encoder, kNorm, title::kModernBert, title::kModernBert, "model", One, true, false, true},
    {"mt5", ModelKind::Transformer, kNothing, title::kT5, title::kT5, "", One, false, true},
    {"opt", Decoder, kPositions, title::kOpt, title::kBart, "model.decoder", One, true, false, false, EmbeddingProjection::WithoutBias},
    {"phi3", Decoder, kNothing, title::kLlama, title::kLlama, "model", One, false},
    {"qwen2", Decoder, kNothing, title::kLlama, title::kLlama, "model", One, false},
    {"qwen3", Decoder, kNothing, title::kLlama, title::kLlama, "model", One, false},
    {"roberta", Encoder, kOfBert, title::kBert, title::kBert, "roberta"},
    {"t5", ModelKind::Transformer, kNothing, title::kT5, title::kT5, "", One, true, true},
    {.model_type = "vit",
     .kind = Encoder,
     .before_layers = kPositions,
     .model_layout = title::kViT,
     .layer_layout = title::kViT,
     .base = "vit",
     .input = ModelInput::Images},
    {.model_type = "whisper",
     .kind = ModelKind::Transformer,
     .before_layers = kPositions,
     .model_layout = title::kBart,
     .layer_layout = title::kBart,
     .base = "model",
     .input = ModelInput::Audio},
    {"xlm-roberta", Encoder, kOfBert, title::kBert, title::kBert, "roberta"},
};

}  // namespace

const ModelFamily* model_family_of(std::string_view model_type) {
  const auto* const family = std::find_if(std::begin(kModelFamilies), std::end(kModelFamilies),
                                          [&](const ModelFamily& one) { return one.model_type == model_type; });
  return family == std::end(kModelFamilies) ? nullptr : family;
}

}  // namespace heed
