// SPDX-License-Identifier: Apache-2.0
#include "layers/schedule.h"

#include <algorithm>
#include <memory>
#include <new>
#include <utility>

#include "base/checked.h"
#include "base/error.h"
#include "base/rounding.h"
#include "layers/cache_call.h"
#include "layers/placement.h"
#include "tensor/host_image.h"
#include "tensor/walk.h"

namespace heed {
namespace {

// At most half of the address space, which leaves room for scratch and alignment.
constexpr int64_t kMaxIntermediateBytes = INT64_MAX / 2;

[[noreturn]] void fail_workspace_overflow() {
  fail(Status::InvalidArgument,
       "inputs are so large that the size of the workspace overflows, expected sizes that memory can hold");
}

constexpr const char* kTrainsOnHost = "calls with a backward compute in " DTYPE("F32") " on the host";

// Of a step: more than a call could run, and few enough that the tasks of all steps do not overflow.
constexpr double kMostTasks = 0x1p40;

// Places the arrays of a layer behind `begin` bytes of those of its ancestors, and then those of its children. Children
// compute one after another, so that all of them use the same memory. Returns the bytes of the layer and its children.
WorkspaceBytes place(const LayerPath& layer, size_t begin) {
  WorkspaceBytes own = place_intermediates(layer.first_array);
  for (Intermediate* array = layer.first_array; array != nullptr; array = array->next) {
    if (array->slot == array) array->offset += begin;
  }
  WorkspaceBytes most;
  for (const LayerPath* child = layer.first_child; child != nullptr; child = child->next) {
    const WorkspaceBytes bytes = place(*child, begin + static_cast<size_t>(own.held));
    most.whole = std::max(most.whole, bytes.whole);
    most.held = std::max(most.held, bytes.held);
  }
  own.whole = saturating_add(own.whole, most.whole);
  own.held = saturating_add(own.held, most.held);
  return own;
}

void run_step(const Context& context, const Step& step, void* scratch, CallProgress* progress) {
  if (step.outer_axes == nullptr) {
    context.run(*step.op, step.plan, scratch, progress);
    return;
  }
  const auto& linear = problem_of<LinearProblem>(*step.op);
  LinearProblem problem = linear;
  const auto element = [](const Operand& operand, int64_t offset) {
    return static_cast<std::byte*>(operand.data) + offset * static_cast<int64_t>(size_of(operand.dtype));
  };
  const CommonAxes& axes = *step.outer_axes;
  walk<2>(axes.sizes, {axes.input_strides, axes.output_strides}, [&](const auto& offsets) {
    if (progress != nullptr && progress->is_stopped()) return;
    problem.input.data = element(linear.input, offsets[0]);
    problem.parts[0].output.data = element(linear.parts[0].output, offsets[1]);
    if (linear.parts[0].factor.given != 0) problem.parts[0].factor.data = element(linear.parts[0].factor, offsets[1]);
    if (linear.parts[0].addend.given != 0) problem.parts[0].addend.data = problem.parts[0].output.data;
    if (linear.parts[0].sum.given != 0) problem.parts[0].sum.data = element(linear.parts[0].sum, offsets[1]);
    context.run(problem.op, step.plan, scratch, progress);
  });
}

// Calls visit(array, access) for each operand of the step; without an array for the caller's tensors.
template <typename Visit>
void for_each_array(const Step& step, const Visit& visit) {
  visit_problem(*step.op, [&](const auto& problem) {
    visit_operands(problem, [&](const auto& operand, const auto&, Access access) {
      if (operand.given == 0) return;
      const Address* address = step.addresses;
      while (address != nullptr && address->data != &operand.data) address = address->next;
      visit(address == nullptr ? nullptr : address->array, access);
    });
  });
}

// Whether it writes a tensor of the caller, or an array that a later step reads.
bool is_read(const Step& step) {
  bool result = false;
  for_each_array(step, [&](const Intermediate* array, Access access) {
    if (access == Access::Write || access == Access::Update) result |= array == nullptr || array->is_read;
  });
  return result;
}

void read_arrays_of(const Step& step) {
  for_each_array(step, [](Intermediate* array, Access access) {
    if (array != nullptr && access != Access::Write) array->is_read = true;
  });
}

// Calls visit(array) for each array that the layer and its children reserved and that takes memory of the workspace.
template <typename Visit>
void for_each_reserved(const LayerPath& layer, const Visit& visit) {
  for (Intermediate* array = layer.first_array; array != nullptr; array = array->next) visit(*array);
  for (const LayerPath* child = layer.first_child; child != nullptr; child = child->next)
    for_each_reserved(*child, visit);
}

// Takes the arrays without a use out of the lists of the layer and its children.
void forget_unused(LayerPath& layer) {
  Intermediate** end = &layer.first_array;
  layer.last_array = nullptr;
  for (Intermediate* array = layer.first_array; array != nullptr; array = array->next) {
    if (array->first_use < 0) continue;
    layer.last_array = *end = array;
    end = &array->next;
  }
  *end = nullptr;
  for (LayerPath* child = layer.first_child; child != nullptr; child = child->next) forget_unused(*child);
}

}  // namespace

double Step::num_runs() const {
  double count = 1;
  if (outer_axes == nullptr) return count;
  for (int32_t axis = 0; axis < outer_axes->sizes.rank; ++axis) count *= static_cast<double>(outer_axes->sizes[axis]);
  return count;
}

int64_t Step::num_tasks() const {
  return static_cast<int64_t>(std::min(num_runs() * static_cast<double>(plan.num_tasks), kMostTasks));
}

Cost Step::cost() const {
  if (outer_axes == nullptr) return cost_of(*op);
  const auto& linear = problem_of<LinearProblem>(*op);
  // Weights are counted once, outputs once per run, and the input once for each index at which it differs.
  double num_inputs = 1;
  for (int32_t axis = 0; axis < outer_axes->sizes.rank; ++axis) {
    if (outer_axes->input_strides[static_cast<size_t>(axis)] != 0)
      num_inputs *= static_cast<double>(outer_axes->sizes[axis]);
  }
  LinearProblem weights = linear;
  weights.input.given = 0;
  LinearProblem input = linear;
  input.num_parts = 0;
  LinearProblem outputs = weights;
  for (LinearPart& part : outputs.parts) part.weight.given = part.bias.given = 0;
  for (LinearPart& part : weights.parts) part.output.given = 0;
  Cost cost;
  cost.flops = cost_of(linear).flops * num_runs();
  cost.bytes = cost_of(weights).bytes + cost_of(outputs).bytes * num_runs() + cost_of(input).bytes * num_inputs;
  return cost;
}

struct Schedule::Kept {
  Tensor tensor;
  Kept* next;
};

const Tensor* Schedule::keep(Tensor tensor) {
  kept_ = new (arena_.allocate(sizeof(Kept))) Kept{std::move(tensor), kept_};
  return &kept_->tensor;
}

void Schedule::destroy_kept() noexcept {
  for (Kept* kept = kept_; kept != nullptr;) std::destroy_at(std::exchange(kept, kept->next));
}

const Tensor& Schedule::on_host(const Tensor& tensor) {
  if (tensor.is_on_host()) return tensor;
  for (const HostCopy& kept : host_copies_) {
    if (kept.source == &tensor) return kept.copy;
  }
  return host_copies_.emplace_front(HostCopy{&tensor, host_copy(tensor)}).copy;
}

void Schedule::append(Op& op, const char* operation, const CommonAxes* outer_axes) {
  if (!is_one_phase_) ++phase_;
  Step& step = arena_.make<Step>(&op, operation, outer_axes, path_, nullptr, phase_);
  *end_ = &step;
  end_ = &step.next;
  last_ = &step;
}

void Schedule::begin_use(Intermediate& array) {
  array.first_use = phase_;
  if (array.is_saved) {
    array.slot = &array;
    array.offset = static_cast<size_t>(saved_bytes_);
    saved_bytes_ = saturating_add(saved_bytes_, array.num_bytes);
    if (saved_bytes_ > kMaxIntermediateBytes) fail_workspace_overflow();
    return;
  }
  LayerPath& owner = *array.owner;
  (owner.last_array == nullptr ? owner.first_array : owner.last_array->next) = &array;
  owner.last_array = &array;
}

void Schedule::drop_steps() {
  first_ = nullptr;
  end_ = &first_;
}

void Schedule::drop_unread_steps() {
  // In reverse order, linked by `next`.
  Step* last = nullptr;
  for (Step* step = first_; step != nullptr;) {
    Step* const following = std::exchange(step->next, last);
    last = std::exchange(step, following);
  }
  first_ = nullptr;
  end_ = &first_;
  for (Step* step = last; step != nullptr;) {
    Step* const before = step->next;
    if (is_read(*step)) {
      read_arrays_of(*step);
      step->next = first_;
      if (first_ == nullptr) end_ = &step->next;
      first_ = step;
    }
    step = before;
  }
  count_uses_again();
}

void Schedule::count_uses_again() {
  for_each_reserved(called_, [](Intermediate& array) { array.first_use = -1; });
  for (const Step& step : *this) {
    for (const Address* address = step.addresses; address != nullptr; address = address->next) {
      Intermediate& array = *address->array;
      if (array.first_use < 0) array.first_use = step.phase;
      array.last_use = step.phase;
    }
  }
  forget_unused(called_);
}

template <typename Problem>
Problem& Schedule::add(const char* operation) {
  auto& problem = arena_.make<Problem>();
  append(problem.op, operation, nullptr);
  return problem;
}
// Here and not in each file that calls it: to set a problem's members to their defaults takes much code.
#define HEED_ADD(name) template name##Problem& Schedule::add<name##Problem>(const char* operation);
HEED_OPERATIONS(HEED_ADD)
#undef HEED_ADD

LinearProblem& Schedule::add_linear(const char* operation, const CommonAxes& outer_axes) {
  auto& problem = arena_.make<LinearProblem>();
  append(problem.op, operation, outer_axes.sizes.rank == 0 ? nullptr : &arena_.make<CommonAxes>(outer_axes));
  return problem;
}

void Schedule::add_cache(CacheCall& cache) {
  (last_cache_ == nullptr ? first_cache_ : last_cache_->next) = &cache;
  last_cache_ = &cache;
}

Intermediate& Schedule::reserve(DType dtype, const Shape& shape) {
  int64_t num_elements = 1;
  int64_t strides[kMaxRank];
  int64_t stride = 1;
  for (int32_t axis = shape.rank - 1; axis >= 0; --axis) {
    strides[axis] = stride;
    // The strides of an empty array must not overflow either, so its sizes of 0 count as 1.
    if (!checked_multiply(num_elements, shape[axis], num_elements) ||
        !checked_multiply(stride, std::max<int64_t>(shape[axis], 1), stride))
      fail_workspace_overflow();
  }
  Intermediate& array = reserve(dtype, num_elements, num_elements);
  array.rank = shape.rank;
  std::copy_n(shape.dims.begin(), shape.rank, array.dims);
  std::copy_n(strides, shape.rank, array.strides);
  return array;
}

Intermediate& Schedule::reserve_unsaved(DType dtype, const Shape& shape) {
  Intermediate& array = reserve(dtype, shape);
  array.is_saved = false;
  return array;
}

Intermediate& Schedule::reserve_spread(const Shape& shape) {
  // A cache line.
  constexpr int64_t kGap = 16;
  const int32_t last = shape.rank - 1;
  if (form_.whole_rows != 0 || shape[last] == 0 || shape[last] % kCollidingRow != 0) return reserve(form_.dtype, shape);
  Shape spread = shape;
  spread[last] += kGap;
  Intermediate& array = reserve(form_.dtype, spread);
  array.dims[last] = shape[last];
  return array;
}

Intermediate& Schedule::reserve(DType dtype, int64_t num_elements, int64_t num_held) {
  const auto size = static_cast<int64_t>(size_of(dtype));
  int64_t num_bytes = 0;
  if (!checked_multiply(num_elements, size, num_bytes) || num_bytes > kMaxIntermediateBytes) fail_workspace_overflow();
  // Not zeroed: the caller sets the axes it uses.
  auto& array = *new (arena_.allocate_for<Intermediate>(1)) Intermediate;
  array.dtype = dtype;
  array.origin = 0;
  array.num_bytes = static_cast<int64_t>(round_up_to_alignment(static_cast<size_t>(num_bytes)));
  array.num_held_bytes = static_cast<int64_t>(round_up_to_alignment(static_cast<size_t>(num_held * size)));
  array.first_use = array.last_use = -1;
  array.is_saved = is_saving_;
  array.is_read = false;
  array.owner = path_;
  array.next = array.slot = nullptr;
  return array;
}

void Schedule::plan(const Context& context) {
  const WorkspaceBytes bytes = place(called_, 0);
  if (bytes.whole > kMaxIntermediateBytes) fail_workspace_overflow();
  intermediate_bytes_ = static_cast<size_t>(bytes.whole);
  held_bytes_ = static_cast<size_t>(bytes.held);
  for (Step* step = first_; step != nullptr; step = step->next) {
    // Built in place: copying a struct that was just written stalls on store forwarding.
    new (&step->plan) Plan(has_saved_ ? context.plan_on_host(*step->op, kTrainsOnHost) : context.plan(*step->op));
    // One step runs at a time.
    scratch_bytes_ = std::max(scratch_bytes_, round_up_to_alignment(step->plan.scratch_bytes));
  }
}

size_t Schedule::workspace_bytes() const { return intermediate_bytes_ + scratch_bytes_ + kMemoryAlignment - 1; }

size_t Schedule::held_bytes() const { return held_bytes_ + scratch_bytes_ + kMemoryAlignment - 1; }

int64_t Schedule::num_tasks() const {
  int64_t count = 0;
  for (const Step& step : *this) count += step.num_tasks();
  return count;
}

void Schedule::run(const Context& context, void* workspace, CallProgress* progress, void* saved) {
  std::byte* base = aligned_begin(workspace);
  auto* const saved_base = saved == nullptr ? base + held_bytes_ + scratch_bytes_ : static_cast<std::byte*>(saved);
  for (const Step& step : *this) {
    for (const Address* each = step.addresses; each != nullptr; each = each->next) {
      const Intermediate& array = *each->array;
      // Computed as integers, since an operand may begin before the workspace.
      const uintptr_t begin = reinterpret_cast<uintptr_t>(array.is_saved ? saved_base : base) + array.slot->offset;
      *each->data = reinterpret_cast<void*>(  // NOLINT(*-no-int-to-ptr)
          begin + static_cast<uintptr_t>(array.origin + each->offset) * size_of(array.dtype));
    }
  }
  void* scratch = base + held_bytes_;
  for (const Step& step : *this) {
    if (progress != nullptr) progress->begin(step.num_tasks());
    run_step(context, step, scratch, progress);
    if (progress != nullptr) progress->end();
  }
}

std::string path_text(const LayerPath& path) {
  if (path.is_called()) return "";
  return path.parent->is_called() ? path.child : path_text(*path.parent) + "." + path.child;
}

}  // namespace heed
