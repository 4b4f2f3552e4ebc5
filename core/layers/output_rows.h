// SPDX-License-Identifier: Apache-2.0
// The rows of a stack whose output is wanted: num_last_rows or output_rows of heed_layer_inputs. They are taken behind the last
// layer, so that the final norm and the projection compute them alone.
#pragma once

#include <cstdint>

#include "layers/layer_call.h"
#include "layers/schedule.h"
#include "ops/sequence.h"

namespace heed {

// Throws InvalidArgument unless at most one of both is given, and each is in itself valid.
void check_output_rows(const WantedOutput& wanted);

// The rows of a call. Everything is in the call's arena.
struct OutputRows {
  int64_t count = 0;  // of each batch element
  // [batch][count]: numbers of rows along the axis of all rows, in a packed batch of all batch elements; -1 where a batch
  // element has none. Null if lengths or rows are not read.
  const int32_t* rows = nullptr;
  // The limits of the wanted rows: batch elements without a row have no output.
  const KeyLimits* limits = nullptr;
};

// `num_rows`: along the axis of rows. Throws InvalidArgument for a row that the batch element does not have.
OutputRows find_output_rows(Schedule& schedule, const InputValues& inputs, int64_t batch, int64_t num_rows,
                            Purpose purpose);

// Adds copies of the rows of `from`, (B, S, E) or packed (total, E), to `to`, (B, count, E).
void add_output_rows(Schedule& schedule, const OutputRows& output_rows, const Value& from, const Value& to);

// Adds the gradient by all rows, (B, S, E) or (total, E): that by the wanted ones, (B, count, E), added up where a row is wanted
// more than once, and 0 elsewhere.
void add_output_rows_backward(Schedule& schedule, const OutputRows& output_rows, const Value& of_wanted,
                              const Value& of_all);

}  // namespace heed
