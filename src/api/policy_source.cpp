// SPDX-License-Identifier: BSL-1.0
//
// The public face of policy sources: selects where documents come from, and checks the options.

#include <api/config_check.hpp>
#include <base/enumerator.hpp>
#include <colimit/policy_source.hpp>
#include <policy_source/file_origin.hpp>
#include <policy_source/redis_origin.hpp>
#include <policy_source/source_core.hpp>
#include <rule_text/cursor.hpp>

#include <filesystem>
#include <ostream>
#include <system_error>
#include <utility>

namespace colimit {
namespace {

using detail::source_core;

[[noreturn]] void refuse(const std::string& reason) {
    throw error{errc::invalid_config, reason};
}

void check(const std::string& file, const policy_source_options& options) {
    using std::chrono::milliseconds;
    const auto least = milliseconds{10};
    const auto most = milliseconds{std::chrono::hours{1}};
    const auto interval = options.poll_interval;
    if (file.empty())
        refuse("policy_source: the path of the file is empty");
    if (interval < least || interval > most)
        refuse("policy_source_options::poll_interval: out of range (got " +
               std::to_string(interval.count()) + " ms, expected 10 ms to 3600000 ms)");
}

/// Either may not exist yet.
[[nodiscard]] bool is_same_file(const std::string& a, const std::string& b) {
    auto ec = std::error_code{};
    const auto first = std::filesystem::weakly_canonical(a, ec);
    return !ec && first == std::filesystem::weakly_canonical(b, ec) && !ec;
}

[[nodiscard]] std::shared_ptr<source_core> make_core(boost::asio::any_io_executor executor,
                                                     std::string file,
                                                     const policy_source_options& options) {
    check(file, options);
    if (!options.copy.empty())
        refuse("policy_source_options::copy is given, but the document is not in Redis");
    auto made = std::make_shared<source_core>(std::move(executor), options);
    made->open(
        std::make_unique<detail::file_origin>(*made, std::move(file), options.poll_interval));
    return made;
}

[[nodiscard]] std::shared_ptr<source_core> make_core(boost::asio::any_io_executor executor,
                                                     std::string file, const config& server,
                                                     const policy_source_options& options) {
    check(file, options);
    if (!options.copy.empty() && is_same_file(options.copy, file))
        refuse("policy_source_options::copy: the file that the source begins with (got " +
               text::quoted(file) + ", expected another file)");
    const auto where = checked_address(server);
    if (where.kind == redis::address::kind::memory)
        refuse("config::server is memory:, which has no documents");
    auto made = std::make_shared<source_core>(std::move(executor), options);
    made->open(std::make_unique<detail::redis_origin>(
        *made, detail::origin_files{.first = std::move(file), .copy = options.copy}, server, where,
        options.poll_interval));
    return made;
}

} // namespace

policy_source::policy_source(executor_type executor, std::string file,
                             const policy_source_options& options)
    : core_(make_core(std::move(executor), std::move(file), options)) {}

policy_source::policy_source(executor_type executor, std::string file, const config& server,
                             const policy_source_options& options)
    : core_(make_core(std::move(executor), std::move(file), server, options)) {}

policy_source::~policy_source() {
    close();
}

policy_source& policy_source::operator=(policy_source&& other) noexcept {
    if (this != &other) {
        close();
        core_ = std::move(other.core_);
    }
    return *this;
}

std::shared_ptr<const policy_document> policy_source::current() const {
    return core_->current();
}

policy_status policy_source::status() const {
    return core_->status();
}

void policy_source::reload() {
    core_->reload();
}

void policy_source::close() noexcept {
    if (core_)
        core_->close();
}

std::string_view to_string(policy_event_kind k) noexcept {
    return name_of(k, {"loaded", "refused", "older", "unavailable", "copy failed", "recovered"});
}

std::string to_string(const policy_event& e) {
    auto out = std::string{to_string(e.kind)};
    if (e.version)
        out.append(" version ").append(std::to_string(*e.version));
    return out.append(": ").append(e.text);
}

std::ostream& operator<<(std::ostream& out, policy_event_kind k) {
    return out << to_string(k);
}

std::ostream& operator<<(std::ostream& out, const policy_event& e) {
    return out << to_string(e);
}

} // namespace colimit
