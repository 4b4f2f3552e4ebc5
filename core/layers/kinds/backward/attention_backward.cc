// SPDX-License-Identifier: Apache-2.0
#include "layers/kinds/backward/attention_backward.h"

#include "layers/backward/added_gradients.h"
#include "layers/kinds/dropout.h"
#include "layers/kinds/projection.h"

namespace heed {

Value saved_log_sum_exp(Schedule& schedule, const LayerCall& call, const Value& given) {
  if (call.saved == nullptr) return given;
  return call.saved[kSavedLogSumExp] = schedule.reserve(DType::F32, *call.shapes.log_sum_exp);
}

OutputValues saved_results(Schedule& schedule, const LayerCall& call, const OutputValues& outputs) {
  if (call.saved == nullptr) return outputs;
  OutputValues saved = outputs;
  saved.output = call.saved[kSavedOutput] = schedule.reserve(DType::F32, call.shapes.output);
  saved.log_sum_exp = saved_log_sum_exp(schedule, call, {});
  return saved;
}

void add_copies_of_results(Schedule& schedule, const OutputValues& written, const OutputValues& outputs) {
  const auto add = [&](const Value& from, const Value& to) {
    if (to.is_given() && !same_source(from, to)) add_dropout(schedule, "copy saved result", from, to, 0, 0);
  };
  add(written.output, outputs.output);
  add(written.log_sum_exp, outputs.log_sum_exp);
}

void set_sum(Schedule& schedule, AttentionBackwardProblem& problem, Operand& operand, SummedGradient bit,
             GradientSum* sum, const int32_t (&axes)[kOperandRank]) {
  if (sum == nullptr || !sum->to.is_given()) return;
  schedule.set_operand(operand, sum->to, axes);
  if (sum->begin()) problem.accumulates |= static_cast<uint32_t>(bit);
}

AttentionBackwardProblem& add_attention_backward(Schedule& schedule, const LayerCall& call,
                                                 const GradientValues& gradients) {
  auto& problem = schedule.add<AttentionBackwardProblem>("gradients of attention");
  problem.forward = *call.attention;
  problem.forward.weights = {};
  if (gradients.scores == nullptr) return problem;
  auto& [bias, alibi_slopes, sinks] = *gradients.scores;
  if (bias.to.is_given() && problem.forward.bias.given != 0) {
    const bool has_heads = bias.to.rank() == 4;
    if (has_heads)
      set_sum(schedule, problem, problem.bias_gradient, SummedGradient::Bias, &bias, {0, 1, 2, 3});
    else
      set_sum(schedule, problem, problem.bias_gradient, SummedGradient::Bias, &bias, {-1, -1, 0, 1});
    const int32_t missing = kOperandRank - bias.to.rank();
    for (int32_t axis = missing; axis < kOperandRank; ++axis) {
      if (bias.to.dim(axis - missing) == 1) problem.bias_gradient.strides[axis] = 0;
    }
  }
  if (problem.forward.alibi_slopes.given != 0)
    set_sum(schedule, problem, problem.alibi_slopes_gradient, SummedGradient::AlibiSlopes, &alibi_slopes,
            {-1, 0, -1, -1});
  if (problem.forward.sinks.given != 0)
    set_sum(schedule, problem, problem.sinks_gradient, SummedGradient::Sinks, &sinks, {-1, 0, -1, -1});
  return problem;
}

RowsWithGradient rows_with_gradient(const LayerCall& call, ProjectedInput input) {
  const AttentionProblem& attention = *call.attention;
  if (is_packed(call.inputs)) return {};
  if (input == ProjectedInput::Queries) {
    if (call.inputs.sequences->query_lens == nullptr) return {};
    return {&attention.limits, WantedRows::Queries};
  }
  if (!may_leave_rows_out(attention.limits)) return {};
  return {&attention.limits, input == ProjectedInput::Keys ? WantedRows::Visible : values_read(attention)};
}

Value set_values_backward(Schedule& schedule, AttentionBackwardProblem& problem, const LayerCall& call,
                          const GradientValues& gradients) {
  const InputValues& inputs = call.inputs;
  const int32_t rows = row_axis(inputs);
  const int32_t axes[] = {batch_axis(inputs), -1, rows, rows + 1};
  const Value of_values = written_gradient(schedule, gradients.values, inputs.values.shape());
  schedule.set_operand(problem.forward.values, inputs.values, axes);
  schedule.set_operand(problem.forward.output, call.saved[kSavedOutput], axes);
  schedule.set_operand(problem.forward.log_sum_exp, call.saved[kSavedLogSumExp], {axes[0], -1, rows, -1});
  schedule.set_operand(problem.output_gradient, gradients.output, axes);
  if (of_values.is_given()) schedule.set_operand(problem.values_gradient, of_values, axes);
  return of_values;
}

}  // namespace heed
