// SPDX-License-Identifier: Apache-2.0
#include "atb/operation_base.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <new>

#include "atb/elements.h"
#include "atb/utils.h"
#include "runtime/kernel_interface.h"

namespace ascend_sim::atb_library {
namespace {

constexpr uint64_t kMaxTensorBytes = uint64_t{256} << 30;
// Content of the workspace during and after a kernel, so that nobody relies on it. Only the first bytes are overwritten,
// since Rope has 16 MiB.
constexpr int kScribble = 0xA5;
constexpr uint64_t kMaxScribbled = uint64_t{1} << 18;

SVector<TensorDesc> descs_of(const SVector<Tensor>& tensors) {
  SVector<TensorDesc> descs;
  for (const Tensor& tensor : tensors) descs.push_back(tensor.desc);
  return descs;
}

bool uses_bf16(const SVector<TensorDesc>& descs) {
  for (const TensorDesc& desc : descs) {
    if (desc.dtype == ACL_BF16) return true;
  }
  return false;
}

bool overlap(const void* a, uint64_t a_bytes, const void* b, uint64_t b_bytes) {
  const auto a_begin = reinterpret_cast<uintptr_t>(a);
  const auto b_begin = reinterpret_cast<uintptr_t>(b);
  return a != nullptr && b != nullptr && a_begin < b_begin + b_bytes && b_begin < a_begin + a_bytes;
}

// Guards a call of an object that one thread at a time may use. A second thread is reported, and waits, so that it
// cannot break the simulator.
class Entry {
 public:
  Entry(std::mutex& mutex, const std::string& what, const char* object) : lock_(mutex, std::try_to_lock) {
    if (lock_.owns_lock()) return;
    violation(what + " while another thread uses the same " + object + ": one thread at a time");
    lock_.lock();
  }

