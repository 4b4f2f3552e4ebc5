// SPDX-License-Identifier: Apache-2.0
// One NPU in this process: its stream, its memory and its ATB context, which all contexts of heed on it share.
//
// One stream does everything in the order in which it is asked. So a tensor can be used in any context of the device,
// and memory can be given back while the device still works with it.
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

// A dense array that an operation of ATB reads or writes; axes with the last one fastest.
struct DeviceArray {
  void* data = nullptr;
  aclDataType dtype = ACL_FLOAT16;
  atb::Dims shape;
  // Set in the place of data where ATB wants an array in the host's memory.
  void* host_data = nullptr;

  int64_t num_elements() const;
  size_t num_bytes() const;
};

// AscendCL's name of an element type.
aclDataType acl_dtype(DType dtype);
// Bytes of one element; 0 for a type that no element type of heed has the name of.
size_t size_of_element(aclDataType dtype);

atb::Dims dims_of(std::initializer_list<int64_t> sizes);

// How many NPUs there are. Throws DeviceUnavailable with the reason where none can be used.
int32_t count_npus();

class Npu {
 public:
  // The NPU of that index, opened by the first who asks. Throws DeviceUnavailable, InvalidArgument, OutOfMemory.
  static std::shared_ptr<Npu> open(int32_t index);
  // Gives up a share of it. The last one closes it, before anybody opens it again.
  static void close(std::shared_ptr<Npu>& npu) noexcept;

  explicit Npu(int32_t index);
  Npu(const Npu&) = delete;
  Npu& operator=(const Npu&) = delete;
  ~Npu();

  // "Ascend910B4"; the version of ATB.
  const char* chip() const { return chip_.c_str(); }
  const char* atb_version() const { return atb_version_.c_str(); }

  // Makes the NPU the thread's own for one call, and the caller's device its own again after it. All functions below
  // want one. Throws DeviceLost, and DeviceUnavailable in a child of fork.
  class Use {
   public:
    // Also of a lost device, for what gives memory back.
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
  // Each after all that was asked before, and `download` when that is done, as does `copy` where an address is not aligned
  // as memory is. The host's memory may be used again when they return.
  void upload(void* device, const void* host, size_t num_bytes);
  void download(void* host, const void* device, size_t num_bytes);
  void copy(void* destination, const void* source, size_t num_bytes);
  // Waits; throws what work has failed with that was asked for earlier.
  void synchronize();
  // Waits, whatever comes of it.
  void wait_idle() noexcept;
  // Waits, and gives blocks that nobody has, and ATB's workspace, back to the driver.
  void trim();

  // An array that depends on nothing but its name, made and uploaded when it is first asked for and kept for later calls.
  // It stays until the end of this one.
  DeviceArray constant(const std::string& name, aclDataType dtype, const atb::Dims& shape,
                       const std::function<void(void* host)>& fill);

  // Asks ATB for an operation. `name` is its parameters in words, by which it is kept for this thread: set up again for
  // the same sizes, it need not work out its kernels anew.
  template <typename Param>
  void run(const std::string& name, const Param& param, std::initializer_list<DeviceArray> inputs,
           const DeviceArray& output) {
    run_kept(
        name, [&param](atb::Operation** operation) { return atb::CreateOperation(param, operation); }, inputs, output);
  }

 private:
  using Create = std::function<atb::Status(atb::Operation**)>;

  void start();
  void create_stream();
  void stop() noexcept;
  // Does what may find that the device is lost, and remembers it.
  template <typename Call>
  auto watched(Call call) {
    try {
      return call();
    } catch (const Error& error) {
      if (error.status != Status::DeviceLost || is_lost_) throw;
      lose(error);
    }
  }
  // `loss` says which call found it.
  [[noreturn]] void lose(const Error& loss);
  // Whether this process has it from its parent.
  bool is_inherited() const;
  // Throws where `code` is a failure.
  void check(aclError code, const char* what);
  atb::Operation* operation(const std::string& name, const Create& create);
  void run_kept(const std::string& name, const Create& create, std::initializer_list<DeviceArray> inputs,
                const DeviceArray& output);
  void destroy_operations() noexcept;
  void forget_constants() noexcept;

  int32_t index_;
  std::string chip_;
  std::string atb_version_;
  std::mutex mutex_;
  aclrtContext context_ = nullptr;
  aclrtStream stream_ = nullptr;
  atb::Context* atb_context_ = nullptr;
  bool is_set_ = false;
  // The failure that the device was lost with.
  bool is_lost_ = false;
  char loss_[256] = "";
  int64_t process_ = 0;

  DeviceMemory memory_;
  Staging staging_;
  std::unordered_map<std::string, atb::Operation*> operations_;
  std::unordered_map<std::string, DeviceArray> constants_;
  size_t constant_bytes_ = 0;
  // Of 13 KiB, which is too much for a small thread's stack.
  std::unique_ptr<atb::VariantPack> pack_;
  // ATB's scratch, one for all operations, since they run one after the other.
  void* workspace_ = nullptr;
  size_t workspace_bytes_ = 0;
};

// Memory of the device for one call.
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

// What `write` puts into a new array, which then lies in `kept`. It may read what lay there before: that is given back only
// when the device has been asked for the work, behind which it waits its turn.
template <typename Write>
DeviceArray renewed(Npu& npu, aclDataType dtype, const atb::Dims& shape, Temporary& kept, const Write& write) {
  Temporary next(npu, dtype, shape);
  write(next.array());
  kept = std::move(next);
  return kept.array();
}

// An array of the host's on the device, for one call. The host's may be used again at once.
Temporary uploaded(Npu& npu, aclDataType dtype, const atb::Dims& shape, const void* host);

}  // namespace heed::ascend
