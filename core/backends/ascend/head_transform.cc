// SPDX-License-Identifier: Apache-2.0
// Rope turns whole heads whose two elements of a pair are half a head apart, if half a head is a multiple of 16 elements.
// For other sizes it also works, but multiplies elements of the neighbouring head by 0, so that an infinity there makes a
// NaN here. So unless the rotated slices are whole heads of such a size,
//
// - they are gathered, with the first elements of all pairs before the second ones, which is the order in which they are
//   stored, whatever the layout. Both halves are filled up to a multiple of 16 with elements that do not matter, since a
//   pair affects nothing else;
// - they are rotated, queries and keys of one input in one operation;
// - the heads are gathered from the rotated elements and the others.
//
// Gathers read arrays from their beginning. So nothing here waits for the device, as copies between unaligned addresses
// would.
#include "backends/ascend/head_transform.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "backends/ascend/arrange.h"
#include "backends/ascend/norm.h"
#include "backends/ascend/operations.h"
#include "backends/ascend/zeros.h"
#include "base/rounding.h"

namespace heed::ascend {
namespace {

int64_t num_tokens(const LinearProblem& problem) { return problem.batch * problem.rows; }
int64_t num_heads(const LinearPart& part) { return part.output_size / part.head_size; }
// The size of the slices that Rope rotates.
int64_t widened_size(const HeadTransform& transform) { return round_up(transform.rotary_size, kRotatedUnit); }

// Dense heads of interleaved pairs, as (rows, 2, pairs): the first elements of all pairs, then the second ones.
StridedArray separated(const DeviceArray& heads, int64_t head_size) {
  StridedArray array;
  array.data = heads.data;
  array.dtype = heads.dtype;
  array.rank = 3;
  const int64_t sizes[] = {heads.num_elements() / head_size, 2, head_size / 2};
  const int64_t strides[] = {head_size, 1, 2};
  std::copy(std::begin(sizes), std::end(sizes), array.sizes);
  std::copy(std::begin(strides), std::end(strides), array.strides);
  return array;
}

// The elements of `from` that `position(i)` names for each element i of the result (rows, columns). Positions of units of
// `unit` neighbours, which begin at multiples of it, are neighbours. `name` states what they depend on.
template <typename Position>
void pick(Npu& npu, const DeviceArray& from, const std::string& name, int64_t unit, const DeviceArray& result,
          const Position& position) {
  const int64_t num_units = result.num_elements() / unit;
  const DeviceArray indices = npu.constant(name, ACL_INT32, dims_of({num_units}), [&](void* host) {
    auto* next = static_cast<int32_t*>(host);
    for (int64_t i = 0; i < num_units; ++i) *next++ = static_cast<int32_t>(position(i * unit) / unit);
  });
  gather(npu, reshaped(from, {from.num_elements() / unit, unit}), indices, reshaped(result, {num_units, unit}));
}

// The rotations (-, s, r, d), with one batch element if all of them share its rows.
StridedArray rotations_of(const LinearProblem& problem, const HeadTransform& transform) {
  const Operand& rotations = transform.rotations;
  return strided(rotations, {1, rotations.strides[1] == 0 ? 1 : problem.batch, problem.rows, transform.rotary_size});
}

// Cosines and sines as Rope takes them: a row of the widened size for each token, in which each pair occurs in both halves.
class Angles {
 public:
  Angles(Npu& npu, const LinearProblem& problem, const HeadTransform& transform, aclDataType dtype)
      : cosines(load_rows(npu, problem, transform, false, dtype, kept_cosines_)),
        sines(load_rows(npu, problem, transform, true, dtype, kept_sines_)) {}

 private:
  static DeviceArray load_rows(Npu& npu, const LinearProblem& problem, const HeadTransform& transform, bool of_sines,
                               aclDataType dtype, Temporary& kept) {
    Temporary kept_rows;
    const int64_t size = transform.rotary_size;
    const int64_t num_pairs = size / 2;
    const int64_t half = widened_size(transform) / 2;
    const StridedArray all = rotations_of(problem, transform);
    const int64_t num_rows = all.sizes[1] * all.sizes[2];
    const DeviceArray rows = load(npu, all, ACL_FLOAT, kept_rows);
    kept = Temporary(npu, ACL_FLOAT, dims_of({num_tokens(problem), 2 * half}));
    const int64_t first = of_sines ? num_pairs : 0;
    const std::string name = name_of(of_sines ? "sines" : "cosines", {num_tokens(problem), num_rows, size});
    pick(npu, rows, name, std::gcd(num_pairs, half), kept.array(), [=](int64_t i) {
      const int64_t pair = i % half;
      return i / (2 * half) % num_rows * size + first + (pair < num_pairs ? pair : 0);
    });
    return converted(npu, kept.array(), dtype == ACL_FLOAT16 ? ACL_FLOAT : dtype, kept);
  }

  Temporary kept_cosines_;
  Temporary kept_sines_;

