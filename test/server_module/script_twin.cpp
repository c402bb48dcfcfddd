// SPDX-License-Identifier: BSL-1.0
//
// Compares the module with the scripts.

#include <server_module/script_twin.hpp>

#include <redis/protocol/script.hpp>

#include <algorithm>
#include <chrono>
#include <set>
#include <span>
#include <stdexcept>
#include <string_view>
#include <utility>

namespace colimit::test {
namespace {

constexpr std::size_t commands_between_flushes = 500;

/// The bytes of a difference that a failure shows.
constexpr std::ptrdiff_t shown_before = 60;
constexpr std::size_t shown = 400;

[[nodiscard]] std::string printable(std::string_view text) {
    constexpr auto digits = std::string_view{"0123456789abcdef"};
    auto out = std::string{};
    for (const auto c : text)
        if (c >= ' ' && c <= '~' && c != '\\')
            out += c;
        else
            out.append("\\x")
                .append(1, digits[static_cast<unsigned char>(c) >> 4U])
                .append(1, digits[static_cast<unsigned char>(c) & 15U]);
    return out;
}

/// Returns a reply as text, with the sizes of its strings.
[[nodiscard]] std::string text_of(const reply& r) {
    auto out = std::to_string(static_cast<int>(r.kind)) + '"' + printable(r.text) + '"';
    for (const auto& e : r.elements)
        out += ' ' + text_of(e);
    return out + ';';
}

[[nodiscard]] bool are_different(std::span<const std::string> texts) {
    return std::set<std::string>(texts.begin(), texts.end()).size() == texts.size();
}

/// Returns whether no two keys of a command have one name, and without ids no two fields of packed
/// keys, as those of clients.
[[nodiscard]] bool has_own_names(const words& command) {
    constexpr std::size_t ttls_at = 3; // of the arguments after the keys
    constexpr std::size_t fields_at = 6;
    const auto after = 2 + std::stoul(command[1]);
    const auto has_ids = command[after + ttls_at].find(' ') != std::string::npos;
    const auto all = std::span{command};
    return are_different(all.subspan(2, after - 2)) &&
           (has_ids || command.size() <= after + fields_at ||
            are_different(all.subspan(after + fields_at)));
}

/// Runs a command of any words.
[[nodiscard]] reply run_words(raw_client& client, const words& command) {
    auto out = std::string{};
    redis::resp::append_array(out, command.size());
    for (const auto& word : command)
        redis::resp::append_bulk(out, word);
    client.send(out);
    return client.receive();
}

/// Returns the command that makes the call with the script.
[[nodiscard]] words script_form(words command) {
    const auto& script = command[0] == "COLIMIT.CHECK" ? redis::check_script : redis::seen_script;
    command[0] = "EVALSHA";
    command.insert(command.begin() + 1, std::string{script.sha1});
    return command;
}

/// Returns the content of each key of a database, and when it expires.
[[nodiscard]] std::string contents(raw_client& of) {
    auto out = std::string{};
    for (const auto& key : of.keys()) {
        out += key + ' ' + of.must({"TYPE", key}).text;
        out += ' ' + text_of(of.must({"DEBUG", "DIGEST-VALUE", key}));
        out += std::to_string(of.must({"PEXPIRETIME", key}).integer) + '\n';
    }
    return out;
}

} // namespace

script_twin::script_twin(words loading, std::uint64_t seed)
    : server_({.can_step_clock = true,
               .arguments =
                   [&] {
                       loading.insert(loading.end(), {"--enable-debug-command", "yes"});
                       return loading;
                   }()}),
      module_(server_.connect()), script_(server_.connect()), choices_(seed),
      now_us_(1'700'000'000'000'000) {
    server_.stop_clock(std::chrono::microseconds{now_us_});
    script_.must({"SELECT", "1"});
    for (const auto* s : {&redis::check_script, &redis::seen_script})
        script_.must({"SCRIPT", "LOAD", s->body});
}

void script_twin::run(std::size_t commands) {
    for (std::size_t made = 0; made < commands; ++made) {
        if (made % commands_between_flushes == 0)
            module_.must({"FLUSHALL"});
        choose_state();
        if (choices_.percent(10)) {
            last_ = foreign_command(choices_);
            (void)run_words(module_, last_);
            (void)run_words(script_, last_);
            continue;
        }
        auto command = script_command(choices_);
        while (!has_own_names(command))
            command = script_command(choices_);
        make(command);
    }
}

/// Chooses the time, and whether the server is over its `maxmemory`.
void script_twin::choose_state() {
    static constexpr std::int64_t steps_us[] = {0,     1, 999, 20'000, 3'000'000, 3'600'000'000,
                                                -5'000};
    if (choices_.percent(30)) {
        now_us_ += choices_.pick(steps_us);
        server_.stop_clock(std::chrono::microseconds{now_us_});
    }
    if (choices_.percent(is_full_ ? 30 : 5)) {
        is_full_ = !is_full_;
        module_.must({"CONFIG", "SET", "maxmemory", is_full_ ? "1" : "0"});
    }
}

void script_twin::make(const words& command) {
    last_ = command;
    const auto of_module = run_words(module_, command);
    if (of_module.is_error() && of_module.text.starts_with("ERR colimit."))
        return;
    const auto of_script = run_words(script_, script_form(command));
    ++executed_;
    if (text_of(of_module) != text_of(of_script))
        fail("the replies differ", text_of(of_module), text_of(of_script));
    require_equal_keys();
}

void script_twin::require_equal_keys() {
    const auto here = contents(module_);
    const auto there = contents(script_);
    if (here != there)
        fail("the keys differ", here, there);
}

void script_twin::fail(const std::string& what, const std::string& of_module,
                       const std::string& of_script) const {
    auto text = what + (is_full_ ? " on a full server" : "") + " at " + std::to_string(now_us_);
    for (const auto& word : last_)
        text += ' ' + printable(word);
    const auto differs = std::ranges::mismatch(of_module, of_script).in1 - of_module.begin();
    const auto from = static_cast<std::size_t>(std::max<std::ptrdiff_t>(0, differs - shown_before));
    throw std::runtime_error{text + "\nmodule, from byte " + std::to_string(from) + ": " +
                             of_module.substr(from, shown) +
                             "\nscript: " + of_script.substr(from, shown)};
}

} // namespace colimit::test
