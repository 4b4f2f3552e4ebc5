// SPDX-License-Identifier: Apache-2.0
// Functions that take the place of operators in the mutated sources; find_places.py writes the calls. One build contains all mutants, and an
// environment variable selects the one that is active in a run. mutate.py adds an #include of this header to each file with mutants.
//   HEED_MUTANT          the number of the active mutant; without it the program is the original one
//   HEED_MUTANTS_REACHED a file; at its end the program appends the numbers of all mutants whose code was executed
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <type_traits>

// Always inlined, since kernels call it for every vector.
#define HEED_MUTATION_INLINE [[gnu::always_inline]] inline

namespace heed_mutation {

inline constexpr int kMaxMutants = 1 << 16;

inline const int active = [] {
  const char* number = std::getenv("HEED_MUTANT");
  return number == nullptr ? 0 : std::atoi(number);
}();

// Plain bytes without synchronization: all threads write the same value.
inline bool reached[kMaxMutants];

struct Record {
  const char* path = std::getenv("HEED_MUTANTS_REACHED");
  ~Record() {
    // Without the C library's buffers, since some tests make allocations fail.
    const int file = path == nullptr ? -1 : ::open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (file < 0) return;
    for (int id = 0; id < kMaxMutants; ++id) {
      if (reached[id]) ::dprintf(file, "%d\n", id);
    }
    ::close(file);
  }
};
inline const Record record;

HEED_MUTATION_INLINE bool on(int id) {
  if (record.path != nullptr) reached[id] = true;
  return active == id;
}

// Comparisons of numbers, pointers and vectors, in place of the operator. `id` is the mutant that changes the result
// for an equal pair. `bound` is the mutant that moves the limit by one in the other direction; 0 unless both sides are
// whole numbers.
template <typename A, typename B>
HEED_MUTATION_INLINE auto less(int id, int bound, A a, B b) {
  if constexpr (std::is_integral_v<A> && std::is_integral_v<B>) {
    if (bound != 0 && on(bound)) return a < b && a + 1 != b;
  }
  return on(id) ? a <= b : a < b;
}

template <typename A, typename B>
HEED_MUTATION_INLINE auto less_equal(int id, int bound, A a, B b) {
  if constexpr (std::is_integral_v<A> && std::is_integral_v<B>) {
    if (bound != 0 && on(bound)) return a <= b || a - 1 == b;
  }
  return on(id) ? a < b : a <= b;
}

template <typename A, typename B>
HEED_MUTATION_INLINE auto greater(int id, int bound, A a, B b) {
  if constexpr (std::is_integral_v<A> && std::is_integral_v<B>) {
    if (bound != 0 && on(bound)) return a > b && a - 1 != b;
  }
  return on(id) ? a >= b : a > b;
}

template <typename A, typename B>
HEED_MUTATION_INLINE auto greater_equal(int id, int bound, A a, B b) {
  if constexpr (std::is_integral_v<A> && std::is_integral_v<B>) {
    if (bound != 0 && on(bound)) return a >= b || a + 1 == b;
  }
  return on(id) ? a > b : a >= b;
}

template <typename A, typename B>
HEED_MUTATION_INLINE auto equal(int id, A a, B b) {
  return on(id) ? a != b : a == b;
}

template <typename A, typename B>
HEED_MUTATION_INLINE auto not_equal(int id, A a, B b) {
  return on(id) ? a == b : a != b;
}

// The same for objects by reference, since copying one could allocate.
template <typename A, typename B>
HEED_MUTATION_INLINE bool equal_objects(int id, const A& a, const B& b) {
  return on(id) != static_cast<bool>(a == b);
}

template <typename A, typename B>
HEED_MUTATION_INLINE bool not_equal_objects(int id, const A& a, const B& b) {
  return on(id) != static_cast<bool>(a != b);
}

template <typename A, typename B>
HEED_MUTATION_INLINE auto plus(int id, A a, B b) {
  return on(id) ? a - b : a + b;
}

template <typename A, typename B>
HEED_MUTATION_INLINE auto minus(int id, A a, B b) {
  return on(id) ? a + b : a - b;
}

template <typename T>
HEED_MUTATION_INLINE T min(int id, const T& a, const T& b) {
  return (a < b) != on(id) ? a : b;
}

template <typename T>
HEED_MUTATION_INLINE T max(int id, const T& a, const T& b) {
  return (a > b) != on(id) ? a : b;
}

}  // namespace heed_mutation
