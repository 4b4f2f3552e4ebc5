// SPDX-License-Identifier: Apache-2.0
// Reads the command line.
#include "options.h"

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <sstream>

namespace bench {
namespace {

constexpr const char* kUsage =
    "usage: attention_bench [options]\n"
    "  --filter REGEX   cases whose name has a match of REGEX (all)\n"
    "  --threads 1,2    with so many threads each (1,2; those that the machine has)\n"
    "  --isa ISA        forces it: portable, avx2, avx512, ... (HEED_ISA of the environment)\n"
    "  --time SECONDS   for each of a case's subjects (0.5)\n"
    "  --quick          every case once or so: only shows that it runs\n"
    "  --no-peers       heed alone\n"
    "  --longest S      leaves cases out in which a call of heed would take longer, in seconds (2)\n"
    "  --json FILE      keeps all figures\n"
    "  --shapes FILE    other cases\n"
    "  --memory-of NAME only prints the bytes of memory that heed needs for this case beyond its tensors\n"
    "  --list           only prints the cases' names\n";

[[noreturn]] void usage(int status) {
  std::fputs(kUsage, status == 0 ? stdout : stderr);
  std::exit(status);
}

std::vector<int> read_threads(const std::string& list) {
  std::vector<int> threads;
  std::istringstream in(list);
  for (std::string number; std::getline(in, number, ',');) threads.push_back(std::atoi(number.c_str()));
  return threads;
}

}  // namespace

Options read_options(int argc, char** argv) {
  Options options;
  const std::map<std::string, std::function<void(const std::string&)>> with_value = {
      {"--filter", [&](const std::string& value) { options.filter = value; }},
      {"--threads", [&](const std::string& value) { options.threads = read_threads(value); }},
      {"--isa", [&](const std::string& value) { options.isa = value; }},
      {"--time", [&](const std::string& value) { options.seconds = std::atof(value.c_str()); }},
      {"--longest", [&](const std::string& value) { options.longest_call = std::atof(value.c_str()); }},
      {"--json", [&](const std::string& value) { options.json = value; }},
      {"--memory-of", [&](const std::string& value) { options.memory_of = value; }},
      {"--shapes", [&](const std::string& value) { options.shapes = value; }},
  };
  const std::map<std::string, std::function<void()>> alone = {
      {"--quick", [&] { options.quick = true; }},
      {"--no-peers", [&] { options.peers = false; }},
      {"--list", [&] { options.list = true; }},
      {"--help", [] { usage(0); }},
  };
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (const auto found = alone.find(word); found != alone.end()) {
      found->second();
    } else if (const auto taker = with_value.find(word); taker != with_value.end() && i + 1 < argc) {
      taker->second(argv[++i]);
    } else {
      std::fprintf(stderr, "attention_bench: what is '%s'?\n", argv[i]);
      usage(2);
    }
  }
  if (const char* isa = std::getenv("HEED_ISA"); isa != nullptr && options.isa.empty()) options.isa = isa;
  return options;
}

}  // namespace bench
