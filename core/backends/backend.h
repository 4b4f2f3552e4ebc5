// SPDX-License-Identifier: Apache-2.0
// What a device has to do for heed: one table of functions, its memory and its operations. Layers compose these and
// know nothing else of devices.
//
// The table is plain C in its layout, so that a backend may be a plugin built by another compiler with another
// standard library: no C++ object and no exception passes through it. A function that fails returns its status with a
// sentence in *failure, and has changed nothing that the caller can see.
//
// An operation takes two calls. `plan` chooses the kernel for a problem and the size of its scratch memory. It depends on
// the sizes, the dtypes, the strides, which operands are given and which weights are packed, and on no address, so that
// it can be called before there is data. `run` computes, as the plan says, in scratch of that size. On the CPU neither
// allocates.
//
// A device whose memory is its own may return from `run` before the work is done. It does what it is asked in the order
// in which it is asked, whatever context asks, so that memory may be given back, and copied, right after.
#pragma once

#include <cstddef>
#include <cstdint>

#include "backends/plan.h"
#include "base/error.h"
#include "base/host_allocator.h"
#include "base/memory.h"
#include "ops/linear.h"
#include "ops/op.h"

namespace heed {

// Grows by one whenever the table or a struct in it changes. It is the first member of the table in every version.
inline constexpr int32_t kBackendVersion = 9;

using Failure = Error;

// More threads than any machine has processors; a larger number is a mistake.
inline constexpr int32_t kMaxThreads = 1024;

// The members of heed_executor.
struct Executor {
  void (*parallel_for)(void* user, int64_t num_items, void (*run)(void* task, int64_t item), void* task) = nullptr;
  int32_t num_threads = 0;  // 1 to kMaxThreads
  void* user = nullptr;
};

struct BackendOptions {
  int32_t device_index = 0;
  int32_t num_threads = 0;  // 0: as many as the process may use, or the executor has; at most kMaxThreads
  int32_t allow_reduced_precision = 0;
  // For all host memory that the device keeps.
  HostAllocator allocator;
  // Whose threads to compute with; without parallel_for, the device's own.
  Executor executor;
};

// How a device wants the arrays that lie between the operations of a layer.
struct IntermediateForm {
  DType dtype = DType::F32;
  // 1: all heads of a row side by side. 0: whichever of that and one head's rows side by side the layer finds best.
  int32_t whole_rows = 0;
  // 1: the device reads keys and values that no query sees, so all of their rows are computed. 0: parts of linear
  // problems may want fewer (WantedRows), and its attention reads no other rows.
  int32_t all_rows = 0;
};

// Rows first_row .. end_row - 1 of a weight, and of each the elements first_input .. end_input - 1.
struct WeightBlock {
  int64_t first_row = 0;
  int64_t end_row = 0;
  int64_t first_input = 0;
  int64_t end_input = 0;
};

// A block of a weight that is packed by itself begins and ends at multiples of so many rows, or ends with the last row.
inline constexpr int64_t kPackedRows = 16;

// The state of one open device.
struct BackendDevice;

struct Backend {
  int32_t version;   // kBackendVersion
  const char* name;  // "cpu"
  // 1: the host reads and writes the device's memory, and each call is done when it returns. 0: memory is reached by
  // `copy` alone, but for the lengths of an attention or a softmax, which are in the host's memory on every device.
  int32_t is_host;

  // Devices that can be used. With 0 comes the status DeviceUnavailable and the reason.
  Status (*count_devices)(int32_t* count, Failure* failure);
  Status (*open)(const BackendOptions* options, BackendDevice** device, Failure* failure);
  void (*close)(BackendDevice* device);
  // Waits for all that was asked, and reports a failure that came after its call had returned, once.
  Status (*synchronize)(BackendDevice* device, Failure* failure);
  // One line on the device, kept by it.
  const char* (*describe)(const BackendDevice* device);
  // The instructions that it computes with, static.
  const char* (*isa)(const BackendDevice* device);
  int32_t (*num_threads)(const BackendDevice* device);
  // Makes what `run` would otherwise have to allocate or do without: threads. Any number of times, from any thread.
  void (*start)(BackendDevice* device);

  // Memory aligned to kMemoryAlignment, all zeros where `zeros` is 1. num_bytes may be 0; the address is never null.
  Status (*allocate)(BackendDevice* device, size_t num_bytes, int32_t zeros, void** memory, Failure* failure);
  void (*release)(BackendDevice* device, void* memory, size_t num_bytes);
  // As Memory::copy. Null where is_host is 1.
  Status (*copy)(BackendDevice* device, void* destination, const void* source, size_t num_bytes, Direction direction,
                 Failure* failure);
  // As Memory::wait_idle. Null where is_host is 1.
  void (*wait_idle)(BackendDevice* device);
  // Gives memory that is kept for later calls back to the driver, after all that was asked. Null where is_host is 1.
  Status (*trim)(BackendDevice* device, Failure* failure);
  // Calls run(argument, item, worker) once for each item from 0 to num_items - 1, on the device's threads, and returns
  // when all are done, also after a failure; 0 <= worker < num_threads(), no two calls at a time have the same one.
  // `num_bytes`: what is read and written, about; too little to share runs on the caller alone, and more has the threads
  // made. `run` must not throw, and must not compute on the device. Null where is_host is 0.
  Status (*for_each)(BackendDevice* device, int64_t num_items, double num_bytes,
                     void (*run)(const void* argument, int64_t item, int32_t worker), const void* argument,
                     Failure* failure);
  // to[column * to_stride + row] = from[row * from_stride + column], for elements of F32, F16 or BF16; strides in
  // elements. From any thread. Null where is_host is 0.
  void (*transpose)(const BackendDevice* device, DType dtype, const void* from, int64_t from_stride, int64_t num_rows,
                    int64_t num_columns, void* to, int64_t to_stride);
  // For a layer whose inputs have that dtype.
  IntermediateForm (*intermediate_form)(const BackendDevice* device, DType inputs);

  // The operations that `plan` and `run` know: a bit_of each. All others are computed by the CPU with copies, as if
  // `plan` had said so with on_host.
  uint64_t operations;
  // `op` is the first member of a problem of one of these operations, which is complete and valid. `plan` writes *plan.
  Status (*plan)(const BackendDevice* device, const Op* op, Plan* plan, Failure* failure);
  // `plan` is the device's own for this problem, or for one that differs in addresses alone.
  Status (*run)(BackendDevice* device, const Op* op, const Plan* plan, void* scratch, Failure* failure);
  // A weight laid out once as a linear operation reads it fastest, for any number of calls and whichever parts it is among.
  // Uses the weight and the output size of `part`: for the number of bytes without its data. `packed` has that many
  // bytes, aligned to kMemoryAlignment. 0 bytes: the device reads the weight as it is, and is never given a packed one.
  Status (*packed_linear_bytes)(const BackendDevice* device, const LinearPart* part, int64_t input_size,
                                size_t* num_bytes, Failure* failure);
  // Packs a block: the weight's first element is the block's. Where is_host is 1, from many threads at a time, for other
  // blocks of one weight too; otherwise the block is the whole weight.
  Status (*pack_linear)(BackendDevice* device, const LinearPart* part, int64_t input_size, const WeightBlock* block,
                        void* packed, Failure* failure);
};

}  // namespace heed
