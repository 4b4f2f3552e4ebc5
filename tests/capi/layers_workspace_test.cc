// SPDX-License-Identifier: Apache-2.0
// How much workspace a call needs, and what that depends on.
#include <gtest/gtest.h>

#include <cstdint>
#include <iterator>
#include <vector>

#include "capi/support/attention_call.h"
#include "support/platform/memory.h"

namespace heed::capi_test {
namespace {

int64_t last_dim(const heed_tensor* tensor) { return heed_tensor_dim(tensor, heed_tensor_rank(tensor) - 1); }

TEST(WorkspaceSize, NeverShrinksWhenACallGrows) {
  const std::vector<int64_t> sizes = {0, 1, 2, 7, 33, 130, 600};
  for (const Kind kind : kKinds) {
    const auto size_of = [&](int64_t b, int64_t q, int64_t k) {
      static AttentionCall calls[] = {AttentionCall(Kind::MultiHead),       AttentionCall(Kind::DotProductRank3),
                                      AttentionCall(Kind::DotProductRank4), AttentionCall(Kind::MultiHeadAdditive),
                                      AttentionCall(Kind::Additive),        AttentionCall(Kind::General)};
      const AttentionCall& call = calls[static_cast<size_t>(kind)];
      const bool has_heads = kind == Kind::DotProductRank4;
      const auto shape = [&](int64_t heads, int64_t length, int64_t size) {
        return make_shape_only(call.context.get(), has_heads ? Dims{b, heads, length, size} : Dims{b, length, size});
      };
      const Tensor queries = shape(4, q, last_dim(call.inputs.queries));
      const Tensor keys = shape(2, k, last_dim(call.inputs.keys));
      const Tensor values = shape(2, k, last_dim(call.inputs.values));
      const Tensor output = shape(4, q, last_dim(call.outputs.output));
      heed_layer_inputs inputs = HEED_LAYER_INPUTS_INIT;
      inputs.queries = queries.get();
      inputs.keys = keys.get();
      inputs.values = values.get();
      heed_layer_outputs outputs = HEED_LAYER_OUTPUTS_INIT;
      outputs.output = output.get();
      size_t num_bytes = 0;
      check(heed_layer_workspace_size(call.layer.get(), &inputs, &outputs, &num_bytes));
      return num_bytes;
    };
    for (const int64_t b : {0, 1, 2, 5}) {
      for (size_t i = 0; i < sizes.size(); ++i) {
        for (size_t j = 0; j < sizes.size(); ++j) {
          const size_t here = size_of(b, sizes[i], sizes[j]);
          EXPECT_LE(here, size_of(b + 1, sizes[i], sizes[j]));
          if (i + 1 < sizes.size()) {
            EXPECT_LE(here, size_of(b, sizes[i + 1], sizes[j]));
          }
          if (j + 1 < sizes.size()) {
            EXPECT_LE(here, size_of(b, sizes[i], sizes[j + 1]));
          }
        }
      }
    }
  }
}

// The largest size over all ISAs. A larger one is memory that each user's workspaces would take from then on.
TEST(WorkspaceSize, IsNotAboveWhatIsKnown) {
  if (can_poison()) GTEST_SKIP() << "poisoned bytes lie between the parts of scratch memory";
  struct Known {
    Sizes sizes;
    size_t num_bytes[std::size(kEveryKind)];  // in the order of kEveryKind
  };
  const Known known[] = {
      {{1, 1, 1}, {8511, 8511, 8511, 9791, 9023, 9215, 1663, 63, 63, 9855, 9855, 255, 1727, 63, 8639, 8703, 8767}},
      {{1, 1, 40},
       {27711, 25151, 29695, 22847, 23743, 26303, 1663, 63, 63, 29183, 29183, 255, 1727, 63, 8639, 8703, 27519}},
      {{1, 1, 2000},
       {364351, 236223, 241023, 141887, 229055, 284415, 1663, 63, 63, 397183, 397183, 255, 1727, 63, 8639, 8703,
        364159}},
      {{2, 3, 5}, {9279, 8511, 8511, 10047, 9791, 9407, 1983, 63, 63, 10687, 10751, 255, 2239, 63, 9407, 9599, 10047}},
      {{2, 16, 16},
       {12351, 8511, 8511, 10943, 12863, 9919, 3647, 63, 63, 13887, 20287, 255, 4927, 63, 14399, 15423, 16447}},
      {{1, 17, 33},
       {94847, 90559, 91775, 23039, 24383, 91775, 2687, 63, 63, 96447, 96447, 255, 3391, 63, 17855, 18431, 96895}},
      {{8, 64, 64},
       {170495, 105215, 105215, 52031, 95295, 117887, 17983, 63, 63, 172543, 280127, 255, 38463, 63, 203007, 219391,
        235775}},
      {{1, 128, 128},
       {138623, 121279, 122495, 68159, 75839, 124735, 9791, 63, 63, 141695, 141695, 255, 14911, 63, 146559, 150655,
        154751}},
      {{3, 130, 600},
       {367615, 224063, 227711, 159487, 251327, 267647, 17983, 63, 63, 378239, 484351, 255, 33599, 63, 207871, 220351,
        417279}},
      {{1, 512, 512},
       {269695, 203199, 204415, 146495, 184383, 215871, 17983, 63, 63, 278911, 278911, 255, 38463, 63, 302207, 318591,
        334975}},
      {{2, 4, 5000},
       {895487, 252031, 278783, 302015, 741439, 492223, 2111, 63, 63, 976319, 1085887, 255, 2431, 63, 9791, 10047,
        896063}},
      {{40, 1, 300},
       {882367, 112063, 116863, 342655, 871487, 400255, 4159, 63, 63, 887999, 1145535, 255, 5759, 63, 15935, 17215,
        887039}},
  };
  heed_context_options options = HEED_CONTEXT_OPTIONS_INIT;
  options.num_threads = 1;
  for (const Known& expected : known) {
    for (size_t i = 0; i < std::size(kEveryKind); ++i) {
      const AttentionCall call(make_context(&options), kEveryKind[i], expected.sizes);
      EXPECT_LE(call.workspace_size(), expected.num_bytes[i])
          << "kind " << i << ", B " << expected.sizes.batch << ", Q " << expected.sizes.num_queries << ", K "
          << expected.sizes.num_keys;
    }
  }
}

TEST(WorkspaceSize, OneForTheLargestCallServesSmallerOnes) {
  for (const Kind kind : kEveryKind) {
    const AttentionCall largest(kind, {.batch = 3, .num_queries = 40, .num_keys = 70});
    const Workspace workspace = make_workspace(largest.context.get(), largest.workspace_size());
    for (const Sizes sizes : {Sizes{3, 40, 70}, Sizes{3, 40, 1}, Sizes{3, 1, 70}, Sizes{1, 40, 70}, Sizes{1, 1, 1},
                              Sizes{2, 33, 64}, Sizes{0, 40, 70}, Sizes{3, 0, 70}, Sizes{3, 40, 0}}) {
      const AttentionCall call(kind, sizes);
      EXPECT_EQ(call.forward(workspace.get()), HEED_OK) << heed_last_error();
    }
  }
}

TEST(WorkspaceSize, DoesNotDependOnStridesSharingOrData) {
  AttentionCall call(Kind::DotProductRank3, {.batch = 2, .num_queries = 9, .num_keys = 9});
  call.inputs.values = call.random({2, 9, 4}, 5);
  call.outputs.output = call.zeros({2, 9, 4});
  const size_t expected = call.workspace_size();

  call.inputs.keys = nullptr;
  call.inputs.values = nullptr;
  EXPECT_EQ(call.workspace_size(), expected) << "keys and values that are the queries";
  const heed_tensor* const queries = call.inputs.queries;
  call.inputs.keys = queries;
  call.inputs.values = queries;
  EXPECT_EQ(call.workspace_size(), expected) << "one tensor as all three inputs";
  call.inputs.keys = call.keep(make_transposed(call.zeros({4, 9, 2}), {2, 1, 0}));
  EXPECT_EQ(call.workspace_size(), expected) << "keys with other strides";
  call.inputs.keys = call.keep(make_view(call.zeros({4}), {2, 9, 4}, {0, 0, -1}, 3));
  EXPECT_EQ(call.workspace_size(), expected) << "keys that repeat and run backwards";
  call.outputs.output = call.keep(make_transposed(call.zeros({9, 2, 4}), {1, 0, 2}));
  EXPECT_EQ(call.workspace_size(), expected) << "an output with other strides";
  call.inputs.queries = call.shape_only({2, 9, 4});
  call.inputs.keys = call.shape_only({2, 9, 4});
  call.inputs.values = call.shape_only({2, 9, 4});
  call.outputs.output = call.shape_only({2, 9, 4});
  EXPECT_EQ(call.workspace_size(), expected) << "shapes without data";
}

TEST(WorkspaceSize, IsTheSizeThatExplainReports) {
  for (const Kind kind : kEveryKind) {
    // heed_layer_explain reads the offsets of a packed batch, heed_layer_workspace_size does not: it may be larger.
    if (kind == Kind::Packed) continue;
    const AttentionCall call(kind);
    size_t num_bytes = 0;
    check(heed_layer_explain(call.layer.get(), &call.inputs, &call.outputs, nullptr, 0, &num_bytes));
    std::string text(num_bytes, '\0');
    check(heed_layer_explain(call.layer.get(), &call.inputs, &call.outputs, text.data(), text.size(), nullptr));
    EXPECT_NE(text.find("\"workspace_bytes\": " + std::to_string(call.workspace_size())), std::string::npos) << text;
  }
}

TEST(WorkspaceSize, WithoutOutputsIsForTheOutputAlone) {
  for (const Kind kind : kEveryKind) {
    AttentionCall call(kind);
    call.outputs.weights = call.outputs.log_sum_exp = nullptr;
    size_t num_bytes = 0;
    check(heed_layer_workspace_size(call.layer.get(), &call.inputs, nullptr, &num_bytes));
    EXPECT_EQ(num_bytes, call.workspace_size());
    const Workspace workspace = make_workspace(call.context.get(), num_bytes);
    EXPECT_EQ(call.forward(workspace.get()), HEED_OK) << heed_last_error();
  }
}

// heed.h says so.
TEST(WorkspaceSize, OfALinearLayerGrowsWithItsRowsUpToABlockAndOfDropoutNever) {
  heed_context_options context_options = HEED_CONTEXT_OPTIONS_INIT;
  context_options.num_threads = 2;
  const Context context = make_context(&context_options);
  heed_linear_options linear_options = HEED_LINEAR_OPTIONS_INIT;
  linear_options.output_size = 3;
  heed_dropout_options dropout_options = HEED_DROPOUT_OPTIONS_INIT;
  dropout_options.dropout = 0.5F;
  const Layer linear = make_linear(context.get(), linear_options);
  const Layer dropout = make_dropout(context.get(), dropout_options);
  heed_layer_inputs inputs = HEED_LAYER_INPUTS_INIT;
  const Tensor row = make_shape_only(context.get(), {1, 4});
  inputs.queries = row.get();
  check(heed_layer_initialize(linear.get(), &inputs, 1));
  const auto size_of = [&](const Layer& layer, int64_t num_rows) {
    const Tensor rows = make_shape_only(context.get(), {num_rows, 4});
    inputs.queries = rows.get();
    size_t num_bytes = 0;
    check(heed_layer_workspace_size(layer.get(), &inputs, nullptr, &num_bytes));
    return num_bytes;
  };
  EXPECT_LT(size_of(linear, 1), size_of(linear, 5000));
  EXPECT_EQ(size_of(linear, 10000000), size_of(linear, 20000000));
  EXPECT_EQ(size_of(dropout, 1), size_of(dropout, 20000000));
}

// Storing the hidden elements of every pair of query and key would take 600 * 600 * 5 floats. The kernel's own scratch
// has reached its largest size: it computes at most 256 queries at a time.
TEST(WorkspaceSize, OfAdditiveScoresGrowsWithQueriesAndKeysNotWithTheirProduct) {
  const AttentionCall some(Kind::Additive, {.batch = 1, .num_queries = 600, .num_keys = 600});
  const AttentionCall twice(Kind::Additive, {.batch = 1, .num_queries = 1200, .num_keys = 1200});
  EXPECT_LE(twice.workspace_size() - some.workspace_size(), 2 * (size_t{600} * 5 * sizeof(float) + 64));
}

// Such a small call runs on the caller's thread alone, so its workspace does not grow with the number of threads.
TEST(WorkspaceSize, IsSmallForSmallCalls) {
  for (const int32_t num_threads : {1, 2, 16, 1024}) {
    heed_context_options options = HEED_CONTEXT_OPTIONS_INIT;
    options.num_threads = num_threads;
    for (const Kind kind : kEveryKind) {
      const AttentionCall call(make_context(&options), kind, {.batch = 2, .num_queries = 4, .num_keys = 4});
      const size_t num_bytes = call.workspace_size();
      EXPECT_LT(num_bytes, size_t{64} << 10) << num_threads << " threads";
      if (num_threads > 16) continue;
      const Workspace workspace = make_workspace(call.context.get(), num_bytes);
      ASSERT_EQ(call.forward(workspace.get()), HEED_OK) << heed_last_error();
      const std::vector<uint8_t> with_workspace = call.read_outputs();
      ASSERT_EQ(call.forward(), HEED_OK) << heed_last_error();
      EXPECT_EQ(call.read_outputs(), with_workspace);
      // heed_layer_workspace_size does not read the offsets of a packed batch, so a call may need less.
      if (num_bytes <= 64 || kind == Kind::Packed) continue;
      const Workspace smaller = make_workspace(call.context.get(), num_bytes - 1);
      EXPECT_EQ(call.forward(smaller.get()), HEED_ERROR_WORKSPACE_TOO_SMALL);
    }
  }
}

// The workspace is written before all inputs have been read.
TEST(Workspace, ThatContainsATensorOfTheCallIsRefused) {
  AttentionCall call(Kind::MultiHead);
  const size_t num_bytes = call.workspace_size();
  std::vector<float> memory(num_bytes / sizeof(float) + 1024);
  const auto wrapped = [&](float* begin) {
    heed_workspace* workspace = nullptr;
    check(heed_workspace_wrap(call.context.get(), begin, num_bytes, &workspace));
    return Workspace(workspace);
  };
  const heed_tensor* queries = call.inputs.queries;
  const int64_t dims[] = {heed_tensor_dim(queries, 0), heed_tensor_dim(queries, 1), heed_tensor_dim(queries, 2)};
  heed_tensor* inside = nullptr;
  float* const elements = memory.data() + 512;
  check(heed_tensor_wrap(call.context.get(), HEED_F32, 3, dims, nullptr, elements, nullptr, nullptr, &inside));
  const Tensor owner(inside);
  call.inputs.queries = inside;
  const Workspace overlapping = wrapped(memory.data());
  EXPECT_EQ(heed_layer_forward(call.layer.get(), &call.inputs, overlapping.get(), &call.outputs),
            HEED_ERROR_INVALID_ARGUMENT);
  EXPECT_STREQ(heed_last_error(), "workspace shares memory with inputs->queries, expected separate memory");
  // Directly after the queries, sharing no byte.
  const Workspace after = wrapped(elements + heed_tensor_num_elements(inside));
  EXPECT_EQ(heed_layer_forward(call.layer.get(), &call.inputs, after.get(), &call.outputs), HEED_OK);
}

}  // namespace
}  // namespace heed::capi_test
