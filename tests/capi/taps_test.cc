// SPDX-License-Identifier: Apache-2.0
// Taps: the weights and log-sum-exps of attentions inside a layer, by their dotted names.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "capi/support/attention_call.h"
#include "capi/support/refusal.h"

namespace heed::capi_test {
namespace {

// A tap of the call, with both tensors.
class Tapped {
 public:
  Tapped(const AttentionCall& call, const char* child) {
    check(
        heed_layer_create_tap(call.layer.get(), &call.inputs, child, HEED_WANT_WEIGHTS | HEED_WANT_LOG_SUM_EXP, &tap));
    weights = Tensor(tap.weights);
    log_sum_exp = Tensor(tap.log_sum_exp);
  }

  heed_layer_tap tap = HEED_LAYER_TAP_INIT;
  Tensor weights;
  Tensor log_sum_exp;
};

heed_status forward(const AttentionCall& call, const std::vector<const heed_layer_tap*>& taps) {
  heed_layer_outputs outputs = call.outputs;
  outputs.taps = taps.data();
  outputs.num_taps = static_cast<int64_t>(taps.size());
  return heed_layer_forward(call.layer.get(), &call.inputs, nullptr, &outputs);
}

Layer child_of(const AttentionCall& call, const char* name) {
  heed_layer* made = nullptr;
  check(heed_layer_child(call.layer.get(), name, &made));
  return Layer(made);
}

// The rows that layers.1 reads are the output of layers.0, so its attention by itself gives what the tap gives.
TEST(Taps, GiveWhatTheAttentionByItselfGives) {
  AttentionCall call(Kind::Encoder);
  check(call.forward());
  const std::vector<uint8_t> untapped = call.read_outputs();
  const Tapped first(call, "layers.0.self_attention");
  const Tapped second(call, "layers.1.self_attention");
  ASSERT_EQ(forward(call, {&second.tap, &first.tap}), HEED_OK) << heed_last_error();
  EXPECT_EQ(call.read_outputs(), untapped);

  heed_layer_inputs inputs = call.inputs;
  Tensor rows;
  for (const auto& [name, tapped] : {std::pair{"layers.0", &first}, {"layers.1", &second}}) {
    SCOPED_TRACE(name);
    heed_layer_outputs outputs = HEED_LAYER_OUTPUTS_INIT;
    const Layer attention = child_of(call, (std::string(name) + ".self_attention").c_str());
    check(heed_layer_create_outputs(attention.get(), &inputs, HEED_WANT_WEIGHTS | HEED_WANT_LOG_SUM_EXP, &outputs));
    const Tensor weights(outputs.weights);
    const Tensor log_sum_exp(outputs.log_sum_exp);
    check(heed_layer_forward(attention.get(), &inputs, nullptr, &outputs));
    EXPECT_EQ(read_bytes(tapped->weights.get()), read_bytes(weights.get()));
    EXPECT_EQ(read_bytes(tapped->log_sum_exp.get()), read_bytes(log_sum_exp.get()));

    const Layer layer = child_of(call, name);
    heed_layer_outputs of_layer = HEED_LAYER_OUTPUTS_INIT;
    check(heed_layer_create_outputs(layer.get(), &inputs, HEED_WANT_OUTPUT, &of_layer));
    Tensor next(of_layer.output);
    check(heed_layer_forward(layer.get(), &inputs, nullptr, &of_layer));
    rows = std::move(next);
    inputs.queries = rows.get();
  }
}

TEST(Taps, OfADecoderHaveBothAttentions) {
  AttentionCall call(Kind::Decoder);
  const Tapped self(call, "layers.0.self_attention");
  const Tapped cross(call, "layers.0.cross_attention");
  ASSERT_EQ(forward(call, {&self.tap, &cross.tap}), HEED_OK) << heed_last_error();
  const Dims queries = dims_of(call.inputs.queries);
  const Dims keys = dims_of(call.inputs.keys);
  EXPECT_EQ(dims_of(self.weights.get()), (Dims{queries[0], 2, queries[1], queries[1]}));
  EXPECT_EQ(dims_of(cross.weights.get()), (Dims{queries[0], 2, queries[1], keys[1]}));
  // Each row of weights sums to 1.
  const std::vector<float> weights = read_elements<float>(cross.weights.get());
  for (size_t row = 0; row < weights.size(); row += static_cast<size_t>(keys[1])) {
    float sum = 0;
    for (int64_t k = 0; k < keys[1]; ++k) sum += weights[row + static_cast<size_t>(k)];
    EXPECT_NEAR(sum, 1, 1e-5F);
  }
}

TEST(Taps, AreRefusedByTheirNumberAndMember) {
  AttentionCall call(Kind::Encoder);
  const Tapped good(call, "layers.0.self_attention");
  const auto refused = [&](heed_layer_tap tap, heed_status status, const std::vector<std::string>& words) {
    EXPECT_TRUE(is_refused(forward(call, {&good.tap, &tap}), {status, words}));
  };
  heed_layer_tap tap = good.tap;
  tap.child = "layers.7.self_attention";
  refused(tap, HEED_ERROR_NOT_FOUND, {"outputs->taps[1]->child", "layers.7.self_attention", "layers.1"});
  tap.child = "layers.1.norm_1";
  refused(tap, HEED_ERROR_INVALID_ARGUMENT, {"outputs->taps[1]->child", "layers.1.norm_1", "no attention"});
  tap.child = nullptr;
  refused(tap, HEED_ERROR_INVALID_ARGUMENT, {"outputs->taps[1]->child", "NULL"});
  tap.child = "layers.1.self_attention";
  refused(tap, HEED_ERROR_INVALID_ARGUMENT, {"outputs->taps[1]->weights shares memory with outputs->taps[0]->weights"});
  tap.weights = tap.log_sum_exp;
  refused(tap, HEED_ERROR_INVALID_ARGUMENT, {"outputs->taps[1]->weights has dims", "expected"});
  tap.weights = tap.log_sum_exp = nullptr;
  refused(tap, HEED_ERROR_INVALID_ARGUMENT, {"outputs->taps[1] has no tensor"});

  heed_layer_outputs outputs = call.outputs;
  outputs.num_taps = 1;
  EXPECT_TRUE(is_refused(heed_layer_forward(call.layer.get(), &call.inputs, nullptr, &outputs),
                         {HEED_ERROR_INVALID_ARGUMENT, {"outputs->num_taps is 1", "outputs->taps is NULL"}}));
  const heed_layer_tap* none = nullptr;
  outputs.taps = &none;
  EXPECT_TRUE(is_refused(heed_layer_forward(call.layer.get(), &call.inputs, nullptr, &outputs),
                         {HEED_ERROR_INVALID_ARGUMENT, {"outputs->taps[0]", "NULL"}}));
}

TEST(Taps, AreMadeForAttentionsAlone) {
  const AttentionCall call(Kind::Encoder);
  heed_layer_tap tap = HEED_LAYER_TAP_INIT;
  const auto make = [&](const char* child, int32_t wanted) {
    return heed_layer_create_tap(call.layer.get(), &call.inputs, child, wanted, &tap);
  };
  EXPECT_TRUE(is_refused(make("layers.0.feed_forward", HEED_WANT_WEIGHTS),
                         {HEED_ERROR_INVALID_ARGUMENT, {"child", "layers.0.feed_forward", "no attention"}}));
  EXPECT_TRUE(is_refused(make("layers.9", HEED_WANT_WEIGHTS), {HEED_ERROR_NOT_FOUND, {"child", "layers.9"}}));
  EXPECT_TRUE(is_refused(make("layers.0.self_attention", HEED_WANT_OUTPUT),
                         {HEED_ERROR_INVALID_ARGUMENT, {"wanted is 1", "HEED_WANT_WEIGHTS"}}));
  EXPECT_EQ(tap.child, nullptr);
  EXPECT_EQ(tap.weights, nullptr);
  const Tensor given = make_tensor(call.context.get(), {1});
  tap.weights = given.get();
  EXPECT_TRUE(is_refused(make("layers.0.self_attention", HEED_WANT_WEIGHTS),
                         {HEED_ERROR_INVALID_ARGUMENT, {"tap->weights is set"}}));
}

TEST(Taps, OfAPackedBatchHaveNoWeights) {
  const AttentionCall call(Kind::Encoder);
  const Tensor rows = make_random(call.context.get(), {7, 8}, 3);
  const Tensor offsets = make_tensor_of<int32_t>(call.context.get(), {3}, {0, 5, 7});
  heed_sequence_inputs sequences = HEED_SEQUENCE_INPUTS_INIT;
  sequences.query_offsets = offsets.get();
  heed_layer_inputs inputs = HEED_LAYER_INPUTS_INIT;
  inputs.queries = rows.get();
  inputs.sequences = &sequences;
  heed_layer_tap tap = HEED_LAYER_TAP_INIT;
  const auto make = [&](int32_t wanted) {
    return heed_layer_create_tap(call.layer.get(), &inputs, "layers.0.self_attention", wanted, &tap);
  };
  EXPECT_TRUE(is_refused(make(HEED_WANT_WEIGHTS), {HEED_ERROR_UNSUPPORTED, {"HEED_WANT_WEIGHTS", "packs the batch"}}));
  ASSERT_EQ(make(HEED_WANT_LOG_SUM_EXP), HEED_OK) << heed_last_error();
  const Tensor log_sum_exp(tap.log_sum_exp);
  EXPECT_EQ(dims_of(log_sum_exp.get()), (Dims{2, 7}));

  heed_layer_outputs outputs = HEED_LAYER_OUTPUTS_INIT;
  check(heed_layer_create_outputs(call.layer.get(), &inputs, HEED_WANT_OUTPUT, &outputs));
  const Tensor output(outputs.output);
  const heed_layer_tap* list[] = {&tap};
  outputs.taps = list;
  outputs.num_taps = 1;
  EXPECT_EQ(heed_layer_forward(call.layer.get(), &inputs, nullptr, &outputs), HEED_OK) << heed_last_error();
  const Tensor weights = make_tensor(call.context.get(), {2, 7, 7});
  tap.weights = weights.get();
  EXPECT_TRUE(is_refused(heed_layer_forward(call.layer.get(), &inputs, nullptr, &outputs),
                         {HEED_ERROR_UNSUPPORTED, {"outputs->taps[0]->weights is set", "packs the batch"}}));
}

}  // namespace
}  // namespace heed::capi_test
