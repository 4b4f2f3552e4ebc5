// SPDX-License-Identifier: Apache-2.0
// Layers with positions, packed batches and lengths of queries: what is planned for them, and from which shapes.
#include <gtest/gtest.h>

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "capi/support/attention_call.h"
#include "support/numbers.h"

namespace heed::capi_test {
namespace {

using nlohmann::json;

json explained(const AttentionCall& call) {
  size_t num_bytes = 0;
  check(heed_layer_explain(call.layer.get(), &call.inputs, &call.outputs, nullptr, 0, &num_bytes));
  std::string text(num_bytes, '\0');
  check(heed_layer_explain(call.layer.get(), &call.inputs, &call.outputs, text.data(), text.size(), nullptr));
  return json::parse(text.c_str());
}

std::vector<std::string> operations_of(const AttentionCall& call) {
  std::vector<std::string> names;
  const json explanation = explained(call);
  for (const json& operation : explanation.at("operations")) names.push_back(operation.at("operation"));
  return names;
}

// A call of rotary_heads() without positions, whose queries are its keys.
AttentionCall self_attention() {
  AttentionCall call(Kind::Rotary, {.batch = 2, .num_queries = 5, .num_keys = 5});
  call.inputs.keys = call.inputs.values = nullptr;
  call.sequences() = HEED_SEQUENCE_INPUTS_INIT;
  check(heed_layer_initialize(call.layer.get(), &call.inputs, 1));
  call.outputs.weights = call.zeros({2, 2, 5, 5});
  return call;
}

TEST(ExplainPositions, NamesTheOperations) {
  const std::vector<std::string> rest = {"attention", "project output"};
  const auto with = [&](std::vector<std::string> first) {
    first.insert(first.end(), rest.begin(), rest.end());
    return first;
  };
  EXPECT_EQ(operations_of(AttentionCall(Kind::Rotary)),
            with({"rotations of queries", "rotations of keys", "project queries", "project keys", "project values"}));
  AttentionCall same = self_attention();
  EXPECT_EQ(operations_of(same), with({"rotations of queries and keys", "project queries, keys and values"}));
  same.sequences().positions = same.zeros({2, 5}, HEED_I32);
  EXPECT_EQ(operations_of(same), with({"rotations of queries and keys", "project queries, keys and values"}));
  const AttentionCall positions(Kind::Positions);
  EXPECT_EQ(operations_of(positions), std::vector<std::string>{"add positions"});
  const json explanation = explained(positions);
  EXPECT_EQ(explanation.at("layer"), "positional_encoding");
  EXPECT_EQ(explanation.at("workspace_bytes"), positions.workspace_size());
}

TEST(ExplainPositions, NamesDropout) {
  AttentionCall call(Kind::Positions);
  heed_positional_encoding_options options = ten_positions();
  options.dropout = 0.5f;
  call.layer = make_positional_encoding(call.context.get(), options);
  check(heed_layer_initialize(call.layer.get(), &call.inputs, 1));
  EXPECT_EQ(operations_of(call), std::vector<std::string>{"add positions"});
  call.inputs.training = 1;
  EXPECT_EQ(operations_of(call), (std::vector<std::string>{"add positions", "dropout"}));
  EXPECT_EQ(call.forward(), HEED_OK) << heed_last_error();
}

// The pairs of the packed elements, and nothing for padding.
TEST(ExplainPositions, CountsTheRowsOfAPackedBatch) {
  AttentionCall packed(Kind::Packed, {.batch = 2, .num_queries = 3, .num_keys = 5});
  AttentionCall padded(Kind::Rotary, {.batch = 2, .num_queries = 3, .num_keys = 5});
  const auto flops = [](const AttentionCall& call, const char* operation) {
    const json explanation = explained(call);
    for (const json& each : explanation.at("operations")) {
      if (each.at("operation") == operation) return each.at("flops").get<int64_t>();
    }
    return int64_t{-1};
  };
  // Elements of 3 and 2 queries, and of 5 and 4 keys; heads of 4 elements.
  EXPECT_EQ(flops(packed, "attention"), 2 * (3 * 5 + 2 * 4) * (2 * 4 + 2 * 4));
  EXPECT_EQ(flops(packed, "project queries"), 2 * 5 * 6 * 8);
  // Lengths of queries of 3 and 2 leave rows out, too.
  EXPECT_EQ(flops(padded, "attention"), 2 * (3 + 2) * 5 * (2 * 4 + 2 * 4));
  EXPECT_EQ(flops(padded, "project queries"), 2 * 5 * 6 * 8);
}

// Positions, lengths and offsets without data: all functions but forward need only their shapes.
TEST(ShapeOnlySequences, SufficeWithoutForward) {
  for (const Kind kind : {Kind::Rotary, Kind::Packed, Kind::Positions}) {
    AttentionCall call(kind);
    if (kind == Kind::Positions) call.sequences().positions = call.zeros({2, 3}, HEED_I64);
    const size_t expected = call.workspace_size();
    const auto forget_data = [&](const heed_tensor*& tensor) {
      if (tensor != nullptr) tensor = call.shape_only(dims_of(tensor), heed_tensor_dtype(tensor));
    };
    heed_sequence_inputs& sequences = call.sequences();
    for (const heed_tensor** tensor :
         {&sequences.positions, &sequences.query_lens, &sequences.query_offsets, &sequences.key_offsets,
          &call.inputs.queries, &call.inputs.keys, &call.inputs.values})
      forget_data(*tensor);
    EXPECT_EQ(call.workspace_size(), expected);
    EXPECT_NO_THROW(explained(call));
    heed_layer_outputs made = HEED_LAYER_OUTPUTS_INIT;
    ASSERT_EQ(heed_layer_create_outputs(call.layer.get(), &call.inputs, HEED_WANT_OUTPUT, &made), HEED_OK)
        << heed_last_error();
    EXPECT_EQ(dims_of(made.output), dims_of(call.outputs.output));
    heed_tensor_destroy(made.output);
    EXPECT_EQ(heed_layer_initialize(call.layer.get(), &call.inputs, 1), HEED_OK) << heed_last_error();
  }
}

// Planning from shapes alone takes as long for a large batch as for a small one, and a batch without memory is refused.
TEST(ShapeOnlySequences, OfAnyBatchAreExplained) {
  for (const int64_t batch : {int64_t{1} << 40, int64_t{1} << 58}) {
    AttentionCall call(Kind::DotProductRank3);
    call.inputs.queries = call.shape_only({batch, 1, 1});
    call.inputs.keys = call.inputs.values = nullptr;
    call.outputs = HEED_LAYER_OUTPUTS_INIT;
    call.outputs.output = call.shape_only({batch, 1, 1});
    call.sequences().query_lens = call.shape_only({batch}, HEED_I32);
    EXPECT_GE(call.workspace_size(), 0U);
    EXPECT_EQ(explained(call).at("layer"), "dot_product_attention");
    EXPECT_EQ(call.forward(), HEED_ERROR_INVALID_ARGUMENT) << heed_last_error();
  }
  // Packed elements without rows, whose offsets share an address.
  AttentionCall call(Kind::Packed);
  int32_t zero = 0;
  call.sequences().query_offsets = call.keep(wrap(call.context.get(), {(int64_t{1} << 58) + 1}, {0}, &zero, HEED_I32));
  call.sequences().key_offsets = nullptr;
  call.inputs.queries = call.zeros({0, 6});
  call.inputs.keys = call.inputs.values = nullptr;
  EXPECT_EQ(call.forward(), HEED_ERROR_OUT_OF_MEMORY) << heed_last_error();
}

// However the rows are divided among the elements of a packed batch, the workspace is of one size, and sufficient.
TEST(PackedWorkspace, DependsOnTotalsAlone) {
  AttentionCall call(Kind::Packed, {.batch = 1, .num_queries = 60, .num_keys = 90});
  const auto give = [&](const std::vector<int32_t>& queries, const std::vector<int32_t>& keys) {
    const auto count = static_cast<int64_t>(queries.size());
    call.sequences().query_offsets = call.tensor_of<int32_t>({count}, queries);
    call.sequences().key_offsets = call.tensor_of<int32_t>({count}, keys);
  };
  give({0, 10, 20, 60}, {0, 40, 50, 90});
  const size_t num_bytes = call.workspace_size();
  const Workspace workspace = make_workspace(call.context.get(), num_bytes);
  for (const auto& [queries, keys] :
       {std::pair<std::vector<int32_t>, std::vector<int32_t>>{{0, 10, 20, 60}, {0, 40, 50, 90}},
        {{0, 0, 0, 60}, {0, 0, 0, 90}},
        {{0, 60, 60, 60}, {0, 1, 89, 90}},
        {{0, 1, 2, 60}, {0, 88, 89, 90}}}) {
    give(queries, keys);
    EXPECT_EQ(call.workspace_size(), num_bytes);
    EXPECT_EQ(call.forward(workspace.get()), HEED_OK) << heed_last_error();
  }
  // Fewer elements, and fewer rows.
  give({0, 60}, {0, 90});
  EXPECT_LE(call.workspace_size(), num_bytes);
  EXPECT_EQ(call.forward(workspace.get()), HEED_OK) << heed_last_error();
  const AttentionCall smaller(Kind::Packed, {.batch = 3, .num_queries = 20, .num_keys = 30});
  EXPECT_LE(smaller.workspace_size(), num_bytes);
  EXPECT_EQ(smaller.forward(workspace.get()), HEED_OK) << heed_last_error();
}

TEST(PackedBatch, OfNoElementsOrEmptyOnesIsComputed) {
  AttentionCall call(Kind::Packed, {.batch = 0, .num_queries = 3, .num_keys = 5});
  EXPECT_EQ(call.forward(), HEED_OK) << heed_last_error();
  EXPECT_EQ(dims_of(call.outputs.output), (Dims{0, 8}));
  // Elements without queries, without keys and without either. The sinks are 0: so is log_sum_exp without keys.
  AttentionCall some(Kind::Packed, {.batch = 1, .num_queries = 4, .num_keys = 6});
  some.sequences().query_offsets = some.tensor_of<int32_t>({5}, {0, 0, 3, 3, 4});
  some.sequences().key_offsets = some.tensor_of<int32_t>({5}, {0, 2, 2, 2, 6});
  ASSERT_EQ(some.forward(), HEED_OK) << heed_last_error();
  const std::vector<float> output = read_floats(some.context.get(), some.outputs.output);
  const std::vector<float> log_sum_exp = read_floats(some.context.get(), some.outputs.log_sum_exp);
  for (size_t i = 0; i < 24; ++i) EXPECT_EQ(output[i], 0.0f) << "the second element has no keys";
  for (size_t head = 0; head < 2; ++head) {
    for (size_t row = 0; row < 3; ++row) EXPECT_EQ(log_sum_exp[head * 4 + row], 0.0f);
    EXPECT_NE(log_sum_exp[head * 4 + 3], 0.0f);
  }
}

// Rows of padding: 0, and -inf in log_sum_exp; nothing else is written there.
TEST(LengthsOfQueries, MakePaddingZero) {
  for (const Kind kind : kKinds) {
    AttentionCall call(kind, {.batch = 2, .num_queries = 4, .num_keys = 5});
    call.sequences().query_lens = call.tensor_of<int32_t>({2}, {1, 4});
    for (const heed_tensor* output : {call.outputs.output, call.outputs.weights, call.outputs.log_sum_exp})
      check(heed_tensor_fill(const_cast<heed_tensor*>(output), 7.0));
    ASSERT_EQ(call.forward(), HEED_OK) << heed_last_error();
    const auto expect_rows = [&](const heed_tensor* tensor, int32_t axis, float padding) {
      // The first batch element has one row.
      const Tensor element = make_slice(const_cast<heed_tensor*>(tensor), 0, 0, 1);
      const std::vector<float> rows = read_floats(call.context.get(), make_slice(element.get(), axis, 1, 3).get());
      EXPECT_FALSE(rows.empty());
      for (const float number : rows) EXPECT_EQ(number, padding);
      const Tensor other = make_slice(const_cast<heed_tensor*>(tensor), 0, 1, 1);
      for (const float number : read_floats(call.context.get(), other.get())) EXPECT_NE(number, 7.0f);
    };
    const int32_t rank = heed_tensor_rank(call.outputs.output);
    expect_rows(call.outputs.output, rank - 2, 0.0f);
    expect_rows(call.outputs.weights, heed_tensor_rank(call.outputs.weights) - 2, 0.0f);
    expect_rows(call.outputs.log_sum_exp, heed_tensor_rank(call.outputs.log_sum_exp) - 1,
                static_cast<float>(-kInfinity));
  }
}

// Sinks as an input give what sinks as a parameter give.
TEST(Sinks, OfInputsAndOfTheLayerAreTheSame) {
  AttentionCall call(Kind::MultiHead);
  heed_multi_head_attention_options options = two_heads();
  options.sinks = 1;
  call.replace_layer(options);
  check(heed_layer_initialize(call.layer.get(), &call.inputs, 4));
  heed_tensor* const sinks = call.tensor_of<float>({2}, {0.5f, -1.0f});
  check(heed_layer_set_parameter(call.layer.get(), "sinks", sinks));
  ASSERT_EQ(call.forward(), HEED_OK) << heed_last_error();
  const std::vector<uint8_t> of_layer = call.read_outputs();
  call.replace_layer(two_heads());
  check(heed_layer_initialize(call.layer.get(), &call.inputs, 4));
  ASSERT_EQ(call.forward(), HEED_OK) << heed_last_error();
  EXPECT_NE(call.read_outputs(), of_layer);
  call.inputs.sinks = sinks;
  ASSERT_EQ(call.forward(), HEED_OK) << heed_last_error();
  EXPECT_EQ(call.read_outputs(), of_layer);
}

// The same with slopes.
TEST(Alibi, OfInputsAndOfTheLayerAreTheSame) {
  AttentionCall call(Kind::MultiHead);
  heed_multi_head_attention_options options = two_heads();
  options.alibi = HEED_ALIBI_ADDED;
  call.replace_layer(options);
  check(heed_layer_initialize(call.layer.get(), &call.inputs, 4));
  ASSERT_EQ(call.forward(), HEED_OK) << heed_last_error();
  const std::vector<uint8_t> of_layer = call.read_outputs();
  call.replace_layer(two_heads());
  check(heed_layer_initialize(call.layer.get(), &call.inputs, 4));
  heed_tensor* const slopes = call.zeros({2});
  check(heed_tensor_fill_alibi_slopes(slopes));
  call.inputs.alibi_slopes = slopes;
  ASSERT_EQ(call.forward(), HEED_OK) << heed_last_error();
  EXPECT_EQ(call.read_outputs(), of_layer);
}

TEST(PositionalEncoding, AddsTheRowsOfPositions) {
  AttentionCall call(Kind::Positions, {.batch = 2, .num_queries = 3, .num_keys = 0});
  heed_positional_encoding_options options = ten_positions();
  options.first_row = 2;
  call.layer = make_positional_encoding(call.context.get(), options);
  std::vector<float> table;
  for (int i = 0; i < 72; ++i) table.push_back(static_cast<float>(i));
  check(heed_layer_set_parameter(call.layer.get(), "weight", call.tensor_of<float>({12, 6}, table)));
  call.inputs.queries = call.zeros({2, 3, 6});
  const auto expect_positions = [&](const std::vector<int64_t>& positions) {
    ASSERT_EQ(call.forward(), HEED_OK) << heed_last_error();
    const std::vector<float> output = read_floats(call.context.get(), call.outputs.output);
    for (size_t i = 0; i < output.size(); ++i)
      EXPECT_EQ(output[i], static_cast<float>((positions[i / 6] + 2) * 6 + static_cast<int64_t>(i % 6)));
  };
  expect_positions({0, 1, 2, 0, 1, 2});
  call.sequences().positions = call.tensor_of<int64_t>({2, 3}, {9, 0, 4, 4, 4, 1});
  expect_positions({9, 0, 4, 4, 4, 1});
  // Packed rows count from 0 in each element.
  call.inputs.queries = call.zeros({6, 6});
  call.outputs.output = call.zeros({6, 6});
  call.sequences().positions = nullptr;
  call.sequences().query_offsets = call.tensor_of<int32_t>({4}, {0, 4, 4, 6});
  expect_positions({0, 1, 2, 3, 0, 1});
  call.sequences().positions = call.tensor_of<int32_t>({6}, {5, 6, 7, 8, 0, 9});
  expect_positions({5, 6, 7, 8, 0, 9});
}

TEST(PositionalEncoding, WithSinusoidsIsInitializedFromTheStart) {
  const Context context = make_context();
  heed_positional_encoding_options options = ten_positions();
  for (const int32_t kind :
       {HEED_POSITIONS_SINUSOIDAL, HEED_POSITIONS_SINUSOIDAL_HALVES, HEED_POSITIONS_SINUSOIDAL_HALVES_2I}) {
    options.kind = kind;
    const Layer layer = make_positional_encoding(context.get(), options);
    EXPECT_EQ(heed_layer_is_initialized(layer.get()), 1);
    EXPECT_EQ(heed_layer_parameter_count(layer.get()), 0);
  }
  options.kind = HEED_POSITIONS_LEARNED;
  const Layer learned = make_positional_encoding(context.get(), options);
  EXPECT_EQ(heed_layer_is_initialized(learned.get()), 0);
  EXPECT_EQ(heed_layer_parameter_count(learned.get()), 1);
}

// In self-attention, where keys are NULL, the keys' offsets are those of the queries.
TEST(Sequences, KeysThatAreTheQueriesNeedNoOffsets) {
  AttentionCall call(Kind::Packed);
  call.inputs.queries = call.random({5, 7}, 8);
  call.inputs.keys = nullptr;
  call.inputs.values = nullptr;
  call.sequences().key_offsets = nullptr;
  check(heed_layer_initialize(call.layer.get(), &call.inputs, 3));
  ASSERT_EQ(call.forward(), HEED_OK) << heed_last_error();
  const std::vector<uint8_t> alone = call.read_outputs();
  call.sequences().key_offsets = call.sequences().query_offsets;
  ASSERT_EQ(call.forward(), HEED_OK) << heed_last_error();
  EXPECT_EQ(call.read_outputs(), alone);
}

// Dot-product and additive attention can be packed too.
TEST(Sequences, PackTheOtherKindsOfAttention) {
  struct Packed {
    Kind kind;
    Dims queries;
    Dims keys;
    Dims values;
    Dims output;
    Dims log_sum_exp;
  };
  for (const Packed& row : {Packed{Kind::DotProductRank3, {5, 4}, {9, 4}, {9, 6}, {5, 6}, {5}},
                            Packed{Kind::DotProductRank4, {4, 5, 4}, {2, 9, 4}, {2, 9, 6}, {4, 5, 6}, {4, 5}},
                            Packed{Kind::Additive, {5, 6}, {9, 7}, {9, 9}, {5, 9}, {5}}}) {
    AttentionCall call(row.kind);
    // Elements of 3 and 2 queries and of 5 and 4 keys.
    call.sequences().query_offsets = call.tensor_of<int32_t>({3}, {0, 3, 5});
    call.sequences().key_offsets = call.tensor_of<int64_t>({3}, {0, 5, 9});
    call.inputs.queries = call.random(row.queries, 1);
    call.inputs.keys = call.random(row.keys, 2);
    call.inputs.values = call.random(row.values, 3);
    heed_layer_outputs made = HEED_LAYER_OUTPUTS_INIT;
    check(heed_layer_create_outputs(call.layer.get(), &call.inputs, HEED_WANT_OUTPUT | HEED_WANT_LOG_SUM_EXP, &made));
    call.outputs = made;
    call.keep(Tensor(made.output));
    call.keep(Tensor(made.log_sum_exp));
    EXPECT_EQ(dims_of(made.output), row.output);
    EXPECT_EQ(dims_of(made.log_sum_exp), row.log_sum_exp);
    EXPECT_EQ(call.forward(), HEED_OK) << heed_last_error();
  }
}

// The caller's list is needed only during the call.
TEST(Options, FactorsAreCopied) {
  AttentionCall call(Kind::MultiHead);
  std::vector<float> factors = {1.5f, 4.0f};
  heed_rope_options rope = whole_heads();
  rope.scaling = HEED_ROPE_SCALING_FACTORS;
  rope.num_factors = 2;
  rope.factors = factors.data();
  rope.attention_factor = 1;
  heed_multi_head_attention_options options = two_heads();
  options.rope = &rope;
  call.replace_layer(options);
  factors = {9.0f, 9.0f};
  check(heed_layer_initialize(call.layer.get(), &call.inputs, 1));
  size_t num_bytes = 0;
  check(heed_layer_save_memory(call.layer.get(), nullptr, 0, &num_bytes));
  std::string file(num_bytes, '\0');
  check(heed_layer_save_memory(call.layer.get(), file.data(), file.size(), nullptr));
  EXPECT_NE(file.find("\\\"factors\\\":[1.5,4]"), std::string::npos) << file.substr(0, 2000);
}

}  // namespace
}  // namespace heed::capi_test
