# The server among the examples, with clients in JavaScript, and its page in Chromium.
if(COLIMIT_BUILD_EXAMPLES)
    find_tool(chromium chromium chromium chromium-browser)
    add_script_test(http_server http_server_page page_test.mjs http_server ${chromium})
    set(folder ${PROJECT_BINARY_DIR}/test/http_server)
    configure_file(http_server/server.mjs ${folder}/server.mjs COPYONLY)
    foreach(name IN ITEMS requests streams)
        configure_file(http_server/${name}_test.mjs ${folder}/${name}_test.mjs COPYONLY)
        add_labelled_test(http_server http_server_${name}
            COMMAND ${node} ${folder}/${name}_test.mjs $<TARGET_FILE:http_server>
                ${PROJECT_SOURCE_DIR}/example/http_server/policies.json)
    endforeach()
endif()
