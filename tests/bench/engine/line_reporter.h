// SPDX-License-Identifier: Apache-2.0
// Prints a line for each case when it ends.
#ifndef HEED_BENCH_LINE_REPORTER_H
#define HEED_BENCH_LINE_REPORTER_H

#include <benchmark/benchmark.h>

#include <vector>

namespace bench {

class LineReporter : public benchmark::BenchmarkReporter {
 public:
  bool ReportContext(const Context& context) override;
  void ReportRuns(const std::vector<Run>& runs) override;
};

}  // namespace bench

#endif  // HEED_BENCH_LINE_REPORTER_H
