// SPDX-License-Identifier: Apache-2.0
// The meters' loops for vectors of METER_VECTOR_BYTES. One file for each instruction set includes it, and is compiled
// for the set, with fused multiply-add if the set has it.
#include <cstddef>
#include <cstdint>

#include "meter_kernels.h"

namespace bench {
namespace {

using Vec = float __attribute__((vector_size(METER_VECTOR_BYTES)));
constexpr int64_t kLanes = METER_VECTOR_BYTES / sizeof(float);

// 12 independent sums: more than latency (4) times units (2) of current cores, and with a temporary, factor and summand
// they still fit into 16 registers.
constexpr int kChains = 12;

double multiply_add(int64_t repetitions, float* sink) {
  Vec sums[kChains];
  for (int i = 0; i < kChains; ++i) sums[i] = Vec{} + static_cast<float>(i);
  const Vec factor = Vec{} + *sink;
  const Vec summand = factor * 0.5F;
  for (int64_t repetition = 0; repetition < repetitions; ++repetition) {
    for (Vec& sum : sums) sum = sum * factor + summand;
  }
  Vec total = Vec{};
  for (const Vec& sum : sums) total += sum;
  for (int64_t lane = 0; lane < kLanes; ++lane) *sink += total[lane] * 1e-30F;
  return 2.0 * static_cast<double>(repetitions * kChains * kLanes);
}

template <int streams>
Vec read_streams(const char* data, int64_t num_bytes) {
  // Two cache lines of each stream per iteration.
  constexpr int kVectors = 128 / METER_VECTOR_BYTES;
  const int64_t stream_bytes = num_bytes / streams;
  Vec sums[streams * kVectors] = {};
  for (int64_t at = 0; at < stream_bytes; at += 128) {
    for (int stream = 0; stream < streams; ++stream) {
      const Vec* line = reinterpret_cast<const Vec*>(data + stream * stream_bytes + at);
      for (int i = 0; i < kVectors; ++i) sums[stream * kVectors + i] += line[i];
    }
  }
  Vec total = Vec{};
  for (const Vec& sum : sums) total += sum;
  return total;
}

void read(const void* data, int64_t num_bytes, int streams, float* sink) {
  const char* bytes = static_cast<const char*>(data);
  const Vec total = streams == 4   ? read_streams<4>(bytes, num_bytes)
                    : streams == 2 ? read_streams<2>(bytes, num_bytes)
                                   : read_streams<1>(bytes, num_bytes);
  *sink += total[0] * 1e-30F;
}

}  // namespace

const MeterKernels METER_TABLE = {METER_NAME, multiply_add, read};

}  // namespace bench
