// SPDX-License-Identifier: Apache-2.0
// Reads the times of the processors from /proc/stat, which counts in ticks of usually 10 ms.
#include "disturbance.h"

#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string>

#include "clock.h"
#include "processors.h"

namespace bench {
namespace {

constexpr double kForeignShare = 0.05;
constexpr double kStolenShare = 0.02;
// A single thread that used less of the wall-clock time was interrupted, even if the ticks show no other process.
constexpr double kOwnShare = 0.96;

}  // namespace

DisturbanceWatch::DisturbanceWatch() : threads_(static_cast<int>(used_processors().size())), start_(read()) {}

DisturbanceWatch::Seconds DisturbanceWatch::read() const {
  Seconds seconds;
  const double tick = 1.0 / static_cast<double>(sysconf(_SC_CLK_TCK));
  const std::vector<int> used = used_processors();
  std::ifstream file("/proc/stat");
  for (std::string line; std::getline(file, line);) {
    if (line.rfind("cpu", 0) != 0 || line[3] == ' ') continue;
    std::istringstream words(line.substr(3));
    int processor = 0;
    double user = 0;
    double nice = 0;
    double system = 0;
    double idle = 0;
    double waiting = 0;
    double interrupts = 0;
    double soft_interrupts = 0;
    double stolen = 0;
    words >> processor >> user >> nice >> system >> idle >> waiting >> interrupts >> soft_interrupts >> stolen;
    if (std::find(used.begin(), used.end(), processor) == used.end()) continue;
    seconds.busy += tick * (user + nice + system + interrupts + soft_interrupts);
    seconds.stolen += tick * stolen;
  }
  seconds.wall = now();
  seconds.own = process_seconds();
  return seconds;
}

bool DisturbanceWatch::disturbed() const {
  const Seconds end = read();
  const double wall = end.wall - start_.wall;
  const double own = end.own - start_.own;
  const double foreign = end.busy - start_.busy - own;
  const double stolen = end.stolen - start_.stolen;
  // The times of each processor may be late by one tick.
  const double unsure = threads_ * 1.5 / static_cast<double>(sysconf(_SC_CLK_TCK));
  return foreign > kForeignShare * threads_ * wall + unsure || stolen > kStolenShare * threads_ * wall + unsure ||
         (threads_ == 1 && own < kOwnShare * wall);
}

}  // namespace bench
