// Requests, acceptable and not; starts and ends of the program.
//
//     node requests_test.mjs PROGRAM POLICIES

import assert from 'node:assert/strict';
import {spawnSync} from 'node:child_process';
import {existsSync, mkdtempSync, readFileSync, rmSync} from 'node:fs';
import {connect} from 'node:net';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import test from 'node:test';
import {eventually, program, Server, start} from './server.mjs';

const shipped = process.argv[3]; // the document of the example

const policies = {policies: {hello: '3 per 1h'}, routes: [{path: '/api/*', policy: 'hello'}]};

/// Sends the text, and returns all that the server sends until it closes the connection.
function exchange(port, text) {
    return new Promise((done) => {
        let received = '';
        const socket = connect(port, '127.0.0.1', () => socket.write(text));
        socket.on('data', (data) => received += data);
        socket.on('error', () => {});
        socket.on('close', () => done(received));
    });
}

test('a client is limited, and told so', async () => {
    const server = await Server.start(policies);
    for (const left of [2, 1, 0]) {
        const response = await fetch(`${server.url}api/hello`);
        assert.equal(response.status, 200);
        assert.match(response.headers.get('ratelimit'), new RegExp(`r=${left}`));
        assert.deepEqual(await response.json(), {message: 'hello'});
    }
    const denied = await fetch(`${server.url}api/hello`);
    assert.equal(denied.status, 429);
    assert.equal(denied.headers.get('content-type'), 'application/problem+json');
    assert.ok(Number(denied.headers.get('retry-after')) > 0);
    assert.match((await denied.json()).type, /quota-exceeded/);
    assert.equal((await fetch(server.url)).status, 200, 'the page is not limited');
    await server.stop();
});

test('another spelling of a path escapes no limit', async () => {
    const server = await Server.start(policies);
    const statuses = [];
    for (const target of ['/api/../x', '/api/%2e%2e/x', '/%61pi//hello', 'http://h/api/./hello',
        '/x/../api/hello', '/api/hello/'])
        statuses.push(Number((await exchange(server.port,
            `GET ${target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`)).match(/^HTTP\/1\.1 (\d+)/)[1]));
    assert.deepEqual(statuses, [404, 404, 200, 200, 200, 429]);
    await server.stop();
});

test('the metrics count what clients did', async () => {
    const server = await Server.start(policies);
    for (let i = 0; i < 5; ++i) await fetch(`${server.url}api/hello`);
    const metrics = await fetch(`${server.url}metrics`);
    assert.match(metrics.headers.get('content-type'), /^text\/plain; version=0\.0\.4/);
    const text = await metrics.text();
    assert.match(text, /^colimit_policy_checks_total\{policy="hello",outcome="allowed"\} 3$/m);
    assert.match(text, /^colimit_policy_checks_total\{policy="hello",outcome="denied"\} 2$/m);
    assert.ok(!text.includes('127.0.0.1'), 'no keys');
    assert.match(text, /^colimit_policies_loads_total 1$/m);
    assert.match(text, /^colimit_policies_problem\{problem="refused"\} 0$/m);
    assert.match(text, /^colimit_policies_limiting_routes 1$/m);
    server.write({...policies, routes: [{path: '/api/:name', policy: 'hello'}]});
    await eventually('a document that limits nothing is reported',
        () => /^policies: loaded: .*hardly any request matches 1 of 1 routes/m.test(server.errors));
    const now = await (await fetch(`${server.url}metrics`)).text();
    assert.match(now, /^colimit_policies_limiting_routes 0$/m);
    assert.match(now, /^colimit_policies_unlikely_routes 1$/m);
    await server.stop();
});

test('policies change while the server runs, and a document that is not valid changes nothing', async () => {
    const server = await Server.start(policies);
    const policy = async () => (await fetch(`${server.url}api/hello`)).headers.get('ratelimit-policy');
    assert.match(await policy(), /q=3/);
    server.write({...policies, policies: {hello: '7 per 1h'}});
    await eventually('the new policy is in force', async () => /q=7/.test(await policy()));
    server.write('{"policies": {"hello": "7 per"}}');
    await eventually('it is reported', () => /^policies: refused: .*policies\.hello/m.test(server.errors));
    assert.match(await policy(), /q=7/);
    server.write({...policies, policies: {hello: '9 per 1h'}});
    server.process.kill('SIGHUP');
    await eventually('it is in force', async () => /q=9/.test(await policy()));
    await server.stop();
});

