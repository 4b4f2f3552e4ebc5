// SPDX-License-Identifier: Apache-2.0
// Fixtures for the simulator's tests: a process with a device, a stream and a context of ATB, and tensors on the
// device.
#pragma once

#include <gtest/gtest.h>

#include <bit>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <memory>
#include <string>
#include <vector>

#include "acl/acl.h"
#include "ascend_sim/control.h"
#include "atb/atb_infer.h"
#include "atb/elements.h"

namespace ascend_sim {

inline std::string violations() {
  std::string text(10000, '\0');
  ascend_sim_violations(text.data(), text.size());
  text.resize(std::strlen(text.c_str()));
  return text;
}

inline std::string leaks() {
  std::string text(10000, '\0');
  ascend_sim_leaks(text.data(), text.size());
  text.resize(std::strlen(text.c_str()));
  return text;
}

// Expects that a violation with this text was reported, and clears all violations, so that the end of the test finds
// none.
inline void expect_violation(const std::string& part) {
  EXPECT_NE(violations().find(part), std::string::npos) << "wanted: " << part << "\ngot: " << violations();
  ascend_sim_clear_violations();
}

// The error sentence of this thread's last failure.
inline std::string recent_error() {
  const char* const text = aclGetRecentErrMsg();
  return text == nullptr ? "" : text;
}

inline atb::TensorDesc desc_of(aclDataType dtype, const std::vector<int64_t>& shape) {
  atb::TensorDesc desc;
  desc.dtype = dtype;
  desc.format = ACL_FORMAT_ND;
  for (const int64_t dim : shape) desc.shape.dims[desc.shape.dimNum++] = dim;
  return desc;
}

// Initialises AscendCL and opens a device and a stream. At the end of a test nothing may be alive, and there may be no
// unexpected violation.
class AclTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ascend_sim_clear_faults();
    ascend_sim_clear_violations();
    ASSERT_EQ(aclInit(nullptr), ACL_SUCCESS);
    ASSERT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
    ASSERT_EQ(aclrtCreateStream(&stream_), ACL_SUCCESS);
  }

  void TearDown() override {
    ascend_sim_clear_faults();
    ascend_sim_hold_workers(0);
    ascend_sim_delay_tasks(0);
    EXPECT_EQ(aclrtDestroyStream(stream_), ACL_SUCCESS);
    EXPECT_EQ(aclrtResetDevice(0), ACL_SUCCESS);
    EXPECT_EQ(leaks(), "");
    EXPECT_EQ(violations(), "");
    EXPECT_EQ(aclFinalize(), ACL_SUCCESS);
  }

  aclrtStream stream_ = nullptr;
};

// Device memory for one tensor.
class DeviceTensor {
 public:
  explicit DeviceTensor(const atb::TensorDesc& desc) {
    tensor_.desc = desc;
    tensor_.dataSize = atb::Utils::GetTensorSize(desc);
    allocate();
  }
  ~DeviceTensor() { EXPECT_EQ(aclrtFree(tensor_.deviceData), ACL_SUCCESS); }
  DeviceTensor(const DeviceTensor&) = delete;
  DeviceTensor& operator=(const DeviceTensor&) = delete;

  const atb::Tensor& tensor() const { return tensor_; }

  // Allocates the memory; also a second time, after it was lost with a device.
  void allocate() {
    EXPECT_EQ(aclrtMalloc(&tensor_.deviceData, tensor_.dataSize, ACL_MEM_MALLOC_HUGE_FIRST), ACL_SUCCESS);
  }

  template <class Element>
  void write(const std::vector<Element>& elements) {
    ASSERT_EQ(elements.size() * sizeof(Element), tensor_.dataSize);
    ASSERT_EQ(
        aclrtMemcpy(tensor_.deviceData, tensor_.dataSize, elements.data(), tensor_.dataSize, ACL_MEMCPY_HOST_TO_DEVICE),
        ACL_SUCCESS);
  }

  template <class Element>
  std::vector<Element> read() const {
    std::vector<Element> elements(tensor_.dataSize / sizeof(Element));
    EXPECT_EQ(
        aclrtMemcpy(elements.data(), tensor_.dataSize, tensor_.deviceData, tensor_.dataSize, ACL_MEMCPY_DEVICE_TO_HOST),
        ACL_SUCCESS);
    return elements;
  }

