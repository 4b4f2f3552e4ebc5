// SPDX-License-Identifier: Apache-2.0
// A call of an encoder, a decoder or a Transformer that reads ids or rows, with what comes before the first layer and behind the last.
#pragma once

#include <heed/heed.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "support/array.h"
#include "support/block.h"
#include "support/host_tensor.h"

namespace heed::property {

enum class ModelShape { Encoder, Decoder, Transformer };
// What of a Transformer runs: all, the encoder without queries, or the decoder with a memory.
enum class ModelPart { Whole, Encoder, Decoder };

inline constexpr int64_t kNumModelIds = 9;
inline constexpr int64_t kMostModelRows = 7;

// An encoder or decoder with what it reads.
struct ModelSide {
  Block block;
  std::string prefix;  // of its parameters' names
  std::string table;   // the name of the parameter with its embedding; empty: it reads rows
  float scale = 0;
  std::optional<int32_t> positions;  // HEED_POSITIONS_...
  bool has_norm = false;             // of what its first layer reads
  Array source;                      // ids (B, S), or rows (B, S, E)
};

struct ModelCall {
  ModelShape shape = ModelShape::Encoder;
  ModelPart part = ModelPart::Whole;
  int64_t batch = 0;
  int64_t size = 0;  // of rows
  bool shares_table = false;
  std::optional<ModelSide> encoder;
  std::optional<ModelSide> decoder;
  bool has_output = false;
  heed_output_options output = HEED_OUTPUT_OPTIONS_INIT;
  Array memory;  // of a decoder alone
  std::optional<Array> lens;
  std::optional<Array> query_lens;
  std::optional<Array> output_rows;
  int64_t num_last_rows = 0;
  std::map<std::string, Array> parameters;

  // What the output is of.
  const ModelSide& last() const { return is_of_encoder() ? *encoder : *decoder; }
  bool is_of_encoder() const { return shape == ModelShape::Encoder || part == ModelPart::Encoder; }
  bool is_projected() const { return has_output && part != ModelPart::Encoder; }
  bool is_padding(int64_t b, int64_t row) const {
    return query_lens && static_cast<double>(row) >= query_lens->values[static_cast<size_t>(b)];
  }
  int64_t num_classes() const { return output.tied != 0 ? kNumModelIds : output.size; }
  // The rows that the output has.
  int64_t num_wanted() const;
  int64_t wanted_row(int64_t b, int64_t i) const;

  // Of a part of the batch.
  Dims output_dims(int64_t num_elements) const {
    return {num_elements, num_wanted(), is_projected() ? num_classes() : size};
  }
  // Those of inputs that are rows, by the names of heed_layer_gradients' members.
  std::map<std::string, Dims> input_dims(int64_t num_elements) const;
};

Layer make_model(heed_context* context, const ModelCall& call);
// The layer without its parameters.
Layer make_empty_model(heed_context* context, const ModelCall& call);

// The tensors of batch elements first to first + count - 1.
class ModelInputs {
 public:
  ModelInputs(const ModelCall& call, heed_context* context, int64_t first, int64_t count);
  ModelInputs(const ModelInputs&) = delete;
  ModelInputs& operator=(const ModelInputs&) = delete;

  const heed_layer_inputs* get() const { return &inputs_; }

 private:
  std::vector<std::unique_ptr<HostTensor>> tensors_;
  heed_decoder_inputs decoder_ = HEED_DECODER_INPUTS_INIT;
  heed_sequence_inputs sequences_ = HEED_SEQUENCE_INPUTS_INIT;
  heed_layer_inputs inputs_ = HEED_LAYER_INPUTS_INIT;
};

}  // namespace heed::property
