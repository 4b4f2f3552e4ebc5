// SPDX-License-Identifier: Apache-2.0
// A part is a key head of a batch element with all queries that share it, so that the sums of its keys and values belong to it
// alone. A part is computed in chunks of its keys. Usually one thread computes them one after another. Where there are too few parts
// for the threads, several threads share the chunks of a part: each chunk then has its own gradient of the queries, and one thread adds
// these in the order of the chunks.
//
// A gradient that is summed over the batch is the sum of one partial sum for each part and chunk, which one thread adds in their
// order. The bias alone, whose elements are as many as pairs, is added to by one part after another: parts that share elements of it
// are one task.
#include <algorithm>
#include <array>
#include <cstddef>

#include "backends/cpu/attention_arguments.h"
#include "backends/cpu/engine/scratch.h"
#include "backends/cpu/kernels/attention/backward.h"
#include "backends/cpu/operations.h"
#include "backends/cpu/width.h"
#include "backends/cpu/zero_rows.h"
#include "base/rounding.h"
#include "ops/visible_keys.h"

namespace heed::cpu {
namespace {

struct BackwardChoice {
  ScratchLayout scratch;
  double work = 0;
  int64_t num_chunks = 1;    // of a part
  int64_t num_together = 0;  // chunks of a part that are computed at a time; 0: one after another
};

int64_t count_chunks(const KernelTable& kernels, const AttentionProblem& problem) {
  return std::max<int64_t>(1, divide_up(problem.limits.num_keys, kernels.backward_chunk_keys));
}

double count_parts(const AttentionProblem& problem) {
  return static_cast<double>(problem.batch) * static_cast<double>(problem.num_kv_heads);
}

// Bytes of the sums of all parts and chunks.
size_t sums_bytes(const AttentionProblem& problem, const BackwardSums& sums, int64_t num_chunks) {
  return static_cast<size_t>(count_parts(problem)) * static_cast<size_t>(num_chunks * sums.num_floats) * sizeof(float);
}

// Which key heads of which batch elements are one task: all of those along an axis that the gradient of the bias is summed over.
struct BackwardTasks {
  bool joins_batch = false;
  bool joins_heads = false;
  int64_t batch = 0;  // tasks along either axis
  int64_t heads = 0;

  explicit BackwardTasks(const AttentionBackwardProblem& problem) {
    const Operand& bias = problem.bias_gradient;
    joins_batch = bias.given != 0 && bias.strides[0] == 0;
    joins_heads = bias.given != 0 && bias.strides[1] == 0;
    batch = joins_batch ? std::min<int64_t>(1, problem.forward.batch) : problem.forward.batch;
    heads = joins_heads ? 1 : problem.forward.num_kv_heads;
  }
  double count() const { return static_cast<double>(batch) * static_cast<double>(heads); }

