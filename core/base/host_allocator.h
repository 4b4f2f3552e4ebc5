// SPDX-License-Identifier: Apache-2.0
// Host memory for everything that outlives a call: handles, their objects, and on the CPU the elements of tensors. A
// context gets its allocator when it is opened, and all its objects use that allocator.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/error.h"

namespace heed {

// The alignment of C++'s new. No smaller alignment is requested of an allocator.
inline constexpr size_t kObjectAlignment = alignof(std::max_align_t);

// The C library's malloc. Large blocks are mapped separately, and a few freed ones are kept for reuse (kept_blocks.h).
void* allocate_from_c_library(void*, size_t num_bytes, size_t alignment) noexcept;
void release_to_c_library(void*, void* memory, size_t num_bytes) noexcept;

// The members of heed_allocator; by default the C library's functions. Each object keeps a copy, since an object may
// release its memory after the context has been destroyed.
struct HostAllocator {
  void* (*allocate)(void* user, size_t num_bytes, size_t alignment) = allocate_from_c_library;
  void (*release)(void* user, void* memory, size_t num_bytes) = release_to_c_library;
  void* user = nullptr;

  bool operator==(const HostAllocator&) const = default;
};

// An empty array needs an address, too, so no allocator gets a request for 0 bytes.
inline size_t host_size(size_t num_bytes) { return std::max<size_t>(num_bytes, 1); }

inline void host_release(const HostAllocator& allocator, void* memory, size_t num_bytes) {
  allocator.release(allocator.user, memory, host_size(num_bytes));
}

// Calls the allocator and checks the address that it returns. Reports failures by status, so that backends can use it.
inline Status host_allocate(const HostAllocator& allocator, size_t num_bytes, size_t alignment, void** memory,
                            Error* failure) {
  void* given = allocator.allocate(allocator.user, host_size(num_bytes), alignment);
  if (given == nullptr) {
    return failure->say(Status::OutOfMemory, "%zu bytes of host memory could not be allocated", host_size(num_bytes));
  }
  if (reinterpret_cast<uintptr_t>(given) % alignment != 0) {
    host_release(allocator, given, num_bytes);
    return failure->say(
        Status::InvalidArgument,
        "the context's allocator gave the address %p for %zu bytes, expected one that is aligned to %zu", given,
        host_size(num_bytes), alignment);
  }
  *memory = given;
  return Status::Ok;
}

// HostAllocator with the interface of the C++ library's allocators.
template <typename T>
class HostStlAllocator {
 public:
  using value_type = T;  // NOLINT(readability-identifier-naming): the C++ library's name

  // Implicit, like the C++ library's own conversions between allocators.
  HostStlAllocator(const HostAllocator& allocator) noexcept : allocator_(allocator) {}  // NOLINT(*-explicit-*)
  template <typename U>
  HostStlAllocator(const HostStlAllocator<U>& other) noexcept
      : allocator_(other.allocator()) {}  // NOLINT(*-explicit-*)

  // Containers request at most max_size() elements, so the product does not overflow.
  T* allocate(size_t count) {
    void* memory = nullptr;
    Error failure;
    constexpr size_t kAlignment = std::max(alignof(T), kObjectAlignment);
    const size_t num_bytes = count * sizeof(T);  // NOLINT(bugprone-sizeof-expression): T may be a pointer
    if (host_allocate(allocator_, num_bytes, kAlignment, &memory, &failure) != Status::Ok) throw Error(failure);
    return static_cast<T*>(memory);
  }
  void deallocate(T* memory, size_t count) noexcept {
    host_release(allocator_, memory, count * sizeof(T));  // NOLINT(bugprone-sizeof-expression)
  }

  const HostAllocator& allocator() const noexcept { return allocator_; }

  template <typename U>
  bool operator==(const HostStlAllocator<U>& other) const noexcept {
    return allocator_ == other.allocator();
  }

 private:
  HostAllocator allocator_;
};

template <typename T>
using HostVector = std::vector<T, HostStlAllocator<T>>;
using HostString = std::basic_string<char, std::char_traits<char>, HostStlAllocator<char>>;

// A shared object. The object and its reference count share one block of the allocator.
template <typename T, typename... Arguments>
std::shared_ptr<T> host_make_shared(const HostAllocator& allocator, Arguments&&... arguments) {
  return std::allocate_shared<T>(HostStlAllocator<T>(allocator), std::forward<Arguments>(arguments)...);
}

// An object with one owner, who calls host_destroy.
template <typename T, typename... Arguments>
T* host_create(const HostAllocator& allocator, Arguments&&... arguments) {
  static_assert(noexcept(T{std::forward<Arguments>(arguments)...}), "a constructor that throws would leak the memory");
  return new (HostStlAllocator<T>(allocator).allocate(1)) T{std::forward<Arguments>(arguments)...};
}

// `allocator` is passed by value, since the object may hold the last reference to the owner of the allocator.
template <typename T>
void host_destroy(HostAllocator allocator, T* object) noexcept {
  object->~T();
  HostStlAllocator<T>(allocator).deallocate(object, 1);
}

}  // namespace heed
