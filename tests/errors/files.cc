// SPDX-License-Identifier: Apache-2.0
#include "support/platform/files.h"
#include "errors/provocation.h"

namespace heed::errors_test {

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
              PROVOKE(heed_tensor_load_safetensors(context, file("{'a':{'type':'F32'}}", 0), "a", &new_tensor)),
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
          }};
}

}  // namespace heed::errors_test
