// SPDX-License-Identifier: Apache-2.0
#include "families/model_table.h"

#include <algorithm>
#include <iterator>

#include "families/layout_titles.h"

namespace heed {
namespace {

using enum ModelKind;
using enum EmbeddingScale;
namespace title = layout_title;

constexpr int32_t kOfBert = kPositions | kTokenTypes | kNorm;
constexpr ModelFamily kModelFamilies[] = {
    {"albert", Encoder, kOfBert | kProjection | kSharedLayers, title::kAlbert, title::kAlbert, "albert"},
    {"bart", ModelKind::Transformer, kPositions | kNorm, title::kBart, title::kBart, "model", RootIfSet},
    {"bert", Encoder, kOfBert, title::kBert, title::kBert, "bert"},
    {"camembert", Encoder, kOfBert, title::kBert, title::kBert, "roberta"},
    {"clip_text_model", Encoder, kPositions, title::kClip, title::kClip, "text_model"},
    {"distilbert", Encoder, kPositions | kNorm, title::kDistilBert, title::kDistilBert, "distilbert"},
    {"electra", Encoder, kOfBert | kProjection, title::kBert, title::kBert, "electra"},
    {"gemma", Decoder, kPlain, title::kLlama, title::kLlama, "model", Root},
    {"gemma2", Decoder, kPlain, title::kLlama, title::kGemma2, "model", Root},
    {"gemma3_text", Decoder, kPlain, title::kLlama, title::kGemma2, "model", Root},
    {"gpt2", Decoder, kPositions, title::kGpt2, title::kGpt2, "transformer"},
    {"granite", Decoder, kUntied, title::kLlama, title::kLlama, "model", Multiplier},
    {"llama", Decoder, kUntied, title::kLlama, title::kLlama, "model"},
    {"marian", ModelKind::Transformer, kSinusoids, title::kBart, title::kBart, "model", RootIfSet},
    {"mbart", ModelKind::Transformer, kPositions | kNorm, title::kBart, title::kBart, "model", RootIfSet},
    {"mistral", Decoder, kUntied, title::kLlama, title::kLlama, "model"},
    {"modernbert", Encoder, kNorm | kNoFirstNorm, title::kModernBert, title::kModernBert, "model"},
    {"mt5", ModelKind::Transformer, kUntied, title::kT5, title::kT5, "", One, ModelInput::Ids, title::kT5EncoderModel},
    {"opt", Decoder, kPositions | kProjectionWithoutBias, title::kOpt, title::kBart, "model.decoder"},
    {"phi3", Decoder, kUntied, title::kLlama, title::kLlama, "model"},
    {"qwen2", Decoder, kUntied, title::kLlama, title::kLlama, "model"},
    {"qwen3", Decoder, kUntied, title::kLlama, title::kLlama, "model"},
    {"roberta", Encoder, kOfBert, title::kBert, title::kBert, "roberta"},
    {"t5", ModelKind::Transformer, kScaledHead, title::kT5, title::kT5, "", One, ModelInput::Ids,
     title::kT5EncoderModel},
    {"vit", Encoder, kPositions, title::kViT, title::kViT, "vit", One, ModelInput::Images},
    {"whisper", ModelKind::Transformer, kPositions, title::kBart, title::kBart, "model", One, ModelInput::Audio},
    {"xlm-roberta", Encoder, kOfBert, title::kBert, title::kBert, "roberta"},
};

}  // namespace

const ModelFamily* model_family_of(std::string_view model_type) {
  const auto* const family = std::find_if(std::begin(kModelFamilies), std::end(kModelFamilies),
                                          [&](const ModelFamily& one) { return one.model_type == model_type; });
  return family == std::end(kModelFamilies) ? nullptr : family;
}

}  // namespace heed
