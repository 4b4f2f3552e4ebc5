// SPDX-License-Identifier: Apache-2.0
// A Transformer: an encoder, and a decoder that attends to the encoder's output.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include "layers/kind_names.h"
#include "layers/kinds/embedding.h"
#include "layers/kinds/output_layer.h"
#include "layers/kinds/transformer_stack.h"
#include "layers/layer.h"

namespace heed {

// The members of heed_transformer_options.
struct TransformerOptions {
  EncoderOptions encoder;
  DecoderOptions decoder;
  // Of the ids of both.
  std::optional<EmbeddingOptions> embedding;
  std::optional<OutputOptions> output;
};

// Queries are the decoder's rows or ids, and keys the encoder's. Without queries only the encoder runs; with
// DecoderInputs::memory only the decoder.
class Transformer final : public Layer {
 public:
  // Throws InvalidArgument that names the member of `options`.
  Transformer(const std::shared_ptr<Context>& context, const TransformerOptions& options);

  const char* kind() const override { return kind_name::kTransformer; }
  InputRules input_rules(const LayerInputs& inputs) const override;
  LayerDescription describe() const override;
  std::optional<CacheShape> cache_shape() const override { return child_at(decoder()).cache_shape(); }
  std::span<const int64_t> cache_windows() const override { return child_at(decoder()).cache_windows(); }

 protected:
  LayerInputs check_tensors(const LayerInputs& inputs) const override;
  RowMasks row_masks(const LayerInputs& inputs) const override;
  void check(Schedule& schedule, Purpose purpose, LayerCall& call) const override;
  void compose(Schedule& schedule, const LayerCall& call, const OutputValues& outputs) const override;
  DType row_dtype(const LayerInputs& inputs) const override;
  void compose_backward(Schedule& schedule, const LayerCall& call, const GradientValues& gradients) const override;
  void write_options(JsonWriter& json) const override;

 private:
  static std::vector<NamedLayer> children_of(const std::shared_ptr<Context>& context,
                                             const TransformerOptions& options);

  // The children: embedding and decoder_embedding are the same layer, if there is one.
  size_t encoder() const { return has_embedding_ ? 2 : 0; }
  size_t decoder() const { return encoder() + 1; }
  size_t output() const { return encoder() + 2; }
  static bool encodes(const LayerCall& call) {
    return call.inputs.decoder->memory == nullptr && call.inputs.decoder->memory_cache == nullptr;
  }
  // Checks the lookup of ids by child `embedding`, and returns the rows.
  Value check_embedding(size_t embedding, const char* ids_name, const Value& ids, Schedule& schedule, Purpose purpose,
                        LayerCall& call) const;
  void compose_rows(size_t embedding, size_t stack, Schedule& schedule, const LayerCall& call) const;

  const char* encoder_words_;  // for what the encoder reads
  bool has_embedding_;
  bool encoder_reads_ids_;
  bool decoder_reads_ids_;
  bool reads_signals_;  // the encoder: images or features
  bool has_token_types_;
  std::optional<OutputOptions> output_;
};

}  // namespace heed
