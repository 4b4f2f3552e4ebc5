// SPDX-License-Identifier: Apache-2.0
// oneDNN's attention: a graph of two matrix products and a softmax, which it recognizes and fuses.
#include <algorithm>
#include <cmath>
#include <limits>
#include <oneapi/dnnl/dnnl_graph.hpp>

#include "buffer.h"
#include "onednn_subjects.h"
#include "openmp.h"

namespace bench {
namespace {

namespace graph = dnnl::graph;
using Type = graph::logical_tensor::data_type;
using Sizes = graph::logical_tensor::dims;

class OnednnAttention final : public Subject {
 public:
  OnednnAttention(const BenchCase& bench_case, const Data& data, int threads)
      : engine_(dnnl::engine::kind::cpu, 0), stream_(engine_) {
    const BenchCase& c = bench_case;
    use_openmp_threads(threads);
    const Type storage = c.dtype == HEED_F16 ? Type::f16 : c.dtype == HEED_BF16 ? Type::bf16 : Type::f32;
    // The heads that share a key head are an axis of their own.
    const int64_t group = c.heads / c.kv_heads;
    const auto sizes = [&](int64_t heads_of_group, int64_t rows, int64_t columns) {
      return group == 1 ? Sizes{c.batch, c.heads, rows, columns}
                        : Sizes{c.batch, c.kv_heads, heads_of_group, rows, columns};
    };
    const Sizes score_sizes = sizes(group, c.queries, c.keys);
    const Described queries = describe(storage, sizes(group, c.queries, c.head_size));
    const Described keys = describe(storage, sizes(1, c.keys, c.head_size));
    const Described values = describe(storage, sizes(1, c.keys, c.value_size));
    const Described output = describe(storage, sizes(group, c.queries, c.value_size));
    const Described scale = describe(storage, {1});
    Described scores = describe(Type::f32, score_sizes);
    graph::graph whole(dnnl::engine::kind::cpu);

    graph::op first(next_id_++, graph::op::kind::MatMul, {queries, keys}, {scores}, "scores");
    first.set_attr<bool>(graph::op::attr::transpose_b, true);
    whole.add_op(first);
    const Described scaled = describe(Type::f32, score_sizes);
    whole.add_op(graph::op(next_id_++, graph::op::kind::Multiply, {scores, scale}, {scaled}, "scale"));
    scores = scaled;
    std::vector<Described> inputs = {queries, keys, scale};
    const std::vector<float> hidden = additive_mask(c);
    if (!hidden.empty()) {
      const Described mask = describe(
          storage, group == 1 ? Sizes{c.batch, 1, c.queries, c.keys} : Sizes{c.batch, 1, 1, c.queries, c.keys});
      const Described masked = describe(Type::f32, score_sizes);
      whole.add_op(graph::op(next_id_++, graph::op::kind::Add, {scores, mask}, {masked}, "mask"));
      scores = masked;
      inputs.push_back(mask);
    }
    const Described weights = describe(storage, score_sizes);
    graph::op softmax(next_id_++, graph::op::kind::SoftMax, {scores}, {weights}, "softmax");
    softmax.set_attr<int64_t>(graph::op::attr::axis, -1);
    softmax.set_attr<std::string>(graph::op::attr::mode, "inf_as_zero");
    whole.add_op(softmax);
    whole.add_op(graph::op(next_id_++, graph::op::kind::MatMul, {weights, values}, {output}, "output"));
    whole.finalize();
    inputs.push_back(values);

    const std::vector<graph::partition> partitions = whole.get_partitions();
    if (partitions.size() != 1 || !partitions[0].is_supported()) {
      throw dnnl::error(dnnl_unimplemented, "it does not compute this graph as one");
    }
    compiled_ = partitions[0].compile(inputs, {output}, engine_);
    prepare_calls(c, data, inputs, output, hidden);
    call();
  }

  [[nodiscard]] std::string library() const override { return "OpenMP"; }
  [[nodiscard]] std::string name() const override { return "oneDNN graph"; }
  void call() override {
    compiled_.execute(stream_, inputs_[next_++ % inputs_.size()], outputs_);
    stream_.wait();
  }
  [[nodiscard]] std::vector<float> output() const override { return read_floats(result_.get()); }

 private:
  using Described = graph::logical_tensor;

  Described describe(Type type, const Sizes& sizes) {
    return {next_id_++, type, sizes, Described::layout_type::strided};
  }

  // A mask (B, Q, K), or nothing if no key is hidden. A mask is the only way to make the graph causal.
  static std::vector<float> additive_mask(const BenchCase& c) {
    std::vector<float> mask;
    if (c.lengths.empty() && (!c.causal || c.queries == 1)) return mask;
    for (int64_t b = 0; b < c.batch; ++b) {
      for (int64_t q = 0; q < c.queries; ++q) {
        const int64_t visible = std::min(c.lengths.empty() ? c.keys : int64_t{c.lengths[b]},
                                         c.causal ? q + c.keys - c.queries + 1 : c.keys);
        for (int64_t k = 0; k < c.keys; ++k) {
          mask.push_back(k < visible ? 0 : -std::numeric_limits<float>::infinity());
        }
      }
    }
    return mask;
  }

  heed_tensor* own(const BenchCase& c, const std::vector<float>& numbers) {
    Tensor floats = make_tensor(context_.get(), HEED_F32, {static_cast<int64_t>(numbers.size())});
    heed_tensor_write(floats.get(), numbers.data(), numbers.size() * sizeof(float));
    owned_.push_back(make_tensor(context_.get(), c.dtype, {static_cast<int64_t>(numbers.size())}));
    heed_tensor_copy(owned_.back().get(), floats.get());
    return owned_.back().get();
  }

  void prepare_calls(const BenchCase& c, const Data& data, const std::vector<Described>& described,
                     const Described& output, const std::vector<float>& hidden) {
    result_ = make_tensor(context_.get(), c.dtype, {c.batch, c.heads, c.queries, c.value_size});
    outputs_ = {graph::tensor(output, engine_, heed_tensor_data(result_.get()))};
    std::vector<heed_tensor*> fixed = {own(c, {1 / std::sqrt(static_cast<float>(c.head_size))})};
    if (!hidden.empty()) fixed.push_back(own(c, hidden));
    for (size_t copy = 0; copy < data.keys.size(); ++copy) {
      std::vector<heed_tensor*> tensors = {data.queries.get(), data.keys[copy].get()};
      tensors.insert(tensors.end(), fixed.begin(), fixed.end());
      tensors.push_back(data.values[copy].get());
      inputs_.emplace_back();
      for (size_t i = 0; i < tensors.size(); ++i) {
        inputs_.back().emplace_back(described[i], engine_, heed_tensor_data(tensors[i]));
      }
    }
  }

  dnnl::engine engine_;
  dnnl::stream stream_;
  size_t next_id_ = 0;
  graph::compiled_partition compiled_;
  Context context_ = make_context(1);
  std::vector<Tensor> owned_;
  Tensor result_;
  std::vector<std::vector<graph::tensor>> inputs_;
  std::vector<graph::tensor> outputs_;
  size_t next_ = 0;
};

}  // namespace

std::unique_ptr<Subject> make_onednn_attention(const BenchCase& bench_case, const Data& data, int threads) {
  return std::make_unique<OnednnAttention>(bench_case, data, threads);
}

}  // namespace bench
