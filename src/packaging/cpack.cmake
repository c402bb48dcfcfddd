# Packages that CPack makes in a build folder:
#
#     cpack -G DEB                                  libcolimit-dev, colimit with the tool, and
#                                                   colimit-server-module
#     cpack --config CPackSourceConfig.cmake        the source archive, colimit-VERSION.tar.gz
#
# A build with BUILD_SHARED_LIBS has the library in a package of its own, libcolimit0.1. Debian
# packages need the programs of the packages dpkg-dev and file.
set(CPACK_VERBATIM_VARIABLES ON)
set(CPACK_PACKAGE_CONTACT "colimit maintainers <root@localhost>" CACHE STRING
    "The maintainer of the Debian packages: Name <address>")
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
set(CPACK_STRIP_FILES ON)
set(CPACK_GENERATOR DEB)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)

set(CPACK_COMPONENTS_ALL development)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME libcolimit-dev)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
# Debian 12 has Boost 1.81 beside an older default version.
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS "libboost1.81-dev | libboost-dev (>= 1.81), \
libboost-json1.81-dev | libboost-json-dev (>= 1.81), libssl-dev")
# CPack writes the project's description above that of a component.
set(CPACK_COMPONENT_DEVELOPMENT_DESCRIPTION
    "The library, its headers, and files for CMake and pkg-config.")
if(BUILD_SHARED_LIBS)
    set(library libcolimit${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
    list(APPEND CPACK_COMPONENTS_ALL library)
    set(CPACK_DEBIAN_LIBRARY_PACKAGE_NAME ${library})
    set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
    set(CPACK_COMPONENT_LIBRARY_DESCRIPTION "The shared library.")
    string(PREPEND CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS
        "${library} (= ${PROJECT_VERSION}), ")
endif()
if(TARGET colimit_tool)
    list(APPEND CPACK_COMPONENTS_ALL tool)
    set(CPACK_DEBIAN_TOOL_PACKAGE_NAME colimit)
    set(CPACK_DEBIAN_TOOL_PACKAGE_SECTION admin)
    set(CPACK_COMPONENT_TOOL_DESCRIPTION
        "The command-line tool for operators: checks and inspects keys, replays logs.")
endif()
if(TARGET colimit_server_module)
    list(APPEND CPACK_COMPONENTS_ALL server_module)
    set(CPACK_DEBIAN_SERVER_MODULE_PACKAGE_NAME colimit-server-module)
    set(CPACK_DEBIAN_SERVER_MODULE_PACKAGE_SECTION database)
    set(CPACK_COMPONENT_SERVER_MODULE_DESCRIPTION
        "A module for Redis and Valkey that makes the checks of rate limits without Lua.")
endif()
# Debian looks for the license here.
foreach(component IN LISTS CPACK_COMPONENTS_ALL)
    string(TOUPPER ${component} upper)
    install(FILES LICENSE DESTINATION share/doc/${CPACK_DEBIAN_${upper}_PACKAGE_NAME}
        RENAME copyright COMPONENT ${component} EXCLUDE_FROM_ALL)
endforeach()

set(CPACK_SOURCE_GENERATOR TGZ)
set(CPACK_SOURCE_PACKAGE_FILE_NAME ${PROJECT_NAME}-${PROJECT_VERSION})
set(ignored ${PROJECT_SOURCE_DIR}/build ${PROJECT_SOURCE_DIR}/.git)
cmake_path(IS_PREFIX PROJECT_SOURCE_DIR ${PROJECT_BINARY_DIR} is_inside)
if(is_inside AND NOT PROJECT_BINARY_DIR STREQUAL PROJECT_SOURCE_DIR)
    list(APPEND ignored ${PROJECT_BINARY_DIR})
endif()
list(TRANSFORM ignored REPLACE "([][+.*^$()|?\\])" "\\\\\\1")
list(TRANSFORM ignored REPLACE "(.+)" "^\\1(/|$)")
set(CPACK_SOURCE_IGNORE_FILES ${ignored})
include(CPack)

# The archive, and the port and the recipe that download it from COLIMIT_ARCHIVE_URL.
set(archive ${PROJECT_BINARY_DIR}/${CPACK_SOURCE_PACKAGE_FILE_NAME}.tar.gz)
set(COLIMIT_ARCHIVE_URL "file://${archive}" CACHE STRING "Where the source archive is published")
set(COLIMIT_HOMEPAGE "file://${PROJECT_SOURCE_DIR}" CACHE STRING "The page of the project")
add_custom_target(registries
    COMMAND ${CMAKE_CPACK_COMMAND} --config CPackSourceConfig.cmake
    COMMAND ${CMAKE_COMMAND} -D archive=${archive} -D url=${COLIMIT_ARCHIVE_URL}
        -D homepage=${COLIMIT_HOMEPAGE}
        -D version=${PROJECT_VERSION} -D "description=${PROJECT_DESCRIPTION}"
        -D to=${PROJECT_BINARY_DIR}/registries
        -P ${CMAKE_CURRENT_LIST_DIR}/registries.cmake
    WORKING_DIRECTORY ${PROJECT_BINARY_DIR}
    COMMENT "Writing the source archive, the vcpkg port and the Conan recipe"
    VERBATIM)
