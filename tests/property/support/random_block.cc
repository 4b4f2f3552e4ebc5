// SPDX-License-Identifier: Apache-2.0
#include "support/random_block.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "support/activations.h"
#include "support/numbers.h"
#include "support/packing.h"

namespace heed::property {
namespace {

enum class Sequences { Whole, QueryLens, Packed };

int64_t given_or(int64_t value, int64_t fallback) { return value != 0 ? value : fallback; }

class BlockMaker {
 public:
  explicit BlockMaker(uint64_t seed) : random_(seed) {}

  Call make() {
    draw_sizes();
    Block& block = call_.block.emplace();
    block.is_decoder = random_.chance(0.5);
    block.num_layers = random_.below(4);
    block.final_norm = block.num_layers > 0 && random_.chance(0.5);
    block.self_attention = attention();
    if (block.is_decoder && random_.chance(0.7)) {
      block.cross_attention = attention();
      num_keys_ = random_.one_of<int64_t>({0, 1, 2, 5, 9, 9, 33, 33});
    }
    set_feed_forward(block.feed_forward);
    set_norm(block.norm);
    block.norm_first = random_.chance(0.5);
    if (block.norm_first) {
      block.output_norms = random_.chance(0.3);
      block.no_first_norm = random_.chance(0.2);
    }
    if (!block.output_norms && random_.chance(0.3))
      block.residual_scale = static_cast<float>(random_.uniform(-1.5, 1.5));
    call_.options = block.self_attention.options;
    set_parameters(block);
    set_inputs(block);
    call_.with_workspace = random_.chance(0.5);
    call_.num_threads = random_.one_of<int32_t>({1, 3});
    return std::move(call_);
  }

 private:
  void draw_sizes() {
    batch_ = random_.one_of<int64_t>({1, 2, 3});
    num_queries_ = random_.one_of<int64_t>({1, 2, 4, 7, 18});
    if (random_.chance(0.03)) batch_ = 0;
    if (random_.chance(0.03)) num_queries_ = 0;
    num_heads_ = random_.one_of<int64_t>({1, 2, 4});
    size_ = num_heads_ * random_.one_of<int64_t>({2, 3, 4, 8});
  }

  BlockAttention attention() {
    BlockAttention attention;
    heed_multi_head_attention_options& options = attention.options;
    options.num_hiddens = size_;
    options.num_heads = num_heads_;
    if (random_.chance(0.3)) options.num_kv_heads = random_.chance(0.5) && num_heads_ % 2 == 0 ? num_heads_ / 2 : 1;
    if (random_.chance(0.3)) options.head_size = random_.one_of<int64_t>({1, 4, 6, 16});
    if (random_.chance(0.2)) options.value_head_size = random_.one_of<int64_t>({1, 3, 8});
    if (random_.chance(0.2)) options.output_size = size_;
    options.biases = random_.chance(0.6) ? HEED_BIAS_ALL : static_cast<int32_t>(random_.below(HEED_BIAS_ALL));
    if (random_.chance(0.15)) options.scoring = HEED_SCORING_ADDITIVE;
    if (random_.chance(0.2)) options.scale = static_cast<float>(random_.uniform(0.1, 1.0));
    if (random_.chance(0.15)) options.soft_cap = static_cast<float>(random_.uniform(1.0, 20.0));
    if (random_.chance(0.4)) options.causal = random_.one_of<int32_t>({HEED_CAUSAL_TOP_LEFT, HEED_CAUSAL_BOTTOM_RIGHT});
    if (random_.chance(0.25)) {
      options.window = random_.one_of<int32_t>({HEED_WINDOW_TOP_LEFT, HEED_WINDOW_BOTTOM_RIGHT});
      options.window_left = random_.below(6) - 1;
      options.window_right = random_.below(6) - 1;
    }
    if (random_.chance(0.3)) options.empty_rows = HEED_EMPTY_ROWS_MEAN;
    if (random_.chance(0.2)) options.alibi = random_.one_of<int32_t>({HEED_ALIBI_ADDED, HEED_ALIBI_SCALED});
    if (random_.chance(0.2))
      options.relative_bias = random_.one_of<int32_t>({HEED_RELATIVE_BIAS_BOTH_WAYS, HEED_RELATIVE_BIAS_ONE_WAY});
    if (random_.chance(0.25)) {
      options.qk_norm = random_.one_of<int32_t>({HEED_QK_NORM_RMS, HEED_QK_NORM_LAYER});
      options.qk_norm_epsilon = 1e-5F;
    }
    options.sinks = random_.chance(0.2) ? 1 : 0;
    if (options.scoring == HEED_SCORING_DOT_PRODUCT) {
      options.add_bias_kv = random_.chance(0.15) ? 1 : 0;
      options.add_zero_attn = random_.chance(0.15) ? 1 : 0;
    }
    const int64_t head_size = head_size_of(options);
    if (head_size > 1 && random_.chance(0.3)) {
      attention.rope.emplace(heed_rope_options HEED_ROPE_OPTIONS_INIT);
      attention.rope->layout = random_.one_of<int32_t>({HEED_ROPE_HALF, HEED_ROPE_INTERLEAVED});
      attention.rope->rotary_size = head_size / 2 * 2;
    }
    return attention;
  }

