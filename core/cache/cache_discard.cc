// SPDX-License-Identifier: Apache-2.0
// Discarding rows in the middle of a sequence: those behind them move forward, and their keys are rotated to other positions.
#include <algorithm>
#include <cinttypes>

#include "base/error.h"
#include "cache/cache.h"
#include "ops/rotations.h"
#include "ops/sequence.h"

namespace heed {
namespace {

// Writes the rotation of a position, cosines and then sines.
void write_rotation(const RotaryTable& table, int64_t position, std::span<float> rotation) {
  RotationsProblem problem;
  problem.batch = 1;
  problem.limits = unlimited(1, 1);
  problem.limits.sequence.query_position = position;
  problem.num_pairs = table.options().rotary_size / 2;
  problem.digits = table.digits();
  problem.output.data = rotation.data();
  problem.output.strides[3] = 1;
  write_rotations(problem, 0, 0, 1);
}

}  // namespace

void Cache::check_discarded(int64_t sequence, int64_t first_row, int64_t num_rows, int64_t length) const {
  check_row("first", first_row, length, sequence);
  if (num_rows < 0 || num_rows > length - first_row) {
    fail(Status::InvalidArgument,
         ARGUMENT("num_rows") " is %" PRId64 ", expected 0 to %" PRId64 ", since sequence %" PRId64 " has %" PRId64
                              " rows",
         num_rows, length - first_row, sequence, length);
  }
  check_kept("first", first_row, sequence);
}

bool Cache::has_rotated_keys() const {
  return !options_.unrotated_keys &&
         std::ranges::any_of(rotary_, [](const LayerRotary& rotary) { return rotary.kind != Rotary::None; });
}

void Cache::require_rotatable() const {
  if (options_.dtype == DType::I8) {
    fail(Status::Unsupported,
         "renumber is " FLAG("renumber", "1") ", but the cache keeps rotated keys in " DTYPE("I8") ", which another "
"rotation would round too much: expected " FLAG("renumber", "0") ", or a cache with " SETTING("unrotated_keys", "1"));
  }
  if (std::ranges::any_of(rotary_, [](const LayerRotary& rotary) { return rotary.kind == Rotary::Text; })) {
    fail(Status::Unsupported,
         "renumber is " FLAG("renumber", "1") ", but the cache was loaded and no " WORD("layer") " has used it "
"since, so its rotary positions are not known: expected " FLAG("renumber", "0") ", or a forward before");
  }
}

void Cache::check_renumbered(int64_t sequence, const MovedRows& moved) const {
  for (int64_t layer = 0; layer < options_.num_layers; ++layer) {
    for (int64_t row = moved.first; row < moved.end; ++row) {
      const int64_t position = position_of(layer, sequence, row);
      if (position >= moved.distance) continue;
      fail(Status::InvalidArgument,
           "renumber is " FLAG("renumber", "1") ", but row %" PRId64 " has the position %" PRId64
                                                ", expected at least " ARGUMENT("num_rows") ", %" PRId64,
           row, position, moved.distance);
    }
  }
}

void Cache::check_windows(int64_t sequence, const MovedRows& moved) const {
  const int64_t first_row = moved.first - moved.distance;
  for (int64_t layer = 0; layer < options_.num_layers; ++layer) {
    const CacheGeometry& geometry = this->geometry(layer);
    const LayerRows& held = rows(layer, sequence);
    if (!geometry.serves_window || held.first == 0) continue;
    const bool is_end = moved.first == moved.end;
    const int64_t last = is_end ? first_row - 1 : moved.end - 1;
    if (last >= held.first) {
      const int64_t next = position_of(layer, sequence, last) + 1 - (moved.renumbers && !is_end ? moved.distance : 0);
      if (next - (geometry.visible_rows - 1) >= held.dropped_end) continue;
    }
    fail(Status::InvalidArgument,
         ARGUMENT("num_rows") " is %" PRId64 ", but a window of layer %" PRId64
                              " would then reach rows before row %" PRId64 ", the oldest one that sequence %" PRId64
                              " keeps there: expected fewer",
         moved.distance, layer, static_cast<int64_t>(held.first), sequence);
  }
}

int64_t Cache::largest_rotary_size() const {
  int64_t largest = 0;
  for (const LayerRotary& rotary : rotary_) {
    if (rotary.kind == Rotary::Table) largest = std::max(largest, rotary.table->options().rotary_size);
  }
  return largest;
}

void Cache::move_rows(int64_t layer, int64_t sequence, const PagesImage& image, const MovedRows& moved,
                      std::span<float> rotation) {
  LayerRows& rows = rows_at(layer, sequence);
  const int64_t first_row = moved.first - moved.distance;
  rows.num_consecutive = std::min(rows.num_consecutive, first_row);
  const LayerRotary& rotary = rotary_of(layer);
  const bool rotates = !rotation.empty() && rotary.kind == Rotary::Table;
  if (rotates) write_rotation(*rotary.table, -moved.distance, rotation);
  for (int64_t row = moved.first; row < moved.end; ++row) {
    const int64_t position = position_of(layer, sequence, row) - (moved.renumbers ? moved.distance : 0);
    const int64_t to = row - moved.distance;
    move_row(*this, image, row, to);
    if (rotates) {
      const RopeOptions& rope = rotary.table->options();
      rotate_row(*this, image, rope, to, rotation.first(static_cast<size_t>(rope.rotary_size)));
    }
    set_position(layer, sequence, rows, to, position);
  }
}

void Cache::discard(int64_t sequence, int64_t first_row, int64_t num_rows, bool renumber) {
  const WriteLock lock(*this);
  check_sequence("sequence", sequence);
  require_equal_layers("heed_cache_discard", sequence);
  const int64_t length = longest(sequence);
  check_discarded(sequence, first_row, num_rows, length);
  if (num_rows == 0) return;
  const MovedRows moved = {first_row + num_rows, length, num_rows, renumber};
  const bool rotates = renumber && moved.first < moved.end && has_rotated_keys();
  if (rotates) require_rotatable();
  if (renumber) check_renumbered(sequence, moved);
  check_windows(sequence, moved);
  HostVector<float> rotation(context_->host_allocator());
  if (rotates) rotation.resize(static_cast<size_t>(largest_rotary_size()));
  const HostVector<PagesImage> images = images_of(sequence, first_row, moved.first < moved.end ? length : first_row);
  make_own(sequence, first_row, length - num_rows);
  for (int64_t layer = 0; layer < options_.num_layers; ++layer)
    move_rows(layer, sequence, images[static_cast<size_t>(layer)], moved, rotation);
  commit(images, sequence, first_row);
  cut(sequence, length - num_rows);
}

}  // namespace heed
