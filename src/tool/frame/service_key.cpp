// SPDX-License-Identifier: BSL-1.0
//
// Divides a key into its fields, and makes it again as the library would. Fields and templates have
// the forms that key.hpp and http_key.hpp describe; a digest, `user#0123...`, stays as it is.

#include <tool/frame/format.hpp>
#include <tool/frame/key_field.hpp>
#include <tool/frame/service_key.hpp>

#include <base/bytes.hpp>
#include <colimit/detail/access.hpp>
#include <colimit/key.hpp>
#include <colimit/limits.hpp>
#include <http/address_text.hpp>
#include <http/blanks.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <iterator>
#include <optional>
#include <set>
#include <utility>
#include <vector>

namespace tool {
namespace {

using colimit::scoped_key;
using colimit::detail::access;

/// Returns the field of a key for a method.
[[nodiscard]] std::string method_field(std::string_view method) {
    const colimit::http::request made{.method = method, .target = "/", .peer = {}};
    return std::string{colimit::http::key_template{"method"}.key_of(made, {})};
}

void check_method(const field& f) {
    const auto method = unescaped(f);
    const auto counted = method_field(method);
    if (counted != "method=" + method)
        refuse(f.whole, "no key has this method", counted);
}

/// Returns whether the document has a route that uses the policy; with a path or the method of a
/// key, one that has these.
/// @param path or the field of a key, `route#0123...`
[[nodiscard]] bool has_route(const colimit::policy_document& document, std::string_view policy,
                             const std::optional<std::string>& path = std::nullopt,
                             const std::optional<std::string>& method = std::nullopt) {
    const auto is_path = [&](const std::string& of_route) {
        return !path || of_route == *path ||
               std::string_view{
                   access::with_field(access::empty_key<scoped_key>(), "route", of_route)} == *path;
    };
    const auto has_method = [&](const std::vector<std::string>& of_route) {
        return !method || of_route.empty() ||
               std::ranges::find(of_route, "method=" + *method, method_field) != of_route.end();
    };
    for (std::size_t i = 0; i < document.routes().size(); ++i)
        if (is_path(document.routes()[i].path()) && has_method(document.routes()[i].methods()) &&
            std::ranges::any_of(document.policies_of(i),
                                [&](const auto& p) { return p.limit.name() == policy; }))
            return true;
    return false;
}

/// Returns the field of a key for the route that uses the policy; `route=PATH` if there are several
/// paths.
[[nodiscard]] std::string route_field(const colimit::policy_document& document,
                                      std::string_view policy) {
    std::set<std::string> fields;
    for (std::size_t i = 0; i < document.routes().size(); ++i)
        if (const auto& path = document.routes()[i].path(); has_route(document, policy, path))
            fields.emplace(access::with_field(access::empty_key<scoped_key>(), "route", path));
    return fields.size() == 1 ? *fields.begin() : "route=PATH";
}

/// Refuses two values of what a request has once. Of a template with a part twice, as in
/// `user+user|ip`, both fields are equal; an application adds any number of the other fields.
void check_repeated(const std::vector<std::string_view>& fields) {
    for (std::size_t i = 0; i < fields.size(); ++i) {
        const auto f = read_field(fields[i]);
        const auto is_once = f.name == "user" || f.name == "method" ||
                             f.name.starts_with("header:") || f.name.starts_with("query:");
        for (std::size_t other = 0; other < i && is_once; ++other)
            if (fields[other] != f.whole && read_field(fields[other]).name == f.name)
                refuse(f.whole, "no key has two values of this field", "one " + f.name);
    }
}

/// Makes a key of the form of a policy's template.
class key_maker {
  public:
    key_maker(std::string_view given, const colimit::policy_document& document,
              std::string_view policy)
        : given_(given), document_(document), policy_(policy),
          template_(to_string(document.find(policy)->key)) {
        constexpr std::string_view mark = "tag:";
        for (const auto part : split(template_, '+'))
            if (part.starts_with(mark))
                tag_ = part.substr(mark.size());
            else
                parts_.push_back(part);
    }

