# The functions of vcpkg that the port calls, as far as it needs them. They build in ${work}/port
# with ${build_options}, and refuse options that colimit does not have.
function(build_port folder prefix)
    set(PORT colimit)
    set(VERSION ${version})
    set(FEATURES core)
    set(CURRENT_PACKAGES_DIR ${prefix})
    include(${folder}/portfile.cmake)
endfunction()

function(vcpkg_download_distfile out)
    cmake_parse_arguments(PARSE_ARGV 1 arg "" "FILENAME;SHA512" "URLS")
    file(DOWNLOAD ${arg_URLS} ${work}/downloads/${arg_FILENAME}
        EXPECTED_HASH SHA512=${arg_SHA512})
    set(${out} ${work}/downloads/${arg_FILENAME} PARENT_SCOPE)
endfunction()

function(vcpkg_extract_source_archive out)
    cmake_parse_arguments(PARSE_ARGV 1 arg "" "ARCHIVE" "")
    file(REMOVE_RECURSE ${work}/port/src)
    file(ARCHIVE_EXTRACT INPUT ${arg_ARCHIVE} DESTINATION ${work}/port/src)
    file(GLOB root ${work}/port/src/*)
    set(${out} ${root} PARENT_SCOPE)
endfunction()

function(vcpkg_check_features)
    cmake_parse_arguments(PARSE_ARGV 0 arg "" "OUT_FEATURE_OPTIONS" "FEATURES")
    set(options)
    while(arg_FEATURES)
        list(POP_FRONT arg_FEATURES feature option)
        if(feature IN_LIST FEATURES)
            list(APPEND options -D${option}=ON)
        else()
            list(APPEND options -D${option}=OFF)
        endif()
    endwhile()
    set(${arg_OUT_FEATURE_OPTIONS} ${options} PARENT_SCOPE)
endfunction()

function(vcpkg_cmake_configure)
    cmake_parse_arguments(PARSE_ARGV 0 arg "" "SOURCE_PATH" "OPTIONS")
    file(REMOVE ${work}/port/build/CMakeCache.txt)
    run(${CMAKE_COMMAND} -S ${arg_SOURCE_PATH} -B ${work}/port/build ${build_options}
        ${arg_OPTIONS} -D CMAKE_INSTALL_PREFIX=${CURRENT_PACKAGES_DIR})
    # CMake describes a variable so if no option has its name.
    file(READ ${work}/port/build/CMakeCache.txt cache)
    string(REGEX MATCH "//No help[^\n]*\n(COLIMIT_[A-Z_]+)" unknown "${cache}")
    if(unknown)
        message(FATAL_ERROR "colimit has no option ${CMAKE_MATCH_1}")
    endif()
endfunction()

function(vcpkg_cmake_install)
    run(${CMAKE_COMMAND} --build ${work}/port/build)
    run(${CMAKE_COMMAND} --install ${work}/port/build)
endfunction()

# vcpkg moves the files, and makes their paths relative, which they are.
function(vcpkg_cmake_config_fixup)
    cmake_parse_arguments(PARSE_ARGV 0 arg "" "CONFIG_PATH" "")
    require_files(${CURRENT_PACKAGES_DIR}/${arg_CONFIG_PATH}/colimitConfig.cmake)
endfunction()

function(vcpkg_fixup_pkgconfig)
    require_files(${CURRENT_PACKAGES_DIR}/lib/pkgconfig/colimit.pc)
endfunction()

function(vcpkg_copy_tools)
    cmake_parse_arguments(PARSE_ARGV 0 arg "AUTO_CLEAN" "" "TOOL_NAMES")
    require_files(${CURRENT_PACKAGES_DIR}/bin/${arg_TOOL_NAMES})
endfunction()

function(vcpkg_install_copyright)
    cmake_parse_arguments(PARSE_ARGV 0 arg "" "" "FILE_LIST")
    file(INSTALL ${arg_FILE_LIST} DESTINATION ${CURRENT_PACKAGES_DIR}/share/${PORT}
        RENAME copyright)
endfunction()
