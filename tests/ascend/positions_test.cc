// SPDX-License-Identifier: Apache-2.0
// Rotary positions, norms of queries and keys, and ALiBi on the NPU: the numbers of the reference within the bound of
// docs/semantics.md, wholly on the device; and what runs on the CPU, with the reason.
#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

#include "ascend/support/explained.h"
#include "ascend/support/rotary_layer.h"
#include "ascend/support/sequence_layer.h"
#include "ascend/support/simulated.h"
#include "capi/support/refusal.h"

namespace heed::ascend_test {
namespace {

using capi_test::is_refused;
using capi_test::make_random;
using capi_test::make_tensor;

class Positions : public Simulated {
 protected:
  // Like make_npu_context, but not strict.
  static Context make_lenient_context() {
    heed_context_options options = npu_options();
    options.strict = 0;
    return capi_test::make_context(&options);
  }
};

std::vector<RotaryCase> cases() {
  std::vector<RotaryCase> all;
  for (const heed_dtype dtype : {HEED_F16, HEED_BF16, HEED_F32}) {
    for (const int32_t layout : {HEED_ROPE_HALF, HEED_ROPE_INTERLEAVED}) {
      RotaryCase whole;
      whole.dtype = dtype;
      whole.layout = layout;
      all.push_back(whole);
      RotaryCase causal = whole;
      causal.num_queries = causal.num_keys = 70;
      causal.causal = HEED_CAUSAL_BOTTOM_RIGHT;
      causal.batch = 1;
      all.push_back(causal);
      RotaryCase before_the_first_key = whole;
      before_the_first_key.num_queries = 9;
      before_the_first_key.num_keys = 4;
      all.push_back(before_the_first_key);
      RotaryCase partial = whole;
      partial.head_size = 64;
      partial.rotary_size = 32;
      partial.rotary_offset = 16;
      all.push_back(partial);
      RotaryCase narrow = whole;
      narrow.head_size = 24;
      narrow.rotary_size = 10;
      narrow.rotary_offset = 3;
      all.push_back(narrow);
      RotaryCase grouped = whole;
      grouped.num_kv_heads = 1;
      grouped.epsilon = 1e-6f;
      all.push_back(grouped);
      RotaryCase with_norm = partial;
      with_norm.epsilon = 1e-3f;
      with_norm.is_self = true;
      all.push_back(with_norm);
      RotaryCase of_one_token = partial;
      of_one_token.batch = of_one_token.num_queries = of_one_token.num_keys = 1;
      of_one_token.num_heads = of_one_token.num_kv_heads = 1;
      all.push_back(of_one_token);
    }
    RotaryCase only_norm;
    only_norm.dtype = dtype;
    only_norm.layout = 0;
    only_norm.epsilon = 1e-5f;
    all.push_back(only_norm);
    RotaryCase only_alibi;
    only_alibi.dtype = dtype;
    only_alibi.layout = 0;
    only_alibi.alibi = HEED_ALIBI_ADDED;
    only_alibi.num_queries = 3;
    all.push_back(only_alibi);
    RotaryCase scaled_alibi = only_alibi;
    scaled_alibi.alibi = HEED_ALIBI_SCALED;
    scaled_alibi.causal = HEED_CAUSAL_BOTTOM_RIGHT;
    scaled_alibi.num_queries = scaled_alibi.num_keys = 40;
    all.push_back(scaled_alibi);
  }
  return all;
}

TEST_F(Positions, GiveTheReferencesNumbersWhollyOnTheDevice) {
  const Context context = make_npu_context();
  for (const RotaryCase& call : cases()) {
    const RotaryLayer layer(context.get(), call);
    property::check(layer.forward());
    EXPECT_TRUE(layer.agrees_with_reference()) << text_of(call);
  }
}

// Whatever runs on the CPU reads and writes the same arrays.
TEST_F(Positions, GiveTheReferencesNumbersOnTheCpu) {
  const Context context = make_lenient_context();
  for (const heed_dtype dtype : {HEED_F16, HEED_BF16, HEED_F32}) {
    RotaryCase call;
    call.dtype = dtype;
    call.layout = HEED_ROPE_INTERLEAVED;
    call.head_size = 24;
    call.epsilon = 1e-5f;
    const RotaryLayer layer(context.get(), call);
    property::check(layer.forward());
    EXPECT_TRUE(layer.agrees_with_reference()) << text_of(call);
    const std::string reasons = layer.explained()["operations"].dump();
    EXPECT_NE(reasons.find("RmsNorm takes only heads whose size is a multiple of 16"), std::string::npos) << reasons;
  }
}

// Queries and keys of one input are rotated together; heads whose halves are whole blocks need no other operation.
TEST_F(Positions, WholeHeadsAreOneRope) {
  const Context context = make_npu_context();
  RotaryCase call;
  call.is_self = true;
  call.num_queries = call.num_keys;
  const RotaryLayer layer(context.get(), call);
  property::check(layer.forward());
  const uint64_t ropes = ascend_sim_count("execute:RopeOperation");
  const uint64_t joined = ascend_sim_count("execute:ConcatOperation");
  const uint64_t cut = ascend_sim_count("execute:SliceOperation");
  property::check(layer.forward());
  EXPECT_EQ(ascend_sim_count("execute:RopeOperation") - ropes, 1u);
  EXPECT_EQ(ascend_sim_count("execute:ConcatOperation"), joined);
  EXPECT_EQ(ascend_sim_count("execute:SliceOperation"), cut);
}

// Halves that are no whole blocks would take zeros times the elements of the neighbouring head.
TEST_F(Positions, AnInfinityStaysInItsHead) {
  const Context context = make_npu_context();
  for (const int64_t rotary_size : {10, 16, 32, 48}) {
    RotaryCase call;
    call.dtype = HEED_BF16;
    call.head_size = 48;
    call.rotary_size = rotary_size;
    call.has_output_projection = false;
    RotaryLayer layer(context.get(), call);
    // The first head's rows of W_q have infinite products.
    layer.scale_query_head(0, std::numeric_limits<float>::infinity());
    property::check(layer.forward());
    EXPECT_TRUE(layer.is_finite_in_heads_from(1)) << rotary_size;
  }
}

// As many tokens as ATB's kernel of whole heads takes.
RotaryCase wide_heads(heed_dtype dtype, int64_t head_size) {
  RotaryCase call;
  call.dtype = dtype;
  call.head_size = head_size;
  call.batch = call.num_heads = call.num_kv_heads = 1;
  call.num_queries = call.num_keys = 64;
  return call;
}

// The attention itself runs on the CPU, since its heads have more than 256 elements.
TEST_F(Positions, WideHeadsAreRotatedOnTheDevice) {
  const Context context = make_lenient_context();
  for (const RotaryCase& call : {wide_heads(HEED_BF16, 2048), wide_heads(HEED_F16, 2050)}) {
    const RotaryLayer layer(context.get(), call);
    const uint64_t ropes = ascend_sim_count("execute:RopeOperation");
    property::check(layer.forward());
    EXPECT_EQ(ascend_sim_count("execute:RopeOperation") - ropes, 2u) << text_of(call);
    EXPECT_TRUE(layer.agrees_with_reference()) << text_of(call);
  }
}

TEST_F(Positions, WhatAtbLacksIsNamed) {
  const Context strict = make_npu_context();
  const Context lenient = make_lenient_context();
  struct Gap {
    RotaryCase call;
    const char* operation;
    const char* reason;
  };
  std::vector<Gap> gaps(4);
  gaps[0].call.epsilon = 1e-5f;
  gaps[0].call.has_layer_norm = true;
  gaps[0].operation = "project";
  gaps[0].reason = "only by their root mean square, with one weight for all heads";
  gaps[1].call.epsilon = 1e-5f;
  gaps[1].call.head_size = 24;
  gaps[1].operation = "project";
  gaps[1].reason = "heads whose size is a multiple of 16";
  gaps[2].call.epsilon = 9e-7f;
  gaps[2].operation = "project";
  gaps[2].reason = "epsilons below 1e-6";
  gaps[3].call = wide_heads(HEED_BF16, 2050);
  gaps[3].operation = "project";
  gaps[3].reason = "at most 2048 elements of a head in BF16";
  for (const Gap& gap : gaps) {
    EXPECT_TRUE(is_refused(RotaryLayer(strict.get(), gap.call).forward(),
                           {HEED_ERROR_NOT_FASTEST, {gap.operation, gap.reason}}));
    const RotaryLayer layer(lenient.get(), gap.call);
    property::check(layer.forward());
    EXPECT_TRUE(layer.agrees_with_reference()) << gap.reason;
  }
}

// The largest difference between the elements that both have, relative to the largest of them, if that is above 1.
double relative_difference(std::vector<float> results, std::vector<float> others) {
  const size_t count = std::min(results.size(), others.size());
  results.resize(count);
  others.resize(count);
  double largest = 1;
  for (const float result : results) largest = std::max(largest, std::fabs(static_cast<double>(result)));
  return difference(results, others) / largest;
}

std::vector<float> results_on_cpu(const SequenceCase& call) {
  const Context context = capi_test::make_context();
  const SequenceLayer layer(context.get(), call, HEED_F32);
  property::check(layer.forward());
  return layer.read();
}

// The case without each of its features in turn.
std::vector<SequenceCase> without_a_feature(const SequenceCase& call) {
  std::vector<SequenceCase> cases;
  const auto add = [&](auto SequenceCase::*feature) {
    SequenceCase without = call;
    without.*feature = SequenceCase().*feature;
    if (without.*feature != call.*feature) cases.push_back(without);
  };
  add(&SequenceCase::has_positions);
  add(&SequenceCase::has_query_lens);
  add(&SequenceCase::is_packed);
  add(&SequenceCase::has_rope);
  add(&SequenceCase::has_sinks);
  add(&SequenceCase::relative_bias);
  add(&SequenceCase::scoring);
  return cases;
}

// Each of these is compared with a context on the CPU, in F32 from the same 16-bit numbers.
//
// The tolerance. F16 rounds a number x by at most w abs(x), with w = 2^-11 (docs/semantics.md, "The error bound on
// Ascend"). Between a value and the result are five such roundings: of the sum and of the sum with the bias in the
// projections of values and of the output, and of the attention's output. A query and a key have two each, so that
// their products are off by 4 w. A score is the scaled sum of 32 products, whose absolute values add up to 11.2 at most
// here: as the signs of the roundings are independent, it is off by about 4 w * 11.2 / sqrt(32), and a weight, which
// also has the error of the normalizer, by twice that, 16 w. Together that is 21 w, or 0.01 of the largest result, and
// the tolerance is twice as much. It is no bound: rule 15 adds up roundings as if all of them had one sign, and allows
// up to 0.15 of the largest result.
//
// A device that ignored a feature would be seen: without it the result is another one by more than twice the tolerance.
TEST_F(Positions, InputsThatAtbLacksAreNamedAndGiveTheCpusNumbers) {
  const Context strict = make_npu_context();
  const Context lenient = make_lenient_context();
  struct Gap {
    SequenceCase call;
    const char* reason;
    const char* operation = "attention";
  };
  std::vector<Gap> gaps(8);
  // Positions change nothing by themselves.
  gaps[0].call.has_positions = gaps[0].call.has_rope = true;
  gaps[0].reason = "ATB's attention has no positions of keys that do not continue";
  gaps[1].call.has_query_lens = true;
  gaps[1].reason = "ATB's attention has no ragged batch";
  gaps[2].call.is_packed = true;
  gaps[2].reason = "ATB's attention has no ragged batch";
  gaps[3].call.relative_bias = HEED_RELATIVE_BIAS_BOTH_WAYS;
  gaps[3].reason = "ATB's attention has no relative bias";
  gaps[4].call.is_packed = gaps[4].call.has_rope = true;
  gaps[4].reason = "ATB's attention has no ragged batch";
  gaps[5].call.has_sinks = true;
  gaps[5].reason = "ATB's attention has no sinks";
  // Each element has its own weight, so that the pairs must be stored as they come.
  gaps[6].call.has_rope = true;
  gaps[6].call.scoring = HEED_SCORING_ADDITIVE;
  gaps[6].operation = "project";
  gaps[6].reason = "the device stores the first elements of interleaved pairs before the second ones";
  gaps[7].call.has_positions = true;
  gaps[7].call.relative_bias = HEED_RELATIVE_BIAS_BOTH_WAYS;
  gaps[7].reason = "ATB's attention has no positions of keys that do not continue";
  for (const Gap& gap : gaps) {
    const SequenceLayer refused(strict.get(), gap.call);
    EXPECT_TRUE(is_refused(refused.forward(), {HEED_ERROR_NOT_FASTEST, {gap.operation, gap.reason}})) << gap.reason;
    const SequenceLayer layer(lenient.get(), gap.call);
    const std::string explained = layer.explained().dump();
    EXPECT_NE(explained.find(gap.reason), std::string::npos) << explained;
    property::check(layer.forward());
    EXPECT_LE(layer.difference_from_cpu(), SequenceLayer::kTolerance) << gap.reason;
    // The rows of a packed batch are those of the padded one in the same order, cut into batch elements elsewhere.
    const std::vector<float> expected = results_on_cpu(gap.call);
    const std::vector<SequenceCase> others = without_a_feature(gap.call);
    for (size_t i = 0; i < others.size(); ++i) {
      EXPECT_GT(relative_difference(expected, results_on_cpu(others[i])), 2 * SequenceLayer::kTolerance)
          << gap.reason << ", without feature " << i;
    }
  }
}

// A layer with rotary positions, ALiBi or both, whose queries have positions other than the default. Its scores are
// smaller than those of SequenceLayer, so that kTolerance is enough for it, too.
class LayerAtPositions {
 public:
  LayerAtPositions(heed_context* context, heed_dtype dtype, int32_t alibi, bool has_rope, bool has_positions)
      : context_(context), layer_(make_layer(context, alibi, has_rope)) {
    const Dims dims = {kElements, kRows, kEmbedding};
    // In F32 and in F16 the same numbers: those that F16 has.
    const Tensor narrow = capi_test::make_random(context, dims, 1, HEED_F16);
    queries_ = capi_test::make_tensor(context, dims, dtype);
    property::check(heed_tensor_copy(queries_.get(), narrow.get()));
    output_ = capi_test::make_tensor(context, dims, dtype);
    heed_layer_inputs narrow_inputs = HEED_LAYER_INPUTS_INIT;
    narrow_inputs.queries = narrow.get();
    property::check(heed_layer_initialize(layer_.get(), &narrow_inputs, 3));
    inputs_.queries = queries_.get();
    outputs_.output = output_.get();
    if (!has_positions) return;
    positions_ =
        capi_test::make_tensor_of<int32_t>(context, {kElements, kRows}, {0, 9, 30, 31, 60, 100, 2, 12, 30, 53, 70, 75});
    sequences_.positions = positions_.get();
    inputs_.sequences = &sequences_;
  }
  LayerAtPositions(const LayerAtPositions&) = delete;
  LayerAtPositions& operator=(const LayerAtPositions&) = delete;

