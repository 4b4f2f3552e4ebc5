// SPDX-License-Identifier: Apache-2.0
// Products with the tiles of a cache (ops/cached_keys.h): scores of rows with the keys of some tiles, and sums of their
// values. Lanes are keys in the first, elements of a value in the second. Both run in the order of a plain loop, over the
// elements of a head and over the keys, so that no result depends on how many rows or tiles are computed together.
#pragma once

#include "backends/cpu/kernels/attention/row_scores-inl.h"
#include "backends/cpu/kernels/simd/elements-inl.h"
#include "backends/cpu/kernels/simd/simd.h"
#include "ops/cached_keys.h"

namespace heed::cpu::HEED_ISA_NAMESPACE {
namespace {

// Keys are processed in blocks that begin at multiples of this many rows of a sequence.
constexpr int64_t kCachedBlockKeys = 256;
constexpr int64_t kBlockTiles = kCachedBlockKeys / kCacheTileRows;
constexpr int kTileKeyVectors = static_cast<int>(kCacheTileRows) / kLanes;
// The stride of a row of scores is no multiple of 4 KiB, since such rows would map to the same sets of a first-level
// cache.
constexpr int64_t kCachedScoresStride = kCachedBlockKeys + kLanes;

// Bytes of an element of a cache.
template <DType type>
constexpr int64_t kCachedSize = type == DType::F32 ? 4 : (type == DType::I8 ? 1 : 2);

HEED_INLINE int64_t size_of_cached(DType dtype) { return dtype == DType::F32 ? 4 : (dtype == DType::I8 ? 1 : 2); }

// Loads kLanes contiguous elements; those of I8 without their scale.
template <DType type>
HEED_INLINE Vec load_cached(const char* from) {
  if constexpr (type == DType::I8) {
    return __builtin_convertvector(load_signed_bytes(reinterpret_cast<const int8_t*>(from)), Vec);
  } else {
    return load_elements(from, type);
  }
}

// Whether products read elements of 16 and 8 bits as they are stored, so that there is a function for each dtype. The baseline
// of x86, where widening takes most of the time, and which few machines need, widens all of them first.
constexpr bool kReadsNarrow = kLanes > 4 || kRegisters > 16;

// Calls visit with the dtype as a template parameter.
template <typename Visit>
HEED_INLINE void visit_cached_dtype(DType dtype, const Visit& visit) {
  switch (dtype) {
    case DType::F32: return visit.template operator()<DType::F32>();
    case DType::F16: return visit.template operator()<DType::F16>();
    case DType::BF16: return visit.template operator()<DType::BF16>();
    case DType::I8: return visit.template operator()<DType::I8>();
    // No cache has these.
    case DType::F64:
    case DType::I32:
    case DType::I64:
    case DType::U8:
    case DType::Bool: break;
  }
  __builtin_unreachable();
}

// A value is prefetched with that of the same row this many tiles before.
constexpr int64_t kTilesAhead = 2;

// Memory that is read later, in areas of equal size.
struct AreasAhead {
  const char* areas[kBlockTiles];
  int64_t count = 0;
  int64_t bytes = 0;  // of each
  // Those that the rows which are computed now prefetch.
  int64_t begin = 0;
  int64_t end = 0;

  // Chooses part `number` of num_parts, which have about equal numbers of areas.
  void choose_part(int64_t number, int64_t num_parts) {
    begin = number * count / num_parts;
    end = (number + 1) * count / num_parts;
  }
};

// The tiles of one key head in a block. Only those that contain keys of the sequence are set.
struct CachedBlock {
  const char* keys[kBlockTiles];  // [d][kCacheTileRows]
  // [kCacheTileRows][value_bytes]. After the last tile, kTilesAhead times, what is read after the block.
  const char* values[kBlockTiles + kTilesAhead];
  const float* key_scales[kBlockTiles];  // [kCacheTileRows], only for I8
  const float* value_scales[kBlockTiles];
  int64_t head_size;
  int64_t value_head_size;
  int64_t value_bytes;  // from value to value
  DType dtype;          // of keys and values as they are here: F32 if they were widened
  // What is prefetched while many rows are computed.
  AreasAhead during_scores;
  AreasAhead during_values;
};

// Tiles of a block, or keys of a block: first .. end - 1.
struct BlockRange {
  int64_t first;
  int64_t end;
};

// The rows that are computed on a block.
struct BlockRows {
  const float* queries;  // [count][query_stride], times the scale
  int64_t query_stride;
  float* scores;  // [count][kCachedScoresStride], then probabilities
  float* sums;    // [count][sums_stride]
  int64_t sums_stride;
  int64_t count;

