// SPDX-License-Identifier: BSL-1.0
//
// Lua leaves functions with errors by longjmp, so nothing here has a destructor.

#include <server_module/lua_struct.hpp>

#include <lua.hpp>

#include <bit>
#include <cstdint>
#include <cstring>

namespace colimit::test::fake {
namespace {

static_assert(std::endian::native == std::endian::little);

/// A format, letter by letter.
struct format {
    const char* at;
    char letter = '\0';
    std::size_t size = 0; ///< bytes; 0 for `c0`
    bool is_sized = false;

    bool next(lua_State* l) {
        while (*at == '<' || *at == ' ')
            ++at;
        if (*at == '\0')
            return false;
        letter = *at++;
        is_sized = *at >= '0' && *at <= '9';
        size = 0;
        for (; *at >= '0' && *at <= '9'; ++at)
            size = 10 * size + static_cast<std::size_t>(*at - '0');
        if (letter == 'd')
            size = sizeof(double);
        else if (letter == 'B')
            size = 1;
        else if (letter == 'I' || letter == 'i')
            size = is_sized ? size : sizeof(int);
        else if (letter != 'c' || !is_sized)
            luaL_error(l, "invalid format option '%c'", letter);
        if ((letter == 'I' || letter == 'i') && (size == 0 || size > sizeof(std::uint64_t)))
            luaL_error(l, "invalid size of an integer");
        return true;
    }
};

void add_packed(lua_State* l, const format& f, int argument, luaL_Buffer& to) {
    if (f.letter == 'c') {
        auto size = std::size_t{0};
        const auto* text = luaL_checklstring(l, argument, &size);
        luaL_argcheck(l, size >= f.size, argument, "string too short");
        return luaL_addlstring(&to, text, f.size == 0 ? size : f.size);
    }
    const auto number = luaL_checknumber(l, argument);
    if (f.letter == 'd') {
        char bytes[sizeof number];
        std::memcpy(bytes, &number, sizeof number);
        return luaL_addlstring(&to, bytes, sizeof bytes);
    }
    const auto whole = number < 0 ? static_cast<std::uint64_t>(static_cast<std::int64_t>(number))
                                  : static_cast<std::uint64_t>(number);
    char bytes[sizeof whole];
    std::memcpy(bytes, &whole, sizeof whole);
    luaL_addlstring(&to, bytes, f.size);
}

int pack(lua_State* l) {
    auto f = format{luaL_checkstring(l, 1)};
    auto out = luaL_Buffer{};
    auto argument = 1;
    // A string of the library may be on the stack's top, so arguments are referred to from below.
    luaL_buffinit(l, &out);
    while (f.next(l))
        add_packed(l, f, ++argument, out);
    luaL_pushresult(&out);
    return 1;
}

void push_unpacked(lua_State* l, const format& f, const char* from) {
    if (f.letter == 'c')
        return lua_pushlstring(l, from, f.size);
    if (f.letter == 'd') {
        auto number = 0.0;
        std::memcpy(&number, from, sizeof number);
        return lua_pushnumber(l, number);
    }
    auto whole = std::uint64_t{0};
    std::memcpy(&whole, from, f.size);
    const auto unused = 64 - 8 * f.size;
    if (f.letter == 'i')
        return lua_pushnumber(
            l, static_cast<lua_Number>(static_cast<std::int64_t>(whole << unused) >> unused));
    lua_pushnumber(l, static_cast<lua_Number>(whole));
}

int unpack(lua_State* l) {
    auto f = format{luaL_checkstring(l, 1)};
    auto size = std::size_t{0};
    const auto* text = luaL_checklstring(l, 2, &size);
    const auto first = luaL_optinteger(l, 3, 1);
    luaL_argcheck(l, first >= 1, 3, "must be positive");
    auto at = static_cast<std::size_t>(first - 1);
    lua_settop(l, 2);
    while (f.next(l)) {
        if (f.letter == 'c' && f.size == 0) { // its size is the number before it
            f.size = static_cast<std::size_t>(lua_tonumber(l, -1));
            lua_pop(l, 1);
        }
        luaL_argcheck(l, at <= size && f.size <= size - at, 2, "data string too short");
        luaL_checkstack(l, 2, "too many results");
        push_unpacked(l, f, text + at);
        at += f.size;
    }
    lua_pushinteger(l, static_cast<lua_Integer>(at + 1));
    return lua_gettop(l) - 2;
}

} // namespace

void open_struct(lua_State* in) {
    static const luaL_Reg functions[] = {{"pack", pack}, {"unpack", unpack}, {nullptr, nullptr}};
    luaL_register(in, "struct", functions);
    lua_pop(in, 1);
}

} // namespace colimit::test::fake
