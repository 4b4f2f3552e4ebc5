// SPDX-License-Identifier: Apache-2.0
// Saves and loads an optimizer: docs/training.md lists the tensors of such a file.
#include <algorithm>
#include <cinttypes>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/decimal_text.h"
#include "base/error.h"
#include "base/shown_text.h"
#include "tensor/host_memory.h"
#include "tensor/safetensors.h"
#include "training/optimizer.h"

namespace heed {
namespace {

constexpr const char* kSgdOptions = "sgd.options";
constexpr const char* kAdamWOptions = "adamw.options";
constexpr const char* kGroupPrefixes = "groups.prefixes";
constexpr const char* kGroupNumbers = "groups.numbers";

std::string tensor_name(const char* what, std::string_view parameter) {
  return std::string(what).append(".").append(parameter);
}

// What a file holds, before it belongs to an optimizer.
class OptimizerFile {
 public:
  explicit OptimizerFile(const SafetensorsFile& file) : file_(file), path_(shown(file.path())) {}

  const SafetensorsEntry& require(const std::string& name) const {
    const SafetensorsEntry* entry = file_.find(name);
    if (entry == nullptr) {
      fail(Status::NotFound, "\"%s\" has no tensor \"%s\": expected a file of " FUNCTION("heed_optimizer_save"),
           path_.c_str(), shown(name).c_str());
    }
    return *entry;
  }
  // Throws CorruptFile unless the tensor has this dtype and shape.
  const SafetensorsEntry& require(const std::string& name, DType dtype, const Shape& shape) const {
    const SafetensorsEntry& entry = require(name);
    if (entry.dtype == dtype && entry.shape == shape) return entry;
    fail(Status::CorruptFile,
         "\"%s\" of \"%s\" is %s with " ARGUMENT("dims") " %s, expected %s with " ARGUMENT("dims") " %s",
         shown(name).c_str(), path_.c_str(), name_of(entry.dtype), to_string(entry.shape).c_str(), name_of(dtype),
         to_string(shape).c_str());
  }
  std::vector<double> numbers(const std::string& name, const Shape& shape) const {
    const SafetensorsEntry& entry = require(name, DType::F64, shape);
    std::vector<double> result(entry.num_bytes / sizeof(double));
    file_.read(entry, result.data());
    return result;
  }

  SgdOptions read_sgd() const;
  AdamWOptions read_adamw() const;
  HostVector<NamedGroup> read_groups(const HostAllocator& allocator) const;
  // `first` and `second`: the names of the state's tensors; null: there is none.
  HostVector<ParameterState> read_states(const char* first, const char* second,
                                         const std::shared_ptr<const Memory>& memory,
                                         const HostAllocator& allocator) const;

 private:
  // Calls check(numbers); the error of a number that an optimizer cannot have names the file.
  template <typename Numbers>
  void require_possible(const Numbers& numbers) const {
    try {
      check(numbers);
    } catch (const Error& error) {
      if (error.status != Status::InvalidArgument) throw;
      const std::string sentence = error.marked;
      fail(Status::CorruptFile, "\"%s\": %s", path_.c_str(), sentence.c_str());
    }
  }
  // A number that is 0 or 1.
  bool flag(double number, const char* name) const {
    if (number == 0 || number == 1) return number == 1;
    fail(Status::CorruptFile, "\"%s\": %s is %s, expected 0 or 1", path_.c_str(), name, DecimalText(number).c_str());
  }
  // The prefixes, each with a line feed behind it.
  std::string read_prefixes() const;
  int64_t read_steps(const std::string& name) const;
  void require_steps(std::string_view tensor, const char* what) const;
  Tensor read_tensor(const SafetensorsEntry& entry, const std::shared_ptr<const Memory>& memory) const;

