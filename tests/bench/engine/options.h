// SPDX-License-Identifier: Apache-2.0
// The command line of attention_bench.
#ifndef HEED_BENCH_OPTIONS_H
#define HEED_BENCH_OPTIONS_H

#include <string>
#include <vector>

namespace bench {

struct Options {
  std::string shapes = HEED_BENCH_SHAPES;
  std::string filter = ".";  // a regular expression, searched in a case's name
  std::vector<int> threads = {1, 2};
  std::string isa;          // as in HEED_ISA, which it sets; without the option the value of HEED_ISA
  std::string json;         // a file, or empty
  double seconds = 0.5;     // for each subject of a case
  double longest_call = 2;  // cases in which one call of heed would take longer are left out
  bool quick = false;       // each case about once
  bool peers = true;
  bool list = false;
  // Whether peers take part in a case in which a call of heed takes about so many seconds: with --quick, in short ones.
  [[nodiscard]] bool with_peers(double expected) const { return peers && (!quick || expected < 3e-3); }

  std::string memory_of;  // a case: only print how many bytes of memory heed needs for it
};

// Prints the usage and ends the program on --help and on unknown options.
Options read_options(int argc, char** argv);

}  // namespace bench

#endif  // HEED_BENCH_OPTIONS_H
