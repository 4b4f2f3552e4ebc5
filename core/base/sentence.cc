// SPDX-License-Identifier: Apache-2.0
#include "base/sentence.h"

#include <algorithm>
#include <cstring>

#include "base/shown_text.h"

namespace heed {
namespace {

constexpr char kBegin = '\x01';
constexpr char kEnd = '\x02';
// The letter that marks a term of each role, by the number of the role. Plain text, number 0, has no marks.
constexpr std::string_view kLetters = "-osfiumacnktw";

// A part as C says it: what stands before the text, such as "options->", and the text; of a flag its value alone.
struct InC {
  std::string_view before;
  std::string_view text;
};

InC in_c(const SentencePart& part) {
  const bool is_flag = part.role == Role::Flag;
  return {before_in_c(part.role), is_flag ? part.text.substr(part.text.find(' ') + 1) : part.text};
}

bool is_printable(char c) { return c >= 0x20 && c < 0x7f; }

// The number of bytes of the term at the beginning of the text, with its marks; 0 if there is none. One whose end was cut
// ends with the text.
size_t term_size(std::string_view text) {
  if (text.size() < 2 || text[0] != kBegin || kLetters.find(text[1], 1) == std::string_view::npos) return 0;
  const auto end = std::find_if_not(text.begin() + 2, text.end(), is_printable);
  const auto size = static_cast<size_t>(end - text.begin());
  if (end == text.end()) return size;
  return *end == kEnd ? size + 1 : 0;
}

}  // namespace

std::string_view before_in_c(Role role) {
  if (role == Role::Option || role == Role::Setting) return "options->";
  if (role == Role::Input) return "inputs->";
  if (role == Role::Output) return "outputs->";
  return "";
}

bool SentenceParts::next(SentencePart& part) {
  if (rest_.empty()) return false;
  size_t size = term_size(rest_);
  if (size > 0) {
    part.role = static_cast<Role>(kLetters.find(rest_[1]));
    part.text = rest_.substr(2, size - 2);
    if (part.text.ends_with(kEnd)) part.text.remove_suffix(1);
  } else {
    do size = std::min(rest_.find(kBegin, size + 1), rest_.size());
    while (size < rest_.size() && term_size(rest_.substr(size)) == 0);
    part = {Role::Text, rest_.substr(0, size)};
  }
  rest_.remove_prefix(size);
  return true;
}

SentenceWriter::SentenceWriter(char* text, size_t capacity) : text_(text), room_(capacity - 1) { *text = '\0'; }

void SentenceWriter::add(std::string_view text) {
  const size_t size = std::min(text.size(), room_);
  std::memcpy(text_, text.data(), size);
  text_ += size;
  room_ -= size;
  *text_ = '\0';
}

void SentenceWriter::add(const SentencePart& part) {
  if (part.role == Role::Text) return add(part.text);
  constexpr size_t kMarks = 3;
  if (room_ < kMarks) return;
  const std::string_view text = part.text.substr(0, room_ - kMarks);
  const char begin[] = {kBegin, kLetters[static_cast<size_t>(part.role)]};
  add({begin, sizeof begin});
  add(text);
  add({&kEnd, 1});
}

void write_for_c(std::string_view marked, char* text, size_t capacity) {
  SentenceWriter writer(text, capacity);
  SentencePart part;
  for (SentenceParts parts(marked); parts.next(part);) {
    writer.add(in_c(part).before);
    writer.add(in_c(part).text);
  }
}

std::string said_in_c(std::string_view marked) {
  std::string said(marked.size() + 9 * static_cast<size_t>(std::ranges::count(marked, kBegin)) + 1, '\0');
  write_for_c(marked, said.data(), said.size());
  said.resize(std::strlen(said.c_str()));
  return said;
}

std::string marked(Role role, std::string_view text) {
  if (role == Role::Text) return std::string(text);
  return std::string{kBegin, kLetters[static_cast<size_t>(role)]}.append(text) + kEnd;
}

size_t size_in_c(const SentencePart& part) { return in_c(part).before.size() + in_c(part).text.size(); }

size_t size_in_c(std::string_view marked) {
  size_t size = 0;
  SentencePart part;
  for (SentenceParts parts(marked); parts.next(part);) size += size_in_c(part);
  return size;
}

void cut_for_c(char* marked, size_t size) {
  size_t left = size;
  SentencePart part;
  SentenceParts parts(marked);
  const char* kept = marked;
  while (parts.next(part)) {
    const auto [before, text] = in_c(part);
    const bool is_term = part.role != Role::Text;
    if (before.size() + text.size() > left) {
      // C says the beginning of a term that has less room than it needs. The text lies in the buffer that is cut.
      auto end = static_cast<size_t>(text.data() - marked) + (left > before.size() ? left - before.size() : 0);
      if (is_term && left <= before.size()) end = static_cast<size_t>(kept - marked);
      if (is_term && left > before.size()) marked[end++] = kEnd;
      marked[end] = '\0';
      return;
    }
    left -= before.size() + text.size();
    kept = text.data() + text.size() + (is_term ? 1 : 0);
  }
}

void add_to_options(char* marked, size_t capacity, std::string_view member) {
  char before[kMarkedCapacity];
  SentenceWriter(before, sizeof before).add(std::string_view(marked));
  SentenceWriter writer(marked, capacity);
  SentencePart part;
  for (SentenceParts parts(before); parts.next(part);) {
    if (part.role != Role::Option && part.role != Role::Setting) {
      writer.add(part);
      continue;
    }
    char path[kMarkedCapacity];
    SentenceWriter longer(path, sizeof path);
    longer.add(member);
    longer.add(std::string_view("->"));
    longer.add(part.text);
    writer.add({part.role, path});
  }
}

void print(std::string_view sentence, char* text, size_t capacity, char (&marked)[kMarkedCapacity]) {
  char raw[kMarkedCapacity];
  write_for_c(sentence, raw, std::min(capacity, sizeof raw));
  copy_printable(text, capacity, raw);
  SentenceWriter writer(marked, sizeof marked);
  SentencePart part;
  for (SentenceParts parts(sentence); parts.next(part);) {
    if (part.role != Role::Text) {
      writer.add(part);
      continue;
    }
    for (const char c : part.text) {
      const char one[] = {c, '\0'};
      char shown[5];
      copy_printable(shown, sizeof shown, one);
      writer.add(std::string_view(shown));
    }
  }
  cut_for_c(marked, std::strlen(text));
}

}  // namespace heed
