// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/cpu_backend.h"

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <memory>
#include <new>

#include "backends/cpu/activate.h"
#include "backends/cpu/attention.h"
#include "backends/cpu/dropout.h"
#include "backends/cpu/embedding.h"
#include "backends/cpu/engine/host_executor.h"
#include "backends/cpu/engine/isa.h"
#include "backends/cpu/engine/parallel.h"
#include "backends/cpu/engine/processors.h"
#include "backends/cpu/engine/worker_pool.h"
#include "backends/cpu/linear.h"
#include "backends/cpu/merge.h"
#include "backends/cpu/norm.h"
#include "backends/cpu/positions.h"
#include "backends/cpu/rotations.h"
#include "backends/cpu/softmax.h"
#include "backends/operation_table.h"
#include "base/memory.h"
#include "ops/attention.h"
#include "ops/dropout.h"
#include "ops/linear.h"
#include "ops/softmax.h"
#include "platform/floating_point_environment.h"

namespace heed {

// In one block of memory with its team. Either `pool` or `executor` is set.
struct BackendDevice {
  HostAllocator allocator;
  bool flushes_subnormals = false;
  const cpu::KernelTable* kernels = nullptr;
  size_t num_bytes = 0;
  cpu::WorkerPool* pool = nullptr;
  cpu::HostExecutor* executor = nullptr;
  char description[64] = "";

