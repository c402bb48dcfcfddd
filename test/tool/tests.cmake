# The command-line tool from end to end.
if(NOT COLIMIT_BUILD_TOOL)
    return()
endif()
foreach(part IN ITEMS keys tls traffic)
    add_labelled_test(tool tool_${part} QUICK
        COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/tool/${part} $<TARGET_FILE:colimit_tool>)
endforeach()
add_labelled_test(tool tool_shells
    COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/tool/shells $<TARGET_FILE:colimit_tool>)
