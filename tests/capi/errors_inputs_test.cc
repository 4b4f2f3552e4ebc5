// SPDX-License-Identifier: Apache-2.0
// Inputs of wrong rank, size, dtype or contents.
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>

#include "capi/support/wrong_call.h"

namespace heed::capi_test {
namespace {

// The layers with projections have the same requirements.
TEST(InputErrors, ShapesOfMultiHeadAndAdditiveAttention) {
  for (const Kind kind : {Kind::MultiHead, Kind::MultiHeadAdditive, Kind::Additive})
    expect_refused(kind, Reach::Inputs,
                   {
                       {"queries of rank 2",
                        [](AttentionCall& c) {
                          c.inputs.queries = c.zeros({3, 6});
                        },
                        invalid({"queries", "(3, 6)", "rank 2", "rank 3"})},
                       {"queries of rank 4",
                        [](AttentionCall& c) {
                          c.inputs.queries = c.zeros({2, 1, 3, 6});
                        },
                        invalid({"queries", "(2, 1, 3, 6)", "rank 4", "rank 3"})},
                       {"keys of rank 2",
                        [](AttentionCall& c) {
                          c.inputs.keys = c.zeros({5, 7});
                        },
                        invalid({"keys", "(5, 7)", "rank 2", "rank 3"})},
                       {"values of rank 1", [](AttentionCall& c) { c.inputs.values = c.zeros({9}); },
                        invalid({"values", "(9)", "rank 1", "rank 3"})},
                       {"keys of another batch",
                        [](AttentionCall& c) {
                          c.inputs.keys = c.zeros({4, 5, 7});
                        },
                        invalid({"keys", "(4, 5, 7)", "queries", "(2, 3, 6)", "batch"})},
                       {"values of another batch",
                        [](AttentionCall& c) {
                          c.inputs.values = c.zeros({1, 5, 9});
                        },
                        invalid({"values", "(1, 5, 9)", "queries", "(2, 3, 6)", "batch"})},
                       {"values of another length",
                        [](AttentionCall& c) {
                          c.inputs.values = c.zeros({2, 4, 9});
                        },
                        invalid({"values", "(2, 4, 9)", "keys", "(2, 5, 7)"})},
                   });
}

TEST(InputErrors, ShapesOfRank3) {
  expect_refused(Kind::DotProductRank3, Reach::Inputs,
                 {
                     {"queries of rank 2",
                      [](AttentionCall& c) {
                        c.inputs.queries = c.zeros({3, 4});
                      },
                      invalid({"queries", "(3, 4)", "rank 2", "rank 3", "rank 4"})},
                     {"queries of rank 5",
                      [](AttentionCall& c) {
                        c.inputs.queries = c.zeros({1, 1, 1, 3, 4});
                      },
                      invalid({"queries", "(1, 1, 1, 3, 4)", "rank 5"})},
                     {"keys of rank 4",
                      [](AttentionCall& c) {
                        c.inputs.keys = c.zeros({2, 1, 5, 4});
                      },
                      invalid({"keys", "(2, 1, 5, 4)", "rank 4", "queries", "(2, 3, 4)", "rank 3"})},
                     {"keys of another batch",
                      [](AttentionCall& c) {
                        c.inputs.keys = c.zeros({1, 5, 4});
                      },
                      invalid({"keys", "(1, 5, 4)", "queries", "(2, 3, 4)", "batch"})},
                     {"keys of another head size",
                      [](AttentionCall& c) {
                        c.inputs.keys = c.zeros({2, 5, 3});
                      },
                      invalid({"keys", "(2, 5, 3)", "queries", "(2, 3, 4)", "head size"})},
                     {"values of another length",
                      [](AttentionCall& c) {
                        c.inputs.values = c.zeros({2, 6, 6});
                      },
                      invalid({"values", "(2, 6, 6)", "keys", "(2, 5, 4)", "number of keys"})},
                     {"values of another batch",
                      [](AttentionCall& c) {
                        c.inputs.values = c.zeros({3, 5, 6});
                      },
                      invalid({"values", "(3, 5, 6)", "(2, 3, 4)", "batch"})},
                 });
}

TEST(InputErrors, ShapesOfRank4) {
  expect_refused(Kind::DotProductRank4, Reach::Inputs,
                 {
                     {"keys of rank 3",
                      [](AttentionCall& c) {
                        c.inputs.keys = c.zeros({2, 5, 4});
                      },
                      invalid({"keys", "(2, 5, 4)", "rank 3", "(2, 4, 3, 4)", "rank 4"})},
                     {"three key heads",
                      [](AttentionCall& c) {
                        c.inputs.keys = c.zeros({2, 3, 5, 4});
                        c.inputs.values = c.zeros({2, 3, 5, 6});
                      },
                      invalid({"keys", "3 heads", "queries", "4"})},
                     {"more key heads than query heads",
                      [](AttentionCall& c) {
                        c.inputs.keys = c.zeros({2, 8, 5, 4});
                        c.inputs.values = c.zeros({2, 8, 5, 6});
                      },
                      invalid({"keys", "8 heads", "queries", "4"})},
                     {"no key heads",
                      [](AttentionCall& c) {
                        c.inputs.keys = c.zeros({2, 0, 5, 4});
                        c.inputs.values = c.zeros({2, 0, 5, 6});
                      },
                      invalid({"keys", "0 heads", "queries", "4"})},
                     {"heads of values other than of keys",
                      [](AttentionCall& c) {
                        c.inputs.values = c.zeros({2, 4, 5, 6});
                      },
                      invalid({"values", "(2, 4, 5, 6)", "keys", "(2, 2, 5, 4)", "heads"})},
                     {"head size 0",
                      [](AttentionCall& c) {
                        c.inputs.queries = c.zeros({2, 4, 3, 0});
                        c.inputs.keys = c.zeros({2, 2, 5, 0});
                      },
                      invalid({"queries", "(2, 4, 3, 0)", "head size"})},
                 });
}

TEST(InputErrors, DTypes) {
  for (const Kind kind : kKinds) {
    const auto change_queries = [](heed_dtype dtype) {
      return [dtype](AttentionCall& c) { c.inputs.queries = c.zeros(dims_of(c.inputs.queries), dtype); };
    };
    expect_refused(
        kind, Reach::Inputs,
        {
            {"queries of F64", change_queries(HEED_F64), invalid({"queries", "F64", "F32", "F16", "BF16"})},
            {"queries of I32", change_queries(HEED_I32), invalid({"queries", "I32"})},
            {"queries of BOOL", change_queries(HEED_BOOL), invalid({"queries", "BOOL"})},
            {"queries of F16, the others F32", change_queries(HEED_F16), invalid({"keys", "F32", "queries", "F16"})},
            {"keys of BF16", [](AttentionCall& c) { c.inputs.keys = c.zeros(dims_of(c.inputs.keys), HEED_BF16); },
             invalid({"keys", "BF16", "queries", "F32"})},
            {"values of F64", [](AttentionCall& c) { c.inputs.values = c.zeros(dims_of(c.inputs.values), HEED_F64); },
             invalid({"values", "F64", "queries", "F32"})},
        });
  }
}

TEST(InputErrors, ReservedAndTraining) {
  expect_refused(Kind::MultiHead, Reach::Inputs,
                 {
                     {"reserved", [](AttentionCall& c) { c.inputs.reserved = 1; }, invalid({"reserved", "1"})},
                     {"training 2", [](AttentionCall& c) { c.inputs.training = 2; }, invalid({"training", "2"})},
                     {"training -1", [](AttentionCall& c) { c.inputs.training = -1; }, invalid({"training", "-1"})},
                 });
}

TEST(InputErrors, ShapesAndDTypesOfLengths) {
  for (const Kind kind : kKinds) {
    expect_refused(kind, Reach::Inputs,
                   {
                       {"of another batch", [](AttentionCall& c) { c.inputs.valid_lens = c.zeros({3}, HEED_I32); },
                        invalid({"valid_lens", "(3)", "(2)", "(2, 3)"})},
                       {"(B, 1) with more queries",
                        [](AttentionCall& c) {
                          c.inputs.valid_lens = c.zeros({2, 1}, HEED_I32);
                        },
                        invalid({"valid_lens", "(2, 1)", "(2, 3)"})},
                       {"of another length",
                        [](AttentionCall& c) {
                          c.inputs.valid_lens = c.zeros({2, 5}, HEED_I32);
                        },
                        invalid({"valid_lens", "(2, 5)", "(2, 3)"})},
                       {"of rank 3",
                        [](AttentionCall& c) {
                          c.inputs.valid_lens = c.zeros({2, 2, 3}, HEED_I32);
                        },
                        invalid({"valid_lens", "(2, 2, 3)"})},
                       {"of rank 0", [](AttentionCall& c) { c.inputs.valid_lens = c.zeros({}, HEED_I32); },
                        invalid({"valid_lens", "()"})},
                       {"of F64", [](AttentionCall& c) { c.inputs.valid_lens = c.zeros({2}, HEED_F64); },
                        invalid({"valid_lens", "F64", "F32", "I32", "I64"})},
                       {"of F16", [](AttentionCall& c) { c.inputs.valid_lens = c.zeros({2}, HEED_F16); },
                        invalid({"valid_lens", "F16"})},
                       {"of U8", [](AttentionCall& c) { c.inputs.valid_lens = c.zeros({2}, HEED_U8); },
                        invalid({"valid_lens", "U8"})},
                   });
  }
}

TEST(InputErrors, LengthsThatCannotBe) {
  constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const auto of_batch = [](auto second) {
    return [second](AttentionCall& c) {
      c.inputs.valid_lens = c.tensor_of<decltype(second)>({2}, {decltype(second){5}, second});
    };
  };
  const auto of_queries = [](auto last) {
    using T = decltype(last);
    return [last](AttentionCall& c) {
      c.inputs.valid_lens = c.tensor_of<T>({2, 3}, {T{5}, T{4}, T{3}, T{2}, T{1}, last});
    };
  };
  for (const Kind kind : kKinds) {
    expect_refused(
        kind, Reach::Lengths,
        {
            {"negative I32", of_batch(int32_t{-1}), invalid({"valid_lens[1] is -1", "0", "5"})},
            {"above K in I32", of_batch(int32_t{6}), invalid({"valid_lens[1] is 6", "5"})},
            {"negative I64", of_batch(int64_t{-1}), invalid({"valid_lens[1] is -1", "5"})},
            {"far above K in I64", of_batch(int64_t{1} << 40), invalid({"valid_lens[1]", "1099511627776", "5"})},
            {"negative F32", of_batch(-2.0f), invalid({"valid_lens[1] is -2", "5"})},
            {"fractional", of_batch(1.5f), invalid({"valid_lens[1] is 1.5", "whole"})},
            {"nearly whole", of_batch(4.0000005f), invalid({"valid_lens[1] is 4.000000", "whole"})},
            {"NaN", of_batch(kNaN), invalid({"valid_lens[1] is nan"})},
            {"infinite", of_batch(kInfinity), invalid({"valid_lens[1] is inf", "5"})},
            {"above K in F32", of_batch(6.0f), invalid({"valid_lens[1] is 6", "5"})},
            {"of one query, I32", of_queries(int32_t{6}), invalid({"valid_lens[1, 2] is 6", "5"})},
            {"of one query, NaN", of_queries(kNaN), invalid({"valid_lens[1, 2] is nan"})},
        });
  }
}

TEST(InputErrors, Masks) {
  for (const Kind kind : {Kind::MultiHead, Kind::DotProductRank4}) {
    const std::string heads = kind == Kind::MultiHead ? "2" : "4";
    const std::string full = "(2, " + heads + ", 3, 5)";
    expect_refused(kind, Reach::Inputs,
                   {
                       {"of F32",
                        [](AttentionCall& c) {
                          c.inputs.mask = c.zeros({3, 5}, HEED_F32);
                        },
                        invalid({"mask", "F32", "BOOL", "bias"})},
                       {"of U8",
                        [](AttentionCall& c) {
                          c.inputs.mask = c.zeros({3, 5}, HEED_U8);
                        },
                        invalid({"mask", "U8", "BOOL"})},
                       {"of rank 3",
                        [](AttentionCall& c) {
                          c.inputs.mask = c.zeros({2, 3, 5}, HEED_BOOL);
                        },
                        invalid({"mask", "(2, 3, 5)", "rank 3", "rank 4", full, "(B, 1, 1, K)"})},
                       {"of rank 1", [](AttentionCall& c) { c.inputs.mask = c.zeros({5}, HEED_BOOL); },
                        invalid({"mask", "(5)", "rank 1", "(B, 1, 1, K)"})},
                       {"of other keys",
                        [](AttentionCall& c) {
                          c.inputs.mask = c.zeros({3, 4}, HEED_BOOL);
                        },
                        invalid({"mask", "(3, 4)", "(3, 5)"})},
                       {"of another batch",
                        [](AttentionCall& c) {
                          c.inputs.mask = c.zeros({3, 1, 3, 5}, HEED_BOOL);
                        },
                        invalid({"mask", "(3, 1, 3, 5)", full})},
                       {"of three heads",
                        [](AttentionCall& c) {
                          c.inputs.mask = c.zeros({2, 3, 3, 5}, HEED_BOOL);
                        },
                        invalid({"mask", "(2, 3, 3, 5)", full})},
                   });
  }
  for (const Kind kind : {Kind::DotProductRank3, Kind::Additive})
    expect_refused(kind, Reach::Inputs,
                   {
                       {"of heads where there are none",
                        [](AttentionCall& c) {
                          c.inputs.mask = c.zeros({2, 2, 3, 5}, HEED_BOOL);
                        },
                        invalid({"mask", "(2, 2, 3, 5)", "(2, 1, 3, 5)", "no heads"})},
                   });
}

TEST(InputErrors, Biases) {
  for (const Kind kind : {Kind::MultiHead, Kind::DotProductRank4}) {
    expect_refused(kind, Reach::Inputs,
                   {
                       {"of BOOL",
                        [](AttentionCall& c) {
                          c.inputs.bias = c.zeros({3, 5}, HEED_BOOL);
                        },
                        invalid({"bias", "BOOL", "F32"})},
                       {"of F64",
                        [](AttentionCall& c) {
                          c.inputs.bias = c.zeros({3, 5}, HEED_F64);
                        },
                        invalid({"bias", "F64", "F32"})},
                       {"of F16 with inputs of F32",
                        [](AttentionCall& c) {
                          c.inputs.bias = c.zeros({3, 5}, HEED_F16);
                        },
                        invalid({"bias", "F16", "F32"})},
                       {"of rank 3",
                        [](AttentionCall& c) {
                          c.inputs.bias = c.zeros({2, 3, 5});
                        },
                        invalid({"bias", "(2, 3, 5)", "rank 3", "(B, 1, 1, K)"})},
                       {"of other queries",
                        [](AttentionCall& c) {
                          c.inputs.bias = c.zeros({2, 5});
                        },
                        invalid({"bias", "(2, 5)", "(3, 5)"})},
                   });
  }
}

TEST(InputErrors, AlibiSlopes) {
  for (const auto& [kind, heads] :
       {std::pair{Kind::MultiHead, "(2)"}, {Kind::DotProductRank4, "(4)"}, {Kind::DotProductRank3, "(1)"}}) {
    expect_refused(kind, Reach::Inputs,
                   {
                       {"of F16", [](AttentionCall& c) { c.inputs.alibi_slopes = c.zeros({2}, HEED_F16); },
                        invalid({"alibi_slopes", "F16", "F32"})},
                       {"of seven heads", [](AttentionCall& c) { c.inputs.alibi_slopes = c.zeros({7}); },
                        invalid({"alibi_slopes", "(7)", heads})},
                       {"of rank 0", [](AttentionCall& c) { c.inputs.alibi_slopes = c.zeros({}); },
                        invalid({"alibi_slopes", "()", heads})},
                   });
  }
}

TEST(InputErrors, TensorsWithoutDataInForward) {
  expect_refused(Kind::MultiHead, Reach::Memory,
                 {
                     {"queries",
                      [](AttentionCall& c) {
                        c.inputs.queries = c.shape_only({2, 3, 6});
                      },
                      invalid({"queries", "shape-only"})},
                     {"keys",
                      [](AttentionCall& c) {
                        c.inputs.keys = c.shape_only({2, 5, 7});
                      },
                      invalid({"keys", "shape-only"})},
                     {"values",
                      [](AttentionCall& c) {
                        c.inputs.values = c.shape_only({2, 5, 9});
                      },
                      invalid({"values", "shape-only"})},
                     {"valid_lens", [](AttentionCall& c) { c.inputs.valid_lens = c.shape_only({2}, HEED_I32); },
                      invalid({"valid_lens", "shape-only"})},
                     {"mask",
                      [](AttentionCall& c) {
                        c.inputs.mask = c.shape_only({3, 5}, HEED_BOOL);
                      },
                      invalid({"mask", "shape-only"})},
                     {"bias",
                      [](AttentionCall& c) {
                        c.inputs.bias = c.shape_only({3, 5});
                      },
                      invalid({"bias", "shape-only"})},
                     {"alibi_slopes", [](AttentionCall& c) { c.inputs.alibi_slopes = c.shape_only({2}); },
                      invalid({"alibi_slopes", "shape-only"})},
                     {"output",
                      [](AttentionCall& c) {
                        c.outputs.output = c.shape_only({2, 3, 8});
                      },
                      invalid({"output", "shape-only"})},
                 });
}

// An input with a single element in memory, repeated by strides of 0.
const heed_tensor* repeated(AttentionCall& call, const Dims& dims, heed_dtype dtype) {
  static double element = 0;
  return call.keep(wrap(call.context.get(), dims, Dims(dims.size(), 0), &element, dtype));
}

// So many keys that their projections could not be addressed.
constexpr int64_t kTooManyToProject = int64_t{1} << 57;
constexpr int64_t kTooManyToDrop = (int64_t{1} << 32) + 1;

TEST(InputErrors, SizesThatOverflow) {
  expect_refused(Kind::MultiHead, Reach::Call,
                 {{"the workspace",
                   [](AttentionCall& c) {
                     c.inputs.queries = c.zeros({2, 3, 6}, HEED_F16);
                     c.inputs.keys = repeated(c, {2, kTooManyToProject, 7}, HEED_F16);
                     c.inputs.values = repeated(c, {2, kTooManyToProject, 9}, HEED_F16);
                     c.outputs.weights = nullptr;
                   },
                   invalid({"overflow"})}});
}

TEST(InputErrors, DropoutCountsIn32Bits) {
  expect_refused(Kind::DotProductRank3, Reach::Inputs,
                 {{"too many keys",
                   [](AttentionCall& c) {
                     heed_dot_product_attention_options options = HEED_DOT_PRODUCT_ATTENTION_OPTIONS_INIT;
                     options.dropout = 0.5f;
                     c.layer = make_dot_product(c.context.get(), options);
                     c.inputs.keys = repeated(c, {2, kTooManyToDrop, 4}, HEED_F32);
                     c.inputs.values = repeated(c, {2, kTooManyToDrop, 6}, HEED_F32);
                     c.inputs.training = 1;
                     c.outputs.weights = nullptr;
                   },
                   {HEED_ERROR_UNSUPPORTED, {"dropout", "4294967297"}}}});
}

TEST(InputErrors, OfLayersOfOneInput) {
  for (const Kind kind : kKindsOfOneInput) {
    const std::string name = name_of(kind);
    const auto alone = [&name](const char* member) {
      return invalid({std::string("inputs->") + member + " is set, but a " + name +
                      " layer reads inputs->queries alone, expected NULL"});
    };
    expect_refused(
        kind, Reach::Inputs,
        {
            {"no queries", [](AttentionCall& c) { c.inputs.queries = nullptr; }, invalid({"inputs->queries is NULL"})},
            {"queries of rank 0", [](AttentionCall& c) { c.inputs.queries = c.zeros({}); },
             invalid({"inputs->queries has dims () of rank 0, expected rank 1 to 8"})},
            {"queries of F64",
             [](AttentionCall& c) {
               c.inputs.queries = c.zeros({2, 3, 6}, HEED_F64);
             },
             invalid({"inputs->queries is F64", "F32, F16 or BF16"})},
            {"keys", [](AttentionCall& c) { c.inputs.keys = c.inputs.queries; }, alone("keys")},
            {"values", [](AttentionCall& c) { c.inputs.values = c.inputs.queries; }, alone("values")},
            {"lengths", [](AttentionCall& c) { c.inputs.valid_lens = c.zeros({2}, HEED_I32); }, alone("valid_lens")},
            {"a mask",
             [](AttentionCall& c) {
               c.inputs.mask = c.zeros({3, 3}, HEED_BOOL);
             },
             alone("mask")},
            {"a bias",
             [](AttentionCall& c) {
               c.inputs.bias = c.zeros({3, 3});
             },
             alone("bias")},
            {"reserved", [](AttentionCall& c) { c.inputs.reserved = 1; }, invalid({"reserved", "1"})},
        });
    expect_refused(kind, Reach::Memory,
                   {{"queries without data",
                     [](AttentionCall& c) {
                       c.inputs.queries = c.shape_only({2, 3, 6});
                     },
                     invalid({"inputs->queries", "shape-only"})}});
  }
}

}  // namespace
}  // namespace heed::capi_test
