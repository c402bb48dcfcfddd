// SPDX-License-Identifier: BSL-1.0
//
// Replication, and the commands that all servers have.

#include "redis_node.hpp"

#include <utility>

namespace colimit::simulation {

namespace resp = redis::resp;

void redis_node::follow(redis_node& master, std::int64_t lag) {
    if (master_ != nullptr)
        std::erase(master_->replicas_, this);
    master_ = &master;
    master.replicas_.push_back(this);
    incoming_.clear();
    copy_data(master);
    lag_ = lag;
    for (auto* r : std::exchange(replicas_, {}))
        r->follow(master, lag);
}

void redis_node::take_over(bool is_orderly) {
    apply_writes(is_orderly ? never : os().now());
    for (const auto& lost : std::exchange(incoming_, {}))
        lost.what(true);
    auto* old = std::exchange(master_, nullptr);
    std::erase(old->replicas_, this);
    old->be_left();
    for (auto* r : std::exchange(old->replicas_, {}))
        r->follow(*this, lag_);
}

void redis_node::kill() {
    server::kill();
    clear();
    incoming_.clear();
    forget_scripts();
}

void redis_node::start_empty(std::int64_t loading) {
    start();
    loading_until_ = os().now() + loading;
}

void redis_node::replicate(const std::function<write(redis_node& replica)>& made_for) {
    for (auto* r : replicas_) {
        r->apply_writes(os().now());
        r->incoming_.push_back({os().now() + r->lag_, made_for(*r)});
    }
}

void redis_node::apply_writes(std::int64_t until) {
    for (; !incoming_.empty() && incoming_.front().at <= until; incoming_.pop_front())
        incoming_.front().what(false);
}

bool redis_node::greet(session& of, words command, std::string& out) {
    const auto name = command[0];
    if (is_word(name, "PING")) {
        out.append("+PONG\r\n");
    } else if (is_word(name, "SELECT") || is_word(name, "AUTH")) {
        out.append("+OK\r\n");
    } else if (is_word(name, "INFO")) {
        resp::append_bulk(out, "redis_mode:" + std::string{mode()} +
                                   "\r\nrun_id:0123456789abcdef0123456789abcdef01234567\r\n");
    } else if (is_word(name, "ROLE") && is_master()) {
        out.append("*3\r\n$6\r\nmaster\r\n:0\r\n*0\r\n");
    } else if (is_word(name, "ROLE")) {
        append_texts(out, {"slave", master_->address().host, "6379", "connected", "0"});
    } else if (is_word(name, "CLUSTER")) {
        tell_about_cluster(command, out);
    } else if (is_word(name, "ASKING")) {
        of.is_asking = true;
        out.append("+OK\r\n");
    } else {
        return false;
    }
    return true;
}

void redis_node::tell_about_cluster(words command, std::string& out) {
    if (rules_ == nullptr)
        append_error(out, "ERR This instance has cluster support disabled");
    else if (is_word(command[1], "INFO"))
        resp::append_bulk(out, rules_->info(*this));
    else
        out.append(rules_->slots(*this));
}

} // namespace colimit::simulation
