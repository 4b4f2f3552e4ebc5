// SPDX-License-Identifier: Apache-2.0
// RopeOperation: which elements turn together, its roundings, its checks, and the pool of its runners.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <thread>
#include <vector>

#include "support/npu.h"

namespace ascend_sim {
namespace {

using atb::infer::RopeParam;
using Floats = std::vector<float>;

class RopeTest : public AtbTest {
 protected:
  struct Rotated {
    Floats q;
    Floats k;
  };

  static RopeParam halves() {
    RopeParam param;
    param.rotaryCoeff = 2;
    return param;
  }

  // Rotates q of `q_heads` heads and k of one head.
  Rotated rotate(const RopeParam& param, aclDataType dtype, aclDataType cos_dtype, int64_t head_size, int64_t q_heads,
                 const Floats& q, const Floats& k, const Floats& cosines, const Floats& sines) {
    const auto tokens = static_cast<int64_t>(k.size()) / head_size;
    DeviceTensor on_device_q(desc_of(dtype, {tokens, q_heads * head_size})),
        on_device_k(desc_of(dtype, {tokens, head_size}));
    DeviceTensor cos(desc_of(cos_dtype, {tokens, head_size})), sin(desc_of(cos_dtype, {tokens, head_size}));
    DeviceTensor lengths(desc_of(ACL_INT32, {1}));
    DeviceTensor out_q(on_device_q.tensor().desc), out_k(on_device_k.tensor().desc);
    on_device_q.write_floats(q);
    on_device_k.write_floats(k);
    cos.write_floats(cosines);
    sin.write_floats(sines);
    run(param, pack_of({&on_device_q, &on_device_k, &cos, &sin, &lengths}, {&out_q, &out_k}));
    return {out_q.read_floats(), out_k.read_floats()};
  }

  atb::Status setup_of(const RopeParam& param, const atb::VariantPack& pack) {
    atb::Operation* const operation = create(param);
    const atb::Status code = set_up(operation, pack);
    EXPECT_EQ(atb::DestroyOperation(operation), atb::NO_ERROR);
    return code;
  }

