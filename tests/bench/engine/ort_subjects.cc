// SPDX-License-Identifier: Apache-2.0
// The graphs: attention by MultiHeadAttention, by the standard operator Attention, and by GroupQueryAttention;
// projections by MatMul with a constant weight; the layer in two ways.
#include "ort_subjects.h"

#include <cstring>
#include <functional>

#include "buffer.h"
#include "encoder_data.h"
#include "ort_model.h"

namespace bench {
namespace {

constexpr const char* kMicrosoft = "com.microsoft";
constexpr int64_t kOpset = 23;

OnnxType onnx_type(heed_dtype dtype) {
  return dtype == HEED_F16 ? OnnxType::kFloat16 : dtype == HEED_BF16 ? OnnxType::kBfloat16 : OnnxType::kFloat;
}

size_t bytes_of(heed_dtype dtype) { return dtype == HEED_F32 ? 4 : 2; }

// What several operators need.
class OrtSubject : public Subject {
 public:
  OrtSubject(std::string name, const BenchCase& bench_case, const Data& data, int threads)
      : name_(std::move(name)), case_(bench_case), data_(data), threads_(threads), type_(onnx_type(bench_case.dtype)) {}

  [[nodiscard]] std::string library() const override { return "ORT"; }
  [[nodiscard]] std::string name() const override { return library() + " " + name_; }
  void call() override { models_[next_++ % models_.size()]->run(); }

 protected:
  // A tensor that this subject owns.
  OrtTensor own(const std::string& name, OnnxType type, const Dims& dims, size_t num_bytes) {
    owned_.push_back(make_buffer(num_bytes));
    return {name, type, dims, owned_.back().get()};
  }

  // A tensor of the data, used without a copy.
  [[nodiscard]] OrtTensor lent(const std::string& name, heed_tensor* tensor, const Dims& dims) const {
    return {name, onnx_type(heed_tensor_dtype(tensor)), dims, heed_tensor_data(tensor)};
  }

  // A tensor (B, H, S, D) of the data as (B, S, H * D).
  OrtTensor heads_last(const std::string& name, heed_tensor* tensor) {
    const int64_t batch = heed_tensor_dim(tensor, 0);
    const int64_t heads = heed_tensor_dim(tensor, 1);
    const int64_t length = heed_tensor_dim(tensor, 2);
    const size_t row = heed_tensor_dim(tensor, 3) * bytes_of(case_.dtype);
    OrtTensor turned =
        own(name, type_, {batch, length, heads * heed_tensor_dim(tensor, 3)}, heed_tensor_num_bytes(tensor));
    const auto* from = static_cast<const uint8_t*>(heed_tensor_data(tensor));
    auto* to = static_cast<uint8_t*>(turned.data);
    for (int64_t b = 0; b < batch; ++b) {
      for (int64_t h = 0; h < heads; ++h) {
        for (int64_t s = 0; s < length; ++s) {
          std::memcpy(to + ((b * length + s) * heads + h) * row, from + ((b * heads + h) * length + s) * row, row);
        }
      }
    }
    return turned;
  }

  OrtTensor result(const Dims& dims) {
    size_t num_bytes = bytes_of(case_.dtype);
    for (const int64_t dim : dims) num_bytes *= dim;
    result_ = own("result", type_, dims, num_bytes);
    return result_;
  }

  // Calls run the loaded models in turn.
  void load(OnnxModel& model, const std::vector<std::vector<OrtTensor>>& input_sets,
            const std::vector<std::vector<OrtTensor>>& output_sets) {
    for (const OrtTensor& input : input_sets[0]) model.add_input(input.name, input.type, input.dims);
    for (const OrtTensor& output : output_sets[0]) model.add_output(output.name, output.type, output.dims);
    models_.push_back(std::make_unique<OrtModel>(model, threads_));
    OrtModel& last = *models_.back();
    for (size_t i = 0; i < input_sets.size(); ++i) last.add_set(input_sets[i], output_sets[i % output_sets.size()]);
    // Runs it once, so that it refuses here what it cannot compute.
    last.run();
  }