    [[nodiscard]] std::string key() {
        auto fields = split(given_, ';');
        const auto has_tag = read_field(fields.front()).name == "tag";
        if (has_tag && (!tag_ || fields.front() != "tag=" + std::string{*tag_}))
            refuse_form();
        if (has_tag)
            fields.erase(fields.begin());
        if (!fields.empty() && fields.front().starts_with("all#"))
            take_digest(fields);
        if (fields.size() != parts_.size())
            refuse_form();
        check_repeated(fields);
        for (std::size_t i = 0; i < fields.size(); ++i)
            add(read_field(fields[i]), parts_[i]);
        return std::string{tag_ ? made_.tagged(*tag_) : made_};
    }

  private:
    /// Reads a digest of the first fields, after which there is at least one.
    void take_digest(std::vector<std::string_view>& fields) {
        check_digest(read_field(fields.front()));
        if (fields.size() < 2 || fields.size() > parts_.size())
            refuse_form();
        made_ = access::with_name(made_, fields.front());
        fields.erase(fields.begin());
        parts_.erase(parts_.begin(), parts_.end() - std::ssize(fields));
    }

    void add(const field& f, std::string_view part) {
        const auto sources = sources_of(part);
        const auto always_has_value = [](std::string_view source) {
            return source == "ip" || source == "route" || source == "method" || source == "global";
        };
        const auto is_known = f.whole == "none"
                                  ? !always_has_value(sources.back())
                                  : std::ranges::find(sources, f.name) != sources.end();
        const auto is_whole = f.whole == "global" || f.whole == "none" || f.has_value ||
                              (f.whole.find('#') != std::string_view::npos && f.name != "ip" &&
                               f.name != "method" && f.name != "global");
        if (!is_known || !is_whole || (f.has_value && f.name == "global"))
            refuse_form();
        if (f.whole.find('#') < f.whole.find('='))
            check_digest(f);
        if (f.name == "route")
            path_ = f.has_value ? unescaped(f) : std::string{f.whole};
        else if (f.name == "method") {
            check_method(f);
            method_ = unescaped(f);
        }
        if (f.name == "route" || f.name == "method")
            check_route(f);
        if (!f.has_value)
            made_ = access::with_name(made_, f.whole);
        else if (f.name == "ip")
            made_ = access::with_name(made_, address_key(f, document_.prefixes(), true));
        else
            add_text(f);
    }

    void check_route(const field& f) const {
        if (!has_route(document_, policy_, path_, method_))
            throw other_form{"KEY: no route of policy '" + policy_ + "' has this " +
                                 (f.name == "route" ? "path" : "method") + " (got " +
                                 escaped(f.whole) + ")",
                             form()};
    }

    void add_text(const field& f) {
        const auto value = unescaped(f);
        if (f.name.starts_with("header:") && colimit::http::without_blanks(value) != value)
            refuse(f.whole, "no key has this text", "the value without blanks around it");
        made_ = access::with_field(made_, f.name, value);
    }

    [[noreturn]] void refuse_form() const {
        throw other_form{"KEY: policy '" + policy_ + "' has keys of another form (got " +
                             escaped(given_) + ", expected " + shown(form()) + ")",
                         form()};
    }

    [[nodiscard]] std::string form() const {
        std::string expected;
        for (const auto part : parts_) {
            expected += expected.empty() ? "" : ";";
            auto is_first = true;
            for (const auto source : sources_of(part))
                expected +=
                    (std::exchange(is_first, false) ? "" : "|") +
                    (source == "route" ? route_field(document_, policy_) : example_of(source));
        }
        return expected;
    }

    /// Returns the alternatives as the names of fields; a verified value has the same.
    [[nodiscard]] static std::vector<std::string_view> sources_of(std::string_view part) {
        constexpr std::string_view verified = "verified:";
        auto sources = split(part, '|');
        for (auto& s : sources)
            s.remove_prefix(s.starts_with(verified) ? verified.size() : 0);
        return sources;
    }

