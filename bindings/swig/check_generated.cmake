# SPDX-License-Identifier: Apache-2.0
# cmake -DFOLDER=<folder> -DEXPECTED=<names separated by commas> -P check_generated.cmake
# Fails unless SWIG has written exactly these files. A file SWIGTYPE_p_... means that heed.i uses a type without a
# typemap: the wrapper would compile, but would pass raw pointers.
file(GLOB found RELATIVE ${FOLDER} ${FOLDER}/*)
string(REPLACE "," ";" expected "${EXPECTED}")
list(SORT found)
list(SORT expected)
if(NOT found STREQUAL expected)
  file(REMOVE_RECURSE ${FOLDER})
  message(FATAL_ERROR "SWIG wrote ${found}; expected ${expected}. A type in heed.i may lack a typemap.")
endif()
