// SPDX-License-Identifier: Apache-2.0
// Positions, lengths of queries, offsets of packed batches and sinks that do not fit a call.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "capi/support/wrong_call.h"

namespace heed::capi_test {
namespace {

constexpr const char* kOffsets = "inputs->sequences->query_offsets";
constexpr const char* kKeyOffsets = "inputs->sequences->key_offsets";

// Packed elements of 3 and 2 queries and of 5 and 4 keys: kinds of attention that are packed by this, from their usual
// call.
void pack(AttentionCall& c) {
  c.sequences().query_offsets = c.tensor_of<int32_t>({3}, {0, 3, 5});
  c.sequences().key_offsets = c.tensor_of<int64_t>({3}, {0, 5, 9});
}

TEST(SequenceErrors, DTypesAndShapes) {
  for (const Kind kind : kKinds) {
    const auto positions = [](const Dims& dims, heed_dtype dtype) {
      return [dims, dtype](AttentionCall& c) { c.sequences().positions = c.zeros(dims, dtype); };
    };
    const auto lens = [](const Dims& dims, heed_dtype dtype) {
      return [dims, dtype](AttentionCall& c) { c.sequences().query_lens = c.zeros(dims, dtype); };
    };
    const auto offsets = [](const Dims& dims, heed_dtype dtype) {
      return [dims, dtype](AttentionCall& c) {
        c.inputs.queries = c.zeros({6, 6});
        c.inputs.keys = c.zeros({6, 6});
        c.inputs.values = c.zeros({6, 6});
        c.sequences().query_offsets = c.zeros(dims, dtype);
        c.sequences().key_offsets = c.zeros(dims, dtype);
      };
    };
    expect_refused(
        kind, Reach::Inputs,
        {
            {"positions of F32", positions({2, 3}, HEED_F32),
             invalid({"inputs->sequences->positions is F32, expected I32 or I64"})},
            {"positions of U8", positions({2, 3}, HEED_U8), invalid({"inputs->sequences->positions is U8"})},
            {"positions of one batch element", positions({3}, HEED_I32),
             invalid({"inputs->sequences->positions has dims (3), expected (2, 3), (B, Q)"})},
            {"positions of other queries", positions({2, 4}, HEED_I64),
             invalid({"inputs->sequences->positions has dims (2, 4), expected (2, 3)"})},
            {"positions of one row for all", positions({1, 3}, HEED_I64),
             invalid({"inputs->sequences->positions has dims (1, 3), expected (2, 3)"})},
            {"query_lens of F32", lens({2}, HEED_F32),
             invalid({"inputs->sequences->query_lens is F32, expected I32 or I64"})},
            {"query_lens of another batch", lens({3}, HEED_I32),
             invalid({"inputs->sequences->query_lens has dims (3), expected (2), one length for each batch element"})},
            {"query_lens of each query", lens({2, 3}, HEED_I32),
             invalid({"inputs->sequences->query_lens has dims (2, 3), expected (2)"})},
            {"query_lens of rank 0", lens({}, HEED_I32), invalid({"inputs->sequences->query_lens has dims ()"})},
            {"query_offsets of F32", offsets({3}, HEED_F32), invalid({kOffsets, "is F32, expected I32 or I64"})},
            {"query_offsets of rank 2", offsets({1, 3}, HEED_I32),
             invalid({kOffsets, "has dims (1, 3), expected (B + 1)"})},
            {"no query_offsets at all", offsets({0}, HEED_I32), invalid({kOffsets, "has dims (0), expected (B + 1)"})},
        });
  }
}

TEST(SequenceErrors, PositionsThatNoRowHas) {
  const auto of_padded = [](auto last) {
    using T = decltype(last);
    return [last](AttentionCall& c) {
      c.sequences().positions = c.tensor_of<T>({2, 3}, {T{0}, T{1}, T{2}, T{0}, T{5}, last});
    };
  };
  for (const Kind kind : kKinds) {
    expect_refused(
        kind, Reach::Lengths,
        {
            {"negative I32", of_padded(int32_t{-1}),
             invalid({"inputs->sequences->positions[1, 2] is -1, expected a position from 0 to 2147483647"})},
            {"negative I64", of_padded(INT64_MIN),
             invalid({"inputs->sequences->positions[1, 2] is -9223372036854775808"})},
            {"too large", of_padded(int64_t{1} << 31),
             invalid({"inputs->sequences->positions[1, 2] is 2147483648", "0 to 2147483647"})},
            {"far too large", of_padded(INT64_MAX),
             invalid({"inputs->sequences->positions[1, 2] is 9223372036854775807"})},
        });
  }
  expect_refused(Kind::Packed, Reach::Lengths,
                 {{"packed, negative",
                   [](AttentionCall& c) {
                     c.sequences().positions = c.tensor_of<int32_t>({5}, {0, 1, 2, 0, -3});
                   },
                   invalid({"inputs->sequences->positions[4] is -3, expected a position from 0 to 2147483647"})}});
  expect_refused(Kind::Packed, Reach::Inputs,
                 {{"packed, as if padded",
                   [](AttentionCall& c) {
                     c.sequences().positions = c.zeros({2, 3}, HEED_I32);
                   },
                   invalid({"inputs->sequences->positions has dims (2, 3), expected (5)", "packed"})}});
}

// The largest position is accepted.
TEST(Sequences, TheLargestPositionIsAccepted) {
  for (const Kind kind : kKinds) {
    AttentionCall call(kind);
    call.sequences().positions = call.tensor_of<int64_t>({2, 3}, {INT32_MAX, 0, 1, 2, 3, INT32_MAX});
    EXPECT_EQ(call.forward(), HEED_OK) << heed_last_error();
  }
}

TEST(SequenceErrors, LengthsOfQueriesThatCannotBe) {
  const auto lens = [](auto last) {
    using T = decltype(last);
    return [last](AttentionCall& c) { c.sequences().query_lens = c.tensor_of<T>({2}, {T{3}, last}); };
  };
  for (const Kind kind : kKinds) {
    expect_refused(
        kind, Reach::Lengths,
        {
            {"negative", lens(int32_t{-1}),
             invalid({"inputs->sequences->query_lens[1] is -1", "from 0 to the number of queries, 3"})},
            {"above Q", lens(int64_t{4}),
             invalid({"inputs->sequences->query_lens[1] is 4", "the number of queries, 3"})},
            {"far above Q", lens(INT64_MAX), invalid({"inputs->sequences->query_lens[1] is 9223372036854775807"})},
        });
  }
}

TEST(SequenceErrors, OffsetsThatDoNotCoverTheRows) {
  const auto queries = [](const std::vector<int64_t>& offsets) {
    return [offsets](AttentionCall& c) { c.sequences().query_offsets = c.tensor_of<int64_t>({3}, offsets); };
  };
  const auto keys = [](const std::vector<int32_t>& offsets) {
    return [offsets](AttentionCall& c) { c.sequences().key_offsets = c.tensor_of<int32_t>({3}, offsets); };
  };
  expect_refused(
      Kind::Packed, Reach::Lengths,
      {
          {"queries that do not begin at 0", queries({1, 3, 5}), invalid({kOffsets, "[0] is 1, expected 0"})},
          {"queries below 0", queries({-1, 3, 5}), invalid({kOffsets, "[0] is -1, expected 0"})},
          {"queries that fall", queries({0, 6, 5}), invalid({kOffsets, "[2] is 5, below 6 before it", "never fall"})},
          {"queries that end early", queries({0, 3, 4}),
           invalid({kOffsets, "[2] is 4, expected 5, the number of rows of inputs->queries"})},
          {"queries that end late", queries({0, 3, INT64_MAX}),
           invalid({kOffsets, "[2] is 9223372036854775807, expected 5"})},
          {"queries that fall below 0", queries({0, -3, 5}), invalid({kOffsets, "[1] is -3, below 0"})},
          {"keys that do not begin at 0", keys({2, 5, 9}), invalid({kKeyOffsets, "[0] is 2, expected 0"})},
          {"keys that fall", keys({0, 10, 9}), invalid({kKeyOffsets, "[2] is 9, below 10"})},
          {"keys that end early", keys({0, 5, 8}),
           invalid({kKeyOffsets, "[2] is 8, expected 9, the number of rows of inputs->keys"})},
      });
}

TEST(SequenceErrors, OffsetsThatFightOtherInputs) {
  const auto slopes = [](AttentionCall& c) { c.inputs.alibi_slopes = c.zeros({2}); };
  expect_refused(
      Kind::Packed, Reach::Inputs,
      {
          {"query_lens too", [](AttentionCall& c) { c.sequences().query_lens = c.zeros({2}, HEED_I32); },
           invalid({"inputs->sequences->query_lens is set, but so is inputs->sequences->query_offsets"})},
          {"valid_lens", [](AttentionCall& c) { c.inputs.valid_lens = c.zeros({2}, HEED_I32); },
           invalid({"inputs->valid_lens is set, but so is inputs->sequences->query_offsets", "expected NULL"})},
          {"mask",
           [](AttentionCall& c) {
             c.inputs.mask = c.zeros({3, 5}, HEED_BOOL);
           },
           invalid({"inputs->mask is set, but so is inputs->sequences->query_offsets"})},
          {"bias",
           [](AttentionCall& c) {
             c.inputs.bias = c.zeros({3, 5});
           },
           invalid({"inputs->bias is set, but so is inputs->sequences->query_offsets"})},
          {"no key_offsets", [](AttentionCall& c) { c.sequences().key_offsets = nullptr; },
           invalid({kKeyOffsets, "is NULL", "inputs->keys has rows of its own", "(3)"})},
          {"key_offsets of another batch", [](AttentionCall& c) { c.sequences().key_offsets = c.zeros({4}, HEED_I32); },
           invalid({kKeyOffsets, "has dims (4)", "has (3)", "the same number of batch elements"})},
          {"key_offsets of rank 2",
           [](AttentionCall& c) {
             c.sequences().key_offsets = c.zeros({1, 3}, HEED_I32);
           },
           invalid({kKeyOffsets, "has dims (1, 3), expected (B + 1)"})},
          {"key_offsets of F32", [](AttentionCall& c) { c.sequences().key_offsets = c.zeros({3}); },
           invalid({kKeyOffsets, "is F32, expected I32 or I64"})},
          {"padded queries",
           [](AttentionCall& c) {
             c.inputs.queries = c.zeros({2, 3, 6});
           },
           invalid({"inputs->queries has dims (2, 3, 6) of rank 3, expected rank 2, (total, E), of a packed batch"})},
          {"padded keys",
           [](AttentionCall& c) {
             c.inputs.keys = c.zeros({2, 5, 7});
           },
           invalid({"inputs->keys has dims (2, 5, 7) of rank 3, expected rank 2"})},
          {"values with other rows than keys",
           [](AttentionCall& c) {
             c.inputs.values = c.zeros({8, 9});
           },
           invalid({"inputs->values has dims (8, 9), but inputs->keys has (9, 7)"})},
          {"slopes beside those of the layer", slopes,
           invalid({"inputs->alibi_slopes is set, but the layer has slopes of its own, by options->alibi"})},
          {"sinks beside those of the layer", [](AttentionCall& c) { c.inputs.sinks = c.zeros({2}); },
           invalid({"inputs->sinks is set, but the layer has the parameter sinks"})},
      });
  expect_refused(Kind::Packed, Reach::Call,
                 {{"weights",
                   [](AttentionCall& c) {
                     c.outputs.weights = c.zeros({2, 2, 3, 5});
                   },
                   {HEED_ERROR_UNSUPPORTED, {"outputs->weights is set", kOffsets, "no weights of one shape"}}},
                  {"a padded output",
                   [](AttentionCall& c) {
                     c.outputs.output = c.zeros({2, 3, 8});
                   },
                   invalid({"outputs->output has dims (2, 3, 8), expected (5, 8)"})},
                  {"a padded log_sum_exp",
                   [](AttentionCall& c) {
                     c.outputs.log_sum_exp = c.zeros({2, 2, 3});
                   },
                   invalid({"outputs->log_sum_exp has dims (2, 2, 3), expected (2, 5)"})}});
  expect_refused(Kind::Rotary, Reach::Inputs,
                 {{"key_offsets alone", [](AttentionCall& c) { c.sequences().key_offsets = c.zeros({3}, HEED_I32); },
                   invalid({kKeyOffsets, "is set, but inputs->sequences->query_offsets is NULL"})}});
}

TEST(SequenceErrors, WeightsOfAPackedBatchAreNotMade) {
  const AttentionCall call(Kind::Packed);
  for (const int32_t wanted : {int32_t{HEED_WANT_WEIGHTS}, HEED_WANT_OUTPUT | HEED_WANT_WEIGHTS}) {
    heed_layer_outputs made = HEED_LAYER_OUTPUTS_INIT;
    forget_last_error();
    EXPECT_TRUE(is_refused(heed_layer_create_outputs(call.layer.get(), &call.inputs, wanted, &made),
                           {HEED_ERROR_UNSUPPORTED, {"wanted", "HEED_WANT_WEIGHTS", kOffsets}}));
    EXPECT_EQ(made.output, nullptr);
    EXPECT_EQ(made.weights, nullptr);
  }
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

TEST(SequenceErrors, Sinks) {
  for (const auto& [kind, heads] :
       {std::pair{Kind::MultiHead, "(2)"}, {Kind::DotProductRank4, "(4)"}, {Kind::DotProductRank3, "(1)"}}) {
    expect_refused(kind, Reach::Inputs,
                   {
                       {"of F16", [](AttentionCall& c) { c.inputs.sinks = c.zeros({2}, HEED_F16); },
                        invalid({"inputs->sinks is F16, expected F32"})},
                       {"of seven heads", [](AttentionCall& c) { c.inputs.sinks = c.zeros({7}); },
                        invalid({"inputs->sinks has dims (7), expected", heads, "one score for each head"})},
                       {"of rank 0", [](AttentionCall& c) { c.inputs.sinks = c.zeros({}); },
                        invalid({"inputs->sinks has dims ()", heads})},
                   });
  }
}

TEST(SequenceErrors, TensorsWithoutDataInForward) {
  expect_refused(Kind::Rotary, Reach::Memory,
                 {
                     {"positions",
                      [](AttentionCall& c) {
                        c.sequences().positions = c.shape_only({2, 3}, HEED_I32);
                      },
                      invalid({"inputs->sequences->positions", "shape-only"})},
                     {"query_lens", [](AttentionCall& c) { c.sequences().query_lens = c.shape_only({2}, HEED_I32); },
                      invalid({"inputs->sequences->query_lens", "shape-only"})},
                 });
  expect_refused(
      Kind::Packed, Reach::Memory,
      {
          {"query_offsets", [](AttentionCall& c) { c.sequences().query_offsets = c.shape_only({3}, HEED_I32); },
           invalid({kOffsets, "shape-only"})},
          {"key_offsets", [](AttentionCall& c) { c.sequences().key_offsets = c.shape_only({3}, HEED_I64); },
           invalid({kKeyOffsets, "shape-only"})},
          {"all offsets",
           [](AttentionCall& c) {
             c.sequences().query_offsets = c.shape_only({3}, HEED_I64);
             c.sequences().key_offsets = c.shape_only({3}, HEED_I64);
           },
           invalid({kOffsets, "shape-only"})},
      });
  expect_refused(Kind::MultiHead, Reach::Memory,
                 {{"sinks", [](AttentionCall& c) { c.inputs.sinks = c.shape_only({2}); },
                   invalid({"inputs->sinks", "shape-only"})}});
}

TEST(SequenceErrors, OutputsThatShareMemoryWithThem) {
  const auto share = [](const heed_tensor* heed_sequence_inputs::*member, const Dims& dims) {
    return [member, dims](AttentionCall& c) {
      // The positions are 0.
      heed_tensor* const memory = c.zeros({64}, HEED_I32);
      heed_tensor* output = nullptr;
      check(heed_tensor_wrap(c.context.get(), HEED_F32, 3, std::array<int64_t, 3>{2, 3, 8}.data(), nullptr,
                             heed_tensor_data(memory), nullptr, nullptr, &output));
      c.outputs.output = c.keep(Tensor(output));
      c.sequences().*member = c.keep(make_view(memory, dims, {}));
    };
  };
  expect_refused(Kind::Rotary, Reach::Memory,
                 {
                     {"positions", share(&heed_sequence_inputs::positions, {2, 3}),
                      invalid({"outputs->output shares memory with inputs->sequences->positions"})},
                     {"query_lens", share(&heed_sequence_inputs::query_lens, {2}),
                      invalid({"outputs->output shares memory with inputs->sequences->query_lens"})},
                 });
}

TEST(SequenceErrors, OfPositionalEncoding) {
  const auto alone = [](const char* member) {
    return invalid(
        {std::string("inputs->") + member +
         " is set, but a positional_encoding layer reads inputs->queries, positions and query_offsets alone, "
         "expected NULL"});
  };
  expect_refused(
      Kind::Positions, Reach::Inputs,
      {
          {"no queries", [](AttentionCall& c) { c.inputs.queries = nullptr; }, invalid({"inputs->queries is NULL"})},
          {"queries of rank 2",
           [](AttentionCall& c) {
             c.inputs.queries = c.zeros({3, 6});
           },
           invalid({"inputs->queries has dims (3, 6), expected (B, S, 6)"})},
          {"queries of another size",
           [](AttentionCall& c) {
             c.inputs.queries = c.zeros({2, 3, 7});
           },
           invalid({"inputs->queries has dims (2, 3, 7), expected (B, S, 6)"})},
          {"more rows than positions",
           [](AttentionCall& c) {
             c.inputs.queries = c.zeros({2, 4, 6});
             c.outputs.output = c.zeros({2, 4, 6});
           },
           invalid({"inputs->queries has 4 rows in a batch element, expected at most 3, options->max_positions"})},
          {"keys", [](AttentionCall& c) { c.inputs.keys = c.inputs.queries; }, alone("keys")},
          {"sinks", [](AttentionCall& c) { c.inputs.sinks = c.zeros({1}); }, alone("sinks")},
          {"lengths of queries", [](AttentionCall& c) { c.sequences().query_lens = c.zeros({2}, HEED_I32); },
           alone("sequences->query_lens")},
          {"offsets of keys", [](AttentionCall& c) { c.sequences().key_offsets = c.zeros({3}, HEED_I32); },
           alone("sequences->key_offsets")},
          {"positions of F32",
           [](AttentionCall& c) {
             c.sequences().positions = c.zeros({2, 3});
           },
           invalid({"inputs->sequences->positions is F32, expected I32 or I64"})},
          {"positions of one row", [](AttentionCall& c) { c.sequences().positions = c.zeros({3}, HEED_I32); },
           invalid({"inputs->sequences->positions has dims (3), expected (2, 3)"})},
          {"packed, but of rank 3", [](AttentionCall& c) { c.sequences().query_offsets = c.zeros({3}, HEED_I32); },
           invalid({"inputs->queries has dims (2, 3, 6), expected (total, 6)"})},
      });
  expect_refused(Kind::Positions, Reach::Lengths,
                 {
                     {"a position beyond the table",
                      [](AttentionCall& c) {
                        c.sequences().positions = c.tensor_of<int32_t>({2, 3}, {0, 1, 2, 2, 3, 0});
                      },
                      invalid({"inputs->sequences->positions[1, 1] is 3, expected a position from 0 to 2"})},
                     {"a negative position",
                      [](AttentionCall& c) {
                        c.sequences().positions = c.tensor_of<int64_t>({2, 3}, {0, -1, 2, 2, 0, 0});
                      },
                      invalid({"inputs->sequences->positions[0, 1] is -1, expected a position from 0 to 2"})},
                     {"a packed element with more rows than positions",
                      [](AttentionCall& c) {
                        c.inputs.queries = c.zeros({6, 6});
                        c.outputs.output = c.zeros({6, 6});
                        c.sequences().query_offsets = c.tensor_of<int32_t>({3}, {0, 2, 6});
                      },
                      invalid({"inputs->queries has 4 rows in a batch element, expected at most 3"})},
                     {"offsets that end early",
                      [](AttentionCall& c) {
                        c.inputs.queries = c.zeros({6, 6});
                        c.outputs.output = c.zeros({6, 6});
                        c.sequences().query_offsets = c.tensor_of<int32_t>({3}, {0, 2, 5});
                      },
                      invalid({kOffsets, "[2] is 5, expected 6, the number of rows of inputs->queries"})},
                 });
  expect_refused(Kind::Positions, Reach::Call,
                 {{"weights",
                   [](AttentionCall& c) {
                     c.outputs.weights = c.zeros({2, 3, 3});
                   },
                   invalid({"outputs->weights is set, but a positional_encoding layer has no such output"})}});
}

// Other layers of one input have no use for sequences.
TEST(SequenceErrors, OfLayersOfOneInput) {
  for (const Kind kind : kKindsOfOneInput) {
    expect_refused(kind, Reach::Inputs,
                   {{"positions",
                     [](AttentionCall& c) {
                       c.sequences().positions = c.zeros({2, 3}, HEED_I32);
                     },
                     invalid({"inputs->sequences->positions is set, but a"})},
                    {"offsets", [](AttentionCall& c) { c.sequences().query_offsets = c.zeros({3}, HEED_I32); },
                     invalid({"inputs->sequences->query_offsets is set, but a"})}});
    AttentionCall call(kind);
    call.sequences();
    EXPECT_EQ(call.forward(), HEED_OK) << "a struct without tensors: " << heed_last_error();
  }
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
    pack(call);
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

}  // namespace
}  // namespace heed::capi_test
