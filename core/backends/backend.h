// SPDX-License-Identifier: Apache-2.0
// The interface of a device: a table of functions for its memory and its operations. Layers compose operations and know
// nothing else of devices.
//
// The table has the layout of a C struct, so that a backend may be a plugin built by another compiler with another
// standard library: no C++ object and no exception passes through it. A function that fails returns a status, writes a
// sentence to *failure, and has no visible effect.
//
// An operation takes two calls. `plan` chooses the kernel for a problem and the size of its scratch memory. The plan
// depends on the sizes, the dtypes, the strides, which operands are given and which weights are packed. It depends on
// no address, so that it can be made before there is data. `run` computes as the plan says, in scratch memory of that
// size. On the CPU neither function allocates.
//
// A device with separate memory may return from `run` before the work is done. It executes all work in the order of the
// calls, whatever their context, so that memory may be released and copied right after `run`.
#pragma once

#include <cstddef>
#include <cstdint>

#include "backends/plan.h"
#include "base/error.h"
#include "base/host_allocator.h"
#include "base/memory.h"
#include "ops/linear.h"
#include "ops/op.h"
#include "ops/update.h"

namespace heed {

// Incremented whenever the table or a struct in it changes. It is the first member of the table in every version.
inline constexpr int32_t kBackendVersion = 20;

using Failure = Error;

// The largest number of threads of a context, which is more than any machine has processors.
inline constexpr int32_t kMaxThreads = 1024;

// The members of heed_executor.
struct Executor {
  void (*parallel_for)(void* user, int64_t num_items, void (*run)(void* task, int64_t item), void* task) = nullptr;
  int32_t num_threads = 0;  // 1 to kMaxThreads
  void* user = nullptr;
};

struct BackendOptions {
  int32_t device_index = 0;
  int32_t num_threads = 0;  // 0: as many as the process may use or the executor has; at most kMaxThreads
  int32_t allow_reduced_precision = 0;
  // 1: operations on the CPU take subnormal numbers as 0, read and written. Other devices do not read it.
  int32_t flush_subnormals = 0;
  // Allocates all host memory that the device keeps.
  HostAllocator allocator;
  // The threads to compute with; if parallel_for is null, the device's own.
  Executor executor;
};

// The form of the intermediates between the operations of a layer that a device needs.
struct IntermediateForm {
  DType dtype = DType::F32;
  // 1: intermediates are (B, S, H, D), with all heads of a row adjacent. 0: the layer chooses between that and (B, H,
  // S, D).
  int32_t whole_rows = 0;
  // 1: the device also reads keys and values that no query sees, so all of their rows have to be projected. 0:
  // projections may compute fewer rows (WantedRows), and the device's attention reads only those.
  int32_t all_rows = 0;
};

// A block of a weight: rows first_row .. end_row - 1, and of each row the elements first_input .. end_input - 1.
struct WeightBlock {
  int64_t first_row = 0;
  int64_t end_row = 0;
  int64_t first_input = 0;
  int64_t end_input = 0;
};

// A cache that is about to be made (ops/cached_keys.h).
struct CacheShape {
  DType dtype = DType::F32;  // F32, F16, BF16, I8
  int32_t is_ring = 0;
  int32_t unrotated_keys = 0;
  int32_t unused = 0;
  int64_t num_kv_heads = 0;
  int64_t head_size = 0;
  int64_t value_head_size = 0;
  int64_t page_rows = 0;  // of a page; 0: the device chooses
};

// The rows of a block that is packed separately begin and end at multiples of this number, or end with the last row.
inline constexpr int64_t kPackedRows = 16;
// So many rows are whole panels of a packed weight in every ISA of the CPU: a panel is then packed or unpacked by one thread.
inline constexpr int64_t kWholePanelRows = 48;
static_assert(kWholePanelRows % kPackedRows == 0);

// The state of one open device.
struct BackendDevice;

struct Backend {
  int32_t version;   // kBackendVersion
  const char* name;  // "cpu"
  // 1: the processor can read and write the device's memory, and each call is done when it returns. 0: memory can only
  // be accessed with `copy`. The lengths of an attention or a softmax are in host memory on every device.
  int32_t is_host;

  // The number of devices that can be used. If it is 0, the status is DeviceUnavailable with the reason.
  Status (*count_devices)(int32_t* count, Failure* failure);
  Status (*open)(const BackendOptions* options, BackendDevice** device, Failure* failure);
  void (*close)(BackendDevice* device);
  // Waits until all queued work is done, and reports, once, a failure that occurred after its call had returned.
  Status (*synchronize)(BackendDevice* device, Failure* failure);
  // A description of the device in one line, owned by it.
  const char* (*describe)(const BackendDevice* device);
  // The name of the instruction set that it computes with; static.
  const char* (*isa)(const BackendDevice* device);
  int32_t (*num_threads)(const BackendDevice* device);
  // Starts the device's threads, so that `run` does not have to. May be called any number of times, from any thread.
  void (*start)(BackendDevice* device);

