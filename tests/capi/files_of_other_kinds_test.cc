// SPDX-License-Identifier: Apache-2.0
// Files of other formats are recognized by their first bytes, never by their names, and the message says what to do
// with them.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "capi/support/attention_call.h"
#include "capi/support/cut_model.h"
#include "capi/support/files.h"
#include "capi/support/refusal.h"

namespace heed::capi_test {
namespace {

// The beginning of a zip archive whose first file has this name.
std::string zip(const std::string& name) {
  std::string bytes("PK\x03\x04\x14\x00\x00\x08\x08\x00", 10);
  bytes.resize(26, '\0');
  bytes += static_cast<char>(name.size() % 256);
  bytes += static_cast<char>(name.size() / 256);
  return bytes + std::string("\0\0", 2) + name + std::string(100, 'x');
}

// The beginning of an ONNX model: the version of the format, the name of the writer, and the tag of the next field.
std::string onnx(char format, const std::string& name, char next) {
  const char tags[] = {8, format, 0x12, static_cast<char>(name.size())};
  return std::string(tags, sizeof tags) + name + next + std::string(500, '\n');
}

std::string text(const char* begin) { return begin + std::string(600, '\n'); }

struct OtherKind {
  const char* what;
  std::string bytes;
  std::vector<std::string> words;
  // The words of the message if a .npy file is expected.
  std::vector<std::string> npy_words;
};

const std::vector<OtherKind>& other_kinds() {
  static const std::vector<OtherKind> kinds = {
      {"torch.save",
       zip("archive/data.pkl"),
       {"PyTorch", "torch.load", "safetensors.torch.save_file"},
       {"PyTorch", "numpy.save"}},
      {"torch.save of a named file", zip("pytorch_model/data.pkl"), {"PyTorch", "torch.load"}, {"PyTorch"}},
      {"torch.save of a long name", zip(std::string(300, 'n') + "/data.pkl"), {"PyTorch", "torch.load"}, {"PyTorch"}},
      {"torch.save before 1.6",
       "\x80\x02\x8a\x0al\xfc\x9c" + text("F\xf9 j\xa8P\x19."),
       {"pickle", "torch.load"},
       {"pickle"}},
      {"pickle of protocol 4", std::string("\x80\x04\x95\x10\0\0\0\0\0\0\0}", 12) + text(""), {"pickle"}, {"pickle"}},
      {"model.save of Keras", zip("metadata.json"), {"Keras", "safetensors.numpy.save_file"}, {"Keras"}},
      {"numpy.savez", zip("arr_0.npy"), {".npz", "numpy.load", "safetensors.numpy.save_file"}, {".npz", "numpy.save"}},
      {"zip", zip("model/weights"), {"zip", "unpack"}, {"zip", "unpack"}},
      {"empty zip", std::string("PK\x05\x06", 4) + std::string(18, '\0'), {"zip"}, {"zip"}},
      {"HDF5", "\x89HDF\r\n\x1A\n" + text(""), {"HDF5", "Keras"}, {"HDF5"}},
      {"GGUF", std::string("GGUF\3\0\0\0\1\0\0\0", 12) + text(""), {"GGUF", "llama.cpp"}, {"GGUF"}},
      {"Git LFS",
       text("version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 99\n"),
       {"Git LFS", "git lfs pull"},
       {"git lfs pull"}},
      {"HTML", text("<!DOCTYPE html>\n<html>"), {"HTML", "download"}, {"HTML"}},
      {"XML", text("<Z/>"), {"XML", "download"}, {"XML"}},
      {"XML in small letters", text("<z/>"), {"XML", "download"}, {"XML"}},
      {"HTML behind space", text("\r\n  <html lang=\"en\">"), {"HTML", "download"}, {"HTML"}},
      {"XML", text("<?xml version=\"1.0\"?><Error><Code>AccessDenied</Code>"), {"XML", "download"}, {"XML"}},
      {"gzip", std::string("\x1F\x8B\x08\0\0\0\0\0\0\3", 10) + text(""), {"gzip", "unpack"}, {"gzip"}},
      {"tar", std::string(257, 'n') + "ustar" + text(""), {"tar archive", "unpack"}, {"tar archive"}},
      {"ONNX", onnx(8, "pytorch", 0x1A), {"ONNX", "onnx.load"}, {"ONNX"}},
      {"ONNX of a late format", onnx(0x20, " ~", 0x22), {"ONNX"}, {"ONNX"}},
      {"ONNX of an early format", onnx(1, std::string(64, 'n'), 0x42), {"ONNX"}, {"ONNX"}},
      {"TensorFlow Lite", std::string("\x1C\0\0\0TFL3\x14\0", 10) + text(""), {"TensorFlow Lite"}, {"TensorFlow Lite"}},
      {"DJL", "DJL@" + std::string("\0\0\0\1", 4) + text(""), {"DJL", "SAFETENSORS"}, {"DJL"}},
      {"a block's parameters",
       "HEED\x01" + text("\x06Linear"),
       {"saveParameters", "loadParameters"},
       {"saveParameters"}},
      {"a list in JSON", text("[[1, 2]]"), {"JSON"}, {"JSON"}},
  };
  return kinds;
}

class OtherKinds : public testing::Test {
 protected:
  const TemporaryFolder folder_;
  const AttentionCall call_{Kind::MultiHead};
};

void expect_named(heed_status status, std::vector<std::string> words, const char* expected) {
  words.emplace_back(std::string("expected a ") + expected + " file: ");
  EXPECT_TRUE(is_refused(status, {HEED_ERROR_CORRUPT_FILE, words}));
  EXPECT_LT(std::string(heed_last_error()).size(), 400u) << heed_last_error();
}

TEST_F(OtherKinds, AreNamedIfSafetensorsIsExpected) {
  heed_tensor* tensor = nullptr;
  heed_weights* weights = nullptr;
  for (const OtherKind& kind : other_kinds()) {
    SCOPED_TRACE(kind.what);
    const std::string path = folder_.write("model.safetensors", kind.bytes);
    expect_named(heed_layer_load(call_.layer.get(), path.c_str(), nullptr), kind.words, ".safetensors");
    expect_named(heed_tensor_load_safetensors(call_.context.get(), path.c_str(), "a", &tensor), kind.words,
                 ".safetensors");
    expect_named(heed_weights_open(call_.context.get(), path.c_str(), &weights), kind.words, ".safetensors");
    expect_named(heed_layer_load_memory(call_.layer.get(), kind.bytes.data(), kind.bytes.size(), nullptr), kind.words,
                 ".safetensors");
  }
  EXPECT_EQ(tensor, nullptr);
  EXPECT_EQ(weights, nullptr);
}

TEST_F(OtherKinds, AreNamedIfNpyIsExpected) {
  heed_tensor* tensor = nullptr;
  for (const OtherKind& kind : other_kinds()) {
    SCOPED_TRACE(kind.what);
    const std::string path = folder_.write("array.npy", kind.bytes);
    expect_named(heed_tensor_load_npy(call_.context.get(), path.c_str(), &tensor), kind.npy_words, ".npy");
  }
  EXPECT_EQ(tensor, nullptr);
}

TEST_F(OtherKinds, IncludeSafetensorsForNpyAndNpyForSafetensors) {
  heed_tensor* tensor = nullptr;
  const std::string npy = std::string("\x93NUMPY\1\0\x76\0", 10) + "{'descr': '<f4'";
  expect_named(heed_layer_load(call_.layer.get(), folder_.write("a.safetensors", npy).c_str(), nullptr),
               {".npy file of NumPy", "heed_tensor_load_npy"}, ".safetensors");
  const std::string file = safetensors_of(parameters_of(call_.layer.get()));
  expect_named(heed_tensor_load_npy(call_.context.get(), folder_.write("a.npy", file).c_str(), &tensor),
               {".safetensors file", "heed_tensor_load_safetensors"}, ".npy");
  write_cut_model(folder_, parameters_of(call_.layer.get()), 2);
  expect_named(heed_tensor_load_npy(call_.context.get(), folder_.path(kIndexName).c_str(), &tensor), {"JSON"}, ".npy");
}

// A .safetensors file begins with the length of its header, which may equal the mark of another format. The header
// after it shows that it is .safetensors, and errors in such a file are reported as those of a .safetensors file.
TEST_F(OtherKinds, AreNotMistakenForSafetensorsWithTheirMarkAsLength) {
  for (const size_t length : {size_t{0x227B}, size_t{0x8B1F} + 0x080000, size_t{0x213C}, size_t{0x683C},
                              size_t{0x0280} + 0x010000, size_t{0x4B50}, size_t{0x0808} + 0x120000}) {
    SCOPED_TRACE(length);
    std::string file = safetensors_of(parameters_of(call_.layer.get()));
    const size_t header_end = file.find("}}") + 2;
    const size_t added = length - (header_end - 8);
    file.insert(header_end, added, ' ');
    for (unsigned byte = 0; byte < 8; ++byte) file[byte] = static_cast<char>(uint64_t{length} >> 8 * byte & 0xFFu);
    const std::string path = folder_.write("model.safetensors", file);
    EXPECT_EQ(heed_layer_load(call_.layer.get(), path.c_str(), nullptr), HEED_OK) << heed_last_error();
    // The file cut in the header, and in the data.
    for (const size_t size : {size_t{9}, size_t{100}, file.size() - 1}) {
      folder_.write("model.safetensors", file.substr(0, size));
      EXPECT_TRUE(is_refused(heed_layer_load(call_.layer.get(), path.c_str(), nullptr),
                             {HEED_ERROR_CORRUPT_FILE, {"model.safetensors", "bytes"}}));
    }
  }
}

// After the writer's name there may be its version, a domain, the model's version, a text, a graph, or opsets.
TEST_F(OtherKinds, AreOnnxWithAnyFieldAfterTheWriter) {
  for (const char next : {'\x1A', '\x22', '\x28', '\x32', '\x3A', '\x42'}) {
    const std::string bytes = onnx(8, "pytorch", next);
    expect_named(heed_layer_load_memory(call_.layer.get(), bytes.data(), bytes.size(), nullptr), {"ONNX"},
                 ".safetensors");
  }
}

TEST_F(OtherKinds, AreNotFoundInFilesThatOnlyResembleThem) {
  std::vector<std::string> unknown = {text("<`"),
                                      text("<{"),
                                      text("<@"),
                                      text("<["),
                                      text("< html"),
                                      text("[ "),
                                      text("{"),
                                      text("[x"),
                                      text("{1"),
                                      text("\x80\x01K"),
                                      text("\x80\x06K"),
                                      text("\x81\x02K"),
                                      text("n\x02K"),
                                      text("PK\x03\x05"),
                                      text("\x1F\x8B\x07"),
                                      std::string(256, 'n') + "ustar" + text("n"),
                                      std::string("\x80\x02\0", 3) + text("")};
  for (const char format : {'\0', '\x21'}) unknown.push_back(onnx(format, "pytorch", 0x1A));
  for (const char* name : {"", "\x1F", "pytor\x7F", "pytor\x80"}) unknown.push_back(onnx(8, name, 0x1A));
  unknown.push_back(onnx(8, std::string(65, 'n'), 0x1A));
  for (const char next : {'\0', '\x1B', '\x2A', '\x4A'}) unknown.push_back(onnx(8, "pytorch", next));
  for (const std::string& bytes : unknown) {
    SCOPED_TRACE(testing::PrintToString(bytes.substr(0, 20)));
    EXPECT_TRUE(is_refused(heed_layer_load_memory(call_.layer.get(), bytes.data(), bytes.size(), nullptr),
                           {HEED_ERROR_CORRUPT_FILE, {"header's length"}}));
  }
}

// A file of an unknown format gets the message for a wrong .safetensors file. Each kind of file is cut at every length,
// and read only within its bytes.
TEST_F(OtherKinds, AreReadOnlyWithinTheirBytes) {
  for (const OtherKind& kind : other_kinds()) {
    SCOPED_TRACE(kind.what);
    for (size_t size = 0; size <= kind.bytes.size(); size += size < 64 ? 1 : 37) {
      // Memory of exactly this size, so that a sanitizer finds reads after its end.
      const std::vector<char> bytes(kind.bytes.begin(), kind.bytes.begin() + static_cast<std::ptrdiff_t>(size));
      const char none = 0;
      const heed_status status =
          heed_layer_load_memory(call_.layer.get(), bytes.empty() ? &none : bytes.data(), bytes.size(), nullptr);
      EXPECT_EQ(status, HEED_ERROR_CORRUPT_FILE) << size;
    }
  }
  EXPECT_TRUE(is_refused(heed_layer_load_memory(call_.layer.get(), "something else", 14, nullptr),
                         {HEED_ERROR_CORRUPT_FILE, {"header's length"}}));
}

}  // namespace
}  // namespace heed::capi_test
