# Documents of policies, and the schema for editors, which a validator reads.
add_program(policy_documents schema/parse_documents.cpp)
add_script_test(schema policy_schema check_documents.mjs policy_documents
    ${PROJECT_SOURCE_DIR}/src/policy_json/policies.schema.json)
