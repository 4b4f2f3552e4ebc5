// SPDX-License-Identifier: Apache-2.0
// The checks of InferShape, Setup and Execute that all operations share, their order and their codes.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include "runtime/errors.h"
#include "support/npu.h"

namespace ascend_sim {
namespace {

using atb::infer::ElewiseParam;
using atb::infer::LinearParam;

ElewiseParam sum() {
  ElewiseParam param;
  param.elewiseType = ElewiseParam::ELEWISE_ADD;
  return param;
}

LinearParam product() {
  LinearParam param;
  param.hasBias = false;
  return param;
}

class SetupTest : public AtbTest {
 protected:
  void SetUp() override {
    AtbTest::SetUp();
    sum_ = create(sum());
    product_ = create(product());
  }

  void TearDown() override {
    EXPECT_EQ(atb::DestroyOperation(sum_), atb::NO_ERROR);
    EXPECT_EQ(atb::DestroyOperation(product_), atb::NO_ERROR);
    AtbTest::TearDown();
  }

  static atb::TensorDesc desc(aclDataType dtype = ACL_FLOAT) { return desc_of(dtype, {4}); }

  atb::Operation* sum_ = nullptr;
  atb::Operation* product_ = nullptr;
};

// Expects that correct parameters with one reserved byte that is not 0 are refused, for each reserved byte. `rsv`
// returns the array of them.
template <class Param, class Reserved>
void expect_reserved(Param param, const Reserved& rsv) {
  atb::Operation* operation = nullptr;
  for (uint8_t& byte : rsv(param)) {
    byte = 1;
    EXPECT_EQ(atb::CreateOperation(param, &operation), atb::ERROR_INVALID_PARAM);
    EXPECT_EQ(operation, nullptr);
    EXPECT_EQ(atb::DestroyOperation(operation), atb::NO_ERROR);
    operation = nullptr;
    byte = 0;
  }
  EXPECT_EQ(atb::CreateOperation(param, &operation), atb::NO_ERROR);
  EXPECT_EQ(atb::DestroyOperation(operation), atb::NO_ERROR);
}

TEST_F(SetupTest, ParametersOfAnotherReleaseAreRefused) {
  // A reserved byte that is not 0 means another release. Every reserved byte of every struct is tried.
  const auto own = [](auto& param) -> auto& { return param.rsv; };
  expect_reserved(sum(), own);
  expect_reserved(
      sum(), [](ElewiseParam & param) -> auto& { return param.quantParam.rsv; });
  expect_reserved(
      sum(), [](ElewiseParam & param) -> auto& { return param.mulsParam.rsv; });
  expect_reserved(product(), own);

  using namespace atb::infer;
  LayerNormParam norm;
  norm.layerType = LayerNormParam::LAYER_NORM_NORM;
  expect_reserved(norm, own);
  expect_reserved(
      norm, [](LayerNormParam & param) -> auto& { return param.normParam.rsv; });
  expect_reserved(
      norm, [](LayerNormParam & param) -> auto& { return param.preNormParam.rsv; });
  expect_reserved(
      norm, [](LayerNormParam & param) -> auto& { return param.postNormParam.rsv; });

  ActivationParam activation;
  activation.activationType = ACTIVATION_RELU;
  expect_reserved(activation, own);
  FillParam fill;
  fill.value = {1};
  expect_reserved(fill, own);
  SelfAttentionParam attention;
  attention.headNum = 1;
  attention.calcType = SelfAttentionParam::PA_ENCODER;
  expect_reserved(attention, own);
  expect_reserved(AsStridedParam(), own);
  expect_reserved(ConcatParam(), own);
  expect_reserved(GatherParam(), own);
  expect_reserved(SliceParam(), own);
  expect_reserved(SoftmaxParam(), own);
  expect_reserved(TransposeParam(), own);

  atb::Operation** const nowhere = nullptr;
  EXPECT_EQ(atb::CreateOperation(sum(), nowhere), atb::ERROR_INVALID_PARAM);
}

TEST_F(SetupTest, TheContextIsCheckedFirst) {
  uint64_t bytes = 0;
  EXPECT_EQ(sum_->Setup(pack_of_descs({}, {}), bytes, nullptr), atb::ERROR_INVALID_PARAM);
}

TEST_F(SetupTest, TheNumberOfTensorsIsCheckedBeforeDimensions) {
  // One tensor too few, and the other one is wrong too.
  atb::TensorDesc wrong = desc();
  wrong.shape.dimNum = 9;
  EXPECT_EQ(set_up(sum_, pack_of_descs({wrong}, {desc()})), atb::ERROR_INVALID_IN_TENSOR_NUM);
  EXPECT_EQ(set_up(sum_, pack_of_descs({desc(), desc()}, {})), atb::ERROR_INVALID_IN_TENSOR_NUM);
  EXPECT_EQ(set_up(sum_, pack_of_descs({desc(), desc(), desc()}, {desc()})), atb::ERROR_INVALID_IN_TENSOR_NUM);
  EXPECT_EQ(sum_->GetInputNum(), 2U);
  EXPECT_EQ(sum_->GetOutputNum(), 1U);
}

TEST_F(SetupTest, DimensionsAndSizesAreCheckedBeforeTypes) {
  for (const uint64_t num_dims : {0, 9}) {
    // The type is one that the operation does not accept.
    atb::TensorDesc wrong = desc(ACL_DOUBLE);
    wrong.shape.dimNum = num_dims;
    EXPECT_EQ(set_up(sum_, pack_of_descs({desc(), wrong}, {desc()})), atb::ERROR_INVALID_TENSOR_DIM);
    EXPECT_EQ(set_up(sum_, pack_of_descs({desc(), desc()}, {wrong})), atb::ERROR_INVALID_TENSOR_DIM);
  }
  for (const atb::TensorDesc& wrong :
       {desc_of(ACL_DOUBLE, {4, 0}), desc_of(ACL_DOUBLE, {-4}), desc_of(ACL_FLOAT, {int64_t{1} << 36, 2}),
        desc_of(ACL_FLOAT, {int64_t{1} << 40, int64_t{1} << 40}), desc_of(ACL_DT_UNDEFINED, {4})})
    EXPECT_EQ(set_up(sum_, pack_of_descs({desc(), wrong}, {desc()})), atb::ERROR_INVALID_TENSOR_SIZE);
}

TEST_F(SetupTest, TypesAndFormatsMustGoTogether) {
  EXPECT_EQ(set_up(sum_, pack_of_descs({desc(), desc(ACL_FLOAT16)}, {desc()})), atb::ERROR_INVALID_TENSOR_INI_MATCH);
  EXPECT_EQ(set_up(sum_, pack_of_descs({desc(), desc()}, {desc(ACL_FLOAT16)})), atb::ERROR_INVALID_TENSOR_INI_MATCH);
  EXPECT_EQ(set_up(sum_, pack_of_descs({desc(ACL_INT8), desc(ACL_INT8)}, {desc(ACL_INT8)})),
            atb::ERROR_INVALID_TENSOR_INI_MATCH);
  atb::TensorDesc other_format = desc();
  other_format.format = ACL_FORMAT_NCHW;
  EXPECT_EQ(set_up(sum_, pack_of_descs({desc(), desc()}, {other_format})), atb::ERROR_INVALID_TENSOR_INI_MATCH);
}

TEST_F(SetupTest, TheChipMustSupportTheType) {
  ascend_sim_set_faults("soc=Ascend310P3");
  EXPECT_EQ(set_up(sum_, pack_of_descs({desc(ACL_BF16), desc(ACL_BF16)}, {desc(ACL_BF16)})),
            atb::ERROR_INVALID_TENSOR_DTYPE);
  EXPECT_EQ(set_up(sum_, pack_of_descs({desc(ACL_FLOAT16), desc(ACL_FLOAT16)}, {desc(ACL_FLOAT16)})), atb::NO_ERROR);
}

TEST_F(SetupTest, TheOperationsOwnChecksComeBeforeTheKernels) {
  const auto half = [](std::initializer_list<int64_t> shape) { return desc_of(ACL_FLOAT16, shape); };
  // Linear checks shapes itself, with codes of its own; for Elewise the kernel does.
  EXPECT_EQ(set_up(product_, pack_of_descs({half({2, 3}), half({2, 4})}, {half({2, 2})})),
            atb::ERROR_INVALID_TENSOR_DIM);
  EXPECT_EQ(set_up(sum_, pack_of_descs({half({3}), half({4})}, {half({4})})), atb::ERROR_RT_FAIL);
  EXPECT_EQ(set_up(sum_, pack_of_descs({half({4}), half({4})}, {half({5})})), atb::ERROR_RT_FAIL);
}

TEST_F(SetupTest, InferShapeMakesTheSameChecksOfTheInputs) {
  const auto infer = [](const atb::Operation* operation, std::initializer_list<atb::TensorDesc> inputs) {
    atb::SVector<atb::TensorDesc> in, out;
    for (const atb::TensorDesc& input : inputs) in.push_back(input);
    return operation->InferShape(in, out);
  };
  EXPECT_EQ(infer(sum_, {desc()}), atb::ERROR_INVALID_IN_TENSOR_NUM);
  EXPECT_EQ(infer(sum_, {desc(), desc_of(ACL_FLOAT, {0})}), atb::ERROR_INVALID_TENSOR_SIZE);
  EXPECT_EQ(infer(sum_, {desc(), desc(ACL_INT32)}), atb::ERROR_INVALID_TENSOR_INI_MATCH);
  EXPECT_EQ(infer(product_, {desc_of(ACL_BF16, {2, 3}), desc_of(ACL_BF16, {2, 4})}), atb::ERROR_INVALID_TENSOR_DIM);
  EXPECT_EQ(infer(sum_, {desc_of(ACL_FLOAT, {3}), desc_of(ACL_FLOAT, {4})}), atb::ERROR_INVALID_TENSOR_DIM);

  atb::SVector<atb::TensorDesc> in, out;
  in.push_back(desc_of(ACL_BF16, {5, 2, 3}));
  in.push_back(desc_of(ACL_BF16, {7, 3}));
  ASSERT_EQ(product_->InferShape(in, out), atb::NO_ERROR);
  ASSERT_EQ(out.size(), 1U);
  EXPECT_EQ(out[0].dtype, ACL_BF16);
  EXPECT_EQ(out[0].shape.dimNum, 3U);
  EXPECT_EQ(out[0].shape.dims[0], 5);
  EXPECT_EQ(out[0].shape.dims[1], 2);
  EXPECT_EQ(out[0].shape.dims[2], 7);
}

TEST_F(SetupTest, AnOperationBelongsToTheThreadOfItsFirstSetup) {
  const atb::VariantPack wrong = pack_of_descs({}, {});
  const atb::VariantPack pack = pack_of_descs({desc(), desc()}, {desc()});
  aclrtContext current = nullptr;
  ASSERT_EQ(aclrtGetCurrentContext(&current), ACL_SUCCESS);
  const auto in_a_thread = [current](const auto& function) {
    std::thread([&] {
      EXPECT_EQ(aclrtSetCurrentContext(current), ACL_SUCCESS);
      function();
    }).join();
  };
  const char* const sentence = "in another thread than its first Setup";
  // A failed Setup counts as the first. A Setup in another thread is reported and goes on; the operation still belongs
  // to its first thread.
  EXPECT_EQ(set_up(sum_, wrong), atb::ERROR_INVALID_IN_TENSOR_NUM);
  in_a_thread([&] { EXPECT_EQ(set_up(sum_, pack), atb::NO_ERROR); });
  expect_violation("Setup of a ElewiseOperation " + std::string(sentence));
  EXPECT_EQ(set_up(sum_, pack), atb::NO_ERROR);
  EXPECT_EQ(violations(), "");
  // A thread that has ended is another thread, even if the system reuses its id.
  in_a_thread([&] { EXPECT_EQ(set_up(product_, wrong), atb::ERROR_INVALID_IN_TENSOR_NUM); });
  EXPECT_EQ(violations(), "");
  in_a_thread([&] { EXPECT_EQ(set_up(product_, wrong), atb::ERROR_INVALID_IN_TENSOR_NUM); });
  expect_violation(sentence);
  EXPECT_EQ(set_up(product_, wrong), atb::ERROR_INVALID_IN_TENSOR_NUM);
  expect_violation(sentence);
}

class ExecuteTest : public SetupTest {
 protected:
  void SetUp() override {
    SetupTest::SetUp();
    x_ = std::make_unique<DeviceTensor>(desc_of(ACL_BF16, {2, 2}));
    weight_ = std::make_unique<DeviceTensor>(desc_of(ACL_BF16, {2, 2}));
    out_ = std::make_unique<DeviceTensor>(desc_of(ACL_BF16, {2, 2}));
    x_->write_floats({1, 2, 3, 4});
    weight_->write_floats({1, 0, 0, 1});
    pack_ = pack_of({x_.get(), weight_.get()}, {out_.get()});
    ASSERT_EQ(product_->Setup(pack_, bytes_, context_), atb::NO_ERROR);
    ASSERT_GT(bytes_, 0U);
    EXPECT_EQ(bytes_ % 512, 0U);
    ASSERT_EQ(aclrtMalloc(&workspace_, bytes_, ACL_MEM_MALLOC_HUGE_FIRST), ACL_SUCCESS);
  }

