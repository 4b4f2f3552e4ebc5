// SPDX-License-Identifier: Apache-2.0
// Stacks of encoder or decoder layers: each reads the output of the one before.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "layers/layer.h"
#include "layers/transformer_layer.h"

namespace heed {

// The members of heed_encoder_options and heed_decoder_options.
template <typename LayerOptions>
struct StackOptions {
  LayerOptions layer;
  int64_t num_layers = 0;
  bool final_norm = false;
};
using EncoderOptions = StackOptions<EncoderLayerOptions>;
using DecoderOptions = StackOptions<DecoderLayerOptions>;

class TransformerStack : public Layer {
 protected:
  // `children`: the layers, and perhaps a norm.
  TransformerStack(std::shared_ptr<Context> context, std::span<const NamedLayer> children, size_t num_layers);

  void check(Schedule& schedule, Purpose purpose, LayerCall& call) const final;
  void compose(Schedule& schedule, const LayerCall& call, const OutputValues& outputs) const final;
  void write_options(JsonWriter& json) const final;
  const char* options_of_child(size_t index) const final { return index < num_layers_ ? "layer" : "layer->norm"; }

 private:
  size_t num_layers_;
};

class Encoder final : public TransformerStack {
 public:
  // Throws InvalidArgument that names the member of `options`.
  Encoder(const std::shared_ptr<Context>& context, const EncoderOptions& options);

  const char* kind() const override { return "encoder"; }

 protected:
  LayerInputs check_tensors(const LayerInputs& inputs) const override;
};

class Decoder final : public TransformerStack {
 public:
  // Throws InvalidArgument that names the member of `options`.
  Decoder(const std::shared_ptr<Context>& context, const DecoderOptions& options);

  const char* kind() const override { return "decoder"; }

 protected:
  LayerInputs check_tensors(const LayerInputs& inputs) const override;

 private:
  bool has_cross_attention_;
};

}  // namespace heed
