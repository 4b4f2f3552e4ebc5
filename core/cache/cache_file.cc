// SPDX-License-Identifier: Apache-2.0
// Saves and loads the rows of a sequence: docs/caches.md lists the tensors of such a file. Rows are stored one after
// another, whatever the layout, so that a cache of any layout can load them.
#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "attention/rope_text.h"
#include "base/error.h"
#include "base/shown_text.h"
#include "cache/cache.h"
#include "cache/pages_image.h"
#include "tensor/safetensors.h"

namespace heed {
namespace {

constexpr int64_t kFileVersion = 1;
// The version of files of a cache with windows, whose layers keep different rows. The tensor "layers" says which.
constexpr int64_t kFileVersionOfLayers = 2;
// The elements of the tensor "rows".
enum FileRow : size_t { kVersion = 0, kLength = 1, kNumSinks = 2, kFirst = 3, kUnrotatedKeys = 4, kNumFileRows = 5 };

// The parts of each layer.
enum Part : size_t { kKeys = 0, kValues = 1, kKeyScales = 2, kValueScales = 3, kPositions = 4, kNumParts = 5 };
constexpr const char* kCachePartNames[kNumParts] = {"keys", "values", "key_scales", "value_scales", "positions"};

// The numbers of a layer in a row of the tensor "layers".
constexpr int64_t kNumLayerNumbers = 4;

// The name of a part of a layer.
struct CachePartName {
  char text[64];
  CachePartName(int64_t layer, size_t part) {
    std::snprintf(text, sizeof text, "layers.%" PRId64 ".%s", layer, kCachePartNames[part]);
  }
};

bool has_part(const CacheOptions& options, size_t part) {
  return options.dtype == DType::I8 || (part != kKeyScales && part != kValueScales);
}

DType dtype_of(const CacheOptions& options, size_t part) {
  if (part == kKeys || part == kValues) return options.dtype;
  return part == kPositions ? DType::I32 : DType::F32;
}

Shape shape_of(const CacheOptions& options, size_t part, int64_t num_rows) {
  switch (part) {
    case kKeys: return {options.num_kv_heads, num_rows, options.head_size};
    case kValues: return {options.num_kv_heads, num_rows, options.value_head_size};
    case kPositions: return {num_rows};
    default: return {options.num_kv_heads, num_rows};
  }
}

size_t num_bytes_of(const CacheOptions& options, size_t part, int64_t num_rows) {
  const Shape shape = shape_of(options, part, num_rows);
  size_t bytes = size_of(dtype_of(options, part));
  for (int32_t axis = 0; axis < shape.rank; ++axis) bytes *= static_cast<size_t>(shape[axis]);
  return bytes;
}

// The number of the i-th of the kept rows.
int64_t row_at(int64_t num_sinks, int64_t first, int64_t i) {
  const int64_t sinks = std::min(num_sinks, first);
  return i < sinks ? i : first + i - sinks;
}

// Calls copy(stored, file, num_bytes) for each piece of one part of one layer, between a cache and the elements of a file.
template <typename Visit>
void visit_rows(const CacheOptions& options, const PagesImage& image, size_t part, int64_t num_rows,
                const auto& row_number, std::byte* file, const Visit& copy) {
  const size_t element = size_of(options.dtype);
  for (int64_t head = 0; head < options.num_kv_heads; ++head) {
    for (int64_t i = 0; i < num_rows; ++i) {
      const int64_t row = row_number(i);
      const auto index = static_cast<size_t>(head * num_rows + i);
      if (row < 0) continue;
      const StoredRow stored = image.row(head, row);
      switch (part) {
        case kKeys:
          for (size_t d = 0; d < static_cast<size_t>(options.head_size); ++d) {
            copy(stored.key + d * stored.key_step,
                 file + (index * static_cast<size_t>(options.head_size) + d) * element, element);
          }
          break;
        case kValues: {
          const size_t bytes = element * static_cast<size_t>(options.value_head_size);
          copy(stored.value, file + index * bytes, bytes);
          break;
        }
        case kKeyScales: copy(reinterpret_cast<std::byte*>(stored.key_scale), file + index * 4, sizeof(float)); break;
        default: copy(reinterpret_cast<std::byte*>(stored.value_scale), file + index * 4, sizeof(float)); break;
      }
    }
  }
}

}  // namespace

// The contents of a file: what is read from a cache, or from a file.
class CacheFile {
 public:
  // The rows that all layers of the cache have.
  CacheFile(const Cache& cache, int64_t sequence)
      : options_(cache.options()), data_(cache.context()->host_allocator()) {
    rows_[kVersion] = kFileVersion;
    rows_[kLength] = cache.shortest(sequence);
    rows_[kNumSinks] = std::min(cache.rows(0, sequence).num_sinks, rows_[kLength]);
    rows_[kFirst] = first_of(rows_[kNumSinks], cache.first(sequence));
    layers_.assign(static_cast<size_t>(options_.num_layers), {0, rows_[kNumSinks], rows_[kFirst], 0});
    if (cache.has_windows() && cache.first(sequence) > 0) set_layers(cache, sequence);
    rows_[kUnrotatedKeys] = options_.unrotated_keys ? 1 : 0;
    for (int64_t layer = 0; layer < options_.num_layers; ++layer) ropes_.push_back(cache.rotary_text(layer));
    // One line for each layer, or one for all.
    const bool is_same = std::ranges::all_of(ropes_, [&](std::string_view rope) { return rope == ropes_.front(); });
    for (const std::string_view rope : ropes_) {
      if (is_same && !rope_text_.empty()) break;
      if (!rope_text_.empty()) rope_text_ += '\n';
      rope_text_ += rope;
    }
    reserve();
    for (int64_t layer = 0; layer < options_.num_layers; ++layer) {
      const PagesImage image(cache, layer, sequence, 0, rows_[kLength]);
      for (size_t part = 0; part < kNumParts; ++part) {
        if (!has_part(options_, part)) continue;
        std::byte* to = data_.data() + offset_of(layer, part);
        if (part == kPositions) {
          for (int64_t i = 0; i < num_rows(layer); ++i) {
            const auto position = static_cast<int32_t>(cache.position_of(layer, sequence, row(layer, i)));
            std::memcpy(to + i * 4, &position, sizeof position);
          }
          continue;
        }
        visit_rows(
            options_, image, part, num_rows(layer), [&](int64_t i) { return row(layer, i); }, to,
            [](const std::byte* stored, std::byte* file, size_t bytes) { std::memcpy(file, stored, bytes); });
      }
    }
  }

