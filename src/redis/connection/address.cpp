// SPDX-License-Identifier: BSL-1.0
//
// Parses server addresses. The text is split at its separators into parts with their positions;
// each part is validated on its own. Messages have the position and the problem, and never show
// text that may be secret: in `redis://alice:secret`, where `@host` was forgotten, the password is
// at the position of a port.

#include <base/bytes.hpp>
#include <colimit/error.hpp>
#include <colimit/limits.hpp>
#include <redis/connection/address.hpp>

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

namespace colimit::redis {
namespace {

using detail::is_digit;
using detail::lower;

constexpr auto npos = std::string_view::npos;
constexpr std::int64_t most_database = 1'000'000;
constexpr std::size_t longest_host = 253;
/// sockaddr_un has 108 bytes for a path and the zero after it.
constexpr std::size_t longest_path = 107;
constexpr std::uint16_t sentinel_port = 26'379;
constexpr std::string_view forms =
    "memory:, redis://[user:password@]host[:port][/db], redis+sentinel://host,host/master[/db], "
    "redis+cluster://host,host, each with rediss the same over TLS, or unix:/path[?db=N]";

/// A part of the address and the position of its first character.
struct part {
    std::string_view text;
    std::size_t at = 0;

    [[nodiscard]] part from(std::size_t n) const { return {text.substr(n), at + n}; }
    [[nodiscard]] part until(std::size_t n) const { return {text.substr(0, n), at}; }
    [[nodiscard]] std::size_t end() const noexcept { return at + text.size(); }
};

[[noreturn]] void refuse(std::size_t at, const std::string& reason) {
    throw error{errc::invalid_config,
                "server address, character " + std::to_string(at + 1) + ": " + reason};
}

[[nodiscard]] constexpr std::optional<unsigned> hex_digit(char c) noexcept {
    if (is_digit(c))
        return static_cast<unsigned>(c - '0');
    if (lower(c) >= 'a' && lower(c) <= 'f')
        return static_cast<unsigned>(lower(c) - 'a' + 10);
    return std::nullopt;
}

/// Returns the text after the scheme, if it is this one.
[[nodiscard]] std::optional<part> after_scheme(part whole, std::string_view scheme) {
    if (!std::ranges::equal(whole.text.substr(0, scheme.size()), scheme, {}, lower))
        return std::nullopt;
    return whole.from(scheme.size());
}

[[nodiscard]] std::string percent_decoded(part encoded) {
    std::string out;
    for (std::size_t i = 0; i < encoded.text.size(); ++i) {
        if (encoded.text[i] != '%') {
            out += encoded.text[i];
            continue;
        }
        const auto digits = encoded.text.substr(i + 1, 2);
        const auto high = digits.size() == 2 ? hex_digit(digits[0]) : std::nullopt;
        const auto low = digits.size() == 2 ? hex_digit(digits[1]) : std::nullopt;
        if (!high || !low)
            refuse(encoded.at + i, "a '%' must be followed by two hexadecimal digits (a '%' "
                                   "itself is written %25)");
        out += static_cast<char>(*high * 16 + *low);
        i += 2;
    }
    return out;
}

/// The kind of a number in the address. If it could be a password, its text is not shown.
struct number_kind {
    std::string_view name;
    std::int64_t least;
    std::int64_t most;
    bool may_be_secret;
    std::string_view hint; ///< another possible mistake
};

[[nodiscard]] std::int64_t read_number(part number, const number_kind& kind) {
    const auto expected = "expected " + std::to_string(kind.least) + " to " +
                          std::to_string(kind.most) + ")" + std::string{kind.hint};
    const auto name = std::string{kind.name};
    const auto strange = std::ranges::find_if_not(number.text, is_digit);
    if (strange != number.text.end())
        refuse(number.at + static_cast<std::size_t>(strange - number.text.begin()),
               name + ": not a digit (" + expected);
    if (number.text.empty())
        refuse(number.at, name + ": empty (" + expected);
    auto value = std::int64_t{0};
    const auto digits = number.text;
    const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (read.ec != std::errc{} || value < kind.least || value > kind.most) {
        const auto shown =
            !kind.may_be_secret && number.text.size() <= std::to_string(kind.most).size();
        refuse(number.at, name + ": out of range (" +
                              (shown ? "got " + std::string{number.text} + ", " : "") + expected);
    }
    return value;
}

constexpr auto database_kind = number_kind{"database", 0, most_database, false, ""};
constexpr auto port_kind = number_kind{"port", 1, 65'535, false, ""};
/// Without credentials before the host, `user:12345` may have been meant as credentials.
constexpr auto port_or_password = number_kind{
    "port", 1, 65'535, true, "; if this is a password, '@' and the host must follow it"};

/// Parses and removes an optional `[user][:password]@` at the front.
[[nodiscard]] part after_credentials(part authority, address& out) {
    const auto sign = authority.text.find('@');
    if (sign == npos)
        return authority;
    if (authority.text.find('@', sign + 1) != npos)
        refuse(authority.at + sign, "an '@' in a user or password must be written %40");
    const auto credentials = authority.until(sign);
    const auto colon = credentials.text.find(':');
    if (colon != npos)
        out.user = percent_decoded(credentials.until(colon));
    out.password = percent_decoded(colon == npos ? credentials : credentials.from(colon + 1));
    if (out.user.empty() && out.password.empty())
        refuse(credentials.at, "before the '@' there must be a user or a password");
    return authority.from(sign + 1);
}

[[nodiscard]] bool is_in_ipv6(char c) noexcept {
    return hex_digit(c) || c == ':' || c == '.';
}

[[nodiscard]] bool is_in_name(char c) noexcept {
    return is_digit(c) || (lower(c) >= 'a' && lower(c) <= 'z') || c == '.' || c == '-' || c == '_';
}

void check_host(part host, bool is_ipv6) {
    if (host.text.empty())
        refuse(host.at, "expected a host");
    if (host.text.size() > longest_host)
        refuse(host.at, "the host is longer than 253 characters");
    const auto strange = std::ranges::find_if_not(host.text, is_ipv6 ? is_in_ipv6 : is_in_name);
    if (strange != host.text.end())
        refuse(host.at + static_cast<std::size_t>(strange - host.text.begin()),
               is_ipv6 ? "invalid character in IPv6 address (allowed: 0-9 A-F a-f : .)"
                       : "invalid character in host name (allowed: A-Z a-z 0-9 . _ -)");
    if (is_ipv6 && host.text.find(':') == npos)
        refuse(host.at, "expected an IPv6 address in the brackets");
    if (host.text.front() == '.')
        refuse(host.at, "a host name cannot begin with a dot");
}

/// Returns `host` or `[IPv6]`, and the rest.
[[nodiscard]] std::pair<part, part> split_host(part text) {
    if (!text.text.starts_with('[')) {
        const auto end = std::min(text.text.find(':'), text.text.size());
        check_host(text.until(end), false);
        if (text.text.find(':', end + 1) != npos)
            refuse(text.at, "two ':' in the host and port; an IPv6 address is written in brackets");
        return {text.until(end), text.from(end)};
    }
    const auto end = text.text.find(']');
    if (end == npos)
        refuse(text.at, "the '[' of an IPv6 address has no ']'");
    const auto host = text.until(end).from(1);
    check_host(host, true);
    const auto rest = text.from(end + 1);
    if (!rest.text.empty() && !rest.text.starts_with(':'))
        refuse(rest.at, "expected ':' and a port, '/' and a database, or the end");
    return {host, rest};
}

[[nodiscard]] host_port read_host_port(part text, std::uint16_t default_port,
                                       const number_kind& kind) {
    const auto [host, port] = split_host(text);
    return {std::string{host.text},
            port.text.empty() ? default_port
                              : static_cast<std::uint16_t>(read_number(port.from(1), kind))};
}

/// The parts of an address with hosts: before its first slash, and from there on.
struct authority_and_tail {
    part hosts;
    part tail;
    bool has_credentials;
};

[[nodiscard]] authority_and_tail read_authority(part rest, address& out) {
    const auto slash = std::min(rest.text.find('/'), rest.text.size());
    const auto tail = rest.from(slash);
    if (tail.text.find('@') != npos)
        refuse(tail.at, "a '/' in a user or password must be written %2F");
    const auto hosts = after_credentials(rest.until(slash), out);
    return {hosts, tail, hosts.at != rest.at};
}

/// Reads `/db`, `/` or nothing.
void read_database(part tail, address& out) {
    if (tail.text.size() > 1)
        out.database = static_cast<int>(read_number(tail.from(1), database_kind));
}

void read_redis(part rest, address& out) {
    out.kind = address::kind::tcp;
    const auto [hosts, tail, has_credentials] = read_authority(rest, out);
    if (hosts.text.find(',') != npos)
        refuse(hosts.at + hosts.text.find(','),
               "several hosts; those of a cluster are redis+cluster://host,host, and those of "
               "Sentinels redis+sentinel://host,host/master");
    auto server = read_host_port(hosts, out.port, has_credentials ? port_kind : port_or_password);
    out.host = std::move(server.host);
    out.port = server.port;
    read_database(tail, out);
}

void read_hosts(part list, bool has_credentials, std::uint16_t default_port,
                std::vector<host_port>& out) {
    for (;;) {
        const auto comma = std::min(list.text.find(','), list.text.size());
        auto one = read_host_port(list.until(comma), default_port,
                                  has_credentials ? port_kind : port_or_password);
        if (std::ranges::find(out, one) != out.end())
            refuse(list.at, "this host and port were given before");
        if (out.size() == limits::max_hosts)
            refuse(list.at, "too many hosts (at most " + std::to_string(limits::max_hosts) + ")");
        out.push_back(std::move(one));
        if (comma == list.text.size())
            return;
        list = list.from(comma + 1);
    }
}

void read_sentinel(part rest, address& out) {
    out.kind = address::kind::sentinel;
    const auto [hosts, tail, has_credentials] = read_authority(rest, out);
    read_hosts(hosts, has_credentials, sentinel_port, out.hosts);
    if (tail.text.size() < 2)
        refuse(tail.end(), "expected '/' and the name of the master, as in sentinel.conf: "
                           "redis+sentinel://host1,host2/mymaster");
    const auto end = std::min(tail.text.find('/', 1), tail.text.size());
    out.master = percent_decoded(tail.until(end).from(1));
    if (out.master.empty())
        refuse(tail.at + 1, "the name of the master is empty");
    if (out.master.find('\0') != npos)
        refuse(tail.at + 1, "the name of the master has a zero byte");
    read_database(tail.from(end), out);
}

void read_cluster(part rest, address& out) {
    out.kind = address::kind::cluster;
    const auto [hosts, tail, has_credentials] = read_authority(rest, out);
    read_hosts(hosts, has_credentials, out.port, out.hosts);
    read_database(tail, out);
}

void read_unix(part rest, address& out) {
    out.kind = address::kind::unix_socket;
    if (rest.text.starts_with("//")) {
        const auto authority = rest.from(2).until(rest.from(2).text.find('/'));
        const auto none = after_credentials(authority, out);
        if (!none.text.empty())
            refuse(none.at, "expected '/': the path of a unix socket is absolute, and has no host "
                            "before it");
        rest = rest.from(2 + authority.text.size());
    }
    if (!rest.text.starts_with('/'))
        refuse(rest.at, "expected '/': the path of a unix socket is absolute");
    const auto question = std::min(rest.text.find('?'), rest.text.size());
    out.path = percent_decoded(rest.until(question));
    if (out.path.find('\0') != npos)
        refuse(rest.at, "the path has a zero byte");
    if (const auto sign = rest.until(question).text.find("@/"); sign != npos)
        refuse(rest.at + sign, "an '@' at the end of a folder's name must be written %40; a user "
                               "and password are written unix://user:password@/path");
    if (out.path.size() > longest_path)
        refuse(rest.at, "the path must have at most " + std::to_string(longest_path) +
                            " bytes, has " + std::to_string(out.path.size()));
    if (question == rest.text.size())
        return;
    const auto query = rest.from(question + 1);
    if (!query.text.starts_with("db="))
        refuse(query.at, "expected db=N (a '?' in the path must be written %3F)");
    out.database = static_cast<int>(read_number(query.from(3), database_kind));
}

} // namespace

address address::at(const host_port& server) const {
    auto out = *this;
    out.kind = kind::tcp;
    out.host = server.host;
    out.port = server.port;
    out.hosts.clear();
    out.master.clear();
    return out;
}

std::string to_string(const host_port& server) {
    const auto is_ipv6 = server.host.find(':') != std::string::npos;
    return (is_ipv6 ? "[" + server.host + "]" : server.host) + ":" + std::to_string(server.port);
}

bool is_host(std::string_view text) noexcept {
    const auto is_ipv6 = text.find(':') != npos;
    return !text.empty() && text.size() <= longest_host && text.front() != '.' &&
           std::ranges::all_of(text, is_ipv6 ? is_in_ipv6 : is_in_name);
}

address parse_address(std::string_view text) {
    if (text.size() > limits::max_address_bytes)
        refuse(limits::max_address_bytes, "the address is longer than " +
                                              std::to_string(limits::max_address_bytes) +
                                              " characters");
    const auto whole = part{text};
    auto out = address{};
    const auto either = [&](std::string_view secret, std::string_view plain) {
        const auto rest = after_scheme(whole, secret);
        out.tls = out.tls || rest;
        return rest ? rest : after_scheme(whole, plain);
    };
    if (const auto rest = either("rediss://", "redis://"))
        read_redis(*rest, out);
    else if (const auto named = either("rediss+sentinel://", "redis+sentinel://"))
        read_sentinel(*named, out);
    else if (const auto nodes = either("rediss+cluster://", "redis+cluster://"))
        read_cluster(*nodes, out);
    else if (const auto path = after_scheme(whole, "unix:"))
        read_unix(*path, out);
    else if (const auto end = after_scheme(whole, "memory:"); !end)
        refuse(0, "expected " + std::string{forms});
    else if (!end->text.empty())
        refuse(end->at, "nothing may follow memory:");
    return out;
}

} // namespace colimit::redis
