// SPDX-License-Identifier: Apache-2.0
#include "tensor/safetensors_index.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/json_reader.h"
#include "base/shown_text.h"

namespace heed {
namespace {

constexpr std::string_view kEnding = ".safetensors";
constexpr std::string_view kOf = "-of-";

// A range of the text that contains all names; 32 bits are enough for the largest index.
struct TextRange {
  uint32_t begin = 0;
  uint32_t length = 0;
};

struct Entry {
  TextRange name;
  TextRange file;
};

// Reads the JSON as a sequence of events. Only "weight_map" is read; other members, such as "metadata", are skipped.
class IndexParser : public JsonEvents {
 public:
  explicit IndexParser(std::string_view path) : path_(shown(path)) {}

  // The index in the allocator's memory.
  SafetensorsIndex take(const HostAllocator& allocator) {
    if (!has_map_) {
      fail(Status::CorruptFile,
           "\"%s\" is JSON without \"weight_map\", expected a .safetensors file or the index of a model in several: "
           "give the file that holds the tensors",
           path_.c_str());
    }
    const std::vector<std::string_view> files = number_files();
    check_names();
    return copied(files, allocator);
  }

  bool null() override { return value("null"); }
  bool boolean(bool) override { return value("a boolean"); }
  bool number_integer(number_integer_t) override { return value("a number"); }
  bool number_unsigned(number_unsigned_t) override { return value("a number"); }
  bool number_float(number_float_t, const string_t&) override { return value("a number"); }
  bool binary(binary_t&) override { return value("binary data"); }

  bool string(string_t& text) override {
    if (!is_in_map()) return value("a string");
    check_file(text);
    entry_.file = add(text);
    entries_.push_back(entry_);
    return true;
  }

  bool key(string_t& text) override {
    if (depth_ == 1) {
      is_map_ = text == "weight_map";
      if (is_map_ && std::exchange(has_map_, true)) {
        fail(Status::CorruptFile, "\"%s\": the index has its weight_map twice", path_.c_str());
      }
    } else if (is_in_map()) {
      check_name(text);
      entry_.name = add(text);
    }
    return true;
  }

  bool start_object(size_t) override {
    if (!(depth_ == 1 && is_map_)) value("an object");
    ++depth_;
    return true;
  }
  bool end_object() override { return leave(); }
  bool start_array(size_t) override {
    value("an array");
    ++depth_;
    return true;
  }
  bool end_array() override { return leave(); }

  bool parse_error(size_t position, const std::string&, const nlohmann::detail::exception&) override {
    fail(Status::CorruptFile, "\"%s\": the index is not JSON in UTF-8 at its byte %zu", path_.c_str(), position);
  }

 private:
  bool is_in_map() const { return depth_ == 2 && is_map_; }

  bool leave() {
    --depth_;
    return true;
  }

  // Fails if a value of this kind is not allowed at the current position.
  bool value(const char* found) const {
    if (depth_ == 1 && is_map_) {
      fail(Status::CorruptFile, "\"%s\": the index has %s as its weight_map, expected an object", path_.c_str(), found);
    }
    if (is_in_map()) {
      fail(Status::CorruptFile, "\"%s\": the index has %s as the file of tensor \"%s\", expected a string",
           path_.c_str(), found, shown(at(entry_.name)).c_str());
    }
    return true;
  }

  void check_name(std::string_view name) const {
    if (name.find('\0') != std::string_view::npos) {
      fail(Status::CorruptFile, "\"%s\": the index has tensor \"%s\", expected a name without a zero byte",
           path_.c_str(), shown(name).c_str());
    }
  }

  // A name must not contain a folder: all files of the model are in the folder of the index.
  void check_file(std::string_view file) const {
    const bool is_plain = !file.empty() && file != "." && file != ".." &&
                          file.find_first_of(std::string_view("/\\\0", 3)) == std::string_view::npos;
    if (!is_plain) {
      fail(Status::CorruptFile,
           "\"%s\": the index has tensor \"%s\" in file \"%s\", expected the name of a file beside the index",
           path_.c_str(), shown(at(entry_.name)).c_str(), shown(file).c_str());
    }
  }

  TextRange add(std::string_view text) {
    const TextRange range{static_cast<uint32_t>(text_.size()), static_cast<uint32_t>(text.size())};
    text_ += text;
    return range;
  }

  std::string_view at(TextRange range) const { return std::string_view(text_).substr(range.begin, range.length); }

