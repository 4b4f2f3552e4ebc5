// SPDX-License-Identifier: Apache-2.0
// LinearOperation: y = x * weight (+ bias), and the product of batches of matrices.
//
// x is (m, k) or (b, m, k), with transposeA (k, m) or (b, k, m); weight is (k, n), with transposeB (n, k), or a batch of
// those; bias is (n) or (1, n), or (b, n) for a batch. Products are summed in float, k ascending, and rounded once; with a
// bias of 16 bits the rounded product and the bias are summed and rounded again.
#include <utility>
#include <vector>

#include "atb/elements.h"
#include "atb/infer_op_params.h"
#include "atb/operation_base.h"

namespace ascend_sim::atb_library {
namespace {

using atb::infer::LinearParam;

std::vector<Types> linear_types(bool has_bias) {
  const bool is_a2 = chip() == Chip::A2;
  std::vector<Types> types;
  for (const aclDataType dtype : {ACL_FLOAT16, ACL_BF16}) {
    if (dtype == ACL_BF16 && !is_a2) continue;
    if (!has_bias) {
      types.push_back({dtype, dtype, dtype});
      continue;
    }
    types.push_back({dtype, dtype, dtype, dtype});
    if (is_a2) types.push_back({dtype, dtype, ACL_FLOAT, dtype});
  }
  // Only for 2-D inputs with transposeB and without bias; plan() checks that.
  if (!has_bias && is_a2) types.push_back({ACL_FLOAT, ACL_FLOAT, ACL_FLOAT});
  return types;
}

// The last two dimensions, as rows and columns of the multiplied matrix.
struct Matrix {
  int64_t batch;
  int64_t rows;
  int64_t columns;
};

Matrix matrix_of(const Dims& shape, bool is_transposed) {
  Matrix matrix{shape.dimNum == 3 ? shape.dims[0] : 1, dim_from_end(shape, 2), dim_from_end(shape, 1)};
  if (is_transposed) std::swap(matrix.rows, matrix.columns);
  return matrix;
}

// The multiplied matrix in row-major order.
std::vector<float> load_matrix(aclDataType dtype, const void* from, const Matrix& matrix, bool is_transposed) {
  const size_t rows = static_cast<size_t>(matrix.rows);
  const size_t columns = static_cast<size_t>(matrix.columns);
  std::vector<float> floats = load_floats(dtype, from, rows * columns);
  if (!is_transposed) return floats;
  std::vector<float> transposed(floats.size());
  for (size_t row = 0; row < rows; ++row) {
    for (size_t column = 0; column < columns; ++column)
      transposed[row * columns + column] = floats[column * rows + row];
  }
  return transposed;
}

class Linear final : public OperationBase {
 public:
  explicit Linear(const LinearParam& param)
      : OperationBase("LinearOperation", param.hasBias ? 3 : 2, 1, linear_types(param.hasBias)), param_(param) {}

 private:
  Status check_inputs(const Descs& inputs) const override {
    const Dims& x = inputs[0].shape;
    const Dims& weight = inputs[1].shape;
    if ((x.dimNum != 2 && x.dimNum != 3) || (weight.dimNum != 2 && weight.dimNum != 3))
      return refuse(atb::ERROR_INVALID_TENSOR_DIM_NUM, "x or weight is neither 2-D nor 3-D");
    const Matrix a = matrix_of(x, param_.transposeA);
    const Matrix b = matrix_of(weight, param_.transposeB);
    // A batch may share one weight, but not with a transposed x.
    if (a.batch != b.batch && (param_.transposeA || weight.dimNum == 3))
      return refuse(atb::ERROR_INVALID_TENSOR_DIM,
                    "x has the batch " + std::to_string(a.batch) + ", weight " + std::to_string(b.batch));
    if (a.columns != b.rows)
      return refuse(atb::ERROR_INVALID_TENSOR_DIM,
                    "k is " + std::to_string(a.columns) + " of x, but " + std::to_string(b.rows) + " of weight");
    return param_.hasBias ? check_bias(inputs[2].shape, b) : Status{atb::NO_ERROR};
  }

  Status check_bias(const Dims& bias, const Matrix& weight) const {
    if (bias.dimNum != 1 && bias.dimNum != 2)
      return refuse(atb::ERROR_INVALID_TENSOR_DIM_NUM, "bias is neither 1-D nor 2-D");
    const int64_t batch = bias.dimNum == 1 ? 1 : bias.dims[0];
    if (batch != weight.batch || dim_from_end(bias, 1) != weight.columns)
      return refuse(atb::ERROR_INVALID_TENSOR_DIM, "bias has the shape " + text_of(bias) + ", but n is " +
                                                       std::to_string(weight.columns) + " in " +
                                                       std::to_string(weight.batch) + " weights");
    return atb::NO_ERROR;
  }

  Status check_outputs(const Descs& inputs, const Descs& outputs) const override {
    if (outputs[0].shape.dimNum != inputs[0].shape.dimNum)
      return refuse(atb::ERROR_INVALID_TENSOR_DIM_NUM, "the output has another number of dimensions than x");
    return check_output_shape(inputs, outputs, atb::ERROR_INVALID_TENSOR_DIM);
  }

