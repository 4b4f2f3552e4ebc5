// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/cpu_backend.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <memory>
#include <new>

#include "backends/cpu/engine/host_executor.h"
#include "backends/cpu/engine/isa.h"
#include "backends/cpu/engine/parallel.h"
#include "backends/cpu/engine/processors.h"
#include "backends/cpu/engine/worker_pool.h"
#include "backends/cpu/linear.h"
#include "backends/cpu/operations.h"
#include "base/memory.h"
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

Status count_devices(int32_t* count, Failure*) {
  *count = 1;
  return Status::Ok;
}

Status open(const BackendOptions* options, BackendDevice** device, Failure* failure) {
  if (options->device_index != 0) {
    return failure->say(Status::InvalidArgument,
                        OPTION("device_index") " is %d, but there is one CPU device: expected 0",
                        options->device_index);
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

void update(const BackendDevice* device, const UpdateArguments* arguments) {
  device->kernels->update_elements(arguments);
}

IntermediateForm intermediate_form(const BackendDevice*, DType) { return {}; }

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

Status plan(const BackendDevice* device, const Op* op, Plan* plan, Failure* failure) {
  try {
    visit_problem(*op, [&](const auto& problem) {
      new (plan) Plan(cpu::plan_problem(*device->kernels, problem, num_threads(device)));
    });
    return Status::Ok;
  } catch (const Failure& thrown) {
    *failure = thrown;
    return thrown.status;
  }
}

Status run(BackendDevice* device, const Op* op, const Plan* plan, void* scratch, Failure* failure) {
  const platform::FlushedSubnormals subnormals(device->flushes_subnormals);
  const cpu::Workers workers(device->team(), failure);
  visit_problem(*op,
                [&](const auto& problem) { cpu::run_problem(*device->kernels, problem, *plan, workers, scratch); });
  return workers.status();
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
      .update = update,
      .intermediate_form = intermediate_form,
      .cache_page_rows = nullptr,
      // All, because the CPU computes those that another device does not support.
      .operations = kAllOperations,
      .plan = plan,
      .run = run,
      .packed_linear_bytes = packed_linear_bytes,
      .pack_linear = pack_linear,
      .unpack_linear = unpack_linear,
  };
  return kBackend;
}

}  // namespace heed
