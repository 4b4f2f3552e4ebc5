// SPDX-License-Identifier: Apache-2.0
#include "other_cases.h"

#include <utility>

namespace bench {

OtherCases::OtherCases(std::string name, const std::vector<BenchCase>& cases, int threads, bool computes_the_same)
    : name_(std::move(name)), computes_the_same_(computes_the_same) {
  for (const BenchCase& one : cases) {
    data_.push_back(std::make_unique<Data>(one));
    calls_.push_back(std::make_unique<HeedSubject>(one, *data_.back(), threads));
    calls_.back()->prepare();
  }
}

void OtherCases::call() {
  for (const auto& one : calls_) one->call();
}

void OtherCases::restore() {
  for (const auto& one : calls_) one->restore();
}

std::vector<float> OtherCases::output() const {
  std::vector<float> all;
  for (const auto& one : calls_) {
    const std::vector<float> numbers = one->output();
    all.insert(all.end(), numbers.begin(), numbers.end());
  }
  return all;
}

}  // namespace bench
