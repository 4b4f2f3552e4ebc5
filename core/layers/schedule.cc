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

// Calls visit with the problem that the step is.
template <typename Visit>
decltype(auto) visit_problem(const Step& step, Visit visit) {
  switch (step.kind) {
    case Step::Kind::Linear: return visit(step.linear);
    case Step::Kind::Attention: return visit(step.attention);
    case Step::Kind::Dropout: break;
  }
  return visit(step.dropout);
}

void run_linear(const Context& context, const Step& step, void* scratch) {
  if (step.around.sizes.rank == 0) {
    context.run(step.linear, step.plan, scratch);
    return;
  }
  LinearProblem problem = step.linear;
  const auto element = [](const Operand& operand, int64_t offset) {
    return static_cast<std::byte*>(operand.data) + offset * static_cast<int64_t>(size_of(operand.dtype));
  };
  const CommonAxes& around = step.around;
  walk<2>(around.sizes, {around.input_strides, around.output_strides}, [&](const auto& offsets) {
    problem.input.data = element(step.linear.input, offsets[0]);
    problem.parts[0].output.data = element(step.linear.parts[0].output, offsets[1]);
    context.run(problem, step.plan, scratch);
  });
}

}  // namespace

double Step::num_runs() const {
  double count = 1;
  for (int32_t axis = 0; axis < around.sizes.rank; ++axis) count *= static_cast<double>(around.sizes[axis]);
  return count;
}

Cost Step::cost() const {
  if (kind != Kind::Linear || around.sizes.rank == 0)
    return visit_problem(*this, [](const auto& problem) { return cost_of(problem); });
  // The weights count once, the outputs for each run, and the input for each that reads another one.
  double num_inputs = 1;
  for (int32_t axis = 0; axis < around.sizes.rank; ++axis) {
    if (around.input_strides[static_cast<size_t>(axis)] != 0) num_inputs *= static_cast<double>(around.sizes[axis]);
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

Step& Schedule::add(Step::Kind kind, const char* operation) {
  Step& step = steps_.at(num_steps_++);
  step.kind = kind;
  step.operation = operation;
  switch (kind) {
    case Step::Kind::Linear: new (&step.linear) LinearProblem(); break;
    case Step::Kind::Attention: new (&step.attention) AttentionProblem(); break;
    case Step::Kind::Dropout: new (&step.dropout) DropoutProblem(); break;
  }
  return step;
}

LinearProblem& Schedule::add_linear(const char* operation) { return add(Step::Kind::Linear, operation).linear; }

LinearProblem& Schedule::add_linear(const char* operation, const CommonAxes& around) {
  Step& step = add(Step::Kind::Linear, operation);
  step.around = around;
  return step.linear;
}

AttentionProblem& Schedule::add_attention(const char* operation) {
  return add(Step::Kind::Attention, operation).attention;
}

DropoutProblem& Schedule::add_dropout(const char* operation) { return add(Step::Kind::Dropout, operation).dropout; }

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
  places_.at(num_places_++) = {&operand, intermediate.offset + static_cast<size_t>(element) * size_of(form_.dtype)};
}

void Schedule::plan(const Context& context) {
  for (size_t i = 0; i < num_steps_; ++i) {
    Step& step = steps_[i];
    // Made where it lies: copying what has just been written waits for memory.
    new (&step.plan) Plan(visit_problem(step, [&](const auto& problem) { return context.plan(problem); }));
    // One step runs at a time.
    scratch_bytes_ = std::max(scratch_bytes_, round_up_to_alignment(step.plan.scratch_bytes));
  }
}

size_t Schedule::workspace_bytes() const { return intermediate_bytes_ + scratch_bytes_ + kMemoryAlignment - 1; }

size_t Schedule::held_bytes() const { return held_bytes_ + scratch_bytes_ + kMemoryAlignment - 1; }

void Schedule::run(const Context& context, void* workspace) {
  const auto address = reinterpret_cast<uintptr_t>(workspace);
  std::byte* base = static_cast<std::byte*>(workspace) + (round_up_to_alignment(address) - address);
  // In numbers, since an operand may begin before the workspace.
  const auto base_address = reinterpret_cast<uintptr_t>(base);
  for (size_t i = 0; i < num_places_; ++i)
    places_[i].operand->data = reinterpret_cast<void*>(base_address + places_[i].offset);  // NOLINT(*-no-int-to-ptr)
  void* scratch = base + held_bytes_;
  for (size_t i = 0; i < num_steps_; ++i) {
    const Step& step = steps_[i];
    if (step.kind == Step::Kind::Linear) {
      run_linear(context, step, scratch);
    } else {
      visit_problem(step, [&](const auto& problem) { context.run(problem, step.plan, scratch); });
    }
  }
}

}  // namespace heed