  // Reads a file that was saved from a cache with the same geometry.
  CacheFile(const Cache& cache, const SafetensorsFile& file)
      : options_(cache.options()), data_(cache.context()->host_allocator()) {
    path_ = shown(file.path());
    const std::string& path = path_;
    const auto require = [&](const char* name) -> const SafetensorsEntry& {
      const SafetensorsEntry* entry = file.find(name);
      if (entry == nullptr) {
        fail(Status::NotFound, "\"%s\" has no tensor \"%s\": expected a file of " FUNCTION("heed_cache_save"),
             path.c_str(), name);
      }
      return *entry;
    };
    const SafetensorsEntry& rows = require("rows");
    if (rows.dtype != DType::I64 || !(rows.shape == Shape{static_cast<int64_t>(kNumFileRows)})) {
      fail(Status::CorruptFile,
           "\"rows\" of \"%s\" is %s with " ARGUMENT("dims") " %s, expected I64 with " ARGUMENT("dims") " (%zu)",
           path.c_str(), name_of(rows.dtype), to_string(rows.shape).c_str(), static_cast<size_t>(kNumFileRows));
    }
    file.read(rows, rows_);
    const SafetensorsEntry& rope = require("rope");
    if (rope.dtype != DType::U8)
      fail(Status::CorruptFile, "\"rope\" of \"%s\" is %s, expected U8", path.c_str(), name_of(rope.dtype));
    if (file.contains(CachePartName(options_.num_layers, kKeys).text)) {
      fail(Status::InvalidArgument,
           "\"%s\" has rows of more layers than the cache, expected %" PRId64 ", " OPTION("num_layers"), path.c_str(),
           options_.num_layers);
    }
    check_rows(path);
    layers_.assign(static_cast<size_t>(options_.num_layers), {0, rows_[kNumSinks], rows_[kFirst], 0});
    if (rows_[kVersion] == kFileVersionOfLayers) read_layers(cache, file, require("layers"));
    rope_text_.resize(rope.num_bytes);
    file.read(rope, rope_text_.data());
    read_ropes(path);
    // All dims are checked before memory is taken, so that a file costs no more of it than its own size.
    visit_parts([&](int64_t layer, size_t part) {
      const CachePartName name(layer, part);
      const SafetensorsEntry& entry = require(name.text);
      const Shape expected = shape_of(options_, part, num_rows(layer));
      const DType dtype = dtype_of(options_, part);
      if (entry.dtype != dtype || !(entry.shape == expected)) {
        fail(Status::InvalidArgument,
             "\"%s\" of \"%s\" is %s with " ARGUMENT("dims") " %s, expected %s with " ARGUMENT(
                 "dims") " %s, as the cache has",
             name.text, path.c_str(), name_of(entry.dtype), to_string(entry.shape).c_str(), name_of(dtype),
             to_string(expected).c_str());
      }
    });
    check_ropes(path);
    reserve();
    visit_parts([&](int64_t layer, size_t part) {
      file.read(require(CachePartName(layer, part).text), data_.data() + offset_of(layer, part));
    });
    for (int64_t layer = 0; layer < options_.num_layers; ++layer) check_positions(path, layer);
  }

