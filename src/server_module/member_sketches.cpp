// SPDX-License-Identifier: BSL-1.0
//
// The commands on sketches, and what a trial restores.

#include <core/rule_kind.hpp>
#include <server_module/key_handle.hpp>
#include <server_module/member_sketches.hpp>

#include <algorithm>
#include <utility>

namespace colimit::server_module {
namespace {

constexpr auto no_sketch = "WRONGTYPE this is no HyperLogLog"sv;
constexpr auto first_bytes = "HYLL"sv;

/// Where a sketch has a bit that is set if its number of members is to be computed.
constexpr std::size_t invalid_count_at = 15;
constexpr unsigned char invalid_count = 0x80;

[[nodiscard]] bool has_invalid_count(std::string_view sketch) noexcept {
    return sketch.size() > invalid_count_at &&
           (static_cast<unsigned char>(sketch[invalid_count_at]) & invalid_count) != 0;
}

[[nodiscard]] std::string_view bytes_in(api::key* open) noexcept {
    std::size_t size = 0;
    const char* bytes = api::string_dma(open, &size, api::read);
    return {bytes, size};
}

} // namespace

member_sketches::member_sketches(command_run& run, const core::compiled_policy& rules,
                                 std::span<api::string*> names, std::size_t keys)
    : run_(run), names_(names), keys_(keys) {
    for (std::uint32_t i = 0; i < rules.size; ++i)
        if (core::has_sketch(rules.limits[i]))
            sketches_.emplace_back(i);
}

/// Returns the error if the key has a value other than a sketch.
std::string_view member_sketches::error_in(api::string* name) const noexcept {
    const auto key = open_key(run_.where(), name);
    const auto type = api::key_type(key.get());
    if (type == api::is_empty)
        return {};
    if (type != api::is_string)
        return wrong_type;
    const auto bytes = bytes_in(key.get());
    return bytes.empty() || bytes.starts_with(first_bytes) ? ""sv : no_sketch;
}

/// Returns the bytes of a string; nullopt: there is none.
std::optional<std::string> member_sketches::bytes_of(api::string* name) const {
    const auto key = open_key(run_.where(), name);
    const auto type = api::key_type(key.get());
    if (type == api::is_empty)
        return std::nullopt;
    if (type != api::is_string)
        throw call_failure{std::string{wrong_type}};
    return std::string{bytes_in(key.get())};
}

void member_sketches::report(std::span<core::rule_state> states) const noexcept {
    for (const auto& s : sketches_)
        states[s.rule].num = states[s.rule].debt;
}

/// Returns the number of members. A damaged sketch may accept the member, and fail only when it is
/// counted.
std::int64_t member_sketches::add_on_trial(sketch& to, api::string* name, std::string_view member) {
    if (run_.is_full())
        throw call_failure{std::string{over_maxmemory}};
    to.before = bytes_of(name);
    to.has_grown = read(run_, "PFADD", "sb", name, member.data(), member.size()).integer() == 1;
    to.is_tried = true;
    to.is_counted = to.has_grown || has_invalid_count(to.before.value_or(""));
    return read(run_, "PFCOUNT", "s", name).integer();
}

void member_sketches::try_member(std::string_view member, std::span<core::rule_state> states) {
    for (std::size_t i = 0; i < sketches_.size(); ++i) {
        auto& s = sketches_[i];
        auto& state = states[s.rule];
        s.is_first = s.has_grown = state.debt == 0;
        s.is_tried = s.is_counted = false;
        if (!s.is_first) {
            state.num = add_on_trial(s, name_of(i), member);
        } else if (const auto error = error_in(name_of(i)); !error.empty()) {
            throw call_failure{std::string{error}};
        } else {
            state.num = 1;
        }
    }
}

/// From the last one on, as rules may share a sketch, if the names of keys are the same.
void member_sketches::forget_trial() noexcept {
    for (auto i = sketches_.size(); i-- > 0;) {
        auto& s = sketches_[i];
        if (!std::exchange(s.is_tried, false))
            continue;
        const auto key = open_key(run_.where(), name_of(i));
        if (!s.before) {
            (void)api::delete_key(key.get());
            continue;
        }
        (void)api::string_truncate(key.get(), s.before->size());
        std::size_t size = 0;
        char* bytes = api::string_dma(key.get(), &size, api::read | api::write);
        std::ranges::copy(*s.before, bytes);
    }
}

void member_sketches::keep_trial(std::string_view member,
                                 std::span<const core::rule_state> states) {
    if (run_.is_full()) {
        forget_trial();
        throw call_failure{std::string{over_maxmemory}};
    }
    // In the order in which they came about, as rules may share a sketch: the trial was first.
    for (std::size_t i = 0; i < sketches_.size(); ++i) {
        auto& s = sketches_[i];
        s.is_tried = false;
        if (s.has_grown && !s.is_first)
            run_.propagate("PFADD", "sb", name_of(i), member.data(), member.size());
        if (s.is_counted)
            run_.propagate("PFCOUNT", "s", name_of(i));
    }
    for (std::size_t i = 0; i < sketches_.size(); ++i)
        if (sketches_[i].is_first) {
            (void)change(run_, "DEL", "!s", name_of(i));
            (void)change(run_, "PFADD", "!sb", name_of(i), member.data(), member.size());
        }
    for (std::size_t i = 0; i < sketches_.size(); ++i)
        if (const auto& s = sketches_[i]; s.has_grown)
            run_.keep(name_of(i), static_cast<double>(states[s.rule].t - run_.now()));
}

void member_sketches::keep_all(std::span<const core::rule_state> states) {
    for (std::size_t i = 0; i < sketches_.size(); ++i) {
        const auto& state = states[sketches_[i].rule];
        if (state.debt > 0 && error_in(name_of(i)).empty())
            run_.keep(name_of(i), static_cast<double>(state.t - run_.now()));
    }
}

void member_sketches::check_all() const {
    for (std::size_t i = 0; i < sketches_.size(); ++i)
        if (const auto error = error_in(name_of(i)); !error.empty())
            throw call_failure{std::string{error}};
}

void member_sketches::erase_all() {
    for (std::size_t i = 0; i < sketches_.size(); ++i)
        (void)change(run_, "DEL", "!s", name_of(i));
}

} // namespace colimit::server_module