 public:
  const DeviceArray cosines;
  const DeviceArray sines;
};

// Whether Rope takes the slices, and writes them, as they are: whole heads, with halves of a multiple of 16.
bool are_whole_heads(const LinearPart& part) {
  return part.transform.rotary_size == part.head_size && part.head_size % kRotatedUnit == 0;
}

// An array that follows a multiple of this many elements is aligned.
constexpr int64_t kAlignedElements = static_cast<int64_t>(kMemoryAlignment);

}  // namespace

// The rotated slices of one part, before and after Rope.
class TransformedHeads::Slices {
 public:
  // The heads are written to `heads` before.
  Slices(Npu& npu, const LinearPart& part, const DeviceArray& result)
      : npu_(npu), part_(part), result_(result), tokens_(result.num_elements() / part.output_size) {
    const int64_t rows = tokens_ * num_heads(part);
    const int64_t rotated_elements = are_whole_heads(part) ? 0 : rows * widened_size(part.transform);
    num_before_ = round_up(result.num_elements(), are_whole_heads(part) ? 1 : kAlignedElements * unit());
    both_ = Temporary(npu, result.dtype, dims_of({num_before_ + rotated_elements}));
    heads = result;
    heads.data = both_.data();
    rotated = result;
    if (are_whole_heads(part)) return;
    rotated.data = static_cast<char*>(both_.data()) + num_before_ * static_cast<int64_t>(size_of_element(result.dtype));
    rotated.shape = dims_of({tokens_, num_heads(part) * widened_size(part.transform)});
  }

  // The slices as Rope takes them.
  DeviceArray gathered() {
    if (are_whole_heads(part_)) {
      if (part_.transform.layout != RotaryLayout::Interleaved) return heads;
      const DeviceArray slices = load(npu_, separated(heads, part_.head_size), heads.dtype, kept_);
      return reshaped(slices, {tokens_, part_.output_size});
    }
    const HeadTransform& transform = part_.transform;
    const bool is_interleaved = transform.layout == RotaryLayout::Interleaved;
    const int64_t num_pairs = transform.rotary_size / 2;
    const int64_t half = widened_size(transform) / 2;
    kept_ = Temporary(npu_, heads.dtype, rotated.shape);
    pick(npu_, heads, name("slices", {is_interleaved}), is_interleaved ? 1 : unit(), kept_.array(), [&](int64_t i) {
      const int64_t second = i / half % 2;
      const int64_t pair = i % half < num_pairs ? i % half : 0;
      return i / (2 * half) * part_.head_size + transform.rotary_offset +
             (is_interleaved ? 2 * pair + second : second * num_pairs + pair);
    });
    return kept_.array();
  }

  // Writes the heads with their rotated slices to the result.
  void store() {
    if (are_whole_heads(part_)) return;
    const HeadTransform& transform = part_.transform;
    const int64_t num_pairs = transform.rotary_size / 2;
    const int64_t half = widened_size(transform) / 2;
    pick(npu_, both_.array(), name("heads", {num_before_}), unit(), result_, [&](int64_t i) {
      const int64_t in_slice = i % part_.head_size - transform.rotary_offset;
      if (in_slice < 0 || in_slice >= transform.rotary_size) return i;
      return num_before_ + i / part_.head_size * 2 * half + in_slice / num_pairs * half + in_slice % num_pairs;
    });
  }

  DeviceArray heads;    // (tokens, heads * head size)
  DeviceArray rotated;  // what Rope writes

 private:
  // Elements that stay neighbours in all gathers, except that of an interleaved layout.
  int64_t unit() const {
    const HeadTransform& transform = part_.transform;
    const int64_t of_slice = std::gcd(transform.rotary_offset, transform.rotary_size / 2);
    return std::gcd(std::gcd(of_slice, part_.head_size), widened_size(transform) / 2);
  }
  std::string name(const char* use, std::initializer_list<int64_t> others) const {
    return name_of(use, others) + name_of("", {tokens_, num_heads(part_), part_.head_size,
                                               part_.transform.rotary_offset, part_.transform.rotary_size});
  }