  // Memory aligned to kMemoryAlignment, zero-filled if `zeros` is 1. num_bytes may be 0; the address is never null.
  Status (*allocate)(BackendDevice* device, size_t num_bytes, int32_t zeros, void** memory, Failure* failure);
  void (*release)(BackendDevice* device, void* memory, size_t num_bytes);
  // Like Memory::copy. Null if is_host is 1.
  Status (*copy)(BackendDevice* device, void* destination, const void* source, size_t num_bytes, Direction direction,
                 Failure* failure);
  // Like Memory::wait_idle. Null if is_host is 1.
  void (*wait_idle)(BackendDevice* device);
  // After all queued work, returns to the driver the memory that the device keeps for later calls. Null if is_host is
  // 1.
  Status (*trim)(BackendDevice* device, Failure* failure);
  // Calls run(argument, task, worker) once for each task from 0 to num_tasks - 1, on the device's threads, and returns
  // when all are done, also after a failure. 0 <= worker < num_threads(), and no two calls at the same time have the
  // same worker. `num_bytes` is about what is read and written: small loops run only on the calling thread, larger ones
  // start the device's threads. `run` must not throw, and must not compute on the device. Null if is_host is 0.
  Status (*for_each)(BackendDevice* device, int64_t num_tasks, double num_bytes,
                     void (*run)(const void* argument, int64_t task, int32_t worker), const void* argument,
                     Failure* failure);
  // to[column * to_stride + row] = from[row * from_stride + column], for elements of F32, F16 or BF16; strides in
  // elements. May be called from any thread. Null if is_host is 0.
  void (*transpose)(const BackendDevice* device, DType dtype, const void* from, int64_t from_stride, int64_t num_rows,
                    int64_t num_columns, void* to, int64_t to_stride);
  // Changes elements of a parameter in host memory, and an optimizer's state of them (ops/update.h). May be called from any
  // thread. Null if is_host is 0.
  void (*update)(const BackendDevice* device, const UpdateArguments* arguments);
  // For a layer with inputs of that dtype.
  IntermediateForm (*intermediate_form)(const BackendDevice* device, DType inputs);

  // The rows of a page with which the device keeps such a cache in its memory, as CacheForm::Rows: shape->page_rows if that
  // is not 0. 0: the cache is in host memory, and the CPU attends to it. Null if is_host is 1.
  int64_t (*cache_page_rows)(const BackendDevice* device, const CacheShape* shape);

  // The operations that `plan` and `run` support: bit_of(kind) of each. The CPU computes all others, with copies, as if
  // `plan` had set on_host.
  uint64_t operations;
  // `op` is the first member of a complete and valid problem of one of these operations. `plan` writes *plan.
  Status (*plan)(const BackendDevice* device, const Op* op, Plan* plan, Failure* failure);
  // `plan` was made by the device for this problem, or for one that differs only in addresses.
  Status (*run)(BackendDevice* device, const Op* op, const Plan* plan, void* scratch, Failure* failure);
  // The size of a packed weight: a weight is packed once, in the layout that linear operations read fastest, for any
  // number of calls and combinations with other parts. Reads the weight's shape, dtype and strides and the output size
  // of `part`, but not the weight's data. `packed` has that many bytes, aligned to kMemoryAlignment. 0 bytes: the
  // device reads the unpacked weight, and never gets a packed one.
  Status (*packed_linear_bytes)(const BackendDevice* device, const LinearPart* part, int64_t input_size,
                                size_t* num_bytes, Failure* failure);
  // Packs a block; part->weight.data is the first element of the block. If is_host is 1, may be called from many
  // threads at the same time, also for different blocks of one weight; otherwise the block is the whole weight.
  Status (*pack_linear)(BackendDevice* device, const LinearPart* part, int64_t input_size, const WeightBlock* block,
                        void* packed, Failure* failure);
  // Writes a block, of any rows, from the packed weight: the bits that were packed. part->weight.data is the first element
  // of the block, whose rows are contiguous. May be called from any thread. Null if is_host is 0: layers then keep the
  // unpacked weight beside the packed one.
  void (*unpack_linear)(const BackendDevice* device, const LinearPart* part, int64_t input_size,
                        const WeightBlock* block, const void* packed);
};

}  // namespace heed
