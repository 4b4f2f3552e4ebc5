// SPDX-License-Identifier: Apache-2.0
// Rule 4: a tokenizer's mask. Each batch element has the bits of its visible rows alone.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <vector>

#include "support/batch_part.h"
#include "support/device.h"
#include "support/gradients.h"
#include "support/numbers.h"
#include "support/packing.h"
#include "support/random_block.h"
#include "support/samples.h"

namespace heed::property {
namespace {

using Rows = std::vector<int64_t>;

// The elements at these indices of an axis.
Array chosen(const Array& from, size_t axis, const Rows& rows) {
  Dims dims = from.dims;
  dims[axis] = static_cast<int64_t>(rows.size());
  Array to = filled(dims, 0.0);
  for_each_index(to.dims, [&](const Dims& index, size_t i) {
    size_t number = 0;
    for (size_t a = 0; a < dims.size(); ++a)
      number = number * static_cast<size_t>(from.dims[a]) +
               static_cast<size_t>(a == axis ? rows[static_cast<size_t>(index[a])] : index[a]);
    to.values[i] = from.values[number];
  });
  return to;
}

void choose(std::optional<Input>& input, int axis_from_end, const Rows& rows) {
  if (!input) return;
  const Dims& dims = input->contents.dims;
  const size_t axis = dims.size() - static_cast<size_t>(axis_from_end);
  if (axis_from_end <= 2 && dims[axis] == 1) return;  // repeated
  input = make_input(chosen(input->contents, axis, rows), input->dtype);
}

// A mask of 0 and 1, and the rows that it shows.
struct Masks {
  Input mask;
  std::vector<Rows> visible;
};

enum class Side { Left, Right, Anywhere };

Masks draw_masks(int64_t batch, int64_t num_rows, Side side, Random& random, heed_dtype dtype = HEED_I64) {
  Array mask = filled({batch, num_rows}, 0.0);
  std::vector<Rows> visible(static_cast<size_t>(batch));
  for (int64_t b = 0; b < batch; ++b) {
    // The first batch element is whole, so that the others are padded.
    const int64_t count = b == 0 ? num_rows : random.below(num_rows + 1);
    for (int64_t i = 0; i < num_rows; ++i) {
      const bool sees =
          side == Side::Anywhere ? random.chance(0.6) : (side == Side::Right ? i < count : i >= num_rows - count);
      if (!sees) continue;
      mask.values[static_cast<size_t>(b * num_rows + i)] = 1.0;
      visible[static_cast<size_t>(b)].push_back(i);
    }
  }
  return {make_input(mask, dtype), visible};
}

// Batch element b of a call, without its hidden rows.
Call visible_part(const Call& call, int64_t b, const Rows& rows) {
  Call part = part_of_batch(call, b, 1);
  part.attention_mask.reset();
  part.self_attention_mask.reset();
  const bool is_decoder = call.block && call.block->is_decoder;
  std::optional<Input> queries = part.queries;
  choose(queries, 2, rows);
  part.queries = *queries;
  choose(part.positions, 1, rows);
  if (!is_decoder) choose(part.values, 2, rows);
  for (std::optional<Input>* pairs :
       {is_decoder ? &part.self_mask : &part.mask, is_decoder ? &part.self_bias : &part.bias}) {
    choose(*pairs, 2, rows);
    choose(*pairs, 1, rows);
  }
  if (!is_decoder) return part;
  choose(part.mask, 2, rows);
  choose(part.bias, 2, rows);
  if (part.valid_lens && part.valid_lens->contents.dims.size() == 2) choose(part.valid_lens, 1, rows);
  return part;
}

// Expects the results of batch element b: those of `part` at its visible rows, and nothing at the others. `row_axis` and
// `column_axis` count from the end; 0: there is none.
void expect_spread(const std::optional<Result>& is, const std::optional<Result>& part, int64_t b, const Rows& rows,
                   size_t row_axis, size_t column_axis, double of_hidden) {
  if (!is) return;
  const auto place = [&rows](int64_t row) {
    const auto at = std::find(rows.begin(), rows.end(), row);
    return at == rows.end() ? int64_t{-1} : at - rows.begin();
  };
  for_each_index(is->contents.dims, [&](const Dims& index, size_t i) {
    if (index[0] != b) return;
    Dims of_part = index;
    of_part[0] = 0;
    int64_t& row = of_part[of_part.size() - row_axis];
    row = place(row);
    bool is_hidden = row < 0;
    if (column_axis != 0) {
      int64_t& column = of_part[of_part.size() - column_axis];
      column = place(column);
      if (column < 0 && !is_hidden) {
        ASSERT_EQ(is->contents.values[i], 0.0);
        return;
      }
    }
    double expected = of_hidden;
    if (!is_hidden) {
      size_t number = 0;
      for (size_t a = 0; a < of_part.size(); ++a)
        number = number * static_cast<size_t>(part->contents.dims[a]) + static_cast<size_t>(of_part[a]);
      expected = part->contents.values[number];
    }
    ASSERT_EQ(is->contents.values[i], expected) << "batch element " << b << ", element " << i;
  });
}

void expect_visible_rows_alone(const Call& call, const std::vector<Rows>& visible) {
  const Results is = run(call);
  for (size_t b = 0; b < visible.size(); ++b) {
    const auto element = static_cast<int64_t>(b);
    const Results part = run(visible_part(call, element, visible[b]));
    expect_spread(is.output, part.output, element, visible[b], 2, 0, 0.0);
    expect_spread(is.weights, part.weights, element, visible[b], 2, 1, 0.0);
    expect_spread(is.log_sum_exp, part.log_sum_exp, element, visible[b], 1, 0,
                  -std::numeric_limits<double>::infinity());
  }
}

// The same of gradients: those of hidden rows are 0, and what arrives there is not read. Those of the parameters are sums over the visible
// rows.
void expect_gradients_of_visible_rows_alone(const Call& given, const std::vector<Rows>& visible, Random& random) {
  const Call call = training_form(given);
  const Array of_output = make_input(random_array(result_dims(call).output, random)).contents;
  const size_t row_axis = of_output.dims.size() - 2;
  GradientRequest request;
  request.of_output = of_output;
  request.inputs = {"queries"};
  for_each_index(of_output.dims, [&](const Dims& index, size_t i) {
    const Rows& rows = visible[static_cast<size_t>(index[0])];
    if (std::find(rows.begin(), rows.end(), index[row_axis]) == rows.end()) request.of_output.values[i] = kNaN;
  });
  const NamedResults is = backward(Runner(call), call, request);
  GradientRequest of_part = request;
  for (size_t b = 0; b < visible.size(); ++b) {
    const auto element = static_cast<int64_t>(b);
    if (visible[b].empty()) {
      expect_spread(is.at("queries"), std::nullopt, element, visible[b], 2, 0, 0.0);
      continue;
    }
    const Call part = visible_part(call, element, visible[b]);
    of_part.of_output = chosen(slice(of_output, 0, element, 1), row_axis, visible[b]);
    if (!of_part.sums.empty()) of_part.sums["queries"] = filled(part.queries.contents.dims, 0.0);
    const NamedResults gradients = backward(Runner(part), part, of_part);
    expect_spread(is.at("queries"), gradients.at("queries"), element, visible[b], 2, 0, 0.0);
    for (const auto& [name, gradient] : gradients) of_part.sums[name] = gradient.contents;
  }
  for (const auto& [name, gradient] : is) {
    if (name == "queries") continue;
    const auto sum = of_part.sums.find(name);
    const Array expected = sum != of_part.sums.end() ? sum->second : filled(gradient.contents.dims, 0.0);
    EXPECT_EQ(gradient.contents.values, expected.values) << name;
  }
}

// Self-attention of each kind.
std::vector<Call> self_calls(Random& random, heed_dtype dtype, int64_t num_rows) {
  MultiHeadSample sample;
  sample.batch = 3;
  sample.num_queries = sample.num_keys = num_rows;
  sample.key_size = sample.value_size = sample.query_size;
  sample.dtype = dtype;
  heed_multi_head_attention_options additive = two_heads();
  additive.scoring = HEED_SCORING_ADDITIVE;
  heed_multi_head_attention_options causal = with_positions();
  causal.causal = HEED_CAUSAL_BOTTOM_RIGHT;
  causal.window = HEED_WINDOW_BOTTOM_RIGHT;
  causal.window_left = 7;
  std::vector<Call> calls = {dot_product_call({3, 1, 1, num_rows, num_rows, 16, 16}, random, dtype),
                             dot_product_call({3, 4, 4, num_rows, num_rows, 32, 32}, random, dtype),
                             multi_head_call(additive, sample, random),
                             additive_call(5, sample, random),
                             general_call(sample, random),
                             positions_call(causal, sample, random)};
  for (Call& call : calls) {
    call.keys.reset();
    call.values.reset();
    want_everything(call);
  }
  return calls;
}

TEST(AttentionMask, HasTheBitsOfTheVisibleRowsAlone) {
  HEED_SKIP_ON_ASCEND("rule 10 is the CPU's");
  Random random(441);
  for (const int64_t num_rows : {1, 4, 17, 70}) {
    for (const Side side : {Side::Left, Side::Right, Side::Anywhere}) {
      for (Call& call : self_calls(random, HEED_F32, num_rows)) {
        const Masks masks = draw_masks(3, num_rows, side, random);
        call.attention_mask = masks.mask;
        call.num_threads = random.one_of<int32_t>({1, 4});
        call.with_workspace = random.chance(0.5);
        expect_visible_rows_alone(call, masks.visible);
        expect_gradients_of_visible_rows_alone(call, masks.visible, random);
      }
    }
  }
}

TEST(AttentionMask, OfBlocksHasTheBitsOfTheVisibleRowsAlone) {
  HEED_SKIP_ON_ASCEND("rule 10 is the CPU's");
  Random random(442);
  int count = 0;
  for (uint64_t seed = 0; count < 120; ++seed) {
    Call call = make_block_call(seed);
    const bool is_decoder = call.block->is_decoder;
    if (call.query_offsets || call.training != 0) continue;
    ++count;
    call.query_lens.reset();
    (is_decoder ? call.self_valid_lens : call.valid_lens).reset();
    const reference::AttentionSizes sizes = sizes_of(call);
    const Masks masks =
        draw_masks(sizes.batch, sizes.num_queries, random.one_of<Side>({Side::Left, Side::Anywhere}), random);
    (is_decoder ? call.self_attention_mask : call.attention_mask) = masks.mask;
    SCOPED_TRACE(seed);
    expect_visible_rows_alone(call, masks.visible);
    expect_gradients_of_visible_rows_alone(call, masks.visible, random);
  }
}

TEST(AttentionMask, OnTheRightHasTheBitsOfQueryLens) {
  HEED_SKIP_ON_ASCEND("rule 10 is the CPU's");
  Random random(443);
  for (const heed_dtype dtype : {HEED_F32, HEED_F16, HEED_BF16}) {
    for (Call& call : self_calls(random, dtype, 30)) {
      const Masks masks = draw_masks(3, 30, Side::Right, random);
      Call by_lens = call;
      Array lens = filled({3}, 0.0);
      for (size_t b = 0; b < 3; ++b) lens.values[b] = static_cast<double>(masks.visible[b].size());
      by_lens.query_lens = make_input(lens, HEED_I64);
      call.attention_mask = masks.mask;
      EXPECT_TRUE(same_bits(run(call), run(by_lens)));
    }
  }
}

TEST(AttentionMask, OfKeysIsAMask) {
  Random random(444);
  for (const Side side : {Side::Left, Side::Right, Side::Anywhere}) {
    for (Call& call : call_of_each_kind(random, HEED_F32, 6, 37)) {
      const int64_t batch = sizes_of(call).batch;
      const Masks masks = draw_masks(batch, 37, side, random);
      want_everything(call);
      if (random.chance(0.5)) call.mask = make_input(filled({6, 37}, 1.0), HEED_BOOL);
      if (call.mask) call.mask->contents.values[40] = 0.0;
      Call by_mask = call;
      call.attention_mask = masks.mask;
      Array all = filled({batch, 1, 6, 37}, 0.0);
      for_each_index(all.dims, [&](const Dims& index, size_t i) {
        const auto pair = static_cast<size_t>(index[2] * 37 + index[3]);
        const bool may_attend = !call.mask || call.mask->contents.values[pair] != 0.0;
        all.values[i] = may_attend ? masks.mask.contents.values[static_cast<size_t>(index[0] * 37 + index[3])] : 0.0;
      });
      by_mask.mask = make_input(all, HEED_BOOL);
      EXPECT_TRUE(agree(run(call), solve(by_mask)));
    }
  }
}

TEST(AttentionMask, MovesMaskBiasAndPositionsWithTheRows) {
  HEED_SKIP_ON_ASCEND("rule 10 is the CPU's");
  Random random(445);
  constexpr int64_t kRows = 19;
  for (int repetition = 0; repetition < 10; ++repetition) {
    for (Call& call : self_calls(random, HEED_F32, kRows)) {
      const Masks masks = draw_masks(3, kRows, Side::Anywhere, random);
      call.attention_mask = masks.mask;
      const Dims pairs =
          random.one_of<Dims>({{3, 1, kRows, kRows}, {kRows, kRows}, {1, 1, 1, kRows}, {3, 1, kRows, 1}});
      Array mask = filled(pairs, 0.0);
      for (double& element : mask.values) element = random.chance(0.7) ? 1.0 : 0.0;
      call.mask = make_input(mask, HEED_BOOL);
      call.bias = make_input(random_array(random.one_of<Dims>({{kRows, kRows}, {3, 1, kRows, kRows}}), random, 2.0));
      Array positions = filled({3, kRows}, 0.0);
      for (double& position : positions.values) position = static_cast<double>(random.below(50));
      call.positions = make_input(positions, HEED_I32);
      expect_visible_rows_alone(call, masks.visible);
      expect_gradients_of_visible_rows_alone(call, masks.visible, random);
    }
  }
}

TEST(AttentionMask, OfEveryDTypeIsTheSame) {
  Random random(446);
  Call call = self_calls(random, HEED_F32, 12).back();
  Masks masks = draw_masks(3, 12, Side::Anywhere, random);
  call.attention_mask = masks.mask;
  const Results expected = run(call);
  for (const heed_dtype dtype : {HEED_F32, HEED_F16, HEED_BF16, HEED_F64, HEED_I32, HEED_I8, HEED_U8, HEED_BOOL}) {
    call.attention_mask = make_input(masks.mask.contents, dtype);
    EXPECT_TRUE(same_bits(run(call), expected)) << dtype;
  }
  for (const double element : {2.0, -1.0, 0.5, -std::numeric_limits<double>::infinity()}) {
    masks.mask.contents.values[14] = element;
    call.attention_mask = make_input(masks.mask.contents, HEED_F32);
    EXPECT_TRUE(is_refused(call, HEED_ERROR_INVALID_ARGUMENT, {"inputs->attention_mask[1, 2] is", "expected 1, or 0"}));
  }
}

}  // namespace
}  // namespace heed::property
