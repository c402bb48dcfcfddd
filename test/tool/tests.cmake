# The command-line tool from end to end.
if(NOT COLIMIT_BUILD_TOOL)
    return()
endif()
foreach(part IN ITEMS keys options secrets tls traffic)
    add_labelled_test(tool tool_${part} QUICK
        COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/tool/${part} $<TARGET_FILE:colimit_tool>)
endforeach()
add_labelled_test(tool tool_man_page
    COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/tool/man_page $<TARGET_FILE:colimit_tool>)
# The JSON that commands print, and what their helps say of it.
add_labelled_test(tool tool_json QUICK COMMAND ${node} ${CMAKE_CURRENT_SOURCE_DIR}/tool/json.mjs
    $<TARGET_FILE:colimit_tool> ${PROJECT_SOURCE_DIR})
