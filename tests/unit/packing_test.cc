// SPDX-License-Identifier: Apache-2.0
// Packed weights and transposed blocks on every ISA, compared bit by bit with loops over single elements: any bits,
// sizes next to those of vectors and packed panels, any strides, blocks and alignment. Bytes beside the result must not
// change.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "available_isas.h"
#include "backends/backend.h"
#include "backends/cpu/linear.h"
#include "base/rounding.h"
#include "ops/linear.h"

namespace heed::cpu {
namespace {

constexpr unsigned char kUntouched = 0x5b;

class Packing : public testing::TestWithParam<Isa> {
 protected:
  const KernelTable& kernels() const { return *GetParam().kernels; }

  // The index of element e of row n in a packed weight. A panel has as many vectors as the kernel's tile. If panels
  // have three vectors and a single one would remain, the last two panels have two each.
  int64_t packed_index(int64_t output_size, int64_t input_size, int64_t n, int64_t e) const {
    const int64_t lanes = kernels().lanes;
    const int64_t most = kernels().linear_panel_columns / lanes;
    const int64_t vectors = divide_up(output_size, lanes);
    const int64_t panels = divide_up(vectors, most);
    const bool shares = most == 3 && vectors % 3 == 1 && panels > 1;
    int64_t first = 0;
    for (int64_t panel = 0; panel < panels; ++panel) {
      int64_t count = std::min(most, vectors - first);
      if (shares && panel >= panels - 2) count = 2;
      const int64_t column = n - first * lanes;
      if (column < count * lanes) return first * lanes * input_size + e * count * lanes + column;
      first += count;
    }
    return -1;
  }

