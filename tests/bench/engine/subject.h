// SPDX-License-Identifier: Apache-2.0
// One way to compute a case: heed, or an operator of another library, ready to be called again and again.
#ifndef HEED_BENCH_SUBJECT_H
#define HEED_BENCH_SUBJECT_H

#include <memory>
#include <string>
#include <vector>

namespace bench {

class Subject {
 public:
  Subject() = default;
  Subject(const Subject&) = delete;
  Subject& operator=(const Subject&) = delete;
  virtual ~Subject() = default;

  // Subjects of one library share its threads.
  [[nodiscard]] virtual std::string library() const = 0;
  [[nodiscard]] virtual std::string name() const = 0;
  virtual void call() = 0;
  // What the last call computed, as numbers in the order (B, H, Q, Dv) of attention, (B, Q, E) of a layer, (M, N) of a
  // projection: the same in every subject, whatever its own layout.
  [[nodiscard]] virtual std::vector<float> output() const = 0;
};

using Subjects = std::vector<std::unique_ptr<Subject>>;

}  // namespace bench

#endif  // HEED_BENCH_SUBJECT_H
