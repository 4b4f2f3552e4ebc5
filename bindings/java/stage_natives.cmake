# SPDX-License-Identifier: Apache-2.0
# cmake -DFILES=<paths> -DFOLDER=<folder> -DSTRIP=<strip> -P stage_natives.cmake: copies libraries to a folder of the
# jar's resources, removes the symbols that nothing links against, and writes the list of checksums that BundledLibrary
# compares them with.
file(REMOVE_RECURSE ${FOLDER})
file(MAKE_DIRECTORY ${FOLDER})
set(list "")
foreach(file ${FILES})
  cmake_path(GET file FILENAME name)
  set(staged ${FOLDER}/${name})
  if(STRIP)
    execute_process(COMMAND ${STRIP} --strip-unneeded -o ${staged} ${file} COMMAND_ERROR_IS_FATAL ANY)
  else()
    file(COPY_FILE ${file} ${staged})
  endif()
  file(SHA256 ${staged} checksum)
  string(APPEND list "${checksum}  ${name}\n")
endforeach()
file(WRITE ${FOLDER}/SHA256SUMS "${list}")
