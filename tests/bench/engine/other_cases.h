// SPDX-License-Identifier: Apache-2.0
// heed on other cases than the one that is measured, as a subject to compare it with.
#ifndef HEED_BENCH_OTHER_CASES_H
#define HEED_BENCH_OTHER_CASES_H

#include <memory>
#include <string>
#include <vector>

#include "data.h"
#include "heed_subject.h"
#include "subject.h"

namespace bench {

// A call computes all the cases, one after another.
class OtherCases : public Subject {
 public:
  OtherCases(std::string name, const std::vector<BenchCase>& cases, int threads, bool computes_the_same);

  [[nodiscard]] std::string library() const override { return "heed"; }
  [[nodiscard]] std::string name() const override { return name_; }
  void call() override;
  [[nodiscard]] bool must_restore() const override { return calls_.front()->must_restore(); }
  void restore() override;
  // The outputs of the cases, one after another.
  [[nodiscard]] std::vector<float> output() const override;
  [[nodiscard]] bool computes_the_same() const override { return computes_the_same_; }

 private:
  std::string name_;
  bool computes_the_same_;
  std::vector<std::unique_ptr<Data>> data_;
  std::vector<std::unique_ptr<HeedSubject>> calls_;
};

}  // namespace bench

#endif  // HEED_BENCH_OTHER_CASES_H
