// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/cpu_backend.h"

#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <new>

#include "backends/cpu/attention.h"
#include "backends/cpu/dropout.h"
#include "backends/cpu/isa.h"
#include "backends/cpu/linear.h"
#include "backends/cpu/softmax.h"
#include "base/memory.h"

namespace heed {

// This form computes on the calling thread.
struct BackendDevice {
  HostAllocator allocator;
  const cpu::KernelTable* kernels;
};

namespace {

// Beyond this a tile of one row could not be addressed; no tensor with data comes near.
constexpr int64_t kMaxWidth = int64_t{1} << 40;

Status refuse_width(const char* name, int64_t width, Failure* failure) {
  failure->status = Status::InvalidArgument;
  std::snprintf(failure->text, sizeof failure->text,
                "%s is %" PRId64 ", expected at most %" PRId64 ": its scratch memory could not be addressed", name,
                width, kMaxWidth);
  return failure->status;
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
  void* memory = nullptr;
  if (host_allocate(options->allocator, sizeof(BackendDevice), kObjectAlignment, &memory, failure) != Status::Ok)
    return failure->status;
  *device = new (memory) BackendDevice{options->allocator, kernels};
  return Status::Ok;
}

void close(BackendDevice* device) { host_destroy(device->allocator, device); }

Status synchronize(BackendDevice*, Failure*) { return Status::Ok; }

const char* describe(const BackendDevice*) { return "CPU, portable code, computing on the calling thread"; }

int32_t num_threads(const BackendDevice*) { return 1; }

Status allocate(BackendDevice* device, size_t num_bytes, int32_t zeros, void** memory, Failure* failure) {
  const Status status = host_allocate(device->allocator, num_bytes, kMemoryAlignment, memory, failure);
  if (status == Status::Ok && zeros != 0) std::memset(*memory, 0, num_bytes);
  return status;
}

void release(BackendDevice* device, void* memory, size_t num_bytes) {
  host_release(device->allocator, memory, num_bytes);
}

Status plan_linear(const BackendDevice* device, const LinearProblem* problem, Plan* plan, Failure* failure) {
  if (problem->input_size > kMaxWidth)
    return refuse_width("the input size of a projection or the inner size of a product", problem->input_size, failure);
  *plan = cpu::plan_linear(*problem, num_threads(device));
  return Status::Ok;
}

Status run_linear(BackendDevice*, const LinearProblem* problem, const Plan*, void* scratch, Failure*) {
  cpu::run_linear(*problem, cpu::Workers(), scratch);
  return Status::Ok;
}

Status packed_linear_bytes(const BackendDevice*, const LinearPart* part, int64_t input_size, size_t* num_bytes,
                           Failure*) {
  *num_bytes = cpu::packed_linear_bytes(*part, input_size);
  return Status::Ok;
}

Status pack_linear(BackendDevice*, const LinearPart* part, int64_t input_size, void* packed, Failure*) {
  cpu::pack_linear(*part, input_size, packed);
  return Status::Ok;
}

Status plan_attention(const BackendDevice* device, const AttentionProblem* problem, Plan* plan, Failure* failure) {
  if (problem->head_size > kMaxWidth) return refuse_width("the head size", problem->head_size, failure);
  if (problem->value_head_size > kMaxWidth)
    return refuse_width("the head size of the values", problem->value_head_size, failure);
  *plan = cpu::plan_attention(*device->kernels, *problem, num_threads(device));
  return Status::Ok;
}

Status run_attention(BackendDevice* device, const AttentionProblem* problem, const Plan*, void* scratch, Failure*) {
  cpu::run_attention(*device->kernels, *problem, cpu::Workers(), scratch);
  return Status::Ok;
}

Status plan_softmax(const BackendDevice* device, const SoftmaxProblem* problem, Plan* plan, Failure* failure) {
  if (problem->num_keys > kMaxWidth) return refuse_width("the length of a softmax", problem->num_keys, failure);
  *plan = cpu::plan_softmax(*problem, num_threads(device));
  return Status::Ok;
}

Status run_softmax(BackendDevice*, const SoftmaxProblem* problem, const Plan*, void* scratch, Failure*) {
  cpu::run_softmax(*problem, cpu::Workers(), scratch);
  return Status::Ok;
}

Status plan_dropout(const BackendDevice* device, const DropoutProblem* problem, Plan* plan, Failure*) {
  *plan = cpu::plan_dropout(*problem, num_threads(device));
  return Status::Ok;
}

Status run_dropout(BackendDevice*, const DropoutProblem* problem, const Plan*, void*, Failure*) {
  cpu::run_dropout(*problem, cpu::Workers());
  return Status::Ok;
}

}  // namespace

const Backend& cpu_backend() {
  static constexpr Backend kBackend = {
      .version = kBackendVersion,
      .name = "cpu",
      .open = open,
      .close = close,
      .synchronize = synchronize,
      .describe = describe,
      .num_threads = num_threads,
      .allocate = allocate,
      .release = release,
      .plan_linear = plan_linear,
      .run_linear = run_linear,
      .packed_linear_bytes = packed_linear_bytes,
      .pack_linear = pack_linear,
      .plan_attention = plan_attention,
      .run_attention = run_attention,
      .plan_softmax = plan_softmax,
      .run_softmax = run_softmax,
      .plan_dropout = plan_dropout,
      .run_dropout = run_dropout,
  };
  return kBackend;
}

}  // namespace heed
