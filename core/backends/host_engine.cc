// SPDX-License-Identifier: Apache-2.0
#include "backends/host_engine.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <optional>
#include <vector>

#include "backends/cpu/cpu_backend.h"
#include "backends/host_cached_keys.h"
#include "ops/registry.h"
#include "tensor/host_image.h"
#include "tensor/host_memory.h"
#include "tensor/tensor.h"

namespace heed {
namespace {

// The shape of an operand's own elements: an axis along which it is repeated (stride 0) has size 1.
template <int rank>
Shape own_axes(const StridedOperand<rank>& operand, const Sizes<rank>& sizes) {
  Shape shape;
  shape.rank = rank;
  for (int axis = 0; axis < rank; ++axis) shape[axis] = operand.strides[axis] == 0 ? 1 : sizes[axis];
  return shape;
}

// Gives the operand the strides of its dense row-major copy.
template <int rank>
void make_dense(StridedOperand<rank>& operand, const Shape& shape) {
  const Dims dense = row_major_strides(shape, operand.dtype, "an operand on its way to the host has " ARGUMENT("dims"));
  for (int axis = 0; axis < rank; ++axis) {
    if (operand.strides[axis] != 0) operand.strides[axis] = dense[static_cast<size_t>(axis)];
  }
}

template <int rank>
Tensor tensor_of(const std::shared_ptr<const Memory>& memory, const StridedOperand<rank>& operand, const Shape& shape) {
  Dims strides{};
  for (int axis = 0; axis < rank; ++axis) strides[static_cast<size_t>(axis)] = operand.strides[axis];
  return Tensor::wrap(memory, operand.dtype, shape, &strides, operand.data);
}

// Of a constant problem, its own operands are constant, and those that it points to are not.
struct OwnOperands {
  template <int rank>
  void operator()(const StridedOperand<rank>&, const Sizes<rank>&, Access) const {}
  template <int rank>
  void operator()(StridedOperand<rank>&, const Sizes<rank>&, Access) const = delete;
};

// A problem of any kind, copied with all of its operands, without its packed weights.
class ProblemCopy {
 public:
  explicit ProblemCopy(const Op& op) {
    std::memcpy(bytes_, &op, op.num_bytes);
    visit_problem(this->op(), [this](auto& problem) { complete(problem); });
  }
  ProblemCopy(const ProblemCopy&) = delete;
  ProblemCopy& operator=(const ProblemCopy&) = delete;
  Op& op() { return *reinterpret_cast<Op*>(bytes_); }

 private:
  // A packed weight can only be used on the device that it was packed for.
  void complete(LinearProblem& problem) {
    for (LinearPart& part : problem.parts) {
      part.packed = nullptr;
      part.is_packed = 0;
    }
  }
  void complete(MergeProblem& problem) {
    merge_parts_.assign(problem.parts, problem.parts + problem.num_parts);
    problem.parts = merge_parts_.data();
  }
  template <typename Problem>
  void complete(Problem&) {
    // Compiles if all operands are in the problem itself, whose bytes have been copied.
    [[maybe_unused]] constexpr void (*kOwnsItsOperands)(const Problem&, OwnOperands) = visit_operands;
  }

  std::vector<MergePart> merge_parts_;
  alignas(kProblemAlignment) std::byte bytes_[kMaxProblemBytes];
};

// The attention over a cache in the device's memory, or null.
AttentionProblem* with_rows_of_a_cache(Op& op) {
  if (op.kind != OpKind::Attention) return nullptr;
  auto& problem = problem_of<AttentionProblem>(op);
  return problem.cached.given != 0 && problem.cached.form == CacheForm::Rows ? &problem : nullptr;
}

}  // namespace

HostEngine::HostEngine(const BackendOptions& options) : cpu_{&cpu_backend(), nullptr} {
  BackendOptions cpu_options = options;
  cpu_options.device_index = 0;
  Failure failure;
  if (cpu_.backend->open(&cpu_options, &cpu_.device, &failure) != Status::Ok) throw failure;
}

HostEngine::~HostEngine() { cpu_.backend->close(cpu_.device); }

int32_t HostEngine::num_threads() const { return cpu_.backend->num_threads(cpu_.device); }

Plan HostEngine::plan(const Op& op, const Plan& on_device) const {
  ProblemCopy on_host(op);
  if (AttentionProblem* attention = with_rows_of_a_cache(on_host.op())) set_tiles(*attention, attention->cached);
  visit_problem(on_host.op(), [](auto& problem) {
    visit_operands(problem, [](auto& operand, const auto& sizes, Access access) {
      if (operand.given != 0 && access != Access::ReadOnHost) make_dense(operand, own_axes(operand, sizes));
    });
  });
  Plan plan = cpu_.plan(on_host.op());
  plan.on_host = 1;
  plan.host_scratch_bytes = plan.scratch_bytes;
  plan.scratch_bytes = 0;
  for (const char*& reason : plan.not_fastest) reason = nullptr;
  for (const char* reason : on_device.not_fastest) plan.add_reason(reason);
  return plan;
}

void HostEngine::run(const Memory& memory, const Op& op, const Plan& plan, CallProgress* progress) const {
  // A pointer without ownership: the caller keeps the memory alive during the call.
  const std::shared_ptr<const Memory> borrowed(std::shared_ptr<const void>(), &memory);
  std::vector<Tensor> read;
  std::vector<HostImage> written;
  ProblemCopy on_host(op);
  visit_problem(on_host.op(), [&](auto& problem) {
    visit_operands(problem, [&](auto& operand, const auto& sizes, Access access) {
      if (operand.given == 0 || access == Access::ReadOnHost) return;
      const Shape shape = own_axes(operand, sizes);
      const Tensor on_device = tensor_of(borrowed, operand, shape);
      if (access == Access::Read) {
        operand.data = read.emplace_back(host_copy(on_device)).data();
      } else {
        operand.data = written.emplace_back(on_device, access == Access::Update).image().data();
      }
      make_dense(operand, shape);
    });
  });
  std::optional<HostCachedKeys> cached_keys;
  if (AttentionProblem* attention = with_rows_of_a_cache(on_host.op())) cached_keys.emplace(borrowed, *attention);
  const Tensor scratch =
      Tensor::zeros(host_memory_of(borrowed), DType::U8, {static_cast<int64_t>(plan.host_scratch_bytes)});
  cpu_.backend->start(cpu_.device);
  cpu_.run(on_host.op(), plan, scratch.data(), progress);
  if (progress != nullptr && progress->is_stopped()) return;
  if (cached_keys) cached_keys->commit();
  for (const HostImage& image : written) image.commit();
}

}  // namespace heed
