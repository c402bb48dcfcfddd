// SPDX-License-Identifier: BSL-1.0
//
// What `wait` keeps of a call: enough to give its place back, and to know its turn.

#ifndef COLIMIT_ENGINE_RESERVATION_HPP
#define COLIMIT_ENGINE_RESERVATION_HPP

#include <colimit/detail/operation.hpp>
#include <policy_data.hpp>

#include <boost/intrusive/set_hook.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace colimit::detail {

/// Its link in the line is a part of it: whoever has a place can wait for it, without memory.
struct reservation final : attachment, boost::intrusive::set_base_hook<> {
    reservation(std::string_view k, std::shared_ptr<const policy_data> p)
        : key(k), policy(std::move(p)) {}

    std::string key;
    std::shared_ptr<const policy_data> policy;
    operation* op = nullptr; ///< while it is in line
    std::int64_t turn = 0;   ///< by the store's clock
    std::int64_t due = 0;    ///< by the steady clock of this process
    std::uint64_t order = 0; ///< of reservation
    bool in_line = false;
    bool served = false;
    bool is_instead = false; ///< not given by the store that was asked first
    bool cancelled = false;  ///< after the store had answered, and before it came to the line
};

} // namespace colimit::detail

#endif