  HEED_INLINE_MEMBER BlockRows from(int64_t r) const {
    return {queries + r * query_stride, query_stride, scores + r * kCachedScoresStride,
            sums + r * sums_stride,     sums_stride,  count - r};
  }
};

// With fewer rows than this a block is computed faster than it is read from memory, so the calls for the first rows prefetch
// what follows as fast as they can. With as many or more, computing takes longer: then all calls of a stage prefetch equal
// parts of what is read in the next one, and memory is read the whole time.
constexpr int kManyRows = 8;
// Of so many rows, those that one call computes.
constexpr int kScoreRows =
    kRegisters >= 32 && kTileKeyVectors == 1 ? 8 : (kTileKeyVectors <= 2 || kRegisters >= 32 ? 4 : 2);

// Divides areas among the calls of a stage. They are prefetched to the second-level cache, since the first level holds what
// is in use.
class FetchPlan {
 public:
  FetchPlan(const AreasAhead& ahead, int64_t num_calls)
      : ahead_(ahead),
        area_(ahead.begin),
        parts_(ahead.end > ahead.begin ? larger(int64_t{1}, num_calls / (ahead.end - ahead.begin)) : 1),
        part_bytes_(round_up(divide_up(ahead.bytes, parts_), kLineBytes)) {}

  // What one call prefetches in each of its steps.
  struct Part {
    const char* from;
    int64_t step_bytes;

    HEED_INLINE_MEMBER void fetch(int64_t step) const {
      for (int64_t i = 0; i < step_bytes; i += kLineBytes) __builtin_prefetch(from + step * step_bytes + i, 0, 2);
    }
  };
  // The next part, for a call of this many steps.
  Part next(int64_t num_steps) {
    if (area_ >= ahead_.end) return {nullptr, 0};
    const Part part = {ahead_.areas[area_] + part_ * part_bytes_,
                       round_up(divide_up(part_bytes_, num_steps), kLineBytes)};
    if (++part_ == parts_) {
      part_ = 0;
      ++area_;
    }
    return part;
  }

