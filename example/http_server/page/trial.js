// The same traffic against three algorithms. What it is, and when it is sent, depends on the limit
// and the period of the policies, and on the clock of the server, at whose multiples of the period
// windows begin.

import {element, setText} from './elements.js';
import {Lane} from './lane.js';
import {sleep, spread} from './traffic.js';

const names = {fixed_window: 'Fixed window', sliding_log: 'Sliding log', bucket: 'Bucket'};
const paths = Object.keys(names).map((name) => `api/${name}`);
const possible = {limit: 100, least: 2000, most: 20_000}; // of policies that can be tried
const burstMs = 400;
const lateMs = 500; // by which a trial may take longer

const trials = {
    steady: {
        about: 'One and a half times the limit, evenly spread. Window and log allow a block of '
            + 'requests, then none; the bucket settles at its rate.',
        durationMs: (period) => 3 * period,
        startsIn: (period, intoWindow) => period - intoWindow,
        run: (limit, period, report) =>
            spread(paths, 4.5 * limit, 3 * period, report),
    },
    edge: {
        about: 'The whole limit just before a window ends, and again just after it. The fixed '
            + 'window counts afresh and allows both, so up to twice its limit.',
        durationMs: (period) => period,
        startsIn: (period, intoWindow) => 1.5 * period - intoWindow,
        async run(limit, period, report) {
            await sleep(period / 2 - 2 * burstMs);
            const edge = sleep(2.25 * burstMs);
            await spread(paths, limit, burstMs, report);
            await edge;
            await spread(paths, limit, burstMs, report);
            await sleep(period / 4);
        },
    },
    double: {
        about: 'The whole limit at once, and again half a period later. Window and log allow none of '
            + 'the second burst; the bucket has refilled by half.',
        durationMs: (period) => period,
        startsIn: (period, intoWindow) => period - intoWindow,
        async run(limit, period, report) {
            await sleep(period / 10);
            const second = sleep(period / 2);
            await spread(paths, limit, burstMs, report);
            await second;
            await spread(paths, limit, burstMs, report);
            await sleep(period / 5);
        },
    },
};

export class Trial {
    constructor(root) {
        this.note = root.querySelector('#trial-note');
        this.limitText = root.querySelector('#trial-limit');
        this.buttons = [...root.querySelectorAll('button')];
        this.lanes = Object.entries(names).map(([name, title]) => new Lane(name, title));
        this.axisEnd = element('span');
        this.axis = element('div', {class: 'axis', 'aria-hidden': 'true'}, element('span', {}, '0 s'), this.axisEnd);
        this.axis.hidden = true; // until a trial begins
        root.querySelector('#lanes').append(...this.lanes.map((lane) => lane.root), this.axis);
        this.clock = []; // what the server's clock is ahead of this one's, in the last states
        for (const button of this.buttons) {
            button.setAttribute('aria-pressed', 'false');
            button.addEventListener('click', () => this.run(button));
            for (const looks of ['focus', 'pointerenter'])
                button.addEventListener(looks, () => this.explain(button));
        }
        this.enable(false);
    }

    update({time, policies}) {
        this.clock = [...this.clock.slice(-19), time - Date.now()];
        const own = Object.keys(names).map((name) => policies.find((p) => p.name === name));
        this.lanes.forEach((lane, i) => lane.setRule(own[i]?.rules ?? 'not in the policies'));
        const [first] = own;
        this.isPossible = own.every((p) => p && p.limit === first.limit &&
            p.period_us === first.period_us) && first.limit <= possible.limit &&
            first.period_us / 1000 >= possible.least && first.period_us / 1000 <= possible.most;
        if (this.isPossible) {
            this.limit = first.limit;
            this.period = first.period_us / 1000;
            setText(this.limitText, `${this.limit} per ${this.period / 1000} s`);
        } else if (!this.isRunning) {
            setText(this.note, `Needs policies named ${Object.keys(names).join(', ')} with the same `
                + `limit, at most ${possible.limit}, and the same period, ${possible.least / 1000} s to `
                + `${possible.most / 1000} s.`);
        }
        if (!this.isRunning) this.enable(this.isPossible);
    }

    /// Says what a trial shows, before it is begun.
    explain(button) {
        if (this.isPossible && !this.isRunning) setText(this.note, trials[button.dataset.trial].about);
    }

    showAxis(duration) {
        this.axis.hidden = false;
        setText(this.axisEnd, `${(duration / 1000).toLocaleString('en', {maximumFractionDigits: 1})} s`);
    }

    enable(on) { for (const button of this.buttons) button.disabled = !on; }

    /// The time of the server: the state that took least to arrive shows best how far it is ahead.
    now() { return Date.now() + Math.max(...this.clock); }

    async run(button) {
        const {limit, period} = this;
        const trial = trials[button.dataset.trial];
        this.isRunning = true;
        this.enable(false);
        for (const b of this.buttons) b.setAttribute('aria-pressed', String(b === button));
        const ahead = this.now() - Date.now();
        const start = this.now() + trial.startsIn(period, this.now() % period);
        let duration = trial.durationMs(period);
        const plannedEnd = start + duration;
        for (const lane of this.lanes) lane.begin({start, limit, period, duration});
        this.showAxis(duration);

        setText(this.note, `${trial.about} Begins when the right moment of a window comes.`);
        await sleep(start - this.now());
        setText(this.note, trial.about);
        const ticks = setInterval(() => this.lanes.forEach((lane) => lane.setNow(this.now())), 50);
        await trial.run(limit, period, ({path, status, at}) => {
            const time = at + ahead;
            if (time - start > duration) {
                duration = time - start;
                for (const lane of this.lanes) lane.extend(duration);
                this.showAxis(duration);
            }
            this.lanes.find((lane) => path.endsWith(lane.name)).add(time, status);
        });
        clearInterval(ticks);
        const isLate = this.now() > plannedEnd + lateMs;
        for (const lane of this.lanes) lane.end();

        const result = isLate ? `${trial.about} But the browser was busy or this page hidden, so the `
            + 'requests came late, and their times are not exact.' : trial.about;
        setText(this.note, `${result} What was used returns within ${period / 1000} s; then you can try again.`);
        await sleep(period);
        setText(this.note, result);
        button.setAttribute('aria-pressed', 'false');
        this.isRunning = false;
        this.enable(this.isPossible);
    }
}
