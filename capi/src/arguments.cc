// SPDX-License-Identifier: Apache-2.0
#include "arguments.h"

#include <algorithm>
#include <cinttypes>

namespace heed::capi {

namespace {

#define HEED_CHECK(name, upper, word, flops) \
  static_assert(HEED_ACTIVATION_##upper == static_cast<int>(Activation::name));
HEED_ACTIVATIONS(HEED_CHECK)
#undef HEED_CHECK

// The compiler refuses an enumerator of heed.h without a row in the list.
constexpr bool has_row(decltype(HEED_ACTIVATION_RELU) activation) {
  switch (activation) {
#define HEED_CASE(name, upper, word, flops) case HEED_ACTIVATION_##upper:
    HEED_ACTIVATIONS(HEED_CASE)
#undef HEED_CASE
    return true;
  }
  return false;
}
static_assert(has_row(HEED_ACTIVATION_RELU));

// Each activation with its number, as "HEED_ACTIVATION_RELU (0)".
std::string activation_names() {
  std::string names;
  for (int32_t i = 0; i < kNumActivations; ++i) {
    if (i > 0) names += i + 1 < kNumActivations ? ", " : " or ";
    names += std::string(kActivations[i].constant) + " (" + std::to_string(i) + ")";
  }
  return names;
}

}  // namespace

Activation read_activation(int32_t activation, const char* name) {
  if (activation < 0 || activation >= kNumActivations)
    fail(Status::InvalidArgument, "%s is %d, expected %s", name, activation, activation_names().c_str());
  return static_cast<Activation>(activation);
}

static_assert(HEED_ROPE_HALF == static_cast<int>(RotaryLayout::Half) &&
              HEED_ROPE_INTERLEAVED == static_cast<int>(RotaryLayout::Interleaved));

RotaryLayout read_rotary_layout(int32_t layout, const char* name) {
  if (layout != HEED_ROPE_HALF && layout != HEED_ROPE_INTERLEAVED) {
    fail(Status::InvalidArgument,
         "%s is %d, expected " CONSTANT("HEED_ROPE_HALF") " (1) or " CONSTANT(
             "HEED_ROPE_INTERLEAVED") " (2): which elements make a pair, as the weights were trained",
         name, layout);
  }
  return static_cast<RotaryLayout>(layout);
}

DType read_dtype(heed_dtype dtype) {
  switch (dtype) {
    case HEED_F32: return DType::F32;
    case HEED_F16: return DType::F16;
    case HEED_BF16: return DType::BF16;
    case HEED_F64: return DType::F64;
    case HEED_I32: return DType::I32;
    case HEED_I64: return DType::I64;
    case HEED_I8: return DType::I8;
    case HEED_U8: return DType::U8;
    case HEED_BOOL: return DType::Bool;
    case HEED_DTYPE_INVALID: break;
  }
  fail(Status::InvalidArgument,
       ARGUMENT("dtype") " is %d, expected one of " CONSTANT("HEED_F32") " (0) to " CONSTANT("HEED_BOOL") " (%d)",
       static_cast<int>(dtype), kNumDTypes - 1);
}

heed_dtype c_dtype(DType dtype) {
  switch (dtype) {
    case DType::F32: return HEED_F32;
    case DType::F16: return HEED_F16;
    case DType::BF16: return HEED_BF16;
    case DType::F64: return HEED_F64;
    case DType::I32: return HEED_I32;
    case DType::I64: return HEED_I64;
    case DType::I8: return HEED_I8;
    case DType::U8: return HEED_U8;
    case DType::Bool: break;
  }
  return HEED_BOOL;
}

Shape read_shape(int32_t rank, const int64_t* dims, bool allow_inferred) {
  if (rank < 0 || rank > kMaxRank)
    fail(Status::InvalidArgument, ARGUMENT("rank") " is %d, expected 0 to %d", rank, kMaxRank);
  if (rank > 0) require(dims, ARGUMENT("dims"));
  Shape shape;
  shape.rank = rank;
  for (int32_t axis = 0; axis < rank; ++axis) {
    if (dims[axis] < 0 && !allow_inferred)
      fail(Status::InvalidArgument, ARGUMENT("dims") "[%d] is %" PRId64 ", expected at least 0", axis, dims[axis]);
    shape[axis] = dims[axis];
  }
  return shape;
}

const Dims* read_strides(const Shape& shape, const int64_t* strides, Dims& storage) {
  if (strides == nullptr) return nullptr;
  std::copy_n(strides, shape.rank, storage.begin());
  return &storage;
}

void write_text(const std::string& result, char* text, size_t capacity, size_t* num_bytes) {
  if (text == nullptr && num_bytes == nullptr)
    fail(Status::InvalidArgument, "text and num_bytes are both " WORD("NULL") ", expected at least one of them");
  if (text != nullptr) {
    if (capacity == 0)
      fail(Status::InvalidArgument, "capacity is 0, expected room for at least the terminating zero of text");
    const size_t length = std::min(result.size(), capacity - 1);
    std::memcpy(text, result.data(), length);
    text[length] = '\0';
  }
  if (num_bytes != nullptr) *num_bytes = result.size() + 1;
}

}  // namespace heed::capi
