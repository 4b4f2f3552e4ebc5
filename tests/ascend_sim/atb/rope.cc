// SPDX-License-Identifier: Apache-2.0
// RopeOperation: rotates the heads of q and of k, with one row of cosines and one of sines for each token. A head has the
// width D of such a row, and is cut into rotaryCoeff pieces. In two neighbouring pieces a and b, a becomes a * cos - b *
// sin and b becomes b * cos + a * sin, element by element, each with its own element of cos and sin.
//
// bfloat16, and binary16 with cosines in float, are computed in float and rounded once; binary16 with cosines in binary16
// rounds after each step. If pieces are not whole blocks of 16 elements, the kernel adds both neighbouring pieces of each
// element, one of them times 0: an infinity or NaN there, also of the next head, makes the element NaN.
#include <vector>

#include "atb/elements.h"
#include "atb/infer_op_params.h"
#include "atb/operation_base.h"

namespace ascend_sim::atb_library {
namespace {

using atb::infer::RopeParam;

constexpr int64_t kRopeBlock = 16;
constexpr int64_t kMinWidth = 16;
constexpr int64_t kMaxWidth = 4096;
// Elements that a core works on at a time, at most, in whole heads.
constexpr size_t kSliceOfFloat = 4096;
constexpr size_t kSliceOfHalf = 12288;

// bfloat16 from this number of tokens on: the kernel takes whole heads out of this number of elements at a time, and divides by
// how many they are.
constexpr int64_t kTokensOfAlignedKernel = 64;
constexpr int64_t kSliceOfAlignedKernel = 2048;

constexpr uint64_t kVectorCores = 48;

std::vector<Types> rope_types() {
  std::vector<Types> types;
  for (const aclDataType lengths : {ACL_INT32, ACL_UINT32}) {
    types.push_back({ACL_FLOAT16, ACL_FLOAT16, ACL_FLOAT16, ACL_FLOAT16, lengths, ACL_FLOAT16, ACL_FLOAT16});
    types.push_back({ACL_FLOAT16, ACL_FLOAT16, ACL_FLOAT, ACL_FLOAT, lengths, ACL_FLOAT16, ACL_FLOAT16});
    if (chip() == Chip::A2) types.push_back({ACL_BF16, ACL_BF16, ACL_BF16, ACL_BF16, lengths, ACL_BF16, ACL_BF16});
  }
  return types;
}

// The rows and columns of (tokens, width) or (batch, tokens, heads, head size).
int64_t tokens_of(const Dims& shape) { return shape.dimNum == 2 ? shape.dims[0] : shape.dims[0] * shape.dims[1]; }
int64_t width_of(const Dims& shape) { return shape.dimNum == 2 ? shape.dims[1] : shape.dims[2] * shape.dims[3]; }

// How the heads of q or k are rotated.
struct Rotation {
  aclDataType dtype;
  aclDataType cos_dtype;
  size_t tokens;
  size_t width;
  size_t head_size;
  size_t piece;

  bool is_of_half() const { return cos_dtype == ACL_FLOAT16; }
  float step(float value) const { return is_of_half() ? round_to_half(value) : value; }

  void run(const void* x, const float* cosines, const float* sines, void* out) const {
    const size_t slice = (is_of_half() ? kSliceOfHalf : kSliceOfFloat) / head_size * head_size;
    std::vector<float> from = load_floats(dtype, x, tokens * width);
    std::vector<float> to(from.size());
    for (size_t token = 0; token < tokens; ++token) {
      for (size_t begin = 0; begin < width; begin += slice) {
        const size_t count = width - begin < slice ? width - begin : slice;
        rotate(&from[token * width + begin], cosines + token * head_size, sines + token * head_size, count,
               &to[token * width + begin]);
      }
    }
    store_floats(dtype, to.data(), to.size(), out);
  }

  // Rotates `count` elements, whole heads.
  void rotate(const float* x, const float* cosines, const float* sines, size_t count, float* out) const {
    const bool has_whole_blocks = piece % kRopeBlock == 0;
    for (size_t i = 0; i < count; ++i) {
      const bool is_first = i / piece % 2 == 0;
      const float cosine = cosines[i % head_size];
      const float sine = sines[i % head_size];
      const float own = step(x[i] * cosine);
      if (has_whole_blocks) {
        const float other = is_first ? -x[i + piece] : x[i - piece];
        out[i] = step(step(other * sine) + own);
        continue;
      }
      // The elements one piece before and one after, around the end of the slice.
      const float before = step((is_first ? 0.0F : 1.0F) * x[(i + count - piece) % count]);
      const float after = step(step(x[(i + piece) % count] * sine) * (is_first ? -1.0F : 0.0F));
      out[i] = step(after + step(own + step(before * sine)));
    }
  }
};

class Rope final : public OperationBase {
 public:
  explicit Rope(const RopeParam& param) : OperationBase("RopeOperation", 5, 2, rope_types()), param_(param) {}

 private:
  bool has_pooled_runner() const override { return true; }

