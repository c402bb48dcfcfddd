# The parts of lint, replay, simulate and load that need neither a terminal nor a server,
# as a library for the tool and the tests.
find_package(ZLIB REQUIRED)

add_library(colimit_traffic STATIC
    frame/chart.cpp frame/format.cpp frame/key_field.cpp frame/service_key.cpp
    lint/findings.cpp lint/idle_fields.cpp lint/problem_names.cpp lint/rate_bounds.cpp
    lint/route_limits.cpp lint/trust.cpp
    replay/access_log.cpp replay/chart.cpp replay/history.cpp replay/json_log.cpp replay/limits.cpp
    replay/lines.cpp replay/progress.cpp replay/report.cpp replay/statistics.cpp
    replay/timeline.cpp replay/times.cpp replay/unpacked_file.cpp
    simulate/report.cpp simulate/run.cpp simulate/traffic.cpp)
target_include_directories(colimit_traffic PUBLIC ${PROJECT_SOURCE_DIR}/src)
target_link_libraries(colimit_traffic PUBLIC colimit_internal PRIVATE ZLIB::ZLIB)
set_target_properties(colimit_traffic PROPERTIES UNITY_BUILD ${COLIMIT_UNITY_BUILD})
colimit_warnings(colimit_traffic)
colimit_fuzzed(colimit_traffic)