 private:
  const AreasAhead& ahead_;
  int64_t area_;
  int64_t parts_;       // of an area
  int64_t part_bytes_;  // at most
  int64_t part_ = 0;
};

// ---- scores ---------------------------------------------------------------------------------------------------------

// How many of a block's tiles are scored together: as many as the sums of `rows` rows leave registers for.
template <int rows>
constexpr int kTilesAtOnce = [] {
  const int sums = kRegisters >= 32 ? 16 : 8;
  const int tiles = sums / (rows * kTileKeyVectors);
  return tiles < 1 ? 1 : (tiles > 4 ? 4 : tiles);
}();

// How far ahead each tile is prefetched, in bytes. Tiles that are scored together are as many streams; with four of them 8
// KiB are in flight, as in row_scores-inl.h.
constexpr int64_t kTileAheadBytes = 2048;

// Prefetches the lines of four steps of d.
template <DType type, int count>
HEED_INLINE void fetch_tiles(const char* const* tiles, int64_t offset) {
#pragma GCC unroll 4
  for (int t = 0; t < count; ++t) fetch(tiles[t] + offset, 4 * kCacheTileRows * kCachedSize<type>);
}

// scores[r][key] = sum over d of query[r][d] * key[d], d ascending, for `tiles` tiles from tile `first` on. Calls fetch_ahead(d) before elements
// d to d + 3.
template <DType type, int rows, int tiles, typename FetchAhead>
HEED_INLINE void score_tiles(const CachedBlock& block, int64_t first, BlockRows to, const FetchAhead& fetch_ahead) {
  constexpr int kVectors = tiles * kTileKeyVectors;
  const char* const* keys = block.keys + first;
  const int64_t head_size = block.head_size;
  float* scores = to.scores + first * kCacheTileRows;
  Vec sums[rows][kVectors] = {};
  const auto step = [&](int64_t d) __attribute__((always_inline)) {
    Vec elements[kVectors];
#pragma GCC unroll 16
    for (int v = 0; v < kVectors; ++v) {
      elements[v] = load_cached<type>(keys[v / kTileKeyVectors] +
                                      (d * kCacheTileRows + v % kTileKeyVectors * kLanes) * kCachedSize<type>);
    }
#pragma GCC unroll 8
    for (int r = 0; r < rows; ++r) {
      const Vec query = broadcast(to.queries[r * to.query_stride + d]);
#pragma GCC unroll 16
      for (int v = 0; v < kVectors; ++v) accumulate(sums[r][v], query, elements[v]);
    }
  };
  int64_t d = 0;
  for (; d + 4 <= head_size; d += 4) {
    fetch_ahead(d);
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) step(d + i);
  }
  for (; d < head_size; ++d) step(d);
#pragma GCC unroll 8
  for (int r = 0; r < rows; ++r) {
#pragma GCC unroll 16
    for (int v = 0; v < kVectors; ++v) store(scores + r * kCachedScoresStride + v * kLanes, sums[r][v]);
  }
}

// Scores of `rows` rows with some tiles. `fetches`: whether keys, and then values, are prefetched.
template <DType type, int rows>
static void score_rows_of_block(const CachedBlock& block, BlockRange tiles, BlockRows to, bool fetches) {
  constexpr int kTiles = kTilesAtOnce<rows>;
  constexpr int64_t kStep = kCacheTileRows * kCachedSize<type>;
  const int64_t tile_bytes = block.head_size * kStep;
  int64_t t = tiles.first;
  for (; t + kTiles <= tiles.end; t += kTiles) {
    const char* const* keys = block.keys + t;
    // The values follow the last keys.
    const char* const* next = t + 2 * kTiles <= tiles.end ? keys + kTiles : block.values + tiles.first;
    score_tiles<type, rows, kTiles>(
        block, t, to, [&](int64_t d) __attribute__((always_inline)) {
          if (!fetches) return;
          const int64_t offset = d * kStep + smaller(kTileAheadBytes, tile_bytes);
          fetch_tiles<type, kTiles>(offset < tile_bytes ? keys : next,
                                    offset < tile_bytes ? offset : offset - tile_bytes);
        });
  }
  for (; t < tiles.end; ++t) score_tiles<type, rows, 1>(block, t, to, [](int64_t) __attribute__((always_inline)){});
}

// The same in F32 for all rows, a multiple of kScoreRows: tile by tile, so that all rows read a tile from the fastest
// cache.
HEED_NOINLINE void score_many_rows_of_block(const CachedBlock& block, BlockRange tiles, BlockRows rows) {
  constexpr int kTiles = kTilesAtOnce<kScoreRows>;
  FetchPlan plan(block.during_scores, (tiles.end - tiles.first) / kTiles * (rows.count / kScoreRows));
  int64_t t = tiles.first;
  const auto score = [&]<int at_once>() __attribute__((always_inline)) {
    for (int64_t r = 0; r < rows.count; r += kScoreRows) {
      const FetchPlan::Part part = plan.next(larger(int64_t{1}, block.head_size / 4));
      score_tiles<DType::F32, kScoreRows, at_once>(
          block, t, rows.from(r), [&](int64_t d) __attribute__((always_inline)) { part.fetch(d / 4); });
    }
  };
  for (; t + kTiles <= tiles.end; t += kTiles) score.template operator()<kTiles>();
  for (; t < tiles.end; ++t) score.template operator()<1>();
}

template <DType type>
static void score_block_of(const CachedBlock& block, BlockRange tiles, BlockRows rows) {
  int64_t r = 0;
  // Elements of 16 and 8 bits of many rows are mostly widened first.
  if (type == DType::F32 && rows.count >= kManyRows) {
    r = rows.count / kScoreRows * kScoreRows;
    BlockRows many = rows;
    many.count = r;
    if constexpr (type == DType::F32) score_many_rows_of_block(block, tiles, many);
  }
  const auto score = [&]<int at_once>() {
    for (; r + at_once <= rows.count; r += at_once)
      score_rows_of_block<type, at_once>(block, tiles, rows.from(r), r == 0);
  };
  if constexpr (kTileKeyVectors <= 2 || kRegisters >= 32) score.template operator()<4>();
  score.template operator()<2>();
  score.template operator()<1>();
}

// Scores of rows with some tiles of a block, without the scales of I8.
static void score_block_tiles(const CachedBlock& block, BlockRange tiles, BlockRows rows) {
  visit_cached_dtype(block.dtype, [&]<DType type>() {
    if constexpr (kReadsNarrow || type == DType::F32) score_block_of<type>(block, tiles, rows);
  });
}

// ---- values ---------------------------------------------------------------------------------------------------------

// Values are added for this many keys at a time, so that rows after the first ones read them from the fastest cache, and
// memory is read in order.
constexpr int64_t kValueKeys = 64;
// The sums that stay in registers, and of how many rows they are if there are many.
constexpr int kCachedValueSums = kRegisters >= 32 ? 16 : 8;
constexpr int kCachedValueRows = 4;

// Keys of a block whose values are added at a time.
struct ValuePart {
  BlockRange keys;
  bool begins;  // whether the sums begin at 0
};

// sums[r][d] += probability[r][key] * value[key][d] for `vectors` vectors of elements from d on and the keys of a part,
// keys ascending. Calls fetch_ahead(t, k) before keys k to k + 3, which are in tile t. `is_unrolled` saves time where memory
// is not what takes it.
template <DType type, int rows, int vectors, bool is_unrolled, typename FetchAhead>
HEED_INLINE void add_cached_tile(const CachedBlock& block, ValuePart part, BlockRows to, int64_t d,
                                 const FetchAhead& fetch_ahead) {
  const int64_t offset = d * kCachedSize<type>;
  const float* probabilities = to.scores;
  float* sums = to.sums + d;
  Vec tile[rows][vectors] = {};
  if (!part.begins) {
#pragma GCC unroll 8
    for (int r = 0; r < rows; ++r) {
#pragma GCC unroll 8
      for (int v = 0; v < vectors; ++v) tile[r][v] = load(sums + r * to.sums_stride + v * kLanes);
    }
  }
  for (int64_t k = part.keys.first; k < part.keys.end;) {
    const int64_t t = k / kCacheTileRows;
    const int64_t end = smaller(part.keys.end, (t + 1) * kCacheTileRows);
    const char* value = block.values[t] + k % kCacheTileRows * block.value_bytes + offset;
    const auto step = [&](int64_t key, const char* from) __attribute__((always_inline)) {
      Vec elements[vectors];
#pragma GCC unroll 8
      for (int v = 0; v < vectors; ++v) elements[v] = load_cached<type>(from + v * kLanes * kCachedSize<type>);
#pragma GCC unroll 8
      for (int r = 0; r < rows; ++r) {
        const Vec probability = broadcast(probabilities[r * kCachedScoresStride + key]);
#pragma GCC unroll 8
        for (int v = 0; v < vectors; ++v) accumulate(tile[r][v], probability, elements[v]);
      }
    };
    for (; k + 4 <= end; k += 4, value += 4 * block.value_bytes) {
      fetch_ahead(t, k);
      if constexpr (is_unrolled) {
#pragma GCC unroll 4
        for (int i = 0; i < 4; ++i) step(k + i, value + i * block.value_bytes);
      } else {
#pragma GCC unroll 1
        for (int i = 0; i < 4; ++i) step(k + i, value + i * block.value_bytes);
      }
    }
    for (; k < end; ++k, value += block.value_bytes) step(k, value);
  }
#pragma GCC unroll 8
  for (int r = 0; r < rows; ++r) {
#pragma GCC unroll 8
    for (int v = 0; v < vectors; ++v) store(sums + r * to.sums_stride + v * kLanes, tile[r][v]);
  }
}

// For all elements of `rows` rows. The last vector may reach beyond the values: a cache and a block of widened values end
// with kLanes floats more, and sums have room for whole vectors.
template <DType type, int rows>
static void add_cached_rows(const CachedBlock& block, ValuePart part, BlockRows to, bool fetches) {
  constexpr int kMost = kCachedValueSums / rows;
  constexpr int kVectors = kMost > 8 ? 8 : kMost;
  // About 4 KiB with values of 64 to 128 elements.
  constexpr int64_t kAhead = kCachedSize<type> == 1 ? kTilesAhead : 1;
  const int64_t size = block.value_head_size;
  const auto add = [&]<int vectors>(int64_t d) __attribute__((always_inline)) {
    const int64_t offset = d * kCachedSize<type>;
    add_cached_tile<type, rows, vectors, false>(
        block, part, to, d, [&](int64_t t, int64_t k) __attribute__((always_inline)) {
          if (!fetches) return;
          const char* ahead = block.values[t + kAhead] + k % kCacheTileRows * block.value_bytes + offset;
#pragma GCC unroll 1
          for (int i = 0; i < 4; ++i) fetch(ahead + i * block.value_bytes, vectors * kLanes * kCachedSize<type>);
        });
  };
  int64_t d = 0;
  for (; d + kVectors * kLanes <= size; d += kVectors * kLanes) add.template operator()<kVectors>(d);
  for (; d < size; d += kLanes) add.template operator()<1>(d);
}

// The same in F32 for all rows, a multiple of kCachedValueRows: some elements of all values after the others, so that all
// rows read them from the fastest cache.
HEED_NOINLINE void add_many_cached_rows(const CachedBlock& block, ValuePart part, BlockRows rows, FetchPlan& plan) {
  constexpr int kVectors = kCachedValueSums / kCachedValueRows;
  const int64_t size = block.value_head_size;
  const auto add = [&]<int vectors>(int64_t d) __attribute__((always_inline)) {
    for (int64_t r = 0; r < rows.count; r += kCachedValueRows) {
      const FetchPlan::Part ahead = plan.next(kValueKeys / 4);
      add_cached_tile<DType::F32, kCachedValueRows, vectors, true>(
          block, part, rows.from(r),
          d, [&](int64_t, int64_t k) __attribute__((always_inline)) { ahead.fetch((k - part.keys.first) / 4); });
    }
  };
  int64_t d = 0;
  for (; d + kVectors * kLanes <= size; d += kVectors * kLanes) add.template operator()<kVectors>(d);
  for (; d < size; d += kLanes) add.template operator()<1>(d);
}

template <DType type>
static void add_block_values_of(const CachedBlock& block, BlockRange keys, BlockRows rows) {
  BlockRows many = rows;
  many.count = type == DType::F32 && rows.count >= kManyRows ? rows.count / kCachedValueRows * kCachedValueRows : 0;
  constexpr int64_t kElements = kCachedValueSums / kCachedValueRows * kLanes;
  FetchPlan plan(block.during_values, (divide_up(keys.end, kValueKeys) - keys.first / kValueKeys) *
                                          (block.value_head_size / kElements) * (many.count / kCachedValueRows));
  for (int64_t first = keys.first; first < keys.end;) {
    const int64_t end = smaller(keys.end, round_up(first + 1, kValueKeys));
    const ValuePart part = {{first, end}, first == keys.first};
    int64_t r = many.count;
    if (r > 0) add_many_cached_rows(block, part, many, plan);
    const auto add = [&]<int at_once>() {
      for (; r + at_once <= rows.count; r += at_once) add_cached_rows<type, at_once>(block, part, rows.from(r), r == 0);
    };
    if constexpr (kRegisters >= 32) add.template operator()<4>();
    add.template operator()<2>();
    add.template operator()<1>();
    first = end;
  }
}

// sums[r] = sum over some keys of a block of probability[r][key] * value[key].
static void sum_block_values(const CachedBlock& block, BlockRange keys, BlockRows rows) {
  visit_cached_dtype(block.dtype, [&]<DType type>() {
    if constexpr (kReadsNarrow || type == DType::F32) add_block_values_of<type>(block, keys, rows);
  });
}

// ---- addresses and widening -----------------------------------------------------------------------------------------

template <DType type>
static void widen_cached(const char* from, int64_t count, float* to) {
  for (int64_t i = 0; i < count; i += kLanes) store(to + i, load_cached<type>(from + i * kCachedSize<type>));
}

// Widens `count` elements, rounded up to whole vectors.
static void widen_cached(const char* from, DType dtype, int64_t count, float* to) {
  visit_cached_dtype(dtype, [&]<DType type>() { widen_cached<type>(from, count, to); });
}

// One tile of a key head in the memory of a cache.
struct CachedTile {
  const char* keys;
  const char* values;
  const float* key_scales;  // only for I8
  const float* value_scales;
};

// The tiles of one key head of a sequence, and the blocks that they make.
struct CachedHead {
  const CachedKeys& cached;
  const int32_t* pages;
  int64_t kv_head;
  int64_t head_size;
  int64_t value_head_size;

