// SPDX-License-Identifier: Apache-2.0
#include "golden/support/torch_reference.h"

#include <map>
#include <optional>
#include <utility>

#include "golden/support/torch_names.h"
#include "reference/attention_gradients.h"

namespace heed::golden {
namespace {

using Numbers = std::vector<double>;

// Rows `first` to `first + count` of (rows, size).
Numbers rows_of(const Numbers& matrix, int64_t first, int64_t count, int64_t size) {
  const auto begin = matrix.begin() + first * size;
  return {begin, begin + count * size};
}

reference::AttentionSizes sizes_of(const TorchAttention& options, int64_t batch, int64_t num_queries,
                                   int64_t num_keys) {
  const int64_t head_size = options.size / options.num_heads;
  return {batch, options.num_heads, options.num_heads, num_queries, num_keys, head_size, head_size};
}

// The element of a mask for a pair.
class PairOfMask {
 public:
  PairOfMask(std::vector<int64_t> dims, bool is_padding, const reference::AttentionSizes& sizes)
      : has_heads_(dims.size() == 3), is_padding_(is_padding), sizes_(sizes) {}

  size_t element(int64_t b, int64_t h, int64_t q, int64_t k) const {
    if (is_padding_) return static_cast<size_t>(b * sizes_.num_keys + k);
    const int64_t matrix = has_heads_ ? b * sizes_.num_heads + h : 0;
    return static_cast<size_t>((matrix * sizes_.num_queries + q) * sizes_.num_keys + k);
  }

  // Calls visit(pair, element) for each pair in order.
  template <typename Visit>
  void for_each(Visit visit) const {
    size_t pair = 0;
    for (int64_t b = 0; b < sizes_.batch; ++b) {
      for (int64_t h = 0; h < sizes_.num_heads; ++h) {
        for (int64_t q = 0; q < sizes_.num_queries; ++q) {
          for (int64_t k = 0; k < sizes_.num_keys; ++k) visit(pair++, element(b, h, q, k));
        }
      }
    }
  }

