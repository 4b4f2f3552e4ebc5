# SPDX-License-Identifier: Apache-2.0
# The classes that SWIG generates from heed.i in every language.
set(heed_proxy_classes
  HeedNative
  NativeContext NativeTensor NativeLayer NativeWeights NativeWorkspace NativeCache
  NativeGradients NativeOptimizer NativeSaved
  NativeContextOptions NativeLinearOptions NativeDropoutOptions NativePositionalEncodingOptions
  NativeDotProductAttentionOptions NativeAdditiveAttentionOptions NativeGeneralAttentionOptions
  NativeMultiHeadAttentionOptions NativeRopeOptions
  NativeLayerNormOptions NativeFeedForwardOptions NativeEmbeddingOptions NativePatchEmbeddingOptions
  NativeAudioEmbeddingOptions NativeEncoderLayerOptions NativeDecoderLayerOptions NativeEncoderOptions NativeDecoderOptions
  NativeOutputOptions NativeTransformerOptions
  NativeCacheOptions NativeLoadOptions NativeModelOptions
  NativeLayerInputs NativeSequenceInputs NativeCacheInputs NativeDecoderInputs NativeLayerOutputs NativeLayerTap
  NativeLayerGradients NativeCrossEntropyOptions NativeSquaredErrorOptions NativeSgdOptions NativeAdamWOptions NativeParameterGroup
  NativeStepPart)

# heed_add_wrapper(<language> EXTENSION <of its source files> CALLS <class> OPTIONS <options of swig...>)
# Generates the wrapper of heed.i in a language and builds it: target heed_<language>_wrapper, file libheed_<language>.so.
# CALLS is the class with which SWIG declares the native functions. Sets HEED_PROXIES in the caller to the paths of the
# generated classes; it is an error if SWIG writes any others.
function(heed_add_wrapper language)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "EXTENSION;CALLS" "OPTIONS")
  set(swig_folder ${PROJECT_SOURCE_DIR}/bindings/swig)
  set(proxy_folder ${CMAKE_CURRENT_BINARY_DIR}/proxies)
  set(wrapper ${CMAKE_CURRENT_BINARY_DIR}/heed_${language}_wrap.c)
  set(header ${PROJECT_SOURCE_DIR}/capi/include/heed/heed.h)
  set(generated_folder ${CMAKE_CURRENT_BINARY_DIR}/swig)
  set(proxies ${heed_proxy_classes} ${arg_CALLS})
  list(TRANSFORM proxies APPEND .${arg_EXTENSION})
  list(JOIN proxies "," expected)
  list(TRANSFORM proxies PREPEND ${proxy_folder}/)
  add_custom_command(
    OUTPUT ${wrapper} ${proxies}
    COMMAND ${CMAKE_COMMAND} -E rm -rf ${proxy_folder}
    COMMAND ${CMAKE_COMMAND} -E make_directory ${proxy_folder} ${generated_folder}
    COMMAND ${CMAKE_COMMAND} -DHEADER=${header} -DSTRUCTS=${generated_folder}/heed_structs.i
      -DFILLS=${generated_folder}/heed_fills.i -DOPERATIONS=${generated_folder}/heed_operations.i -P ${swig_folder}/take_declarations.cmake
    COMMAND ${SWIG_EXECUTABLE} -${language} ${arg_OPTIONS} -DSWIGWORDSIZE64 -Wall -Werror
      -I${swig_folder} -I${generated_folder} -outdir ${proxy_folder} -o ${wrapper} ${swig_folder}/heed.i
    COMMAND ${CMAKE_COMMAND} -DFOLDER=${proxy_folder} -DEXPECTED=${expected} -P ${swig_folder}/check_generated.cmake
    DEPENDS ${header} ${swig_folder}/heed.i ${swig_folder}/heed_${language}.i ${swig_folder}/take_declarations.cmake
      ${swig_folder}/check_generated.cmake
    COMMENT "Generating the ${language} wrapper"
    VERBATIM)

  set(target heed_${language}_wrapper)
  add_library(${target} SHARED ${wrapper} ${swig_folder}/lists.c ${swig_folder}/said.c ${swig_folder}/terms.c)
  target_include_directories(${target} PRIVATE ${swig_folder})
  target_link_libraries(${target} PRIVATE heed::heed heed_warnings)
  # SWIG stores pointers in integers by casts that violate strict aliasing.
  target_compile_options(${target} PRIVATE -fno-strict-aliasing)
  # The wrapper finds libheed in its own folder, wherever that is.
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
  set(HEED_PROXIES ${proxies} PARENT_SCOPE)
endfunction()