  [[nodiscard]] std::vector<float> result_floats() const {
    int64_t count = 1;
    for (const int64_t dim : result_.dims) count *= dim;
    const Dims flat = {count};
    heed_tensor* wrapped = nullptr;
    heed_tensor_wrap(data_.context.get(), case_.dtype, 1, flat.data(), nullptr, result_.data, nullptr, nullptr,
                     &wrapped);
    return read_floats(Tensor(wrapped).get());
  }

  [[nodiscard]] const BenchCase& the_case() const { return case_; }
  [[nodiscard]] const Data& data() const { return data_; }
  [[nodiscard]] OnnxType type() const { return type_; }

 private:
  std::string name_;
  BenchCase case_;
  const Data& data_;
  int threads_;
  OnnxType type_;
  OrtTensor result_;
  std::vector<Buffer> owned_;
  std::vector<std::unique_ptr<OrtModel>> models_;
  size_t next_ = 0;
};

// com.microsoft MultiHeadAttention: (B, S, H * D). Keys and values may also be (B, H, K, D); then it need not transpose
// them.
class MultiHeadAttention : public OrtSubject {
 public:
  MultiHeadAttention(const BenchCase& c, const Data& data, int threads, bool keys_heads_first)
      : OrtSubject(keys_heads_first ? "MHA 4-D" : "MHA", c, data, threads) {
    OnnxModel model(kOpset);
    OnnxModel::Names names = {"queries", "keys", "values"};
    std::vector<std::vector<OrtTensor>> sets;
    const OrtTensor queries = heads_last("queries", data.queries.get());
    for (size_t copy = 0; copy < data.keys.size(); ++copy) {
      heed_tensor* keys = data.keys[copy].get();
      heed_tensor* values = data.values[copy].get();
      if (keys_heads_first) {
        sets.push_back({queries, lent("keys", keys, {c.batch, c.heads, c.keys, c.head_size}),
                        lent("values", values, {c.batch, c.heads, c.keys, c.value_size})});
      } else {
        sets.push_back({queries, heads_last("keys", keys), heads_last("values", values)});
      }
    }
    if (!c.lengths.empty()) {
      names.insert(names.end(), {"", "mask"});
      // The form of its key mask that has a 0 or 1 for each key.
      OrtTensor mask = own("mask", OnnxType::kInt32, {c.batch, c.keys}, c.batch * c.keys * sizeof(int32_t));
      auto* flags = static_cast<int32_t*>(mask.data);
      for (int64_t b = 0; b < c.batch; ++b) {
        for (int64_t k = 0; k < c.keys; ++k) flags[b * c.keys + k] = k < c.lengths[b] ? 1 : 0;
      }
      for (auto& set : sets) set.push_back(mask);
    }
    OnnxModel::Integers attributes = {{"num_heads", c.heads}};
    if (c.causal) attributes.emplace_back("unidirectional", 1);
    model.add_node(kMicrosoft, "MultiHeadAttention", names, {"result"}, attributes);
    load(model, sets, {{result({c.batch, c.queries, c.heads * c.value_size})}});
  }
  [[nodiscard]] std::vector<float> output() const override { return heads_first(the_case(), result_floats()); }
};

// The standard operator Attention of opset 23: (B, H, S, D), also with grouped heads.
class Attention : public OrtSubject {
 public:
  Attention(const BenchCase& c, const Data& data, int threads) : OrtSubject("Attention", c, data, threads) {
    OnnxModel model(kOpset);
    OnnxModel::Names names = {"queries", "keys", "values"};
    std::vector<std::vector<OrtTensor>> sets;
    for (size_t copy = 0; copy < data.keys.size(); ++copy) {
      sets.push_back({lent("queries", data.queries.get(), {c.batch, c.heads, c.queries, c.head_size}),
                      lent("keys", data.keys[copy].get(), {c.batch, c.kv_heads, c.keys, c.head_size}),
                      lent("values", data.values[copy].get(), {c.batch, c.kv_heads, c.keys, c.value_size})});
    }
    if (!c.lengths.empty()) {
      names.emplace_back("mask");
      OrtTensor mask = own("mask", OnnxType::kBool, {c.batch, 1, c.queries, c.keys}, c.batch * c.queries * c.keys);
      auto* flags = static_cast<uint8_t*>(mask.data);
      for (int64_t b = 0; b < c.batch; ++b) {
        for (int64_t q = 0; q < c.queries; ++q) {
          for (int64_t k = 0; k < c.keys; ++k) flags[(b * c.queries + q) * c.keys + k] = k < c.lengths[b] ? 1 : 0;
        }
      }
      for (auto& set : sets) set.push_back(mask);
    }
    OnnxModel::Integers attributes;
    if (c.causal) attributes.emplace_back("is_causal", 1);
    model.add_node("", "Attention", names, {"result"}, attributes);
    load(model, sets, {{result({c.batch, c.heads, c.queries, c.value_size})}});
  }
  [[nodiscard]] std::vector<float> output() const override { return result_floats(); }
};

// com.microsoft GroupQueryAttention, which is always causal: queries and the new keys and values are (B, S, heads * D),
// the cache is (B, Hkv, K, D), and `present` is written into the memory of `past`. A prefill has an empty past and
// writes all keys; a decode call writes the last one.
class GroupQueryAttention : public OrtSubject {
 public:
  GroupQueryAttention(const BenchCase& c, const Data& data, int threads) : OrtSubject("GQA", c, data, threads) {
    OnnxModel model(kOpset);
    std::vector<std::vector<OrtTensor>> input_sets;
    std::vector<std::vector<OrtTensor>> output_sets;
    const OrtTensor queries = heads_last("queries", data.queries.get());
    const bool prefill = c.queries == c.keys;
    const OrtTensor new_keys = prefill ? heads_last("keys", data.keys[0].get()) : last_key("keys", data.keys[0].get());
    const OrtTensor new_values =
        prefill ? heads_last("values", data.values[0].get()) : last_key("values", data.values[0].get());
    OrtTensor last = own("last", OnnxType::kInt32, {c.batch}, c.batch * sizeof(int32_t));
    for (int64_t b = 0; b < c.batch; ++b) static_cast<int32_t*>(last.data)[b] = static_cast<int32_t>(c.keys - 1);
    OrtTensor total = own("total", OnnxType::kInt32, {1}, sizeof(int32_t));
    *static_cast<int32_t*>(total.data) = static_cast<int32_t>(c.keys);
    const OrtTensor output = result({c.batch, c.queries, c.heads * c.value_size});
    for (size_t copy = 0; copy < data.keys.size(); ++copy) {
      const OrtTensor past_keys = cache("past_keys", data.keys[copy].get());
      const OrtTensor past_values = cache("past_values", data.values[copy].get());
      OrtTensor present_keys = past_keys;
      OrtTensor present_values = past_values;
      present_keys.name = "present_keys";
      present_values.name = "present_values";
      input_sets.push_back({queries, new_keys, new_values, past_keys, past_values, last, total});
      output_sets.push_back({output, present_keys, present_values});
    }
    model.add_node(
        kMicrosoft, "GroupQueryAttention", {"queries", "keys", "values", "past_keys", "past_values", "last", "total"},
        {"result", "present_keys", "present_values"}, {{"num_heads", c.heads}, {"kv_num_heads", c.kv_heads}});
    load(model, input_sets, output_sets);
  }
  [[nodiscard]] std::vector<float> output() const override { return heads_first(the_case(), result_floats()); }

