// SPDX-License-Identifier: Apache-2.0
// An operation: created from a parameter struct, set up for shapes, executed on data.
#pragma once

#include <cstdint>
#include <string>

#include "atb/context.h"
#include "atb/svector.h"
#include "atb/types.h"

namespace atb {

// The order of the virtual functions is part of the ABI.
class ATB_SIM_API Operation {
 public:
  Operation() = default;
  virtual ~Operation() = default;
  virtual std::string GetName() const = 0;
  virtual Status InferShape(const SVector<TensorDesc>& inTensorDescs, SVector<TensorDesc>& outTensorDescs) const = 0;
  virtual uint32_t GetInputNum() const = 0;
  virtual uint32_t GetOutputNum() const = 0;
  virtual Status Setup(const VariantPack& variantPack, uint64_t& workspaceSize, Context* context) = 0;
  virtual Status Execute(const VariantPack& variantPack, uint8_t* workspace, uint64_t workspaceSize,
                         Context* context) = 0;
};

// Defined in libatb for the parameters of atb/infer_op_params.h.
template <typename OpParam>
Status CreateOperation(const OpParam& opParam, Operation** operation);
ATB_SIM_API Status DestroyOperation(Operation* operation);

}  // namespace atb
