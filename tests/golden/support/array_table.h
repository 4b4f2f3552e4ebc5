// SPDX-License-Identifier: Apache-2.0
// The cases of data/arrays.txt: array_table.py says what their text means.
#pragma once

#include <heed/heed.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "capi/support/objects.h"

namespace heed::golden {

// How the numbers of an array are given.
enum class Given { Not, Elements, Units, Bounds, Refused };

struct TableArray {
  Given given = Given::Not;
  heed_dtype dtype = HEED_DTYPE_INVALID;
  capi_test::Dims dims;
  std::string layout;              // empty: row-major
  std::vector<std::string> words;  // Elements: in row-major order
  std::vector<double> numbers;     // Units, Bounds
  std::vector<double> bounds;      // Bounds
  double units = 0;                // Units
};

struct TableCase {
  std::string where;  // such as "line 12: add"
  std::string function;
  std::map<std::string, std::string> parameters;
  std::vector<TableArray> inputs;
  std::vector<TableArray> results;

  bool is_refused() const;
  bool has(const char* parameter) const { return parameters.find(parameter) != parameters.end(); }
  int32_t integer(const char* parameter) const;
  // Of "axes": the axes between commas.
  std::vector<int32_t> axes() const;
};

std::vector<TableCase> read_array_table();

// A tensor, and the one that owns its memory, which may have elements between those of the tensor.
struct LaidOut {
  capi_test::Tensor whole;
  capi_test::Tensor view;

  heed_tensor* get() const { return view.get(); }
};

// A tensor of zeros in the layout.
LaidOut make_laid_out(heed_context* context, heed_dtype dtype, const capi_test::Dims& dims, const std::string& layout);

// The array's elements, in its layout or in row-major order; null if it is not given.
LaidOut make_laid_out(heed_context* context, const TableArray& array);
capi_test::Tensor make_plain(heed_context* context, const TableArray& array);

// What is wrong with a result; empty if nothing is.
std::string difference(heed_context* context, const heed_tensor* result, const TableArray& expected);

}  // namespace heed::golden
