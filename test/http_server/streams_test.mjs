// Many open pages, and one that reads nothing.
//
//     node streams_test.mjs PROGRAM

import assert from 'node:assert/strict';
import {readFileSync} from 'node:fs';
import {connect} from 'node:net';
import test from 'node:test';
import {eventually, Server} from './server.mjs';

const pages = 1000;

/// Policies with long names and many rules, so that events are large.
const large = {policies: Object.fromEntries(Array.from({length: 24}, (_, i) =>
    [`policy_${i}_${'x'.repeat(40)}`, Array.from({length: 8}, (_, n) => `${n + 1}000/h named rule_${n}`)]))};

/// An open page: `events` counts its events, `last` is the last one.
function open(port) {
    const page = {socket: connect(port, '127.0.0.1'), events: 0, rest: '', isOpen: true};
    page.socket.write('GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n');
    page.socket.on('data', (data) => {
        const parts = (page.rest + data).split('\n\n');
        page.rest = parts.pop();
        for (const part of parts) {
            if (!part.startsWith('data: ')) continue;
            ++page.events;
            page.last = part.slice(6);
        }
    });
    page.socket.on('error', () => {});
    page.socket.on('close', () => page.isOpen = false);
    return page;
}

const count = (page) => page.last ? JSON.parse(page.last).pages : 0;

function resident(pid) {
    return Number(readFileSync(`/proc/${pid}/status`, 'utf8').match(/VmRSS:\s+(\d+) kB/)[1]) / 1024;
}

test('a thousand pages are open', async () => {
    const server = await Server.start({policies: {hello: '5/s'}});
    const all = Array.from({length: pages}, () => open(server.port));
    await eventually('all pages are counted', () => count(all[0]) === pages);
    const before = all.map((page) => page.events);
    await eventually('every page gets events', () => all.every((p, i) => p.events > before[i] + 2));
    assert.equal((await fetch(`${server.url}api/hello`)).status, 200);
    assert.ok(resident(server.process.pid) < 150, `${resident(server.process.pid)} MiB`);

    for (const page of all.slice(1)) page.socket.destroy();
    await eventually('closed pages are forgotten', () => count(all[0]) === 1);
    await server.stop();
    await eventually('the last page ends with the server', () => !all[0].isOpen);
});

test('a page that reads nothing is dropped, others are not', async () => {
    const server = await Server.start(large);
    const page = open(server.port);
    const slow = open(server.port);
    slow.socket.pause();
    await eventually('both are counted', () => count(page) === 2);
    await eventually('the slow one is dropped', () => count(page) === 1, 60);
    assert.ok(page.isOpen);
    slow.socket.destroy();
    page.socket.destroy();
    await server.stop();
});

test('connections beyond the limit are turned away, and accepted again later', async () => {
    const server = await Server.start(large, {shell: 'ulimit -n 164;'}); // 64 are kept for all else
    const all = Array.from({length: 100}, () => open(server.port));
    await eventually('all pages are counted', () => count(all[99]) === 100);

    await eventually('one more is turned away', async () => {
        const text = await fetch(`${server.url}api/hello`).then((r) => String(r.status), String);
        return text === '503';
    });
    all[0].socket.destroy();
    await eventually('one has left', async () => (await fetch(`${server.url}api/hello`)).status === 200);
    for (const page of all) page.socket.destroy();
    await server.stop();
});
