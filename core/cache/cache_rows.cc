// SPDX-License-Identifier: Apache-2.0
// The rows of a cache as stored: moving, rotating and reading them.
#include <algorithm>
#include <cinttypes>
#include <cstring>

#include "base/error.h"
#include "base/half.h"
#include "cache/cache.h"
#include "cache/pages_image.h"
#include "tensor/copy.h"
#include "tensor/device.h"
#include "tensor/dtype_term.h"
#include "tensor/host_image.h"
#include "tensor/overlap.h"

namespace heed {
namespace {

float load_element(const std::byte* from, DType dtype) {
  float value = 0;
  convert_elements(DType::F32, &value, 0, dtype, from, 0, 1);
  return value;
}

}  // namespace

void move_row(const Cache& cache, const PagesImage& image, int64_t from, int64_t to) {
  const CacheOptions& options = cache.options();
  const size_t element = size_of(options.dtype);
  for (int64_t head = 0; head < options.num_kv_heads; ++head) {
    const StoredRow source = image.row(head, from);
    const StoredRow destination = image.row(head, to);
    for (size_t d = 0; d < static_cast<size_t>(options.head_size); ++d)
      std::memcpy(destination.key + d * destination.key_step, source.key + d * source.key_step, element);
    std::memcpy(destination.value, source.value, element * static_cast<size_t>(options.value_head_size));
    if (source.key_scale == nullptr) continue;
    *destination.key_scale = *source.key_scale;
    *destination.value_scale = *source.value_scale;
  }
}

void rotate_row(const Cache& cache, const PagesImage& image, const RopeOptions& rope, int64_t row,
                std::span<const float> rotation) {
  const DType dtype = cache.options().dtype;
  const size_t num_pairs = rotation.size() / 2;
  const bool is_half = rope.layout == RotaryLayout::Half;
  for (int64_t head = 0; head < cache.options().num_kv_heads; ++head) {
    const StoredRow stored = image.row(head, row);
    for (size_t p = 0; p < num_pairs; ++p) {
      const size_t d = static_cast<size_t>(rope.rotary_offset) + (is_half ? p : 2 * p);
      std::byte* first = stored.key + d * stored.key_step;
      std::byte* second = first + (is_half ? num_pairs : 1) * stored.key_step;
      const float a = load_element(first, dtype);
      const float b = load_element(second, dtype);
      const float rotated[2] = {a * rotation[p] - b * rotation[num_pairs + p],
                                b * rotation[p] + a * rotation[num_pairs + p]};
      convert_elements(dtype, first, 0, DType::F32, &rotated[0], 0, 1);
      convert_elements(dtype, second, 0, DType::F32, &rotated[1], 0, 1);
    }
  }
}

namespace {

// Writes the kept rows of one layer, keys or values, to a host tensor (Hkv, T, size).
void read_rows(const Cache& cache, int64_t layer, int64_t sequence, bool of_keys, const Tensor& to) {
  const CacheOptions& options = cache.options();
  const LayerRows& rows = cache.rows(layer, sequence);
  const auto element = static_cast<int64_t>(size_of(options.dtype));
  const auto to_element = static_cast<int64_t>(size_of(to.dtype()));
  const int64_t size = of_keys ? options.head_size : options.value_head_size;
  const PagesImage pages(cache, layer, sequence, 0, rows.length);
  for (int64_t head = 0; head < options.num_kv_heads; ++head) {
    int64_t t = 0;
    for (int64_t row = 0; row < rows.length; ++row) {
      if (!rows.keeps(row)) {
        row = rows.first - 1;
        continue;
      }
      const StoredRow stored = pages.row(head, row);
      std::byte* destination = to.element(head * to.stride(0) + t * to.stride(1));
      const std::byte* source = of_keys ? stored.key : stored.value;
      const int64_t step = of_keys ? static_cast<int64_t>(stored.key_step) : element;
      ++t;
      if (options.dtype != DType::I8) {
        convert_elements(to.dtype(), destination, to.stride(2) * to_element, options.dtype, source, step, size);
        continue;
      }
      const float scale = of_keys ? *stored.key_scale : *stored.value_scale;
      for (int64_t d = 0; d < size; ++d) {
        const float value = static_cast<float>(*reinterpret_cast<const int8_t*>(source + d * step)) * scale;
        convert_elements(to.dtype(), destination + d * to.stride(2) * to_element, 0, DType::F32, &value, 0, 1);
      }
    }
  }
}

void check_result(const Cache& cache, const Tensor* tensor, const char* name, const Shape& expected) {
  if (tensor == nullptr) return;
  if (tensor->dtype() != DType::F32 && tensor->dtype() != DType::F16 && tensor->dtype() != DType::BF16 &&
      tensor->dtype() != DType::F64)
    fail(Status::InvalidArgument,
         "%s is %s, expected " DTYPE("F32") ", " DTYPE("F16") ", " DTYPE("BF16") " or " DTYPE("F64"), name,
         term_of(tensor->dtype()));
  if (!(tensor->shape() == expected)) {
    fail(Status::InvalidArgument,
         "%s has " ARGUMENT("dims") " %s, expected %s, (Hkv, T, size) of the rows that are kept", name,
         to_string(tensor->shape()).c_str(), to_string(expected).c_str());
  }
  check_same_device(name, tensor->device_name(), "the cache", cache.context()->device_name());
  tensor->require_writable(name);
}

}  // namespace

void Cache::read(int64_t layer, int64_t sequence, const Tensor* keys, const Tensor* values) const {
  const ReadLock lock(*this);
  check_layer(layer);
  check_sequence("sequence", sequence);
  if (keys == nullptr && values == nullptr)
    fail(Status::InvalidArgument, "keys and values are " WORD("NULL") ", expected at least one " WORD("tensor"));
  const int64_t num_rows = rows(layer, sequence).num_kept();
  check_result(*this, keys, "keys", {options_.num_kv_heads, num_rows, options_.head_size});
  check_result(*this, values, "values", {options_.num_kv_heads, num_rows, options_.value_head_size});
  if (keys != nullptr && values != nullptr && overlaps(*keys, *values))
    fail(Status::InvalidArgument, "values shares memory with keys, expected separate memory");
  const auto read_one = [&](const Tensor& tensor, bool of_keys) {
    const HostImage image(tensor);
    read_rows(*this, layer, sequence, of_keys, image.image());
    image.commit();
  };
  if (keys != nullptr) read_one(*keys, true);
  if (values != nullptr) read_one(*values, false);
}

}  // namespace heed
