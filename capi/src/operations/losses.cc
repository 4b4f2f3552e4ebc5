// SPDX-License-Identifier: Apache-2.0
#include <heed/heed.h>

#include <cstdint>
#include <optional>

#include "arguments.h"
#include "errors.h"
#include "handles.h"
#include "training/cross_entropy.h"
#include "training/squared_error.h"

namespace heed::capi {
namespace {

static_assert(HEED_LOSS_MEAN == static_cast<int>(LossReduction::Mean) &&
              HEED_LOSS_SUM == static_cast<int>(LossReduction::Sum) &&
              HEED_LOSS_MEAN_OF_ITEMS == static_cast<int>(LossReduction::MeanOfItems));

// The sizes in the first version of each struct: the smallest that a caller's struct can have.
constexpr size_t kFirstCrossEntropyOptionsSize = 24;
constexpr size_t kFirstSquaredErrorOptionsSize = 24;

LossReduction read_reduction(int32_t reduction) {
  return read_enum(reduction, LossReduction::MeanOfItems, OPTION("reduction"),
                   CONSTANT("HEED_LOSS_MEAN") " (0), " CONSTANT("HEED_LOSS_SUM") " (1) or " CONSTANT(
                       "HEED_LOSS_MEAN_OF_ITEMS") " (2)");
}

}  // namespace
}  // namespace heed::capi

using namespace heed;        // NOLINT(google-build-using-namespace): the functions below are C
using namespace heed::capi;  // NOLINT(google-build-using-namespace)

extern "C" {

heed_status heed_cross_entropy(const heed_tensor* logits, const heed_tensor* labels, const heed_tensor* valid_lens,
                               const heed_cross_entropy_options* options, heed_tensor* losses, double* total,
                               heed_tensor* logits_gradient) noexcept {
  return guarded(__func__, logits, [&] {
    const Tensor scores = require(logits, "logits")->tensor;
    const Tensor classes = require(labels, "labels")->tensor;
    const std::optional<Tensor> lens = copy_of(valid_lens);
    const heed_cross_entropy_options read =
        read_struct(options, HEED_CROSS_ENTROPY_OPTIONS_INIT, kFirstCrossEntropyOptionsSize, "options",
                    "HEED_CROSS_ENTROPY_OPTIONS_INIT");
    const std::optional<Tensor> rows = copy_of(losses);
    const std::optional<Tensor> gradient = copy_of(logits_gradient);
    cross_entropy(scores, classes, pointer_to(lens),
                  {static_cast<double>(read.label_smoothing), read.ignore_index, read_reduction(read.reduction)},
                  pointer_to(rows), total, pointer_to(gradient));
  });
}

heed_status heed_squared_error(const heed_tensor* predictions, const heed_tensor* targets,
                               const heed_squared_error_options* options, heed_tensor* losses, double* total,
                               heed_tensor* predictions_gradient) noexcept {
  return guarded(__func__, predictions, [&] {
    const Tensor given = require(predictions, "predictions")->tensor;
    const Tensor expected = require(targets, "targets")->tensor;
    const heed_squared_error_options read =
        read_struct(options, HEED_SQUARED_ERROR_OPTIONS_INIT, kFirstSquaredErrorOptionsSize, "options",
                    "HEED_SQUARED_ERROR_OPTIONS_INIT");
    require_zero(read.reserved, OPTION("reserved"));
    const std::optional<Tensor> elements = copy_of(losses);
    const std::optional<Tensor> gradient = copy_of(predictions_gradient);
    squared_error(given, expected, {read.factor, read_reduction(read.reduction)}, pointer_to(elements), total,
                  pointer_to(gradient));
  });
}

}  // extern "C"
