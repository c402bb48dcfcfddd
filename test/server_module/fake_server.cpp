// SPDX-License-Identifier: BSL-1.0
//
// The functions of the module interface, after their documentation:
// https://redis.io/docs/latest/develop/reference/modules/modules-api-ref/

#include <server_module/fake_interface.hpp>
#include <server_module/fake_server.hpp>
#include <server_module/server_time.hpp>

#include <array>
#include <cctype>
#include <cerrno>
#include <climits>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <iostream>
#include <map>
#include <optional>

namespace api = colimit::server_module::api;

extern "C" int RedisModule_OnLoad(api::context*, api::string**, int) noexcept;
extern "C" int RedisModule_OnUnload(api::context*) noexcept;

namespace colimit::test::fake {
namespace {

[[noreturn]] void fail(const std::string& what) {
    std::cerr << "the module interface: " << what << '\n';
    std::abort();
}

void expect(bool is_right, const char* what) {
    if (!is_right)
        fail(what);
}

/// Returns whether the bytes are one reply, and nothing else.
[[nodiscard]] bool is_one_reply(std::string_view bytes) {
    for (auto left = std::int64_t{1}; left > 0; --left) {
        const auto line = bytes.find("\r\n");
        if (line == std::string_view::npos || line == 0)
            return false;
        const auto kind = bytes[0];
        const auto number = std::atoll(bytes.data() + 1);
        bytes.remove_prefix(line + 2);
        if (kind == '*')
            left += number;
        if (kind == '$' && number >= 0) {
            const auto size = static_cast<std::size_t>(number) + 2;
            if (bytes.size() < size)
                return false;
            bytes.remove_prefix(size);
        }
    }
    return bytes.empty();
}

/// Of all servers, since looking a function up does not say for which one.
server* loading = nullptr;
/// The clock of the server that runs a command.
std::int64_t now_us = 0;

struct open_things {
    int keys = 0;
    int replies = 0;
    int strings = 0;
};
open_things open_now; ///< that the module has to close

[[nodiscard]] bool needs_memory(const std::string& name) {
    return effect_of(name) == command_effect::grows;
}

} // namespace

struct server::state {
    std::set<std::string> lacks;
    std::map<std::string, api::command> commands;
    std::map<std::uint64_t, api::event_function> events;
    bool is_loaded = false;
};

struct functions {
    static server& of(const api::context* where) { return *where->of; }
    static server::state& state_of(const api::context* where) { return *where->of->state_; }

    static int find(const char* name, void* function);

    static void log(api::context* where, const char* level, const char* format, ...) {
        std::va_list list;
        va_start(list, format);
        auto text = std::array<char, 1'024>{};
        (void)std::vsnprintf(text.data(), text.size(), format, list);
        va_end(list);
        of(where).log.append(level).append(": ").append(text.data()).append("\n");
    }
    static int set_attributes(api::context* where, const char*, int, int version) {
        expect(version == 1, "version of the interface");
        state_of(where).is_loaded = true;
        return api::ok;
    }
    static int is_name_busy(const char*) { return loading->state_->is_loaded ? 1 : 0; }
    static void set_options(api::context* where, int options) { of(where).options = options; }

    static int create_command(api::context* where, const char* name, api::command_function run,
                              const char* flags, int first, int, int) {
        auto& all = state_of(where).commands;
        auto lower = std::string{name};
        for (auto& c : lower)
            c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
        return all.try_emplace(lower, api::command{lower, run, flags, first}).second ? api::ok
                                                                                     : api::failed;
    }
    static api::command* get_command(api::context* where, const char* name) {
        return find_command(of(where), name);
    }
    static api::command* find_command(const server& in, std::string name) {
        for (auto& c : name)
            c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
        const auto found = in.state_->commands.find(name);
        return found == in.state_->commands.end() ? nullptr : &found->second;
    }
    static int set_command_info(api::command* made, const api::command_info* info) {
        auto read = api::documented_info{};
        std::memcpy(&read, static_cast<const void*>(info), sizeof read);
        made->arity = read.arity;
        return api::ok;
    }
    static int set_categories(api::command*, const char*) { return api::ok; }
    static int subscribe(api::context* where, api::event what, api::event_function run) {
        if (what.version != 1)
            return api::failed;
        state_of(where).events[what.id] = run;
        return api::ok;
    }

    static int is_keys_request(api::context* where) { return where->keys != nullptr ? 1 : 0; }
    static void key_at(api::context* where, int position) { where->keys->push_back(position); }
    static int context_flags(api::context* where) { return of(where).flags; }

    static const char* string_data(const api::string* s, std::size_t* size) {
        *size = s->text.size();
        return s->text.data();
    }
    static api::string* create_string(api::context*, const char* text, std::size_t size) {
        ++open_now.strings;
        return new api::string{std::string{text, size}};
    }
    static void free_string(api::context*, api::string* s) {
        expect(!s->is_argument, "an argument is freed");
        --open_now.strings;
        delete s;
    }

