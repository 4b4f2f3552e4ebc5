// SPDX-License-Identifier: Apache-2.0
#include "layers/masked_inputs.h"

#include <algorithm>
#include <array>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <optional>
#include <string>
#include <utility>

#include "base/error.h"
#include "layers/backward/added_gradients.h"
#include "layers/child_role.h"
#include "layers/host_sequences.h"
#include "ops/lengths.h"
#include "ops/tensor_operand.h"
#include "tensor/copy.h"
#include "tensor/walk.h"

namespace heed {

namespace {

// The axis of rows: (B, S) of ids, (B, S, E) or (B, H, S, D); -1 for what is no batch of rows, which the layer refuses.
int32_t row_axis_of(const Tensor& rows) {
  if (!is_computable(rows.dtype())) return rows.rank() == 2 ? 1 : -1;
  return rows.rank() == 3 || rows.rank() == 4 ? rows.rank() - 2 : -1;
}

void require_alone(const char* name, std::initializer_list<std::pair<const char*, const Tensor*>> others) {
  for (const auto& [other, tensor] : others) {
    if (tensor == nullptr) continue;
    fail(Status::InvalidArgument, "%s is set, but so is %s: expected " WORD("NULL") " for one of them", name, other);
  }
}

VisibleRows read_mask(Schedule& schedule, const Tensor* mask, const char* name, const Tensor* rows,
                      const MaskReading& reading) {
  const int32_t axis = rows == nullptr ? -1 : row_axis_of(*rows);
  if (mask == nullptr || axis < 0) return {};
  return read_visible_rows(schedule, mask, name, rows->dim(0), rows->dim(axis), reading);
}

// A tensor in the arena, or without data, as `of`, which is on the host or without data.
Tensor tensor_in_arena(Schedule& schedule, const Tensor& of, DType dtype, const Shape& shape, bool has_data) {
  size_t num_elements = 1;
  for (int32_t axis = 0; axis < shape.rank; ++axis) num_elements *= static_cast<size_t>(shape[axis]);
  return Tensor::borrowed(of, dtype, shape,
                          has_data ? schedule.arena().allocate(num_elements * size_of(dtype)) : nullptr);
}

Shape with_rank_4(const Shape& shape) { return shape.rank == 4 ? shape : Shape{1, 1, shape[0], shape[1]}; }

// The strides of an array of rank 2 or 4 along four axes; 0 where it is repeated.
std::array<int64_t, 4> strides_of_pairs(const Tensor& pairs) {
  std::array<int64_t, 4> strides = {};
  const int32_t missing = 4 - pairs.rank();
  for (int32_t axis = missing; axis < 4; ++axis) {
    if (pairs.dim(axis - missing) != 1) strides[static_cast<size_t>(axis)] = pairs.stride(axis - missing);
  }
  return strides;
}

// Calls visit(b, h, q, k, index) for each element of `shape`, (B, H, Q, K), with its number in row-major order.
template <typename Visit>
void for_each_pair(const Shape& shape, const Visit& visit) {
  int64_t index = 0;
  for (int64_t b = 0; b < shape[0]; ++b) {
    for (int64_t h = 0; h < shape[1]; ++h) {
      for (int64_t q = 0; q < shape[2]; ++q) {
        for (int64_t k = 0; k < shape[3]; ++k) visit(b, h, q, k, index++);
      }
    }
  }
}

}  // namespace

const Tensor* MaskedInputs::counts_of(Schedule& schedule, const VisibleRows& visible) {
  // The counts outlive the call as the arena does.
  return schedule.keep(Tensor::borrowed(*on_host(visible.mask, schedule), DType::I64, {visible.batch},
                                        const_cast<int64_t*>(visible.counts)));
}

const Tensor* MaskedInputs::gathered(Schedule& schedule, const Tensor* tensor, const VisibleRows& visible) {
  if (tensor == nullptr || !(tensor->shape() == Shape{visible.batch, visible.num_rows}) || visible.rows == nullptr ||
      !tensor->has_data())
    return tensor;
  const Tensor& from = schedule.on_host(*tensor);
  Tensor to = tensor_in_arena(schedule, from, from.dtype(), from.shape(), true);
  const size_t size = size_of(from.dtype());
  for (int64_t b = 0; b < visible.batch; ++b) {
    for (int64_t i = 0; i < visible.num_rows; ++i) {
      const int64_t number = b * visible.num_rows + i;
      std::memcpy(to.element(number), from.element(b * from.stride(0) + visible.rows[number] * from.stride(1)), size);
    }
  }
  return schedule.keep(std::move(to));
}

const Tensor* MaskedInputs::placed(Schedule& schedule, const Tensor* numbers, const VisibleRows& visible) {
  if (numbers == nullptr || numbers->rank() != 2 || numbers->dim(0) != visible.batch || visible.places == nullptr ||
      !numbers->has_data())
    return numbers;
  const Tensor& from = schedule.on_host(*numbers);
  Tensor to = tensor_in_arena(schedule, from, DType::I64, from.shape(), true);
  auto* next = reinterpret_cast<int64_t*>(to.data());
  Operand operand;
  set_operand(operand, from, {0, -1, 1, -1});
  for (int64_t b = 0; b < visible.batch; ++b) {
    for (int64_t i = 0; i < from.dim(1); ++i) {
      const int64_t row = length_of(operand, b, i);
      // The output of a batch element without rows is 0, whatever the numbers are. The layer refuses what is no row.
      if (visible.counts[b] == 0 || row < 0 || row >= visible.num_rows) {
        *next++ = row;
        continue;
      }
      if (!visible.shows(b, row)) {
        fail(Status::InvalidArgument,
             INPUT("output_rows") "[%" PRId64 ", %" PRId64 "] is %" PRId64 ", which %s hides: expected a visible row",
             b, i, row, visible.name);
      }
      *next++ = visible.places[b * visible.num_rows + row];
    }
  }
  return schedule.keep(std::move(to));
}

const Tensor* MaskedInputs::gathered_pairs(Schedule& schedule, const Tensor* pairs, const VisibleRows* rows,
                                           const VisibleRows* columns) {
  if (pairs == nullptr || (pairs->rank() != 2 && pairs->rank() != 4) || !pairs->has_data()) return pairs;
  Shape shape = with_rank_4(pairs->shape());
  const auto moves = [&shape](const VisibleRows* visible, int32_t axis) {
    return visible != nullptr && visible->rows != nullptr && shape[axis] == visible->num_rows && shape[axis] > 1;
  };
  const bool moves_rows = moves(rows, 2);
  const bool moves_columns = moves(columns, 3);
  if (!moves_rows && !moves_columns) return pairs;
  if (shape[0] == 1) shape[0] = (moves_rows ? rows : columns)->batch;
  const Tensor& from = schedule.on_host(*pairs);
  const std::array<int64_t, 4> strides = strides_of_pairs(from);
  Tensor to = tensor_in_arena(schedule, from, from.dtype(), shape, true);
  const size_t size = size_of(from.dtype());
  for_each_pair(shape, [&](int64_t b, int64_t h, int64_t q, int64_t k, int64_t index) {
    const int64_t row = moves_rows ? rows->rows[b * rows->num_rows + q] : q;
    const int64_t column = moves_columns ? columns->rows[b * columns->num_rows + k] : k;
    std::memcpy(to.element(index),
                from.element(b * strides[0] + h * strides[1] + row * strides[2] + column * strides[3]), size);
  });
  return schedule.keep(pairs->is_on_host() ? std::move(to) : converted_copy(pairs->memory(), to, to.dtype()));
}

const Tensor* MaskedInputs::mask_of_keys(Schedule& schedule, const Tensor* mask) {
  Shape shape = mask == nullptr ? Shape{1, 1, 1, 1} : with_rank_4(mask->shape());
  const bool fits =
      mask == nullptr || (mask->dtype() == DType::Bool && (mask->rank() == 2 || mask->rank() == 4) &&
                          (shape[0] == 1 || shape[0] == keys_.batch) && (shape[3] == 1 || shape[3] == keys_.num_rows));
  // The layer refuses it.
  if (!fits) return mask;
  shape[0] = keys_.batch;
  shape[3] = keys_.num_rows;
  const Tensor& of_mask = *on_host(keys_.mask, schedule);
  const bool has_data = keys_.is_read() && (mask == nullptr || mask->has_data());
  Tensor both = tensor_in_arena(schedule, of_mask, DType::Bool, shape, has_data);
  if (has_data) {
    const Tensor* const given = mask == nullptr ? nullptr : &schedule.on_host(*mask);
    const std::array<int64_t, 4> strides = given == nullptr ? std::array<int64_t, 4>{} : strides_of_pairs(*given);
    auto* const bytes = reinterpret_cast<uint8_t*>(both.data());
    for_each_pair(shape, [&](int64_t b, int64_t h, int64_t q, int64_t k, int64_t index) {
      const bool may_attend =
          given == nullptr || *reinterpret_cast<const uint8_t*>(given->element(b * strides[0] + h * strides[1] +
                                                                               q * strides[2] + k * strides[3])) != 0;
      bytes[index] = keys_.shows(b, k) && may_attend ? 1 : 0;
    });
  }
  const bool moves_to_device = has_data && !keys_.mask->is_on_host();
  return schedule.keep(moves_to_device ? converted_copy(keys_.mask->memory(), both, DType::Bool) : std::move(both));
}

void MaskedInputs::apply_to_queries(const RowMasks& masks, Schedule& schedule, LayerInputs& inputs) {
  DecoderInputs& decoder = inputs.decoder;
  Visibility& visibility = inputs.visibility;
  require_alone(masks.queries_name, {{INPUT("sequences->query_lens"), inputs.sequences.query_lens}});
  if (masks.has_decoder)
    require_alone(masks.queries_name, {{kSelfAttentionNames.valid_lens, decoder.self_valid_lens}});
  else
    require_alone(masks.queries_name, {{visibility.names->valid_lens, visibility.valid_lens}});
  const Tensor*& mask = masks.has_decoder ? decoder.self_mask : visibility.mask;
  const Tensor*& bias = masks.has_decoder ? decoder.self_bias : visibility.bias;
  if (inputs.cache != nullptr) {
    // Whether their columns are rows of the call or of the sequence would depend on what is hidden.
    require_alone(masks.queries_name, {{masks.has_decoder ? kSelfAttentionNames.mask : visibility.names->mask, mask},
                                       {masks.has_decoder ? kSelfAttentionNames.bias : visibility.names->bias, bias}});
  }
  inputs.sequences.query_lens = counts_of(schedule, queries_);
  if (!queries_.has_holes) return;
  inputs.queries = gathered(schedule, inputs.queries, queries_);
  if (!masks.encodes_keys) inputs.token_types = gathered(schedule, inputs.token_types, queries_);
  inputs.sequences.positions = gathered(schedule, inputs.sequences.positions, queries_);
  inputs.wanted_output.rows = placed(schedule, inputs.wanted_output.rows, queries_);
  mask = gathered_pairs(schedule, mask, &queries_, &queries_);
  bias = gathered_pairs(schedule, bias, &queries_, &queries_);
  if (!masks.has_decoder) return;
  visibility.mask = gathered_pairs(schedule, visibility.mask, &queries_, nullptr);
  visibility.bias = gathered_pairs(schedule, visibility.bias, &queries_, nullptr);
  if (visibility.valid_lens != nullptr && visibility.valid_lens->rank() == 2)
    visibility.valid_lens = gathered(schedule, visibility.valid_lens, queries_);
}

void MaskedInputs::apply_to_keys(const RowMasks& masks, Schedule& schedule, LayerInputs& inputs) {
  Visibility& visibility = inputs.visibility;
  require_alone(masks.keys_name, {{visibility.names->valid_lens, visibility.valid_lens}});
  const Tensor* const counts = counts_of(schedule, keys_);
  if (masks.stores_keys)
    require_alone(masks.keys_name, {{INPUT("sequences->query_lens"), inputs.sequences.query_lens}});
  if (masks.stores_keys && !masks.encodes_keys) {
    inputs.sequences.query_lens = counts;
    inputs.sequences.positions = gathered(schedule, inputs.sequences.positions, keys_);
    return;
  }
  if (masks.encodes_keys) {
    inputs.keys = gathered(schedule, inputs.keys, keys_);
    inputs.token_types = gathered(schedule, inputs.token_types, keys_);
    if (encodes_alone_) inputs.wanted_output.rows = placed(schedule, inputs.wanted_output.rows, keys_);
    visibility.mask = gathered_pairs(schedule, visibility.mask, nullptr, &keys_);
  } else if (keys_.has_holes) {
    visibility.mask = mask_of_keys(schedule, visibility.mask);
    if (keys_.is_read()) return;
  }
  visibility.valid_lens = counts;
}

void MaskedInputs::apply(const RowMasks& masks, Schedule& schedule, Purpose purpose, LayerInputs& inputs) {
  masks_ = masks;
  is_planned_ = purpose == Purpose::Shapes;
  appends_ = inputs.cache != nullptr;
  has_wanted_output_ = inputs.wanted_output.is_given();
  encodes_alone_ = masks.encodes_keys && inputs.queries == nullptr;
  const std::pair<const char*, const Tensor*> packs = {INPUT("sequences->query_offsets"),
                                                       inputs.sequences.query_offsets};
  if (masks.of_queries != nullptr) require_alone(masks.queries_name, {packs});
  if (masks.of_keys != nullptr) require_alone(masks.keys_name, {packs});
  if (masks.of_queries != nullptr && inputs.queries == nullptr) {
    fail(Status::InvalidArgument,
         "%s is set, but " INPUT("queries") ", whose rows it hides, is " WORD("NULL") ": expected " WORD("NULL"),
         masks.queries_name);
  }
  // With a cache the shapes of weights depend on how many rows are appended, as with query_lens.
  const bool reads = !is_planned_ || appends_;
  const auto reading_of = [&](bool may_have_holes) {
    return MaskReading{reads, is_planned_ ? std::optional<bool>(may_have_holes) : std::nullopt};
  };
  queries_ = read_mask(schedule, masks.of_queries, masks.queries_name, inputs.queries, reading_of(holes_.of_queries));
  const Tensor* const keys = inputs.decoder.memory != nullptr ? inputs.decoder.memory : inputs.keys;
  keys_ = read_mask(schedule, masks.of_keys, masks.keys_name, keys, reading_of(holes_.of_keys));
  if (queries_.is_given()) apply_to_queries(masks, schedule, inputs);
  if (keys_.is_given()) apply_to_keys(masks, schedule, inputs);
}

void MaskedInputs::add_copy(Copy*& first, Schedule& schedule, const Copy& copy) {
  first = &schedule.arena().make<Copy>(copy.from, copy.to, copy.form, copy.rows, copy.columns, first);
}

Value MaskedInputs::moved_rows(Schedule& schedule, const Tensor* rows, const VisibleRows& visible) {
  if (rows == nullptr || !visible.has_holes || !is_computable(rows->dtype())) return rows;
  const Value moved = schedule.reserve(rows->dtype(), rows->shape());
  add_copy(gathers_, schedule, {rows, moved, Form::Rows, &visible, nullptr, nullptr});
  return moved;
}

void MaskedInputs::set_rows(Schedule& schedule, const LayerInputs& inputs, InputValues& values) {
  if (queries_.is_given()) {
    values.queries = moved_rows(schedule, inputs.queries, queries_);
    if (!masks_.has_decoder) {
      values.keys = inputs.keys == nullptr ? Value() : values.queries;
      const bool has_own_values = inputs.values != nullptr && !inputs.values->is_same_as(*inputs.queries);
      values.values = has_own_values ? moved_rows(schedule, inputs.values, queries_) : values.keys;
    }
  }
  if (!keys_.is_given()) return;
  if (masks_.encodes_keys) values.encoder_lens = inputs.visibility.valid_lens;
  if (!masks_.encodes_keys && !masks_.stores_keys) return;
  values.keys = moved_rows(schedule, inputs.keys, keys_);
  const bool has_own_values = inputs.values != nullptr && !inputs.values->is_same_as(*inputs.keys);
  values.values =
      has_own_values ? moved_rows(schedule, inputs.values, keys_) : (inputs.values == nullptr ? Value() : values.keys);
  values.memory = moved_rows(schedule, inputs.decoder.memory, keys_);
}

namespace {

constexpr const char* kGather = "gather visible rows";
constexpr const char* kSpread = "put visible rows back";

}  // namespace

void MaskedInputs::gather(Schedule& schedule) const {
  for (const Copy* copy = gathers_; copy != nullptr; copy = copy->next)
    add_copies_of_rows(schedule, kGather, copy->from, copy->to, copy->from.rank() - 2, copy->rows->rows);
}

Value MaskedInputs::gradient_of_output(Schedule& schedule, const Value& gradient) const {
  const VisibleRows& visible = encodes_alone_ ? keys_ : queries_;
  if (has_wanted_output_ || !visible.is_given() || !visible.has_holes) return gradient;
  int32_t* rows = nullptr;
  if (visible.is_read()) {
    rows = schedule.arena().allocate_for<int32_t>(static_cast<size_t>(visible.batch * visible.num_rows));
    for (int64_t b = 0; b < visible.batch; ++b) {
      const int64_t first = b * visible.num_rows;
      std::copy_n(visible.rows + first, visible.num_rows, rows + first);
      std::fill(rows + first + visible.counts[b], rows + first + visible.num_rows, -1);
    }
  }
  const Value moved = schedule.reserve(DType::F32, gradient.shape());
  add_copies_of_rows(schedule, "gather gradients of visible rows", gradient, moved, gradient.rank() - 2, rows, true);
  return moved;
}

void MaskedInputs::move_gradient(Schedule& schedule, const VisibleRows& visible, InputGradient& gradient) {
  if (!gradient.is_wanted()) return;
  const Value moved = schedule.reserve(DType::F32, gradient.to.shape());
  gradients_ = &schedule.arena().make<MovedGradient>(moved, gradient, &visible, gradients_);
  gradient = {moved};
}

void MaskedInputs::move_gradients(Schedule& schedule, const LayerInputs& inputs, GradientValues& gradients) {
  if (!moves_rows()) return;
  const auto refuse = [&](const ScoreGradients& scores, const char* name) {
    // A plan may assume rows that the call will not have.
    if (!scores.bias.to.is_given() || is_planned_) return;
    fail(Status::Unsupported,
         "%s hides rows before visible ones, but %s is set: expected " WORD("NULL") ", or the visible rows first",
         queries_.is_given() ? queries_.name : keys_.name, name);
  };
  refuse(*gradients.scores, ARGUMENT("gradients->bias"));
  refuse(*gradients.self_scores, ARGUMENT("gradients->self_bias"));
  const bool moves_queries = queries_.is_given() && queries_.has_holes;
  const bool moves_keys = keys_.is_given() && keys_.has_holes && (masks_.encodes_keys || masks_.stores_keys);
  const VisibleRows* const of_keys = moves_keys ? &keys_ : (moves_queries && !masks_.has_decoder ? &queries_ : nullptr);
  if (moves_queries) move_gradient(schedule, queries_, gradients.queries);
  // Roles that share an array keep sharing it.
  if (of_keys != nullptr && inputs.keys != nullptr)
    move_gradient(schedule, *of_keys, gradients.keys);
  else if (of_keys != nullptr)
    gradients.keys = {gradients.queries.to, gradients.queries.to};
  if (of_keys != nullptr && inputs.values != nullptr)
    move_gradient(schedule, *of_keys, gradients.values);
  else if (of_keys != nullptr)
    gradients.values = {gradients.keys.to, gradients.keys.to};
}

void MaskedInputs::spread_gradients(Schedule& schedule) const {
  for (const MovedGradient* moved = gradients_; moved != nullptr; moved = moved->next) {
    const Value written = written_gradient(schedule, moved->to, moved->from.shape());
    add_copies_of_rows(schedule, kSpread, moved->from, written, moved->from.rank() - 2, moved->rows->places);
    add_addend(schedule, written, moved->to);
  }
}

Value MaskedInputs::moved_result(Schedule& schedule, const Value& output, Form form, const VisibleRows* rows,
                                 const VisibleRows* columns) {
  const auto has_holes = [](const VisibleRows* visible) { return visible != nullptr && visible->has_holes; };
  if (!output.is_given() || (!has_holes(rows) && !has_holes(columns))) return output;
  // No backward reads results.
  const bool is_spread = form == Form::Rows && !schedule.saves_arrays();
  const Value moved = is_spread ? Value(schedule.reserve_spread(output.shape()))
                                : Value(schedule.reserve_unsaved(DType::F32, output.shape()));
  add_copy(spreads_, schedule, {moved, output, form, rows, columns, nullptr});
  return moved;
}

OutputValues MaskedInputs::results(Schedule& schedule, const OutputValues& outputs) {
  const VisibleRows* const rows = queries_.is_given() ? &queries_ : nullptr;
  const VisibleRows* const of_all = encodes_alone_ ? &keys_ : rows;
  // Wanted rows are those of the caller's list already.
  const VisibleRows* const of_output = has_wanted_output_ ? nullptr : of_all;
  OutputValues moved = outputs;
  moved.output = moved_result(schedule, outputs.output, Form::Rows, of_output, nullptr);
  moved.weights = moved_result(schedule, outputs.weights, Form::Pairs, rows, appends_ ? nullptr : rows);
  moved.log_sum_exp = moved_result(schedule, outputs.log_sum_exp, Form::Numbers, rows, nullptr);
  return moved;
}

Value MaskedInputs::tapped(Schedule& schedule, std::string_view child, const Tensor& output, bool is_weights) {
  const VisibleRows* const of_encoder = masks_.encodes_keys && keys_.is_given() ? &keys_ : nullptr;
  const VisibleRows* rows = queries_.is_given() ? &queries_ : nullptr;
  const VisibleRows* columns = appends_ ? nullptr : rows;
  const std::string_view encoder = name_of(ChildRole::Encoder);
  if (masks_.encodes_keys && child.starts_with(encoder) && child.substr(encoder.size()).starts_with('.')) {
    rows = columns = of_encoder;
  } else if (child.ends_with(name_of(ChildRole::CrossAttention))) {
    columns = of_encoder;
  }
  return is_weights ? moved_result(schedule, output, Form::Pairs, rows, columns)
                    : moved_result(schedule, output, Form::Numbers, rows, nullptr);
}

namespace {

// Replaces i in "name[b, i]", the first one in the text, by the row that it was. `end`: what ends a name there. `size`: of
// the memory of the text.
void replace_row(char* text, size_t size, const std::string& name, std::string_view end, const VisibleRows& visible) {
  const std::string given = text;
  const std::string before_row = std::string(name).append(end).append("[");
  const size_t at = given.find(before_row);
  if (at == std::string::npos || visible.rows == nullptr) return;
  const size_t begin = at + before_row.size() - 1;
  long long b = 0;
  long long row = 0;
  int length = 0;
  const int num_read = std::sscanf(given.c_str() + begin, "[%lld, %lld]%n", &b, &row, &length);
  if (num_read != 2 || length == 0 || b < 0 || b >= visible.batch || row < 0 || row >= visible.num_rows) return;
  std::snprintf(text, size, "%.*s[%lld, %d]%s", static_cast<int>(begin), given.c_str(), b,
                visible.rows[b * visible.num_rows + row], given.c_str() + begin + static_cast<size_t>(length));
}

}  // namespace

void MaskedInputs::name_rows_of_call(Error& error) const {
  const auto replace = [&](const char* name, const VisibleRows& visible) {
    replace_row(error.text, sizeof error.text, name, "", visible);
    replace_row(error.marked, sizeof error.marked, name, "\x02", visible);
  };
  replace("queries", queries_);
  replace("sequences->positions", queries_.is_given() ? queries_ : keys_);
  replace("token_types", masks_.encodes_keys ? keys_ : queries_);
  replace("keys", keys_);
}

void MaskedInputs::spread(Schedule& schedule) const {
  for (const Copy* copy = spreads_; copy != nullptr; copy = copy->next) {
    const int32_t rank = copy->to.rank();
    switch (copy->form) {
      case Form::Rows: add_copies_of_rows(schedule, kSpread, copy->from, copy->to, rank - 2, copy->rows->places); break;
      case Form::Numbers:
        add_copies_of_rows(schedule, kSpread, copy->from, copy->to, rank - 1, copy->rows->places);
        break;
      case Form::Pairs: add_copies_of_pairs(schedule, kSpread, copy->from, copy->to, copy->rows, copy->columns); break;
    }
  }
}

}  // namespace heed
