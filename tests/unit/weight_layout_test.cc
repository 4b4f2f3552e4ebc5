// SPDX-License-Identifier: Apache-2.0
#include "loading/weight_layout.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "layers/parameter.h"
#include "plain_memory.h"
#include "tensor/copy.h"

namespace heed {
namespace {

// A tensor whose element at `indices` is f(indices).
Tensor tensor_of(const Shape& shape, const std::function<float(const Dims&)>& f) {
  const Tensor tensor = Tensor::zeros(plain_memory(), DType::F32, shape);
  auto* elements = reinterpret_cast<float*>(tensor.data());
  for (int64_t i = 0; i < tensor.num_elements(); ++i) {
    Dims index{};
    int64_t rest = i;
    for (int32_t axis = shape.rank - 1; axis >= 0; --axis) {
      index[static_cast<size_t>(axis)] = rest % shape[axis];
      rest /= shape[axis];
    }
    elements[i] = f(index);
  }
  return tensor;
}

std::vector<float> elements_of(const Tensor& tensor) {
  std::vector<float> elements(static_cast<size_t>(tensor.num_elements()));
  read_tensor(tensor, elements.data());
  return elements;
}

// Element (out, in) of a parameter is 100 * out + in. There are 7 heads of 3 features, and 5 inputs.
constexpr int64_t kHeads = 7;
constexpr int64_t kSize = 3;
constexpr int64_t kFeatures = kHeads * kSize;
constexpr int64_t kInputs = 5;

const Shape kWeight = {kFeatures, kInputs};
const Shape kBias = {kFeatures};
// The output's weight reads the features of the heads.
const Shape kOutputWeight = {kInputs, kFeatures};

float number(int64_t out, int64_t in) { return static_cast<float>(100 * out + in); }

std::vector<float> expected(const Shape& shape) {
  return elements_of(tensor_of(shape, [](const Dims& i) { return number(i[0], i[1]); }));
}

TEST(WeightForm, EachHoldsTheSameParameter) {
  const struct {
    const char* what;
    WeightForm form;
    Shape parameter;
    Shape stored;
    std::function<float(const Dims&)> element;
  } cases[] = {
      {"a linear weight",
       WeightForm::Linear,
       kWeight,
       {kFeatures, kInputs},
       [](const Dims& i) { return number(i[0], i[1]); }},
      {"a linear bias", WeightForm::Linear, kBias, {kFeatures}, [](const Dims& i) { return number(i[0], 0); }},
      {"a transposed weight",
       WeightForm::Transposed,
       kWeight,
       {kInputs, kFeatures},
       [](const Dims& i) { return number(i[1], i[0]); }},
      {"a kernel to heads",
       WeightForm::HeadsOut,
       kWeight,
       {kInputs, kHeads, kSize},
       [](const Dims& i) { return number(i[1] * kSize + i[2], i[0]); }},
      {"a bias of heads",
       WeightForm::HeadsOut,
       kBias,
       {kHeads, kSize},
       [](const Dims& i) { return number(i[0] * kSize + i[1], 0); }},
      {"a kernel from heads",
       WeightForm::HeadsIn,
       kOutputWeight,
       {kHeads, kSize, kInputs},
       [](const Dims& i) { return number(i[2], i[0] * kSize + i[1]); }},
      {"a table below an axis of size 1",
       WeightForm::OneTable,
       kWeight,
       {1, kFeatures, kInputs},
       [](const Dims& i) { return number(i[1], i[2]); }},
  };
  for (const auto& row : cases) {
    SCOPED_TRACE(row.what);
    const WeightSource source{"", "", row.form};
    EXPECT_EQ(to_string(stored_shape(source, row.parameter, kHeads)), to_string(row.stored));
    const Tensor view = view_as_parameters(source, tensor_of(row.stored, row.element));
    EXPECT_EQ(to_string(view.shape()), to_string(row.parameter));
    EXPECT_EQ(elements_of(view), expected(row.parameter));
  }
}

TEST(WeightForm, OfPatchesMergesTheirAxes) {
  const Shape patch = {2, 3, 4};
  const WeightSource source{"", "", WeightForm::Patches};
  const Shape stored = stored_shape(source, {kFeatures, 24}, 1, {}, patch);
  EXPECT_EQ(to_string(stored), "(21, 2, 3, 4)");
  const Tensor view = view_as_parameters(
      source, tensor_of(stored, [](const Dims& i) { return number(i[0], (i[1] * 3 + i[2]) * 4 + i[3]); }));
  EXPECT_EQ(elements_of(view), expected({kFeatures, 24}));
}

TEST(WeightForm, OfAKernelPutsTheChannelsLast) {
  const WeightSource source{"", "", WeightForm::Kernel};
  const Shape stored = stored_shape(source, {kFeatures, 3 * kInputs}, 1);
  EXPECT_EQ(to_string(stored), "(21, 5, 3)");
  const Tensor view =
      view_as_parameters(source, tensor_of(stored, [](const Dims& i) { return number(i[0], i[2] * kInputs + i[1]); }));
  EXPECT_EQ(to_string(view.shape()), "(21, 3, 5)");
  EXPECT_EQ(elements_of(view), expected({kFeatures, 3 * kInputs}));
}

// The number of a packed tensor's row: 1000 times the part, and the row in that part.
std::vector<int64_t> packed(const std::vector<PartRows>& parts) {
  std::vector<int64_t> rows;
  for (size_t part = 0; part < parts.size(); ++part) {
    const PartRows& of = parts[part];
    for (int64_t row = 0; row < of.block * of.num_blocks; ++row) {
      const auto at = static_cast<size_t>(of.first + row / of.block * of.step + row % of.block);
      if (rows.size() <= at) rows.resize(at + 1, -1);
      EXPECT_EQ(rows[at], -1) << "two rows in one place";
      rows[at] = static_cast<int64_t>(1000 * part) + row;
    }
  }
  return rows;
}

std::vector<int64_t> packed(Packing packing, const PackedRows& rows) {
  std::vector<PartRows> parts;
  for (const int32_t part : {0, 1, 2})
    parts.push_back(rows_of_part({"", "", WeightForm::Linear, part, 3, packing}, rows));
  return packed(parts);
}

TEST(Packing, OrdersTheRowsOfQueriesKeysAndValues) {
  EXPECT_EQ(packed(Packing::Equal, {{2, 2, 2}, 2}), (std::vector<int64_t>{0, 1, 1000, 1001, 2000, 2001}));
  EXPECT_EQ(packed(Packing::InTurn, {{3, 1, 2}, 1}), (std::vector<int64_t>{0, 1, 2, 1000, 2000, 2001}));
  // Two key heads of one row, two query heads for each, value heads of two rows.
  EXPECT_EQ(packed(Packing::ByKeyHead, {{4, 2, 4}, 2}),
            (std::vector<int64_t>{0, 1, 1000, 2000, 2001, 2, 3, 1001, 2002, 2003}));
  // GPT-NeoX: a key head for each query head; Falcon: one key head for all.
  EXPECT_EQ(packed(Packing::ByKeyHead, {{2, 2, 2}, 2}), (std::vector<int64_t>{0, 1000, 2000, 1, 1001, 2001}));
  EXPECT_EQ(packed(Packing::ByKeyHead, {{3, 1, 1}, 1}), (std::vector<int64_t>{0, 1, 2, 1000, 2000}));
}

TEST(Packing, OfAllRowsIsTheShapeInTheFile) {
  const WeightSource rows{"", "", WeightForm::Linear, 1, 3};
  EXPECT_EQ(to_string(stored_shape(rows, kWeight, kHeads)), "(63, 5)");
  EXPECT_EQ(to_string(stored_shape(rows, kBias, kHeads)), "(63)");
  EXPECT_EQ(to_string(stored_shape({"", "", WeightForm::Transposed, 1, 3}, kWeight, kHeads)), "(5, 63)");
  for (const Packing packing : {Packing::InTurn, Packing::ByKeyHead}) {
    const WeightSource source{"", "", WeightForm::Linear, 1, 3, packing};
    EXPECT_EQ(to_string(stored_shape(source, kWeight, kHeads, {{40, 21, 7}, 7})), "(68, 5)");
    EXPECT_EQ(to_string(stored_shape(source, kBias, kHeads, {{40, 21, 7}, 7})), "(68)");
    EXPECT_EQ(stored_shape(source, kBias, kHeads, {{INT64_MAX, 21, 7}, 7})[0], INT64_MAX);
  }
}

TEST(WeightForm, OpenDimsStayOpen) {
  const Shape open = {kFeatures, kOpenDim};
  EXPECT_TRUE(stored_shape({"", "", WeightForm::Linear}, open, kHeads) == open);
  EXPECT_TRUE(stored_shape({"", "", WeightForm::Transposed}, open, kHeads) == (Shape{kOpenDim, kFeatures}));
  EXPECT_TRUE(stored_shape({"", "", WeightForm::HeadsOut}, open, kHeads) == (Shape{kOpenDim, kHeads, kSize}));
  EXPECT_TRUE(stored_shape({"", "", WeightForm::HeadsIn}, open, kHeads) == (Shape{kHeads, kOpenDim, kFeatures}));
}

TEST(WeightForm, SizesThatOverflowFitNoTensor) {
  const Shape huge = {INT64_MAX / 2, 1};
  EXPECT_EQ(stored_shape({"", "", WeightForm::Linear, 0, 3}, huge, 1)[0], INT64_MAX);
}

// Conditions on the table that the finder and the loader rely on.
TEST(WeightLayouts, AreWellFormed) {
  for (const WeightLayout& layout : foreign_layouts()) {
    SCOPED_TRACE(layout.name);
    EXPECT_FALSE(layout.styles.empty());
    for (const WeightSource& source : layout.sources) {
      const std::string parameter = source.parameter;
      EXPECT_EQ(std::count_if(layout.sources.begin(), layout.sources.end(),
                              [&](const WeightSource& other) { return other.parameter == parameter; }),
                1)
          << parameter;
      EXPECT_LT(source.part, source.num_parts);
      const bool is_for_biases = source.form == WeightForm::Linear || source.form == WeightForm::HeadsOut;
      EXPECT_TRUE(is_for_biases || !parameter.ends_with(".bias")) << parameter;
    }
  }
}

}  // namespace
}  // namespace heed
