// Runs every command of the tool with --json, and compares its output with the schema. A server of
// Redis 8.6 is a proxy in front of a real one, which has HOTKEYS.
//
//     node check_output.mjs TOOL SCHEMA DOCUMENT-OF-POLICIES ACCESS-LOG

import assert from 'node:assert/strict';
import {execFile, spawn} from 'node:child_process';
import {mkdtempSync, readFileSync, rmSync, writeFileSync} from 'node:fs';
import {createServer, connect} from 'node:net';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import Ajv from 'ajv/dist/2020.js';

const [tool, schemaFile, policies, log] = process.argv.slice(2);
const schema = JSON.parse(readFileSync(schemaFile, 'utf8'));
const ajv = new Ajv({strict: true, strictRequired: false, strictTypes: false, allErrors: false});
const matches = ajv.compile(schema);

const folder = mkdtempSync(join(tmpdir(), 'colimit-output-'));
const socket = join(folder, 'redis.sock');
const redis = spawn('redis-server', ['--port', '0', '--unixsocket', socket, '--dir', folder, '--save', ''],
    {stdio: 'ignore'});
const ended = new Promise((resolve) => redis.on('exit', resolve));

function once(path) { // whether a server accepts connections
    return new Promise((resolve) => {
        const s = connect(path, () => { s.end(); resolve(true); });
        s.on('error', () => resolve(false));
    });
}
for (let i = 0; i < 400 && !await once(socket); ++i) await new Promise((r) => setTimeout(r, 25));

function run(server, ...args) { // exit code and lines
    return new Promise((resolve) => execFile(tool, args, {
        env: {...process.env, COLIMIT_SERVER: server}, maxBuffer: 1 << 26, timeout: 60000,
    }, (error, stdout, stderr) => resolve({code: error ? error.code : 0, stdout, stderr})));
}
function cli(...args) {
    return new Promise((resolve) => execFile('redis-cli', ['-s', socket, ...args], resolve));
}
function dbsize() {
    return new Promise((resolve) => execFile('redis-cli', ['-s', socket, 'dbsize'], (error, stdout) => resolve(stdout)));
}
const seen = new Set();
async function objects(code, ...args) { // runs a command, and returns what it writes
    const got = await run(`unix:${socket}`, ...args, '--json');
    assert.equal(got.code, code, `colimit ${args.join(' ')}: ${got.stderr}`);
    return checked(args, got);
}
function checked(args, got) {
    const lines = got.stdout.trimEnd().split('\n').map((line) => JSON.parse(line));
    for (const line of lines) {
        assert.equal(line.command, args[0]);
        assert(matches(line), `colimit ${args.join(' ')}: ${JSON.stringify(line)}: ${JSON.stringify(matches.errors)}`);
        seen.add(args[0] + ('is_complete' in line ? '_all' : ''));
    }
    return lines;
}

// Forwards everything to the real server, but replaces HOTKEYS by scripts with its replies.
function redisWithHotkeys(path, key, asked, start = "redis.status_reply('OK')", onStart = () => {}) {
    const scripts = {
        START: `return ${start}`,
        STOP: "return redis.status_reply('OK')",
        RESET: "return redis.status_reply('OK')",
        GET: `return {'tracking-active', 0, 'sample-ratio', 1, 'selected-slots', {},
            'by-cpu-time-us', {'${key}', 104, 'other', 98}}`,
    };
    const command = (...words) => `*${words.length}\r\n` + words.map((w) => `$${Buffer.byteLength(w)}\r\n${w}\r\n`).join('');
    return createServer((client) => {
        const server = connect(socket);
        server.pipe(client);
        let rest = '';
        client.on('data', (bytes) => {
            rest += bytes.toString('latin1');
            rest = rest.replace(/\*\d+\r\n\$7\r\nHOTKEYS\r\n\$\d+\r\n(\w+)\r\n(?:\$\d+\r\n[^\r]*\r\n)*?(?=\*|$)/g, (whole, verb) => {
                asked.push(whole.split('\r\n').filter((w, i) => i > 0 && i % 2 === 0).join(' '));
                if (verb === 'START') onStart();
                // As the real one: "COUNT must be between 1 and 64".
                const isRefused = Number(/ COUNT (\d+)/.exec(asked.at(-1))?.[1] ?? 1) > 64;
                return command('EVAL', isRefused ? "return redis.error_reply('ERR COUNT')" : scripts[verb], '0');
            });
            server.write(Buffer.from(rest, 'latin1'));
            rest = '';
        });
        client.on('error', () => server.destroy());
        client.on('close', () => server.destroy());
        server.on('error', () => client.destroy());
    }).listen(path);
}

