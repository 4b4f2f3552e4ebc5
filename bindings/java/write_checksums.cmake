# SPDX-License-Identifier: Apache-2.0
# cmake -DFILES=<paths> -P write_checksums.cmake: writes the checksums of each file next to it, as Maven repositories
# have them.
foreach(file ${FILES})
  file(MD5 ${file} md5)
  file(SHA1 ${file} sha1)
  file(WRITE ${file}.md5 ${md5})
  file(WRITE ${file}.sha1 ${sha1})
endforeach()