    [[nodiscard]] static std::string example_of(std::string_view source) {
        if (source == "global")
            return "global";
        return std::string{source} + (source == "ip" ? "=ADDRESS" : "=VALUE");
    }

    std::string_view given_;
    const colimit::policy_document& document_; // NOLINT(*-ref-data-members): of one call
    std::string policy_;
    std::string template_;
    std::vector<std::string_view> parts_;
    std::optional<std::string_view> tag_;
    std::optional<std::string> path_; ///< or the field with its digest
    std::optional<std::string> method_;
    scoped_key made_ = access::empty_key<scoped_key>();
};

/// Returns whether a text is the name of a field that the library writes.
[[nodiscard]] bool is_scope(std::string_view name) {
    constexpr std::array<std::string_view, 6> known = {"ip",     "user", "route",
                                                       "method", "part", "tag"};
    const auto has_name = [name](std::string_view kind) {
        return name.starts_with(kind) && name.size() > kind.size() &&
               name.size() <= kind.size() + colimit::limits::max_name_length;
    };
    return std::ranges::find(known, name) != known.end() || has_name("header:") ||
           has_name("query:");
}

/// Returns the name and what separates it from its value in the spelling of the library, if a text
/// without a blank and in lower case begins so.
[[nodiscard]] std::string spelled(std::string_view text) {
    const auto end = std::min(text.find_first_of("=#"), text.size());
    auto name = std::string{colimit::http::without_blanks(text.substr(0, end))};
    std::ranges::transform(name, name.begin(), colimit::detail::lower);
    auto value = text.substr(end);
    if (end == text.size() && name == "global")
        return name;
    constexpr std::string_view verified = "verified:"; // of a template, not of a key
    if (name.starts_with(verified) && is_scope(name.substr(verified.size())))
        return spelled(colimit::http::without_blanks(text).substr(verified.size()));
    if (name.starts_with("ip:")) { // instead of ip=
        const auto trimmed = colimit::http::without_blanks(text);
        value = trimmed.substr(3);
        return colimit::http::parse_address(value.substr(0, value.find('/')))
                   ? "ip=" + std::string{value}
                   : std::string{text};
    }
    if (name.starts_with("query:")) // its case matters
        name = "query:" + std::string{colimit::http::without_blanks(text.substr(0, end))}.substr(6);
    if (name == "ip")
        value = colimit::http::without_blanks(value);
    return end < text.size() && is_scope(name) ? name + std::string{value} : std::string{text};
}

/// Returns the IPv6 address that a text is, or has behind a `=`: with or without brackets, port and
/// prefix length; nullopt if there is none.
[[nodiscard]] std::optional<boost::asio::ip::address> address_in(std::string_view text) {
    text = colimit::http::without_blanks(text.substr(text.find('=') + 1));
    if (text.starts_with('['))
        text = text.substr(1, text.find(']') - 1);
    const auto found = colimit::http::parse_address(text.substr(0, text.find('/')));
    return found && found->is_v6() ? found : std::nullopt;
}

/// Refuses a field that hardly any application has, but that is one of these in another spelling.
void check_spelling(const field& f) {
    const auto right = spelled(f.whole);
    const auto v6 = address_in(right);
    if (v6 && (right != f.whole || f.name != "ip"))
        refuse(f.whole, "no service has an IPv6 address in this form",
               std::string{colimit::key::address(*v6)} + " or the network of another length");
    if (right != f.whole)
        refuse(f.whole, "another spelling of a field", right);
    if ((f.name == "header:" || f.name == "query:") && f.whole.size() != f.name.size())
        refuse(f.whole, "no key has a field without a name", f.name + "NAME=VALUE");
}

/// Refuses a field that no key of the library has, in a key that has fields of the library.
void check_form(const field& f) {
    if (f.whole.empty())
        refuse(f.whole, "no key has an empty field", "one ; between two fields, and no other");
    const auto is_name = f.whole.size() == f.name.size();
    if (is_name && is_scope(f.name))
        refuse(f.whole, "no key has a field without a value", f.name + "=VALUE");
    const auto may_be_digest =
        f.name == "all" || (is_scope(f.name) && f.name != "ip" && f.name != "method");
    if (may_be_digest && !is_name && !f.has_value)
        check_digest(f);
    else if (!(is_scope(f.name) && f.has_value) && f.whole != "global" && f.whole != "none")
        refuse(f.whole, "no key with fields of the library has this one",
               "NAME=VALUE, with ; in a value written as %3B");
    const auto may_be_empty = // as in `key::user("")`
        f.name == "user" || f.name == "route" || f.name == "part" || f.name == "tag";
    if (is_scope(f.name) && f.has_value && f.name != "ip" && !(may_be_empty && f.value.empty()))
        (void)unescaped(f);
    if (f.name == "method" && f.has_value)
        check_method(f);
}

/// Refuses a key of such fields that are not in the order in which the library writes them.
void check_order(const std::vector<std::string_view>& fields) {
    const auto name_of = [&](std::size_t i) { return read_field(fields[i]).name; };
    const auto has_tag = name_of(0) == "tag";
    for (std::size_t i = 0; i < fields.size(); ++i)
        if (name_of(i) == "tag" && (i != 0 || fields.size() == 1))
            refuse(fields[i], "no key has its tag here", "tag=VALUE in front of the other fields");
    if (name_of(has_tag ? 1 : 0) == "part")
        refuse(fields[has_tag ? 1 : 0], "no key begins with a part", "it behind another field");
}

/// Returns whether a text is meant as a key of the library; any other is one of the application.
[[nodiscard]] bool is_of_library(const std::vector<std::string_view>& fields) {
    const auto is_one = [](std::string_view text) {
        const auto f = read_field(text);
        return f.whole.size() != f.name.size() && is_scope(f.name);
    };
    return std::ranges::any_of(fields, is_one) || (fields.size() == 1 && fields.front() == "ip");
}

/// Returns the key with the networks of addresses, and with the digests of what is too long if all
/// fields are those of the library. Other keys are those of the application.
[[nodiscard]] std::string with_networks(std::string_view given,
                                        const std::optional<colimit::address_prefixes>& bits) {
    if (given.empty())
        throw std::runtime_error{"KEY: empty (expected a key such as user=42)"};
    std::string key;
    auto tag_size = std::size_t{0}; ///< with the `;` behind it
    auto made = access::empty_key<scoped_key>();
    auto is_scoped = true;
    auto is_first = true;
    const auto fields = split(given, ';');
    const auto is_checked = is_of_library(fields);
    for (const auto text : fields) {
        const auto f = read_field(text);
        check_spelling(f);
        if (is_checked)
            check_form(f);
        auto own = std::string{text};
        if (f.name == "ip" && f.has_value)
            own = std::string{address_key(f, bits, false)};
        else if (f.has_value && is_scope(f.name) &&
                 f.value.size() > colimit::limits::max_key_part_bytes)
            own = std::string{
                access::with_field(access::empty_key<scoped_key>(), f.name, unescaped(f))};
        is_scoped = is_scoped && (text == "global" || text == "none" ||
                                  (is_scope(f.name) && (f.has_value || has_digest(f.whole))));
        if (is_first && f.name == "tag")
            tag_size = own.size() + 1;
        else if (is_scoped)
            made = access::with_name(made, own);
        key += (std::exchange(is_first, false) ? "" : ";") + own;
    }
    if (is_checked) {
        check_order(fields);
        check_repeated(fields);
    }
    if (!is_scoped || key.size() <= tag_size + colimit::limits::plain_key_bytes)
        return key;
    return key.substr(0, tag_size) + std::string{made};
}

} // namespace

std::string service_key(std::string_view given) {
    return with_networks(given, std::nullopt);
}

std::string service_key(std::string_view given, const colimit::policy_document& document,
                        std::string_view policy) {
    return has_route(document, policy) ? key_maker{given, document, policy}.key()
                                       : with_networks(given, document.prefixes());
}

} // namespace tool
