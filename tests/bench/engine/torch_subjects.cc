// SPDX-License-Identifier: Apache-2.0
#include "torch_subjects.h"

#include <deque>
#include <string>
#include <vector>

#include "encoder_data.h"
#include "fail.h"
#include "openmp.h"
#include "torch_api.h"
#include "training_subjects.h"

namespace bench {
namespace {

struct Dispose {
  void operator()(TorchTensor* tensor) const { torch().Tensor_dispose(tensor); }
};
using Handle = std::unique_ptr<TorchTensor, Dispose>;

Handle checked(TorchTensor* tensor) {
  if (tensor == nullptr) fail(std::string("PyTorch: ") + torch().Torch_get_and_reset_last_err());
  return Handle(tensor);
}

int64_t product(const Dims& dims) {
  int64_t count = 1;
  for (const int64_t dim : dims) count *= dim;
  return count;
}

// The result of the last Autograd_grad, whose handles the caller takes.
std::vector<TorchTensor*>& gradient_results() {
  static std::vector<TorchTensor*> results;
  return results;
}

TorchTensor** allocate_results(size_t count) {
  gradient_results().assign(count, nullptr);
  return gradient_results().data();
}

// A forward and its backward; subclasses have the parameters and the forward.
class TorchTraining : public Subject {
 public:
  [[nodiscard]] std::string library() const override { return "OpenMP"; }
  [[nodiscard]] std::string name() const override { return "PyTorch"; }

  void call() override {
    Handle output = forward();
    std::vector<TorchTensor*> inputs;
    for (const Handle& leaf : leaves_) inputs.push_back(leaf.get());
    TorchTensor* outputs[] = {output.get()};
    TorchTensor* output_gradients[] = {output_gradient_.get()};
    torch().Autograd_grad(outputs, 1, inputs.data(), static_cast<int64_t>(inputs.size()), output_gradients, 1, false,
                          false, false, allocate_results);
    gradients_.clear();
    for (TorchTensor* gradient : gradient_results()) gradients_.push_back(checked(gradient));
  }

  // Of the first num_outputs_ leaves.
  [[nodiscard]] std::vector<float> output() const override {
    std::vector<float> all;
    for (size_t i = 0; i < num_outputs_; ++i) {
      const Handle dense = checked(torch().Tensor_contiguous(gradients_[i].get()));
      const auto* numbers = static_cast<const float*>(torch().Tensor_data(dense.get()));
      all.insert(all.end(), numbers, numbers + product(leaf_dims_[i]));
    }
    return all;
  }

 protected:
  TorchTraining(int threads, const Dims& output_dims) : context_(make_context(1)) {
    use_openmp_threads(threads);
    torch().Torch_set_num_threads(threads);
    output_gradient_memory_ = random_output_gradient(context_.get(), output_dims);
    output_gradient_ = tensor(output_gradient_memory_.get(), output_dims, false);
  }

  virtual Handle forward() = 0;

  // Over memory of the case, which all libraries read.
  static Handle tensor(heed_tensor* memory, const Dims& dims, bool is_leaf) {
    return over(heed_tensor_data(memory), dims, is_leaf);
  }
  TorchTensor* add_leaf(Handle leaf, const Dims& dims) {
    leaves_.push_back(std::move(leaf));
    leaf_dims_.push_back(dims);
    return leaves_.back().get();
  }
  TorchTensor* add_leaf(std::vector<float> numbers, const Dims& dims) {
    numbers_.push_back(std::move(numbers));
    return add_leaf(over(numbers_.back().data(), dims, true), dims);
  }
  void compare_first(size_t count) { num_outputs_ = count; }

 private:
  static Handle over(void* data, const Dims& dims, bool is_leaf) {
    constexpr int8_t kFloat = 6;
    const auto keep = [](void* memory) { (void)memory; };
    return checked(
        torch().Tensor_new(data, keep, dims.data(), static_cast<int32_t>(dims.size()), kFloat, kFloat, 0, 0, is_leaf));
  }

