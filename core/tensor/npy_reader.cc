// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <charconv>
#include <cstring>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/checked.h"
#include "base/error.h"
#include "base/shown_text.h"
#include "tensor/copy.h"
#include "tensor/file_kind.h"
#include "tensor/host_image.h"
#include "tensor/npy.h"
#include "tensor/npy_format.h"
#include "tensor/size_product.h"

namespace heed {
namespace {

constexpr int64_t kMaxSize = std::numeric_limits<int64_t>::max();
constexpr uint64_t kVersionBytes = 2;

// The deepest accepted nesting of lists and tuples in a structured dtype. NumPy's own dtypes nest a few levels.
constexpr size_t kMaxNesting = 32;

unsigned long long wide(uint64_t value) { return value; }

// The contents of a header. The parser checks everything that does not depend on the rest of the file.
struct NpyHeader {
  // As written in the header, quotes and brackets included.
  std::string_view descr;
  bool fortran_order = false;
  // The whole rank: `shape` holds the first kMaxRank sizes only.
  uint64_t rank = 0;
  Shape shape;
  SizeProduct product;
};

// Python's notation as far as headers use it: a dict with three keys, strings without prefixes, True and False, a tuple
// of whole numbers. A structured dtype is skipped without interpreting it.
class NpyHeaderParser {
 public:
  NpyHeaderParser(std::string_view text, std::string path) : text_(text), path_(std::move(path)) {}

  NpyHeader parse() {
    expect('{', "a dict, '{'");
    while (!next_is('}')) {
      parse_entry();
      if (next_is('}')) break;
      expect(',', "',' or '}'");
    }
    ++at_;
    skip_space();
    if (at_ < text_.size()) fail_found("its end after the dict");
    for (const Field& field : fields_) {
      if (!field.seen) fail(Status::CorruptFile, "\"%s\": the header has no %s", path_.c_str(), field.name);
    }
    return header_;
  }

 private:
  struct Field {
    const char* name;
    void (NpyHeaderParser::*parse_value)();
    bool seen = false;
  };

  // Fails because the text at the current position is not `expected`; the message shows the text.
  [[noreturn]] void fail_found(const char* expected) const {
    if (at_ >= text_.size()) {
      fail(Status::CorruptFile, "\"%s\": the header ends at its byte %zu, expected %s", path_.c_str(), at_, expected);
    }
    fail(Status::CorruptFile, "\"%s\": the header has \"%s\" at its byte %zu, expected %s", path_.c_str(),
         shown(text_.substr(at_, 1)).c_str(), at_, expected);
  }

  void skip_space() {
    while (at_ < text_.size() && std::string_view(" \t\r\n").find(text_[at_]) != std::string_view::npos) ++at_;
  }

  bool next_is(char wanted) {
    skip_space();
    return at_ < text_.size() && text_[at_] == wanted;
  }

  void expect(char wanted, const char* expected) {
    if (!next_is(wanted)) fail_found(expected);
    ++at_;
  }

  bool next_is_string() { return next_is('\'') || next_is('"'); }

  // A string with its quotes. Escapes are not decoded: no key or dtype that heed knows contains one.
  std::string_view take_string() {
    const size_t begin = at_;
    const char quote = text_[at_++];
    for (; at_ < text_.size() && text_[at_] != quote; ++at_) {
      const auto byte = static_cast<unsigned char>(text_[at_]);
      if (byte < 0x20u || byte == 0x7Fu) fail_found("no control characters in a string");
      if (byte == '\\' && at_ + 1 < text_.size()) ++at_;
    }
    if (at_ >= text_.size()) {
      fail(Status::CorruptFile, "\"%s\": the header ends inside the string that begins at its byte %zu", path_.c_str(),
           begin);
    }
    ++at_;
    return text_.substr(begin, at_ - begin);
  }

