// SPDX-License-Identifier: Apache-2.0
// Rule 13: which dtypes may be combined, and that all other combinations are refused by name.
#include <gtest/gtest.h>

#include <string>

#include "support/samples.h"

namespace heed::property {
namespace {

const std::vector<heed_dtype> kAllDtypes = {HEED_F32, HEED_F16, HEED_BF16, HEED_F64, HEED_I32,
                                            HEED_I64, HEED_I8,  HEED_U8,   HEED_BOOL};

bool is_computed_with(heed_dtype dtype) { return dtype == HEED_F32 || dtype == HEED_F16 || dtype == HEED_BF16; }

// The same numbers in another dtype.
Input in_dtype(const Input& input, heed_dtype dtype) {
  const bool is_unsigned = dtype == HEED_U8 || dtype == HEED_BOOL;
  return make_input(is_unsigned ? filled(input.contents.dims, 1.0) : input.contents, dtype);
}

// A call with dtypes that may be combined; each test replaces one of them.
class Rule13 : public testing::Test {
 protected:
  void expect_accepted(const Call& call) { EXPECT_TRUE(agrees_with_reference(call)); }

  void expect_refused(const Call& call, const std::string& argument, heed_dtype dtype) {
    EXPECT_TRUE(is_refused(call, HEED_ERROR_INVALID_ARGUMENT, {argument, name_of(dtype)}));
  }

