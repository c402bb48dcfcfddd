# colimit as a part of another project: its sources in the tree, or fetched as an archive. The
# consumer is compiled and the scripts are generated; the library itself, which would take a minute
# of processor time, is compiled by other tests.
cmake_minimum_required(VERSION 3.25)
include(${CMAKE_CURRENT_LIST_DIR}/steps.cmake)

set(options -D CMAKE_CXX_FLAGS_RELWITHDEBINFO=-O0)
set(archive ${work}/colimit-${version}.tar.gz)
run(${cpack} --config ${build}/CPackSourceConfig.cmake -B ${work})
configure_consumer(add_subdirectory ${options})
configure_consumer(fetch_content ${options} -D archive=${archive})
foreach(folder IN ITEMS add_subdirectory fetch_content)
    run(${CMAKE_COMMAND} --build ${work}/${folder} --target colimit_scripts consumer_object)
endforeach()

# What the archive contains makes an archive, too, without the build folder, whatever its name.
file(REMOVE_RECURSE ${work}/source)
file(ARCHIVE_EXTRACT INPUT ${archive} DESTINATION ${work}/source)
set(source ${work}/source/colimit-${version})
run(${CMAKE_COMMAND} -S ${source} -B ${source}/c++ -G ${generator}
    -D CMAKE_CXX_COMPILER=${compiler} -D COLIMIT_BUILD_TESTS=OFF -D COLIMIT_BUILD_EXAMPLES=OFF
    -D COLIMIT_BUILD_BENCHMARKS=OFF -D COLIMIT_BUILD_TOOL=OFF
    -D "CPACK_PACKAGE_CONTACT=Ann <ann@example.org>")
file(STRINGS ${source}/c++/CPackConfig.cmake contact REGEX "CONTACT.*Ann <ann@example.org>")
if(NOT contact)
    message(FATAL_ERROR "CPACK_PACKAGE_CONTACT is not the maintainer of packages")
endif()
run(${cpack} --config ${source}/c++/CPackSourceConfig.cmake -B ${work}/source)
execute_process(COMMAND ${CMAKE_COMMAND} -E tar t ${work}/source/colimit-${version}.tar.gz
    OUTPUT_VARIABLE files COMMAND_ERROR_IS_FATAL ANY)
if(files MATCHES "/c[+]" OR NOT files MATCHES "/src/")
    message(FATAL_ERROR "the archive contains\n${files}")
endif()
