// SPDX-License-Identifier: Apache-2.0
#include "training/cross_entropy.h"

#include <cinttypes>
#include <optional>

#include "attention/lengths.h"
#include "base/decimal_text.h"
#include "base/error.h"
#include "ops/cross_entropy.h"
#include "ops/lengths.h"
#include "ops/tensor_operand.h"
#include "tensor/copy.h"
#include "tensor/host_image.h"
#include "tensor_functions/pooled_call.h"
#include "training/loss_check.h"

namespace heed {
namespace {

// Calls visit(b, s, label) for each row of an item's length, in order. `labels` are on the host.
template <typename Visit>
void for_each_label(const Tensor& labels, const CrossEntropyProblem& problem, const Visit& visit) {
  const bool is_narrow = labels.dtype() == DType::I32;
  for (int64_t b = 0; b < problem.batch; ++b) {
    const int64_t length = problem.valid_lens.given != 0 ? length_of(problem.valid_lens, b, 0) : problem.num_steps;
    for (int64_t s = 0; s < length; ++s) {
      const int64_t offset = labels.rank() == 2 ? b * labels.stride(0) + s * labels.stride(1) : b * labels.stride(0);
      const std::byte* element = labels.element(offset);
      visit(b, s, is_narrow ? *reinterpret_cast<const int32_t*>(element) : *reinterpret_cast<const int64_t*>(element));
    }
  }
}

// The number of rows that count. Throws for a label out of range.
int64_t count_rows(const Tensor& labels, const CrossEntropyProblem& problem) {
  int64_t count = 0;
  for_each_label(labels, problem, [&](int64_t b, int64_t s, int64_t label) {
    if (label == problem.ignore_index) return;
    if (label < 0 || label >= problem.num_classes) {
      const int64_t position = b * problem.num_steps + s;
      fail(Status::InvalidArgument,
           "labels has %" PRId64 " at index %s, expected 0 to %" PRId64 ", or " OPTION("ignore_index") ", %" PRId64,
           label, index_text(labels.shape(), position).c_str(), problem.num_classes - 1, problem.ignore_index);
    }
    ++count;
  });
  return count;
}

double divisor_of(LossReduction reduction, const CrossEntropyProblem& problem, int64_t num_counted) {
  switch (reduction) {
    case LossReduction::Mean: return static_cast<double>(num_counted);
    case LossReduction::Sum: return 1;
    case LossReduction::MeanOfItems: return static_cast<double>(problem.num_steps);
  }
  return 1;
}

// `losses`: (B, S) of F64 on the host, dense.
double total_of(const Tensor& losses, const CrossEntropyProblem& problem, LossReduction reduction, double divisor) {
  const auto* row = reinterpret_cast<const double*>(losses.data());
  const bool is_by_item = reduction == LossReduction::MeanOfItems;
  double total = 0;
  for (int64_t b = 0; b < problem.batch; ++b) {
    double of_item = 0;
    double& sum = is_by_item ? of_item : total;
    for (int64_t s = 0; s < problem.num_steps; ++s) sum += *row++;
    if (is_by_item) total += of_item / divisor;
  }
  return is_by_item ? total : total / divisor;
}

Shape rows_of(const Tensor& logits) {
  return logits.rank() == 3 ? Shape{logits.dim(0), logits.dim(1)} : Shape{logits.dim(0)};
}

void check_inputs(const Argument& logits, const Argument& labels) {
  if (logits.tensor.rank() != 2 && logits.tensor.rank() != 3) {
    fail(Status::InvalidArgument,
         "logits has " ARGUMENT("dims") " %s of rank %d, expected rank 3, (B, S, C), or rank 2, (N, C)",
         to_string(logits.tensor.shape()).c_str(), logits.tensor.rank());
  }
  require_f32(logits);
  logits.tensor.require_data(logits.name);
  check_same_device(labels, logits);
  check_shape(labels, rows_of(logits.tensor), "those of logits without the last");
  check_index_dtype(labels);
  labels.tensor.require_data(labels.name);
}

void check_results(const Argument& logits, const Argument& labels, const Tensor* losses, const Tensor* gradient) {
  if (gradient != nullptr) {
    const Argument result = {"logits_gradient", *gradient};
    require_result(result, logits.tensor.shape(), "those of logits", logits);
    require_separate_or_same(result, logits);
    require_separate(result, labels);
  }
  if (losses == nullptr) return;
  const Argument result = {"losses", *losses};
  require_result(result, rows_of(logits.tensor), "those of labels", logits);
  require_separate(result, logits);
  require_separate(result, labels);
  if (gradient != nullptr) require_separate(result, {"logits_gradient", *gradient});
}

void check_lens(const Argument& lens, const Argument& logits, const Tensor* losses, const Tensor* gradient) {
  if (logits.tensor.rank() != 3) {
    fail(Status::InvalidArgument,
         ARGUMENT("valid_lens") " is given for logits of rank 2, expected " WORD("NULL") ", or logits (B, S, C)");
  }
  check_same_device(lens, logits);
  check_shape(lens, {logits.tensor.dim(0)}, "one length for each item of logits");
  lens.tensor.require_data(lens.name);
  if (losses != nullptr) require_separate({"losses", *losses}, lens);
  if (gradient != nullptr) require_separate({"logits_gradient", *gradient}, lens);
}

// Without lengths, losses and the factor.
CrossEntropyProblem problem_of(const Tensor& logits, const Tensor& labels, const CrossEntropyOptions& options,
                               const Tensor* gradient) {
  const bool has_steps = logits.rank() == 3;
  const int32_t step_axis = has_steps ? 1 : -1;
  const int32_t class_axis = logits.rank() - 1;
  CrossEntropyProblem problem;
  problem.batch = logits.dim(0);
  problem.num_steps = has_steps ? logits.dim(1) : 1;
  problem.num_classes = logits.dim(class_axis);
  problem.ignore_index = options.ignore_index;
  problem.smoothing = options.smoothing;
  set_operand(problem.logits, logits, {0, -1, step_axis, class_axis});
  set_operand(problem.labels, labels, {0, -1, step_axis, -1});
  if (gradient != nullptr) set_operand(problem.gradient, *gradient, {0, -1, step_axis, class_axis});
  return problem;
}

}  // namespace

void cross_entropy(const Tensor& logits, const Tensor& labels, const Tensor* valid_lens,
                   const CrossEntropyOptions& options, const Tensor* losses, double* total, const Tensor* gradient) {
  if (!(options.smoothing >= 0 && options.smoothing <= 1)) {
    fail(Status::InvalidArgument, OPTION("label_smoothing") " is %s, expected a number from 0 to 1",
         DecimalText(options.smoothing).c_str());
  }
  const Argument input = {"logits", logits};
  const Argument classes = {"labels", labels};
  check_inputs(input, classes);
  if (losses == nullptr && total == nullptr && gradient == nullptr) {
    fail(Status::InvalidArgument, "losses, total and logits_gradient are all " WORD("NULL") ", expected at least one");
  }
  check_results(input, classes, losses, gradient);

  CrossEntropyProblem problem = problem_of(logits, labels, options, gradient);
  std::optional<Tensor> host_lens;
  if (valid_lens != nullptr) {
    const Argument lens = {ARGUMENT("valid_lens"), *valid_lens};
    check_lens(lens, input, losses, gradient);
    host_lens = host_copy(*valid_lens);
    problem.valid_lens =
        lengths_operand(*host_lens, lens.name, {problem.batch, problem.num_steps, problem.num_steps, "steps"}, true);
  }
  const int64_t num_counted = count_rows(host_copy(labels), problem);
  // Without rows that count there is nothing to divide: the total is 0, and so are gradients.
  const double divisor = num_counted == 0 ? 1 : divisor_of(options.reduction, problem, num_counted);
  problem.factor = 1 / divisor;

  const Tensor of_rows = Tensor::undefined(logits.memory(), DType::F64, {problem.batch, problem.num_steps});
  set_operand(problem.losses, of_rows, {0, -1, 1, -1});
  if (of_rows.num_elements() > 0)
    PooledCall(context_of(logits), "heed_cross_entropy", "cross-entropy", problem.op).run();
  if (total != nullptr) *total = total_of(host_copy(of_rows), problem, options.reduction, divisor);
  if (losses != nullptr) copy_tensor(*losses, of_rows.reshape(rows_of(logits)));
}

}  // namespace heed