/// Starts a redis-server: its folder and process, and the options of http_server for it.
async function startRedis() {
    const folder = mkdtempSync(join(tmpdir(), 'http_server-'));
    const socket = join(folder, 'redis.sock');
    const redis = start('redis-server', ['--port', '0', '--unixsocket', socket, '--dir', folder,
        '--save', ''], {stdio: 'ignore'});
    await eventually('Redis is ready', () => existsSync(socket));
    const end = async () => {
        const ended = new Promise((done) => redis.on('close', done));
        redis.kill('SIGKILL');
        await ended;
    };
    return {folder, socket, end, options: ['--server', `unix:${socket}`]};
}

test('policies in Redis apply to all servers, and the file does until there are any', async () => {
    const {folder, socket, options, end} = await startRedis();
    options.push('--policies-from-redis');
    const servers = [await Server.start(policies, {options}), await Server.start(policies, {options})];
    const policy = async (server) => (await fetch(`${server.url}api/hello`)).headers.get('ratelimit-policy');
    const version = async (server) => (await (await fetch(`${server.url}metrics`)).text())
        .match(/^colimit_policies_version (\d+)$/m)?.[1];
    for (const server of servers) {
        assert.match(await policy(server), /q=3/);
        assert.equal(await version(server), undefined);
    }
    const document = JSON.stringify({...policies, policies: {hello: '7 per 1h'}});
    const {stdout} = spawnSync('redis-cli', ['-s', socket, '-x', 'HSET', 'colimit:policies', 'version', '8',
        'document'], {input: document, encoding: 'utf8'});
    assert.equal(stdout, '2\n');
    for (const server of servers) {
        await eventually('the published policy is in force', async () => /q=7/.test(await policy(server)));
        assert.equal(await version(server), '8');
    }
    for (const server of servers) await server.stop();
    await end();
    rmSync(folder, {recursive: true});
});

test('counts in Redis are shared, and failures of Redis are the policies\' to decide', async () => {
    const {folder, options, end} = await startRedis();
    const document = {...policies, policies: {hello: {rules: '3 per 1h', on_failure: 'allow'}}};
    const servers = [await Server.start(document, {options}), await Server.start(document, {options})];
    const statuses = [];
    for (let i = 0; i < 4; ++i) statuses.push((await fetch(`${servers[i % 2].url}api/hello`)).status);
    assert.deepEqual(statuses, [200, 200, 200, 429]);
    await end();
    await eventually('requests are let through', async () =>
        (await fetch(`${servers[0].url}api/hello`)).status === 200);
    await eventually('it is reported', () => servers[0].errors.includes('limiter: fallback started'));
    for (const server of servers) await server.stop();
    rmSync(folder, {recursive: true});
});

test('a policy that cannot decide is reported, and the others still do', async () => {
    const {folder, socket, options, end} = await startRedis();
    const both = {hello: '3 per 1h', all: {rules: '2 per 1h', key: 'global'}};
    const server = await Server.start({policies: both, routes: [
        {path: '/api/*', policies: ['hello', 'all']}]}, {options});
    const get = async (path) => (await fetch(`${server.url}api/${path}`)).status;
    const redis = (...words) => spawnSync('redis-cli', ['-s', socket, ...words], {encoding: 'utf8'}).stdout.trim();
    assert.equal(await get('hello'), 200);
    const key = redis('--scan', '--pattern', '*:hello:*');
    redis('DEL', key);
    assert.equal(redis('LPUSH', key, 'of another program'), '1');
    assert.deepEqual([await get('hello'), await get('hello')], [200, 429]);
    await eventually('it is reported', () => /; some policies of a request could not decide$/m.test(server.errors));
    assert.doesNotMatch(server.errors, /requests are not limited/);
    await server.stop();
    const alone = await Server.start({policies: both, routes: [{path: '/*', policy: 'hello'}]}, {options});
    assert.equal((await fetch(`${alone.url}api/hello`)).status, 200);
    await eventually('it is reported', () => /; requests are not limited$/m.test(alone.errors));
    await alone.stop();
    await end();
    rmSync(folder, {recursive: true});
});

/// Returns the next state that the server publishes.
async function state(server) {
    const {body} = await fetch(`${server.url}events`);
    let text = '';
    for await (const part of body) {
        text += Buffer.from(part);
        const event = text.match(/^data: (.*)\n\n/m);
        if (event) return JSON.parse(event[1]);
    }
}

