// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <optional>
#include <utility>

#include "base/error.h"
#include "base/json_reader.h"
#include "base/shown_text.h"
#include "tensor/file_kind.h"
#include "tensor/safetensors.h"
#include "tensor/size_product.h"

namespace heed {

static_assert(std::endian::native == std::endian::little,
              "the format is little-endian and elements are read as they lie");

namespace {

constexpr uint64_t kLengthBytes = 8;
constexpr int64_t kMaxSize = std::numeric_limits<int64_t>::max();
constexpr const char* kMetadataName = "__metadata__";

// Where a member of __metadata__ is in the text of the header: its name, and its value behind it. 32 bits suffice, since a header
// has at most kMaxSafetensorsHeader bytes.
struct MetadataText {
  uint32_t begin;
  uint32_t name_size;
  uint32_t size;
};

// Every dtype the format names, with the bits of an element; some pack several elements into a byte.
struct FormatDType {
  const char* name;
  uint64_t num_bits;
};
constexpr FormatDType kFormatDTypes[] = {
    {"F4", 4},   {"F6_E2M3", 6}, {"F6_E3M2", 6}, {"F8_E4M3", 8}, {"F8_E5M2", 8}, {"F8_E8M0", 8}, {"BOOL", 8},
    {"U8", 8},   {"I8", 8},      {"U16", 16},    {"I16", 16},    {"F16", 16},    {"BF16", 16},   {"U32", 32},
    {"I32", 32}, {"F32", 32},    {"U64", 64},    {"I64", 64},    {"F64", 64},    {"C64", 64},
};

// No value for a dtype that was added to the format later: the byte range of its tensor cannot be checked against its
// shape.
constexpr std::optional<uint64_t> num_bits_of(std::string_view dtype_name) {
  for (const FormatDType& dtype : kFormatDTypes) {
    if (dtype_name == dtype.name) return dtype.num_bits;
  }
  return std::nullopt;
}

static_assert(!find_dtype([](DType dtype) { return num_bits_of(name_of(dtype)) != 8 * size_of(dtype); }).has_value(),
              "kFormatDTypes has every element type");

std::optional<DType> dtype_of(std::string_view dtype_name) {
  return find_dtype([&](DType dtype) { return dtype_name == name_of(dtype); });
}

unsigned long long wide(uint64_t value) { return value; }

// A StoredTensor with its own texts, before all texts are moved to one block of memory.
struct ParsedTensor {
  std::string name;
  std::string dtype_name;
  Shape shape;
  uint64_t rank = 0;
  uint64_t begin = 0;
  uint64_t end = 0;
};

// Reads the header's JSON as a sequence of events. The format has a fixed depth of nesting, so the parser needs only a
// small state and no tree, and stops at the first value that the format does not allow.
class SafetensorsHeaderParser : public JsonEvents {
 public:
  SafetensorsHeaderParser(std::string_view path, uint64_t num_data_bytes)
      : path_(shown(path)), num_data_bytes_(num_data_bytes) {}

  std::vector<ParsedTensor> take_entries() {
    check_names();
    check_ranges();
    return std::move(entries_);
  }
  // The texts of __metadata__, by their names.
  size_t num_metadata() const { return metadata_.size(); }
  std::string_view metadata_name(size_t index) const { return name_of(metadata_[index]); }
  std::string_view metadata_text(size_t index) const {
    const MetadataText& text = metadata_[index];
    return std::string_view(metadata_text_).substr(text.begin + text.name_size, text.size);
  }

  bool null() override {
    // The format's own reader takes it for a file without metadata.
    const bool is_no_metadata = state_ == State::Header && entry_.name == kMetadataName;
    return is_no_metadata || is_ignored() || fail_unexpected("null");
  }
  bool boolean(bool value) override { return is_ignored() || fail_unexpected(value ? "true" : "false"); }
  bool number_integer(number_integer_t value) override {
    return is_ignored() || fail_unexpected(std::to_string(value).c_str());
  }
  // `text` is the number as written. Whole numbers too large for 64 bits come here too.
  bool number_float(number_float_t, const string_t& text) override {
    return is_ignored() || fail_unexpected(shown(text).c_str());
  }
  bool binary(binary_t&) override { return fail_unexpected("binary data"); }

