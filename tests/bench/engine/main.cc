// SPDX-License-Identifier: Apache-2.0
// attention_bench: the cases of shapes.txt. Each is a benchmark of Google Benchmark that runs once, with heed's median
// as its time and all other results as counters. A line is printed when a case ends; --json writes all results.
#include <benchmark/benchmark.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <regex>
#include <string>
#include <vector>

#include "bench_case.h"
#include "data.h"
#include "fail.h"
#include "idle.h"
#include "line_reporter.h"
#include "measure.h"
#include "memory.h"
#include "options.h"
#include "peers.h"
#include "processors.h"
#include "training.h"

namespace bench {
namespace {

void run_idle(benchmark::State& state, const BenchCase& bench_case, int threads, const Options& options) {
  for ([[maybe_unused]] auto turn : state) {
    const IdleResult result = measure_idle(bench_case, threads, options.quick ? 0 : 2 * options.seconds);
    state.SetIterationTime(result.apart);
    state.counters["threads_used"] = threads;
    state.counters["at_once"] = result.at_once;
    state.counters["apart"] = result.apart;
    state.counters["apart_asleep"] = result.apart_asleep;
    state.counters["processor"] = result.processor;
    state.counters["work"] = result.work;
  }
}

void run_training(benchmark::State& state, const BenchCase& bench_case, int threads, const Options& options) {
  for ([[maybe_unused]] auto turn : state) {
    const TrainingResult result = measure_training(bench_case, threads, options);
    for (const std::string& refusal : result.refusals) std::fprintf(stderr, "  %s\n", refusal.c_str());
    if (!result.skipped.empty()) {
      state.SkipWithError(result.skipped.c_str());
      return;
    }
    state.SetIterationTime(result.forward + result.backward);
    state.counters["threads_used"] = threads;
    state.counters["forward"] = result.forward;
    state.counters["forward_share_of_peak"] = result.forward_share_of_peak;
    state.counters["backward"] = result.backward;
    state.counters["least_backward"] = result.least_backward;
    state.counters["most_backward"] = result.most_backward;
    state.counters["share_of_peak"] = result.share_of_peak;
    state.counters["forwards"] = result.forwards;
    state.counters["peak_flops"] = result.peak_flops;
    if (result.optimizer > 0) {
      state.counters["optimizer"] = result.optimizer;
      state.counters["optimizer_of_step"] = result.optimizer_of_step;
    }
    state.counters["workspace_bytes"] = result.workspace_bytes;
    state.counters["saved_bytes"] = result.saved_bytes;
    for (const PeerResult& peer : result.peers) {
      state.counters["seconds of " + peer.name] = peer.seconds;
      state.counters["ratio to " + peer.name] = peer.ratio;
    }
    state.counters["rounds"] = result.num_rounds;
    state.counters["repeated"] = result.num_repeated;
    state.counters["disturbed"] = result.num_disturbed;
  }
}

void run(benchmark::State& state, const BenchCase& bench_case, int threads, const Options& options) {
  // Google Benchmark requires that its loop runs. The measurement has rounds of its own.
  for ([[maybe_unused]] auto turn : state) {
    const Result result = measure(bench_case, threads, options);
    for (const std::string& refusal : result.refusals) std::fprintf(stderr, "  %s\n", refusal.c_str());
    if (!result.skipped.empty()) {
      state.SkipWithError(result.skipped.c_str());
      return;
    }
    state.SetIterationTime(result.seconds);
    state.counters["threads_used"] = threads;
    state.counters["seconds"] = result.seconds;
    state.counters["least"] = result.least;
    state.counters["most"] = result.most;
    state.counters["flops"] = bench_case.flops();
    state.counters["share_of_peak"] = result.share_of_peak;
    state.counters["peak_flops"] = result.peak_flops;
    if (bench_case.bound_by_memory()) {
      state.counters["streamed_bytes"] = bench_case.streamed_bytes();
      state.counters["share_of_bandwidth"] = result.share_of_bandwidth;
      state.counters["read_bandwidth"] = result.read_bandwidth;
    }
    if (threads > 1) state.counters["handover"] = result.handover;
    state.counters["workspace_bytes"] = result.workspace_bytes;
    for (const PeerResult& peer : result.peers) {
      state.counters["seconds of " + peer.name] = peer.seconds;
      state.counters["ratio to " + peer.name] = peer.ratio;
    }
    state.counters["extra_bytes"] = result.extra_bytes;
    state.counters["rounds"] = result.num_rounds;
    state.counters["repeated"] = result.num_repeated;
    state.counters["disturbed"] = result.num_disturbed;
    state.SetLabel(result.explanation);
  }
}

std::string processor_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (line.rfind("model name", 0) == 0) return line.substr(line.find(':') + 2);
  }
  return "unknown";
}

