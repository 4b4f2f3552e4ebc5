// SPDX-License-Identifier: Apache-2.0
// Tensors that are exported to DLPack and imported again: they have the same elements and are deleted once, or the
// import is refused and they stay the caller's.
#include <dlpack/dlpack.h>

#include <algorithm>

#include "fuzz/calls/checks.h"
#include "fuzz/calls/machine.h"

namespace heed::fuzz {
namespace {

// Makes a DLPack tensor invalid in a way that can be detected. Pointers to missing memory cannot be.
void spoil(DLTensor& tensor, Bytes& bytes) {
  switch (bytes.below(7)) {
    case 0: tensor.device.device_type = kDLCUDA; break;
    case 1: tensor.ndim = -1; break;
    case 2: tensor.ndim = 9; break;
    case 3: tensor.dtype.lanes = 2; break;
    case 4: tensor.dtype.bits = 7; break;
    case 5: tensor.dtype.code = kDLOpaqueHandle; break;
    default:
      if (tensor.ndim > 0) {
        tensor.shape[bytes.below(tensor.ndim)] = -1;
      } else {
        tensor.byte_offset = UINT64_MAX;
      }
  }
}

void require_exported(const DLTensor& exported, const TensorModel& model) {
  require(exported.device.device_type == kDLCPU && exported.device.device_id == 0, "memory is the processor's");
  require(exported.dtype.lanes == 1 && exported.dtype.bits == 8 * size_of(model.dtype), "an element is exported whole");
  require(exported.ndim == static_cast<int>(model.dims.size()), "an exported rank is the tensor's");
  require(exported.byte_offset == 0, "data is the first element");
  for (size_t axis = 0; axis < model.dims.size(); ++axis) {
    require(exported.shape[axis] == model.dims[axis], "an exported dim is the tensor's");
  }
  if (model.first != nullptr && small_product(model.dims) != 0) {
    require(exported.data == model.first, "what is exported is not copied");
  }
}

// The exported tensor is a copy: writing zeros to it must not change the snapshot.
void require_copied(const heed_tensor* snapshot, const TensorModel& copy) {
  if (!copy.can_be_read()) return;
  const std::vector<uint8_t> contents = copy.gather();
  std::vector<uint8_t> read(contents.size());
  require(succeeded(heed_tensor_read(snapshot, read.data(), read.size())), "a snapshot can be read");
  require(read == contents, "a copy has the snapshot's elements");
  std::fill_n(copy.first, contents.size(), uint8_t{0});
  require(succeeded(heed_tensor_read(snapshot, read.data(), read.size())), "a snapshot can be read again");
  require(read == contents, "a snapshot is exported as a copy");
  std::copy(contents.begin(), contents.end(), copy.first);
}

// A managed tensor that wraps heed's and counts its deletions.
struct Counted {
  DLManagedTensor managed{};
  DLManagedTensor* exported = nullptr;
  Lent* lent = nullptr;

  static void release(DLManagedTensor* managed) {
    auto* counted = static_cast<Counted*>(managed->manager_ctx);
    counted->exported->deleter(counted->exported);
    Lent::release(counted->lent, nullptr);
    delete counted;
  }
};

}  // namespace

void Machine::exchange_tensor() {
  const TensorEntry* entry = tensors_.pick(bytes_);
  heed_context* context = handle_of(contexts_.pick(bytes_));
  DLManagedTensor* exported = nullptr;
  if (!succeeded(heed_tensor_to_dlpack(handle_of(entry), &exported))) {
    require(exported == nullptr, "a call that failed left its out-parameter");
    // Snapshots are exported as copies; the copy of a view can be too large.
    require(entry == nullptr || entry->model.is_shape_only() || !entry->model.can_be_read(),
            "elements can be exported");
    return;
  }
  TensorModel model = entry->model;
  require(!model.is_shape_only(), "a shape cannot be exported");
  if (model.is_read_only) {
    model.is_read_only = false;
    model.strides = row_major(model.dims);
    model.first = static_cast<uint8_t*>(exported->dl_tensor.data);
    require_copied(handle_of(entry), model);
  }
  require_exported(exported->dl_tensor, model);

  auto lent = std::make_unique<Lent>();
  auto* counted = new Counted{*exported, exported, lent.get()};
  counted->managed.manager_ctx = counted;
  counted->managed.deleter = Counted::release;
  const bool is_spoiled = bytes_.rarely();
  if (is_spoiled) spoil(counted->managed.dl_tensor, bytes_);
  heed_tensor* made = made_by(&capi_test::OutParameters::tensor, [&](heed_tensor** out) {
    return heed_tensor_from_dlpack(context, &counted->managed, out);
  });
  require(lent->num_releases == 0, "what was exported is kept as long as it is used");
  if (made == nullptr) {
    require(is_spoiled || context == nullptr || !model.can_be_read(), "what was exported can be imported");
    Counted::release(&counted->managed);
  } else {
    require(!is_spoiled && context != nullptr, "what is no tensor is refused");
  }
  lent_.push_back(std::move(lent));
  add_tensor(made, model);
}

}  // namespace heed::fuzz
