// SPDX-License-Identifier: Apache-2.0
// An embedding: the rows of a table by ids.
#pragma once

#include <cstdint>
#include <memory>

#include "layers/kind_names.h"
#include "layers/layer.h"

namespace heed {

// The members of heed_embedding_options; a scale of 0 means 1.
struct EmbeddingOptions {
  int64_t num_embeddings = 0;
  int64_t embedding_size = 0;
  int64_t padding_index = -1;
  float scale = 0;
  // Another layer projects with the table, too (Linear::Linear).
  bool is_tied = false;
};

// As a child of another layer it adds OutputValues::addend.
class Embedding final : public Layer {
 public:
  // Throws InvalidArgument that names the member of `options`.
  Embedding(std::shared_ptr<Context> context, const EmbeddingOptions& options);

  const char* kind() const override { return kind_name::kEmbedding; }
  // (num_embeddings, embedding_size).
  const Parameter& table() const { return parameter_at(0); }

 protected:
  LayerInputs check_tensors(const LayerInputs& inputs) const override;
  void check(Schedule& schedule, Purpose purpose, LayerCall& call) const override;
  void compose(Schedule& schedule, const LayerCall& call, const OutputValues& outputs) const override;
  void compose_backward(Schedule& schedule, const LayerCall& call, const GradientValues& gradients) const override;
  void write_options(JsonWriter& json) const override;

 private:
  // The ids in row-major order, in the arena of the call. Throws InvalidArgument if one is out of range.
  const int32_t* read_ids(Schedule& schedule, const Tensor& ids, const LayerCall& call) const;

  EmbeddingOptions options_;
};

// Throws InvalidArgument unless these are ids. `name`: the words for them in messages. `words`: for what they are.
void check_ids(const Tensor& ids, const char* name, const IdWords& words = kIdWords);

}  // namespace heed