  // Uploads numbers, rounded to the tensor's floating-point type.
  void write_floats(const std::vector<float>& values) {
    std::vector<std::byte> bytes(tensor_.dataSize);
    ASSERT_EQ(values.size(), atb::Utils::GetTensorNumel(tensor_));
    atb_library::store_floats(tensor_.desc.dtype, values.data(), values.size(), bytes.data());
    write(bytes);
  }

  std::vector<float> read_floats() const {
    return atb_library::load_floats(tensor_.desc.dtype, read<std::byte>().data(), atb::Utils::GetTensorNumel(tensor_));
  }

 private:
  atb::Tensor tensor_;
};

// Also opens a context of ATB for the stream.
class AtbTest : public AclTest {
 protected:
  void SetUp() override {
    AclTest::SetUp();
    ASSERT_EQ(atb::CreateContext(&context_), atb::NO_ERROR);
    ASSERT_EQ(context_->SetExecuteStream(stream_), atb::NO_ERROR);
  }

  void TearDown() override {
    EXPECT_EQ(atb::DestroyContext(context_), atb::NO_ERROR);
    AclTest::TearDown();
  }

  template <class Param>
  static atb::Operation* create(const Param& param) {
    atb::Operation* operation = nullptr;
    EXPECT_EQ(atb::CreateOperation(param, &operation), atb::NO_ERROR);
    return operation;
  }

  static atb::VariantPack pack_of(std::initializer_list<const DeviceTensor*> inputs,
                                  std::initializer_list<const DeviceTensor*> outputs) {
    atb::VariantPack pack;
    for (const DeviceTensor* const tensor : inputs) pack.inTensors.push_back(tensor->tensor());
    for (const DeviceTensor* const tensor : outputs) pack.outTensors.push_back(tensor->tensor());
    return pack;
  }

  // A pack of tensors that have only descriptions.
  static atb::VariantPack pack_of_descs(std::initializer_list<atb::TensorDesc> inputs,
                                        std::initializer_list<atb::TensorDesc> outputs) {
    atb::VariantPack pack;
    for (const atb::TensorDesc& desc : inputs) {
      pack.inTensors.push_back({});
      pack.inTensors[pack.inTensors.size() - 1].desc = desc;
    }
    for (const atb::TensorDesc& desc : outputs) {
      pack.outTensors.push_back({});
      pack.outTensors[pack.outTensors.size() - 1].desc = desc;
    }
    return pack;
  }

  atb::Status set_up(atb::Operation* operation, const atb::VariantPack& pack) {
    uint64_t bytes = 0;
    return operation->Setup(pack, bytes, context_);
  }

  // Runs a Setup, which must succeed, and Execute with a new workspace, and synchronises. Returns the code of Execute.
  template <class Param>
  atb::Status try_run(const Param& param, const atb::VariantPack& pack) {
    atb::Operation* const operation = create(param);
    uint64_t bytes = 0;
    EXPECT_EQ(operation->Setup(pack, bytes, context_), atb::NO_ERROR);
    void* workspace = nullptr;
    if (bytes > 0) {
      EXPECT_EQ(aclrtMalloc(&workspace, bytes, ACL_MEM_MALLOC_HUGE_FIRST), ACL_SUCCESS);
    }
    const atb::Status code = operation->Execute(pack, static_cast<uint8_t*>(workspace), bytes, context_);
    EXPECT_EQ(aclrtSynchronizeStream(context_->GetExecuteStream()), ACL_SUCCESS) << recent_error();
    if (workspace != nullptr) {
      EXPECT_EQ(aclrtFree(workspace), ACL_SUCCESS);
    }
    EXPECT_EQ(atb::DestroyOperation(operation), atb::NO_ERROR);
    return code;
  }

  template <class Param>
  void run(const Param& param, const atb::VariantPack& pack) {
    EXPECT_EQ(try_run(param, pack), atb::NO_ERROR);
  }

  atb::Context* context_ = nullptr;
};

}  // namespace ascend_sim
