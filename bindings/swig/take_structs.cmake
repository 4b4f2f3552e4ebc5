# SPDX-License-Identifier: Apache-2.0
# cmake -DHEADER=<heed.h> -DOUTPUT=<file> -P take_structs.cmake
# Writes the structs of heed.h that have members, for heed.i. SWIG cannot take the header itself: it would make a public
# Java interface for its enumerations.
file(READ ${HEADER} header)
string(REGEX MATCHALL "typedef struct heed_[a-z_]+ {[^}]*} heed_[a-z_]+;" structs "${header}")
file(WRITE ${OUTPUT} "${structs}\n")
