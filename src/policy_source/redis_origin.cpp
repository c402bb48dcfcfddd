// SPDX-License-Identifier: BSL-1.0
//
// Versions only grow: so the processes of a service agree, whichever of them has looked first. They
// only do if a version is one document, so another one under the version in force is a problem.

#include <base/bytes.hpp>
#include <base/clocks.hpp>
#include <colimit/limits.hpp>
#include <hash/process_secret.hpp>
#include <policy_json/document.hpp>
#include <policy_source/document_file.hpp>
#include <policy_source/file_origin.hpp>
#include <policy_source/redis_origin.hpp>
#include <rule_text/cursor.hpp>

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

namespace colimit::detail {
namespace {

/// A document is read again this fast: a large one seldom.
constexpr std::int64_t bytes_per_second = std::int64_t{64} * 1024;
/// The times between two looks at a document in force, and at one that was refused, of which the
/// first is the poll interval and each following one twice as long.
constexpr std::int64_t shortest_pause = 1'000'000;
constexpr std::int64_t longest_pause = 60'000'000;

[[nodiscard]] hash::digest digest_of(std::string_view text) {
    return hash::key_hash{hash::process_secret()}.finish(text);
}

} // namespace

redis_origin::redis_origin(source_core& core, origin_files files, const config& settings,
                           const redis::address& where, std::chrono::milliseconds poll_interval)
    : core_(core), files_(std::move(files)), key_(settings.prefix + ":policies"),
      poll_interval_(in_us(poll_interval)),
      link_(core, settings, where, key_, poll_interval_, *this) {
    take_first();
}

/// The higher version, so that processes with a copy and without one begin with the same.
void redis_origin::take_first() {
    auto copy = read_copy();
    try {
        auto first = parse_file(files_.first, read_file(files_.first));
        if (!copy || first.version().value_or(0) > copy->version().value_or(0))
            return take(std::move(first), "file " + files_.first);
    } catch (const error&) {
        if (!copy)
            throw;
    }
    take(std::move(*copy), "copy " + files_.copy);
}

/// Returns nullopt if there is no valid copy.
std::optional<policy_document> redis_origin::read_copy() {
    auto ignored = std::error_code{};
    // None, before the first version.
    if (files_.copy.empty() || (!std::filesystem::exists(files_.copy, ignored) && !ignored))
        return std::nullopt;
    const auto content = read_file(files_.copy, json::max_copy_bytes);
    try {
        return parse_file(files_.copy, content, json::parse_copy);
    } catch (const error& e) {
        core_.report(policy_event_kind::copy_failed, {}, e.reason());
        return std::nullopt;
    }
}

void redis_origin::take(policy_document fresh, std::string_view from, std::string_view remark) {
    const auto version = fresh.version().value_or(0);
    core_.take(std::move(fresh), from, remark); // or nothing, without memory
    version_ = version;
}

void redis_origin::on_answer(redis::document_requests::answer answer) {
    using enum policy_event_kind;
    if (!answer.error.empty())
        return core_.report(unavailable, {}, answer.error);
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
    if (published < version_) {
        read_ = {};
        return core_.report(older, published,
                            key_ + ": version " + std::to_string(published) +
                                " is lower than the one in force, " + std::to_string(version_));
    }
    if (answer.has_document)
        return read(published, answer.document.value_or(""));
    if (published != read_.version || steady_now() >= read_.again_at)
        return link_.ask_document();
    report_reading();
}

/// A text that was read before is not checked again.
void redis_origin::read(std::int64_t version, const std::string& text) {
    const auto digest = digest_of(text);
    const auto is_known = version == read_.version && digest == read_.text;
    if (!is_known)
        read_ = {.version = version, .text = digest, .problem = problem_of(version, text)};
    const auto for_its_size = static_cast<std::int64_t>(text.size()) * 1'000'000 / bytes_per_second;
    if (read_.problem.empty())
        read_.pause = std::max({poll_interval_, shortest_pause, for_its_size});
    else
        read_.pause =
            std::max({poll_interval_, for_its_size, std::min(2 * read_.pause, longest_pause)});
    read_.again_at = steady_now() + read_.pause;
    report_reading();
}

void redis_origin::report_reading() {
    if (read_.problem.empty())
        return core_.solve();
    core_.report(policy_event_kind::refused, read_.version, key_ + ": " + read_.problem);
}

/// Takes a document of a higher version; one of the version in force must be the same. Returns why
/// it is not in force, or an empty text.
std::string redis_origin::problem_of(std::int64_t version, const std::string& text) {
    try {
        if (text.empty())
            throw error{errc::invalid_policy,
                        "the field document is missing, empty, or longer than " +
                            std::to_string(limits::max_json_bytes) + " bytes"};
        if (version != version_)
            take_published(version, text);
        else if (json::parse_published(text, version) != *core_.current())
            return "document: not the one that is in force with version " +
                   std::to_string(version) + " (publish a change with a higher version)";
        if (is_copy_due_)
            keep_copy(version, text);
        is_copy_due_ = false;
        return {};
    } catch (const error& e) {
        return e.reason();
    }
}

/// Equal bytes under a higher version: perhaps only the field `version` was written.
void redis_origin::take_published(std::int64_t version, const std::string& text) {
    const auto is_same =
        read_.version != 0 && read_.problem.empty() && digest_of(text) == read_.text;
    take(json::parse_published(text, version), "Redis",
         is_same ? ", with the same document as version " + std::to_string(read_.version) +
                       " (was the field document written?)"
                 : "");
    is_copy_due_ = true;
}

void redis_origin::keep_copy(std::int64_t version, std::string_view text) {
    if (files_.copy.empty())
        return;
    try {
        replace_file(files_.copy, json::with_version(text, version));
        core_.solve_copy();
    } catch (const std::system_error& e) {
        core_.report(policy_event_kind::copy_failed, version, files_.copy + ": " + e.what());
    }
}

} // namespace colimit::detail
