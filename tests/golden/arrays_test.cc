// SPDX-License-Identifier: Apache-2.0
// The functions of heed.h 6.9 to 6.11, products, softmax and rotations compared with NumPy, by the table that make_arrays.py has made. Each case is computed on one
// thread and on three, in results of every layout, and in place where heed.h allows it, always with the same bits.
#include <gtest/gtest.h>
#include <heed/heed.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <iterator>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "capi/support/objects.h"
#include "capi/support/refusal.h"
#include "golden/support/array_table.h"

namespace heed::golden {
namespace {

using capi_test::Context;
using capi_test::Dims;
using capi_test::read_bytes;
using capi_test::Tensor;

// In the order of the enumerations of heed.h.
constexpr const char* kElementwise[] = {
    "add",         "subtract",   "multiply",    "divide",      "power",    "remainder",  "maximum", "minimum",
    "logical_and", "logical_or", "logical_xor", "logical_not", "negative", "absolute",   "sign",    "square",
    "round",       "floor",      "ceil",        "truncate",    "sqrt",     "exp",        "log",     "sin",
    "cos",         "tanh",       "sigmoid",     "erf",         "is_nan",   "is_infinite"};
constexpr const char* kComparisons[] = {"equal", "not_equal", "less", "less_equal", "greater", "greater_equal"};
constexpr const char* kReductions[] = {"reduce.sum",  "reduce.mean", "reduce.max",    "reduce.min",
                                       "reduce.prod", "reduce.norm", "reduce.argmax", "reduce.argmin"};

template <size_t count>
std::optional<int32_t> place_of(const std::string& name, const char* const (&names)[count]) {
  const auto* found = std::find(std::begin(names), std::end(names), name);
  if (found == std::end(names)) return std::nullopt;
  return static_cast<int32_t>(found - std::begin(names));
}

using Handles = std::vector<heed_tensor*>;

heed_status call(const TableCase& one, const Handles& inputs, const Handles& results) {
  const auto input = [&](size_t i) { return i < inputs.size() ? inputs[i] : nullptr; };
  heed_tensor* result = results.at(0);
  if (const auto function = place_of(one.function, kElementwise))
    return heed_elementwise(*function, input(0), input(1), result);
  if (const auto comparison = place_of(one.function, kComparisons))
    return heed_compare(*comparison, input(0), input(1), result);
  if (const auto reduction = place_of(one.function, kReductions)) {
    if (one.has("axis")) return heed_reduce(*reduction, input(0), one.integer("axis"), result);
    if (!one.has("axes")) return heed_reduce_axes(*reduction, input(0), nullptr, 0, result);
    std::vector<int32_t> axes = one.axes();
    const auto count = static_cast<int32_t>(axes.size());
    axes.push_back(0);  // so that there is an address for no axes
    return heed_reduce_axes(*reduction, input(0), axes.data(), count, result);
  }
  if (one.function == "select") return heed_select(input(0), input(1), input(2), result);
  if (one.function == "clip") return heed_clip(input(0), input(1), input(2), result);
  if (one.function == "cumulative_sum") return heed_cumulative_sum(input(0), one.integer("axis"), result);
  if (one.function == "sort")
    return heed_sort(input(0), one.integer("axis"), one.integer("descending"), result, results.at(1));
  if (one.function == "top_k")
    return heed_top_k(input(0), one.integer("axis"), one.integer("largest"), result, results.at(1));
  if (one.function == "matmul") return heed_matmul(input(0), input(1), result);
  if (one.function == "softmax") return heed_softmax(input(0), one.integer("axis"), result);
  if (one.function == "log_softmax") return heed_log_softmax(input(0), one.integer("axis"), result);
  if (one.function == "rotary_embedding")
    return heed_rotary_embedding(input(0), input(1), input(2), input(3), one.integer("layout"), result);
  if (one.function == "gather") return heed_gather(input(0), input(1), one.integer("axis"), result);
  if (one.function == "take") return heed_take(input(0), input(1), one.integer("axis"), result);
  if (one.function == "concatenate") {
    return heed_concatenate(inputs.data(), static_cast<int64_t>(inputs.size()), one.integer("axis"), result);
  }
  throw std::runtime_error("arrays.txt has the function " + one.function);
}

// The rules of arithmetic have a function of their own each.
heed_status call_short(const std::string& name, const Handles& inputs, heed_tensor* result) {
  if (name == "add") return heed_add(inputs[0], inputs[1], result);
  if (name == "subtract") return heed_subtract(inputs[0], inputs[1], result);
  if (name == "multiply") return heed_multiply(inputs[0], inputs[1], result);
  return heed_divide(inputs[0], inputs[1], result);
}

constexpr uint8_t kUnwritten = 0x5A;

void fill(heed_tensor* tensor) {
  const std::vector<uint8_t> bytes(read_bytes(tensor).size(), kUnwritten);
  capi_test::check(heed_tensor_write(tensor, bytes.data(), bytes.size()));
}

bool is_unwritten(const heed_tensor* tensor) {
  const std::vector<uint8_t> bytes = read_bytes(tensor);
  return std::all_of(bytes.begin(), bytes.end(), [](uint8_t byte) { return byte == kUnwritten; });
}

using Arrays = std::vector<LaidOut>;

Handles handles_of(const Arrays& arrays) {
  Handles handles;
  for (const LaidOut& array : arrays) handles.push_back(array.get());
  return handles;
}

Arrays inputs_of(heed_context* context, const TableCase& one) {
  Arrays inputs;
  for (const TableArray& input : one.inputs) inputs.push_back(make_laid_out(context, input));
  return inputs;
}

// Results that no function has written, in a layout; NULL where the case has none.
Arrays results_of(heed_context* context, const TableCase& one, const std::string& layout) {
  Arrays results;
  for (const TableArray& result : one.results) {
    if (result.given == Given::Not) {
      results.emplace_back();
      continue;
    }
    results.push_back(make_laid_out(context, result.dtype, result.dims, layout));
    fill(results.back().whole.get());
  }
  return results;
}

// The numbers of the inputs that the first result may be.
std::vector<size_t> in_place(const TableCase& one) {
  std::vector<size_t> allowed;
  if (place_of(one.function, kElementwise)) allowed = {0, 1};
  if (one.function == "select") allowed = {1, 2};
  const bool is_first = one.function == "clip" || one.function == "cumulative_sum" || one.function == "sort";
  if (is_first || one.function == "rotary_embedding") allowed = {0};
  std::vector<size_t> fitting;
  const TableArray& result = one.results.at(0);
  for (const size_t i : allowed) {
    if (i >= one.inputs.size()) continue;
    const TableArray& input = one.inputs[i];
    const bool is_written = input.layout != "repeated" && input.layout != "reversed";
    if (input.dtype == result.dtype && input.dims == result.dims && is_written) fitting.push_back(i);
  }
  return fitting;
}

// Calls once, and compares with the table and with what earlier calls gave.
class CaseCheck {
 public:
  explicit CaseCheck(const TableCase& one) : case_(one), bytes_(one.results.size()) {}

