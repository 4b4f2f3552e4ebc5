// SPDX-License-Identifier: Apache-2.0
// weight_cost [--quick] FOLDER: compares the time to load a layer's weights, from a file that is in the system's cache,
// with that of copying the same bytes: read(2) into new memory by one thread. Both are measured in turns. Prints a JSON
// object; the files are in FOLDER meanwhile.
#include <fcntl.h>
#include <heed/heed.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "clock.h"
#include "fail.h"

namespace {

struct Stored {
  const char* name;
  int columns;  // of as many weights, and rows of one
  bool is_transposed;
};

struct Form {
  const char* title;
  std::vector<Stored> tensors;
};

const Form kForms[] = {
    {"each (out, in)",
     {{"W_q.weight", 1, false}, {"W_k.weight", 1, false}, {"W_v.weight", 1, false}, {"W_o.weight", 1, false}}},
    {"packed (3 out, in)", {{"in_proj_weight", 3, false}, {"out_proj.weight", 1, false}}},
    {"packed (in, 3 out)", {{"c_attn.weight", 3, true}, {"c_proj.weight", 1, true}}},
};

struct DType {
  const char* name;
  int64_t element_size;
  int64_t size;  // so that all weights take about 200 MB
};

constexpr DType kDTypes[] = {{"F32", 4, 3584}, {"F16", 2, 5120}, {"BF16", 2, 5120}};

void write_all(int descriptor, const void* data, size_t num_bytes) {
  for (auto* next = static_cast<const char*>(data); num_bytes > 0;) {
    const ssize_t written = write(descriptor, next, num_bytes);
    if (written <= 0) bench::fail("a file of weights cannot be written");
    next += written;
    num_bytes -= static_cast<size_t>(written);
  }
}

// Returns the number of bytes in the file.
size_t write_file(const std::string& path, const Form& form, const DType& dtype, int64_t size) {
  std::string header = "{";
  size_t end = 0;
  for (const Stored& tensor : form.tensors) {
    const int64_t many = tensor.columns * size;
    const size_t begin = end;
    end += static_cast<size_t>(many * size * dtype.element_size);
    header += (begin == 0 ? "\"" : ",\"") + std::string(tensor.name) + R"(":{"dtype":")" + dtype.name +
              R"(","shape":[)" + std::to_string(tensor.is_transposed ? size : many) + "," +
              std::to_string(tensor.is_transposed ? many : size) + R"(],"data_offsets":[)" + std::to_string(begin) +
              "," + std::to_string(end) + "]}";
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
  auto* memory = static_cast<char*>(std::malloc(num_bytes));
  if (memory == nullptr) bench::fail("no memory for a copy");
  for (size_t done = 0; done < num_bytes;) {
    const ssize_t got = read(descriptor, memory + done, num_bytes - done);
    if (got <= 0) bench::fail("a file of weights cannot be read");
    done += static_cast<size_t>(got);
  }
  close(descriptor);
  const double seconds = bench::now() - start;
  std::free(memory);
  return seconds;
}

double time_of_load(heed_context* context, const std::string& path, int64_t size) {
  heed_multi_head_attention_options options = HEED_MULTI_HEAD_ATTENTION_OPTIONS_INIT;
  options.num_hiddens = size;
  options.num_heads = size / 128;
  options.causal = HEED_CAUSAL_TOP_LEFT;
  heed_layer* layer = nullptr;
  bench::check(heed_multi_head_attention_create(context, &options, &layer));
  const double start = bench::now();
  bench::check(heed_layer_load(layer, path.c_str(), nullptr));
  const double seconds = bench::now() - start;
  heed_layer_destroy(layer);
  return seconds;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

}  // namespace

int main(int argc, char** argv) {
  const bool is_quick = argc == 3 && std::strcmp(argv[1], "--quick") == 0;
  if (argc != (is_quick ? 3 : 2)) bench::fail("usage: weight_cost [--quick] FOLDER");
  const std::string path = std::string(argv[argc - 1]) + "/weights.safetensors";
  const int rounds = is_quick ? 1 : 9;
  bool is_first = true;
  std::printf("{\"weights\": [");
  for (const Form& form : kForms) {
    for (const DType& dtype : kDTypes) {
      const int64_t size = is_quick ? 256 : dtype.size;
      const size_t num_bytes = write_file(path, form, dtype, size);
      for (const int32_t num_threads : {1, 2}) {
        heed_context_options options = HEED_CONTEXT_OPTIONS_INIT;
        options.num_threads = num_threads;
        heed_context* context = nullptr;
        bench::check(heed_context_create(&options, &context));
        std::vector<double> copies;
        std::vector<double> loads;
        std::vector<double> ratios;
        for (int round = 0; round < rounds; ++round) {
          copies.push_back(time_of_copy(path, num_bytes));
          loads.push_back(time_of_load(context, path, size));
          ratios.push_back(loads.back() / copies.back());
        }
        heed_context_destroy(context);
        std::printf(R"(%s{"form": "%s", "dtype": "%s", "threads": %d, "mb": %.1f, "copy_ms": %.2f, "load_ms": %.2f, )"
                    R"("ratio": %.3f, "least": %.3f, "most": %.3f})",
                    is_first ? "" : ",\n", form.title, dtype.name, num_threads, 1e-6 * static_cast<double>(num_bytes),
                    1e3 * median(copies), 1e3 * median(loads), median(ratios),
                    *std::min_element(ratios.begin(), ratios.end()), *std::max_element(ratios.begin(), ratios.end()));
        is_first = false;
      }
    }
  }
  unlink(path.c_str());
  std::printf("]}\n");
  return 0;
}
