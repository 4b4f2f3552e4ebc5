// SPDX-License-Identifier: Apache-2.0
// The text of tensors, compared with what NumPy prints (golden/data/array_texts.txt, made by golden/make_array_texts.py).
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "capi/support/objects.h"

namespace heed::capi_test {
namespace {

std::string text_of(const heed_tensor* tensor) {
  size_t num_bytes = 0;
  check(heed_tensor_to_text(tensor, nullptr, 0, &num_bytes));
  std::string text(num_bytes, '#');
  check(heed_tensor_to_text(tensor, text.data(), text.size(), nullptr));
  text.pop_back();
  return text;
}

struct Case {
  std::string what;  // such as "float32 (2, 3): 0.0 step 0.5"
  std::string text;
};

std::vector<Case> cases() {
  std::ifstream file(HEED_SOURCE_DIR "/tests/golden/data/array_texts.txt");
  std::vector<Case> found;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with('#')) continue;
    if (!line.starts_with('|')) {
      found.push_back({line, ""});
    } else {
      std::string& text = found.back().text;
      text += (text.empty() ? "" : "\n") + line.substr(1);
    }
  }
  return found;
}

heed_dtype dtype_of(const std::string& name) {
  constexpr const char* kNames[] = {"float32", "float16", "bfloat16", "float64", "int32",
                                    "int64",   "int8",    "uint8",    "boolean"};
  return static_cast<heed_dtype>(std::ranges::find(kNames, name) - std::begin(kNames));
}

template <typename Number>
Number number_of(const std::string& word);
template <>
double number_of(const std::string& word) {
  if (word == "nan") return NAN;
  return std::strtod(word.c_str(), nullptr);
}
template <>
int64_t number_of(const std::string& word) {
  return std::strtoll(word.c_str(), nullptr, 10);
}

// The elements after the colon: all of them, or "first step difference".
template <typename Number>
std::vector<Number> elements_of(const std::string& words, const Dims& dims) {
  std::istringstream stream(words);
  std::vector<std::string> all;
  for (std::string word; stream >> word;) all.push_back(word);
  std::vector<Number> elements;
  if (all.size() == 3 && all[1] == "step") {
    int64_t count = 1;
    for (const int64_t dim : dims) count *= dim;
    for (int64_t k = 0; k < count; ++k)
      elements.push_back(number_of<Number>(all[0]) + static_cast<Number>(k) * number_of<Number>(all[2]));
  } else {
    for (const std::string& word : all) elements.push_back(number_of<Number>(word));
  }
  return elements;
}

Tensor tensor_of(heed_context* context, const std::string& what) {
  const size_t open = what.find('(');
  Dims dims;
  std::istringstream sizes(what.substr(open + 1, what.find(')') - open - 1));
  for (std::string size; std::getline(sizes, size, ',');) dims.push_back(std::atoll(size.c_str()));
  const heed_dtype dtype = dtype_of(what.substr(0, open - 1));
  const std::string words = what.substr(what.find(':') + 1);
  const bool is_floating = what.find("float") != std::string::npos;
  const Tensor wide = is_floating ? make_tensor_of(context, dims, elements_of<double>(words, dims), HEED_F64)
                                  : make_tensor_of(context, dims, elements_of<int64_t>(words, dims), HEED_I64);
  Tensor tensor = make_tensor(context, dims, dtype);
  check(heed_tensor_copy(tensor.get(), wide.get()));
  return tensor;
}

TEST(Texts, AreWhatNumPyPrints) {
  const Context context = make_context();
  const std::vector<Case> all = cases();
  ASSERT_GE(all.size(), 200U);
  for (const auto& [what, text] : all) EXPECT_EQ(text_of(tensor_of(context.get(), what).get()), text) << what;
}

TEST(Texts, AreThoseOfTheElementsWhateverTheStrides) {
  const Context context = make_context();
  const Tensor tensor = make_tensor_of<float>(context.get(), {2, 3}, {0, 1, 2, 3, 4, 5});
  EXPECT_EQ(text_of(make_transposed(tensor.get(), {1, 0}).get()), "[[0. 3.]\n [1. 4.]\n [2. 5.]]");
  const Tensor one = make_tensor_of<float>(context.get(), {1}, {0.5F});
  EXPECT_EQ(text_of(make_view(one.get(), {2, 700}, {0, 0}).get()),
            "[[0.5 0.5 0.5 ... 0.5 0.5 0.5]\n [0.5 0.5 0.5 ... 0.5 0.5 0.5]]");
}

TEST(Texts, OfBf16HaveItsFewestDigits) {
  const Context context = make_context();
  EXPECT_EQ(text_of(tensor_of(context.get(), "bfloat16 (3): 0.1 3.140625 -2").get()), "[ 0.1   3.14 -2.  ]");
  EXPECT_EQ(text_of(tensor_of(context.get(), "bfloat16 (): 0.1").get()), "0.1");
}

TEST(Texts, AreCutLikeOtherTexts) {
  const Context context = make_context();
  const Tensor tensor = make_tensor_of<float>(context.get(), {2}, {1, 2});
  std::string text(5, '#');
  size_t num_bytes = 0;
  check(heed_tensor_to_text(tensor.get(), text.data(), 4, &num_bytes));
  EXPECT_EQ(num_bytes, sizeof "[1. 2.]");
  EXPECT_EQ(text, std::string("[1.\0#", 5));
}

}  // namespace
}  // namespace heed::capi_test
