// SPDX-License-Identifier: Apache-2.0
// weight_cost [--quick] FOLDER: compares the time to load a layer's weights, from a file that is in the system's cache,
// with that of copying the same bytes: read(2) into new memory by one thread. Both are measured in turns. Then the memory
// that the layer keeps, and the most that it takes while it is loaded. Prints a JSON object; the files are in FOLDER
// meanwhile.
#include <fcntl.h>
#include <heed/heed.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "clock.h"
#include "fail.h"

namespace {

struct FileTensor {
  std::string name;
  std::vector<int64_t> dims;
};

struct DType {
  const char* name;
  int64_t element_size;
  int64_t size;  // of an attention whose weights take about 200 MB
};

constexpr DType kDTypes[] = {{"F32", 4, 3584}, {"F16", 2, 5120}, {"BF16", 2, 5120}};

// A layer, and the file that it is loaded from.
struct Subject {
  const char* title;
  std::vector<FileTensor> tensors;
  // Makes the layer and loads it from the folder of the file; returns the seconds that loading takes.
  std::function<double(heed_context* context, const std::string& folder, heed_layer** layer)> load;
};

// The name of the file in its folder.
constexpr const char* kFileName = "/model.safetensors";

double load_attention(heed_context* context, const std::string& folder, int64_t size, heed_layer** layer) {
  heed_multi_head_attention_options options = HEED_MULTI_HEAD_ATTENTION_OPTIONS_INIT;
  options.num_hiddens = size;
  options.num_heads = size / 128;
  options.causal = HEED_CAUSAL_TOP_LEFT;
  bench::check(heed_multi_head_attention_create(context, &options, layer));
  const double start = bench::now();
  bench::check(heed_layer_load(*layer, (folder + kFileName).c_str(), nullptr));
  return bench::now() - start;
}

// The four weights of an attention in the forms that files have.
std::vector<Subject> attentions(int64_t size) {
  const auto load = [size](heed_context* context, const std::string& folder, heed_layer** layer) {
    return load_attention(context, folder, size, layer);
  };
  const std::vector<int64_t> square = {size, size};
  return {
      {"each (out, in)",
       {{"W_q.weight", square}, {"W_k.weight", square}, {"W_v.weight", square}, {"W_o.weight", square}},
       load},
      {"packed (3 out, in)", {{"in_proj_weight", {3 * size, size}}, {"out_proj.weight", square}}, load},
      {"packed (in, 3 out)", {{"c_attn.weight", {size, 3 * size}}, {"c_proj.weight", square}}, load},
  };
}

constexpr int64_t kVocabulary = 30522;
constexpr int64_t kPositions = 512;

// A whole encoder with the sizes of BERT base and this number of layers, by its folder.
Subject encoder(int64_t num_layers) {
  constexpr int64_t kSize = 768;
  constexpr int64_t kInner = 3072;
  std::vector<FileTensor> tensors = {
      {"embeddings.word_embeddings.weight", {kVocabulary, kSize}},
      {"embeddings.position_embeddings.weight", {kPositions, kSize}},
      {"embeddings.token_type_embeddings.weight", {2, kSize}},
      {"embeddings.LayerNorm.weight", {kSize}},
      {"embeddings.LayerNorm.bias", {kSize}},
  };
  for (int64_t i = 0; i < num_layers; ++i) {
    const std::string layer = "encoder.layer." + std::to_string(i) + ".";
    const auto add_linear = [&](const char* name, int64_t outputs, int64_t inputs) {
      tensors.push_back({layer + name + ".weight", {outputs, inputs}});
      tensors.push_back({layer + name + ".bias", {outputs}});
    };
    const auto add_norm = [&](const char* name) {
      tensors.push_back({layer + name + ".weight", {kSize}});
      tensors.push_back({layer + name + ".bias", {kSize}});
    };
    for (const char* name : {"attention.self.query", "attention.self.key", "attention.self.value"})
      add_linear(name, kSize, kSize);
    add_linear("attention.output.dense", kSize, kSize);
    add_norm("attention.output.LayerNorm");
    add_linear("intermediate.dense", kInner, kSize);
    add_linear("output.dense", kSize, kInner);
    add_norm("output.LayerNorm");
  }
  const auto load = [](heed_context* context, const std::string& folder, heed_layer** layer) {
    const double start = bench::now();
    bench::check(heed_layer_create_from_folder(context, folder.c_str(), layer));
    return bench::now() - start;
  };
  return {"a folder of BERT base", std::move(tensors), load};
}

void write_config(const std::string& folder, int64_t num_layers) {
  const std::string config =
      R"({"model_type": "bert", "architectures": ["BertModel"], "hidden_size": 768, "num_hidden_layers": )" +
      std::to_string(num_layers) + R"(, "num_attention_heads": 12, "intermediate_size": 3072, "vocab_size": )" +
      std::to_string(kVocabulary) + R"(, "max_position_embeddings": )" + std::to_string(kPositions) +
      R"(, "type_vocab_size": 2, "hidden_act": "gelu", "layer_norm_eps": 1e-12})";
  std::FILE* const file = std::fopen((folder + "/config.json").c_str(), "w");
  if (file == nullptr || std::fputs(config.c_str(), file) < 0) bench::fail("no configuration can be written");
  std::fclose(file);
}

void write_all(int descriptor, const void* data, size_t num_bytes) {
  for (auto* next = static_cast<const char*>(data); num_bytes > 0;) {
    const ssize_t written = write(descriptor, next, num_bytes);
    if (written <= 0) bench::fail("a file of weights cannot be written");
    next += written;
    num_bytes -= static_cast<size_t>(written);
  }
}

// Returns the number of bytes in the file.
size_t write_file(const std::string& path, const std::vector<FileTensor>& tensors, const DType& dtype) {
  std::string header = "{";
  size_t end = 0;
  for (const FileTensor& tensor : tensors) {
    const size_t begin = end;
    int64_t count = 1;
    std::string shape;
    for (const int64_t dim : tensor.dims) {
      count *= dim;
      shape += (shape.empty() ? "" : ",") + std::to_string(dim);
    }
    end += static_cast<size_t>(count * dtype.element_size);
    header += (begin == 0 ? "\"" : ",\"") + tensor.name + R"(":{"dtype":")" + dtype.name + R"(","shape":[)" + shape +
              R"(],"data_offsets":[)" + std::to_string(begin) + "," + std::to_string(end) + "]}";
  }
  header += "}";
  const int descriptor = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  if (descriptor < 0) bench::fail("no file of weights can be made");
  const uint64_t length = header.size();
  write_all(descriptor, &length, sizeof length);
  write_all(descriptor, header.data(), header.size());
  std::vector<uint16_t> block(size_t{4} << 20);
  // Bits of numbers of about 1 in each of the dtypes.
  for (size_t i = 0; i < block.size(); ++i) block[i] = static_cast<uint16_t>(0x3c00 + i * 40503 % 0x300);
  for (size_t left = end; left > 0;) {
    const size_t part = std::min(left, block.size() * sizeof block[0]);
    write_all(descriptor, block.data(), part);
    left -= part;
  }
  close(descriptor);
  return sizeof length + header.size() + end;
}

double time_of_copy(const std::string& path, size_t num_bytes) {
  const double start = bench::now();
  const int descriptor = open(path.c_str(), O_RDONLY);
  // Pages that the process has not touched before: malloc may give old ones.
  void* const mapped = mmap(nullptr, num_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) bench::fail("no memory for a copy");
  auto* const memory = static_cast<char*>(mapped);
  for (size_t done = 0; done < num_bytes;) {
    const ssize_t got = read(descriptor, memory + done, num_bytes - done);
    if (got <= 0) bench::fail("a file of weights cannot be read");
    done += static_cast<size_t>(got);
  }
  close(descriptor);
  const double seconds = bench::now() - start;
  munmap(mapped, num_bytes);
  return seconds;
}

// An allocator that counts.
struct CountedMemory {
  std::atomic<size_t> live = 0;
  std::atomic<size_t> most = 0;
};

void* allocate(void* user, size_t num_bytes, size_t alignment) {
  auto& counted = *static_cast<CountedMemory*>(user);
  const size_t live = counted.live += num_bytes;
  for (size_t most = counted.most; most < live && !counted.most.compare_exchange_weak(most, live);) {
  }
  return std::aligned_alloc(alignment, (num_bytes + alignment - 1) / alignment * alignment);
}

void release(void* user, void* memory, size_t num_bytes) {
  static_cast<CountedMemory*>(user)->live -= num_bytes;
  std::free(memory);
}

// Bytes that a loaded layer keeps, and the most that are in use meanwhile.
struct Memory {
  double kept = 0;
  double most = 0;
};

Memory memory_of(const Subject& subject, const std::string& folder, int32_t num_threads) {
  CountedMemory counted;
  heed_allocator allocator = HEED_ALLOCATOR_INIT;
  allocator.user = &counted;
  allocator.allocate = allocate;
  allocator.release = release;
  heed_context_options options = HEED_CONTEXT_OPTIONS_INIT;
  options.num_threads = num_threads;
  options.allocator = &allocator;
  heed_context* context = nullptr;
  bench::check(heed_context_create(&options, &context));
  const size_t before = counted.live;
  heed_layer* layer = nullptr;
  subject.load(context, folder, &layer);
  const size_t most = counted.most - before;
  bench::check(heed_context_trim(context));
  const size_t kept = counted.live - before;
  heed_layer_destroy(layer);
  heed_context_destroy(context);
  return {static_cast<double>(kept), static_cast<double>(most)};
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

// Prints one object for each number of threads.
void measure(const Subject& subject, const DType& dtype, const std::string& folder, int rounds, bool& is_first) {
  const size_t num_bytes = write_file(folder + kFileName, subject.tensors, dtype);
  for (const int32_t num_threads : {1, 2}) {
    heed_context_options options = HEED_CONTEXT_OPTIONS_INIT;
    options.num_threads = num_threads;
    heed_context* context = nullptr;
    bench::check(heed_context_create(&options, &context));
    std::vector<double> copies;
    std::vector<double> loads;
    std::vector<double> ratios;
    for (int round = 0; round < rounds; ++round) {
      copies.push_back(time_of_copy(folder + kFileName, num_bytes));
      heed_layer* layer = nullptr;
      loads.push_back(subject.load(context, folder, &layer));
      heed_layer_destroy(layer);
      ratios.push_back(loads.back() / copies.back());
    }
    heed_context_destroy(context);
    const Memory memory = memory_of(subject, folder, num_threads);
    const auto size = static_cast<double>(num_bytes);
    std::printf(R"(%s{"form": "%s", "dtype": "%s", "threads": %d, "mb": %.1f, "copy_ms": %.2f, "load_ms": %.2f, )"
                R"("ratio": %.3f, "least": %.3f, "most": %.3f, "kept": %.3f, "taken": %.3f})",
                is_first ? "" : ",\n", subject.title, dtype.name, num_threads, 1e-6 * size, 1e3 * median(copies),
                1e3 * median(loads), median(ratios), *std::min_element(ratios.begin(), ratios.end()),
                *std::max_element(ratios.begin(), ratios.end()), memory.kept / size, memory.most / size);
    is_first = false;
  }
}

}  // namespace

int main(int argc, char** argv) {
  const bool is_quick = argc == 3 && std::strcmp(argv[1], "--quick") == 0;
  if (argc != (is_quick ? 3 : 2)) bench::fail("usage: weight_cost [--quick] FOLDER");
  const std::string folder = std::string(argv[argc - 1]) + "/weights";
  if (mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) bench::fail("no folder of weights can be made");
  const int rounds = is_quick ? 1 : 9;
  bool is_first = true;
  std::printf("{\"weights\": [");
  for (size_t form = 0; form < attentions(1).size(); ++form) {
    for (const DType& dtype : kDTypes)
      measure(attentions(is_quick ? 256 : dtype.size)[form], dtype, folder, rounds, is_first);
  }
  const int64_t num_layers = is_quick ? 1 : 12;
  write_config(folder, num_layers);
  for (const DType& dtype : {kDTypes[0], kDTypes[1]}) measure(encoder(num_layers), dtype, folder, rounds, is_first);
  unlink((folder + kFileName).c_str());
  unlink((folder + "/config.json").c_str());
  rmdir(folder.c_str());
  std::printf("]}\n");
  return 0;
}
