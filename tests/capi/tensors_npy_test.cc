// SPDX-License-Identifier: Apache-2.0
// .npy files: those that NumPy wrote (golden/data/npy, made by golden/make_npy.py), those that heed writes, and invalid
// ones.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "capi/support/attention_call.h"
#include "capi/support/files.h"
#include "capi/support/refusal.h"
#include "support/platform/files.h"

namespace heed::capi_test {
namespace {

std::string from_numpy(const std::string& name) { return HEED_SOURCE_DIR "/tests/golden/data/npy/" + name + ".npy"; }

class NpyFiles : public testing::Test {
 protected:
  Tensor load(const std::string& path) const {
    heed_tensor* tensor = nullptr;
    check(heed_tensor_load_npy(context_.get(), path.c_str(), &tensor));
    return Tensor(tensor);
  }

  std::function<heed_status(OutParameters&)> loading(const std::string& path) const {
    return [this, path](OutParameters& out) { return heed_tensor_load_npy(context_.get(), path.c_str(), &out.tensor); };
  }

  std::function<heed_status(OutParameters&)> saving(const heed_tensor* tensor, const std::string& path) const {
    return [tensor, path](OutParameters&) { return heed_tensor_save_npy(tensor, path.c_str()); };
  }

  // Saves the tensor and returns the bytes of the file.
  std::string saved(const heed_tensor* tensor) const {
    const std::string path = folder_.path("saved.npy");
    check(heed_tensor_save_npy(tensor, path.c_str()));
    return read_file(path);
  }