  Context context_;
  Tensor output_gradient_memory_;
  Handle output_gradient_;
  std::deque<std::vector<float>> numbers_;
  std::vector<Handle> leaves_;
  std::vector<Dims> leaf_dims_;
  std::vector<Handle> gradients_;
  size_t num_outputs_ = 0;
};

Dims dims_of(const heed_tensor* tensor) {
  Dims dims;
  for (int32_t axis = 0; axis < heed_tensor_rank(tensor); ++axis) dims.push_back(heed_tensor_dim(tensor, axis));
  return dims;
}

class TorchAttention final : public TorchTraining {
 public:
  TorchAttention(const BenchCase& bench_case, const Data& data, int threads)
      : TorchTraining(threads, {bench_case.batch, bench_case.heads, bench_case.queries, bench_case.value_size}),
        is_causal_(bench_case.causal) {
    for (heed_tensor* memory : {data.queries.get(), data.keys[0].get(), data.values[0].get()})
      inputs_.push_back(add_leaf(tensor(memory, dims_of(memory), true), dims_of(memory)));
    compare_first(inputs_.size());
  }

 protected:
  Handle forward() override {
    return checked(torch().NN_scaled_dot_product_attention(inputs_[0], inputs_[1], inputs_[2], nullptr, 0, is_causal_));
  }

 private:
  bool is_causal_;
  std::vector<TorchTensor*> inputs_;
};

class TorchLinear final : public TorchTraining {
 public:
  TorchLinear(const BenchCase& bench_case, const Data& data, int threads)
      : TorchTraining(threads, {bench_case.rows, bench_case.outputs}) {
    const Dims input = {bench_case.rows, bench_case.inputs};
    const Dims weight = {bench_case.outputs, bench_case.inputs};
    const bool by_input = bench_case.gradients != Gradients::kOfWeight;
    const bool by_weight = bench_case.gradients != Gradients::kOfInput;
    input_ = hold(tensor(data.queries.get(), input, by_input), input, by_input);
    weight_ = hold(tensor(data.weights[0].get(), weight, by_weight), weight, by_weight);
    compare_first((by_input ? 1 : 0) + (by_weight ? 1 : 0));
  }

 protected:
  Handle forward() override { return checked(torch().NN_functional_linear(input_, weight_, nullptr)); }

 private:
  TorchTensor* hold(Handle handle, const Dims& dims, bool is_leaf) {
    if (is_leaf) return add_leaf(std::move(handle), dims);
    constant_ = std::move(handle);
    return constant_.get();
  }

  Handle constant_;
  TorchTensor* input_;
  TorchTensor* weight_;
};

// The layers of nn.TransformerEncoderLayer, with one projection to queries, keys and values.
class TorchEncoder final : public TorchTraining {
 public:
  TorchEncoder(const BenchCase& bench_case, const Data& data, int threads)
      : TorchTraining(threads, dims_of(data.queries.get())),
        case_(bench_case),
        input_(add_leaf(tensor(data.queries.get(), dims_of(data.queries.get()), true), dims_of(data.queries.get()))),
        one_(torch().Torch_float32_to_scalar(1)) {
    compare_first(1);
    for (int64_t i = 0; i < bench_case.layers; ++i) add_layer(data, "layers." + std::to_string(i) + ".");
  }

 protected:
  Handle forward() override {
    Handle rows;
    TorchTensor* input = input_;
    for (const LayerParameters& layer : layers_) {
      rows = layer_forward(layer, input);
      input = rows.get();
    }
    return rows;
  }

 private:
  struct Affine {
    TorchTensor* weight;
    TorchTensor* bias;
  };
  struct LayerParameters {
    Affine projections;
    Affine output;
    Affine norm_1;
    Affine hidden;
    Affine reduced;
    Affine norm_2;
  };

