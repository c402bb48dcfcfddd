# Writes OUTPUT, a C++ source that holds each script given after `--`, its name followed by its
# parts, as a constant with its SHA-1. `do` and `end` among the parts begin and end a block of Lua,
# `function` and `end` a function that is called at once, and `if CONDITION then function` and `end`
# one that is created and called only then:
#
#     cmake -D OUTPUT=scripts.cpp -D LIBRARY=colimit -P embed.cmake
#           -- check policy.lua do fast.lua end seen ...
#
# A part may be made from a template: `fast.lua.in:packed:bucket` is fast.lua.in, in which each hole
# `@NAME@` is filled with the block NAME of the sheet fast/bucket.lua, or if that has none, of
# fast/packed.lua. A block is the text after the line `--@block NAME` in a sheet; it may have holes,
# too. A hole without a block, and a block that no hole uses, is an error.
#
# Indentation and comments are removed, as a script is sent on every new connection; lines keep
# their numbers. The whole text of each script, for readers, is written to NAME.lua beside OUTPUT.
#
# The bytes go into raw string literals, split at line ends so that none exceeds the limit of any
# compiler (16 KB); adjacent literals are one string again, which may have more than the 64 KiB that
# the standard demands of compilers.
#
# The scripts are also written to LIBRARY.lua beside OUTPUT, as functions of a library with this
# name, for FUNCTION LOAD. A version is part of all names in it: the beginning of the SHA-1 of its
# text without comments. So libraries of different text never share a name.
cmake_minimum_required(VERSION 3.25)
set(longest_literal 16000)

function(raw_literals path body result)
    string(FIND "${body}" ")lua\"" position) # the end of a literal
    if(NOT position EQUAL -1)
        message(FATAL_ERROR "${path}: a script must not contain ')lua\"'")
    endif()
    set(literals "")
    string(LENGTH "${body}" left)
    while(left GREATER 0)
        set(size ${left})
        if(left GREATER longest_literal)
            string(SUBSTRING "${body}" 0 ${longest_literal} head)
            string(FIND "${head}" "\n" line_end REVERSE)
            if(line_end EQUAL -1)
                message(FATAL_ERROR "${path}: a line is longer than ${longest_literal} bytes")
            endif()
            math(EXPR size "${line_end} + 1")
        endif()
        string(SUBSTRING "${body}" 0 ${size} head)
        string(SUBSTRING "${body}" ${size} -1 body)
        string(APPEND literals "\n    R\"lua(${head})lua\"")
        math(EXPR left "${left} - ${size}")
    endwhile()
    set(${result} "${literals}" PARENT_SCOPE)
endfunction()

# Fails unless the bytes are text: CMake would lose the bytes after a NUL byte, compilers would
# change a carriage return.
function(read_text path result)
    if(NOT EXISTS "${path}")
        message(FATAL_ERROR "${path}: the file does not exist")
    endif()
    file(READ "${path}" hex HEX)
    string(REGEX MATCHALL ".." bytes "${hex}")
    if(bytes STREQUAL "" OR "00" IN_LIST bytes OR "0d" IN_LIST bytes)
        message(FATAL_ERROR "${path}: a script is non-empty text without NUL and carriage return")
    endif()
    file(READ "${path}" text)
    set(${result} "${text}" PARENT_SCOPE)
endfunction()

