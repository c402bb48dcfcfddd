# What `cmake --install` installs: library, headers, scripts and the schema, and descriptions of
# them for find_package, for pkg-config, and by the Common Package Specification, which CMake 4.3
# and later read.
option(COLIMIT_INSTALL "Install colimit" ${PROJECT_IS_TOP_LEVEL})
if(NOT COLIMIT_INSTALL)
    return()
endif()

# Components are the packages that cpack.cmake makes; the tool has its own.
set(CMAKE_INSTALL_DEFAULT_COMPONENT_NAME development)
install(TARGETS colimit EXPORT colimitTargets
    LIBRARY COMPONENT library NAMELINK_COMPONENT development)
install(DIRECTORY include/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.hpp")
install(FILES ${PROJECT_BINARY_DIR}/lua/colimit.lua src/policy_json/policies.schema.json
    DESTINATION ${CMAKE_INSTALL_DATADIR}/colimit)

include(CMakePackageConfigHelpers)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/colimit)
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/colimit-config.cmake.in
    colimitConfig.cmake INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(colimitConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(EXPORT colimitTargets NAMESPACE colimit:: DESTINATION ${package_dir})
install(FILES
    ${PROJECT_BINARY_DIR}/colimitConfig.cmake
    ${PROJECT_BINARY_DIR}/colimitConfigVersion.cmake
    DESTINATION ${package_dir})

# The other two descriptions. Programs link what a static library uses; a shared library names that
# itself.
if(NOT COLIMIT_COMPILE_BOOST_JSON)
    set(pc_boost_json "-lboost_json ")
    set(cps_boost_json "\"Boost:json\"")
    set(cps_boost_parts ", \"json\"")
endif()
if(BUILD_SHARED_LIBS)
    set(pc_requires Requires.private)
    set(pc_libraries "\nLibs.private:")
    set(cps_type dylib)
    unset(cps_boost_json)
    unset(cps_boost_parts)
else()
    set(pc_requires Requires)
    set(pc_libraries "")
    set(cps_type archive)
    set(cps_libraries "\"ssl\", \"crypto\", ")
endif()
# Paths are relative to the file, so that an installed tree may be moved.
file(RELATIVE_PATH to_prefix ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
file(RELATIVE_PATH libraries ${CMAKE_INSTALL_PREFIX} ${CMAKE_INSTALL_FULL_LIBDIR})
file(RELATIVE_PATH includes ${CMAKE_INSTALL_PREFIX} ${CMAKE_INSTALL_FULL_INCLUDEDIR})
set(prefix @prefix@) # as a reader of CPS expects it
configure_file(${CMAKE_CURRENT_LIST_DIR}/colimit.pc.in colimit.pc @ONLY)
configure_file(${CMAKE_CURRENT_LIST_DIR}/colimit.cps.in colimit.cps.in @ONLY)
file(GENERATE OUTPUT ${PROJECT_BINARY_DIR}/colimit.cps INPUT ${PROJECT_BINARY_DIR}/colimit.cps.in)
install(FILES ${PROJECT_BINARY_DIR}/colimit.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
install(FILES ${PROJECT_BINARY_DIR}/colimit.cps DESTINATION ${CMAKE_INSTALL_LIBDIR}/cps/colimit)
