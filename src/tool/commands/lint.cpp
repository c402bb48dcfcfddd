// SPDX-License-Identifier: BSL-1.0
//
// colimit lint: what is wrong with a document of policies.

#include <tool/commands/table.hpp>
#include <tool/frame/format.hpp>
#include <tool/frame/input.hpp>
#include <tool/lint/findings.hpp>

#include <boost/json/array.hpp>

#include <algorithm>
#include <stdexcept>
#include <string>
#include <vector>

namespace tool {
namespace {

using lint::finding;

bool is_error(const finding& f) {
    return f.problem == lint::problem::invalid_document;
}

std::string text_of(const std::string& file, const std::vector<finding>& found) {
    if (found.empty())
        return escaped(file) + ": no problems\n";
    std::string text;
    for (const auto& f : found) {
        text += escaped(file) + ": " + (is_error(f) ? "error: " : "warning: ");
        text += (f.path.empty() ? "" : escaped(f.path) + ": ") + escaped(f.message);
        text += " [" + std::string{to_string(f.problem)} + "]\n";
    }
    return text;
}

boost::json::object object_of(const std::string& file, const std::vector<finding>& found) {
    boost::json::array findings;
    for (const auto& f : found)
        findings.push_back(boost::json::object{{"severity", is_error(f) ? "error" : "warning"},
                                               {"problem", to_string(f.problem)},
                                               {"path", json_text(f.path)},
                                               {"message", json_text(f.message)}});
    return {{"file", json_text(file)}, {"findings", std::move(findings)}};
}

struct lint_options {
    std::vector<std::string> files;

    void declare(CLI::App& app) {
        app.add_option("FILE", files, "Documents of policies; - reads standard input")->required();
    }

    int run(output& out) const {
        auto code = exit_allowed;
        std::string unreadable;
        for (const auto& file : files) {
            try {
                code = std::max(code, lint_file(out, file, read_input(file)));
            } catch (const unreadable_input& e) {
                unreadable.append(unreadable.empty() ? "" : "; ").append(e.what());
            }
        }
        if (!unreadable.empty())
            throw std::runtime_error{unreadable};
        return code;
    }

    static int lint_file(output& out, const std::string& file, const std::string& text) {
        const auto found = lint::findings_of(text);
        if (out.is_json())
            out.object(object_of(file, found));
        else
            out.text(text_of(file, found));
        if (std::ranges::any_of(found, is_error))
            return exit_error;
        return found.empty() ? exit_allowed : exit_denied;
    }
};

} // namespace

command lint_command() {
    return {
        .name = "lint",
        .summary = "Check a document of policies for errors and unlikely limits",
        .text = {"Reports the error that makes a document invalid, with its position, or "
                 "warnings. unreachable_rule: another rule denies every call first that "
                 "this one would deny, one of the policy or of another policy on all its routes. "
                 "daily_quota_in_a_second: a full bucket has "
                 "at least the tokens that return in a day, and no other rule of the policy "
                 "keeps a client from taking them within a second. slow_recovery: an empty "
                 "bucket takes two days or longer to be full. day_bucket: a bucket per day, "
                 "week, month or year, where a calendar may be meant. boundless_rule: more per "
                 "second than any traffic. unknown_offset: of a calendar, which no place has.",
                 "About routes: no_policies, no_routes: nothing is limited. unused_policy: no "
                 "route uses the policy. foreign_path: a segment such as :id or <id>, which is "
                 "a literal text here. odd_path: blanks or control characters. final_slash: a path "
                 "is no prefix. unknown_method: hardly any request has it. head_without_get: GET "
                 "answers the same. no_last_route: requests "
                 "that no route matches are not limited. open_route: a route without policies "
                 "takes requests of any name from one that limits. different_tags: a cluster "
                 "cannot check the policies of a route together. A document without the field "
                 "routes has none of these warnings, as "
                 "the application chooses policies. invented_key: every policy of a route has a "
                 "key that a client can choose. no_proxy_field: there are trusted proxies, and "
                 "not the field that they write. wide_proxies: clients may be in a network of "
                 "proxies. one_address: a network of proxies without its prefix. wide_prefix: all "
                 "clients of an IPv6 provider have one key. only_shadow: a route, or everything, "
                 "is not limited. unused_key, "
                 "no_effect: a field does nothing.",
                 "The exit code is 0 without findings, 1 with warnings and 2 with an error."},
        .examples = {{"lint policies.json", "before it is deployed"},
                     {"lint - < policies.json", "from standard input"}},
        .json = R"({"command": "lint", "file": "policies.json",
 "findings": [{"severity": "warning", "problem": "unreachable_rule",
               "path": "policies.api",
               "message": "rule 2 (600/m named minute) is unreachable: ..."}]})",
        .declare = declaration_of<lint_options>()};
}

} // namespace tool
