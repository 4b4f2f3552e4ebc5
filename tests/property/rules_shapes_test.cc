// SPDX-License-Identifier: Apache-2.0
// Rules 1, 12 and 14: shapes of inputs, shapes of results, and limits of sizes.
#include <gtest/gtest.h>

#include <cmath>
#include <utility>

#include "support/numbers.h"
#include "support/samples.h"

namespace heed::property {
namespace {

Dims dims_of(const heed_tensor* tensor) {
  Dims dims;
  for (int32_t axis = 0; axis < heed_tensor_rank(tensor); ++axis) dims.push_back(heed_tensor_dim(tensor, axis));
  return dims;
}

// The shapes of the results that heed_layer_create_outputs makes for a call.
ResultDims made_by_create_outputs(const Call& call) {
  const Runner runner(call);
  const HostTensor queries(runner.context(), call.queries);
  const HostTensor keys(runner.context(), *call.keys);
  const HostTensor values(runner.context(), *call.values);
  heed_layer_inputs inputs = HEED_LAYER_INPUTS_INIT;
  inputs.queries = queries.handle();
  inputs.keys = keys.handle();
  inputs.values = values.handle();
  heed_layer_outputs outputs = HEED_LAYER_OUTPUTS_INIT;
  const int32_t wanted = HEED_WANT_OUTPUT | HEED_WANT_WEIGHTS | HEED_WANT_LOG_SUM_EXP;
  check(heed_layer_create_outputs(runner.layer(), &inputs, wanted, &outputs));
  const Tensor output(outputs.output);
  const Tensor weights(outputs.weights);
  const Tensor log_sum_exp(outputs.log_sum_exp);
  return {dims_of(output.get()), dims_of(weights.get()), dims_of(log_sum_exp.get())};
}

TEST(Rule01, ResultsHaveTheirShapes) {
  Random random(101);
  const std::vector<Call> calls = call_of_each_kind(random);
  const ResultDims rank3 = made_by_create_outputs(calls[0]);
  EXPECT_EQ(rank3.output, (Dims{2, 3, 3}));
  EXPECT_EQ(rank3.weights, (Dims{2, 3, 5}));
  EXPECT_EQ(rank3.log_sum_exp, (Dims{2, 3}));
  const ResultDims rank4 = made_by_create_outputs(calls[1]);
  EXPECT_EQ(rank4.output, (Dims{2, 4, 3, 3}));
  EXPECT_EQ(rank4.weights, (Dims{2, 4, 3, 5}));
  EXPECT_EQ(rank4.log_sum_exp, (Dims{2, 4, 3}));
  const ResultDims multi_head = made_by_create_outputs(calls[2]);
  EXPECT_EQ(multi_head.output, (Dims{2, 3, 8}));
  EXPECT_EQ(multi_head.weights, (Dims{2, 2, 3, 5}));
  EXPECT_EQ(multi_head.log_sum_exp, (Dims{2, 2, 3}));
  const ResultDims multi_head_additive = made_by_create_outputs(calls[3]);
  EXPECT_EQ(multi_head_additive.output, multi_head.output);
  EXPECT_EQ(multi_head_additive.weights, multi_head.weights);
  EXPECT_EQ(multi_head_additive.log_sum_exp, multi_head.log_sum_exp);
  const ResultDims additive = made_by_create_outputs(calls[4]);
  EXPECT_EQ(additive.output, (Dims{2, 3, 9}));
  EXPECT_EQ(additive.weights, (Dims{2, 3, 5}));
  EXPECT_EQ(additive.log_sum_exp, (Dims{2, 3}));
  for (Call call : calls) {
    want_everything(call);
    EXPECT_TRUE(agrees_with_reference(call));
  }
}

TEST(Rule01, OutputSizeFollowsTheOptions) {
  Random random(102);
  heed_multi_head_attention_options options = two_heads();
  options.value_head_size = 5;
  options.output_size = 11;
  EXPECT_EQ(made_by_create_outputs(multi_head_call(options, {}, random)).output, (Dims{2, 3, 11}));
  options.output_size = 0;
  options.no_output_projection = 1;
  options.biases = HEED_BIAS_NONE;
  options.num_hiddens = 0;
  options.head_size = 4;
  const Call call = multi_head_call(options, {}, random);
  EXPECT_EQ(made_by_create_outputs(call).output, (Dims{2, 3, 10}));
  EXPECT_TRUE(agrees_with_reference(call));
}

TEST(Rule01, MissingKeysAreTheQueriesAndMissingValuesTheKeys) {
  Random random(103);
  heed_multi_head_attention_options options = two_heads();
  MultiHeadSample sample;
  sample.num_keys = sample.num_queries;
  sample.key_size = sample.value_size = sample.query_size;
  for (Call call : {dot_product_call({2, 1, 1, 3, 3, 4, 4}, random), dot_product_call({2, 4, 4, 3, 3, 4, 4}, random),
                    multi_head_call(options, sample, random), additive_call(7, sample, random)}) {
    want_everything(call);
    Call written_out = call;
    call.keys.reset();
    call.values.reset();
    written_out.keys = written_out.values = call.queries;
    EXPECT_TRUE(same_bits(run(call).output, run(written_out).output));

    call.keys = written_out.keys = make_input(random_array(call.queries.contents.dims, random), HEED_F32);
    written_out.values = call.keys;
    const Results results = run(call);
    const Results expected = run(written_out);
    EXPECT_TRUE(same_bits(results.output, expected.output));
    EXPECT_TRUE(same_bits(results.weights, expected.weights));
    EXPECT_TRUE(agrees_with_reference(call));
  }
}

TEST(Rule01, ShapesThatDoNotFitAreRefused) {
  Random random(104);
  for (const Call& right : call_of_each_kind(random)) {
    const auto with_dim = [&](const Input& input, size_t axis, int64_t dim) {
      Dims dims = input.contents.dims;
      dims[axis] = dim;
      return make_input(filled(dims, 1.0), input.dtype);
    };
    const size_t rank = right.queries.contents.dims.size();
    Call call = right;
    call.keys = with_dim(*right.keys, 0, 7);
    call.values = with_dim(*right.values, 0, 7);
    EXPECT_TRUE(is_refused(call, HEED_ERROR_INVALID_ARGUMENT, {"keys", "7", "2"}));
    call = right;
    call.values = with_dim(*right.values, rank - 2, 9);
    EXPECT_TRUE(is_refused(call, HEED_ERROR_INVALID_ARGUMENT, {"values", "9", "5"}));
    call = right;
    call.keys = with_dim(*right.keys, rank - 1, 13);
    EXPECT_TRUE(is_refused(call, HEED_ERROR_INVALID_ARGUMENT, {"keys", "13"}));
    call = right;
    call.queries = make_input(filled({2, 3, 4, 4, 4}, 1.0));
    EXPECT_TRUE(is_refused(call, HEED_ERROR_INVALID_ARGUMENT, {"queries", "rank"}));
    call = right;
    call.output->dims = Dims(rank, 2);
    EXPECT_TRUE(is_refused(call, HEED_ERROR_INVALID_ARGUMENT, {"output", "expected"}));
    call = right;
    call.weights = OutputRequest{HEED_F32, Layout::RowMajor, Dims(rank, 2)};
    EXPECT_TRUE(is_refused(call, HEED_ERROR_INVALID_ARGUMENT, {"weights", "expected"}));
    call = right;
    call.output.reset();
    EXPECT_TRUE(is_refused(call, HEED_ERROR_INVALID_ARGUMENT, {"output"}));
  }
}

// How many query heads share a key head.
constexpr int64_t kGroups[] = {1, 3, 4, 7};

// A call with two key heads and `group` query heads for each, and the same call with each key head repeated `group`
// times.
struct SharedHeads {
  int64_t group;
  Call grouped;
  Call repeated;

