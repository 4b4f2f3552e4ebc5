// SPDX-License-Identifier: Apache-2.0
// Functions of elements, reductions, order and selection: with any tensors of the program, most of which are refused, and with new ones
// that fit.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "fuzz/calls/checks.h"
#include "fuzz/calls/machine.h"

namespace heed::fuzz {
namespace {

// Calls every function with these tensors and numbers, whatever they are.
void call_all(heed_tensor* a, heed_tensor* b, heed_tensor* c, heed_tensor* result, int32_t number, int32_t axis) {
  succeeded(heed_elementwise(number, a, b, result));
  succeeded(heed_elementwise(number, a, nullptr, result));
  succeeded(heed_add(a, b, result));
  succeeded(heed_subtract(a, b, result));
  succeeded(heed_multiply(a, b, result));
  succeeded(heed_divide(a, b, result));
  succeeded(heed_compare(number, a, b, result));
  succeeded(heed_select(a, b, c, result));
  succeeded(heed_clip(a, b, c, result));
  succeeded(heed_reduce(number, a, axis, result));
  const int32_t axes[] = {axis, number};
  succeeded(heed_reduce_axes(number, a, axes, 2, result));
  succeeded(heed_reduce_axes(number, a, nullptr, 0, result));
  succeeded(heed_log_softmax(a, axis, result));
  succeeded(heed_cumulative_sum(a, axis, result));
  succeeded(heed_sort(a, axis, number, result, b));
  succeeded(heed_top_k(a, axis, number, result, b));
  succeeded(heed_gather(a, b, axis, result));
  succeeded(heed_take(a, b, axis, result));
  succeeded(heed_matmul(a, b, result));
  succeeded(heed_rotary_embedding(a, b, b, c, number, result));
  succeeded(heed_rotary_embedding(a, b, c, nullptr, number, result));
  heed_cross_entropy_options entropy = HEED_CROSS_ENTROPY_OPTIONS_INIT;
  entropy.reduction = number;
  entropy.ignore_index = axis;
  double total = 0;
  succeeded(heed_cross_entropy(a, b, c, &entropy, nullptr, &total, result));
  succeeded(heed_cross_entropy(a, b, nullptr, nullptr, c, &total, a));
  heed_squared_error_options squared = HEED_SQUARED_ERROR_OPTIONS_INIT;
  squared.reduction = number;
  succeeded(heed_squared_error(a, b, &squared, c, &total, result));
  const heed_tensor* const tensors[] = {a, b, c};
  succeeded(heed_concatenate(tensors, 3, axis, result));
}

}  // namespace

void Machine::compute_arrays() {
  heed_context* context = handle_of(contexts_.pick(bytes_));
  if (context == nullptr || bytes_.rarely()) {
    heed_tensor* const any[] = {handle_of(tensors_.pick(bytes_)), handle_of(tensors_.pick(bytes_)),
                                handle_of(tensors_.pick(bytes_)), handle_of(tensors_.pick(bytes_))};
    const auto number = static_cast<int32_t>(bytes_.below(34) - 2);
    call_all(any[0], any[1], any[2], any[3], number, static_cast<int32_t>(bytes_.below(6) - 3));
    return;
  }
  const Dims dims = {bytes_.below(5), bytes_.below(4), bytes_.below(7)};
  const auto axis = static_cast<int32_t>(bytes_.below(3));
  const auto at_axis = static_cast<size_t>(axis);
  Dims repeated = dims;
  if (bytes_.flag()) repeated[static_cast<size_t>(bytes_.below(3))] = 1;
  const heed_dtype dtype = float_dtype();
  const property::Input left = random_input(dims, dtype);
  const HostTensor a(context, left);
  const property::Input right = random_input(repeated, dtype);
  const HostTensor b(context, right);
  const HostTensor sums(context, HEED_F32, dims, property::row_major_strides(dims));
  const heed_status status = heed_add(a.handle(), b.handle(), sums.handle());
  require(succeeded(status) || status == HEED_ERROR_NOT_FASTEST, "arrays that are broadcast are added");
  if (status != HEED_OK) return;
  const Array x = property::broadcast(left.contents, dims);
  const Array y = property::broadcast(right.contents, dims);
  const std::vector<double> numbers = sums.read().values;
  for (size_t i = 0; i < numbers.size(); ++i) {
    const double sum = x.values[i] + y.values[i];
    require(std::isnan(sum) ? std::isnan(numbers[i]) : numbers[i] == static_cast<double>(static_cast<float>(sum)),
            "a sum is rounded once");
  }
  // In place, and as the largest of each line, which the first of the sorted line is too, unless it is NaN.
  require(succeeded(heed_elementwise(HEED_ELEMENTWISE_ABSOLUTE, sums.handle(), nullptr, sums.handle())),
          "an array is computed in place");
  const HostTensor sorted(context, HEED_F32, dims, property::row_major_strides(dims));
  const HostTensor places(context, HEED_I64, dims, property::row_major_strides(dims));
  require(succeeded(heed_sort(sums.handle(), axis, 1, sorted.handle(), places.handle())), "any array is sorted");
  const HostTensor again(context, HEED_F32, dims, property::row_major_strides(dims));
  require(succeeded(heed_gather(sums.handle(), places.handle(), axis, again.handle())), "places are indices");
  require(again.read_bytes() == sorted.read_bytes(), "what was sorted is where its place says");
  Dims lines = dims;
  lines[at_axis] = 1;
  const HostTensor largest(context, HEED_F32, lines, property::row_major_strides(lines));
  const heed_status reduced = heed_reduce(HEED_REDUCE_MAX, sums.handle(), axis, largest.handle());
  const bool is_empty = dims[at_axis] == 0 && property::num_elements(lines) > 0;
  if (!succeeded(reduced))
    return require(is_empty || reduced == HEED_ERROR_NOT_FASTEST, "a line has a largest element");
  require(!is_empty, "a line without elements has no largest");
  if (property::num_elements(dims) == 0) return;
  const HostTensor first(context, HEED_F32, lines, property::row_major_strides(lines));
  require(succeeded(heed_top_k(sums.handle(), axis, 1, first.handle(), nullptr)), "any array has its largest elements");
  const std::vector<double> maxima = largest.read().values;
  const std::vector<double> firsts = first.read().values;
  for (size_t i = 0; i < maxima.size(); ++i)
    require(maxima[i] == firsts[i] || (std::isnan(maxima[i]) && std::isnan(firsts[i])), "the largest is the first");
}

}  // namespace heed::fuzz
