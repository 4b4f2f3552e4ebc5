// SPDX-License-Identifier: Apache-2.0
// A tokenizer's mask for a call: attention_mask of heed_layer_inputs, or self_attention_mask of heed_decoder_inputs.
#pragma once

#include <heed/heed.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "capi/support/objects.h"
#include "fuzz/support/bytes.h"

namespace heed::fuzz {

// 1 for each row that counts and 0 for each that is hidden, in any dtype; rarely with another number or other dims.
class RowMask {
 public:
  RowMask(int64_t batch, int64_t num_rows, Bytes& bytes);

  // Whether every call with it must be refused.
  bool is_wrong() const { return has_wrong_dims_ || wrong_element_.has_value(); }
  bool shows(int64_t b, int64_t row) const { return shown_[static_cast<size_t>(b * num_rows_ + row)]; }
  // The visible rows of a batch element, in order.
  std::vector<int64_t> visible(int64_t b) const;

  // Of batch elements first to first + count - 1.
  capi_test::Tensor tensor(heed_context* context, int64_t first, int64_t count) const;

 private:
  void spoil(Bytes& bytes);

  int64_t batch_;
  int64_t num_rows_;
  heed_dtype dtype_;
  std::vector<bool> shown_;  // [batch][num_rows]
  bool has_wrong_dims_ = false;
  capi_test::Dims wrong_dims_;
  std::optional<double> wrong_element_;  // the first one
};

}  // namespace heed::fuzz
