// SPDX-License-Identifier: BSL-1.0
//
// replay: reads an access log and reports which clients a limit would have denied, how often and
// when. Reading order: access_log (a line), lines (a file), history (a log), run (through the
// limiter), then the output: statistics, timeline, chart, report, svg.
//
// Exit codes: 0 done, 1 the server or a file to write failed, 2 bad usage or input, 128 + N ended
// by signal N.

#include "replay/chart.hpp"
#include "replay/format.hpp"
#include "replay/history.hpp"
#include "replay/lines.hpp"
#include "replay/progress.hpp"
#include "replay/report.hpp"
#include "replay/run.hpp"
#include "replay/svg.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <clocale>
#include <colimit.hpp>
#include <cstddef>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <langinfo.h>
#include <stdexcept>
#include <string>
#include <string_view>
#include <sys/ioctl.h>
#include <unistd.h>
#include <vector>

namespace {

struct options {
    std::string log;
    std::vector<std::string> rules{"5/s burst 10"};
    std::string server = "memory:";
    std::string svg;
    std::size_t top = 10;
    std::size_t width = 0;
    bool is_ascii = false;
};

void declare(CLI::App& app, options& o) {
    app.add_option("LOG", o.log, "Access log, common or combined format, plain or gzip")
        ->required();
    app.add_option("--rule", o.rules,
                   "What to try, as '5/s burst 10'; give it several times or join by ';' for "
                   "rules that must all allow")
        ->type_name("TEXT")
        ->allow_extra_args(false)
        ->capture_default_str();
    app.add_option("--server", o.server,
                   "Where to count: memory:, redis://[user:password@]host[:port][/db] or "
                   "unix:/path")
        ->type_name("ADDRESS")
        ->capture_default_str();
    app.add_option("--svg", o.svg, "Also draw requests and denials over time")->type_name("FILE");
    app.add_option("--top", o.top, "Clients to list")->type_name("N")->capture_default_str();
    app.add_option("--width", o.width, "Columns (default: those of the terminal, or 80)")
        ->type_name("N")
        ->check(CLI::Range(20, 1000));
    app.add_flag("--ascii", o.is_ascii, "Draw with ASCII only");
    app.footer(
        "LOG may be /dev/stdin. On a server, the replay counts under a prefix of its own and\n"
        "removes what it wrote.\n"
        "Exit codes: 0 done, 1 the server or a file to write failed, 2 bad usage or input,\n"
        "128 + N ended by signal N.");
}

/// Returns the character of a name for a character of a rule's text.
constexpr char name_character(char c) {
    return c == '/' ? '-' : c == ' ' ? '_' : c == '+' || c == ':' ? '.' : c;
}

/// Makes a policy of the rules; rules without a name are named after their text, as two may have
/// the same algorithm.
colimit::policy make_policy(const std::vector<colimit::rule>& rules) {
    auto named = rules;
    for (auto& rule : named) {
        if (rule.kind() == colimit::algorithm::distinct)
            throw replay::input_error{"a distinct rule counts members, which a log does not name"};
        if (rule.is_named())
            continue;
        auto name = to_string(rule);
        std::ranges::transform(name, name.begin(), name_character);
        if (name.size() <= colimit::limits::max_name_length)
            rule = rule.named(name);
    }
    return {"replay", named};
}

replay::layout make_layout(const options& o) {
    replay::layout form;
    std::setlocale(LC_CTYPE, "");
    form.unicode = !o.is_ascii && std::string_view{nl_langinfo(CODESET)} == "UTF-8";
    form.top = o.top;
    winsize size{};
    if (o.width != 0)
        form.width = o.width;
    else if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col >= 20)
        form.width = size.ws_col;
    return form;
}

void write(const std::string& path, const std::string& text) {
    std::ofstream file{path, std::ios::binary};
    file << text << std::flush;
    if (!file)
        throw std::runtime_error{"cannot write " + replay::escaped(path)};
}

void replay_log(const options& o) {
    std::vector<colimit::rule> rules;
    for (const auto& text : o.rules)
        for (const auto& rule : colimit::parse_rules(text))
            rules.push_back(rule);
    const auto policy = make_policy(rules);
    const auto form = make_layout(o);

    replay::progress shown{isatty(STDERR_FILENO) == 1};
    const auto log = replay::load(o.log, shown);
    const auto verdicts = replay::run(log, policy, o.server, shown);

    replay::subject what{replay::escaped(o.log), {}, replay::without_password(o.server)};
    for (const auto& rule : rules)
        what.rules.push_back(to_string(rule));
    const auto found = replay::count(log, verdicts, rules.size());
    const auto columns = form.width - std::min(form.width - 1, replay::chart_margin);
    const auto line = replay::make_timeline(log.requests, verdicts, columns);
    std::cout << replay::report(what, log, found, line, form) << std::flush;
    if (!std::cout)
        throw std::runtime_error{"cannot write to standard output"};
    if (!o.svg.empty())
        write(o.svg, replay::svg(what, found,
                                 replay::make_timeline(log.requests, verdicts, replay::svg_steps)));
}

int complain(std::string_view what, int code) {
    std::cerr << "replay: " << what << '\n';
    return code;
}

} // namespace

int main(int argc, char** argv) {
    options o;
    CLI::App app{"Whom would a limit have hit? Replays an access log through colimit.", "replay"};
    declare(app, o);
    try {
        app.parse(argc, argv);
        replay_log(o);
        return EXIT_SUCCESS;
    } catch (const CLI::Success& help) {
        return app.exit(help);
    } catch (const CLI::ParseError& e) {
        return complain(std::string{e.what()} + "; --help says more", 2);
    } catch (const replay::interrupted& e) {
        return complain(e.what(), 128 + e.signal);
    } catch (const replay::input_error& e) {
        return complain(e.what(), 2);
    } catch (const colimit::error& e) {
        return complain(e.what(), 2);
    } catch (const boost::system::system_error& e) {
        return complain(replay::without_password(o.server) + ": " + e.code().message(), 1);
    } catch (const std::exception& e) {
        return complain(e.what(), 1);
    }
}