    static api::key* open_key(api::context* where, api::string* name, int mode) {
        auto* found = of(where).keys.find(name->text);
        if (found == nullptr && (mode & api::write) == 0)
            return nullptr;
        ++open_now.keys;
        return new api::key{where, name->text, mode, found};
    }
    static void close_key(api::key* open) {
        if (open == nullptr)
            return;
        --open_now.keys;
        delete open;
    }
    static int key_type(api::key* open) {
        if (open == nullptr || open->found == nullptr)
            return api::is_empty;
        constexpr int types[] = {api::is_string, 3, 5, 2}; // hash, sorted set, list
        return types[open->found->content.index()];
    }
    static char* string_dma(api::key* open, std::size_t* size, int mode) {
        static char none[] = "<dma-empty-string>";
        expect(open != nullptr, "DMA of no key");
        if (open->found == nullptr) {
            *size = 0;
            return none;
        }
        auto* s = std::get_if<bytes>(&open->found->content);
        if (s == nullptr)
            return nullptr;
        constexpr std::size_t embedded = 44; // such strings move also to be read
        if ((mode & api::write) != 0 || s->size() <= embedded)
            s->unshare();
        *size = s->size();
        return s->data();
    }
    static int string_truncate(api::key* open, std::size_t size) {
        constexpr std::size_t longest = 512U << 20U;
        if ((open->mode & api::write) == 0 || size > longest)
            return api::failed;
        if (open->found == nullptr) {
            if (size == 0)
                return api::ok;
            open->found = &of(open->where).keys.put(open->name, {bytes{}});
        }
        auto* s = std::get_if<bytes>(&open->found->content);
        if (s == nullptr)
            return api::failed;
        if (s->size() != size)
            s->resize(size);
        return api::ok;
    }
    static int delete_key(api::key* open) {
        if ((open->mode & api::write) == 0)
            return api::failed;
        if (open->found != nullptr)
            of(open->where).keys.erase(open->name);
        open->found = nullptr;
        return api::ok;
    }
    static int set_expiry(api::key* open, long long at) {
        if ((open->mode & api::write) == 0 || open->found == nullptr || at < 0)
            return api::failed;
        open->found->expires_ms = at;
        return api::ok;
    }
    static int signal_modified(api::context* where, api::string* name) {
        of(where).signalled.insert(name->text);
        return api::ok;
    }

    /// The arguments of a call in the documented format.
    struct call_arguments {
        words arguments;
        bool is_propagated = false;
        bool respects_oom = false;
        bool returns_errors = false;
    };
    static call_arguments read_call(const char* name, const char* format, std::va_list list) {
        auto made = call_arguments{.arguments = {name}};
        for (; *format != '\0'; ++format) {
            switch (*format) {
            case 'c':
                made.arguments.emplace_back(va_arg(list, const char*));
                break;
            case 's':
                made.arguments.push_back(va_arg(list, const api::string*)->text);
                break;
            case 'b': {
                const auto* text = va_arg(list, const char*);
                made.arguments.emplace_back(text, va_arg(list, std::size_t));
                break;
            }
            case 'l':
                made.arguments.push_back(std::to_string(va_arg(list, long long)));
                break;
            case 'v': {
                auto** all = va_arg(list, api::string**);
                for (auto left = va_arg(list, std::size_t); left != 0; --left)
                    made.arguments.push_back((*all++)->text);
                break;
            }
            case '!':
                made.is_propagated = true;
                break;
            case 'M':
                made.respects_oom = true;
                break;
            case 'E':
                made.returns_errors = true;
                break;
            default:
                fail(std::string{"an unknown format "} + format);
            }
        }
        return made;
    }
    static bool has_listeners(const server& by) {
        return by.has_backlog || (by.flags & (has_aof | in_cluster)) != 0;
    }
    static void propagate(server& by, const words& command) {
        ++by.dirty;
        if (has_listeners(by))
            by.propagated.push_back(command);
    }
    static int replicate(api::context* where, const char* name, const char* format, ...) {
        std::va_list list;
        va_start(list, format);
        const auto made = read_call(name, format, list);
        va_end(list);
        propagate(of(where), made.arguments);
        return api::ok;
    }
    static int replicate_command(api::context* where) {
        propagate(of(where), where->command);
        return api::ok;
    }

