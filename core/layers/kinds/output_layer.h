// SPDX-License-Identifier: Apache-2.0
// The projection of a model's last rows, such as to logits: a linear layer, with a weight of its own or the table of the
// embedding.
#pragma once

#include <cstdint>
#include <memory>

#include "base/json_writer.h"
#include "layers/kinds/embedding.h"
#include "layers/layer.h"

namespace heed {

// The members of heed_output_options; a scale of 0 means 1.
struct OutputOptions {
  int64_t size = 0;  // 0: with a tied weight the number of embeddings
  bool is_tied = false;
  bool has_bias = false;
  float scale = 0;
  float soft_cap = 0;
};

// The setting that gives the layer a bias, without the member "output".
inline constexpr const char* kOutputBiasOption = SETTING("bias", "1");

// Throws InvalidArgument that names the member of `options->output`. `embedding`: with a tied weight, of rows of the size
// that the layer reads; null: there is none.
std::shared_ptr<Layer> make_output_layer(const std::shared_ptr<Context>& context, const OutputOptions& options,
                                         const Embedding* embedding);

// Adds the options as an object.
void write_options(const OutputOptions& options, JsonWriter& json);

}  // namespace heed
