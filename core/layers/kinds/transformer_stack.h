// SPDX-License-Identifier: Apache-2.0
// Stacks of encoder or decoder layers: each reads the output of the one before.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/host_allocator.h"
#include "layers/cache_call.h"
#include "layers/kind_names.h"
#include "layers/kinds/embedded_layer.h"
#include "layers/kinds/output_layer.h"
#include "layers/kinds/transformer_layer.h"
#include "layers/layer.h"

namespace heed {

// The members of heed_encoder_options and heed_decoder_options.
template <typename LayerOptions>
struct StackOptions : EmbeddedOptions {
  // One for all layers, or one for each.
  std::vector<LayerOptions> layers;
  int64_t num_layers = 0;
  bool final_norm = false;
  bool share_layers = false;
  std::optional<OutputOptions> output;
};
using EncoderOptions = StackOptions<EncoderLayerOptions>;
using DecoderOptions = StackOptions<DecoderLayerOptions>;

// Throws InvalidArgument unless a stack may have so many layers.
void check_num_layers(int64_t num_layers);

class TransformerStack : public EmbeddedLayer {
 public:
  LayerDescription describe() const final;

 protected:
  // The children of a stack: those of EmbeddedLayer, the layers, and perhaps a norm and the output.
  struct Parts {
    std::vector<NamedLayer> children;
    int64_t size = 0;
    float dropout = 0;
  };
  template <typename LayerOptions>
  TransformerStack(const std::shared_ptr<Context>& context, const StackOptions<LayerOptions>& options,
                   const Parts& parts);

  // Throws InvalidArgument that names the member of `options`.
  template <typename LayerKind, typename LayerOptions>
  static Parts make_parts(const std::shared_ptr<Context>& context, const StackOptions<LayerOptions>& options);

  void check(Schedule& schedule, Purpose purpose, LayerCall& call) const final;
  void compose(Schedule& schedule, const LayerCall& call, const OutputValues& outputs) const final;
  void compose_backward(Schedule& schedule, const LayerCall& call, const GradientValues& gradients) const final;
  void write_options(JsonWriter& json) const final;
  // The member of the options that has those of a child; "": none.
  std::string options_of_child(size_t index) const;
  size_t num_layers() const { return num_layers_; }

 private:
  // What a layer reads of the stack's inputs when its rows are `rows`: with caches its own layer of them.
  InputValues inputs_of_layer(size_t child, const LayerCall& call, const Value& rows) const;
  bool is_layer(size_t child) const {
    return child >= num_first_children() && child < num_first_children() + num_layers_;
  }

  // In a stack whose layers have windows, a ring is no window: throws if one shows fewer rows than a layer sees.
  void check_rings(Schedule& schedule, const LayerCall& call) const;

  size_t num_layers_;
  // Of the options, for write_options.
  bool has_layers_of_their_own_;
  bool share_layers_;
  bool final_norm_;
  std::optional<OutputOptions> output_;
};

class Encoder final : public TransformerStack {
 public:
  // Throws InvalidArgument that names the member of `options`.
  Encoder(const std::shared_ptr<Context>& context, const EncoderOptions& options);

  const char* kind() const override { return kind_name::kEncoder; }
  InputRules input_rules(const LayerInputs& inputs) const override;

 protected:
  LayerInputs check_tensors(const LayerInputs& inputs) const override;
  RowMasks row_masks(const LayerInputs& inputs) const override;
};

class Decoder final : public TransformerStack {
 public:
  // Throws InvalidArgument that names the member of `options`.
  Decoder(const std::shared_ptr<Context>& context, const DecoderOptions& options);

  const char* kind() const override { return kind_name::kDecoder; }
  InputRules input_rules(const LayerInputs& inputs) const override;
  // Nothing if the layers' attentions have different sizes.
  std::optional<CacheShape> cache_shape() const override;
  std::span<const int64_t> cache_windows() const override { return windows_; }

 protected:
  LayerInputs check_tensors(const LayerInputs& inputs) const override;
  RowMasks row_masks(const LayerInputs& inputs) const override;

 private:
  bool has_cross_attention_;
  HostVector<int64_t> windows_;  // of each layer, 0: all rows; empty if all are 0
};

}  // namespace heed