  void TearDown() override {
    ascend_sim_hold_workers(0);
    EXPECT_EQ(aclrtSynchronizeStream(stream_), ACL_SUCCESS);
    EXPECT_EQ(aclrtFree(workspace_), ACL_SUCCESS);
    x_.reset();
    weight_.reset();
    out_.reset();
    SetupTest::TearDown();
  }

  atb::Status execute(const atb::VariantPack& pack) {
    return product_->Execute(pack, static_cast<uint8_t*>(workspace_), bytes_, context_);
  }

  // Expects that the kernel failed and the device is lost, and opens the device again, with a new stream and tensors.
  void expect_kernel_exception(const std::string& sentence) {
    EXPECT_EQ(aclrtSynchronizeStream(stream_), kKernelException);
    EXPECT_EQ(recent_error(), "507015: " + sentence);
    EXPECT_EQ(aclrtResetDevice(0), ACL_SUCCESS);
    EXPECT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
    EXPECT_EQ(aclrtCreateStream(&stream_), ACL_SUCCESS);
    for (DeviceTensor* const tensor : {x_.get(), weight_.get(), out_.get()}) tensor->allocate();
    EXPECT_EQ(aclrtMalloc(&workspace_, bytes_, ACL_MEM_MALLOC_HUGE_FIRST), ACL_SUCCESS);
  }

