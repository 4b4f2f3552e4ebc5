/* SPDX-License-Identifier: Apache-2.0 */
/* The header as the first include, included twice, with every initializer macro. Compiled in each C and C++ version
   that heed supports, with warnings as errors. */
#include <heed/heed.h>
#include <heed/heed.h> /* NOLINT(readability-duplicate-include): the guard is tested */

size_t heed_test_header(void);

size_t heed_test_header(void) {
  const heed_allocator allocator = HEED_ALLOCATOR_INIT;
  const heed_executor executor = HEED_EXECUTOR_INIT;
  const heed_logger logger = HEED_LOGGER_INIT;
  const heed_progress progress = HEED_PROGRESS_INIT;
  const heed_load_options load = HEED_LOAD_OPTIONS_INIT;
  const heed_model_options model = HEED_MODEL_OPTIONS_INIT;
  const heed_context_options context = HEED_CONTEXT_OPTIONS_INIT;
  const heed_dot_product_attention_options dot_product = HEED_DOT_PRODUCT_ATTENTION_OPTIONS_INIT;
  const heed_multi_head_attention_options multi_head = HEED_MULTI_HEAD_ATTENTION_OPTIONS_INIT;
  const heed_layer_inputs inputs = HEED_LAYER_INPUTS_INIT;
  const heed_layer_outputs outputs = HEED_LAYER_OUTPUTS_INIT;
  return allocator.struct_size + executor.struct_size + logger.struct_size + progress.struct_size + load.struct_size +
         model.struct_size + context.struct_size + dot_product.struct_size + multi_head.struct_size +
         inputs.struct_size + outputs.struct_size + (size_t)HEED_VERSION;
}
