// SPDX-License-Identifier: Apache-2.0
// array_cost [--quick]: functions of arrays beside a loop of the same in C++, in turns. Large arrays beside loops over memory, on one
// thread and on two; functions that take longer than memory beside the C library's; sorting beside std::sort. Prints a JSON object.
#include <heed/heed.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "clock.h"
#include "fail.h"
#include "processors.h"

namespace {

struct DestroyContext {
  void operator()(heed_context* context) const { heed_context_destroy(context); }
};
struct DestroyTensor {
  void operator()(heed_tensor* tensor) const { heed_tensor_destroy(tensor); }
};
using Context = std::unique_ptr<heed_context, DestroyContext>;
using Tensor = std::unique_ptr<heed_tensor, DestroyTensor>;
using Dims = std::vector<int64_t>;

Tensor make_tensor(heed_context* context, const Dims& dims) {
  heed_tensor* tensor = nullptr;
  bench::check(heed_tensor_create(context, HEED_F32, static_cast<int32_t>(dims.size()), dims.data(), &tensor));
  bench::check(heed_tensor_fill_normal(tensor, 0, 1, 1));
  return Tensor(tensor);
}

// The first `columns` of each row.
Tensor columns_of(heed_tensor* tensor, int64_t columns) {
  heed_tensor* view = nullptr;
  bench::check(heed_tensor_slice(tensor, 1, 0, columns, &view));
  return Tensor(view);
}

// A context whose threads run, on processors of their own.
Context open_context(int threads) {
  const bench::StartingThreads others;
  heed_context_options options = HEED_CONTEXT_OPTIONS_INIT;
  options.num_threads = threads;
  heed_context* context = nullptr;
  bench::check(heed_context_create(&options, &context));
  const Tensor number = make_tensor(context, {1});
  bench::check(heed_add(number.get(), number.get(), number.get()));
  return Context(context);
}

float* data_of(heed_tensor* tensor) { return static_cast<float*>(heed_tensor_data(tensor)); }

// A function of rows of numbers: part(first row, end row) is a part of it.
using Loop = std::function<void(int64_t, int64_t)>;

void run_loop(const Loop& part, int64_t rows, int threads) {
  std::vector<std::thread> others;
  {
    const bench::StartingThreads elsewhere;
    for (int i = 1; i < threads; ++i) others.emplace_back(part, rows * i / threads, rows * (i + 1) / threads);
  }
  part(0, rows / threads);
  for (std::thread& other : others) other.join();
}

struct Turns {
  int rounds;
  double seconds;  // at least, of a turn
};

double time_of(const std::function<void()>& call, int calls) {
  const double start = bench::now();
  for (int i = 0; i < calls; ++i) call();
  return (bench::now() - start) / calls;
}

double median_of(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<int64_t>(values.size() / 2), values.end());
  return values[values.size() / 2];
}

bool is_first_row = true;

// Measures both in turns and prints a row. `bound`: the least ratio that is wanted.
void compare(const char* name, const char* peer_name, int threads, double bound, const Turns& turns,
             const std::function<void()>& heed, const std::function<void()>& peer) {
  heed();
  peer();
  const int calls = 1 + static_cast<int>(turns.seconds / time_of(peer, 1));
  std::vector<double> of_heed;
  std::vector<double> ratios;
  for (int round = 0; round < turns.rounds; ++round) {
    of_heed.push_back(time_of(heed, calls));
    ratios.push_back(time_of(peer, calls) / of_heed.back());
  }
  const auto [least, most] = std::minmax_element(ratios.begin(), ratios.end());
  std::printf(
      R"(%s{"name": "%s", "peer": "%s", "threads": %d, "us": %.2f, "ratio": %.3f, "least": %.3f, "most": %.3f, "bound": %.2f})",
      is_first_row ? "" : ",\n", name, peer_name, threads, 1e6 * median_of(of_heed), median_of(ratios), *least, *most,
      bound);
  is_first_row = false;
}