  std::unique_ptr<DeviceTensor> x_, weight_, out_;
  atb::VariantPack pack_;
  uint64_t bytes_ = 0;
  void* workspace_ = nullptr;
};

TEST_F(ExecuteTest, IsAsynchronous) {
  ascend_sim_hold_workers(1);
  EXPECT_EQ(execute(pack_), atb::NO_ERROR);
  ascend_sim_hold_workers(0);
  EXPECT_EQ(aclrtSynchronizeStream(stream_), ACL_SUCCESS);
  EXPECT_EQ(out_->read_floats(), (std::vector<float>{1, 2, 3, 4}));
}

TEST_F(ExecuteTest, AcceptsOtherPointersThanSetup) {
  DeviceTensor other(desc_of(ACL_BF16, {2, 2}));
  other.write_floats({5, 6, 7, 8});
  pack_.inTensors[0].deviceData = other.tensor().deviceData;
  EXPECT_EQ(execute(pack_), atb::NO_ERROR);
  EXPECT_EQ(aclrtSynchronizeStream(stream_), ACL_SUCCESS);
  EXPECT_EQ(out_->read_floats(), (std::vector<float>{5, 6, 7, 8}));
}

TEST_F(ExecuteTest, NeedsASuccessfulSetup) {
  EXPECT_EQ(sum_->Execute(pack_, nullptr, 0, context_), atb::ERROR_INVALID_PARAM);
  EXPECT_EQ(set_up(product_, pack_of_descs({}, {})), atb::ERROR_INVALID_IN_TENSOR_NUM);
  EXPECT_EQ(execute(pack_), atb::ERROR_INVALID_PARAM);
}

TEST_F(ExecuteTest, NeedsTheContextOfSetupWithAStream) {
  atb::Context* other = nullptr;
  ASSERT_EQ(atb::CreateContext(&other), atb::NO_ERROR);
  ASSERT_EQ(other->SetExecuteStream(stream_), atb::NO_ERROR);
  EXPECT_EQ(product_->Execute(pack_, static_cast<uint8_t*>(workspace_), bytes_, other), atb::ERROR_INVALID_PARAM);
  EXPECT_EQ(product_->Execute(pack_, static_cast<uint8_t*>(workspace_), bytes_, nullptr), atb::ERROR_INVALID_PARAM);
  EXPECT_EQ(context_->SetExecuteStream(nullptr), atb::NO_ERROR);
  EXPECT_EQ(execute(pack_), atb::ERROR_INVALID_PARAM);
  EXPECT_EQ(context_->SetExecuteStream(stream_), atb::NO_ERROR);
  EXPECT_EQ(atb::DestroyContext(other), atb::NO_ERROR);
}

TEST_F(ExecuteTest, NeedsTheWorkspaceThatSetupRequested) {
  EXPECT_EQ(product_->Execute(pack_, static_cast<uint8_t*>(workspace_), bytes_ - 1, context_),
            atb::ERROR_INVALID_PARAM);
  EXPECT_EQ(product_->Execute(pack_, nullptr, bytes_, context_), atb::ERROR_INVALID_PARAM);
}

TEST_F(ExecuteTest, LeavesNothingUsefulInTheWorkspace) {
  EXPECT_EQ(execute(pack_), atb::NO_ERROR);
  EXPECT_EQ(aclrtSynchronizeStream(stream_), ACL_SUCCESS);
  std::vector<uint8_t> bytes(bytes_);
  EXPECT_EQ(aclrtMemcpy(bytes.data(), bytes_, workspace_, bytes_, ACL_MEMCPY_DEVICE_TO_HOST), ACL_SUCCESS);
  EXPECT_EQ(bytes, std::vector<uint8_t>(bytes_, 0xA5));
}

TEST_F(ExecuteTest, NeedsTensorsOfTheNumberAndSizesInSetup) {
  atb::VariantPack pack = pack_;
  pack.inTensors.push_back(pack.inTensors[0]);
  EXPECT_EQ(execute(pack), atb::ERROR_INVALID_PARAM);
  pack = pack_;
  pack.outTensors[0].dataSize += 2;
  EXPECT_EQ(execute(pack), atb::ERROR_INVALID_PARAM);
  pack = pack_;
  pack.inTensors[1].deviceData = nullptr;
  EXPECT_EQ(execute(pack), atb::ERROR_INVALID_PARAM);
}

TEST_F(ExecuteTest, WithAnotherShapeThanInSetupIsAViolation) {
  pack_.inTensors[0].desc = desc_of(ACL_BF16, {4, 1});
  EXPECT_EQ(execute(pack_), atb::NO_ERROR);
  expect_violation("Execute of a LinearOperation with a tensor of shape (4, 1)");
}

TEST_F(ExecuteTest, WithAHostPointerIsAKernelException) {
  std::vector<uint16_t> host(4);
  pack_.inTensors[1].deviceData = host.data();
  EXPECT_EQ(execute(pack_), atb::NO_ERROR);
  expect_kernel_exception("LinearOperation (input 1 is an address of the host) failed on the device");
}

TEST_F(ExecuteTest, WithFreedMemoryIsAKernelException) {
  void* freed = nullptr;
  const auto expect_exception = [&](const std::string& part, const auto& execute_with) {
    ASSERT_EQ(aclrtMalloc(&freed, bytes_, ACL_MEM_MALLOC_HUGE_FIRST), ACL_SUCCESS);
    EXPECT_EQ(aclrtFree(freed), ACL_SUCCESS);
    EXPECT_EQ(execute_with(freed), atb::NO_ERROR);
    expect_kernel_exception("LinearOperation (" + part +
                            " is an address of the device that is not allocated) failed on the device");
    pack_ = pack_of({x_.get(), weight_.get()}, {out_.get()});
    ASSERT_EQ(context_->SetExecuteStream(stream_), atb::NO_ERROR);
  };
  expect_exception("input 0", [this](void* address) {
    pack_.inTensors[0].deviceData = address;
    return execute(pack_);
  });
  expect_exception("output 0", [this](void* address) {
    pack_.outTensors[0].deviceData = address;
    return execute(pack_);
  });
  expect_exception("the workspace", [this](void* address) {
    return product_->Execute(pack_, static_cast<uint8_t*>(address), bytes_, context_);
  });
}

TEST_F(ExecuteTest, MemoryThatAKernelUsesMustNotBeFreed) {
  const auto free_while_queued = [this](size_t bytes, const auto& execute_with) {
    void* address = nullptr;
    ASSERT_EQ(aclrtMalloc(&address, bytes, ACL_MEM_MALLOC_HUGE_FIRST), ACL_SUCCESS);
    ascend_sim_hold_workers(1);
    EXPECT_EQ(execute_with(address), atb::NO_ERROR);
    EXPECT_EQ(aclrtFree(address), ACL_SUCCESS);
    EXPECT_NE(violations().find("aclrtFree of " + std::to_string(bytes) + " bytes"), std::string::npos);
    expect_violation("while LinearOperation, which uses it, is queued or running: synchronise first");
    ascend_sim_hold_workers(0);
    EXPECT_EQ(aclrtSynchronizeStream(stream_), ACL_SUCCESS);
  };
  const uint64_t before = ascend_sim_count("bytes_allocated");
  free_while_queued(8, [this](void* address) {
    atb::VariantPack pack = pack_;
    pack.inTensors[1].deviceData = address;
    return execute(pack);
  });
  free_while_queued(8, [this](void* address) {
    atb::VariantPack pack = pack_;
    pack.outTensors[0].deviceData = address;
    return execute(pack);
  });
  free_while_queued(bytes_, [this](void* address) {
    return product_->Execute(pack_, static_cast<uint8_t*>(address), bytes_, context_);
  });
  EXPECT_EQ(ascend_sim_count("bytes_allocated"), before);
}

TEST_F(ExecuteTest, WithTooLittleMemoryIsAKernelException) {
  pack_.outTensors[0].deviceData = static_cast<uint8_t*>(pack_.outTensors[0].deviceData) + 2;
  EXPECT_EQ(execute(pack_), atb::NO_ERROR);
  expect_kernel_exception(
      "LinearOperation (output 0 has 6 bytes left in its allocation, but 8 are wanted) failed on the device");
}

TEST_F(ExecuteTest, WithAHostWorkspaceIsAKernelException) {
  std::vector<uint8_t> host(bytes_);
  EXPECT_EQ(product_->Execute(pack_, host.data(), bytes_, context_), atb::NO_ERROR);
  expect_kernel_exception("LinearOperation (the workspace is an address of the host) failed on the device");
}

TEST_F(ExecuteTest, OutputsMustNotOverlapInputsOrTheWorkspace) {
  atb::VariantPack pack = pack_;
  pack.outTensors[0].deviceData = pack.inTensors[0].deviceData;
  EXPECT_EQ(execute(pack), atb::NO_ERROR);
  expect_violation("an output overlaps an input");
  pack = pack_;
  pack.outTensors[0].deviceData = workspace_;
  EXPECT_EQ(execute(pack), atb::NO_ERROR);
  expect_violation("an output overlaps the workspace");
}

TEST_F(ExecuteTest, ElewiseMayWriteItsInput) {
  atb::VariantPack pack = pack_of({x_.get(), weight_.get()}, {x_.get()});
  run(sum(), pack);
  EXPECT_EQ(x_->read_floats(), (std::vector<float>{2, 2, 3, 5}));
}

TEST_F(ExecuteTest, ExecuteAndDestroyMayBeInAnotherThreadThanSetup) {
  atb::Operation* const operation = create(sum());
  const atb::VariantPack pack = pack_of({x_.get(), weight_.get()}, {out_.get()});
  ASSERT_EQ(set_up(operation, pack), atb::NO_ERROR);
  aclrtContext current = nullptr;
  ASSERT_EQ(aclrtGetCurrentContext(&current), ACL_SUCCESS);
  std::thread([&] {
    EXPECT_EQ(aclrtSetCurrentContext(current), ACL_SUCCESS);
    EXPECT_EQ(operation->Execute(pack, nullptr, 0, context_), atb::NO_ERROR);
    EXPECT_EQ(aclrtSynchronizeStream(stream_), ACL_SUCCESS);
    EXPECT_EQ(atb::DestroyOperation(operation), atb::NO_ERROR);
  }).join();
  EXPECT_EQ(out_->read_floats(), (std::vector<float>{2, 2, 3, 5}));
}

TEST_F(ExecuteTest, NeedsACurrentContextInItsThread) {
  std::thread([this] { EXPECT_EQ(execute(pack_), atb::ERROR_RT_FAIL); }).join();
}

TEST_F(ExecuteTest, AnOperationMustOutliveItsKernels) {
  atb::Operation* const operation = create(product());
  uint64_t bytes = 0;
  ASSERT_EQ(operation->Setup(pack_, bytes, context_), atb::NO_ERROR);
  ascend_sim_hold_workers(1);
  EXPECT_EQ(operation->Execute(pack_, static_cast<uint8_t*>(workspace_), bytes, context_), atb::NO_ERROR);
  EXPECT_EQ(atb::DestroyOperation(operation), atb::NO_ERROR);
  expect_violation("DestroyOperation of a LinearOperation whose kernel is queued or running");
}

TEST_F(ExecuteTest, AContextMustOutliveItsOperations) {
  atb::Context* context = nullptr;
  ASSERT_EQ(atb::CreateContext(&context), atb::NO_ERROR);
  ASSERT_EQ(context->SetExecuteStream(stream_), atb::NO_ERROR);
  atb::Operation* const operation = create(product());
  uint64_t bytes = 0;
  ASSERT_EQ(operation->Setup(pack_, bytes, context), atb::NO_ERROR);
  EXPECT_EQ(atb::DestroyContext(context), atb::NO_ERROR);
  expect_violation("DestroyContext before DestroyOperation");
  EXPECT_EQ(operation->Execute(pack_, static_cast<uint8_t*>(workspace_), bytes, context), atb::ERROR_INVALID_PARAM);
  expect_violation("after DestroyContext of the context of its Setup");
  EXPECT_EQ(atb::DestroyOperation(operation), atb::NO_ERROR);
}

TEST_F(ExecuteTest, TwoThreadsMustNotUseAnOperationAContextOrAStreamAtOnce) {
  aclrtContext current = nullptr;
  ASSERT_EQ(aclrtGetCurrentContext(&current), ACL_SUCCESS);
  // Long enough for the calls of two threads to overlap; they are repeated until they do.
  ascend_sim_delay_tasks(2000);
  const auto meet = [&](const auto& first, const auto& second, const std::string& sentence) {
    for (int i = 0; i < 1000 && violations().find(sentence) == std::string::npos; ++i) {
      std::thread other([&] {
        EXPECT_EQ(aclrtSetCurrentContext(current), ACL_SUCCESS);
        first();
      });
      second();
      other.join();
    }
    expect_violation(sentence);
    EXPECT_EQ(aclrtSynchronizeStream(stream_), ACL_SUCCESS);
  };
  const auto execute_product = [this] { EXPECT_EQ(execute(pack_), atb::NO_ERROR); };
  meet(execute_product, execute_product, "Execute of a LinearOperation while another thread uses the same operation");

  const atb::VariantPack sums = pack_of({x_.get(), weight_.get()}, {x_.get()});
  ASSERT_EQ(set_up(sum_, sums), atb::NO_ERROR);
  const auto execute_sum = [&] { EXPECT_EQ(sum_->Execute(sums, nullptr, 0, context_), atb::NO_ERROR); };
  meet(execute_sum, execute_product, "while another thread uses the same atb::Context");

  atb::Context* other_context = nullptr;
  ASSERT_EQ(atb::CreateContext(&other_context), atb::NO_ERROR);
  ASSERT_EQ(other_context->SetExecuteStream(stream_), atb::NO_ERROR);
  uint64_t bytes = 0;
  ASSERT_EQ(sum_->Setup(sums, bytes, other_context), atb::NO_ERROR);
  const auto execute_there = [&] { EXPECT_EQ(sum_->Execute(sums, nullptr, 0, other_context), atb::NO_ERROR); };
  meet(execute_there, execute_product, "while another thread submits work to the same stream");
  EXPECT_EQ(set_up(sum_, sums), atb::NO_ERROR);
  EXPECT_EQ(atb::DestroyContext(other_context), atb::NO_ERROR);
}

TEST_F(ExecuteTest, CallsAreCounted) {
  const uint64_t before[] = {ascend_sim_count("setup"), ascend_sim_count("execute:LinearOperation"),
                             ascend_sim_count("create_operation")};
  run(product(), pack_);
  EXPECT_EQ(ascend_sim_count("setup"), before[0] + 1);
  EXPECT_EQ(ascend_sim_count("execute:LinearOperation"), before[1] + 1);
  EXPECT_EQ(ascend_sim_count("create_operation"), before[2] + 1);
}

TEST_F(ExecuteTest, NullIsAcceptedByDestroyAndRefusedByCreate) {
  EXPECT_EQ(atb::DestroyOperation(nullptr), atb::NO_ERROR);
  EXPECT_EQ(atb::DestroyContext(nullptr), atb::NO_ERROR);
  EXPECT_EQ(atb::CreateContext(nullptr), atb::ERROR_INVALID_PARAM);
  EXPECT_EQ(atb::CreateContext(nullptr, 127, 32), atb::ERROR_INVALID_PARAM);
}

TEST_F(ExecuteTest, WhatIsNotSimulatedIsReported) {
  EXPECT_NE(context_->SetLaunchMode(atb::GRAPH_LAUNCH_MODE), atb::NO_ERROR);
  expect_violation("GRAPH_LAUNCH_MODE");
  EXPECT_NE(context_->SetExecuteType(atb::EXECUTE_PRELAUNCH), atb::NO_ERROR);
  expect_violation("EXECUTE_NORMAL");
  EXPECT_NE(context_->SetAsyncTilingCopyStatus(true), atb::NO_ERROR);
  expect_violation("SetAsyncTilingCopyStatus");
  EXPECT_EQ(context_->SetAsyncTilingCopyStatus(false), atb::NO_ERROR);
  EXPECT_EQ(atb::Utils::GetAtbVersion(), "8.5.0-simulated");
}

}  // namespace
}  // namespace ascend_sim
