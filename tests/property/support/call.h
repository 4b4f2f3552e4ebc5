// SPDX-License-Identifier: Apache-2.0
// The description of one attention call: run() makes it through the C API, solve() computes it by the reference.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "property/support/device.h"
#include "property/support/guarded_workspace.h"
#include "reference/attention.h"
#include "reference/multi_head_attention.h"
#include "support/block.h"
#include "support/host_tensor.h"

namespace heed::property {

enum class Kind { DotProductRank3, DotProductRank4, MultiHead, Additive, General };

// Copies the members that the options of every kind have.
template <typename From, typename To>
void copy_shared_options(const From& from, To& to) {
  to.scale = from.scale;
  to.soft_cap = from.soft_cap;
  to.dropout = from.dropout;
  to.causal = from.causal;
  to.window = from.window;
  to.window_left = from.window_left;
  to.window_right = from.window_right;
  to.empty_rows = from.empty_rows;
}

struct OutputRequest {
  heed_dtype dtype = HEED_F32;
  Layout layout = Layout::RowMajor;
  std::optional<Dims> dims = {};  // instead of the shape by rule 1
  int64_t unused_before = 0;      // as in Input
};

struct Call {
  Kind kind = Kind::MultiHead;
  // Other kinds use the members that their own options have, too.
  heed_multi_head_attention_options options = HEED_MULTI_HEAD_ATTENTION_OPTIONS_INIT;

  Input queries;
  std::optional<Input> keys;
  std::optional<Input> values;
  std::optional<Input> valid_lens;
  std::optional<Input> mask;
  std::optional<Input> bias;
  std::optional<Input> alibi_slopes;
  std::optional<Input> sinks;
  std::optional<Input> positions;
  std::optional<Input> query_lens;
  std::optional<Input> query_offsets;
  std::optional<Input> key_offsets;
  std::optional<Input> key_positions;
  std::optional<Input> attention_mask;
  // A decoder's: those of its self-attention.
  std::optional<Input> self_valid_lens;
  std::optional<Input> self_mask;
  std::optional<Input> self_bias;
  std::optional<Input> self_attention_mask;
  std::optional<heed_rope_options> rope;  // instead of options.rope; its factors are rope_factors
  std::vector<float> rope_factors;
  std::map<std::string, Input> parameters;
  // A layer that is made of others, with these parameters, in place of multi-head attention. `options` are those of its
  // self-attention, and keys the encoder's rows.
  std::optional<Block> block;
  uint64_t dropout_seed = 0;
  int32_t training = 0;
  // heed_layer_fill_cache puts keys and values into a cache of F32 with this layout, and the call reads them from there.
  std::optional<int32_t> cache_layout;
  // The inputs' cache, of the runner's context.
  const heed_cache_inputs* cache = nullptr;

  std::optional<OutputRequest> output = OutputRequest();
  std::optional<OutputRequest> weights;
  std::optional<OutputRequest> log_sum_exp;

  bool with_workspace = false;
  // Dot-product attention by heed_scaled_dot_product_attention, without a layer or a workspace.
  bool in_one_call = false;
  int32_t num_threads = 0;
  bool flush_subnormals = false;  // solve() does not read it
  const heed_executor* executor = nullptr;
};

struct Result {
  heed_dtype dtype = HEED_F32;
  Array contents;
  std::vector<uint8_t> bytes;
};

// The results that the call requested.
struct Results {
  std::optional<Result> output;
  std::optional<Result> weights;
  std::optional<Result> log_sum_exp;
};

// The sizes B, H, Hkv, Q, K, D, Dv of a call; in a packed batch the largest Q and K of its elements.
reference::AttentionSizes sizes_of(const Call& call);
// The parameters name.weight and name.bias.
reference::Projection projection_of(const Call& call, const std::string& name);

// How many keys of a call's layer every row sees.
int64_t num_constant_keys(const Call& call);

// The shapes that the results have by rule 1.
struct ResultDims {
  Dims output;
  Dims weights;
  Dims log_sum_exp;
};
ResultDims result_dims(const Call& call);

// A context, and a layer with the call's options and parameters.
class Runner {
 public:
  explicit Runner(const Call& call);

  heed_context* context() const { return main().context.get(); }
  heed_layer* layer() const { return main().layer.get(); }

  // Throws CallFailed. Checks that the inputs, and the memory between elements of results, are unchanged.
  Results forward(const Call& call, heed_workspace* workspace = nullptr) const;

  // What attempt(context, layer) returns, which makes one call on the device; see on_device.
  template <typename Attempt>
  auto on_device(const Attempt& attempt) const {
    return property::on_device([&](Fallback fallback) {
      Opened& opened = opened_[static_cast<size_t>(fallback)];
      if (opened.layer == nullptr) opened = open(made_for_, fallback);
      return attempt(opened.context.get(), opened.layer.get());
    });
  }

  size_t workspace_size(const Call& call) const;
  GuardedWorkspace make_workspace(size_t num_bytes) const;

 private:
  struct Opened {
    Context context;
    Layer layer;
  };
  static Opened open(const Call& call, Fallback fallback);
  const Opened& main() const { return opened_[static_cast<size_t>(first_fallback())]; }

  Call made_for_;  // without inputs and outputs: what open() reads
  // Indexed by Fallback; each is opened at its first use.
  mutable Opened opened_[2];
};

// Runs a call with a new context and layer. If the call wants a workspace, it has exactly the needed size.
Results run(const Call& call);

// The expected results with their error bounds, in the shapes of result_dims.
reference::AttentionResult solve(const Call& call);

// What solve() solves for dot-product attention, of a packed call in its padded form.
reference::AttentionProblem attention_problem(const Call& call);
// The same for the kinds with parameters.
reference::MultiHeadProblem multi_head_problem(const Call& call);

// The largest used fraction of rule 15's bound over all compared elements.
struct AccuracyStatistics {
  double largest_fraction = 0.0;
  std::string where;
  int64_t elements = 0;
  int64_t without_bound = 0;

  void add(const AccuracyStatistics& other);
};

// Whether a result lies within the reference's bounds.
testing::AssertionResult agree(const char* name, const Result& result, const reference::Bounded& expected,
                               AccuracyStatistics* statistics);
// Whether every result does.
testing::AssertionResult agree(const Results& results, const reference::AttentionResult& expected,
                               AccuracyStatistics* statistics = nullptr);

// Runs the call, solves it, and compares the results.
testing::AssertionResult agrees_with_reference(const Call& call, AccuracyStatistics* statistics = nullptr);

// Whether the results have the same bytes, except for the sign and payload of NaN. The second compares all three
// results of two calls that requested the same.
testing::AssertionResult same_bits(const std::optional<Result>& a, const std::optional<Result>& b);
testing::AssertionResult same_bits(const Results& a, const Results& b);

// Whether the call fails with this status and a sentence that contains each of `words`.
testing::AssertionResult is_refused(const Call& call, heed_status status, const std::vector<std::string>& words);

}  // namespace heed::property
