// SPDX-License-Identifier: BSL-1.0
//
// The modules are files of the build folder.

#include <support/server_module.hpp>

namespace colimit::test {

std::vector<std::string> accepting_modules() {
    return {"--enable-module-command", "yes"};
}

std::vector<std::string> with_server_module() {
    return {"--enable-module-command", "yes", "--loadmodule", COLIMIT_TEST_SERVER_MODULE};
}

void load_server_module(raw_client& server) {
    server.must({"MODULE", "LOAD", COLIMIT_TEST_SERVER_MODULE});
}

void unload_server_module(raw_client& server) {
    server.must({"MODULE", "UNLOAD", "colimit"});
}

void load_incompatible_module(raw_client& server) {
    server.must({"MODULE", "LOAD", COLIMIT_TEST_INCOMPATIBLE_MODULE});
}

} // namespace colimit::test
