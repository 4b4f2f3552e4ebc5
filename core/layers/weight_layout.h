// SPDX-License-Identifier: Apache-2.0
// How frameworks name and shape the parameters of layers in the files they write. A layout is a table: to know
// another framework is to add one to weight_layout.cc, and a row to docs/weights.md.
#pragma once

#include <cstdint>
#include <span>

#include "tensor/tensor.h"

namespace heed {

// How a tensor of a file holds a parameter, which is (out, in) or, a bias, (out).
enum class WeightForm : int32_t {
  Linear,      // as the parameter
  Transposed,  // (in, out)
  HeadsOut,    // (in, heads, size) or (heads, size): out is heads * size
  HeadsIn,     // (heads, size, out): in is heads * size
};

// Where a layout keeps one parameter.
struct WeightSource {
  const char* parameter;
  // Below the prefix; '.' stands for the separator of the style.
  const char* name;
  WeightForm form = WeightForm::Linear;
  // The tensor holds num_parts parameters of one size side by side along out; this is number `part`, from 0.
  int32_t part = 0;
  int32_t num_parts = 1;
};

// How the parts of a name are put together, its prefix being one of them.
struct NameStyle {
  char separator = '.';
  const char* ending = "";
};

inline constexpr NameStyle kDotted[] = {{'.', ""}};

// Titles of layouts that several families of models have, which model_family.cc tells apart.
namespace layout_title {
inline constexpr const char* kBert = "Hugging Face BERT";
inline constexpr const char* kViT = "Hugging Face ViT";
inline constexpr const char* kAlbert = "Hugging Face ALBERT";
inline constexpr const char* kBart = "Hugging Face BART";
inline constexpr const char* kLlama = "Hugging Face Llama";
inline constexpr const char* kT5 = "Hugging Face T5";
inline constexpr const char* kDistilBert = "Hugging Face DistilBERT";
inline constexpr const char* kGpt2 = "Hugging Face GPT-2";
}  // namespace layout_title

struct WeightLayout {
  // As sentences call it.
  const char* title;
  std::span<const WeightSource> sources;
  // Names of tensors that go with these and change the result in a way that heed has no option for, where the module
  // that projects queries lies: for BERT below "self".
  std::span<const char* const> refused;
  std::span<const NameStyle> styles = kDotted;
  // The last module that a prefix must name, where another layout has the same names; null: any.
  const char* last_module = nullptr;
};

// All layouts but heed's own, which is a kind of layer's to know.
std::span<const WeightLayout> foreign_layouts();

// The dims of a tensor that holds a parameter of these dims; kOpenDim stays open. num_heads: of the parameter.
Shape stored_shape(const WeightSource& source, const Shape& parameter, int64_t num_heads);

// The parameter as a view of a tensor of such dims.
Tensor view_as_parameter(const WeightSource& source, const Tensor& stored);

}  // namespace heed
