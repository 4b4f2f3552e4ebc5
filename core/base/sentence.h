// SPDX-License-Identifier: Apache-2.0
// Sentences whose terms are marked (base/terms.h): their parts, and how C says them.
// Only the functions that return a string allocate.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace heed {

// Room for a sentence of the largest size that C gets, with the marks of its terms.
inline constexpr size_t kMarkedCapacity = 1024;

// What a part of a sentence is; the same numbers as HEED_ROLE_ in heed.h, which says what each is. capi/src asserts it.
enum class Role : int32_t {
  Text = 0,
  Option = 1,
  Setting = 2,
  Flag = 3,
  Input = 4,
  Output = 5,
  Member = 6,
  Argument = 7,
  Constant = 8,
  Function = 9,
  Kind = 10,
  DType = 11,
  Word = 12,
};

struct SentencePart {
  Role role = Role::Text;
  std::string_view text;  // without marks
};

// The parts of a marked sentence, in their order. Bytes that mark no term, such as those of a name from a file, are text.
class SentenceParts {
 public:
  explicit SentenceParts(std::string_view marked) : rest_(marked) {}

  // Whether there is another part, which is then written to `part`.
  bool next(SentencePart& part);

 private:
  std::string_view rest_;
};

// A buffer for a sentence, which is cut where it ends.
class SentenceWriter {
 public:
  SentenceWriter(char* text, size_t capacity);

  void add(std::string_view text);
  // The part with its marks, which are never cut.
  void add(const SentencePart& part);

 private:
  char* text_;
  size_t room_;  // without the terminating zero
};

// As C says it, cut to the capacity.
void write_for_c(std::string_view marked, char* text, size_t capacity);
std::string said_in_c(std::string_view marked);
// The term with its marks; of text, the text.
std::string marked(Role role, std::string_view text);
size_t size_in_c(std::string_view marked);
size_t size_in_c(const SentencePart& part);
// What C says before the text of a term, such as "options->".
std::string_view before_in_c(Role role);

// Cuts a marked sentence to so many bytes as C says it.
void cut_for_c(char* marked, size_t size);

// Puts a member before the path of each option, as "attention" before options->num_heads.
void add_to_options(char* marked, size_t capacity, std::string_view member);

// What a program gets to read, in which each byte that is not printable ASCII is \xhh: the sentence of C, cut to the
// capacity, and the same with its marks.
void print(std::string_view sentence, char* text, size_t capacity, char (&marked)[kMarkedCapacity]);

}  // namespace heed