# Sets `block_NAME` for each block of a sheet, whose names must be among `known`. Text is never a
# list, as Lua's semicolons and brackets would split and join its elements.
function(read_sheet path known)
    read_text("${path}" rest)
    string(PREPEND rest "\n")
    set(names "")
    set(marker "\n--@block ")
    string(FIND "${rest}" "${marker}" at)
    string(SUBSTRING "${rest}" 0 ${at} block)
    while(TRUE)
        if(block MATCHES "--@[^\n]*")
            message(FATAL_ERROR "${path}: '${CMAKE_MATCH_0}' does not begin a block")
        elseif(at EQUAL -1)
            break()
        endif()
        string(LENGTH "${marker}" size)
        math(EXPR at "${at} + ${size}")
        string(SUBSTRING "${rest}" ${at} -1 rest)
        string(FIND "${rest}" "\n" line_end)
        string(SUBSTRING "${rest}" 0 ${line_end} name)
        string(SUBSTRING "${rest}" ${line_end} -1 rest)
        string(FIND "${rest}" "${marker}" at)
        string(SUBSTRING "${rest}" 0 ${at} block)
        if(NOT name IN_LIST known)
            message(FATAL_ERROR "${path}: no hole asks for the block '${name}'")
        elseif(name IN_LIST names)
            message(FATAL_ERROR "${path}: the block '${name}' occurs twice")
        endif()
        list(APPEND names "${name}")
        string(REGEX REPLACE "^\n+" "" block "${block}")
        string(REGEX REPLACE "\n+$" "" block "${block}")
        set(block_${name} "${block}" PARENT_SCOPE)
    endwhile()
endfunction()

# Returns the text of `TEMPLATE.lua.in:SHEET:SHEET...`.
function(fill_template part result)
    string(REPLACE ":" ";" sheets "${part}")
    list(POP_FRONT sheets template)
    string(REGEX REPLACE "\\.lua\\.in$" "" folder "${template}")
    read_text("${template}" text)
    string(REGEX REPLACE "^(--[^\n]*\n)+" "-- ${part}\n" text "${text}")
    file(GLOB every_sheet "${folder}/*.lua")
    set(known "${text}")
    foreach(path IN LISTS every_sheet)
        read_text("${path}" sheet)
        string(APPEND known "${sheet}")
    endforeach()
    string(REGEX MATCHALL "@[a-z_]+@" known "${known}")
    list(TRANSFORM known REPLACE "@" "")
    foreach(sheet IN LISTS sheets)
        read_sheet("${folder}/${sheet}.lua" "${known}")
    endforeach()
    # A block that contains itself would never end.
    foreach(_ RANGE 200)
        if(NOT text MATCHES "@")
            set(${result} "${text}" PARENT_SCOPE)
            return()
        elseif(NOT text MATCHES "(^|\n)( *)[^\n@]*@([a-z_]+)@")
            message(FATAL_ERROR "${part}: an @ that is not part of a hole")
        endif()
        set(indentation "${CMAKE_MATCH_2}")
        set(name "${CMAKE_MATCH_3}")
        if(NOT DEFINED block_${name})
            message(FATAL_ERROR "${part}: no sheet has the block '${name}'")
        endif()
        string(REPLACE "\n" "\n${indentation}" block "${block_${name}}")
        string(REPLACE "@${name}@" "${block}" text "${text}")
    endforeach()
    message(FATAL_ERROR "${part}: a block asks for itself, '${name}' or another one")
endfunction()

# Removes indentation and comments, except in the first line, from the text in this variable.
function(strip variable)
    set(body "${${variable}}")
    string(REGEX REPLACE "\n +" "\n" body "${body}")
    string(REGEX REPLACE "\n--[^\n]*" "\n" body "${body}")
    # A comment after code; with a quote or a bracket after it, it might be inside a string.
    string(REGEX REPLACE " +-- [^]'\"\n]*\n" "\n" body "${body}")
    set(${variable} "${body}" PARENT_SCOPE)
endfunction()

set(text "// Generated by lua/embed.cmake.\n#include \"redis/protocol/script.hpp\"\n\n")
string(APPEND text "#pragma GCC diagnostic ignored \"-Woverlength-strings\"\n")
string(APPEND text "using namespace std::string_view_literals;\n")
cmake_path(GET OUTPUT PARENT_PATH folder)
# The functions of the library, as they are written and as their version is computed.
read_text("${CMAKE_CURRENT_LIST_DIR}/full_server.lua" functions)
set(bare_functions "\n${functions}")
strip(bare_functions)

