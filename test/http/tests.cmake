# Header fields, parsed by another project's parser of structured fields.
add_program(http_fields http/print_fields.cpp)
add_script_test(http http_fields parse_fields.mjs http_fields)