  // Bytes of the keys, and of the values, of a tile.
  HEED_INLINE_MEMBER int64_t key_bytes() const { return kCacheTileRows * head_size * size_of_cached(cached.dtype); }
  HEED_INLINE_MEMBER int64_t value_bytes() const {
    return kCacheTileRows * value_head_size * size_of_cached(cached.dtype);
  }

  HEED_INLINE_MEMBER CachedTile tile(int64_t number) const {
    const TileAddress address = tile_address(cached, pages, kv_head, number);
    const char* head = reinterpret_cast<const char*>(address.head);
    const auto scales_at = [&](int64_t offset) {
      return reinterpret_cast<const float*>(head + offset) + address.tile * kCacheTileRows;
    };
    return {head + address.tile * key_bytes(), head + cached.values_offset + address.tile * value_bytes(),
            scales_at(cached.key_scales_offset), scales_at(cached.value_scales_offset)};
  }

  // Sets those tiles of a block that begins with tile first_tile of the sequence. `continues`: whether the keys of the next
  // block are read after it.
  void find_tiles(int64_t first_tile, BlockRange tiles, bool continues, CachedBlock& block) const {
    block.dtype = cached.dtype;
    block.head_size = head_size;
    block.value_head_size = value_head_size;
    block.value_bytes = value_bytes() / kCacheTileRows;
    for (int64_t t = tiles.first; t < tiles.end; ++t) {
      const CachedTile stored = tile(first_tile + t);
      block.keys[t] = stored.keys;
      block.values[t] = stored.values;
      if (cached.dtype != DType::I8) continue;
      block.key_scales[t] = stored.key_scales;
      block.value_scales[t] = stored.value_scales;
    }
    const char* next = block.values[tiles.end - 1];
    if (continues) next = tile(first_tile + kBlockTiles).keys;
    for (int64_t i = 0; i < kTilesAhead; ++i) block.values[tiles.end + i] = next + (continues ? i * key_bytes() : 0);
  }

  // Sets what is prefetched while scores are computed and while values are summed: the values of the block and the keys of
  // the next one, or, with `is_next_whole`, the keys and the values of the next one. num_next: its tiles.
  void find_areas_ahead(int64_t first_tile, BlockRange tiles, int64_t num_next, bool is_next_whole,
                        CachedBlock& block) const {
    AreasAhead& next_keys = is_next_whole ? block.during_scores : block.during_values;
    next_keys.bytes = key_bytes();
    for (int64_t t = 0; t < num_next; ++t) {
      const CachedTile stored = tile(first_tile + kBlockTiles + t);
      next_keys.areas[next_keys.count++] = stored.keys;
      if (is_next_whole) block.during_values.areas[block.during_values.count++] = stored.values;
    }
    if (is_next_whole) {
      block.during_values.bytes = value_bytes();
      return;
    }
    block.during_scores.bytes = value_bytes();
    for (int64_t t = tiles.first; t < tiles.end; ++t)
      block.during_scores.areas[block.during_scores.count++] = block.values[t];
  }
};

}  // namespace
}  // namespace heed::cpu::HEED_ISA_NAMESPACE
