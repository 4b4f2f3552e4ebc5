// SPDX-License-Identifier: Apache-2.0
// The objects for a call that gets an error of the Ascend backend. Each call has a scene of its own and changes one
// thing in it. The members have names that a caller's program would use, since docs/ascend.md shows the calls.
#pragma once

#include <ascend_sim/control.h>
#include <dlpack/dlpack.h>
#include <heed/heed.h>

#include <cstdint>
#include <initializer_list>
#include <vector>

#include "ascend/support/simulated.h"
#include "cache/support/caches.h"
#include "capi/support/attention_call.h"
#include "errors/list.h"
#include "support/platform/environment.h"

namespace heed::ascend_test {

// Two strict contexts on an NPU, with and without allow_reduced_precision.
class NpuScene : public errors_test::Stage {
 public:
  NpuScene();
  ~NpuScene() override;

 protected:
  // Tensors of zeros, which the scene destroys.
  heed_tensor* tensor_of(heed_dtype dtype, std::initializer_list<int64_t> sizes);
  heed_tensor* on_cpu(heed_dtype dtype, std::initializer_list<int64_t> sizes);
  // A view (2, 3) of F16 whose rows are 100,000 elements apart.
  heed_tensor* spread();
  // Dot-product attention with these options.
  heed_layer* attention_with(const heed_dot_product_attention_options& options);
  // A linear layer of 4 inputs and 5 outputs whose parameters have this dtype.
  heed_layer* linear_of(heed_dtype dtype);
  // A norm of rows of this size, initialized in this dtype.
  heed_layer* norm_of(const heed_layer_norm_options& options, heed_dtype dtype, int64_t size);
  // An embedding of these options, in F16.
  heed_layer* embedding_with(const heed_embedding_options& options);
  // An encoder of one layer with this output, for inputs (2, 5, 16), initialized in F16.
  heed_layer* encoder_with(const heed_output_options& output);
  // Additive attention for inputs (2, 5, 16), initialized.
  heed_layer* additive();
  // Multi-head attention with these options for inputs (2, 5, 16), initialized in F16.
  heed_layer* multi_head_with(const heed_multi_head_attention_options& options);
  // A cache with these options; makes `inputs` use it.
  heed_cache* cache_with(const heed_cache_options& cache_options);

 private:
  // A call may unset them.
  Variable toolkit_{"ASCEND_HOME_PATH"};
  Variable atb_{"ATB_HOME_PATH"};
  Context cpu_;
  Context npu_;
  Context narrowing_;
  std::vector<Tensor> tensors_;
  std::vector<Layer> layers_;
  std::vector<cache_test::Cache> caches_;

 protected:
  heed_context* const context;
  heed_context* const narrowing_context;
  heed_context_options context_options;

  heed_dot_product_attention_options options = HEED_DOT_PRODUCT_ATTENTION_OPTIONS_INIT;
  // (2, 5, 16) of F16. `inputs` and `outputs` make a call of `attention` that succeeds.
  heed_tensor* tensor;
  heed_layer* attention;
  heed_layer_inputs inputs = HEED_LAYER_INPUTS_INIT;
  heed_layer_outputs outputs = HEED_LAYER_OUTPUTS_INIT;
  heed_layer_gradients gradients = HEED_LAYER_GRADIENTS_INIT;
  // Multi-head attention of one head of 16 elements; set `rope` to use `rope_options`.
  heed_multi_head_attention_options multi_head = HEED_MULTI_HEAD_ATTENTION_OPTIONS_INIT;
  heed_rope_options rope_options = HEED_ROPE_OPTIONS_INIT;
  // Two sequences for such a layer; cache_with sets `inputs.cache` to `cached`.
  heed_cache_options cache_options = HEED_CACHE_OPTIONS_INIT;
  heed_cache_inputs cached = HEED_CACHE_INPUTS_INIT;
  // Set `inputs.sequences` to use it.
  heed_sequence_inputs sequences = HEED_SEQUENCE_INPUTS_INIT;
  // Inputs with `queries` alone.
  heed_layer_inputs input = HEED_LAYER_INPUTS_INIT;
  heed_linear_options linear_options = capi_test::five_outputs();
  heed_dropout_options dropout_options = HEED_DROPOUT_OPTIONS_INIT;
  heed_layer_norm_options norm_options = HEED_LAYER_NORM_OPTIONS_INIT;
  heed_embedding_options embedding_options = HEED_EMBEDDING_OPTIONS_INIT;
  heed_output_options output_options = HEED_OUTPUT_OPTIONS_INIT;
  // For an attention that is merged of one part.
  const heed_tensor* part_output = nullptr;
  const heed_tensor* part_log_sum_exp = nullptr;
  DLManagedTensor managed{};
  DLManagedTensor* exported = nullptr;

  heed_context* new_context = nullptr;
  heed_tensor* new_tensor = nullptr;
  heed_layer* new_layer = nullptr;
  const int64_t dims[3] = {1000, 1000, 100};
  const uint16_t numbers[160] = {};
};

errors_test::Topic plugins();
errors_test::Topic devices();
errors_test::Topic gaps();
errors_test::Topic precision();
errors_test::Topic failures();
const std::vector<errors_test::Unprovoked>& unprovoked();

}  // namespace heed::ascend_test
