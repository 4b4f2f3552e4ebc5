// SPDX-License-Identifier: Apache-2.0
#include "base/kept_sentence.h"

#include <cstring>

namespace heed {

void KeptSentence::keep(const char* sentence) noexcept {
  char marked[kMarkedCapacity];
  print(sentence, text, sizeof text, marked);
  num_terms = 0;
  size_t at = 0;
  size_t used = std::strlen(text) + 1;
  SentencePart part;
  for (SentenceParts parts(marked); parts.next(part) && num_terms < kMaxTerms;) {
    const size_t begin = at;
    at += size_in_c(part);
    if (part.role == Role::Text) continue;
    if (part.role == Role::Flag) {
      if (part.text.size() + 1 > sizeof text - used) continue;
      used += part.text.copy(text + used, part.text.size());
      text[used++] = '\0';
    }
    terms[num_terms++] = {.begin = static_cast<uint16_t>(begin),
                          .size = static_cast<uint16_t>(part.text.size()),
                          .role = static_cast<uint8_t>(part.role)};
  }
}

void KeptSentence::mark(char (&marked)[kMarkedCapacity]) const noexcept {
  SentenceWriter writer(marked, sizeof marked);
  SentencePart part;
  for (KeptParts parts(*this); parts.next(part);) writer.add(part);
}

KeptParts::KeptParts(const KeptSentence& sentence)
    : sentence_(sentence), flag_(sentence.text + std::strlen(sentence.text) + 1) {}

bool KeptParts::next(SentencePart& part) {
  const char* const text = sentence_.text;
  if (text[at_] == '\0') return false;
  const bool is_behind_last = term_ == sentence_.num_terms;
  const size_t begin_of_term = is_behind_last ? std::strlen(text) : sentence_.terms[term_].begin;
  if (at_ < begin_of_term) {
    part = {Role::Text, {text + at_, begin_of_term - at_}};
    at_ = begin_of_term;
    return true;
  }
  const KeptSentence::Term& term = sentence_.terms[term_++];
  part.role = static_cast<Role>(term.role);
  if (part.role == Role::Flag) {
    part.text = {flag_, term.size};
    flag_ += term.size + 1;
  } else {
    part.text = {text + at_ + before_in_c(part.role).size(), term.size};
  }
  at_ += size_in_c(part);
  return true;
}

}  // namespace heed