  // Returns write(tensors) with the contents as tensors.
  template <typename Write>
  auto with_tensors(const Write& write) const {
    std::vector<std::string> names;
    names.reserve(layers_.size() * kNumParts);
    std::vector<NamedTensor> tensors = {
        {"rows", DType::I64, {static_cast<int64_t>(kNumFileRows)}, rows_},
        {"rope", DType::U8, {static_cast<int64_t>(rope_text_.size())}, rope_text_.data()},
    };
    if (rows_[kVersion] == kFileVersionOfLayers)
      tensors.push_back({"layers", DType::I64, {options_.num_layers, kNumLayerNumbers}, layers_.data()});
    visit_parts([&](int64_t layer, size_t part) {
      names.emplace_back(CachePartName(layer, part).text);
      tensors.push_back({names.back(), dtype_of(options_, part), shape_of(options_, part, num_rows(layer)),
                         data_.data() + offset_of(layer, part)});
    });
    const FileText texts[] = {{"heed.kind", "cache"}};
    return write(tensors, texts);
  }

  // Replaces the rows of a sequence. Throws CacheFull or InvalidArgument without any change; the failure of a device, and then
  // the sequence is empty.
  void store(Cache& cache, int64_t sequence) const {
    const int64_t length = rows_[kLength];
    cache.check_capacity(sequence, length);
    check_rotary(cache, sequence);
    for (const LayerGroup& group : cache.groups_) {
      int64_t own = 0;
      for (int32_t page = 0; page < group.num_pages[static_cast<size_t>(sequence)]; ++page)
        own += group.is_shared(sequence, page) ? 0 : 1;
      group.require_free(group.geometry.pages_for(length) - own);
    }
    HostVector<HostString> texts(cache.context()->host_allocator());
    texts.reserve(ropes_.size());
    for (const std::string_view rope : ropes_) texts.emplace_back(rope, cache.context()->host_allocator());
    const HostVector<PagesImage> images = cache.images_of(sequence, 0, length, PagesImage::Contents::Undefined);
    // Nothing but a device fails from here on.
    cache.cut(sequence, 0);
    for (LayerGroup& group : cache.groups_) group.take_pages(sequence, group.geometry.pages_for(length));
    for (int64_t layer = 0; layer < options_.num_layers; ++layer) {
      LayerRows& rows = cache.rows_at(layer, sequence);
      rows = stored_rows(cache, layer);
      const auto kept = [&](int64_t i) { return rows.keeps(row(layer, i)) ? row(layer, i) : int64_t{-1}; };
      for (size_t part = 0; part < kPositions; ++part) {
        if (!has_part(options_, part)) continue;
        auto* from = const_cast<std::byte*>(data_.data() + offset_of(layer, part));
        visit_rows(options_, images[static_cast<size_t>(layer)], part, num_rows(layer), kept, from,
                   [](std::byte* stored, const std::byte* file, size_t bytes) { std::memcpy(stored, file, bytes); });
      }
      store_positions(cache, sequence, layer);
    }
    cache.commit(images, sequence, 0);
    for (size_t layer = 0; layer < texts.size(); ++layer) {
      if (cache.rotary_text(static_cast<int64_t>(layer)) == std::string_view(texts[layer])) continue;
      Cache::LayerRotary& rotary = cache.rotary_[layer];
      rotary.kind = std::string_view(texts[layer]) == Cache::kNoRotary ? Cache::Rotary::None : Cache::Rotary::Text;
      rotary.table.reset();
      rotary.text.swap(texts[layer]);
    }
  }

