# The text for Prometheus, and the dashboard and the alerts that use it, read by Prometheus' tool.
find_tool(promtool prometheus promtool)
add_program(metrics_text metrics/print_metrics.cpp)
set(folder ${PROJECT_BINARY_DIR}/test/metrics)
set(example ${PROJECT_SOURCE_DIR}/example/http_server)
foreach(file IN ITEMS ${example}/grafana.json ${example}/alerts.yml metrics/alerts_test.yml
        metrics/check.mjs)
    get_filename_component(name ${file} NAME)
    configure_file(${file} ${folder}/${name} COPYONLY)
endforeach()
add_labelled_test(metrics metrics
    COMMAND ${node} ${folder}/check.mjs $<TARGET_FILE:metrics_text> ${promtool} ${folder}
        ${PROJECT_SOURCE_DIR}/include/colimit/metrics.hpp)
