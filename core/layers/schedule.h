// SPDX-License-Identifier: Apache-2.0
// One call of a layer as a list of backend operations over one workspace: what is planned, explained and run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <forward_list>
#include <utility>

#include "backends/call_arena.h"
#include "backends/context.h"
#include "layers/common_axes.h"
#include "layers/value.h"
#include "ops/registry.h"
#include "tensor/tensor.h"

namespace heed {

// Which layer of a tree an operation is of: a child's name and the path of its parent, null where that is the root.
struct LayerPath {
  const LayerPath* parent;
  const char* child;
};

// One operation of a schedule.
struct Step {
  Op* op;                        // the first member of its problem
  const char* operation;         // what it is for, as "project queries"; static
  const CommonAxes* outer_axes;  // of a linear problem that is run once for each index of these axes; null: run once
  const LayerPath* path;         // null: of the layer that is called
  Step* next;
  Plan plan = {};

  // How often the backend is called, as a double because explain takes shapes that are too large to be run.
  double num_runs() const;
  Cost cost() const;
};

// All that is recorded is in the arena, so that a schedule can have any number of steps and forward allocates nothing.
//
// An operation is added, and then its operands are set before the next one is added: this is how the schedule learns
// from where to where an intermediate is used. It counts in phases. Each operation is a phase, but for those that are
// added within one OnePhase.
class Schedule {
 public:
  explicit Schedule(CallArena& arena) : arena_(arena) {}
  Schedule(const Schedule&) = delete;
  Schedule& operator=(const Schedule&) = delete;

  CallArena& arena() { return arena_; }

  // How the device wants intermediates; before the first is reserved.
  void set_form(const IntermediateForm& form) { form_ = form; }
  const IntermediateForm& form() const { return form_; }

  // The tensor where the processor can read it: itself on the host, otherwise a copy, which the schedule keeps.
  const Tensor& on_host(const Tensor& tensor);

  LinearProblem& add_linear(const char* operation);
  // Runs once for each index of these axes.
  LinearProblem& add_linear(const char* operation, const CommonAxes& outer_axes);
  // The problem lives as long as the schedule.
  void add_attention(const char* operation, AttentionProblem& problem) { add(problem.op, operation, nullptr); }
  DropoutProblem& add_dropout(const char* operation);

  // Operations that are added in this scope are one phase, so that it does not matter for the workspace how many they
  // are.
  class OnePhase {
   public:
    explicit OnePhase(Schedule& schedule) : schedule_(schedule) {
      ++schedule_.phase_;
      schedule_.is_one_phase_ = true;
    }
    OnePhase(const OnePhase&) = delete;
    OnePhase& operator=(const OnePhase&) = delete;
    ~OnePhase() { schedule_.is_one_phase_ = false; }

   private:
    Schedule& schedule_;
  };

  // Operations that are added in this scope are a child's.
  class InChild {
   public:
    InChild(Schedule& schedule, const char* child)
        : schedule_(schedule), parent_(std::exchange(schedule.path_, nullptr)) {
      schedule_.path_ = &schedule_.arena_.make<LayerPath>(parent_, child);
    }
    InChild(const InChild&) = delete;
    InChild& operator=(const InChild&) = delete;
    ~InChild() { schedule_.path_ = parent_; }

   private:
    Schedule& schedule_;
    const LayerPath* parent_;
  };

  // An array between operations, row-major. It takes memory if an operation uses it. Throws InvalidArgument when its
  // size overflows.
  Intermediate& reserve(DType dtype, const Shape& shape);
  // The same for an array of so many elements, of which this call holds only num_held. Whoever reserves it sets rank,
  // dims, strides and, unless it is 0, origin.
  Intermediate& reserve(DType dtype, int64_t num_elements, int64_t num_held);

  // The array is used in the phase of the operation that was added last.
  void use(Intermediate& array) {
    if (array.first_use < 0) {
      array.first_use = phase_;
      *arrays_end_ = &array;
      arrays_end_ = &array.next;
    }
    array.last_use = phase_;
  }

  // Makes an operand of the value, whose axes are `axes` of it (-1: repeated). Of a tensor, axes of size 1, whose stride
  // means nothing, are repeated too. The operand belongs to the operation that was added last.
  template <int rank>
  void set_operand(StridedOperand<rank>& operand, const Value& value, const int32_t (&axes)[rank]) {
    set_array(operand, value);
    if (const Tensor* tensor = value.tensor(); tensor != nullptr) {
      for (int i = 0; i < rank; ++i)
        operand.strides[i] = axes[i] < 0 || tensor->dim(axes[i]) == 1 ? 0 : tensor->stride(axes[i]);
    } else {
      for (int i = 0; i < rank; ++i) operand.strides[i] = axes[i] < 0 ? 0 : value.intermediate()->strides[axes[i]];
    }
  }
  // The same without the strides, which the caller sets.
  template <int rank>
  void set_array(StridedOperand<rank>& operand, const Value& value) {
    operand.given = 1;
    operand.dtype = value.dtype();
    if (value.tensor() != nullptr) {
      operand.data = value.tensor()->data();
    } else {
      use(*value.intermediate());
      addresses_ = &arena_.make<Address>(&operand.data, value.intermediate(), addresses_);
    }
  }

  // Chooses kernels. After this workspace_bytes is known. Throws InvalidArgument when that overflows.
  void plan(const Context& context);
  // Bytes of workspace, whatever its alignment, and whatever lengths say.
  size_t workspace_bytes() const;
  // What `run` uses of it.
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
  // The address of an operand, which is set when the workspace is known.
  struct Address {
    void** data;
    const Intermediate* array;
    Address* next;
  };
  struct HostCopy {
    const Tensor* source;
    Tensor copy;
  };

  void add(Op& op, const char* operation, const CommonAxes* outer_axes);

  CallArena& arena_;
  IntermediateForm form_;
  // Of lengths on a device. A list, so that their addresses stay.
  std::forward_list<HostCopy> host_copies_;
  const LayerPath* path_ = nullptr;
  Step* first_ = nullptr;
  Step** end_ = &first_;  // where the next step is linked
  // In the order of their first use, and where the next one is linked.
  Intermediate* arrays_ = nullptr;
  Intermediate** arrays_end_ = &arrays_;
  int32_t phase_ = -1;
  bool is_one_phase_ = false;
  Address* addresses_ = nullptr;
  // Of whole arrays, and of what is held of them.
  size_t intermediate_bytes_ = 0;
  size_t held_bytes_ = 0;
  size_t scratch_bytes_ = 0;
};

}  // namespace heed
