// Runs every command of the tool with --json. What it prints has the members of the example in its
// help, with values of the same types, or null where src/tool/README.md says so.
//
//     node json.mjs TOOL ROOT

import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";

const [tool, root] = process.argv.slice(2);
const helpOf = async (...args) => (await promisify(execFile)(tool, [...args, "--help"])).stdout;
const examples = {}; // those of each command
for (const [, command] of (await helpOf()).matchAll(/^  ([a-z][a-z-]*) /gm)) {
    const [, shown] = (await helpOf(command)).split(/^JSON, .*:\n/m);
    examples[command] = shown.trimEnd().split(/\n(?=  \{)/).map((text) => JSON.parse(text));
    for (const example of examples[command]) assert.equal(example.command, command);
}
// What is null where there is nothing to say, although the example has a value.
const nullable = ["reason", "bytes", "expires_after_ms", "server_us_per_check", "retry_after_us", "denied", "left", "limit"];
const ran = new Set(); // the commands

const namesOf = (object) => Object.keys(object).sort().join(" ");
const typeOf = (value) => (Array.isArray(value) ? "array" : typeof value);

// shown: all that the examples have in this place.
function compare(path, printed, shown) {
    const values = shown.filter((value) => value !== null);
    assert(values.length, `${path} has no example`);
    if (printed === null) {
        assert(shown.includes(null) || nullable.includes(path.split(".").pop()), `${path} is null`);
        return;
    }
    assert.equal(typeOf(printed), typeOf(values[0]), path);
    if (Array.isArray(printed)) {
        for (const element of printed) compare(`${path}[]`, element, values.flat());
    } else if (typeof printed === "object") {
        assert(values.some((value) => namesOf(value) === namesOf(printed)), `${path} has ${namesOf(printed)}`);
        for (const [name, value] of Object.entries(printed))
            compare(`${path}.${name}`, value, values.filter((v) => name in v).map((v) => v[name]));
    }
}

const folder = mkdtempSync(join(tmpdir(), "colimit-json-"));
const socket = join(folder, "redis.sock");
const redis = spawn("redis-server", ["--port", "0", "--unixsocket", socket, "--dir", folder, "--save", ""],
    { stdio: "ignore" });
const ended = new Promise((resolve) => redis.on("exit", resolve));
const cli = async (...args) => (await promisify(execFile)("redis-cli", ["-s", socket, ...args])).stdout;

// Runs a command, and returns the objects that it prints.
async function objects(code, command, ...args) {
    const { status, stdout, stderr } = await new Promise((resolve) =>
        execFile(tool, [command, ...args, "--json"], { env: { ...process.env, COLIMIT_SERVER: `unix:${socket}` }, timeout: 60000 },
            (error, stdout, stderr) => resolve({ status: error ? error.code : 0, stdout, stderr })));
    assert.equal(status, code, `colimit ${command} ${args.join(" ")}: ${stderr}`);
    const lines = stdout.trimEnd().split("\n").map((line) => JSON.parse(line));
    for (const line of lines) {
        assert.equal(line.command, command);
        compare(command, line, examples[command]);
        ran.add(command);
    }
    return lines;
}

async function testKeys() {
    const api = ["--rule", "3/h named hour; 5/d sliding_log"];
    const [first] = await objects(0, "check", "ann", ...api, "--cost", "3");
    assert.equal(first.remaining, 0);
    assert.equal(first.rules[1].balance, 2);
    const [denied] = await objects(1, "check", "ann", ...api);
    assert.deepEqual([denied.outcome, denied.reason, denied.limiting_rule], ["denied", "rule", "hour"]);
    const [never] = await objects(1, "peek", "ann", ...api, "--cost", "4");
    assert.deepEqual([never.outcome, never.retry_after_us], ["never", null]);
    const [owing] = await objects(0, "charge", "ann", ...api);
    assert.equal(owing.rules[0].balance, -1);
    await objects(0, "refund", "ann", ...api);
    const [inspected] = await objects(1, "inspect", "ann", ...api);
    assert.deepEqual(inspected.rules[0].returns.map((t) => t.tokens), [1, 2, 3]);
    assert.deepEqual(inspected.stored.map((s) => s.holds), ["state", "log"]);
    await objects(0, "check", "ann", "--rule", "2/h", "--packed");
    const [all] = await objects(0, "inspect", "ann");
    assert.deepEqual(all.stored.map((s) => s.holds).sort(), ["log", "packed state", "state"]);
    assert((await objects(0, "inspect", "ip=192.0.2.7", "--policies", policies)).length > 1);
    const slots = ["--rule", "2/h concurrent", "--policy", "slots"];
    const state = all.stored.find((s) => s.holds === "state");
    const holders = state.redis_key.replace(`:${state.policy}:k:`, ":slots:sk:");
    await cli("EVAL", "return redis.call('ZADD', KEYS[1], 9e15, ARGV[1], -7, '')", "1", holders, "a\nb");
    const [held] = await objects(0, "inspect", "ann", ...slots);
    assert.deepEqual(held.stored.map((s) => [s.holds, s.count, s.holders]),
        [["holders", 1, [{ id: "610a62", lease_ends_us: 9e15 }]]]);
    await objects(0, "reset", "ann", ...slots);
    await objects(0, "block", "ann", ...api, "--for", "1h");
    const [blocked] = await objects(1, "peek", "ann", ...api);
    assert.equal(blocked.reason, "block");
    const [top] = await objects(0, "top", "--interval", "0.1", ...api);
    assert.equal(top.keys[0].key, "ann");
    await objects(0, "top", "--interval", "0.1", "--rounds", "2");
    assert.equal((await objects(0, "reset", "ann", ...api))[0].changed, true);
    assert.equal((await objects(0, "reset", "ann", ...api))[0].changed, false);
    for (const key of ['a\\b"\n', "\u20ac"])
        assert.equal((await objects(0, "check", key, "--rule", "2/h", "--policy", "odd"))[0].key, key);
}

async function testTraffic() {
    const document = join(folder, "policies.json");
    await objects(0, "lint", policies);
    for (const [code, text, severity, problem] of [
        [2, '"api": "1/s", "\u00e9": "x"', "error", "invalid_document"],
        [1, '"api": "1/s; 60/m named minute"', "warning", "unreachable_rule"]]) {
        writeFileSync(document, `{"policies": {${text}}}`);
        const [{ findings: [found] }] = await objects(code, "lint", document);
        assert.deepEqual([found.severity, found.problem], [severity, problem]);
    }
    await objects(0, "simulate");
    await objects(0, "replay", join(root, "example/data/access.log"));
    const load = ["load", "--seconds", "0.1", "--callers", "8", "--keys", "9", "--server"];
    const [loaded] = await objects(0, ...load, `unix:${socket}`);
    assert(loaded.checks > 0 && loaded.server_us_per_check > 0);
    const [elsewhere] = await objects(0, ...load, "memory:");
    assert.equal(elsewhere.server_us_per_check, null);
}

// A signal while the load asks for INFO, to measure the server: it has measured nothing, and removes
// its keys nevertheless.
async function testInterruptedLoad() {
    let load;
    let wasAsked = false;
    const proxy = createServer((client) => {
        const server = connect(socket);
        server.pipe(client);
        client.on("data", (bytes) => {
            if (wasAsked || !bytes.includes("\r\nINFO\r\n$3\r\ncpu")) return server.write(bytes);
            wasAsked = true;
            load.kill("SIGINT");
        });
        for (const [one, other] of [[client, server], [server, client]])
            for (const event of ["error", "close"]) one.on(event, () => other.destroy());
    });
    await new Promise((resolve) => proxy.listen(`${socket}.proxy`, resolve));
    const before = await cli("dbsize");
    const code = await new Promise((resolve) => {
        load = spawn(tool, ["load", "--server", `unix:${socket}.proxy`, "--seconds", "0.1", "--keys", "9"],
            { stdio: "ignore" });
        load.on("exit", resolve);
    });
    proxy.close();
    assert.deepEqual([wasAsked, code, await cli("dbsize")], [true, 130, before]);
}

const policies = join(root, "example/http_server/policies.json");
try {
    while (redis.exitCode === null && !(await cli("ping").catch(() => "")))
        await new Promise((resolve) => setTimeout(resolve, 25));
    await testKeys();
    await testTraffic();
    await objects(0, "print-library");
    await testInterruptedLoad();
    assert.deepEqual([...ran].sort(), Object.keys(examples).sort());
    console.log(`${ran.size} commands`);
} finally {
    redis.kill();
    await ended;
    rmSync(folder, { recursive: true, force: true });
}