  // A word or number: characters that are neither white space nor punctuation of the notation.
  std::string_view take_word() {
    skip_space();
    const size_t begin = at_;
    while (at_ < text_.size() && std::string_view(" \t\r\n,:'\"()[]{}").find(text_[at_]) == std::string_view::npos) {
      ++at_;
    }
    return text_.substr(begin, at_ - begin);
  }

  void parse_entry() {
    if (!next_is_string()) fail_found("a key in quotes");
    const std::string_view quoted = take_string();
    const std::string_view key = quoted.substr(1, quoted.size() - 2);
    const auto field =
        std::find_if(std::begin(fields_), std::end(fields_), [&](auto& each) { return key == each.name; });
    if (field == std::end(fields_)) {
      fail(Status::CorruptFile, "\"%s\": the header has a key \"%s\", expected only descr, fortran_order and shape",
           path_.c_str(), shown(key).c_str());
    }
    if (std::exchange(field->seen, true)) {
      fail(Status::CorruptFile, "\"%s\": the header has its %s twice", path_.c_str(), field->name);
    }
    expect(':', "':' after a key");
    (this->*field->parse_value)();
  }

  void parse_descr() {
    if (next_is_string()) {
      header_.descr = take_string();
    } else if (next_is('[') || next_is('(')) {
      header_.descr = take_nested();
    } else {
      fail_found("a dtype in quotes");
    }
  }

  // A list or tuple with its contents.
  std::string_view take_nested() {
    const size_t begin = at_;
    char ends[kMaxNesting] = {};
    size_t depth = 0;
    do {
      if (next_is_string()) {
        take_string();
      } else if (next_is('[') || next_is('(')) {
        if (depth == kMaxNesting) {
          fail(Status::CorruptFile, "\"%s\": the header's descr nests deeper than %zu brackets at its byte %zu",
               path_.c_str(), kMaxNesting, at_);
        }
        ends[depth++] = text_[at_++] == '[' ? ']' : ')';
      } else if (next_is(ends[depth - 1])) {
        --depth;
        ++at_;
      } else if (next_is(',')) {
        ++at_;
      } else {
        take_plain_word();
      }
    } while (depth > 0);
    return text_.substr(begin, at_ - begin);
  }

  // Letters and digits, such as None or a size.
  void take_plain_word() {
    const std::string_view word = take_word();
    const auto stray = std::find_if(word.begin(), word.end(), [](char c) {
      return !(('0' <= c && c <= '9') || ('A' <= c && c <= 'Z') || ('a' <= c && c <= 'z'));
    });
    at_ -= static_cast<size_t>(word.end() - stray);
    if (word.empty() || stray != word.end()) fail_found("a list of fields");
  }

  void parse_fortran_order() {
    const std::string_view word = take_word();
    if (word.empty()) fail_found("True or False");
    if (word != "True" && word != "False") {
      fail(Status::CorruptFile, "\"%s\": the header has fortran_order %s, expected True or False", path_.c_str(),
           shown(word).c_str());
    }
    header_.fortran_order = word == "True";
  }

  void parse_shape() {
    expect('(', "a shape, '('");
    bool has_comma = true;
    while (!next_is(')')) {
      if (!has_comma) fail_found("',' or ')'");
      parse_size();
      has_comma = next_is(',');
      if (has_comma) ++at_;
    }
    ++at_;
    if (header_.rank == 1 && !has_comma) {
      fail(Status::CorruptFile, "\"%s\": the header has shape (%lld), a number in Python, expected (%lld,)",
           path_.c_str(), static_cast<long long>(header_.shape[0]), static_cast<long long>(header_.shape[0]));
    }
  }

  void parse_size() {
    const std::string_view word = take_word();
    if (word.empty()) fail_found("a size");
    int64_t size = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), size);
    const bool is_number = error == std::errc() && end == word.data() + word.size() && size >= 0 && word[0] != '-';
    if (!is_number || (word[0] == '0' && word.size() > 1)) {
      fail(Status::CorruptFile,
           "\"%s\": the header has %s as size %llu of its shape, expected a whole number from 0 to %lld", path_.c_str(),
           shown(word).c_str(), wide(header_.rank), static_cast<long long>(kMaxSize));
    }
    if (!header_.product.multiply(size)) {
      fail(Status::CorruptFile, "\"%s\": the header's shape has a product that exceeds %lld at its size %llu, %lld",
           path_.c_str(), static_cast<long long>(kMaxSize), wide(header_.rank), static_cast<long long>(size));
    }
    if (header_.shape.rank < kMaxRank) header_.shape[header_.shape.rank++] = size;
    ++header_.rank;
  }

