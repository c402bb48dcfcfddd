# Tests lua/embed.cmake with valid and invalid templates:
#
#     cmake -P test/embed_test.cmake
cmake_minimum_required(VERSION 3.25)
set(embed ${CMAKE_CURRENT_LIST_DIR}/../lua/embed.cmake)
string(RANDOM LENGTH 12 name)
set(folder "$ENV{TMPDIR}")
if(folder STREQUAL "")
    set(folder /tmp)
endif()
set(folder "${folder}/colimit-embed-${name}")
set(failed FALSE)

# Embeds the script `a` from a template, its sheets `one` and `two`, as they are written before.
function(embed_template result)
    execute_process(COMMAND ${CMAKE_COMMAND} -D OUTPUT=${folder}/out.cpp -D LIBRARY=lib -P ${embed}
            -- a t.lua.in:one:two
        WORKING_DIRECTORY ${folder} RESULT_VARIABLE code OUTPUT_QUIET ERROR_VARIABLE said)
    string(REGEX REPLACE "[ \n]+" " " said "${said}")
    set(code ${code} PARENT_SCOPE)
    set(${result} "${said}" PARENT_SCOPE)
endfunction()

function(write_parts template one two)
    file(WRITE ${folder}/t.lua.in "-- A template.\n${template}")
    file(WRITE ${folder}/t/one.lua "-- A sheet.\n${one}")
    file(WRITE ${folder}/t/two.lua "-- Another one.\n${two}")
endfunction()

function(complain what)
    message(SEND_ERROR "${what}")
endfunction()

function(expect_text template one two text)
    write_parts("${template}" "${one}" "${two}")
    embed_template(said)
    if(NOT code EQUAL 0)
        complain("not embedded: ${said}")
        return()
    endif()
    file(READ ${folder}/a.lua found)
    if(NOT found STREQUAL "-- t.lua.in:one:two\n${text}")
        complain("expected:\n${text}\nfound:\n${found}")
    endif()
endfunction()

function(expect_error template one two text)
    write_parts("${template}" "${one}" "${two}")
    embed_template(said)
    string(FIND "${said}" "${text}" at)
    if(code EQUAL 0 OR at EQUAL -1)
        complain("expected the error '${text}', found: ${said}")
    endif()
endfunction()

expect_text("if @a@ then\n    @b@\nend\n" "\n--@block a\nx == '[;'\n" "\n--@block b\ny()\nz()\n"
    "if x == '[;' then\n    y()\n    z()\nend\n")
expect_text("f(@a@)\n" "\n--@block a\none;two\n" "" "f(one;two)\n")
expect_text("f(@a@)\n" "\n--@block a\n1\n" "\n--@block a\n2\n" "f(2)\n")
expect_text("@a@\n" "\n--@block a\nt['\\\\;]] ${b} $<1>'] = @b@ % \\1\n"
    "\n--@block b\n{\n    2,\n}\n" "t['\\\\;]] ${b} $<1>'] = {\n    2,\n} % \\1\n")
expect_text("f()@a@\n" "\n--@block a\n\n" "" "f()\n")
expect_error("@a@ @b@\n" "\n--@block a\n1\n" "" "t.lua.in:one:two: no sheet has the block 'b'")
expect_error("@a@\n" "\n--@block a\n1\n--@block c\n2\n" ""
    "t/one.lua: no hole asks for the block 'c'")
expect_error("@a@\n" "" "\n--@block a\n1\n--@block a\n2\n" "t/two.lua: the block 'a' occurs twice")
expect_error("@a@\n" "\n--@block a\n@b@\n" "\n--@block b\n@a@\n" "a block asks for itself")
expect_error("@a@\n" "\n--@block a\n1\n--@ block c\n2\n" ""
    "t/one.lua: '--@ block c' does not begin")
expect_error("@a@\n" "\n--@blockade\n1\n" "" "t/one.lua: '--@blockade' does not begin")
expect_error("@a@ @B@\n" "\n--@block a\n1\n" ""
    "t.lua.in:one:two: an @ that is not part of a hole")

# Returns the version that is part of the names in the library, whose text is checked.
function(library_version template result)
    write_parts("${template}" "" "")
    embed_template(said)
    file(READ ${folder}/lib.lua library)
    file(READ ${folder}/a.lua script)
    string(REGEX MATCH "^#!lua name=lib_([0-9a-f]+)\n" _ "${library}")
    set(version "${CMAKE_MATCH_1}")
    string(FIND "${library}" "local function a(redis, KEYS, ARGV)
${script}end
redis.register_function('lib_a_${version}', function(KEYS, ARGV) return a(redis, KEYS, ARGV) end)
redis.register_function{function_name = 'lib_a_${version}_if_full', flags = {'allow-oom'},
    callback = function(KEYS, ARGV) return a(on_full_server(), KEYS, ARGV) end}
" at)
    if(NOT code EQUAL 0 OR version STREQUAL "" OR at EQUAL -1)
        complain("the library is:\n${library}")
    endif()
    set(${result} "${version}" PARENT_SCOPE)
endfunction()

library_version("return 1 -- one\n" one)
library_version("return 1 -- the first\n" commented)
library_version("return 2 -- one\n" two)
if(NOT one STREQUAL commented OR one STREQUAL two)
    complain("the versions of different texts, or of the same text: ${one} ${commented} ${two}")
endif()

# Parts between `function` or `if CONDITION then function` and `end`.
file(WRITE ${folder}/b.lua "f()\n")
execute_process(COMMAND ${CMAKE_COMMAND} -D OUTPUT=${folder}/out.cpp -D LIBRARY=lib -P ${embed}
        -- a function b.lua end "if #x > 0 then function" b.lua end
    WORKING_DIRECTORY ${folder} OUTPUT_QUIET)
file(READ ${folder}/a.lua found)
set(part "local function part()\nf()\nend part() end\n")
if(NOT found STREQUAL "do ${part}if #x > 0 then ${part}")
    complain("functions of parts: ${found}")
endif()

file(REMOVE ${folder}/t/two.lua)
embed_template(said)
if(code EQUAL 0 OR NOT said MATCHES "t/two.lua: the file does not exist")
    complain("a missing sheet: ${said}")
endif()
file(REMOVE_RECURSE ${folder})
