// SPDX-License-Identifier: BSL-1.0
//
// Boost.Test, with a BOOST_TEST of one argument that is cheap to compile: there are some ten
// thousand of them, and Boost's builds an expression template, a stream and a message at each one.
// Here a check is a comparison, compiled once for each pair of types, and a call. What is printed
// is the same: the text of the expression, and both values where it fails.
//
// Unlike Boost's it compares no floating-point numbers with a tolerance, and no containers element
// by element: checks with a second argument still go to Boost's.

#pragma once

// Boost's headers are those of the system, so that comparing a size with 3 is no warning; so is
// this.
#pragma GCC system_header
#ifdef __clang__ // a check puts `<<` in front of a comparison, and means it
#pragma clang diagnostic ignored "-Woverloaded-shift-op-parentheses"
#endif

#include <boost/test/unit_test.hpp>

#include <cstddef>
#include <ostream>
#include <ranges>
#include <string_view>
#include <type_traits>

namespace colimit::test::checking {

/// A comparison, and how to print its operands.
struct comparison {
    using printer = void (*)(std::ostream&, const void*);

    bool holds;
    const char* negated; ///< what is between the values of one that does not hold
    const void* left;
    const void* right;
    printer print_left;
    printer print_right;

    explicit operator bool() const noexcept { return holds; }
};

template<class T>
inline constexpr bool is_text =
    std::is_same_v<std::decay_t<T>, const char*> || std::is_same_v<std::decay_t<T>, char*>;

/// Returns the value as it is compared; texts by their characters, if both are.
template<class Other, class T>
decltype(auto) operand(const T& value) {
    if constexpr (is_text<T> && is_text<Other>)
        return std::string_view{value};
    else
        return (value);
}

template<class T>
void print(std::ostream& out, const void* value) {
    const auto& shown = *static_cast<const T*>(value);
    if constexpr (is_text<T> && std::is_array_v<T>) {
        out << static_cast<const char*>(shown);
    } else if constexpr (std::ranges::range<const T&> && !requires { out << shown; }) {
        out << '{';
        for (const auto& element : shown) {
            print<std::remove_cvref_t<decltype(element)>>(out, &element);
            out << ' ';
        }
        out << '}';
    } else {
        boost::test_tools::tt_detail::print_log_value<T>{}(out, shown);
    }
}

/// The left operand, or all of an expression that compares nothing.
template<class T>
struct left {
    const T& value;

    explicit operator bool() const { return static_cast<bool>(value); }

#define COLIMIT_TEST_COMPARISON(op, negated)                                                       \
    template<class R>                                                                              \
    [[gnu::noinline]] comparison operator op(const R& right) const {                               \
        return {static_cast<bool>(operand<R>(value) op operand<T>(right)),                         \
                negated,                                                                           \
                &value,                                                                            \
                &right,                                                                            \
                &print<T>,                                                                         \
                &print<R>};                                                                        \
    }
    COLIMIT_TEST_COMPARISON(==, " != ")
    COLIMIT_TEST_COMPARISON(!=, " == ")
    COLIMIT_TEST_COMPARISON(<, " >= ")
    COLIMIT_TEST_COMPARISON(<=, " > ")
    COLIMIT_TEST_COMPARISON(>, " <= ")
    COLIMIT_TEST_COMPARISON(>=, " < ")
#undef COLIMIT_TEST_COMPARISON
};

/// Makes what follows it a left operand.
struct beginning {
    template<class T>
    left<T> operator<<(const T& value) const {
        return {value};
    }
};

/// Where a check is. Boost.Test names the last one that was reached when something throws.
class site {
  public:
    site(const char* file, std::size_t line, const char* text, bool is_required);

    void check(const comparison& result) const;
    void check(bool holds) const;
    template<class T>
    void check(const left<T>& all) const {
        check(static_cast<bool>(all));
    }

  private:
    const char* file_;
    std::size_t line_;
    const char* text_;
    bool is_required_;
};

} // namespace colimit::test::checking

// It may stand in an argument of another macro, so all commas are within parentheses.
#define COLIMIT_TEST_CHECK(level, ...)                                                             \
    ::colimit::test::checking::site(__FILE__, __LINE__, #__VA_ARGS__, #level[0] == 'R')            \
        .check(::colimit::test::checking::beginning() << __VA_ARGS__)

#undef BOOST_TEST
#undef BOOST_TEST_REQUIRE
#define BOOST_TEST(...)                                                                            \
    BOOST_TEST_INVOKE_IF_N_ARGS(2, COLIMIT_TEST_CHECK, BOOST_TEST_TOOL_UNIV_EX, CHECK, __VA_ARGS__)
#define BOOST_TEST_REQUIRE(...)                                                                    \
    BOOST_TEST_INVOKE_IF_N_ARGS(2, COLIMIT_TEST_CHECK, BOOST_TEST_TOOL_UNIV_EX, REQUIRE,           \
                                __VA_ARGS__)