 private:
  // The rows that a file has of a layer, in a row of the tensor "layers".
  struct FileLayer {
    int64_t window = 0;  // the rows that the layer sees, if it keeps no others; 0: all
    int64_t num_sinks = 0;
    int64_t first = 0;
    int64_t dropped_end = 0;  // of LayerRows
  };
  static_assert(sizeof(FileLayer) == kNumLayerNumbers * sizeof(int64_t));

  int64_t num_rows(int64_t layer) const {
    const FileLayer& rows = layers_[static_cast<size_t>(layer)];
    return std::min(rows.num_sinks, rows.first) + rows_[kLength] - rows.first;
  }
  int64_t row(int64_t layer, int64_t i) const {
    const FileLayer& rows = layers_[static_cast<size_t>(layer)];
    return row_at(rows.num_sinks, rows.first, i);
  }

  // The first row after the sinks. If all rows are sinks, none has been dropped.
  int64_t first_of(int64_t num_sinks, int64_t first) const {
    return num_sinks == rows_[kLength] ? 0 : std::min(first, rows_[kLength]);
  }

  // The rows of each layer, which has those of its own window.
  void set_layers(const Cache& cache, int64_t sequence) {
    rows_[kVersion] = kFileVersionOfLayers;
    for (int64_t layer = 0; layer < options_.num_layers; ++layer) {
      const LayerRows& held = cache.rows(layer, sequence);
      const int64_t length = rows_[kLength];
      if (!cache.can_be_cut(layer, sequence, length, length - 1))
        cache.require_equal_layers("heed_cache_save", sequence);
      const CacheGeometry& geometry = cache.geometry(layer);
      const int64_t num_sinks = std::min(held.num_sinks, length);
      layers_[static_cast<size_t>(layer)] = {geometry.window(), num_sinks, first_of(num_sinks, held.first),
                                             held.dropped_end};
    }
  }

