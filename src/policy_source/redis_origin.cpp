// SPDX-License-Identifier: BSL-1.0
//
// Versions only grow: so the processes of a service agree, whichever of them has looked first.

#include <base/bytes.hpp>
#include <colimit/limits.hpp>
#include <policy_json/document.hpp>
#include <policy_source/document_file.hpp>
#include <policy_source/file_origin.hpp>
#include <policy_source/redis_origin.hpp>
#include <rule_text/cursor.hpp>

#include <filesystem>
#include <system_error>
#include <utility>

namespace colimit::detail {

redis_origin::redis_origin(source_core& core, origin_files files, const config& settings,
                           const redis::address& where, std::chrono::milliseconds poll_interval)
    : core_(core), files_(std::move(files)), key_(settings.prefix + ":policies"),
      link_(core, settings, where, key_, in_us(poll_interval), *this) {
    take_first();
}

void redis_origin::take_first() {
    if (!files_.copy.empty() && take_copy())
        return;
    take(parse_file(files_.first, read_file(files_.first)), "file " + files_.first);
}

/// Returns whether there is a valid copy.
bool redis_origin::take_copy() {
    auto ignored = std::error_code{};
    if (!std::filesystem::exists(files_.copy, ignored) && !ignored)
        return false; // as before the first version
    const auto content = read_file(files_.copy);
    try {
        take(parse_file(files_.copy, content), "copy " + files_.copy);
        return true;
    } catch (const error& e) {
        core_.report(policy_event_kind::copy_failed, {}, e.reason());
        return false;
    }
}

void redis_origin::take(policy_document fresh, std::string from) {
    version_ = fresh.version().value_or(0);
    core_.take(std::move(fresh), std::move(from));
}

void redis_origin::on_answer(redis::document_requests::answer answer) {
    using enum policy_event_kind;
    if (!answer.error.empty())
        return core_.report(unavailable, {}, std::move(answer.error));
    if (!answer.version)
        return core_.report(unavailable, {}, "there is no field version in the hash " + key_);
    const auto version =
        read_decimal(*answer.version, static_cast<std::uint64_t>(limits::max_exact_integer));
    if (!version || *version == 0)
        return core_.report(refused, {},
                            key_ + ": version: invalid value (got " +
                                text::quoted(*answer.version) + ", expected 1 to " +
                                std::to_string(limits::max_exact_integer) + ")");
    const auto published = static_cast<std::int64_t>(*version);
    if (published == version_)
        return core_.solve();
    if (published < version_)
        return core_.report(older, published,
                            key_ + ": version " + std::to_string(published) +
                                " is lower than the one in force, " + std::to_string(version_));
    if (!answer.has_document)
        return link_.ask_document();
    take_published(published, answer.document.value_or(""));
}

void redis_origin::take_published(std::int64_t version, const std::string& text) {
    try {
        if (text.empty())
            throw error{errc::invalid_policy,
                        "the field document is missing, empty, or longer than " +
                            std::to_string(limits::max_json_bytes) + " bytes"};
        take(json::parse_published(text, version), "Redis");
        keep_copy(version, text);
    } catch (const error& e) {
        core_.report(policy_event_kind::refused, version, key_ + ": " + e.reason());
    }
}

void redis_origin::keep_copy(std::int64_t version, std::string_view text) {
    if (files_.copy.empty())
        return;
    try {
        replace_file(files_.copy, json::with_version(text, version));
    } catch (const std::system_error& e) {
        core_.report(policy_event_kind::copy_failed, version, files_.copy + ": " + e.what());
    }
}

} // namespace colimit::detail
