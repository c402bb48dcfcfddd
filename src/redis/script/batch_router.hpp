// SPDX-License-Identifier: BSL-1.0
//
// Decides where a batch goes that a node of a cluster has not executed, because its keys are, or
// may be, on another node.

#pragma once

#include <colimit/error.hpp>

#include <boost/core/noncopyable.hpp>

#include <cstddef>
#include <optional>
#include <string_view>

namespace colimit::redis {

class script_queue;

struct rejected_batch {
    std::string_view error;   ///< the node's reply
    bool is_denied;           ///< it has refused the ASKING before that
    std::size_t group;        ///< of its keys
    std::size_t redirections; ///< before this one
    bool may_be_divided;      ///< it has several keys, which do not share a value
};

struct batch_destination {
    script_queue* queue = nullptr; ///< null: its calls end
    std::optional<errc> error{};   ///< with this error; nullopt: as the node's reply means
    bool asking = false;           ///< ASKING comes before it
    bool divided = false;          ///< into batches of one key
    bool parked = false;           ///< behind all work that may be served
    std::size_t redirections = 0;  ///< from now on
};

class batch_router : boost::noncopyable {
  public:
    /// @param from the queue of the node
    [[nodiscard]] virtual batch_destination redirect(const script_queue& from,
                                                     const rejected_batch& what) noexcept = 0;
    /// Called when a node has executed a batch.
    /// @param was_parked it had been rejected before
    virtual void on_served(const script_queue& by, std::size_t group, bool was_parked) noexcept = 0;

  protected:
    ~batch_router() = default;
};

} // namespace colimit::redis
