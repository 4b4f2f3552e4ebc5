// SPDX-License-Identifier: Apache-2.0
// An item of the work is a range of the rows that share a head of keys and values, so that a block of keys is brought
// to the caches, and widened or copied where it has to be, once for all of them. No result depends on where the rows
// are cut: a row's arithmetic is its own.
#include "backends/cpu/flash_attention.h"

#include <algorithm>
#include <cstddef>

#include "backends/cpu/attention_arguments.h"
#include "base/rounding.h"
#include "ops/cost.h"
#include "ops/visible_keys.h"

namespace heed::cpu {
namespace {

// Rows of an item at most. A block of keys that has to be widened costs about as much as 7 rows: 3 % of 256, so that
// those that always have to are shared by twice as many.
constexpr int64_t kMaxItemRows = 256;
constexpr int64_t kMaxWidenedItemRows = 512;
// What the panels of an item may take of a second-level cache, whose half is left to a block of keys and values.
constexpr int64_t kMaxPanelBytes = int64_t{512} << 10;
// So that whoever is late has only a small item to finish.
constexpr int64_t kItemsPerWorker = 4;
// More items than this are small enough to be taken in any order.
constexpr int64_t kMaxOrdered = 2048;

struct OrderedItem {
  double cost;
  int64_t place;
};

// Which item comes at a place of the order, before costs are looked at: neighbours in memory, which may share a head's
// keys and values, go to one worker one after the other, while the others are far away. Measured with two workers: 2 %
// of the time at 512 queries, 5 % at 128.
int64_t spread(int64_t place, int64_t count, int32_t num_workers) {
  const int64_t share = count / num_workers;
  return place < share * num_workers ? place % num_workers * share + place / num_workers : place;
}

int64_t max_item_rows(const KernelTable& kernels, const AttentionProblem& problem) {
  const int64_t panel = kernels.flash_panel_rows;
  const int64_t row_bytes = (problem.head_size + problem.value_head_size) * static_cast<int64_t>(sizeof(float));
  const int64_t fitting = std::max(panel, kMaxPanelBytes / std::max<int64_t>(1, row_bytes) / panel * panel);
  const bool is_widened = problem.keys.dtype != DType::F32 || problem.values.dtype != DType::F32;
  const int64_t most = is_widened ? kMaxWidenedItemRows : kMaxItemRows;
  return std::min({most, fitting, round_up(rows_of_group(problem), panel)});
}

RowItems cut(const KernelTable& kernels, const AttentionProblem& problem, int32_t num_workers) {
  const int64_t num_rows = rows_of_group(problem);
  const int64_t panel = kernels.flash_panel_rows;
  RowItems items(problem, num_rows, std::max(panel, max_item_rows(kernels, problem)));
  if (num_workers == 1) return items;
  while (items.rows > panel && items.count < static_cast<double>(kItemsPerWorker * num_workers))
    items = RowItems(problem, num_rows, round_up(items.rows / 2, panel));
  return items;
}

// How scratch is shared out: a part for each worker, then the order of the items. From sizes alone, and never less when
// one of them grows, whatever the items and the work of a call turn out to be.
struct Scratch {
  int32_t num_workers;
  size_t worker_bytes;

  Scratch(const KernelTable& kernels, const AttentionProblem& problem, const AttentionArguments& arguments,
          int32_t all_workers) {
    const auto panels = static_cast<double>(divide_up(rows_of_group(problem), int64_t{kernels.flash_panel_rows}));
    // At least as many as any cut makes of them.
    const double num_items = static_cast<double>(problem.batch) * static_cast<double>(problem.num_kv_heads) * panels;
    num_workers = Workers::num_with_scratch(num_items, most_work_of(problem).flops, all_workers);
    worker_bytes = round_up_to_alignment(kernels.flash_scratch_bytes(&arguments, max_item_rows(kernels, problem)));
  }

  size_t order_offset() const { return worker_bytes * static_cast<size_t>(num_workers); }
  size_t num_bytes() const { return order_offset() + (num_workers > 1 ? kMaxOrdered * sizeof(OrderedItem) : 0); }
};

// The largest items first, judged by their first and last rows: what is taken last should be small. Those alike in cost
// stay spread.
void order(const AttentionProblem& problem, const RowItems& items, int64_t count, int32_t num_workers,
           OrderedItem* ordered) {
  const KeyLimits limits = limits_of(problem);
  for (int64_t place = 0; place < count; ++place) {
    const AttentionItem item = items.at(spread(place, count, num_workers));
    const auto keys_of_row = [&](int64_t row) {
      return keys_of_query(limits, item.batch_index, row % problem.num_queries).size();
    };
    const int64_t keys = keys_of_row(item.first_row) + keys_of_row(item.end_row - 1);
    ordered[place] = {static_cast<double>(keys) * static_cast<double>(item.end_row - item.first_row), place};
  }
  std::sort(ordered, ordered + count, [](const OrderedItem& a, const OrderedItem& b) {
    return a.cost != b.cost ? a.cost > b.cost : a.place < b.place;
  });
}

}  // namespace

size_t flash_attention_bytes(const KernelTable& kernels, const AttentionProblem& problem, int32_t num_workers) {
  return Scratch(kernels, problem, arguments_of(problem), num_workers).num_bytes();
}

Plan plan_flash_attention(const KernelTable& kernels, const AttentionProblem& problem, int32_t num_workers) {
  const RowItems items = cut(kernels, problem, num_workers);
  Plan plan;
  plan.kernel = problem.scoring == Scoring::Additive ? "flash_attention_additive" : "flash_attention";
  plan.isa = kernels.isa;
  plan.num_tasks = static_cast<int64_t>(std::min(items.count, 0x1p62));
  plan.num_threads = Workers::num_wanted(plan.num_tasks, flops_of(problem), num_workers);
  plan.block_queries = kernels.flash_panel_rows;
  plan.block_keys = kernels.flash_block_keys;
  add_attention_reasons(problem, plan);
  return plan;
}

void run_flash_attention(const KernelTable& kernels, const AttentionProblem& problem, const Workers& workers,
                         void* scratch) {
  const RowItems items = cut(kernels, problem, workers.num_workers());
  const AttentionArguments arguments = arguments_of(problem);
  const Scratch of_call(kernels, problem, arguments, workers.num_workers());
  auto* memory = static_cast<std::byte*>(scratch);
  auto* ordered = reinterpret_cast<OrderedItem*>(memory + of_call.order_offset());
  const auto count = static_cast<int64_t>(items.count);
  const double flops = flops_of(problem);
  const bool is_ordered = Workers::num_wanted(count, flops, workers.num_workers()) > 1 && count <= kMaxOrdered;
  if (is_ordered) order(problem, items, count, workers.num_workers(), ordered);
  workers.for_each(count, flops, [&](int64_t index, int32_t worker) {
    const int64_t place = is_ordered ? ordered[index].place : index;
    const AttentionItem item = items.at(spread(place, count, workers.num_workers()));
    kernels.flash_attention(&arguments, &item, memory + of_call.worker_bytes * static_cast<size_t>(worker));
  });
}

}  // namespace heed::cpu
