// SPDX-License-Identifier: BSL-1.0
//
// The list is an indented block of the section "Permissions": the name of a row, then its rules,
// also on further lines that begin with more spaces.

#include <redis/protocol/resp.hpp>
#include <support/readme_acl.hpp>

#include <algorithm>
#include <fstream>
#include <map>
#include <sstream>
#include <stdexcept>

namespace colimit::test {
namespace {

using rows = std::map<std::string, std::vector<std::string>, std::less<>>;

[[nodiscard]] rows read_rows() {
    auto file = std::ifstream{COLIMIT_TEST_README};
    auto all = rows{};
    auto last = all.end();
    auto is_inside = false;
    for (std::string line; std::getline(file, line);) {
        if (line.starts_with("#"))
            is_inside = line == "## Permissions";
        if (!is_inside || !line.starts_with("    "))
            continue;
        auto words = std::istringstream{line};
        auto word = std::string{};
        if (line[4] != ' ' && words >> word)
            last = all.try_emplace(word).first;
        while (words >> word)
            last->second.push_back(word);
    }
    return all;
}

} // namespace

std::vector<std::string> readme_acl(std::string_view row) {
    const auto all = read_rows();
    const auto found = all.find(row);
    if (found == all.end() || found->second.empty())
        throw std::runtime_error{"src/tool/README.md lists no rules for " + std::string{row}};
    auto rules = std::vector<std::string>{};
    for (const auto& word : found->second) {
        if (std::string_view{"+-~&"}.find(word.front()) != std::string_view::npos) {
            rules.push_back(word);
            continue;
        }
        const auto named = readme_acl(word);
        rules.insert(rules.end(), named.begin(), named.end());
    }
    return rules;
}

void set_user(raw_client& server, std::string_view name, const std::vector<std::string>& rules) {
    auto command = std::string{};
    redis::resp::append_array(command, rules.size() + 6);
    for (const std::string_view word :
         {std::string_view{"ACL"}, std::string_view{"SETUSER"}, name, std::string_view{"reset"},
          std::string_view{"on"}, std::string_view{">pw"}})
        redis::resp::append_bulk(command, word);
    for (const auto& rule : rules)
        redis::resp::append_bulk(command, rule);
    server.send(command);
    if (const auto answer = server.receive(); answer.is_error())
        throw std::runtime_error{answer.text};
}

} // namespace colimit::test
