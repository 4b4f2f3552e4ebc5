// SPDX-License-Identifier: Apache-2.0
// Generates the data of a case.
#include "data.h"

#include <cmath>
#include <cstring>

#include "cache_data.h"
#include "encoder_data.h"
#include "fail.h"
#include "processors.h"

namespace bench {
namespace {

// Uniform numbers with the given standard deviation. heed_tensor_fill_normal takes seconds for the largest cases.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}

  void fill(float* numbers, int64_t count, float deviation) {
    const float scale = deviation * std::sqrt(12.0F) / static_cast<float>(uint32_t{1} << 24);
    for (int64_t i = 0; i < count; ++i) {
      numbers[i] = (static_cast<float>(next() >> 40) - static_cast<float>(uint32_t{1} << 23)) * scale;
    }
  }

 private:
  // splitmix64 (Steele, Lea, Flood, "Fast splittable pseudorandom number generators", 2014).
  uint64_t next() {
    state_ += 0x9e3779b97f4a7c15;
    uint64_t mixed = state_;
    mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9;
    mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111eb;
    return mixed ^ (mixed >> 31);
  }

  uint64_t state_;
};

Tensor copy_of(heed_context* context, heed_tensor* original) {
  Dims dims;
  for (int32_t axis = 0; axis < heed_tensor_rank(original); ++axis) dims.push_back(heed_tensor_dim(original, axis));
  Tensor copy = make_tensor(context, heed_tensor_dtype(original), dims);
  std::memcpy(heed_tensor_data(copy.get()), heed_tensor_data(original), heed_tensor_num_bytes(original));
  return copy;
}

// The same tensor with its dims in another layout.
Tensor arranged(heed_context* context, Tensor tensor, KeyLayout layout) {
  if (layout == KeyLayout::kHeads) return tensor;
  // Each permutation is its own inverse.
  const int32_t tokens[] = {0, 2, 1, 3};
  const int32_t transposed[] = {0, 1, 3, 2};
  const int32_t* axes = layout == KeyLayout::kTokens ? tokens : transposed;
  Dims dims;
  for (int i = 0; i < 4; ++i) dims.push_back(heed_tensor_dim(tensor.get(), axes[i]));
  const Tensor storage = make_tensor(context, heed_tensor_dtype(tensor.get()), dims);
  heed_tensor* view = nullptr;
  check(heed_tensor_transpose(storage.get(), axes, &view));
  check(heed_tensor_copy(view, tensor.get()));
  return Tensor(view);
}

}  // namespace

Context make_context(int threads) {
  heed_context_options options = HEED_CONTEXT_OPTIONS_INIT;
  options.num_threads = threads;
  // If heed had fewer processors than threads, its threads would not spin.
  const OnAllProcessors here;
  heed_context* context = nullptr;
  check(heed_context_create(&options, &context));
  return Context(context);
}

Tensor make_tensor(heed_context* context, heed_dtype dtype, const Dims& dims) {
  heed_tensor* tensor = nullptr;
  check(heed_tensor_create(context, dtype, static_cast<int32_t>(dims.size()), dims.data(), &tensor));
  return Tensor(tensor);
}

Tensor random_tensor(heed_context* context, heed_dtype dtype, const Dims& dims, uint64_t seed, double deviation) {
  Tensor numbers = make_tensor(context, HEED_F32, dims);
  Random(seed).fill(static_cast<float*>(heed_tensor_data(numbers.get())), heed_tensor_num_elements(numbers.get()),
                    static_cast<float>(deviation));
  if (dtype == HEED_F32) return numbers;
  Tensor narrow = make_tensor(context, dtype, dims);
  check(heed_tensor_copy(narrow.get(), numbers.get()));
  return narrow;
}

std::vector<float> read_floats(const heed_tensor* tensor) {
  const Context context = make_context(1);
  Dims dims;
  for (int32_t axis = 0; axis < heed_tensor_rank(tensor); ++axis) dims.push_back(heed_tensor_dim(tensor, axis));
  const Tensor floats = make_tensor(context.get(), HEED_F32, dims);
  check(heed_tensor_copy(floats.get(), tensor));
  std::vector<float> numbers(heed_tensor_num_elements(tensor));
  check(heed_tensor_read(floats.get(), numbers.data(), numbers.size() * sizeof(float)));
  return numbers;
}

std::vector<float> swap_axes(const std::vector<float>& from, int64_t first, int64_t second, int64_t row) {
  std::vector<float> to(from.size());
  for (int64_t i = 0; i < first; ++i) {
    for (int64_t j = 0; j < second; ++j) {
      std::memcpy(&to[(j * first + i) * row], &from[(i * second + j) * row], row * sizeof(float));
    }
  }
  return to;
}

std::vector<float> heads_first(const BenchCase& self, const std::vector<float>& result) {
  const int64_t element_size = self.queries * self.heads * self.value_size;
  std::vector<float> turned;
  for (int64_t b = 0; b < self.batch; ++b) {
    const std::vector<float> one(result.begin() + b * element_size, result.begin() + (b + 1) * element_size);
    const std::vector<float> swapped = swap_axes(one, self.queries, self.heads, self.value_size);
    turned.insert(turned.end(), swapped.begin(), swapped.end());
  }
  return turned;
}

