// SPDX-License-Identifier: Apache-2.0
// What comes before the first layer of a stack: embeddings of ids, positions and a norm.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "layers/kinds/audio_embedding.h"
#include "layers/kinds/embedding.h"
#include "layers/kinds/layer_norm.h"
#include "layers/kinds/patch_embedding.h"
#include "layers/kinds/positional_encoding.h"
#include "layers/layer.h"

namespace heed {

// The members of heed_encoder_options and heed_decoder_options.
struct EmbeddedOptions {
  std::optional<EmbeddingOptions> embedding;
  std::optional<PatchEmbeddingOptions> patches;
  std::optional<AudioEmbeddingOptions> audio;
  std::optional<PositionalEncodingOptions> positions;
  int64_t num_token_types = 0;
  bool embedding_norm = false;
  bool no_projection_bias = false;
};

// The words for what a layer with these options reads, such as "ids".
const char* words_of_rows(const EmbeddedOptions& options);

// A layer that reads rows (B, S, E) or packed (total, E), with an embedding the ids of rows, (B, S) or (total), or what the
// child patches or audio reads. Its first children turn them into the rows of the first layer, in this order:
//   embedding, token_type_embedding   rows of their tables, added
//   patches, audio                    rows of images or of features, one of them
//   positions                         added
//   embedding_norm
//   embedding_projection              to E, if the embedding has another size; before positions if these have the size E
//   embedding_dropout
class EmbeddedLayer : public Layer {
 public:
  // The first children. Throws InvalidArgument that names the member of `options`. `size`: E. `norm`: of embedding_norm.
  // `is_tied`: the table also projects the output.
  static std::vector<NamedLayer> first_children(const std::shared_ptr<Context>& context, const EmbeddedOptions& options,
                                                int64_t size, const LayerNormOptions& norm, float dropout,
                                                bool is_tied);

 protected:
  // `children`: those of first_children and then others.
  EmbeddedLayer(std::shared_ptr<Context> context, std::span<const NamedLayer> children, const EmbeddedOptions& options,
                int64_t size, float dropout);

  bool has_embedding() const { return options_.embedding.has_value(); }
  // Whether queries are images or features.
  bool reads_signals() const { return options_.patches || options_.audio; }
  // The words for queries.
  const char* words_of_input() const { return words_of_rows(options_); }
  // The number of children of first_children.
  size_t num_first_children() const { return num_first_children_; }

  // Whether the layer reads token types.
  bool has_token_types() const { return options_.num_token_types != 0; }
  // Checks queries, ids with an embedding and rows without, and token types. Throws InvalidArgument.
  void check_rows_or_ids(const LayerInputs& inputs) const;
  // Checks queries and the first children, and returns the rows of the first layer.
  Value check_first_children(Schedule& schedule, Purpose purpose, LayerCall& call) const;
  // Sets the limits of the first children's rows, once the first layer knows them.
  void set_row_limits(LayerCall& call, const KeyLimits* limits) const;
  void compose_first_children(Schedule& schedule, const LayerCall& call) const;
  // `of_rows`: by the rows of the first layer.
  void compose_first_children_backward(Schedule& schedule, const LayerCall& call, const Value& of_rows,
                                       const GradientValues& gradients) const;
  // The dtype of rows: that of the inputs, or of the embedding.
  DType row_dtype(const LayerInputs& inputs) const final;
  void write_embedded_options(JsonWriter& json) const;

 private:
  // Throws InvalidArgument if a learned table has not one position for each row of the patches.
  void check_num_patches(const LayerCall& call, int64_t num_rows) const;
  bool drops(const LayerCall& call) const { return call.training.is_on && dropout_ != 0; }

  EmbeddedOptions options_;
  int64_t size_;
  float dropout_;
  size_t num_first_children_ = 0;
};

// Throws InvalidArgument if lengths of a stack's rows are (B, S), as a tokenizer's mask is. `mask`: the words for where that goes.
void require_lens_of_elements(const Tensor* lens, const char* name, const char* mask);
// `words`: what the encoder reads.
[[noreturn]] void fail_mask_of_signals(const char* words);

// Throws InvalidArgument unless ids are (B, S), or packed (total). `name`: the words for them in messages.
void check_ids_of_rows(const Value& ids, bool is_packed, const char* name);

}  // namespace heed
