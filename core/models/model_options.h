// SPDX-License-Identifier: Apache-2.0
// The options of the layers of a whole model, by its configuration and, for sizes, by its tensors. A file that lacks tensors
// gives sizes of others: the model is made all the same, so that loading it can say everything that is missing.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "families/family.h"
#include "families/model_config.h"
#include "families/model_rope.h"
#include "families/model_settings.h"
#include "layers/child_role.h"
#include "layers/kinds/transformer.h"
#include "layers/kinds/transformer_stack.h"
#include "loading/weight_finder.h"
#include "tensor/safetensors.h"

namespace heed {

class ModelOptions {
 public:
  // The arguments must outlive this object, and it the options that it returns.
  ModelOptions(const ModelConfig& config, const Family& family, const SafetensorsFile& file);

  // Gives tensors of the file, which is that of the constructor, the names by which the layer finds them. Before any options.
  void add_names(SafetensorsFile& file) const;

  // The module of the first layer below the module of the model; "": the whole file.
  std::string first_layer(const std::string& base) const;
  // Whether the file has that layer where files of the family have it.
  bool has_first_layer() const { return has(first_layer(base_)); }

  // What the model is: of a Transformer's family also its encoder alone, as T5EncoderModel.
  ModelKind kind() const;
  // The options of a model of that kind.
  EncoderOptions encoder();
  DecoderOptions decoder();
  TransformerOptions transformer();

  // The prefix of the layer's tensors in the file.
  std::string prefix() const;
  bool is_head_tied() const { return is_head_tied_; }
  // Whether the file has a head with other values than the embedding, although the configuration ties the two.
  bool has_other_head() const { return has_other_head_; }
  // Of all stacks whose options were returned.
  int64_t num_layers() const { return num_layers_; }

 private:
  // A stack in the file.
  struct StackInFile {
    const char* kind;    // of kind_names.h
    const char* layout;  // of the modules around the layers
    std::string base;    // the module of the stack; "": the whole file
    int64_t num_layers = 0;
    bool has_cross_attention = false;
  };

  // Where the file lacks the table of embeddings, and has a head or the table of one side that it is tied to: names the
  // table, too.
  void name_tied_table(SafetensorsFile& file) const;
  // Whether each side of the Transformer has a table of its own; the head is tied to that of the decoder.
  bool has_own_tables() const;

  StackInFile stack_in_file(const char* kind, const char* layout, std::string base, bool has_cross_attention) const;
  // The module of a child of the stack, below its base; "" if the layout has none.
  static std::string module_of(const StackInFile& stack, ChildRole child, size_t number = 0);
  std::string module_of_layer(const StackInFile& stack, int64_t layer, ChildRole child) const;
  bool has(const std::string& module) const;
  // Of the parameter in the file; no entry if it is missing.
  StoredParameter find(const std::string& module, const char* parameter) const;
  // The dims of the tensor, or those given if it is missing.
  Shape dims_of(const std::string& module, const char* parameter, const Shape& otherwise) const;

  // The members of the layers' options that do not differ between encoder and decoder.
  void set_layer(const StackInFile& stack, int64_t layer, TransformerLayerOptions& options) const;
  MultiHeadAttentionOptions attention_options(const StackInFile& stack, int64_t layer, ChildRole child,
                                              bool is_decoder);
  void add_encoder_layers(const StackInFile& stack, EncoderOptions& options);
  void add_decoder_layers(const StackInFile& stack, DecoderOptions& options);
  // Fails if ALBERT has several groups of layers.
  void require_one_shared_layer() const;
  int64_t hidden_size(const StackInFile& stack) const;
  int64_t feed_forward_size(const StackInFile& stack, int64_t layer) const;
  // Sets what messages call the number of positions of a stack: the setting that says it.
  void name_positions(bool is_encoder, PositionalEncodingOptions& options) const;
  template <typename LayerOptions>
  void set_stack(const StackInFile& stack, StackOptions<LayerOptions>& options);
  // The options of the head, if the model has one. `size`: of the hidden states. `embedding`: the module of the table.
  std::optional<OutputOptions> output_options(int64_t size, const std::string& embedding);
  // Whether the file has a head with other values than the table. Fails if the layer has no place for it.
  bool find_other_head(const SafetensorsEntry& table) const;
  // The module of the embedding of both sides of a Transformer.
  std::string shared_embedding() const;
  // Fails unless the table has rows of that size.
  void require_row_size(const std::string& module, const Shape& table, int64_t size) const;
  PatchEmbeddingOptions patch_options(const std::string& module) const;
  void set_image_size(PatchEmbeddingOptions& options) const;
  // Fails unless images of the model's size have that number of patches, and a class token.
  void require_image_size(const PatchEmbeddingOptions& patches, int64_t num_positions) const;
  AudioEmbeddingOptions audio_options(const std::string& module) const;
  EmbeddingOptions embedding_options(const std::string& module, int64_t size) const;
  // Whether the name of a class in `architectures` has one of these endings.
  bool has_class(std::span<const std::string_view> endings) const;

  const ModelConfig& config_;
  const Family& family_;
  const SafetensorsFile& file_;
  ModelSettings settings_;
  std::string base_;
  // Whether the head has parameters of its own, which lie beside the model.
  bool is_head_beside_ = false;
  bool is_head_tied_ = false;
  bool has_other_head_ = false;
  int64_t num_layers_ = 0;
  // The memory of rotary factors in the options.
  std::deque<std::vector<ModelRopeFactors>> kept_;
};

}  // namespace heed
