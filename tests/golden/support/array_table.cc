// SPDX-License-Identifier: Apache-2.0
#include "golden/support/array_table.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <sstream>
#include <stdexcept>
#include <utility>

namespace heed::golden {
namespace {

using capi_test::check;
using capi_test::Dims;
using capi_test::make_tensor;
using capi_test::make_tensor_of;
using capi_test::make_view;
using capi_test::Tensor;

constexpr const char* kDTypes[] = {"F32", "F16", "BF16", "F64", "I32", "I64", "I8", "U8", "BOOL"};

heed_dtype dtype_of(const std::string& name) {
  const auto* found = std::find(std::begin(kDTypes), std::end(kDTypes), name);
  if (found == std::end(kDTypes)) throw std::runtime_error("arrays.txt has the dtype " + name);
  return static_cast<heed_dtype>(found - std::begin(kDTypes));
}

bool is_floating(heed_dtype dtype) {
  return dtype == HEED_F32 || dtype == HEED_F16 || dtype == HEED_BF16 || dtype == HEED_F64;
}

std::vector<std::string> words_of(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

// Such as "F32 (2, 3) transposed: 1 2 3 4 5 6".
TableArray read_array(const std::string& text) {
  TableArray array;
  if (text == "-") return array;
  const size_t open = text.find('(');
  const size_t close = text.find(')');
  array.dtype = dtype_of(text.substr(0, open - 1));
  std::istringstream sizes(text.substr(open + 1, close - open - 1));
  for (std::string size; std::getline(sizes, size, ',');) array.dims.push_back(std::atoll(size.c_str()));
  const size_t colon = std::min(text.find(':'), text.size());
  const std::vector<std::string> head = words_of(text.substr(close + 1, colon - close - 1));
  const std::vector<std::string> tail = words_of(text.substr(std::min(colon + 1, text.size())));
  const std::string kind = head.empty() ? "" : head[0];
  if (kind == "refused") {
    array.given = Given::Refused;
  } else if (kind == "units") {
    array.given = Given::Units;
    array.units = std::strtod(head.at(1).c_str(), nullptr);
    for (const std::string& word : tail) array.numbers.push_back(std::strtod(word.c_str(), nullptr));
  } else if (kind == "within") {
    array.given = Given::Bounds;
    for (size_t i = 0; i + 1 < tail.size(); i += 2) {
      array.numbers.push_back(std::strtod(tail[i].c_str(), nullptr));
      array.bounds.push_back(std::strtod(tail[i + 1].c_str(), nullptr));
    }
  } else {
    array.given = Given::Elements;
    array.layout = kind;
    array.words = tail;
  }
  return array;
}

// A unit in the last place of numbers of this magnitude.
double unit(heed_dtype dtype, double number) {
  struct Format {
    int precision;
    int smallest_exponent;
  };
  const Format format = dtype == HEED_F64    ? Format{53, -1022}
                        : dtype == HEED_F16  ? Format{11, -14}
                        : dtype == HEED_BF16 ? Format{8, -126}
                                             : Format{24, -126};
  const int exponent = number == 0 ? format.smallest_exponent : std::max(std::ilogb(number), format.smallest_exponent);
  return std::ldexp(1.0, exponent - format.precision + 1);
}

// The largest difference that is allowed; the sum of the computation's error and the rounding to a 16-bit dtype.
double tolerance(const TableArray& expected, size_t i) {
  const double number = expected.numbers[i];
  const bool is_narrow = expected.dtype == HEED_F16 || expected.dtype == HEED_BF16;
  const heed_dtype computed = is_narrow ? HEED_F32 : expected.dtype;
  const double error = expected.given == Given::Units ? expected.units * unit(computed, number) : expected.bounds[i];
  // The number of the table is rounded too, to F64.
  const double rounding = expected.dtype == HEED_F64 ? 0.5 * unit(HEED_F64, number) : 0;
  return error + rounding + (is_narrow ? 0.5 * unit(expected.dtype, std::abs(number) + error) : 0);
}

std::string text_of(double number) {
  std::ostringstream text;
  text.precision(17);
  text << number;
  return text.str();
}

std::vector<double> doubles_of(heed_context* context, const heed_tensor* tensor) {
  const Tensor wide = make_tensor(context, capi_test::dims_of(tensor), HEED_F64);
  check(heed_tensor_copy(wide.get(), tensor));
  return capi_test::read_elements<double>(wide.get());
}

bool is_same(double is, double should) {
  return std::isnan(should) ? std::isnan(is) : is == should && std::signbit(is) == std::signbit(should);
}

}  // namespace

bool TableCase::is_refused() const {
  return results.empty() ||
         std::any_of(results.begin(), results.end(),
                     [](const TableArray& array) { return array.given == Given::Refused; }) ||
         std::all_of(results.begin(), results.end(), [](const TableArray& array) { return array.given == Given::Not; });
}

int32_t TableCase::integer(const char* parameter) const { return std::atoi(parameters.at(parameter).c_str()); }

std::vector<int32_t> TableCase::axes() const {
  std::vector<int32_t> list;
  const std::string& text = parameters.at("axes");
  if (text == "none") return list;
  std::istringstream stream(text);
  for (std::string axis; std::getline(stream, axis, ',');) list.push_back(std::atoi(axis.c_str()));
  return list;
}

std::vector<TableCase> read_array_table() {
  std::ifstream file(HEED_SOURCE_DIR "/tests/golden/data/arrays.txt");
  std::vector<TableCase> cases;
  int number = 0;
  for (std::string line; std::getline(file, line);) {
    ++number;
    if (line[0] == '#') continue;
    if (line[0] == '<') {
      cases.back().inputs.push_back(read_array(line.substr(2)));
    } else if (line[0] == '>') {
      cases.back().results.push_back(read_array(line.substr(2)));
    } else {
      const std::vector<std::string> words = words_of(line);
      TableCase next;
      next.where = "line " + std::to_string(number) + ": " + line;
      next.function = words.at(0);
      for (size_t i = 1; i < words.size(); ++i) {
        const size_t sign = words[i].find('=');
        next.parameters[words[i].substr(0, sign)] = words[i].substr(sign + 1);
      }
      cases.push_back(std::move(next));
    }
  }
  return cases;
}

LaidOut make_laid_out(heed_context* context, heed_dtype dtype, const Dims& dims, const std::string& layout) {
  LaidOut made;
  Dims whole = dims;
  int64_t offset = 0;
  if (layout == "transposed") std::reverse(whole.begin(), whole.end());
  if (layout == "stepped") whole.back() = 2 * dims.back() + 1;
  if (layout == "repeated") whole.front() = std::min<int64_t>(dims.front(), 1);
  if (layout == "sliced") {
    for (int64_t& dim : whole) dim += 2;
  }
  made.whole = make_tensor(context, whole, dtype);
  Dims strides = capi_test::strides_of(made.whole.get());
  if (layout == "transposed") std::reverse(strides.begin(), strides.end());
  if (layout == "stepped") {
    strides.back() = 2;
    offset = 1;
  }
  if (layout == "repeated") strides.front() = 0;
  if (layout == "sliced") {
    for (const int64_t stride : strides) offset += stride;
  }
  if (layout == "reversed") {
    strides.back() = -strides.back();
    offset = std::max<int64_t>(dims.back() - 1, 0);
  }
  made.view = make_view(made.whole.get(), dims, strides, offset);
  return made;
}

Tensor make_plain(heed_context* context, const TableArray& array) {
  Tensor tensor;
  if (array.given == Given::Not) return tensor;
  std::vector<double> doubles;
  std::vector<float> floats;
  std::vector<int64_t> integers;
  for (const std::string& word : array.words) {
    if (array.dtype == HEED_F64) {
      doubles.push_back(std::strtod(word.c_str(), nullptr));
    } else if (is_floating(array.dtype)) {
      floats.push_back(std::strtof(word.c_str(), nullptr));
    } else {
      integers.push_back(std::strtoll(word.c_str(), nullptr, 10));
    }
  }
  if (array.dtype == HEED_F64) return make_tensor_of(context, array.dims, doubles);
  const Tensor wide = is_floating(array.dtype) ? make_tensor_of(context, array.dims, floats)
                                               : make_tensor_of(context, array.dims, integers);
  tensor = make_tensor(context, array.dims, array.dtype);
  check(heed_tensor_copy(tensor.get(), wide.get()));
  return tensor;
}

LaidOut make_laid_out(heed_context* context, const TableArray& array) {
  if (array.given == Given::Not) return {};
  Tensor plain = make_plain(context, array);
  if (array.layout.empty()) {
    Tensor view = make_view(plain.get(), array.dims, {});
    return {std::move(plain), std::move(view)};
  }
  LaidOut made = make_laid_out(context, array.dtype, array.dims, array.layout);
  if (array.layout == "reversed") {
    // Tensors with negative strides can only be read.
    const Dims strides = capi_test::strides_of(made.get());
    const int64_t last = std::max<int64_t>(array.dims.back() - 1, 0);
    check(heed_tensor_copy(made.whole.get(), make_view(plain.get(), array.dims, strides, last).get()));
  } else if (array.layout != "repeated") {
    check(heed_tensor_copy(made.get(), plain.get()));
  } else if (array.dims.front() > 0) {
    check(heed_tensor_copy(made.whole.get(), capi_test::make_slice(plain.get(), 0, 0, 1).get()));
  }
  return made;
}

std::string difference(heed_context* context, const heed_tensor* result, const TableArray& expected) {
  const auto at = [](size_t i, const std::string& is, const std::string& should) {
    return "element " + std::to_string(i) + " is " + is + ", expected " + should;
  };
  if (expected.given == Given::Elements && !is_floating(expected.dtype)) {
    const std::vector<uint8_t> is = capi_test::read_bytes(result);
    const std::vector<uint8_t> should = capi_test::read_bytes(make_plain(context, expected).get());
    if (is == should) return "";
    const size_t size = is.size() / std::max<size_t>(expected.words.size(), 1);
    const size_t byte = static_cast<size_t>(std::mismatch(is.begin(), is.end(), should.begin()).first - is.begin());
    const Tensor wide = make_tensor(context, expected.dims, HEED_I64);
    check(heed_tensor_copy(wide.get(), result));
    const size_t i = byte / size;
    return at(i, std::to_string(capi_test::read_elements<int64_t>(wide.get())[i]), expected.words[i]);
  }
  const std::vector<double> is = doubles_of(context, result);
  if (expected.given == Given::Elements) {
    const std::vector<double> should = doubles_of(context, make_plain(context, expected).get());
    for (size_t i = 0; i < is.size(); ++i) {
      if (!is_same(is[i], should[i])) return at(i, text_of(is[i]), text_of(should[i]));
    }
    return "";
  }
  if (is.size() != expected.numbers.size()) return "the table has another number of elements";
  for (size_t i = 0; i < is.size(); ++i) {
    const double should = expected.numbers[i];
    const bool is_exact_zero = should == 0 && (expected.given == Given::Units || expected.bounds[i] == 0);
    if (is_exact_zero || !std::isfinite(should)) {
      if (!is_same(is[i], should)) return at(i, text_of(is[i]), text_of(should));
    } else if (!(std::abs(is[i] - should) <= tolerance(expected, i))) {
      const double units = std::abs(is[i] - should) / unit(expected.dtype, should);
      return at(i, text_of(is[i]), text_of(should) + " within " + text_of(tolerance(expected, i))) + ": " +
             text_of(units) + " units away";
    }
  }
  return "";
}

}  // namespace heed::golden