  void read_layers(const Cache& cache, const SafetensorsFile& file, const SafetensorsEntry& layers) {
    const Shape expected = {options_.num_layers, kNumLayerNumbers};
    if (layers.dtype != DType::I64 || !(layers.shape == expected)) {
      fail(Status::InvalidArgument,
           "\"layers\" of \"%s\" is %s with " ARGUMENT("dims") " %s, expected I64 with " ARGUMENT("dims") " %s",
           path_.c_str(), name_of(layers.dtype), to_string(layers.shape).c_str(), to_string(expected).c_str());
    }
    file.read(layers, layers_.data());
    for (int64_t layer = 0; layer < options_.num_layers; ++layer) {
      const FileLayer& read = layers_[static_cast<size_t>(layer)];
      const int64_t before = read.first == 0 ? rows_[kLength] : read.first;
      const int64_t last = read.window > 0 && read.first > 0 ? rows_[kLength] - 1 : rows_[kLength];
      const bool is_right = read.window >= 0 && read.window <= kMaxCacheRows && read.first >= 0 && read.first <= last &&
                            read.num_sinks >= 0 && read.num_sinks <= before && read.dropped_end >= 0 &&
                            read.dropped_end <= kMaxCacheRows;
      if (!is_right) {
        fail(Status::CorruptFile,
             "\"layers\" of \"%s\" has the numbers %" PRId64 ", %" PRId64 ", %" PRId64 " and %" PRId64
             " for layer %" PRId64 ", expected a window, sinks, a first row and a position of %" PRId64 " rows",
             path_.c_str(), read.window, read.num_sinks, read.first, read.dropped_end, layer, rows_[kLength]);
      }
      const CacheGeometry& geometry = cache.geometry(layer);
      const int64_t window = geometry.window();
      if (read.first == 0 || read.window == 0 || (window > 0 && window <= read.window)) continue;
      fail(Status::InvalidArgument,
           "\"%s\" has the rows of a window of %" PRId64 " rows of layer %" PRId64
           ", but " OPTION("layer_capacities[%" PRId64 "]") " of the cache is %" PRId64 ": expected 1 to %" PRId64,
           path_.c_str(), read.window, layer, layer, window, read.window);
    }
  }

  // What a layer of the cache keeps of the file's rows.
  LayerRows stored_rows(const Cache& cache, int64_t layer) const {
    const FileLayer& file = layers_[static_cast<size_t>(layer)];
    const CacheGeometry& geometry = cache.geometry(layer);
    LayerRows rows;
    rows.length = rows_[kLength];
    rows.num_sinks = file.num_sinks;
    rows.first = file.first;
    if (geometry.ring_rows == 0) return rows;
    rows.num_sinks = file.first == 0 ? cache.options().num_sinks : std::min(file.num_sinks, cache.options().num_sinks);
    Cache::drop_rows(geometry, rows);
    if (!geometry.serves_window) return rows;
    rows.dropped_end = file.dropped_end;
    for (int64_t i = 0; i < num_rows(layer); ++i) {
      if (!rows.keeps(row(layer, i))) rows.dropped_end = std::max<int64_t>(rows.dropped_end, position(layer, i) + 1);
    }
    return rows;
  }

  size_t layer_bytes(int64_t layer) const { return part_bytes(layer, kNumParts); }
  // The bytes of the first parts of a layer.
  size_t part_bytes(int64_t layer, size_t num_parts) const {
    size_t bytes = 0;
    for (size_t part = 0; part < num_parts; ++part)
      bytes += has_part(options_, part) ? num_bytes_of(options_, part, num_rows(layer)) : 0;
    return bytes;
  }
  size_t offset_of(int64_t layer, size_t part) const {
    return offsets_[static_cast<size_t>(layer)] + part_bytes(layer, part);
  }
  void reserve() {
    size_t end = 0;
    for (int64_t layer = 0; layer < options_.num_layers; ++layer) {
      offsets_.push_back(end);
      end += layer_bytes(layer);
    }
    data_.resize(end);
  }

  // Calls visit(layer, part) for each part that the file has.
  template <typename Visit>
  void visit_parts(const Visit& visit) const {
    for (int64_t layer = 0; layer < options_.num_layers; ++layer) {
      for (size_t part = 0; part < kNumParts; ++part) {
        if (has_part(options_, part)) visit(layer, part);
      }
    }
  }

