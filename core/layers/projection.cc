// SPDX-License-Identifier: Apache-2.0
#include "layers/projection.h"

#include <cinttypes>

#include "base/checked.h"
#include "base/error.h"

namespace heed {

SourceTensor source_of(const LayerInputs& inputs, Source source) {
  if (source == Source::Queries) return {"inputs->queries", *inputs.queries};
  if (source == Source::Keys) return {"inputs->keys", *inputs.keys};
  return {"inputs->values", *inputs.values};
}

void check_sequences(const LayerInputs& inputs) {
  const Tensor& queries = *inputs.queries;
  const Tensor& keys = *inputs.keys;
  const Tensor& values = *inputs.values;
  for (const Source source : {Source::Queries, Source::Keys, Source::Values}) {
    const auto& [name, tensor] = source_of(inputs, source);
    if (tensor.rank() != 3) {
      fail(Status::InvalidArgument, "%s has dims %s of rank %d, expected rank 3, %s", name,
           to_string(tensor.shape()).c_str(), tensor.rank(), source == Source::Queries ? "(B, Q, E)" : "(B, K, E)");
    }
    if (tensor.dim(0) != queries.dim(0)) {
      fail(Status::InvalidArgument, "%s has dims %s, but inputs->queries has %s: expected the same batch, %" PRId64,
           name, to_string(tensor.shape()).c_str(), to_string(queries.shape()).c_str(), queries.dim(0));
    }
  }
  if (values.dim(1) != keys.dim(1)) {
    fail(Status::InvalidArgument,
         "inputs->values has dims %s, but inputs->keys has %s: expected the same number of keys, %" PRId64,
         to_string(values.shape()).c_str(), to_string(keys.shape()).c_str(), keys.dim(1));
  }
}

void set_parameters(LinearPart& part, const ProjectionParameters& parameters) {
  part.output_size = part.head_size = parameters.weight.dim(0);
  part.weight = operand_of(parameters.weight, {-1, -1, 0, 1});
  if (parameters.bias != nullptr) part.bias = operand_of(*parameters.bias, {-1, -1, -1, 0});
}

Intermediate reserve_rows(Schedule& schedule, int64_t batch, int64_t rows, int64_t size) {
  int64_t num_elements = 0;
  // Rows first: strides are made of them even where the batch is 0.
  if (!checked_multiply(rows, size, num_elements) || !checked_multiply(num_elements, batch, num_elements)) {
    fail(Status::InvalidArgument,
         "inputs have batch %" PRId64 " and length %" PRId64 ", whose projections to %" PRId64
         " overflow, expected at most 2^63 - 1 elements",
         batch, rows, size);
  }
  return schedule.reserve(num_elements);
}

void place_rows(Schedule& schedule, Operand& operand, Intermediate array, int64_t rows, int64_t size) {
  schedule.place(operand, array);
  operand.strides[1] = rows * size;
  operand.strides[2] = size;
  operand.strides[3] = 1;
}

void place_heads(Schedule& schedule, Operand& operand, Intermediate array, int64_t rows, int64_t num_heads,
                 int64_t head_size) {
  schedule.place(operand, array);
  operand.strides[0] = rows * num_heads * head_size;
  operand.strides[1] = head_size;
  operand.strides[2] = num_heads * head_size;
  operand.strides[3] = 1;
}

Intermediate project(Schedule& schedule, const char* operation, const Tensor& input,
                     const ProjectionParameters& parameters) {
  LinearProblem& linear = schedule.add_linear(operation);
  linear.batch = input.dim(0);
  linear.rows = input.dim(1);
  linear.input_size = input.dim(2);
  linear.input = operand_of(input, {-1, 0, 1, 2});
  LinearPart& part = linear.parts[0];
  set_parameters(part, parameters);
  const Intermediate rows = reserve_rows(schedule, linear.batch, linear.rows, part.output_size);
  place_rows(schedule, part.output, rows, linear.rows, part.output_size);
  return rows;
}

}  // namespace heed