  Random random{1300};
};

TEST_F(Rule13, QueriesKeysAndValuesShareOneOfThreeDtypes) {
  for (heed_dtype dtype : kAllDtypes) {
    for (Call call : call_of_each_kind(random)) {
      call.queries = in_dtype(call.queries, dtype);
      call.keys = in_dtype(*call.keys, dtype);
      call.values = in_dtype(*call.values, dtype);
      want_everything_in_f32(call);
      if (is_computed_with(dtype)) {
        expect_accepted(call);
      } else {
        expect_refused(call, "queries", dtype);
      }
    }
  }
}

TEST_F(Rule13, MixedInputsAreRefused) {
  for (heed_dtype dtype : {HEED_F32, HEED_F16, HEED_BF16}) {
    for (heed_dtype other : kAllDtypes) {
      if (other == dtype) continue;
      for (const Call& right : call_of_each_kind(random, dtype)) {
        Call call = right;
        call.keys = in_dtype(*right.keys, other);
        expect_refused(call, "keys", other);
        call = right;
        call.values = in_dtype(*right.values, other);
        expect_refused(call, "values", other);
      }
    }
  }
}

TEST_F(Rule13, OutputAndWeightsAreInTheInputsDtypeOrF32) {
  for (heed_dtype dtype : {HEED_F32, HEED_F16, HEED_BF16}) {
    for (heed_dtype result_dtype : kAllDtypes) {
      for (const Call& right : call_of_each_kind(random, dtype)) {
        const bool fits = result_dtype == dtype || result_dtype == HEED_F32;
        Call call = right;
        call.output->dtype = result_dtype;
        fits ? expect_accepted(call) : expect_refused(call, "output", result_dtype);
        call = right;
        call.weights = OutputRequest{result_dtype};
        fits ? expect_accepted(call) : expect_refused(call, "weights", result_dtype);
      }
    }
  }
}

TEST_F(Rule13, LogSumExpIsF32) {
  for (heed_dtype dtype : {HEED_F32, HEED_F16, HEED_BF16}) {
    for (heed_dtype result_dtype : kAllDtypes) {
      for (Call call : call_of_each_kind(random, dtype)) {
        call.log_sum_exp = OutputRequest{result_dtype};
        result_dtype == HEED_F32 ? expect_accepted(call) : expect_refused(call, "log_sum_exp", result_dtype);
      }
    }
  }
}

TEST_F(Rule13, MaskIsBoolBiasIsFloatLengthsAreNumbers) {
  for (heed_dtype dtype : {HEED_F32, HEED_F16, HEED_BF16}) {
    for (heed_dtype other : kAllDtypes) {
      for (const Call& right : call_of_each_kind(random, dtype)) {
        Call call = right;
        call.mask = make_input(filled({3, 5}, 1.0), other);
        other == HEED_BOOL ? expect_accepted(call) : expect_refused(call, "mask", other);
        call = right;
        call.bias = make_input(filled({3, 5}, 1.0), other);
        other == HEED_F32 || other == dtype ? expect_accepted(call) : expect_refused(call, "bias", other);
        call = right;
        call.valid_lens = make_input(filled({2}, 3.0), other);
        other == HEED_F32 || other == HEED_I32 || other == HEED_I64 ? expect_accepted(call)
                                                                    : expect_refused(call, "valid_lens", other);
      }
    }
  }
}

TEST_F(Rule13, ParametersMayHaveAnotherFloatDtype) {
  for (heed_dtype dtype : {HEED_F32, HEED_F16, HEED_BF16}) {
    for (heed_dtype parameter_dtype : {HEED_F32, HEED_F16, HEED_BF16}) {
      MultiHeadSample sample;
      sample.dtype = dtype;
      sample.parameter_dtype = parameter_dtype;
      for (Call call : {multi_head_call(two_heads(), sample, random), additive_call(5, sample, random)}) {
        want_everything(call);
        expect_accepted(call);
        call.output->dtype = HEED_F32;
        call.weights->dtype = HEED_F32;
        expect_accepted(call);
        // One parameter of a dtype that the others do not have.
        const char* name = call.kind == Kind::Additive ? "w_v.weight" : "W_k.weight";
        call.parameters[name] = in_dtype(call.parameters[name], HEED_BF16);
        expect_accepted(call);
      }
    }
  }
  for (heed_dtype dtype : {HEED_I32, HEED_I64, HEED_I8, HEED_U8, HEED_BOOL}) {
    Call call = multi_head_call(two_heads(), {}, random);
    call.parameters["W_q.weight"] = in_dtype(call.parameters["W_q.weight"], dtype);
    EXPECT_TRUE(is_refused(call, HEED_ERROR_INVALID_ARGUMENT, {name_of(dtype)}));
  }
}

// The sum of 4096 and many steps of 1/64 needs more than the 11 bits of F16, and the projections exceed 65504.
TEST_F(Rule13, NoIntermediateOfAdditiveScoresIsNarrowerThanF32) {
  constexpr int64_t kHiddens = 200;
  MultiHeadSample sample;
  sample.dtype = sample.parameter_dtype = HEED_F16;
  Call call = additive_call(kHiddens, sample, random);
  Array score_weights = filled({1, kHiddens}, 1.0 / 64.0);
  score_weights.values[0] = 4096.0;
  call.parameters["w_v.weight"] = make_input(score_weights, HEED_F16);
  Input& query_weight = call.parameters["W_q.weight"];
  for (double& element : query_weight.contents.values) element *= 30000.0;
  query_weight = make_input(query_weight.contents, HEED_F16);
  call.options.scale = 1.0F / 64.0F;
  want_everything_in_f32(call);
  expect_accepted(call);
}

// Projected values of about 10^6 are infinite in F16, and a sum of steps of 1/64 at 4096 needs more than its 11 bits.
TEST_F(Rule13, NoIntermediateIsNarrowerThanF32) {
  MultiHeadSample sample;
  sample.dtype = sample.parameter_dtype = HEED_F16;
  Call call = multi_head_call(two_heads(), sample, random);
  for (double& element : call.parameters["W_v.weight"].contents.values) element *= 30000.0;
  call.parameters["W_v.weight"] = make_input(call.parameters["W_v.weight"].contents, HEED_F16);
  for (double& element : call.values->contents.values) element *= 30.0;
  call.values = make_input(call.values->contents, HEED_F16);
  for (double& element : call.parameters["W_o.weight"].contents.values) element *= 1e-4;
  call.parameters["W_o.weight"] = make_input(call.parameters["W_o.weight"].contents, HEED_F16);
  want_everything(call);
  expect_accepted(call);
  call.output->dtype = HEED_F32;
  call.weights->dtype = HEED_F32;
  expect_accepted(call);  // within the bound of f32 arithmetic
}

}  // namespace
}  // namespace heed::property
