// SPDX-License-Identifier: BSL-1.0
//
// Decides where a batch goes that a node of a cluster has not executed, because its keys are, or
// may be, on another node.

#pragma once

#include <boost/core/noncopyable.hpp>

#include <cstddef>
#include <string_view>

namespace colimit::redis {

class script_queue;

struct rejected_batch {
    std::string_view error;   ///< the node's reply
    std::size_t group;        ///< of its keys
    std::size_t redirections; ///< before this one
    bool may_be_divided;      ///< it has several keys, which do not share a value
};

struct batch_destination {
    script_queue* queue = nullptr; ///< null: its calls end with the error
    bool asking = false;           ///< ASKING comes before it
    bool divided = false;          ///< into batches of one key
    std::size_t redirections = 0;  ///< from now on
};

class batch_router : boost::noncopyable {
  public:
    /// @param from the queue of the node
    [[nodiscard]] virtual batch_destination redirect(const script_queue& from,
                                                     const rejected_batch& what) noexcept = 0;

  protected:
    ~batch_router() = default;
};

} // namespace colimit::redis
