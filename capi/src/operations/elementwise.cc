// SPDX-License-Identifier: Apache-2.0
#include "tensor_functions/elementwise.h"

#include <heed/heed.h>

#include <cstdint>
#include <optional>

#include "arguments.h"
#include "base/error.h"
#include "errors.h"
#include "handles.h"

using namespace heed;        // NOLINT(google-build-using-namespace): the functions below are C
using namespace heed::capi;  // NOLINT(google-build-using-namespace)

#define HEED_CHECK(name, upper, elements, num_inputs, flops) \
  static_assert(static_cast<int32_t>(ElementFunction::name) == HEED_ELEMENTWISE_##upper);
HEED_ELEMENTWISE(HEED_CHECK)
#undef HEED_CHECK
#define HEED_CHECK(name, upper, elements, num_inputs, flops) \
  static_assert(static_cast<int32_t>(ElementFunction::name) == kNumElementwise + HEED_COMPARE_##upper);
HEED_COMPARISONS(HEED_CHECK)
#undef HEED_CHECK

namespace {

heed_status compute_two(const CalledAs& called_as, ElementFunction function, const heed_tensor* a, const heed_tensor* b,
                        heed_tensor* result) {
  return guarded(called_as.function, a, [&] {
    const Tensor first = require(a, ARGUMENT("a"))->tensor;
    const Tensor second = require(b, ARGUMENT("b"))->tensor;
    const Tensor output = require(result, called_as.result)->tensor;
    elementwise(function, first, &second, output, called_as);
  });
}

}  // namespace

extern "C" {

heed_status heed_elementwise(int32_t function, const heed_tensor* a, const heed_tensor* b,
                             heed_tensor* result) noexcept {
  return guarded(__func__, a, [&] {
    const Tensor first = require(a, ARGUMENT("a"))->tensor;
    const std::optional<Tensor> second = copy_of(b);
    const Tensor output = require(result, "result")->tensor;
    if (function < 0 || function >= kNumElementwise) {
      fail(Status::InvalidArgument,
           "function is %d, expected " CONSTANT("HEED_ELEMENTWISE_ADD") " (0) to " CONSTANT(
               "HEED_ELEMENTWISE_IS_INFINITE") " (%d)",
           function, kNumElementwise - 1);
    }
    const auto chosen = static_cast<ElementFunction>(function);
    const bool has_two = row_of(chosen).num_inputs == 2;
    if (has_two != (b != nullptr)) {
      fail(Status::InvalidArgument, "%s is %s, but function %d has %s: expected %s", ARGUMENT("b"),
           has_two ? WORD("NULL") : "given", function, has_two ? "two inputs" : "one input",
           has_two ? WORD("a pointer") : WORD("NULL"));
    }
    elementwise(chosen, first, pointer_to(second), output, {"heed_elementwise"});
  });
}

heed_status heed_add(const heed_tensor* a, const heed_tensor* b, heed_tensor* sum) noexcept {
  return compute_two({__func__, "sum"}, ElementFunction::Add, a, b, sum);
}

heed_status heed_subtract(const heed_tensor* a, const heed_tensor* b, heed_tensor* difference) noexcept {
  return compute_two({__func__, "difference"}, ElementFunction::Subtract, a, b, difference);
}

heed_status heed_multiply(const heed_tensor* a, const heed_tensor* b, heed_tensor* product) noexcept {
  return compute_two({__func__, "product"}, ElementFunction::Multiply, a, b, product);
}

heed_status heed_divide(const heed_tensor* a, const heed_tensor* b, heed_tensor* quotient) noexcept {
  return compute_two({__func__, "quotient"}, ElementFunction::Divide, a, b, quotient);
}

heed_status heed_compare(int32_t comparison, const heed_tensor* a, const heed_tensor* b, heed_tensor* result) noexcept {
  return guarded(__func__, a, [&] {
    const Tensor first = require(a, ARGUMENT("a"))->tensor;
    const Tensor second = require(b, ARGUMENT("b"))->tensor;
    const Tensor output = require(result, "result")->tensor;
    if (comparison < 0 || comparison >= kNumComparisons) {
      fail(Status::InvalidArgument,
           "comparison is %d, expected " CONSTANT("HEED_COMPARE_EQUAL") " (0) to " CONSTANT(
               "HEED_COMPARE_GREATER_EQUAL") " (%d)",
           comparison, kNumComparisons - 1);
    }
    elementwise(static_cast<ElementFunction>(kNumElementwise + comparison), first, &second, output, {"heed_compare"});
  });
}

heed_status heed_select(const heed_tensor* condition, const heed_tensor* a, const heed_tensor* b,
                        heed_tensor* result) noexcept {
  return guarded(__func__, condition, [&] {
    const Tensor chosen = require(condition, "condition")->tensor;
    const Tensor first = require(a, ARGUMENT("a"))->tensor;
    const Tensor second = require(b, ARGUMENT("b"))->tensor;
    const Tensor output = require(result, "result")->tensor;
    select(chosen, first, second, output);
  });
}

heed_status heed_clip(const heed_tensor* tensor, const heed_tensor* low, const heed_tensor* high,
                      heed_tensor* result) noexcept {
  return guarded(__func__, tensor, [&] {
    const Tensor input = require(tensor, ARGUMENT("tensor"))->tensor;
    const std::optional<Tensor> lower = copy_of(low);
    const std::optional<Tensor> upper = copy_of(high);
    const Tensor output = require(result, "result")->tensor;
    clip(input, pointer_to(lower), pointer_to(upper), output);
  });
}

}  // extern "C"
