// SPDX-License-Identifier: Apache-2.0
#include "support/platform/files.h"
#include "errors/provocation.h"

namespace heed::errors_test {
namespace {

// A tensor is read from a file that is refused, and so is a layer.
#define WRONG_FILE(its_sentence, ...)                                            \
  ALSO_AS(CORRUPT_FILE, "\"model.safetensors\": " its_sentence,                  \
          heed_tensor_load_safetensors(context, __VA_ARGS__, "a", &new_tensor)), \
      ALSO_AS(CORRUPT_FILE, "\"model.safetensors\": " its_sentence, heed_layer_load(layer, __VA_ARGS__, NULL))

// The header of a file with tensor "a", of which a case changes one of these.
std::string header_of(const std::string& dtype, const std::string& shape, const std::string& offsets) {
  return "{'a':{'dtype':" + dtype + ",'shape':" + shape + ",'data_offsets':" + offsets + "}}";
}

Cases of_headers() {
  return {
      WRONG_FILE("the header of 0 bytes does not begin with '{'", file("", 24)),
      WRONG_FILE("the header is not JSON in UTF-8 at its byte 6", file("{'a':", 24)),
      WRONG_FILE("the header of 2 bytes does not begin with '{'", file("[]", 24)),
      WRONG_FILE("the header has a zero byte at its byte 57",
                 file(header_of("'F32'", "[2,3]", "[0,24]") + std::string(3, '\0'), 24)),
      WRONG_FILE("tensor \"a\" has 3 as its dtype, expected a string", file(header_of("3", "[2,3]", "[0,24]"), 24)),
      WRONG_FILE("tensor \"a\" has -3 as size 1 of its shape, expected a whole number from 0 to 9223372036854775807",
                 file(header_of("'F32'", "[2,-3]", "[0,24]"), 24)),
      WRONG_FILE("tensor \"a\" has 3.0 as size 1 of its shape, expected a whole number from 0 to 9223372036854775807",
                 file(header_of("'F32'", "[2,3.0]", "[0,24]"), 24)),
      WRONG_FILE("tensor \"a\" has a shape whose product exceeds 9223372036854775807 at its size 1, 4294967296",
                 file(header_of("'F32'", "[4294967296,4294967296]", "[0,24]"), 24)),
      WRONG_FILE("tensor \"a\" has 18446744073709551616 as size 0 of its shape, expected a whole number from 0 to "
                 "9223372036854775807",
                 file(header_of("'F32'", "[18446744073709551616]", "[0,24]"), 24)),
      WRONG_FILE("tensor \"a\" lies in 24 bytes, but its 8 elements of F32 are 32 bytes",
                 file(header_of("'F32'", "[2,4]", "[0,24]"), 24)),
      WRONG_FILE("tensor \"a\" lies in 24 bytes, but its 4 elements of F32 are 16 bytes",
                 file(header_of("'F32'", "[2,2]", "[0,24]"), 24)),
      WRONG_FILE("tensor \"a\" lies at bytes 0 to 32, but the file has only 24 bytes of data",
                 file(header_of("'F32'", "[2,4]", "[0,32]"), 24)),
      WRONG_FILE("tensor \"a\" lies at bytes 24 to 0, expected the end not to come before the beginning",
                 file(header_of("'F32'", "[2,3]", "[24,0]"), 24)),
      WRONG_FILE(
          "tensor \"a\" lies at bytes 18446744073709551600 to 8, expected the end not to come before the beginning",
          file(header_of("'F32'", "[2,3]", "[18446744073709551600,8]"), 24)),
      WRONG_FILE("tensor \"a\" has 1 data_offsets, expected two", file(header_of("'F32'", "[2,3]", "[0]"), 24)),
      WRONG_FILE("tensor \"a\" has more than two data_offsets", file(header_of("'F32'", "[2,3]", "[0,24,24]"), 24)),
      WRONG_FILE("tensor \"a\" has no dtype", file("{'a':{'shape':[2,3],'data_offsets':[0,24]}}", 24)),
      WRONG_FILE("tensor \"a\" has no shape", file("{'a':{'dtype':'F32','data_offsets':[0,24]}}", 24)),
      WRONG_FILE("tensor \"a\" has no data_offsets", file("{'a':{'dtype':'F32','shape':[2,3]}}", 24)),
      WRONG_FILE("the header has tensor \"a\" twice", file("{'a':{'dtype':'F32','shape':[2,3],'data_offsets':[0,24]},"
                                                           "'a':{'dtype':'F32','shape':[2,3],'data_offsets':[0,24]}}",
                                                           24)),
      WRONG_FILE("tensor \"b\" begins at byte 4, inside tensor \"a\", which ends at byte 8",
                 file("{'a':{'dtype':'F32','shape':[2],'data_offsets':[0,8]},"
                      "'b':{'dtype':'F32','shape':[5],'data_offsets':[4,24]}}",
                      24)),
      WRONG_FILE("bytes 8 to 12 before tensor \"b\" belong to no tensor",
                 file("{'a':{'dtype':'F32','shape':[2],'data_offsets':[0,8]},"
                      "'b':{'dtype':'F32','shape':[3],'data_offsets':[12,24]}}",
                      24)),
      WRONG_FILE("tensor \"a\" is an array in the header, expected an object",
                 file("{'a':" + std::string(100000, '[') + std::string(100000, ']') + "}", 24)),
      ALSO_AS(CORRUPT_FILE, "...header...18446744073709551615...",
              heed_tensor_load_safetensors(context, bytes("model.safetensors", std::string(8, '\xFF') + "{}"), "a",
                                           &new_tensor)),
  };
}

Cases of_paths() {
  return {
      ALSO_AS(IO, "...No such file...", heed_tensor_load_safetensors(context, "", "a", &new_tensor)),
      ALSO_AS(IO, "...plain/a...Not a directory...", heed_tensor_load_safetensors(context, "plain/a", "a", &new_tensor),
              bytes("plain", "")),
      ALSO_AS(IO, "...No such file...", heed_layer_load(layer, "none.safetensors", NULL)),
  };
}

Cases of_tensor_files() {
  return {
      ALSO_AS(NOT_FOUND, "\"model.safetensors\"...\"b\"...",
              heed_tensor_load_safetensors(context, file(header_of("'F32'", "[2,3]", "[0,24]"), 24), "b", &new_tensor)),
      ALSO_AS(
          NOT_FOUND, "...\"a.a\"...",
          heed_tensor_load_safetensors(context, file(header_of("'F32'", "[2,3]", "[0,24]"), 24), "a.a", &new_tensor)),
      ALSO_AS(NOT_FOUND, "...__metadata__...",
              heed_tensor_load_safetensors(context, file(header_of("'F32'", "[2,3]", "[0,24]"), 24), "__metadata__",
                                           &new_tensor)),
      ALSO_AS(UNSUPPORTED, "...\"a\"...U16...",
              heed_tensor_load_safetensors(context, file(header_of("'U16'", "[12]", "[0,24]"), 24), "a", &new_tensor)),
      ALSO_AS(UNSUPPORTED, "...\"a\"...F33...",
              heed_tensor_load_safetensors(context, file(header_of("'F33'", "[2,3]", "[0,24]"), 24), "a", &new_tensor)),
      ALSO_AS(UNSUPPORTED, "...\"a\"...9...8...",
              heed_tensor_load_safetensors(context, file(header_of("'F32'", "[1,1,1,1,1,1,1,2,3]", "[0,24]"), 24), "a",
                                           &new_tensor)),
  };
}

}  // namespace

Topic files() {
  return {"Files",
          "`file(header, n)` is a .safetensors file with this header, in which ' stands for \", and `n` bytes of data.",
          {
              PROVOKE(heed_tensor_load_safetensors(context, "none.safetensors", "a", &new_tensor)),
              PROVOKE(heed_tensor_load_safetensors(context, ".", "a", &new_tensor)),
              PROVOKE(heed_tensor_load_safetensors(context, "pipe", "a", &new_tensor), make_pipe("pipe")),
              PROVOKE(heed_layer_save(layer, "no folder/a.safetensors")),
              PROVOKE(heed_layer_save(layer, ".")),
              PROVOKE(heed_layer_save(layer, "link"), make_link("nowhere", "link")),
              PROVOKE(heed_tensor_load_safetensors(context, file("{}", 0), "a", &new_tensor)),
              PROVOKE(heed_tensor_load_safetensors(
                  context, file("{'a':{'dtype':'U16','shape':[2],'data_offsets':[0,4]}}", 4), "a", &new_tensor)),
              PROVOKE(heed_tensor_load_safetensors(
                  context, file("{'a':{'dtype':'F32','shape':[1,1,1,1,1,1,1,1,1],'data_offsets':[0,4]}}", 4), "a",
                  &new_tensor)),
              PROVOKE(heed_tensor_load_safetensors(context, bytes("model.safetensors", "short"), "a", &new_tensor)),
              PROVOKE(heed_tensor_load_safetensors(context, bytes("model.safetensors", "8 bytes?"), "a", &new_tensor)),
              PROVOKE(heed_tensor_load_safetensors(
                  context, bytes("model.safetensors", std::string("\3\0\0\0\0\0\0\0{}\0", 11)), "a", &new_tensor)),
              PROVOKE(heed_tensor_load_safetensors(context, file("[]", 0), "a", &new_tensor)),
              PROVOKE(heed_tensor_load_safetensors(context, file("{'a':", 24), "a", &new_tensor)),
              PROVOKE(heed_tensor_load_safetensors(context, file("{'a':3}", 0), "a", &new_tensor)),
              PROVOKE(heed_tensor_load_safetensors(context, file("{'a':{}}", 0), "a", &new_tensor)),
              PROVOKE(heed_tensor_load_safetensors(context, file("{'a':{'dtype':'F32'}}", 0), "a", &new_tensor)),
              PROVOKE(heed_tensor_load_safetensors(context, file("{'a':{'dtype':'F32','shape':[2,3]}}", 0), "a",
                                                   &new_tensor)),
              PROVOKE(heed_tensor_load_safetensors(context, file("{'a':{'b':" + std::string(129, '['), 0), "a",
                                                   &new_tensor)),
              PROVOKE(heed_tensor_load_safetensors(context, file("{'a':{'dtype':'F32','dtype':'F32'}}", 0), "a",
                                                   &new_tensor)),
              PROVOKE(heed_tensor_load_safetensors(
                  context, file("{'a':{'dtype':32,'shape':[2,3],'data_offsets':[0,24]}}", 24), "a", &new_tensor)),
              PROVOKE(heed_tensor_load_safetensors(
                  context, file("{'a':{'dtype':'F32','shape':6,'data_offsets':[0,24]}}", 24), "a", &new_tensor)),
              PROVOKE(heed_tensor_load_safetensors(
                  context, file("{'a':{'dtype':'F32','shape':[2,'3'],'data_offsets':[0,24]}}", 24), "a", &new_tensor)),
              PROVOKE(heed_tensor_load_safetensors(
                  context, file("{'a':{'dtype':'F32','shape':[2,-3],'data_offsets':[0,24]}}", 24), "a", &new_tensor)),
              PROVOKE(heed_tensor_load_safetensors(
                  context, file("{'a':{'dtype':'F32','shape':[4294967296,4294967296],'data_offsets':[0,24]}}", 24), "a",
                  &new_tensor)),
              PROVOKE(heed_tensor_load_safetensors(
                  context, file("{'a':{'dtype':'F32','shape':[2,3],'data_offsets':24}}", 24), "a", &new_tensor)),
              PROVOKE(heed_tensor_load_safetensors(
                  context, file("{'a':{'dtype':'F32','shape':[2,3],'data_offsets':[0,[24]]}}", 24), "a", &new_tensor)),
              PROVOKE(heed_tensor_load_safetensors(
                  context, file("{'a':{'dtype':'F32','shape':[2,3],'data_offsets':[0,{'end':24}]}}", 24), "a",
                  &new_tensor)),
              PROVOKE(heed_tensor_load_safetensors(
                  context, file("{'a':{'dtype':'F32','shape':[2,3],'data_offsets':[0,24,24]}}", 24), "a", &new_tensor)),
              PROVOKE(heed_tensor_load_safetensors(
                  context, file("{'a':{'dtype':'F32','shape':[2,3],'data_offsets':[0]}}", 24), "a", &new_tensor)),
              PROVOKE(heed_tensor_load_safetensors(
                  context, file("{'a':{'dtype':'F32','shape':[2,3],'data_offsets':[24,0]}}", 24), "a", &new_tensor)),
              PROVOKE(heed_tensor_load_safetensors(
                  context, file("{'a':{'dtype':'F32','shape':[2,3],'data_offsets':[0,48]}}", 24), "a", &new_tensor)),
              PROVOKE(heed_tensor_load_safetensors(
                  context, file("{'a':{'dtype':'F32','shape':[2,4],'data_offsets':[0,24]}}", 24), "a", &new_tensor)),
              PROVOKE(heed_tensor_load_safetensors(
                  context, file("{'a':{'dtype':'F4','shape':[3],'data_offsets':[0,1]}}", 1), "a", &new_tensor)),
              PROVOKE(heed_tensor_load_safetensors(
                  context, file("{'a':{'dtype':'F32','shape':[4611686018427387904],'data_offsets':[0,24]}}", 24), "a",
                  &new_tensor)),
              PROVOKE(heed_tensor_load_safetensors(context,
                                                   file("{'a':{'dtype':'U8','shape':[1],'data_offsets':[0,1]},'a':{'"
                                                        "dtype':'U8','shape':[1],'data_offsets':[1,2]}}",
                                                        2),
                                                   "a", &new_tensor)),
              PROVOKE(heed_tensor_load_safetensors(context,
                                                   file("{'a':{'dtype':'U8','shape':[2],'data_offsets':[0,2]},'b':{'"
                                                        "dtype':'U8','shape':[2],'data_offsets':[1,3]}}",
                                                        3),
                                                   "a", &new_tensor)),
              PROVOKE(heed_tensor_load_safetensors(
                  context, file("{'a':{'dtype':'U8','shape':[1],'data_offsets':[1,2]}}", 2), "a", &new_tensor)),
              PROVOKE(heed_tensor_load_safetensors(
                  context, file("{'a':{'dtype':'U8','shape':[1],'data_offsets':[0,1]}}", 2), "a", &new_tensor)),
              PROVOKE(heed_tensor_load_safetensors(context, file("{'__metadata__':{'step':7}}", 0), "a", &new_tensor)),
              PROVOKE(heed_tensor_load_safetensors(context, file("{'__metadata__':{'step':'7','step':'8'}}", 0), "a",
                                                   &new_tensor)),
              PROVOKE(heed_tensor_load_safetensors(context, file("{'__metadata__':{},'__metadata__':{}}", 0), "a",
                                                   &new_tensor)),
              of_paths(),
              of_headers(),
              of_tensor_files(),
          }};
}

}  // namespace heed::errors_test