Data::Data(const BenchCase& self) : context(make_context(1)) {
  if (self.kind == Kind::kCache) {
    const Dims dims =
        self.packed ? Dims{self.packed_rows(), self.embedding} : Dims{self.batch, self.queries, self.embedding};
    queries = random_tensor(context.get(), HEED_F32, dims, 1, 1);
    if (self.packed) set_offsets(self.rows_of_call);
    weights = cache_weights(context.get(), self);
    while (static_cast<int64_t>(caches.size()) < self.copies()) {
      caches.push_back(filled_cache(context.get(), self, weights));
    }
    return;
  }
  if (self.kind == Kind::kEncoder) {
    queries = random_tensor(context.get(), HEED_F32, {self.batch, self.queries, self.embedding}, 1, 1);
    encoder = make_encoder(context.get(), self);
    return;
  }
  if (self.kind == Kind::kMerge) {
    const Dims rows = {self.batch, self.heads, self.queries};
    for (int64_t part = 0; part < self.parts; ++part) {
      const auto seed = static_cast<uint64_t>(2 * part);
      parts.push_back(
          random_tensor(context.get(), self.dtype, {rows[0], rows[1], rows[2], self.value_size}, 20 + seed, 1));
      log_sum_exps.push_back(random_tensor(context.get(), HEED_F32, rows, 21 + seed, 1));
    }
    return;
  }
  if (self.packed) {
    pack(self);
  } else if (self.kind == Kind::kAttention || self.kind == Kind::kIdle) {
    queries = random_tensor(context.get(), self.dtype, {self.batch, self.heads, self.queries, self.head_size}, 1, 1);
    keys.push_back(
        random_tensor(context.get(), self.dtype, {self.batch, self.kv_heads, self.keys, self.head_size}, 2, 1));
    values.push_back(
        random_tensor(context.get(), self.dtype, {self.batch, self.kv_heads, self.keys, self.value_size}, 3, 1));
    while (static_cast<int64_t>(keys.size()) < self.copies()) {
      keys.push_back(copy_of(context.get(), keys[0].get()));
      values.push_back(copy_of(context.get(), values[0].get()));
    }
    for (std::vector<Tensor>* tensors : {&keys, &values}) {
      for (Tensor& tensor : *tensors) tensor = arranged(context.get(), std::move(tensor), self.key_layout);
    }
  } else if (self.kind == Kind::kLayer) {
    queries = random_tensor(context.get(), self.dtype, {self.batch, self.queries, self.embedding}, 1, 1);
    if (self.has_own_keys) {
      keys.push_back(random_tensor(context.get(), self.dtype, {self.batch, self.keys, self.embedding}, 10, 1));
      values.push_back(random_tensor(context.get(), self.dtype, {self.batch, self.keys, self.embedding}, 11, 1));
    }
    add_layer_weights(self);
  } else {
    const double deviation = 1 / std::sqrt(static_cast<double>(self.inputs));
    queries = random_tensor(context.get(), self.dtype, {self.rows, self.inputs}, 1, 1);
    weights.push_back(random_tensor(context.get(), self.dtype, {self.outputs, self.inputs}, 2, deviation));
    while (static_cast<int64_t>(weights.size()) < self.copies())
      weights.push_back(copy_of(context.get(), weights[0].get()));
  }
  add_head_numbers(self);
  if (self.lengths.empty()) return;
  if (self.as_mask) {
    mask = make_tensor(context.get(), HEED_BOOL, {self.batch, 1, 1, self.keys});
    auto* bytes = static_cast<uint8_t*>(heed_tensor_data(mask.get()));
    for (int64_t b = 0; b < self.batch; ++b) std::memset(bytes + b * self.keys, 1, self.lengths[b]);
  } else {
    lengths = make_tensor(context.get(), HEED_I32, {self.batch});
    check(heed_tensor_write(lengths.get(), self.lengths.data(), self.lengths.size() * sizeof(int32_t)));
  }
}

void Data::add_layer_weights(const BenchCase& self) {
  // With weights of this standard deviation, projections are about as large as their inputs.
  const double deviation = 1 / std::sqrt(static_cast<double>(self.embedding));
  for (uint64_t i = 0; i < 4; ++i) {
    weights.push_back(random_tensor(context.get(), self.dtype, {self.embedding, self.embedding}, 2 + i, deviation));
    biases.push_back(random_tensor(context.get(), self.dtype, {self.embedding}, 6 + i, 0.1));
  }
}

void Data::add_head_numbers(const BenchCase& self) {
  if (self.alibi) {
    slopes = make_tensor(context.get(), HEED_F32, {self.heads});
    check(heed_tensor_fill_alibi_slopes(slopes.get()));
  }
  if (self.sinks) sinks = random_tensor(context.get(), HEED_F32, {self.heads}, 12, 1);
  if (self.bias) bias = random_tensor(context.get(), HEED_F32, {1, self.heads, self.queries, self.keys}, 13, 1);
}

void Data::pack(const BenchCase& self) {
  const int64_t total = self.packed_rows();
  if (self.kind == Kind::kLayer) {
    queries = random_tensor(context.get(), self.dtype, {total, self.embedding}, 1, 1);
    add_layer_weights(self);
  } else {
    queries = random_tensor(context.get(), self.dtype, {self.heads, total, self.head_size}, 1, 1);
  }
  set_offsets(self.lengths);
}

void Data::set_offsets(const std::vector<int32_t>& counts) {
  std::vector<int32_t> begins = {0};
  for (const int32_t length : counts) begins.push_back(begins.back() + length);
  offsets = make_tensor(context.get(), HEED_I32, {static_cast<int64_t>(begins.size())});
  check(heed_tensor_write(offsets.get(), begins.data(), begins.size() * sizeof(int32_t)));
}

}  // namespace bench
