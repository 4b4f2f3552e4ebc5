// SPDX-License-Identifier: Apache-2.0
// The convolutions in front of Whisper's encoder (Radford et al., "Robust Speech Recognition via Large-Scale Weak
// Supervision", arXiv 2212.04356, section 2.2).
#pragma once

#include <cstdint>
#include <memory>

#include "layers/layer.h"
#include "tensor/tensor.h"

namespace heed {

// The members of heed_audio_embedding_options.
struct AudioEmbeddingOptions {
  int64_t num_mels = 0;
  int64_t size = 0;
};

// Features (B, mels, T) to rows (B, T / 2 rounded up, E), by two convolutions over 3 frames, of which the second takes every
// second one, each with GELU.
class AudioEmbedding final : public Layer {
 public:
  // Throws InvalidArgument that names the member of `options`.
  AudioEmbedding(std::shared_ptr<Context> context, const AudioEmbeddingOptions& options);

  const char* kind() const override { return "audio_embedding"; }

 protected:
  LayerInputs check_tensors(const LayerInputs& inputs) const override;
  void check(Schedule& schedule, Purpose purpose, LayerCall& call) const override;
  void compose(Schedule& schedule, const LayerCall& call, const OutputValues& outputs) const override;
  void write_options(JsonWriter& json) const override;

 private:
  // Sets the first and the last frame of an array (B, frames, size) to 0.
  void add_padding(Schedule& schedule, const Value& frames) const;
  // A convolution of a padded array, over three frames at a time, from one to the next `step` frames on.
  void add_convolution(Schedule& schedule, const char* operation, size_t weight, const Value& frames, int64_t step,
                       int64_t num_rows, const Value& output, int64_t first_row) const;

  AudioEmbeddingOptions options_;
  // As many zeros as the longest frame has elements, F32 on the device.
  Tensor zeros_;
};

}  // namespace heed
