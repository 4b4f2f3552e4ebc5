// SPDX-License-Identifier: Apache-2.0
// ElewiseOperation: element by element, in float with one rounding, or in integers for integer types. The shapes of two
// inputs are broadcast as in NumPy. Comparisons give int8 0 or 1.
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <vector>

#include "atb/elements.h"
#include "atb/infer_op_params.h"
#include "atb/launch_cache.h"
#include "atb/operation_base.h"

namespace ascend_sim::atb_library {
namespace {

using atb::infer::ElewiseParam;
using Type = ElewiseParam::ElewiseType;

struct Kind {
  Type type;
  uint32_t num_inputs;
  std::vector<Types> types;
};

std::vector<Types> same_for_all(size_t num_tensors, std::initializer_list<aclDataType> dtypes) {
  std::vector<Types> types;
  for (const aclDataType dtype : dtypes) types.emplace_back(num_tensors, dtype);
  return types;
}

std::vector<Types> comparison(std::initializer_list<aclDataType> dtypes) {
  std::vector<Types> types;
  for (const aclDataType dtype : dtypes) types.push_back({dtype, dtype, ACL_INT8});
  return types;
}

// The simulated kinds; null for others.
const Kind* kind_of(Type type) {
  static const auto& kinds = *new std::vector<Kind>{
      {ElewiseParam::ELEWISE_CAST,
       1,
       {{ACL_FLOAT16, ACL_FLOAT},
        {ACL_FLOAT, ACL_FLOAT16},
        {ACL_INT32, ACL_INT64},
        {ACL_INT64, ACL_INT32},
        {ACL_BF16, ACL_FLOAT},
        {ACL_FLOAT, ACL_BF16}}},
      {ElewiseParam::ELEWISE_MULS, 1, same_for_all(2, {ACL_FLOAT16, ACL_FLOAT, ACL_BF16})},
      {ElewiseParam::ELEWISE_COS, 1, same_for_all(2, {ACL_FLOAT16, ACL_FLOAT, ACL_BF16})},
      {ElewiseParam::ELEWISE_SIN, 1, same_for_all(2, {ACL_FLOAT16, ACL_FLOAT, ACL_BF16})},
      {ElewiseParam::ELEWISE_NEG, 1, same_for_all(2, {ACL_FLOAT16, ACL_BF16})},
      {ElewiseParam::ELEWISE_TANH, 1, same_for_all(2, {ACL_FLOAT16, ACL_BF16})},
      {ElewiseParam::ELEWISE_LOGICAL_NOT, 1, same_for_all(2, {ACL_INT8})},
      {ElewiseParam::ELEWISE_ADD, 2, same_for_all(3, {ACL_FLOAT16, ACL_FLOAT, ACL_BF16, ACL_INT32, ACL_INT64})},
      {ElewiseParam::ELEWISE_SUB, 2, same_for_all(3, {ACL_FLOAT16, ACL_INT64, ACL_BF16})},
      {ElewiseParam::ELEWISE_MUL, 2, same_for_all(3, {ACL_FLOAT16, ACL_BF16})},
      {ElewiseParam::ELEWISE_REALDIV, 2, same_for_all(3, {ACL_FLOAT16, ACL_FLOAT, ACL_BF16})},
      {ElewiseParam::ELEWISE_LOGICAL_AND, 2, same_for_all(3, {ACL_INT8})},
      {ElewiseParam::ELEWISE_LOGICAL_OR, 2, same_for_all(3, {ACL_INT8})},
      {ElewiseParam::ELEWISE_LESS, 2, comparison({ACL_INT64, ACL_FLOAT16, ACL_FLOAT, ACL_BF16})},
      {ElewiseParam::ELEWISE_GREATER, 2, comparison({ACL_INT64, ACL_FLOAT16, ACL_FLOAT, ACL_BF16})},
      {ElewiseParam::ELEWISE_EQUAL, 2, comparison({ACL_FLOAT16, ACL_FLOAT, ACL_BF16})},
  };
  for (const Kind& kind : kinds) {
    if (kind.type == type) return &kind;
  }
  return nullptr;
}

bool is_cast_type(aclDataType dtype) {
  return dtype == ACL_DT_UNDEFINED || dtype == ACL_FLOAT16 || dtype == ACL_FLOAT || dtype == ACL_BF16 ||
         dtype == ACL_INT32 || dtype == ACL_INT64;
}

bool is_comparison(Type type) {
  return type == ElewiseParam::ELEWISE_LESS || type == ElewiseParam::ELEWISE_GREATER ||
         type == ElewiseParam::ELEWISE_EQUAL;
}

// For each element of `out`, the index of its element in an input that is broadcast to `out`.
std::vector<size_t> broadcast_indices(const Dims& in, const Dims& out) {
  std::vector<size_t> indices(num_elements(out), 0);
  size_t stride = 1;
  size_t out_stride = 1;
  for (uint64_t i = 1; i <= out.dimNum; ++i) {
    const auto out_dim = static_cast<size_t>(dim_from_end(out, i));
    const auto dim = i <= in.dimNum ? static_cast<size_t>(dim_from_end(in, i)) : 1;
    for (size_t p = 0; dim != 1 && p < indices.size(); ++p) indices[p] += p / out_stride % out_dim * stride;
    stride *= dim;
    out_stride *= out_dim;
  }
  return indices;
}

// Computes in integers, which wrap on overflow.
template <class Number>
Number compute_integer(Type type, Number a, Number b) {
  using Unsigned = std::make_unsigned_t<Number>;
  switch (type) {
    case ElewiseParam::ELEWISE_ADD: return static_cast<Number>(static_cast<Unsigned>(a) + static_cast<Unsigned>(b));
    case ElewiseParam::ELEWISE_SUB: return static_cast<Number>(static_cast<Unsigned>(a) - static_cast<Unsigned>(b));
    case ElewiseParam::ELEWISE_LOGICAL_NOT: return a == 0 ? 1 : 0;
    case ElewiseParam::ELEWISE_LOGICAL_AND: return a != 0 && b != 0 ? 1 : 0;
    case ElewiseParam::ELEWISE_LOGICAL_OR: return a != 0 || b != 0 ? 1 : 0;
    case ElewiseParam::ELEWISE_LESS: return a < b ? 1 : 0;
    case ElewiseParam::ELEWISE_GREATER: return a > b ? 1 : 0;
    default: return a;
  }
}

float compute(Type type, float factor, float a, float b) {
  switch (type) {
    case ElewiseParam::ELEWISE_MULS: return a * factor;
    case ElewiseParam::ELEWISE_COS: return std::cos(a);
    case ElewiseParam::ELEWISE_SIN: return std::sin(a);
    case ElewiseParam::ELEWISE_NEG: return -a;
    case ElewiseParam::ELEWISE_TANH: return std::tanh(a);
    case ElewiseParam::ELEWISE_ADD: return a + b;
    case ElewiseParam::ELEWISE_SUB: return a - b;
    case ElewiseParam::ELEWISE_MUL: return a * b;
    case ElewiseParam::ELEWISE_REALDIV: return a / b;
    case ElewiseParam::ELEWISE_LESS: return a < b ? 1.0F : 0.0F;
    case ElewiseParam::ELEWISE_GREATER: return a > b ? 1.0F : 0.0F;
    case ElewiseParam::ELEWISE_EQUAL: return a == b ? 1.0F : 0.0F;
    default: return a;
  }
}

// The parameters of the kernel. Inputs are broadcast from `shapes` to `out_shape`.
struct Job {
  Type type;
  float factor;
  aclDataType in_dtype;
  aclDataType out_dtype;
  Dims shapes[2];
  Dims out_shape;
  bool has_two;
};

template <class In, class Out>
void run_integer(const Job& job, Addresses addresses) {
  const std::vector<size_t> first = broadcast_indices(job.shapes[0], job.out_shape);
  const std::vector<size_t> second = broadcast_indices(job.shapes[job.has_two ? 1 : 0], job.out_shape);
  const auto* const a = static_cast<const In*>(addresses[0]);
  const auto* const b = static_cast<const In*>(addresses[job.has_two ? 1 : 0]);
  auto* const out = static_cast<Out*>(addresses[job.has_two ? 2 : 1]);
  for (size_t i = 0; i < first.size(); ++i)
    out[i] = static_cast<Out>(compute_integer<In>(job.type, a[first[i]], b[second[i]]));
}

void run_float(const Job& job, Addresses addresses) {
  const size_t num = num_elements(job.out_shape);
  std::vector<float> a = load_floats(job.in_dtype, addresses[0], num_elements(job.shapes[0]));
  std::vector<float> results(num);
  if (!job.has_two) {
    for (size_t i = 0; i < num; ++i) results[i] = compute(job.type, job.factor, a[i], a[i]);
  } else {
    const std::vector<float> b = load_floats(job.in_dtype, addresses[1], num_elements(job.shapes[1]));
    const std::vector<size_t> first = broadcast_indices(job.shapes[0], job.out_shape);
    const std::vector<size_t> second = broadcast_indices(job.shapes[1], job.out_shape);
    for (size_t i = 0; i < num; ++i) results[i] = compute(job.type, job.factor, a[first[i]], b[second[i]]);
  }
  void* const out = addresses[job.has_two ? 2 : 1];
  if (job.out_dtype != ACL_INT8) {
    store_floats(job.out_dtype, results.data(), num, out);
    return;
  }
  for (size_t i = 0; i < num; ++i) static_cast<int8_t*>(out)[i] = static_cast<int8_t>(results[i]);
}

void run(const Job& job, Addresses addresses) {
  if (job.in_dtype == ACL_INT8) {
    run_integer<int8_t, int8_t>(job, addresses);
  } else if (job.in_dtype == ACL_INT32 && job.out_dtype == ACL_INT64) {
    run_integer<int32_t, int64_t>(job, addresses);
  } else if (job.in_dtype == ACL_INT32) {
    run_integer<int32_t, int32_t>(job, addresses);
  } else if (job.in_dtype == ACL_INT64 && job.out_dtype == ACL_INT32) {
    run_integer<int64_t, int32_t>(job, addresses);
  } else if (job.in_dtype == ACL_INT64 && job.out_dtype == ACL_INT8) {
    run_integer<int64_t, int8_t>(job, addresses);
  } else if (job.in_dtype == ACL_INT64) {
    run_integer<int64_t, int64_t>(job, addresses);
  } else {
    run_float(job, addresses);
  }
}

class Elewise final : public OperationBase {
 public:
  Elewise(const ElewiseParam& param, const Kind& kind)
      : OperationBase("ElewiseOperation", kind.num_inputs, 1, kind.types), param_(param) {}

