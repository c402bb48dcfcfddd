// The page, in headless Chromium.
//
//     node page_test.mjs PROGRAM CHROMIUM

import assert from 'node:assert/strict';
import test, {before} from 'node:test';
import {chromium} from 'playwright-core';
import {eventually, Server} from './server.mjs';

const rules = {
    hello: '5/s burst 10',
    bucket: '20 per 2s',
    fixed_window: '20 per 2s fixed_window',
    sliding_log: '20 per 2s sliding_log',
};
const policies = {policies: rules, routes: Object.keys(rules).map((policy) => ({path: `/api/${policy}`, policy}))};
let browser;
let server;

before(async () => {
    browser = await chromium.launch({executablePath: process.argv[3], args: ['--no-sandbox']});
    server = await Server.start(policies);
});

/// Opens the page. `messages` are those of the console, except that the browser reports each
/// denied request of the page as an error.
async function open(options = {}, url = server.url) {
    const page = await browser.newPage({viewport: {width: 1280, height: 900}, ...options});
    page.messages = [];
    page.on('console', (message) => {
        const isDenial = message.text().includes('status of 429') && message.location().url.includes('/api/');
        if (!isDenial) page.messages.push(message.text());
    });
    page.on('pageerror', (error) => page.messages.push(error.message));
    page.on('requestfailed', (request) => page.messages.push(`${request.url()} failed`));
    page.on('dialog', (dialog) => page.messages.push(dialog.message()));
    await page.goto(url);
    await page.waitForSelector('.card');
    return page;
}

/// Closes a page that has nothing to complain about.
async function close(page) {
    assert.deepEqual(page.messages, []);
    page.removeAllListeners('requestfailed'); // the stream ends
    await page.close();
}

/// Runs a trial to its end; again, if the machine was so busy that its requests came late.
async function runTrial(page, name) {
    for (let isLate = true; isLate;) {
        await page.click(`[data-trial=${name}]`);
        await page.waitForSelector(`[data-trial=${name}][aria-pressed=true]:disabled`);
        await page.waitForSelector(`button[data-trial=${name}]:enabled`, {timeout: 120_000});
        isLate = (await page.textContent('#trial-note')).includes('came late');
    }
}

const number = async (page, selector) => parseFloat(await page.textContent(selector));

test('it loads: a card for each policy, and nothing to complain about', async () => {
    const page = await open();
    assert.deepEqual(await page.locator('.card h3').allTextContents(),
        ['bucket', 'fixed_window', 'hello', 'sliding_log']);
    await page.waitForFunction(() => document.querySelector('#connection').textContent === 'memory, ready');
    assert.equal(await page.textContent('#keys'), 'None so far.');
    await close(page);
});

test('charts move under load, and a denied burst and its key appear', async () => {
    const page = await open();
    const card = '[data-policy=hello]';
    /// How high the path rises: 0 for a line along the bottom.
    const rise = (line) => page.$eval(`${card} .line-${line}`, (path) => path.getBBox().height);
    assert.equal(await rise('denied'), 0);
    let load = true;
    const client = (async () => {
        while (load) await (await fetch(`${server.url}api/hello`)).arrayBuffer();
    })();
    await eventually('allowed requests are shown', async () => await number(page, `${card} .rates p:nth-child(1)`) > 2);
    await eventually('denied requests are shown', async () => await number(page, `${card} .rates p:nth-child(2)`) > 20);
    await eventually('the lines rise', async () => await rise('denied') > 20 && await rise('allowed') > 0);
    await eventually('times are shown', async () => await rise('p99') > 0);
    await eventually('the key is shown', async () =>
        (await page.textContent('#keys li:first-child')).startsWith('ip=127.0.0.1hello'));
    await eventually('it is counted', async () => await number(page, '#keys li .count') > 5);
    load = false;
    await client;
    await eventually('the load is over', async () => await number(page, `${card} .rates p:nth-child(2)`) === 0);
    assert.ok(await rise('denied') > 20, 'the burst is still in the chart');
    await close(page);
});