  // Calls visit(batch element, key head) for each part of a task, in the order of sums.
  template <typename Visit>
  void visit_parts(const AttentionProblem& problem, int64_t task, const Visit& visit) const {
    const int64_t first_batch = joins_batch ? 0 : task / heads;
    const int64_t end_batch = joins_batch ? problem.batch : first_batch + 1;
    const int64_t first_head = joins_heads ? 0 : task % heads;
    const int64_t end_head = joins_heads ? problem.num_kv_heads : first_head + 1;
    for (int64_t b = first_batch; b < end_batch; ++b) {
      for (int64_t head = first_head; head < end_head; ++head) visit(b, head);
    }
  }
};

BackwardSums sums_of(const AttentionBackwardProblem& problem) {
  const AttentionProblem& forward = problem.forward;
  const int64_t group = group_size(forward);
  BackwardSums sums = {};
  const auto take = [&sums](const Operand& gradient, int64_t count) {
    const int64_t first = sums.num_floats;
    // Whole vectors of any ISA.
    if (gradient.given != 0) sums.num_floats += round_up(count, 16);
    return first;
  };
  sums.alibi_slopes = take(problem.alibi_slopes_gradient, group);
  sums.sinks = take(problem.sinks_gradient, group);
  sums.relative_bias = take(problem.relative_bias_gradient, group * forward.num_buckets);
  sums.score_weights = take(problem.score_weights_gradient, group * forward.head_size);
  sums.bias_key = take(problem.bias_key_gradient, forward.head_size);
  sums.bias_value = take(problem.bias_value_gradient, forward.value_head_size);
  return sums;
}

size_t key_range_floor(const AttentionBackwardProblem& problem) {
  return round_up_to_alignment(key_range_bytes(problem.forward.limits.num_queries));
}

void require_f32(const char* name, const Operand& operand) {
  if (operand.given != 0 && operand.dtype != DType::F32) {
    fail(Status::Unsupported, "%s of attention backward are %s, expected F32", name, name_of(operand.dtype));
  }
}

void require_supported(const AttentionBackwardProblem& problem) {
  if (problem.forward.cached.given != 0)
    fail(Status::Unsupported, "attention backward has a cache, expected keys and values of the call alone");
  require_f32("the queries", problem.forward.queries);
  require_f32("the keys", problem.forward.keys);
  require_f32("the values", problem.forward.values);
  require_f32("the elements of the output", problem.forward.output);
  require_f32("the elements of the output's gradient", problem.output_gradient);
  require_width("the head size", problem.forward.head_size);
  require_width("the head size of the values", problem.forward.value_head_size);
}

// What no task writes: rows beyond the queries and keys of a batch element.
void clear_rows_beyond(const AttentionBackwardProblem& problem) {
  const AttentionProblem& forward = problem.forward;
  if (forward.limits.has_table == 0 || forward.is_packed != 0) return;
  for (int64_t b = 0; b < forward.batch; ++b) {
    const Sequence& sequence = sequence_of(forward.limits, b);
    const KeyRange queries = {sequence.query_count, forward.limits.num_queries};
    const KeyRange keys = {sequence.key_count, forward.limits.num_keys};
    for (int64_t h = 0; h < forward.num_heads && problem.queries_gradient.given != 0; ++h)
      zero_rows(problem.queries_gradient, {b, h, 0, 0}, queries, forward.head_size);
    for (int64_t h = 0; h < forward.num_kv_heads; ++h) {
      if (problem.keys_gradient.given != 0) zero_rows(problem.keys_gradient, {b, h, 0, 0}, keys, forward.head_size);
      if (problem.values_gradient.given != 0)
        zero_rows(problem.values_gradient, {b, h, 0, 0}, keys, forward.value_head_size);
    }
  }
}

// The gradient of the bias becomes 0.
void clear_bias_gradient(const AttentionBackwardProblem& problem, const Workers& workers, int32_t num_threads) {
  const Operand& gradient = problem.bias_gradient;
  const AttentionProblem& forward = problem.forward;
  const std::array<int64_t, kOperandRank> axes = {forward.batch, forward.num_heads, forward.limits.num_queries,
                                                  forward.limits.num_keys};
  std::array<int64_t, kOperandRank> sizes = axes;
  for (size_t axis = 0; axis < sizes.size(); ++axis) {
    // One element for all along the axis, and for none.
    if (gradient.strides[axis] == 0) sizes[axis] = 1;
  }
  const auto flops = static_cast<double>(bytes_of(gradient, {axes[0], axes[1], axes[2], axes[3]}));
  workers.for_each(sizes[0] * sizes[1], num_threads, flops, [&](int64_t task) {
    zero_rows(gradient, {task / sizes[1], task % sizes[1], 0, 0}, {0, sizes[2]}, sizes[3]);
  });
}

// Where a part has its sums of each chunk.
struct PartialSums {
  float* data;
  BackwardSums sums;
  int64_t num_kv_heads;
  int64_t num_chunks;
  int64_t chunk_keys;

