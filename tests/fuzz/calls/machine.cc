// SPDX-License-Identifier: Apache-2.0
#include "fuzz/calls/machine.h"

#include <cstdlib>
#include <iterator>
#include <string>
#include <utility>

#include "fuzz/calls/checks.h"

namespace heed::fuzz {
namespace {

// Enough for every kind of object to be used with every other. Longer programs only take more time.
constexpr int kMaxOperations = 200;

}  // namespace

HostMemory::~HostMemory() { require(sizes_.empty(), "every byte is given back to the host"); }

heed_allocator HostMemory::allocator() {
  heed_allocator allocator = HEED_ALLOCATOR_INIT;
  allocator.user = this;
  allocator.allocate = [](void* user, size_t num_bytes, size_t alignment) -> void* {
    require(num_bytes > 0 && alignment > 0 && (alignment & (alignment - 1)) == 0, "the host is asked for memory");
    void* memory = nullptr;
    if (posix_memalign(&memory, alignment, num_bytes) != 0) return nullptr;
    static_cast<HostMemory*>(user)->sizes_[memory] = num_bytes;
    return memory;
  };
  allocator.release = [](void* user, void* memory, size_t num_bytes) {
    auto& sizes = static_cast<HostMemory*>(user)->sizes_;
    const auto at = sizes.find(memory);
    require(at != sizes.end() && at->second == num_bytes, "memory is given back once, with its size");
    sizes.erase(at);
    std::free(memory);
  };
  return allocator;
}

// Operations that programs need more often are listed several times.
Machine::Operation Machine::operation(uint8_t byte) {
  using M = Machine;
  static constexpr Operation kAll[] = {
      &M::create_context,    &M::describe_context,
      &M::create_workspace,  &M::wrap_workspace,
      &M::destroy_one,       &M::ask_about_nothing,
      &M::create_tensor,     &M::wrap_tensor,
      &M::view_tensor,       &M::reshape_tensor,
      &M::transpose_tensor,  &M::slice_tensor,
      &M::write_tensor,      &M::read_tensor,
      &M::fill_tensor,       &M::copy_tensor,
      &M::fill_with_numbers, &M::multiply_matrices,
      &M::take_softmax,      &M::create_dot_product,
      &M::create_multi_head, &M::call_layer_of_one_input,
      &M::create_additive,   &M::initialize,
      &M::initialize,        &M::set_parameter,
      &M::take_parameter,    &M::save_and_load,
      &M::ask_about_shapes,  &M::call_layer,
      &M::call_layer,        &M::exchange_tensor,
  };
  // Those of the last bytes: so the other bytes choose what they chose when the corpus was made.
  static constexpr uint8_t kFirstOfLast = 0xF0;
  static constexpr Operation kLast[] = {
      &M::call_packed_layer, &M::compute_arrays,    &M::compute_arrays,   &M::call_packed_layer,
      &M::create_general,    &M::create_general,    &M::compute_arrays,   &M::call_packed_layer,
      &M::encode_positions,  &M::call_packed_layer, &M::encode_positions, &M::call_block,
      &M::encode_positions,  &M::call_block,        &M::encode_positions, &M::call_block,
  };
  return byte >= kFirstOfLast ? kLast[byte - kFirstOfLast] : kAll[byte % std::size(kAll)];
}

Machine::Machine(Bytes bytes) : bytes_(bytes) {
  capi_test::forget_last_error();
  // Every program has at least one context.
  heed_context* context = nullptr;
  require(succeeded(heed_context_create(nullptr, &context)), "a context can be made");
  contexts_.add({Context(context)}, bytes_);
}

Machine::~Machine() {
  // Contexts first: objects of a destroyed context must still work.
  contexts_.clear();
  layers_.clear();
  workspaces_.clear();
  tensors_.clear();
  for (const auto& lent : lent_) require(lent->num_releases == 1, "memory is given back once");
}

void Machine::run() {
  for (int i = 0; i < kMaxOperations && !bytes_.is_empty(); ++i) (this->*operation(bytes_.next()))();
}

void Machine::create_context() {
  heed_context_options options = HEED_CONTEXT_OPTIONS_INIT;
  auto host_memory = std::make_unique<HostMemory>();
  heed_allocator allocator = host_memory->allocator();
  const heed_logger logger = {sizeof logger, require_one_line, nullptr};
  options.num_threads = static_cast<int32_t>(bytes_.size());
  options.strict = bytes_.enumerator(1);
  options.allow_reduced_precision = bytes_.enumerator(1);
  if (bytes_.rarely()) options.device = bytes_.enumerator(1);
  if (bytes_.rarely()) options.device_index = static_cast<int32_t>(bytes_.size());
  // Never 1, since the machine checks products to their last subnormal bit.
  if (bytes_.rarely()) options.flush_subnormals = 2 * bytes_.next();
  if (bytes_.flag()) {
    options.allocator = &allocator;
    if (bytes_.rarely()) allocator.release = nullptr;
  }
  if (bytes_.flag()) options.logger = &logger;
  const Passed passed(options, bytes_);
  heed_context* made = made_by(&capi_test::OutParameters::context,
                               [&](heed_context** out) { return heed_context_create(passed.get(), out); });
  if (made == nullptr) return;
  require(options.allocator == nullptr || allocator.release != nullptr, "half an allocator is refused");
  host_memory_.push_back(std::move(host_memory));
  contexts_.add({Context(made)}, bytes_);
}

void Machine::describe_context() {
  const heed_context* context = handle_of(contexts_.pick(bytes_));
  const auto described =
      text_of([&](char* text, size_t capacity,
                  size_t* num_bytes) { return heed_context_describe(context, text, capacity, num_bytes); },
              bytes_);
  require(described.has_value() == (context != nullptr), "a context can be described");
  require(succeeded(heed_context_synchronize(const_cast<heed_context*>(context))) == (context != nullptr),
          "a context can be waited for");
  require(succeeded(heed_context_trim(const_cast<heed_context*>(context))) == (context != nullptr),
          "a context can be trimmed");
}

void Machine::create_workspace() {
  heed_context* context = handle_of(contexts_.pick(bytes_));
  const auto num_bytes = static_cast<size_t>(bytes_.rarely() ? bytes_.size() : int64_t{16} * bytes_.next());
  heed_workspace* made = made_by(&capi_test::OutParameters::workspace,
                                 [&](heed_workspace** out) { return heed_workspace_create(context, num_bytes, out); });
  if (made == nullptr) return;
  require(heed_workspace_num_bytes(made) == num_bytes, "a workspace has the size that was asked for");
  workspaces_.add({nullptr, Workspace(made)}, bytes_);
}

void Machine::wrap_workspace() {
  heed_context* context = handle_of(contexts_.pick(bytes_));
  const size_t skipped = static_cast<size_t>(bytes_.below(8));  // any alignment must work
  const size_t num_bytes = size_t{16} * bytes_.next();
  WorkspaceEntry entry = {std::make_unique<uint8_t[]>(skipped + num_bytes), nullptr};
  uint8_t* memory = bytes_.rarely() ? nullptr : entry.memory.get() + skipped;
  heed_workspace* made = made_by(&capi_test::OutParameters::workspace, [&](heed_workspace** out) {
    return heed_workspace_wrap(context, memory, num_bytes, out);
  });
  if (made == nullptr) return;
  entry.handle.reset(made);
  workspaces_.add(std::move(entry), bytes_);
}

void Machine::destroy_one() {
  switch (bytes_.below(5)) {
    case 0: return contexts_.remove(bytes_);
    case 1: return layers_.remove(bytes_);
    case 2: return workspaces_.remove(bytes_);
    default: return tensors_.remove(bytes_);
  }
}

void Machine::ask_about_nothing() {
  heed_context_destroy(nullptr);
  heed_tensor_destroy(nullptr);
  heed_layer_destroy(nullptr);
  heed_workspace_destroy(nullptr);
  const auto any = static_cast<int32_t>(bytes_.size());
  require(std::string(heed_status_name(static_cast<heed_status>(any))).substr(0, 5) == "HEED_",
          "any status has a name");
  const int32_t count = heed_device_count(static_cast<heed_device>(any));
  require(count == (any == HEED_DEVICE_CPU ? 1 : 0), "there is one CPU and nothing else");
  capi_test::forget_last_error();
}

heed_dtype Machine::dtype() { return static_cast<heed_dtype>(bytes_.enumerator(HEED_BOOL)); }

heed_dtype Machine::float_dtype() { return static_cast<heed_dtype>(bytes_.below(3)); }

}  // namespace heed::fuzz