  // Whether the results are right.
  bool check(heed_context* context, const std::string& how, const std::function<heed_status()>& compute,
             const Handles& results) {
    if (compute() != HEED_OK) {
      ADD_FAILURE() << case_.where << ", " << how << ": " << heed_last_error();
      return false;
    }
    for (size_t i = 0; i < results.size(); ++i) {
      if (results[i] == nullptr) continue;
      const std::string wrong = difference(context, results[i], case_.results[i]);
      if (!wrong.empty()) {
        ADD_FAILURE() << case_.where << ", " << how << ", result " << i << ": " << wrong;
        return false;
      }
      const std::vector<uint8_t> bytes = read_bytes(results[i]);
      if (!bytes_[i]) bytes_[i] = bytes;
      if (bytes != *bytes_[i]) {
        ADD_FAILURE() << case_.where << ", " << how << ", result " << i << ": other bits than before";
        return false;
      }
    }
    return true;
  }

 private:
  const TableCase& case_;
  std::vector<std::optional<std::vector<uint8_t>>> bytes_;
};

// The layouts that a tensor that is written may have.
std::vector<std::string> layouts_for(const TableCase& one) {
  std::vector<std::string> layouts = {""};
  const bool have_axes = std::all_of(one.results.begin(), one.results.end(), [](const TableArray& array) {
    return array.given == Given::Not || !array.dims.empty();
  });
  if (have_axes) layouts.insert(layouts.end(), {"transposed", "stepped", "sliced"});
  return layouts;
}

void expect_as_in_table(const TableCase& one, const std::vector<heed_context*>& contexts) {
  CaseCheck checked(one);
  for (heed_context* const context : contexts) {
    const std::string threads = context == contexts.front() ? "one thread" : "three threads";
    const Arrays inputs = inputs_of(context, one);
    const Handles given = handles_of(inputs);
    for (const std::string& layout : layouts_for(one)) {
      const Arrays results = results_of(context, one, layout);
      const Handles taken = handles_of(results);
      const std::string how = threads + (layout.empty() ? "" : ", result " + layout);
      if (!checked.check(
              context, how, [&] { return call(one, given, taken); }, taken))
        return;
      for (const LaidOut& result : results) {
        if (result.get() == nullptr) continue;
        fill(result.get());
        EXPECT_TRUE(is_unwritten(result.whole.get())) << one.where << ", " << how << ": wrote between the elements";
      }
    }
    for (const size_t place : in_place(one)) {
      const Arrays own = inputs_of(context, one);
      const Arrays results = results_of(context, one, "");
      Handles taken = handles_of(results);
      taken[0] = own[place].get();
      const std::string how = threads + ", result is input " + std::to_string(place);
      if (!checked.check(
              context, how, [&] { return call(one, handles_of(own), taken); }, taken))
        return;
    }
    const bool has_short_name =
        place_of(one.function, kElementwise).value_or(HEED_ELEMENTWISE_POWER) < HEED_ELEMENTWISE_POWER;
    if (has_short_name) {
      const Arrays results = results_of(context, one, "");
      const Handles taken = handles_of(results);
      if (!checked.check(
              context, threads + ", by its own function", [&] { return call_short(one.function, given, taken[0]); },
              taken))
        return;
    }
    // Inputs are as before.
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (inputs[i].get() == nullptr) continue;
      EXPECT_EQ(read_bytes(inputs[i].get()), read_bytes(make_plain(context, one.inputs[i]).get()))
          << one.where << ": input " << i;
    }
  }
}

void expect_refused(const TableCase& one, heed_context* context) {
  const Arrays inputs = inputs_of(context, one);
  const Arrays results = results_of(context, one, "");
  capi_test::forget_last_error();
  EXPECT_TRUE(capi_test::is_refused(call(one, handles_of(inputs), handles_of(results)), capi_test::invalid({})))
      << one.where;
  for (const LaidOut& result : results) {
    if (result.get() == nullptr) continue;
    EXPECT_TRUE(is_unwritten(result.get())) << one.where << ": wrote although it was refused";
  }
}

Context make_context_of(int32_t num_threads) {
  heed_context_options options = HEED_CONTEXT_OPTIONS_INIT;
  options.num_threads = num_threads;
  return capi_test::make_context(&options);
}

// A call with inputs that are large enough for several threads.
struct LargeCall {
  std::string function;
  std::map<std::string, std::string> parameters;
  std::vector<Dims> inputs;  // of random F32; "take" and "gather" have indices behind them
  Dims result;
  heed_dtype dtype = HEED_F32;
};

// The inputs' elements depend on their number only; in the layout.
Arrays large_inputs(heed_context* context, const LargeCall& large, const std::string& layout) {
  Arrays inputs;
  for (const Dims& dims : large.inputs) {
    inputs.push_back(make_laid_out(context, HEED_F32, dims, layout));
    const Tensor numbers = capi_test::make_random(context, dims, inputs.size());
    capi_test::check(heed_tensor_copy(inputs.back().get(), numbers.get()));
  }
  if (large.function == "take" || large.function == "gather") {
    const Dims dims = large.function == "take" ? Dims{large.result.back()} : large.result;
    std::vector<int64_t> indices(static_cast<size_t>(large.function == "take" ? dims[0] : dims[0] * dims[1]));
    for (size_t i = 0; i < indices.size(); ++i) indices[i] = static_cast<int64_t>(i * 7919 % 500) - 250;
    Tensor tensor = capi_test::make_tensor_of(context, dims, indices);
    Tensor view = capi_test::make_view(tensor.get(), dims, {});
    inputs.push_back({std::move(tensor), std::move(view)});
  }
  return inputs;
}

std::vector<std::vector<uint8_t>> compute_large(int32_t num_threads, const LargeCall& large,
                                                const std::string& layout) {
  const Context context = make_context_of(num_threads);
  const Arrays inputs = large_inputs(context.get(), large, layout);
  const Tensor result = capi_test::make_tensor(context.get(), large.result, large.dtype);
  const bool has_indices = large.function == "sort" || large.function == "top_k";
  const Tensor indices = has_indices ? capi_test::make_tensor(context.get(), large.result, HEED_I64) : nullptr;
  TableCase one;
  one.function = large.function;
  one.parameters = large.parameters;
  capi_test::check(call(one, handles_of(inputs), {result.get(), indices.get()}));
  std::vector<std::vector<uint8_t>> bytes = {read_bytes(result.get())};
  if (has_indices) bytes.push_back(read_bytes(indices.get()));
  return bytes;
}

TEST(Arrays, OfManyElementsHaveTheSameBitsOnThreeThreadsAndForAllStrides) {
  const Dims dims = {301, 517};
  std::vector<LargeCall> calls = {
      {"multiply", {}, {dims, {517}}, dims, HEED_F32},
      {"power", {}, {dims, {301, 1}}, dims, HEED_F32},
      {"exp", {}, {dims}, dims, HEED_F32},
      {"is_nan", {}, {dims}, dims, HEED_BOOL},
      {"less", {}, {dims, dims}, dims, HEED_BOOL},
      {"clip", {}, {dims, {517}, dims}, dims, HEED_F32},
      {"sort", {{"axis", "0"}, {"descending", "0"}}, {{155617}}, {155617}, HEED_F32},
      {"gather", {{"axis", "1"}}, {dims}, {301, 600}, HEED_F32},
      {"take", {{"axis", "1"}}, {dims}, {301, 600}, HEED_F32},
      {"concatenate", {{"axis", "1"}}, {dims, dims}, {301, 1034}, HEED_F32},
      {"matmul", {}, {dims, {517, 70}}, {301, 70}, HEED_F32},
      {"log_softmax", {{"axis", "0"}}, {dims}, dims, HEED_F32},
      {"rotary_embedding", {{"layout", "2"}}, {dims, {301, 100}, {301, 100}}, dims, HEED_F32},
  };
  for (const char* reduction : kReductions) {
    const bool is_index = std::string(reduction).find("arg") != std::string::npos;
    const heed_dtype dtype = is_index ? HEED_I64 : HEED_F32;
    calls.push_back({reduction, {{"axis", "0"}}, {dims}, {517}, dtype});
    calls.push_back({reduction, {{"axis", "1"}}, {dims}, {301}, dtype});
    calls.push_back({reduction, {}, {dims}, {}, dtype});
  }
  for (const char* axis : {"0", "1"}) {
    calls.push_back({"cumulative_sum", {{"axis", axis}}, {dims}, dims, HEED_F32});
    calls.push_back({"sort", {{"axis", axis}, {"descending", "1"}}, {dims}, dims, HEED_F32});
    const Dims best = *axis == '0' ? Dims{5, 517} : Dims{301, 5};
    calls.push_back({"top_k", {{"axis", axis}, {"largest", "1"}}, {dims}, best, HEED_F32});
  }
  for (const LargeCall& large : calls) {
    const auto expected = compute_large(1, large, "");
    for (const char* layout : {"", "transposed", "stepped", "sliced"})
      EXPECT_TRUE(compute_large(3, large, layout) == expected)
          << large.function << " " << layout << " of input " << large.inputs[0].size();
  }
}

TEST(Arrays, AreComputedAsByNumPy) {
  const Context one_thread = make_context_of(1);
  const Context three_threads = make_context_of(3);
  size_t computed = 0;
  for (const TableCase& one : read_array_table()) {
    if (one.is_refused()) continue;
    expect_as_in_table(one, {one_thread.get(), three_threads.get()});
    ++computed;
  }
  EXPECT_GE(computed, 1500U);
}

TEST(Arrays, AreRefusedWhereTheTableSaysSo) {
  const Context context = make_context_of(1);
  size_t refused = 0;
  for (const TableCase& one : read_array_table()) {
    if (!one.is_refused()) continue;
    expect_refused(one, context.get());
    ++refused;
  }
  EXPECT_GE(refused, 300U);
}

}  // namespace
}  // namespace heed::golden
