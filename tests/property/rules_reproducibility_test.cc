// SPDX-License-Identifier: Apache-2.0
// Rules 9, 10 and 11: calls that must give the same bits, and the elements that dropout keeps.
#include <gtest/gtest.h>

#include <cmath>

#include "reference/philox.h"
#include "support/batch_part.h"
#include "support/samples.h"

namespace heed::property {
namespace {

// Calls of each kind that combine lengths, mask, bias and causal, with sizes that leave partial query tiles and key
// blocks.
std::vector<Call> demanding_calls(Random& random, heed_dtype dtype = HEED_F32, int64_t num_queries = 37,
                                  int64_t num_keys = 131) {
  std::vector<Call> calls = call_of_each_kind(random, dtype, num_queries, num_keys);
  for (Call& call : calls) {
    const auto keys = static_cast<double>(num_keys);
    call.valid_lens = make_input({{2}, {keys, std::floor(keys / 2.0)}}, HEED_I32);
    Array mask = filled({2, 1, num_queries, num_keys}, 0.0);
    for (double& element : mask.values) element = random.chance(0.9);
    call.mask = make_input(mask, HEED_BOOL);
    call.bias = make_input(random_array({num_queries, num_keys}, random, 2.0));
    call.options.causal = HEED_CAUSAL_BOTTOM_RIGHT;
  }
  return calls;
}

// ---- rule 9 ---------------------------------------------------------------------------------------------------------

TEST(Rule09, RequestingMoreResultsDoesNotChangeTheOutput) {
  Random random(901);
  for (heed_dtype dtype : {HEED_F32, HEED_F16, HEED_BF16}) {
    for (const Call& plain : demanding_calls(random, dtype)) {
      Call everything = plain;
      want_everything(everything);
      const Results all = run(everything);
      for (uint32_t wanted = 1; wanted < 8; ++wanted) {
        Call call = everything;
        if ((wanted & HEED_WANT_OUTPUT) == 0) call.output.reset();
        if ((wanted & HEED_WANT_WEIGHTS) == 0) call.weights.reset();
        if ((wanted & HEED_WANT_LOG_SUM_EXP) == 0) call.log_sum_exp.reset();
        const Results results = run(call);
        EXPECT_TRUE(!results.output || same_bits(results.output, all.output)) << wanted;
        EXPECT_TRUE(!results.weights || same_bits(results.weights, all.weights)) << wanted;
        EXPECT_TRUE(!results.log_sum_exp || same_bits(results.log_sum_exp, all.log_sum_exp)) << wanted;
      }
    }
  }
}

TEST(Rule09, TrainingWithoutDropoutChangesNothing) {
  Random random(902);
  for (Call call : demanding_calls(random)) {
    want_everything(call);
    const Results expected = run(call);
    call.training = 1;
    call.dropout_seed = 12345;
    EXPECT_TRUE(same_bits(run(call), expected));
    call.training = 0;
    call.options.dropout = 0.5F;
    EXPECT_TRUE(same_bits(run(call), expected));
  }
}

TEST(Rule09, HoldsWhereValuesAreNearTheLargestFloat) {
  Random random(903);
  Call call = dot_product_call({1, 1, 1, 20, 100, 4, 3}, random);
  for (double& value : call.values->contents.values) value = 3e38 * std::copysign(1.0, value);
  const Results alone = run(call);
  want_everything(call);
  EXPECT_TRUE(same_bits(run(call).output, alone.output));
}

// ---- rule 10 --------------------------------------------------------------------------------------------------------

TEST(Rule10, NumberOfThreadsChangesNothing) {
  HEED_SKIP_ON_ASCEND("rule 10 is the CPU's");
  Random random(1001);
  for (Call call : demanding_calls(random)) {
    call.options.dropout = 0.2F;
    call.training = 1;
    want_everything(call);
    const Results expected = run(call);
    for (int32_t num_threads = 1; num_threads <= 8; ++num_threads) {
      call.num_threads = num_threads;
      EXPECT_TRUE(same_bits(run(call), expected)) << num_threads;
    }
  }
}

void expect_batch_elements_alone_have_the_same_bits(Call call) {
  want_everything(call);
  const Results together = run(call);
  for (int64_t b = 0; b < sizes_of(call).batch; ++b)
    EXPECT_TRUE(same_bits(run(part_of_batch(call, b, 1)), part_of_batch(call, together, b, 1)));
}

TEST(Rule10, BatchElementAloneHasTheSameBits) {
  HEED_SKIP_ON_ASCEND("rule 10 is the CPU's");
  Random random(1002);
  for (heed_dtype dtype : {HEED_F32, HEED_F16, HEED_BF16}) {
    for (const Call& call : demanding_calls(random, dtype)) expect_batch_elements_alone_have_the_same_bits(call);
  }
}

TEST(Rule10, BatchElementAloneWithTheSameStridesHasTheSameBits) {
  HEED_SKIP_ON_ASCEND("rule 10 is the CPU's");
  Random random(1003);
  for (Layout layout : {Layout::Transposed, Layout::Padded, Layout::Reversed, Layout::Repeated}) {
    for (Call call : demanding_calls(random)) {
      for (std::optional<Input>* input : {&call.keys, &call.values}) {
        const Dims dims = (*input)->contents.dims;
        *input = make_input((*input)->contents, HEED_F32, make_strides(layout, dims, random));
      }
      call.queries =
          make_input(call.queries.contents, HEED_F32, make_strides(layout, call.queries.contents.dims, random));
      expect_batch_elements_alone_have_the_same_bits(call);
    }
  }
}

// A projection sums in the same order for one row, few rows and many rows.
TEST(Rule10, RowAloneHasTheSameBits) {
  HEED_SKIP_ON_ASCEND("rule 10 is the CPU's");
  Random random(1004);
  for (int64_t batch : {2, 17, 65}) {
    MultiHeadSample sample;
    sample.batch = batch;
    sample.num_queries = sample.num_keys = 1;
    sample.query_size = sample.key_size = sample.value_size = 33;
    heed_multi_head_attention_options options = two_heads();
    options.num_hiddens = 34;
    expect_batch_elements_alone_have_the_same_bits(multi_head_call(options, sample, random));
    expect_batch_elements_alone_have_the_same_bits(additive_call(34, sample, random));
    expect_batch_elements_alone_have_the_same_bits(dot_product_call({batch, 2, 1, 1, 67, 17, 3}, random));
  }
}

TEST(Rule10, WorkspaceChangesNothing) {
  Random random(1005);
  for (Call large : demanding_calls(random)) {
    want_everything(large);
    const Call small = part_of_batch(large, 1, 1);
    const Runner runner(large);
    const Results expected_large = runner.forward(large);
    const Results expected_small = runner.forward(small);
    const size_t num_bytes = runner.workspace_size(large);
    EXPECT_LE(runner.workspace_size(small), num_bytes);
    for (size_t extra : {0U, 1U, 1000U}) {
      const GuardedWorkspace workspace = runner.make_workspace(num_bytes + extra);
      EXPECT_TRUE(same_bits(runner.forward(small, workspace.get()), expected_small));
      EXPECT_TRUE(same_bits(runner.forward(large, workspace.get()), expected_large));
      EXPECT_TRUE(same_bits(runner.forward(small, workspace.get()), expected_small));
    }
  }
}

TEST(Rule10, AlignmentOfTheWorkspaceChangesNothing) {
  HEED_SKIP_ON_ASCEND("the alignment is the host memory's");
  Random random(1006);
  for (Call call : demanding_calls(random)) {
    want_everything(call);
    const Runner runner(call);
    const Results expected = runner.forward(call);
    const size_t num_bytes = runner.workspace_size(call);
    for (size_t offset : {0U, 1U, 3U, 63U}) {
      const GuardedWorkspace workspace(runner.context(), num_bytes, offset);
      EXPECT_TRUE(same_bits(runner.forward(call, workspace.get()), expected)) << offset;
    }
  }
}

// ---- rule 11 --------------------------------------------------------------------------------------------------------

// The values are unit vectors, so that output [b, h, q, k] is the weight of key k after dropout.
Call call_that_shows_dropout(const reference::AttentionSizes& sizes, Random& random, float dropout, uint64_t seed) {
  Call call = dot_product_call(sizes, random);
  const size_t key_axis = call.values->contents.dims.size() - 2;
  for_each_index(call.values->contents.dims, [&](const Dims& index, size_t position) {
    call.values->contents.values[position] = index[key_axis] == index[key_axis + 1];
  });
  call.options.dropout = dropout;
  call.training = 1;
  call.dropout_seed = seed;
  return call;
}

TEST(Rule11, KeepsWhatPhiloxKeeps) {
  Random random(1101);
  const reference::AttentionSizes many_heads = {3, 4, 2, 5, 71, 4, 71};
  const reference::AttentionSizes no_heads = {3, 1, 1, 18, 71, 4, 71};
  for (const reference::AttentionSizes& sizes : {many_heads, no_heads}) {
    for (float dropout : {0.1F, 0.5F, 0.9F, 0x1p-33F, 0x1.fffffep-1F}) {
      for (uint64_t seed : {uint64_t{0}, uint64_t{1}, uint64_t{1} << 32, uint64_t{0xFEDCBA9876543210}}) {
        const Call call = call_that_shows_dropout(sizes, random, dropout, seed);
        const Results results = run(call);
        size_t position = 0;
        for (int64_t b = 0; b < sizes.batch; ++b) {
          for (int64_t h = 0; h < sizes.num_heads; ++h) {
            for (int64_t q = 0; q < sizes.num_queries; ++q) {
              for (int64_t k = 0; k < sizes.num_keys; ++k) {
                const bool kept = results.output->contents.values[position++] != 0.0;
                ASSERT_EQ(kept, reference::dropout_keeps(seed, static_cast<double>(dropout), b, h, q, k))
                    << "batch element " << b << ", head " << h << ", query " << q << ", key " << k << ", seed " << seed;
              }
            }
          }
        }
        EXPECT_TRUE(agree(results, solve(call)));
      }
    }
  }
}

TEST(Rule11, KeepsTheExpectedNumberOfElements) {
  Random random(1102);
  for (float dropout : {0.1F, 0.5F, 0.9F}) {
    const Results results = run(call_that_shows_dropout({2, 4, 4, 100, 128, 4, 128}, random, dropout, 99));
    double kept = 0.0;
    for (double element : results.output->contents.values) kept += element != 0.0;
    const auto count = static_cast<double>(results.output->contents.values.size());
    const double probability = 1.0 - static_cast<double>(dropout);
    // Six standard deviations of a binomial distribution: exceeded by one seed in a thousand million, and the seed is
    // fixed.
    EXPECT_NEAR(kept, count * probability, 6.0 * std::sqrt(count * probability * (1.0 - probability)));
  }
}

TEST(Rule11, SameSeedSameBitsAnotherSeedOtherBits) {
  Random random(1103);
  for (Call call : demanding_calls(random)) {
    call.options.dropout = 0.4F;
    call.training = 1;
    call.dropout_seed = 7;
    want_everything(call);
    const Results first = run(call);
    EXPECT_TRUE(same_bits(run(call), first));
    call.dropout_seed = 8;
    EXPECT_FALSE(same_bits(run(call).output, first.output));
    EXPECT_TRUE(same_bits(run(call).weights, first.weights));
    call.dropout_seed = 7 + (uint64_t{1} << 32);
    EXPECT_FALSE(same_bits(run(call).output, first.output));
  }
}

TEST(Rule11, ActiveOnlyInTraining) {
  Random random(1104);
  for (Call call : demanding_calls(random)) {
    const Results expected = run(call);
    call.options.dropout = 0.9F;
    EXPECT_TRUE(same_bits(run(call).output, expected.output));
    call.training = 1;
    EXPECT_FALSE(same_bits(run(call).output, expected.output));
    EXPECT_TRUE(agrees_with_reference(call));
  }
}

TEST(Rule11, ProbabilityOutsideItsRangeIsRefused) {
  Random random(1105);
  for (Call call : call_of_each_kind(random)) {
    for (float dropout : {1.0F, -0.1F, 2.0F, std::nanf("")}) {
      call.options.dropout = dropout;
      EXPECT_TRUE(is_refused(call, HEED_ERROR_INVALID_ARGUMENT, {"dropout"})) << dropout;
    }
  }
}

TEST(Rule11, DimensionsAbove32BitsAreRefused) {
  const Context context = make_context();
  heed_dot_product_attention_options options = HEED_DOT_PRODUCT_ATTENTION_OPTIONS_INIT;
  options.dropout = 0.5F;
  heed_layer* raw_layer = nullptr;
  check(heed_dot_product_attention_create(context.get(), &options, &raw_layer));
  const Layer layer(raw_layer);

  // A single key, repeated by a stride of 0.
  float element = 1.0F;
  float result = 0.0F;
  const auto wrap = [&](int64_t length, float* data) {
    const Dims dims = {1, length, 1};
    const Dims strides = {1, 0, 1};
    heed_tensor* tensor = nullptr;
    check(heed_tensor_wrap(context.get(), HEED_F32, 3, dims.data(), length == 1 ? nullptr : strides.data(), data,
                           nullptr, nullptr, &tensor));
    return Tensor(tensor);
  };
  const Tensor queries = wrap(1, &element);
  const Tensor keys = wrap((int64_t{1} << 32) + 1, &element);
  const Tensor output = wrap(1, &result);
  heed_layer_inputs inputs = HEED_LAYER_INPUTS_INIT;
  inputs.queries = queries.get();
  inputs.keys = keys.get();
  inputs.training = 1;
  heed_layer_outputs outputs = HEED_LAYER_OUTPUTS_INIT;
  outputs.output = output.get();
  EXPECT_EQ(heed_layer_forward(layer.get(), &inputs, nullptr, &outputs), HEED_ERROR_UNSUPPORTED);
  EXPECT_NE(std::string(heed_last_error()).find("4294967297"), std::string::npos) << heed_last_error();
  EXPECT_EQ(result, 0.0F);
}

}  // namespace
}  // namespace heed::property
