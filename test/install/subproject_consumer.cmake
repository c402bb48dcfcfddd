# The consumer of the projects that build colimit themselves.
foreach(part IN ITEMS BUILD_TESTS BUILD_EXAMPLES BUILD_BENCHMARKS BUILD_TOOL INSTALL)
    if(COLIMIT_${part})
        message(FATAL_ERROR "COLIMIT_${part} is on in a user's project")
    endif()
endforeach()

add_library(consumer_object OBJECT ${CMAKE_CURRENT_LIST_DIR}/main.cpp)
target_link_libraries(consumer_object PRIVATE colimit::colimit)
add_executable(consumer $<TARGET_OBJECTS:consumer_object>)
target_link_libraries(consumer PRIVATE colimit::colimit)

enable_testing()
add_test(NAME consumer COMMAND consumer)