  float* of(int64_t b, int64_t kv_head, int64_t chunk) const {
    return data + ((b * num_kv_heads + kv_head) * num_chunks + chunk) * sums.num_floats;
  }
  // The chunks of a batch element. Chunk 0 has what does not belong to a key.
  int64_t chunks_of(const Sequence& sequence) const {
    return std::max<int64_t>(1, divide_up(sequence.key_count, chunk_keys));
  }
};

// gradient[head][i] = sum of the partial sums of all batch elements and chunks, in their order. `first`: in the sums of a key head, `count` for
// each of its `group` heads.
void add_partial_sums(const AttentionBackwardProblem& problem, const Operand& gradient, SummedGradient kind,
                      const PartialSums& partial, int64_t first, int64_t group, int64_t count) {
  if (gradient.given == 0) return;
  for (int64_t head = 0; head < partial.num_kv_heads * group; ++head) {
    for (int64_t i = 0; i < count; ++i) {
      float& to = static_cast<float*>(gradient.data)[index_in(gradient, {0, head, 0, i})];
      float sum = accumulates(problem, kind) ? to : 0.0F;
      for (int64_t b = 0; b < problem.forward.batch; ++b) {
        const int64_t num_chunks = partial.chunks_of(sequence_of(problem.forward.limits, b));
        for (int64_t chunk = 0; chunk < num_chunks; ++chunk)
          sum += partial.of(b, head / group, chunk)[first + head % group * count + i];
      }
      to = sum;
    }
  }
}

void add_all_partial_sums(const AttentionBackwardProblem& problem, const PartialSums& partial) {
  const AttentionProblem& forward = problem.forward;
  const int64_t group = group_size(forward);
  const BackwardSums& sums = partial.sums;
  add_partial_sums(problem, problem.alibi_slopes_gradient, SummedGradient::AlibiSlopes, partial, sums.alibi_slopes,
                   group, 1);
  add_partial_sums(problem, problem.sinks_gradient, SummedGradient::Sinks, partial, sums.sinks, group, 1);
  add_partial_sums(problem, problem.relative_bias_gradient, SummedGradient::RelativeBias, partial, sums.relative_bias,
                   group, forward.num_buckets);
  add_partial_sums(problem, problem.score_weights_gradient, SummedGradient::ScoreWeights, partial, sums.score_weights,
                   group, forward.head_size);
  add_partial_sums(problem, problem.bias_key_gradient, SummedGradient::BiasKey, partial, sums.bias_key, 1,
                   forward.head_size);
  add_partial_sums(problem, problem.bias_value_gradient, SummedGradient::BiasValue, partial, sums.bias_value, 1,
                   forward.value_head_size);
}

}  // namespace

Plan plan_problem(const KernelTable& kernels, const AttentionBackwardProblem& problem, int32_t num_workers) {
  require_supported(problem);
  const AttentionProblem& forward = problem.forward;
  const BackwardTasks tasks(problem);
  Plan plan;
  plan.kernel = forward.scoring == Scoring::Additive ? "attention_backward_additive" : "attention_backward";
  plan.isa = kernels.isa;
  plan.block_queries = kernels.backward_block_queries;
  plan.block_keys = kernels.backward_block_keys;
  BackwardChoice choice;
  choice.work = cost_of(problem).flops;
  choice.num_chunks = count_chunks(kernels, forward);
  const double most_tasks = count_parts(forward) * static_cast<double>(choice.num_chunks);
  choice.scratch.num_workers = Workers::num_with_scratch(most_tasks, 2.5 * most_work_of(forward).flops, num_workers);
  choice.scratch.worker_bytes =
      round_up_to_alignment(kernels.backward_scratch_bytes(&problem)) + key_range_floor(problem);
  choice.scratch.shared_bytes = round_up_to_alignment(sums_bytes(forward, sums_of(problem), choice.num_chunks));
  plan.num_tasks = static_cast<int64_t>(std::min(tasks.count(), 0x1p62));
  // A sum over keys goes from one chunk to the next.
  const bool sums_keys = problem.bias_gradient.given != 0 && problem.bias_gradient.strides[3] == 0;
  if (choice.scratch.num_workers > 1 && choice.num_chunks > 1) {
    const int64_t most_together = std::min<int64_t>(choice.num_chunks, num_workers);
    // Reserved whether it is used or not, so that the size does not decrease when the batch grows.
    choice.scratch.shared_bytes += static_cast<size_t>(most_together) * sizeof(float) *
                                       static_cast<size_t>(kernels.backward_query_floats(&forward)) +
                                   key_range_floor(problem);
    if (most_together > std::min<int64_t>(plan.num_tasks, num_workers) && !sums_keys) {
      choice.num_together = most_together;
      plan.num_tasks *= choice.num_chunks;
    }
  }
  plan.scratch_bytes = choice.scratch.num_bytes();
  plan.num_threads = choice.scratch.limit(Workers::num_wanted(plan.num_tasks, choice.work, num_workers));
  set_choice(plan, choice);
  return plan;
}

namespace {

// The chunks of a part, one after another.
void run_part(const KernelTable& kernels, const BackwardArguments& arguments, const PartialSums& partial, int64_t b,
              int64_t kv_head, KeyRange* ranges, std::byte* own) {
  const AttentionProblem& forward = arguments.problem->forward;
  const Sequence& sequence = sequence_of(forward.limits, b);
  find_keys_of_queries(forward.limits, b, 0, sequence.query_count, ranges);
  for (int64_t chunk = 0; chunk < partial.chunks_of(sequence); ++chunk) {
    const BackwardTask task = {.batch_index = b,
                               .kv_head = kv_head,
                               .sequence = &sequence,
                               .key_ranges = ranges,
                               .chunk = chunk,
                               .goes_on = chunk > 0 ? 1 : 0,
                               .sums = partial.of(b, kv_head, chunk),
                               .query_sums = nullptr};
    kernels.attention_backward(&arguments, &task, own);
  }
}

// The chunks of a part, several at a time.
void run_chunks(const KernelTable& kernels, const BackwardArguments& arguments, const PartialSums& partial, int64_t b,
                int64_t kv_head, KeyRange* ranges, float* query_sums, const Plan& plan, const Workers& workers,
                const Scratch& scratch) {
  const auto& choice = choice_of<BackwardChoice>(plan);
  const AttentionProblem& forward = arguments.problem->forward;
  const Sequence& sequence = sequence_of(forward.limits, b);
  find_keys_of_queries(forward.limits, b, 0, sequence.query_count, ranges);
  const int64_t num_chunks = partial.chunks_of(sequence);
  const int64_t num_floats = kernels.backward_query_floats(&forward);
  const double work = choice.work / std::max(1.0, count_parts(forward) * static_cast<double>(choice.num_chunks));
  for (int64_t first = 0; first < num_chunks; first += choice.num_together) {
    const int64_t count = std::min(choice.num_together, num_chunks - first);
    const auto task_of = [&](int64_t chunk) {
      return BackwardTask{.batch_index = b,
                          .kv_head = kv_head,
                          .sequence = &sequence,
                          .key_ranges = ranges,
                          .chunk = chunk,
                          .goes_on = 0,
                          .sums = partial.of(b, kv_head, chunk),
                          .query_sums = query_sums + (chunk - first) * num_floats};
    };
    workers.for_each(scratch, count, plan.num_threads, work * static_cast<double>(count),
                     [&](int64_t i, std::byte* own) {
                       const BackwardTask task = task_of(first + i);
                       kernels.attention_backward(&arguments, &task, own);
                     });
    workers.for_each(scratch, 1, 1, 0, [&](int64_t, std::byte* own) {
      for (int64_t i = 0; i < count; ++i) {
        const BackwardTask task = task_of(first + i);
        kernels.backward_add_queries(&arguments, &task, own);
      }
    });
  }
}

}  // namespace

void run_problem(const KernelTable& kernels, const AttentionBackwardProblem& problem, const Plan& plan,
                 const Workers& workers, void* memory) {
  const auto& choice = choice_of<BackwardChoice>(plan);
  const AttentionProblem& forward = problem.forward;
  const BackwardTasks tasks(problem);
  const Scratch scratch(choice.scratch, memory);
  const BackwardArguments arguments = {&problem, arguments_of(forward), sums_of(problem)};
  const PartialSums partial = {reinterpret_cast<float*>(scratch.shared()), arguments.sums, forward.num_kv_heads,
                               choice.num_chunks, kernels.backward_chunk_keys};
  if (problem.bias_gradient.given != 0 && !accumulates(problem, SummedGradient::Bias))
    clear_bias_gradient(problem, workers, plan.num_threads);
  if (choice.num_together > 0) {
    std::byte* shared =
        scratch.shared() + round_up_to_alignment(sums_bytes(forward, arguments.sums, choice.num_chunks));
    auto* ranges = reinterpret_cast<KeyRange*>(shared);
    auto* query_sums = reinterpret_cast<float*>(shared + key_range_floor(problem));
    for (int64_t task = 0; task < static_cast<int64_t>(tasks.count()); ++task) {
      tasks.visit_parts(forward, task, [&](int64_t b, int64_t kv_head) {
        run_chunks(kernels, arguments, partial, b, kv_head, ranges, query_sums, plan, workers, scratch);
      });
    }
  } else {
    const size_t kernel_bytes = choice.scratch.worker_bytes - key_range_floor(problem);
    workers.for_each(scratch, plan.num_tasks, plan.num_threads, choice.work, [&](int64_t index, std::byte* own) {
      tasks.visit_parts(forward, index, [&](int64_t b, int64_t kv_head) {
        run_part(kernels, arguments, partial, b, kv_head, reinterpret_cast<KeyRange*>(own + kernel_bytes), own);
      });
    });
  }
  clear_rows_beyond(problem);
  add_all_partial_sums(problem, partial);
}

}  // namespace heed::cpu
