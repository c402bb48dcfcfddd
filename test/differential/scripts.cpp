// SPDX-License-Identifier: BSL-1.0
//
// A command begins with what runs the script, so another one runs where that is exchanged.

#include "scripts.hpp"

#include <redis/protocol/resp.hpp>
#include <support/function_library.hpp>

#include <fstream>
#include <iterator>
#include <stdexcept>

namespace colimit::differential {

void scripts::replace(const redis::script& known, redis::script_words by) {
    const auto beginning = [](redis::script_words words) {
        auto bytes = std::string{};
        redis::resp::append_bulk(bytes, words.command);
        redis::resp::append_bulk(bytes, words.script);
        return bytes;
    };
    replaced_.emplace_back(beginning(words_of(redis::script_command::evalsha, known)),
                           beginning(by));
}

scripts::scripts(test::raw_client& server, const std::string& folder, bool as_functions) {
    if (as_functions) {
        test::load_function_library(server);
        for (const auto* s : {&redis::check_script, &redis::seen_script})
            replace(*s, words_of(redis::script_command::fcall, *s));
        return;
    }
    const auto load = [&](const redis::script& known, const std::string& name) {
        server.must({"SCRIPT", "LOAD", known.body});
        auto file = std::ifstream{folder + '/' + name, std::ios::binary};
        if (folder.empty() || !file)
            return;
        const auto body = std::string{std::istreambuf_iterator<char>{file}, {}};
        const auto digest = server.must({"SCRIPT", "LOAD", body}).text;
        replace(known, {"EVALSHA", digest});
    };
    load(redis::check_script, "check.lua");
    load(redis::seen_script, "seen.lua");
    if (!folder.empty() && replaced_.empty())
        throw std::runtime_error{folder + " has neither check.lua nor seen.lua"};
}

std::string scripts::redirect(std::string commands) const {
    for (const auto& [known, other] : replaced_)
        for (auto at = commands.find(known); at != std::string::npos;
             at = commands.find(known, at + other.size()))
            commands.replace(at, known.size(), other);
    return commands;
}

} // namespace colimit::differential
