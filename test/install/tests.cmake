# The consumers are built without sanitizers, and could not link a library that has them.
if(NOT COLIMIT_SANITIZE)
    find_tool(pkg_config pkg-config pkg-config)
    # What `installed` and `debian` install; they find it in the build folder.
    set(installed colimit)
    foreach(target IN ITEMS colimit_tool colimit_server_module)
        if(TARGET ${target})
            list(APPEND installed ${target})
        endif()
    endforeach()
    # Registry compiles the library, so it starts early.
    foreach(way IN ITEMS registry installed subproject debian)
        add_labelled_test(install install_${way} NEEDS ${installed} COMMAND ${CMAKE_COMMAND}
            -D test=${way}
            -D build=${PROJECT_BINARY_DIR}
            -D generator=${CMAKE_GENERATOR}
            -D compiler=${CMAKE_CXX_COMPILER}
            -D build_type=${CMAKE_BUILD_TYPE}
            -D version=${PROJECT_VERSION}
            -D description=${PROJECT_DESCRIPTION}
            -D tool=$<TARGET_EXISTS:colimit_tool>
            -D cpack=${CMAKE_CPACK_COMMAND}
            -D ctest=${CMAKE_CTEST_COMMAND}
            -D pkg_config=${pkg_config}
            -D python=${python}
            -P ${CMAKE_CURRENT_SOURCE_DIR}/install/${way}.cmake)
    endforeach()
    set_tests_properties(install_registry PROPERTIES COST 900)
endif()