test('a trial shows how the algorithms differ at the edge of a window', async () => {
    const page = await open();
    await runTrial(page, 'edge');
    const squares = (lane, kind) => page.locator(`[data-lane=${lane}] .mark-${kind}`).count();
    for (const lane of ['fixed_window', 'sliding_log', 'bucket'])
        assert.equal(await squares(lane, 'allowed') + await squares(lane, 'denied'), 40);
    assert.equal(await squares('sliding_log', 'allowed'), 20);
    assert.ok(await squares('fixed_window', 'allowed') > 20);
    assert.match(await page.textContent('[data-lane=sliding_log] .tally'), /^20 of 40 allowed20 within 2 s$/);
    assert.equal(await page.locator('[data-lane=fixed_window] .tally .over').count(), 1);
    await close(page);
});

test('requests without a decision are told from denied ones', async () => {
    const page = await open();
    let sent = 0;
    await page.route('**/api/bucket', (route) => {
        const n = sent++ % 40; // of the requests of a trial
        return n < 3 ? route.abort() : n < 5 ? route.fulfill({status: 503}) : route.continue();
    });
    await runTrial(page, 'double');
    assert.equal(await page.locator('[data-lane=bucket] .mark-failed').count(), 5);
    assert.match(await page.textContent('[data-lane=bucket] .tally'), /^\d+ of 40 allowed, 5 failed/);
    assert.match(await page.getAttribute('[data-lane=bucket] svg', 'aria-label'), /allowed, 5 failed/);
    assert.equal(await page.locator('[data-lane=sliding_log] .mark-failed').count(), 0);
    assert.match(await page.textContent('[data-lane=sliding_log] .tally'), /^20 of 40 allowed20/);
    page.messages = page.messages.filter((m) => !/failed|Failed|503/.test(m));
    await close(page);
});

test('trials need no mouse', async () => {
    const page = await open();
    const focused = () => page.evaluate(() => document.activeElement.dataset.trial ?? document.activeElement.id);
    await page.waitForSelector('[data-trial=double]:enabled');
    const order = [];
    for (let i = 0; i < 4; ++i) {
        await page.keyboard.press('Tab');
        order.push(await focused());
        const outline = await page.evaluate(() => getComputedStyle(document.activeElement).outlineStyle);
        assert.equal(outline, 'solid', 'the focus is visible');
    }
    assert.deepEqual(order, ['steady', 'edge', 'double', 'greedy']);
    await page.keyboard.press('Shift+Tab');
    await page.keyboard.press('Enter');
    await page.waitForSelector('[data-trial=double][aria-pressed=true]');
    await eventually('the trial runs', async () => await page.locator('.mark-allowed').count() > 0);
    await close(page);
});

test('buttons explain themselves, and a trial with late requests says so and stays in its chart', async () => {
    const page = await open();
    await page.hover('[data-trial=double]:enabled');
    await page.waitForFunction(() => document.querySelector('#trial-note').textContent.includes('half a period later'));
    await page.click('[data-trial=double]');
    await page.waitForSelector('.mark-allowed');
    await page.evaluate(() => {
        const end = Date.now() + 3000;
        while (Date.now() < end);
    });
    await page.waitForFunction(() => document.querySelector('#trial-note').textContent.includes('requests came late'));
    const outside = await page.$$eval('.lane svg', (drawings) => drawings.flatMap((drawing) => {
        const {right} = drawing.getBoundingClientRect();
        return [...drawing.querySelectorAll('rect, path')].filter((e) => e.getBoundingClientRect().right > right + 8);
    }).length);
    assert.equal(outside, 0);
    assert.match(await page.textContent('#lanes .axis'), /^0 s([3-9]|\d\d)(\.\d)? s$/);
    await close(page);
});

test('keys are shown as text, whatever they contain', async () => {
    const own = await Server.start({policies: {hello: {rules: '1/h', key: 'header:X-Api-Key'}},
        routes: [{path: '/api/*', policy: 'hello'}]});
    const page = await open({viewport: {width: 375, height: 800}}, own.url);
    const keys = ['<img src=x onerror=alert(1)>', '"></code><script>alert(2)</script>', 'x'.repeat(60),
        '<style>*{display:none}</style>', 'data: 1\\n\\nevent: x'];
    for (const key of keys) {
        for (let i = 0; i < 2; ++i)
            await fetch(`${own.url}api/hello`, {headers: {'X-Api-Key': key}});
    }
    const shown = async () => (await page.locator('#keys li code').allTextContents()).join('\n');
    for (const key of keys) await eventually(key, async () => (await shown()).includes(key));
    assert.equal(await page.locator('#keys img, #keys script, #keys style').count(), 0);
    assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth));
    await close(page);
    await own.stop();
});

