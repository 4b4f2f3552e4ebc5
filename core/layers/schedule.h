// SPDX-License-Identifier: Apache-2.0
// The schedule: one call of a layer as a list of backend operations that share a workspace. It is planned, explained
// and run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <forward_list>
#include <string>
#include <utility>

#include "backends/call_arena.h"
#include "backends/context.h"
#include "base/call_progress.h"
#include "layers/common_axes.h"
#include "layers/value.h"
#include "ops/registry.h"
#include "ops/tensor_operand.h"
#include "tensor/tensor.h"

namespace heed {

// A layer in the tree of a call: the name of a child and its parent; null for the called layer itself.
struct LayerPath {
  LayerPath* parent = nullptr;
  const char* child = nullptr;
  // The arrays that the layer reserved, in the order of their first use.
  Intermediate* first_array = nullptr;
  Intermediate* last_array = nullptr;
  // Its children that have been checked, and the next one of its parent's.
  LayerPath* first_child = nullptr;
  LayerPath* next = nullptr;

  bool is_called() const { return parent == nullptr; }
};

// The names of the path, such as "layers.0.attention"; empty for the called layer.
std::string path_text(const LayerPath& path);

struct CacheCall;

// Rows whose distance is a multiple of this many elements of f32 (4 KiB) map to the same cache sets.
inline constexpr int64_t kCollidingRow = 1024;

// An operand's data pointer, which Schedule::run sets once the workspace is known.
struct Address {
  void** data;
  Intermediate* array;
  int64_t offset;  // in elements
  Address* next;
};

// One operation of a schedule.
struct Step {
  Op* op;                        // the first member of its problem
  const char* operation;         // its name in explain, such as "project queries"; static
  const CommonAxes* outer_axes;  // runs a linear problem once for each index of these axes; null: once
  const LayerPath* path;         // the layer that added it
  Step* next;
  int32_t phase;
  Address* addresses = nullptr;  // of its operands that are intermediates
  Plan plan = {};

  // How often the backend is called. A double, because explain also takes shapes that are too large to run.
  double num_runs() const;
  // Of all runs.
  int64_t num_tasks() const;
  Cost cost() const;
};

// Everything it records is in the arena, except host copies of lengths that are on a device. So a schedule can have any
// number of steps, and on the CPU forward allocates nothing.
//
// After adding an operation, set its operands before adding the next one. From this order the schedule learns the first
// and last use of each intermediate, counted in phases. Each operation is a phase of its own, except those added within
// one OnePhase.
class Schedule {
 public:
  explicit Schedule(CallArena& arena) : arena_(arena) {}
  Schedule(const Schedule&) = delete;
  Schedule& operator=(const Schedule&) = delete;
  ~Schedule() {
    if (kept_ != nullptr) destroy_kept();
  }

  CallArena& arena() { return arena_; }

  // The device's requirements for intermediates. Set them before reserving the first one.
  void set_form(const IntermediateForm& form) { form_ = form; }
  const IntermediateForm& form() const { return form_; }

  // The tensor in host memory: itself, or a copy of a device's tensor. The schedule keeps the copy.
  const Tensor& on_host(const Tensor& tensor);
  // Keeps a tensor that was made for the call until its operations have run.
  const Tensor* keep(Tensor tensor);

  // For a call with a backward. From here on arrays that are reserved are saved: each has memory of its own, in the order of
  // first use, from the first operation that uses it to the end of the backward, in this call or a later one.
  void save_arrays() { is_saving_ = has_saved_ = true; }
  // Whether the call saves what its backward reads.
  bool saves_arrays() const { return has_saved_; }
  // From here on arrays are reserved as in any call: the operations that follow are those of the backward.
  void begin_backward() { is_saving_ = false; }
  // Forgets the operations added so far: an earlier call ran them, and its saved arrays are given to `run`.
  void drop_steps();
  // Forgets the operations that only write arrays which no later operation reads. Arrays that only they use take no memory of the
  // workspace; those that are saved keep their places.
  void drop_unread_steps();
  // The bytes of all saved arrays.
  size_t saved_bytes() const { return static_cast<size_t>(saved_bytes_); }

  // Adds an operation, any of ops/registry.h. `operation` is its name in explain.
  template <typename Problem>
  Problem& add(const char* operation);
  // The same for a problem that lives as long as the schedule.
  template <typename Problem>
  void add(const char* operation, Problem& problem) {
    append(problem.op, operation, nullptr);
  }
  // Runs once for each index of the outer axes. An addend is then the output; factors and sums have its strides.
  LinearProblem& add_linear(const char* operation, const CommonAxes& outer_axes);

  // The rows that the call appends to a layer of a cache; in the arena.
  void add_cache(CacheCall& cache);
  // Those of all layers, as a list. Null: none.
  const CacheCall* caches() const { return first_cache_; }

  // Operations added in this scope form one phase. So the size of the workspace does not depend on their number.
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

  // The path of the layer whose scope this is.
  const LayerPath& path() const { return *path_; }
  // The path of a child of the layer whose scope this is.
  LayerPath& add_child(const char* child) {
    LayerPath& path = arena_.make<LayerPath>(path_, child);
    path.next = std::exchange(path_->first_child, &path);
    return path;
  }

