// SPDX-License-Identifier: Apache-2.0
#include "layers/multi_head_attention.h"

#include <cinttypes>
#include <utility>

#include "base/checked.h"
#include "base/error.h"

namespace heed {
namespace {

constexpr const char* kParameterNames[] = {"W_q.weight", "W_q.bias",   "W_k.weight", "W_k.bias",   "W_v.weight",
                                           "W_v.bias",   "W_o.weight", "W_o.bias",   "w_v.weight", nullptr};

void check_size(const char* name, int64_t size) {
  if (size < 0) fail(Status::InvalidArgument, "options->%s is %" PRId64 ", expected at least 0", name, size);
}

// Heads times size, which is a dim of a parameter.
int64_t all_heads(const char* heads_name, int64_t heads, const char* size_name, int64_t size) {
  int64_t product = 0;
  if (!checked_multiply(heads, size, product)) {
    fail(Status::InvalidArgument,
         "options->%s is %" PRId64 " and %s %" PRId64 ", whose product overflows, expected at most 2^63 - 1",
         heads_name, heads, size_name, size);
  }
  return product;
}

// The options with their defaults filled in, checked one against another.
MultiHeadAttentionOptions resolved(const MultiHeadAttentionOptions& given) {
  MultiHeadAttentionOptions options = given;
  check_options(options.attention);
  check_size("num_hiddens", options.num_hiddens);
  check_size("num_kv_heads", options.num_kv_heads);
  check_size("head_size", options.head_size);
  check_size("value_head_size", options.value_head_size);
  check_size("output_size", options.output_size);
  if (options.num_heads < 1)
    fail(Status::InvalidArgument, "options->num_heads is %" PRId64 ", expected at least 1", options.num_heads);
  if (options.num_kv_heads == 0) options.num_kv_heads = options.num_heads;
  if (options.num_heads % options.num_kv_heads != 0) {
    fail(Status::InvalidArgument,
         "options->num_heads is %" PRId64 ", which options->num_kv_heads, %" PRId64
         ", does not divide: expected a divisor",
         options.num_heads, options.num_kv_heads);
  }
  if (options.head_size == 0) {
    if (options.num_hiddens == 0)
      fail(Status::InvalidArgument,
           "options->num_hiddens is 0 and so is options->head_size, expected one of them above 0");
    if (options.num_hiddens % options.num_heads != 0) {
      fail(Status::InvalidArgument,
           "options->num_hiddens is %" PRId64 ", which options->num_heads, %" PRId64
           ", does not divide: expected a multiple, or a head_size",
           options.num_hiddens, options.num_heads);
    }
    options.head_size = options.num_hiddens / options.num_heads;
  }
  if (options.value_head_size == 0) options.value_head_size = options.head_size;
  if (options.biases < 0 || options.biases > kBiasAll) {
    fail(Status::InvalidArgument, "options->biases is %d, expected a set of HEED_BIAS_ bits, 0 to %d", options.biases,
         kBiasAll);
  }
  if (options.no_output_projection) {
    if (options.output_size != 0) {
      fail(Status::InvalidArgument,
           "options->output_size is %" PRId64 ", but options->no_output_projection is set: expected one or the other",
           options.output_size);
    }
    if ((options.biases & kBiasO) != 0) {
      fail(Status::InvalidArgument,
           "options->biases has HEED_BIAS_O, but options->no_output_projection is set: expected one or the other");
    }
    options.output_size = all_heads("num_heads", options.num_heads, "value_head_size", options.value_head_size);
  } else if (options.output_size == 0) {
    if (options.num_hiddens == 0) {
      fail(Status::InvalidArgument,
           "options->num_hiddens is 0, expected above 0, or an output_size, or no_output_projection");
    }
    options.output_size = options.num_hiddens;
  }
  return options;
}

// What the projection with that letter reads.
struct Source {
  const char* name;
  const Tensor& tensor;
};

Source source_of(const LayerInputs& inputs, char letter) {
  if (letter == 'q') return {"inputs->queries", *inputs.queries};
  if (letter == 'k') return {"inputs->keys", *inputs.keys};
  return {"inputs->values", *inputs.values};
}

// 'q' of "W_q.weight".
char letter_of(const Parameter& parameter) { return parameter.name()[2]; }

std::vector<Parameter> make_parameters(const MultiHeadAttentionOptions& options) {
  const int64_t query_size = all_heads("num_heads", options.num_heads, "head_size", options.head_size);
  const int64_t key_size = all_heads("num_kv_heads", options.num_kv_heads, "head_size", options.head_size);
  const int64_t value_size =
      all_heads("num_kv_heads", options.num_kv_heads, "value_head_size", options.value_head_size);
  const int64_t merged_size = all_heads("num_heads", options.num_heads, "value_head_size", options.value_head_size);
  std::vector<Parameter> parameters;
  const auto add = [&](int32_t bias_bit, size_t first_name, const Shape& weight) {
    parameters.emplace_back(kParameterNames[first_name], weight);
    if ((options.biases & bias_bit) != 0) parameters.emplace_back(kParameterNames[first_name + 1], Shape{weight[0]});
  };
  add(kBiasQ, 0, {query_size, kOpenDim});
  add(kBiasK, 2, {key_size, kOpenDim});
  add(kBiasV, 4, {value_size, kOpenDim});
  if (!options.no_output_projection) add(kBiasO, 6, {options.output_size, merged_size});
  return parameters;
}

// An array (batch, rows, size) in the workspace.
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

// Such an array as an operand of a linear operation, axes (-, batch, rows, size).
void place_rows(Schedule& schedule, Operand& operand, Intermediate array, int64_t rows, int64_t size) {
  schedule.place(operand, array);
  operand.strides[1] = rows * size;
  operand.strides[2] = size;
  operand.strides[3] = 1;
}

// The same array as an operand of attention, axes (batch, head, rows, head size): heads lie side by side in a row.
void place_heads(Schedule& schedule, Operand& operand, Intermediate array, int64_t rows, int64_t num_heads,
                 int64_t head_size) {
  schedule.place(operand, array);
  operand.strides[0] = rows * num_heads * head_size;
  operand.strides[1] = head_size;
  operand.strides[2] = num_heads * head_size;
  operand.strides[3] = 1;
}

}  // namespace

MultiHeadAttention::MultiHeadAttention(std::shared_ptr<Context> context, const MultiHeadAttentionOptions& options)
    : MultiHeadAttention(std::move(context), Resolved{resolved(options)}) {}

MultiHeadAttention::MultiHeadAttention(std::shared_ptr<Context> context, const Resolved& resolved)
    : Layer(std::move(context), make_parameters(resolved.options)), options_(resolved.options) {}

const char* const* MultiHeadAttention::possible_parameters() const { return kParameterNames; }

OutputShapes MultiHeadAttention::check_inputs(const LayerInputs& inputs) const {
  const Tensor& queries = *inputs.queries;
  const Tensor& keys = *inputs.keys;
  const Tensor& values = *inputs.values;
  for (const char letter : {'q', 'k', 'v'}) {
    const auto& [name, tensor] = source_of(inputs, letter);
    if (tensor.rank() != 3) {
      fail(Status::InvalidArgument, "%s has dims %s of rank %d, expected rank 3, %s", name,
           to_string(tensor.shape()).c_str(), tensor.rank(), letter == 'q' ? "(B, Q, E)" : "(B, K, E)");
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
  OutputShapes shapes;
  shapes.dtype = queries.dtype();
  shapes.output = {queries.dim(0), queries.dim(1), options_.output_size};
  shapes.weights = {queries.dim(0), options_.num_heads, queries.dim(1), keys.dim(1)};
  shapes.log_sum_exp = {queries.dim(0), options_.num_heads, queries.dim(1)};
  return shapes;
}

std::vector<Shape> MultiHeadAttention::parameter_shapes(const LayerInputs& inputs) const {
  std::vector<Shape> shapes;
  for (const Parameter& parameter : parameters()) {
    Shape shape = parameter.shape();
    if (shape.rank == 2 && shape[1] == kOpenDim) {
      shape[1] = source_of(inputs, letter_of(parameter)).tensor.dim(2);
    }
    shapes.push_back(shape);
  }
  return shapes;
}

MultiHeadAttention::Projection MultiHeadAttention::projection(char letter) const {
  Projection found{nullptr, nullptr};
  for (const Parameter& parameter : parameters()) {
    if (letter_of(parameter) == letter) (parameter.is_bias() ? found.bias : found.weight) = &parameter.value();
  }
  if (found.weight == nullptr) fail(Status::Internal, "there is no parameter W_%c.weight", letter);
  return found;
}

void MultiHeadAttention::set_parameters(LinearProblem& linear, const Projection& projection) {
  linear.weight = operand_of(*projection.weight, {-1, -1, 0, 1});
  if (projection.bias != nullptr) linear.bias = operand_of(*projection.bias, {-1, -1, -1, 0});
}

Intermediate MultiHeadAttention::project(Schedule& schedule, char letter, const Tensor& input) const {
  const Projection parameters = projection(letter);
  LinearProblem& linear = schedule.add_linear(letter == 'q'   ? "project queries"
                                              : letter == 'k' ? "project keys"
                                                              : "project values");
  linear.batch = input.dim(0);
  linear.rows = input.dim(1);
  linear.input_size = input.dim(2);
  linear.output_size = parameters.weight->dim(0);
  linear.input = operand_of(input, {-1, 0, 1, 2});
  set_parameters(linear, parameters);
  const Intermediate rows = reserve_rows(schedule, linear.batch, linear.rows, linear.output_size);
  place_rows(schedule, linear.output, rows, linear.rows, linear.output_size);
  return rows;
}

void MultiHeadAttention::check_fit(const LayerInputs& inputs) const {
  for (const Parameter& parameter : parameters()) {
    const char letter = letter_of(parameter);
    if (!parameter.is_set() || parameter.is_bias() || letter == 'o') continue;
    const Source source = source_of(inputs, letter);
    const Tensor& weight = parameter.value();
    if (source.tensor.dim(2) == weight.dim(1)) continue;
    fail(Status::InvalidArgument,
         "%s has dims %s, but %s has %s: the layer has parameters for an input size of %" PRId64, source.name,
         to_string(source.tensor.shape()).c_str(), parameter.name(), to_string(weight.shape()).c_str(), weight.dim(1));
  }
}

AttentionProblem MultiHeadAttention::attention_problem(const LayerInputs& inputs, Purpose purpose) const {
  AttentionProblem problem;
  problem.batch = inputs.queries->dim(0);
  problem.num_heads = options_.num_heads;
  problem.num_kv_heads = options_.num_kv_heads;
  problem.num_queries = inputs.queries->dim(1);
  problem.num_keys = inputs.keys->dim(1);
  problem.head_size = options_.head_size;
  problem.value_head_size = options_.value_head_size;
  set_visibility(problem, inputs, options_.attention, true, purpose);
  return problem;
}

void MultiHeadAttention::compose(const LayerInputs& inputs, const LayerOutputs& outputs, Purpose purpose,
                                 Schedule& schedule) const {
  // Weights and log_sum_exp come from queries and keys alone.
  const bool needs_values = outputs.output != nullptr;
  const Intermediate queries = project(schedule, 'q', *inputs.queries);
  const Intermediate keys = project(schedule, 'k', *inputs.keys);
  const Intermediate values = needs_values ? project(schedule, 'v', *inputs.values) : Intermediate{};

  AttentionProblem& attention = schedule.add_attention("attention");
  attention = attention_problem(inputs, purpose);
  const int64_t num_heads = options_.num_heads;
  const int64_t num_kv_heads = options_.num_kv_heads;
  const int64_t num_queries = attention.num_queries;
  const int64_t num_keys = attention.num_keys;
  const int64_t value_head_size = options_.value_head_size;
  place_heads(schedule, attention.queries, queries, num_queries, num_heads, options_.head_size);
  place_heads(schedule, attention.keys, keys, num_keys, num_kv_heads, options_.head_size);
  if (needs_values) place_heads(schedule, attention.values, values, num_keys, num_kv_heads, value_head_size);
  if (outputs.weights != nullptr) attention.weights = operand_of(*outputs.weights, {0, 1, 2, 3});
  if (outputs.log_sum_exp != nullptr) attention.log_sum_exp = operand_of(*outputs.log_sum_exp, {0, 1, 2, -1});
  if (!needs_values) return;

  if (options_.no_output_projection) {
    // (B, Q, H * D) seen as (B, H, Q, D).
    attention.output = operand_of(*outputs.output, {0, -1, 1, 2});
    attention.output.strides[1] = num_heads == 1 ? 0 : value_head_size * outputs.output->stride(2);
    attention.output.strides[3] = outputs.output->stride(2);
    return;
  }
  const int64_t merged_size = num_heads * value_head_size;
  const Intermediate merged = reserve_rows(schedule, attention.batch, num_queries, merged_size);
  place_heads(schedule, attention.output, merged, num_queries, num_heads, value_head_size);
  LinearProblem& linear = schedule.add_linear("project output");
  linear.batch = attention.batch;
  linear.rows = num_queries;
  linear.input_size = merged_size;
  linear.output_size = options_.output_size;
  place_rows(schedule, linear.input, merged, num_queries, merged_size);
  set_parameters(linear, projection('o'));
  linear.output = operand_of(*outputs.output, {-1, 0, 1, 2});
}

}  // namespace heed
