# The Debian packages: installed into a root of their own, and used from there.
cmake_minimum_required(VERSION 3.25)
include(${CMAKE_CURRENT_LIST_DIR}/steps.cmake)
set(root ${work}/root)

file(REMOVE_RECURSE ${root} ${work}/packages)
run(${cpack} -G DEB --config ${build}/CPackConfig.cmake -B ${work}/packages)
file(GLOB packages ${work}/packages/*.deb)
file(MAKE_DIRECTORY ${root}/var/lib/dpkg/info ${root}/var/lib/dpkg/updates)
file(TOUCH ${root}/var/lib/dpkg/status)
set(ENV{PATH} $ENV{PATH}:/usr/sbin:/sbin)
# The root has no shell for the script of a shared library's package, so nothing is configured.
run(fakeroot dpkg --root=${root} --force-depends --force-not-root --log=/dev/null
    --unpack ${packages})
# Dependencies are in the system's root, except the packages of this project.
foreach(package IN LISTS packages)
    execute_process(COMMAND dpkg-deb --field ${package} Depends
        OUTPUT_VARIABLE dependencies OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
    string(REGEX REPLACE " *, *" ";" dependencies "${dependencies}")
    foreach(dependency IN LISTS dependencies)
        string(REGEX REPLACE " *\\([^)]*\\)| *\\|" "" names ${dependency})
        separate_arguments(names)
        execute_process(COMMAND dpkg-query --show --showformat \${db:Status-Status} ${names}
            OUTPUT_VARIABLE states ERROR_QUIET)
        execute_process(COMMAND dpkg-query --root=${root} --show
            --showformat \${db:Status-Status} ${names}
            OUTPUT_VARIABLE own_states ERROR_QUIET)
        if(NOT states MATCHES "^installed|[^-]installed" AND NOT own_states MATCHES "unpacked")
            message(FATAL_ERROR "${package} depends on ${dependency}, which is not installed")
        endif()
    endforeach()
    execute_process(COMMAND dpkg-deb --field ${package} Description
        OUTPUT_VARIABLE text OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
    string(FIND "${text}" "${description}" last REVERSE)
    if(NOT last EQUAL 0)
        message(FATAL_ERROR "${package} does not have the project's description once:\n${text}")
    endif()
endforeach()

test_consumer(find_package -D CMAKE_PREFIX_PATH=${root}/usr)
test_pkg_config(${root}/usr)
require_files(${root}/usr/share/doc/libcolimit-dev/copyright)
if(tool)
    require_files(${root}/usr/share/doc/colimit/copyright
        ${root}/usr/share/man/man1/colimit.1
        ${root}/usr/share/bash-completion/completions/colimit)
    run(${root}/usr/bin/colimit --version)
endif()