 private:
  bool has_heads_;
  bool is_padding_;
  reference::AttentionSizes sizes_;
};

size_t num_pairs(const reference::AttentionSizes& sizes) {
  return static_cast<size_t>(sizes.batch * sizes.num_heads * sizes.num_queries * sizes.num_keys);
}

}  // namespace

reference::Projection torch_linear(const ReadParameter& read, const std::string& prefix, int64_t inputs,
                                   int64_t outputs, bool has_bias) {
  return {inputs, outputs, read(prefix + "weight"), has_bias ? read(prefix + "bias") : Numbers()};
}

reference::Norm torch_norm(const ReadParameter& read, const std::string& prefix, double epsilon, bool has_bias) {
  reference::Norm norm;
  norm.weight = read(prefix + "weight");
  if (has_bias) norm.bias = read(prefix + "bias");
  norm.epsilon = epsilon;
  norm.subtracts_mean = true;
  return norm;
}

reference::MultiHeadProblem torch_attention(const ReadParameter& read, const std::string& prefix,
                                            const TorchAttention& options, int64_t batch, int64_t num_queries,
                                            int64_t num_keys) {
  const int64_t size = options.size;
  const int64_t input_sizes[] = {size, options.key_size, options.value_size};
  const char* const apart[] = {"q_proj_weight", "k_proj_weight", "v_proj_weight"};
  const Numbers packed = options.is_packed ? read(prefix + "in_proj_weight") : Numbers();
  const Numbers biases = options.has_bias ? read(prefix + "in_proj_bias") : Numbers();
  reference::Projection projections[3];
  for (int64_t i = 0; i < 3; ++i) {
    projections[i].input_size = input_sizes[i];
    projections[i].output_size = size;
    projections[i].weight = options.is_packed ? rows_of(packed, i * size, size, size) : read(prefix + apart[i]);
    if (options.has_bias) projections[i].bias = rows_of(biases, i * size, size, 1);
  }
  reference::MultiHeadProblem problem;
  problem.sizes = sizes_of(options, batch, num_queries, num_keys);
  problem.query_projection = projections[0];
  problem.key_projection = projections[1];
  problem.value_projection = projections[2];
  problem.output_projection = torch_linear(read, prefix + "out_proj.", size, size, options.has_bias);
  if (options.has_bias_key) {
    problem.bias_key = read(prefix + "bias_k");
    problem.bias_value = read(prefix + "bias_v");
  }
  return problem;
}

void add_torch_mask(const TorchCase& torch_case, const std::string& tensor, bool is_padding,
                    reference::MultiHeadProblem& problem) {
  const Numbers mask = torch_case.numbers(tensor);
  const PairOfMask pairs(torch_case.dims(tensor), is_padding, problem.sizes);
  const bool hides = torch_case.is_bool(tensor);
  reference::AttentionLimits& limits = problem.limits;
  if (hides && limits.mask.empty()) limits.mask.assign(num_pairs(problem.sizes), 1);
  if (!hides && limits.bias.empty()) limits.bias.assign(num_pairs(problem.sizes), 0.0);
  pairs.for_each([&](size_t pair, size_t element) {
    if (!hides)
      limits.bias[pair] += mask[element];
    else if (mask[element] != 0)
      limits.mask[pair] = 0;
  });
}

Numbers torch_mask_gradient(const TorchCase& torch_case, const std::string& tensor, bool is_padding,
                            const reference::AttentionSizes& sizes, const Numbers& of_pairs) {
  Numbers gradient(torch_case.numbers(tensor).size());
  const PairOfMask pairs(torch_case.dims(tensor), is_padding, sizes);
  pairs.for_each([&](size_t pair, size_t element) { gradient[element] += of_pairs[pair]; });
  return gradient;
}

reference::Activation torch_activation(const std::string& name) {
  static const std::map<std::string, reference::Activation> kActivations = {
      {"relu", reference::Activation::Relu},
      {"gelu", reference::Activation::Gelu},
      {"gelu_tanh", reference::Activation::GeluTanh},
      {"gelu_quick", reference::Activation::GeluQuick},
      {"silu", reference::Activation::Silu}};
  return kActivations.at(name);
}

reference::TransformerLayer torch_layer(const ReadParameter& read, const std::string& prefix, const TorchLayer& options,
                                        int64_t batch, int64_t num_rows, int64_t num_encoder_rows) {
  const int64_t size = options.size;
  TorchAttention attention;
  attention.size = attention.key_size = attention.value_size = size;
  attention.num_heads = options.num_heads;
  attention.has_bias = options.has_bias;
  reference::TransformerLayer layer;
  layer.self_attention = torch_attention(read, prefix + "self_attn.", attention, batch, num_rows, num_rows);
  const bool is_decoder = num_encoder_rows > 0;
  if (is_decoder)
    layer.cross_attention =
        torch_attention(read, prefix + "multihead_attn.", attention, batch, num_rows, num_encoder_rows);
  layer.feed_forward.first = torch_linear(read, prefix + "linear1.", size, options.hidden_size, options.has_bias);
  layer.feed_forward.second = torch_linear(read, prefix + "linear2.", options.hidden_size, size, options.has_bias);
  layer.feed_forward.activation = options.activation;
  for (int part = 1; part <= (is_decoder ? 3 : 2); ++part)
    layer.norms.emplace_back(
        torch_norm(read, prefix + "norm" + std::to_string(part) + ".", options.epsilon, options.has_bias));
  layer.dropouts.resize(layer.norms.size());
  layer.norm_first = options.norm_first;
  return layer;
}

Numbers with_first_axes_swapped(const Numbers& rows, int64_t a, int64_t b) {
  return reference::swap_middle(reference::as_read(rows, std::nullopt), 1, a, b,
                                static_cast<int64_t>(rows.size()) / (a * b))
      .values;
}

Numbers torch_gradient(const reference::NamedRows& gradients, const std::string& torch_name) {
  Numbers joined;
  for (const std::string& name : names_of_torch(torch_name)) {
    const Numbers& part = gradients.at(name).values;
    joined.insert(joined.end(), part.begin(), part.end());
  }
  return joined;
}

}  // namespace heed::golden
