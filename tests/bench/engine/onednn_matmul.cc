// SPDX-License-Identifier: Apache-2.0
// oneDNN's matmul. Assumes that its threads are OpenMP's.
#include "onednn_subjects.h"

#include <oneapi/dnnl/dnnl.hpp>

#include "buffer.h"
#include "openmp.h"

namespace bench {
namespace {

class OnednnMatmul final : public Subject {
 public:
  OnednnMatmul(const BenchCase& bench_case, const Data& data, int threads)
      : engine_(dnnl::engine::kind::cpu, 0),
        stream_(engine_),
        count_(bench_case.rows * bench_case.outputs),
        result_(make_buffer(count_ * sizeof(float))) {
    using Desc = dnnl::memory::desc;
    using Tag = dnnl::memory::format_tag;
    const auto float32 = dnnl::memory::data_type::f32;
    use_openmp_threads(threads);
    const Desc x({bench_case.rows, bench_case.inputs}, float32, Tag::ab);
    const Desc y({bench_case.rows, bench_case.outputs}, float32, Tag::ab);
    const Desc any({bench_case.inputs, bench_case.outputs}, float32, Tag::any);
    // The data's weight is (N, K).
    const Desc given({bench_case.inputs, bench_case.outputs}, float32, Tag::ba);
#if DNNL_VERSION_MAJOR >= 3
    const dnnl::matmul::primitive_desc chosen(engine_, x, any, y);
#else
    const dnnl::matmul::primitive_desc chosen(dnnl::matmul::desc(x, any, y), engine_);
#endif
    matmul_ = dnnl::matmul(chosen);
    for (const Tensor& weight : data.weights) {
      dnnl::memory original(given, engine_, heed_tensor_data(weight.get()));
      const dnnl::memory packed(chosen.weights_desc(), engine_);
      dnnl::reorder(original, packed).execute(stream_, original, const_cast<dnnl::memory&>(packed));
      stream_.wait();
      arguments_.push_back({{DNNL_ARG_SRC, dnnl::memory(x, engine_, heed_tensor_data(data.queries.get()))},
                            {DNNL_ARG_WEIGHTS, packed},
                            {DNNL_ARG_DST, dnnl::memory(y, engine_, result_.get())}});
    }
    call();
  }

  [[nodiscard]] std::string library() const override { return "OpenMP"; }
  [[nodiscard]] std::string name() const override { return "oneDNN"; }
  void call() override {
    matmul_.execute(stream_, arguments_[next_++ % arguments_.size()]);
    stream_.wait();
  }
  [[nodiscard]] std::vector<float> output() const override {
    const auto* numbers = static_cast<const float*>(result_.get());
    return {numbers, numbers + count_};
  }

 private:
  dnnl::engine engine_;
  dnnl::stream stream_;
  dnnl::matmul matmul_;
  int64_t count_;
  Buffer result_;
  std::vector<std::unordered_map<int, dnnl::memory>> arguments_;
  size_t next_ = 0;
};

}  // namespace

std::unique_ptr<Subject> make_onednn_matmul(const BenchCase& bench_case, const Data& data, int threads) {
  return std::make_unique<OnednnMatmul>(bench_case, data, threads);
}

}  // namespace bench
