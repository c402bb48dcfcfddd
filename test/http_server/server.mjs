// Starts the program on a free port, with policies of the test, and stops it.

import assert from 'node:assert/strict';
import {spawn} from 'node:child_process';
import {mkdtempSync, rmSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {createInterface} from 'node:readline';
import {after} from 'node:test';

export const program = process.argv[2];

// A test that fails leaves its programs, which would keep this one from ending.
const children = [];
after(() => { for (const child of children) child.kill('SIGKILL'); });

/// As `spawn` of Node.
export function start(...arguments_) {
    children.push(spawn(...arguments_));
    return children.at(-1);
}

/// Waits until the condition holds; `what` says which one.
export async function eventually(what, condition, seconds = 20) {
    const end = Date.now() + 1000 * seconds;
    for (;;) {
        const value = await condition();
        if (value) return value;
        assert.ok(Date.now() < end, `not within ${seconds} s: ${what}`);
        await new Promise((done) => setTimeout(done, 20));
    }
}

export class Server {
    /// `shell` precedes the program, for example to lower a limit.
    static async start(document, {options = [], shell = ''} = {}) {
        const server = new Server();
        server.folder = mkdtempSync(join(tmpdir(), 'http_server-'));
        server.file = join(server.folder, 'policies.json');
        server.write(document);
        server.process = start('sh', ['-c', `${shell} exec "$0" "$@"`, program, '--port', '0',
            '--policies', server.file, ...options], {stdio: ['ignore', 'pipe', 'pipe']});
        server.errors = '';
        server.process.stderr.on('data', (text) => server.errors += text);
        server.ended = new Promise((done) => server.process.on('close', (code, signal) => done({code, signal})));
        const line = await Promise.race([
            new Promise((done) => createInterface(server.process.stdout).once('line', done)),
            server.ended.then(() => assert.fail(`the server did not start: ${server.errors}`))]);
        [, server.url] = line.match(/^listening on (http:\/\/127\.0\.0\.1:\d+\/)$/);
        server.port = Number(new URL(server.url).port);
        return server;
    }

    write(document) {
        writeFileSync(this.file, typeof document === 'string' ? document : JSON.stringify(document));
    }

    /// An orderly end: nothing is left, and no complaint.
    async stop() {
        this.process.kill('SIGTERM');
        assert.deepEqual(await this.ended, {code: 0, signal: null}, this.errors);
        rmSync(this.folder, {recursive: true});
    }
}