  // Arrays reserved and operations added in this scope belong to a child.
  class InChild {
   public:
    InChild(Schedule& schedule, LayerPath& child)
        : schedule_(schedule), parent_(std::exchange(schedule.path_, &child)) {}
    InChild(const InChild&) = delete;
    InChild& operator=(const InChild&) = delete;
    ~InChild() { schedule_.path_ = parent_; }

   private:
    Schedule& schedule_;
    LayerPath* parent_;
  };

  // Reserves a row-major array between operations. It takes memory only if an operation uses it. Throws InvalidArgument
  // if its size overflows.
  Intermediate& reserve(DType dtype, const Shape& shape);
  // Like reserve, but rows of a multiple of kCollidingRow elements lie further apart, so that a projection of them need not
  // copy them first; not where the device needs dense arrays.
  Intermediate& reserve_spread(const Shape& shape);
  // Reserves an array of num_elements elements, of which this call stores only num_held. The caller sets rank, dims,
  // strides and, unless it is 0, origin.
  Intermediate& reserve(DType dtype, int64_t num_elements, int64_t num_held);

  // Like reserve, but never saved: nothing in a backward reads it.
  Intermediate& reserve_unsaved(DType dtype, const Shape& shape);

  // Records that the operation added last uses the array.
  void use(Intermediate& array) {
    if (array.first_use < 0) begin_use(array);
    array.last_use = phase_;
  }

  // Makes `value` an operand of an elementwise operation, aligned at the last axis.
  void set_elementwise(ElementwiseOperand& operand, const Value& value) {
    set_array(operand, value);
    const int32_t missing = kElementwiseRank - value.rank();
    for (int32_t axis = 0; axis < value.rank(); ++axis) operand.strides[missing + axis] = value.stride(axis);
  }

  // Makes `value` an operand of the operation added last: a tensor as in ops/tensor_operand.h, and an intermediate with
  // the same meaning of `axes`.
  template <int rank>
  void set_operand(StridedOperand<rank>& operand, const Value& value, const int32_t (&axes)[rank]) {
    if (value.tensor() != nullptr) return heed::set_operand(operand, *value.tensor(), axes);
    set_array(operand, value);
    for (int i = 0; i < rank; ++i) operand.strides[i] = axes[i] < 0 ? 0 : value.intermediate()->strides[axes[i]];
  }
  // Like set_operand, but the caller sets the strides. `offset`: the number of elements from the first element of `value` to
  // that of the operand.
  template <int rank>
  void set_array(StridedOperand<rank>& operand, const Value& value, int64_t offset = 0) {
    operand.given = 1;
    operand.dtype = value.dtype();
    if (value.tensor() == nullptr) {
      use(*value.intermediate());
      last_->addresses = &arena_.make<Address>(&operand.data, value.intermediate(), offset, last_->addresses);
    } else {
      operand.data = value.tensor()->data() == nullptr ? nullptr : value.tensor()->element(offset);
    }
  }

  // Chooses kernels and places intermediates. After it, workspace_bytes is known. Throws InvalidArgument if that
  // overflows.
  void plan(const Context& context);
  // The bytes of a workspace of any alignment that suffice for any valid lengths.
  size_t workspace_bytes() const;
  // As workspace_bytes, with the saved arrays in the workspace.
  size_t workspace_bytes_with_saved() const { return workspace_bytes() + saved_bytes(); }
  // The bytes that `run` uses of the workspace with these valid lengths.
  size_t held_bytes() const;
  // The tasks of all operations, as they are planned.
  int64_t num_tasks() const;
  // `progress`: null, or what reports the operations. If it stops the call, throws what it throws.
  // `saved`: the memory of the saved arrays, aligned; null: they are in the workspace.
  void run(const Context& context, void* workspace, CallProgress* progress = nullptr, void* saved = nullptr);

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
  // The steps in the order of execution.
  Iterator begin() const { return Iterator(first_); }
  Iterator end() const { return Iterator(nullptr); }

 private:
  struct HostCopy {
    const Tensor* source;
    Tensor copy;
  };

  void append(Op& op, const char* operation, const CommonAxes* outer_axes);
  void begin_use(Intermediate& array);
  // After operations were forgotten.
  void count_uses_again();
  void destroy_kept() noexcept;

  CallArena& arena_;
  IntermediateForm form_;
  // Host copies of lengths on a device. A list, so that their addresses stay valid.
  std::forward_list<HostCopy> host_copies_;
  // Tensors that were made for the call, in the arena: they may be in a device's memory.
  struct Kept;
  Kept* kept_ = nullptr;
  LayerPath called_;
  LayerPath* path_ = &called_;
  Step* first_ = nullptr;
  Step** end_ = &first_;  // where the next step is linked
  Step* last_ = nullptr;  // the step added last
  CacheCall* first_cache_ = nullptr;
  CacheCall* last_cache_ = nullptr;
  int32_t phase_ = -1;
  bool is_one_phase_ = false;
  bool is_saving_ = false;
  bool has_saved_ = false;
  int64_t saved_bytes_ = 0;
  // The bytes of all arrays as a whole, and of the parts that this call stores.
  size_t intermediate_bytes_ = 0;
  size_t held_bytes_ = 0;
  size_t scratch_bytes_ = 0;
};

}  // namespace heed