 private:
  Status check_inputs(const Descs& /*inputs*/) const override { return atb::NO_ERROR; }

  Status infer(const Descs& inputs, Descs& outputs) const override {
    TensorDesc& out = outputs[0];
    out = inputs[0];
    if (param_.elewiseType == ElewiseParam::ELEWISE_CAST) {
      if (!is_cast_type(param_.outTensorType)) return refuse(atb::ERROR_INVALID_PARAM, "no CAST makes outTensorType");
      out.dtype = param_.outTensorType;
      if (out.dtype == ACL_DT_UNDEFINED) out.dtype = inputs[0].dtype == ACL_FLOAT ? ACL_FLOAT16 : ACL_FLOAT;
    }
    if (is_comparison(param_.elewiseType)) out.dtype = ACL_INT8;
    if (inputs.size() == 1) return atb::NO_ERROR;

    const Dims& a = inputs[0].shape;
    const Dims& b = inputs[1].shape;
    out.shape.dimNum = std::max(a.dimNum, b.dimNum);
    for (uint64_t i = 1; i <= out.shape.dimNum; ++i) {
      const int64_t dim_a = i <= a.dimNum ? dim_from_end(a, i) : 1;
      const int64_t dim_b = i <= b.dimNum ? dim_from_end(b, i) : 1;
      if (dim_a != 1 && dim_b != 1 && dim_a != dim_b)
        return refuse(atb::ERROR_INVALID_TENSOR_DIM, text_of(a) + " and " + text_of(b) + " have no common shape");
      out.shape.dims[out.shape.dimNum - i] = std::max(dim_a, dim_b);
    }
    return atb::NO_ERROR;
  }

