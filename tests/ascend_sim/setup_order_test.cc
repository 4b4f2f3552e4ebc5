// SPDX-License-Identifier: Apache-2.0
// The order of the checks of Setup and InferShape: of two mistakes, the one that is checked first is reported.
// CMakeLists.txt sets ASCEND_SIM_LOG=1, so that mistakes with the same code can be told apart.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "support/attention.h"

namespace ascend_sim {
namespace {

enum Input { kQuery, kKey, kValue, kMask, kLengths };

struct Call {
  Param param = encoder();
  atb::VariantPack pack;
  std::vector<int32_t> lengths;
  // A fault for ascend_sim_set_faults that names a chip, set only during the checked call.
  const char* chip = "";
  bool has_context = true;

  atb::Dims& input(Input i) { return pack.inTensors[i].desc.shape; }
  atb::Dims& output() { return pack.outTensors[0].desc.shape; }
};

// A mistake. No two of a list change the same thing, so that any two can be made together.
struct Mistake {
  atb::Status code;
  // Part of the sentence in the log.
  std::string sentence;
  void (*make)(Call& call);
};
using Mistakes = std::vector<Mistake>;

void append(Mistakes& mistakes, const Mistakes& more) { mistakes.insert(mistakes.end(), more.begin(), more.end()); }

// Mistakes that all operations check, in InferShape and in Setup.
Mistakes general_mistakes() {
  return {
      {atb::ERROR_INVALID_IN_TENSOR_NUM, "6 inputs", [](Call& c) { c.pack.inTensors.push_back(c.pack.inTensors[0]); }},
      {atb::ERROR_INVALID_TENSOR_DIM, "a tensor has 9 dimensions", [](Call& c) { c.input(kKey).dimNum = 9; }},
      {atb::ERROR_INVALID_TENSOR_SIZE, "has 0 bytes", [](Call& c) { c.input(kKey).dims[1] = 0; }},
      {atb::ERROR_INVALID_TENSOR_INI_MATCH, "types that do not go together",
       [](Call& c) { c.pack.inTensors[kKey].desc.dtype = ACL_FLOAT16; }},
      {atb::ERROR_INVALID_TENSOR_DTYPE, "bf16 on a 310P", [](Call& c) { c.chip = "soc=Ascend310P3"; }},
  };
}

Mistakes rank_mistakes() {
  return {
      {atb::ERROR_INVALID_TENSOR_SIZE, "are not all 2-D or all 3-D", [](Call& c) { c.input(kQuery).dimNum = 2; }},
      {atb::ERROR_INVALID_TENSOR_DIM_NUM, "neither 1-D nor 2-D", [](Call& c) { c.input(kLengths).dimNum = 3; }},
      {atb::ERROR_INVALID_TENSOR_DIM, "key has the shape", [](Call& c) { c.input(kValue).dims[0] = 8; }},
  };
}

Mistakes dimension_mistakes() {
  return {
      {atb::ERROR_INVALID_TENSOR_DIM, "not (2, batch)", [](Call& c) { c.input(kLengths).dims[0] = 3; }},
      {atb::ERROR_INVALID_TENSOR_DIM, "a head size is above 576",
       [](Call& c) { c.input(kKey).dims[2] = c.input(kValue).dims[2] = 577; }},
  };
}

// Mistakes that only Setup checks.
Mistakes setup_mistakes() {
  return {
      {atb::ERROR_INVALID_TENSOR_DIM, "the output has the shape", [](Call& c) { c.output().dims[2] = 15; }},
      {atb::ERROR_INVALID_PARAM, "have no hostData", [](Call& c) { c.pack.inTensors[kLengths].hostData = nullptr; }},
      {atb::ERROR_RT_FAIL, "the kernel has no use for a mask", [](Call& c) { c.input(kMask).dims[1] = 4; }},
  };
}

class SetupOrderTest : public AtbTest {
 protected:
  // A correct call: two sequences of 3 and 2 queries and 4 and 5 keys.
  static void fill(Call& call, Param::MaskType type) {
    const bool is_compressed = type == Param::MASK_TYPE_NORM_COMPRESS;
    call.param.maskType = type;
    call.param.isTriuMask = is_compressed ? 1 : 0;
    call.lengths = {3, 2, 4, 5};
    call.pack = pack_of_descs(
        {desc_of(ACL_BF16, {5, 1, 16}), desc_of(ACL_BF16, {9, 1, 16}), desc_of(ACL_BF16, {9, 1, 16}),
         is_compressed ? desc_of(ACL_BF16, {128, 128}) : desc_of(ACL_BF16, {3, 5}), desc_of(ACL_INT32, {2, 2})},
        {desc_of(ACL_BF16, {5, 1, 16})});
    // For mistakes that add a dimension.
    call.input(kMask).dims[2] = call.input(kLengths).dims[2] = 1;
    call.pack.inTensors[kLengths].hostData = call.lengths.data();
    call.pack.inTensors[kLengths].dataSize = call.lengths.size() * sizeof(int32_t);
  }

