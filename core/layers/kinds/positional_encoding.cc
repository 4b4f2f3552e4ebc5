// SPDX-License-Identifier: Apache-2.0
#include "layers/kinds/positional_encoding.h"

#include <cinttypes>
#include <cmath>
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "attention/sequences.h"
#include "base/error.h"
#include "layers/backward/added_gradients.h"
#include "layers/cache_call.h"
#include "layers/host_sequences.h"
#include "layers/kinds/dropout.h"
#include "ops/embedding_backward.h"
#include "ops/lengths.h"
#include "ops/positions.h"
#include "tensor/copy.h"
#include "tensor/host_memory.h"

namespace heed {
namespace {

constexpr PossibleParameter kParameters[] = {{.name = "weight"}};

const char* name_of(PositionKind kind) {
  switch (kind) {
    case PositionKind::Sinusoidal: return "sinusoidal";
    case PositionKind::SinusoidalHalves: return "sinusoidal_halves";
    case PositionKind::Learned: return "learned";
    case PositionKind::SinusoidalHalves2i: return "sinusoidal_halves_2i";
  }
  __builtin_unreachable();  // capi/src accepts no other value
}

void check_options(const PositionalEncodingOptions& options) {
  if (options.max_positions < 1 || options.max_positions > kMaxPosition) {
    fail(Status::InvalidArgument, OPTION("max_positions") " is %" PRId64 ", expected 1 to %" PRId64,
         options.max_positions, kMaxPosition);
  }
  if (options.size < 1)
    fail(Status::InvalidArgument, OPTION("size") " is %" PRId64 ", expected at least 1", options.size);
  const bool is_learned = options.kind == PositionKind::Learned;
  if (!is_learned && options.first_row != 0) {
    fail(Status::InvalidArgument,
         OPTION("first_row") " is %" PRId64 ", expected 0: only a learned table has rows before that of position 0",
         options.first_row);
  }
  if (options.first_row < 0 || options.first_row > kMaxPosition) {
    fail(Status::InvalidArgument, OPTION("first_row") " is %" PRId64 ", expected 0 to %" PRId64, options.first_row,
         kMaxPosition);
  }
  check_dropout(options.dropout);
  const bool has_halves =
      options.kind == PositionKind::SinusoidalHalves || options.kind == PositionKind::SinusoidalHalves2i;
  const int64_t least = options.kind == PositionKind::SinusoidalHalves ? 4 : 2;
  if (has_halves && (options.size % 2 != 0 || options.size < least)) {
    fail(Status::InvalidArgument,
         OPTION("size") " is %" PRId64 ", expected an even number from %" PRId64
                        " on, for a half of sines and a half of cosines",
         options.size, least);
  }
}

std::vector<Parameter> make_parameters(const PositionalEncodingOptions& options) {
  check_options(options);
  std::vector<Parameter> parameters;
  if (options.kind == PositionKind::Learned)
    parameters.emplace_back(kParameters[0], Shape{options.first_row + options.max_positions, options.size});
  return parameters;
}

// Element d of the row of a position.
double sinusoid(const PositionalEncodingOptions& options, int64_t position, int64_t d) {
  const int64_t half = options.size / 2;
  const bool is_in_turn = options.kind == PositionKind::Sinusoidal;
  const int64_t i = is_in_turn ? d / 2 : d % half;
  const bool is_sine = is_in_turn ? d % 2 == 0 : d < half;
  const auto index = static_cast<double>(i);
  const double exponent = options.kind == PositionKind::SinusoidalHalves
                              ? index / (static_cast<double>(half) - 1)
                              : 2 * index / static_cast<double>(options.size);
  const double angle = static_cast<double>(position) * std::pow(10000.0, -exponent);
  return is_sine ? std::sin(angle) : std::cos(angle);
}

std::optional<Tensor> make_sinusoids(const std::shared_ptr<Context>& context,
                                     const PositionalEncodingOptions& options) {
  if (options.kind == PositionKind::Learned) return std::nullopt;
  Tensor table = Tensor::undefined(host_memory_of(context), DType::F32, {options.max_positions, options.size});
  auto* next = reinterpret_cast<float*>(table.data());
  for (int64_t position = 0; position < options.max_positions; ++position) {
    for (int64_t d = 0; d < options.size; ++d) *next++ = static_cast<float>(sinusoid(options, position, d));
  }
  return context->is_host() ? table : converted_copy(context, table, DType::F32);
}

}  // namespace

std::string words_of_max(const PositionalEncodingOptions& options) {
  if (options.max_option != nullptr) return options.max_option;
  std::string words = "the positions of the model";
  if (options.max_setting != nullptr) words += std::string(", by \"") + options.max_setting + "\" in config.json";
  return words;
}

PositionalEncoding::PositionalEncoding(std::shared_ptr<Context> context, const PositionalEncodingOptions& options)
    : Layer(std::move(context), make_parameters(options), kParameters),
      options_(options),
      sinusoids_(make_sinusoids(this->context(), options)) {}

InputRules PositionalEncoding::input_rules(const LayerInputs&) const {
  static constexpr Refusal kRefusals[] = {
      {kAllInputs, KIND("%s %s layer") " reads " INPUT("queries") ", " MEMBER("positions") " and " MEMBER(
                       "query_offsets") " alone, expected " WORD("NULL")}};
  // As a child it also reads query_lens and a cache.
  return {{Input::Queries, Input::Positions, Input::QueryOffsets}, kRefusals};
}

void PositionalEncoding::check(Schedule& schedule, Purpose purpose, LayerCall& call) const {
  const Value& input = call.inputs.queries;
  CallSequences sequences = {*call.inputs.sequences};
  sequences.last_position = options_.max_positions - 1;
  const bool packed = sequences.is_packed();
  const int32_t rank = packed ? 2 : 3;
  if (input.rank() != rank || input.dim(rank - 1) != options_.size) {
    fail(Status::InvalidArgument, INPUT("queries") " has " ARGUMENT("dims") " %s, expected (%s, %" PRId64 ")",
         to_string(input.shape()).c_str(), packed ? "total" : "B, S", options_.size);
  }
  const int64_t rows = input.dim(rank - 2);
  const int64_t batch = packed ? packed_batch(sequences, true) : input.dim(0);
  const bool reads = purpose != Purpose::Shapes;
  if (reads) bring_to_host(sequences, batch, schedule);
  // The problem's place in the call: the rows of an attention whose keys are its queries.
  call.attention = &schedule.arena().make<AttentionProblem>();
  call.attention->batch = batch;
  call.attention->limits = unlimited(rows, rows);
  KeyLimits& limits = call.attention->limits;
  set_sequences(limits, sequences, batch, true, reads);
  // As a child of a decoder.
  const bool continues = call.inputs.cache != nullptr;
  if (continues) continue_positions(schedule, cache_of(call.inputs, schedule), batch, reads, sequences.table, limits);
  check_num_rows(limits, batch, continues, call.ids_name);
  call.shapes.dtype = input.dtype();
  call.shapes.output = input.shape();
}

void PositionalEncoding::compose(Schedule& schedule, const LayerCall& call, const OutputValues& outputs) const {
  const Value& input = call.inputs.queries;
  const KeyLimits& limits = call.attention->limits;
  const int32_t rows = input.rank() - 2;
  const int32_t batch = is_packed(call.inputs) ? -1 : 0;
  const float dropout = call.training.is_on ? options_.dropout : 0.0f;
  Value sum = outputs.output;
  if (dropout != 0) sum = schedule.reserve(DType::F32, input.shape());
  PositionsProblem& problem = schedule.add<PositionsProblem>("add positions");
  problem.batch = call.attention->batch;
  problem.limits = limits;
  problem.size = options_.size;
  problem.num_table_rows = options_.first_row + options_.max_positions;
  problem.first_row = options_.first_row;
  schedule.set_operand(problem.table, sinusoids_ ? *sinusoids_ : parameter_at(0).value(), {-1, -1, 0, 1});
  schedule.set_operand(problem.input, input, {-1, batch, rows, rows + 1});
  schedule.set_operand(problem.output, sum, {-1, batch, rows, rows + 1});
  if (dropout == 0) return;
  add_dropout(schedule, "dropout", sum, outputs.output, call.training.dropout_seed, dropout);
}

const int32_t* PositionalEncoding::table_rows(Schedule& schedule, const LayerCall& call) const {
  const KeyLimits& limits = call.attention->limits;
  const bool is_read = (limits.has_table == 0 || limits.table != nullptr) &&
                       (limits.positions.given == 0 || limits.positions.data != nullptr);
  if (!is_read) return nullptr;
  const int64_t batch = call.attention->batch;
  const int64_t num_rows = call.inputs.queries.dim(call.inputs.queries.rank() - 2);
  const bool packed = is_packed(call.inputs);
  const auto num_ids = static_cast<size_t>(packed ? num_rows : batch * num_rows);
  auto* const rows = schedule.arena().allocate_for<int32_t>(num_ids);
  std::fill_n(rows, num_ids, -1);
  for (int64_t b = 0; b < batch; ++b) {
    const Sequence& sequence = sequence_of(limits, b);
    int32_t* const of_element = rows + (packed ? sequence.query_begin : b * num_rows);
    for (int64_t q = 0; q < sequence.query_count; ++q)
      of_element[q] = static_cast<int32_t>(options_.first_row + position_of_query(limits, b, q));
  }
  return rows;
}

void PositionalEncoding::compose_backward(Schedule& schedule, const LayerCall& call,
                                          const GradientValues& gradients) const {
  const Shape& shape = call.shapes.output;
  const float dropout = call.training.is_on ? options_.dropout : 0.0f;
  GradientSum* const sum = gradient_of(call, 0);
  const auto& [to, addend] = gradients.queries;
  Value of_sum = gradients.output;
  if (dropout != 0 && (sum != nullptr || to.is_given())) {
    of_sum = to.is_given() && !addend.is_given() ? to : Value(schedule.reserve(DType::F32, shape));
    add_dropout(schedule, "gradient of dropout's input", gradients.output, of_sum, call.training.dropout_seed, dropout);
  }
  if (sum != nullptr) {
    auto& problem = schedule.add<EmbeddingBackwardProblem>("gradient of the positions' table");
    std::ranges::copy_n(shape.dims.begin(), shape.rank, problem.sizes + kElementwiseRank - shape.rank);
    problem.num_table_rows = options_.first_row + options_.max_positions;
    schedule.set_elementwise(problem.output_gradient, of_sum);
    schedule.set_operand(problem.table_gradient, sum->to, {-1, -1, 0, 1});
    problem.accumulates = sum->begin() ? 1 : 0;
    problem.ids = table_rows(schedule, call);
  }
  if (!to.is_given()) return;
  if (addend.is_given())
    add_sum(schedule, "add gradients", of_sum, addend, to);
  else if (dropout == 0)
    add_dropout(schedule, "gradient of the positions' input", of_sum, to, 0, 0);
}

void PositionalEncoding::check_num_rows(const KeyLimits& limits, int64_t batch, bool continues,
                                        const char* name) const {
  for (int64_t b = 0; continues && limits.table != nullptr && b < batch; ++b) {
    const Sequence& sequence = limits.table[b];
    if (sequence.query_position + sequence.query_count <= options_.max_positions) continue;
    fail(Status::InvalidArgument,
         "%s has %" PRId64 " rows in batch element %" PRId64 ", whose sequence continues at position %" PRId64
         ": expected positions below %" PRId64 ", %s",
         name, sequence.query_count, b, sequence.query_position, options_.max_positions,
         words_of_max(options_).c_str());
  }
  // Without a table's data num_queries counts the rows of all batch elements.
  if (limits.positions.given != 0 || (limits.has_table != 0 && limits.table == nullptr)) return;
  // Padding needs no positions.
  int64_t num_rows = limits.table == nullptr ? limits.num_queries : 0;
  for (int64_t b = 0; limits.table != nullptr && b < batch; ++b)
    num_rows = std::max(num_rows, limits.table[b].query_count);
  if (num_rows <= options_.max_positions) return;
  fail(Status::InvalidArgument, "%s has %" PRId64 " rows in a batch element, expected at most %" PRId64 ", %s", name,
       num_rows, options_.max_positions, words_of_max(options_).c_str());
}

LayerDescription PositionalEncoding::describe() const {
  LayerDescription description;
  description.reads_whole_module = true;
  if (options_.kind == PositionKind::Learned) description.first_row = options_.first_row;
  return description;
}

void PositionalEncoding::write_options(JsonWriter& json) const {
  json.member("kind", name_of(options_.kind));
  json.member("max_positions", options_.max_positions);
  json.member("size", options_.size);
  json.member("first_row", options_.first_row);
  json.member("dropout", options_.dropout);
}

}  // namespace heed