  Status plan(const atb::VariantPack& pack, Plan& plan) const override {
    Job job;
    job.type = param_.elewiseType;
    job.in_dtype = pack.inTensors[0].desc.dtype;
    TilingKey key = tiling_key(pack);
    key.insert(key.end(), {param_.elewiseType, param_.outTensorType});
    const float factor = launches_.shared_factor(GetName(), key, param_.mulsParam.varAttr);
    // For binary16 the factor is rounded to binary16. For bfloat16 the input is widened and the factor stays a float.
    job.factor = job.in_dtype == ACL_FLOAT16 ? round_to_half(factor) : factor;
    job.out_dtype = pack.outTensors[0].desc.dtype;
    job.has_two = pack.inTensors.size() == 2;
    for (size_t i = 0; i < pack.inTensors.size(); ++i) job.shapes[i] = pack.inTensors[i].desc.shape;
    job.out_shape = pack.outTensors[0].desc.shape;
    plan.kernel = [job](Addresses addresses) {
      run(job, addresses);
      return 0;
    };
    return atb::NO_ERROR;
  }

  bool may_share(size_t /*output*/, size_t /*input*/) const override { return true; }

  const ElewiseParam param_;
  mutable OperationLaunches launches_;
};

Status check(const ElewiseParam& param) {
  const auto refuse = [](const std::string& reason) {
    return atb_library::refuse(atb::ERROR_INVALID_PARAM, "ElewiseOperation", reason);
  };
  if (has_reserved_bytes(param) || has_reserved_bytes(param.mulsParam) || has_reserved_bytes(param.quantParam))
    return refuse("a byte of rsv is not 0");
  if (param.elewiseType <= ElewiseParam::ELEWISE_UNDEFINED || param.elewiseType >= ElewiseParam::ELEWISE_TYPE_MAX)
    return refuse("elewiseType is out of range");
  if (kind_of(param.elewiseType) != nullptr) return atb::NO_ERROR;
  violation("ElewiseOperation of type " + std::to_string(param.elewiseType) + " is not simulated");
  return refuse("not simulated");
}

}  // namespace
}  // namespace ascend_sim::atb_library

namespace atb {

template <>
ATB_SIM_API Status CreateOperation(const infer::ElewiseParam& param, Operation** operation) {
  using namespace ascend_sim::atb_library;
  return create_operation(
      operation, "ElewiseOperation", [&] { return check(param); },
      [&] { return new Elewise(param, *kind_of(param.elewiseType)); });
}

}  // namespace atb
