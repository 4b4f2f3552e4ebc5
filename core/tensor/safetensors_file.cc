// SPDX-License-Identifier: Apache-2.0
// Finds the files that belong together, and the file that contains a tensor.
#include <algorithm>
#include <string>
#include <utility>

#include "base/error.h"
#include "base/shown_text.h"
#include "tensor/file_kind.h"
#include "tensor/safetensors.h"

namespace heed {
namespace {

// Null if there is no such file.
std::shared_ptr<const ByteSource> open_if_there(const std::string& path, const HostAllocator& allocator) {
  if (!platform::file_exists(path.c_str())) return nullptr;
  return host_make_shared<FileSource>(allocator, path.c_str(), allocator);
}

// A path without its folder.
std::string_view file_name_of(std::string_view path) { return path.substr(path.rfind('/') + 1); }

}  // namespace

SafetensorsFile::SafetensorsFile(const char* path, const HostAllocator& allocator, Opening opening)
    : allocator_(allocator), path_(path, allocator), index_(allocator), removed_prefix_(allocator), parts_(allocator) {
  std::shared_ptr<const ByteSource> source = host_make_shared<FileSource>(allocator, path, allocator);
  const std::optional<PartName> part_name = part_name_of(path_);
  const std::shared_ptr<const ByteSource> index = part_name ? open_if_there(part_name->index_path, allocator) : nullptr;
  if (index != nullptr) {
    open_index(*index);
    const std::string_view name = file_name_of(source->name());
    if (!std::binary_search(index_.files.begin(), index_.files.end(), name)) {
      fail(Status::CorruptFile,
           "\"%s\" is named as one of the files of its index, \"%s\", which does not name it: load the index, or give "
           "the file another name",
           shown(source->name()).c_str(), shown(path_).c_str());
    }
  } else if (begins_as_json_object(*source)) {
    open_index(*source);
  } else {
    is_lone_part_ = part_name && part_name->num_parts != 1;
    open_alone(std::move(source));
  }
  if (opening == Opening::AllAtOnce) {
    for (size_t file = 0; file < parts_.size(); ++file) part(file);
  }
}

SafetensorsFile::SafetensorsFile(std::shared_ptr<const ByteSource> source, const HostAllocator& allocator)
    : allocator_(allocator),
      path_(source->name(), allocator),
      is_in_memory_(true),
      index_(allocator),
      removed_prefix_(allocator),
      parts_(allocator) {
  if (begins_as_json_object(*source)) {
    fail(Status::CorruptFile,
         "\"%s\" is a text in JSON, expected a .safetensors file: an index of a model in several files is given by its "
         "path",
         shown(path_).c_str());
  }
  open_alone(std::move(source));
}

void SafetensorsFile::open_index(const ByteSource& source) {
  index_ = read_safetensors_index(source, allocator_);
  path_ = source.name();
  parts_.resize(index_.files.size());
}

void SafetensorsFile::open_alone(std::shared_ptr<const ByteSource> source) {
  parts_.push_back(host_make_shared<SafetensorsPart>(allocator_, std::move(source), allocator_));
  const std::span<const StoredTensor> tensors = parts_[0]->tensors();
  index_.names.reserve(tensors.size());
  for (const StoredTensor& tensor : tensors) index_.names.push_back({tensor.name, 0, {}});
}

const IndexedName* SafetensorsFile::lookup(std::string_view name) const {
  const auto at = std::ranges::lower_bound(index_.names, name, {}, &IndexedName::name);
  return at != index_.names.end() && at->name == name ? &*at : nullptr;
}

const SafetensorsPart& SafetensorsFile::part(size_t file) const {
  std::shared_ptr<const SafetensorsPart>& part = parts_[file];
  if (part != nullptr) return *part;
  // The folder as the caller wrote it.
  const std::string_view folder = std::string_view(path_).substr(0, path_.rfind('/') + 1);
  const std::string path = std::string(folder) + std::string(index_.files[file]);
  if (!platform::file_exists(path.c_str())) {
    fail(Status::Io, "\"%s\" is not there, which the index \"%s\" names: get all files of the model",
         shown(path).c_str(), shown(path_).c_str());
  }
  auto opened = host_make_shared<SafetensorsPart>(
      allocator_, host_make_shared<FileSource>(allocator_, path.c_str(), allocator_), allocator_);
  check_part(*opened, file);
  part = std::move(opened);
  return *part;
}

void SafetensorsFile::check_part(const SafetensorsPart& part, size_t file) const {
  for (const StoredTensor& tensor : part.tensors()) {
    const IndexedName* indexed =
        tensor.name.starts_with(removed_prefix_) ? lookup(tensor.name.substr(removed_prefix_.size())) : nullptr;
    if (indexed == nullptr) {
      fail(Status::CorruptFile, R"("%s" has tensor "%s", which its index, "%s", does not name)",
           shown(part.path()).c_str(), shown(tensor.name).c_str(), shown(path_).c_str());
    }
    if (indexed->file != file) {
      fail(Status::CorruptFile, R"("%s" has tensor "%s", which its index, "%s", has in "%s")",
           shown(part.path()).c_str(), shown(tensor.name).c_str(), shown(path_).c_str(),
           shown(index_.files[indexed->file]).c_str());
    }
  }
  for (const IndexedName& indexed : index_.names) {
    if (indexed.file == file && part.lookup(indexed.in_file()) == nullptr) {
      fail(Status::CorruptFile, R"("%s" has no tensor "%s", which its index, "%s", has there)",
           shown(part.path()).c_str(), shown(indexed.in_file()).c_str(), shown(path_).c_str());
    }
  }
}

const StoredTensor& SafetensorsFile::stored(size_t index) const {
  const IndexedName& indexed = index_.names[index];
  return *part(indexed.file).lookup(indexed.in_file());
}

const SafetensorsEntry* SafetensorsFile::find(std::string_view name) const {
  const IndexedName* indexed = lookup(name);
  if (indexed == nullptr) return nullptr;
  const SafetensorsPart& part = this->part(indexed->file);
  const StoredTensor* tensor = part.lookup(indexed->in_file());
  if (!tensor->has_known_dtype) {
    fail(Status::Unsupported,
         R"("%s": tensor "%s" has dtype %s, expected one of F32, F16, BF16, F64, I32, I64, I8, U8, BOOL)",
         shown(part.path()).c_str(), shown(name).c_str(), shown(tensor->dtype_name).c_str());
  }
  if (tensor->rank > static_cast<uint64_t>(kMaxRank)) {
    fail(Status::Unsupported, R"("%s": tensor "%s" has %llu dimensions, expected at most %d)",
         shown(part.path()).c_str(), shown(name).c_str(), static_cast<unsigned long long>(tensor->rank), kMaxRank);
  }
  return tensor;
}

void SafetensorsFile::add_name(std::string_view name, std::string_view stored) {
  const IndexedName indexed = *lookup(stored);
  const std::string_view kept = added_names_.emplace_front(name, allocator_);
  const auto at = std::ranges::lower_bound(index_.names, kept, {}, &IndexedName::name);
  index_.names.insert(at, {kept, indexed.file, indexed.in_file()});
}

void SafetensorsFile::add_noted_names() {
  // A model in several files is not written by save_model.
  if (parts_.size() != 1 || !index_.files.empty()) return;
  for (const OtherName& other : parts_.front()->other_names()) add_name(other.name, other.stored);
}

bool SafetensorsFile::has_other_name(std::string_view name) const {
  const std::string stored = name_in_file(name);
  return std::ranges::any_of(index_.names,
                             [&](const IndexedName& one) { return one.name != name && one.stored == stored; });
}

void SafetensorsFile::remove_prefix(std::string_view prefix) {
  for (IndexedName& indexed : index_.names) {
    indexed.stored = indexed.in_file();
    indexed.name.remove_prefix(prefix.size());
  }
  removed_prefix_.assign(prefix);
}

void SafetensorsFile::read(const SafetensorsEntry& entry, void* destination) const {
  read(entry, 0, entry.num_bytes, destination);
}

void SafetensorsFile::read(const SafetensorsEntry& entry, uint64_t offset, size_t num_bytes, void* destination) const {
  const auto& tensor = static_cast<const StoredTensor&>(entry);
  tensor.part->read(tensor, offset, num_bytes, destination);
}

bool SafetensorsFile::are_equal(const SafetensorsEntry& a, const SafetensorsEntry& b) const {
  if (a.dtype != b.dtype || !(a.shape == b.shape)) return false;
  constexpr size_t kPartBytes = 65536;
  std::vector<std::byte> part_of_a(std::min(kPartBytes, a.num_bytes));
  std::vector<std::byte> part_of_b(part_of_a.size());
  for (size_t begin = 0; begin < a.num_bytes; begin += kPartBytes) {
    const size_t num_bytes = std::min(kPartBytes, a.num_bytes - begin);
    read(a, begin, num_bytes, part_of_a.data());
    read(b, begin, num_bytes, part_of_b.data());
    if (std::memcmp(part_of_a.data(), part_of_b.data(), num_bytes) != 0) return false;
  }
  return true;
}

std::string SafetensorsFile::lone_part_text() const {
  if (!is_lone_part_) return "";
  const PartName name = *part_name_of(path_);
  return "part " + std::to_string(name.number) + " of " + std::to_string(name.num_parts) + ", whose index, \"" +
         shown(name.index_path) + "\", is not there";
}

}  // namespace heed
