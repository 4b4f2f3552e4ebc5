// SPDX-License-Identifier: Apache-2.0
// Embeddings: rule 18. Their results are exact, or rounded once.
#include <gtest/gtest.h>

#include <vector>

#include "property/support/device.h"
#include "property/support/guarded_workspace.h"
#include "support/samples.h"

namespace heed::property {
namespace {

struct Looked {
  std::vector<double> values;
  Dims dims;
};

// The rows of the table by the ids, in `dtype`.
Looked look_up(const heed_embedding_options& options, const Input& table, const Input& ids, heed_dtype dtype,
               const Dims& strides, bool with_workspace) {
  return on_device([&](Fallback fallback) {
    const Context context = make_context(fallback);
    heed_layer* made = nullptr;
    check(heed_embedding_create(context.get(), &options, &made));
    const Layer layer(made);
    check(heed_layer_set_parameter(made, "weight", HostTensor(context.get(), table).handle()));
    const HostTensor queries(context.get(), ids);
    heed_layer_inputs inputs = HEED_LAYER_INPUTS_INIT;
    inputs.queries = queries.handle();
    Dims dims = ids.contents.dims;
    dims.push_back(options.embedding_size);
    const HostTensor output(context.get(), dtype, dims, strides);
    heed_layer_outputs outputs = HEED_LAYER_OUTPUTS_INIT;
    outputs.output = output.handle();
    size_t num_bytes = 0;
    check(heed_layer_workspace_size(made, &inputs, &outputs, &num_bytes));
    const GuardedWorkspace workspace = with_workspace ? GuardedWorkspace(context.get(), num_bytes) : GuardedWorkspace();
    check(heed_layer_forward(made, &inputs, workspace.get(), &outputs));
    EXPECT_TRUE(output.padding_is_untouched());
    EXPECT_TRUE(queries.input_is_untouched());
    return Looked{output.read().values, dims};
  });
}

TEST(Embedding, GivesTheRowsOfItsTable) {
  Random random(7201);
  for (int64_t round = 0; round < num_rounds(600) && !HasFailure(); ++round) {
    SCOPED_TRACE(round);
    heed_embedding_options options = HEED_EMBEDDING_OPTIONS_INIT;
    options.num_embeddings = random.one_of(std::vector<int64_t>{1, 2, 17, 300});
    options.embedding_size = random.one_of(std::vector<int64_t>{1, 3, 16, 33});
    options.padding_index = random.below(options.num_embeddings + 1) - 1;
    if (random.chance(0.5)) options.scale = static_cast<float>(random.uniform(-3.0, 3.0));
    const heed_dtype table_dtype = random.one_of(kFloats);
    const Dims table_dims = {options.num_embeddings, options.embedding_size};
    const Input table = make_input(random_array(table_dims, random), table_dtype,
                                   make_strides(random.one_of(kReadable), table_dims, random));
    Dims dims;
    const int64_t rank = random.below(8);
    for (int64_t axis = 0; axis < rank; ++axis) dims.push_back(random.chance(0.05) ? 0 : 1 + random.below(3));
    Array contents = filled(dims, 0.0);
    for (double& id : contents.values) id = static_cast<double>(random.below(options.num_embeddings));
    const auto layout = dims.empty() ? Layout::RowMajor : random.one_of(kReadable);
    const Input ids = make_input(std::move(contents), random.one_of<heed_dtype>({HEED_I32, HEED_I64}),
                                 make_strides(layout, dims, random));
    const heed_dtype dtype = random.chance(0.5) ? table_dtype : HEED_F32;
    Dims output_dims = dims;
    output_dims.push_back(options.embedding_size);
    const Looked looked = look_up(options, table, ids, dtype,
                                  make_strides(random.one_of(kWritable), output_dims, random), random.chance(0.5));
    const auto size = static_cast<size_t>(options.embedding_size);
    const double scale = options.scale != 0.0F ? static_cast<double>(options.scale) : 1.0;
    ASSERT_EQ(looked.values.size(), ids.contents.values.size() * size);
    for (size_t i = 0; i < looked.values.size(); ++i) {
      const auto id = static_cast<size_t>(ids.contents.values[i / size]);
      // The product of two F32 is exact in F64; it is rounded to F32 and then to the output's dtype.
      const double product =
          reference::round_to(reference::Format::F32, table.contents.values[id * size + i % size] * scale);
      ASSERT_EQ(looked.values[i], reference::round_to(format_of(dtype), product)) << "element " << i;
    }
  }
}

}  // namespace
}  // namespace heed::property