  // A pack that is accepted: three tokens of two heads of q and one of k, of 32 elements.
  struct Descs {
    atb::TensorDesc q = desc_of(ACL_FLOAT16, {3, 64});
    atb::TensorDesc k = desc_of(ACL_FLOAT16, {3, 32});
    atb::TensorDesc cos = desc_of(ACL_FLOAT, {3, 32});
    atb::TensorDesc sin = desc_of(ACL_FLOAT, {3, 32});
    atb::TensorDesc lengths = desc_of(ACL_INT32, {1});
    atb::VariantPack pack() const { return pack_of_descs({q, k, cos, sin, lengths}, {q, k}); }
  };
};

// The numbers 1, 2, ..., and angles of which each element has its own.
Floats counted(size_t count) {
  Floats numbers(count);
  for (size_t i = 0; i < count; ++i) numbers[i] = static_cast<float>(i + 1);
  return numbers;
}

TEST_F(RopeTest, EachTwoNeighbouringPiecesOfAHeadTurnTogether) {
  constexpr size_t kSize = 32;
  const Floats x = counted(kSize);
  const Floats cosines(kSize, 2.0F);
  Floats sines(kSize);
  for (size_t i = 0; i < kSize; ++i) sines[i] = static_cast<float>(i % 4);
  for (const int32_t coeff : {2, 4, 32}) {
    RopeParam param;
    param.rotaryCoeff = coeff;
    const Floats out = rotate(param, ACL_FLOAT16, ACL_FLOAT, kSize, 1, x, x, cosines, sines).q;
    const size_t piece = kSize / static_cast<size_t>(coeff);
    for (size_t i = 0; i < kSize; ++i) {
      const float other = i / piece % 2 == 0 ? -x[i + piece] : x[i - piece];
      EXPECT_EQ(out[i], 2 * x[i] + other * sines[i]) << coeff << " " << i;
    }
  }
}

TEST_F(RopeTest, EachTokenHasItsOwnRowAndAllHeadsShareIt) {
  const Floats q = counted(128);
  const Floats k = counted(64);
  Floats cosines(64, 1.0F);
  for (size_t i = 32; i < 64; ++i) cosines[i] = 4.0F;
  const Rotated out = rotate(halves(), ACL_BF16, ACL_BF16, 32, 2, q, k, cosines, Floats(64, 0.0F));
  for (size_t i = 0; i < 128; ++i) EXPECT_EQ(out.q[i], q[i] * (i < 64 ? 1.0F : 4.0F));
  for (size_t i = 0; i < 64; ++i) EXPECT_EQ(out.k[i], k[i] * (i < 32 ? 1.0F : 4.0F));
}

TEST_F(RopeTest, FloatCosinesAreRoundedOnceAndHalfOnesAfterEachStep) {
  const Floats cosines(32, 1.0009766F);
  const Floats sines(32, 0.0004885F);
  Floats x(32, 1.0F);
  x[16] = 2048.0F;
  const float once = atb_library::round_to_half(1.0F * 1.0009766F - 2048.0F * 0.0004885F);
  EXPECT_EQ(rotate(halves(), ACL_FLOAT16, ACL_FLOAT, 32, 1, x, x, cosines, sines).q[0], once);
  const float cosine = atb_library::round_to_half(cosines[0]);
  const float sine = atb_library::round_to_half(sines[0]);
  const float stepwise = atb_library::round_to_half(atb_library::round_to_half(-2048.0F * sine) + cosine);
  EXPECT_NE(stepwise, once);
  EXPECT_EQ(rotate(halves(), ACL_FLOAT16, ACL_FLOAT16, 32, 1, x, x, cosines, sines).q[0], stepwise);
}

// With pieces of 16 elements an infinity stays in its pair; with others it also reaches the neighbouring head.
TEST_F(RopeTest, AnInfinityLeavesItsHeadIfPiecesAreNoWholeBlocks) {
  for (const int64_t head_size : {int64_t{32}, int64_t{48}}) {
    Floats q(static_cast<size_t>(3 * head_size), 1.0F);
    q[static_cast<size_t>(head_size)] = std::numeric_limits<float>::infinity();
    const Floats row(static_cast<size_t>(head_size), 0.5F);
    const Floats out = rotate(halves(), ACL_BF16, ACL_BF16, head_size, 3, q, row, row, row).q;
    const auto half = static_cast<size_t>(head_size / 2);
    const auto begin = static_cast<size_t>(head_size);
    EXPECT_EQ(out[begin], std::numeric_limits<float>::infinity());
    EXPECT_EQ(out[begin + half], std::numeric_limits<float>::infinity());
    EXPECT_EQ(out[begin + 1], 0.0F);
    // The second half of the head before adds the next piece times 0.
    EXPECT_EQ(std::isnan(out[begin - half]), head_size == 48);
  }
}

TEST_F(RopeTest, SetupChecksShapesAndParameters) {
  const Descs good;
  EXPECT_EQ(setup_of(halves(), good.pack()), atb::NO_ERROR);
  const auto code = [&](const std::function<void(Descs&)>& change, const RopeParam& param = halves()) {
    Descs descs;
    change(descs);
    return setup_of(param, descs.pack());
  };
  EXPECT_EQ(code([](Descs& d) {
              d.q = desc_of(ACL_FLOAT16, {1, 3, 2, 32}), d.k = desc_of(ACL_FLOAT16, {1, 3, 1, 32});
            }),
            atb::NO_ERROR);
  EXPECT_EQ(code([](Descs& d) { d.q = desc_of(ACL_FLOAT16, {3, 2, 32}); }), atb::ERROR_INVALID_TENSOR_DIM);
  EXPECT_EQ(code([](Descs& d) { d.cos = desc_of(ACL_FLOAT, {96}); }), atb::ERROR_INVALID_TENSOR_DIM);
  EXPECT_EQ(code([](Descs& d) { d.lengths = desc_of(ACL_INT32, {1, 1}); }), atb::ERROR_INVALID_TENSOR_DIM);
  EXPECT_EQ(code([](Descs& d) { d.k = desc_of(ACL_FLOAT16, {2, 32}); }), atb::ERROR_INVALID_TENSOR_SIZE);
  EXPECT_EQ(code([](Descs& d) { d.sin = desc_of(ACL_FLOAT, {3, 16}); }), atb::ERROR_INVALID_TENSOR_SIZE);
  EXPECT_EQ(code([](Descs& d) { d.cos = d.sin = desc_of(ACL_FLOAT, {3, 8}); }), atb::ERROR_INVALID_TENSOR_DIM);
  EXPECT_EQ(code([](Descs& d) { d.cos = d.sin = desc_of(ACL_FLOAT, {3, 4098}); }), atb::ERROR_INVALID_TENSOR_DIM);
  EXPECT_EQ(code([](Descs& d) { d.q = desc_of(ACL_FLOAT16, {3, 48}); }), atb::ERROR_INVALID_TENSOR_SIZE);
  EXPECT_EQ(code([](Descs& d) { d.cos = d.sin = desc_of(ACL_FLOAT, {3, 24}); }), atb::ERROR_INVALID_TENSOR_DIM);
  RopeParam other;
  other.rotaryCoeff = 8;
  EXPECT_EQ(code([](Descs&) {}, other), atb::ERROR_INVALID_PARAM);
  other.rotaryCoeff = 4;
  EXPECT_EQ(code(
                [](Descs& d) {
                  d.q = d.k = desc_of(ACL_FLOAT16, {3, 144});
                  d.cos = d.sin = desc_of(ACL_FLOAT, {3, 18});
                },
                other),
            atb::ERROR_INVALID_PARAM);
  other.rotaryCoeff = 2;
  other.cosFormat = 2;
  EXPECT_EQ(code([](Descs&) {}, other), atb::ERROR_INVALID_PARAM);
  // The kernel's own check.
  EXPECT_EQ(code([](Descs& d) {
              d.q = d.k = desc_of(ACL_FLOAT16, {3, 24});
              d.cos = d.sin = desc_of(ACL_FLOAT, {3, 24});
            }),
            atb::ERROR_RT_FAIL);
  RopeParam reserved = halves();
  reserved.rsv[3] = 1;
  atb::Operation* operation = nullptr;
  EXPECT_EQ(atb::CreateOperation(reserved, &operation), atb::ERROR_INVALID_PARAM);
}

TEST_F(RopeTest, TypesGoTogether) {
  const auto code = [&](aclDataType dtype, aclDataType cos_dtype) {
    Descs descs;
    descs.q.dtype = descs.k.dtype = dtype;
    descs.cos.dtype = descs.sin.dtype = cos_dtype;
    return setup_of(halves(), descs.pack());
  };
  EXPECT_EQ(code(ACL_FLOAT16, ACL_FLOAT16), atb::NO_ERROR);
  EXPECT_EQ(code(ACL_FLOAT16, ACL_FLOAT), atb::NO_ERROR);
  EXPECT_EQ(code(ACL_BF16, ACL_BF16), atb::NO_ERROR);
  EXPECT_EQ(code(ACL_BF16, ACL_FLOAT), atb::ERROR_INVALID_TENSOR_INI_MATCH);
  EXPECT_EQ(code(ACL_FLOAT, ACL_FLOAT), atb::ERROR_INVALID_TENSOR_INI_MATCH);
}

TEST_F(RopeTest, WhatHardwareDoesNotCheckIsAViolation) {
  Descs descs;
  descs.cos = descs.sin = desc_of(ACL_FLOAT, {2, 32});
  EXPECT_EQ(setup_of(halves(), descs.pack()), atb::ERROR_INVALID_TENSOR_SIZE);
  expect_violation("cos has 2 rows for 3 tokens");
  RopeParam shared = halves();
  shared.cosFormat = 1;
  EXPECT_EQ(setup_of(shared, Descs().pack()), atb::ERROR_INVALID_PARAM);
  expect_violation("cosFormat 1 is not simulated");
}

TEST_F(RopeTest, WideHeadsOfBfloat16AreAViolationFrom64TokensOn) {
  const auto code = [&](aclDataType dtype, int64_t tokens, int64_t width) {
    Descs descs;
    descs.q = descs.k = desc_of(dtype, {tokens, width});
    descs.cos = descs.sin = desc_of(dtype, {tokens, width});
    return setup_of(halves(), descs.pack());
  };
  EXPECT_EQ(code(ACL_BF16, 64, 2048), atb::NO_ERROR);
  EXPECT_EQ(code(ACL_BF16, 63, 4096), atb::NO_ERROR);
  EXPECT_EQ(code(ACL_FLOAT16, 64, 4096), atb::NO_ERROR);
  EXPECT_EQ(code(ACL_BF16, 64, 2080), atb::ERROR_INVALID_PARAM);
  expect_violation("bfloat16 heads of more than 2048 elements");
}

class RopePoolTest : public RopeTest {
 protected:
  void in_a_thread(const std::function<void()>& function) {
    aclrtContext current = nullptr;
    ASSERT_EQ(aclrtGetCurrentContext(&current), ACL_SUCCESS);
    std::thread([&] {
      EXPECT_EQ(aclrtSetCurrentContext(current), ACL_SUCCESS);
      function();
    }).join();
  }