  heed_status forward() const { return heed_layer_forward(layer_.get(), &inputs_, nullptr, &outputs_); }
  std::vector<float> read() const { return capi_test::read_floats(context_, output_.get()); }

 private:
  static constexpr int64_t kElements = 2;
  static constexpr int64_t kRows = 6;
  static constexpr int64_t kEmbedding = 64;

  // With eight heads the slopes are 1/2, 1/4 and so on.
  static Layer make_layer(heed_context* context, int32_t alibi, bool has_rope) {
    heed_rope_options rope = HEED_ROPE_OPTIONS_INIT;
    rope.layout = HEED_ROPE_HALF;
    heed_multi_head_attention_options options = HEED_MULTI_HEAD_ATTENTION_OPTIONS_INIT;
    options.num_hiddens = kEmbedding;
    options.num_heads = 8;
    options.alibi = alibi;
    if (has_rope) options.rope = &rope;
    return capi_test::make_multi_head(context, options);
  }

  heed_context* context_;
  Layer layer_;
  Tensor queries_;
  Tensor positions_;
  Tensor output_;
  heed_sequence_inputs sequences_ = HEED_SEQUENCE_INPUTS_INIT;
  heed_layer_inputs inputs_ = HEED_LAYER_INPUTS_INIT;
  heed_layer_outputs outputs_ = HEED_LAYER_OUTPUTS_INIT;
};

TEST_F(Positions, AlibiAndRotaryPositionsFollowPositionsOfQueries) {
  const Context strict = make_npu_context();
  const Context lenient = make_lenient_context();
  const auto on_cpu = [](int32_t alibi, bool has_rope, bool has_positions) {
    const Context context = capi_test::make_context();
    const LayerAtPositions layer(context.get(), HEED_F32, alibi, has_rope, has_positions);
    property::check(layer.forward());
    return layer.read();
  };
  for (const int32_t alibi : {HEED_ALIBI_NONE, HEED_ALIBI_ADDED, HEED_ALIBI_SCALED}) {
    for (const bool has_rope : {false, true}) {
      if (alibi == HEED_ALIBI_NONE && !has_rope) continue;
      const std::string what = "alibi " + std::to_string(alibi) + ", rotary positions " + std::to_string(has_rope);
      const LayerAtPositions refused(strict.get(), HEED_F16, alibi, has_rope, true);
      EXPECT_TRUE(is_refused(
          refused.forward(),
          {HEED_ERROR_NOT_FASTEST, {"attention", "ATB's attention has no positions of keys that do not continue"}}));
      const LayerAtPositions layer(lenient.get(), HEED_F16, alibi, has_rope, true);
      property::check(layer.forward());
      const std::vector<float> expected = on_cpu(alibi, has_rope, true);
      EXPECT_LE(relative_difference(expected, layer.read()), SequenceLayer::kTolerance) << what;
      // Without the positions, and without each of what depends on them.
      std::vector<std::vector<float>> others = {on_cpu(alibi, has_rope, false)};
      if (alibi != HEED_ALIBI_NONE) others.push_back(on_cpu(HEED_ALIBI_NONE, has_rope, true));
      if (has_rope) others.push_back(on_cpu(alibi, false, true));
      for (size_t i = 0; i < others.size(); ++i) {
        EXPECT_GT(relative_difference(expected, others[i]), 2 * SequenceLayer::kTolerance)
            << what << ", without feature " << i;
      }
    }
  }
}

// Rows of queries beyond their length are 0, although the projection of the output has a bias.
TEST_F(Positions, RowsBeyondTheLengthsOfQueriesAreZero) {
  const Context context = make_lenient_context();
  SequenceCase call;
  call.has_query_lens = true;
  const SequenceLayer layer(context.get(), call);
  property::check(layer.forward());
  EXPECT_TRUE(layer.padding_is_zero());
}

// Angles of consecutive positions are computed and uploaded once, whatever the numbers of queries and keys.
TEST_F(Positions, AnglesAreUploadedOnce) {
  const Context context = make_npu_context();
  RotaryCase call;
  const RotaryLayer layer(context.get(), call);
  property::check(layer.forward());
  call.num_queries = 1;
  const RotaryLayer of_one_query(context.get(), call);
  property::check(of_one_query.forward());
  property::check(heed_context_synchronize(context.get()));
  const uint64_t uploads = ascend_sim_count("memcpy_h2d");
  property::check(layer.forward());
  property::check(of_one_query.forward());
  EXPECT_EQ(ascend_sim_count("memcpy_h2d"), uploads);
  EXPECT_TRUE(layer.agrees_with_reference());
  EXPECT_TRUE(of_one_query.agrees_with_reference());
}

// Other frequencies, sizes, and more positions than the table has, are other angles.
TEST_F(Positions, AnglesAreKeptByFrequenciesAndSizes) {
  const Context context = make_npu_context();
  for (const float base : {10000.0f, 500.0f, 10000.0f}) {
    for (const int64_t rotary_size : {32, 6}) {
      for (const int64_t num_keys : {6, 300, 6}) {
        RotaryCase call;
        call.base = base;
        call.rotary_size = rotary_size;
        call.num_keys = num_keys;
        call.num_queries = 2;
        const RotaryLayer layer(context.get(), call);
        property::check(layer.forward());
        EXPECT_TRUE(layer.agrees_with_reference()) << text_of(call) << ", base " << base;
      }
    }
  }
}

// A part of each head, and one change of the layer or of its call, by which angles or indices of gathers are others.
std::vector<RotaryCase> cases_of_other_constants() {
  RotaryCase first;
  first.head_size = 48;
  first.rotary_offset = 8;
  first.rotary_size = 12;
  std::vector<RotaryCase> all = {first};
  const auto change = [&](auto RotaryCase::*member, auto value) {
    all.push_back(first);
    all.back().*member = static_cast<std::remove_reference_t<decltype(first.*member)>>(value);
  };
  change(&RotaryCase::layout, HEED_ROPE_INTERLEAVED);
  change(&RotaryCase::rotary_size, 20);
  change(&RotaryCase::rotary_offset, 12);
  change(&RotaryCase::base, 500);
  change(&RotaryCase::attention_factor, 0.25);
  change(&RotaryCase::last_factor, 1.0 / 2000);
  change(&RotaryCase::batch, 3);
  change(&RotaryCase::num_heads, 4);
  change(&RotaryCase::num_keys, 300);
  change(&RotaryCase::head_size, 64);
  return all;
}

TEST_F(Positions, ConstantsAreKeptByAllThatTheyDependOn) {
  const Context context = make_npu_context();
  const std::vector<RotaryCase> calls = cases_of_other_constants();
  for (size_t i = 0; i < calls.size(); ++i) {
    for (const RotaryCase& call : {calls[i], calls[0]}) {
      const RotaryLayer layer(context.get(), call);
      property::check(layer.forward());
      EXPECT_TRUE(layer.agrees_with_reference()) << text_of(call);
    }
  }
}

// The planes of ALiBi follow from sizes and slopes: they are made once.
TEST_F(Positions, AlibiIsUploadedOnce) {
  const Context context = make_npu_context();
  RotaryCase call;
  call.layout = 0;
  call.alibi = HEED_ALIBI_ADDED;
  const RotaryLayer layer(context.get(), call);
  property::check(layer.forward());
  property::check(heed_context_synchronize(context.get()));
  const uint64_t uploads = ascend_sim_count("memcpy_h2d");
  property::check(layer.forward());
  EXPECT_EQ(ascend_sim_count("memcpy_h2d"), uploads);
}

// Slopes of another layer, another alignment and other lengths are other planes.
TEST_F(Positions, AlibiPlanesAreKeptBySlopesAndPositions) {
  const Context context = make_npu_context();
  RotaryCase call;
  call.layout = 0;
  for (const int32_t alibi : {HEED_ALIBI_ADDED, HEED_ALIBI_SCALED, HEED_ALIBI_ADDED}) {
    for (const int64_t num_heads : {2, 4}) {
      for (const int64_t num_queries : {6, 3}) {
        call.alibi = alibi;
        call.num_heads = call.num_kv_heads = num_heads;
        call.num_queries = num_queries;
        const RotaryLayer layer(context.get(), call);
        property::check(layer.forward());
        EXPECT_TRUE(layer.agrees_with_reference()) << text_of(call);
      }
    }
  }
}

// Rope takes its runner from a pool of the context, where a destroyed operation leaves it with a pointer into its thread.
// So threads must not get each other's runners, however many there are.
TEST_F(Positions, ThreadsDoNotShareRunnersOfRope) {
  const Context context = make_npu_context();
  RotaryCase call;
  call.dtype = HEED_F32;
  call.layout = HEED_ROPE_INTERLEAVED;
  call.rotary_size = 10;
  call.epsilon = 1e-5f;
  const RotaryLayer layer(context.get(), call);
  property::check(layer.forward());
  const uint64_t created = ascend_sim_count("create_operation:RopeOperation");
  // Each thread has some nine operations, and at most 2048 are kept.
  for (int i = 0; i < 300; ++i) std::thread([&layer] { property::check(layer.forward()); }).join();
  property::check(layer.forward());
  EXPECT_TRUE(layer.agrees_with_reference());
  EXPECT_GT(ascend_sim_count("create_operation:RopeOperation"), created + 300) << "the first thread needs another";
}

}  // namespace
}  // namespace heed::ascend_test
