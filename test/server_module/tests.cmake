# Hostile commands for the module, in a server.
add_program(fuzz_server_module
    server_module/dataset.cpp server_module/fuzz_server.cpp server_module/script_twin.cpp)
target_link_libraries(fuzz_server_module PRIVATE colimit_test_fake_server CLI11::CLI11)
set(commands 100000)
if(COLIMIT_SANITIZE)
    set(commands 30000)
endif()
add_labelled_test(server_module server_module_fuzz QUICK COMMAND fuzz_server_module
    --module $<TARGET_FILE:colimit_server_module> --commands ${commands})
add_labelled_test(server_module server_module_fake QUICK COMMAND fuzz_server_module
    --fake --commands ${commands} --seed 4)
add_labelled_test(server_module server_module_twin QUICK COMMAND fuzz_server_module --twin
    --module $<TARGET_FILE:colimit_server_module> --commands 20000 --seed 5)
set(few_commands 5000) # enough for a hundred keys
foreach(node IN ITEMS cluster replica)
    add_labelled_test(server_module server_module_on_${node}
        COMMAND fuzz_server_module --on ${node}
        --module $<TARGET_FILE:colimit_server_module> --commands ${few_commands} --seed 3)
endforeach()
foreach(form IN ITEMS effects command)
    add_labelled_test(server_module server_module_copies_${form}
        COMMAND fuzz_server_module --copies ${form}
        --module $<TARGET_FILE:colimit_server_module> --commands ${few_commands} --seed 2)
endforeach()
