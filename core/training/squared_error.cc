// SPDX-License-Identifier: Apache-2.0
#include "training/squared_error.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "base/decimal_text.h"
#include "base/error.h"
#include "tensor/copy.h"
#include "tensor/host_image.h"
#include "training/loss_check.h"
#include "training/pieces.h"

namespace heed {
namespace {

// The elements that are copied at a time: four arrays of them are small beside the stack of a call.
constexpr int64_t kBlockElements = 512;

// The tensors of a call; null: not wanted.
struct Arrays {
  const Tensor& predictions;
  const Tensor& targets;
  const Tensor* losses;
  const Tensor* gradient;
};

void check_results(const Arrays& arrays) {
  const Argument input = {"predictions", arrays.predictions};
  const Argument expected = {"targets", arrays.targets};
  const Shape& shape = arrays.predictions.shape();
  if (arrays.gradient != nullptr) {
    const Argument result = {"predictions_gradient", *arrays.gradient};
    require_result(result, shape, "those of predictions", input);
    require_separate_or_same(result, input);
    require_separate_or_same(result, expected);
  }
  if (arrays.losses == nullptr) return;
  const Argument result = {"losses", *arrays.losses};
  require_result(result, shape, "those of predictions", input);
  require_separate(result, input);
  require_separate(result, expected);
  if (arrays.gradient != nullptr) require_separate(result, {"predictions_gradient", *arrays.gradient});
}

void check_call(const Arrays& arrays, const SquaredErrorOptions& options, const double* total) {
  if (!std::isfinite(options.factor)) {
    fail(Status::InvalidArgument, OPTION("factor") " is %s, expected a finite number",
         DecimalText(options.factor).c_str());
  }
  const Argument input = {"predictions", arrays.predictions};
  const Argument expected = {"targets", arrays.targets};
  require_f32(input);
  arrays.predictions.require_data(input.name);
  check_same_device(expected, input);
  check_shape(expected, arrays.predictions.shape(), "those of predictions");
  require_f32(expected);
  arrays.targets.require_data(expected.name);
  if (options.reduction == LossReduction::MeanOfItems) check_has_axis(input);
  if (arrays.losses == nullptr && total == nullptr && arrays.gradient == nullptr) {
    fail(Status::InvalidArgument,
         "losses, total and predictions_gradient are all " WORD("NULL") ", expected at least one");
  }
  check_results(arrays);
}

double divisor_of(LossReduction reduction, const Tensor& predictions) {
  const int64_t num_elements = predictions.num_elements();
  if (reduction == LossReduction::Mean) return static_cast<double>(num_elements);
  if (reduction != LossReduction::MeanOfItems || num_elements == 0) return 1;
  const int64_t elements_of_item = num_elements / predictions.dim(0);
  return static_cast<double>(elements_of_item);
}

// Computes at most kBlockElements elements of arrays on the host, and adds their losses to a sum in order.
void compute_block(const Arrays& arrays, double factor, double of_gradient, int64_t first, int64_t count, double& sum) {
  float x[kBlockElements];
  float y[kBlockElements];
  float of_element[kBlockElements];
  read_elements(arrays.predictions, first, count, x);
  read_elements(arrays.targets, first, count, y);
  for (int64_t i = 0; i < count; ++i) {
    const double difference = static_cast<double>(x[i]) - static_cast<double>(y[i]);
    const double loss = factor * difference * difference;
    sum += loss;
    of_element[i] = static_cast<float>(loss);
    x[i] = static_cast<float>(of_gradient * difference);
  }
  if (arrays.losses != nullptr) write_elements(*arrays.losses, first, count, of_element);
  if (arrays.gradient != nullptr) write_elements(*arrays.gradient, first, count, x);
}

}  // namespace

void squared_error(const Tensor& predictions, const Tensor& targets, const SquaredErrorOptions& options,
                   const Tensor* losses, double* total, const Tensor* gradient) {
  check_call({predictions, targets, losses, gradient}, options, total);

  const Tensor host_predictions = host_copy(predictions);
  const Tensor host_targets = host_copy(targets);
  std::optional<HostImage> host_losses;
  std::optional<HostImage> host_gradient;
  if (losses != nullptr) host_losses.emplace(*losses);
  if (gradient != nullptr) host_gradient.emplace(*gradient);
  const Arrays arrays = {host_predictions, host_targets, host_losses ? &host_losses->image() : nullptr,
                         host_gradient ? &host_gradient->image() : nullptr};

  const int64_t num_elements = predictions.num_elements();
  const double divisor = divisor_of(options.reduction, predictions);
  const double of_gradient = 2 * options.factor / divisor;
  Pieces pieces;
  pieces.add_elements(num_elements);
  std::vector<double> sums(static_cast<size_t>(pieces.total()));
  pieces.for_each(context_of(predictions), 16 * static_cast<double>(num_elements), [&](size_t, int64_t piece, int32_t) {
    const PieceRange range = range_of_piece(piece, num_elements);
    double sum = 0;
    for (int64_t first = range.first; first < range.first + range.count; first += kBlockElements) {
      const int64_t count = std::min(kBlockElements, range.first + range.count - first);
      compute_block(arrays, options.factor, of_gradient, first, count, sum);
    }
    sums[static_cast<size_t>(piece)] = sum;
  });
  if (host_losses) host_losses->commit();
  if (host_gradient) host_gradient->commit();
  if (total == nullptr) return;
  double sum = 0;
  for (const double of_piece : sums) sum += of_piece;
  *total = num_elements == 0 ? 0 : sum / divisor;
}

}  // namespace heed
