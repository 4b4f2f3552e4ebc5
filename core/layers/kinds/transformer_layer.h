// SPDX-License-Identifier: Apache-2.0
// The layers of a Transformer's encoder and decoder: attention and feed-forward, each with a residual and a norm.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "layers/kind_names.h"
#include "layers/kinds/feed_forward.h"
#include "layers/kinds/layer_norm.h"
#include "layers/kinds/multi_head_attention.h"
#include "layers/layer.h"

namespace heed {

// The members that heed_encoder_layer_options and heed_decoder_layer_options share.
struct TransformerLayerOptions {
  FeedForwardOptions feed_forward;
  LayerNormOptions norm;
  bool norm_first = false;
  bool output_norms = false;
  bool no_first_norm = false;
  float residual_scale = 0;  // 0: 1
  float dropout = 0;
};

// The members of heed_encoder_layer_options.
struct EncoderLayerOptions : TransformerLayerOptions {
  MultiHeadAttentionOptions attention;
};

// The members of heed_decoder_layer_options.
struct DecoderLayerOptions : TransformerLayerOptions {
  MultiHeadAttentionOptions self_attention;
  std::optional<MultiHeadAttentionOptions> cross_attention;
};

// A sequence of sublayers f_1, f_2, ...: x_i = norm_i(x_(i-1) + dropout_i(f_i(x_(i-1)))), or with norm_first x_i = x_(i-1) +
// dropout_i(f_i(norm_i(x_(i-1)))). Each f_i is multiplied by residual_scale; with output_norms it passes output_norm_i
// first. With no_first_norm f_1 reads x_0 itself.
class TransformerLayer : public Layer {
 public:
  struct Sublayer {
    ChildRole role;  // of f_i
    std::shared_ptr<Layer> layer;
  };

  LayerDescription describe() const final;

 protected:
  // The sublayers are self_attention, perhaps cross_attention, and feed_forward.
  TransformerLayer(const std::shared_ptr<Context>& context, std::span<const Sublayer> sublayers,
                   const TransformerLayerOptions& options, int64_t size);

  void check(Schedule& schedule, Purpose purpose, LayerCall& call) const final;
  void compose(Schedule& schedule, const LayerCall& call, const OutputValues& outputs) const final;
  void compose_backward(Schedule& schedule, const LayerCall& call, const GradientValues& gradients) const final;
  // The member of the options that has those of attention `index`.
  virtual const char* options_of_attention(size_t index) const = 0;
  // Adds the members of TransformerLayerOptions.
  void write_common_options(JsonWriter& json) const;

 private:
  // What attention `index` reads when its queries are `queries`.
  virtual InputValues attention_inputs(size_t index, const LayerCall& call, const Value& queries,
                                       Schedule& schedule) const = 0;

  // What attention `index` gets whose queries have the gradient `queries`.
  virtual GradientValues attention_gradients(size_t index, const InputGradient& queries,
                                             const GradientValues& gradients) const = 0;
  // Adds the backward of the children between rows x and f(x), whose gradient is of_output. `rows`: by x.
  void compose_sublayer_backward(size_t sublayer, Schedule& schedule, const LayerCall& call,
                                 const GradientValues& gradients, const Value& of_output,
                                 const InputGradient& rows) const;

  size_t num_attentions() const { return num_sublayers_ - 1; }
  // Children are the sublayers, then the norms, the norms of outputs and the dropouts.
  bool has_norm(size_t sublayer) const { return sublayer > 0 || !block_.no_first_norm; }
  size_t num_norms() const { return num_sublayers_ - (block_.no_first_norm ? 1 : 0); }
  size_t norm_of(size_t sublayer) const { return num_norms() + sublayer; }
  size_t output_norm_of(size_t sublayer) const { return num_sublayers_ + num_norms() + sublayer; }
  size_t dropout_of(size_t sublayer) const {
    return output_norm_of(sublayer) + (block_.output_norms ? num_sublayers_ : 0);
  }
  bool drops(const LayerCall& call) const { return call.training.is_on && dropout_ != 0; }

  size_t num_sublayers_;
  float dropout_;
  int64_t size_;
  LayerBlock block_;
};

class EncoderLayer final : public TransformerLayer {
 public:
  // Throws InvalidArgument that names the member of `options`.
  EncoderLayer(const std::shared_ptr<Context>& context, const EncoderLayerOptions& options);

  const char* kind() const override { return kind_name::kEncoderLayer; }
  InputRules input_rules(const LayerInputs& inputs) const override;

 protected:
  const char* options_of_attention(size_t) const override { return "attention"; }
  LayerInputs check_tensors(const LayerInputs& inputs) const override;
  RowMasks row_masks(const LayerInputs& inputs) const override;
  void write_options(JsonWriter& json) const override;

 private:
  InputValues attention_inputs(size_t index, const LayerCall& call, const Value& queries,
                               Schedule& schedule) const override;
  GradientValues attention_gradients(size_t index, const InputGradient& queries,
                                     const GradientValues& gradients) const override;
};

class DecoderLayer final : public TransformerLayer {
 public:
  // Throws InvalidArgument that names the member of `options`.
  DecoderLayer(const std::shared_ptr<Context>& context, const DecoderLayerOptions& options);

  const char* kind() const override { return kind_name::kDecoderLayer; }
  InputRules input_rules(const LayerInputs& inputs) const override;
  std::optional<CacheShape> cache_shape() const override { return child_at(0).cache_shape(); }