  const TemporaryFolder folder_;
  const Context context_ = make_context();
};

// The elements that make_npy.py writes into float arrays.
std::vector<float> made_floats(int64_t count) {
  std::vector<float> elements;
  for (int64_t k = 0; k < count; ++k) elements.push_back(static_cast<float>(37 * k % 101 - 50) / 4);
  return elements;
}

TEST_F(NpyFiles, OfNumPyAreRead) {
  const struct {
    const char* name;
    heed_dtype dtype;
    Dims dims;
  } files[] = {
      {"f4", HEED_F32, {2, 3}},
      {"f2", HEED_F16, {2, 3}},
      {"f8", HEED_F64, {2, 3}},
      {"version_2", HEED_F32, {2, 3}},
      {"version_3", HEED_F32, {2, 3}},
      {"rank_0", HEED_F32, {}},
      {"rank_8", HEED_F16, {1, 2, 1, 3, 1, 2, 1, 2}},
      {"three_axes", HEED_F64, {3, 5, 2}},
      {"fortran", HEED_F64, {3, 5, 2}},
      {"empty", HEED_F32, {2, 0, 3}},
  };
  for (const auto& file : files) {
    SCOPED_TRACE(file.name);
    const Tensor tensor = load(from_numpy(file.name));
    EXPECT_EQ(heed_tensor_dtype(tensor.get()), file.dtype);
    EXPECT_EQ(dims_of(tensor.get()), file.dims);
    // Multiples of 1/4, which are exact in every float type.
    EXPECT_EQ(read_floats(context_.get(), tensor.get()), made_floats(heed_tensor_num_elements(tensor.get())));
  }
  EXPECT_EQ(read_elements<int32_t>(load(from_numpy("i4")).get()), (std::vector<int32_t>{-50, -13, 24, -40, -3, 34}));
  EXPECT_EQ(read_elements<int64_t>(load(from_numpy("i8")).get()), (std::vector<int64_t>{-50, -13, 24, -40, -3, 34}));
  EXPECT_EQ(read_elements<int8_t>(load(from_numpy("i1")).get()), (std::vector<int8_t>{-50, -13, 24, -40, -3, 34}));
  EXPECT_EQ(read_elements<uint8_t>(load(from_numpy("u1")).get()), (std::vector<uint8_t>{0, 37, 74, 10, 47, 84}));
  EXPECT_EQ(read_bytes(load(from_numpy("b1")).get()), (std::vector<uint8_t>{1, 0, 0, 0, 0, 1}));
  EXPECT_EQ(read_elements<int32_t>(load(from_numpy("rank_1")).get()), (std::vector<int32_t>{-50, -13, 24, -40, -3}));
  EXPECT_EQ(dims_of(load(from_numpy("long_header")).get()), (Dims{0, 10, 100, 1000, 10000, 100000, 10, 100}));
}

TEST_F(NpyFiles, AreWrittenAsNumPyWritesThem) {
  for (const char* name : {"f4", "f2", "f8", "i4", "i8", "i1", "u1", "b1", "rank_0", "rank_1", "rank_8", "three_axes",
                           "empty", "long_header"}) {
    EXPECT_TRUE(saved(load(from_numpy(name)).get()) == read_file(from_numpy(name))) << name;
  }
  // The same array in another order or file version.
  EXPECT_TRUE(saved(load(from_numpy("fortran")).get()) == read_file(from_numpy("three_axes")));
  EXPECT_TRUE(saved(load(from_numpy("version_2")).get()) == read_file(from_numpy("f4")));
  EXPECT_TRUE(saved(load(from_numpy("version_3")).get()) == read_file(from_numpy("f4")));
  // A tensor with the same numbers.
  const Tensor made = make_tensor_of<float>(context_.get(), {2, 3}, made_floats(6));
  EXPECT_TRUE(saved(made.get()) == read_file(from_numpy("f4")));
}

TEST_F(NpyFiles, AreWrittenFromViewsAndSnapshots) {
  const Tensor whole = load(from_numpy("three_axes"));
  const Tensor turned = make_transposed(whole.get(), {2, 0, 1});
  const Tensor again = load((saved(turned.get()), folder_.path("saved.npy")));
  EXPECT_EQ(dims_of(again.get()), (Dims{2, 3, 5}));
  EXPECT_EQ(read_bytes(again.get()), read_bytes(turned.get()));

  const AttentionCall call(Kind::MultiHead);
  const Tensor weight = snapshot(call.layer.get(), "W_q.weight");
  const Tensor loaded = load((saved(weight.get()), folder_.path("saved.npy")));
  EXPECT_EQ(dims_of(loaded.get()), dims_of(weight.get()));
  EXPECT_EQ(read_bytes(loaded.get()), read_bytes(weight.get()));
  EXPECT_EQ(heed_tensor_fill(loaded.get(), 0.0), HEED_OK) << heed_last_error();
}

TEST_F(NpyFiles, OfUnsupportedTypesAreRefusedByName) {
  expect_refused({
      {"big endian", loading(from_numpy("big_endian")), {HEED_ERROR_UNSUPPORTED, {"'>f4'", "big endian", "'<f4'"}}},
      {"object", loading(from_numpy("object")), {HEED_ERROR_UNSUPPORTED, {"'|O'", "Python objects"}}},
      {"structured", loading(from_numpy("structured")), {HEED_ERROR_UNSUPPORTED, {"[('a', '<i4')", "structured"}}},
      {"unicode", loading(from_numpy("structured_unicode")), {HEED_ERROR_UNSUPPORTED, {"\\xCE\\xB1", "structured"}}},
      {"complex", loading(from_numpy("complex")), {HEED_ERROR_UNSUPPORTED, {"complex.npy", "'<c8'"}}},
      {"text", loading(from_numpy("text")), {HEED_ERROR_UNSUPPORTED, {"'<U2'"}}},
      {"date", loading(from_numpy("date")), {HEED_ERROR_UNSUPPORTED, {"'<M8[D]'"}}},
      {"u2", loading(from_numpy("u2")), {HEED_ERROR_UNSUPPORTED, {"'<u2'"}}},
      {"i2", loading(from_numpy("i2")), {HEED_ERROR_UNSUPPORTED, {"'<i2'"}}},
      {"long double", loading(from_numpy("long_double")), {HEED_ERROR_UNSUPPORTED, {"'<f16'"}}},
      {"rank 9", loading(from_numpy("rank_9")), {HEED_ERROR_UNSUPPORTED, {"9 dimensions", "8"}}},
  });
}

TEST_F(NpyFiles, ThatCannotBeReadAreRefused) {
  ASSERT_TRUE(make_pipe(folder_.path("pipe").c_str()));
  expect_refused({
      {"missing", loading(folder_.path("none.npy")), {HEED_ERROR_IO, {"none.npy", "No such file"}}},
      {"a folder", loading(folder_.path("")), {HEED_ERROR_IO, {"directory"}}},
      {"below a file", loading(from_numpy("f4") + "/a"), {HEED_ERROR_IO, {"Not a directory"}}},
      {"a pipe", loading(folder_.path("pipe")), {HEED_ERROR_IO, {"pipe", "expected a regular file"}}},
      {"an empty path", loading(""), {HEED_ERROR_IO, {"No such file"}}},
      {"nothing", loading(folder_.write("nothing", "")), {HEED_ERROR_CORRUPT_FILE, {"nothing", "0 bytes"}}},
      {"another format",
       loading(folder_.write("other", safetensors("{}", 0))),
       {HEED_ERROR_CORRUPT_FILE, {"a .safetensors file", "expected a .npy file"}}},
      {"no format that is known", loading(folder_.write("unknown", "unknown")), {HEED_ERROR_CORRUPT_FILE, {"magic"}}},
  });
  // The superuser can read any file.
  if (is_superuser()) return;
  const std::string path = folder_.write("secret", read_file(from_numpy("f4")));
  std::filesystem::permissions(path, std::filesystem::perms::none);
  expect_refused({{"unreadable", loading(path), {HEED_ERROR_IO, {"secret", "Permission denied"}}}});
}

TEST_F(NpyFiles, ThatAreTooShortOrTooLongAreRefused) {
  for (const char* name : {"f4", "fortran", "version_3"}) {
    const std::string whole = read_file(from_numpy(name));
    for (size_t num_bytes = 0; num_bytes < whole.size(); ++num_bytes) {
      const std::string path = folder_.write("cut", whole.substr(0, num_bytes));
      expect_refused({{name, loading(path), {HEED_ERROR_CORRUPT_FILE, {"cut"}}}});
    }
    const std::string data = std::to_string(whole.size() - 128);
    const std::string longer = std::to_string(whole.size() - 127);
    expect_refused(
        {{name, loading(folder_.write("long", whole + "x")), {HEED_ERROR_CORRUPT_FILE, {"long", data, longer}}}});
  }
}

TEST_F(NpyFiles, ThatClaimToBeHugeAreRefusedBeforeAllocation) {
  std::string huge = read_file(from_numpy("f4"));
  const std::string shape = "(2, 3), }";
  huge.replace(huge.find(shape), shape.size() + 20, "(1099511627776, 1000), }     ");
  expect_refused(
      {{"huge", loading(folder_.write("huge", huge)), {HEED_ERROR_CORRUPT_FILE, {"4398046511104000", "24"}}}});
}

TEST_F(NpyFiles, ThatCannotBeWrittenLeaveTheOldFile) {
  const Tensor tensor = make_tensor(context_.get(), {2, 3});
  const Tensor narrow = make_tensor(context_.get(), {2, 3}, HEED_BF16);
  const Tensor shape_only = make_shape_only(context_.get(), {2, 3});
  const std::string old = folder_.write("old", "old contents");
  expect_refused({
      {"into a missing folder",
       saving(tensor.get(), folder_.path("none/file")),
       {HEED_ERROR_IO, {"none/file", "No such file"}}},
      {"over a folder", saving(tensor.get(), folder_.path("")), {HEED_ERROR_IO, {"directory"}}},
      {"an empty path", saving(tensor.get(), ""), {HEED_ERROR_IO, {}}},
      {"BF16", saving(narrow.get(), old), {HEED_ERROR_UNSUPPORTED, {"BF16", "F32"}}},
      {"shape-only", saving(shape_only.get(), old), {HEED_ERROR_INVALID_ARGUMENT, {"shape-only"}}},
  });
  EXPECT_EQ(read_file(old), "old contents");
  EXPECT_EQ(folder_.file_names(), std::vector<std::string>{"old"});
  EXPECT_EQ(heed_tensor_save_npy(tensor.get(), old.c_str()), HEED_OK) << heed_last_error();
  EXPECT_EQ(read_file(old).size(), 128u + 24u);
  EXPECT_EQ(folder_.file_names(), std::vector<std::string>{"old"});
}

}  // namespace
}  // namespace heed::capi_test