  Npu& npu_;
  const LinearPart& part_;
  DeviceArray result_;
  int64_t tokens_;
  // `both_` has the heads, and from element num_before_ on the rotated slices.
  int64_t num_before_ = 0;
  Temporary both_;
  Temporary kept_;
};

TransformedHeads::TransformedHeads(Npu& npu, const LinearPart& part, const DeviceArray& result)
    : npu_(npu), part_(part), result_(result) {
  if (part.transform.layout != RotaryLayout::None) slices_ = std::make_unique<Slices>(npu, part, result);
  if (part.transform.norm != NormKind::None || slices_ == nullptr)
    product_ = Temporary(npu, result.dtype, result.shape);
  projected_ = product_.data() != nullptr ? product_.array() : slices_->heads;
}

TransformedHeads::TransformedHeads(TransformedHeads&&) noexcept = default;
TransformedHeads::~TransformedHeads() = default;

void TransformedHeads::normalize() {
  const HeadTransform& transform = part_.transform;
  if (transform.norm == NormKind::None) return;
  Temporary kept;
  const int64_t size = part_.head_size;
  const DeviceArray weight = load(npu_, strided(transform.norm_weight, {1, 1, 1, size}), result_.dtype, kept);
  const int64_t rows = result_.num_elements() / size;
  DeviceArray normalized = result_;
  if (slices_ != nullptr) normalized = slices_->heads;
  rms_norm(npu_, reshaped(projected_, {rows, size}), weight, transform.epsilon, reshaped(normalized, {rows, size}));
  product_ = Temporary();
}

// Rotates the slices of one part, or those of two parts with the same rotation.
void TransformedHeads::rotate(Npu& npu, const LinearProblem& problem, TransformedHeads& heads,
                              TransformedHeads* others) {
  const HeadTransform& transform = heads.part_.transform;
  const aclDataType dtype = heads.result_.dtype;
  const Angles angles(npu, problem, transform, dtype);
  Slices& slices = *heads.slices_;
  const DeviceArray gathered = slices.gathered();
  if (others != nullptr) {
    Slices& other_slices = *others->slices_;
    ascend::rotate(npu, gathered, other_slices.gathered(), angles.cosines, angles.sines, slices.rotated,
                   other_slices.rotated);
    other_slices.store();
  } else {
    // Rope always rotates keys as well: here one head of zeros.
    const atb::Dims one_head = dims_of({num_tokens(problem), widened_size(transform)});
    Temporary kept_zeros;
    const DeviceArray zeros = zeros_of(npu, dtype, one_head, kept_zeros);
    const Temporary rotated_zeros(npu, dtype, one_head);
    ascend::rotate(npu, gathered, zeros, angles.cosines, angles.sines, slices.rotated, rotated_zeros.array());
  }
  slices.store();
}

namespace {

// Whether one Rope can rotate both, the first as queries and the second as keys.
bool have_same_rotation(const LinearPart& a, const LinearPart& b) {
  const HeadTransform& first = a.transform;
  const HeadTransform& second = b.transform;
  return second.layout != RotaryLayout::None && first.rotary_size == second.rotary_size &&
         first.rotations.data == second.rotations.data && first.rotations.strides[1] == second.rotations.strides[1] &&
         first.rotations.strides[2] == second.rotations.strides[2] && num_heads(a) % num_heads(b) == 0;
}

}  // namespace

void add_transform_reasons(Plan& plan, const LinearProblem& problem, const LinearPart& part, DType computed) {
  const HeadTransform& transform = part.transform;
  if (transform.norm != NormKind::None) {
    const bool is_shared = transform.norm_weight.strides[0] == 0 || num_heads(part) == 1;
    if (transform.norm != NormKind::Rms || !is_shared)
      plan.add_reason("ATB normalizes heads only by their root mean square, with one weight for all heads");
    if (part.head_size % kNormUnit != 0)
      plan.add_reason("ATB's RmsNorm takes only heads whose size is a multiple of 16");
    if (transform.epsilon < kMinEpsilon) plan.add_reason(kTooSmallEpsilon);
    if (!can_arrange(transform.norm_weight, {1, 1, 1, part.head_size})) plan.add_reason(kOutOfReach);
  }
  if (transform.layout == RotaryLayout::None) return;
  if (transform.keeps_order != 0 && transform.layout == RotaryLayout::Interleaved)
    plan.add_reason("the device stores the first elements of interleaved pairs before the second ones");
  if (widened_size(transform) > kMaxRotated) {
    plan.add_reason("ATB's Rope rotates at most 4096 elements of a head");
  } else if (computed == DType::BF16 && widened_size(transform) > kMaxRotatedInBf16) {
    plan.add_reason("ATB's Rope rotates at most 2048 elements of a head in " DTYPE("BF16"));
  }
  // Positions in the arrays are counted in 32 bits.
  const double elements = static_cast<double>(num_tokens(problem)) * static_cast<double>(part.output_size) * 2 +
                          static_cast<double>(num_tokens(problem)) * static_cast<double>(num_heads(part)) *
                              static_cast<double>(widened_size(transform));
  if (elements > static_cast<double>(std::numeric_limits<int32_t>::max()) ||
      !can_arrange(rotations_of(problem, transform)))
    plan.add_reason(kOutOfReach);
}

void transform_heads(Npu& npu, const LinearProblem& problem, std::vector<TransformedHeads>& heads) {
  for (TransformedHeads& each : heads) each.normalize();
  for (size_t i = 0; i < heads.size(); ++i) {
    if (heads[i].part().transform.layout == RotaryLayout::None) continue;
    const bool is_pair = i + 1 < heads.size() && have_same_rotation(heads[i].part(), heads[i + 1].part());
    TransformedHeads::rotate(npu, problem, heads[i], is_pair ? &heads[i + 1] : nullptr);
    if (is_pair) ++i;
  }
}

}  // namespace heed::ascend
