// SPDX-License-Identifier: Apache-2.0
// What all operations share: the checks of Setup and Execute, in the vendor's order and with its codes, and the launch
// of a kernel. Each operation adds its table of types, its own checks, its shapes, and its kernel.
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

// A combination of types that an operation accepts: those of the inputs and then of the outputs. Formats are always ND.
// An empty table accepts all types.
using Types = std::vector<aclDataType>;

// The addresses of the inputs and then the outputs; null for those that stay on the host.
using Addresses = void* const*;

struct Plan {
  uint64_t workspace_bytes = 0;
  // Runs in the stream's thread. Returns 0, or the code with which the device fails.
  std::function<int(Addresses)> kernel;
  // Inputs that Setup has read on the host.
  std::vector<size_t> host_inputs;
  // Whether results that are not finite are clamped on a stream in saturation mode.
  bool saturates = true;
  // Why the kernel's tiling fails, or empty. ATB computes the tiling in Execute, which then returns
  // ERROR_INVALID_PARAM.
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

  // The operation's own checks of the inputs, in InferShape and Setup.
  virtual Status check_inputs(const Descs& inputs) const = 0;
  // The operation's own checks of the outputs, in Setup, if they have a code of their own. Other mistakes are found by
  // comparing with infer.
  virtual Status check_outputs(const Descs& inputs, const Descs& outputs) const;
  // The outputs' descriptions, for inputs that passed the checks.
  virtual Status infer(const Descs& inputs, Descs& outputs) const = 0;
  // The last step of Setup: reads host data and chooses the kernel.
  virtual Status plan(const atb::VariantPack& pack, Plan& plan) const = 0;
  // Whether an output may be the same memory as an input.
  virtual bool may_share(size_t /*output*/, size_t /*input*/) const { return false; }
  // Whether its runner comes from the context's pool (runner_pool.h).
  virtual bool has_pooled_runner() const { return false; }

  // For check_outputs: returns `code` if the first output does not have the shape of infer.
  Status check_output_shape(const Descs& inputs, const Descs& outputs, Status code) const;

  Status refuse(Status code, const std::string& reason) const { return atb_library::refuse(code, name_, reason); }
  // Refuses, and reports as a violation, what hardware does not check but relies on.
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
  void take_runner();

  const std::string name_;
  const uint32_t num_inputs_;
  const uint32_t num_outputs_;
  const std::vector<Types> types_;

  // Held during a call: one thread at a time may use the operation.
  std::mutex entry_;
  // The number of the thread of the first Setup; 0 before it. The vendor's operation keeps a pointer into that thread's
  // cache of kernels, which no other thread may use and which ends with the thread.
  uint64_t setup_thread_ = 0;
  bool is_set_up_ = false;
  Plan plan_;
  std::vector<TensorDesc> input_descs_;
  std::vector<TensorDesc> output_descs_;
  const ContextObject* context_ = nullptr;
  std::shared_ptr<ContextState> context_state_;
  // The runner of the pool, from the first Setup that succeeds, and the context whose pool it is.
  std::shared_ptr<ContextState> runner_context_;
  RunnerPool* runner_pool_ = nullptr;
  size_t runner_ = RunnerPool::kNoRunner;
  std::shared_ptr<std::atomic<int>> num_queued_ = std::make_shared<std::atomic<int>>(0);
};

// The common part of CreateOperation: checks, creation, faults and counts.
Status create_operation(atb::Operation** operation, const char* name, const std::function<Status()>& check,
                        const std::function<OperationBase*()>& make);

// ATB refuses parameters with a reserved byte that is not 0: they were built for another release.
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

// ---- helpers for shapes ---------------------------------------------------------------------------------------------

inline int64_t dim_from_end(const Dims& shape, uint64_t i) { return shape.dims[shape.dimNum - i]; }
bool same_shape(const Dims& a, const Dims& b);
std::string text_of(const Dims& shape);
// The product of the dimensions from `begin` up to `end`.
size_t product(const Dims& shape, uint64_t begin, uint64_t end);
inline size_t num_elements(const Dims& shape) { return product(shape, 0, shape.dimNum); }
inline uint64_t workspace_for(uint64_t bytes) { return (bytes + 511) / 512 * 512; }

}  // namespace ascend_sim::atb_library
