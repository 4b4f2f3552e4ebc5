# SPDX-License-Identifier: Apache-2.0
# heed_add_wrapper(<language> PROXIES <files...> OPTIONS <options of swig...>)
# Generates the wrapper of heed.i in a language and builds it: target heed_<language>_wrapper, file libheed_<language>.so.
# Sets HEED_PROXIES in the caller to the paths of the generated classes, which must be PROXIES and no others.
function(heed_add_wrapper language)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "PROXIES;OPTIONS")
  set(swig_folder ${PROJECT_SOURCE_DIR}/bindings/swig)
  set(proxy_folder ${CMAKE_CURRENT_BINARY_DIR}/proxies)
  set(wrapper ${CMAKE_CURRENT_BINARY_DIR}/heed_${language}_wrap.c)
  list(JOIN arg_PROXIES "," expected)
  list(TRANSFORM arg_PROXIES PREPEND ${proxy_folder}/)
  add_custom_command(
    OUTPUT ${wrapper} ${arg_PROXIES}
    COMMAND ${CMAKE_COMMAND} -E rm -rf ${proxy_folder}
    COMMAND ${CMAKE_COMMAND} -E make_directory ${proxy_folder}
    COMMAND ${SWIG_EXECUTABLE} -${language} ${arg_OPTIONS} -DSWIGWORDSIZE64 -Wall -Werror
      -I${swig_folder} -outdir ${proxy_folder} -o ${wrapper} ${swig_folder}/heed.i
    COMMAND ${CMAKE_COMMAND} -DFOLDER=${proxy_folder} -DEXPECTED=${expected} -P ${swig_folder}/check_generated.cmake
    DEPENDS ${swig_folder}/heed.i ${swig_folder}/heed_${language}.i ${swig_folder}/check_generated.cmake
    COMMENT "Generating the ${language} wrapper"
    VERBATIM)

  set(target heed_${language}_wrapper)
  add_library(${target} SHARED ${wrapper} ${swig_folder}/translate.c ${swig_folder}/words.c)
  target_include_directories(${target} PRIVATE ${swig_folder})
  target_link_libraries(${target} PRIVATE heed::heed heed_warnings)
  # SWIG keeps pointers in integers by casts that strict aliasing does not allow.
  target_compile_options(${target} PRIVATE -fno-strict-aliasing)
  # Wherever the wrapper lies, it finds the libheed beside it.
  set_target_properties(${target} PROPERTIES
    OUTPUT_NAME heed_${language}
    C_STANDARD 99
    C_VISIBILITY_PRESET hidden
    BUILD_RPATH "$ORIGIN"
    BUILD_RPATH_USE_ORIGIN ON
    INSTALL_RPATH "$ORIGIN")
  if(HEED_INSTALL)
    include(GNUInstallDirs)
    install(TARGETS ${target} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT ${language})
  endif()
  set(HEED_PROXIES ${arg_PROXIES} PARENT_SCOPE)
endfunction()