  const SafetensorsFile& file_;
  std::string path_;
};

SgdOptions OptimizerFile::read_sgd() const {
  const std::vector<double> read = numbers(kSgdOptions, {4});
  const SgdOptions options = {read[0], read[1], read[2], flag(read[3], OPTION("nesterov"))};
  require_possible(options);
  return options;
}

AdamWOptions OptimizerFile::read_adamw() const {
  const std::vector<double> read = numbers(kAdamWOptions, {7});
  const bool is_uncorrected = flag(read[6], OPTION("epsilon_placement"));
  const AdamWOptions options = {read[0],
                                read[1],
                                read[2],
                                read[3],
                                read[4],
                                flag(read[5], OPTION("coupled_decay")),
                                is_uncorrected ? EpsilonPlacement::Uncorrected : EpsilonPlacement::Corrected};
  require_possible(options);
  return options;
}

std::string OptimizerFile::read_prefixes() const {
  const SafetensorsEntry& entry = require(kGroupPrefixes);
  std::string prefixes(entry.num_bytes, '\0');
  file_.read(entry, prefixes.data());
  if (entry.dtype == DType::U8 && prefixes.ends_with('\n')) return prefixes;
  fail(Status::CorruptFile, "\"%s\" of \"%s\" is \"%s\", expected prefixes with a line feed behind each",
       kGroupPrefixes, path_.c_str(), shown(prefixes).c_str());
}

HostVector<NamedGroup> OptimizerFile::read_groups(const HostAllocator& allocator) const {
  HostVector<NamedGroup> groups(allocator);
  if (!file_.contains(kGroupPrefixes)) {
    if (!file_.contains(kGroupNumbers)) return groups;
    fail(Status::CorruptFile, "\"%s\" has \"%s\", but no tensor \"%s\": expected both", path_.c_str(), kGroupNumbers,
         kGroupPrefixes);
  }
  const std::string prefixes = read_prefixes();
  const int64_t num_groups = std::ranges::count(prefixes, '\n');
  const std::vector<double> read = numbers(kGroupNumbers, {num_groups, 2});
  groups.reserve(static_cast<size_t>(num_groups));
  size_t begin = 0;
  for (size_t i = 0; i < static_cast<size_t>(num_groups); ++i) {
    const size_t end = prefixes.find('\n', begin);
    const ParameterGroup group = {read[2 * i], read[2 * i + 1]};
    require_possible(group);
    const std::string_view prefix = std::string_view(prefixes).substr(begin, end - begin);
    const auto is_same = [&](const NamedGroup& other) { return other.prefix == prefix; };
    if (std::ranges::any_of(groups, is_same)) {
      fail(Status::CorruptFile, "\"%s\" of \"%s\" has \"%s\" twice, expected each prefix once", kGroupPrefixes,
           path_.c_str(), shown(prefix).c_str());
    }
    groups.push_back({HostString(prefix, allocator), group});
    begin = end + 1;
  }
  return groups;
}

int64_t OptimizerFile::read_steps(const std::string& name) const {
  // No training has more, and f64, in which the bias is corrected, has all numbers up to here.
  constexpr int64_t kMostSteps = int64_t{1} << 53;
  int64_t num_steps = 0;
  file_.read(require(name, DType::I64, {1}), &num_steps);
  if (num_steps >= 1 && num_steps <= kMostSteps) return num_steps;
  fail(Status::CorruptFile, "\"%s\" of \"%s\" is %" PRId64 ", expected 1 to %" PRId64, shown(name).c_str(),
       path_.c_str(), num_steps, kMostSteps);
}

// Throws CorruptFile for a tensor of a state without the number of its steps.
void OptimizerFile::require_steps(std::string_view tensor, const char* what) const {
  const std::string beginning = tensor_name(what, "");
  if (!tensor.starts_with(beginning)) return;
  const std::string steps = tensor_name(kStepName, tensor.substr(beginning.size()));
  if (file_.contains(steps)) return;
  fail(Status::CorruptFile, "\"%s\" has \"%s\", but no tensor \"%s\": expected both", path_.c_str(),
       shown(tensor).c_str(), shown(steps).c_str());
}

Tensor OptimizerFile::read_tensor(const SafetensorsEntry& entry, const std::shared_ptr<const Memory>& memory) const {
  Tensor tensor = Tensor::undefined(memory, DType::F32, entry.shape);
  file_.read(entry, tensor.data());
  return tensor;
}

HostVector<ParameterState> OptimizerFile::read_states(const char* first, const char* second,
                                                      const std::shared_ptr<const Memory>& memory,
                                                      const HostAllocator& allocator) const {
  HostVector<ParameterState> states(allocator);
  const std::string beginning = tensor_name(kStepName, "");
  for (size_t i = 0; i < file_.num_tensors(); ++i) {
    const std::string_view name = file_.name(i);
    for (const char* what : {kMomentumName, kFirstMomentName, kSecondMomentName}) require_steps(name, what);
    if (!name.starts_with(beginning)) continue;
    const std::string_view parameter = name.substr(beginning.size());
    ParameterState state = {HostString(parameter, allocator), read_steps(std::string(name)), {}, {}, {}};
    if (first != nullptr) {
      const std::string tensor = tensor_name(first, parameter);
      state.shape = require(tensor).shape;
      state.first = read_tensor(require(tensor, DType::F32, state.shape), memory);
    }
    if (second != nullptr)
      state.second = read_tensor(require(tensor_name(second, parameter), DType::F32, state.shape), memory);
    states.push_back(std::move(state));
  }
  return states;
}

}  // namespace

void Optimizer::save(const char* path) const {
  std::vector<double> options;
  if (sgd_) {
    options = {sgd_->learning_rate, sgd_->momentum, sgd_->weight_decay, sgd_->nesterov ? 1.0 : 0.0};
  } else {
    options = {adamw_->learning_rate,
               adamw_->beta1,
               adamw_->beta2,
               adamw_->epsilon,
               adamw_->weight_decay,
               adamw_->is_coupled ? 1.0 : 0.0,
               static_cast<double>(adamw_->placement)};
  }
  std::string prefixes;
  std::vector<double> numbers;
  for (const NamedGroup& group : groups_) {
    prefixes.append(group.prefix).append(1, '\n');
    numbers.insert(numbers.end(), {group.group.learning_rate_factor, group.group.weight_decay});
  }
  const auto num_groups = static_cast<int64_t>(groups_.size());
  std::vector<NamedTensor> tensors = {
      {sgd_ ? kSgdOptions : kAdamWOptions, DType::F64, {static_cast<int64_t>(options.size())}, options.data()},
  };
  if (num_groups > 0) {
    tensors.push_back({kGroupPrefixes, DType::U8, {static_cast<int64_t>(prefixes.size())}, prefixes.data()});
    tensors.push_back({kGroupNumbers, DType::F64, {num_groups, 2}, numbers.data()});
  }
  std::vector<std::string> names;
  names.reserve(3 * states_.size());
  for (const ParameterState& state : states_) {
    const auto add = [&](const char* what, DType dtype, const Shape& shape, const void* data) {
      names.push_back(tensor_name(what, state.name));
      tensors.push_back({names.back(), dtype, shape, data});
    };
    add(kStepName, DType::I64, {1}, &state.num_steps);
    if (state.first) add(sgd_ ? kMomentumName : kFirstMomentName, DType::F32, state.shape, state.first->data());
    if (state.second) add(kSecondMomentName, DType::F32, state.shape, state.second->data());
  }
  const FileText texts[] = {{"heed.kind", "optimizer"}, {"heed.optimizer", sgd_ ? "sgd" : "adamw"}};
  save_safetensors(path, tensors, texts);
}

void Optimizer::load(const char* path) {
  const HostAllocator& allocator = context_->host_allocator();
  const SafetensorsFile opened(path, allocator);
  const OptimizerFile file(opened);
  if (opened.contains(sgd_ ? kAdamWOptions : kSgdOptions)) {
    fail(Status::InvalidArgument,
         "\"%s\" has the state of %s, but the optimizer is made by " FUNCTION("%s") ": expected the same kind",
         shown(opened.path()).c_str(), sgd_ ? "AdamW" : "SGD", sgd_ ? "heed_sgd_create" : "heed_adamw_create");
  }
  std::optional<SgdOptions> sgd;
  std::optional<AdamWOptions> adamw;
  const char* first = kFirstMomentName;
  if (sgd_) {
    sgd = file.read_sgd();
    first = sgd->momentum != 0 ? kMomentumName : nullptr;
  } else {
    adamw = file.read_adamw();
  }
  HostVector<NamedGroup> groups = file.read_groups(allocator);
  HostVector<ParameterState> states =
      file.read_states(first, sgd ? nullptr : kSecondMomentName, host_memory_of(context_), allocator);

  // Nothing here can fail.
  sgd_ = sgd;
  adamw_ = adamw;
  groups_ = std::move(groups);
  states_ = std::move(states);
  matches_.clear();
  tied_.clear();
}

}  // namespace heed