  SharedHeads(int64_t of_group, int64_t num_queries, int64_t num_keys) : group(of_group) {
    constexpr int64_t kKeyHeads = 2;
    Random random(121);
    grouped = dot_product_call({2, kKeyHeads * group, kKeyHeads, num_queries, num_keys, 4, 3}, random);
    want_everything(grouped);
    repeated = grouped;
    repeat_key_heads();
  }

  // Each query head has its own slope and its own sink, whichever key head it shares.
  void add_slopes_and_sinks() {
    const int64_t num_heads = grouped.queries.contents.dims[1];
    Array slopes = filled({num_heads}, 0.0);
    Array sinks = filled({num_heads}, 0.0);
    for (size_t h = 0; h < slopes.values.size(); ++h) {
      slopes.values[h] = 0.03125 * static_cast<double>(h + 1);
      sinks.values[h] = 0.25 * static_cast<double>(h) - 1.0;
    }
    grouped.alibi_slopes = repeated.alibi_slopes = make_input(slopes);
    grouped.sinks = repeated.sinks = make_input(sinks);
  }

  // Every value of a key head becomes the head's number, counted from 1.
  void set_values_to_key_heads() {
    Array values = grouped.values->contents;
    for_each_index(values.dims, [&](const Dims& index, size_t position) {
      values.values[position] = static_cast<double>(index[1] + 1);
    });
    grouped.values = make_input(values);
    repeat_key_heads();
  }