  bool number_unsigned(number_unsigned_t value) override {
    if (is_ignored()) return true;
    if (state_ == State::Shape) {
      add_dimension(value);
    } else if (state_ == State::Offsets && num_offsets_ < 2) {
      (num_offsets_++ == 0 ? entry_.begin : entry_.end) = value;
    } else if (state_ == State::Offsets) {
      fail_entry("has more than two data_offsets");
    } else {
      fail_unexpected(std::to_string(value).c_str());
    }
    return true;
  }

  bool string(string_t& value) override {
    if (is_ignored()) return true;
    if (state_ == State::Metadata) {
      metadata_text_ += value;
      metadata_.back().size = static_cast<uint32_t>(value.size());
      return true;
    }
    if (state_ != State::Entry || field_ != kFieldDType) fail_unexpected("a string");
    entry_.dtype_name = std::move(value);
    return true;
  }

  bool key(string_t& value) override {
    switch (state_) {
      case State::Header: start_entry(std::move(value)); break;
      case State::Metadata:
        metadata_.push_back({static_cast<uint32_t>(metadata_text_.size()), static_cast<uint32_t>(value.size()), 0});
        metadata_text_ += value;
        break;
      case State::Entry:
        if (depth_ == 0) start_field(value);
        break;
      // Only objects have keys.
      case State::Nowhere:
      case State::Shape:
      case State::Offsets: break;
    }
    return true;
  }

  bool start_object(size_t) override {
    if (is_ignored()) return enter_ignored();
    switch (state_) {
      case State::Nowhere: state_ = State::Header; break;
      case State::Header: state_ = entry_.name == kMetadataName ? State::Metadata : State::Entry; break;
      case State::Metadata:
      case State::Entry:
      case State::Shape:
      case State::Offsets: fail_unexpected("an object");
    }
    return true;
  }

  bool end_object() override {
    if (depth_ > 0) return --depth_ >= 0;
    if (state_ == State::Entry) finish_entry();
    if (state_ == State::Metadata) check_metadata_names();
    state_ = state_ == State::Header ? State::Nowhere : State::Header;
    return true;
  }

  bool start_array(size_t) override {
    if (is_ignored()) return enter_ignored();
    if (state_ != State::Entry || field_ == kFieldDType) fail_unexpected("an array");
    state_ = field_ == kFieldShape ? State::Shape : State::Offsets;
    return true;
  }

  bool end_array() override {
    if (depth_ > 0) return --depth_ >= 0;
    state_ = State::Entry;
    return true;
  }

  bool parse_error(size_t position, const std::string&, const nlohmann::detail::exception&) override {
    fail(Status::CorruptFile, "\"%s\": the header is not JSON in UTF-8 at its byte %zu", path_.c_str(), position);
  }

 private:
  enum class State { Nowhere, Header, Metadata, Entry, Shape, Offsets };

  // Bits, so that fields_ can hold the set of fields that were read.
  static constexpr unsigned kFieldDType = 1;
  static constexpr unsigned kFieldShape = 2;
  static constexpr unsigned kFieldOffsets = 4;
  // A field of a tensor's entry that the format does not define; the safetensors library ignores such fields.
  static constexpr unsigned kFieldOther = 8;

  // As many levels as the format's own reader takes.
  static constexpr int64_t kMaxDepth = 128;

  // Whether a value belongs to such a member.
  bool is_ignored() const { return state_ == State::Entry && field_ == kFieldOther; }
  bool enter_ignored() {
    if (++depth_ > kMaxDepth) fail_entry("has a member of more than " + std::to_string(kMaxDepth) + " levels");
    return true;
  }

  // `what` continues a sentence that begins with the tensor.
  [[noreturn]] void fail_entry(const std::string& what) const {
    fail(Status::CorruptFile, R"("%s": tensor "%s" %s)", path_.c_str(), shown(entry_.name).c_str(), what.c_str());
  }

