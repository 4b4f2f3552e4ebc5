// SPDX-License-Identifier: Apache-2.0
#include "support/block_reference.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "reference/philox.h"
#include "support/activations.h"
#include "support/device.h"
#include "support/packing.h"

namespace heed::property {
namespace {

// The parameters whose names begin with `prefix`, without it.
std::map<std::string, Input> parameters_below(const Call& call, const std::string& prefix) {
  std::map<std::string, Input> below;
  for (const auto& [name, value] : call.parameters) {
    if (name.starts_with(prefix)) below[name.substr(prefix.size())] = value;
  }
  return below;
}

Call with_attention(Call call, const BlockAttention& attention, const std::string& prefix) {
  call.block.reset();
  call.options = attention.options;
  call.rope = attention.rope;
  call.parameters = parameters_below(call, prefix);
  return call;
}

// The calls of the attentions in a layer, whose rows stand for those between the layers.
Call self_attention_call(const Call& call, const std::string& prefix) {
  Call self = with_attention(call, call.block->self_attention, prefix + "self_attention.");
  if (!call.block->is_decoder) return self;
  self.keys.reset();
  self.key_offsets.reset();
  self.valid_lens = call.self_valid_lens;
  self.mask = call.self_mask;
  self.bias = call.self_bias;
  return self;
}

Call cross_attention_call(const Call& call, const std::string& prefix) {
  Call cross = with_attention(call, *call.block->cross_attention, prefix + "cross_attention.");
  cross.positions.reset();
  return cross;
}

// The seed of the dropout of the call's child `number` (docs/semantics.md, "Random numbers").
uint64_t child_seed(const Call& call, uint32_t number) {
  const auto words = reference::philox_4x32_10(
      {number, 0, 0, 0xFFFFFFFC},
      {static_cast<uint32_t>(call.dropout_seed), static_cast<uint32_t>(call.dropout_seed >> 32)});
  return words[0] | uint64_t{words[1]} << 32;
}

// `first_child`: the number of its first child.
reference::TransformerLayer layer_at(const Call& call, const std::string& prefix, uint32_t first_child) {
  const Block& block = *call.block;
  reference::TransformerLayer layer;
  layer.self_attention = multi_head_problem(self_attention_call(call, prefix));
  if (block.cross_attention) layer.cross_attention = multi_head_problem(cross_attention_call(call, prefix));
  layer.feed_forward = feed_forward_of(call, block.feed_forward, prefix + "feed_forward.");
  const uint32_t num_parts = block.num_parts();
  for (uint32_t i = 1; i <= num_parts; ++i) {
    const std::string number = std::to_string(i) + ".";
    const bool has_norm = i > 1 || !block.no_first_norm;
    layer.norms.push_back(has_norm ? std::optional(row_norm_of(call, block.norm, prefix + "norm_" + number))
                                   : std::nullopt);
    if (block.output_norms)
      layer.output_norms.push_back(row_norm_of(call, block.norm, prefix + "output_norm_" + number));
  }
  if (block.residual_scale != 0.0F) layer.residual_scale = static_cast<double>(block.residual_scale);
  layer.norm_first = block.norm_first;
  layer.dropouts.resize(num_parts);
  if (call.training == 0) return layer;
  // Children are the attentions, the network, the norms, the norms of outputs and the dropouts.
  layer.self_attention.options.dropout_seed = child_seed(call, first_child);
  if (layer.cross_attention) layer.cross_attention->options.dropout_seed = child_seed(call, first_child + 1);
  layer.feed_forward.dropout = {block.feed_forward.dropout, child_seed(call, first_child + num_parts - 1)};
  for (uint32_t i = 0; i < num_parts; ++i)
    layer.dropouts[i] = {block.dropout, child_seed(call, first_child + block.first_dropout() + i)};
  return layer;
}

std::string prefix_of_layer(const Call& call, int64_t index) {
  return call.block->num_layers == 0 ? "" : "layers." + std::to_string(index) + ".";
}

// In a stack each layer comes before its own children.
uint32_t first_child_of_layer(const Block& block, int64_t index) {
  return block.num_layers == 0 ? 0 : static_cast<uint32_t>(1 + index * (1 + block.num_children()));
}

// Rows beyond those of a batch element are 0.
void clear_padding(const Call& padded, reference::Bounded& output) {
  if (!padded.query_lens) return;
  const Dims dims = result_dims(padded).output;
  for_each_index(dims, [&](const Dims& index, size_t i) {
    if (static_cast<double>(index[1]) < padded.query_lens->contents.values[static_cast<size_t>(index[0])]) return;
    output.values[i] = output.errors[i] = 0.0;
  });
}

}  // namespace

Call layer_of_stack(const Call& call, int64_t index) {
  Call one = call;
  one.parameters = parameters_below(call, prefix_of_layer(call, index));
  one.block->num_layers = 0;
  return one;
}

reference::Norm row_norm_of(const Call& call, const heed_layer_norm_options& options, const std::string& prefix) {
  reference::Norm norm;
  norm.weight = call.parameters.at(prefix + "weight").contents.values;
  norm.subtracts_mean = options.kind == HEED_NORM_LAYER;
  if (norm.subtracts_mean && options.no_bias == 0) norm.bias = call.parameters.at(prefix + "bias").contents.values;
  norm.epsilon = static_cast<double>(options.epsilon != 0.0F ? options.epsilon : 1e-5F);
  norm.compute_format = compute_format(call.queries.dtype);
  return norm;
}

reference::FeedForward feed_forward_of(const Call& call, const heed_feed_forward_options& options,
                                       const std::string& prefix) {
  static constexpr reference::Activation kActivations[] = {
#define HEED_ITEM(upper, name) reference::Activation::name,
      HEED_TEST_ACTIVATIONS(HEED_ITEM)
#undef HEED_ITEM
  };
  reference::FeedForward network;
  network.first = projection_of(call, prefix + "W_1");
  if (options.gated != 0) network.gate = projection_of(call, prefix + "W_gate");
  network.second = projection_of(call, prefix + "W_2");
  network.activation = kActivations[options.activation];
  network.compute_format = compute_format(call.queries.dtype);
  return network;
}

reference::TransformerStack stack_of(const Call& call) {
  reference::TransformerStack stack;
  for (int64_t i = 0; i < std::max<int64_t>(1, call.block->num_layers); ++i)
    stack.layers.push_back(layer_at(call, prefix_of_layer(call, i), first_child_of_layer(*call.block, i)));
  stack.compute_format = compute_format(call.queries.dtype);
  if (call.block->final_norm) stack.final_norm = row_norm_of(call, call.block->norm, "norm.");
  return stack;
}

reference::AttentionResult solve_block(const Call& call) {
  const Call padded = is_packed(call) ? padded_form(call, 0.0) : call;
  const std::vector<double> encoder_rows = padded.keys ? padded.keys->contents.values : std::vector<double>();
  reference::AttentionResult result;
  result.output = reference::transform(stack_of(call), padded.queries.contents.values, encoder_rows);
  clear_padding(padded, result.output);
  return is_packed(call) ? packed_results(call, result) : result;
}

}  // namespace heed::property
