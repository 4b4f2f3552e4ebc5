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

constexpr ModelFamily kModelFamilies[] = {
    {"albert", Encoder, title::kAlbert, title::kAlbert, "albert"},
    {"bart", ModelKind::Transformer, title::kBart, title::kBart, "model", RootIfSet},
    {"bert", Encoder, title::kBert, title::kBert, "bert"},
    {"camembert", Encoder, title::kBert, title::kBert, "roberta"},
    {"clip_text_model", Encoder, title::kClip, title::kClip, "text_model"},
    {"distilbert", Encoder, title::kDistilBert, title::kDistilBert, "distilbert"},
    {"electra", Encoder, title::kBert, title::kBert, "electra"},
    {"gemma", Decoder, title::kLlama, title::kLlama, "model", Root},
    {"gemma2", Decoder, title::kLlama, title::kGemma2, "model", Root},
    {"gemma3_text", Decoder, title::kLlama, title::kGemma2, "model", Root},
    {"gpt2", Decoder, title::kGpt2, title::kGpt2, "transformer"},
    {"granite", Decoder, title::kLlama, title::kLlama, "model", Multiplier, false},
    {"llama", Decoder, title::kLlama, title::kLlama, "model", One, false},
    {"marian", ModelKind::Transformer, title::kBart, title::kBart, "model", RootIfSet, true, true},
    {"mbart", ModelKind::Transformer, title::kBart, title::kBart, "model", RootIfSet},
    {"mistral", Decoder, title::kLlama, title::kLlama, "model", One, false},
    {"modernbert", Encoder, title::kModernBert, title::kModernBert, "model"},
    {"mt5", ModelKind::Transformer, title::kT5, title::kT5, "", One, false, false, true},
    {"opt", Decoder, title::kOpt, title::kBart, "model.decoder"},
    {"phi3", Decoder, title::kLlama, title::kLlama, "model", One, false},
    {"qwen2", Decoder, title::kLlama, title::kLlama, "model", One, false},
    {"qwen3", Decoder, title::kLlama, title::kLlama, "model", One, false},
    {"roberta", Encoder, title::kBert, title::kBert, "roberta"},
    {"t5", ModelKind::Transformer, title::kT5, title::kT5, "", One, true, false, true},
    {"xlm-roberta", Encoder, title::kBert, title::kBert, "roberta"},
};

}  // namespace

const ModelFamily* model_family_of(std::string_view model_type) {
  const auto* const family = std::find_if(std::begin(kModelFamilies), std::end(kModelFamilies),
                                          [&](const ModelFamily& one) { return one.model_type == model_type; });
  return family == std::end(kModelFamilies) ? nullptr : family;
}

}  // namespace heed