test('a key that is denied often is found among many, and few are kept', async () => {
    const server = await Server.start({policies: {hello: {rules: '1 per 1h', key: 'header:X-Api-Key'}},
        routes: [{path: '/api/*', policy: 'hello'}]});
    assert.deepEqual((await state(server)).keys, []); // later readers do not get this state
    const send = async (key) => {
        const response = await fetch(`${server.url}api/hello`, {headers: {'X-Api-Key': key}});
        await response.arrayBuffer();
    };
    for (let i = 0; i < 300; ++i) {
        const key = `client-${i}-${'x'.repeat(i)}`;
        await Promise.all([send(key), send(key), send('greedy')]); // one of each two is denied
    }
    const {keys, policies: [hello]} = await state(server);
    assert.equal(keys.length, 10);
    assert.match(keys[0].key, /greedy/);
    assert.ok(keys[0].denied > 100 && keys[0].denied <= 299, `${keys[0].denied}`);
    assert.ok(keys.slice(1).every(({denied}) => denied <= 1));
    assert.ok(keys.every(({key}) => key.length <= 96));
    assert.equal(hello.allowed, 301);
    assert.equal(hello.denied, 599);
    await server.stop();
});

test('files of the page, other paths and other methods', async () => {
    const server = await Server.start(policies);
    const page = await fetch(server.url);
    assert.match(page.headers.get('content-security-policy'), /^default-src 'none'; script-src 'self'/);
    for (const [, file] of (await page.text()).matchAll(/(?:src|href)="([a-z]+\.[a-z]+)"/g)) {
        const {status, headers} = await fetch(server.url + file);
        assert.equal(status, 200, file);
        assert.equal(headers.get('x-content-type-options'), 'nosniff');
    }
    for (const path of ['../policies.json', 'page/', 'main.js/x', 'index.html']) {
        const received = await exchange(server.port, `GET /${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`);
        assert.match(received, /^HTTP\/1\.1 404 /, path);
    }
    const posted = await fetch(server.url, {method: 'POST', body: 'x'});
    assert.equal(posted.status, 405);
    assert.equal(posted.headers.get('allow'), 'GET, HEAD');
    const head = await exchange(server.port, 'HEAD / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n');
    assert.match(head, /^HTTP\/1\.1 200 OK\r\n(.*\r\n)*Content-Length: [1-9]\d+\r\n(.*\r\n)*\r\n$/);
    await server.stop();
});

test('what is not an acceptable request gets a response, and the connection ends', async () => {
    const server = await Server.start(policies);
    const responses = {
        'hello\r\n\r\n': 400,
        'GET / HTTP/1.1\r\nA B: c\r\n\r\n': 400,
        'GET / HTTP/1.1\r\nContent-Length: x\r\n\r\n': 400,
        [`GET / HTTP/1.1\r\nA: ${'b'.repeat(10_000)}\r\n\r\n`]: 431,
        [`POST /api/hello HTTP/1.1\r\nContent-Length: 20000\r\n\r\n${'b'.repeat(20_000)}`]: 413,
        'POST /api/hello HTTP/1.1\r\nContent-Length: 99999999999\r\n\r\n': 413,
        // A body whose end is not known, which would be the next request.
        'POST /api/x HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: xchunked\r\n\r\nGET /api/y HTTP/1.1\r\nHost: x\r\n\r\n': 501,
        'POST /api/x HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked, identity\r\n\r\n': 501,
        'POST /api/x HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip, chunked\r\n\r\n': 501,
        'POST /api/x HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n': 400,
        'POST /api/x HTTP/1.1\r\nHost: x\r\nExpect: 200-ok\r\nContent-Length: 1\r\n\r\n': 417,
        'GET / HTTP/1.1\r\n\r\n': 400,
        'GET / HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n': 400,
        // A name that another site lets resolve to this address.
        'GET /events HTTP/1.1\r\nHost: evil.example.org\r\n\r\n': 421,
        'GET /events HTTP/1.1\r\nHost: evil.example.org:8080\r\n\r\n': 421,
        'GET /events HTTP/1.1\r\nHost: \r\n\r\n': 421,
        // A target with a name replaces Host.
        'GET http://evil.example.org/api/hello HTTP/1.1\r\nHost: localhost\r\n\r\n': 421,
        'GET http://evil.example.org HTTP/1.1\r\nHost: localhost\r\n\r\n': 421,
        'GET HTTPS://evil.example.org:80?a=/ HTTP/1.1\r\nHost: localhost\r\n\r\n': 421,
        'GET http://localhost@evil.example.org/ HTTP/1.1\r\nHost: localhost\r\n\r\n': 421,
        'GET http:///events HTTP/1.1\r\nHost: localhost\r\n\r\n': 421,
    };
    for (const [text, status] of Object.entries(responses)) {
        const received = await exchange(server.port, text);
        assert.match(received, new RegExp(`^HTTP/1.1 ${status} `), text.slice(0, 60));
        assert.match(received, /Connection: close/);
        assert.equal(received.match(/^HTTP\/1/gm).length, 1, text.slice(0, 60));
    }
    for (const host of ['localhost', 'LOCALHOST:80', '127.0.0.1:8080', '[::1]', '[::1]:80', '::1', 'app'])
        assert.match(await exchange(server.port, `GET / HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`),
            /^HTTP\/1\.1 200 /, host);
    for (const target of ['http://localhost/', 'http://127.0.0.1:80', 'http://a@app/', '/?u=http://evil.example.org'])
        assert.match(await exchange(server.port, `GET ${target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`),
            /^HTTP\/1\.1 200 /, target);
    assert.match(await exchange(server.port, 'GET / HTTP/1.0\r\n\r\n'), /^HTTP\/1\.0 200 /);
    const both = await exchange(server.port, 'GET /icon.svg HTTP/1.1\r\nHost: x\r\n\r\n'
        + 'GET /nothing HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n');
    assert.match(both, /^HTTP\/1\.1 200 OK[^]*<svg[^]*HTTP\/1\.1 404 Not Found/, 'pipelined');
    await server.stop();
});