// Arrays that no cache holds. A row has `columns` numbers, `stride` apart from the next.
void measure_memory(int threads, int64_t rows, int64_t columns, int64_t stride, const Turns& turns) {
  const Context context = open_context(threads);
  heed_context* opened = context.get();
  const Tensor memory[] = {make_tensor(opened, {rows, stride}), make_tensor(opened, {rows, stride}),
                           make_tensor(opened, {rows, stride})};
  const Tensor a = columns_of(memory[0].get(), columns);
  const Tensor b = columns_of(memory[1].get(), columns);
  const Tensor c = columns_of(memory[2].get(), columns);
  const float* x = data_of(a.get());
  const float* y = data_of(b.get());
  float* z = data_of(c.get());
  const Loop add = [=](int64_t first, int64_t end) {
    for (int64_t row = first; row < end; ++row) {
      const float* left = x + row * stride;
      const float* right = y + row * stride;
      float* sum = z + row * stride;
      for (int64_t i = 0; i < columns; ++i) sum[i] = left[i] + right[i];
    }
  };
  const Loop square = [=](int64_t first, int64_t end) {
    for (int64_t row = first; row < end; ++row) {
      const float* from = x + row * stride;
      float* to = z + row * stride;
      for (int64_t i = 0; i < columns; ++i) to[i] = from[i] * from[i];
    }
  };
  const std::string rows_text = columns == stride ? "" : " of rows with gaps";
  compare(("add" + rows_text).c_str(), "a loop", threads, 0.8, turns,
          [&] { bench::check(heed_add(a.get(), b.get(), c.get())); }, [&] { run_loop(add, rows, threads); });
  compare(("square" + rows_text).c_str(), "a loop", threads, 0.8, turns,
          [&] { bench::check(heed_elementwise(HEED_ELEMENTWISE_SQUARE, a.get(), nullptr, c.get())); },
          [&] { run_loop(square, rows, threads); });
}

struct LibraryFunction {
  const char* name;
  int32_t function;
  float (*of)(float);
  double bound;
};

// Arrays in the second-level cache.
void measure_functions(int64_t count, const Turns& turns) {
  constexpr LibraryFunction kFunctions[] = {
      {"exp", HEED_ELEMENTWISE_EXP, std::exp, 5},    {"log", HEED_ELEMENTWISE_LOG, std::log, 1},
      {"tanh", HEED_ELEMENTWISE_TANH, std::tanh, 5}, {"erf", HEED_ELEMENTWISE_ERF, std::erf, 5},
      {"sin", HEED_ELEMENTWISE_SIN, std::sin, 1},    {"cos", HEED_ELEMENTWISE_COS, std::cos, 1}};
  const Context context = open_context(1);
  heed_context* opened = context.get();
  const Tensor input = make_tensor(opened, {count});
  const Tensor exponent = make_tensor(opened, {count});
  const Tensor positive = make_tensor(opened, {count});
  const Tensor output = make_tensor(opened, {count});
  bench::check(heed_elementwise(HEED_ELEMENTWISE_ABSOLUTE, positive.get(), nullptr, positive.get()));
  float* to = data_of(output.get());
  for (const LibraryFunction& each : kFunctions) {
    heed_tensor* given = each.function == HEED_ELEMENTWISE_LOG ? positive.get() : input.get();
    const float* from = data_of(given);
    compare(
        each.name, "the C library", 1, each.bound, turns,
        [&] { bench::check(heed_elementwise(each.function, given, nullptr, output.get())); },
        [&] {
          for (int64_t i = 0; i < count; ++i) to[i] = each.of(from[i]);
        });
  }
  const float* bases = data_of(positive.get());
  const float* exponents = data_of(exponent.get());
  compare(
      "pow", "the C library", 1, 1, turns,
      [&] { bench::check(heed_elementwise(HEED_ELEMENTWISE_POWER, positive.get(), exponent.get(), output.get())); },
      [&] {
        for (int64_t i = 0; i < count; ++i) to[i] = std::pow(bases[i], exponents[i]);
      });
}

void measure_sort(int64_t count, const Turns& turns) {
  const Context context = open_context(1);
  heed_context* opened = context.get();
  const Tensor input = make_tensor(opened, {count});
  const Tensor output = make_tensor(opened, {count});
  const float* from = data_of(input.get());
  std::vector<float> numbers(static_cast<size_t>(count));
  compare(
      "sort", "std::sort", 1, 1 / 1.5, turns,
      [&] { bench::check(heed_sort(input.get(), 0, 0, output.get(), nullptr)); },
      [&] {
        std::copy_n(from, count, numbers.begin());
        std::sort(numbers.begin(), numbers.end());
      });
}

}  // namespace

int main(int argc, char** argv) {
  const bool is_quick = argc == 2 && std::strcmp(argv[1], "--quick") == 0;
  if (argc != (is_quick ? 2 : 1)) bench::fail("usage: array_cost [--quick]");
  const Turns turns = is_quick ? Turns{1, 0} : Turns{15, 0.02};
  const int64_t rows = is_quick ? 100 : 128 * 1024;
  bench::use_processors(2);
  std::printf("{\"arrays\": [");
  for (const int threads : {1, 2}) {
    measure_memory(threads, rows, 128, 128, turns);
    measure_memory(threads, rows, 100, 128, turns);
  }
  measure_functions(is_quick ? 100 : 32 * 1024, turns);
  measure_sort(is_quick ? 1000 : 1'000'000, turns);
  std::printf("]}\n");
  return 0;
}