 protected:
  const char* options_of_attention(size_t index) const override {
    return index == 0 ? "self_attention" : "cross_attention";
  }
  LayerInputs check_tensors(const LayerInputs& inputs) const override;
  RowMasks row_masks(const LayerInputs& inputs) const override;
  void write_options(JsonWriter& json) const override;

 private:
  InputValues attention_inputs(size_t index, const LayerCall& call, const Value& queries,
                               Schedule& schedule) const override;
  GradientValues attention_gradients(size_t index, const InputGradient& queries,
                                     const GradientValues& gradients) const override;
  static std::vector<Sublayer> sublayers_of(const std::shared_ptr<Context>& context,
                                            const DecoderLayerOptions& options);

  bool has_cross_attention_;
};

// The input rules of encoder layers and encoders. `of_token_types`: the words for a refusal of token types.
inline constexpr InputSet kEncoderReads =
    kSequenceInputs.with(kVisibilityInputs).with({Input::Queries}).without({Input::KeyOffsets, Input::KeyPositions});
constexpr auto encoder_refusals(const char* of_token_types) {
  return std::to_array<Refusal>({
      {{Input::Keys, Input::Values, Input::KeyOffsets, Input::KeyPositions},
       KIND("%s %s layer") " has self-attention alone: expected " WORD("NULL")},
      {kDecoderInputs, KIND("%s %s layer") " is no decoder: expected " WORD("NULL")},
      {kCacheInputs, KIND("%s %s layer") " keeps no keys: expected " WORD("NULL") ", or " WORD(
                         "a decoder layer") " without cross attention"},
      {{Input::TokenTypes}, of_token_types},
      {{Input::OutputRows}, KIND("%s %s layer") " gives the output of all rows: expected " WORD("NULL")},
  });
}

// Those of decoder layers, decoders and, in part, Transformers.
constexpr InputSet decoder_reads(bool has_cross_attention, bool fills_cache) {
  const InputSet of_self = kSelfVisibilityInputs.with(kCacheInputs)
                               .with(kSequenceInputs)
                               .with({Input::Queries})
                               .without({Input::KeyPositions});
  if (!has_cross_attention) return of_self.with({Input::AttentionMask}).without({Input::KeyOffsets});
  const InputSet all = of_self.with({Input::Keys, Input::ValidLens, Input::Mask, Input::Bias, Input::AttentionMask});
  return fills_cache ? all : all.with(kMemoryCacheInputs);
}
inline constexpr Refusal kNoOwnValues = {
    {Input::Values}, KIND("%s %s layer") " has the values of " INPUT("keys") ": expected " WORD("NULL")};
inline constexpr Refusal kNoSlopes = {{Input::AlibiSlopes},
                                      KIND("%s %s layer") " has slopes by the option alibi: expected " WORD("NULL")};
inline constexpr Refusal kNoSinks = {{Input::Sinks},
                                     KIND("%s %s layer") " has sinks by the option sinks: expected " WORD("NULL")};
inline constexpr Refusal kNoKeyPositions = {
    {Input::KeyPositions}, KIND("%s %s layer") " has positions in its self-attention alone: expected " WORD("NULL")};
inline constexpr Refusal kNoOutputRows = {{Input::OutputRows},
                                          KIND("%s %s layer") " gives the output of all rows: expected " WORD("NULL")};
// Those of a stack, which has no output where it fills a cache.
constexpr InputSet with_output_rows(InputSet reads, bool fills_cache) {
  return fills_cache ? reads : reads.with({Input::OutputRows});
}
inline constexpr Refusal kNoMemoryCache = {
    kMemoryCacheInputs, "the call of the " KIND("%s layer") " reads no memory: expected " WORD("NULL")};
constexpr auto decoder_refusals(const char* of_token_types) {
  return std::to_array<Refusal>({
      {{Input::Memory}, KIND("%s %s layer") " has the encoder's output in " INPUT("keys") ": expected " WORD("NULL")},
      kNoOwnValues,
      kNoSlopes,
      kNoSinks,
      kNoMemoryCache,
      kNoKeyPositions,
      kNoOutputRows,
      // Formatting would break the last term into pieces.
      // clang-format off
      {{Input::ValidLens},
       "the " KIND("%s layer") " has no cross attention: expected " WORD("NULL") "; lengths of its rows are "
       INPUT("sequences->query_lens") " or " INPUT("decoder->self_valid_lens") ", and a tokenizer's mask is "
       INPUT("attention_mask")},
      // clang-format on
      {{Input::Keys, Input::Mask, Input::Bias, Input::KeyOffsets},
       "the " KIND("%s layer") " has no cross attention: expected " WORD(
           "NULL") "; what self-attention reads is in " INPUT("decoder")},
      {{Input::TokenTypes}, of_token_types},
  });
}

// Checks which inputs of decoder layers, decoders and Transformers go together.
void check_decoder_settings(const LayerInputs& inputs, bool has_cross_attention, const char* kind);
// Of which rows the masks of tokenizers are.
RowMasks masks_of_encoder(const LayerInputs& inputs);
RowMasks masks_of_decoder(const LayerInputs& inputs, bool has_cross_attention);
// Checks the tensors of decoder layers and decoders besides queries, and fills in their defaults.
LayerInputs check_decoder_tensors(const LayerInputs& inputs, const char* kind, bool has_cross_attention);

}  // namespace heed
