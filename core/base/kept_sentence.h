// SPDX-License-Identifier: Apache-2.0
// The last sentence of a thread: the text that C gets, and the places of its terms (base/terms.h). It lies in thread-local
// memory, of which a library that is loaded by dlopen gets some hundred bytes in all: the sentence with its marks beside it
// would take twice as many. Nothing here allocates.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/sentence.h"

namespace heed {

// The size of the buffer behind heed_last_error(); longer sentences are cut.
inline constexpr size_t kErrorCapacity = 512;

struct KeptSentence {
  // Further terms are kept as plain text.
  static constexpr size_t kMaxTerms = 24;

  struct Term {
    uint16_t begin;  // in the sentence of C
    uint16_t size;   // of the term's text, without what C says before it
    uint8_t role;
  };

  // Keeps a marked sentence, in which each byte that is not printable ASCII becomes \xhh.
  void keep(const char* sentence) noexcept;
  // Writes it with its marks.
  void mark(char (&marked)[kMarkedCapacity]) const noexcept;

  // As C says it. Behind its terminating zero stand the whole texts of flags, such as "sinks 1", each with a zero of its own,
  // since C says their values alone; a flag for which there is no room is kept as plain text.
  char text[kErrorCapacity] = "";
  std::array<Term, kMaxTerms> terms = {};
  uint32_t num_terms = 0;
};

// The parts of a kept sentence, in their order. Their texts lie in the sentence.
class KeptParts {
 public:
  explicit KeptParts(const KeptSentence& sentence);

  // Whether there is another part, which is then written to `part`.
  bool next(SentencePart& part);

 private:
  const KeptSentence& sentence_;
  size_t at_ = 0;
  size_t term_ = 0;
  const char* flag_;
};

}  // namespace heed
