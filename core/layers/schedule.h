// SPDX-License-Identifier: Apache-2.0
// One call of a layer as a list of backend operations over one piece of workspace: what is planned, explained and run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include "backends/call_arena.h"
#include "backends/context.h"
#include "layers/common_axes.h"
#include "ops/registry.h"
#include "tensor/tensor.h"

namespace heed {

// An array of the schedule's intermediate dtype that lives in the workspace during one call.
struct Intermediate {
  size_t offset = 0;
};

// One operation of a schedule.
struct Step {
  Op* op;                    // the first member of its problem
  const char* operation;     // what it is for, as "project queries"; static
  const CommonAxes* around;  // of a linear problem that is run once for each index of these; null: run once
  Step* next;
  Plan plan = {};

  // How often the backend is called, as a double because explain takes shapes that are too large to be run.
  double num_runs() const;
  Cost cost() const;
};

// All that is recorded is in the arena, so that a schedule can have any number of steps and forward allocates nothing.
class Schedule {
 public:
  explicit Schedule(CallArena& arena) : arena_(arena) {}
  Schedule(const Schedule&) = delete;
  Schedule& operator=(const Schedule&) = delete;

  // How the device wants the arrays between operations; before the first is reserved.
  void set_form(const IntermediateForm& form) { form_ = form; }
  const IntermediateForm& form() const { return form_; }

  // A tensor that the operations read and that must live as long.
  void keep(Tensor tensor) { kept_ = std::move(tensor); }

  LinearProblem& add_linear(const char* operation);
  // One of many: for each index of these axes.
  LinearProblem& add_linear(const char* operation, const CommonAxes& around);
  AttentionProblem& add_attention(const char* operation);
  DropoutProblem& add_dropout(const char* operation);

  // Reserves workspace for so many elements; throws InvalidArgument when that overflows.
  Intermediate reserve(int64_t num_elements) { return reserve(num_elements, num_elements); }
  // The same for an array of which this call holds only the first num_held elements.
  Intermediate reserve(int64_t num_elements, int64_t num_held);
  // `operand`, which belongs to a step of this schedule, is that array from `element` on. That may be negative, where
  // the operand's first elements are not used.
  void place(Operand& operand, Intermediate intermediate, int64_t element = 0);

  // Chooses kernels. After this workspace_bytes is known.
  void plan(const Context& context);
  // Bytes of workspace, whatever its alignment, and whatever lengths say.
  size_t workspace_bytes() const;
  // What `run` takes of it.
  size_t held_bytes() const;
  void run(const Context& context, void* workspace);

  class Iterator {
   public:
    explicit Iterator(const Step* step) : step_(step) {}
    const Step& operator*() const { return *step_; }
    Iterator& operator++() {
      step_ = step_->next;
      return *this;
    }
    bool operator==(const Iterator&) const = default;

   private:
    const Step* step_;
  };
  // The steps in the order in which they run.
  Iterator begin() const { return Iterator(first_); }
  Iterator end() const { return Iterator(nullptr); }

 private:
  // An operand that is set when the workspace is known.
  struct Place {
    Operand* operand;
    size_t offset;  // modulo 2^64, since it may be before the workspace
    Place* next;
  };

  template <typename Problem>
  Problem& add(const char* operation, const CommonAxes* around = nullptr);

  CallArena& arena_;
  IntermediateForm form_;
  // The lengths of the attention, of which there is one at most.
  std::optional<Tensor> kept_;
  Step* first_ = nullptr;
  Step** end_ = &first_;  // where the next step is linked
  Place* places_ = nullptr;
  // Of whole arrays, and of what is held of them.
  size_t intermediate_bytes_ = 0;
  size_t held_bytes_ = 0;
  size_t scratch_bytes_ = 0;
};

}  // namespace heed