    static std::optional<reply> execute(server& by, const words& command) {
        if (command[0] == "INFO")
            return reply{.kind = reply_kind::text,
                         .text = std::string{"# Replication\r\nrole:master\r\n"
                                             "repl_backlog_active:"} +
                                 (by.has_backlog ? "1" : "0") + "\r\n"};
        if (command[0] == "ACL") {
            auto all = reply{.kind = reply_kind::array};
            for (const auto& user : by.users)
                all.elements.push_back({.kind = reply_kind::text, .text = user});
            return all;
        }
        return by.keys.execute(command);
    }
    static api::call_reply wrap(reply what, bool is_root) {
        auto made = api::call_reply{.what = {}, .elements = {}, .is_root = is_root};
        for (auto& e : what.elements)
            made.elements.push_back(wrap(std::move(e), false));
        made.what = std::move(what);
        return made;
    }
    static api::call_reply* call(api::context* where, const char* name, const char* format, ...) {
        std::va_list list;
        va_start(list, format);
        const auto made = read_call(name, format, list);
        va_end(list);
        auto& by = of(where);
        ++by.calls;
        auto done = std::optional<reply>{};
        if (made.respects_oom && by.is_full && needs_memory(made.arguments[0])) {
            errno = ENOSPC;
            if (made.returns_errors)
                done = reply{.kind = reply_kind::error, .text = "OOM command not allowed"};
        } else {
            done = execute(by, made.arguments);
            if (!done)
                fail("an unknown command " + made.arguments[0]);
            if (done->kind != reply_kind::error &&
                effect_of(made.arguments[0]).value_or(command_effect::reads) !=
                    command_effect::reads) {
                by.signalled.insert(made.arguments.begin() + 1, made.arguments.end());
                if (made.is_propagated)
                    propagate(by, made.arguments);
            }
        }
        if (!done)
            return nullptr;
        ++open_now.replies;
        return new api::call_reply{wrap(std::move(*done), true)};
    }
    static int reply_type(api::call_reply* from) {
        switch (from->what.kind) {
        case reply_kind::text:
        case reply_kind::status:
            return 0;
        case reply_kind::error:
            return 1;
        case reply_kind::integer:
            return 2;
        case reply_kind::array:
            return 3;
        default:
            return 4;
        }
    }
    static long long reply_integer(api::call_reply* from) {
        return from->what.kind == reply_kind::integer ? from->what.number : LLONG_MIN;
    }
    static api::call_reply* reply_element(api::call_reply* from, std::size_t index) {
        const auto is_there = from->what.kind == reply_kind::array && index < from->elements.size();
        return is_there ? &from->elements[index] : nullptr;
    }
    static const char* reply_data(api::call_reply* from, std::size_t* size) {
        const auto has_text = from->what.kind == reply_kind::text ||
                              from->what.kind == reply_kind::status ||
                              from->what.kind == reply_kind::error;
        *size = has_text ? from->what.text.size() : 0;
        return has_text ? from->what.text.data() : nullptr;
    }
    static void free_reply(api::call_reply* from) {
        expect(from->is_root, "an element of a reply is freed");
        --open_now.replies;
        delete from;
    }

    static int send_array(api::context* where, long size) {
        expect(size >= 0, "an array of negative size");
        where->reply += '*' + std::to_string(size) + "\r\n";
        return api::ok;
    }
    static int send_map(api::context* where, long size) { return send_array(where, 2 * size); }
    static int send_string(api::context* where, const char* text, std::size_t size) {
        where->reply += '$' + std::to_string(size) + "\r\n";
        where->reply.append(text, size).append("\r\n");
        return api::ok;
    }
    static int send_integer(api::context* where, long long number) {
        where->reply += ':' + std::to_string(number) + "\r\n";
        return api::ok;
    }
    static int send_null(api::context* where) {
        where->reply += "$-1\r\n";
        return api::ok;
    }
    static int send_error(api::context* where, const char* text) {
        expect(std::strpbrk(text, "\r\n") == nullptr, "an error of several lines");
        where->reply.append("-").append(text).append("\r\n");
        return api::ok;
    }

    static bool is_replicated_or_loading(const server& by) {
        return (by.flags & (from_master | is_loading)) != 0;
    }

    static std::string refusal(const server& by, const api::command& c, const words& command) {
        const auto has = [&c](std::string_view flag) {
            return c.flags.find(flag) != std::string::npos;
        };
        const auto count = static_cast<int>(command.size());
        if ((c.arity > 0 && count != c.arity) || (c.arity < 0 && count < -c.arity))
            return "-ERR wrong number of arguments for '" + c.name + "' command\r\n";
        if (by.is_full && has("deny-oom") && !is_replicated_or_loading(by))
            return "-OOM command not allowed when used memory > 'maxmemory'.\r\n";
        if ((by.flags & is_replica) != 0 && (by.flags & from_master) == 0 && has("write"))
            return "-READONLY You can't write against a read only replica.\r\n";
        return {};
    }