try {
    const api = ['--rule', '3/h named hour; 5/d sliding_log'];
    const [first] = await objects(0, 'check', 'ann', ...api, '--cost', '3');
    assert.equal(first.remaining, 0);
    assert.equal(first.rules[1].balance, 2);
    const [denied] = await objects(1, 'check', 'ann', ...api);
    assert.equal(denied.reason, 'rule');
    assert.equal(denied.limiting_rule, 'hour');
    const [never] = await objects(1, 'peek', 'ann', ...api, '--cost', '4');
    assert.equal(never.outcome, 'never');
    assert.equal(never.retry_after_us, null);
    const [owing] = await objects(0, 'charge', 'ann', ...api);
    assert.equal(owing.rules[0].balance, -1);
    await objects(0, 'refund', 'ann', ...api);
    const [inspected] = await objects(1, 'inspect', 'ann', ...api);
    assert.deepEqual(inspected.rules[0].returns.map((t) => t.tokens), [1, 2, 3]);
    assert.deepEqual(inspected.stored.map((s) => s.holds), ['state', 'log']);
    await objects(0, 'check', 'ann', '--rule', '2/h', '--packed');
    const [all] = await objects(0, 'inspect', 'ann');
    assert.deepEqual(all.stored.map((s) => s.holds).sort(), ['log', 'packed state', 'state']);
    assert((await objects(0, 'inspect', 'ann', '--policies', policies)).length > 1);
    const slots = ['--rule', '2/h concurrent', '--policy', 'slots'];
    const state = all.stored.find((s) => s.holds === 'state');
    const holders = state.redis_key.replace(`:${state.policy}:k:`, ':slots:sk:');
    await cli('EVAL', "return redis.call('ZADD', KEYS[1], 9e15, ARGV[1], -7, '')", '1', holders, 'a\nb');
    const [held] = await objects(0, 'inspect', 'ann', ...slots);
    assert.deepEqual(held.stored.map((s) => [s.holds, s.count, s.holders]),
        [['holders', 1, [{id: '610a62', lease_ends_us: 9e15}]]]);
    await objects(0, 'reset', 'ann', ...slots);
    await objects(0, 'block', 'ann', ...api, '--for', '1h');
    const [blocked] = await objects(1, 'peek', 'ann', ...api);
    assert.equal(blocked.reason, 'block');
    const [top] = await objects(0, 'top', '--interval', '0.1', ...api);
    assert.equal(top.keys[0].key, 'ann');
    await objects(0, 'top', '--interval', '0.1', '--rounds', '2');
    await objects(0, 'reset', 'ann', ...api);
    for (const name of ['print-library', 'man']) await objects(0, name);
    for (const shell of ['bash', 'zsh']) await objects(0, 'completion', shell);
    await objects(0, 'lint', policies);
    const warned = join(folder, 'warned.json');
    writeFileSync(warned, '{"policies": {"api": "1/s; 60/m named minute", "\u00e9": "x"}}');
    assert.equal((await objects(2, 'lint', warned))[0].findings[0].severity, 'error');
    writeFileSync(warned, '{"policies": {"api": "1/s; 60/m named minute"}}');
    assert.equal((await objects(1, 'lint', warned))[0].findings[0].problem, 'unreachable_rule');
    await objects(0, 'simulate');
    await objects(0, 'overload');
    await objects(0, 'replay', log);
    const [loaded] = await objects(0, 'load', '--server', `unix:${socket}`, '--seconds', '0.1',
        '--callers', '8', '--keys', '9');
    assert(loaded.checks > 0 && loaded.server_us_per_check > 0);
    const [elsewhere] = await objects(0, 'load', '--server', 'memory:', '--seconds', '0.1');
    assert.equal(elsewhere.server_us_per_check, null);

    const missing = schema.oneOf.map((d) => d.$ref.split('/').at(-1)).filter((name) => !seen.has(name));
    assert.deepEqual(missing, [], 'every definition of the schema is used');

    // A key that is not UTF-8, and one in UTF-8.
    const [odd] = await objects(0, 'check', 'a\\b"\n', '--rule', '2/h');
    assert.equal(odd.key, 'a\\b"\n');
    const [euro] = await objects(0, 'check', '\u20ac', '--rule', '2/h');
    assert.equal(euro.key, '\u20ac');

    // HOTKEYS finds a key that SCAN does not reach within its budget, and no session is left.
    await cli('EVAL', "for i = 1, 20000 do redis.call('SET', 'filler:' .. i, '') end", '0');
    const named = ['--rule', '2/h', '--policy', 'p'];
    const keys = Array.from({length: 10}, (_, i) => `hot${i}`);
    for (const key of keys) await objects(0, 'check', key, ...named);
    const few = ['top', '--interval', '0.1', '--scan', '1', '--count', '1000', ...named, '--json'];
    const shown = async (server) => checked(few, await run(server, ...few))[0].keys.map((k) => k.key);
    const reached = await shown(`unix:${socket}`);
    const hidden = keys.find((key) => !reached.includes(key));
    assert(hidden, 'a key that SCAN does not reach');
    const [{stored}] = await objects(0, 'inspect', hidden, ...named);
    const asked = [];
    const path = join(folder, 'hot.sock');
    const proxy = redisWithHotkeys(path, stored[0].redis_key, asked);
    assert((await shown(`unix:${path}`)).includes(hidden));
    assert.match(asked[0], /^HOTKEYS START METRICS 1 CPU COUNT 64 DURATION \d+$/);
    assert.deepEqual(asked.slice(1), ['HOTKEYS STOP', 'HOTKEYS GET', 'HOTKEYS RESET']);
    proxy.close();

    // A signal while a session is being started: one of colimit is ended, one of others is not.
    for (const [start, ended] of [["redis.status_reply('OK')", ['HOTKEYS STOP', 'HOTKEYS GET', 'HOTKEYS RESET']],
        ["redis.error_reply('ERR hotkey tracking session already in progress')", []]]) {
        const asked = [];
        let top;
        const path = join(folder, `begun${ended.length}.sock`);
        const proxy = redisWithHotkeys(path, 'x', asked, start, () => top.kill('SIGINT'));
        const code = await new Promise((resolve) => {
            top = spawn(tool, ['top', '--rounds', '0', '--server', `unix:${path}`], {stdio: 'ignore'});
            top.on('exit', resolve);
        });
        assert.equal(code, 0);
        assert.deepEqual(asked.slice(1), ended);
        proxy.close();
    }

    // A signal while the load asks for INFO: it removes its keys nevertheless.
    let asked_info = 0;
    const info = join(folder, 'info.sock');
    let load;
    const interrupting = createServer((client) => {
        const server = connect(socket);
        server.pipe(client);
        client.on('data', (bytes) => {
            if (bytes.includes('\r\nINFO\r\n$3\r\ncpu') && asked_info++ === 0) load.kill('SIGINT');
            else server.write(bytes);
        });
        client.on('error', () => server.destroy());
        client.on('close', () => server.destroy());
        server.on('error', () => client.destroy());
    }).listen(info);
    const before = await dbsize();
    const code = await new Promise((resolve) => {
        load = spawn(tool, ['load', '--server', `unix:${info}`, '--seconds', '0.1', '--keys', '9'], {stdio: 'ignore'});
        load.on('exit', resolve);
    });
    assert(asked_info > 0);
    assert.equal(code, 0);
    assert.equal(await dbsize(), before);
    interrupting.close();
    console.log(`${seen.size} commands, all as the schema says`);
} finally {
    redis.kill();
    await ended;
    rmSync(folder, {recursive: true, force: true});
}
