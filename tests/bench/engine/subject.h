// SPDX-License-Identifier: Apache-2.0
// One way to compute a case: heed, or an operator of another library, prepared so that it can be called repeatedly.
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

  // Subjects of the same library share its threads.
  [[nodiscard]] virtual std::string library() const = 0;
  [[nodiscard]] virtual std::string name() const = 0;
  virtual void call() = 0;
  // Undoes what the last call changed, so that the next one computes the same; this must follow each call if must_restore.
  // It is not part of the time.
  [[nodiscard]] virtual bool must_restore() const { return false; }
  virtual void restore() {}
  // The result of the last call as numbers, in the order (B, H, Q, Dv) for attention, (B, Q, E) for a layer, (M, N) for
  // a projection, (B, Q, H * Dv) for a cache, whatever the subject's own layout is.
  [[nodiscard]] virtual std::vector<float> output() const = 0;
  // False for a subject that leaves something out, to show what that takes: its output is not compared.
  [[nodiscard]] virtual bool computes_the_same() const { return true; }
};

using Subjects = std::vector<std::unique_ptr<Subject>>;

}  // namespace bench

#endif  // HEED_BENCH_SUBJECT_H
