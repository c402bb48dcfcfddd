# Documents of policies, and the schema for editors, which a validator reads.
add_program(policy_documents schema/parse_documents.cpp)
add_script_test(schema policy_schema check_documents.mjs policy_documents
    ${PROJECT_SOURCE_DIR}/src/policy_json/policies.schema.json)

# The tool's JSON, with the same validator.
if(COLIMIT_BUILD_TOOL)
    set(folder ${PROJECT_BINARY_DIR}/test/schema)
    configure_file(schema/check_output.mjs ${folder}/check_output.mjs COPYONLY)
    add_labelled_test(tool tool_output NEEDS policy_schema_packages
        COMMAND ${node} ${folder}/check_output.mjs $<TARGET_FILE:colimit_tool>
        ${PROJECT_SOURCE_DIR}/src/tool/output.schema.json
        ${PROJECT_SOURCE_DIR}/example/http_server/policies.json
        ${PROJECT_SOURCE_DIR}/example/data/access.log)
endif()
