// SPDX-License-Identifier: BSL-1.0
//
// What is behind the pointers that the fake server gives a module.

#pragma once

#include <server_module/api.hpp>
#include <server_module/fake_data.hpp>

#include <string>
#include <vector>

namespace colimit::test::fake {
class server;
}

// A module knows the names of these types only.
namespace colimit::server_module::api {

struct context {
    int (*find)(const char*, void*); ///< the documented first member
    test::fake::server* of;
    std::string reply = {};
    std::vector<std::string> command = {}; ///< that runs
    std::vector<int>* keys = nullptr;      ///< of a request for them
};

struct string {
    std::string text;
    bool is_argument = false;
};

struct key {
    context* where;
    std::string name;
    int mode;
    test::fake::value* found;
};

struct call_reply {
    test::fake::reply what;
    std::vector<call_reply> elements;
    bool is_root;
};

struct command {
    std::string name;
    command_function run;
    std::string flags;
    int first_key;
    int arity = 0;
};

/// The documented structure, as far as it is read here.
struct documented_info {
    const void* version;
    const char* texts[3];
    void* history;
    const char** tips;
    int arity;
};

} // namespace colimit::server_module::api