  static int64_t head_size_of(const heed_multi_head_attention_options& options) {
    return given_or(options.head_size, options.num_hiddens / options.num_heads);
  }

  void set_feed_forward(heed_feed_forward_options& options) {
    options.hidden_size = random_.one_of<int64_t>({1, 5, 16, 33});
    if (random_.chance(0.3)) options.output_size = size_;
    options.activation = static_cast<int32_t>(random_.below(kNumActivationsOfC));
    options.gated = random_.chance(0.4) ? 1 : 0;
    options.no_bias = random_.chance(0.3) ? 1 : 0;
  }

  void set_norm(heed_layer_norm_options& options) {
    options.kind = random_.one_of<int32_t>({HEED_NORM_LAYER, HEED_NORM_RMS});
    if (random_.chance(0.5)) options.epsilon = random_.one_of<float>({1e-6F, 1e-3F});
    options.no_bias = random_.chance(0.3) ? 1 : 0;
  }

  void set_parameters(const Block& block) {
    parameter_dtype_ = random_.one_of(kFloats);
    for (int64_t i = 0; i < std::max<int64_t>(1, block.num_layers); ++i) {
      const std::string prefix = block.num_layers == 0 ? "" : "layers." + std::to_string(i) + ".";
      add_attention(prefix + "self_attention.", block.self_attention.options);
      if (block.cross_attention) add_attention(prefix + "cross_attention.", block.cross_attention->options);
      add_feed_forward(prefix + "feed_forward.", block.feed_forward);
      for (uint32_t part = 1; part <= block.num_parts(); ++part) {
        const std::string number = std::to_string(part) + ".";
        if (part > 1 || !block.no_first_norm) add_norm(prefix + "norm_" + number, block.norm);
        if (block.output_norms) add_norm(prefix + "output_norm_" + number, block.norm);
      }
    }
    if (block.final_norm) add_norm("norm.", block.norm);
  }

