// SPDX-License-Identifier: Apache-2.0
#include "layers/kinds/embedding.h"

#include <algorithm>
#include <cinttypes>
#include <cmath>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/decimal_text.h"
#include "base/error.h"
#include "ops/embedding_backward.h"
#include "ops/lengths.h"
#include "ops/tensor_operand.h"
#include "tensor/device.h"
#include "tensor/dtype_term.h"
#include "tensor/walk.h"

namespace heed {
namespace {

constexpr PossibleParameter kEmbeddingParameters[] = {{.name = "weight", .initializer = Initializer::Normal}};
constexpr int64_t kMostEmbeddings = INT32_MAX;

EmbeddingOptions complete(EmbeddingOptions options) {
  if (options.scale == 0) options.scale = 1;
  return options;
}

std::vector<Parameter> make_parameters(const EmbeddingOptions& options) {
  if (options.num_embeddings < 1 || options.num_embeddings > kMostEmbeddings) {
    fail(Status::InvalidArgument, OPTION("num_embeddings") " is %" PRId64 ", expected 1 to %" PRId64,
         options.num_embeddings, kMostEmbeddings);
  }
  if (options.embedding_size < 1) {
    fail(Status::InvalidArgument, OPTION("embedding_size") " is %" PRId64 ", expected at least 1",
         options.embedding_size);
  }
  if (options.padding_index < -1 || options.padding_index >= options.num_embeddings) {
    fail(Status::InvalidArgument, OPTION("padding_index") " is %" PRId64 ", expected 0 to %" PRId64 ", or -1 for none",
         options.padding_index, options.num_embeddings - 1);
  }
  if (!std::isfinite(options.scale)) {
    fail(Status::InvalidArgument, OPTION("scale") " is %s, expected a finite number",
         DecimalText(static_cast<double>(options.scale), 9).c_str());
  }
  std::vector<Parameter> parameters;
  parameters.emplace_back(kEmbeddingParameters[0], Shape{options.num_embeddings, options.embedding_size});
  if (options.is_tied) parameters.front().set_use(Use::Projection);
  parameters.front().set_zero_row(options.padding_index);
  return parameters;
}

// For example "[1, 3]".
std::string index_text(const Shape& shape, int64_t number) {
  if (shape.rank == 0) return "";
  std::string text;
  for (int32_t axis = shape.rank - 1; axis >= 0; --axis) {
    if (!text.empty()) text.insert(0, ", ");
    text.insert(0, std::to_string(number % shape[axis]));
    number /= shape[axis];
  }
  return "[" + std::move(text) + "]";
}

}  // namespace

Embedding::Embedding(std::shared_ptr<Context> context, const EmbeddingOptions& options)
    : Layer(std::move(context), make_parameters(options), kEmbeddingParameters), options_(complete(options)) {}

void check_ids(const Tensor& ids, const char* name, const IdWords& words) {
  if (ids.dtype() == DType::I32 || ids.dtype() == DType::I64) return;
  fail(Status::InvalidArgument, "%s is %s, expected " DTYPE("I32") " or " DTYPE("I64") ": %s", name,
       term_of(ids.dtype()), words.all);
}

LayerInputs Embedding::check_tensors(const LayerInputs& inputs) const {
  constexpr const char* kIds = INPUT("queries");
  if (inputs.queries == nullptr)
    fail(Status::InvalidArgument, "%s is " WORD("NULL") ", expected " WORD("a tensor"), kIds);
  const Tensor& ids = *inputs.queries;
  check_ids(ids, kIds);
  if (ids.rank() == kMaxRank) {
    fail(Status::InvalidArgument,
         "%s has " ARGUMENT("dims") " %s of rank %d, expected rank 0 to %d, since the output has one axis more", kIds,
         to_string(ids.shape()).c_str(), ids.rank(), kMaxRank - 1);
  }
  return inputs;
}

// How many ids of each batch element are read, by checked lengths; null: all.
const Tensor* readable_lens(Schedule& schedule, const Tensor& ids, const LayerCall& call) {
  const Tensor* const lens = call.id_lens;
  const bool is_checked = lens != nullptr && lens->has_data() && ids.rank() == 2 &&
                          (lens->dtype() == DType::I32 || lens->dtype() == DType::I64) &&
                          lens->shape() == Shape{ids.dim(0)};
  return is_checked ? &schedule.on_host(*lens) : nullptr;
}

const int32_t* Embedding::read_ids(Schedule& schedule, const Tensor& given, const LayerCall& call) const {
  const Tensor& ids = schedule.on_host(given);
  // The attention refuses other lengths.
  const Tensor* const lens = readable_lens(schedule, ids, call);
  Operand lens_operand;
  if (lens != nullptr) set_operand(lens_operand, *lens, {0, -1, -1, -1});
  const auto is_padding = [&](int64_t number) {
    return lens != nullptr && number % ids.dim(1) >= length_of(lens_operand, number / ids.dim(1), 0);
  };
  auto* const read = schedule.arena().allocate_for<int32_t>(static_cast<size_t>(ids.num_elements()));
  const auto read_all = [&]<typename Id>(const Id* from) {
    int64_t number = 0;
    walk<1>(ids.shape(), {ids.strides()}, [&](const auto& offsets) {
      const int64_t id = is_padding(number) ? 0 : static_cast<int64_t>(from[offsets[0]]);
      if (id < 0 || id >= options_.num_embeddings) {
        fail(Status::InvalidArgument, "%s%s is %" PRId64 ", expected 0 to %" PRId64 ", %s", call.ids_name,
             index_text(ids.shape(), number).c_str(), id, options_.num_embeddings - 1, call.id_words->one);
      }
      read[number++] = static_cast<int32_t>(id);
    });
  };
  if (ids.dtype() == DType::I32)
    read_all(reinterpret_cast<const int32_t*>(ids.data()));
  else
    read_all(reinterpret_cast<const int64_t*>(ids.data()));
  return read;
}

void Embedding::check(Schedule& schedule, Purpose purpose, LayerCall& call) const {
  const Value& ids = call.inputs.queries;
  call.shapes.dtype = table().is_set() ? table().value().dtype() : DType::F32;
  call.shapes.output = ids.shape();
  call.shapes.output[call.shapes.output.rank++] = options_.embedding_size;
  // A shape alone may have more ids than there is memory for.
  if (purpose != Purpose::Run || !ids.tensor()->has_data()) return;
  if (call.has_zero_ids) {
    const auto num_ids = static_cast<size_t>(ids.tensor()->num_elements());
    auto* const zeros = schedule.arena().allocate_for<int32_t>(num_ids);
    std::fill_n(zeros, num_ids, 0);
    call.ids = zeros;
  } else {
    call.ids = read_ids(schedule, *ids.tensor(), call);
  }
}

void Embedding::compose(Schedule& schedule, const LayerCall& call, const OutputValues& outputs) const {
  const Shape& shape = call.shapes.output;
  EmbeddingProblem& problem = schedule.add<EmbeddingProblem>("look up embeddings");
  std::ranges::copy_n(shape.dims.begin(), shape.rank, problem.sizes + kElementwiseRank - shape.rank);
  problem.ids = call.ids;
  problem.num_table_rows = options_.num_embeddings;
  schedule.set_operand(problem.table, table().value(), {-1, -1, 0, 1});
  if (!table().value().has_data()) problem.packed_table = table().packed();
  if (outputs.addend.is_given()) schedule.set_elementwise(problem.addend, outputs.addend);
  schedule.set_elementwise(problem.output, outputs.output);
  problem.scale = options_.scale;
}

void Embedding::compose_backward(Schedule& schedule, const LayerCall& call, const GradientValues& gradients) const {
  GradientSum* const sum = gradient_of(call, 0);
  if (sum == nullptr) return;
  const Shape& shape = call.shapes.output;
  auto& problem = schedule.add<EmbeddingBackwardProblem>("gradient of the embedding's table");
  std::ranges::copy_n(shape.dims.begin(), shape.rank, problem.sizes + kElementwiseRank - shape.rank);
  problem.num_table_rows = options_.num_embeddings;
  schedule.set_elementwise(problem.output_gradient, gradients.output);
  schedule.set_operand(problem.table_gradient, sum->to, {-1, -1, 0, 1});
  problem.scale = options_.scale;
  problem.accumulates = sum->begin() ? 1 : 0;
  problem.ids = call.ids;
  if (call.ids == nullptr || options_.padding_index < 0) return;
  // The row of padding is not learned.
  const int64_t num_ids = call.inputs.queries.tensor()->num_elements();
  auto* const learned = schedule.arena().allocate_for<int32_t>(static_cast<size_t>(num_ids));
  std::replace_copy(call.ids, call.ids + num_ids, learned, static_cast<int32_t>(options_.padding_index), -1);
  problem.ids = learned;
}

void Embedding::write_options(JsonWriter& json) const {
  json.member("num_embeddings", options_.num_embeddings);
  json.member("embedding_size", options_.embedding_size);
  json.member("padding_index", options_.padding_index);
  json.member("scale", options_.scale);
}

}  // namespace heed