function(append_script name body)
    if(name STREQUAL "")
        return()
    endif()
    file(WRITE "${folder}/${name}.lua" "${body}")
    # A function without flags is not called while the server is over its `maxmemory`.
    set(function "${LIBRARY}_${name}_@VERSION@")
    set(begin "\nlocal function ${name}(redis, KEYS, ARGV)\n")
    set(end "end
redis.register_function('${function}', function(KEYS, ARGV) return ${name}(redis, KEYS, ARGV) end)
redis.register_function{function_name = '${function}_if_full', flags = {'allow-oom'},
    callback = function(KEYS, ARGV) return ${name}(on_full_server(), KEYS, ARGV) end}
")
    string(APPEND functions "${begin}${body}${end}")
    strip(body)
    string(APPEND bare_functions "${begin}${body}${end}")
    string(SHA1 sha1 "${body}")
    string(TOUPPER "${LIBRARY}.${name}" command)
    raw_literals("${name}" "${body}" literals)
    # The qualified name makes the compiler insist on the declaration in script.hpp.
    string(APPEND text "\nconstinit const colimit::redis::script colimit::redis::${name}_script{"
        "${literals}sv,\n    \"${sha1}\"sv, \"${function}\"sv, \"${function}_if_full\"sv,\n"
        "    \"${command}\"sv};\n")
    set(text "${text}" PARENT_SCOPE)
    set(functions "${functions}" PARENT_SCOPE)
    set(bare_functions "${bare_functions}" PARENT_SCOPE)
endfunction()

set(first 0)
set(name "")
set(body "")
math(EXPR last "${CMAKE_ARGC} - 1")
foreach(i RANGE ${last})
    if(NOT first)
        if(CMAKE_ARGV${i} STREQUAL "--")
            set(first 1)
        endif()
        continue()
    endif()
    set(path "${CMAKE_ARGV${i}}")
    if(path STREQUAL "do")
        set(closing "end\n")
        string(APPEND body "do\n")
        continue()
    elseif(path MATCHES "^(function|(if .+ then) function)$")
        set(closing "end part() end\n")
        string(REGEX REPLACE "^function$" "do" opening "${path}")
        string(REGEX REPLACE " function$" "" opening "${opening}")
        string(APPEND body "${opening} local function part()\n")
        continue()
    elseif(path STREQUAL "end")
        string(APPEND body "${closing}")
        continue()
    endif()
    if(path MATCHES "\\.lua$")
        read_text("${path}" part)
    elseif(path MATCHES "\\.lua\\.in:")
        fill_template("${path}" part)
    else()
        append_script("${name}" "${body}")
        set(name "${path}")
        set(part "")
        set(body "")
    endif()
    string(APPEND body "${part}")
endforeach()
append_script("${name}" "${body}")

string(SHA1 version "${bare_functions}")
string(SUBSTRING "${version}" 0 12 version)
string(APPEND text "\nconstinit const std::string_view colimit::redis::function_library{\n"
    "    \"${LIBRARY}_@VERSION@\"sv};\n")
string(PREPEND functions "#!lua name=${LIBRARY}_@VERSION@
-- The functions that ${LIBRARY} calls where EVAL is forbidden. An administrator loads them once on
-- each server, or each master of a cluster; replicas, snapshots and append-only files keep them:
--
--     redis-cli -x FUNCTION LOAD REPLACE < ${LIBRARY}.lua
--
-- Another version of the library has other names, so both may be loaded while one replaces the
-- other. Afterwards FUNCTION DELETE removes the old one.

")
string(REPLACE "@VERSION@" "${version}" functions "${functions}")
string(REPLACE "@VERSION@" "${version}" text "${text}")
file(WRITE "${folder}/${LIBRARY}.lua" "${functions}")
file(WRITE "${OUTPUT}" "${text}")