  Status infer(const Descs& inputs, Descs& outputs) const override {
    outputs[0] = inputs[0];
    Dims& shape = outputs[0].shape;
    shape.dims[shape.dimNum - 2] = matrix_of(inputs[0].shape, param_.transposeA).rows;
    shape.dims[shape.dimNum - 1] = matrix_of(inputs[1].shape, param_.transposeB).columns;
    return atb::NO_ERROR;
  }

  Status plan(const atb::VariantPack& pack, Plan& plan) const override {
    const aclDataType dtype = pack.inTensors[0].desc.dtype;
    const Dims& x = pack.inTensors[0].desc.shape;
    const Matrix a = matrix_of(x, param_.transposeA);
    const Matrix b = matrix_of(pack.inTensors[1].desc.shape, param_.transposeB);
    if (dtype == ACL_FLOAT && (x.dimNum != 2 || !param_.transposeB))
      return refuse(atb::ERROR_RT_FAIL, "float only for a 2-D x and a transposed weight");
    const aclDataType bias_dtype = param_.hasBias ? pack.inTensors[2].desc.dtype : ACL_DT_UNDEFINED;
    plan.workspace_bytes = workspace_for(static_cast<uint64_t>(a.rows * b.columns) * sizeof(float));
    plan.kernel = [param = param_, dtype, bias_dtype, a, b](Addresses addresses) {
      multiply(param, dtype, bias_dtype, a, b, addresses);
      return 0;
    };
    return atb::NO_ERROR;
  }

  static void multiply(const LinearParam& param, aclDataType dtype, aclDataType bias_dtype, const Matrix& a,
                       const Matrix& b, Addresses addresses) {
    const auto m = static_cast<size_t>(a.rows);
    const auto k = static_cast<size_t>(a.columns);
    const auto n = static_cast<size_t>(b.columns);
    const size_t element_bytes = aclDataTypeSize(dtype);
    std::vector<float> weight;
    std::vector<float> bias;
    std::vector<float> row(n);
    for (size_t element = 0; element < static_cast<size_t>(a.batch); ++element) {
      const size_t weight_element = b.batch == 1 ? 0 : element;
      const auto at = [&](int tensor, size_t i) {
        return static_cast<std::byte*>(addresses[tensor]) + i * element_bytes;
      };
      const std::vector<float> x = load_matrix(dtype, at(0, element * m * k), a, param.transposeA);
      if (element == weight_element) weight = load_matrix(dtype, at(1, weight_element * k * n), b, param.transposeB);
      if (param.hasBias && element == weight_element) {
        const auto* const all = static_cast<const std::byte*>(addresses[2]);
        bias = load_floats(bias_dtype, all + weight_element * n * aclDataTypeSize(bias_dtype), n);
      }
      for (size_t i = 0; i < m; ++i) {
        std::fill(row.begin(), row.end(), 0.0F);
        for (size_t p = 0; p < k; ++p) {
          const float factor = x[i * k + p];
          const float* const weights = &weight[p * n];
          for (size_t j = 0; j < n; ++j) row[j] += factor * weights[j];
        }
        for (size_t j = 0; param.hasBias && j < n; ++j) {
          // A float bias is added before the rounding.
          const float product = bias_dtype == ACL_FLOAT ? row[j] : round_to(dtype, row[j]);
          row[j] = product + bias[j];
        }
        store_floats(dtype, row.data(), n, at(param.hasBias ? 3 : 2, (element * m + i) * n));
      }
    }
  }

  const LinearParam param_;
};

Status check(const LinearParam& param) {
  const auto refuse = [](const std::string& reason) {
    return atb_library::refuse(atb::ERROR_INVALID_PARAM, "LinearOperation", reason);
  };
  if (has_reserved_bytes(param)) return refuse("a byte of rsv is not 0");
  if (param.matmulType > LinearParam::MATMUL_EIN_SUM) return refuse("matmulType is out of range");
  if (param.outDataType == ACL_DT_UNDEFINED && param.quantMode != LinearParam::QUANT_UNDEFINED)
    return refuse("quantMode without outDataType");
  if (param.enAccum && (param.hasBias || chip() != Chip::A2)) return refuse("enAccum with a bias, or on this chip");
  if (param.matmulType == LinearParam::MATMUL_UNDEFINED && param.outDataType == ACL_DT_UNDEFINED && !param.enAccum)
    return atb::NO_ERROR;
  violation("LinearOperation with outDataType, enAccum or MATMUL_EIN_SUM is not simulated");
  return refuse("not simulated");
}

}  // namespace
}  // namespace ascend_sim::atb_library

namespace atb {

template <>
ATB_SIM_API Status CreateOperation(const infer::LinearParam& param, Operation** operation) {
  using namespace ascend_sim::atb_library;
  return create_operation(
      operation, "LinearOperation", [&] { return check(param); }, [&] { return new Linear(param); });
}

}  // namespace atb
