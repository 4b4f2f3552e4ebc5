// SPDX-License-Identifier: Apache-2.0
#include "support/model_gradients.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "reference/error_bound.h"
#include "reference/linear_gradients.h"
#include "reference/named_gradients.h"
#include "reference/norm_gradients.h"
#include "reference/positional_encoding.h"
#include "reference/transformer_gradients.h"
#include "support/block_reference.h"
#include "support/samples.h"

namespace heed::property {
namespace {

using reference::AfterStep;
using reference::Bounded;
using reference::NamedRows;

class ModelGradients {
 public:
  ModelGradients(const ModelCall& call, const Array& of_output) : call_(call), of_output_(of_output) {}

  NamedRows solve(const AfterStep& after_step) const {
    NamedRows result;
    const auto read = [&](const ModelSide& side, const std::vector<double>& before_norm) {
      return side.has_norm ? after_step(normalize(norm_of(side), before_norm)) : before_norm;
    };
    const bool has_encoder = call_.encoder && call_.part != ModelPart::Decoder;
    std::vector<double> source;
    std::vector<double> memory = call_.memory.values;
    reference::TransformerStack encoder;
    if (has_encoder) {
      source = embedded(*call_.encoder, after_step);
      encoder = stack_of_side(*call_.encoder, 0);
      memory = reference::transform(encoder, read(*call_.encoder, source), {}, after_step);
    }
    std::vector<double> of_memory;
    if (call_.is_of_encoder()) {
      of_memory = through_output(memory, after_step, result);
    } else {
      const bool is_cross = call_.shape == ModelShape::Transformer;
      const int64_t num_keys = !is_cross ? 0 : has_encoder ? call_.encoder->source.dims[1] : call_.memory.dims[1];
      const reference::TransformerStack decoder = stack_of_side(*call_.decoder, num_keys);
      const std::vector<double> target = embedded(*call_.decoder, after_step);
      const std::vector<double> rows = read(*call_.decoder, target);
      if (!is_cross) memory.clear();
      const std::vector<double> of_output =
          through_output(reference::transform(decoder, rows, memory, after_step), after_step, result);
      NamedRows gradients = transformer_gradients(decoder, rows, memory, of_output, after_step);
      if (is_cross) of_memory = gradients.at("keys").values;
      add_source(*call_.decoder, take_rows(*call_.decoder, std::move(gradients), result), target, "queries", after_step,
                 result);
    }
    if (call_.part == ModelPart::Decoder) result["memory"] = {of_memory, call_.size};
    if (!has_encoder) return result;
    NamedRows gradients = transformer_gradients(encoder, read(*call_.encoder, source), {}, of_memory, after_step);
    add_source(*call_.encoder, take_rows(*call_.encoder, std::move(gradients), result), source,
               call_.shape == ModelShape::Transformer ? "keys" : "queries", after_step, result);
    return result;
  }

 private:
  // The side's stack, for rows of a memory of `num_keys`.
  reference::TransformerStack stack_of_side(const ModelSide& side, int64_t num_keys) const {
    Call call;
    call.block = side.block;
    call.options = side.block.self_attention.options;
    const int64_t num_rows = side.source.dims[1];
    call.queries = make_input(filled({call_.batch, num_rows, call_.size}, 0.0));
    if (num_keys > 0) call.keys = make_input(filled({call_.batch, num_keys, call_.size}, 0.0));
    for (const auto& [name, value] : call_.parameters) {
      if (name.starts_with(side.prefix)) call.parameters[name.substr(side.prefix.size())] = make_input(value);
    }
    if (call_.lens) call.valid_lens = make_input(*call_.lens, HEED_I32);
    if (call_.query_lens && &side == &call_.last()) call.query_lens = make_input(*call_.query_lens, HEED_I64);
    return stack_of(call);
  }

