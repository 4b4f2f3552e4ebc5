// SPDX-License-Identifier: Apache-2.0
// A call with a tokenizer's mask, as one without it. Hidden rows are no keys, and their results are 0: so the visible rows of
// each batch element are moved to its front, as sequences->query_lens has them, and the results back to where they belong. Padding
// on the right moves nothing.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/error.h"
#include "layers/inputs.h"
#include "layers/layer_call.h"
#include "layers/schedule.h"
#include "layers/visible_rows.h"

namespace heed {

// The masks of a call, each with the rows that it shows or hides. A mask that is not given is null.
struct RowMasks {
  // Rows of queries that are keys of each other.
  const Tensor* of_queries = nullptr;
  const char* queries_name = nullptr;
  // Rows of keys that are not the queries.
  const Tensor* of_keys = nullptr;
  const char* keys_name = nullptr;
  // Whether the call computes the keys' rows, so that only its results have their order: a Transformer's encoder.
  bool encodes_keys = false;
  // Whether the rows of keys are stored in a cache.
  bool stores_keys = false;
  // The mask and bias of attention among queries are the decoder's.
  bool has_decoder = false;
};

// Whether the masks of a call may have holes, as far as it is planned for other masks, too.
struct MaskHoles {
  bool of_queries = true;
  bool of_keys = true;
};

class MaskedInputs {
 public:
  MaskedInputs() = default;
  // `holes`: for Purpose::Shapes.
  explicit MaskedInputs(MaskHoles holes) : holes_(holes) {}
  MaskedInputs(const MaskedInputs&) = delete;
  MaskedInputs& operator=(const MaskedInputs&) = delete;

  // Replaces the masks in `inputs` and what goes with the rows. What it makes lives as long as the schedule.
  // Throws InvalidArgument.
  void apply(const RowMasks& masks, Schedule& schedule, Purpose purpose, LayerInputs& inputs);
  // Sets the rows of a call whose inputs are `inputs`: intermediates, if they are moved.
  void set_rows(Schedule& schedule, const LayerInputs& inputs, InputValues& values);
  // Adds the copies that set_rows needs, before those of the layer.
  void gather(Schedule& schedule) const;

  // Where the layer writes what `outputs` has: intermediates, if the results are moved afterwards.
  OutputValues results(Schedule& schedule, const OutputValues& outputs);
  // The same of a tap of a child.
  Value tapped(Schedule& schedule, std::string_view child, const Tensor& output, bool is_weights);
  // Sentences name rows as the call has them, not where they were moved to.
  void name_rows_of_call(Error& error) const;

  // Adds the copies that results and taps need, behind the operations of the layer.
  void spread(Schedule& schedule) const;

 private:
  enum class Form : uint8_t { Rows, Numbers, Pairs };
  struct Copy {
    Value from;
    Value to;
    Form form;
    const VisibleRows* rows;
    const VisibleRows* columns;
    Copy* next;
  };

  const Tensor* counts_of(Schedule& schedule, const VisibleRows& visible);
  const Tensor* gathered(Schedule& schedule, const Tensor* tensor, const VisibleRows& visible);
  const Tensor* placed(Schedule& schedule, const Tensor* numbers, const VisibleRows& visible);
  const Tensor* gathered_pairs(Schedule& schedule, const Tensor* pairs, const VisibleRows* rows,
                               const VisibleRows* columns);
  const Tensor* mask_of_keys(Schedule& schedule, const Tensor* mask);
  void apply_to_queries(const RowMasks& masks, Schedule& schedule, LayerInputs& inputs);
  void apply_to_keys(const RowMasks& masks, Schedule& schedule, LayerInputs& inputs);
  Value moved_rows(Schedule& schedule, const Tensor* rows, const VisibleRows& visible);
  Value moved_result(Schedule& schedule, const Value& output, Form form, const VisibleRows* rows,
                     const VisibleRows* columns);
  void add_copy(Copy*& first, Schedule& schedule, const Copy& copy);

  MaskHoles holes_;
  RowMasks masks_;
  VisibleRows queries_;
  VisibleRows keys_;
  bool appends_ = false;  // to a cache, whose rows are the columns of weights
  bool has_wanted_output_ = false;
  bool encodes_alone_ = false;  // The results are rows of the encoder.
  Copy* gathers_ = nullptr;
  Copy* spreads_ = nullptr;
};

}  // namespace heed
