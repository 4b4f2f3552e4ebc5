// SPDX-License-Identifier: Apache-2.0
// A call with a tokenizer's mask, as one without it. Hidden rows are no keys, and their results are 0: so the visible rows of
// each batch element are moved to its front, as sequences->query_lens has them, and the results back to where they belong. Padding
// on the right moves nothing.
#pragma once

#include <cstdint>
#include <iterator>
#include <span>
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

// Of a size that is to suffice for every mask of some shapes, the masks that are planned for. A mask with hidden rows before visible
// ones needs copies of the rows, but more intermediates do not always need more memory: where each lies depends on which of them are
// alive together. So both are planned, for queries and for keys.
inline std::span<const MaskHoles> each_holes(const LayerInputs& inputs) {
  static constexpr MaskHoles kHoles[] = {{true, true}, {true, false}, {false, true}, {false, false}};
  const bool has_mask = inputs.attention_mask != nullptr || inputs.decoder.self_attention_mask != nullptr;
  return std::span(kHoles).first(has_mask ? std::size(kHoles) : 1);
}

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
  // Whether rows of the call lie elsewhere than its tensors have them.
  bool moves_rows() const { return gathers_ != nullptr; }
  // Of a backward: the gradient by the output, with the rows where the layer has them and zeros in rows that are none.
  // Adds a copy, unless the rows are not moved.
  Value gradient_of_output(Schedule& schedule, const Value& gradient) const;
  // Replaces gradients by rows that are moved by intermediates. `inputs`: as the caller gave them. Throws Unsupported for those
  // by biases, whose rows and columns are moved, too.
  void move_gradients(Schedule& schedule, const LayerInputs& inputs, GradientValues& gradients);
  // Adds the copies that move_gradients needs, behind the operations of the backward.
  void spread_gradients(Schedule& schedule) const;
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
  struct MovedGradient {
    Value from;
    InputGradient to;
    const VisibleRows* rows;
    MovedGradient* next;
  };
  // Replaces `gradient`, if it is wanted.
  void move_gradient(Schedule& schedule, const VisibleRows& visible, InputGradient& gradient);
  bool appends_ = false;  // to a cache, whose rows are the columns of weights
  bool is_planned_ = false;
  bool has_wanted_output_ = false;
  bool encodes_alone_ = false;  // The results are rows of the encoder.
  Copy* gathers_ = nullptr;
  Copy* spreads_ = nullptr;
  MovedGradient* gradients_ = nullptr;
};

}  // namespace heed
