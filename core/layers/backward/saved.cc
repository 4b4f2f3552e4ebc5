// SPDX-License-Identifier: Apache-2.0
#include "layers/backward/saved.h"

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/error.h"
#include "base/rounding.h"
#include "layers/inputs.h"
#include "tensor/device.h"
#include "tensor/dtype_term.h"
#include "tensor/host_image.h"

namespace heed {
namespace {

// FNV-1a of 64 bits (Fowler, Noll, Vo; RFC 9923).
class Hash {
 public:
  template <typename Number>
  void add(Number number) {
    add(&number, sizeof number);
  }
  void add(const void* bytes, size_t count) {
    const auto* const first = static_cast<const unsigned char*>(bytes);
    for (size_t i = 0; i < count; ++i) value_ = (value_ ^ first[i]) * 0x100000001b3;
  }
  // The elements in row-major order.
  void add_elements(const Tensor& tensor, int32_t axis = 0, int64_t offset = 0) {
    if (axis == tensor.rank()) return add(tensor.element(offset), size_of(tensor.dtype()));
    for (int64_t i = 0; i < tensor.dim(axis); ++i) add_elements(tensor, axis + 1, offset + i * tensor.stride(axis));
  }
  uint64_t value() const { return value_; }

 private:
  uint64_t value_ = 0xcbf29ce484222325;
};

bool is_hashed(const GivenInput& given) {
  if (given.tensor == nullptr || !given.tensor->has_data()) return false;
  constexpr InputSet kLengths = {Input::ValidLens, Input::SelfValidLens, Input::AttentionMask,
                                 Input::SelfAttentionMask};
  if (kLengths.has(given.input)) return true;
  return !is_floating(given.tensor->dtype()) && given.tensor->dtype() != DType::Bool;
}

}  // namespace

uint64_t hash_of_form(const LayerInputs& inputs) {
  Hash hash;
  for (const GivenInput& given : GivenInputs(inputs)) {
    hash.add(given.input);
    if (given.tensor == nullptr) continue;
    hash.add(given.tensor->dtype());
    for (int32_t axis = 0; axis < given.tensor->rank(); ++axis) hash.add(given.tensor->dim(axis));
    if (is_hashed(given)) hash.add_elements(host_copy(*given.tensor));
  }
  hash.add(inputs.wanted_output.num_last_rows);
  return hash.value();
}

void Saved::require_device(const char* device_name) const {
  check_same_device(OUTPUT("saved"), memory_->memory().device_name(), "the " WORD("layer"), device_name);
}

void* Saved::data() const { return aligned_begin(memory_->data()); }

void Saved::require_bytes(size_t num_bytes) const {
  const size_t needed = bytes_of_saved(num_bytes);
  if (memory_->num_bytes() >= needed) return;
  fail(Status::WorkspaceTooSmall,
       OUTPUT("saved") " has %zu bytes, expected at least %zu: see " FUNCTION("heed_layer_saved_size"),
       memory_->num_bytes(), needed);
}

size_t bytes_of_saved(size_t num_bytes) { return num_bytes == 0 ? 0 : num_bytes + kMemoryAlignment - 1; }

}  // namespace heed
