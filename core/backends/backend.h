// SPDX-License-Identifier: Apache-2.0
// What a device has to do for heed: one table of functions, its memory and its operations. Layers compose these and
// know nothing else of devices.
//
// The table is plain C in its layout, so that a backend may be a plugin built by another compiler with another
// standard library: no C++ object and no exception passes through it. A function that fails returns its status with a
// sentence in *failure, and has changed nothing that the caller can see.
//
// An operation goes in two steps. `plan` chooses the kernel for a problem and says what scratch it needs; it depends
// on the sizes, the dtypes, which operands are given, and on no address, so that it can be asked before there is data.
// `run` does the work in scratch of that size. Neither allocates.
#pragma once

#include <cstddef>
#include <cstdint>

#include "attention/problem.h"
#include "base/error.h"
#include "base/host_allocator.h"

namespace heed {

// Grows by one whenever the table or a struct in it changes.
inline constexpr int32_t kBackendVersion = 4;

using Failure = Error;

struct BackendOptions {
  int32_t device_index = 0;
  int32_t num_threads = 0;  // 0: as many as the process may use
  int32_t allow_reduced_precision = 0;
  // For all host memory that the device keeps.
  HostAllocator allocator;
};

// How an operation will be done.
struct Plan {
  const char* kernel = "";  // static
  // Scratch for `run`, aligned to kMemoryAlignment. Never decreases when batch, rows, queries or keys grow.
  size_t scratch_bytes = 0;
  const char* not_fastest = nullptr;  // static; why this is not the fastest path, null where it is
};

// The state of one open device.
struct BackendDevice;

struct Backend {
  int32_t version;   // kBackendVersion
  const char* name;  // "cpu"

  Status (*open)(const BackendOptions* options, BackendDevice** device, Failure* failure);
  void (*close)(BackendDevice* device);
  // Waits for all that was asked, and reports a failure that came after its call had returned, once.
  Status (*synchronize)(BackendDevice* device, Failure* failure);
  // One line on the device, kept by it.
  const char* (*describe)(const BackendDevice* device);
  // The instructions that it computes with, static.
  const char* (*isa)(const BackendDevice* device);
  int32_t (*num_threads)(const BackendDevice* device);

  // Memory aligned to kMemoryAlignment, all zeros where `zeros` is 1. num_bytes may be 0; the address is never null.
  Status (*allocate)(BackendDevice* device, size_t num_bytes, int32_t zeros, void** memory, Failure* failure);
  void (*release)(BackendDevice* device, void* memory, size_t num_bytes);

  Status (*plan_linear)(const BackendDevice* device, const LinearProblem* problem, Plan* plan, Failure* failure);
  Status (*run_linear)(BackendDevice* device, const LinearProblem* problem, const Plan* plan, void* scratch,
                       Failure* failure);
  Status (*plan_attention)(const BackendDevice* device, const AttentionProblem* problem, Plan* plan, Failure* failure);
  Status (*run_attention)(BackendDevice* device, const AttentionProblem* problem, const Plan* plan, void* scratch,
                          Failure* failure);
  Status (*plan_softmax)(const BackendDevice* device, const SoftmaxProblem* problem, Plan* plan, Failure* failure);
  Status (*run_softmax)(BackendDevice* device, const SoftmaxProblem* problem, const Plan* plan, void* scratch,
                        Failure* failure);
  Status (*plan_dropout)(const BackendDevice* device, const DropoutProblem* problem, Plan* plan, Failure* failure);
  Status (*run_dropout)(BackendDevice* device, const DropoutProblem* problem, const Plan* plan, void* scratch,
                        Failure* failure);
};

}  // namespace heed
