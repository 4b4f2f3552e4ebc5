// SPDX-License-Identifier: Apache-2.0
// ATB's vector of small elements: up to 64 within the object, up to 256 in one block from malloc. It behaves as the
// vendor's does, with its oddities, because programs meet those oddities on hardware:
//   - at() and operator[] throw std::out_of_range beyond size(); growing beyond 256 elements throws MaxSizeExceeded;
//   - resize() does not initialise new elements; reserve() above 64 allocates a new block and drops the elements;
//   - an initializer list of more than 64 elements gives an empty vector.
// Elements are assigned to uninitialised memory: only types for which that works may be used.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <exception>
#include <initializer_list>
#include <new>
#include <ostream>
#include <stdexcept>

namespace atb {

constexpr std::size_t MAX_SVECTOR_SIZE = 256;
constexpr std::size_t DEFAULT_SVECTOR_SIZE = 64;
constexpr bool CHECK_BOUND = true;

struct MaxSizeExceeded : public std::exception {};

template <class T>
class SVector {
 public:
  constexpr SVector() {
    for (std::size_t i = 0; i < DEFAULT_SVECTOR_SIZE; ++i) storage_[i] = {};
  }

  SVector(std::initializer_list<T> list) {
    refuse_above_maximum(list.size());
    if (list.size() > DEFAULT_SVECTOR_SIZE) {
      take_block(MAX_SVECTOR_SIZE);
      return;
    }
    fill(list.begin(), list.size());
  }

  explicit SVector(std::size_t size, const T& value = 0) {
    refuse_above_maximum(size);
    if (size > DEFAULT_SVECTOR_SIZE) take_block(MAX_SVECTOR_SIZE);
    size_ = size;
    for (T& element : *this) element = value;
  }

  SVector(const SVector& other) { copy(other); }

  ~SVector() { std::free(heap_); }

  SVector& operator=(const SVector& other) {
    if (this == &other) return *this;
    std::free(heap_);
    heap_ = nullptr;
    copy(other);
    return *this;
  }

  SVector& operator=(std::initializer_list<T> list) {
    refuse_above_maximum(list.size());
    if (list.size() > DEFAULT_SVECTOR_SIZE && heap_ == nullptr) take_block(MAX_SVECTOR_SIZE);
    fill(list.begin(), list.size());
    return *this;
  }

  std::size_t size() const noexcept { return size_; }
  bool empty() const noexcept { return size_ == 0; }
  void clear() noexcept { size_ = 0; }

  T* data() noexcept { return heap_ != nullptr ? heap_ : storage_; }
  const T* data() const noexcept { return heap_ != nullptr ? heap_ : storage_; }
  T* begin() noexcept { return data(); }
  const T* begin() const noexcept { return data(); }
  T* end() noexcept { return data() + size_; }
  const T* end() const noexcept { return data() + size_; }

  T& operator[](std::size_t i) { return at(i); }
  const T& operator[](std::size_t i) const { return at(i); }

  T& at(std::size_t i) {
    refuse_outside(i, size_);
    return data()[i];
  }
  const T& at(std::size_t i) const {
    refuse_outside(i, size_);
    return data()[i];
  }

  void push_back(const T& value) {
    make_room_for_one();
    data()[size_++] = value;
  }

  void insert(std::size_t position, const T& value) {
    refuse_outside(position, size_ + 1);
    make_room_for_one();
    T* const elements = data();
    for (std::size_t i = size_; i != position; --i) elements[i] = elements[i - 1];
    elements[position] = value;
    ++size_;
  }

  void resize(std::size_t size) {
    if (size > MAX_SVECTOR_SIZE || (heap_ != nullptr && size > capacity_)) throw MaxSizeExceeded();
    if (heap_ == nullptr && size > DEFAULT_SVECTOR_SIZE) move_to_heap();
    size_ = size;
  }

  void reserve(std::size_t size) {
    refuse_above_maximum(size);
    if (size <= DEFAULT_SVECTOR_SIZE) return;
    std::free(heap_);
    heap_ = nullptr;
    take_block(size);
    for (std::size_t i = 0; i < size; ++i) heap_[i] = {};
  }

  // A vector within the object never equals one in a block, whatever their elements.
  bool operator==(const SVector& other) const {
    if (size_ != other.size_ || (heap_ != nullptr && other.heap_ == nullptr)) return false;
    for (std::size_t i = 0; i < size_; ++i) {
      if (data()[i] != other.data()[i]) return false;
    }
    return true;
  }
  bool operator!=(const SVector& other) const { return !(*this == other); }

  // Compares sizes first, then elements.
  bool operator<(const SVector& other) const {
    if (size_ != other.size_ || (heap_ != nullptr && other.heap_ == nullptr)) return size_ < other.size_;
    for (std::size_t i = 0; i < size_; ++i) {
      if (data()[i] != other.data()[i]) return data()[i] < other.data()[i];
    }
    return false;
  }

 private:
  static void refuse_above_maximum(std::size_t size) {
    if (size > MAX_SVECTOR_SIZE) throw MaxSizeExceeded();
  }

  static void refuse_outside(std::size_t i, std::size_t size) {
    if (i >= size) throw std::out_of_range("SVector: the index is not below the size");
  }

  void take_block(std::size_t capacity) {
    // The cast suppresses the compiler's warning about types with constructors. ATB copies their bytes, too.
    heap_ = static_cast<T*>(std::malloc(capacity * sizeof(T)));
    if (heap_ == nullptr) throw std::bad_alloc();
    capacity_ = capacity;
  }

  void move_to_heap() {
    take_block(MAX_SVECTOR_SIZE);
    for (std::size_t i = 0; i < DEFAULT_SVECTOR_SIZE; ++i) heap_[i] = storage_[i];
  }

  void make_room_for_one() {
    if (heap_ == nullptr && size_ == DEFAULT_SVECTOR_SIZE) move_to_heap();
    if (heap_ != nullptr && size_ == capacity_) throw MaxSizeExceeded();
  }

  void fill(const T* elements, std::size_t size) {
    size_ = size;
    for (std::size_t i = 0; i < size; ++i) data()[i] = elements[i];
  }

  // The copy's block is exactly as large as its elements, so the copy cannot grow.
  void copy(const SVector& other) {
    if (other.heap_ != nullptr) take_block(other.size_);
    fill(other.data(), other.size_);
  }

  std::size_t capacity_ = 0;
  std::size_t size_ = 0;
  T storage_[DEFAULT_SVECTOR_SIZE + 1];
  T* heap_ = nullptr;
};

template <class T>
std::ostream& operator<<(std::ostream& stream, const SVector<T>& vector) {
  for (std::size_t i = 0; i < vector.size(); ++i) stream << (i == 0 ? "" : ",") << vector.at(i);
  return stream;
}

}  // namespace atb
