// SPDX-License-Identifier: BSL-1.0
//
// A script is called by its digest, so another one runs where the digests are exchanged.

#include "scripts.hpp"

#include <redis/protocol/script.hpp>

#include <fstream>
#include <iterator>

namespace colimit::differential {

scripts::scripts(test::raw_client& server, const std::string& folder) {
    const auto load = [&](const redis::script& known, const std::string& name) {
        server.must({"SCRIPT", "LOAD", known.body});
        auto file = std::ifstream{folder + '/' + name, std::ios::binary};
        if (folder.empty() || !file)
            return;
        const auto body = std::string{std::istreambuf_iterator<char>{file}, {}};
        replaced_.emplace_back(known.sha1, server.must({"SCRIPT", "LOAD", body}).text);
    };
    load(redis::check_script, "check.lua");
    load(redis::seen_script, "seen.lua");
}

std::string scripts::redirect(std::string commands) const {
    for (const auto& [known, other] : replaced_)
        for (auto at = commands.find(known); at != std::string::npos;
             at = commands.find(known, at + known.size()))
            commands.replace(at, known.size(), other);
    return commands;
}

} // namespace colimit::differential
