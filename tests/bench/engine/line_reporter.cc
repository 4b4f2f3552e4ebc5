// SPDX-License-Identifier: Apache-2.0
// Prints a line for each case when it ends.
#include "line_reporter.h"

#include <cstdio>
#include <string>

namespace bench {
namespace {

double counter(const benchmark::BenchmarkReporter::Run& run, const std::string& name) {
  const auto found = run.counters.find(name);
  return found == run.counters.end() ? 0 : found->second.value;
}

// The end of a line.
void print_peers(const benchmark::BenchmarkReporter::Run& run) {
  const std::string of_ratio = "ratio to ";
  for (const auto& [key, ratio] : run.counters) {
    if (key.rfind(of_ratio, 0) != 0) continue;
    const std::string peer = key.substr(of_ratio.size());
    std::printf("  %s %.2f (%.1f)", peer.c_str(), ratio.value, 1e6 * counter(run, "seconds of " + peer));
  }
  if (counter(run, "disturbed") > 0) std::printf("  disturbed");
  std::printf("\n");
  std::fflush(stdout);
}

}  // namespace

bool LineReporter::ReportContext(const Context& context) {
  (void)context;
  std::printf("%-34s %10s %7s %8s %6s %6s  %s\n", "case/threads", "heed, us", "spread", "GFLOP/s", "peak", "read",
              "peers: their time over heed's, and in us; above 1 heed is faster");
  return true;
}

void LineReporter::ReportRuns(const std::vector<Run>& runs) {
  for (const Run& run : runs) {
    std::string name = run.benchmark_name();
    name = name.substr(0, name.find("/iterations:"));
    if (run.error_occurred) {
      std::printf("%-34s left out: %s\n", name.c_str(), run.error_message.c_str());
      continue;
    }
    if (run.counters.count("apart") != 0) {
      std::printf("%-34s %10.2f at once %.2f, caller asleep %.2f, processor time %.2f of work %.2f\n", name.c_str(),
                  1e6 * counter(run, "apart"), 1e6 * counter(run, "at_once"), 1e6 * counter(run, "apart_asleep"),
                  1e6 * counter(run, "processor"), 1e6 * counter(run, "work"));
      continue;
    }
    if (run.counters.count("backward") != 0) {
      std::printf("%-34s %10.2f forward %5.1f%%, backward %.2f %5.1f%%, %.2f forwards", name.c_str(),
                  1e6 * counter(run, "forward"), 100 * counter(run, "forward_share_of_peak"),
                  1e6 * counter(run, "backward"), 100 * counter(run, "share_of_peak"), counter(run, "forwards"));
      if (run.counters.count("optimizer") != 0) {
        std::printf(", optimizer %.2f, %.1f%% of a step", 1e6 * counter(run, "optimizer"),
                    100 * counter(run, "optimizer_of_step"));
      }
      print_peers(run);
      continue;
    }
    const double seconds = counter(run, "seconds");
    std::printf("%-34s %10.2f %6.1f%% %8.1f %5.1f%%", name.c_str(), 1e6 * seconds,
                100 * (counter(run, "most") - counter(run, "least")) / seconds, 1e-9 * counter(run, "flops") / seconds,
                100 * counter(run, "share_of_peak"));
    if (counter(run, "read_bandwidth") > 0) {
      std::printf(" %5.1f%%", 100 * counter(run, "share_of_bandwidth"));
    } else {
      std::printf(" %6s", "");
    }
    print_peers(run);
  }
}

}  // namespace bench
