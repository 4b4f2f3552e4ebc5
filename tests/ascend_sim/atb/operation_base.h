// SPDX-License-Identifier: Apache-2.0
// What all operations share: the checks of Setup and Execute, in the vendor's order and with its codes, and the way of a
// kernel onto the stream. An operation adds its table of types, its own checks, its shapes, and the kernel.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "acl/acl.h"
#include "atb/chip.h"
#include "atb/context_object.h"
#include "atb/operation.h"
#include "atb/refusal.h"

namespace ascend_sim::atb_library {

using atb::Dims;
using atb::Status;
using atb::SVector;
using atb::Tensor;
using atb::TensorDesc;

// Types that an operation takes together: one row for the inputs and then the outputs. A tensor's format is ND. Without
// any row all go.
using Types = std::vector<aclDataType>;

// Where the bytes of the inputs and then the outputs are; null for those that stay on the host.
using Addresses = void* const*;

struct Plan {
  uint64_t workspace_bytes = 0;
  // Runs on the stream's thread; answers 0, or the code that the device fails with.
  std::function<int(Addresses)> kernel;
  // Inputs whose values were read in Setup.
  std::vector<size_t> host_inputs;
  // What is wrong for the kernel's tiling, or empty: that is computed in Execute, which then answers ERROR_INVALID_PARAM.
  std::string tiling_refusal;
};

class OperationBase : public atb::Operation {
 public:
  OperationBase(std::string name, uint32_t num_inputs, uint32_t num_outputs, std::vector<Types> types);
  ~OperationBase() override;
  OperationBase(const OperationBase&) = delete;
  OperationBase& operator=(const OperationBase&) = delete;

  std::string GetName() const override { return name_; }
  uint32_t GetInputNum() const override { return num_inputs_; }
  uint32_t GetOutputNum() const override { return num_outputs_; }
  Status InferShape(const SVector<TensorDesc>& inputs, SVector<TensorDesc>& outputs) const override;
  Status Setup(const atb::VariantPack& pack, uint64_t& workspace_size, atb::Context* context) override;
  Status Execute(const atb::VariantPack& pack, uint8_t* workspace, uint64_t workspace_size,
                 atb::Context* context) override;

 protected:
  using Descs = SVector<TensorDesc>;

  // The operation's own checks of the inputs, for InferShape and Setup alike.
  virtual Status check_inputs(const Descs& inputs) const = 0;
  // Those of the outputs in Setup that have a code of their own; the rest is found by comparing with infer.
  virtual Status check_outputs(const Descs& inputs, const Descs& outputs) const;
  // The outputs of inputs that have passed.
  virtual Status infer(const Descs& inputs, Descs& outputs) const = 0;
  // What comes last in Setup: host data are read, and the kernel is chosen.
  virtual Status plan(const atb::VariantPack& pack, Plan& plan) const = 0;
  // Whether an output may be an input, from the same first byte on.
  virtual bool is_in_place() const { return false; }

  // For check_outputs: `code` where the first output has not the shape that infer says.
  Status check_output_shape(const Descs& inputs, const Descs& outputs, Status code) const;

  Status refuse(Status code, const std::string& reason) const { return atb_library::refuse(code, name_, reason); }
  // What hardware does not check, but must hold.
  Status refuse_unchecked(Status code, const std::string& reason) const;

 private:
  Status check_shapes(const Descs& descs) const;
  bool has_row(const Descs& inputs, const Descs* outputs) const;
  Status check_setup(const atb::VariantPack& pack) const;
  Status set_up(const atb::VariantPack& pack, uint64_t& workspace_size, atb::Context* context);
  Status check_execute(const atb::VariantPack& pack, const uint8_t* workspace, uint64_t workspace_size,
                       const atb::Context* context) const;
  Status launch(const atb::VariantPack& pack, uint8_t* workspace);
  void report_overlaps(const atb::VariantPack& pack, const uint8_t* workspace) const;
  void bind(ContextObject* context);

  const std::string name_;
  const uint32_t num_inputs_;
  const uint32_t num_outputs_;
  const std::vector<Types> types_;

  // One thread at a time.
  std::mutex entry_;
  // The serial of the first Setup's thread, 0 before. From then on the vendor's operation points into that thread's cache
  // of kernels, which no other thread may use and which ends with it.
  uint64_t setup_thread_ = 0;
  bool is_set_up_ = false;
  Plan plan_;
  std::vector<TensorDesc> input_descs_;
  std::vector<TensorDesc> output_descs_;
  const ContextObject* context_ = nullptr;
  std::shared_ptr<ContextState> context_state_;
  std::shared_ptr<std::atomic<int>> num_queued_ = std::make_shared<std::atomic<int>>(0);
};

// CreateOperation's frame: the checks, then the object, with faults and counts.
Status create_operation(atb::Operation** operation, const char* name, const std::function<Status()>& check,
                        const std::function<OperationBase*()>& make);

// ATB refuses parameters with a reserved byte that is not zero: they are another release's.
template <class Param>
bool has_reserved_bytes(const Param& param) {
  for (const uint8_t byte : param.rsv) {
    if (byte != 0) return true;
  }
  return false;
}

template <class Param>
Status check_reserved(const Param& param, const char* name) {
  return has_reserved_bytes(param) ? refuse(atb::ERROR_INVALID_PARAM, name, "a byte of rsv is not 0")
                                   : Status{atb::NO_ERROR};
}

// ---- small things about shapes --------------------------------------------------------------------------------------

inline int64_t dim_from_end(const Dims& shape, uint64_t i) { return shape.dims[shape.dimNum - i]; }
bool same_shape(const Dims& a, const Dims& b);
std::string text_of(const Dims& shape);
// All that lies before an axis, and all that lies behind it.
size_t product(const Dims& shape, uint64_t begin, uint64_t end);
inline size_t num_elements(const Dims& shape) { return product(shape, 0, shape.dimNum); }
inline uint64_t workspace_for(uint64_t bytes) { return (bytes + 511) / 512 * 512; }

}  // namespace ascend_sim::atb_library