void register_cases(const Options& options) {
  const std::regex filter(options.filter);
  const auto most_threads = static_cast<int>(processors().size());
  for (BenchCase bench_case : read_cases(options.shapes)) {
    if (!std::regex_search(bench_case.name, filter)) continue;
    // Two copies run the same code. Filling as many as exceed the caches takes far longer than one call.
    if (options.quick) bench_case.cold_bytes = 0;
    for (const int threads : options.threads) {
      if (threads < 1 || threads > most_threads) continue;
      const std::string name =
          bench_case.name + (options.isa.empty() ? "" : "/" + options.isa) + "/" + std::to_string(threads);
      const auto body = [=](benchmark::State& state) {
        const bool trains = bench_case.gradients != Gradients::kNone;
        (trains ? run_training : bench_case.kind == Kind::kIdle ? run_idle : run)(state, bench_case, threads, options);
      };
      benchmark::RegisterBenchmark(name.c_str(), body)->Iterations(1)->UseManualTime()->Unit(benchmark::kMillisecond);
    }
  }
}

int print_memory(const Options& options) {
  for (const BenchCase& bench_case : read_cases(options.shapes)) {
    if (bench_case.name != options.memory_of) continue;
    std::printf("%lld\n", static_cast<long long>(extra_memory(bench_case, options.threads.front())));
    return 0;
  }
  fail("no case is named '" + options.memory_of + "'");
}

// The machine and the libraries that the results depend on.
void describe() {
  const Context context = make_context(0);
  size_t num_bytes = 0;
  check(heed_context_describe(context.get(), nullptr, 0, &num_bytes));
  std::string text(num_bytes, '\0');
  check(heed_context_describe(context.get(), text.data(), num_bytes, nullptr));
  text.pop_back();
  benchmark::AddCustomContext("heed", text);
  benchmark::AddCustomContext("peers", describe_peers());
  benchmark::AddCustomContext("processor", processor_name());
  benchmark::AddCustomContext("compiler", HEED_BENCH_COMPILER);
}

int run_all(int argc, char** argv) {
  const Options options = read_options(argc, argv);
  if (options.list) {
    for (const BenchCase& bench_case : read_cases(options.shapes)) std::printf("%s\n", bench_case.name.c_str());
    return 0;
  }
  if (!options.isa.empty()) setenv("HEED_ISA", options.isa.c_str(), 1);
  if (!options.memory_of.empty()) return print_memory(options);
  register_cases(options);
  std::vector<std::string> words = {argv[0]};
  if (!options.json.empty())
    words.insert(words.end(), {"--benchmark_out=" + options.json, "--benchmark_out_format=json"});
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  auto count = static_cast<int>(pointers.size());
  benchmark::Initialize(&count, pointers.data());
  describe();
  LineReporter reporter;
  return benchmark::RunSpecifiedBenchmarks(&reporter) > 0 ? 0 : 1;
}

}  // namespace
}  // namespace bench

int main(int argc, char** argv) {
  try {
    return bench::run_all(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
