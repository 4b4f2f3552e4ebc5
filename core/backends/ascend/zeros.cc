// SPDX-License-Identifier: Apache-2.0
#include "backends/ascend/zeros.h"

#include <algorithm>
#include <cstring>

#include "ops/visible_keys.h"

namespace heed::ascend {
namespace {

// A quarter of the pinned buffer through which the block is uploaded: that much is usually free, so the upload seldom
// waits.
constexpr size_t kZeroBlockBytes = Staging::kCapacity / 4;

void* zero_block(Npu& npu) {
  const auto fill = [](void* host) { std::memset(host, 0, kZeroBlockBytes); };
  return npu.constant("zeros", ACL_INT8, dims_of({static_cast<int64_t>(kZeroBlockBytes)}), fill).data;
}

}  // namespace

// Doubles the cleared prefix until the array is full. Copies on the device want aligned addresses; the bytes before the first aligned address are uploaded from
// the host.
void write_zeros(Npu& npu, void* memory, size_t num_bytes) {
  const size_t past_aligned = reinterpret_cast<uintptr_t>(memory) % kMemoryAlignment;
  const size_t num_before = past_aligned == 0 ? 0 : std::min(num_bytes, kMemoryAlignment - past_aligned);
  constexpr char kHostZeros[kMemoryAlignment] = {};
  npu.upload(memory, kHostZeros, num_before);
  if (num_before == num_bytes) return;
  char* first = static_cast<char*>(memory) + num_before;
  const size_t num_aligned = num_bytes - num_before;
  size_t num_done = std::min(num_aligned, kZeroBlockBytes);
  npu.copy(first, zero_block(npu), num_done);
  while (num_done < num_aligned) {
    const size_t num_next = std::min(num_aligned - num_done, num_done);
    npu.copy(first + num_done, first, num_next);
    num_done += num_next;
  }
}

DeviceArray zeros_of(Npu& npu, aclDataType dtype, const atb::Dims& shape, Temporary& kept) {
  DeviceArray zeros;
  zeros.dtype = dtype;
  zeros.shape = shape;
  if (zeros.num_bytes() <= kZeroBlockBytes) {
    zeros.data = zero_block(npu);
    return zeros;
  }
  return renewed(npu, dtype, shape, kept,
                 [&](const DeviceArray& result) { write_zeros(npu, result.data, result.num_bytes()); });
}

void zero_unwanted(Npu& npu, const KeyLimits& limits, WantedRows wanted, int64_t batch, int64_t rows,
                   const DeviceArray& result) {
  const size_t row_bytes = result.num_bytes() / static_cast<size_t>(batch * rows);
  const auto zero = [&](int64_t b, int64_t first, int64_t end) {
    char* begin = static_cast<char*>(result.data) + static_cast<size_t>(b * rows + first) * row_bytes;
    if (first < end) write_zeros(npu, begin, static_cast<size_t>(end - first) * row_bytes);
  };
  for (int64_t b = 0; b < batch; ++b) {
    const KeyRange range = wanted_rows(limits, wanted, b);
    zero(b, 0, range.first);
    zero(b, range.end, rows);
  }
}

}  // namespace heed::ascend