  void add_attention(const std::string& prefix, const heed_multi_head_attention_options& options) {
    const int64_t num_kv_heads = given_or(options.num_kv_heads, options.num_heads);
    const int64_t head_size = head_size_of(options);
    const int64_t value_head_size = given_or(options.value_head_size, head_size);
    const auto add_projection = [&](const char* name, int64_t output_size, int64_t input_size, int32_t bias) {
      add_linear(prefix + name, output_size, input_size, (options.biases & bias) != 0);
    };
    add_projection("W_q", options.num_heads * head_size, size_, HEED_BIAS_Q);
    add_projection("W_k", num_kv_heads * head_size, size_, HEED_BIAS_K);
    add_projection("W_v", num_kv_heads * value_head_size, size_, HEED_BIAS_V);
    add_projection("W_o", size_, options.num_heads * value_head_size, HEED_BIAS_O);
    if (options.scoring == HEED_SCORING_ADDITIVE) add(prefix + "w_v.weight", {options.num_heads, head_size}, -1.0, 1.0);
    if (options.qk_norm_epsilon != 0.0F) {
      for (const auto& [name, heads] : {std::pair{"q_norm", options.num_heads}, {"k_norm", num_kv_heads}}) {
        Dims dims = {head_size};
        if (options.qk_norm == HEED_QK_NORM_LAYER) dims.insert(dims.begin(), heads);
        add(prefix + name + ".weight", dims, 0.5, 1.5);
      }
    }
    if (options.sinks != 0) add(prefix + "sinks", {options.num_heads}, -1.0, 1.0);
    if (options.add_bias_kv != 0) {
      add(prefix + "bias_k", {num_kv_heads * head_size}, -1.0, 1.0);
      add(prefix + "bias_v", {num_kv_heads * value_head_size}, -1.0, 1.0);
    }
    if (options.relative_bias != HEED_RELATIVE_BIAS_NONE)
      add(prefix + "relative_bias.weight", {32, options.num_heads}, -1.0, 1.0);
  }

  void add_feed_forward(const std::string& prefix, const heed_feed_forward_options& options) {
    const bool has_bias = options.no_bias == 0;
    add_linear(prefix + "W_1", options.hidden_size, size_, has_bias);
    if (options.gated != 0) add_linear(prefix + "W_gate", options.hidden_size, size_, has_bias);
    add_linear(prefix + "W_2", size_, options.hidden_size, has_bias);
  }

  void add_norm(const std::string& prefix, const heed_layer_norm_options& options) {
    add(prefix + "weight", {size_}, 0.5, 1.5);
    if (options.kind == HEED_NORM_LAYER && options.no_bias == 0) add(prefix + "bias", {size_}, -0.5, 0.5);
  }

  void add_linear(const std::string& name, int64_t output_size, int64_t input_size, bool has_bias) {
    const double largest = std::sqrt(3.0 / static_cast<double>(input_size));
    add(name + ".weight", {output_size, input_size}, -largest, largest);
    if (has_bias) add(name + ".bias", {output_size}, -0.5, 0.5);
  }

  void add(const std::string& name, const Dims& dims, double low, double high) {
    call_.parameters[name] = make_input(random_array(dims, low, high), parameter_dtype_);
  }

  void set_inputs(const Block& block) {
    const heed_dtype dtype = random_.one_of(kFloats);
    call_.queries = rows(num_queries_, dtype);
    if (block.cross_attention) call_.keys = rows(num_keys_, dtype);
    call_.output = OutputRequest{random_.chance(0.5) ? dtype : HEED_F32, random_.one_of(kWritable)};
    const auto sequences = static_cast<Sequences>(random_.below(3));
    if (random_.chance(0.3)) set_positions();
    if (sequences == Sequences::QueryLens) call_.query_lens = lengths({batch_}, num_queries_);
    if (sequences == Sequences::Packed) {
      pack_rows();
    } else {
      if (!block.is_decoder) {
        set_limits(call_.valid_lens, call_.mask, call_.bias, num_queries_, dtype);
      } else {
        set_limits(call_.self_valid_lens, call_.self_mask, call_.self_bias, num_queries_, dtype);
        if (block.cross_attention) set_limits(call_.valid_lens, call_.mask, call_.bias, num_keys_, dtype);
      }
    }
    // The numbers of elements in a packed batch are not those of its padded form, which the reference computes.
    if (sequences != Sequences::Packed && random_.chance(0.3)) set_dropouts(*call_.block);
    if (block.is_decoder) return;
    if (block.self_attention.options.alibi == HEED_ALIBI_NONE && random_.chance(0.15))
      call_.alibi_slopes = make_input(random_array({num_heads_}, -0.5, 0.5));
    if (block.self_attention.options.sinks == 0 && random_.chance(0.15))
      call_.sinks = make_input(random_array({num_heads_}, -1.0, 1.0));
  }