 private:
  OrtTensor cache(const std::string& name, heed_tensor* tensor) const {
    return lent(name, tensor, {the_case().batch, the_case().kv_heads, the_case().keys, the_case().head_size});
  }

  // (B, 1, Hkv * D): the last row of each head.
  OrtTensor last_key(const std::string& name, heed_tensor* tensor) {
    const BenchCase& c = the_case();
    const size_t row = c.head_size * bytes_of(c.dtype);
    OrtTensor last = own(name, type(), {c.batch, 1, c.kv_heads * c.head_size}, c.batch * c.kv_heads * row);
    for (int64_t head = 0; head < c.batch * c.kv_heads; ++head) {
      std::memcpy(static_cast<uint8_t*>(last.data) + head * row,
                  static_cast<const uint8_t*>(heed_tensor_data(tensor)) + ((head + 1) * c.keys - 1) * row, row);
    }
    return last;
  }
};

// A weight (out, in) of the data as a constant (in, out).
void add_weight(OnnxModel& model, const std::string& name, const heed_tensor* weight) {
  const int64_t outputs = heed_tensor_dim(weight, 0);
  const int64_t inputs = heed_tensor_dim(weight, 1);
  const std::vector<float> turned = swap_axes(read_floats(weight), outputs, inputs, 1);
  model.add_constant(name, OnnxType::kFloat, {inputs, outputs}, turned.data(), turned.size() * sizeof(float));
}

void add_vector(OnnxModel& model, const std::string& name, const std::vector<float>& numbers) {
  const auto count = static_cast<int64_t>(numbers.size());
  model.add_constant(name, OnnxType::kFloat, {count}, numbers.data(), numbers.size() * sizeof(float));
}

// The biases of queries, keys and values, one after the other.
std::vector<float> joined_biases(const Data& data) {
  std::vector<float> all;
  for (int i = 0; i < 3; ++i) {
    const std::vector<float> one = read_floats(data.biases[i].get());
    all.insert(all.end(), one.begin(), one.end());
  }
  return all;
}

// y = x W, with W (K, N) constant; one model for each copy of the weight.
class MatMul : public OrtSubject {
 public:
  MatMul(const BenchCase& c, const Data& data, int threads) : OrtSubject("MatMul", c, data, threads) {
    const OrtTensor output = result({c.rows, c.outputs});
    for (const Tensor& weight : data.weights) {
      OnnxModel model(kOpset);
      add_weight(model, "weight", weight.get());
      model.add_node("", "MatMul", {"x", "weight"}, {"result"});
      load(model, {{lent("x", data.queries.get(), {c.rows, c.inputs})}}, {{output}});
    }
  }
  [[nodiscard]] std::vector<float> output() const override { return result_floats(); }
};

// The layer as four MatMul and a MultiHeadAttention, which adds the biases of the first three.
class LayerOfMatMul : public OrtSubject {
 public:
  LayerOfMatMul(const BenchCase& c, const Data& data, int threads) : OrtSubject("4 MatMul + MHA", c, data, threads) {
    OnnxModel model(kOpset);
    const std::vector<std::string> names = {"queries", "keys", "values"};
    for (int i = 0; i < 3; ++i) {
      add_weight(model, "weight_" + names[i], data.weights[i].get());
      model.add_node("", "MatMul", {"x", "weight_" + names[i]}, {names[i]});
    }
    add_vector(model, "biases", joined_biases(data));
    model.add_node(kMicrosoft, "MultiHeadAttention", {"queries", "keys", "values", "biases"}, {"heads"},
                   {{"num_heads", c.heads}});
    add_weight(model, "weight_output", data.weights[3].get());
    add_vector(model, "bias_output", read_floats(data.biases[3].get()));
    model.add_node("", "MatMul", {"heads", "weight_output"}, {"projected"});
    model.add_node("", "Add", {"projected", "bias_output"}, {"result"});
    const Dims dims = {c.batch, c.queries, c.embedding};
    load(model, {{lent("x", data.queries.get(), dims)}}, {{result(dims)}});
  }
  [[nodiscard]] std::vector<float> output() const override { return result_floats(); }
};

// The layer as com.microsoft Attention, which includes the first three projections, and a MatMul.
class LayerOfAttention : public OrtSubject {
 public:
  LayerOfAttention(const BenchCase& c, const Data& data, int threads)
      : OrtSubject("fused Attention + MatMul", c, data, threads) {
    OnnxModel model(kOpset);
    std::vector<float> joined(3 * c.embedding * c.embedding);
    for (int i = 0; i < 3; ++i) {
      const std::vector<float> weight = read_floats(data.weights[i].get());
      for (int64_t out = 0; out < c.embedding; ++out) {
        for (int64_t in = 0; in < c.embedding; ++in) {
          joined[(in * 3 + i) * c.embedding + out] = weight[out * c.embedding + in];
        }
      }
    }
    model.add_constant("weights", OnnxType::kFloat, {c.embedding, 3 * c.embedding}, joined.data(),
                       joined.size() * sizeof(float));
    add_vector(model, "biases", joined_biases(data));
    model.add_node(kMicrosoft, "Attention", {"x", "weights", "biases"}, {"heads"}, {{"num_heads", c.heads}});
    add_weight(model, "weight_output", data.weights[3].get());
    add_vector(model, "bias_output", read_floats(data.biases[3].get()));
    model.add_node("", "MatMul", {"heads", "weight_output"}, {"projected"});
    model.add_node("", "Add", {"projected", "bias_output"}, {"result"});
    const Dims dims = {c.batch, c.queries, c.embedding};
    load(model, {{lent("x", data.queries.get(), dims)}}, {{result(dims)}});
  }
  [[nodiscard]] std::vector<float> output() const override { return result_floats(); }
};

// An encoder as ONNX Runtime's optimizer for BERT writes it: com.microsoft Attention, SkipLayerNormalization, which adds the
// residual and a bias, and BiasGelu.
class FusedEncoder : public OrtSubject {
 public:
  FusedEncoder(const BenchCase& c, const Data& data, int threads) : OrtSubject("fused encoder", c, data, threads) {
    OnnxModel model(kOpset);
    std::string rows = "x";
    for (int64_t i = 0; i < c.layers; ++i) {
      const std::string layer = "layers." + std::to_string(i) + ".";
      const std::string output = i + 1 == c.layers ? "result" : layer + "output";
      add_layer(model, layer, rows, output);
      rows = output;
    }
    const Dims dims = {c.batch, c.queries, c.embedding};
    load(model, {{lent("x", data.queries.get(), dims)}}, {{result(dims)}});
  }
  [[nodiscard]] std::vector<float> output() const override { return result_floats(); }

