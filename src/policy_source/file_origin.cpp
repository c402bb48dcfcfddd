// SPDX-License-Identifier: BSL-1.0
//
// Takes what the file has, when it has changed.

#include <base/clocks.hpp>
#include <policy_source/file_origin.hpp>

#include <mutex>
#include <new>
#include <utility>

namespace colimit::detail {

policy_document parse_file(const std::string& path, const file_content& content,
                           policy_document (*parse)(std::string_view)) {
    if (!content.problem.empty())
        throw error{errc::invalid_config, path + ": " + content.problem};
    try {
        return parse(content.text);
    } catch (const error& e) {
        throw error{static_cast<errc>(e.code().value()), path + ": " + e.reason()};
    }
}

file_origin::file_origin(source_core& core, std::string path,
                         std::chrono::milliseconds poll_interval)
    : core_(core), file_(std::move(path)),
      interval_(std::chrono::microseconds{poll_interval}.count()),
      timer_(core.own_executor(), core.lock(), [this] { on_time(); }) {
    const auto& content = file_.read();
    core_.take(parse_file(file_.path(), content), "file " + file_.path());
    in_force_ = content.text;
}

void file_origin::reload() {
    attempt([this] { take(file_.read(), true); });
}

void file_origin::on_time() {
    const std::lock_guard guard{core_.lock()};
    if (core_.is_closed())
        return;
    attempt([this] {
        if (const auto seen = file_.poll())
            take(seen->content, seen->is_settled);
    });
    wait();
}

/// Looks at the file; without memory, the next poll does it again.
template<class Look>
void file_origin::attempt(Look look) {
    try {
        look();
    } catch (const std::bad_alloc&) {
        file_.doubt();
    }
}

void file_origin::wait() {
    timer_.set(steady_now() + interval_, core_.shared_from_this());
}

/// @param is_settled a problem is reported
void file_origin::take(const file_content& content, bool is_settled) {
    if (content.problem.empty() && content.text == in_force_)
        return core_.solve();
    try {
        auto fresh = parse_file(file_.path(), content);
        auto text = content.text; // before, as there may be no memory
        core_.take(std::move(fresh), "file " + file_.path());
        in_force_.swap(text);
    } catch (const error& e) {
        if (is_settled)
            core_.report(e.code() == errc::invalid_config ? policy_event_kind::unavailable
                                                          : policy_event_kind::refused,
                         {}, e.reason());
    }
}

} // namespace colimit::detail