  void set_dropouts(Block& block) {
    const auto draw = [&] { return random_.one_of<float>({0.0F, 0.1F, 0.5F}); };
    block.self_attention.options.dropout = draw();
    if (block.cross_attention) block.cross_attention->options.dropout = draw();
    block.feed_forward.dropout = draw();
    block.dropout = draw();
    call_.training = random_.chance(0.8) ? 1 : 0;
    call_.dropout_seed = random_.next();
  }

  Input rows(int64_t num_rows, heed_dtype dtype) {
    const Dims dims = {batch_, num_rows, size_};
    Input input =
        make_input(random_array(dims, -2.0, 2.0), dtype, make_strides(random_.one_of(kReadable), dims, random_));
    if (random_.chance(0.3)) input.unused_before = 1;
    return input;
  }

  // Lengths of each query are of single layers.
  bool is_stack() const { return call_.block->num_layers > 0; }

  void set_positions() {
    Array positions = filled({batch_, num_queries_}, 0.0);
    for (double& position : positions.values) position = static_cast<double>(random_.below(2 * num_queries_ + 1));
    // Positions of self-attention may not fall.
    sort_rows(positions);
    call_.positions = make_input(std::move(positions), HEED_I32);
  }

  void set_limits(std::optional<Input>& valid_lens, std::optional<Input>& mask, std::optional<Input>& bias,
                  int64_t num_keys, heed_dtype dtype) {
    if (random_.chance(0.3))
      valid_lens = lengths(is_stack() || random_.chance(0.5) ? Dims{batch_} : Dims{batch_, num_queries_}, num_keys);
    const auto pairs = [&] {
      return random_.chance(0.5) ? Dims{num_queries_, num_keys}
                                 : Dims{batch_, random_.chance(0.5) ? num_heads_ : 1, 1, num_keys};
    };
    if (random_.chance(0.25)) {
      Array visible = filled(pairs(), 0.0);
      for (double& element : visible.values) element = random_.chance(0.7) ? 1.0 : 0.0;
      mask = make_input(std::move(visible), HEED_BOOL);
    }
    if (!random_.chance(0.25)) return;
    Array added = random_array(pairs(), -1.0, 1.0);
    for (double& element : added.values) element = random_.chance(0.1) ? -kInfinity : element;
    bias = make_input(std::move(added), random_.chance(0.5) ? dtype : HEED_F32);
  }

  Input lengths(const Dims& dims, int64_t largest) {
    Array lens = filled(dims, 0.0);
    for (double& length : lens.values) length = static_cast<double>(random_.below(largest + 1));
    return make_input(std::move(lens), random_.one_of<heed_dtype>({HEED_I32, HEED_I64}));
  }

  void pack_rows() {
    const auto draw_offsets = [&](int64_t longest) {
      std::vector<int64_t> counts;
      for (int64_t b = 0; b < batch_; ++b) counts.push_back(b == 0 ? longest : random_.below(longest + 1));
      return make_offsets(counts);
    };
    const auto packed = [](const Input& input, const Input& offsets) {
      return make_input(pack(input.contents, 0, offsets), input.dtype);
    };
    call_.query_offsets = draw_offsets(num_queries_);
    call_.queries = packed(call_.queries, *call_.query_offsets);
    if (call_.positions) call_.positions = packed(*call_.positions, *call_.query_offsets);
    if (!call_.keys) return;
    call_.key_offsets = draw_offsets(num_keys_);
    call_.keys = packed(*call_.keys, *call_.key_offsets);
  }

  Array random_array(const Dims& dims, double low, double high) {
    Array array = filled(dims, 0.0);
    for (double& element : array.values) element = random_.uniform(low, high);
    return array;
  }

  Random random_;
  Call call_;
  heed_dtype parameter_dtype_ = HEED_F32;
  int64_t batch_ = 0;
  int64_t num_queries_ = 0;
  int64_t num_keys_ = 0;
  int64_t num_heads_ = 0;
  int64_t size_ = 0;
};

}  // namespace

Call make_block_call(uint64_t seed) { return BlockMaker(seed).make(); }

}  // namespace heed::property
