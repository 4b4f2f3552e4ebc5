// SPDX-License-Identifier: Apache-2.0
// Runs a byte string as a program of C API calls: each byte chooses an operation, an object or an argument. The
// expected result of each call is computed without heed and compared. A wrong call must be refused with a message, and
// change nothing.
#pragma once

#include <heed/heed.h>

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "fuzz/calls/elements.h"
#include "fuzz/support/bytes.h"
#include "property/support/call.h"
#include "property/support/handles.h"

namespace heed::fuzz {

using property::Context;
using property::HostTensor;
using property::Layer;
using property::Tensor;
using property::Workspace;

// Memory of the program for tensors. It is freed when heed releases it, so that a sanitizer finds later accesses.
struct Lent {
  std::vector<uint8_t> bytes;
  int num_releases = 0;

  static void release(void* user, void*) {
    auto* lent = static_cast<Lent*>(user);
    ++lent->num_releases;
    lent->bytes = {};
  }
};

// The allocator of one context. It reports memory that is released with a wrong size, or never.
class HostMemory {
 public:
  ~HostMemory();
  heed_allocator allocator();

 private:
  std::map<void*, size_t> sizes_;
};

struct ContextEntry {
  Context handle;
};

struct TensorEntry {
  Tensor handle;
  TensorModel model;
};

struct LayerEntry {
  Layer handle;
  property::Kind kind = property::Kind::DotProductRank3;  // also stands for rank 4
  // As for the reference. Other kinds use the members that their own options have, too; the query_size of a general
  // score is num_hiddens here.
  heed_multi_head_attention_options options = HEED_MULTI_HEAD_ATTENTION_OPTIONS_INIT;
  // Made with options that the reference is not given: results are compared with each other only.
  bool has_positions = false;
};

struct WorkspaceEntry {
  std::unique_ptr<uint8_t[]> memory;  // the caller's memory, or NULL; freed after the handle is destroyed
  Workspace handle;
};

// The objects of one kind. A full pool replaces an old object by a new one.
template <typename Entry>
class Pool {
 public:
  void add(Entry entry, Bytes& bytes) {
    if (entries_.size() == kCapacity) remove(bytes);
    entries_.push_back(std::move(entry));
  }

  // The newest object unless the program chooses another; rarely none, which stands for a NULL handle.
  Entry* pick(Bytes& bytes) {
    const uint8_t byte = bytes.next();
    if (entries_.empty() || byte >= 0xFA) return nullptr;
    return &entries_[entries_.size() - 1 - byte % entries_.size()];
  }

  void remove(Bytes& bytes) {
    if (entries_.empty()) return;
    std::swap(entries_[static_cast<size_t>(bytes.below(kCapacity)) % entries_.size()], entries_.back());
    entries_.pop_back();
  }

  void clear() { entries_.clear(); }

 private:
  static constexpr size_t kCapacity = 12;
  std::vector<Entry> entries_;
};

template <typename Entry>
auto* handle_of(const Entry* entry) {
  return entry == nullptr ? nullptr : entry->handle.get();
}

class CallTensors;

class Machine {
 public:
  explicit Machine(Bytes bytes);
  ~Machine();
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;

  void run();

 private:
  using Operation = void (Machine::*)();
  static Operation operation(uint8_t byte);

  // In machine.cc:
  void create_context();
  void describe_context();
  void create_workspace();
  void wrap_workspace();
  void destroy_one();
  void ask_about_nothing();

  // In tensors.cc:
  void create_tensor();
  void wrap_tensor();
  void view_tensor();
  void reshape_tensor();
  void transpose_tensor();
  void slice_tensor();
  void write_tensor();
  void read_tensor();
  void fill_tensor();
  void copy_tensor();
  void fill_with_numbers();
  void multiply_matrices();
  void take_softmax();
  void compute_arrays();

  // In exchange.cc:
  void exchange_tensor();

  // In layers.cc:
  void create_dot_product();
  void create_additive();
  void create_general();
  void create_multi_head();
  void initialize();
  void set_parameter();
  void take_parameter();
  void save_and_load();

  // In one_input.cc:
  void call_layer_of_one_input();
  void encode_positions();

  // In blocks.cc:
  void call_block();

  // In positions.cc:
  void call_packed_layer();

  // In calls.cc:
  void call_layer();
  void ask_about_shapes();
  void choose_inputs(property::Call& call, heed_layer_inputs& inputs, heed_sequence_inputs& sequences,
                     CallTensors& tensors);
  void replace_an_input(property::Call& call, heed_layer_inputs& inputs);
  bool choose_outputs(const LayerEntry& layer, const property::Call& call, const heed_layer_inputs& inputs, bool fits,
                      heed_layer_outputs& outputs, CallTensors& tensors);

  // Takes a tensor that a call returned, if any, and compares everything that heed reports about it with the model.
  void add_tensor(heed_tensor* made, TensorModel model);

  heed_dtype dtype();
  heed_dtype float_dtype();
  Dims dims();
  Dims strides(size_t rank);
  property::Input random_input(const Dims& dims, heed_dtype dtype);

  Bytes bytes_;
  // Declared before the objects, so that it is destroyed after them.
  std::vector<std::unique_ptr<Lent>> lent_;
  std::vector<std::unique_ptr<HostMemory>> host_memory_;
  Pool<ContextEntry> contexts_;
  Pool<TensorEntry> tensors_;
  Pool<LayerEntry> layers_;
  Pool<WorkspaceEntry> workspaces_;
};

}  // namespace heed::fuzz
