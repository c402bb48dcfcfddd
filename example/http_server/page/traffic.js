// Requests from this browser. `send` reports each response: whether it was allowed, and when it
// arrived.

export const sleep = (ms) => new Promise((done) => setTimeout(done, Math.max(ms, 0)));

/// Requests the path once.
async function send(path, report) {
    try {
        const response = await fetch(path, {cache: 'no-store'});
        const at = Date.now();
        await response.arrayBuffer(); // so that the connection is free for the next one
        report({path, status: response.status, at});
    } catch {
        report({path, status: 0, at: Date.now()});
    }
}

/// Sends `count` requests to each path, evenly spread over a time.
export async function spread(paths, count, durationMs, report) {
    const start = Date.now();
    const all = [];
    for (let i = 0; i < count; ++i) {
        await sleep(start + durationMs * i / count - Date.now());
        for (const path of paths) all.push(send(path, report));
    }
    await Promise.all(all);
}