  void add_layer(const Data& data, const std::string& prefix) {
    const int64_t embedding = case_.embedding;
    const int64_t hidden = case_.hidden;
    const auto affine = [&](const std::vector<std::string>& names, const Dims& dims) {
      std::vector<float> weights;
      std::vector<float> biases;
      for (const std::string& name : names) {
        const std::vector<float> weight = parameter_floats(data.encoder.get(), prefix + name + ".weight");
        const std::vector<float> bias = parameter_floats(data.encoder.get(), prefix + name + ".bias");
        weights.insert(weights.end(), weight.begin(), weight.end());
        biases.insert(biases.end(), bias.begin(), bias.end());
      }
      TorchTensor* weight = add_leaf(std::move(weights), dims);
      return Affine{weight, add_leaf(std::move(biases), {dims[0]})};
    };
    LayerParameters layer{};
    layer.projections =
        affine({"self_attention.W_q", "self_attention.W_k", "self_attention.W_v"}, {3 * embedding, embedding});
    layer.output = affine({"self_attention.W_o"}, {embedding, embedding});
    layer.norm_1 = affine({"norm_1"}, {embedding});
    layer.hidden = affine({"feed_forward.W_1"}, {hidden, embedding});
    layer.reduced = affine({"feed_forward.W_2"}, {embedding, hidden});
    layer.norm_2 = affine({"norm_2"}, {embedding});
    layers_.push_back(layer);
  }

  static Handle linear(TorchTensor* input, const Affine& affine) {
    return checked(torch().NN_functional_linear(input, affine.weight, affine.bias));
  }

  // The norm of input + update.
  Handle add_and_norm(TorchTensor* input, const Handle& update, const Affine& norm) {
    const Handle sum = checked(torch().Tensor_add(input, update.get(), one_));
    return checked(torch().NN_layer_norm(sum.get(), &case_.embedding, 1, norm.weight, norm.bias, 1e-12));
  }

  Handle attend(const LayerParameters& layer, TorchTensor* input) {
    const int64_t split[] = {case_.batch, case_.queries, 3, case_.heads, case_.head_size};
    const int64_t axes[] = {2, 0, 3, 1, 4};
    const int64_t rows[] = {case_.batch, case_.queries, case_.embedding};
    const Handle projected = linear(input, layer.projections);
    const Handle parts = checked(torch().Tensor_reshape(projected.get(), split, 5));
    const Handle heads = checked(torch().Tensor_permute(parts.get(), axes, 5));
    const Handle queries = checked(torch().Tensor_select(heads.get(), 0, 0));
    const Handle keys = checked(torch().Tensor_select(heads.get(), 0, 1));
    const Handle values = checked(torch().Tensor_select(heads.get(), 0, 2));
    const Handle attended =
        checked(torch().NN_scaled_dot_product_attention(queries.get(), keys.get(), values.get(), nullptr, 0, false));
    const Handle by_rows = checked(torch().Tensor_transpose(attended.get(), 1, 2));
    const Handle joined = checked(torch().Tensor_reshape(by_rows.get(), rows, 3));
    return linear(joined.get(), layer.output);
  }

  Handle layer_forward(const LayerParameters& layer, TorchTensor* input) {
    const Handle middle = add_and_norm(input, attend(layer, input), layer.norm_1);
    const Handle hidden = linear(middle.get(), layer.hidden);
    const Handle activated = checked(torch().Tensor_gelu(hidden.get()));
    return add_and_norm(middle.get(), linear(activated.get(), layer.reduced), layer.norm_2);
  }

  const BenchCase case_;
  TorchTensor* input_;
  TorchScalar* one_;
  std::vector<LayerParameters> layers_;
};

}  // namespace

Subjects make_torch_subjects(const BenchCase& bench_case, const Data& data, int threads) {
  Subjects subjects;
  if (!torch_absence().empty() || !bench_case.lengths.empty()) return subjects;
  if (bench_case.kind == Kind::kEncoder) {
    subjects.push_back(std::make_unique<TorchEncoder>(bench_case, data, threads));
  } else if (bench_case.kind == Kind::kLinear) {
    subjects.push_back(std::make_unique<TorchLinear>(bench_case, data, threads));
  } else {
    subjects.push_back(std::make_unique<TorchAttention>(bench_case, data, threads));
  }
  return subjects;
}

}  // namespace bench