 private:
  [[nodiscard]] std::vector<float> parameter(const std::string& name) const {
    return parameter_floats(data().encoder.get(), name);
  }

  // A weight (out, in) as a constant (in, out).
  void add_matmul(OnnxModel& model, const std::string& weight, int64_t outputs, int64_t inputs, const std::string& from,
                  const std::string& to) const {
    const std::vector<float> turned = swap_axes(parameter(weight), outputs, inputs, 1);
    model.add_constant(weight, OnnxType::kFloat, {inputs, outputs}, turned.data(), turned.size() * sizeof(float));
    model.add_node("", "MatMul", {from, weight}, {to});
  }

  void add_norm(OnnxModel& model, const std::string& norm, const std::string& bias, const std::string& from,
                const std::string& residual, const std::string& to) const {
    add_vector(model, norm + ".weight", parameter(norm + ".weight"));
    add_vector(model, norm + ".bias", parameter(norm + ".bias"));
    add_vector(model, bias, parameter(bias));
    model.add_node(kMicrosoft, "SkipLayerNormalization", {from, residual, norm + ".weight", norm + ".bias", bias},
                   {to});
  }

  void add_layer(OnnxModel& model, const std::string& layer, const std::string& input,
                 const std::string& output) const {
    const BenchCase& c = the_case();
    std::vector<float> weights(3 * c.embedding * c.embedding);
    std::vector<float> biases;
    for (int64_t i = 0; i < 3; ++i) {
      const std::string projection = layer + "self_attention." + (i == 0 ? "W_q" : i == 1 ? "W_k" : "W_v");
      const std::vector<float> weight = parameter(projection + ".weight");
      for (int64_t out = 0; out < c.embedding; ++out) {
        for (int64_t in = 0; in < c.embedding; ++in)
          weights[(in * 3 + i) * c.embedding + out] = weight[out * c.embedding + in];
      }
      const std::vector<float> bias = parameter(projection + ".bias");
      biases.insert(biases.end(), bias.begin(), bias.end());
    }
    model.add_constant(layer + "weights", OnnxType::kFloat, {c.embedding, 3 * c.embedding}, weights.data(),
                       weights.size() * sizeof(float));
    add_vector(model, layer + "biases", biases);
    model.add_node(kMicrosoft, "Attention", {input, layer + "weights", layer + "biases"}, {layer + "heads"},
                   {{"num_heads", c.heads}});
    add_matmul(model, layer + "self_attention.W_o.weight", c.embedding, c.embedding, layer + "heads",
               layer + "projected");
    add_norm(model, layer + "norm_1", layer + "self_attention.W_o.bias", layer + "projected", input,
             layer + "attended");
    add_matmul(model, layer + "feed_forward.W_1.weight", c.hidden, c.embedding, layer + "attended", layer + "hidden");
    add_vector(model, layer + "feed_forward.W_1.bias", parameter(layer + "feed_forward.W_1.bias"));
    model.add_node(kMicrosoft, "BiasGelu", {layer + "hidden", layer + "feed_forward.W_1.bias"}, {layer + "activated"});
    add_matmul(model, layer + "feed_forward.W_2.weight", c.embedding, c.hidden, layer + "activated", layer + "second");
    add_norm(model, layer + "norm_2", layer + "feed_forward.W_2.bias", layer + "second", layer + "attended", output);
  }
};

}  // namespace

Subjects make_ort_subjects(const BenchCase& c, const Data& data, int threads, std::vector<std::string>* refusals) {
  Subjects subjects;
  const auto offer = [&](const char* name, const std::function<std::unique_ptr<Subject>()>& make) {
    try {
      subjects.push_back(make());
    } catch (const OrtRefusal& refusal) {
      refusals->push_back(std::string("ORT ") + name + ": " + refusal.what());
    }
  };
  if (c.kind == Kind::kAttention) {
    if (c.kv_heads == c.heads) {
      offer("MHA", [&] { return std::make_unique<MultiHeadAttention>(c, data, threads, false); });
      offer("MHA 4-D", [&] { return std::make_unique<MultiHeadAttention>(c, data, threads, true); });
    }
    offer("Attention", [&] { return std::make_unique<Attention>(c, data, threads); });
    const bool last_query_sees_all = c.lengths.empty() && (c.causal || c.queries == 1);
    if (last_query_sees_all && c.head_size == c.value_size && (c.queries == c.keys || c.queries == 1)) {
      offer("GQA", [&] { return std::make_unique<GroupQueryAttention>(c, data, threads); });
    }
  } else if (c.kind == Kind::kLinear) {
    offer("MatMul", [&] { return std::make_unique<MatMul>(c, data, threads); });
  } else if (c.kind == Kind::kEncoder) {
    offer("fused encoder", [&] { return std::make_unique<FusedEncoder>(c, data, threads); });
  } else if (!c.has_own_keys) {
    offer("4 MatMul + MHA", [&] { return std::make_unique<LayerOfMatMul>(c, data, threads); });
    offer("fused Attention", [&] { return std::make_unique<LayerOfAttention>(c, data, threads); });
  }
  return subjects;
}

}  // namespace bench