  Status check_inputs(const Descs& inputs) const override {
    const Dims& q = inputs[0].shape;
    const Dims& k = inputs[1].shape;
    const Dims& cos = inputs[2].shape;
    const Dims& sin = inputs[3].shape;
    if ((q.dimNum != 2 && q.dimNum != 4) || (k.dimNum != 2 && k.dimNum != 4) || cos.dimNum != 2 || sin.dimNum != 2 ||
        inputs[4].shape.dimNum != 1)
      return refuse(atb::ERROR_INVALID_TENSOR_DIM,
                    "q or k is neither 2-D nor 4-D, cos or sin not 2-D, or seqLen not 1-D");
    if (tokens_of(q) != tokens_of(k))
      return refuse(atb::ERROR_INVALID_TENSOR_SIZE, "q and k have other numbers of tokens");
    if (!same_shape(cos, sin)) return refuse(atb::ERROR_INVALID_TENSOR_SIZE, "cos and sin have other shapes");
    if (cos.dims[1] < kMinWidth || cos.dims[1] > kMaxWidth)
      return refuse(atb::ERROR_INVALID_TENSOR_DIM, "cos is " + std::to_string(cos.dims[1]) + " wide, not 16 to 4096");
    if (width_of(q) % width_of(k) != 0)
      return refuse(atb::ERROR_INVALID_TENSOR_SIZE, "the width of q is no multiple of that of k");
    if (width_of(k) % cos.dims[1] != 0)
      return refuse(atb::ERROR_INVALID_TENSOR_DIM, "the width of k is no multiple of that of cos");
    if (param_.rotaryCoeff != 2 && param_.rotaryCoeff != 4 && param_.rotaryCoeff != cos.dims[1])
      return refuse(atb::ERROR_INVALID_PARAM, "rotaryCoeff is not 2, 4 or the width of cos");
    if (cos.dims[1] % param_.rotaryCoeff != 0)
      return refuse(atb::ERROR_INVALID_PARAM, "rotaryCoeff does not divide the width of cos");
    if (param_.cosFormat != 0 && param_.cosFormat != 1)
      return refuse(atb::ERROR_INVALID_PARAM, "cosFormat is not 0 or 1");
    return atb::NO_ERROR;
  }

  // The kernel's own check.
  Status infer(const Descs& inputs, Descs& outputs) const override {
    if (width_of(inputs[0].shape) % kRopeBlock != 0 || width_of(inputs[1].shape) % kRopeBlock != 0)
      return refuse(atb::ERROR_RT_FAIL, "the width of q or k is no multiple of 16");
    outputs[0] = inputs[0];
    outputs[1] = inputs[1];
    return atb::NO_ERROR;
  }

  Status plan(const atb::VariantPack& pack, Plan& plan) const override {
    const TensorDesc& q = pack.inTensors[0].desc;
    const TensorDesc& k = pack.inTensors[1].desc;
    const TensorDesc& cos = pack.inTensors[2].desc;
    if (param_.cosFormat != 0) {
      violation("RopeOperation with cosFormat 1 is not simulated");
      return refuse(atb::ERROR_INVALID_PARAM, "not simulated");
    }
    const int64_t tokens = tokens_of(q.shape);
    if (cos.shape.dims[0] != tokens)
      return refuse_unchecked(atb::ERROR_INVALID_TENSOR_SIZE, "cos has " + std::to_string(cos.shape.dims[0]) +
                                                                  " rows for " + std::to_string(tokens) + " tokens");
    if (q.dtype == ACL_BF16 && tokens >= kTokensOfAlignedKernel && cos.shape.dims[1] > kSliceOfAlignedKernel)
      return refuse_unchecked(atb::ERROR_INVALID_PARAM,
                              "bfloat16 heads of more than 2048 elements, for which the kernel divides by 0");
    const auto head_size = static_cast<size_t>(cos.shape.dims[1]);
    Rotation of_q{q.dtype,
                  cos.dtype,
                  static_cast<size_t>(tokens),
                  static_cast<size_t>(width_of(q.shape)),
                  head_size,
                  head_size / static_cast<size_t>(param_.rotaryCoeff)};
    Rotation of_k = of_q;
    of_k.width = static_cast<size_t>(width_of(k.shape));
    plan.workspace_bytes = workspace_for((uint64_t{16} << 20) + 6 * kVectorCores * of_q.width * 2 +
                                         of_q.tokens * head_size * 4 + kVectorCores * 32);
    plan.kernel = [of_q, of_k](Addresses addresses) {
      const std::vector<float> cosines = load_floats(of_q.cos_dtype, addresses[2], of_q.tokens * of_q.head_size);
      const std::vector<float> sines = load_floats(of_q.cos_dtype, addresses[3], of_q.tokens * of_q.head_size);
      of_q.run(addresses[0], cosines.data(), sines.data(), addresses[5]);
      of_k.run(addresses[1], cosines.data(), sines.data(), addresses[6]);
      return 0;
    };
    return atb::NO_ERROR;
  }

  const RopeParam param_;
};

}  // namespace
}  // namespace ascend_sim::atb_library

namespace atb {

template <>
ATB_SIM_API Status CreateOperation(const infer::RopeParam& param, Operation** operation) {
  using namespace ascend_sim::atb_library;
  return create_operation(
      operation, "RopeOperation", [&] { return check_reserved(param, "RopeOperation"); },
      [&] { return new Rope(param); });
}

}  // namespace atb