  [[noreturn]] bool fail_unexpected(const char* found) const {
    switch (state_) {
      case State::Nowhere: break;
      case State::Header: fail_entry(std::string("is ") + found + " in the header, expected an object");
      case State::Metadata:
        fail(Status::CorruptFile, "\"%s\": __metadata__ holds %s, expected only strings", path_.c_str(), found);
      case State::Entry:
        fail_entry(std::string("has ") + found + " as its " +
                   (field_ == kFieldDType
                        ? "dtype, expected a string"
                        : (field_ == kFieldShape ? "shape, expected an array of sizes"
                                                 : "data_offsets, expected an array of two offsets")));
      case State::Shape:
        fail_entry("has " + std::string(found) + " as size " + std::to_string(entry_.rank) +
                   " of its shape, expected a whole number from 0 to " + std::to_string(kMaxSize));
      case State::Offsets:
        fail_entry(std::string("has ") + found + " in its data_offsets, expected whole numbers from 0");
    }
    fail(Status::CorruptFile, "\"%s\": the header is %s, expected a JSON object", path_.c_str(), found);
  }

  void start_entry(std::string name) {
    entry_ = ParsedTensor();
    entry_.name = std::move(name);
    fields_ = 0;
    field_ = 0;
    num_offsets_ = 0;
    product_ = SizeProduct();
    if (entry_.name == kMetadataName && std::exchange(has_metadata_, true)) {
      fail(Status::CorruptFile, "\"%s\": the header has __metadata__ twice", path_.c_str());
    }
  }

  void start_field(const std::string& name) {
    if (name == "dtype") {
      field_ = kFieldDType;
    } else if (name == "shape") {
      field_ = kFieldShape;
    } else if (name == "data_offsets") {
      field_ = kFieldOffsets;
    } else {
      field_ = kFieldOther;
      return;
    }
    if ((fields_ & field_) != 0) fail_entry("has its " + name + " twice");
    fields_ |= field_;
  }

  void add_dimension(uint64_t size) {
    if (size > static_cast<uint64_t>(kMaxSize)) fail_unexpected(std::to_string(size).c_str());
    if (entry_.rank < static_cast<uint64_t>(kMaxRank)) {
      entry_.shape.dims[entry_.rank] = static_cast<int64_t>(size);
      entry_.shape.rank = static_cast<int32_t>(entry_.rank + 1);
    }
    ++entry_.rank;
    if (!product_.multiply(static_cast<int64_t>(size))) {
      fail_entry("has a shape whose product exceeds " + std::to_string(kMaxSize) + " at its size " +
                 std::to_string(entry_.rank - 1) + ", " + std::to_string(size));
    }
  }

  void finish_entry() {
    if ((fields_ & kFieldDType) == 0) fail_entry("has no dtype");
    if ((fields_ & kFieldShape) == 0) fail_entry("has no shape");
    if ((fields_ & kFieldOffsets) == 0) fail_entry("has no data_offsets");
    if (num_offsets_ != 2) fail_entry("has " + std::to_string(num_offsets_) + " data_offsets, expected two");
    const std::string range = "lies at bytes " + std::to_string(entry_.begin) + " to " + std::to_string(entry_.end);
    if (entry_.begin > entry_.end) fail_entry(range + ", expected the end not to come before the beginning");
    if (entry_.end > num_data_bytes_) {
      fail_entry(range + ", but the file has only " + std::to_string(num_data_bytes_) + " bytes of data");
    }
    check_extent();
    entries_.push_back(std::move(entry_));
  }

  void check_extent() const {
    const std::optional<uint64_t> num_bits_each = num_bits_of(entry_.dtype_name);
    if (!num_bits_each) return;
    uint64_t num_bits = 0;
    if (__builtin_mul_overflow(product_.without_zeros(), *num_bits_each, &num_bits)) {
      fail_entry("has sizes other than 0 that make " + std::to_string(product_.without_zeros()) + " elements of " +
                 entry_.dtype_name + ", whose size in bits overflows 64 bits");
    }
    const auto num_elements = static_cast<uint64_t>(product_.num_elements());
    num_bits = num_elements * *num_bits_each;
    const std::string elements = std::to_string(num_elements) + " elements of " + entry_.dtype_name;
    if (num_bits % 8 != 0) fail_entry("has " + elements + ", which do not fill whole bytes");
    if (num_bits / 8 != entry_.end - entry_.begin) {
      fail_entry("lies in " + std::to_string(entry_.end - entry_.begin) + " bytes, but its " + elements + " are " +
                 std::to_string(num_bits / 8) + " bytes");
    }
  }

