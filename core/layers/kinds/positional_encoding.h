// SPDX-License-Identifier: Apache-2.0
// Positional encoding: adds to each row the row of its position in a table, sinusoidal or learned.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "layers/kind_names.h"
#include "layers/layer.h"
#include "ops/sequence.h"

namespace heed {

// The numbers of HEED_POSITIONS_; capi/src asserts it.
enum class PositionKind : int32_t { Sinusoidal = 0, SinusoidalHalves = 1, Learned = 2, SinusoidalHalves2i = 3 };

// The members of heed_positional_encoding_options.
struct PositionalEncodingOptions {
  int64_t max_positions = 0;
  int64_t size = 0;
  int64_t first_row = 0;
  // The caller's option that is max_positions; null: it is of the model in a folder, by a setting of config.json, if that has it.
  const char* max_option = OPTION("max_positions");
  const char* max_setting = nullptr;
  float dropout = 0;
  PositionKind kind = PositionKind::Sinusoidal;
};

// The words for max_positions in messages of calls.
std::string words_of_max(const PositionalEncodingOptions& options);

class PositionalEncoding final : public Layer {
 public:
  // Throws InvalidArgument that names the member of `options`.
  PositionalEncoding(std::shared_ptr<Context> context, const PositionalEncodingOptions& options);

  const char* kind() const override { return kind_name::kPositionalEncoding; }
  InputRules input_rules(const LayerInputs& inputs) const override;
  LayerDescription describe() const override;

 protected:
  void check(Schedule& schedule, Purpose purpose, LayerCall& call) const override;
  void compose(Schedule& schedule, const LayerCall& call, const OutputValues& outputs) const override;
  void compose_backward(Schedule& schedule, const LayerCall& call, const GradientValues& gradients) const override;
  void write_options(JsonWriter& json) const override;

 private:
  // The row of the table of each row of the call, and -1 for padding; null if positions are not read. In the arena.
  const int32_t* table_rows(Schedule& schedule, const LayerCall& call) const;
  // Throws InvalidArgument if rows without given positions are more than the table has. `continues`: they continue the
  // sequences of a cache. `name`: of the input with the rows.
  void check_num_rows(const KeyLimits& limits, int64_t batch, bool continues, const char* name) const;

  PositionalEncodingOptions options_;
  // The sinusoids, (max_positions, size) of F32 on the device; empty for a learned table.
  std::optional<Tensor> sinusoids_;
};

}  // namespace heed
