// SPDX-License-Identifier: Apache-2.0
// Rotations by tables: docs/semantics.md, section "Operations", against f64.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <optional>
#include <vector>

#include "property/support/array_dtypes.h"
#include "property/support/bounded.h"
#include "property/support/operation_call.h"
#include "support/array.h"
#include "support/numbers.h"

namespace heed::property {
namespace {

const std::vector<heed_dtype> kRotated = {HEED_F32, HEED_F16, HEED_BF16, HEED_F64};

// The tensor (b, h, s, d), the tables (b, t, i) and the positions (b, s) of a call, whose arrays may have fewer axes.
struct Rotation {
  int64_t batch = 1;
  int64_t heads = 1;
  int64_t length = 1;
  int64_t size = 2;
  int64_t pairs = 1;
  int64_t rows_of_tables = 1;
  bool has_batch_of_tables = false;
  int32_t layout = HEED_ROPE_HALF;
};

// The place of an element of pair i in its row: of the first one, and of the second one.
std::pair<int64_t, int64_t> places_of(const Rotation& call, int64_t i) {
  if (call.layout == HEED_ROPE_INTERLEAVED) return {2 * i, 2 * i + 1};
  return {i, i + call.pairs};
}

TEST(RotaryEmbedding, AgreesWithTheReference) {
  Random random(4801);
  for (int64_t round = 0; round < num_rounds(600); ++round) {
    Rotation call;
    const int64_t rank = 2 + random.below(3);
    call.batch = rank > 2 ? random.below(4) : 1;
    call.heads = rank > 3 ? random.below(4) : 1;
    call.length = random.one_of<int64_t>({0, 1, 2, 9, 40});
    call.size = random.one_of<int64_t>({0, 1, 2, 3, 8, 17, 64});
    call.pairs = random.below(call.size / 2 + 1);
    call.layout = random.one_of<int32_t>({HEED_ROPE_HALF, HEED_ROPE_INTERLEAVED});
    const bool has_positions = random.chance(0.5);
    call.rows_of_tables = has_positions ? 1 + random.below(50) : call.length;
    const bool has_table_of_three = !has_positions && random.chance(0.5);
    call.has_batch_of_tables = has_table_of_three && random.chance(0.7);

    Dims dims = {call.length, call.size};
    if (rank > 3) dims.insert(dims.begin(), call.heads);
    if (rank > 2) dims.insert(dims.begin(), call.batch);
    Dims of_tables = {call.rows_of_tables, call.pairs};
    if (has_table_of_three) of_tables.insert(of_tables.begin(), call.has_batch_of_tables ? call.batch : 1);
    const heed_dtype dtype = random.one_of(kRotated);
    const heed_dtype to = is_narrow(dtype) ? result_dtype(dtype, random) : dtype;
    const Input tensor = random_input(dims, dtype, random.one_of(kReadable), random);
    const Input cosines = random_input(of_tables, random.one_of(kRotated), random.one_of(kReadable), random);
    const Input sines = random_input(of_tables, random.one_of(kRotated), random.one_of(kReadable), random);
    const bool per_batch = random.chance(0.5);
    Array positions = filled(per_batch ? Dims{call.batch, call.length} : Dims{call.length}, 0);
    for (double& position : positions.values) position = static_cast<double>(random.below(call.rows_of_tables));
    const Input rows = make_input(positions, random.one_of<heed_dtype>({HEED_I32, HEED_I64}),
                                  make_strides(random.one_of(kReadable), positions.dims, random));

    const Context context = make_context();
    const HostTensor of_tensor(context.get(), tensor);
    const HostTensor of_cosines(context.get(), cosines);
    const HostTensor of_sines(context.get(), sines);
    const HostTensor of_rows(context.get(), rows);
    const Out result =
        into_result(context.get(), to, dims, make_strides(random.one_of(kWritable), dims, random),
                    {&of_tensor, &of_cosines, &of_sines, &of_rows}, [&](heed_tensor* written) {
                      return heed_rotary_embedding(of_tensor.handle(), of_cosines.handle(), of_sines.handle(),
                                                   has_positions ? of_rows.handle() : nullptr, call.layout, written);
                    });
    const double u = dtype == HEED_F64 ? 0x1p-53 : 0x1p-24;
    for (int64_t row = 0; row < call.batch * call.heads * call.length; ++row) {
      const int64_t s = row % call.length;
      const int64_t b = row / call.length / call.heads;
      const int64_t place = per_batch ? b * call.length + s : s;
      const int64_t t = has_positions ? static_cast<int64_t>(rows.contents.values[to_size(place)]) : s;
      const int64_t of_table = ((call.has_batch_of_tables ? b : 0) * call.rows_of_tables + t) * call.pairs;
      const auto check_element = [&](int64_t d, double expected, double error) {
        ASSERT_TRUE(is_within(result.contents.values[to_size(row * call.size + d)], {expected, error}, to))
            << "round " << round << ", row " << row << ", element " << d;
      };
      const auto element = [&](int64_t d) { return tensor.contents.values[to_size(row * call.size + d)]; };
      for (int64_t i = 0; i < call.pairs; ++i) {
        const auto [first, second] = places_of(call, i);
        const double x = element(first);
        const double y = element(second);
        // F64 tables are rounded to F32 for others.
        const double c = cosines.contents.values[to_size(of_table + i)];
        const double n = sines.contents.values[to_size(of_table + i)];
        const double rounding = 3.1 * u;
        check_element(first, x * c - y * n, rounding * (std::abs(x * c) + std::abs(y * n)));
        check_element(second, x * n + y * c, rounding * (std::abs(x * n) + std::abs(y * c)));
      }
      for (int64_t d = 2 * call.pairs; d < call.size; ++d) check_element(d, element(d), 0);
    }
  }
}

TEST(RotaryEmbedding, InPlaceHasTheSameBits) {
  Random random(4802);
  for (const heed_dtype dtype : kRotated) {
    for (const int32_t layout : {HEED_ROPE_HALF, HEED_ROPE_INTERLEAVED}) {
      const Dims dims = {2, 3, 5, 10};
      const Context context = make_context();
      const HostTensor tensor(context.get(), random_input(dims, dtype, Layout::Padded, random));
      const HostTensor cosines(context.get(), random_input({5, 4}, HEED_F32, Layout::RowMajor, random));
      const HostTensor sines(context.get(), random_input({5, 4}, HEED_F32, Layout::RowMajor, random));
      const HostTensor result(context.get(), dtype, dims, row_major_strides(dims));
      check(heed_rotary_embedding(tensor.handle(), cosines.handle(), sines.handle(), nullptr, layout, result.handle()));
      check(heed_rotary_embedding(tensor.handle(), cosines.handle(), sines.handle(), nullptr, layout, tensor.handle()));
      EXPECT_EQ(tensor.read_bytes(), result.read_bytes());
    }
  }
}

}  // namespace
}  // namespace heed::property