test('a server has the names that it is given', async () => {
    const server = await Server.start(policies, {options: ['--host', 'api.example.org', '--host', 'b.example.org']});
    for (const [host, status] of [['api.example.org', 200], ['B.example.org:443', 200], ['c.example.org', 421]])
        assert.match(await exchange(server.port, `GET / HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`),
            new RegExp(`^HTTP/1.1 ${status} `), host);
    await server.stop();
    for (const name of ['', 'localhost', 'a.example:8080', 'http://a.example', '192.0.2.1', '::1', '.', 'a b.c', '*.a.example']) {
        const {status, stderr} = spawnSync(program, ['--policies', '/nonexistent', '--host', name], {encoding: 'utf8'});
        assert.equal(status, 105, name);
        assert.match(stderr, /^--host: expected a name with a dot, such as api\.example\.org, without a port/, name);
    }
});

test('a client that waits to be asked for the body is asked', async () => {
    const server = await Server.start(policies);
    const received = await new Promise((done) => {
        let text = '';
        const socket = connect(server.port, '127.0.0.1', () => socket.write('POST /api/x HTTP/1.1\r\nHost: x\r\n'
            + 'Expect: 100-continue\r\nContent-Length: 2\r\nConnection: close\r\n\r\n'));
        socket.on('data', (data) => {
            text += data;
            if (text === 'HTTP/1.1 100 Continue\r\n\r\n') socket.write('hi');
        });
        socket.on('close', () => done(text));
    });
    assert.match(received, /^HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 200 OK\r\n/);
    await server.stop();
});

test('the document that is shipped limits every name', async () => {
    const server = await Server.start(readFileSync(shipped, 'utf8'));
    for (const path of ['/api/hello', '/api/hello;', '/api/hello%00', '/api/Hello', '/api/hello/x', '/api/anything']) {
        const received = await exchange(server.port, `GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`.repeat(200)
            + 'GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n');
        assert.ok(received.match(/HTTP\/1\.1 429 /g)?.length > 100, path);
    }
    await server.stop();
});

test('readers of the metrics are limited', async () => {
    const server = await Server.start(policies);
    const received = await exchange(server.port, 'GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(200)
        + 'GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n');
    assert.ok(received.match(/HTTP\/1\.1 200 /g).length >= 10);
    assert.ok(received.match(/HTTP\/1\.1 429 /g)?.length > 100);
    assert.match(received, /^Retry-After: 1\r$/m);
    await server.stop();
});

