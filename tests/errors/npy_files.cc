// SPDX-License-Identifier: Apache-2.0
#include "errors/provocation.h"

namespace heed::errors_test {

Topic npy_files() {
  return {"Files of NumPy",
          "`npy(header, n)` is a .npy file of format 1.0 with this header and `n` bytes of data.",
          {
              PROVOKE(heed_tensor_load_npy(context, bytes("array.npy", "an array"), &new_tensor)),
              PROVOKE(heed_tensor_load_npy(context, bytes("array.npy", "\x93NUMPY"), &new_tensor)),
              PROVOKE(heed_tensor_load_npy(context, bytes("array.npy", "\x93NUMPY\4\1\1\1"), &new_tensor)),
              PROVOKE(heed_tensor_load_npy(context, npy("[]", 0), &new_tensor)),
              PROVOKE(heed_tensor_load_npy(context, npy("{1: 2}", 0), &new_tensor)),
              PROVOKE(heed_tensor_load_npy(context, npy("{'descr' 3}", 0), &new_tensor)),
              PROVOKE(heed_tensor_load_npy(context, npy("{'descr': 3}", 0), &new_tensor)),
              PROVOKE(heed_tensor_load_npy(context, npy("{'descr': '<f4", 0), &new_tensor)),
              PROVOKE(heed_tensor_load_npy(context, npy("{'descr': '\n'}", 0), &new_tensor)),
              PROVOKE(heed_tensor_load_npy(context, npy("{'name': 3}", 0), &new_tensor)),
              PROVOKE(heed_tensor_load_npy(context, npy("{'descr': '<f4', 'descr': '<f4'}", 0), &new_tensor)),
              PROVOKE(heed_tensor_load_npy(context, npy("{'descr': '<f4' 3}", 0), &new_tensor)),
              PROVOKE(heed_tensor_load_npy(context, npy("{'descr': '<f4'}", 0), &new_tensor)),
              PROVOKE(heed_tensor_load_npy(context, npy("{'descr': '<f4',", 0), &new_tensor)),
              PROVOKE(heed_tensor_load_npy(
                  context, npy("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3)}{}", 24), &new_tensor)),
              PROVOKE(heed_tensor_load_npy(context, npy("{'descr': [;]}", 0), &new_tensor)),
              PROVOKE(heed_tensor_load_npy(
                  context, npy("{'descr': [[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[", 0),
                  &new_tensor)),
              PROVOKE(heed_tensor_load_npy(context, npy("{'descr': '<f4', 'fortran_order': , 'shape': (2, 3)}", 0),
                                           &new_tensor)),
              PROVOKE(heed_tensor_load_npy(context, npy("{'descr': '<f4', 'fortran_order': 1, 'shape': (2, 3)}", 0),
                                           &new_tensor)),
              PROVOKE(heed_tensor_load_npy(context, npy("{'descr': '<f4', 'fortran_order': False, 'shape': 6}", 0),
                                           &new_tensor)),
              PROVOKE(heed_tensor_load_npy(context, npy("{'descr': '<f4', 'fortran_order': False, 'shape': (2 3)}", 0),
                                           &new_tensor)),
              PROVOKE(heed_tensor_load_npy(context, npy("{'descr': '<f4', 'fortran_order': False, 'shape': (,)}", 0),
                                           &new_tensor)),
              PROVOKE(heed_tensor_load_npy(context, npy("{'descr': '<f4', 'fortran_order': False, 'shape': (2)}", 0),
                                           &new_tensor)),
              PROVOKE(heed_tensor_load_npy(
                  context, npy("{'descr': '<f4', 'fortran_order': False, 'shape': (2, -3)}", 0), &new_tensor)),
              PROVOKE(heed_tensor_load_npy(
                  context, npy("{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296, 4294967296)}", 0),
                  &new_tensor)),
              PROVOKE(heed_tensor_load_npy(
                  context, npy("{'descr': '<f4', 'fortran_order': False, 'shape': (4611686018427387904,)}", 0),
                  &new_tensor)),
              PROVOKE(heed_tensor_load_npy(
                  context, npy("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3)}", 20), &new_tensor)),
              PROVOKE(heed_tensor_load_npy(
                  context, npy("{'descr': '>f4', 'fortran_order': False, 'shape': (2, 3)}", 24), &new_tensor)),
              PROVOKE(heed_tensor_load_npy(context, npy("{'descr': '|O', 'fortran_order': False, 'shape': (2, 3)}", 24),
                                           &new_tensor)),
              PROVOKE(heed_tensor_load_npy(
                  context, npy("{'descr': '<c8', 'fortran_order': False, 'shape': (2, 3)}", 24), &new_tensor)),
              PROVOKE(heed_tensor_load_npy(
                  context, npy("{'descr': [('x', '<f4')], 'fortran_order': False, 'shape': (2, 3)}", 24), &new_tensor)),
              PROVOKE(heed_tensor_load_npy(
                  context, npy("{'descr': '<f4', 'fortran_order': False, 'shape': (1, 1, 1, 1, 1, 1, 1, 1, 1)}", 4),
                  &new_tensor)),
              PROVOKE(heed_tensor_save_npy(tensor_of(HEED_BF16, {3}), "a.npy")),
          }};
}

}  // namespace heed::errors_test