  reference::Norm norm_of(const ModelSide& side) const {
    reference::Norm norm;
    norm.weight = call_.parameters.at(side.prefix + "embedding_norm.weight").values;
    norm.subtracts_mean = side.block.norm.kind == HEED_NORM_LAYER;
    if (norm.subtracts_mean) norm.bias = call_.parameters.at(side.prefix + "embedding_norm.bias").values;
    norm.epsilon = static_cast<double>(1e-5F);
    return norm;
  }

  double scale_of(const ModelSide& side) const { return side.scale != 0.0F ? static_cast<double>(side.scale) : 1.0; }

  // Before the norm of the side.
  std::vector<double> embedded(const ModelSide& side, const AfterStep& after_step) const {
    const int64_t num_rows = side.source.dims[1];
    Bounded rows(static_cast<size_t>(call_.batch * num_rows * call_.size));
    for (int64_t i = 0; i < static_cast<int64_t>(rows.values.size()); ++i) {
      const int64_t row = i / call_.size;
      const int64_t d = i % call_.size;
      double& value = rows.values[static_cast<size_t>(i)];
      double& error = rows.errors[static_cast<size_t>(i)];
      value = side.source.values[static_cast<size_t>(side.table.empty() ? i : row)];
      if (!side.table.empty()) {
        value =
            scale_of(side) *
            call_.parameters.at(side.table).values[static_cast<size_t>(static_cast<int64_t>(value) * call_.size + d)];
        if (side.scale != 0.0F) error += reference::kUnitRoundoff * std::fabs(value);
      }
      if (!side.positions) continue;
      const int64_t position = row % num_rows;
      if (*side.positions == HEED_POSITIONS_LEARNED) {
        value += call_.parameters.at(side.prefix + "positions.weight")
                     .values[static_cast<size_t>(position * call_.size + d)];
      } else {
        const auto [sine, of_sine] = reference::sinusoid(reference::Sinusoids::InTurn, call_.size, position, d);
        value += sine;
        error += of_sine;
      }
      error += reference::kUnitRoundoff * std::fabs(value);
    }
    return after_step(std::move(rows));
  }

  // Adds the gradients of what the side's layers read, from those of the rows.
  void add_source(const ModelSide& side, std::vector<double> of_rows, const std::vector<double>& before_norm,
                  const char* name, const AfterStep& after_step, NamedRows& result) const {
    if (side.has_norm) {
      const reference::NormGradients gradients = norm_gradients(norm_of(side), before_norm, of_rows);
      add_norm(side.prefix + "embedding_norm", gradients, call_.size, after_step, result);
      of_rows = after_step(gradients.rows);
    }
    const int64_t num_rows = side.source.dims[1];
    if (side.positions == HEED_POSITIONS_LEARNED) {
      std::vector<int64_t> positions;
      for (int64_t i = 0; i < call_.batch * num_rows; ++i) positions.push_back(i % num_rows);
      result[side.prefix + "positions.weight"] = {
          after_step(reference::embedding_gradient(positions, kMostModelRows, call_.size, 1.0, -1, of_rows)),
          call_.size};
    }
    if (side.table.empty()) {
      result[name] = {std::move(of_rows), call_.size};
      return;
    }
    const std::vector<int64_t> ids(side.source.values.begin(), side.source.values.end());
    add_to(side.table,
           after_step(reference::embedding_gradient(ids, kNumModelIds, call_.size, scale_of(side), -1, of_rows)),
           after_step, result);
  }

  void add_to(const std::string& table, std::vector<double> gradient, const AfterStep& after_step,
              NamedRows& result) const {
    const auto found = result.find(table);
    result[table] = {found == result.end() ? std::move(gradient) : added(found->second.values, gradient, after_step),
                     call_.size};
  }