 private:
  void repeat_key_heads() {
    const auto repeat = [this](const Input& input) {
      Dims dims = input.contents.dims;
      dims[1] *= group;
      Array result = filled(dims, 0.0);
      for_each_index(dims, [&](const Dims& index, size_t position) {
        const Dims& from_dims = input.contents.dims;
        const int64_t from_head = index[0] * from_dims[1] + index[1] / group;
        const int64_t from = (from_head * from_dims[2] + index[2]) * from_dims[3] + index[3];
        result.values[position] = input.contents.values[static_cast<size_t>(from)];
      });
      return make_input(result, input.dtype);
    };
    repeated.keys = repeat(*grouped.keys);
    repeated.values = repeat(*grouped.values);
  }
};

// The output of a row, divided by the sum of its weights, is the mean of the values that it reads: the number of its
// key head.
void expect_each_head_to_read_its_key_head(SharedHeads calls) {
  calls.set_values_to_key_heads();
  for (const Call& call : {calls.grouped, calls.repeated}) {
    const Results results = run(call);
    EXPECT_TRUE(agree(results, solve(call)));
    const reference::AttentionSizes sizes = sizes_of(call);
    const Array& output = results.output->contents;
    for_each_index(output.dims, [&](const Dims& index, size_t position) {
      double sum = 0;
      for (int64_t k = 0; k < sizes.num_keys; ++k) sum += weight_at(results, sizes, index[0], index[1], index[2], k);
      const int64_t key_head = index[1] / calls.group;
      EXPECT_EQ(std::round(output.values[position] / sum), static_cast<double>(key_head + 1))
          << "head " << index[1] << " of groups of " << calls.group;
    });
  }
}

// Few keys; few queries, also in the whole group; many queries.
TEST(Rule12, QueryHeadsShareTheKeyHeadOfTheirGroup) {
  for (const int64_t group : kGroups) {
    for (const auto& [num_queries, num_keys] : {std::pair<int64_t, int64_t>{3, 5}, {2, 40}, {20, 40}}) {
      for (const bool has_slopes_and_sinks : {false, true}) {
        SharedHeads calls(group, num_queries, num_keys);
        if (has_slopes_and_sinks) calls.add_slopes_and_sinks();
        EXPECT_TRUE(same_bits(run(calls.grouped), run(calls.repeated)))
            << "groups of " << group << ", " << num_queries << " queries, " << num_keys << " keys, slopes and sinks "
            << has_slopes_and_sinks;
        expect_each_head_to_read_its_key_head(calls);
      }
    }
  }
}

// Few queries in a head but many in a group of several heads: the two calls take different kernels, which sum in
// different orders.
TEST(Rule12, SharedAndRepeatedHeadsAgreeWhicheverKernelsTheyTake) {
  for (const int64_t group : kGroups) {
    for (const bool has_slopes_and_sinks : {false, true}) {
      SharedHeads calls(group, 10, 40);
      if (has_slopes_and_sinks) calls.add_slopes_and_sinks();
      EXPECT_TRUE(agrees_with_reference(calls.grouped)) << "groups of " << group;
      EXPECT_TRUE(agrees_with_reference(calls.repeated)) << "groups of " << group;
      expect_each_head_to_read_its_key_head(calls);
    }
  }
}

// Repeats the key heads, and with them their rows of the projections. w_v has a row for each query head already.
void expect_multi_head_to_share_key_heads(int32_t scoring) {
  Random random(122);
  heed_multi_head_attention_options options = two_heads();
  options.scoring = scoring;
  options.num_heads = 4;
  options.num_hiddens = 12;
  options.num_kv_heads = 2;
  Call grouped = multi_head_call(options, {}, random);
  want_everything(grouped);
  Call repeated = grouped;
  repeated.options.num_kv_heads = 0;
  for (const char* name : {"W_k.weight", "W_k.bias", "W_v.weight", "W_v.bias"}) {
    const Array& rows = grouped.parameters.at(name).contents;  // 2 heads of 3 rows
    Dims dims = rows.dims;
    dims[0] *= 2;
    Array result = filled(dims, 0.0);
    const size_t row_size = rows.values.size() / 6;
    for (size_t row = 0; row < 12; ++row) {
      const size_t from = row / 6 * 3 + row % 3;
      for (size_t i = 0; i < row_size; ++i) result.values[row * row_size + i] = rows.values[from * row_size + i];
    }
    repeated.parameters[name] = make_input(result);
  }
  const Results results = run(grouped);
  const Results expected = run(repeated);
  EXPECT_TRUE(same_bits(results.output, expected.output));
  EXPECT_TRUE(same_bits(results.weights, expected.weights));
  EXPECT_TRUE(same_bits(results.log_sum_exp, expected.log_sum_exp));
}

TEST(Rule12, MultiHeadSharesProjectedKeyHeads) { expect_multi_head_to_share_key_heads(HEED_SCORING_DOT_PRODUCT); }

TEST(Rule12, AdditiveScoringSharesProjectedKeyHeads) { expect_multi_head_to_share_key_heads(HEED_SCORING_ADDITIVE); }

TEST(Rule12, HeadsThatDoNotDivideAreRefused) {
  Random random(123);
  Call call = dot_product_call({2, 6, 4, 3, 5, 4, 3}, random);
  EXPECT_TRUE(is_refused(call, HEED_ERROR_INVALID_ARGUMENT, {"keys", "6", "4"}));
  call = multi_head_call(two_heads(), {}, random);
  call.options.num_kv_heads = 3;
  EXPECT_TRUE(is_refused(call, HEED_ERROR_INVALID_ARGUMENT, {"num_heads", "num_kv_heads", "2", "3"}));
}

TEST(Rule14, SizesOfZeroAreValid) {
  Random random(141);
  for (const Dims& sizes : {Dims{0, 3, 5}, Dims{2, 0, 5}, Dims{2, 3, 0}, Dims{0, 0, 0}}) {
    const int64_t batch = sizes[0], num_queries = sizes[1], num_keys = sizes[2];
    MultiHeadSample sample;
    sample.batch = batch;
    sample.num_queries = num_queries;
    sample.num_keys = num_keys;
    for (int32_t empty_rows : {HEED_EMPTY_ROWS_ZERO, HEED_EMPTY_ROWS_MEAN}) {
      for (Call call : {dot_product_call({batch, 1, 1, num_queries, num_keys, 4, 3}, random),
                        dot_product_call({batch, 4, 2, num_queries, num_keys, 4, 3}, random),
                        multi_head_call(two_heads(), sample, random), additive_call(5, sample, random)}) {
        call.options.empty_rows = empty_rows;
        want_everything(call);
        EXPECT_TRUE(agrees_with_reference(call)) << testing::PrintToString(sizes);
      }
    }
  }
}

TEST(Rule14, ValuesOfNoElementsAreValid) {
  Random random(143);
  for (const int64_t num_keys : {5, 40, 2000}) {
    Call call = dot_product_call({2, 4, 2, 3, num_keys, 4, 0}, random);
    want_everything(call);
    EXPECT_TRUE(agrees_with_reference(call)) << num_keys << " keys";
  }
}

TEST(Rule14, WithoutKeysEveryRowIsEmpty) {
  Random random(142);
  Call call = dot_product_call({2, 1, 1, 3, 0, 4, 3}, random);
  want_everything(call);
  for (int32_t empty_rows : {HEED_EMPTY_ROWS_ZERO, HEED_EMPTY_ROWS_MEAN}) {
    call.options.empty_rows = empty_rows;
    const Results results = run(call);
    EXPECT_EQ(results.output->contents.values, std::vector<double>(18, 0.0));
    EXPECT_EQ(results.log_sum_exp->contents.values, std::vector<double>(6, -kInfinity));
  }
}

TEST(Rule14, SizesThatOverflowAreErrors) {
  constexpr int64_t kLarge = int64_t{1} << 40;
  const Context context = make_context();

  heed_tensor* tensor = nullptr;
  const Dims too_many = {kLarge, kLarge};
  EXPECT_EQ(heed_tensor_create(context.get(), HEED_F32, 2, too_many.data(), &tensor), HEED_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(heed_tensor_wrap(context.get(), HEED_F32, 2, too_many.data(), nullptr, nullptr, nullptr, nullptr, &tensor),
            HEED_ERROR_INVALID_ARGUMENT);

  heed_layer* layer = nullptr;
  heed_multi_head_attention_options options = HEED_MULTI_HEAD_ATTENTION_OPTIONS_INIT;
  options.num_heads = options.head_size = kLarge;
  options.output_size = 1;
  EXPECT_EQ(heed_multi_head_attention_create(context.get(), &options, &layer), HEED_ERROR_INVALID_ARGUMENT);

  // Each tensor alone would be possible, but the weights of all heads together are too large.
  check(heed_dot_product_attention_create(context.get(), nullptr, &layer));
  const Layer owned_layer(layer);
  const Dims dims = {1, kLarge, 1};
  check(heed_tensor_wrap(context.get(), HEED_F32, 3, dims.data(), nullptr, nullptr, nullptr, nullptr, &tensor));
  const Tensor queries(tensor);
  heed_layer_inputs inputs = HEED_LAYER_INPUTS_INIT;
  inputs.queries = queries.get();
  heed_layer_outputs outputs = HEED_LAYER_OUTPUTS_INIT;
  EXPECT_EQ(heed_layer_create_outputs(layer, &inputs, HEED_WANT_WEIGHTS, &outputs), HEED_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(outputs.weights, nullptr);
}

}  // namespace
}  // namespace heed::property
