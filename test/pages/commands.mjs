// Complaints about commands in code spans, indented lines and `sh` blocks: a program or script that
// does not exist, an option that it does not have; and about paths of files that do not exist.
//
// A program says its options with --help, a script in its text. Of a command that other projects made
// nothing is checked.

import { spawnSync } from "node:child_process";
import { existsSync, readFileSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { parse } from "./markdown.mjs";

const isFile = (path) => existsSync(path) && statSync(path).isFile();

// files: the paths of all files of the repository; build: the folder of a complete build, in which
// `tool` is the path of the command-line tool. If the build is partial, missing programs are ignored.
export function complaintsAboutCommands(root, pages, files, build, tool, isPartial) {
    const helps = new Map();
    const complaints = [];
    for (const [path, text] of pages) {
        const page = parse(text);
        const commands = page.code.filter(({ language }) => language === "indented" || language === "sh");
        let last = null;
        for (const { line, text: command } of commands) {
            // A line of options alone continues the command above.
            const continues = last !== null && line === last.line + 1 && /^\[?-/.test(command);
            const words = continues ? [...last.words, ...wordsOf(command)] : wordsOf(command);
            last = { line, words };
            report(path, line, checkCommand(words));
        }
        for (const { line, text: span } of page.spans)
            report(path, line, checkCommand(wordsOf(span)) ?? checkPath(path, span));
    }
    return complaints;

    function report(path, line, what) {
        if (what) complaints.push(`${path}:${line}: ${what}`);
    }

    function checkCommand(words) {
        const program = programOf(words[0] ?? "");
        if (program === null) return null;
        if (!isFile(program)) return isPartial ? null : `${words[0]} does not exist`;
        const command = program === tool ? words.slice(1, 2).filter((w) => /^[a-z]/.test(w)) : [];
        const options = words.filter((w) => /^--[a-z]/.test(w)).map((w) => w.split("=")[0]);
        if (command.length + options.length === 0) return null;
        const name = [words[0], ...command].join(" ");
        const help = helpOf(program, command);
        if (help === null) return `${name} does not exist`;
        const missing = options.find((option) => !hasOption(help, option));
        return missing ? `${name} has no option ${missing}` : null;
    }

    // Only what is in this repository or its build is known; `build/` in a page is any build.
    function programOf(word) {
        if (word === "colimit") return tool;
        if (word.startsWith("build/")) {
            const made = join(build, word.slice("build/".length));
            return /^build\/(test|example|tool|benchmark)\/[a-z_]+$/.test(word) ? made : null;
        }
        return word.includes("/") && files.has(word) && isScript(join(root, word)) ? join(root, word) : null;
    }

    function isScript(path) {
        return isFile(path) && (statSync(path).mode & 0o111) !== 0;
    }

    function helpOf(program, command) {
        const key = [program, ...command].join(" ");
        if (!helps.has(key)) helps.set(key, readHelp(program, command));
        return helps.get(key);
    }

    function readHelp(program, command) {
        if (readFileSync(program).subarray(0, 2).toString() === "#!") return readFileSync(program, "utf8");
        const { status, stdout, stderr } = spawnSync(program, [...command, "--help"], { encoding: "utf8" });
        return status !== 0 && command.length ? null : stdout + stderr; // Boost.Test uses the latter
    }

    // `core/state.hpp` may be below any folder, so that pages can name what is near without noise.
    function checkPath(page, span) {
        const path = span.replace(/^<(.*)>$/, "$1");
        if (!/^[A-Za-z0-9_.\/-]+\.(hpp|cpp|lua|cmake|mjs|md|yml|py)$/.test(path)) return null;
        if (/^(\/|build\/|share\/)/.test(path)) return null; // not of this repository
        if (/(^|\/)(DIR|NAME|FILE)\b/.test(path)) return null;
        const isKnown = files.has(path) || files.has(join(dirname(page), path)) ||
            existsSync(join(build, path)) || [...files].some((f) => f.endsWith(`/${path}`));
        return isKnown ? null : `${path} does not exist`;
    }
}

function hasOption(help, option) {
    return new RegExp(`${option.replaceAll("-", "\\-")}(?![a-z-])`).test(help);
}

// The words of a command without what is before the program: variables, `nice`, `valgrind`; and up to
// a comment, a pipe or the next command.
function wordsOf(text) {
    const words = text.split(/\s+(?:#|\||&&|;|<|>)\s|  +(?=[^-\[])/)[0].trim().split(/\s+/)
        .map((w) => w.replaceAll(/^[\['"(]+|[\]'"),]+$/g, ""));
    while (words.length && /^(\$|[A-Z_]+=.*|nice|-n|-?\d+|valgrind|sudo|--leak-check=full)$/.test(words[0]))
        words.shift();
    return words;
}
