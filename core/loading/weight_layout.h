// SPDX-License-Identifier: Apache-2.0
// How frameworks name and shape the parameters of layers in the files they write. Each layout is a table. To support
// another framework, add a table to weight_layout.cc and a row to docs/weights.md.
#pragma once

#include <cstdint>
#include <span>

#include "families/layout_names.h"
#include "tensor/tensor.h"

namespace heed {

// The form in which a file's tensor holds a parameter. A weight has dims (out, in), a bias (out).
enum class WeightForm : int32_t {
  Linear,      // the parameter's own form
  Transposed,  // (in, out)
  HeadsOut,    // (in, heads, size) or (heads, size): out is heads * size
  HeadsIn,     // (heads, size, out): in is heads * size
  OneRow,      // (1, 1, out)
  Row,         // (1, out)
  OneTable,    // (1, out, in)
  Patches,     // (out, channels, height, width): in is a patch in this order
  Kernel,      // (out, channels, 3): in is (3, channels), a convolution over 3 elements
};

// How one tensor holds the rows of queries, keys and values.
enum class Packing : int32_t {
  Equal,      // one after another; all three have as many rows
  InTurn,     // one after another, each with its own number of rows
  ByKeyHead,  // for each key head: its query heads, the key head, the value head
};

// The tensor that holds one parameter in a layout.
struct WeightSource {
  const char* parameter;
  // The name below the prefix; '.' stands for the separator of the style. "": the prefix itself names the tensor.
  const char* name;
  WeightForm form = WeightForm::Linear;
  // The tensor holds num_parts parameters along `out`; this one has index `part`. With three parts: queries, keys,
  // values, packed as `packing` says.
  int32_t part = 0;
  int32_t num_parts = 1;
  Packing packing = Packing::Equal;
  // Where the module of the first layer holds the tensor for all layers: it is read there if the layer has none.
  bool is_in_first_layer = false;
};

// The rows of one part in a tensor: num_blocks times `block` rows, each block `step` rows after the one before.
struct PartRows {
  int64_t first = 0;
  int64_t block = 0;
  int64_t step = 0;
  int64_t num_blocks = 1;
};

// The numbers of rows of queries, keys and values that one tensor holds.
struct PackedRows {
  int64_t parts[3] = {0, 0, 0};
  int64_t num_kv_heads = 1;
};

// How a tensor's full name is built from prefix and modules: joined by `separator`, followed by `ending`.
struct NameStyle {
  char separator = '.';
  const char* ending = "";
};

inline constexpr NameStyle kDotted[] = {{'.', ""}};

struct WeightLayout {
  // The name of the layout in messages.
  const char* name;
  std::span<const WeightSource> sources;
  // Names of tensors that belong to this layout and change the result in a way that heed has no option for. They are
  // relative to the module that contains the query projection: for BERT, "self".
  std::span<const char* const> refused;
  std::span<const NameStyle> styles = kDotted;
  // The required last module of the prefix, to tell this layout from another one with the same names; null: any.
  const char* last_module = nullptr;
};

// All layouts except heed's own, which each kind of layer defines.
std::span<const WeightLayout> foreign_layouts();

// The rows of a packed tensor that belong to the source's part.
PartRows rows_of_part(const WeightSource& source, const PackedRows& rows);

// The dims of a tensor that holds a parameter with the given dims. kOpenDim stays open. `num_heads`: the parameter's
// number of heads. `rows`: of a packed tensor. `patch`: LayerDescription::patch.
Shape stored_shape(const WeightSource& source, const Shape& parameter, int64_t num_heads, const PackedRows& rows = {},
                   const Shape& patch = {});

// A view of the tensor `stored` in the form of parameters, (out, in) or (out), with all its parts; `stored` has the
// dims that stored_shape returns. Of a kernel it is (out, 3, channels), since no strides merge these axes.
Tensor view_as_parameters(const WeightSource& source, const Tensor& stored);

}  // namespace heed