 private:
  std::unique_lock<std::mutex> lock_;
};

// A number of the calling thread, from 1. Unlike the system's thread ids it is never reused.
uint64_t thread_serial() {
  static std::atomic<uint64_t> num_threads = 0;
  thread_local const uint64_t serial = ++num_threads;
  return serial;
}

// What the stream's thread needs.
struct Launch {
  std::function<int(Addresses)> kernel;
  // The index in `ranges` of each input and output; -1 for those that stay on the host.
  std::vector<int> positions;
  // The outputs' descriptions. Their positions are the last ones.
  std::vector<TensorDesc> outputs;
  int workspace_position = -1;
  uint64_t workspace_bytes = 0;
  bool saturates = true;
  std::shared_ptr<std::atomic<int>> num_queued;
};

int run_launch(void* argument, void* const* host_addresses, int saturates) {
  const auto& launch = *static_cast<const Launch*>(argument);
  std::vector<void*> addresses;
  for (const int position : launch.positions) addresses.push_back(position < 0 ? nullptr : host_addresses[position]);
  if (launch.workspace_position >= 0)
    std::memset(host_addresses[launch.workspace_position], kScribble, std::min(launch.workspace_bytes, kMaxScribbled));
  const int code = launch.kernel(addresses.data());
  const size_t first_output = addresses.size() - launch.outputs.size();
  for (size_t i = 0; saturates != 0 && launch.saturates && i < launch.outputs.size(); ++i) {
    const TensorDesc& output = launch.outputs[i];
    saturate(output.dtype, num_elements(output.shape), addresses[first_output + i]);
  }
  return code;
}

void release_launch(void* argument) {
  auto* const launch = static_cast<Launch*>(argument);
  --*launch->num_queued;
  delete launch;
}

}  // namespace

OperationBase::OperationBase(std::string name, uint32_t num_inputs, uint32_t num_outputs, std::vector<Types> types)
    : name_(std::move(name)), num_inputs_(num_inputs), num_outputs_(num_outputs), types_(std::move(types)) {
  ascend_sim_kernel_track(static_cast<atb::Operation*>(this), ("operation of ATB: " + name_).c_str());
}

OperationBase::~OperationBase() {
  if (*num_queued_ > 0)
    violation("DestroyOperation of a " + name_ + " whose kernel is queued or running: synchronise first");
  bind(nullptr);
  if (runner_pool_ != nullptr) runner_pool_->give_back(runner_);
  ascend_sim_kernel_untrack(static_cast<atb::Operation*>(this));
}

void OperationBase::bind(ContextObject* context) {
  if (context_state_) --context_state_->num_operations;
  context_ = context;
  context_state_ = context == nullptr ? nullptr : context->state();
  if (context_state_) ++context_state_->num_operations;
}

void OperationBase::take_runner() {
  if (!has_pooled_runner() || runner_pool_ != nullptr) return;
  runner_context_ = context_state_;
  runner_pool_ = &runner_context_->runner_pools[name_];
  uint64_t before = 0;
  runner_ = runner_pool_->take(thread_serial(), before);
  if (before != 0 && before != thread_serial())
    violation("Setup of a " + name_ + " with a pooled runner of another thread, whose cache of kernels it keeps: the " +
              name_ + " that had it was destroyed before its context");
}

Status OperationBase::refuse_unchecked(Status code, const std::string& reason) const {
  violation(name_ + ": " + reason + " (hardware does not check it)");
  return refuse(code, reason);
}

Status OperationBase::check_outputs(const Descs& /*inputs*/, const Descs& /*outputs*/) const { return atb::NO_ERROR; }

Status OperationBase::check_output_shape(const Descs& inputs, const Descs& outputs, Status code) const {
  Descs inferred;
  inferred.resize(num_outputs_);
  (void)infer(inputs, inferred);
  if (same_shape(inferred[0].shape, outputs[0].shape)) return atb::NO_ERROR;
  return refuse(code, "the output has the shape " + text_of(outputs[0].shape) + ", not " + text_of(inferred[0].shape));
}

// ---- checks of all operations ---------------------------------------------------------------------------------------

Status OperationBase::check_shapes(const Descs& descs) const {
  for (const TensorDesc& desc : descs) {
    if (desc.shape.dimNum < 1 || desc.shape.dimNum > atb::MAX_DIM)
      return refuse(atb::ERROR_INVALID_TENSOR_DIM, "a tensor has " + std::to_string(desc.shape.dimNum) + " dimensions");
    const uint64_t bytes = atb::Utils::GetTensorSize(desc);
    if (bytes == 0 || bytes > kMaxTensorBytes)
      return refuse(atb::ERROR_INVALID_TENSOR_SIZE, "a tensor of shape " + text_of(desc.shape) + " has " +
                                                        std::to_string(bytes) + " bytes, not 1 to 256 GiB");
  }
  return atb::NO_ERROR;
}

bool OperationBase::has_row(const Descs& inputs, const Descs* outputs) const {
  const auto matches = [](const TensorDesc& desc, aclDataType dtype) {
    return desc.dtype == dtype && desc.format == ACL_FORMAT_ND;
  };
  if (types_.empty()) return true;
  for (const Types& row : types_) {
    bool is_match = true;
    for (size_t i = 0; i < num_inputs_; ++i) is_match = is_match && matches(inputs[i], row[i]);
    for (size_t i = 0; outputs != nullptr && i < num_outputs_; ++i)
      is_match = is_match && matches((*outputs)[i], row[num_inputs_ + i]);
    if (is_match) return true;
  }
  return false;
}

Status OperationBase::InferShape(const SVector<TensorDesc>& inputs, SVector<TensorDesc>& outputs) const {
  try {
    if (inputs.size() != num_inputs_)
      return refuse(atb::ERROR_INVALID_IN_TENSOR_NUM, std::to_string(inputs.size()) + " inputs");
    if (const Status code = check_shapes(inputs)) return code;
    if (!has_row(inputs, nullptr)) return refuse(atb::ERROR_INVALID_TENSOR_INI_MATCH, "types that do not go together");
    if (chip() == Chip::Inference310P && uses_bf16(inputs))
      return refuse(atb::ERROR_INVALID_TENSOR_DTYPE, "bf16 on a 310P");
    if (const Status code = check_inputs(inputs)) return code;
    outputs.reserve(num_outputs_);
    outputs.resize(num_outputs_);
    return infer(inputs, outputs);
  } catch (const std::exception& error) {
    return refuse(atb::ERROR_OUT_OF_HOST_MEMORY, error.what());
  }
}

Status OperationBase::check_setup(const atb::VariantPack& pack) const {
  if (pack.inTensors.size() != num_inputs_ || pack.outTensors.size() != num_outputs_)
    return refuse(atb::ERROR_INVALID_IN_TENSOR_NUM,
                  std::to_string(pack.inTensors.size()) + " inputs and " + std::to_string(pack.outTensors.size()) +
                      " outputs, not " + std::to_string(num_inputs_) + " and " + std::to_string(num_outputs_));
  const Descs inputs = descs_of(pack.inTensors);
  const Descs outputs = descs_of(pack.outTensors);
  if (const Status code = check_shapes(inputs)) return code;
  if (const Status code = check_shapes(outputs)) return code;
  if (!has_row(inputs, &outputs)) return refuse(atb::ERROR_INVALID_TENSOR_INI_MATCH, "types that do not go together");
  if (chip() == Chip::Inference310P && (uses_bf16(inputs) || uses_bf16(outputs)))
    return refuse(atb::ERROR_INVALID_TENSOR_DTYPE, "bf16 on a 310P");
  if (const Status code = check_inputs(inputs)) return code;
  if (const Status code = check_outputs(inputs, outputs)) return code;

  // The kernel's own shape inference finds what the operation has not refused with a code of its own.
  Descs inferred;
  inferred.resize(num_outputs_);
  if (infer(inputs, inferred) != atb::NO_ERROR) return refuse(atb::ERROR_RT_FAIL, "the kernel refuses the shapes");
  for (size_t i = 0; i < num_outputs_; ++i) {
    if (!same_shape(inferred[i].shape, outputs[i].shape) || inferred[i].dtype != outputs[i].dtype)
      return refuse(atb::ERROR_RT_FAIL, "an output has the shape " + text_of(outputs[i].shape) + ", not " +
                                            text_of(inferred[i].shape) + ", or another type");
  }
  return atb::NO_ERROR;
}

// ---- Setup ----------------------------------------------------------------------------------------------------------

Status OperationBase::Setup(const atb::VariantPack& pack, uint64_t& workspace_size, atb::Context* context) {
  if (context == nullptr) return refuse(atb::ERROR_INVALID_PARAM, "context is null");
  const Entry entry(entry_, "Setup of a " + name_, "operation");
  if (setup_thread_ == 0) setup_thread_ = thread_serial();
  if (setup_thread_ != thread_serial())
    violation("Setup of a " + name_ + " in another thread than its first Setup, whose cache of kernels it keeps");
  int code = 0;
  if (ascend_sim_kernel_fault("throw", &code) != 0) throw std::bad_alloc();
  if (ascend_sim_kernel_fault("setup", &code) != 0) {
    is_set_up_ = false;
    return refuse(code, "a fault that the test asked for");
  }
  is_set_up_ = false;
  try {
    if (const Status status = set_up(pack, workspace_size, context)) return status;
  } catch (const std::exception& error) {
    return refuse(atb::ERROR_OUT_OF_HOST_MEMORY, error.what());
  }
  is_set_up_ = true;
  ascend_sim_kernel_count("setup", name_.c_str());
  return atb::NO_ERROR;
}

Status OperationBase::set_up(const atb::VariantPack& pack, uint64_t& workspace_size, atb::Context* context) {
  if (const Status code = check_setup(pack)) return code;
  auto* const object = dynamic_cast<ContextObject*>(context);
  if (object == nullptr) return refuse(atb::ERROR_INVALID_PARAM, "context is not of CreateContext");
  const Entry entry(object->state()->entry, "Setup of a " + name_, "atb::Context");
  ascend_sim_kernel_delay();
  workspace_size = 0;
  Plan plan;
  if (const Status code = this->plan(pack, plan)) return code;
  bind(object);
  take_runner();
  plan_ = std::move(plan);
  input_descs_.clear();
  output_descs_.clear();
  for (const Tensor& tensor : pack.inTensors) input_descs_.push_back(tensor.desc);
  for (const Tensor& tensor : pack.outTensors) output_descs_.push_back(tensor.desc);
  workspace_size = plan_.workspace_bytes;
  return atb::NO_ERROR;
}

// ---- Execute --------------------------------------------------------------------------------------------------------

Status OperationBase::check_execute(const atb::VariantPack& pack, const uint8_t* workspace, uint64_t workspace_size,
                                    const atb::Context* context) const {
  if (!is_set_up_) return refuse(atb::ERROR_INVALID_PARAM, "Execute without a Setup that succeeded");
  if (!context_state_->is_alive) {
    violation("Execute of a " + name_ + " after DestroyContext of the context of its Setup");
    return atb::ERROR_INVALID_PARAM;
  }
  if (context_->GetExecuteStream() == nullptr) return refuse(atb::ERROR_INVALID_PARAM, "the context has no stream");
  if (context != context_) return refuse(atb::ERROR_INVALID_PARAM, "another context than in Setup");
  if (workspace_size < plan_.workspace_bytes)
    return refuse(atb::ERROR_INVALID_PARAM, "a workspace of " + std::to_string(workspace_size) + " bytes, below " +
                                                std::to_string(plan_.workspace_bytes));
  if (plan_.workspace_bytes > 0 && workspace == nullptr) return refuse(atb::ERROR_INVALID_PARAM, "workspace is null");
  if (pack.inTensors.size() != input_descs_.size() || pack.outTensors.size() != output_descs_.size())
    return refuse(atb::ERROR_INVALID_PARAM, "another number of tensors than in Setup");
  const auto check = [this](const Tensor& tensor, const TensorDesc& desc) {
    if (tensor.dataSize != atb::Utils::GetTensorSize(desc))
      return refuse(atb::ERROR_INVALID_PARAM, "dataSize is " + std::to_string(tensor.dataSize) + ", but " +
                                                  std::to_string(atb::Utils::GetTensorSize(desc)) + " in Setup");
    if (tensor.deviceData == nullptr && tensor.hostData == nullptr)
      return refuse(atb::ERROR_INVALID_PARAM, "a tensor without data");
    // Execute uses the descriptions of Setup. Another description here is a mistake.
    if (!same_shape(tensor.desc.shape, desc.shape) || tensor.desc.dtype != desc.dtype)
      violation("Execute of a " + name_ + " with a tensor of shape " + text_of(tensor.desc.shape) +
                " or another type, but Setup was for " + text_of(desc.shape));
    return Status{atb::NO_ERROR};
  };
  for (size_t i = 0; i < input_descs_.size(); ++i) {
    if (const Status code = check(pack.inTensors[i], input_descs_[i])) return code;
  }
  for (size_t i = 0; i < output_descs_.size(); ++i) {
    if (const Status code = check(pack.outTensors[i], output_descs_[i])) return code;
  }
  return atb::NO_ERROR;
}

void OperationBase::report_overlaps(const atb::VariantPack& pack, const uint8_t* workspace) const {
  for (size_t i = 0; i < pack.outTensors.size(); ++i) {
    const Tensor& output = pack.outTensors[i];
    for (size_t j = 0; j < pack.inTensors.size(); ++j) {
      const Tensor& input = pack.inTensors[j];
      if (!overlap(output.deviceData, output.dataSize, input.deviceData, input.dataSize)) continue;
      const bool is_same = output.deviceData == input.deviceData && output.dataSize == input.dataSize;
      if (!is_same || !may_share(i, j)) violation(name_ + ": an output overlaps an input");
    }
    if (overlap(output.deviceData, output.dataSize, workspace, plan_.workspace_bytes))
      violation(name_ + ": an output overlaps the workspace");
  }
  for (const Tensor& input : pack.inTensors) {
    if (overlap(input.deviceData, input.dataSize, workspace, plan_.workspace_bytes))
      violation(name_ + ": an input overlaps the workspace");
  }
}

Status OperationBase::launch(const atb::VariantPack& pack, uint8_t* workspace) {
  auto launch = std::make_unique<Launch>();
  launch->kernel = plan_.kernel;
  launch->saturates = plan_.saturates;
  launch->outputs = output_descs_;
  std::vector<AscendSimKernelRange> ranges;
  std::vector<std::string> names;
  names.reserve(pack.inTensors.size() + pack.outTensors.size());
  const auto add = [&](const Tensor& tensor, const char* side, size_t i, bool writes) {
    names.push_back(side + std::to_string(i));
    launch->positions.push_back(static_cast<int>(ranges.size()));
    ranges.push_back({names.back().c_str(), tensor.deviceData, tensor.dataSize, writes ? 1 : 0});
  };
  for (size_t i = 0; i < pack.inTensors.size(); ++i) {
    bool is_host = false;
    for (const size_t host_input : plan_.host_inputs) is_host = is_host || host_input == i;
    if (is_host)
      launch->positions.push_back(-1);
    else
      add(pack.inTensors[i], "input ", i, false);
  }
  for (size_t i = 0; i < pack.outTensors.size(); ++i) add(pack.outTensors[i], "output ", i, true);
  if (plan_.workspace_bytes > 0) {
    launch->workspace_position = static_cast<int>(ranges.size());
    launch->workspace_bytes = plan_.workspace_bytes;
    ranges.push_back({"the workspace", workspace, plan_.workspace_bytes, 1});
  }
  launch->num_queued = num_queued_;
  ++*num_queued_;
  const AscendSimKernel kernel = {name_.c_str(), ranges.data(),  ranges.size(),
                                  run_launch,    release_launch, launch.release()};
  const aclError error = ascend_sim_kernel_launch(context_->GetExecuteStream(), &kernel);
  if (error == ACL_SUCCESS) return atb::NO_ERROR;
  return refuse(atb::ERROR_RT_FAIL, "AscendCL answers " + std::to_string(error));
}

Status OperationBase::Execute(const atb::VariantPack& pack, uint8_t* workspace, uint64_t workspace_size,
                              atb::Context* context) {
  if (context == nullptr) return refuse(atb::ERROR_INVALID_PARAM, "context is null");
  const Entry entry(entry_, "Execute of a " + name_, "operation");
  int code = 0;
  if (ascend_sim_kernel_fault("execute", &code) != 0) return refuse(code, "a fault that the test asked for");
  if (const Status status = check_execute(pack, workspace, workspace_size, context)) return status;
  if (!plan_.tiling_refusal.empty()) return refuse(atb::ERROR_INVALID_PARAM, plan_.tiling_refusal);
  const std::shared_ptr<ContextState> state = context_state_;
  const Entry context_entry(state->entry, "Execute of a " + name_, "atb::Context");
  const aclrtStream stream = context_->GetExecuteStream();
  void* const entered = ascend_sim_kernel_enter_stream(stream, ("Execute of a " + name_).c_str());
  ascend_sim_kernel_delay();
  report_overlaps(pack, workspace);
  const Status status = launch(pack, workspace);
  ascend_sim_kernel_leave_stream(entered);
  if (status == atb::NO_ERROR) ascend_sim_kernel_count("execute", name_.c_str());
  return status;
}

// ---- creation -------------------------------------------------------------------------------------------------------

namespace {

bool is_set(const char* variable) {
  const char* const value = std::getenv(variable);
  return value != nullptr && *value != '\0';
}

// The vendor's library finds its kernels, and a library that Elewise needs, through the first variable, and its tables of
// types through the second. Without that one it does not check types: a violation.
Status check_installation(const char* name) {
  if (!is_set("ASCEND_HOME_PATH")) return refuse(atb::ERROR_INVALID_PARAM, name, "ASCEND_HOME_PATH is not set");
  if (is_set("ATB_HOME_PATH")) return atb::NO_ERROR;
  violation(std::string(name) + ": ATB_HOME_PATH is not set, so types would not be checked");
  return refuse(atb::ERROR_INVALID_PARAM, name, "ATB_HOME_PATH is not set");
}

}  // namespace

Status create_operation(atb::Operation** operation, const char* name, const std::function<Status()>& check,
                        const std::function<OperationBase*()>& make) {
  if (operation == nullptr) return refuse(atb::ERROR_INVALID_PARAM, name, "operation is null");
  if (const Status status = check_installation(name)) return status;
  int code = 0;
  if (ascend_sim_kernel_fault("create_operation", &code) != 0)
    return refuse(code, name, "a fault that the test asked for");
  if (const Status status = check()) return status;
  try {
    *operation = make();
  } catch (const std::bad_alloc&) {
    return refuse(atb::ERROR_OUT_OF_HOST_MEMORY, name, "no memory");
  }
  ascend_sim_kernel_count("create_operation", name);
  return atb::NO_ERROR;
}

// ---- shapes ---------------------------------------------------------------------------------------------------------

bool same_shape(const Dims& a, const Dims& b) {
  if (a.dimNum != b.dimNum) return false;
  for (uint64_t i = 0; i < a.dimNum; ++i) {
    if (a.dims[i] != b.dims[i]) return false;
  }
  return true;
}

std::string text_of(const Dims& shape) {
  std::string text = "(";
  for (uint64_t i = 0; i < shape.dimNum && i < atb::MAX_DIM; ++i)
    text += (i == 0 ? "" : ", ") + std::to_string(shape.dims[i]);
  return text + ")";
}

size_t product(const Dims& shape, uint64_t begin, uint64_t end) {
  size_t product = 1;
  for (uint64_t i = begin; i < end; ++i) product *= static_cast<size_t>(shape.dims[i]);
  return product;
}

}  // namespace ascend_sim::atb_library

namespace atb {

Status DestroyOperation(Operation* operation) {
  delete operation;
  return NO_ERROR;
}

}  // namespace atb
