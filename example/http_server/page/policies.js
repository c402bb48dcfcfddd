// A card for each policy: its rates, where its decisions were made, and how long they took.

import {Chart, shownMs} from './chart.js';
import {element, setText} from './elements.js';

const counters = ['allowed', 'denied', 'failed', 'cached', 'leased', 'fallback', 'unchecked'];
const sources = [['store', 'store'], ['cached', 'deny cache'], ['leased', 'leases'], ['fallback', 'fallback'], ['rest', 'none']];
const rateMs = 1000; // over which a rate is taken

function rateText(rate) { return rate >= 100 ? Math.round(rate).toLocaleString('en') : rate.toFixed(1); }
function timeText(us) { return us < 1 ? '< 1 µs' : us < 1000 ? `${us} µs` : `${us / 1000 < 10 ? (us / 1000).toFixed(1) : Math.round(us / 1000)} ms`; }

class Card {
    constructor(name) {
        this.history = []; // {time, counts}
        this.rule = element('p', {class: 'rule mono'});
        this.allowed = element('strong', {}, '0.0');
        this.denied = element('strong', {}, '0.0');
        this.rates = new Chart({
            lines: [{name: 'allowed', area: true}, {name: 'denied', area: true}], stacked: true,
            height: 110, least: 5, format: (n) => `${n.toLocaleString('en')}/s`,
            label: `requests per second under ${name}`});
        this.times = new Chart({
            lines: [{name: 'p50'}, {name: 'p99'}], height: 44, least: 10, format: timeText,
            label: `time per decision under ${name}`});
        this.p50 = element('li', {class: 'p50'});
        this.p99 = element('li', {class: 'p99'});
        this.shares = sources.map(([id]) => element('span', {class: id}));
        this.noShare = element('span', {class: 'none'});
        this.shareTexts = sources.map(([id]) => element('li', {class: id}));
        this.root = element('article', {class: 'card', 'data-policy': name},
            element('h3', {}, name), this.rule,
            element('div', {class: 'rates'},
                element('p', {}, this.allowed, element('span', {class: 'key allowed'}, 'allowed/s')),
                element('p', {}, this.denied, element('span', {class: 'key denied'}, 'denied/s'))),
            this.rates.root,
            element('div', {class: 'axis', 'aria-hidden': 'true'},
                element('span', {}, '60 s ago'), element('span', {}, 'now')),
            element('div', {class: 'below'},
                element('div', {}, element('h4', {}, 'Time per decision'), this.times.root,
                    element('ul', {class: 'legend'}, this.p50, this.p99)),
                element('div', {}, element('h4', {}, 'Decided by'),
                    element('div', {class: 'shares', 'aria-hidden': 'true'}, ...this.shares, this.noShare),
                    element('ul', {class: 'legend'}, ...this.shareTexts))));
    }

    update(time, policy) {
        const counts = Object.fromEntries(counters.map((name) => [name, policy[name]]));
        if (counts.allowed < this.history.at(-1)?.counts.allowed) this.history = []; // restarted
        this.history.push({time, counts});
        while (this.history[1] && this.history[1].time < time - shownMs) this.history.shift();
        setText(this.rule, policy.rules);

        const [allowed, denied] = this.rate(time, counts);
        setText(this.allowed, rateText(allowed));
        setText(this.denied, rateText(denied));
        this.rates.add(time, [allowed, denied]);
        this.rates.describe(`${rateText(allowed)} allowed, ${rateText(denied)} denied`);
        this.times.add(time, [policy.p50_us, policy.p99_us]);
        this.times.describe(`p50 ${timeText(policy.p50_us)}, p99 ${timeText(policy.p99_us)}`);
        setText(this.p50, `p50 ${timeText(policy.p50_us)}`);
        setText(this.p99, `p99 ${timeText(policy.p99_us)}`);
        this.showShares(counts);
    }

    rate(time, counts) {
        const before = this.history.findLast((h) => h.time <= time - rateMs) ?? this.history[0];
        const seconds = Math.max(time - before.time, rateMs) / 1000;
        return ['allowed', 'denied'].map((name) => (counts[name] - before.counts[name]) / seconds);
    }

    /// Of the last minute.
    showShares(counts) {
        const first = this.history[0].counts;
        const made = Object.fromEntries(counters.map((name) => [name, counts[name] - first[name]]));
        const rest = made.failed + made.unchecked;
        const all = made.allowed + made.denied + made.failed;
        const {cached, leased, fallback} = made;
        const parts = [all - cached - leased - fallback - rest, cached, leased, fallback, rest];
        sources.forEach(([, name], i) => {
            const share = all === 0 ? 0 : 100 * parts[i] / all;
            this.shares[i].style.flexBasis = `${share}%`;
            this.shares[i].hidden = share === 0;
            this.shareTexts[i].hidden = share === 0 && i > 1;
            setText(this.shareTexts[i], `${name} ${Math.round(share)} %`);
        });
        this.noShare.hidden = all !== 0;
    }

    move() {
        this.rates.move();
        this.times.move();
    }
}

export class Policies {
    constructor(root, hiddenNote) {
        this.root = root;
        this.hiddenNote = hiddenNote;
        this.cards = new Map();
        const frame = () => {
            for (const card of this.cards.values()) card.move();
            requestAnimationFrame(frame);
        };
        requestAnimationFrame(frame);
    }

    update({time, policies, hidden}) {
        const names = new Set(policies.map(({name}) => name));
        for (const [name, card] of this.cards) {
            if (names.has(name)) continue;
            card.root.remove();
            this.cards.delete(name);
        }
        for (const policy of policies) {
            if (!this.cards.has(policy.name)) {
                const card = new Card(policy.name);
                this.cards.set(policy.name, card);
                this.root.append(card.root);
            }
            this.cards.get(policy.name).update(time, policy);
        }
        this.hiddenNote.hidden = hidden === 0;
        setText(this.hiddenNote, `${hidden} more policies are not shown.`);
    }
}
