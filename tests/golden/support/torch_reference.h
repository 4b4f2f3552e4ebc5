// SPDX-License-Identifier: Apache-2.0
// PyTorch's layers as problems of the f64 reference, from the parameters and masks of a case.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "golden/support/torch_case.h"
#include "reference/transformer.h"

namespace heed::golden {

// Reads a parameter by its name behind "param.".
using ReadParameter = std::function<std::vector<double>(const std::string& name)>;

// nn.Linear; without a bias where the layer has none.
reference::Projection torch_linear(const ReadParameter& read, const std::string& prefix, int64_t inputs,
                                   int64_t outputs, bool has_bias);

reference::Norm torch_norm(const ReadParameter& read, const std::string& prefix, double epsilon, bool has_bias);

// nn.MultiheadAttention without rows: projections and the key and value that are parameters. Its `sizes` have batch, queries and
// keys; key_size and value_size are E or kdim and vdim.
struct TorchAttention {
  int64_t size = 0;
  int64_t num_heads = 1;
  int64_t key_size = 0;
  int64_t value_size = 0;
  bool has_bias = true;
  bool has_bias_key = false;
  bool is_packed = true;  // W_q, W_k and W_v are one parameter
};
reference::MultiHeadProblem torch_attention(const ReadParameter& read, const std::string& prefix,
                                            const TorchAttention& options, int64_t batch, int64_t num_queries,
                                            int64_t num_keys);

// Adds a mask of PyTorch to what hides keys, or to the bias: (Q, K), (B * H, Q, K), or for `is_padding` (B, K).
void add_torch_mask(const TorchCase& torch_case, const std::string& tensor, bool is_padding,
                    reference::MultiHeadProblem& problem);

// The gradient of such a mask from that of all pairs.
std::vector<double> torch_mask_gradient(const TorchCase& torch_case, const std::string& tensor, bool is_padding,
                                        const reference::AttentionSizes& sizes, const std::vector<double>& of_pairs);

// One layer of nn.Transformer's stacks.
struct TorchLayer {
  int64_t size = 0;
  int64_t num_heads = 1;
  int64_t hidden_size = 0;
  reference::Activation activation = reference::Activation::Relu;
  bool norm_first = false;
  bool has_bias = true;
  double epsilon = 1e-5;
};
reference::Activation torch_activation(const std::string& name);
// `num_encoder_rows`: 0 for a layer without cross attention.
reference::TransformerLayer torch_layer(const ReadParameter& read, const std::string& prefix, const TorchLayer& options,
                                        int64_t batch, int64_t num_rows, int64_t num_encoder_rows);

// (a, b, size) as (b, a, size): PyTorch's rows where the sequence comes first.
std::vector<double> with_first_axes_swapped(const std::vector<double>& rows, int64_t a, int64_t b);

// PyTorch's parameters are split as names_of_torch says: their gradients joined, from gradients by heed's names.
std::vector<double> torch_gradient(const reference::NamedRows& gradients, const std::string& torch_name);

}  // namespace heed::golden
