// SPDX-License-Identifier: Apache-2.0
// The operations that move, choose and fill elements: Transpose, Slice, AsStrided, Concat, Gather, Fill.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <vector>

#include "runtime/errors.h"
#include "support/npu.h"

namespace ascend_sim {
namespace {

using namespace atb::infer;
using Floats = std::vector<float>;

class ShapesTest : public AtbTest {
 protected:
  template <class Param>
  atb::Status setup_of(const Param& param, const atb::VariantPack& pack) {
    atb::Operation* const operation = create(param);
    const atb::Status code = set_up(operation, pack);
    EXPECT_EQ(atb::DestroyOperation(operation), atb::NO_ERROR);
    return code;
  }

  static atb::TensorDesc half(std::initializer_list<int64_t> shape) { return desc_of(ACL_FLOAT16, shape); }
};

TEST_F(ShapesTest, TransposePermutesAxes) {
  TransposeParam param;
  param.perm = {0, 2, 1};
  DeviceTensor x(half({2, 2, 3})), out(half({2, 3, 2}));
  x.write_floats({0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11});
  run(param, pack_of({&x}, {&out}));
  EXPECT_EQ(out.read_floats(), (Floats{0, 3, 1, 4, 2, 5, 6, 9, 7, 10, 8, 11}));
}

TEST_F(ShapesTest, TransposeNeedsAPermutationOfTheInputsAxes) {
  for (const atb::SVector<int32_t>& perm : {atb::SVector<int32_t>{0}, atb::SVector<int32_t>{0, 0},
                                            atb::SVector<int32_t>{0, 2}, atb::SVector<int32_t>{-1, 0}}) {
    TransposeParam param;
    param.perm = perm;
    EXPECT_EQ(setup_of(param, pack_of_descs({half({2, 3})}, {half({3, 2})})), atb::ERROR_INVALID_PARAM);
  }
  TransposeParam param;
  param.perm = {1, 0};
  EXPECT_EQ(setup_of(param, pack_of_descs({half({2, 3})}, {half({2, 3})})), atb::ERROR_RT_FAIL);
  // Float is not among its types; its bits may be moved as int32.
  EXPECT_EQ(setup_of(param, pack_of_descs({desc_of(ACL_FLOAT, {2, 3})}, {desc_of(ACL_FLOAT, {3, 2})})),
            atb::ERROR_INVALID_TENSOR_INI_MATCH);
}

TEST_F(ShapesTest, SliceTakesAPartOfEachAxis) {
  SliceParam param;
  param.offsets = {1, -2};
  param.size = {1, -1};
  DeviceTensor x(desc_of(ACL_FLOAT, {2, 3})), out(desc_of(ACL_FLOAT, {1, 2}));
  x.write_floats({0, 1, 2, 3, 4, 5});
  run(param, pack_of({&x}, {&out}));
  EXPECT_EQ(out.read_floats(), (Floats{4, 5}));
}

TEST_F(ShapesTest, SliceNeedsAPartWithinTheInput) {
  const auto code = [this](const atb::SVector<int64_t>& offsets, const atb::SVector<int64_t>& size,
                           std::initializer_list<int64_t> out) {
    SliceParam param;
    param.offsets = offsets;
    param.size = size;
    return setup_of(param, pack_of_descs({half({2, 3})}, {half(out)}));
  };
  EXPECT_EQ(code({0}, {2}, {2, 3}), atb::ERROR_INVALID_PARAM);
  EXPECT_EQ(code({0, 1}, {2, 3}, {2, 3}), atb::ERROR_INVALID_PARAM);
  EXPECT_EQ(code({0, -4}, {2, 1}, {2, 1}), atb::ERROR_INVALID_PARAM);
  EXPECT_EQ(code({0, 0}, {2, -2}, {2, 1}), atb::ERROR_INVALID_PARAM);
  EXPECT_EQ(code({0, 1}, {2, INT64_MAX}, {2, 1}), atb::ERROR_INVALID_PARAM);
  EXPECT_EQ(code({0, 0}, {2, 2}, {2, 3}), atb::ERROR_INVALID_TENSOR_DIM);
}

TEST_F(ShapesTest, AsStridedReadsByItsStrides) {
  AsStridedParam param;
  param.size = {2, 3};
  param.stride = {0, 2};
  param.offset = {1};
  DeviceTensor x(half({6})), out(half({2, 3}));
  x.write_floats({0, 1, 2, 3, 4, 5});
  run(param, pack_of({&x}, {&out}));
  EXPECT_EQ(out.read_floats(), (Floats{1, 3, 5, 1, 3, 5}));
  param.offset = {2};
  EXPECT_EQ(setup_of(param, pack_of_descs({half({6})}, {half({2, 3})})), atb::ERROR_INVALID_PARAM);
  param.offset = {1};
  EXPECT_EQ(setup_of(param, pack_of_descs({half({6})}, {half({6})})), atb::ERROR_INVALID_TENSOR_SIZE);
  EXPECT_EQ(setup_of(param, pack_of_descs({half({6})}, {half({3, 2})})), atb::ERROR_INVALID_TENSOR_DIM);
  EXPECT_EQ(setup_of(param, pack_of_descs({desc_of(ACL_BF16, {6})}, {desc_of(ACL_BF16, {2, 3})})),
            atb::ERROR_INVALID_TENSOR_INI_MATCH);
}

TEST_F(ShapesTest, ConcatJoinsTwoInputs) {
  ConcatParam param;
  param.concatDim = -1;
  DeviceTensor x(half({2, 1})), y(half({2, 2})), out(half({2, 3}));
  x.write_floats({1, 4});
  y.write_floats({2, 3, 5, 6});
  run(param, pack_of({&x, &y}, {&out}));
  EXPECT_EQ(out.read_floats(), (Floats{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(setup_of(param, pack_of_descs({half({2, 1}), half({3, 2})}, {half({2, 3})})),
            atb::ERROR_INVALID_TENSOR_DIM);
  EXPECT_EQ(setup_of(param, pack_of_descs({half({2, 1}), half({2, 2})}, {half({2, 4})})), atb::ERROR_RT_FAIL);
  param.concatDim = 2;
  EXPECT_EQ(setup_of(param, pack_of_descs({half({2, 1}), half({2, 2})}, {half({2, 3})})), atb::ERROR_INVALID_PARAM);
}

TEST_F(ShapesTest, GatherChoosesSlicesOfAnAxis) {
  GatherParam param;
  param.axis = 1;
  DeviceTensor x(half({2, 3, 2})), indices(desc_of(ACL_INT32, {2})), out(half({2, 2, 2}));
  x.write_floats({0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11});
  indices.write(std::vector<int32_t>{2, 0});
  run(param, pack_of({&x, &indices}, {&out}));
  EXPECT_EQ(out.read_floats(), (Floats{4, 5, 0, 1, 10, 11, 6, 7}));
  const atb::TensorDesc two = desc_of(ACL_INT64, {2});
  EXPECT_EQ(setup_of(param, pack_of_descs({half({2, 3, 2}), two}, {half({2, 2})})), atb::ERROR_INVALID_TENSOR_DIM_NUM);
  EXPECT_EQ(setup_of(param, pack_of_descs({half({2, 3, 2}), two}, {half({2, 3, 2})})), atb::ERROR_INVALID_TENSOR_DIM);
  param.axis = 3;
  EXPECT_EQ(setup_of(param, pack_of_descs({half({2, 3, 2}), two}, {half({2, 2, 2})})), atb::ERROR_INVALID_PARAM);
  param.axis = -1;
  atb::Operation* operation = nullptr;
  EXPECT_EQ(atb::CreateOperation(param, &operation), atb::ERROR_INVALID_PARAM);
}

TEST_F(ShapesTest, GatherWithAnIndexOutOfRangeIsAKernelException) {
  DeviceTensor x(half({3})), indices(desc_of(ACL_INT64, {1})), out(half({1}));
  indices.write(std::vector<int64_t>{3});
  atb::Operation* const operation = create(GatherParam());
  const atb::VariantPack pack = pack_of({&x, &indices}, {&out});
  ASSERT_EQ(set_up(operation, pack), atb::NO_ERROR);
  EXPECT_EQ(operation->Execute(pack, nullptr, 0, context_), atb::NO_ERROR);
  EXPECT_EQ(aclrtSynchronizeStream(stream_), kKernelException);
  EXPECT_EQ(atb::DestroyOperation(operation), atb::NO_ERROR);
  EXPECT_EQ(aclrtResetDevice(0), ACL_SUCCESS);
  EXPECT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
  EXPECT_EQ(aclrtCreateStream(&stream_), ACL_SUCCESS);
  for (DeviceTensor* const tensor : {&x, &indices, &out}) tensor->allocate();
}

TEST_F(ShapesTest, FillPutsItsValueWhereTheMaskIsNotZero) {
  FillParam param;
  param.value = {-7};
  DeviceTensor x(half({2, 3})), mask(desc_of(ACL_INT8, {3})), out(half({2, 3}));
  x.write_floats({0, 1, 2, 3, 4, 5});
  mask.write(std::vector<int8_t>{0, 1, 0});
  run(param, pack_of({&x, &mask}, {&out}));
  EXPECT_EQ(out.read_floats(), (Floats{0, -7, 2, 3, -7, 5}));
  EXPECT_EQ(setup_of(param, pack_of_descs({half({3}), desc_of(ACL_BOOL, {2, 3})}, {half({3})})),
            atb::ERROR_INVALID_TENSOR_DIM);
  EXPECT_EQ(setup_of(param, pack_of_descs({half({2, 3}), desc_of(ACL_BOOL, {2})}, {half({2, 3})})),
            atb::ERROR_INVALID_TENSOR_DIM);
}

TEST_F(ShapesTest, FillOfFloatsGivesNaNForNumbersThatAreNotFinite) {
  FillParam param;
  for (const aclDataType dtype : {ACL_FLOAT16, ACL_BF16}) {
    DeviceTensor x(desc_of(dtype, {4})), mask(desc_of(ACL_BOOL, {4})), out(desc_of(dtype, {4}));
    x.write_floats({INFINITY, -INFINITY, NAN, -INFINITY});
    mask.write(std::vector<int8_t>{1, 1, 1, 0});
    param.value = {5};
    run(param, pack_of({&x, &mask}, {&out}));
    Floats results = out.read_floats();
    for (size_t i = 0; i < 3; ++i) EXPECT_TRUE(std::isnan(results[i])) << i;
    EXPECT_EQ(results[3], -INFINITY);
    // A value beyond the type's range is rounded at the end. An infinite value is multiplied by 0 where the mask is 0,
    // which gives NaN.
    x.write_floats({1, 2, 3, 4});
    param.value = {-3e38F};
    run(param, pack_of({&x, &mask}, {&out}));
    EXPECT_EQ(out.read_floats(), (Floats{atb_library::round_to(dtype, -3e38F), atb_library::round_to(dtype, -3e38F),
                                         atb_library::round_to(dtype, -3e38F), 4}));
    param.value = {-INFINITY};
    run(param, pack_of({&x, &mask}, {&out}));
    results = out.read_floats();
    EXPECT_EQ(results[0], -INFINITY);
    EXPECT_TRUE(std::isnan(results[3]));
  }
}

TEST_F(ShapesTest, FillOfIntegersIsExact) {
  FillParam param;
  param.value = {-7};
  // The first two are the bits of a float's infinity and NaN; they also have more digits than a float.
  DeviceTensor x(desc_of(ACL_INT32, {4})), mask(desc_of(ACL_INT8, {4})), out(desc_of(ACL_INT32, {4}));
  x.write(std::vector<int32_t>{0x7F800000, 0x7FC00001, 0x7FC00001, INT32_MIN});
  mask.write(std::vector<int8_t>{1, 1, 0, 0});
  run(param, pack_of({&x, &mask}, {&out}));
  EXPECT_EQ(out.read<int32_t>(), (std::vector<int32_t>{-7, -7, 0x7FC00001, INT32_MIN}));
}

TEST_F(ShapesTest, FillWithoutAMaskMakesATensor) {
  FillParam param;
  param.withMask = false;
  param.value = {0.5F};
  param.outDim = {2, 2};
  DeviceTensor out(half({2, 2}));
  run(param, pack_of({}, {&out}));
  EXPECT_EQ(out.read_floats(), Floats(4, 0.5F));
  EXPECT_EQ(setup_of(param, pack_of_descs({}, {half({4})})), atb::ERROR_INVALID_TENSOR_DIM);
  param.outDim = {};
  atb::Operation* operation = nullptr;
  EXPECT_EQ(atb::CreateOperation(param, &operation), atb::ERROR_INVALID_PARAM);
  param.outDim = {2};
  param.value = {1, 2};
  EXPECT_EQ(atb::CreateOperation(param, &operation), atb::ERROR_INVALID_PARAM);
}

}  // namespace
}  // namespace ascend_sim
