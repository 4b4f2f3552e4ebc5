// SPDX-License-Identifier: Apache-2.0
// The tensors of one call of a layer, and the structs that refer to them.
#pragma once

#include <heed/heed.h>

#include <memory>
#include <optional>
#include <vector>

#include "support/call.h"
#include "support/host_tensor.h"

namespace heed::property {

class Arguments {
 public:
  Arguments(heed_context* context, const heed_layer* layer, const Call& call);
  Arguments(const Arguments&) = delete;
  Arguments& operator=(const Arguments&) = delete;

  const heed_layer_inputs* inputs() const { return &inputs_; }
  const heed_layer_outputs* outputs() const { return &outputs_; }

  // The results after the call. Throws where it changed an input, or memory between the elements of a result.
  Results read() const;

 private:
  const heed_tensor* add_input(const Input& input) { return input_tensors_.emplace_back(context_, input).handle(); }
  void read_from_cache(const heed_layer* layer, const Call& call);
  heed_tensor* add_output(std::optional<HostTensor>& tensor, const std::optional<OutputRequest>& request,
                          const Dims& right_dims);

  heed_context* context_;
  std::vector<HostTensor> input_tensors_;
  std::unique_ptr<heed_cache, Destroyer<heed_cache_destroy>> cache_;
  heed_cache_inputs cached_ = HEED_CACHE_INPUTS_INIT;
  std::optional<HostTensor> output_;
  std::optional<HostTensor> weights_;
  std::optional<HostTensor> log_sum_exp_;
  heed_sequence_inputs sequences_ = HEED_SEQUENCE_INPUTS_INIT;
  heed_decoder_inputs decoder_ = HEED_DECODER_INPUTS_INIT;
  heed_layer_inputs inputs_ = HEED_LAYER_INPUTS_INIT;
  heed_layer_outputs outputs_ = HEED_LAYER_OUTPUTS_INIT;
};

}  // namespace heed::property
