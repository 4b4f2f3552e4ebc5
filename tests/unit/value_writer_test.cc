// SPDX-License-Identifier: Apache-2.0
// Parameters that are written in pieces: the same bits as if written at once, from any source, in any form, with any
// number of threads. No byte is read twice, no byte of another parameter is read, and a failure leaves the layer
// unchanged.
#include "loading/value_writer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <new>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/fresh_memory.h"
#include "base/normal.h"
#include "layers/kinds/multi_head_attention.h"
#include "platform/aligned_memory.h"
#include "support/platform/memory.h"
#include "tensor/copy.h"
#include "tensor/safetensors.h"

namespace heed {
namespace {

// A file in memory that counts the bytes read from it, and calls before_read before each read, from several threads at
// once.
class CountedSource final : public ByteSource {
 public:
  CountedSource(std::string bytes, std::atomic<uint64_t>& num_read, std::function<void()> before_read = nullptr)
      : bytes_(std::move(bytes)), num_read_(num_read), before_read_(std::move(before_read)) {}
  std::string_view name() const override { return name_; }
  uint64_t num_bytes() const override { return bytes_.size(); }
  void read(uint64_t offset, void* destination, size_t num_bytes) const override {
    if (before_read_) before_read_();
    num_read_ += num_bytes;
    std::memcpy(destination, bytes_.data() + offset, num_bytes);
  }

