// SPDX-License-Identifier: Apache-2.0
// The embedding of an image's patches (Dosovitskiy et al., "An Image is Worth 16x16 Words", arXiv 2010.11929, equation 1).
#pragma once

#include <cstdint>
#include <memory>

#include "layers/kind_names.h"
#include "layers/layer.h"

namespace heed {

// The members of heed_patch_embedding_options.
struct PatchEmbeddingOptions {
  int64_t patch_height = 0;
  int64_t patch_width = 0;
  int64_t num_channels = 0;
  int64_t size = 0;
  bool class_token = false;
  bool no_bias = false;
  // Of all images; 0: any, and of the width that of the height.
  int64_t image_height = 0;
  int64_t image_width = 0;
};

// Images (B, C, H, W) to rows (B, patches, E), after a row of the class token if there is one.
class PatchEmbedding final : public Layer {
 public:
  // Throws InvalidArgument that names the member of `options`.
  PatchEmbedding(std::shared_ptr<Context> context, const PatchEmbeddingOptions& options);

  const char* kind() const override { return kind_name::kPatchEmbedding; }
  LayerDescription describe() const override {
    return {.patch = {options_.num_channels, options_.patch_height, options_.patch_width}};
  }

 protected:
  void check(Schedule& schedule, Purpose purpose, LayerCall& call) const override;
  void compose(Schedule& schedule, const LayerCall& call, const OutputValues& outputs) const override;
  void compose_backward(Schedule& schedule, const LayerCall& call, const GradientValues& gradients) const override;
  void write_options(JsonWriter& json) const override;

 private:
  // Makes images an operand with the axes of their patches: (B, patches down, patches across, C, height, width).
  void set_images(Schedule& schedule, ElementwiseOperand& operand, const Value& images) const;

  // The number of rows before those of the patches.
  int64_t first_row() const { return options_.class_token ? 1 : 0; }

  PatchEmbeddingOptions options_;
};

}  // namespace heed
