// SPDX-License-Identifier: Apache-2.0
// Protocol buffers' wire format: a message is a sequence of fields. Each has its number and wire type in one varint,
// followed by a varint (type 0), or by a length and that many bytes (type 2). The field numbers are those of
// onnx.proto.
#include "onnx_model.h"

namespace bench {
namespace {

std::string varint(uint64_t number) {
  std::string bytes;
  for (; number > 0x7f; number >>= 7) bytes += static_cast<char>((number & 0x7f) | 0x80);
  bytes += static_cast<char>(number);
  return bytes;
}

std::string field(int number, int64_t value) { return varint(number << 3) + varint(static_cast<uint64_t>(value)); }

std::string field(int number, const std::string& bytes) {
  return varint(number << 3 | 2) + varint(bytes.size()) + bytes;
}

// ValueInfoProto: name 1, type 2 { tensor_type 1 { elem_type 1, shape 2 { dim 1 { dim_value 1 } } } }
std::string value_info(const std::string& name, OnnxType type, const OnnxModel::Dims& dims) {
  std::string shape;
  for (const int64_t dim : dims) shape += field(1, field(1, dim));
  const std::string tensor_type = field(1, static_cast<int64_t>(type)) + field(2, shape);
  return field(1, name) + field(2, field(1, tensor_type));
}

}  // namespace

// GraphProto: node 1, name 2, initializer 5, input 11, output 12
void OnnxModel::add_input(const std::string& name, OnnxType type, const Dims& dims) {
  inputs_ += field(11, value_info(name, type, dims));
}

void OnnxModel::add_output(const std::string& name, OnnxType type, const Dims& dims) {
  outputs_ += field(12, value_info(name, type, dims));
}

// TensorProto: dims 1, data_type 2, name 8, raw_data 9
void OnnxModel::add_constant(const std::string& name, OnnxType type, const Dims& dims, const void* data,
                             size_t num_bytes) {
  std::string tensor;
  for (const int64_t dim : dims) tensor += field(1, dim);
  tensor += field(2, static_cast<int64_t>(type)) + field(8, name);
  tensor += field(9, std::string(static_cast<const char*>(data), num_bytes));
  constants_ += field(5, tensor);
}

// NodeProto: input 1, output 2, name 3, op_type 4, attribute 5, domain 7. AttributeProto: name 1, i 3, type 20 (2: INT)
void OnnxModel::add_node(const std::string& domain, const std::string& operation, const Names& inputs,
                         const Names& outputs, const Integers& attributes) {
  std::string node;
  for (const std::string& input : inputs) node += field(1, input);
  for (const std::string& output : outputs) node += field(2, output);
  node += field(3, operation + "_" + outputs[0]) + field(4, operation);
  for (const auto& [name, value] : attributes) node += field(5, field(1, name) + field(3, value) + field(20, 2));
  if (!domain.empty()) node += field(7, domain);
  nodes_ += field(1, node);
}

// ModelProto: ir_version 1, graph 7, opset_import 8 { domain 1, version 2 }
std::string OnnxModel::bytes() const {
  constexpr int64_t kIrVersion = 10;
  const std::string graph = nodes_ + field(2, std::string("graph")) + constants_ + inputs_ + outputs_;
  return field(1, kIrVersion) + field(7, graph) + field(8, field(1, std::string()) + field(2, opset_)) +
         field(8, field(1, std::string("com.microsoft")) + field(2, int64_t{1}));
}

}  // namespace bench