 private:
  std::string name_ = "counted";
  std::string bytes_;
  std::atomic<uint64_t>& num_read_;
  std::function<void()> before_read_;
};

struct FileTensor {
  std::string name;
  DType dtype;
  std::vector<int64_t> dims;
};

// A file with tensors of random numbers.
std::string file_of(const std::vector<FileTensor>& tensors) {
  std::string header = "{";
  std::string data;
  std::mt19937 random(8001);
  std::uniform_real_distribution<float> uniform(-1, 1);
  for (const FileTensor& tensor : tensors) {
    int64_t count = 1;
    std::string shape;
    for (const int64_t dim : tensor.dims) {
      count *= dim;
      shape += (shape.empty() ? "" : ",") + std::to_string(dim);
    }
    const size_t begin = data.size();
    const size_t size = size_of(tensor.dtype);
    data.resize(begin + static_cast<size_t>(count) * size);
    for (int64_t i = 0; i < count; ++i) {
      const float value = uniform(random);
      convert_elements(tensor.dtype, data.data() + begin + static_cast<size_t>(i) * size, 0, DType::F32, &value, 0, 1);
    }
    header += (header == "{" ? "\"" : ",\"") + tensor.name + R"(":{"dtype":")" + name_of(tensor.dtype) +
              R"(","shape":[)" + shape + R"(],"data_offsets":[)" + std::to_string(begin) + "," +
              std::to_string(data.size()) + "]}";
  }
  header += "}";
  std::string file(8, '\0');
  const uint64_t length = header.size();
  std::memcpy(file.data(), &length, sizeof length);
  return file + header + data;
}

std::shared_ptr<Context> open(int32_t num_threads) {
  ContextOptions options;
  options.num_threads = num_threads;
  return Context::open(options);
}

// Compares a value with one that is made from the whole dense value: a projection's weight is packed and nothing else, and
// unpacked again it has the same bits.
void expect_made_of(const std::shared_ptr<Context>& context, const ParameterValue& made, const Parameter& parameter,
                    const Tensor& expected) {
  ASSERT_EQ(made.tensor.shape(), expected.shape());
  ASSERT_EQ(made.tensor.dtype(), expected.dtype());
  ASSERT_TRUE(made.tensor.is_row_major() || expected.num_elements() == 0);
  const ParameterValue whole = parameter.with_packed(context, expected);
  ASSERT_EQ(made.packed == nullptr, whole.packed == nullptr);
  ASSERT_EQ(made.tensor.data() == nullptr, whole.packed != nullptr);
  if (whole.packed != nullptr) {
    ASSERT_EQ(made.packed->num_bytes(), whole.packed->num_bytes());
    ASSERT_EQ(std::memcmp(made.packed->begin(), whole.packed->begin(), whole.packed->num_bytes()), 0);
  }
  Parameter kept(parameter, HostAllocator());
  kept.set(made);
  const Tensor unpacked = kept.unpacked_value(context);
  ASSERT_EQ(unpacked.shape(), expected.shape());
  ASSERT_EQ(std::memcmp(unpacked.data(), expected.data(), expected.num_bytes()), 0);
}

constexpr DType kFloats[] = {DType::F32, DType::F16, DType::BF16, DType::F64};
// A weight, which is packed, and a table, which is not.
constexpr Use kUses[] = {Use::Projection, Use::Other};

// The rows of every second block of a tensor, as of keys among queries and values: in pieces that end inside of blocks.
TEST(ValueWriter, ReadsBlocksOfAFileInEveryDType) {
  struct Size {
    int64_t block;
    int64_t num_blocks;
    int64_t columns;
  };
  for (const auto& [block, num_blocks, columns] :
       {Size{1, 1, 1}, Size{3, 5, 7}, Size{16, 40, 333}, Size{64, 9, 700}, Size{7, 3, 50000}}) {
    for (const bool is_vector : {false, true}) {
      for (const DType stored : kFloats) {
        for (const DType dtype : {stored == DType::F64 ? DType::F32 : stored, DType::F32, DType::BF16}) {
          SCOPED_TRACE(std::to_string(num_blocks) + " blocks of " + std::to_string(block) + " x " +
                       std::to_string(columns) + " of " + name_of(stored) + " to " + name_of(dtype));
          const int64_t rows = block * num_blocks;
          const int64_t width = is_vector ? 1 : columns;
          const std::vector<int64_t> dims = is_vector ? std::vector{2 * rows} : std::vector{2 * rows, columns};
          std::atomic<uint64_t> num_read = 0;
          const SafetensorsFile file(std::make_unique<CountedSource>(file_of({{"weight", stored, dims}}), num_read));
          const SafetensorsEntry& entry = *file.find("weight");
          const auto context = open(1 + static_cast<int32_t>(rows % 3));
          const Tensor whole = Tensor::zeros(context, stored, entry.shape);
          file.read(entry, whole.data());
          const Shape shape = is_vector ? Shape{rows} : Shape{rows, columns};
          const Tensor expected = Tensor::zeros(context, stored, shape);
          const int64_t block_size = block * width;
          for (int64_t b = 0; b < num_blocks; ++b) {
            std::memcpy(expected.element(b * block_size), whole.element((2 * b + 1) * block_size),
                        static_cast<size_t>(block_size) * size_of(stored));
          }
          const FileElements source(file, entry, 0, width, 1);
          const BlockElements blocks(source, block_size, block_size, 2 * block_size);
          for (const Use use : kUses) {
            if (is_vector && use == Use::Projection) continue;
            const Parameter parameter("W", shape, 1, use);
            num_read = 0;
            FreshMemory fresh;
            const ParameterValue made = write_value(context, fresh, parameter, blocks, dtype, shape);
            expect_made_of(context, made, parameter, converted_copy(context, expected, dtype));
            EXPECT_EQ(num_read, expected.num_bytes());
          }
        }
      }
    }
  }
}

// Sizes of one piece and of many pieces, the last one partly filled. The parameter is the second half of the tensor.
TEST(ValueWriter, ReadsRowsAndColumnsOfAFileInEveryDType) {
  struct Size {
    int64_t rows;
    int64_t columns;
  };
  for (const auto& [rows, columns] : {Size{1, 1}, Size{5, 3}, Size{48, 70}, Size{1, 300}, Size{700, 333},
                                      Size{50, 5000}, Size{4100, 37}, Size{40, 0}}) {
    for (const DType stored : kFloats) {
      for (const DType dtype : {stored == DType::F64 ? DType::F32 : stored, DType::F32, DType::BF16}) {
        for (const bool turns : {false, true}) {
          SCOPED_TRACE(std::to_string(rows) + " x " + std::to_string(columns) + " of " + name_of(stored) + " to " +
                       name_of(dtype) + (turns ? ", turned" : ""));
          const std::vector<int64_t> dims = turns ? std::vector{columns, 2 * rows} : std::vector{2 * rows, columns};
          std::atomic<uint64_t> num_read = 0;
          const SafetensorsFile file(std::make_unique<CountedSource>(file_of({{"weight", stored, dims}}), num_read));
          const SafetensorsEntry& entry = *file.find("weight");
          const auto context = open(1 + static_cast<int32_t>(rows % 3));
          Tensor whole = Tensor::zeros(context, stored, entry.shape);
          file.read(entry, whole.data());
          if (turns) whole = whole.transpose(nullptr);
          const Tensor part = whole.slice(0, rows, rows);
          const FileElements source(file, entry, turns ? rows : rows * columns, turns ? 1 : columns,
                                    turns ? 2 * rows : 1);
          for (const Use use : kUses) {
            const Parameter parameter("W", part.shape(), 1, use);
            num_read = 0;
            FreshMemory fresh;
            const ParameterValue made = write_value(context, fresh, parameter, source, dtype, part.shape());
            EXPECT_EQ(num_read, part.num_bytes());
            expect_made_of(context, made, parameter, converted_copy(context, part, dtype));
            if (HasFatalFailure()) return;
          }
        }
      }
    }
  }
}

TEST(ValueWriter, TakesTensorsWithAnyStrides) {
  const auto context = open(2);
  for (const DType stored : kFloats) {
    const Tensor all = Tensor::zeros(context, stored, {300, 420});
    const std::string bytes = file_of({{"all", stored, {300, 420}}});
    std::memcpy(all.data(), bytes.data() + bytes.size() - all.num_bytes(), all.num_bytes());
    const Dims every_other = {840, 2};
    const Dims again = {0, 1};
    const Dims backwards = {-420, -1};
    for (const Tensor& source : {all, all.transpose(nullptr), all.slice(1, 7, 400),
                                 all.slice(1, 7, 400).transpose(nullptr), all.view({150, 210}, &every_other, 0),
                                 all.view({100, 420}, &again, 0), all.view({300, 420}, &backwards, 300 * 420 - 1)}) {
      for (const DType dtype : {stored == DType::F64 ? DType::F32 : stored, DType::F16}) {
        for (const Use use : kUses) {
          const Parameter parameter("W", source.shape(), 1, use);
          FreshMemory fresh;
          const ParameterValue made =
              write_value(context, fresh, parameter, TensorElements(source), dtype, source.shape());
          expect_made_of(context, made, parameter, converted_copy(context, source, dtype));
          if (HasFatalFailure()) return;
        }
      }
    }
    const Parameter bias("b", {420});
    FreshMemory fresh;
    const Tensor column = all.view({300}, std::array<Dims, 1>{Dims{420}}.data(), 3);
    expect_made_of(context, write_value(context, fresh, bias, TensorElements(column), DType::F32, {300}), bias,
                   converted_copy(context, column, DType::F32));
  }
}

TEST(ValueWriter, DrawsTheSameNumbersInPiecesAndInEveryDType) {
  const auto context = open(3);
  for (const Shape& shape : {Shape{500, 300}, Shape{3, 5}, Shape{20, 9001}}) {
    const Parameter parameter("W", shape, 1, Use::Projection);
    const Tensor expected = Tensor::zeros(context, DType::F32, shape);
    for (int64_t i = 0; i < expected.num_elements(); ++i) {
      reinterpret_cast<float*>(expected.data())[i] =
          static_cast<float>(0.5 * normal_number(11, 2, static_cast<uint64_t>(i)));
    }
    for (const DType dtype : {DType::F32, DType::F16, DType::BF16}) {
      FreshMemory fresh;
      expect_made_of(context, write_value(context, fresh, parameter, DrawnElements(11, 2, 0.5, shape[1]), dtype, shape),
                     parameter, converted_copy(context, expected, dtype));
    }
  }
}

// ---- failures -------------------------------------------------------------------------------------------------------

constexpr int64_t kSize = 300;

MultiHeadAttentionOptions all_biases() {
  MultiHeadAttentionOptions options;
  options.num_hiddens = kSize;
  options.num_heads = 3;
  options.biases = 15;
  // The setting that GPT-2's names imply.
  options.attention.causal = Alignment::TopLeft;
  return options;
}

std::string pytorch_file(DType dtype) {
  return file_of({{"in_proj_weight", dtype, {3 * kSize, kSize}},
                  {"in_proj_bias", dtype, {3 * kSize}},
                  {"out_proj.weight", dtype, {kSize, kSize}},
                  {"out_proj.bias", dtype, {kSize}}});
}

std::string gpt2_file(DType dtype) {
  return file_of({{"c_attn.weight", dtype, {kSize, 3 * kSize}},
                  {"c_attn.bias", dtype, {3 * kSize}},
                  {"c_proj.weight", dtype, {kSize, kSize}},
                  {"c_proj.bias", dtype, {kSize}}});
}

TEST(LayerLoad, ReadsEachByteOfAPackedFileOnce) {
  for (const std::string& bytes : {pytorch_file(DType::BF16), gpt2_file(DType::F32)}) {
    std::atomic<uint64_t> num_read = 0;
    const SafetensorsFile file(std::make_unique<CountedSource>(bytes, num_read));
    MultiHeadAttention layer(open(2), all_biases());
    num_read = 0;
    layer.load(file, "");
    uint64_t header_length = 0;
    std::memcpy(&header_length, bytes.data(), sizeof header_length);
    EXPECT_EQ(num_read, bytes.size() - sizeof header_length - header_length);
  }
}

// Each read fails once, first by an error of the system and then by lack of memory.
TEST(LayerLoad, LeavesTheLayerAsItWasWhenAReadFails) {
  for (const bool is_memory : {false, true}) {
    for (const std::string& bytes : {pytorch_file(DType::F16), gpt2_file(DType::F32)}) {
      const auto context = open(2);
      MultiHeadAttention layer(context, all_biases());
      const Tensor queries = Tensor::zeros(context, DType::F32, {1, 2, kSize});
      LayerInputs inputs;
      inputs.queries = &queries;
      layer.initialize(inputs, 3);
      const auto kept = [&] {
        std::vector<const void*> addresses;
        for (const Parameter& parameter : layer.parameters()) {
          addresses.push_back(parameter.value().data());
          addresses.push_back(parameter.packed());
        }
        return addresses;
      };
      const std::vector<const void*> before = kept();
      std::atomic<int64_t> until = 0;
      std::atomic<uint64_t> num_read = 0;
      const SafetensorsFile file(std::make_unique<CountedSource>(bytes, num_read, [&] {
        if (--until != 0) return;
        if (is_memory) throw std::bad_alloc();
        fail(Status::Io, "the disk is gone");
      }));
      int64_t failures = 0;
      for (bool is_done = false; !is_done; ++failures) {
        until = failures + 1;
        try {
          layer.load(file, "");
          is_done = true;
        } catch (const Error& error) {
          ASSERT_FALSE(is_memory);
          ASSERT_EQ(error.status, Status::Io);
          ASSERT_STREQ(error.text, "the disk is gone");
        } catch (const std::bad_alloc&) {
          ASSERT_TRUE(is_memory);
        }
        if (is_done) break;
        ASSERT_EQ(kept(), before);
      }
      EXPECT_GE(failures, 8) << "each parameter needs at least one read";
      EXPECT_NE(kept(), before);
    }
  }
}

// ---- first touches --------------------------------------------------------------------------------------------------

TEST(FreshMemory, IsTouchedWithoutChangingIt) {
  for (const size_t num_bytes : {size_t{1}, size_t{3} << 20, (size_t{9} << 20) + 12345}) {
    for (const size_t offset : {size_t{0}, size_t{1}, size_t{5000}, FreshMemory::kChunkBytes - 3}) {
      std::vector<unsigned char> memory(num_bytes + offset + 5000);
      for (size_t i = 0; i < memory.size(); i += 999) memory[i] = static_cast<unsigned char>(i);
      const std::vector<unsigned char> before = memory;
      FreshMemory fresh;
      unsigned char* block = memory.data() + offset;
      const size_t pieces = FreshMemory::count_chunks(block, num_bytes);
      EXPECT_GE(pieces, num_bytes / FreshMemory::kChunkBytes);
      EXPECT_LE(pieces, num_bytes / FreshMemory::kChunkBytes + 2);
      for (size_t piece = 0; piece < pieces; ++piece) fresh.touch(block, num_bytes, piece);
      EXPECT_EQ(memory, before);
    }
  }
}

TEST(FreshMemory, RequestsLargePagesForWholeChunksAlone) {
  constexpr size_t kChunk = FreshMemory::kChunkBytes;
  auto* const mapped = static_cast<std::byte*>(platform::map_pages(5 * kChunk));
  ASSERT_NE(mapped, nullptr);
  std::byte* const chunk = mapped + (kChunk - reinterpret_cast<uintptr_t>(mapped) % kChunk);
  const auto unmap = [&] { platform::unmap_pages(mapped, 5 * kChunk); };
  FreshMemory::request_large(chunk + 1, 2 * kChunk - 2);
  EXPECT_FALSE(is_large_page_requested(chunk));
  if (!platform::request_large_pages(chunk + 3 * kChunk, kChunk) || !is_large_page_requested(chunk + 3 * kChunk)) {
    unmap();
    GTEST_SKIP() << "this system has no large pages, or does not show them";
  }
  FreshMemory::request_large(chunk - 1, 2 * kChunk + 100);
  EXPECT_FALSE(is_large_page_requested(chunk - 1));
  EXPECT_TRUE(is_large_page_requested(chunk));
  EXPECT_TRUE(is_large_page_requested(chunk + 2 * kChunk - 1));
  EXPECT_FALSE(is_large_page_requested(chunk + 2 * kChunk));
  unmap();
}

TEST(FreshMemory, IsNotUsedWithAnAllocatorOfTheHost) {
  HostAllocator hosts;
  EXPECT_TRUE(FreshMemory::is_for(hosts, FreshMemory::kChunkBytes));
  EXPECT_FALSE(FreshMemory::is_for(hosts, FreshMemory::kChunkBytes - 1));
  hosts.allocate = [](void*, size_t num_bytes, size_t) { return std::malloc(num_bytes); };
  EXPECT_FALSE(FreshMemory::is_for(hosts, FreshMemory::kChunkBytes));
}

}  // namespace
}  // namespace heed
