# Configures, builds and runs the consumer in directory `way` as a user would; for find_package
# after installing colimit from `build` into an empty prefix. The consumer's build directory stays,
# so that running the test again is quick.
cmake_minimum_required(VERSION 3.25)
set(work ${build}/test/install/${way})
set(prefix ${work}/prefix)

function(run)
    execute_process(COMMAND ${ARGV} COMMAND_ECHO STDOUT COMMAND_ERROR_IS_FATAL ANY)
endfunction()

set(configure_options
    -G ${generator}
    -D CMAKE_CXX_COMPILER=${compiler}
    -D CMAKE_BUILD_TYPE=${build_type}
    -D CMAKE_FIND_USE_PACKAGE_REGISTRY=OFF)
if(way STREQUAL "find_package")
    # What an earlier version installed must not hide that a file is missing now.
    file(REMOVE_RECURSE ${prefix})
    run(${CMAKE_COMMAND} --install ${build} --prefix ${prefix})
    if(NOT EXISTS ${prefix}/share/colimit/colimit.lua)
        message(FATAL_ERROR "the library of functions is not installed")
    endif()
    list(APPEND configure_options -D CMAKE_PREFIX_PATH=${prefix})
else()
    # The library is compiled again; that it can be is all that is asked.
    string(TOUPPER "${build_type}" upper)
    list(APPEND configure_options -D CMAKE_CXX_FLAGS_${upper}=-O0)
endif()
run(${CMAKE_COMMAND} -S ${CMAKE_CURRENT_LIST_DIR}/${way} -B ${work}/build ${configure_options})
run(${CMAKE_COMMAND} --build ${work}/build)
run(${ctest} --test-dir ${work}/build --output-on-failure --no-tests=error)
