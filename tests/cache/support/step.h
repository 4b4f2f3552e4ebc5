// SPDX-License-Identifier: Apache-2.0
// One call of a layer with a cache: which rows it gives to which sequences, in which form, and what comes out for each
// sequence.
#pragma once

#include <gtest/gtest.h>
#include <heed/heed.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "cache/support/cached_layer.h"
#include "cache/support/caches.h"
#include "cache/support/rows.h"
#include "property/support/host_tensor.h"
#include "support/numbers.h"

namespace heed::cache_test {

// The rows that a call gives to one sequence, by their numbers.
struct Part {
  int64_t sequence = 0;
  std::vector<int64_t> rows;
  std::vector<int64_t> positions = {};  // none: not given
};

// How a call is made.
struct Form {
  bool is_packed = false;
  int64_t layer = 0;  // of the cache
  int32_t use = HEED_CACHE_APPEND;
  bool names_sequences = true;  // false: part b must be sequence b
  bool with_workspace = false;
  bool with_log_sum_exp = true;
  bool with_weights = false;
  std::optional<heed_dtype> output_dtype = {};  // none: that of the rows
  heed_dtype index_dtype = HEED_I64;            // of sequences, lengths, offsets and positions
  int64_t padded_rows = 0;                      // Q of a padded call, if it is above the number of rows of each part
  double padding = kNaN;                        // what the rows hold that belong to no part
  // (B, H, Q, K) or (Q, K), or with Q in place of K; (H).
  std::optional<property::Input> mask = {};
  std::optional<property::Input> bias = {};
  std::optional<property::Input> alibi_slopes = {};
  std::optional<property::Input> sinks = {};
};

// The tensors of a call. A test may change the structs before it runs the call.
class Step {
 public:
  Step(const CachedLayer& layer, heed_cache* cache, const std::vector<Part>& parts, const Form& form = {});
  Step(const Step&) = delete;
  Step& operator=(const Step&) = delete;

  heed_status run() const { return run_with(workspace_.get()); }
  heed_status run_with(heed_workspace* workspace) const;
  // heed_layer_fill_cache.
  heed_status fill() const;
  size_t workspace_size() const;

  // Output (n, size), log_sum_exp (H, n) and weights (H, n, K) of each part. Checks the results of rows that belong to
  // no part, and that no input was written.
  std::vector<property::Results> results() const;

  // A tensor that lives as long as the call.
  heed_tensor* input(const property::Input& contents);

  heed_sequence_inputs sequences = HEED_SEQUENCE_INPUTS_INIT;
  heed_cache_inputs cache = HEED_CACHE_INPUTS_INIT;
  heed_layer_inputs inputs = HEED_LAYER_INPUTS_INIT;
  heed_layer_outputs outputs = HEED_LAYER_OUTPUTS_INIT;

 private:
  void give_rows();
  void give_sequences();
  void give_limits();
  void make_outputs();
  int64_t num_keys() const;
  // The index of row `row` of part b among all rows of queries.
  size_t index_of(size_t b, int64_t row) const;
  size_t index_in_head(size_t b, int64_t head, int64_t row) const;
  int64_t num_rows(size_t b) const { return static_cast<int64_t>(parts_[b].rows.size()); }
  void expect_empty_padding(size_t b) const;

  const CachedLayer& layer_;
  std::vector<Part> parts_;
  Form form_;
  int64_t num_padded_ = 0;       // Q
  std::vector<int64_t> firsts_;  // of each part, in a packed call; at the end the number of all rows
  std::vector<property::HostTensor> inputs_;
  std::optional<property::HostTensor> output_;
  std::optional<property::HostTensor> log_sum_exp_;
  std::optional<property::HostTensor> weights_;
  property::GuardedWorkspace workspace_;
};

// Makes the call. Throws CallFailed.
std::vector<property::Results> forward(const CachedLayer& layer, heed_cache* cache, const std::vector<Part>& parts,
                                       const Form& form = {});
property::Results forward_one(const CachedLayer& layer, heed_cache* cache, const Part& part, const Form& form = {});

// heed_layer_fill_cache. Throws CallFailed.
void fill_cache(const CachedLayer& layer, heed_cache* cache, const std::vector<Part>& parts, const Form& form = {});

// The results of each row as bytes: its output, then its log_sum_exp in each head.
using RowBits = std::vector<std::vector<uint8_t>>;
RowBits row_bits(const property::Results& results);

// Whether the rows have the same bits; the first that differs is named.
testing::AssertionResult same_rows(const RowBits& a, const RowBits& b);

RowBits last_rows(const RowBits& rows, size_t count);

// The rows are given to the sequence in calls of these numbers of rows.
RowBits append_in_pieces(const CachedLayer& layer, heed_cache* cache, int64_t sequence,
                         const std::vector<int64_t>& rows, const std::vector<int64_t>& sizes, const Form& form = {});

// What a new contiguous cache gives for rows that are all appended by one call. Of `like` only the dtype and
// unrotated_keys count.
property::Results replay(const CachedLayer& layer, const heed_cache_options& like, const std::vector<int64_t>& rows,
                         const std::vector<int64_t>& positions = {}, const Form& form = {});

}  // namespace heed::cache_test
