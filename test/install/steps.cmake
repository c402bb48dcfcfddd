# Steps of the tests in this folder. A test has a folder of its own, which stays, so that running it
# again is quick.
set(work ${build}/test/install/${test})

function(run)
    execute_process(COMMAND ${ARGV} COMMAND_ECHO STDOUT COMMAND_ERROR_IS_FATAL ANY)
endfunction()

# Configures the project in FOLDER of this directory.
function(configure_consumer folder) # cmake options...
    file(REMOVE ${work}/${folder}/CMakeCache.txt) # which may have other values of options
    run(${CMAKE_COMMAND} -S ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/${folder} -B ${work}/${folder}
        -G ${generator}
        -D CMAKE_CXX_COMPILER=${compiler}
        -D CMAKE_BUILD_TYPE=${build_type}
        -D CMAKE_FIND_USE_PACKAGE_REGISTRY=OFF
        ${ARGN})
endfunction()

# Configures, builds and runs it as a user would.
function(test_consumer folder) # cmake options...
    configure_consumer(${ARGV})
    run(${CMAKE_COMMAND} --build ${work}/${folder})
    run(${ctest} --test-dir ${work}/${folder} --output-on-failure --no-tests=error)
endfunction()

# Compiles, links and runs a program with what pkg-config says about the package below PREFIX.
function(test_pkg_config prefix)
    file(GLOB_RECURSE description ${prefix}/colimit.pc)
    cmake_path(GET description PARENT_PATH folder)
    set(ENV{PKG_CONFIG_PATH} ${folder})
    run(${pkg_config} --print-errors --exists "colimit = ${version}")
    execute_process(COMMAND ${pkg_config} --cflags --libs colimit
        OUTPUT_VARIABLE flags COMMAND_ERROR_IS_FATAL ANY)
    separate_arguments(flags UNIX_COMMAND "${flags}")
    run(${compiler} -std=c++20 ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/small.cpp -o ${work}/small
        ${flags} -Wl,-rpath,${folder}/..)
    run(${work}/small)
endfunction()

function(require_files) # paths...
    foreach(file IN LISTS ARGN)
        if(NOT EXISTS ${file})
            message(FATAL_ERROR "${file} does not exist")
        endif()
    endforeach()
endfunction()
