// SPDX-License-Identifier: BSL-1.0
//
// The stages of a call, from its start to its handler.

#include <async/post_preallocated.hpp>
#include <base/clocks.hpp>
#include <core/call_fault.hpp>
#include <hash/process_secret.hpp>
#include <limiter/core_service.hpp>
#include <limiter/kept_checks.hpp>
#include <limiter/limiter_core.hpp>
#include <limiter/many_calls.hpp>
#include <policy/policy_data.hpp>
#include <policy/request_check.hpp>

#include <boost/asio/execution/context.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/query.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/assert.hpp>

#include <exception>
#include <mutex>
#include <new>
#include <utility>

namespace colimit::detail {
namespace {

/// The number of handlers that one of several threads runs in a row: the rest is for the others.
constexpr std::size_t handlers_per_thread = 32;

/// Returns a strand on the executor itself if its type is known: a strand on a type-erased executor
/// allocates in each query.
[[nodiscard]] asio::any_io_executor strand_on(const asio::any_io_executor& executor) {
    if (const auto* context = executor.target<asio::io_context::executor_type>())
        return asio::make_strand(*context);
    if (const auto* pool = executor.target<asio::thread_pool::executor_type>())
        return asio::make_strand(*pool);
    return asio::make_strand(executor);
}

/// Returns a table of decisions without the server; none if calls have a clock of their own.
template<class Table, class... Arguments>
[[nodiscard]] std::optional<Table> make_table(const config& c, bool has_server, std::size_t size,
                                              Arguments... arguments) {
    if (!has_server || size == 0 || c.advanced.mode == execution_mode::multi || c.advanced.clock)
        return std::nullopt;
    return std::optional<Table>{std::in_place, size, arguments..., steady_now};
}

} // namespace

// Life

limiter_core::limiter_core(asio::any_io_executor executor, const config& settings, bool has_server)
    : executor_(std::move(executor)),
      own_executor_(settings.thread_safe ? strand_on(executor_) : executor_),
      calls_(std::make_shared<call_pool>(settings.thread_safe)), lock_(calls_->lock),
      thread_check_(executor_, settings.thread_safe), clock_(settings.advanced.clock),
      denials_(make_table<deny_cache>(
          settings, has_server, settings.advanced.deny_cache,
          std::chrono::microseconds{settings.advanced.deny_cache_max_age}.count())),
      leases_(make_table<lease_table>(settings, has_server, settings.advanced.max_leases)),
      waits_(*this, settings.advanced.max_waiting), slots_(*this),
      filters_(*this, settings.on_event),
      counter_(std::chrono::microseconds{settings.timeout}.count()),
      observer_(call_observer::make(settings)) {
    (void)hash::process_secret();
    if (has_server)
        fallback_.emplace(settings);
}

limiter_core::~limiter_core() {
    drop_completed();
    if (service_ != nullptr)
        service_->remove(*this);
}

void limiter_core::open(std::unique_ptr<backend> store) {
    backend_ = std::move(store);
    auto& service =
        asio::use_service<core_service>(asio::query(executor_, asio::execution::context));
    service.add(*this);
    service_ = &service;
    state_ = backend_->state();
    state_since_ = std::chrono::system_clock::now();
    const std::lock_guard guard{lock_};
    backend_->open();
}

void limiter_core::close() noexcept {
    const std::lock_guard guard{lock_};
    close_locked();
}

void limiter_core::close_locked() noexcept {
    if (std::exchange(is_closed_, true))
        return;
    track_state();
    backend_->shutdown(errc::closed);
    if (leases_)
        leases_->clear();
    slots_.close();
    auto waiting = waits_.take_all();
    while (auto* op = waiting.pop_front())
        complete(*op, errc::closed);
}

void limiter_core::abandon() noexcept {
    {
        const std::lock_guard guard{lock_};
        service_ = nullptr; // it has removed this limiter
        is_abandoned_ = true;
        close_locked();
    }
    drop_completed();
}

void limiter_core::drop_completed() noexcept {
    auto list = std::move(completed_);
    while (auto* op = list.pop_front())
        op->finish(op, false);
}

// The start of a call

void start(operation& op, const call& c) noexcept {
    auto& core = *op.owner;
    BOOST_ASSERT_MSG(core.thread_check_.allows_this_thread(),
                     "a limiter without config::thread_safe is used outside of its executor");
    const std::lock_guard guard{core.lock_};
    core.start_locked(op, c);
}

void limiter_core::start_locked(operation& op, const call& c) noexcept {
    op.request = c.request;
    op.kind = c.kind;
    counter_.begin(op);
    try {
        if (observer_) [[unlikely]]
            observer_->begin(op, c);
        if (begin(op, c) == stage_result::kept)
            return;
    } catch (const std::bad_alloc&) {
        op.ec = make_error_code(boost::system::errc::not_enough_memory);
    }
    complete(op);
}

stage_result limiter_core::begin(operation& op, const call& c) {
    if (is_closed_)
        return ended(op, errc::closed);
    switch (c.kind) {
    case call_kind::ready:
        return backend_->start(op, {}, nullptr);
    case call_kind::once:
        return begin_one(op, c, once_policy());
    case call_kind::each:
        return many_calls::begin(*this, op, c);
    case call_kind::all:
        return begin_all(op, c);
    default:
        return begin_one(op, c, *c.policy);
    }
}

stage_result limiter_core::begin_one(operation& op, const call& c, const policy_pointer& policy) {
    const auto& rules = policy->compiled;
    if (op.request.verb == verb::acquire)
        slots_.begin(op, c);
    if (!is_valid(op.request, rules))
        return ended(op, error_of_request(op.request, rules));
    if (op.kind == call_kind::count && op.request.rule == no_rule)
        return ended(op, error_of_count(rules));
    if (c.key.size() > limits::max_key_bytes)
        return ended(op, errc::invalid_key);
    if (c.max_wait < 0 || c.max_wait > limits::max_repayment.count())
        return ended(op, error_of(fault::max_wait));
    if ((op.request.verb == verb::reserve || c.max_wait > 0) && !waits_.begin(op, c))
        return ended(op, errc::too_many_in_flight);
    if (!policy->filter || fallback_) // without a server, the store has other digests of ids
        op.key_digest = policy->digest(c.key);
    if (op.kind == call_kind::wait)
        return waits_.join(op);
    const auto is_due =
        op.request.verb == verb::allow && policy->filter && filters_.is_due(*policy);
    const auto now = op.request.now;
    const auto result = ask(op, c.key, policy);
    if (is_due)
        filters_.inspect(policy, now);
    return result;
}

stage_result limiter_core::ask(operation& op, std::string_view key, const policy_pointer& policy) {
    if (clock_ && op.request.now == store_clock) {
        op.request.now = clock_of(clock_());
        if (!is_valid(op.request, policy->compiled))
            return ended(op, error_of_request(op.request, policy->compiled));
    }
    if (op.request.verb == verb::acquire)
        slot_keeper::note_asked(op);
    if (fallback_ && try_decide_locally(op, policy) == stage_result::ended)
        return stage_result::ended;
    return backend_->start(op, key, &policy);
}

/// Decides the call if it needs no request to the server. Otherwise keeps what its end will need.
stage_result limiter_core::try_decide_locally(operation& op, const policy_pointer& policy) {
    const auto may_be_leased =
        leases_ && !policy->filter && (policy->may_lease || !leases_->is_empty());
    if (may_be_leased && leases_->try_decide(op, *policy))
        return stage_result::ended;
    if (op.lease.is_known)
        op.fallback.policy = policy;
    if (denials_ && !policy->filter && denials_->try_decide(op, *policy))
        return stage_result::ended;
    fallback_->keep(op, policy);
    if (op.lease.is_known)
        leases_->ask(op, *policy);
    return stage_result::kept;
}

stage_result limiter_core::begin_all(operation& op, const call& c) {
    op.checks = c.checks;
    if (const auto wrong = error_of_checks(c.checks); wrong)
        return ended(op, wrong);
    op.request = make_request(verb::allow, c.checks.front().options);
    if (clock_ && op.request.now == store_clock)
        op.request.now = clock_of(clock_());
    if (op.request.now > limits::max_time || op.request.now < store_clock)
        return ended(op, error_of(fault::time));
    if (fallback_)
        fallback_->keep_checks(op, denials_ || leases_);
    if (denials_ || leases_) {
        const auto kept = static_cast<kept_checks&>(*op.attached).all();
        for (std::size_t i = 0; i < kept.size(); ++i) {
            const auto& one = op.checks[i];
            if (denials_)
                kept[i].denial =
                    denials_->begin_check(kept[i].key, *access::data(one.policy), one.options);
            if (leases_)
                leases_->begin_other(verb::allow, kept[i].key, *access::data(one.policy));
        }
    }
    return backend_->start(op, {}, nullptr);
}

// Its end

void limiter_core::note_ended(operation_list& list, std::int64_t now) noexcept {
    for (auto& op : list) {
        if (leases_)
            leases_->note(op, now);
        if (!denials_)
            continue;
        if (op.kind != call_kind::all) {
            denials_->note(op, now);
            continue;
        }
        const auto kept = static_cast<kept_checks&>(*op.attached).all();
        for (std::size_t i = 0; i < kept.size(); ++i)
            denials_->note_check(op, op.checks[i], kept[i].key, kept[i].denial, now);
    }
}

void limiter_core::complete(operation& op) noexcept {
    completed_.push_back(op);
    schedule();
}

void limiter_core::complete_all(operation_list& list) noexcept {
    while (auto* op = list.pop_front())
        complete(*op);
}

void limiter_core::schedule() noexcept {
    if (is_abandoned_ || std::exchange(is_scheduled_, true))
        return;
    try {
        post_preallocated(executor_, completed_memory_,
                          [self = shared_from_this()] { self->run(self->take_completed()); });
    } catch (const std::bad_alloc&) {
        is_scheduled_ = false; // the next call that is done tries again
    }
}

/// Returns the completed calls; if threads share the limiter, some of them, and posts a function
/// for the rest.
operation_list limiter_core::take_completed() {
    const std::lock_guard guard{lock_};
    is_scheduled_ = false;
    if (!lock_.is_needed())
        return std::move(completed_);
    auto list = operation_list{};
    for (std::size_t i = 0; i < handlers_per_thread && !completed_.empty(); ++i)
        list.push_back(*completed_.pop_front());
    if (!completed_.empty())
        schedule();
    return list;
}

void limiter_core::run(operation_list list) {
    BOOST_ASSERT((thread_check_.note_this_thread(), true));
    try {
        while (auto* op = list.pop_front())
            if (finish(*op) == stage_result::ended)
                op->observed ? finish_observed(*op) : op->finish(op, true);
    } catch (...) {
        const std::lock_guard guard{lock_};
        complete_all(list);
        throw;
    }
}

void limiter_core::end_observed(operation& op, std::int64_t now) noexcept {
    const auto took = counter_.duration(op, now);
    observer_->end(op, op.deadline != 0 ? &took : nullptr);
}

/// Runs the handler of a call, and before it the function for audit logs; also if that throws.
void limiter_core::finish_observed(operation& op) {
    auto thrown = std::exception_ptr{};
    try {
        observer_->report(op);
    } catch (...) {
        thrown = std::current_exception();
    }
    op.observed.reset();
    op.finish(&op, true);
    if (thrown)
        std::rethrow_exception(thrown);
}

/// The stages of a call between its decision and its handler.
stage_result limiter_core::finish(operation& op) {
    const std::lock_guard guard{lock_};
    const auto why = op.ec;
    if (op.request.verb == verb::acquire)
        slot_keeper::note_answer(op);
    const auto is_leased = leases_ && leases_->try_settle(op, fallback::may_decide(why));
    if (why && !is_leased && fallback_) {
        fallback_->answer(op);
        if (!op.ec)
            backend_->on_fallback(op, why);
    }
    if (waits_.try_enqueue(op))
        return stage_result::kept;
    if (op.request.verb == verb::acquire)
        slots_.end(op);
    const auto now = op.deadline != 0 ? backend_->now() : 0;
    counter_.end(op, now);
    if (op.observed)
        end_observed(op, now);
    waits_.end(op);
    op.has_left = true;
    return stage_result::ended;
}

// What the templates of the verbs call

std::shared_ptr<call_pool> pool_of(const limiter_core& core) noexcept {
    return core.calls();
}

call_pool& pool_reference(const limiter_core& core) noexcept {
    return *core.calls();
}

static_assert(pool_alignment == node_pool::alignment);

void* allocate(call_pool& pool, std::size_t bytes) {
    return pool.memory.allocate(bytes);
}

void deallocate(call_pool& pool, void* memory, std::size_t bytes) noexcept {
    pool.memory.deallocate(memory, bytes);
}

bool serves_threads(const call_pool& pool) noexcept {
    return pool.lock.is_needed();
}

const asio::any_io_executor& executor_of(const limiter_core& core) noexcept {
    return core.executor();
}

void cancel(operation& op, asio::cancellation_type type) noexcept {
    const std::lock_guard guard{op.pool->lock};
    if (!op.has_left)
        op.owner->cancel_locked(op, type);
}

} // namespace colimit::detail
