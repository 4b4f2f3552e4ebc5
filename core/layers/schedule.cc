// SPDX-License-Identifier: Apache-2.0
#include "layers/schedule.h"

#include <algorithm>
#include <cinttypes>
#include <new>

#include "base/checked.h"
#include "base/error.h"
#include "base/rounding.h"
#include "tensor/walk.h"

namespace heed {
namespace {

[[noreturn]] void fail_workspace_overflow() {
  fail(Status::InvalidArgument,
       "inputs are so large that the size of the workspace overflows, expected sizes that memory can hold");
}

void run_step(const Context& context, const Step& step, void* scratch) {
  if (step.around == nullptr) {
    context.run(*step.op, step.plan, scratch);
    return;
  }
  const auto& linear = problem_of<LinearProblem>(*step.op);
  LinearProblem problem = linear;
  const auto element = [](const Operand& operand, int64_t offset) {
    return static_cast<std::byte*>(operand.data) + offset * static_cast<int64_t>(size_of(operand.dtype));
  };
  const CommonAxes& around = *step.around;
  walk<2>(around.sizes, {around.input_strides, around.output_strides}, [&](const auto& offsets) {
    problem.input.data = element(linear.input, offsets[0]);
    problem.parts[0].output.data = element(linear.parts[0].output, offsets[1]);
    context.run(problem.op, step.plan, scratch);
  });
}

}  // namespace

double Step::num_runs() const {
  double count = 1;
  if (around == nullptr) return count;
  for (int32_t axis = 0; axis < around->sizes.rank; ++axis) count *= static_cast<double>(around->sizes[axis]);
  return count;
}

Cost Step::cost() const {
  if (around == nullptr) return cost_of(*op);
  const auto& linear = problem_of<LinearProblem>(*op);
  // The weights count once, the outputs for each run, and the input for each that reads another one.
  double num_inputs = 1;
  for (int32_t axis = 0; axis < around->sizes.rank; ++axis) {
    if (around->input_strides[static_cast<size_t>(axis)] != 0) num_inputs *= static_cast<double>(around->sizes[axis]);
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

template <typename Problem>
Problem& Schedule::add(const char* operation, const CommonAxes* around) {
  auto& problem = arena_.make<Problem>();
  Step& step = arena_.make<Step>(&problem.op, operation, around, nullptr);
  *end_ = &step;
  end_ = &step.next;
  return problem;
}

LinearProblem& Schedule::add_linear(const char* operation) { return add<LinearProblem>(operation); }

LinearProblem& Schedule::add_linear(const char* operation, const CommonAxes& around) {
  return add<LinearProblem>(operation, around.sizes.rank == 0 ? nullptr : &arena_.make<CommonAxes>(around));
}

AttentionProblem& Schedule::add_attention(const char* operation) { return add<AttentionProblem>(operation); }

DropoutProblem& Schedule::add_dropout(const char* operation) { return add<DropoutProblem>(operation); }

Intermediate Schedule::reserve(int64_t num_elements, int64_t num_held) {
  // Half of the address space for all arrays together leaves room for scratch and alignment.
  int64_t num_bytes = 0;
  if (!checked_multiply(num_elements, static_cast<int64_t>(size_of(form_.dtype)), num_bytes) ||
      !checked_add(num_bytes, static_cast<int64_t>(intermediate_bytes_), num_bytes) || num_bytes > INT64_MAX / 2) {
    fail_workspace_overflow();
  }
  intermediate_bytes_ = round_up_to_alignment(static_cast<size_t>(num_bytes));
  const Intermediate intermediate{held_bytes_};
  held_bytes_ = round_up_to_alignment(held_bytes_ + static_cast<size_t>(num_held) * size_of(form_.dtype));
  return intermediate;
}

void Schedule::place(Operand& operand, Intermediate intermediate, int64_t element) {
  operand.given = 1;
  operand.dtype = form_.dtype;
  places_ =
      &arena_.make<Place>(&operand, intermediate.offset + static_cast<size_t>(element) * size_of(form_.dtype), places_);
}

void Schedule::plan(const Context& context) {
  for (Step* step = first_; step != nullptr; step = step->next) {
    // Built in place: copying a struct that was just written stalls on store forwarding.
    new (&step->plan) Plan(context.plan(*step->op));
    // One step runs at a time.
    scratch_bytes_ = std::max(scratch_bytes_, round_up_to_alignment(step->plan.scratch_bytes));
  }
}

size_t Schedule::workspace_bytes() const { return intermediate_bytes_ + scratch_bytes_ + kMemoryAlignment - 1; }

size_t Schedule::held_bytes() const { return held_bytes_ + scratch_bytes_ + kMemoryAlignment - 1; }

void Schedule::run(const Context& context, void* workspace) {
  const auto address = reinterpret_cast<uintptr_t>(workspace);
  std::byte* base = static_cast<std::byte*>(workspace) + (round_up_to_alignment(address) - address);
  // In numbers, since an operand may begin before the workspace.
  const auto base_address = reinterpret_cast<uintptr_t>(base);
  for (const Place* place = places_; place != nullptr; place = place->next)
    place->operand->data = reinterpret_cast<void*>(base_address + place->offset);  // NOLINT(*-no-int-to-ptr)
  void* scratch = base + held_bytes_;
  for (const Step& step : *this) run_step(context, step, scratch);
}

}  // namespace heed
