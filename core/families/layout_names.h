// SPDX-License-Identifier: Apache-2.0
// Names of the layouts that several families of models share, for messages. named_attention.cc tells the families apart.
#pragma once

namespace heed::layout_name {

inline constexpr const char* kBert = "Hugging Face BERT";
inline constexpr const char* kViT = "Hugging Face ViT";
inline constexpr const char* kAlbert = "Hugging Face ALBERT";
inline constexpr const char* kBart = "Hugging Face BART";
inline constexpr const char* kLlama = "Hugging Face Llama";
inline constexpr const char* kT5 = "Hugging Face T5";
inline constexpr const char* kT5EncoderModel = "Hugging Face T5EncoderModel";
inline constexpr const char* kDistilBert = "Hugging Face DistilBERT";
inline constexpr const char* kGpt2 = "Hugging Face GPT-2";
inline constexpr const char* kGptNeoX = "Hugging Face GPT-NeoX";
inline constexpr const char* kPhi3 = "Hugging Face Phi-3";
inline constexpr const char* kMpt = "Hugging Face MPT";
inline constexpr const char* kModernBert = "Hugging Face ModernBERT";
inline constexpr const char* kClip = "Hugging Face CLIP";
inline constexpr const char* kOpt = "Hugging Face OPT";
inline constexpr const char* kGemma2 = "Hugging Face Gemma 2";
inline constexpr const char* kTimm = "timm Attention";
inline constexpr const char* kKerasTransformer = "Keras TransformerEncoder";
inline constexpr const char* kPyTorchTransformer = "PyTorch nn.Transformer";

}  // namespace heed::layout_name
