// SPDX-License-Identifier: Apache-2.0
#include "tensor/file_kind.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/shown_text.h"
#include "tensor/npy_format.h"

namespace heed {
namespace {

// Enough for every signature below; that of a tar archive is at byte 257.
constexpr size_t kMostBytes = 512;

struct KnownFile {
  const char* what;
  // The advice if a .safetensors file is expected, and if a .npy file is expected. to_npy is null if the advice is the
  // same.
  const char* to_safetensors;
  const char* to_npy;
  bool (*matches)(std::string_view begin);
};

std::string_view without_space(std::string_view text) {
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  text.remove_prefix(std::min(text.find_first_not_of(" \t\r\n"), text.size()));
  return text;
}

unsigned char byte_at(std::string_view begin, size_t at) {
  return at < begin.size() ? static_cast<unsigned char>(begin[at]) : 0;
}

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

// The name of the first file in a zip archive; empty if there is none.
std::string_view first_of_zip(std::string_view begin) {
  constexpr size_t kNameLengthAt = 26;
  constexpr size_t kNameAt = 30;
  if (!begin.starts_with("PK\x03\x04") || begin.size() < kNameAt) return {};
  const size_t length = byte_at(begin, kNameLengthAt) + size_t{256} * byte_at(begin, kNameLengthAt + 1);
  return begin.substr(kNameAt, length);
}

bool is_zip(std::string_view begin) { return begin.starts_with("PK\x03\x04") || begin.starts_with("PK\x05\x06"); }

bool is_zip_of_pytorch(std::string_view begin) { return first_of_zip(begin).ends_with("/data.pkl"); }

bool is_zip_of_keras(std::string_view begin) {
  const std::string_view first = first_of_zip(begin);
  return first == "metadata.json" || first == "config.json" || first.ends_with(".weights.h5");
}

bool is_zip_of_numpy(std::string_view begin) { return first_of_zip(begin).ends_with(".npy"); }

// Pickles of protocols 2 to 5 begin with the protocol number, followed by an operation.
bool is_pickle(std::string_view begin) {
  return byte_at(begin, 0) == 0x80 && byte_at(begin, 1) >= 2 && byte_at(begin, 1) <= 5 && byte_at(begin, 2) != 0;
}

bool is_hdf5(std::string_view begin) { return begin.starts_with("\x89HDF\r\n\x1A\n"); }

bool is_npy(std::string_view begin) { return begin.starts_with(kNpyMagic); }

bool is_gguf(std::string_view begin) { return begin.starts_with("GGUF"); }

bool is_git_lfs_pointer(std::string_view begin) {
  return begin.starts_with("version https://git-lfs.github.com/spec/");
}

bool is_page(std::string_view begin) {
  const std::string_view text = without_space(begin);
  return text.size() > 1 && text[0] == '<' && (is_letter(text[1]) || text[1] == '!' || text[1] == '?');
}

bool is_gzip(std::string_view begin) { return begin.starts_with("\x1F\x8B\x08"); }

bool is_tar(std::string_view begin) {
  constexpr size_t kMarkAt = 257;
  return begin.size() > kMarkAt && begin.substr(kMarkAt).starts_with("ustar");
}

// A protocol buffer. Its first fields are the number of the format, the name of the program that wrote it, and a string
// or a message.
bool is_onnx(std::string_view begin) {
  constexpr size_t kNameAt = 4;
  const size_t length = byte_at(begin, 3);
  if (byte_at(begin, 0) != 0x08 || byte_at(begin, 1) == 0 || byte_at(begin, 1) > 0x20 || byte_at(begin, 2) != 0x12)
    return false;
  if (length == 0 || length > 64 || begin.size() <= kNameAt + length) return false;
  const std::string_view name = begin.substr(kNameAt, length);
  const bool is_name = std::all_of(name.begin(), name.end(), [](char c) { return c >= 0x20 && c < 0x7F; });
  const unsigned char next = byte_at(begin, kNameAt + length);
  return is_name && (next == 0x1A || next == 0x22 || next == 0x28 || next == 0x32 || next == 0x3A || next == 0x42);
}

bool is_tensorflow_lite(std::string_view begin) { return begin.size() > 8 && begin.substr(4).starts_with("TFL3"); }

bool is_djl(std::string_view begin) { return begin.starts_with("DJL@"); }

bool is_block(std::string_view begin) { return begin.starts_with(std::string_view("HEED\x01", 5)); }

// The first 8 bytes of a .safetensors file are the length of its header, which contains a zero byte; a text contains
// none.
bool is_json(std::string_view begin) {
  if (begin.substr(0, 8).find('\0') != std::string_view::npos) return false;
  const std::string_view text = without_space(begin);
  if (text.empty() || (text[0] != '{' && text[0] != '[')) return false;
  const std::string_view inside = without_space(text.substr(1));
  if (inside.empty()) return false;
  return text[0] == '{' ? inside[0] == '"' || inside[0] == '}'
                        : std::string_view("\"{[]-0123456789tfn").find(inside[0]) != std::string_view::npos;
}

// The header of a .safetensors file begins after its length. The length is far below 2^32.
bool is_safetensors(std::string_view begin) {
  if (begin.size() < 10 || begin.substr(4, 4) != std::string_view("\0\0\0\0", 4) || begin[8] != '{') return false;
  const std::string_view inside = without_space(begin.substr(9));
  return !inside.empty() && (inside[0] == '"' || inside[0] == '}');
}

constexpr const char* kSavePytorch =
    "load it in Python by torch.load, and write its tensors by safetensors.torch.save_file";
constexpr const char* kSaveKeras =
    "load it in Python, and write its weights by safetensors.numpy.save_file under their paths";
constexpr const char* kSaveArray = "load it in Python, and save the array by numpy.save";

// Tested in this order: an earlier kind is a special case of a later one.
constexpr KnownFile kKnownFiles[] = {
    {"an archive of PyTorch's torch.save", kSavePytorch, kSaveArray, is_zip_of_pytorch},
    {"an archive of Keras' model.save", kSaveKeras, kSaveArray, is_zip_of_keras},
    {"a .npz archive of NumPy", "load it in Python by numpy.load, and write its arrays by safetensors.numpy.save_file",
     "load it in Python by numpy.load, and save each array by numpy.save", is_zip_of_numpy},
    {"a zip archive", "unpack it, and give the file that is inside", nullptr, is_zip},
    {"a pickle of Python, as torch.save of old wrote", kSavePytorch, kSaveArray, is_pickle},
    {"an HDF5 file, as Keras writes", kSaveKeras, kSaveArray, is_hdf5},
    {"a .npy file of NumPy, which is one array without a name",
     FUNCTION("heed_tensor_load_npy") " reads it, and " FUNCTION("heed_layer_set_parameter") " takes it", nullptr,
     is_npy},
    {"a .safetensors file", nullptr, FUNCTION("heed_tensor_load_safetensors") " reads each of its tensors",
     is_safetensors},
    {"a GGUF file of llama.cpp", "give the .safetensors file of the model that it was made from", kSaveArray, is_gguf},
    {"a pointer of Git LFS, which stands for the file", "fetch the file itself by git lfs pull", nullptr,
     is_git_lfs_pointer},
    {"a page of HTML or XML, as a failed download leaves", "download the file itself", nullptr, is_page},
    {"compressed by gzip", "unpack it", nullptr, is_gzip},
    {"a tar archive", "unpack it, and give the file that is inside", nullptr, is_tar},
    {"an ONNX model",
     "load it in Python by onnx.load, and write its initializers by safetensors.numpy.save_file as "
     "onnx.numpy_helper.to_array gives them",
     kSaveArray, is_onnx},
    {"a TensorFlow Lite model", "write the weights of the model that it was made from by safetensors.numpy.save_file",
     kSaveArray, is_tensorflow_lite},
    {"a model of DJL's own format", "load it in Java, and write its parameters by NDList.Encoding.SAFETENSORS", nullptr,
     is_djl},
    {"what " FUNCTION("saveParameters") " of a block of heed's wrote",
     FUNCTION("loadParameters") " of such a block reads it", nullptr, is_block},
    {"a text in JSON", "give the file that holds the tensors", nullptr, is_json},
};

std::string beginning_of(const ByteSource& source) {
  std::string begin(static_cast<size_t>(std::min<uint64_t>(source.num_bytes(), kMostBytes)), '\0');
  source.read(0, begin.data(), begin.size());
  return begin;
}

}  // namespace

void refuse_other_kind(const ByteSource& source, FileFormat expected) {
  const std::string begin = beginning_of(source);
  const bool wants_npy = expected == FileFormat::Npy;
  for (const KnownFile& kind : kKnownFiles) {
    if (kind.matches == (wants_npy ? is_npy : is_safetensors) || !kind.matches(begin)) continue;
    fail(Status::CorruptFile, "\"%s\" is %s, expected a %s file: %s", shown(source.name()).c_str(), kind.what,
         wants_npy ? ".npy" : ".safetensors", wants_npy && kind.to_npy != nullptr ? kind.to_npy : kind.to_safetensors);
  }
}

bool begins_as_json_object(const ByteSource& source) {
  const std::string begin = beginning_of(source);
  return is_json(begin) && without_space(begin)[0] == '{';
}

}  // namespace heed
