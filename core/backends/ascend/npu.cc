// SPDX-License-Identifier: Apache-2.0
#include "backends/ascend/npu.h"

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string_view>
#include <utility>

#include "platform/process.h"

namespace heed::ascend {
namespace {

// How many operations of ATB are kept for later calls. Beyond this number all are destroyed, together with ATB's context, since a host may have any
// number of threads and of parameter sizes.
constexpr size_t kMaxOperations = 2048;

// Limits for the constants that are kept, in bytes and in number. Beyond them all are released at the beginning of the
// next call.
constexpr size_t kMaxConstantBytes = size_t{64} << 20;
constexpr size_t kMaxConstants = 256;

// A number that no other thread has or had. The system gives the id of a thread that has ended to a new one.
uint64_t thread_number() {
  static std::atomic<uint64_t> num_threads{0};
  thread_local const uint64_t number = num_threads.fetch_add(1, std::memory_order_relaxed);
  return number;
}

// The open NPUs. Never destroyed, because AscendCL must not be called from a static destructor.
struct Registry {
  std::mutex mutex;
  std::map<int32_t, std::weak_ptr<Npu>> npus;
  bool is_initialized = false;
  int64_t process = platform::process_id();
};

// A child of fork gets a registry of its own: in the copy of its parent's, the mutex may be locked by a thread that the
// child does not have.
Registry& registry() {
  static std::atomic<Registry*> kept{new Registry};
  Registry* current = kept.load(std::memory_order_acquire);
  if (current->process == platform::process_id()) return *current;
  auto* const fresh = new Registry;
  if (kept.compare_exchange_strong(current, fresh, std::memory_order_acq_rel)) return *fresh;
  delete fresh;
  return *current;
}

// Initialises AscendCL, unless the host has done so. heed never finalises it: that would end it for everybody in the
// process. The caller holds the registry's lock.
void initialize(Registry& shared) {
  const aclError code = aclInit(nullptr);
  if (code != ACL_SUCCESS && code != kRepeatedInitialize) {
    fail(Status::DeviceUnavailable,
         "AscendCL cannot be initialized (aclInit gives %d%s): expected the Ascend driver, and the set_env.sh of CANN "
         "sourced",
         code, RecentMessage().text());
  }
  // Clears the message of a repeated initialisation, which is no failure.
  static_cast<void>(RecentMessage());
  shared.is_initialized = true;
}

// What the vendor's scripts set. Without the first variable ATB finds no kernels; without the second it does not check dtypes.
void check_environment() {
  constexpr std::pair<const char*, const char*> kSetBy[] = {{"ASCEND_HOME_PATH", "the CANN toolkit"},
                                                            {"ATB_HOME_PATH", "NNAL (ATB)"}};
  for (const auto& [variable, product] : kSetBy) {
    const char* value = std::getenv(variable);
    if (value != nullptr && *value != '\0') continue;
    fail(Status::DeviceUnavailable, "%s is not set: expected the set_env.sh of %s sourced before the program starts",
         variable, product);
  }
}

// Elewise is the operation for which ATB opens a library of CANN. It is created here, so that an installation without that
// library is found before a layer needs the operation.
void check_libraries() {
  atb::infer::ElewiseParam param;
  param.elewiseType = atb::infer::ElewiseParam::ELEWISE_ADD;
  atb::Operation* created = nullptr;
  const atb::Status code = atb::CreateOperation(param, &created);
  if (code == atb::ERROR_OUT_OF_DEVICE_MEMORY || code == atb::ERROR_OUT_OF_HOST_MEMORY)
    fail_atb(code, "atb::CreateOperation");
  if (code != atb::NO_ERROR) {
    fail(Status::DeviceUnavailable,
         "ATB cannot create an Elewise operation (CreateOperation gives %d): expected ASCEND_HOME_PATH to name a CANN "
         "toolkit of ATB's release, with lib64/libopapi.so: source that toolkit's set_env.sh before the program starts",
         code);
  }
  static_cast<void>(atb::DestroyOperation(created));
}

// Supported chips: Atlas A2 (Ascend910B1 to 910B4) and A3 (Ascend910_93...).
bool is_supported(std::string_view chip) {
  constexpr std::string_view kA2 = "Ascend910B";
  constexpr std::string_view kA3 = "Ascend910_93";
  // "Ascend910B" with nothing after it is a chip of the first generation.
  return (chip.starts_with(kA2) && chip.size() > kA2.size()) || chip.starts_with(kA3);
}

std::string supported_chip() {
  const char* name = aclrtGetSocName();
  std::string chip = name == nullptr ? "" : name;
  if (!is_supported(chip)) {
    fail(Status::DeviceUnavailable,
         "the NPU is an %s, for which heed has no kernels: expected an Ascend910B1 to 910B4 (Atlas A2) or an "
         "Ascend910_93 (Atlas A3)",
         chip.empty() ? "unknown chip" : chip.c_str());
  }
  return chip;
}

int32_t count(Registry& shared) {
  check_environment();
  if (!shared.is_initialized) initialize(shared);
  uint32_t count = 0;
  aclError code = aclrtGetDeviceCount(&count);
  if (code == kNotInitialized) {
    // The host has finalised AscendCL in the meantime.
    initialize(shared);
    code = aclrtGetDeviceCount(&count);
  }
  if (code != ACL_SUCCESS || count == 0) {
    fail(Status::DeviceUnavailable,
         "there is no NPU (aclrtGetDeviceCount gives %d and %u devices%s): expected a device that npu-smi info shows, "
         "and that this process may use (ASCEND_RT_VISIBLE_DEVICES)",
         code, count, RecentMessage().text());
  }
  static_cast<void>(supported_chip());
  return static_cast<int32_t>(count);
}

}  // namespace

aclDataType acl_dtype(DType dtype) {
  switch (dtype) {
    case DType::F32: return ACL_FLOAT;
    case DType::F16: return ACL_FLOAT16;
    case DType::BF16: return ACL_BF16;
    case DType::F64: return ACL_DOUBLE;
    case DType::I32: return ACL_INT32;
    case DType::I64: return ACL_INT64;
    case DType::I8: return ACL_INT8;
    case DType::U8: return ACL_UINT8;
    case DType::Bool: break;
  }
  return ACL_BOOL;
}

size_t size_of_element(aclDataType dtype) {
  const auto own = find_dtype([&](DType each) { return acl_dtype(each) == dtype; });
  return own.has_value() ? size_of(*own) : 0;
}

int64_t DeviceArray::num_elements() const {
  int64_t count = 1;
  for (uint64_t axis = 0; axis < shape.dimNum; ++axis) count *= shape.dims[axis];
  return count;
}

size_t DeviceArray::num_bytes() const { return static_cast<size_t>(num_elements()) * size_of_element(dtype); }

std::string name_of(const char* words, std::initializer_list<int64_t> numbers) {
  std::string name = words;
  for (const int64_t number : numbers) name += " " + std::to_string(number);
  return name;
}

atb::Dims dims_of(std::initializer_list<int64_t> sizes) {
  atb::Dims dims;
  dims.dimNum = 0;
  for (const int64_t size : sizes) dims.dims[dims.dimNum++] = size;
  return dims;
}

int32_t count_npus() {
  Registry& shared = registry();
  const std::lock_guard lock(shared.mutex);
  return count(shared);
}

std::shared_ptr<Npu> Npu::open(int32_t index) {
  Registry& shared = registry();
  const std::lock_guard lock(shared.mutex);
  const int32_t num_npus = count(shared);
  if (index < 0 || index >= num_npus) {
    if (num_npus == 1) {
      fail(Status::InvalidArgument, OPTION("device_index") " is %d, but this process sees one NPU: expected 0", index);
    }
    fail(Status::InvalidArgument, OPTION("device_index") " is %d, but this process sees %d NPUs: expected 0 to %d",
         index, num_npus, num_npus - 1);
  }
  std::shared_ptr<Npu> npu = shared.npus[index].lock();
  if (npu == nullptr) {
    npu = std::make_shared<Npu>(index);
    shared.npus[index] = npu;
  }
  return npu;
}

void Npu::close(std::shared_ptr<Npu>& npu) noexcept {
  // In a child of fork the registry's lock may be held by a thread that does not exist there.
  if (npu->is_inherited()) {
    npu.reset();
    return;
  }
  const std::lock_guard lock(registry().mutex);
  npu.reset();
}

Npu::Npu(int32_t index) : index_(index), process_(platform::process_id()), pack_(std::make_unique<atb::VariantPack>()) {
  aclrtContext before = nullptr;
  if (aclrtGetCurrentContext(&before) != ACL_SUCCESS) before = nullptr;
  try {
    start();
  } catch (...) {
    stop();
    if (before != nullptr) static_cast<void>(aclrtSetCurrentContext(before));
    throw;
  }
  if (before != nullptr) static_cast<void>(aclrtSetCurrentContext(before));
}

void Npu::start() {
  chip_ = supported_chip();
  atb_version_ = atb::Utils::GetAtbVersion();
  check(aclrtSetDevice(index_), "aclrtSetDevice");
  is_device_set_ = true;
  check(aclrtGetCurrentContext(&context_), "aclrtGetCurrentContext");
  create_stream();
  create_atb_context();
  check_libraries();
}

void Npu::create_atb_context() {
  if (const atb::Status code = atb::CreateContext(&atb_context_); code != atb::NO_ERROR)
    fail_atb(code, "atb::CreateContext");
  if (const atb::Status code = atb_context_->SetExecuteStream(stream_); code != atb::NO_ERROR)
    fail_atb(code, "atb::Context::SetExecuteStream");
}

// A stream keeps the overflow mode that the device had when the stream was created: results beyond the range are either
// infinities and NaN, which rule 8 needs, or the largest number and 0. The device's mode is the host's setting and is
// restored.
void Npu::create_stream() {
  aclrtFloatOverflowMode before = ACL_RT_OVERFLOW_MODE_INFNAN;
  // A driver without overflow modes gives infinities.
  if (const aclError code = aclrtGetDeviceSatMode(&before); code != kNotSupported) check(code, "aclrtGetDeviceSatMode");
  const bool is_saturating = before == ACL_RT_OVERFLOW_MODE_SATURATION;
  if (is_saturating) check(aclrtSetDeviceSatMode(ACL_RT_OVERFLOW_MODE_INFNAN), "aclrtSetDeviceSatMode");
  const aclError code = aclrtCreateStream(&stream_);
  if (is_saturating) static_cast<void>(aclrtSetDeviceSatMode(before));
  check(code, "aclrtCreateStream");
}

Npu::~Npu() {
  // A child of fork has a copy of the driver's state, but not the driver's threads.
  if (is_inherited()) return;
  aclrtContext before = nullptr;
  if (aclrtGetCurrentContext(&before) != ACL_SUCCESS) before = nullptr;
  static_cast<void>(aclrtSetCurrentContext(context_));
  stop();
  if (before != nullptr && before != context_) static_cast<void>(aclrtSetCurrentContext(before));
}

// In the order that AscendCL and ATB require. On a lost device most of these calls fail, which changes nothing here.
void Npu::stop() noexcept {
  wait_idle();
  destroy_atb_context();
  forget_constants();
  if (workspace_ != nullptr) memory_.give(workspace_, workspace_bytes_);
  workspace_ = nullptr;
  memory_.free_kept();
  staging_.free();
  if (stream_ != nullptr) static_cast<void>(aclrtDestroyStream(stream_));
  if (is_device_set_) static_cast<void>(aclrtResetDevice(index_));
}

Npu::Use::Use(Npu& npu, Of which) : lock_(npu.mutex_, std::defer_lock) {
  if (npu.is_inherited()) {
    fail(
        Status::DeviceUnavailable,
        "the " WORD("context") " on device ascend:%d was opened before fork, after which the driver cannot be "
"used: open a " WORD("context") " in the child, before anything of Ascend is used in the parent",
        npu.index_);
  }
  lock_.lock();
  if (npu.is_lost_ && which == Of::WorkingDevice) {
    fail(Status::DeviceLost,
         "device ascend:%d has been lost (%s): " WORD("destroy") " all that belongs to " WORD(
             "contexts") " on it, and open a new one",
         npu.index_, npu.loss_);
  }
  // A thread without a current context cannot be put back into that state, so it keeps heed's context.
  if (aclrtGetCurrentContext(&before_) != ACL_SUCCESS) {
    before_ = nullptr;
    static_cast<void>(RecentMessage());  // clears the message, which is no failure
  }
  if (before_ != npu.context_) npu.check(aclrtSetCurrentContext(npu.context_), "aclrtSetCurrentContext");
  if (before_ == npu.context_) before_ = nullptr;
  if (npu.constant_bytes_ > kMaxConstantBytes || npu.constants_.size() > kMaxConstants) npu.forget_constants();
}

Npu::Use::~Use() {
  if (before_ != nullptr) static_cast<void>(aclrtSetCurrentContext(before_));
}

void Npu::lose(const Error& loss) {
  is_lost_ = true;
  std::snprintf(loss_, sizeof loss_, "%.*s", static_cast<int>(sizeof loss_) - 1, loss.text);
  fail(Status::DeviceLost,
       "device ascend:%d failed while it worked, and is lost (%s): " WORD("destroy") " all that belongs to " WORD(
           "contexts") " on it, and open a new one",
       index_, loss_);
}

void Npu::check(aclError code, const char* what) {
  if (code != ACL_SUCCESS) watched([&] { fail_acl(code, what); });
}

void* Npu::allocate(size_t num_bytes) {
  return watched([&] { return memory_.take(num_bytes, [this] { synchronize(); }); });
}

bool Npu::is_inherited() const { return process_ != platform::process_id(); }

void Npu::release(void* memory, size_t num_bytes) noexcept { memory_.give(memory, num_bytes); }

void Npu::upload(void* device, const void* host, size_t num_bytes) {
  if (num_bytes == 0) return;
  if (num_bytes > Staging::kCapacity) {
    // aclrtMemcpy does not wait for the stream, where queued work may still use the block.
    synchronize();
    check(aclrtMemcpy(device, num_bytes, host, num_bytes, ACL_MEMCPY_HOST_TO_DEVICE), "aclrtMemcpy to the device");
    return;
  }
  void* staged = watched([&] { return staging_.take(num_bytes, [this] { synchronize(); }); });
  std::memcpy(staged, host, num_bytes);
  check(aclrtMemcpyAsync(device, num_bytes, staged, num_bytes, ACL_MEMCPY_HOST_TO_DEVICE, stream_),
        "aclrtMemcpyAsync to the device");
}

void Npu::download(void* host, const void* device, size_t num_bytes) {
  synchronize();
  if (num_bytes > 0)
    check(aclrtMemcpy(host, num_bytes, device, num_bytes, ACL_MEMCPY_DEVICE_TO_HOST), "aclrtMemcpy to the host");
}

void Npu::copy(void* destination, const void* source, size_t num_bytes) {
  if (num_bytes == 0) return;
  const auto is_aligned = [](const void* address) {
    return reinterpret_cast<uintptr_t>(address) % kMemoryAlignment == 0;
  };
  if (is_aligned(destination) && is_aligned(source)) {
    check(aclrtMemcpyAsync(destination, num_bytes, source, num_bytes, ACL_MEMCPY_DEVICE_TO_DEVICE, stream_),
          "aclrtMemcpyAsync on the device");
    return;
  }
  // For unaligned addresses there is only the copy that does not go through the stream.
  synchronize();
  check(aclrtMemcpy(destination, num_bytes, source, num_bytes, ACL_MEMCPY_DEVICE_TO_DEVICE),
        "aclrtMemcpy on the device");
}

void Npu::synchronize() {
  check(aclrtSynchronizeStream(stream_), "aclrtSynchronizeStream");
  staging_.reset();
}

void Npu::trim() {
  synchronize();
  if (workspace_ != nullptr) memory_.give(workspace_, workspace_bytes_);
  workspace_ = nullptr;
  workspace_bytes_ = 0;
  memory_.free_kept();
}

void Npu::wait_idle() noexcept {
  if (stream_ != nullptr) static_cast<void>(aclrtSynchronizeStream(stream_));
  staging_.reset();
}

// An operation of ATB can be used only in the thread that first called its Setup: it keeps a pointer into that thread's
// cache of kernels. So the thread is part of the key. Some operations, such as Rope, keep the pointer in a runner from a
// pool of the context, and the end of the operation passes the runner on to another operation, of any thread. So no
// operation is destroyed before its context.
atb::Operation* Npu::operation(const std::string& name, const Create& create) {
  const std::string key = name + " " + std::to_string(thread_number());
  if (const auto found = operations_.find(key); found != operations_.end()) return found->second;
  if (operations_.size() >= kMaxOperations) {
    synchronize();
    destroy_atb_context();
  }
  // Null after a failed attempt too.
  if (atb_context_ == nullptr) create_atb_context();
  atb::Operation* created = nullptr;
  if (const atb::Status code = create(&created); code != atb::NO_ERROR)
    fail_atb(code, (name + " (CreateOperation)").c_str());
  try {
    operations_.emplace(key, created);
  } catch (...) {
    static_cast<void>(atb::DestroyOperation(created));
    throw;
  }
  return created;
}

void Npu::destroy_atb_context() noexcept {
  for (const auto& [name, operation] : operations_) static_cast<void>(atb::DestroyOperation(operation));
  operations_.clear();
  if (atb_context_ != nullptr) static_cast<void>(atb::DestroyContext(atb_context_));
  atb_context_ = nullptr;
}

DeviceArray Npu::constant(const std::string& name, aclDataType dtype, const atb::Dims& shape,
                          const std::function<void(void* host)>& fill) {
  if (const auto found = constants_.find(name); found != constants_.end()) return found->second;
  DeviceArray array;
  array.dtype = dtype;
  array.shape = shape;
  const size_t num_bytes = array.num_bytes();
  const std::unique_ptr<char[]> host(new char[num_bytes]);
  fill(host.get());
  array.data = allocate(num_bytes);
  try {
    upload(array.data, host.get(), num_bytes);
    constants_.emplace(name, array);
  } catch (...) {
    release(array.data, num_bytes);
    throw;
  }
  constant_bytes_ += num_bytes;
  return array;
}

void Npu::forget_constants() noexcept {
  for (const auto& [name, array] : constants_) release(array.data, array.num_bytes());
  constants_.clear();
  constant_bytes_ = 0;
}

void Npu::run_kept(const std::string& name, const Create& create, std::initializer_list<DeviceArray> inputs,
                   std::initializer_list<DeviceArray> outputs) {
  const auto tensor_of = [](const DeviceArray& array) {
    atb::Tensor tensor;
    tensor.desc.dtype = array.dtype;
    tensor.desc.format = ACL_FORMAT_ND;
    tensor.desc.shape = array.shape;
    tensor.deviceData = array.data;
    tensor.hostData = array.host_data;
    tensor.dataSize = array.num_bytes();
    return tensor;
  };
  atb::Operation* kept = operation(name, create);
  pack_->inTensors.clear();
  pack_->outTensors.clear();
  for (const DeviceArray& input : inputs) pack_->inTensors.push_back(tensor_of(input));
  for (const DeviceArray& output : outputs) pack_->outTensors.push_back(tensor_of(output));

  uint64_t needed = 0;
  if (const atb::Status code = kept->Setup(*pack_, needed, atb_context_); code != atb::NO_ERROR)
    fail_atb(code, (name + " (Setup)").c_str());
  if (needed > workspace_bytes_) {
    // The old workspace is released first, so that a full device can reuse its memory.
    memory_.give(workspace_, workspace_bytes_);
    workspace_ = nullptr;
    workspace_bytes_ = 0;
    workspace_ = allocate(needed);
    workspace_bytes_ = needed;
  }
  const atb::Status code =
      kept->Execute(*pack_, needed == 0 ? nullptr : static_cast<uint8_t*>(workspace_), needed, atb_context_);
  if (code != atb::NO_ERROR) {
    // If earlier work has failed on the device, synchronize throws that failure, which is the cause of this one.
    synchronize();
    fail_atb(code, (name + " (Execute)").c_str());
  }
}

Temporary::Temporary(Npu& npu, aclDataType dtype, const atb::Dims& shape) : npu_(&npu) {
  array_.dtype = dtype;
  array_.shape = shape;
  array_.data = npu.allocate(array_.num_bytes());
}

Temporary::Temporary(Temporary&& other) noexcept
    : npu_(std::exchange(other.npu_, nullptr)), array_(std::exchange(other.array_, {})) {}

Temporary& Temporary::operator=(Temporary&& other) noexcept {
  std::swap(npu_, other.npu_);
  std::swap(array_, other.array_);
  return *this;
}

Temporary::~Temporary() {
  if (npu_ != nullptr) npu_->release(array_.data, array_.num_bytes());
}

Temporary uploaded(Npu& npu, aclDataType dtype, const atb::Dims& shape, const void* host) {
  Temporary result(npu, dtype, shape);
  npu.upload(result.data(), host, result.array().num_bytes());
  return result;
}

}  // namespace heed::ascend