  std::string_view name_of(const MetadataText& text) const {
    return std::string_view(metadata_text_).substr(text.begin, text.name_size);
  }

  void check_metadata_names() {
    std::sort(metadata_.begin(), metadata_.end(),
              [&](const MetadataText& a, const MetadataText& b) { return name_of(a) < name_of(b); });
    const auto twice =
        std::adjacent_find(metadata_.begin(), metadata_.end(),
                           [&](const MetadataText& a, const MetadataText& b) { return name_of(a) == name_of(b); });
    if (twice != metadata_.end()) {
      fail(Status::CorruptFile, R"("%s": __metadata__ has "%s" twice)", path_.c_str(), shown(name_of(*twice)).c_str());
    }
  }

  void check_names() {
    std::sort(entries_.begin(), entries_.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
    const auto twice = std::adjacent_find(entries_.begin(), entries_.end(),
                                          [](const auto& a, const auto& b) { return a.name == b.name; });
    if (twice != entries_.end()) {
      fail(Status::CorruptFile, R"("%s": the header has tensor "%s" twice)", path_.c_str(), shown(twice->name).c_str());
    }
  }

  // The format requires that every byte of the data belongs to exactly one tensor.
  void check_ranges() const {
    std::vector<const ParsedTensor*> in_order;
    in_order.reserve(entries_.size());
    for (const ParsedTensor& entry : entries_) in_order.push_back(&entry);
    std::sort(in_order.begin(), in_order.end(), [](const ParsedTensor* a, const ParsedTensor* b) {
      return std::pair(a->begin, a->end) < std::pair(b->begin, b->end);
    });
    const ParsedTensor* previous = nullptr;
    uint64_t covered = 0;
    for (const ParsedTensor* entry : in_order) {
      if (entry->begin < covered) {
        fail(Status::CorruptFile,
             R"("%s": tensor "%s" begins at byte %llu, inside tensor "%s", which ends at byte %llu)", path_.c_str(),
             shown(entry->name).c_str(), wide(entry->begin), shown(previous->name).c_str(), wide(covered));
      }
      if (entry->begin > covered) {
        fail(Status::CorruptFile, R"("%s": bytes %llu to %llu before tensor "%s" belong to no tensor)", path_.c_str(),
             wide(covered), wide(entry->begin), shown(entry->name).c_str());
      }
      previous = entry;
      covered = entry->end;
    }
    if (covered != num_data_bytes_) {
      fail(Status::CorruptFile, "\"%s\": the tensors end at byte %llu, but the file has %llu bytes of data",
           path_.c_str(), wide(covered), wide(num_data_bytes_));
    }
  }

  std::string path_;
  uint64_t num_data_bytes_;
  std::vector<ParsedTensor> entries_;
  // Names and texts one after another: there may be very many, of a few bytes each.
  std::string metadata_text_;
  std::vector<MetadataText> metadata_;
  bool has_metadata_ = false;
  int64_t depth_ = 0;  // of arrays and objects in a member that is ignored

  State state_ = State::Nowhere;
  ParsedTensor entry_;
  unsigned fields_ = 0;
  unsigned field_ = 0;
  int num_offsets_ = 0;
  SizeProduct product_;
};

// Whether the length is plausible and a JSON object begins after it. If so, a file with an error counts as a damaged
// .safetensors file, not as a file of another kind.
bool has_header(const ByteSource& source, uint64_t header_length) {
  if (header_length == 0 || header_length > kMaxSafetensorsHeader || source.num_bytes() <= kLengthBytes) return false;
  char first = 0;
  source.read(kLengthBytes, &first, 1);
  return first == '{';
}

// The header's text.
std::string read_header(const ByteSource& source) {
  const std::string path = shown(source.name());
  const uint64_t num_bytes = source.num_bytes();
  if (num_bytes < kLengthBytes) {
    fail(Status::CorruptFile, "\"%s\": the file has %llu bytes, expected at least %llu for the header's length",
         path.c_str(), wide(num_bytes), wide(kLengthBytes));
  }
  uint64_t header_length = 0;
  source.read(0, &header_length, sizeof header_length);
  if (!has_header(source, header_length)) refuse_other_kind(source, FileFormat::Safetensors);
  if (header_length > num_bytes - kLengthBytes) {
    fail(Status::CorruptFile, "\"%s\": the header's length is %llu, but only %llu bytes follow", path.c_str(),
         wide(header_length), wide(num_bytes - kLengthBytes));
  }
  if (header_length > kMaxSafetensorsHeader) {
    fail(Status::CorruptFile, "\"%s\": the header's length is %llu, expected at most %llu", path.c_str(),
         wide(header_length), wide(kMaxSafetensorsHeader));
  }
  std::string header(header_length, '\0');
  source.read(kLengthBytes, header.data(), header.size());
  if (header.empty() || header.front() != '{') {
    fail(Status::CorruptFile, "\"%s\": the header of %llu bytes does not begin with '{'", path.c_str(),
         wide(header_length));
  }
  // The JSON parser would take a zero byte as the end of the header and ignore the text after it.
  if (const size_t zero = header.find('\0'); zero != std::string::npos) {
    fail(Status::CorruptFile, "\"%s\": the header has a zero byte at its byte %zu", path.c_str(), zero);
  }
  return header;
}

}  // namespace

SafetensorsPart::SafetensorsPart(std::shared_ptr<const ByteSource> source, const HostAllocator& allocator)
    : source_(std::move(source)), text_(allocator), tensors_(allocator), other_names_(allocator) {
  const std::string header = read_header(*source_);
  data_offset_ = kLengthBytes + header.size();
  SafetensorsHeaderParser parser(source_->name(), source_->num_bytes() - data_offset_);
  read_json(header, parser);
  const std::vector<ParsedTensor> parsed = parser.take_entries();
  size_t num_bytes = 0;
  for (const ParsedTensor& tensor : parsed) num_bytes += tensor.name.size() + tensor.dtype_name.size() + 2;
  text_.reserve(num_bytes);
  tensors_.reserve(parsed.size());
  const auto copy = [&](std::string_view text) {
    const char* begin = text_.data() + text_.size();
    text_.insert(text_.end(), text.begin(), text.end());
    text_.push_back('\0');
    return std::string_view(begin, text.size());
  };
  for (const ParsedTensor& tensor : parsed) {
    StoredTensor stored;
    stored.name = copy(tensor.name);
    stored.dtype_name = copy(tensor.dtype_name);
    const std::optional<DType> dtype = dtype_of(tensor.dtype_name);
    stored.has_known_dtype = dtype.has_value();
    stored.dtype = dtype.value_or(DType::F32);
    stored.shape = tensor.shape;
    stored.rank = tensor.rank;
    stored.begin = tensor.begin;
    stored.end = tensor.end;
    stored.num_bytes = static_cast<size_t>(tensor.end - tensor.begin);
    stored.part = this;
    tensors_.push_back(stored);
  }
  const auto is_other_name = [&](size_t i) {
    return lookup(parser.metadata_text(i)) != nullptr && lookup(parser.metadata_name(i)) == nullptr;
  };
  size_t num_others = 0;
  for (size_t i = 0; i < parser.num_metadata(); ++i) num_others += is_other_name(i) ? 1 : 0;
  other_names_.reserve(num_others);
  for (size_t i = 0; i < parser.num_metadata(); ++i) {
    if (!is_other_name(i)) continue;
    other_names_.push_back({HostString(parser.metadata_name(i), allocator), lookup(parser.metadata_text(i))->name});
  }
}

const StoredTensor* SafetensorsPart::lookup(std::string_view name) const {
  const auto at =
      std::lower_bound(tensors_.begin(), tensors_.end(), name,
                       [](const StoredTensor& tensor, std::string_view wanted) { return tensor.name < wanted; });
  return at != tensors_.end() && at->name == name ? &*at : nullptr;
}

}  // namespace heed
