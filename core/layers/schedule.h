// SPDX-License-Identifier: Apache-2.0
// One call of a layer as a list of backend operations over one piece of workspace: what is planned, explained and run.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include "attention/cost.h"
#include "attention/problem.h"
#include "backends/context.h"
#include "layers/common_axes.h"
#include "tensor/tensor.h"

namespace heed {

// An array of the schedule's intermediate dtype that lives in the workspace during one call.
struct Intermediate {
  size_t offset = 0;
};

struct Step {
  enum class Kind { Linear, Attention, Dropout };
  Kind kind = Kind::Linear;
  const char* operation = "";  // what it is for, as "project queries"; static
  // The one of `kind`, which Schedule makes; together, because a schedule lies on the stack of the call.
  union {
    LinearProblem linear;
    AttentionProblem attention;
    DropoutProblem dropout;
  };
  CommonAxes around;  // the linear problem is one of many: it is run once for each index of these
  Plan plan;

  Step() {}  // NOLINT(modernize-use-equals-default): the union has members that are constructed

  // How often the backend is called, in a double because explain may be asked about shapes that nobody could run.
  double num_runs() const;
  Cost cost() const;
};

// Fixed in size, because forward must not allocate. Operands point at one another's memory through places, so it stays
// where it is.
class Schedule {
 public:
  Schedule() = default;
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

  const Step* begin() const { return steps_.data(); }
  const Step* end() const { return steps_.data() + num_steps_; }

 private:
  struct Place {
    Operand* operand;
    size_t offset;  // modulo 2^64, of places before the workspace
  };

  Step& add(Step::Kind kind, const char* operation);

  IntermediateForm form_;
  // The lengths of the attention, of which there is one at most.
  std::optional<Tensor> kept_;
  // Multi-head attention takes most: three projections, the attention, and the output's projection. Additive attention
  // takes two projections and the attention.
  std::array<Step, 5> steps_;
  size_t num_steps_ = 0;
  // Multi-head attention has four arrays between its steps, each written once and read once; additive attention two.
  std::array<Place, 8> places_;
  size_t num_places_ = 0;
  // Of whole arrays, and of what is held of them.
  size_t intermediate_bytes_ = 0;
  size_t held_bytes_ = 0;
  size_t scratch_bytes_ = 0;
};

}  // namespace heed