  std::string_view text_;
  std::string path_;
  size_t at_ = 0;
  NpyHeader header_;
  Field fields_[3] = {{"descr", &NpyHeaderParser::parse_descr},
                      {"fortran_order", &NpyHeaderParser::parse_fortran_order},
                      {"shape", &NpyHeaderParser::parse_shape}};
};

// The dtype that a header's descr names; throws Unsupported, with what to do, for others.
DType dtype_of(std::string_view descr, const std::string& path) {
  if (descr.front() == '[' || descr.front() == '(') {
    fail(Status::Unsupported,
         "\"%s\" has descr %s: it is a structured array, expected numbers of one dtype: save each field by itself",
         path.c_str(), shown(descr).c_str());
  }
  const std::string_view name = descr.substr(1, descr.size() - 2);
  const auto known = find_dtype([&](DType dtype) {
    const std::string_view own = npy_descr(dtype);
    return name.size() == 3 && !own.empty() && name.substr(1) == own.substr(1);
  });
  if (known.has_value()) {
    // For elements of one byte, any byte order in the file is accepted.
    const bool has_order = size_of(*known) > 1;
    if (name[0] == '<' || (!has_order && (name[0] == '|' || name[0] == '>'))) return *known;
    if (name[0] == '>') {
      fail(Status::Unsupported,
           "\"%s\" has descr %s: it is big endian, expected little endian: save array.astype('%s') instead",
           path.c_str(), shown(descr).c_str(), std::string(npy_descr(*known)).c_str());
    }
  }
  if (name.size() >= 2 && name[1] == 'O') {
    fail(Status::Unsupported,
         "\"%s\" has descr %s: it is an array of Python objects, which are pickled, expected numbers: save "
         "array.astype('<f4') instead",
         path.c_str(), shown(descr).c_str());
  }
  fail(Status::Unsupported, "\"%s\" has descr %s, expected one of <f4, <f2, <f8, <i4, <i8, |i1, |u1, |b1", path.c_str(),
       shown(descr).c_str());
}

// The offset of the header in the file, and its length.
struct HeaderRange {
  uint64_t offset = 0;
  uint64_t num_bytes = 0;
};

HeaderRange find_header(const ByteSource& source, const std::string& path) {
  // The longest possible prefix of the header: magic string, version, a length of four bytes.
  unsigned char bytes[12] = {};
  const uint64_t num_bytes = source.num_bytes();
  const size_t num_read = static_cast<size_t>(std::min<uint64_t>(num_bytes, sizeof bytes));
  source.read(0, bytes, num_read);
  const std::string_view start(reinterpret_cast<const char*>(bytes), std::min(num_read, kNpyMagic.size()));
  if (start != kNpyMagic.substr(0, start.size())) {
    refuse_other_kind(source, FileFormat::Npy);
    fail(Status::CorruptFile, "\"%s\": the file begins with \"%s\", expected the magic string \"%s\"", path.c_str(),
         shown(start).c_str(), shown(kNpyMagic).c_str());
  }
  const uint64_t before_length = kNpyMagic.size() + kVersionBytes;
  const auto require_bytes = [&](uint64_t needed) {
    if (num_bytes < needed) {
      fail(Status::CorruptFile,
           "\"%s\": the file has %llu bytes, expected at least %llu for the version and the header's length",
           path.c_str(), wide(num_bytes), wide(needed));
    }
  };
  require_bytes(before_length);
  const int major = bytes[kNpyMagic.size()];
  const int minor = bytes[kNpyMagic.size() + 1];
  if (major < 1 || major > 3 || minor != 0) {
    fail(Status::Unsupported, "\"%s\" has format version %d.%d, expected 1.0, 2.0 or 3.0", path.c_str(), major, minor);
  }
  const size_t length_bytes = major == 1 ? 2 : 4;
  HeaderRange header;
  header.offset = before_length + length_bytes;
  require_bytes(header.offset);
  std::memcpy(&header.num_bytes, bytes + before_length, length_bytes);
  if (header.num_bytes > num_bytes - header.offset) {
    fail(Status::CorruptFile, "\"%s\": the header's length is %llu, but only %llu bytes follow", path.c_str(),
         wide(header.num_bytes), wide(num_bytes - header.offset));
  }
  if (header.num_bytes > kMaxNpyHeader) {
    fail(Status::CorruptFile, "\"%s\": the header's length is %llu, expected at most %llu", path.c_str(),
         wide(header.num_bytes), wide(kMaxNpyHeader));
  }
  return header;
}