  // The sorted file names, without duplicates. file.begin of each entry becomes the position of its file among them.
  std::vector<std::string_view> number_files() {
    std::sort(entries_.begin(), entries_.end(),
              [&](const Entry& a, const Entry& b) { return at(a.file) < at(b.file); });
    std::vector<std::string_view> files;
    for (Entry& entry : entries_) {
      const std::string_view file = at(entry.file);
      if (files.empty() || files.back() != file) files.push_back(file);
      entry.file.begin = static_cast<uint32_t>(files.size() - 1);
    }
    return files;
  }

  void check_names() {
    std::sort(entries_.begin(), entries_.end(),
              [&](const Entry& a, const Entry& b) { return at(a.name) < at(b.name); });
    const auto twice = std::adjacent_find(entries_.begin(), entries_.end(),
                                          [&](const Entry& a, const Entry& b) { return at(a.name) == at(b.name); });
    if (twice != entries_.end()) {
      fail(Status::CorruptFile, "\"%s\": the index has tensor \"%s\" twice", path_.c_str(),
           shown(at(twice->name)).c_str());
    }
  }

  SafetensorsIndex copied(const std::vector<std::string_view>& files, const HostAllocator& allocator) const {
    size_t num_bytes = 0;
    for (const std::string_view file : files) num_bytes += file.size() + 1;
    for (const Entry& entry : entries_) num_bytes += entry.name.length + size_t{1};
    SafetensorsIndex index(allocator);
    index.text.reserve(num_bytes);
    index.files.reserve(files.size());
    index.names.reserve(entries_.size());
    const auto copy = [&](std::string_view text) {
      const char* begin = index.text.data() + index.text.size();
      index.text.insert(index.text.end(), text.begin(), text.end());
      index.text.push_back('\0');
      return std::string_view(begin, text.size());
    };
    for (const std::string_view file : files) index.files.push_back(copy(file));
    for (const Entry& entry : entries_) index.names.push_back({copy(at(entry.name)), entry.file.begin});
    return index;
  }

  std::string path_;
  size_t depth_ = 0;
  // Whether the member at depth 1 is "weight_map", and whether there was one.
  bool is_map_ = false;
  bool has_map_ = false;
  std::string text_;
  Entry entry_;
  std::vector<Entry> entries_;
};

// A number of at most 9 digits; real file names have five or six.
std::optional<uint64_t> number_of(std::string_view digits) {
  if (digits.empty() || digits.size() > 9) return std::nullopt;
  uint64_t number = 0;
  for (const char c : digits) {
    if (c < '0' || c > '9') return std::nullopt;
    number = number * 10 + static_cast<uint64_t>(c - '0');
  }
  return number;
}

}  // namespace

SafetensorsIndex read_safetensors_index(const ByteSource& source, const HostAllocator& allocator) {
  const std::string path = shown(source.name());
  if (source.num_bytes() > kMaxSafetensorsIndex) {
    fail(Status::CorruptFile, "\"%s\": the index has %llu bytes, expected at most %llu", path.c_str(),
         static_cast<unsigned long long>(source.num_bytes()), static_cast<unsigned long long>(kMaxSafetensorsIndex));
  }
  std::string text(static_cast<size_t>(source.num_bytes()), '\0');
  source.read(0, text.data(), text.size());
  // The JSON parser would take a zero byte as the end and ignore the text after it.
  if (const size_t zero = text.find('\0'); zero != std::string::npos) {
    fail(Status::CorruptFile, "\"%s\": the index has a zero byte at its byte %zu", path.c_str(), zero);
  }
  IndexParser parser(source.name());
  read_json(text, parser);
  return parser.take(allocator);
}

std::optional<PartName> part_name_of(std::string_view path) {
  if (!path.ends_with(kEnding)) return std::nullopt;
  const std::string_view name = path.substr(0, path.size() - kEnding.size());
  const size_t of = name.rfind(kOf);
  if (of == std::string_view::npos || of == 0) return std::nullopt;
  const size_t dash = name.rfind('-', of - 1);
  if (dash == std::string_view::npos) return std::nullopt;
  const std::optional<uint64_t> number = number_of(name.substr(dash + 1, of - dash - 1));
  const std::optional<uint64_t> num_parts = number_of(name.substr(of + kOf.size()));
  if (!number || !num_parts) return std::nullopt;
  return PartName{*number, *num_parts, std::string(name.substr(0, dash)) + std::string(kEnding) + ".index.json"};
}

}  // namespace heed
