// SPDX-License-Identifier: Apache-2.0
// Calls that get the errors of devices, of precision, of operations that run on the CPU, and of failures.
#include "ascend/errors_scene.h"
#include "support/platform/environment.h"

namespace heed::ascend_test {
namespace {

using Scene = NpuScene;

}  // namespace

errors_test::Topic devices() {
  return {"Devices",
          "Here and below, `ascend_sim_set_faults` sets which devices the simulator has, and what fails.",
          {
              PROVOKE(heed_device_count(HEED_DEVICE_ASCEND), ascend_sim_set_faults("device_count=0")),
              PROVOKE(heed_device_count(HEED_DEVICE_ASCEND), ascend_sim_set_faults("soc=Ascend310P3")),
              PROVOKE(heed_device_count(HEED_DEVICE_ASCEND), unset_environment("ASCEND_HOME_PATH")),
              PROVOKE(heed_device_count(HEED_DEVICE_ASCEND), unset_environment("ATB_HOME_PATH")),
              PROVOKE(heed_context_create(&context_options, &new_context),
                      ascend_sim_set_faults("device_count=2,create_operation=1:1");
                      context_options.device_index = 1),
              PROVOKE(heed_context_create(&context_options, &new_context), context_options.device_index = 1),
              PROVOKE(heed_context_create(&context_options, &new_context), context_options.device_index = 2;
                      ascend_sim_set_faults("device_count=2")),
              PROVOKE(heed_layer_forward(attention, &inputs, NULL, &outputs),
                      inputs.queries = on_cpu(HEED_F16, {2, 5, 16})),
              PROVOKE(heed_tensor_to_dlpack(tensor_of(HEED_F32, {3}), &exported)),
              PROVOKE(heed_tensor_from_dlpack(context, &managed, &new_tensor)),
          }};
}

errors_test::Topic precision() {
  return {
      "Precision",
      "`linear_of(dtype)` is a linear layer with parameters of that dtype, `input` is (3, 4) of F16.",
      {
          PROVOKE(heed_layer_forward(attention, &inputs, NULL, &outputs),
                  inputs.queries = tensor_of(HEED_F32, {2, 5, 16});
                  outputs.output = tensor_of(HEED_F32, {2, 5, 16})),
          PROVOKE(heed_layer_forward(attention, &inputs, NULL, &outputs), inputs.bias = tensor_of(HEED_F32, {5, 5})),
          PROVOKE(heed_layer_forward(linear_of(HEED_F32), &input, NULL, &outputs),
                  input.queries = tensor_of(HEED_F32, {3, 4});
                  outputs.output = tensor_of(HEED_F32, {3, 5})),
          PROVOKE(heed_layer_forward(linear_of(HEED_F32), &input, NULL, &outputs),
                  outputs.output = tensor_of(HEED_F16, {3, 5})),
          PROVOKE(heed_layer_forward(new_layer, &input, NULL, &outputs),
                  heed_linear_create(context, &linear_options, &new_layer);
                  heed_layer_set_parameter(new_layer, "weight", tensor_of(HEED_F16, {5, 4}));
                  heed_layer_set_parameter(new_layer, "bias", tensor_of(HEED_F32, {5}));
                  outputs.output = tensor_of(HEED_F16, {3, 5})),
          PROVOKE(heed_layer_forward(new_layer, &inputs, NULL, &outputs), multi_head.qk_norm_epsilon = 1e-5f;
                  heed_multi_head_attention_create(context, &multi_head, &new_layer);
                  for (const char* name
                       : {"W_q.weight", "W_k.weight", "W_v.weight", "W_o.weight"})
                      heed_layer_set_parameter(new_layer, name, tensor_of(HEED_F16, {16, 16}));
                  for (const char* name
                       : {"q_norm.weight", "k_norm.weight"})
                      heed_layer_set_parameter(new_layer, name, tensor_of(HEED_F32, {16}))),
          PROVOKE(heed_layer_forward(linear_of(HEED_BF16), &input, NULL, &outputs),
                  outputs.output = tensor_of(HEED_F16, {3, 5})),
      }};
}

errors_test::Topic gaps() {
  return {
      "What runs on the CPU",
      "`heed_layer_explain` gives these reasons as `not_fastest`. In a context that is not strict, the CPU does the\n"
      "operation, and the logger gets a warning; the contexts here are strict. `tensor`, and the tensors in `inputs` "
      "and `outputs`, are\n"
      "(2, 5, 16) of F16; caches are for two sequences of 16 rows of F16; `spread()` is (2, 3) with 100,000 elements "
      "from one row to the next.",
      {
          PROVOKE(heed_layer_forward(attention_with(options), &inputs, NULL, &outputs), options.soft_cap = 20),
          PROVOKE(heed_layer_forward(attention, &inputs, NULL, &outputs), inputs.sinks = tensor_of(HEED_F32, {1})),
          PROVOKE(heed_layer_forward(multi_head_with(multi_head), &inputs, NULL, &outputs),
                  multi_head.relative_bias = HEED_RELATIVE_BIAS_ONE_WAY),
          PROVOKE(heed_layer_forward(multi_head_with(multi_head), &inputs, NULL, &outputs),
                  multi_head.add_zero_attn = 1),
          PROVOKE(heed_layer_forward(attention, &inputs, NULL, &outputs),
                  sequences.positions = tensor_of(HEED_I64, {2, 5});
                  inputs.sequences = &sequences; inputs.keys = inputs.values = tensor_of(HEED_F16, {2, 5, 16})),
          PROVOKE(heed_layer_forward(attention_with(options), &inputs, NULL, &outputs),
                  options.causal = HEED_CAUSAL_TOP_LEFT;
                  sequences.positions = tensor_of(HEED_I64, {2, 5});
                  sequences.key_positions = tensor_of(HEED_I64, {2, 5}); inputs.sequences = &sequences;
                  inputs.keys = inputs.values = tensor_of(HEED_F16, {2, 5, 16})),
          PROVOKE(heed_layer_forward(attention, &inputs, NULL, &outputs),
                  sequences.query_lens = tensor_of(HEED_I64, {2});
                  inputs.sequences = &sequences),
          PROVOKE(heed_layer_forward(multi_head_with(multi_head), &inputs, NULL, &outputs),
                  multi_head.qk_norm_epsilon = 1e-5f;
                  multi_head.qk_norm = HEED_QK_NORM_LAYER),
          PROVOKE(heed_layer_forward(multi_head_with(multi_head), &inputs, NULL, &outputs),
                  multi_head.qk_norm_epsilon = 1e-5f;
                  multi_head.head_size = 24),
          PROVOKE(heed_layer_forward(multi_head_with(multi_head), &inputs, NULL, &outputs),
                  multi_head.qk_norm_epsilon = 1e-7f),
          PROVOKE(heed_layer_forward(multi_head_with(multi_head), &inputs, NULL, &outputs),
                  rope_options.layout = HEED_ROPE_HALF;
                  multi_head.rope = &rope_options; multi_head.head_size = 4098),
          PROVOKE(heed_layer_forward(multi_head_with(multi_head), &inputs, NULL, &outputs),
                  rope_options.layout = HEED_ROPE_HALF;
                  multi_head.rope = &rope_options; multi_head.head_size = 2050;
                  tensor = tensor_of(HEED_BF16, {2, 5, 16}); inputs.queries = tensor;
                  outputs.output = tensor_of(HEED_BF16, {2, 5, 16})),
          PROVOKE(heed_layer_forward(multi_head_with(multi_head), &inputs, NULL, &outputs),
                  rope_options.layout = HEED_ROPE_INTERLEAVED;
                  multi_head.rope = &rope_options; multi_head.add_bias_kv = 1),
          PROVOKE(heed_layer_forward(attention_with(options), &inputs, NULL, &outputs), options.scale = 0.003f),
          PROVOKE(heed_layer_forward(attention_with(options), &inputs, NULL, &outputs), options.dropout = 0.5f;
                  inputs.training = 1),
          PROVOKE(heed_layer_forward(additive(), &inputs, NULL, &outputs)),
          PROVOKE(heed_layer_forward(encoder_with(output_options), &inputs, NULL, &outputs),
                  output_options.soft_cap = 30;
                  outputs.output = tensor_of(HEED_F16, {2, 5, 4})),
          PROVOKE(heed_layer_forward(embedding_with(embedding_options), &input, NULL, &outputs),
                  embedding_options.scale = 0.003f;
                  input.queries = tensor_of(HEED_I32, {3}); outputs.output = tensor_of(HEED_F16, {3, 4})),
          PROVOKE(heed_layer_forward(norm_of(norm_options, HEED_F16, 4), &input, NULL, &outputs),
                  norm_options.kind = HEED_NORM_RMS;
                  outputs.output = tensor_of(HEED_F16, {3, 4})),
          PROVOKE(heed_layer_forward(norm_of(norm_options, HEED_F16, 4), &input, NULL, &outputs),
                  norm_options.epsilon = 1e-13f;
                  norm_options.no_bias = 1; outputs.output = tensor_of(HEED_F16, {3, 4})),
          PROVOKE(heed_layer_forward(norm_of(norm_options, HEED_F32, 16), &inputs, NULL, &outputs),
                  norm_options.kind = HEED_NORM_RMS;
                  inputs.queries = tensor_of(HEED_F32, {2, 5, 16}); outputs.output = tensor_of(HEED_F32, {2, 5, 16})),
          PROVOKE(heed_layer_forward(attention, &inputs, NULL, &outputs),
                  inputs.queries = tensor_of(HEED_F16, {2, 5, 257});
                  outputs.output = tensor_of(HEED_F16, {2, 5, 257})),
          PROVOKE(heed_layer_forward(attention_with(options), &inputs, NULL, &outputs),
                  options.window = HEED_WINDOW_TOP_LEFT;
                  options.window_left = 8; inputs.queries = tensor_of(HEED_F16, {1, 50000, 16});
                  outputs.output = tensor_of(HEED_F16, {1, 50000, 16})),
          PROVOKE(heed_layer_forward(attention, &inputs, NULL, &outputs),
                  inputs.queries = tensor_of(HEED_F16, {1, 32000, 1});
                  outputs.output = NULL; outputs.log_sum_exp = tensor_of(HEED_F32, {1, 32000})),
          PROVOKE(heed_layer_forward(multi_head_with(multi_head), &inputs, NULL, &outputs),
                  cache_options.dtype = HEED_F32;
                  cache_with(cache_options)),
          PROVOKE(heed_layer_forward(multi_head_with(multi_head), &inputs, NULL, &outputs),
                  cache_options.dtype = HEED_BF16;
                  cache_with(cache_options)),
          PROVOKE(heed_layer_forward(multi_head_with(multi_head), &inputs, NULL, &outputs), cache_with(cache_options);
                  multi_head.soft_cap = 20),
          PROVOKE(heed_layer_forward(multi_head_with(multi_head), &inputs, NULL, &outputs), cache_with(cache_options);
                  multi_head.window = HEED_WINDOW_BOTTOM_RIGHT; multi_head.window_left = 3;
                  sequences.positions = tensor_of(HEED_I64, {2, 5}); inputs.sequences = &sequences),
          PROVOKE(heed_activation(tensor_of(HEED_F32, {3, 4}), HEED_ACTIVATION_SILU, tensor_of(HEED_F32, {3, 4}))),
          PROVOKE(heed_softmax(tensor_of(HEED_F64, {2, 3}), -1, tensor_of(HEED_F64, {2, 3}))),
          PROVOKE(heed_softmax(spread(), -1, tensor_of(HEED_F16, {2, 3}))),
          PROVOKE(heed_log_softmax(tensor_of(HEED_F16, {2, 3}), -1, tensor_of(HEED_F16, {2, 3}))),
          PROVOKE(heed_add(tensor_of(HEED_F16, {2, 3}), tensor_of(HEED_F16, {2, 3}), tensor_of(HEED_F16, {2, 3}))),
          PROVOKE(heed_reduce(HEED_REDUCE_SUM, tensor_of(HEED_F16, {2, 3}), 0, tensor_of(HEED_F16, {3}))),
          PROVOKE(heed_matmul(tensor_of(HEED_F16, {1, 0}), tensor_of(HEED_F16, {0, 1}), tensor_of(HEED_F16, {1, 1}))),
          PROVOKE(heed_cross_entropy(tensor_of(HEED_F32, {2, 3}), tensor_of(HEED_I32, {2}), NULL, NULL,
                                     tensor_of(HEED_F32, {2}), NULL, NULL)),
          PROVOKE(heed_attention_merge(&part_output, &part_log_sum_exp, 1, NULL, tensor_of(HEED_F16, {2, 3, 4}), NULL),
                  part_output = tensor_of(HEED_F16, {2, 3, 4});
                  part_log_sum_exp = tensor_of(HEED_F32, {2, 3})),
          PROVOKE(heed_layer_forward(new_layer, &input, NULL, &outputs), dropout_options.dropout = 0.5f;
                  heed_dropout_create(context, &dropout_options, &new_layer); input.training = 1;
                  outputs.output = tensor_of(HEED_F16, {3, 4})),
          PROVOKE(heed_layer_backward(attention, &inputs, NULL, NULL, &gradients),
                  inputs.queries = tensor_of(HEED_F32, {2, 5, 16});
                  gradients.output = tensor_of(HEED_F32, {2, 5, 16});
                  gradients.queries = tensor_of(HEED_F32, {2, 5, 16})),
      }};
}

errors_test::Topic failures() {
  return {"Memory and failures",
          "After each of these but the last two the objects are as they were, and the next call works.",
          {
              PROVOKE(heed_tensor_create(context, HEED_F32, 3, dims, &new_tensor),
                      ascend_sim_set_faults("memory=200000000")),
              PROVOKE(heed_layer_forward(attention, &inputs, NULL, &outputs), ascend_sim_set_faults("setup=1:27")),
              PROVOKE(heed_layer_forward(attention, &inputs, NULL, &outputs), ascend_sim_set_faults("throw=1")),
              PROVOKE(heed_tensor_create(new_context, HEED_F32, 1, dims, &new_tensor),
                      ascend_sim_set_faults("device_count=2,malloc_host=1");
                      context_options.device_index = 1; heed_context_create(&context_options, &new_context)),
              PROVOKE(heed_tensor_write(tensor, numbers, sizeof numbers), ascend_sim_set_faults("memcpy=1:500003")),
              PROVOKE(heed_layer_forward(attention, &inputs, NULL, &outputs), ascend_sim_set_faults("setup=1:4")),
              PROVOKE(heed_context_synchronize(context), ascend_sim_set_faults("kernel=1:507015");
                      heed_layer_forward(attention, &inputs, NULL, &outputs)),
              PROVOKE(heed_layer_forward(attention, &inputs, NULL, &outputs), ascend_sim_set_faults("kernel=1:507015");
                      heed_layer_forward(attention, &inputs, NULL, &outputs); heed_context_synchronize(context)),
          }};
}

const std::vector<errors_test::Unprovoked>& unprovoked() {
  static const std::vector<errors_test::Unprovoked> all = {
      {"AscendCL cannot be initialized (aclInit gives %d%s): expected the Ascend driver, and the set_env.sh of CANN "
       "sourced",
       "Comes without a driver, in a process in which AscendCL has not been initialized."},
      {"the loader gives no reason", "Stands for the loader's words, which it always has."},
      {"the context on device ascend:%d was opened before fork, after which the driver cannot be used: open a context "
       "in the child, before anything of Ascend is used in the parent",
       "Takes a child of fork that uses its parent's context."},
      {"ATB's Gather has no rows that are none",
       "Needs a batch element without rows, and a ragged batch runs on the CPU before that."},
      {"ATB or the Ascend plugin threw \"%s\"", "Stops exceptions that nothing is known to throw."},
      {"ATB or the Ascend plugin threw what is no exception of C++",
       "Stops exceptions that nothing is known to throw."},
      {"an operand on its way to the host has dims %s, whose size in bytes overflows, expected at most 2^63 - 1 bytes",
       "Takes a tensor that no memory holds."},
  };
  return all;
}

}  // namespace heed::ascend_test
