// SPDX-License-Identifier: Apache-2.0
#include "support/batch_part.h"

#include <cstddef>
#include <optional>

namespace heed::property {
namespace {

enum class Operand { Rows, Pairs };

std::optional<Input> part_of(const std::optional<Input>& input, Operand operand, int64_t batch, int64_t first,
                             int64_t count) {
  if (!input) return std::nullopt;
  // An input that is the same for all batch elements stays whole.
  const Dims& dims = input->contents.dims;
  if (dims[0] != batch || (operand == Operand::Pairs && dims.size() == 2)) return input;
  return Input{slice(input->contents, 0, first, count), input->dtype, input->strides, input->unused_before};
}

std::optional<Result> part_of(const std::optional<Result>& result, int64_t first, int64_t count) {
  if (!result) return std::nullopt;
  const auto element_size = static_cast<std::ptrdiff_t>(result->bytes.size()) / result->contents.dims[0];
  const auto from = result->bytes.begin() + element_size * first;
  return Result{result->dtype, slice(result->contents, 0, first, count), {from, from + element_size * count}};
}

}  // namespace

Call part_of_batch(const Call& call, int64_t first, int64_t count) {
  const int64_t batch = sizes_of(call).batch;
  Call part = call;
  part.queries = *part_of(call.queries, Operand::Rows, batch, first, count);
  part.keys = part_of(call.keys, Operand::Rows, batch, first, count);
  part.values = part_of(call.values, Operand::Rows, batch, first, count);
  part.valid_lens = part_of(call.valid_lens, Operand::Rows, batch, first, count);
  part.mask = part_of(call.mask, Operand::Pairs, batch, first, count);
  part.bias = part_of(call.bias, Operand::Pairs, batch, first, count);
  return part;
}

Results part_of_batch(const Results& results, int64_t first, int64_t count) {
  return {part_of(results.output, first, count), part_of(results.weights, first, count),
          part_of(results.log_sum_exp, first, count)};
}

}  // namespace heed::property