  void check_rows(const std::string& path) const {
    if (rows_[kVersion] != kFileVersion && rows_[kVersion] != kFileVersionOfLayers) {
      fail(Status::Unsupported, "\"%s\" has version %" PRId64 " of a cache's file, expected %" PRId64 " or %" PRId64,
           path.c_str(), rows_[kVersion], kFileVersion, kFileVersionOfLayers);
    }
    const int64_t length = rows_[kLength];
    if (length < 0 || length > kMaxCacheRows || rows_[kFirst] < 0 || rows_[kFirst] > length || rows_[kNumSinks] < 0) {
      fail(Status::CorruptFile,
           "\"%s\" says that it has rows %" PRId64 " to %" PRId64 " and %" PRId64
           " sinks, expected numbers from 0 to 2^31 - 1",
           path.c_str(), rows_[kFirst], length, rows_[kNumSinks]);
    }
    const int64_t before = rows_[kFirst] == 0 ? length : rows_[kFirst];
    if (rows_[kNumSinks] > before) {
      fail(Status::CorruptFile, "\"%s\" says that it has %" PRId64 " sinks, expected at most %" PRId64 ", %s",
           path.c_str(), rows_[kNumSinks], before,
           rows_[kFirst] == 0 ? "the number of its rows" : "the number of rows before the first one after them");
    }
    if (rows_[kUnrotatedKeys] != 0 && rows_[kUnrotatedKeys] != 1) {
      fail(Status::CorruptFile,
           "\"%s\" says %" PRId64
           " about whether its keys are unrotated, expected 0 or 1 as the last number of \"rows\"",
           path.c_str(), rows_[kUnrotatedKeys]);
    }
    if ((rows_[kUnrotatedKeys] != 0) != options_.unrotated_keys) {
      const auto words = [](bool unrotated) { return unrotated ? "unrotated" : "rotated"; };
      fail(Status::InvalidArgument, "\"%s\" has %s keys, but those of the cache are %s: expected the same",
           path.c_str(), words(rows_[kUnrotatedKeys] != 0), words(options_.unrotated_keys));
    }
  }

  int32_t position(int64_t layer, int64_t i) const {
    int32_t result = 0;
    std::memcpy(&result, data_.data() + offset_of(layer, kPositions) + static_cast<size_t>(i) * 4, sizeof result);
    return result;
  }

  void check_positions(const std::string& path, int64_t layer) const {
    for (int64_t i = 0; i < num_rows(layer); ++i) {
      if (position(layer, i) >= 0) continue;
      fail(Status::CorruptFile, "\"%s\" of \"%s\" has %d at row %" PRId64 ", expected at least 0",
           CachePartName(layer, kPositions).text, path.c_str(), position(layer, i), i);
    }
  }

  // Sets ropes_ from rope_text_: the line of each layer, or the only one.
  void read_ropes(const std::string& path) {
    std::string_view rest = rope_text_;
    while (true) {
      const size_t end = rest.find('\n');
      ropes_.push_back(rest.substr(0, end));
      if (end == std::string_view::npos) break;
      rest.remove_prefix(end + 1);
    }
    const auto num_layers = static_cast<size_t>(options_.num_layers);
    if (ropes_.size() == 1) ropes_.resize(num_layers, ropes_.front());
    if (ropes_.size() == num_layers) return;
    fail(Status::CorruptFile, "\"rope\" of \"%s\" has %zu lines, expected one, or one for each of %zu layers",
         path.c_str(), ropes_.size(), num_layers);
  }

