// SPDX-License-Identifier: BSL-1.0
//
// Lua leaves functions with errors by longjmp: so what has a destructor is in functions that return
// before an error is raised.

#include <server_module/script_engine.hpp>

#include <server_module/lua_struct.hpp>

#include <lua.hpp>

#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string_view>

namespace colimit::test::fake {
namespace {

/// The script that runs.
struct execution {
    server& on;
    bool has_written = false; ///< so the server refuses nothing any more for want of memory
};
execution* running = nullptr;

void push_text(lua_State* l, std::string_view text) {
    lua_pushlstring(l, text.data(), text.size());
}

/// Pushes a table with one field, as that of an error.
void push_record(lua_State* l, const char* field, std::string_view text) {
    lua_createtable(l, 0, 1);
    push_text(l, text);
    lua_setfield(l, -2, field);
}

void push_reply(lua_State* l, const reply& r) {
    switch (r.kind) {
    case reply_kind::nil:
        return lua_pushboolean(l, 0);
    case reply_kind::text:
        return push_text(l, r.text);
    case reply_kind::status:
        return push_record(l, "ok", r.text);
    case reply_kind::error:
        return push_record(l, "err", r.text);
    case reply_kind::integer:
        return lua_pushnumber(l, static_cast<lua_Number>(r.number));
    case reply_kind::array:
        lua_createtable(l, static_cast<int>(r.elements.size()), 0);
        for (std::size_t i = 0; i < r.elements.size(); ++i) {
            push_reply(l, r.elements[i]);
            lua_rawseti(l, -2, static_cast<int>(i + 1));
        }
    }
}

[[nodiscard]] std::string lower(std::string text) {
    for (auto& c : text)
        c = static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
    return text;
}

[[nodiscard]] reply error_of(std::string text) {
    return {.kind = reply_kind::error, .text = std::move(text)};
}

[[nodiscard]] bool is_known(const std::string& command) {
    return command == "TIME" || effect_of(command).has_value();
}

[[nodiscard]] reply time_of(const server& s) {
    constexpr std::int64_t second = 1'000'000;
    auto made = reply{.kind = reply_kind::array};
    for (const auto part : {s.now_us / second, s.now_us % second})
        made.elements.push_back({.kind = reply_kind::text, .text = std::to_string(part)});
    return made;
}

/// Servers propagate no times that are relative.
[[nodiscard]] words with_absolute_time(words command, const server& s) {
    const auto absolute = [&s](const std::string& ms) {
        return std::to_string(s.now_ms() + std::stoll(ms));
    };
    if (command[0] == "PEXPIRE") {
        command[0] = "PEXPIREAT";
        command[2] = absolute(command[2]);
    }
    if (command[0] == "SET" && command.size() > 4 && command[3] == "PX") {
        command[3] = "PXAT";
        command[4] = absolute(command[4]);
    }
    return command;
}

[[nodiscard]] reply run_command(execution& e, const words& command) {
    using enum command_effect;
    if (!is_known(command[0]))
        return error_of("ERR Unknown Redis command called from script");
    if (const auto name = lower(command[0]); e.on.denied.contains(name))
        return error_of("NOPERM User default has no permissions to run the '" + name + "' command");
    if (command[0] == "TIME")
        return time_of(e.on);
    const auto effect = *effect_of(command[0]);
    if (effect >= writes && (e.on.flags & is_replica) != 0)
        return error_of("READONLY You can't write against a read only replica.");
    if (effect == grows && e.on.is_full && !e.has_written)
        return error_of("OOM command not allowed when used memory > 'maxmemory'.");
    e.has_written = e.has_written || effect >= writes;
    auto done = *e.on.keys.execute(command);
    if (effect != reads && done.kind != reply_kind::error)
        e.on.propagated.push_back(with_absolute_time(command, e.on));
    return done;
}

/// Reads the words of a command; nullopt: one is neither text nor a number.
[[nodiscard]] std::optional<words> words_on(lua_State* l) {
    auto command = words{};
    for (auto i = 1; i <= lua_gettop(l); ++i) {
        auto text = std::string{};
        if (lua_type(l, i) == LUA_TNUMBER) {
            char digits[64];
            text.assign(digits, static_cast<std::size_t>(std::snprintf(
                                    digits, sizeof digits, "%.17g", lua_tonumber(l, i))));
        } else if (lua_type(l, i) == LUA_TSTRING) {
            auto size = std::size_t{0};
            const auto* bytes = lua_tolstring(l, i, &size);
            text.assign(bytes, size);
        } else {
            return std::nullopt;
        }
        command.push_back(std::move(text));
    }
    if (command.empty())
        return std::nullopt;
    return command;
}

/// Runs the command on the stack and pushes its reply. Returns false if that is an error.
bool run_on(lua_State* l) {
    const auto command = words_on(l);
    const auto done = command ? run_command(*running, *command)
                              : error_of("ERR Lua redis lib command arguments must be strings or "
                                         "integers");
    push_reply(l, done);
    return done.kind != reply_kind::error;
}

int redis_call(lua_State* l) {
    return run_on(l) ? 1 : lua_error(l);
}

int redis_pcall(lua_State* l) {
    (void)run_on(l);
    return 1;
}

/// Pushes whether the user may run the command. Returns false if there is no such command.
bool ask_on(lua_State* l) {
    const auto command = words_on(l);
    if (!command || !is_known((*command)[0]))
        return false;
    lua_pushboolean(l, running->on.denied.contains(lower((*command)[0])) ? 0 : 1);
    return true;
}

int redis_acl_check_cmd(lua_State* l) {
    if (ask_on(l))
        return 1;
    push_record(l, "err", "ERR Invalid command passed to redis.acl_check_cmd()");
    return lua_error(l);
}

int bit_and(lua_State* l) {
    const auto both =
        static_cast<std::uint32_t>(static_cast<std::int64_t>(luaL_checknumber(l, 1))) &
        static_cast<std::uint32_t>(static_cast<std::int64_t>(luaL_checknumber(l, 2)));
    lua_pushnumber(l, static_cast<std::int32_t>(both));
    return 1;
}

int bit_or(lua_State* l) {
    const auto any = static_cast<std::uint32_t>(static_cast<std::int64_t>(luaL_checknumber(l, 1))) |
                     static_cast<std::uint32_t>(static_cast<std::int64_t>(luaL_checknumber(l, 2)));
    lua_pushnumber(l, static_cast<std::int32_t>(any));
    return 1;
}

int refuse_global(lua_State* l) {
    return luaL_error(l, "a global variable: '%s'", lua_tostring(l, 2));
}

/// An interpreter. As in servers, scripts have no globals of their own.
class interpreter {
  public:
    interpreter() : lua_(luaL_newstate(), lua_close) {
        auto* l = lua_.get();
        for (const auto& [name, open] : {luaL_Reg{"", luaopen_base},
                                         {LUA_TABLIBNAME, luaopen_table},
                                         {LUA_STRLIBNAME, luaopen_string},
                                         {LUA_MATHLIBNAME, luaopen_math}}) {
            lua_pushcfunction(l, open);
            lua_pushstring(l, name);
            lua_call(l, 1, 0);
        }
        static const luaL_Reg redis[] = {{"call", redis_call},
                                         {"pcall", redis_pcall},
                                         {"acl_check_cmd", redis_acl_check_cmd},
                                         {nullptr, nullptr}};
        static const luaL_Reg bit[] = {{"band", bit_and}, {"bor", bit_or}, {nullptr, nullptr}};
        luaL_register(l, "redis", redis);
        luaL_register(l, "bit", bit);
        lua_settop(l, 0);
        open_struct(l);
        lua_createtable(l, 0, 2);
        for (const auto* event : {"__index", "__newindex"}) {
            lua_pushcfunction(l, refuse_global);
            lua_setfield(l, -2, event);
        }
        lua_setmetatable(l, LUA_GLOBALSINDEX);
    }

