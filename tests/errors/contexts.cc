// SPDX-License-Identifier: Apache-2.0
#include <cstdlib>

#include "errors/provocation.h"

namespace heed::errors_test {

namespace {

#define CONTEXT(its_sentence, ...) ALSO(its_sentence, heed_context_create(&context_options, &new_context), __VA_ARGS__)
#define EXECUTOR(its_number, ...)                                                 \
  CONTEXT("options->executor->num_threads is " its_number ", expected 1 to 1024", \
          context_options.executor = &executor;                                   \
          executor.parallel_for = run_none; executor.num_threads = __VA_ARGS__)

Cases options_of_contexts() {
  return {
      CONTEXT("options->device is -1...", context_options.device = -1),
      CONTEXT("options->device is 2...", context_options.device = 2),
      CONTEXT("options->device_index is -1...", context_options.device_index = -1),
      CONTEXT("options->num_threads is -1, expected 0 (as many as the process may use) to 1024",
              context_options.num_threads = -1),
      CONTEXT("options->strict is -1, expected 0 or 1", context_options.strict = -1),
      CONTEXT("options->allow_reduced_precision is 2, expected 0 or 1", context_options.allow_reduced_precision = 2),
      CONTEXT("options->flush_subnormals is 2, expected 0 or 1", context_options.flush_subnormals = 2),
      EXECUTOR("-1", -1),
      EXECUTOR("1025", 1025),
      EXECUTOR("4294967297", (int64_t{1} << 32) + 1),
      ALSO("device is -1...", heed_device_count((heed_device)-1)),
      ALSO("device is 1000...", heed_device_count((heed_device)1000)),
  };
}

}  // namespace

Topic contexts() {
  return {
      "Devices and contexts",
      "",
      {
          PROVOKE(heed_device_count((heed_device)2)),
          PROVOKE(heed_context_create(&context_options, &new_context), context_options.device_index = 1),
          PROVOKE(heed_context_create(&context_options, &new_context), context_options.num_threads = 1025),
          PROVOKE(heed_context_create(&context_options, &new_context), context_options.executor = &executor),
          PROVOKE(heed_context_create(&context_options, &new_context), executor.parallel_for = run_none;
                  context_options.executor = &executor),
          PROVOKE(heed_softmax(tensor_of(HEED_F32, {64, 1000}), 1, result_by(run_none))),
          PROVOKE(heed_softmax(tensor_of(HEED_F32, {64, 1000}), 1, result_by(run_one_twice))),
          PROVOKE(heed_softmax(tensor_of(HEED_F32, {64, 1000}), 1, result_by(run_one_more))),
          PROVOKE(heed_softmax(tensor_of(HEED_F32, {64, 1000}), 1, result_by(throw_exception))),
          PROVOKE(heed_context_create(&context_options, &new_context), context_options.allocator = &allocator),
          PROVOKE(heed_context_create(&context_options, &new_context), set_environment("HEED_ISA", "sse2")),
          PROVOKE(heed_tensor_create(new_context, HEED_F32, 3, dims, &new_tensor), allocator.allocate = give_none;
                  allocator.release = take; context_options.allocator = &allocator;
                  heed_context_create(&context_options, &new_context)),
          PROVOKE(heed_tensor_create(new_context, HEED_F32, 3, dims, &new_tensor), allocator.allocate = give_odd;
                  allocator.release = take; context_options.allocator = &allocator;
                  heed_context_create(&context_options, &new_context)),
          PROVOKE(heed_layer_forward(new_layer, &inputs, NULL, &outputs), context_options.strict = 1;
                  heed_context_create(&context_options, &new_context);
                  heed_linear_create(new_context, &linear_options, &new_layer); inputs = HEED_LAYER_INPUTS_INIT;
                  heed_tensor_transpose(tensor, NULL, &new_tensor); inputs.queries = new_tensor;
                  heed_layer_initialize(new_layer, &inputs, 42); outputs = HEED_LAYER_OUTPUTS_INIT;
                  outputs.output = tensor_of(HEED_F32, {4, 3, 5})),
          PROVOKE(
              heed_layer_forward(new_layer, &inputs, NULL, &outputs), context_options.strict = 1;
              heed_context_create(&context_options, &new_context);
              heed_linear_create(new_context, &linear_options, &new_layer); inputs = HEED_LAYER_INPUTS_INIT;
              inputs.queries = tensor; heed_layer_initialize(new_layer, &inputs, 42); outputs = HEED_LAYER_OUTPUTS_INIT;
              heed_tensor_transpose(tensor_of(HEED_F32, {5, 3, 2}), NULL, &new_tensor); outputs.output = new_tensor),
          PROVOKE(heed_layer_forward(new_layer, &heads, NULL, &head_outputs), context_options.strict = 1;
                  heed_context_create(&context_options, &new_context);
                  heed_dot_product_attention_create(new_context, NULL, &new_layer);
                  heed_tensor_transpose(tensor_of(HEED_F32, {4, 3, 4, 2}), NULL, &new_tensor);
                  heads.queries = new_tensor),
          PROVOKE(heed_layer_forward(new_layer, &heads, NULL, &head_outputs), context_options.strict = 1;
                  heed_context_create(&context_options, &new_context);
                  heed_dot_product_attention_create(new_context, NULL, &new_layer);
                  heed_tensor_transpose(tensor_of(HEED_F32, {5, 3}), NULL, &new_tensor); heads.bias = new_tensor),
          PROVOKE(heed_layer_forward(new_layer, &heads, NULL, &head_outputs), context_options.strict = 1;
                  heed_context_create(&context_options, &new_context);
                  heed_dot_product_attention_create(new_context, NULL, &new_layer);
                  heed_tensor_transpose(tensor_of(HEED_F32, {6, 3, 4, 2}), NULL, &new_tensor);
                  head_outputs.output = new_tensor),
          PROVOKE(heed_layer_forward(new_layer, &heads, NULL, &head_outputs), context_options.strict = 1;
                  heed_context_create(&context_options, &new_context);
                  heed_dot_product_attention_create(new_context, NULL, &new_layer); dims[1] = 2; dims[2] = 5;
                  strides[0] = 40; strides[1] = 20; strides[2] = 1; strides[3] = 5; dims[3] = 4;
                  heed_tensor_view(tensor_of(HEED_F32, {80}), 4, dims, strides, 0, &new_tensor);
                  heads.keys = new_tensor),
          PROVOKE(heed_layer_forward(new_layer, &heads, NULL, &head_outputs), context_options.strict = 1;
                  heed_context_create(&context_options, &new_context);
                  heed_dot_product_attention_create(new_context, NULL, &new_layer); dims[1] = 2; dims[2] = 131072;
                  dims[3] = 4; strides[0] = 1048576; strides[1] = 4; strides[2] = 8;
                  heed_tensor_view(tensor_of(HEED_F32, {2097152}), 4, dims, strides, 0, &new_tensor);
                  heads.values = tensor_of(HEED_F32, {2, 2, 131072, 6}); heads.keys = new_tensor;
                  head_outputs.weights = NULL),
          PROVOKE(heed_layer_forward(new_layer, &heads, NULL, &head_outputs), context_options.strict = 1;
                  heed_context_create(&context_options, &new_context);
                  heed_dot_product_attention_create(new_context, NULL, &new_layer); heads.sequences = &sequences;
                  sequences.positions = tensor_of(HEED_I32, {2, 3});
                  sequences.key_positions = tensor_of(HEED_I32, {2, 5}); heads.alibi_slopes = tensor_of(HEED_F32, {4})),
          PROVOKE(heed_softmax(tensor_of(HEED_F32, {2, 3, 4}), 1, new_product), context_options.strict = 1;
                  heed_context_create(&context_options, &new_context);
                  heed_tensor_create(new_context, HEED_F32, 3, dims, &new_product)),
          PROVOKE(heed_softmax(tensor_of(HEED_F32, {2, 3, 4}), 2, new_tensor), context_options.strict = 1;
                  heed_context_create(&context_options, &new_context); strides[1] = 1; strides[2] = 3;
                  heed_tensor_create(new_context, HEED_F32, 3, dims, &new_product);
                  heed_tensor_view(new_product, 3, dims, strides, 0, &new_tensor)),
          PROVOKE(heed_cross_entropy(new_tensor, tensor_of(HEED_I32, {2, 3}), NULL, NULL, tensor_of(HEED_F32, {2, 3}),
                                     NULL, NULL),
                  context_options.strict = 1;
                  heed_context_create(&context_options, &new_context); strides[1] = 1; strides[2] = 3;
                  heed_tensor_create(new_context, HEED_F32, 3, dims, &new_product);
                  heed_tensor_view(new_product, 3, dims, strides, 0, &new_tensor)),
          PROVOKE(heed_cross_entropy(new_product, tensor_of(HEED_I32, {2, 3}), NULL, NULL, NULL, NULL, new_tensor),
                  context_options.strict = 1;
                  heed_context_create(&context_options, &new_context);
                  heed_tensor_create(new_context, HEED_F32, 3, dims, &new_product); strides[1] = 1; strides[2] = 3;
                  heed_tensor_view(tensor, 3, dims, strides, 0, &new_tensor)),
          PROVOKE(heed_attention_merge(part_outputs, part_log_sum_exps, 1, NULL, new_product, NULL),
                  context_options.strict = 1;
                  heed_context_create(&context_options, &new_context);
                  heed_tensor_create(new_context, HEED_F32, 3, dims, &new_product); strides[1] = 1; strides[2] = 3;
                  heed_tensor_view(tensor, 3, dims, strides, 0, &new_tensor); part_outputs[0] = new_tensor),
          PROVOKE(heed_attention_merge(part_outputs, part_log_sum_exps, 1, NULL, new_tensor, NULL),
                  context_options.strict = 1;
                  heed_context_create(&context_options, &new_context); strides[1] = 1; strides[2] = 3;
                  heed_tensor_create(new_context, HEED_F32, 3, dims, &new_product);
                  heed_tensor_view(new_product, 3, dims, strides, 0, &new_tensor)),
          PROVOKE(heed_reduce(HEED_REDUCE_SUM, new_tensor, 1, new_product), context_options.strict = 1;
                  heed_context_create(&context_options, &new_context); strides[0] = 12; strides[1] = 2;
                  heed_tensor_view(tensor, 2, dims, strides, 0, &new_tensor);
                  heed_tensor_create(new_context, HEED_F32, 1, dims, &new_product)),
          PROVOKE(heed_matmul(tensor_of(HEED_F32, {2, 2}), new_tensor, new_product), context_options.strict = 1;
                  heed_context_create(&context_options, &new_context);
                  heed_tensor_view(tensor, 2, dims, strides, 0, &new_tensor);
                  heed_tensor_create(new_context, HEED_F32, 2, dims, &new_product)),
          options_of_contexts(),
      }};
}

}  // namespace heed::errors_test