  std::mt19937 random_{7001};
  int64_t below(int64_t count) { return static_cast<int64_t>(random_() % static_cast<uint64_t>(count)); }
  std::vector<unsigned char> random_bytes(int64_t count) {
    std::vector<unsigned char> bytes(static_cast<size_t>(count));
    for (unsigned char& byte : bytes) byte = static_cast<unsigned char>(random_());
    return bytes;
  }
};

INSTANTIATE_TEST_SUITE_P(Isas, Packing, testing::ValuesIn(available_isas()), name_of_isa);

TEST_P(Packing, IsMadeOfWholeVectorsAndPanels) {
  EXPECT_EQ(kPackedRows % kernels().lanes, 0);
  EXPECT_EQ(kWholePanelRows % kernels().linear_panel_columns, 0);
}

TEST_P(Packing, PacksEveryElementWhateverTheBlocks) {
  for (int round = 0; round < 400; ++round) {
    const DType dtype = std::array{DType::F32, DType::F16, DType::BF16}[static_cast<size_t>(below(3))];
    const auto size = static_cast<int64_t>(size_of(dtype));
    const int64_t rows = 1 + below(round % 4 == 0 ? 200 : 70);
    const int64_t inputs = below(round % 5 == 0 ? 400 : 60);
    // Elements contiguous in a row, contiguous in a column, or neither.
    const int64_t form = below(3);
    const int64_t gap = below(3);
    const int64_t row_stride = form == 1 ? 1 : form == 0 ? inputs + gap : 2 * inputs + 1;
    const int64_t input_stride = form == 1 ? rows + gap : form == 0 ? 1 : 2;
    SCOPED_TRACE(std::to_string(rows) + " x " + std::to_string(inputs) + ", form " + std::to_string(form) + " of " +
                 name_of(dtype));
    const std::vector<unsigned char> weight = random_bytes((rows * row_stride + inputs * input_stride + 1) * size + 1);
    LinearPart part;
    part.output_size = part.head_size = rows;
    part.weight.dtype = dtype;
    part.weight.strides[2] = row_stride;
    part.weight.strides[3] = input_stride;
    const auto num_bytes = static_cast<int64_t>(packed_linear_bytes(kernels(), part, inputs));
    ASSERT_EQ(num_bytes, round_up(rows, kernels().lanes) * inputs * size);
    std::vector<unsigned char> expected(static_cast<size_t>(num_bytes), 0);
    const unsigned char* first = weight.data() + below(2);
    for (int64_t n = 0; n < rows; ++n) {
      for (int64_t e = 0; e < inputs; ++e)
        std::memcpy(expected.data() + packed_index(rows, inputs, n, e) * size,
                    first + (n * row_stride + e * input_stride) * size, static_cast<size_t>(size));
    }
    std::vector<unsigned char> packed(static_cast<size_t>(num_bytes) + 64, kUntouched);
    const int64_t row_step = round % 2 == 0 ? rows : kPackedRows * (1 + below(4));
    const int64_t input_step = round % 3 == 0 ? inputs : 1 + below(90);
    for (int64_t n = 0; n < rows; n += row_step) {
      for (int64_t e = 0; e < inputs; e += input_step) {
        part.weight.data = const_cast<unsigned char*>(first) + (n * row_stride + e * input_stride) * size;
        pack_linear(kernels(), part, inputs, {n, std::min(rows, n + row_step), e, std::min(inputs, e + input_step)},
                    packed.data());
      }
    }
    ASSERT_TRUE(std::equal(expected.begin(), expected.end(), packed.begin()));
    ASSERT_TRUE(std::all_of(packed.begin() + num_bytes, packed.end(), [](auto byte) { return byte == kUntouched; }));
  }
}

// Any rows and elements of a weight, not only those that can be packed by themselves.
TEST_P(Packing, UnpacksEveryElementWhateverTheBlock) {
  for (int round = 0; round < 400; ++round) {
    const DType dtype = std::array{DType::F32, DType::F16, DType::BF16}[static_cast<size_t>(below(3))];
    const auto size = static_cast<int64_t>(size_of(dtype));
    const int64_t rows = 1 + below(round % 4 == 0 ? 200 : 70);
    const int64_t inputs = 1 + below(round % 5 == 0 ? 400 : 60);
    const std::vector<unsigned char> weight = random_bytes(rows * inputs * size);
    LinearPart part;
    part.output_size = part.head_size = rows;
    part.weight.data = const_cast<unsigned char*>(weight.data());
    part.weight.dtype = dtype;
    part.weight.strides[2] = inputs;
    part.weight.strides[3] = 1;
    std::vector<unsigned char> packed(packed_linear_bytes(kernels(), part, inputs));
    pack_linear(kernels(), part, inputs, {0, rows, 0, inputs}, packed.data());

    WeightBlock block = {0, rows, 0, inputs};
    if (round % 3 != 0) {
      block.first_row = below(rows);
      block.end_row = block.first_row + 1 + below(rows - block.first_row);
      block.first_input = below(inputs);
      block.end_input = block.first_input + 1 + below(inputs - block.first_input);
    }
    const int64_t num_inputs = block.end_input - block.first_input;
    const int64_t row_stride = num_inputs + below(3);
    std::vector<unsigned char> to(static_cast<size_t>((block.end_row - block.first_row) * row_stride * size + 64),
                                  kUntouched);
    std::vector<unsigned char> expected = to;
    const int64_t offset = below(2);
    for (int64_t n = block.first_row; n < block.end_row; ++n)
      std::memcpy(expected.data() + offset + (n - block.first_row) * row_stride * size,
                  weight.data() + (n * inputs + block.first_input) * size, static_cast<size_t>(num_inputs * size));
    part.weight.data = to.data() + offset;
    part.weight.strides[2] = row_stride;
    unpack_linear(kernels(), part, inputs, block, packed.data());
    ASSERT_EQ(to, expected) << rows << " x " << inputs << " of " << name_of(dtype) << ", rows " << block.first_row
                            << " to " << block.end_row << ", elements " << block.first_input << " to "
                            << block.end_input;
  }
}

TEST_P(Packing, FindsTheElementsOfEachRow) {
  constexpr int64_t kInputs = 3;
  for (int64_t rows = 1; rows <= 200; ++rows) {
    for (int64_t n = 0; n < rows; ++n) {
      const PackedRow row = kernels().packed_row(rows, kInputs, n);
      for (int64_t e = 0; e < kInputs; ++e)
        ASSERT_EQ(row.first + e * row.stride, packed_index(rows, kInputs, n, e)) << "row " << n << " of " << rows;
    }
  }
}

// The caller's allocation then fails, where a smaller number would let the weight be written beside it.
TEST_P(Packing, OfMoreBytesThanCanBeCountedSaysTheMost) {
  LinearPart part;
  part.output_size = part.head_size = 1;
  EXPECT_EQ(packed_linear_bytes(kernels(), part, (int64_t{1} << 61) - 1), SIZE_MAX);
  EXPECT_EQ(packed_linear_bytes(kernels(), part, (int64_t{1} << 58) + 1),
            kernels().lanes == 16 ? SIZE_MAX : static_cast<size_t>(kernels().lanes) * 4 * ((size_t{1} << 58) + 1));
  part.output_size = part.head_size = (int64_t{1} << 61) - 1;
  EXPECT_EQ(packed_linear_bytes(kernels(), part, 0), 0u);
  EXPECT_EQ(packed_linear_bytes(kernels(), part, 1), size_t{1} << 63);
  EXPECT_EQ(packed_linear_bytes(kernels(), part, 2), SIZE_MAX);
}

// Lanes after the last row are 0, whichever block is packed last.
TEST_P(Packing, FillsTheLastVectorWithZeros) {
  LinearPart part;
  part.output_size = part.head_size = 1;
  part.weight.strides[2] = 3;
  part.weight.strides[3] = 1;
  std::vector<float> weight = {1, 2, 3};
  const int64_t lanes = kernels().lanes;
  std::vector<float> packed(static_cast<size_t>(3 * lanes), -1);
  for (int64_t e = 0; e < 3; ++e) {
    part.weight.data = &weight[static_cast<size_t>(e)];
    pack_linear(kernels(), part, 3, {0, 1, e, e + 1}, packed.data());
  }
  for (int64_t e = 0; e < 3; ++e) {
    for (int64_t lane = 0; lane < lanes; ++lane)
      EXPECT_EQ(packed[static_cast<size_t>(e * lanes + lane)], lane == 0 ? weight[static_cast<size_t>(e)] : 0);
  }
}

TEST_P(Packing, TransposesBlocksAndWritesNothingElse) {
  for (int round = 0; round < 400; ++round) {
    const int64_t size = round % 2 == 0 ? 4 : 2;
    const int64_t rows = below(50);
    const int64_t columns = below(round % 4 == 0 ? 150 : 40);
    const int64_t from_stride = columns + below(4);
    const int64_t to_stride = rows + below(4);
    const std::vector<unsigned char> from = random_bytes((rows * from_stride + columns) * size + 1);
    const unsigned char* first = from.data() + below(2);
    const size_t num_bytes = static_cast<size_t>((columns * to_stride + rows) * size + 64);
    std::vector<unsigned char> expected(num_bytes, kUntouched);
    std::vector<unsigned char> to = expected;
    for (int64_t row = 0; row < rows; ++row) {
      for (int64_t column = 0; column < columns; ++column)
        std::memcpy(expected.data() + 1 + (column * to_stride + row) * size,
                    first + (row * from_stride + column) * size, static_cast<size_t>(size));
    }
    kernels().transpose(first, from_stride, rows, columns, to.data() + 1, to_stride, size);
    ASSERT_EQ(to, expected) << rows << " x " << columns << " of " << size << " bytes";
  }
}

}  // namespace
}  // namespace heed::cpu
