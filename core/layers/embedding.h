// SPDX-License-Identifier: Apache-2.0
// An embedding: the rows of a table by ids.
#pragma once

#include <cstdint>
#include <memory>

#include "layers/layer.h"

namespace heed {

// The members of heed_embedding_options; a scale of 0 means 1.
struct EmbeddingOptions {
  int64_t num_embeddings = 0;
  int64_t embedding_size = 0;
  int64_t padding_index = -1;
  float scale = 0;
};

class Embedding final : public Layer {
 public:
  // Throws InvalidArgument that names the member of `options`.
  Embedding(std::shared_ptr<Context> context, const EmbeddingOptions& options);

  const char* kind() const override { return "embedding"; }

 protected:
  LayerInputs check_tensors(const LayerInputs& inputs) const override;
  void check(Schedule& schedule, Purpose purpose, LayerCall& call) const override;
  void compose(Schedule& schedule, const LayerCall& call, const OutputValues& outputs) const override;
  void write_options(JsonWriter& json) const override;

 private:
  // The ids in row-major order, in the arena of the call. Throws InvalidArgument if one is out of range.
  const int32_t* read_ids(Schedule& schedule, const Tensor& ids) const;

  EmbeddingOptions options_;
};

}  // namespace heed
