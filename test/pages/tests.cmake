# Doxygen fails if it warns of anything.
if(PROJECT_IS_TOP_LEVEL)
    find_tool(doxygen doxygen doxygen)
    add_labelled_test(pages reference COMMAND ${doxygen} ${PROJECT_BINARY_DIR}/Doxyfile)
endif()

# Links and commands of the pages; the programs that these name say which options they have. The
# quick test asks those that are built.
if(TARGET colimit_tool AND COLIMIT_BUILD_EXAMPLES AND COLIMIT_BUILD_BENCHMARKS)
    set(check ${node} ${CMAKE_CURRENT_SOURCE_DIR}/pages/check.mjs
        ${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR} $<TARGET_FILE:colimit_tool>)
    add_labelled_test(pages pages COMMAND ${check})
    add_labelled_test(pages pages_quick QUICK COMMAND ${check} --built)

    # When all folders have said what they build.
    function(let_pages_need_all_programs)
        foreach(folder IN ITEMS test example example/http_server benchmark)
            get_property(targets DIRECTORY ${PROJECT_SOURCE_DIR}/${folder}
                PROPERTY BUILDSYSTEM_TARGETS)
            foreach(target IN LISTS targets)
                get_target_property(type ${target} TYPE)
                if(type STREQUAL "EXECUTABLE" AND NOT target MATCHES "^rival_")
                    add_dependencies(pages_tests ${target})
                endif()
            endforeach()
        endforeach()
    endfunction()
    cmake_language(DEFER DIRECTORY ${PROJECT_SOURCE_DIR} CALL let_pages_need_all_programs)
endif()
