// SPDX-License-Identifier: Apache-2.0
#include "layout_subjects.h"

#include "fail.h"
#include "heed_subject.h"
#include "rounds.h"

namespace bench {
namespace {

BenchCase dense_case(BenchCase bench_case) {
  bench_case.key_layout = KeyLayout::kHeads;
  return bench_case;
}

class DenseSubject : public Subject {
 public:
  DenseSubject(const BenchCase& bench_case, const Data& given, int threads, bool copies)
      : given_(given), data_(dense_case(bench_case)), heed_(dense_case(bench_case), data_, threads), copies_(copies) {
    heed_.prepare();
  }

  [[nodiscard]] std::string library() const override { return "heed"; }
  [[nodiscard]] std::string name() const override { return copies_ ? "copy and heed" : "heed dense"; }
  void call() override {
    const size_t turn = next_++ % data_.keys.size();
    if (copies_) {
      check(heed_tensor_copy(data_.keys[turn].get(), given_.keys[turn].get()));
      check(heed_tensor_copy(data_.values[turn].get(), given_.values[turn].get()));
    }
    heed_.call();
  }
  [[nodiscard]] std::vector<float> output() const override { return heed_.output(); }

 private:
  const Data& given_;
  Data data_;
  HeedSubject heed_;
  bool copies_;
  size_t next_ = 0;
};

}  // namespace

Subjects make_layout_subjects(const BenchCase& bench_case, const Data& data, int threads) {
  Subjects subjects;
  for (const bool copies : {false, true}) {
    subjects.push_back(std::make_unique<DenseSubject>(bench_case, data, threads, copies));
    wait_for_quiet();
  }
  return subjects;
}

}  // namespace bench