  // The gradient of all rows of the last side, from that of the output.
  std::vector<double> through_output(const std::vector<double>& rows, const AfterStep& after_step,
                                     NamedRows& result) const {
    const int64_t num_rows = call_.last().source.dims[1];
    std::vector<double> wanted;
    std::vector<double> of_output;
    const int64_t size = of_output_.dims[2];
    for (int64_t b = 0; b < call_.batch; ++b) {
      for (int64_t i = 0; i < call_.num_wanted(); ++i) {
        const auto begin = rows.begin() + (b * num_rows + call_.wanted_row(b, i)) * call_.size;
        wanted.insert(wanted.end(), begin, begin + call_.size);
        const auto gradient = of_output_.values.begin() + (b * call_.num_wanted() + i) * size;
        if (call_.is_padding(b, i))
          of_output.insert(of_output.end(), static_cast<size_t>(size), 0.0);
        else
          of_output.insert(of_output.end(), gradient, gradient + size);
      }
    }
    if (call_.is_projected()) of_output = through_projection(wanted, std::move(of_output), after_step, result);
    std::vector<double> of_rows(rows.size(), 0.0);
    for (int64_t b = 0; b < call_.batch; ++b) {
      for (int64_t i = 0; i < call_.num_wanted(); ++i) {
        const auto from = of_output.begin() + (b * call_.num_wanted() + i) * call_.size;
        std::copy(from, from + call_.size, of_rows.begin() + (b * num_rows + call_.wanted_row(b, i)) * call_.size);
      }
    }
    return of_rows;
  }

  std::vector<double> through_projection(const std::vector<double>& rows, std::vector<double> of_output,
                                         const AfterStep& after_step, NamedRows& result) const {
    const std::string table = call_.output.tied != 0 ? call_.last().table : "output.weight";
    reference::Projection projection = {call_.size, call_.num_classes(), call_.parameters.at(table).values, {}};
    if (call_.output.bias != 0) projection.bias = call_.parameters.at("output.bias").values;
    const auto num_rows = static_cast<int64_t>(rows.size()) / call_.size;
    const std::vector<double> sums =
        after_step(reference::project(projection, reference::as_read(rows, std::nullopt), num_rows));
    const double scale = call_.output.scale != 0.0F ? static_cast<double>(call_.output.scale) : 1.0;
    const auto cap = static_cast<double>(call_.output.soft_cap);
    Bounded of_sums(of_output.size());
    for (size_t i = 0; i < of_output.size(); ++i) {
      // As that of a score: its tanh is off by 6 roundings.
      const double tanh = cap != 0.0 ? std::tanh(scale * sums[i] / cap) : 0.0;
      const double slope = 1.0 - tanh * tanh;
      const double of_slope = cap != 0.0 ? (12.0 * std::fabs(tanh) + 3.0) * reference::kUnitRoundoff : 0.0;
      of_sums.values[i] = scale * slope * of_output[i];
      of_sums.errors[i] = std::fabs(scale * of_output[i]) * of_slope +
                          3.0 * reference::kUnitRoundoff * std::fabs(of_sums.values[i]) + reference::underflow_error();
    }
    const reference::ProjectionGradients gradients =
        reference::projection_gradients(projection, rows, after_step(std::move(of_sums)));
    add_to(table, after_step(gradients.weight), after_step, result);
    if (call_.output.bias != 0) result["output.bias"] = {after_step(gradients.bias), call_.num_classes()};
    return after_step(gradients.input);
  }

  // Adds the gradients of a side's layers, and returns that of what the first one reads.
  static std::vector<double> take_rows(const ModelSide& side, NamedRows gradients, NamedRows& result) {
    std::vector<double> of_rows = std::move(gradients.at("queries").values);
    gradients.erase("queries");
    gradients.erase("keys");
    add_below(side.prefix, gradients, result);
    return of_rows;
  }

  const ModelCall& call_;
  const Array& of_output_;
};

}  // namespace

reference::NamedBounds solve_gradients(const ModelCall& call, const Array& of_output) {
  const ModelGradients gradients(call, of_output);
  reference::NamedBounds bounds =
      reference::with_moved_steps([&](const AfterStep& after_step) { return gradients.solve(after_step); });
  for (const auto& [name, value] : call.parameters) bounds.try_emplace(name, value.values.size());
  return bounds;
}

}  // namespace heed::property