  const atb::VariantPack pack_ = Descs().pack();
};

TEST_F(RopePoolTest, ARunnerOfADestroyedOperationBelongsToItsThread) {
  EXPECT_EQ(setup_of(halves(), pack_), atb::NO_ERROR);
  EXPECT_EQ(setup_of(halves(), pack_), atb::NO_ERROR);
  EXPECT_EQ(violations(), "");
  in_a_thread([&] { EXPECT_EQ(setup_of(halves(), pack_), atb::NO_ERROR); });
  expect_violation("Setup of a RopeOperation with a pooled runner of another thread");
  // The parameters may be others: the runner is the same.
  RopeParam quarters;
  in_a_thread([&] { EXPECT_EQ(setup_of(quarters, pack_), atb::NO_ERROR); });
  expect_violation("pooled runner of another thread");
}

TEST_F(RopePoolTest, OperationsThatLiveHaveRunnersOfTheirOwn) {
  atb::Operation* const here = create(halves());
  EXPECT_EQ(set_up(here, pack_), atb::NO_ERROR);
  atb::Operation* there = nullptr;
  in_a_thread([&] {
    there = create(halves());
    EXPECT_EQ(set_up(there, pack_), atb::NO_ERROR);
  });
  EXPECT_EQ(violations(), "");
  EXPECT_EQ(atb::DestroyOperation(there), atb::NO_ERROR);
  EXPECT_EQ(atb::DestroyOperation(here), atb::NO_ERROR);
}

TEST_F(RopePoolTest, TheRunnersEndWithTheirContext) {
  in_a_thread([&] { EXPECT_EQ(setup_of(halves(), pack_), atb::NO_ERROR); });
  ASSERT_EQ(atb::DestroyContext(context_), atb::NO_ERROR);
  ASSERT_EQ(atb::CreateContext(&context_), atb::NO_ERROR);
  ASSERT_EQ(context_->SetExecuteStream(stream_), atb::NO_ERROR);
  EXPECT_EQ(setup_of(halves(), pack_), atb::NO_ERROR);
  EXPECT_EQ(violations(), "");
}

TEST_F(RopePoolTest, BeyondSixtyFourAnOperationsRunnerEndsWithIt) {
  std::vector<atb::Operation*> operations;
  for (int i = 0; i < 64; ++i) {
    operations.push_back(create(halves()));
    EXPECT_EQ(set_up(operations.back(), pack_), atb::NO_ERROR);
  }
  in_a_thread([&] { EXPECT_EQ(setup_of(halves(), pack_), atb::NO_ERROR); });
  EXPECT_EQ(setup_of(halves(), pack_), atb::NO_ERROR);
  EXPECT_EQ(violations(), "");
  for (atb::Operation* const operation : operations) EXPECT_EQ(atb::DestroyOperation(operation), atb::NO_ERROR);
}

}  // namespace
}  // namespace ascend_sim