test('a client that has reset the connection is still that client', async () => {
    const server = await Server.start(policies);
    server.process.kill('SIGSTOP');
    const sockets = await Promise.all(Array.from({length: 5}, () => new Promise((done) => {
        const socket = connect(server.port, '127.0.0.1', () => socket.write('GET /api/x HTTP/1.1\r\nHost: x\r\n\r\n',
            () => done(socket)));
    })));
    for (const socket of sockets) socket.resetAndDestroy();
    server.process.kill('SIGCONT');
    await eventually('they are counted', async () => {
        const text = await fetch(`${server.url}metrics`).then((response) => response.text());
        return text.includes('policy="hello",outcome="allowed"} 3\n') && text.includes('policy="hello",outcome="denied"} 2\n');
    });
    assert.equal((await fetch(`${server.url}api/x`)).status, 429);
    await server.stop();
});

test('connections that wait for slow clients do not keep others out', async () => {
    const server = await Server.start(policies, {shell: 'ulimit -n 164;'}); // 64 are kept for all else
    const slow = [];
    for (let i = 0; i < 150; ++i)
        slow.push(await new Promise((done) => {
            const socket = connect(server.port, '127.0.0.1', () => socket.write('GET /api/x HTTP/1.1\r\nX: ', () => done(socket)));
            socket.resume().on('error', () => {});
        }));
    for (let i = 0; i < 20; ++i)
        assert.match(await exchange(server.port, 'GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n'), /^HTTP\/1\.1 200 /);
    for (const socket of slow) socket.destroy();
    await server.stop();
});

test('the address of the server that counts may be in a variable', async () => {
    const server = await Server.start(policies, {options: ['--server', 'env:WHERE'], shell: 'export WHERE=memory:;'});
    await server.stop();
    const {status, stderr} = spawnSync(program, ['--policies', '/nonexistent', '--server', 'env:NOT_SET'], {encoding: 'utf8'});
    assert.equal(status, 1);
    assert.equal(stderr, 'http_server: --server: no variable NOT_SET in the environment\n');
    const wrong = spawnSync(program, ['--policies', '/nonexistent', '--server', 'env:redis://:sec-ret@h'], {encoding: 'utf8'});
    assert.equal(wrong.status, 1);
    assert.equal(wrong.stderr, 'http_server: --server: after env: there is no name of a variable\n');
});

test('a client that does not read keeps the server from ending for a short time only', async () => {
    const many = Object.fromEntries(Array.from({length: 990}, (_, i) => [`p${i}`, '5/s']));
    const server = await Server.start({policies: many,
        routes: Object.keys(many).map((policy) => ({path: `/api/${policy}`, policy}))});
    const names = Object.keys(many).map((name) => `GET /api/${name} HTTP/1.1\r\nHost: x\r\n\r\n`).join('');
    await exchange(server.port, names + 'GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n');
    const stuck = connect(server.port, '127.0.0.1', () => // megabytes, which no buffer of the system takes
        stuck.write('GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(10)));
    stuck.pause().on('error', () => {});
    await eventually('it is answered', async () => stuck.bytesWritten > 0 && (await fetch(server.url)).ok);
    const start = Date.now();
    await server.stop();
    assert.ok(Date.now() - start < 20_000, 'not the 30 s that a client has'); // a halt may take some of them
    stuck.destroy();
});

test('a second server on the same port says so', async () => {
    const server = await Server.start(policies);
    const {status, stderr, stdout} = spawnSync(program,
        ['--port', String(server.port), '--policies', server.file], {encoding: 'utf8'});
    assert.equal(status, 1);
    assert.equal(stdout, '');
    assert.equal(stderr, `http_server: port ${server.port} of 127.0.0.1 is in use by another program; `
        + 'state another one with --port, or 0 for any free port\n');
    const bad = spawnSync(program, ['--address', 'localhost', '--policies', server.file], {encoding: 'utf8'});
    assert.equal(bad.stderr, "http_server: --address: not an IP address (got 'localhost', "
        + 'expected one such as 127.0.0.1 or ::)\n');
    const wrong = spawnSync(program, ['--port', '99999', '--policies', server.file], {encoding: 'utf8'});
    assert.match(wrong.stderr, /^--port: .*99999.* 0 .* 65535/);
    await server.stop();
});

test('connections that are idle do not keep the server from ending', async () => {
    const server = await Server.start(policies);
    const idle = connect(server.port, '127.0.0.1');
    const half = connect(server.port, '127.0.0.1', () => half.write('GET / HT'));
    const isClosed = [idle, half].map((socket) => new Promise((done) => socket.on('close', done)));
    for (const socket of [idle, half]) socket.resume().on('error', () => {});
    await eventually('both are accepted', async () => (await fetch(server.url)).ok);
    await server.stop();
    await Promise.all(isClosed);
});
