# SPDX-License-Identifier: Apache-2.0
# heed_generate_sources(<language> [TEMPLATES <folder>])
# Generates the sources of a language that heed.h and bindings/described say, in the folder "generated" of the build. Sets
# HEED_GENERATED in the caller to their paths.
function(heed_generate_sources language)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "TEMPLATES" "")
  set(bindings ${PROJECT_SOURCE_DIR}/bindings)
  set(folder ${CMAKE_CURRENT_BINARY_DIR}/generated)
  set(header ${PROJECT_SOURCE_DIR}/capi/include/heed/heed.h)
  file(GLOB inputs CONFIGURE_DEPENDS ${bindings}/generate/*.py ${bindings}/described/*.toml)
  list(APPEND inputs ${header})
  set(generate ${Python3_EXECUTABLE} -B ${bindings}/generate/generate.py ${language} --header ${header} --output ${folder})
  if(arg_TEMPLATES)
    file(GLOB templates CONFIGURE_DEPENDS ${arg_TEMPLATES}/*.java.in)
    list(APPEND inputs ${templates})
    list(APPEND generate --templates ${arg_TEMPLATES})
  endif()
  execute_process(COMMAND ${generate} --list OUTPUT_VARIABLE files COMMAND_ERROR_IS_FATAL ANY)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${inputs})
  list(TRANSFORM files PREPEND ${folder}/)
  add_custom_command(
    OUTPUT ${files}
    COMMAND ${CMAKE_COMMAND} -E rm -rf ${folder}
    COMMAND ${generate}
    DEPENDS ${inputs}
    COMMENT "Generating the options of ${language}"
    VERBATIM)
  set(HEED_GENERATED ${files} PARENT_SCOPE)
endfunction()
