# SPDX-License-Identifier: Apache-2.0
# cmake -DHEADER=<heed.h> -DSTRUCTS=<file> -DFILLS=<file> -DOPERATIONS=<file> -P take_declarations.cmake
# Writes three parts of heed.h for heed.i: the structs that have members, the functions that fill a tensor, as methods of
# heed_tensor, and the operations on tensors, as static methods: functions from a tensor, which a number of what they compute may precede, to
# another one that are no methods of heed_tensor. SWIG cannot read the header itself: it would generate public Java interfaces for its enumerations.
file(READ ${HEADER} header)
# The typedef of a struct may come before its members: here each struct is one declaration.
set(struct "struct (heed_[a-z_]+) {([^}]*)}[a-z_ ]*;")
string(REGEX MATCHALL "${struct}" structs "${header}")
string(REGEX REPLACE "${struct}" "typedef struct \\1 {\\2} \\1;" structs "${structs}")
file(WRITE ${STRUCTS} "${structs}\n")

set(methods "")
string(REGEX MATCHALL "heed_status heed_tensor_fill[a-z_]*\\(heed_tensor\\* tensor[^)]*\\) HEED_NOEXCEPT" fills "${header}")
foreach(fill IN LISTS fills)
  string(REGEX REPLACE "heed_status heed_tensor_([a-z_]+)\\(heed_tensor\\* tensor,?[ \n]*([^)]*)\\) HEED_NOEXCEPT"
    "  heed_status \\1(\\2);\n" method "${fill}")
  string(APPEND methods "${method}")
endforeach()
file(WRITE ${FILLS} "%extend heed_tensor {\n${methods}}\n")

set(operations "")
string(REGEX MATCHALL "heed_status heed_[a-z0-9_]+\\((int32_t [a-z_]+, )?const heed_tensor\\* [a-z_]+,[^)]*[^a-z ] *heed_tensor\\* [a-z_]+\\) HEED_NOEXCEPT"
  functions "${header}")
foreach(function IN LISTS functions)
  # Those that also give a number are in heed.i.
  if(function MATCHES "^heed_status heed_tensor_|double\\* total")
    continue()
  endif()
  string(REGEX REPLACE "^heed_status (.*) HEED_NOEXCEPT$" "static_status \\1;\n" function "${function}")
  string(REPLACE "const heed_" "heed_" function "${function}")
  # SWIG's own code has a variable of that name.
  string(REPLACE "* result)" "* output)" function "${function}")
  string(APPEND operations "${function}")
endforeach()
file(WRITE ${OPERATIONS} "${operations}")
