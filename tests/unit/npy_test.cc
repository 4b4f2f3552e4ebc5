// SPDX-License-Identifier: Apache-2.0
#include "tensor/npy.h"

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <numeric>
#include <string>
#include <vector>

#include "base/error.h"
#include "failure.h"
#include "plain_memory.h"
#include "support/platform/files.h"
#include "tensor/copy.h"
#include "tensor/npy_format.h"

namespace heed {
namespace {

class TextSource final : public ByteSource {
 public:
  explicit TextSource(std::string bytes) : bytes_(std::move(bytes)) {}
  std::string_view name() const override { return name_; }
  uint64_t num_bytes() const override { return bytes_.size(); }
  void read(uint64_t offset, void* destination, size_t num_bytes) const override {
    ASSERT_LE(offset, bytes_.size());
    ASSERT_LE(num_bytes, bytes_.size() - offset);
    largest_read_ = std::max(largest_read_, num_bytes);
    std::memcpy(destination, bytes_.data() + offset, num_bytes);
  }
  size_t largest_read() const { return largest_read_; }

 private:
  std::string name_ = "a.npy";
  std::string bytes_;
  mutable size_t largest_read_ = 0;
};

// Memory whose allocation fails with OutOfMemory. A file that is refused with another status was refused before
// anything was allocated.
class NoMemory final : public Memory {
 public:
  void* allocate(size_t, Contents) const override { fail(Status::OutOfMemory, "asked for memory"); }
  void release(void*, size_t) const noexcept override {}
  const char* device_name() const noexcept override { return "none:0"; }
};

std::string with_header(const std::string& header, const std::string& data, int major = 1) {
  std::string bytes = "\x93NUMPY";
  bytes += static_cast<char>(major);
  bytes += '\0';
  for (int i = 0; i < (major == 1 ? 2 : 4); ++i) bytes += static_cast<char>(header.size() >> (8 * i) & 0xFFu);
  return bytes + header + data;
}

std::string dict(const std::string& descr, const std::string& fortran_order, const std::string& shape) {
  return "{'descr': " + descr + ", 'fortran_order': " + fortran_order + ", 'shape': " + shape + ", }\n";
}

std::string zeros(size_t num_bytes) { return std::string(num_bytes, '\0'); }

Tensor load(const std::string& bytes) { return load_npy(plain_memory(), TextSource(bytes)); }

// The file must be refused with this sentence before memory for the tensor is allocated.
void expect_refused(Status status, const std::string& bytes, const std::string& sentence) {
  const ThrownError failure = failure_of([&] { load_npy(std::make_shared<NoMemory>(), TextSource(bytes)); });
  EXPECT_EQ(failure.status, status) << failure.text;
  EXPECT_EQ(failure.text, sentence);
}

// A file with this header and the 24 bytes of an F32 tensor of shape (2, 3).
void expect_corrupt_header(const std::string& header, const std::string& sentence) {
  expect_refused(Status::CorruptFile, with_header(header, zeros(24)), "\"a.npy\": the header " + sentence);
}

void expect_unsupported(const std::string& header, const std::string& sentence) {
  expect_refused(Status::Unsupported, with_header(header, zeros(24)), "\"a.npy\" has " + sentence);
}

template <typename T>
std::string bytes_of(const std::vector<T>& elements) {
  return {reinterpret_cast<const char*>(elements.data()), elements.size() * sizeof(T)};
}

std::string bytes_of(const Tensor& tensor) {
  std::string bytes(tensor.num_bytes(), '\0');
  read_tensor(tensor, bytes.data());
  return bytes;
}

TEST(NpyHeader, IsReadInEveryVersionAndNotation) {
  const std::string data = bytes_of<float>({1, 2, 3, 4, 5, 6});
  const std::string headers[] = {
      dict("'<f4'", "False", "(2, 3)"),
      R"({"descr": "<f4", "fortran_order": False, "shape": (2, 3)})",
      "{'shape':(2,3,),'fortran_order':False,'descr':'<f4'}",
      "\n\t { 'shape' : ( 2 ,\r\n 3 ) , 'descr' : '<f4' , 'fortran_order' : False , } \t\n",
      dict("'<f4'", "False", "(2, 3)") + std::string(60'000, ' ') + "\n",
  };
  for (const int major : {1, 2, 3}) {
    for (const std::string& header : headers) {
      const Tensor tensor = load(with_header(header, data, major));
      EXPECT_EQ(tensor.dtype(), DType::F32) << header;
      EXPECT_EQ(tensor.shape(), (Shape{2, 3})) << header;
      EXPECT_TRUE(tensor.is_row_major());
      EXPECT_EQ(bytes_of(tensor), data) << header;
    }
  }
}

TEST(NpyHeader, NamesEveryDType) {
  const struct {
    const char* descr;
    DType dtype;
  } known[] = {{"<f4", DType::F32},  {"<f2", DType::F16}, {"<f8", DType::F64}, {"<i4", DType::I32},
               {"<i8", DType::I64},  {"|i1", DType::I8},  {"<i1", DType::I8},  {">i1", DType::I8},
               {"|u1", DType::U8},   {"<u1", DType::U8},  {">u1", DType::U8},  {"|b1", DType::Bool},
               {"<b1", DType::Bool}, {">b1", DType::Bool}};
  for (const auto& [descr, dtype] : known) {
    std::string data(3 * size_of(dtype), '\0');
    std::iota(data.begin(), data.end(), '\1');
    const Tensor tensor = load(with_header(dict("'" + std::string(descr) + "'", "False", "(3,)"), data));
    EXPECT_EQ(tensor.dtype(), dtype) << descr;
    EXPECT_EQ(bytes_of(tensor), data) << descr;
  }
}

TEST(NpyHeader, HasShapesOfEveryRankAndWithoutElements) {
  const auto shape_of = [](const std::string& shape, size_t num_bytes) {
    return load(with_header(dict("'|u1'", "False", shape), zeros(num_bytes))).shape();
  };
  EXPECT_EQ(shape_of("()", 1), Shape{});
  EXPECT_EQ(shape_of("(4,)", 4), Shape{4});
  EXPECT_EQ(shape_of("(0,)", 0), Shape{0});
  EXPECT_EQ(shape_of("(1, 2, 1, 3, 1, 1, 1, 1)", 6), (Shape{1, 2, 1, 3, 1, 1, 1, 1}));
  EXPECT_EQ(shape_of("(1000000000000, 0, 1000)", 0), (Shape{1'000'000'000'000, 0, 1000}));
}

TEST(NpyHeader, IsADictOfTheThreeKeys) {
  const std::string descr = "'descr': '<f4'";
  const std::string order = "'fortran_order': False";
  const std::string shape = "'shape': (2, 3)";
  expect_corrupt_header("", "ends at its byte 0, expected a dict, '{'");
  expect_corrupt_header("[]", "has \"[\" at its byte 0, expected a dict, '{'");
  expect_corrupt_header("{", "ends at its byte 1, expected a key in quotes");
  expect_corrupt_header("{}", "has no descr");
  expect_corrupt_header("{" + descr + "," + shape + "}", "has no fortran_order");
  expect_corrupt_header("{" + descr + "," + order + "}", "has no shape");
  expect_corrupt_header("{" + order + "," + shape + "}", "has no descr");
  expect_corrupt_header("{" + descr + "," + descr + "}", "has its descr twice");
  expect_corrupt_header("{" + order + "," + order + "}", "has its fortran_order twice");
  expect_corrupt_header("{" + shape + "," + shape + "}", "has its shape twice");
  expect_corrupt_header("{" + shape + ", 'order': 1}",
                        "has a key \"order\", expected only descr, fortran_order and shape");
  expect_corrupt_header("{'gr\xC3\xBC\xC3\x9F': 1}",
                        "has a key \"gr\\xC3\\xBC\\xC3\\x9F\", expected only descr, fortran_order and shape");
  expect_corrupt_header("{'\\x64escr': '<f4'}",
                        "has a key \"\\x64escr\", expected only descr, fortran_order and shape");
  expect_corrupt_header("{,}", "has \",\" at its byte 1, expected a key in quotes");
  expect_corrupt_header("{descr: 1}", "has \"d\" at its byte 1, expected a key in quotes");
  expect_corrupt_header("{'descr' '<f4'}", "has \"'\" at its byte 9, expected ':' after a key");
  expect_corrupt_header("{" + descr + " " + order + "}", "has \"'\" at its byte 16, expected ',' or '}'");
  expect_corrupt_header("{" + descr + ",,}", "has \",\" at its byte 16, expected a key in quotes");
  expect_corrupt_header(dict("'<f4'", "False", "(2, 3)") + "x",
                        "has \"x\" at its byte 60, expected its end after the dict");
  expect_corrupt_header(dict("'<f4'", "False", "(2, 3)") + zeros(1),
                        "has \"\\x00\" at its byte 60, expected its end after the dict");
  expect_corrupt_header("\xEF\xBB\xBF{}", "has \"\\xEF\" at its byte 0, expected a dict, '{'");
}

TEST(NpyHeader, RefusesStringsWithoutAnEnd) {
  expect_corrupt_header("{'descr", "ends inside the string that begins at its byte 1");
  expect_corrupt_header("{'descr\\'", "ends inside the string that begins at its byte 1");
  expect_corrupt_header("{'descr\\", "ends inside the string that begins at its byte 1");
  expect_corrupt_header("{'descr\"", "ends inside the string that begins at its byte 1");
  expect_corrupt_header("{'de\nscr'", "has \"\\x0A\" at its byte 4, expected no control characters in a string");
  expect_corrupt_header("{'descr': '<f4", "ends inside the string that begins at its byte 10");
}

TEST(NpyHeader, HasAnOrderThatIsTrueOrFalse) {
  expect_corrupt_header(dict("'<f4'", "0", "(2, 3)"), "has fortran_order 0, expected True or False");
  expect_corrupt_header(dict("'<f4'", "true", "(2, 3)"), "has fortran_order true, expected True or False");
  expect_corrupt_header(dict("'<f4'", "Truest", "(2, 3)"), "has fortran_order Truest, expected True or False");
  expect_corrupt_header(dict("'<f4'", "\xFF", "(2, 3)"), "has fortran_order \\xFF, expected True or False");
  expect_corrupt_header(dict("'<f4'", "'True'", "(2, 3)"), "has \"'\" at its byte 34, expected True or False");
  expect_corrupt_header(dict("'<f4'", "", "(2, 3)"), "has \",\" at its byte 34, expected True or False");
}

TEST(NpyHeader, HasAShapeOfWholeNumbers) {
  const auto expect_corrupt_shape = [](const std::string& shape, const std::string& sentence) {
    expect_corrupt_header(dict("'<f4'", "False", shape), sentence);
  };
  const auto no_size = [](const std::string& size, int axis) {
    return "has " + size + " as size " + std::to_string(axis) +
           " of its shape, expected a whole number from 0 to 9223372036854775807";
  };
  expect_corrupt_shape("(-2, 3)", no_size("-2", 0));
  expect_corrupt_shape("(2, -0)", no_size("-0", 1));
  expect_corrupt_shape("(2, +3)", no_size("+3", 1));
  expect_corrupt_shape("(2, 3.0)", no_size("3.0", 1));
  expect_corrupt_shape("(2, 3L)", no_size("3L", 1));
  expect_corrupt_shape("(2, 03)", no_size("03", 1));
  expect_corrupt_shape("(2, 0x3)", no_size("0x3", 1));
  expect_corrupt_shape("(2, 1_0)", no_size("1_0", 1));
  expect_corrupt_shape("(2, True)", no_size("True", 1));
  expect_corrupt_shape("(2, \xD9\xA3)", no_size("\\xD9\\xA3", 1));
  expect_corrupt_shape("(9223372036854775808,)", no_size("9223372036854775808", 0));
  expect_corrupt_shape("(99999999999999999999999,)", no_size("99999999999999999999999", 0));
  expect_corrupt_shape("(6)", "has shape (6), a number in Python, expected (6,)");
  expect_corrupt_shape("6", "has \"6\" at its byte 50, expected a shape, '('");
  expect_corrupt_shape("[2, 3]", "has \"[\" at its byte 50, expected a shape, '('");
  expect_corrupt_shape("(,)", "has \",\" at its byte 51, expected a size");
  expect_corrupt_shape("(2,,3)", "has \",\" at its byte 53, expected a size");
  expect_corrupt_shape("(2 3)", "has \"3\" at its byte 53, expected ',' or ')'");
  expect_corrupt_shape("(2, (3,))", "has \"(\" at its byte 54, expected a size");
  expect_corrupt_shape("('2',)", "has \"'\" at its byte 51, expected a size");
  expect_corrupt_header("{'shape': (2, 3", "ends at its byte 15, expected ',' or ')'");
  expect_corrupt_header("{'shape': (", "ends at its byte 11, expected a size");
}

TEST(NpyHeader, HasAShapeThatDoesNotOverflow) {
  const auto exceeds = [](int axis, const std::string& size) {
    return "'s shape has a product that exceeds 9223372036854775807 at its size " + std::to_string(axis) + ", " + size;
  };
  const auto expect_corrupt_shape = [](const std::string& shape, const std::string& sentence) {
    expect_refused(Status::CorruptFile, with_header(dict("'<f4'", "False", shape), ""),
                   "\"a.npy\": the header" + sentence);
  };
  expect_corrupt_shape("(4294967296, 4294967296)", exceeds(1, "4294967296"));
  expect_corrupt_shape("(4294967296, 0, 4294967296)", exceeds(2, "4294967296"));
  expect_corrupt_shape("(0, 4294967296, 4294967296)", exceeds(2, "4294967296"));
  expect_corrupt_shape("(1, 1, 1, 1, 1, 1, 1, 1, 4294967296, 4294967296)", exceeds(9, "4294967296"));
  const auto overflows = [](const std::string& product) {
    return "'s shape has sizes other than 0 that make " + product + " elements of F32, whose size in bytes overflows";
  };
  expect_corrupt_shape("(4611686018427387904,)", overflows("4611686018427387904"));
  expect_corrupt_shape("(9223372036854775807,)", overflows("9223372036854775807"));
  expect_corrupt_shape("(0, 1073741824, 2147483648)", overflows("2305843009213693952"));
}

TEST(NpyHeader, MayHaveADtypeThatHeedLacks) {
  const auto dtype = [](const std::string& descr) { return dict(descr, "False", "(2, 3)"); };
  const std::string expected = ", expected one of <f4, <f2, <f8, <i4, <i8, |i1, |u1, |b1";
  for (const char* descr : {"'<u2'", "'<i2'", "'<u4'", "'<u8'", "'<c8'", "'<f16'", "'<U3'", "'|S5'", "'<M8[D]'",
                            "'|V2'", "'bfloat16'", "'float32'", "'f4'", "'=f4'", "'|f4'", "''", "'>u2'", "'<f\\x34'"}) {
    expect_unsupported(dtype(descr), "descr " + std::string(descr) + expected);
  }
  expect_unsupported(dtype("'<\xCE\xB1'"), "descr '<\\xCE\\xB1'" + expected);
  const std::pair<const char*, const char*> big[] = {
      {">f4", "<f4"}, {">f2", "<f2"}, {">f8", "<f8"}, {">i4", "<i4"}, {">i8", "<i8"}};
  for (const auto& [descr, little] : big) {
    expect_unsupported(dtype("'" + std::string(descr) + "'"),
                       "descr '" + std::string(descr) +
                           "': it is big endian, expected little endian: save array.astype('" + little + "') instead");
  }
  for (const char* descr : {"'|O'", "'|O8'"}) {
    expect_unsupported(dtype(descr),
                       "descr " + std::string(descr) +
                           ": it is an array of Python objects, which are pickled, expected numbers: save "
                           "array.astype('<f4') instead");
  }
  const std::string structured = ": it is a structured array, expected numbers of one dtype: save each field by itself";
  for (const char* descr : {"[('a', '<f4')]", "[ ( 'a' ,'<f4', (2, 3)), (('title', 'its'), [('b','|O')]), ]",
                            "('<f4', (2,))", "[('a', None)]", "[]"}) {
    expect_unsupported(dtype(descr), "descr " + std::string(descr) + structured);
  }
  expect_unsupported(dtype("[('\xCE\xB1', '<f4')]"), "descr [('\\xCE\\xB1', '<f4')]" + structured);
  expect_unsupported(dtype("[(\"it's\", '<f4')]"), "descr [(\\x22it's\\x22, '<f4')]" + structured);
}

TEST(NpyHeader, IsCheckedEvenIfItsDtypeIsUnsupported) {
  expect_corrupt_header("{'descr': '|O'}", "has no fortran_order");
  expect_corrupt_header("{'descr': 4}", "has \"4\" at its byte 10, expected a dtype in quotes");
  expect_corrupt_header("{'descr': {}}", "has \"{\" at its byte 10, expected a dtype in quotes");
  expect_corrupt_header("{'descr': [('a', {})]}", "has \"{\" at its byte 17, expected a list of fields");
  expect_corrupt_header("{'descr': [('a', -1)]}", "has \"-\" at its byte 17, expected a list of fields");
  expect_corrupt_header("{'descr': [('a', a\xFF)]}", "has \"\\xFF\" at its byte 18, expected a list of fields");
  expect_corrupt_header("{'descr': [('a', '<f4'])", "has \"]\" at its byte 22, expected a list of fields");
  expect_corrupt_header("{'descr': [('a', '<f4')", "ends at its byte 23, expected a list of fields");
  expect_corrupt_header("{'descr': []]", "has \"]\" at its byte 12, expected ',' or '}'");
}

TEST(NpyHeader, EndsDeepNestingAtALimit) {
  const std::string deep(500'000, '[');
  for (const int major : {2, 3}) {
    expect_refused(Status::CorruptFile, with_header("{'descr': " + deep, "", major),
                   "\"a.npy\": the header's descr nests deeper than 32 brackets at its byte 42");
  }
  const std::string as_deep_as_allowed = std::string(32, '(') + std::string(32, ')');
  expect_corrupt_header("{'descr': " + as_deep_as_allowed + "}", "has no fortran_order");
  expect_corrupt_header("{'shape': " + deep.substr(0, 1000), "has \"[\" at its byte 10, expected a shape, '('");
}

TEST(NpyFile, BeginsWithMagicVersionAndLength) {
  const auto expect_corrupt = [](const std::string& bytes, const std::string& sentence) {
    expect_refused(Status::CorruptFile, bytes, "\"a.npy\": " + sentence);
  };
  const std::string expected = ", expected the magic string \"\\x93NUMPY\"";
  expect_corrupt("hello, world", "the file begins with \"hello,\"" + expected);
  expect_corrupt("KP\3\4", "the file begins with \"KP\\x03\\x04\"" + expected);
  expect_refused(Status::CorruptFile, "PK\3\4",
                 "\"a.npy\" is a zip archive, expected a .npy file: unpack it, and give the file that is inside");
  expect_corrupt("\x93NUMP1", "the file begins with \"\\x93NUMP1\"" + expected);
  const std::string start("\x93NUMPY\1\0", 8);
  for (const size_t size : {0, 3, 6, 7}) {
    expect_corrupt(start.substr(0, size), "the file has " + std::to_string(size) +
                                              " bytes, expected at least 8 for the version and the header's length");
  }
  expect_corrupt(start + "\1", "the file has 9 bytes, expected at least 10 for the version and the header's length");
  expect_corrupt(std::string("\x93NUMPY\2\0\1\0\0", 11),
                 "the file has 11 bytes, expected at least 12 for the version and the header's length");
  for (const std::string& version :
       {std::string("\0\0", 2), std::string("\1\1"), std::string("\4\0", 2), std::string("\xFF\xFE")}) {
    const auto number = [&](size_t i) { return std::to_string(static_cast<unsigned char>(version[i])); };
    expect_refused(Status::Unsupported, "\x93NUMPY" + version + zeros(8),
                   "\"a.npy\" has format version " + number(0) + "." + number(1) + ", expected 1.0, 2.0 or 3.0");
  }
}

TEST(NpyFile, HasAHeaderInsideTheFile) {
  const auto with_length = [](uint32_t length, const std::string& rest, int major) {
    std::string bytes = with_header("", rest, major);
    std::memcpy(bytes.data() + 8, &length, major == 1 ? 2 : 4);
    return bytes;
  };
  expect_refused(Status::CorruptFile, with_length(119, zeros(118), 1),
                 "\"a.npy\": the header's length is 119, but only 118 bytes follow");
  for (const uint32_t length : {5u, 65536u, 0x7FFFFFFFu, 0x80000000u, 0xFFFFFFFFu}) {
    expect_refused(Status::CorruptFile, with_length(length, zeros(4), 2),
                   "\"a.npy\": the header's length is " + std::to_string(length) + ", but only 4 bytes follow");
  }
  expect_refused(Status::CorruptFile, with_length(1'000'001, zeros(1'000'001), 3),
                 "\"a.npy\": the header's length is 1000001, expected at most 1000000");
}

TEST(NpyFile, HoldsTheElementsAndNothingElse) {
  const std::string header = dict("'<f4'", "False", "(2, 3)");
  for (const size_t num_bytes : {0, 4, 23, 25, 48}) {
    expect_refused(Status::CorruptFile, with_header(header, zeros(num_bytes)),
                   "\"a.npy\": the file has " + std::to_string(num_bytes) +
                       " bytes of data, but its 6 elements of F32 are 24 bytes");
  }
  expect_refused(Status::CorruptFile, with_header(dict("'<f8'", "True", "(0, 3)"), zeros(8)),
                 "\"a.npy\": the file has 8 bytes of data, but its 0 elements of F64 are 0 bytes");
  // A small file whose header says that it is huge.
  expect_refused(Status::CorruptFile, with_header(dict("'|u1'", "True", "(1000000, 1000000)"), zeros(100)),
                 "\"a.npy\": the file has 100 bytes of data, but its 1000000000000 elements of U8 are 1000000000000 "
                 "bytes");
  expect_refused(Status::Unsupported, with_header(dict("'|u1'", "False", "(1,1,1,1,1,1,1,1,2)"), zeros(2)),
                 "\"a.npy\" has 9 dimensions, expected at most 8");
  expect_refused(Status::CorruptFile, with_header(dict("'|u1'", "False", "(1,1,1,1,1,1,1,1,2)"), zeros(1)),
                 "\"a.npy\": the file has 1 bytes of data, but its 2 elements of U8 are 2 bytes");
}

TEST(NpyFile, CutOrChangedAnywhereIsRefusedOrHarmless) {
  const std::string whole = with_header(dict("'<i4'", "True", "(2, 3)"), bytes_of<int32_t>({1, 2, 3, 4, 5, 6}));
  for (size_t size = 0; size < whole.size(); ++size) {
    EXPECT_EQ(failure_of([&] { load(whole.substr(0, size)); }).status, Status::CorruptFile) << size;
  }
  for (size_t at = 0; at < whole.size(); ++at) {
    for (int value = 0; value < 256; ++value) {
      std::string changed = whole;
      changed[at] = static_cast<char>(value);
      const ThrownError failure = failure_of([&] { load(changed); });
      EXPECT_TRUE(failure.status == Status::Ok || failure.status == Status::CorruptFile ||
                  failure.status == Status::Unsupported)
          << at << ": " << failure.text;
    }
  }
}

TEST(NpyFile, ShowsHostileTextOnOneShortLine) {
  const std::string long_key(60'000, 'k');
  const ThrownError failure = failure_of([&] { load(with_header("{'" + long_key + "': 1}", "")); });
  EXPECT_EQ(failure.status, Status::CorruptFile);
  EXPECT_NE(failure.text.find("kkk...kkk"), std::string::npos) << failure.text;
  EXPECT_LT(failure.text.size(), 300u);
}

// The bytes of a column-major file. Each element is the number of its index in row-major order.
template <typename T>
std::string fortran_data(const Shape& shape, const Tensor& numbers) {
  Shape reversed = shape;
  for (int32_t axis = 0; axis < shape.rank; ++axis) reversed[axis] = shape[shape.rank - 1 - axis];
  std::vector<T> data(static_cast<size_t>(numbers.num_elements()));
  // Computes the order in a second way: the first index changes fastest.
  Dims index{};
  for (T& element : data) {
    int64_t row_major = 0;
    for (int32_t axis = 0; axis < shape.rank; ++axis)
      row_major = row_major * shape[axis] + index[static_cast<size_t>(axis)];
    element = static_cast<T>(row_major);
    for (int32_t axis = 0; axis < shape.rank && ++index[static_cast<size_t>(axis)] == shape[axis]; ++axis) {
      index[static_cast<size_t>(axis)] = 0;
    }
  }
  return bytes_of(data);
}

template <typename T>
void expect_transposed(const char* descr, DType dtype, const Shape& shape) {
  const Tensor numbers = Tensor::zeros(plain_memory(), dtype, shape);
  std::vector<T> expected(static_cast<size_t>(numbers.num_elements()));
  for (size_t i = 0; i < expected.size(); ++i) expected[i] = static_cast<T>(i);
  std::string text = to_string(shape);
  text.insert(text.size() - 1, shape.rank > 0 ? "," : "");
  const TextSource source(
      with_header(dict("'" + std::string(descr) + "'", "True", text), fortran_data<T>(shape, numbers)));
  const Tensor tensor = load_npy(plain_memory(), source);
  EXPECT_EQ(tensor.shape(), shape);
  EXPECT_EQ(tensor.strides(), row_major_strides(shape, dtype));
  EXPECT_TRUE(bytes_of(tensor) == bytes_of(expected)) << descr << " " << text;
  if (shape.rank > 1 && tensor.num_bytes() > 65536) {
    EXPECT_LE(source.largest_read(), 65536u);
  }
}

TEST(NpyFile, InFortranOrderIsTransposedThroughASmallBuffer) {
  const Shape shapes[] = {{},         {7},       {1, 5},       {5, 1},     {2, 3},       {0, 3},
                          {3, 0, 2},  {3, 5, 2}, {1, 4, 1, 3}, {257, 129}, {37, 41, 53}, {2, 1, 3, 1, 2, 2, 1, 3},
                          {65536, 3}, {3, 65537}};
  for (const Shape& shape : shapes) {
    expect_transposed<uint8_t>("|u1", DType::U8, shape);
    expect_transposed<int32_t>("<i4", DType::I32, shape);
    expect_transposed<double>("<f8", DType::F64, shape);
  }
}

class NpyWriter : public testing::Test {
 protected:
  void SetUp() override { folder_ = std::filesystem::absolute(make_unique_folder("npy_test_")); }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string save(const Tensor& tensor) const {
    const std::string path = (folder_ / "file.npy").string();
    save_npy(path.c_str(), tensor);
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  // After saving, the tensor must be read back with the same elements in row-major order.
  void expect_round_trip(const Tensor& tensor) const {
    const std::string bytes = save(tensor);
    EXPECT_EQ(bytes.size(), 128 + tensor.num_bytes());
    const Tensor loaded = load(bytes);
    EXPECT_EQ(loaded.dtype(), tensor.dtype());
    EXPECT_EQ(loaded.shape(), tensor.shape());
    EXPECT_TRUE(bytes_of(loaded) == bytes_of(tensor)) << to_string(tensor.shape());
  }

  std::filesystem::path folder_;
};

Tensor counted(DType dtype, const Shape& shape) {
  Tensor tensor = Tensor::zeros(plain_memory(), dtype, shape);
  for (size_t i = 0; i < tensor.num_bytes(); ++i) tensor.data()[i] = static_cast<std::byte>(i % 251);
  return tensor;
}

TEST_F(NpyWriter, WritesTheHeaderAsNumPyDoes) {
  const auto header_of = [&](const Tensor& tensor) {
    std::string bytes = save(tensor).substr(0, 128);
    EXPECT_EQ(bytes.substr(0, 10), std::string("\x93NUMPY\1\0\x76\0", 10));
    EXPECT_EQ(bytes.back(), '\n');
    bytes.resize(127);
    return bytes.substr(10, bytes.find_last_not_of(' ') - 9);
  };
  EXPECT_EQ(header_of(counted(DType::F32, {})), "{'descr': '<f4', 'fortran_order': False, 'shape': (), }");
  EXPECT_EQ(header_of(counted(DType::I8, {3})), "{'descr': '|i1', 'fortran_order': False, 'shape': (3,), }");
  EXPECT_EQ(header_of(counted(DType::Bool, {0, 3})), "{'descr': '|b1', 'fortran_order': False, 'shape': (0, 3), }");
  // The longest header.
  EXPECT_EQ(header_of(counted(DType::U8, {0, 10, 100, 1000, 10000, 100000, 10, 922})),
            "{'descr': '|u1', 'fortran_order': False, 'shape': (0, 10, 100, 1000, 10000, 100000, 10, 922), }");
}

TEST_F(NpyWriter, KeepsEveryDTypeAndRank) {
  for (const DType dtype : {DType::F32, DType::F16, DType::F64, DType::I32, DType::I64, DType::I8, DType::U8}) {
    for (const Shape& shape : {Shape{}, Shape{5}, Shape{2, 3}, Shape{2, 0}, Shape{1, 2, 1, 3, 1, 2, 1, 2}}) {
      expect_round_trip(counted(dtype, shape));
    }
  }
}

TEST_F(NpyWriter, TakesAnyStrides) {
  const Tensor large = counted(DType::F32, {37, 41, 53});
  expect_round_trip(large);
  expect_round_trip(large.transpose(nullptr));
  const int32_t axes[] = {1, 0, 2};
  expect_round_trip(large.transpose(axes));
  expect_round_trip(large.slice(1, 3, 29).slice(2, 7, 1));
  const Dims backwards = {-53, -1};
  expect_round_trip(large.view({1000, 53}, &backwards, 999 * 53 + 52));
  const Dims repeated = {0, 1};
  expect_round_trip(large.view({70'001, 3}, &repeated, 5));
  expect_round_trip(counted(DType::I64, {3, 8191}).transpose(nullptr));
  expect_round_trip(large.read_only());
}

TEST_F(NpyWriter, WritesBooleansAsZeroAndOne) {
  for (const Shape& shape : {Shape{6}, Shape{300, 301}}) {
    const Tensor tensor = counted(DType::Bool, shape);
    for (const Tensor& saved : {tensor, tensor.transpose(nullptr)}) {
      std::string expected = bytes_of(saved);
      for (char& byte : expected) byte = byte != 0 ? 1 : 0;
      EXPECT_TRUE(save(saved).substr(128) == expected);
    }
  }
}

TEST_F(NpyWriter, RefusesTensorsThatAFileCannotHold) {
  const ThrownError narrow = failure_of([&] { save(counted(DType::BF16, {2})); });
  EXPECT_EQ(narrow.status, Status::Unsupported);
  EXPECT_EQ(narrow.text, "tensor has dtype BF16, which .npy files do not have: copy it into a tensor of F32 first");
  const ThrownError shape_only = failure_of([&] {
    save(Tensor::wrap(plain_memory(), DType::F32, {2, 3}, nullptr, nullptr));
  });
  EXPECT_EQ(shape_only.status, Status::InvalidArgument);
  EXPECT_EQ(shape_only.text, "tensor is a shape-only tensor (2, 3): its data is NULL, expected elements");
  EXPECT_TRUE(std::filesystem::is_empty(folder_));
}

TEST(Npy, OneElementAndOneMoreThanABufferInBothOrders) {
  constexpr int64_t kMore = npy_buffer_elements(DType::F16) + 1;
  static_assert(kMore % 3 == 0);
  for (const Shape& shape : {Shape{1, 1}, Shape{3, kMore / 3 - 1}, Shape{3, kMore / 3}, Shape{2, kMore}}) {
    std::string data;
    for (int64_t i = 0; i < 2 * shape[0] * shape[1]; ++i) data += static_cast<char>(i % 251 + 1);
    const Tensor tensor = load(with_header(dict("'<f2'", "True", to_string(shape)), data));
    std::vector<char> elements(data.size());
    read_tensor(tensor.transpose(nullptr), elements.data());
    EXPECT_EQ(std::string(elements.begin(), elements.end()), data);

    // Saved from column-major strides, they are read back in row-major order.
    const char* const path = "bounds.npy.tmp";
    save_npy(path, tensor.transpose(nullptr));
    std::ifstream file(path, std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(file), {}};
    std::filesystem::remove(path);
    EXPECT_EQ(bytes.substr(bytes.size() - data.size()), data);
  }
}

TEST(Npy, StringsMustBePrintable) {
  const auto refusal = [](char c) {
    return failure_of([&] { load(with_header(dict(std::string("'<") + c + "4'", "True", "(1,)"), zeros(4))); }).text;
  };
  for (const char c : {' ', '!', '~'})
    EXPECT_EQ(refusal(c),
              std::string("\"a.npy\" has descr '<") + c + "4', expected one of <f4, <f2, <f8, <i4, <i8, |i1, |u1, |b1");
  EXPECT_EQ(refusal('\x1f'),
            "\"a.npy\": the header has \"\\x1F\" at its byte 12, expected no control characters in a string");
  EXPECT_EQ(refusal('\x7f'),
            "\"a.npy\": the header has \"\\x7F\" at its byte 12, expected no control characters in a string");
}

TEST(Npy, FieldsHoldLettersAndDigits) {
  const auto status = [](char c) {
    return failure_of([&] { load(with_header(dict(std::string("[(") + c + ")]", "True", "(1,)"), zeros(4))); }).status;
  };
  for (const char c : {'0', '9', 'A', 'Z', 'a', 'z'}) EXPECT_EQ(status(c), Status::Unsupported) << c;
  for (const char c : {'/', ';', '@', '\\', '`', '|'}) EXPECT_EQ(status(c), Status::CorruptFile) << c;
}

TEST(Npy, TheShortestFileHasAHeaderWithoutBytes) {
  EXPECT_EQ(failure_of([] { load(with_header("", "")); }).text,
            "\"a.npy\": the header ends at its byte 0, expected a dict, '{'");
  EXPECT_EQ(failure_of([] { load(with_header("", "").substr(0, 9)); }).text,
            "\"a.npy\": the file has 9 bytes, expected at least 10 for the version and the header's length");
  EXPECT_EQ(failure_of([] { load(with_header("{'descr'", "")); }).text,
            "\"a.npy\": the header ends at its byte 8, expected ':' after a key");
}

TEST(Npy, AHeaderMayHaveTheLargestLengthAndNoMore) {
  const auto refusal = [](size_t length) {
    return failure_of([&] { load(with_header(std::string(length, '['), "", 2)); }).text;
  };
  EXPECT_EQ(refusal(kMaxNpyHeader), "\"a.npy\": the header has \"[\" at its byte 0, expected a dict, '{'");
  EXPECT_EQ(refusal(kMaxNpyHeader + 1), "\"a.npy\": the header's length is 1000001, expected at most 1000000");
}

}  // namespace
}  // namespace heed