  cpu::Team& team() const { return pool != nullptr ? static_cast<cpu::Team&>(*pool) : *executor; }
};

namespace {

// With a larger width the scratch of a tile with one row could not be addressed. No tensor with data is that wide.
constexpr int64_t kMaxWidth = int64_t{1} << 40;

Status refuse_width(const char* name, int64_t width, Failure* failure) {
  failure->status = Status::InvalidArgument;
  std::snprintf(failure->text, sizeof failure->text,
                "%s is %" PRId64 ", expected at most %" PRId64 ": its scratch memory could not be addressed", name,
                width, kMaxWidth);
  return failure->status;
}

Status count_devices(int32_t* count, Failure*) {
  *count = 1;
  return Status::Ok;
}

Status open(const BackendOptions* options, BackendDevice** device, Failure* failure) {
  if (options->device_index != 0) {
    failure->status = Status::InvalidArgument;
    std::snprintf(failure->text, sizeof failure->text,
                  "options->device_index is %d, but there is one CPU device: expected 0", options->device_index);
    return failure->status;
  }
  const cpu::KernelTable* kernels = nullptr;
  if (cpu::choose_kernels(&kernels, failure) != Status::Ok) return failure->status;
  const bool has_executor = options->executor.parallel_for != nullptr;
  const int32_t num_processors = has_executor ? options->executor.num_threads : cpu::count_processors();
  int32_t num_workers = options->num_threads == 0 ? num_processors : options->num_threads;
  // The device can start any number of its own threads, but not more of the host's than there are.
  if (has_executor) num_workers = std::min(num_workers, num_processors);

  const size_t team_bytes = has_executor ? sizeof(cpu::HostExecutor) : cpu::WorkerPool::num_bytes(num_workers);
  const size_t num_bytes = sizeof(BackendDevice) + kMemoryAlignment + team_bytes;
  void* memory = nullptr;
  if (host_allocate(options->allocator, num_bytes, kObjectAlignment, &memory, failure) != Status::Ok)
    return failure->status;
  auto* opened = new (memory) BackendDevice{.allocator = options->allocator,
                                            .flushes_subnormals = options->flush_subnormals != 0,
                                            .kernels = kernels,
                                            .num_bytes = num_bytes};
  void* team = opened + 1;
  size_t room = kMemoryAlignment + team_bytes;
  std::align(kMemoryAlignment, team_bytes, team, room);
  if (has_executor) {
    opened->executor = new (team) cpu::HostExecutor(options->executor, num_workers);
  } else {
    opened->pool = cpu::WorkerPool::construct(team, num_workers, num_processors);
  }
  std::snprintf(opened->description, sizeof opened->description, "CPU, %s, %d thread%s%s", kernels->isa, num_workers,
                num_workers == 1 ? "" : "s", has_executor ? " of the host" : "");
  *device = opened;
  return Status::Ok;
}

void close(BackendDevice* device) {
  if (device->pool != nullptr) device->pool->~WorkerPool();
  if (device->executor != nullptr) device->executor->~HostExecutor();
  const HostAllocator allocator = device->allocator;
  host_release(allocator, device, device->num_bytes);
}

Status synchronize(BackendDevice*, Failure*) { return Status::Ok; }

const char* describe(const BackendDevice* device) { return device->description; }

const char* isa(const BackendDevice* device) { return device->kernels->isa; }

int32_t num_threads(const BackendDevice* device) { return device->team().num_workers(); }

// The host's own threads need no start.
void start(BackendDevice* device) {
  if (device->pool != nullptr) device->pool->start();
}

Status allocate(BackendDevice* device, size_t num_bytes, int32_t zeros, void** memory, Failure* failure) {
  const Status status = host_allocate(device->allocator, num_bytes, kMemoryAlignment, memory, failure);
  if (status == Status::Ok && zeros != 0) std::memset(*memory, 0, num_bytes);
  return status;
}

void release(BackendDevice* device, void* memory, size_t num_bytes) {
  host_release(device->allocator, memory, num_bytes);
}

Status for_each(BackendDevice* device, int64_t num_tasks, double num_bytes,
                void (*run)(const void* argument, int64_t task, int32_t worker), const void* argument,
                Failure* failure) {
  const double work = cpu::work_of({.flops = 0, .bytes = num_bytes});
  const int32_t wanted = cpu::Workers::num_wanted(num_tasks, work, num_threads(device));
  if (wanted > 1) start(device);
  const cpu::Loop loop = {.call = run,
                          .function = argument,
                          .num_tasks = num_tasks,
                          .flops = work,
                          .flushes_subnormals = platform::FlushedSubnormals::are_flushed()};
  return cpu::run_on(device->team(), loop, wanted, failure);
}

void transpose(const BackendDevice* device, DType dtype, const void* from, int64_t from_stride, int64_t num_rows,
               int64_t num_columns, void* to, int64_t to_stride) {
  device->kernels->transpose(from, from_stride, num_rows, num_columns, to, to_stride,
                             static_cast<int64_t>(size_of(dtype)));
}

IntermediateForm intermediate_form(const BackendDevice*, DType) { return {}; }

Status plan_linear(const BackendDevice& device, const LinearProblem& problem, Plan* plan, Failure* failure) {
  if (problem.input_size > kMaxWidth)
    return refuse_width("the input size of a projection or the inner size of a product", problem.input_size, failure);
  new (plan) Plan(cpu::plan_linear(*device.kernels, problem, num_threads(&device)));
  return Status::Ok;
}

Status run_linear(BackendDevice& device, const LinearProblem& problem, const Plan& plan, void* scratch,
                  Failure* failure) {
  const cpu::Workers workers(device.team(), failure);
  cpu::run_linear(*device.kernels, problem, plan, workers, scratch);
  return workers.status();
}

Status packed_linear_bytes(const BackendDevice* device, const LinearPart* part, int64_t input_size, size_t* num_bytes,
                           Failure*) {
  *num_bytes = cpu::packed_linear_bytes(*device->kernels, *part, input_size);
  return Status::Ok;
}

Status pack_linear(BackendDevice* device, const LinearPart* part, int64_t input_size, const WeightBlock* block,
                   void* packed, Failure*) {
  cpu::pack_linear(*device->kernels, *part, input_size, *block, packed);
  return Status::Ok;
}

void unpack_linear(const BackendDevice* device, const LinearPart* part, int64_t input_size, const WeightBlock* block,
                   const void* packed) {
  cpu::unpack_linear(*device->kernels, *part, input_size, *block, packed);
}

Status plan_attention(const BackendDevice& device, const AttentionProblem& problem, Plan* plan, Failure* failure) {
  if (problem.head_size > kMaxWidth) return refuse_width("the head size", problem.head_size, failure);
  if (problem.value_head_size > kMaxWidth)
    return refuse_width("the head size of the values", problem.value_head_size, failure);
  new (plan) Plan(cpu::plan_attention(*device.kernels, problem, num_threads(&device)));
  return Status::Ok;
}

Status run_attention(BackendDevice& device, const AttentionProblem& problem, const Plan& plan, void* scratch,
                     Failure* failure) {
  const cpu::Workers workers(device.team(), failure);
  cpu::run_attention(*device.kernels, problem, plan, workers, scratch);
  return workers.status();
}

Status plan_softmax(const BackendDevice& device, const SoftmaxProblem& problem, Plan* plan, Failure* failure) {
  if (problem.num_keys > kMaxWidth) return refuse_width("the length of a softmax", problem.num_keys, failure);
  new (plan) Plan(cpu::plan_softmax(*device.kernels, problem, num_threads(&device)));
  return Status::Ok;
}

Status run_softmax(BackendDevice& device, const SoftmaxProblem& problem, const Plan& plan, void* scratch,
                   Failure* failure) {
  const cpu::Workers workers(device.team(), failure);
  cpu::run_softmax(*device.kernels, problem, plan, workers, scratch);
  return workers.status();
}

Status plan_dropout(const BackendDevice& device, const DropoutProblem& problem, Plan* plan, Failure*) {
  new (plan) Plan(cpu::plan_dropout(*device.kernels, problem, num_threads(&device)));
  return Status::Ok;
}

Status run_dropout(BackendDevice& device, const DropoutProblem& problem, const Plan& plan, void*, Failure* failure) {
  const cpu::Workers workers(device.team(), failure);
  cpu::run_dropout(*device.kernels, problem, plan, workers);
  return workers.status();
}

Status plan_merge(const BackendDevice& device, const MergeProblem& problem, Plan* plan, Failure*) {
  new (plan) Plan(cpu::plan_merge(*device.kernels, problem, num_threads(&device)));
  return Status::Ok;
}

Status run_merge(BackendDevice& device, const MergeProblem& problem, const Plan& plan, void* scratch,
                 Failure* failure) {
  const cpu::Workers workers(device.team(), failure);
  cpu::run_merge(*device.kernels, problem, plan, workers, scratch);
  return workers.status();
}

Status plan_rotations(const BackendDevice& device, const RotationsProblem& problem, Plan* plan, Failure*) {
  new (plan) Plan(cpu::plan_rotations(*device.kernels, problem, num_threads(&device)));
  return Status::Ok;
}

Status run_rotations(BackendDevice& device, const RotationsProblem& problem, const Plan& plan, void*,
                     Failure* failure) {
  const cpu::Workers workers(device.team(), failure);
  cpu::run_rotations(problem, plan, workers);
  return workers.status();
}

Status plan_positions(const BackendDevice& device, const PositionsProblem& problem, Plan* plan, Failure*) {
  new (plan) Plan(cpu::plan_positions(*device.kernels, problem, num_threads(&device)));
  return Status::Ok;
}

Status run_positions(BackendDevice& device, const PositionsProblem& problem, const Plan& plan, void*,
                     Failure* failure) {
  const cpu::Workers workers(device.team(), failure);
  cpu::run_positions(*device.kernels, problem, plan, workers);
  return workers.status();
}

Status plan_norm(const BackendDevice& device, const NormProblem& problem, Plan* plan, Failure* failure) {
  const int64_t size = problem.sizes[kElementwiseRank - 1];
  if (size > kMaxWidth) return refuse_width("the size of a normalized row", size, failure);
  new (plan) Plan(cpu::plan_norm(*device.kernels, problem, num_threads(&device)));
  return Status::Ok;
}

Status run_norm(BackendDevice& device, const NormProblem& problem, const Plan& plan, void* scratch, Failure* failure) {
  const cpu::Workers workers(device.team(), failure);
  cpu::run_norm(*device.kernels, problem, plan, workers, scratch);
  return workers.status();
}

Status plan_embedding(const BackendDevice& device, const EmbeddingProblem& problem, Plan* plan, Failure*) {
  new (plan) Plan(cpu::plan_embedding(*device.kernels, problem, num_threads(&device)));
  return Status::Ok;
}

Status run_embedding(BackendDevice& device, const EmbeddingProblem& problem, const Plan& plan, void*,
                     Failure* failure) {
  const cpu::Workers workers(device.team(), failure);
  cpu::run_embedding(*device.kernels, problem, plan, workers);
  return workers.status();
}

Status plan_activate(const BackendDevice& device, const ActivateProblem& problem, Plan* plan, Failure*) {
  new (plan) Plan(cpu::plan_activate(*device.kernels, problem, num_threads(&device)));
  return Status::Ok;
}

Status run_activate(BackendDevice& device, const ActivateProblem& problem, const Plan& plan, void*, Failure* failure) {
  const cpu::Workers workers(device.team(), failure);
  cpu::run_activate(*device.kernels, problem, plan, workers);
  return workers.status();
}

// All operations, because the CPU computes those that another device does not support.
constexpr Operation kOperations[] = {
    operation<LinearProblem, plan_linear, run_linear>(),
    operation<AttentionProblem, plan_attention, run_attention>(),
    operation<SoftmaxProblem, plan_softmax, run_softmax>(),
    operation<DropoutProblem, plan_dropout, run_dropout>(),
    operation<MergeProblem, plan_merge, run_merge>(),
    operation<RotationsProblem, plan_rotations, run_rotations>(),
    operation<PositionsProblem, plan_positions, run_positions>(),
    operation<NormProblem, plan_norm, run_norm>(),
    operation<EmbeddingProblem, plan_embedding, run_embedding>(),
    operation<ActivateProblem, plan_activate, run_activate>(),
};

Status plan(const BackendDevice* device, const Op* op, Plan* plan, Failure* failure) {
  return operation_of(kOperations, op->kind).plan(device, *op, plan, failure);
}

Status run(BackendDevice* device, const Op* op, const Plan* plan, void* scratch, Failure* failure) {
  const platform::FlushedSubnormals subnormals(device->flushes_subnormals);
  return operation_of(kOperations, op->kind).run(device, *op, *plan, scratch, failure);
}

}  // namespace

const Backend& cpu_backend() {
  static constexpr Backend kBackend = {
      .version = kBackendVersion,
      .name = "cpu",
      .is_host = 1,
      .count_devices = count_devices,
      .open = open,
      .close = close,
      .synchronize = synchronize,
      .describe = describe,
      .isa = isa,
      .num_threads = num_threads,
      .start = start,
      .allocate = allocate,
      .release = release,
      .copy = nullptr,
      .wait_idle = nullptr,
      .trim = nullptr,
      .for_each = for_each,
      .transpose = transpose,
      .intermediate_form = intermediate_form,
      .cache_page_rows = nullptr,
      .operations = bits_of(kOperations),
      .plan = plan,
      .run = run,
      .packed_linear_bytes = packed_linear_bytes,
      .pack_linear = pack_linear,
      .unpack_linear = unpack_linear,
  };
  return kBackend;
}

}  // namespace heed
