// SPDX-License-Identifier: Apache-2.0
// Tensors and views: what heed reports about them, and their elements, compared with addresses that are computed here.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>

#include "fuzz/calls/checks.h"
#include "fuzz/calls/machine.h"

namespace heed::fuzz {
namespace {

// The numbers of elements before and after the first one that the strides reach; nothing if they are too far for a
// block of memory.
struct Extent {
  int64_t before = 0;
  int64_t behind = 0;
};

std::optional<Extent> extent_of(const Dims& dims, const Dims& strides) {
  const std::optional<int64_t> num_elements = small_product(dims);
  if (!num_elements) return std::nullopt;
  Extent extent;
  if (*num_elements == 0) return extent;
  for (size_t axis = 0; axis < dims.size(); ++axis) {
    if (dims[axis] == 1) continue;
    if (std::abs(std::max(strides[axis], -kMaxElements)) >= kMaxElements) return std::nullopt;
    const int64_t reach = (dims[axis] - 1) * strides[axis];
    (reach < 0 ? extent.before : extent.behind) += std::abs(reach);
  }
  if (extent.before + extent.behind > 4 * kMaxElements) return std::nullopt;
  return extent;
}

// The rank of the dims, rarely another number. `numbers` always has enough elements for any rank that is passed.
int32_t passed_rank(size_t rank, Bytes& bytes) {
  if (!bytes.rarely()) return static_cast<int32_t>(rank);
  constexpr int32_t kRanks[] = {-1, 9, 16, std::numeric_limits<int32_t>::max(), std::numeric_limits<int32_t>::min()};
  return kRanks[bytes.below(std::size(kRanks))];
}

std::array<int64_t, 20> as_array(const Dims& numbers) {
  std::array<int64_t, 20> array{};
  std::copy(numbers.begin(), numbers.end(), array.begin());
  return array;
}

bool are_the_same_numbers(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

// I64 numbers that f64 cannot represent are rounded once more here than in heed.
bool is_exact(double number) { return std::isnan(number) || std::abs(number) <= 0x1p53; }

}  // namespace

void Machine::add_tensor(heed_tensor* made, TensorModel model) {
  if (made == nullptr) return;
  Tensor tensor(made);
  require(heed_tensor_dtype(made) == model.dtype, "the dtype is the one that was asked for");
  require(heed_tensor_rank(made) == static_cast<int32_t>(model.dims.size()), "the rank follows the dims");
  const bool has_elements = small_product(model.dims) != 0;
  const auto rank = static_cast<int32_t>(model.dims.size());
  for (int32_t axis = 0; axis < rank; ++axis) {
    const auto at = static_cast<size_t>(axis);
    require(heed_tensor_dim(made, axis) == model.dims[at], "a dim is the one that was asked for");
    require(heed_tensor_dim(made, axis - rank) == model.dims[at], "negative axes count from the end");
    // The stride of an axis with fewer than two elements has no meaning, and the strides of large shapes are not
    // computed here.
    if (!has_elements || model.has_no_memory || !are_small(model.dims) || model.dims[at] == 1) continue;
    require(heed_tensor_stride(made, axis) == model.strides[at], "a stride leads to the next element");
  }
  require_result_or_error(heed_tensor_dim(made, rank) != -1, "heed_tensor_dim behind the last axis");
  require_result_or_error(heed_tensor_stride(made, -rank - 1) != -1, "heed_tensor_stride before the first axis");
  if (const auto num_elements = small_product(model.dims)) {
    require(heed_tensor_num_elements(made) == *num_elements, "num_elements is the product of the dims");
    require(heed_tensor_num_bytes(made) == static_cast<size_t>(*num_elements) * size_of(model.dtype),
            "num_bytes is that of the elements");
  }
  void* const data = heed_tensor_data(made);
  if (data == nullptr && !model.is_shape_only() && has_elements) {
    require(model.is_read_only, "only snapshots and shapes have no address");
  }
  if (model.is_read_only) require_result_or_error(data != nullptr, "heed_tensor_data");
  if (has_elements && model.first != nullptr && !model.is_read_only) {
    require(data == model.first, "data is the address of the first element");
  }
  // A view of a tensor without elements may have elements. It begins at the address that heed reports for the tensor.
  if (!has_elements && data != nullptr) model.first = static_cast<uint8_t*>(data);
  if (model.can_be_read()) {
    std::vector<uint8_t> contents(heed_tensor_num_bytes(made));
    require(succeeded(heed_tensor_read(made, contents.data(), contents.size())), "a tensor with data can be read");
    require(contents == model.gather(), "the elements come in row-major order");
  }
  tensors_.add({std::move(tensor), std::move(model)}, bytes_);
}

Dims Machine::dims() {
  const uint8_t byte = bytes_.next();
  Dims dims(byte < 0xF0 ? byte % 5 : byte % 9);
  for (int64_t& dim : dims) dim = bytes_.size();
  return dims;
}

Dims Machine::strides(size_t rank) {
  Dims strides(rank);
  for (int64_t& stride : strides) stride = bytes_.rarely() ? bytes_.size() : bytes_.below(32) - 8;
  return strides;
}

// Finite numbers of about 1, and rarely extreme ones.
property::Input Machine::random_input(const Dims& dims, heed_dtype dtype) {
  constexpr double kHard[] = {0.0,    -0.0,   HUGE_VAL, -HUGE_VAL, NAN,     1e-40, 3e38,  -3e38,
                              65504., 65520., 1e30,     -1e30,     0x1p-24, 100.0, 255.5, -1.0};
  property::Random random(bytes_.next());
  const bool is_hard = bytes_.rarely();
  Array array = property::filled(dims, 0.0);
  for (double& number : array.values) {
    number = is_hard && random.chance(0.2) ? kHard[random.below(std::size(kHard))] : random.uniform(-2.0, 2.0);
  }
  const auto layout = static_cast<property::Layout>(bytes_.below(5));
  // Without axes no axis can be reversed or repeated.
  if (dims.empty()) return property::make_input(std::move(array), dtype);
  return property::make_input(std::move(array), dtype, property::make_strides(layout, dims, random));
}

void Machine::create_tensor() {
  heed_context* context = handle_of(contexts_.pick(bytes_));
  TensorModel model;
  model.dtype = dtype();
  model.dims = dims();
  model.strides = row_major(model.dims);
  const bool is_held = small_product(model.dims).has_value();
  // Eight dims of 5 would be possible, but take too much time.
  if (!is_held && std::all_of(model.dims.begin(), model.dims.end(), [](int64_t dim) { return dim >= 0 && dim <= 5; })) {
    return;
  }
  const auto numbers = as_array(model.dims);
  const int32_t rank = passed_rank(model.dims.size(), bytes_);
  const int64_t* passed_dims = bytes_.rarely() ? nullptr : numbers.data();
  heed_tensor* made = made_by(&capi_test::OutParameters::tensor, [&](heed_tensor** out) {
    return heed_tensor_create(context, model.dtype, rank, passed_dims, out);
  });
  if (made == nullptr) return;
  require(is_held, "what has no memory is not made");
  model.first = static_cast<uint8_t*>(heed_tensor_data(made));
  require(reinterpret_cast<uintptr_t>(model.first) % 64 == 0, "memory is aligned to 64 bytes");
  const std::vector<uint8_t> contents = model.gather();
  require(std::all_of(contents.begin(), contents.end(), [](uint8_t byte) { return byte == 0; }), "memory is zero");
  add_tensor(made, model);
}

void Machine::wrap_tensor() {
  heed_context* context = handle_of(contexts_.pick(bytes_));
  TensorModel model;
  model.dtype = dtype();
  model.dims = dims();
  const bool has_strides = bytes_.flag();
  model.strides = has_strides ? strides(model.dims.size()) : row_major(model.dims);
  const std::optional<Extent> extent = extent_of(model.dims, model.strides);
  // heed cannot detect a caller that passes a pointer to less memory than the strides need.
  const bool is_shape_only = !extent || bytes_.below(8) == 7;
  const bool has_release = bytes_.flag();
  const size_t element_size = size_of(model.dtype);
  auto lent = std::make_unique<Lent>();
  uint8_t* first = nullptr;
  size_t misalignment = 0;
  if (!is_shape_only) {
    misalignment = bytes_.rarely() ? static_cast<size_t>(bytes_.below(8)) : 0;
    lent->bytes.resize(static_cast<size_t>(extent->before + extent->behind + 1) * element_size + misalignment);
    property::Random random(bytes_.next());
    for (uint8_t& byte : lent->bytes) byte = static_cast<uint8_t>(random.next());
    first = lent->bytes.data() + misalignment + static_cast<size_t>(extent->before) * element_size;
  }
  const auto numbers = as_array(model.dims);
  const auto steps = as_array(model.strides);
  const int32_t rank = passed_rank(model.dims.size(), bytes_);
  heed_tensor* made = made_by(&capi_test::OutParameters::tensor, [&](heed_tensor** out) {
    return heed_tensor_wrap(context, model.dtype, rank, numbers.data(), has_strides ? steps.data() : nullptr, first,
                            has_release ? Lent::release : nullptr, lent.get(), out);
  });
  require(lent->num_releases == 0, "memory is kept as long as there is a tensor");
  if (made == nullptr) return;
  require(misalignment % element_size == 0, "misaligned memory is refused");
  model.first = first;
  model.has_no_memory = is_shape_only;
  require(!is_shape_only || !has_release || !model.is_shape_only(), "a shape has nothing to release");
  // Without a release function the memory is kept until the end.
  if (!has_release) lent->num_releases = 1;
  lent_.push_back(std::move(lent));
  add_tensor(made, model);
}

void Machine::view_tensor() {
  const TensorEntry* entry = tensors_.pick(bytes_);
  TensorModel model = entry == nullptr ? TensorModel() : entry->model;
  model.dims = dims();
  const bool has_strides = bytes_.flag();
  model.strides = has_strides ? strides(model.dims.size()) : row_major(model.dims);
  const int64_t offset = bytes_.rarely() ? bytes_.size() : bytes_.below(32) - 8;
  const auto numbers = as_array(model.dims);
  const auto steps = as_array(model.strides);
  const int32_t rank = passed_rank(model.dims.size(), bytes_);
  heed_tensor* made = made_by(&capi_test::OutParameters::tensor, [&](heed_tensor** out) {
    return heed_tensor_view(handle_of(entry), rank, numbers.data(), has_strides ? steps.data() : nullptr, offset, out);
  });
  if (made == nullptr) return;
  // Row-major strides of large dims are not computed; such a view has no memory anyway.
  if (!has_strides && !small_product(model.dims)) return heed_tensor_destroy(made);
  // A view without elements may have any address.
  if (small_product(model.dims) == 0) model.first = nullptr;
  if (model.first != nullptr) model.first += offset * static_cast<int64_t>(size_of(model.dtype));
  add_tensor(made, model);
}

void Machine::reshape_tensor() {
  const TensorEntry* entry = tensors_.pick(bytes_);
  Dims wanted = dims();
  // Dims with the same number of elements: from the tensor's own to a single axis.
  if (entry != nullptr && bytes_.flag()) {
    wanted = entry->model.dims;
    if (bytes_.flag()) std::reverse(wanted.begin(), wanted.end());
    if (bytes_.flag() && wanted.size() > 1) wanted.erase(wanted.begin());
    if (bytes_.flag() && !wanted.empty()) wanted[static_cast<size_t>(bytes_.below(8)) % wanted.size()] = -1;
  }
  const auto numbers = as_array(wanted);
  const int32_t rank = passed_rank(wanted.size(), bytes_);
  heed_tensor* made = made_by(&capi_test::OutParameters::tensor, [&](heed_tensor** out) {
    return heed_tensor_reshape(handle_of(entry), rank, numbers.data(), out);
  });
  if (made == nullptr) return;
  TensorModel model = entry->model;
  model.dims.assign(wanted.size(), 0);
  model.strides.assign(wanted.size(), 0);
  for (size_t axis = 0; axis < wanted.size(); ++axis) {
    model.dims[axis] = heed_tensor_dim(made, static_cast<int32_t>(axis));
    model.strides[axis] = heed_tensor_stride(made, static_cast<int32_t>(axis));
    require(wanted[axis] == -1 || wanted[axis] == model.dims[axis], "a reshaped dim is the one that was asked for");
  }
  require(heed_tensor_num_elements(made) == heed_tensor_num_elements(entry->handle.get()), "a reshape keeps elements");
  if (model.can_be_read() && entry->model.can_be_read()) {
    require(model.gather() == entry->model.gather(), "a reshape keeps the row-major order");
  }
  add_tensor(made, model);
}

void Machine::transpose_tensor() {
  const TensorEntry* entry = tensors_.pick(bytes_);
  const size_t rank = entry == nullptr ? 3 : entry->model.dims.size();
  std::array<int32_t, 8> axes{};
  std::iota(axes.begin(), axes.end(), 0);
  const bool reverses = bytes_.flag();
  if (reverses) {
    std::reverse(axes.begin(), axes.begin() + static_cast<std::ptrdiff_t>(rank));
  } else if (rank > 0) {
    std::rotate(axes.begin(), axes.begin() + bytes_.below(static_cast<int64_t>(rank)),
                axes.begin() + static_cast<std::ptrdiff_t>(rank));
  }
  std::array<int32_t, 8> passed = axes;
  const bool is_wrong = bytes_.rarely();
  if (is_wrong) passed[static_cast<size_t>(bytes_.below(8))] = bytes_.enumerator(8);
  heed_tensor* made = made_by(&capi_test::OutParameters::tensor, [&](heed_tensor** out) {
    return heed_tensor_transpose(handle_of(entry), reverses && !is_wrong ? nullptr : passed.data(), out);
  });
  if (made == nullptr) return;
  TensorModel model = entry->model;
  for (size_t i = 0; i < rank; ++i) {
    // A negative axis is counted from the end.
    const auto axis = static_cast<size_t>(passed[i] < 0 ? passed[i] + static_cast<int32_t>(rank) : passed[i]);
    require(axis < rank, "an axis that is not there is refused");
    model.dims[i] = entry->model.dims[axis];
    model.strides[i] = entry->model.strides[axis];
  }
  add_tensor(made, model);
}

void Machine::slice_tensor() {
  const TensorEntry* entry = tensors_.pick(bytes_);
  const auto axis = static_cast<int32_t>(bytes_.below(6) - 1);
  const int64_t start = bytes_.rarely() ? bytes_.size() : bytes_.below(8) - 2;
  const int64_t length = bytes_.size();
  heed_tensor* made = made_by(&capi_test::OutParameters::tensor, [&](heed_tensor** out) {
    return heed_tensor_slice(handle_of(entry), axis, start, length, out);
  });
  if (made == nullptr) return;
  TensorModel model = entry->model;
  const size_t at = axis < 0 ? static_cast<size_t>(axis + static_cast<int32_t>(model.dims.size())) : axis;
  require(at < model.dims.size(), "an axis that is not there is refused");
  const int64_t first = start < 0 ? start + model.dims[at] : start;
  require(first >= 0 && length >= 0 && length <= model.dims[at] - first, "a slice lies inside its axis");
  const bool has_elements = small_product(model.dims) != 0;
  model.dims[at] = length;
  if (model.first != nullptr && has_elements && length > 0) {
    model.first += first * model.strides[at] * static_cast<int64_t>(size_of(model.dtype));
  }
  add_tensor(made, model);
}

void Machine::write_tensor() {
  const TensorEntry* entry = tensors_.pick(bytes_);
  heed_tensor* tensor = handle_of(entry);
  const bool is_small = entry != nullptr && small_product(entry->model.dims).has_value();
  const bool is_wrong = bytes_.rarely();
  const size_t num_bytes = (is_small ? heed_tensor_num_bytes(tensor) : 3) + (is_wrong ? 1 : 0);
  std::vector<uint8_t> source(num_bytes);
  property::Random random(bytes_.next());
  for (uint8_t& byte : source) byte = static_cast<uint8_t>(random.next());
  const bool is_readable = entry != nullptr && entry->model.can_be_read();
  const std::vector<uint8_t> before = is_readable ? entry->model.gather() : source;
  if (!succeeded(heed_tensor_write(tensor, source.data(), num_bytes))) {
    require(!is_readable || entry->model.gather() == before, "a write that is refused writes nothing");
    return;
  }
  require(is_small && !is_wrong && !entry->model.is_read_only && !entry->model.is_shape_only(),
          "a wrong write is refused");
  if (!is_readable) return;
  // If elements have the same address, the last one written is kept.
  if (entry->model.addresses().size() * size_of(entry->model.dtype) != num_bytes) return;
  require(entry->model.gather() == source, "what was written is there");
  std::vector<uint8_t> again(num_bytes);
  require(succeeded(heed_tensor_read(tensor, again.data(), num_bytes)), "what was written can be read");
  require(again == entry->model.gather(), "what is read is what is there");
}

void Machine::read_tensor() {
  const TensorEntry* entry = tensors_.pick(bytes_);
  const heed_tensor* tensor = handle_of(entry);
  const bool is_small = entry != nullptr && small_product(entry->model.dims).has_value();
  const bool is_wrong = bytes_.rarely();
  std::vector<uint8_t> destination((is_small ? heed_tensor_num_bytes(tensor) : 3) + (is_wrong ? 1 : 0), 0xAB);
  if (!succeeded(heed_tensor_read(tensor, destination.data(), destination.size()))) {
    require(std::all_of(destination.begin(), destination.end(), [](uint8_t byte) { return byte == 0xAB; }),
            "a read that is refused writes nothing");
    return;
  }
  require(is_small && !is_wrong && !entry->model.is_shape_only(), "a wrong read is refused");
  if (entry->model.can_be_read()) require(destination == entry->model.gather(), "what is read is what is there");
  size_t num_bytes = 0;
  require(succeeded(heed_tensor_to_text(tensor, nullptr, 0, &num_bytes)) && num_bytes > 1, "what is read has a text");
}

void Machine::fill_tensor() {
  const TensorEntry* entry = tensors_.pick(bytes_);
  constexpr double kValues[] = {0.0, 1.0, -1.0, 0.1, 1e10, -1e300, 65519.0, 300.0, HUGE_VAL, -HUGE_VAL, NAN, 0x1p-149};
  const double value = kValues[bytes_.below(std::size(kValues))];
  // A view with strides of zero may have any number of elements, but cannot be filled.
  if (!succeeded(heed_tensor_fill(handle_of(entry), value))) return;
  require(!entry->model.is_read_only && !entry->model.is_shape_only(), "a wrong fill is refused");
  if (!entry->model.can_be_read()) return;
  for (const double number : decode(entry->model.dtype, entry->model.gather())) {
    require(are_the_same_numbers(number, converted(entry->model.dtype, value)), "every element is the value");
  }
}

void Machine::copy_tensor() {
  const TensorEntry* destination = tensors_.pick(bytes_);
  heed_context* context = handle_of(contexts_.pick(bytes_));
  if (destination == nullptr || !are_small(destination->model.dims) || context == nullptr) {
    const TensorEntry* any = tensors_.pick(bytes_);
    if (destination == nullptr || any == nullptr) {
      require(!succeeded(heed_tensor_copy(handle_of(destination), handle_of(any))), "NULL cannot be copied");
    }
    return;
  }
  const TensorModel& to = destination->model;
  // A copy from another tensor, or from new numbers of any dtype with some repeated axes.
  if (bytes_.flag()) {
    const TensorEntry* source = tensors_.pick(bytes_);
    const bool is_known = source != nullptr && source->model.can_be_read() && to.can_be_read();
    const Array from =
        is_known ? Array{source->model.dims, decode(source->model.dtype, source->model.gather())} : Array();
    const std::set<const uint8_t*> sources = is_known ? source->model.addresses() : std::set<const uint8_t*>();
    if (!succeeded(heed_tensor_copy(destination->handle.get(), handle_of(source)))) return;
    require(source != nullptr && !source->model.is_shape_only(), "a shape cannot be copied");
    if (!is_known || to.addresses().size() != static_cast<size_t>(*small_product(to.dims))) return;
    for (const uint8_t* address : to.addresses())
      require(sources.count(address) == 0, "memory is not copied onto itself");
    const Array expected = property::broadcast(from, to.dims);
    const std::vector<double> actual = decode(to.dtype, to.gather());
    for (size_t i = 0; i < actual.size(); ++i) {
      if (source->model.dtype == to.dtype || !is_exact(expected.values[i])) continue;
      require(are_the_same_numbers(actual[i], converted(to.dtype, expected.values[i])), "a copy converts");
    }
    return;
  }
  Dims from_dims = to.dims;
  for (int64_t& dim : from_dims) {
    if (bytes_.below(4) == 3) dim = 1;
  }
  const property::Input input = random_input(from_dims, float_dtype());
  const HostTensor source(context, input);
  if (!succeeded(heed_tensor_copy(destination->handle.get(), source.handle()))) return;
  require(!to.is_read_only && !to.is_shape_only(), "a wrong copy is refused");
  if (!to.can_be_read() || to.addresses().size() != static_cast<size_t>(*small_product(to.dims))) return;
  const std::vector<double> actual = decode(to.dtype, to.gather());
  const Array expected = property::broadcast(input.contents, to.dims);
  for (size_t i = 0; i < actual.size(); ++i) {
    require(are_the_same_numbers(actual[i], converted(to.dtype, expected.values[i])), "a copy repeats and converts");
  }
}

void Machine::fill_with_numbers() {
  const TensorEntry* entry = tensors_.pick(bytes_);
  constexpr double kNumbers[] = {0.0, 1.0, -1.0, 0.5, 100.0, -3.0, 1e300, -1e300, HUGE_VAL, NAN};
  const auto number = [&] { return kNumbers[bytes_.rarely() ? bytes_.below(std::size(kNumbers)) : bytes_.below(6)]; };
  const double first = number();
  const double second = number();
  heed_tensor* tensor = handle_of(entry);
  const int64_t kind = bytes_.below(3);
  const bool is_filled = succeeded(kind == 0   ? heed_tensor_fill_arange(tensor, first, second)
                                   : kind == 1 ? heed_tensor_fill_uniform(tensor, first, second, bytes_.next())
                                               : heed_tensor_fill_normal(tensor, first, second, bytes_.next()));
  if (!is_filled) return;
  require(std::isfinite(first) && std::isfinite(second), "what is not finite is refused");
  const TensorModel& model = entry->model;
  if (!model.can_be_read() || model.addresses().size() != static_cast<size_t>(*small_product(model.dims))) return;
  const std::vector<double> numbers = decode(model.dtype, model.gather());
  for (size_t i = 0; i < numbers.size(); ++i) {
    if (kind == 0) {
      const double expected = converted(model.dtype, first + static_cast<double>(i) * second);
      require(are_the_same_numbers(numbers[i], expected), "an element is start + i * step");
    }
    if (kind == 1 && first == second) {
      require(are_the_same_numbers(numbers[i], converted(model.dtype, first)), "between two that are the same is one");
    } else if (kind == 1 && model.dtype != HEED_BOOL) {
      require(numbers[i] >= first && numbers[i] < second, "an element is between the two");
    }
  }
}

// Operands are tensors of the program, or new ones that fit.
void Machine::multiply_matrices() {
  heed_context* context = handle_of(contexts_.pick(bytes_));
  const auto m = bytes_.below(6);
  const auto k = bytes_.below(6);
  const auto n = bytes_.below(6);
  const auto batch = bytes_.below(3);
  if (context == nullptr || bytes_.rarely()) {
    heed_tensor* product = handle_of(tensors_.pick(bytes_));
    succeeded(heed_matmul(handle_of(tensors_.pick(bytes_)), handle_of(tensors_.pick(bytes_)), product));
    return;
  }
  const heed_dtype dtype = float_dtype();
  const bool has_batch = bytes_.flag();
  const bool is_repeated = has_batch && bytes_.flag();
  const property::Input a = random_input(has_batch ? Dims{batch, m, k} : Dims{m, k}, dtype);
  const property::Input b = random_input({is_repeated ? 1 : batch, k, n}, dtype);
  const HostTensor left(context, a);
  const HostTensor right(context, b);
  const HostTensor product(context, HEED_F32, {batch, m, n}, property::row_major_strides({batch, m, n}));
  const heed_status status = heed_matmul(left.handle(), right.handle(), product.handle());
  if (!succeeded(status)) return require(status == HEED_ERROR_NOT_FASTEST, "matrices that fit are multiplied");
  require(left.input_is_untouched() && right.input_is_untouched(), "no operation changes its inputs");
  const Array x = property::broadcast(a.contents, {batch, m, k});
  const Array y = property::broadcast(b.contents, {batch, k, n});
  property::for_each_index({batch, m, n}, [&](const Dims& at, size_t position) {
    double sum = 0;
    double magnitude = 0;
    for (int64_t i = 0; i < k; ++i) {
      const double term = x.values[static_cast<size_t>((at[0] * m + at[1]) * k + i)] *
                          y.values[static_cast<size_t>((at[0] * k + i) * n + at[2])];
      sum += term;
      magnitude += std::abs(term);
    }
    // k products and k - 1 sums are each rounded to f32. If they overflow, any result is right.
    if (!(magnitude < 0x1p127)) return;
    const double bound = static_cast<double>(2 * k + 1) * 0x1p-24 * magnitude + 0x1p-149 * static_cast<double>(k + 1);
    require(std::abs(product.read().values[position] - sum) <= bound, "a product is the sum of its terms");
  });
}

void Machine::take_softmax() {
  heed_context* context = handle_of(contexts_.pick(bytes_));
  const Dims dims = {bytes_.below(4), bytes_.below(4), bytes_.below(6)};
  const auto axis = static_cast<int32_t>(bytes_.below(6) - 3);
  if (context == nullptr || bytes_.rarely()) {
    heed_tensor* result = handle_of(tensors_.pick(bytes_));
    const heed_tensor* scores = handle_of(tensors_.pick(bytes_));
    if (bytes_.flag()) {
      succeeded(heed_softmax(scores, axis, result));
    } else {
      const heed_tensor* rows = handle_of(tensors_.pick(bytes_));
      succeeded(heed_masked_softmax(scores, rows, result));
      succeeded(heed_activation(scores, axis, result));
      // The same tensors as parts of an attention, of which most are refused.
      const heed_tensor* const outputs[] = {scores, scores};
      const heed_tensor* const log_sum_exps[] = {rows, rows};
      succeeded(heed_attention_merge(outputs, log_sum_exps, 2, nullptr, result, nullptr));
    }
    return;
  }
  const property::Input scores = random_input(dims, float_dtype());
  const HostTensor tensor(context, scores);
  const HostTensor result(context, HEED_F32, dims, property::row_major_strides(dims));
  Array lengths = property::filled({dims[0]}, 0);
  for (double& length : lengths.values) length = static_cast<double>(bytes_.next() % (dims[2] + 1));
  const HostTensor valid_lens(context, property::make_input(lengths, HEED_I32));
  const bool is_masked = bytes_.flag();
  const heed_status status = is_masked ? heed_masked_softmax(tensor.handle(), valid_lens.handle(), result.handle())
                                       : heed_softmax(tensor.handle(), axis, result.handle());
  if (!succeeded(status)) return require(status == HEED_ERROR_NOT_FASTEST, "a softmax of any numbers can be taken");
  require(tensor.input_is_untouched(), "no operation changes its inputs");
  const std::vector<double> numbers = result.read().values;
  property::for_each_index(dims, [&](const Dims& at, size_t position) {
    const double number = numbers[position];
    require(std::isnan(number) || (number >= 0 && number <= 1 + 0x1p-20), "a softmax is from 0 to 1");
    if (is_masked && static_cast<double>(at[2]) >= lengths.values[static_cast<size_t>(at[0])]) {
      require(number == 0, "a hidden key has no weight");
    }
  });
}

}  // namespace heed::fuzz
