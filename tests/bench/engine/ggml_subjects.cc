// SPDX-License-Identifier: Apache-2.0
// ggml's graphs over the memory of the data. ggml states dims in reverse order: (D, S, H, B) is (B, H, S, D) here.
#include "ggml_subjects.h"

#include <ggml-cpu.h>
#include <ggml.h>
#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "buffer.h"
#include "fail.h"
#include "openmp.h"

namespace bench {
namespace {

constexpr ggml_fp16_t kHidden = 0xfc00;  // minus infinity

ggml_type type_of(heed_dtype dtype) {
  return dtype == HEED_F16 ? GGML_TYPE_F16 : dtype == HEED_BF16 ? GGML_TYPE_BF16 : GGML_TYPE_F32;
}

class GgmlSubject final : public Subject {
 public:
  GgmlSubject(BenchCase bench_case, const Data& data, int threads, bool fused)
      : case_(std::move(bench_case)),
        fused_(fused),
        context_(ggml_init({size_t{8} << 20, nullptr, /*no_alloc=*/true})) {
    use_openmp_threads(threads);
    const BenchCase& c = case_;
    const ggml_type storage = type_of(c.dtype);
    const std::vector<float> numbers = read_floats(data.queries.get());
    ggml_tensor* queries = make(GGML_TYPE_F32, {c.head_size, c.queries, c.heads, c.batch});
    std::memcpy(queries->data, numbers.data(), numbers.size() * sizeof(float));
    ggml_tensor* mask = make_mask();
    for (size_t copy = 0; copy < data.keys.size(); ++copy) {
      ggml_tensor* keys = wrap(storage, {c.head_size, c.keys, c.kv_heads, c.batch}, data.keys[copy].get());
      const float scale = 1 / std::sqrt(static_cast<float>(c.head_size));
      ggml_cgraph* graph = ggml_new_graph(context_.get());
      if (fused) {
        ggml_tensor* values = wrap(storage, {c.value_size, c.keys, c.kv_heads, c.batch}, data.values[copy].get());
        result_ = ggml_flash_attn_ext(context_.get(), queries, keys, values, mask, scale, 0, 0);
      } else {
        ggml_tensor* scores = ggml_mul_mat(context_.get(), keys, queries);
        ggml_tensor* weights = ggml_soft_max_ext(context_.get(), scores, mask, scale, 0);
        result_ = ggml_mul_mat(context_.get(), transposed(storage, data.values[copy].get()), weights);
        share(scores, scores_memory_);
        share(weights, weights_memory_);
      }
      // Calls use the copies of keys and values in turn; all other tensors stay the same.
      share(result_, result_memory_);
      ggml_build_forward_expand(graph, result_);
      graphs_.push_back(graph);
      plans_.push_back(ggml_graph_plan(graph, threads, nullptr));
      // Memory that ggml allocates itself is aligned to 16 bytes, which makes it a third slower.
      owned_.push_back(make_buffer(plans_.back().work_size));
      plans_.back().work_data = static_cast<uint8_t*>(owned_.back().get());
    }
    call();
  }

  [[nodiscard]] std::string library() const override { return "OpenMP"; }
  [[nodiscard]] std::string name() const override { return fused_ ? "ggml flash" : "ggml matmul"; }
  void call() override {
    const size_t turn = next_++ % graphs_.size();
    if (ggml_graph_compute(graphs_[turn], &plans_[turn]) != GGML_STATUS_SUCCESS) fail("ggml failed");
  }
  [[nodiscard]] std::vector<float> output() const override {
    const auto* numbers = static_cast<const float*>(result_->data);
    const std::vector<float> result(numbers, numbers + ggml_nelements(result_));
    return fused_ ? heads_first(case_, result) : result;
  }

 private:
  struct FreeContext {
    void operator()(ggml_context* context) const { ggml_free(context); }
  };

  ggml_tensor* wrap(ggml_type type, const Dims& sizes, heed_tensor* tensor) {
    ggml_tensor* wrapped = ggml_new_tensor(context_.get(), type, static_cast<int>(sizes.size()), sizes.data());
    wrapped->data = heed_tensor_data(tensor);
    return wrapped;
  }

  static void share(ggml_tensor* tensor, Buffer& memory) {
    if (memory == nullptr) memory = make_buffer(ggml_nbytes(tensor));
    tensor->data = memory.get();
  }

  ggml_tensor* make(ggml_type type, const Dims& sizes) {
    ggml_tensor* tensor = ggml_new_tensor(context_.get(), type, static_cast<int>(sizes.size()), sizes.data());
    owned_.push_back(make_buffer(ggml_nbytes(tensor)));
    tensor->data = owned_.back().get();
    return tensor;
  }

  // Values as in ggml's cache, (B, Hkv, Dv, K).
  ggml_tensor* transposed(ggml_type storage, heed_tensor* values) {
    const BenchCase& c = case_;
    ggml_tensor* turned = make(storage, {c.keys, c.value_size, c.kv_heads, c.batch});
    const size_t element = ggml_type_size(storage);
    const auto* from = static_cast<const uint8_t*>(heed_tensor_data(values));
    auto* to = static_cast<uint8_t*>(turned->data);
    for (int64_t head = 0; head < c.batch * c.kv_heads; ++head) {
      for (int64_t k = 0; k < c.keys; ++k) {
        for (int64_t d = 0; d < c.value_size; ++d) {
          std::memcpy(to + ((head * c.value_size + d) * c.keys + k) * element,
                      from + ((head * c.keys + k) * c.value_size + d) * element, element);
        }
      }
    }
    return turned;
  }

  // A mask (B, 1, Q, K) of -inf for all kinds of hidden keys; null if no key is hidden.
  ggml_tensor* make_mask() {
    const BenchCase& c = case_;
    if (c.lengths.empty() && (!c.causal || c.queries == 1)) return nullptr;
    ggml_tensor* mask = make(GGML_TYPE_F16, {c.keys, c.queries, 1, c.batch});
    auto* out = static_cast<ggml_fp16_t*>(mask->data);
    for (int64_t b = 0; b < c.batch; ++b) {
      for (int64_t q = 0; q < c.queries; ++q) {
        const int64_t visible = std::min(c.lengths.empty() ? c.keys : int64_t{c.lengths[b]},
                                         c.causal ? q + c.keys - c.queries + 1 : c.keys);
        for (int64_t k = 0; k < c.keys; ++k) *out++ = k < visible ? ggml_fp16_t{0} : kHidden;
      }
    }
    return mask;
  }

  BenchCase case_;
  bool fused_;
  std::unique_ptr<ggml_context, FreeContext> context_;
  std::vector<Buffer> owned_;
  Buffer scores_memory_;
  Buffer weights_memory_;
  Buffer result_memory_;
  std::vector<ggml_cgraph*> graphs_;
  std::vector<ggml_cplan> plans_;
  ggml_tensor* result_ = nullptr;
  size_t next_ = 0;
};

}  // namespace

Subjects make_ggml_subjects(const BenchCase& bench_case, const Data& data, int threads) {
  Subjects subjects;
  if (bench_case.kind != Kind::kAttention) return subjects;
  subjects.push_back(std::make_unique<GgmlSubject>(bench_case, data, threads, true));
  subjects.push_back(std::make_unique<GgmlSubject>(bench_case, data, threads, false));
  return subjects;
}

std::string ggml_version_text() { return ggml_version(); }

}  // namespace bench