/// The contrast of each text with what is behind it, by WCAG 2; the least one is returned.
function leastContrast() {
    const parse = (color) => color.match(/[\d.]+/g).map(Number);
    const luminance = ([r, g, b]) => [r, g, b].map((c) => c / 255)
        .map((c) => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)
        .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
    const behind = (e) => {
        const color = parse(getComputedStyle(e).backgroundColor);
        return color.length === 3 ? color : behind(e.parentElement);
    };
    const texts = [...document.querySelectorAll('h1, h2, h3, h4, p, li, button, a, code, .axis span')]
        .filter((e) => e.checkVisibility() && e.textContent.trim());
    return texts.map((e) => {
        const [a, b] = [luminance(parse(getComputedStyle(e).color)), luminance(behind(e))];
        return {contrast: (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05), text: e.textContent};
    }).reduce((least, one) => one.contrast < least.contrast ? one : least);
}

for (const colorScheme of ['light', 'dark']) {
    for (const width of [320, 1280]) {
        test(`${colorScheme}, ${width} pixels wide`, async () => {
            const page = await open({colorScheme, viewport: {width, height: 800}, hasTouch: width < 400});
            await page.waitForSelector('button:enabled');
            const {scrollWidth, isDark} = await page.evaluate(() => ({
                scrollWidth: document.documentElement.scrollWidth,
                isDark: getComputedStyle(document.body).backgroundColor.match(/\d+/g).every((c) => c < 64),
            }));
            assert.equal(scrollWidth, width, 'nothing scrolls sideways');
            assert.equal(isDark, colorScheme === 'dark');
            const {contrast, text} = await page.evaluate(leastContrast);
            assert.ok(contrast >= 4.5, `${text}: ${contrast}`);
            for (const box of await Promise.all((await page.locator('button').all()).map((b) => b.boundingBox())))
                assert.ok(box.height >= 44, 'buttons can be touched');
            await close(page);
        });
    }
}

test('charts move smoothly, or not at all between two states if the reader prefers that', async () => {
    for (const reducedMotion of ['no-preference', 'reduce']) {
        const page = await open({reducedMotion});
        const moves = await page.evaluate(async () => {
            const moving = document.querySelector('.plot g');
            let seen = false;
            for (let i = 0; i < 60; ++i) {
                await new Promise(requestAnimationFrame);
                seen ||= !/translate\(-?0 0\)/.test(moving.getAttribute('transform'));
            }
            return seen;
        });
        assert.equal(moves, reducedMotion === 'no-preference');
        await close(page);
    }
});

test('a hidden page holds no connection', async () => {
    const page = await open();
    const hide = (isHidden) => page.evaluate((value) => {
        Object.defineProperty(document, 'hidden', {configurable: true, get: () => value});
        document.dispatchEvent(new Event('visibilitychange'));
    }, isHidden);
    const isFollowed = () => page.evaluate(async () => {
        const before = document.querySelector('.line-allowed').getAttribute('d');
        await new Promise((done) => setTimeout(done, 600));
        return before !== document.querySelector('.line-allowed').getAttribute('d');
    });
    assert.ok(await isFollowed());
    page.removeAllListeners('requestfailed');
    await hide(true);
    assert.ok(!await isFollowed());
    await hide(false);
    await eventually('it is followed again', isFollowed);
    await close(page);
});

test('it says when the server is gone', async () => {
    const own = await Server.start(policies);
    const page = await open({}, own.url);
    await page.waitForSelector('[data-trial=edge]:enabled');
    await own.stop();
    await page.waitForFunction(() => document.querySelector('#connection').textContent.startsWith('no connection'));
    await page.waitForSelector('[data-trial=edge]:disabled');
    await page.close();
});

test('the server ends in an orderly way', async () => {
    await browser.close();
    await server.stop();
});
