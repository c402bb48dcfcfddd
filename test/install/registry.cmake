# The source archive, and the vcpkg port and the Conan recipe that download it. The port and the
# recipe do what they would do in their tools, with the shared library: functions of the same names
# (vcpkg.cmake, conan.py) run the same commands of CMake.
cmake_minimum_required(VERSION 3.25)
include(${CMAKE_CURRENT_LIST_DIR}/steps.cmake)
include(${CMAKE_CURRENT_LIST_DIR}/vcpkg.cmake)

set(archive ${work}/colimit-${version}.tar.gz)
run(${cpack} --config ${build}/CPackSourceConfig.cmake -B ${work})
file(REMOVE_RECURSE ${work}/registries ${work}/packages)
run(${CMAKE_COMMAND} -D archive=${archive} -D url=file://${archive}
    -D homepage=https://example.org/colimit -D version=${version}
    -D description=${description} -D to=${work}/registries
    -P ${CMAKE_CURRENT_LIST_DIR}/../../src/packaging/registries.cmake)

# Both build in one folder, so that the library is compiled once.
set(build_options
    -G ${generator}
    -D CMAKE_CXX_COMPILER=${compiler}
    -D CMAKE_BUILD_TYPE=RelWithDebInfo
    -D CMAKE_CXX_FLAGS_RELWITHDEBINFO=-O0
    -D COLIMIT_UNITY_BUILD=ON
    -D CMAKE_UNITY_BUILD_BATCH_SIZE=24
    -D BUILD_SHARED_LIBS=ON)
set(prefix ${work}/packages/vcpkg)
build_port(${work}/registries/vcpkg/ports/colimit ${prefix})
require_files(${prefix}/share/colimit/usage ${prefix}/share/colimit/copyright)
# The port has each part of Boost that the library includes.
file(READ ${work}/registries/vcpkg/ports/colimit/vcpkg.json port)
file(GLOB_RECURSE sources ${work}/port/src/*/include/*.hpp ${work}/port/src/*/src/*.[ch]pp)
list(LENGTH sources count)
if(count LESS 100)
    message(FATAL_ERROR "${work}/port/src has ${count} sources")
endif()
foreach(source IN LISTS sources)
    file(STRINGS ${source} lines REGEX "^#include <boost/")
    foreach(line IN LISTS lines)
        string(REGEX REPLACE "^#include <boost/([a-z_]+).*" "boost-\\1" part "${line}")
        string(REPLACE "_" "-" part "${part}") # as ports are named
        if(NOT port MATCHES "\"${part}\"")
            message(FATAL_ERROR "the port does not depend on ${part}, which ${source} includes")
        endif()
    endforeach()
endforeach()
string(JSON page GET "${port}" homepage)
if(NOT page STREQUAL "https://example.org/colimit")
    message(FATAL_ERROR "the homepage of the port is ${page}")
endif()
test_consumer(find_package -D CMAKE_PREFIX_PATH=${prefix})
test_pkg_config(${prefix})
run(${CMAKE_CURRENT_LIST_DIR}/symbols ${prefix}/lib/libcolimit.so)
# A program needs Boost.JSON only to link the static library.
file(READ ${prefix}/lib/cps/colimit/colimit.cps cps)
string(JSON parts GET "${cps}" requires Boost components)
if(parts MATCHES "json")
    message(FATAL_ERROR "${prefix}/lib/cps/colimit/colimit.cps requires ${parts}")
endif()

set(prefix ${work}/packages/conan)
run(${python} ${CMAKE_CURRENT_LIST_DIR}/conan.py ${work}/registries/conan/recipes/colimit
    ${work}/port ${prefix} ${CMAKE_COMMAND} ${build_options})
require_files(${prefix}/licenses/LICENSE)
run(${compiler} -std=c++20 -o ${work}/test_package -I ${prefix}/include
    ${work}/registries/conan/recipes/colimit/all/test_package/test_package.cpp
    -L ${prefix}/lib -lcolimit -Wl,-rpath,${prefix}/lib)
run(${work}/test_package)

# The same library as Debian packages, of which the shared library has its own.
run(${CMAKE_COMMAND} -D test=debian -D build=${work}/port/build -D generator=${generator}
    -D compiler=${compiler} -D build_type=${build_type} -D version=${version}
    -D description=${description} -D tool=0 -D cpack=${cpack} -D ctest=${ctest}
    -D pkg_config=${pkg_config} -P ${CMAKE_CURRENT_LIST_DIR}/debian.cmake)
file(GLOB package ${work}/port/build/test/install/debian/packages/libcolimit[0-9]*.deb)
execute_process(COMMAND dpkg-deb --info ${package} postinst shlibs
    OUTPUT_VARIABLE scripts COMMAND_ERROR_IS_FATAL ANY)
if(NOT scripts MATCHES "ldconfig.*libcolimit [0-9]")
    message(FATAL_ERROR "${package} does not register the library:\n${scripts}")
endif()
