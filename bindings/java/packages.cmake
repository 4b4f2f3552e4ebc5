# SPDX-License-Identifier: Apache-2.0
# heed_java_packages: the jar, its sources, its documentation and its pom in packages/java of the build folder, laid out
# as a Maven repository. Uses the variables that CMakeLists.txt in this folder sets.
string(REPLACE "." "/" group_folder ${HEED_JAVA_GROUP})
set(repository ${PROJECT_BINARY_DIR}/packages/java)
set(stem ${repository}/${group_folder}/${HEED_JAVA_ARTIFACT}/${PROJECT_VERSION})
string(APPEND stem /${HEED_JAVA_ARTIFACT}-${PROJECT_VERSION})
set(source_tree ${CMAKE_CURRENT_BINARY_DIR}/sources)
set(documentation ${CMAKE_CURRENT_BINARY_DIR}/javadoc)
set(sources_in_package ${sources})
list(REMOVE_ITEM sources_in_package ${module_info})

add_custom_command(
  OUTPUT ${stem}-sources.jar
  COMMAND ${CMAKE_COMMAND} -E rm -rf ${source_tree}
  COMMAND ${CMAKE_COMMAND} -E make_directory ${source_tree}/io/heed ${source_tree}/META-INF
  COMMAND ${CMAKE_COMMAND} -E copy ${module_info} ${source_tree}
  COMMAND ${CMAKE_COMMAND} -E copy ${sources_in_package} ${source_tree}/io/heed
  COMMAND ${CMAKE_COMMAND} -E copy ${PROJECT_SOURCE_DIR}/LICENSE ${source_tree}/META-INF
  COMMAND ${Java_JAR_EXECUTABLE} --create --file ${stem}-sources.jar ${jar_options} -C ${source_tree} .
  DEPENDS ${sources} ${manifest}
  COMMENT "Building the jar of the Java sources"
  VERBATIM)

# Fails if a public member has no documentation.
add_custom_command(
  OUTPUT ${stem}-javadoc.jar
  COMMAND ${CMAKE_COMMAND} -E rm -rf ${documentation}
  COMMAND ${Java_JAVADOC_EXECUTABLE} ${heed_short_java_run} --release 11 -encoding UTF-8 -Xdoclint:all -Werror -quiet -notimestamp
    -windowtitle "${PROJECT_NAME} ${PROJECT_VERSION}" -d ${documentation} ${sources}
  COMMAND ${Java_JAR_EXECUTABLE} --create --file ${stem}-javadoc.jar ${jar_options} -C ${documentation} .
  DEPENDS ${sources} ${manifest}
  COMMENT "Building the jar of the Java documentation"
  VERBATIM)

set(packages ${stem}.jar ${stem}.pom ${stem}-sources.jar ${stem}-javadoc.jar)
add_custom_command(
  OUTPUT ${stem}.jar ${stem}.pom ${stem}.jar.sha1
  COMMAND ${CMAKE_COMMAND} -E copy ${jar} ${stem}.jar
  COMMAND ${CMAKE_COMMAND} -E copy ${pom} ${stem}.pom
  COMMAND ${CMAKE_COMMAND} "-DFILES=${packages}" -P ${CMAKE_CURRENT_SOURCE_DIR}/write_checksums.cmake
  DEPENDS ${jar} ${pom} ${stem}-sources.jar ${stem}-javadoc.jar write_checksums.cmake
  COMMENT "Laying out the Java packages in ${repository}"
  VERBATIM)
add_custom_target(heed_java_packages DEPENDS ${packages})
set_target_properties(heed_java_packages PROPERTIES HEED_JAVA_REPOSITORY ${repository})
