// SPDX-License-Identifier: Apache-2.0
// The convolutions in front of Whisper's encoder (Radford et al., "Robust Speech Recognition via Large-Scale Weak
// Supervision", arXiv 2212.04356, section 2.2).
#pragma once

#include <cstdint>
#include <memory>

#include "layers/kind_names.h"
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

  const char* kind() const override { return kind_name::kAudioEmbedding; }

 protected:
  void check(Schedule& schedule, Purpose purpose, LayerCall& call) const override;
  void compose(Schedule& schedule, const LayerCall& call, const OutputValues& outputs) const override;
  void compose_backward(Schedule& schedule, const LayerCall& call, const GradientValues& gradients) const override;
  void write_options(JsonWriter& json) const override;

 private:
  // A convolution of padded frames, (B, frames, size), over three at a time, from one row to the next `step` frames on.
  struct Convolution {
    const char* operation;
    size_t weight;
    Value frames;
    int64_t step;
    int64_t num_rows;
  };
  Convolution first_convolution(const LayerCall& call) const;
  Convolution second_convolution(const LayerCall& call) const;

  // Sets `count` frames of an array (B, frames, size), the first and those `step` frames behind, to 0.
  void add_zeros(Schedule& schedule, const char* operation, const Value& frames, int64_t count, int64_t step) const;
  // The first and the last one.
  void add_padding(Schedule& schedule, const Value& frames) const;
  // Writes rows first_row and on of the output, and in a call with a backward the sums before the activation.
  void add_convolution(Schedule& schedule, const Convolution& convolution, const LayerCall& call, const Value& output,
                       int64_t first_row) const;
  // Adds the gradients by the parameters from that by the output's rows first_row and on, and, if it is given, the one by the
  // padded frames.
  void add_convolution_backward(Schedule& schedule, const Convolution& convolution, const LayerCall& call,
                                const Value& of_output, int64_t first_row, const Value& of_frames) const;

  AudioEmbeddingOptions options_;
  // As many zeros as the longest frame has elements, F32 on the device.
  Tensor zeros_;
};

}  // namespace heed
