// SPDX-License-Identifier: Apache-2.0
// The functions of PyTorch's libraries that the benchmark calls, by the C interface of TorchSharp's library (NuGet packages TorchSharp 0.107
// and libtorch-cpu 2.10), so that no header is needed. The libraries are loaded at run time from the folder HEED_BENCH_TORCH of the
// environment, which has those of both packages.
#ifndef HEED_BENCH_TORCH_API_H
#define HEED_BENCH_TORCH_API_H

#include <cstddef>
#include <cstdint>
#include <string>

namespace bench {

struct TorchTensor;
struct TorchScalar;

// NOLINTBEGIN(readability-identifier-naming): names as in TorchSharp, without their prefix THS
// A function that returns a tensor returns a new reference, and nullptr on failure.
struct TorchApi {
  using Tensor = TorchTensor*;
  const char* (*Torch_get_and_reset_last_err)();
  void (*Torch_set_num_threads)(int32_t threads);
  TorchScalar* (*Torch_float32_to_scalar)(float value);
  Tensor (*Tensor_new)(void* data, void (*deleter)(void*), const int64_t* dims, int32_t rank, int8_t dtype_of_data,
                       int8_t dtype, int32_t device_type, int32_t device_index, bool requires_grad);
  void (*Tensor_dispose)(Tensor tensor);
  void* (*Tensor_data)(Tensor tensor);
  Tensor (*Tensor_contiguous)(Tensor tensor);
  Tensor (*Tensor_reshape)(Tensor tensor, const int64_t* dims, int32_t rank);
  Tensor (*Tensor_permute)(Tensor tensor, const int64_t* axes, int32_t rank);
  Tensor (*Tensor_select)(Tensor tensor, int64_t axis, int64_t index);
  Tensor (*Tensor_transpose)(Tensor tensor, int64_t axis, int64_t other_axis);
  Tensor (*Tensor_add)(Tensor left, Tensor right, TorchScalar* factor_of_right);
  Tensor (*Tensor_gelu)(Tensor tensor);
  Tensor (*NN_functional_linear)(Tensor input, Tensor weight, Tensor bias);
  Tensor (*NN_layer_norm)(Tensor input, const int64_t* dims, int64_t rank, Tensor weight, Tensor bias, double epsilon);
  Tensor (*NN_scaled_dot_product_attention)(Tensor queries, Tensor keys, Tensor values, Tensor mask, double dropout,
                                            bool causal);
  void (*Autograd_grad)(Tensor* outputs, int64_t num_outputs, Tensor* inputs, int64_t num_inputs,
                        Tensor* output_gradients, int64_t num_output_gradients, bool retain_graph, bool create_graph,
                        bool allow_unused, Tensor* (*allocate)(size_t count));
};
// NOLINTEND(readability-identifier-naming)

// "", or the reason why the libraries are absent.
const std::string& torch_absence();
// Only if they are there.
const TorchApi& torch();

}  // namespace bench

#endif  // HEED_BENCH_TORCH_API_H