    /// Pushes a script, which is compiled once.
    void push(const redis::script& s) {
        auto* l = lua_.get();
        const auto [at, is_new] = compiled_.try_emplace(s.sha1, LUA_NOREF);
        if (is_new) {
            if (luaL_loadbuffer(l, s.body.data(), s.body.size(), "@user_script") != 0)
                throw std::logic_error{lua_tostring(l, -1)};
            at->second = luaL_ref(l, LUA_REGISTRYINDEX);
        }
        lua_rawgeti(l, LUA_REGISTRYINDEX, at->second);
    }

    /// Sets KEYS or ARGV.
    void set(const char* name, const std::string* first, const std::string* last) {
        auto* l = lua_.get();
        lua_pushstring(l, name);
        lua_createtable(l, static_cast<int>(last - first), 0);
        for (auto i = 1; first != last; ++first, ++i) {
            push_text(l, *first);
            lua_rawseti(l, -2, i);
        }
        lua_rawset(l, LUA_GLOBALSINDEX);
    }

    [[nodiscard]] lua_State* lua() noexcept { return lua_.get(); }

  private:
    std::unique_ptr<lua_State, void (*)(lua_State*)> lua_;
    std::map<std::string_view, int> compiled_; ///< by their digests
};

[[nodiscard]] std::string text_at(lua_State* l, int index) {
    auto size = std::size_t{0};
    const auto* text = lua_tolstring(l, index, &size);
    return {text, size};
}

/// Returns the text in a field of the table at the top; nullopt: it has none.
[[nodiscard]] std::optional<std::string> field_of(lua_State* l, const char* name) {
    lua_pushstring(l, name);
    lua_rawget(l, -2);
    auto found = std::optional<std::string>{};
    if (lua_type(l, -1) == LUA_TSTRING)
        found = text_at(l, -1);
    lua_pop(l, 1);
    return found;
}

/// Appends what a script has returned, and pops it.
void append_value(lua_State* l, std::string& out) {
    const auto type = lua_type(l, -1);
    if (type == LUA_TSTRING) {
        const auto text = text_at(l, -1);
        out += '$' + std::to_string(text.size()) + "\r\n" + text + "\r\n";
    } else if (type == LUA_TNUMBER) {
        out += ':' + std::to_string(static_cast<std::int64_t>(lua_tonumber(l, -1))) + "\r\n";
    } else if (type != LUA_TTABLE) {
        out += type == LUA_TBOOLEAN && lua_toboolean(l, -1) != 0 ? ":1\r\n" : "$-1\r\n";
    } else if (const auto error = field_of(l, "err")) {
        out += '-' + *error + "\r\n";
    } else if (const auto status = field_of(l, "ok")) {
        out += '+' + *status + "\r\n";
    } else {
        auto elements = std::string{};
        auto count = 0;
        while (true) {
            lua_rawgeti(l, -1, count + 1);
            if (lua_isnil(l, -1))
                break;
            append_value(l, elements);
            ++count;
        }
        lua_pop(l, 1);
        out += '*' + std::to_string(count) + "\r\n" + elements;
    }
    lua_pop(l, 1);
}

} // namespace

std::string run_script(server& on, const redis::script& what, const words& arguments) {
    static auto lua = interpreter{};
    on.propagated.clear();
    on.keys.begin(on.now_ms(), false);
    auto count = std::size_t{0};
    std::from_chars(arguments[0].data(), arguments[0].data() + arguments[0].size(), count);
    const auto* const first = arguments.data() + 1;
    lua.set("KEYS", first, first + count);
    lua.set("ARGV", first + count, arguments.data() + arguments.size());
    lua.push(what);

    auto now = execution{on};
    running = &now;
    const auto failed = lua_pcall(lua.lua(), 0, 1, 0) != 0;
    running = nullptr;
    if (failed && lua_type(lua.lua(), -1) != LUA_TTABLE) // a fault of the script itself
        throw std::logic_error{text_at(lua.lua(), -1)};
    auto out = std::string{};
    append_value(lua.lua(), out);
    return out;
}

} // namespace colimit::test::fake