    static std::string run(server& by, const words& command, std::vector<int>* keys) {
        by.propagated.clear();
        by.signalled.clear();
        by.dirty = 0;
        now_us = by.now_us;
        by.keys.begin(by.now_ms(), is_replicated_or_loading(by));
        auto* c = find_command(by, command.front());
        if (c == nullptr)
            return "-ERR unknown command\r\n";
        if (keys == nullptr)
            if (auto error = refusal(by, *c, command); !error.empty())
                return error;
        auto where = api::context{.find = find, .of = &by};
        where.command = command;
        where.keys = keys;
        auto arguments = std::vector<api::string>{};
        for (const auto& word : command)
            arguments.push_back({word, true});
        auto pointers = std::vector<api::string*>{};
        for (auto& a : arguments)
            pointers.push_back(&a);
        open_now = {};
        expect(c->run(&where, pointers.data(), static_cast<int>(pointers.size())) == api::ok,
               "a command has failed");
        expect(open_now.keys == 0, "a key is not closed");
        expect(open_now.replies == 0, "a reply is not freed");
        expect(open_now.strings == 0, "a string is not freed");
        if (keys == nullptr && !is_one_reply(where.reply))
            fail("not one reply: " + where.reply);
        return where.reply;
    }
};

} // namespace colimit::test::fake

namespace colimit::server_module {

std::int64_t server_time() noexcept {
    return test::fake::now_us;
}

} // namespace colimit::server_module

namespace colimit::server_module::api {

/// Returns the functions by their names. Each has the type that the module declares.
static std::map<std::string, void*, std::less<>> functions_by_name() {
    auto all = std::map<std::string, void*, std::less<>>{};
#define COLIMIT_FAKE(name, text, result, types)                                                    \
    {                                                                                              \
        result(*made) types = test::fake::functions::name;                                         \
        all["RedisModule_" text] = reinterpret_cast<void*>(made);                                  \
    }
    COLIMIT_API_REQUIRED(COLIMIT_FAKE)
    COLIMIT_API_OPTIONAL(COLIMIT_FAKE)
#undef COLIMIT_FAKE
    return all;
}

} // namespace colimit::server_module::api

namespace colimit::test::fake {

int functions::find(const char* name, void* function) {
    static const auto known = api::functions_by_name();
    const auto found = known.find(std::string_view{name});
    if (found == known.end() || loading->state_->lacks.contains(name))
        return api::failed;
    std::memcpy(function, &found->second, sizeof found->second);
    return api::ok;
}

server::server(std::set<std::string> lacks)
    : state_(std::make_unique<state>(
          state{.lacks = std::move(lacks), .commands = {}, .events = {}, .is_loaded = false})) {}
server::~server() = default;

bool server::load(const words& arguments) {
    loading = this;
    auto where = api::context{.find = functions::find, .of = this};
    auto strings = std::vector<api::string>{};
    for (const auto& a : arguments)
        strings.push_back({a, true});
    auto pointers = std::vector<api::string*>{};
    for (auto& s : strings)
        pointers.push_back(&s);
    const auto done =
        RedisModule_OnLoad(&where, pointers.data(), static_cast<int>(pointers.size())) == api::ok;
    if (!done)
        state_->commands.clear();
    return done;
}

void server::occupy(const std::string& command) {
    state_->commands.emplace(command, api::command{command, nullptr, "", 0});
}

bool server::unload() {
    auto where = api::context{.find = functions::find, .of = this};
    open_now = {};
    const auto done = RedisModule_OnUnload(&where) == api::ok;
    expect(open_now.replies == 0, "a reply is not freed");
    if (done)
        state_->commands.clear();
    return done;
}

std::string server::run(const words& command) {
    return functions::run(*this, command, nullptr);
}

std::vector<int> server::keys_of(const words& command) {
    auto all = std::vector<int>{};
    (void)functions::run(*this, command, &all);
    return all;
}

void server::repeat(const words& command) {
    if (has(command.front())) {
        (void)run(command);
        return;
    }
    const auto done = keys.execute(command);
    if (!done || done->kind == reply_kind::error)
        fail("a propagated " + command.front() + " fails: " + (done ? done->text : "unknown"));
}

bool server::has(const std::string& command) const {
    return functions::find_command(*this, command) != nullptr;
}

std::string server::flags_of(const std::string& command) const {
    const auto& c = *functions::find_command(*this, command);
    return c.flags + ' ' + std::to_string(c.first_key);
}

void server::fire(std::uint64_t event_id, std::uint64_t subevent) {
    auto where = api::context{.find = functions::find, .of = this};
    if (const auto found = state_->events.find(event_id); found != state_->events.end())
        found->second(&where, {event_id, 1}, subevent, nullptr);
}

void server::accept_replica() {
    constexpr std::uint64_t fork_child = 13;
    has_backlog = true;
    fire(fork_child, 0);
}

} // namespace colimit::test::fake