  // Calls one function of an operation, which must return what `expected` states.
  template <class Function>
  void expect_answer(Call& call, const Mistake& expected, const Function& function) {
    atb::Operation* const operation = create(call.param);
    ascend_sim_set_faults(call.chip);
    testing::internal::CaptureStderr();
    const atb::Status code = function(*operation, call);
    const std::string log = testing::internal::GetCapturedStderr();
    ascend_sim_clear_faults();
    EXPECT_EQ(code, expected.code) << log;
    if (code != atb::NO_ERROR) {
      EXPECT_NE(log.find("answers " + std::to_string(expected.code) + ": "), std::string::npos) << log;
    }
    EXPECT_NE(log.find(expected.sentence), std::string::npos) << log;
    EXPECT_EQ(atb::DestroyOperation(operation), atb::NO_ERROR);
  }

  // Makes each mistake of a list alone, and each pair. The list is in the documented order, so the first of a pair must
  // be reported.
  template <class Function>
  void expect_order(Param::MaskType type, const Mistakes& mistakes, const Function& function) {
    for (size_t i = 0; i < mistakes.size(); ++i) {
      for (size_t j = i; j < mistakes.size(); ++j) {
        SCOPED_TRACE("'" + mistakes[i].sentence + "' before '" + mistakes[j].sentence + "'");
        Call call;
        fill(call, type);
        mistakes[i].make(call);
        if (j != i) mistakes[j].make(call);
        expect_answer(call, mistakes[i], function);
      }
    }
  }
};

TEST_F(SetupOrderTest, SetupReportsTheFirstOfTwoMistakes) {
  const auto set_up = [this](atb::Operation& operation, Call& call) {
    uint64_t bytes = 0;
    return operation.Setup(call.pack, bytes, call.has_context ? context_ : nullptr);
  };
  Call sound;
  fill(sound, Param::MASK_TYPE_NORM);
  expect_answer(sound, {atb::NO_ERROR, "", nullptr}, set_up);

  Mistakes mistakes = {{atb::ERROR_INVALID_PARAM, "context is null", [](Call& c) { c.has_context = false; }}};
  append(mistakes, general_mistakes());
  append(mistakes, rank_mistakes());
  append(mistakes,
         {{atb::ERROR_INVALID_TENSOR_SIZE, "the mask has the shape", [](Call& c) { c.input(kMask).dimNum = 1; }}});
  append(mistakes, dimension_mistakes());
  append(mistakes, setup_mistakes());
  // What hardware does not check is examined last. So there is a violation only for this mistake alone.
  append(mistakes, {{atb::ERROR_INVALID_PARAM, "query has 6 tokens",
                     [](Call& c) { c.input(kQuery).dims[0] = c.output().dims[0] = 6; }}});
  expect_order(Param::MASK_TYPE_NORM, mistakes, set_up);
  EXPECT_EQ(ascend_sim_count("violations"), 1U);
  expect_violation("query has 6 tokens");
}

TEST_F(SetupOrderTest, SetupAcceptsWhatExecuteRefusesWithoutFurtherChecks) {
  Call call;
  fill(call, Param::MASK_TYPE_NORM);
  // The sum of the lengths is not the number of query tokens either.
  call.lengths[0] = 0;
  expect_answer(call, {atb::NO_ERROR, "", nullptr}, [this](atb::Operation& operation, Call& c) {
    uint64_t bytes = 0;
    return operation.Setup(c.pack, bytes, context_);
  });
  EXPECT_EQ(violations(), "");
}

TEST_F(SetupOrderTest, InferShapeReportsTheFirstOfTwoMistakes) {
  const auto infer = [](atb::Operation& operation, Call& call) {
    atb::SVector<atb::TensorDesc> inputs, outputs;
    for (const atb::Tensor& tensor : call.pack.inTensors) inputs.push_back(tensor.desc);
    return operation.InferShape(inputs, outputs);
  };
  Mistakes mistakes = general_mistakes();
  append(mistakes, rank_mistakes());
  append(mistakes, {{atb::ERROR_INVALID_TENSOR_SIZE, "the compressed mask is not 2-D",
                     [](Call& c) { c.input(kMask).dimNum = 3; }},
                    {atb::ERROR_INVALID_TENSOR_DIM, "the compressed mask has the shape",
                     [](Call& c) { c.input(kMask).dims[1] = 64; }}});
  append(mistakes, dimension_mistakes());
  expect_order(Param::MASK_TYPE_NORM_COMPRESS, mistakes, infer);
}

}  // namespace
}  // namespace ascend_sim
