// SPDX-License-Identifier: BSL-1.0
//
// Reads and writes a string in the server's memory.

#include <base/bytes.hpp>
#include <server_module/string_value.hpp>

#include <boost/assert.hpp>

#include <cstring>

namespace colimit::server_module {

std::optional<std::string_view> string_value::read() const noexcept {
    if (type_ != api::is_string)
        return std::nullopt;
    std::size_t size = 0;
    const char* bytes = api::string_dma(key_.get(), &size, api::read);
    return std::string_view{bytes, size};
}

/// Overwrites the bytes from an index on; the value has the right length.
void string_value::overwrite(std::string_view value, std::size_t from) noexcept {
    std::size_t size = 0;
    char* bytes = api::string_dma(key_.get(), &size, api::read | api::write);
    BOOST_ASSERT(size == value.size());
    (void)value.copy(bytes + from, value.size() - from, from);
}

void string_value::change(std::string_view value) noexcept {
    overwrite(value, promise_bytes);
    signal();
    const auto changed = value.substr(promise_bytes);
    run_.propagate("SETRANGE", "scb", name_, "8", changed.data(), changed.size());
}

void string_value::change_part(std::size_t from, std::string_view bytes) noexcept {
    std::size_t size = 0;
    char* to = api::string_dma(key_.get(), &size, api::read | api::write);
    BOOST_ASSERT(type_ == api::is_string && from + bytes.size() <= size);
    (void)bytes.copy(to + from, bytes.size());
    signal();
    run_.propagate("SETRANGE", "slb", name_, static_cast<long long>(from), bytes.data(),
                   bytes.size());
}

void string_value::write(std::string_view value, expiry when) noexcept {
    BOOST_ASSERT(!is_foreign());
    const auto found = read();
    if (!found || found->size() != value.size()) {
        (void)api::delete_key(key_.get()); // a string that grows gets up to twice the memory
        (void)api::string_truncate(key_.get(), value.size());
    }
    overwrite(value, 0);
    (void)api::set_expiry(key_.get(), when.at_ms);
    type_ = api::is_string;
    signal();
    run_.propagate("SET", "sbcl", name_, value.data(), value.size(), "PXAT",
                   static_cast<long long>(when.at_ms));
}

void string_value::erase() noexcept {
    (void)api::delete_key(key_.get());
    type_ = api::is_empty;
    signal();
    run_.propagate("DEL", "s", name_);
}

namespace {

/// Returns whether the key will exist for long enough, and not for longer than is promised.
[[nodiscard]] bool keeps_expiry(std::string_view found, const state_change& change,
                                std::int64_t now) noexcept {
    constexpr auto spare = 1'000'000 - 1'000; // what a TTL has above twice the recovery
    const auto* promise = found.data();
    const auto ends = detail::read_number<double>(promise);
    const auto matters = change.lifetime.matters;
    return ends >= static_cast<double>(now + matters) &&
           ends < static_cast<double>(now + 2 * matters + spare);
}

} // namespace

std::string_view save(command_run& run, string_value& to, std::optional<std::string_view> found,
                      state_change& change) {
    if (change.is_erased) {
        if (found)
            to.erase();
        return {};
    }
    if (run.is_full() && !change.gives_back)
        return over_maxmemory;
    if (run.is_full() && !found) // no state is as strict
        return {};
    const auto keeps = found && found->size() == change.value.size() && !run.is_full() &&
                       run.clock().source != clock_source::caller &&
                       keeps_expiry(*found, change, run.now());
    // A key that is named twice may have another value now than the one that was found, which may
    // not be read any more after this.
    const auto present = keeps ? to.read() : std::nullopt;
    if (present && present->size() == change.value.size()) {
        to.change(change.value);
        return {};
    }
    const auto when = run.expiry_after(change.lifetime.kept);
    const auto promised = static_cast<double>(when.promised_us);
    std::memcpy(change.value.data(), &promised, sizeof promised);
    to.write(change.value, when);
    return {};
}

} // namespace colimit::server_module
