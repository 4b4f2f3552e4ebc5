// SPDX-License-Identifier: Apache-2.0
// The table of the Ascend backend, and the one function that the plugin exports. No exception of ATB or of the C++
// library gets past these functions.
#include <cstdio>
#include <exception>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

#include "backends/ascend/activation.h"
#include "backends/ascend/arrange.h"
#include "backends/ascend/attention.h"
#include "backends/ascend/cached_attention.h"
#include "backends/ascend/embedding.h"
#include "backends/ascend/linear.h"
#include "backends/ascend/norm.h"
#include "backends/ascend/npu.h"
#include "backends/ascend/rotations.h"
#include "backends/ascend/score_chain.h"
#include "backends/ascend/zeros.h"
#include "backends/backend.h"
#include "ops/registry.h"

namespace heed {

struct BackendDevice {
  HostAllocator allocator;
  std::shared_ptr<ascend::Npu> npu;
  bool allows_reduced_precision = false;
  char description[128] = "";
};

namespace ascend {
namespace {

template <typename Body>
Status guarded(Failure* failure, Body body) noexcept {
  try {
    body();
    return Status::Ok;
  } catch (const Error& error) {
    *failure = error;
  } catch (const std::bad_alloc&) {
    failure->say(Status::OutOfMemory,
                 "the host has no memory left for a call of the Ascend device: expected fewer or smaller objects");
  } catch (const std::exception& exception) {
    failure->say(Status::Internal, "ATB or the Ascend plugin threw \"%s\"", exception.what());
  } catch (...) {
    failure->say(Status::Internal, "ATB or the Ascend plugin threw what is no exception of C++");
  }
  return failure->status;
}

// The dtype in which inputs of a dtype are computed. F32 becomes BF16, because BF16 has the same range.
DType computed(DType inputs) {
  switch (inputs) {
    case DType::F16: return DType::F16;
    case DType::F32:
    case DType::BF16:
    // No operation takes the others.
    case DType::F64:
    case DType::I32:
    case DType::I64:
    case DType::I8:
    case DType::U8:
    case DType::Bool: break;
  }
  return DType::BF16;
}

// Checks an operand whose dtype is not the computed one, in a context without allow_reduced_precision: F32 is refused,
// and with another 16-bit dtype the operation runs on the CPU.
void check_precision(const BackendDevice& device, const Operand& operand, const char* name, DType compute, Plan& plan) {
  if (operand.given == 0 || operand.dtype == compute || device.allows_reduced_precision) return;
  if (operand.dtype == DType::F32) {
    fail(Status::Unsupported,
         "%s " DTYPE("F32") ", and the Ascend device computes in 16 bits: expected " DTYPE("F16") " or " DTYPE(
             "BF16") ", or a " WORD("context") " with " MEMBER("allow_reduced_precision"),
         name);
  }
  plan.add_reason(
      "parameters of another 16-bit type than the inputs' are rounded to it only where the context allows reduced "
      "precision");
}

Status count_devices(int32_t* count, Failure* failure) {
  return guarded(failure, [&] { *count = count_npus(); });
}

Status open(const BackendOptions* options, BackendDevice** device, Failure* failure) {
  return guarded(failure, [&] {
    std::shared_ptr<Npu> npu = Npu::open(options->device_index);
    void* memory = nullptr;
    Failure of_host;
    if (host_allocate(options->allocator, sizeof(BackendDevice), kObjectAlignment, &memory, &of_host) != Status::Ok) {
      Npu::close(npu);
      throw of_host;
    }
    auto* opened = new (memory) BackendDevice{.allocator = options->allocator,
                                              .npu = std::move(npu),
                                              .allows_reduced_precision = options->allow_reduced_precision != 0};
    std::snprintf(opened->description, sizeof opened->description, "NPU, %s, ATB %s", opened->npu->chip(),
                  opened->npu->atb_version());
    *device = opened;
  });
}

void close(BackendDevice* device) {
  Npu::close(device->npu);
  const HostAllocator allocator = device->allocator;
  device->~BackendDevice();
  host_release(allocator, device, sizeof(BackendDevice));
}

Status synchronize(BackendDevice* device, Failure* failure) {
  return guarded(failure, [&] {
    const Npu::Use use(*device->npu);
    device->npu->synchronize();
  });
}

const char* describe(const BackendDevice* device) { return device->description; }

const char* isa(const BackendDevice* device) { return device->npu->chip(); }

int32_t num_threads(const BackendDevice*) { return 1; }

void start(BackendDevice*) {}

Status allocate(BackendDevice* device, size_t num_bytes, int32_t zeros, void** memory, Failure* failure) {
  return guarded(failure, [&] {
    const Npu::Use use(*device->npu);
    void* block = device->npu->allocate(num_bytes);
    try {
      if (zeros != 0) write_zeros(*device->npu, block, num_bytes);
    } catch (...) {
      device->npu->release(block, num_bytes);
      throw;
    }
    *memory = block;
  });
}

// In a child of fork, Use throws and the block is forgotten: the child cannot give memory back to the driver.
void release(BackendDevice* device, void* memory, size_t num_bytes) {
  Failure ignored;
  guarded(&ignored, [&] {
    const Npu::Use use(*device->npu, Npu::Use::Of::AnyDevice);
    device->npu->release(memory, num_bytes);
  });
}

Status copy(BackendDevice* device, void* destination, const void* source, size_t num_bytes, Direction direction,
            Failure* failure) {
  return guarded(failure, [&] {
    const Npu::Use use(*device->npu);
    switch (direction) {
      case Direction::ToDevice: device->npu->upload(destination, source, num_bytes); break;
      case Direction::ToHost: device->npu->download(destination, source, num_bytes); break;
      case Direction::OnDevice: device->npu->copy(destination, source, num_bytes); break;
    }
  });
}

void wait_idle(BackendDevice* device) {
  Failure ignored;
  guarded(&ignored, [&] {
    const Npu::Use use(*device->npu, Npu::Use::Of::AnyDevice);
    device->npu->wait_idle();
  });
}

Status trim(BackendDevice* device, Failure* failure) {
  return guarded(failure, [&] {
    const Npu::Use use(*device->npu);
    device->npu->trim();
  });
}

// Projections compute all rows of keys and values. ATB's attention multiplies hidden keys and values before a mask
// hides them, so undefined memory there would reach the sums.
IntermediateForm intermediate_form(const BackendDevice*, DType inputs) {
  return {.dtype = computed(inputs), .whole_rows = 1, .all_rows = 1};
}

int64_t cache_page_rows(const BackendDevice*, const CacheShape* shape) { return ascend::cache_page_rows(*shape); }

// Of each operation that the NPU computes: plan_problem returns a plan with the reasons why ATB cannot compute the problem,
// and run_problem computes one without such reasons.

Plan plan_problem(const BackendDevice& device, const LinearProblem& problem) {
  const DType compute = computed(problem.input.dtype);
  Plan plan = ascend::plan_linear(problem, compute);
  check_precision(device, problem.input, "the input is", compute, plan);
  for (int32_t i = 0; i < problem.num_parts; ++i) {
    check_precision(device, problem.parts[i].weight, "a weight is", compute, plan);
    check_precision(device, problem.parts[i].bias, "a bias is", compute, plan);
    check_precision(device, problem.parts[i].transform.norm_weight, "the weight of a norm is", compute, plan);
  }
  return plan;
}

void run_problem(BackendDevice& device, const LinearProblem& problem) {
  ascend::run_linear(*device.npu, problem, acl_dtype(computed(problem.input.dtype)));
}

Status packed_linear_bytes(const BackendDevice* device, const LinearPart* part, int64_t input_size, size_t* num_bytes,
                           Failure*) {
  *num_bytes = device->allows_reduced_precision ? packed_bytes(*part, input_size) : 0;
  return Status::Ok;
}

Status pack_linear(BackendDevice* device, const LinearPart* part, int64_t input_size, const WeightBlock*, void* packed,
                   Failure* failure) {
  return guarded(failure, [&] {
    const Npu::Use use(*device->npu);
    pack(*device->npu, *part, input_size, packed);
  });
}

// A call that only fills a cache has no queries.
const Operand& rows_of(const AttentionProblem& problem) {
  return problem.queries.given != 0 ? problem.queries : problem.keys;
}

Plan plan_problem(const BackendDevice& device, const AttentionProblem& problem) {
  const Operand& rows = rows_of(problem);
  const DType compute = computed(rows.dtype);
  Plan plan = problem.cached.given != 0 ? plan_cached_attention(problem, compute) : ascend::plan_attention(problem);
  check_precision(device, rows, "queries, keys and values are", compute, plan);
  check_precision(device, problem.bias, "the attention's bias is", compute, plan);
  return plan;
}

void run_problem(BackendDevice& device, const AttentionProblem& problem) {
  const aclDataType dtype = acl_dtype(computed(rows_of(problem).dtype));
  if (problem.cached.given != 0) {
    run_cached_attention(*device.npu, problem, dtype);
  } else {
    ascend::run_attention(*device.npu, problem, dtype);
  }
}

Plan plan_problem(const BackendDevice&, const SoftmaxProblem& problem) {
  Plan plan;
  plan.kernel = "ATB Softmax";
  if (problem.scores.dtype == DType::F64) plan.add_reason(kNoF64);
  if (problem.is_logarithm != 0) plan.add_reason("ATB has no logarithm of a softmax");
  const int64_t sizes[] = {problem.batch, problem.num_heads, problem.num_queries, problem.num_keys};
  if (!can_arrange(problem.scores, sizes) || !can_arrange(problem.weights, sizes)) plan.add_reason(kOutOfReach);
  return plan;
}

void run_problem(BackendDevice& device, const SoftmaxProblem& problem) { ascend::run_softmax(*device.npu, problem); }

Plan plan_problem(const BackendDevice&, const DropoutProblem& problem) {
  Plan plan;
  plan.kernel = "copy";
  if (problem.dropout != 0) plan.add_reason("ATB has no dropout");
  if (!can_arrange(problem.input, problem.sizes) || !can_arrange(problem.output, problem.sizes))
    plan.add_reason(kOutOfReach);
  return plan;
}

// A copy. plan_problem leaves a dropout other than 0 to the CPU.
void run_problem(BackendDevice& device, const DropoutProblem& problem) {
  const Target target(*device.npu, strided(problem.output, problem.sizes), acl_dtype(problem.output.dtype));
  if (target.array().num_bytes() == 0) return;
  Temporary kept;
  const DeviceArray input =
      load(*device.npu, strided(problem.input, problem.sizes), acl_dtype(problem.output.dtype), kept);
  device.npu->copy(target.array().data, input.data, input.num_bytes());
  target.store();
}

Plan plan_problem(const BackendDevice&, const RotationsProblem& problem) { return ascend::plan_rotations(problem); }

void run_problem(BackendDevice& device, const RotationsProblem& problem) {
  ascend::run_rotations(*device.npu, problem);
}

Plan plan_problem(const BackendDevice& device, const NormProblem& problem) {
  return ascend::plan_norm(problem, computed(problem.input.dtype), device.allows_reduced_precision);
}

void run_problem(BackendDevice& device, const NormProblem& problem) {
  ascend::run_norm(*device.npu, problem, computed(problem.input.dtype));
}

Plan plan_problem(const BackendDevice&, const EmbeddingProblem& problem) { return ascend::plan_embedding(problem); }

void run_problem(BackendDevice& device, const EmbeddingProblem& problem) {
  ascend::run_embedding(*device.npu, problem);
}

Plan plan_problem(const BackendDevice&, const PositionsProblem& problem) { return ascend::plan_positions(problem); }

void run_problem(BackendDevice& device, const PositionsProblem& problem) {
  ascend::run_positions(*device.npu, problem);
}

Plan plan_problem(const BackendDevice& device, const ActivateProblem& problem) {
  return ascend::plan_activate(problem, device.allows_reduced_precision);
}

void run_problem(BackendDevice& device, const ActivateProblem& problem) {
  ascend::run_activate(*device.npu, problem, computed(problem.input.dtype));
}

template <typename Problem>
concept OnNpu = requires(const BackendDevice& device, const Problem& problem) {
  plan_problem(device, problem);
};

#define HEED_BIT(name) | (OnNpu<name##Problem> ? bit_of(OpKind::name) : 0)
constexpr uint64_t kOperations = 0 HEED_OPERATIONS(HEED_BIT);
#undef HEED_BIT

// The CPU computes what has a reason.
Status plan(const BackendDevice* device, const Op* op, Plan* plan, Failure* failure) {
  return guarded(failure, [&] {
    visit_problem(*op, [&](const auto& problem) {
      if constexpr (OnNpu<std::remove_cvref_t<decltype(problem)>>) {
        Plan made = plan_problem(*device, problem);
        made.isa = device->npu->chip();
        made.on_host = made.is_fastest() ? 0 : 1;
        new (plan) Plan(made);
      }
    });
  });
}

Status run(BackendDevice* device, const Op* op, const Plan*, void*, Failure* failure) {
  return guarded(failure, [&] {
    visit_problem(*op, [&](const auto& problem) {
      if constexpr (OnNpu<std::remove_cvref_t<decltype(problem)>>) {
        const Npu::Use use(*device->npu);
        run_problem(*device, problem);
      }
    });
  });
}

constexpr Backend kBackend = {
    .version = kBackendVersion,
    .name = "ascend",
    .is_host = 0,
    .count_devices = count_devices,
    .open = open,
    .close = close,
    .synchronize = synchronize,
    .describe = describe,
    .isa = isa,
    .num_threads = num_threads,
    .start = start,
    .allocate = allocate,
    .release = release,
    .copy = copy,
    .wait_idle = wait_idle,
    .trim = trim,
    .for_each = nullptr,
    .transpose = nullptr,
    .update = nullptr,
    .intermediate_form = intermediate_form,
    .cache_page_rows = cache_page_rows,
    .operations = kOperations,
    .plan = plan,
    .run = run,
    .packed_linear_bytes = packed_linear_bytes,
    .pack_linear = pack_linear,
    .unpack_linear = nullptr,
};

}  // namespace
}  // namespace ascend
}  // namespace heed

// The symbol that libheed looks up in a plugin (backends/plugin.h).
extern "C" __attribute__((visibility("default"))) const heed::Backend* heed_backend() {
  return &heed::ascend::kBackend;
}