  // A text that no layer can have would make the next call of every layer fail.
  void check_ropes(const std::string& path) const {
    std::string_view checked = Cache::kNoRotary;
    for (const std::string_view rope : ropes_) {
      if (rope != checked && rope != Cache::kNoRotary && !is_rope_text(rope, options_.head_size)) {
        fail(Status::CorruptFile,
             "\"rope\" of \"%s\" is \"%s\", expected none, or rotary positions of heads of %" PRId64
             " elements as " FUNCTION("heed_cache_save") " writes them",
             path.c_str(), shown(rope).c_str(), options_.head_size);
      }
      checked = rope;
    }
  }

  // All other sequences hold keys with the same rotary positions.
  void check_rotary(const Cache& cache, int64_t sequence) const {
    for (int64_t layer = 0; layer < options_.num_layers; ++layer) check_rotary(cache, sequence, layer);
  }
  void check_rotary(const Cache& cache, int64_t sequence, int64_t layer) const {
    const std::string_view held = cache.rotary_text(layer);
    const std::string_view rope = ropes_[static_cast<size_t>(layer)];
    if (held == rope) return;
    for (int64_t other = 0; other < cache.options().max_sequences; ++other) {
      if (other == sequence || cache.longest(other) == 0) continue;
      fail(Status::InvalidArgument,
           "\"%s\" has keys with the rotary positions %.*s, but those of the cache have %.*s: expected the same",
           path_.c_str(), static_cast<int>(std::min<size_t>(rope.size(), 160)), rope.data(),
           static_cast<int>(std::min<size_t>(held.size(), 160)), held.data());
    }
  }

  void store_positions(Cache& cache, int64_t sequence, int64_t layer) const {
    LayerRows& rows = cache.rows_at(layer, sequence);
    if (num_rows(layer) == 0) {
      // The next row has the number of the rows before as its position.
      rows.shift = 0;
      rows.num_consecutive = static_cast<int64_t>(rows.length);
      return;
    }
    const int64_t shift = position(layer, 0) - row(layer, 0);
    bool is_consecutive = true;
    for (int64_t i = 0; i < num_rows(layer); ++i) {
      is_consecutive = is_consecutive && position(layer, i) == row(layer, i) + shift;
      if (rows.keeps(row(layer, i))) cache.position_at(layer, sequence, row(layer, i)) = position(layer, i);
    }
    rows.shift = shift;
    // The rows that were dropped may have had other positions.
    const int64_t seen = rows.length + shift - (cache.geometry(layer).visible_rows - 1);
    is_consecutive = is_consecutive && (rows.dropped_end == 0 || seen >= rows.dropped_end);
    rows.num_consecutive = is_consecutive ? static_cast<int64_t>(rows.length) : 0;
  }

  const CacheOptions options_;
  int64_t rows_[kNumFileRows] = {};
  std::string path_;  // of the file, for messages
  std::string rope_text_;
  std::vector<FileLayer> layers_;
  std::vector<size_t> offsets_;          // [layer], of its parts in data_
  std::vector<std::string_view> ropes_;  // [layer], lines of rope_text_ or texts of the cache
  HostVector<std::byte> data_;           // the parts of each layer, one after another
};

void Cache::save(int64_t sequence, const char* path) const {
  const ReadLock lock(*this);
  check_sequence("sequence", sequence);
  CacheFile(*this, sequence).with_tensors([&](const auto& tensors, const auto& texts) {
    save_safetensors(path, tensors, texts);
  });
}

size_t Cache::save_to_memory(int64_t sequence, void* destination, size_t capacity) const {
  const ReadLock lock(*this);
  check_sequence("sequence", sequence);
  return CacheFile(*this, sequence).with_tensors([&](const auto& tensors, const auto& texts) {
    return save_safetensors_to_memory(destination, capacity, tensors, texts);
  });
}

void Cache::load(int64_t sequence, const SafetensorsFile& file) {
  check_sequence("sequence", sequence);
  const CacheFile contents(*this, file);
  const WriteLock lock(*this);
  contents.store(*this, sequence);
}

}  // namespace heed
