// SPDX-License-Identifier: Apache-2.0
// Writes ONNX models: a graph of nodes with named tensors, as the bytes of a ModelProto. Implements only the part of
// the format (onnx.ai, onnx.proto) that the benchmark's graphs need.
#ifndef HEED_BENCH_ONNX_MODEL_H
#define HEED_BENCH_ONNX_MODEL_H

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace bench {

enum class OnnxType : int64_t { kFloat = 1, kInt32 = 6, kInt64 = 7, kBool = 9, kFloat16 = 10, kBfloat16 = 16 };

class OnnxModel {
 public:
  using Dims = std::vector<int64_t>;
  using Names = std::vector<std::string>;
  using Integers = std::vector<std::pair<std::string, int64_t>>;

  // opset: the version of the standard operators.
  explicit OnnxModel(int64_t opset) : opset_(opset) {}

  void add_input(const std::string& name, OnnxType type, const Dims& dims);
  void add_output(const std::string& name, OnnxType type, const Dims& dims);
  // A constant tensor of the model, which can be converted to another layout when the model is loaded.
  void add_constant(const std::string& name, OnnxType type, const Dims& dims, const void* data, size_t num_bytes);
  // domain "" is the standard one. An input named "" is omitted.
  void add_node(const std::string& domain, const std::string& operation, const Names& inputs, const Names& outputs,
                const Integers& attributes = {});

  [[nodiscard]] std::string bytes() const;

 private:
  int64_t opset_;
  std::string nodes_;
  std::string constants_;
  std::string inputs_;
  std::string outputs_;
};

}  // namespace bench

#endif  // HEED_BENCH_ONNX_MODEL_H
