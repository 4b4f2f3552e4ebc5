// SPDX-License-Identifier: Apache-2.0
// One NPU in this process: its stream, its memory and its ATB context. All contexts of heed on the NPU share them.
//
// All work goes through one stream, in the order of the calls. So a tensor can be used in any context of the device,
// and memory can be released while queued work still uses it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>

#include "backends/ascend/acl.h"
#include "backends/ascend/device_memory.h"
#include "backends/ascend/staging.h"
#include "base/memory.h"
#include "tensor/dtype.h"

namespace heed::ascend {

// A dense array that an operation of ATB reads or writes, in row-major order.
struct DeviceArray {
  void* data = nullptr;
  aclDataType dtype = ACL_FLOAT16;
  atb::Dims shape;
  // Set instead of `data` if ATB wants the array in the host's memory.
  void* host_data = nullptr;

  int64_t num_elements() const;
  size_t num_bytes() const;
};

// AscendCL's name of an element type.
aclDataType acl_dtype(DType dtype);
// Bytes of one element; 0 if no dtype of heed has this type.
size_t size_of_element(aclDataType dtype);

atb::Dims dims_of(std::initializer_list<int64_t> sizes);

// The words and the numbers, for the name of an operation or of a constant.
std::string name_of(const char* words, std::initializer_list<int64_t> numbers);

// The number of NPUs that this process can use, at least 1. Throws DeviceUnavailable with the reason if there is none.
int32_t count_npus();

class Npu {
 public:
  // The NPU of that index, which the first call opens. Throws DeviceUnavailable, InvalidArgument, OutOfMemory.
  static std::shared_ptr<Npu> open(int32_t index);
  // Releases a share of the NPU. The last one closes it; an `open` in another thread waits until it is closed.
  static void close(std::shared_ptr<Npu>& npu) noexcept;

  explicit Npu(int32_t index);
  Npu(const Npu&) = delete;
  Npu& operator=(const Npu&) = delete;
  ~Npu();

  // Such as "Ascend910B4".
  const char* chip() const { return chip_.c_str(); }
  const char* atb_version() const { return atb_version_.c_str(); }

  // Holds the NPU's lock and makes its AscendCL context the thread's current one, for one call of heed; restores the
  // caller's context at the end. All functions below need a Use. Throws DeviceLost, and DeviceUnavailable in a child of
  // fork.
  class Use {
   public:
    // AnyDevice: also a lost device, for functions that release memory.
    enum class Of { WorkingDevice, AnyDevice };
    explicit Use(Npu& npu, Of which = Of::WorkingDevice);
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;
    ~Use();

   private:
    std::unique_lock<std::mutex> lock_;
    aclrtContext before_ = nullptr;
  };

  void* allocate(size_t num_bytes);
  void release(void* memory, size_t num_bytes) noexcept;
  // Copies. Each comes after all earlier work on the stream. The host's memory may be used again when they return.
  // `download` waits for the device. So do `upload`, if the data does not fit into the rest of the staging buffer, and
  // `copy`, if an address is not a multiple of kMemoryAlignment.
  void upload(void* device, const void* host, size_t num_bytes);
  void download(void* host, const void* device, size_t num_bytes);
  void copy(void* destination, const void* source, size_t num_bytes);
  // Waits for all queued work. Throws the failure of earlier work, if it failed.
  void synchronize();
  // Waits for all queued work and ignores failures.
  void wait_idle() noexcept;
  // Waits, and returns unused blocks and ATB's workspace to the driver.
  void trim();

  // An array whose contents depend on its name alone. The first call fills and uploads it; later calls get the same
  // one. It stays valid until the end of the current call of heed.
  DeviceArray constant(const std::string& name, aclDataType dtype, const atb::Dims& shape,
                       const std::function<void(void* host)>& fill);

  // Runs an operation of ATB. `name` states its parameters; the operation is kept under this name for the thread,
  // because a Setup with the sizes of the last call is cheaper than a new operation.
  template <typename Param>
  void run(const std::string& name, const Param& param, std::initializer_list<DeviceArray> inputs,
           std::initializer_list<DeviceArray> outputs) {
    run_kept(
        name, [&param](atb::Operation** operation) { return atb::CreateOperation(param, operation); }, inputs, outputs);
  }
  template <typename Param>
  void run(const std::string& name, const Param& param, std::initializer_list<DeviceArray> inputs,
           const DeviceArray& output) {
    run(name, param, inputs, {output});
  }

 private:
  using Create = std::function<atb::Status(atb::Operation**)>;

  void start();
  void create_stream();
  void stop() noexcept;
  // Runs `call`. If it throws DeviceLost for the first time, the NPU is marked as lost.
  template <typename Call>
  auto watched(Call call) {
    try {
      return call();
    } catch (const Error& error) {
      if (error.status != Status::DeviceLost || is_lost_) throw;
      lose(error);
    }
  }
  // Marks the device as lost and throws. The text of `loss` names the call that found it.
  [[noreturn]] void lose(const Error& loss);
  // Whether this process is a child of fork of the one that opened the NPU.
  bool is_inherited() const;
  // Throws where `code` is a failure.
  void check(aclError code, const char* what);
  atb::Operation* operation(const std::string& name, const Create& create);
  void run_kept(const std::string& name, const Create& create, std::initializer_list<DeviceArray> inputs,
                std::initializer_list<DeviceArray> outputs);
  void create_atb_context();
  // Destroys all operations, and then the context that they were set up for.
  void destroy_atb_context() noexcept;
  void forget_constants() noexcept;

  int32_t index_;
  std::string chip_;
  std::string atb_version_;
  std::mutex mutex_;
  aclrtContext context_ = nullptr;
  aclrtStream stream_ = nullptr;
  atb::Context* atb_context_ = nullptr;
  bool is_device_set_ = false;
  // Whether the device is lost, and the text of the failure.
  bool is_lost_ = false;
  char loss_[256] = "";
  int64_t process_ = 0;

  DeviceMemory memory_;
  Staging staging_;
  std::unordered_map<std::string, atb::Operation*> operations_;
  std::unordered_map<std::string, DeviceArray> constants_;
  size_t constant_bytes_ = 0;
  // Not on the stack: it has 13 KiB, too much for a thread with a small stack.
  std::unique_ptr<atb::VariantPack> pack_;
  // ATB's workspace. One serves all operations, since they run one after the other.
  void* workspace_ = nullptr;
  size_t workspace_bytes_ = 0;
};

// An array in the device's memory, released at the end of its scope.
class Temporary {
 public:
  Temporary() = default;
  Temporary(Npu& npu, aclDataType dtype, const atb::Dims& shape);
  Temporary(Temporary&& other) noexcept;
  Temporary& operator=(Temporary&& other) noexcept;
  ~Temporary();

  const DeviceArray& array() const { return array_; }
  void* data() const { return array_.data; }

 private:
  Npu* npu_ = nullptr;
  DeviceArray array_;
};

// Allocates a new array, calls write(array) and moves it into `kept`, whose old array is released. `write` may read the
// old array: its memory is reused only by work that is queued behind this.
template <typename Write>
DeviceArray renewed(Npu& npu, aclDataType dtype, const atb::Dims& shape, Temporary& kept, const Write& write) {
  Temporary next(npu, dtype, shape);
  write(next.array());
  kept = std::move(next);
  return kept.array();
}

// A copy on the device of an array in the host's memory, which may be used again when this returns.
Temporary uploaded(Npu& npu, aclDataType dtype, const atb::Dims& shape, const void* host);

}  // namespace heed::ascend