// The file must have exactly as many bytes of data as the shape needs.
void check_data_size(const NpyHeader& header, DType dtype, uint64_t num_data_bytes, const std::string& path) {
  const auto num_bytes_each = static_cast<int64_t>(size_of(dtype));
  int64_t without_zeros = 0;
  if (!checked_multiply(header.product.without_zeros(), num_bytes_each, without_zeros)) {
    fail(Status::CorruptFile,
         "\"%s\": the header's shape has sizes other than 0 that make %lld elements of %s, whose size in bytes "
         "overflows",
         path.c_str(), static_cast<long long>(header.product.without_zeros()), name_of(dtype));
  }
  const int64_t expected = header.product.num_elements() * num_bytes_each;
  if (static_cast<uint64_t>(expected) != num_data_bytes) {
    fail(Status::CorruptFile, "\"%s\": the file has %llu bytes of data, but its %lld elements of %s are %lld bytes",
         path.c_str(), wide(num_data_bytes), static_cast<long long>(header.product.num_elements()), name_of(dtype),
         static_cast<long long>(expected));
  }
}

}  // namespace

Tensor load_npy(std::shared_ptr<const Memory> memory, const ByteSource& source) {
  const std::string path = shown(source.name());
  const HeaderRange range = find_header(source, path);
  std::string text(range.num_bytes, '\0');
  source.read(range.offset, text.data(), text.size());
  const NpyHeader header = NpyHeaderParser(text, path).parse();
  const DType dtype = dtype_of(header.descr, path);
  const uint64_t data_offset = range.offset + range.num_bytes;
  check_data_size(header, dtype, source.num_bytes() - data_offset, path);
  if (header.rank > static_cast<uint64_t>(kMaxRank)) {
    fail(Status::Unsupported, "\"%s\" has %llu dimensions, expected at most %d", path.c_str(), wide(header.rank),
         kMaxRank);
  }

  Tensor result = Tensor::zeros(std::move(memory), dtype, header.shape);
  const HostImage written(result);
  const Tensor& tensor = written.image();
  // Column-major order is the row-major order of the transposed array.
  const Tensor in_file_order = header.fortran_order ? tensor.transpose(nullptr) : tensor;
  if (in_file_order.is_row_major()) {
    source.read(data_offset, tensor.data(), tensor.num_bytes());
    written.commit();
    return result;
  }
  const int64_t most = std::min(npy_buffer_elements(dtype), tensor.num_elements());
  std::vector<std::byte> buffer(static_cast<size_t>(most) * size_of(dtype));
  for (int64_t first = 0; first < tensor.num_elements(); first += most) {
    const int64_t count = std::min(most, tensor.num_elements() - first);
    const auto offset = static_cast<uint64_t>(first) * size_of(dtype);
    source.read(data_offset + offset, buffer.data(), static_cast<size_t>(count) * size_of(dtype));
    write_elements(in_file_order, first, count, buffer.data());
  }
  written.commit();
  return result;
}

}  // namespace heed
