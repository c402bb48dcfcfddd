// One algorithm in a trial: a square for each request over time, the edges of windows, and the
// period in which most were allowed.

import {element, setText, svg} from './elements.js';

const height = 104;
const base = 74;    // the y of the time axis
const pitch = 8;    // of squares
const side = 5;

export class Lane {
    constructor(name, title) {
        this.name = name;
        this.rule = element('p', {class: 'rule mono'});
        this.count = element('strong', {}, '–');
        this.failed = element('span');
        this.most = element('p', {}, ' ');
        this.drawing = svg('svg', {role: 'img', 'aria-label': `${title}: no requests yet`});
        this.title = title;
        this.root = element('div', {class: 'lane', 'data-lane': name},
            element('div', {}, element('h3', {}, title), this.rule), this.drawing,
            element('div', {class: 'tally'}, element('p', {}, this.count, ' allowed', this.failed), this.most));
        this.marks = [];
        new ResizeObserver(() => this.draw()).observe(this.drawing);
    }

    setRule(text) { setText(this.rule, text); }

    begin({start, limit, period, duration}) {
        Object.assign(this, {start, limit, period, duration, now: start, isOver: false, marks: []});
        this.draw();
    }

    add(time, status) {
        const kind = status === 200 ? 'allowed' : status === 429 ? 'denied' : 'failed';
        this.marks.push({time, kind});
        this.draw();
    }

    setNow(time) {
        this.now = Math.min(time, this.start + this.duration);
        this.drawCursor();
    }

    extend(duration) {
        this.duration = duration;
        this.draw();
    }

    end() {
        this.isOver = true;
        this.draw();
    }

    of(kind) { return this.marks.filter((m) => m.kind === kind); }

    /// The period with the most allowed requests: {count, from}.
    densest() {
        const times = this.of('allowed').map((m) => m.time).sort((a, b) => a - b);
        let best = {count: 0, from: this.start};
        for (let first = 0, last = 0; last < times.length; ++last) {
            while (times[last] - times[first] >= this.period) ++first;
            if (last - first + 1 > best.count) best = {count: last - first + 1, from: times[first]};
        }
        return best;
    }

    x(time) { return this.width * (time - this.start) / this.duration; }

    draw() {
        this.width = this.drawing.clientWidth;
        if (!this.width) return;
        this.drawing.setAttribute('viewBox', `0 0 ${this.width} ${height}`);
        const axis = svg('line', {class: 'base', x1: 0, x2: this.width, y1: base + 3, y2: base + 3});
        if (!this.duration) {
            this.drawing.replaceChildren(axis);
            return;
        }
        this.cursor = svg('line', {class: 'cursor', y1: 4, y2: base + 3});
        this.drawing.replaceChildren(axis, ...this.edges(), ...this.squares(), this.cursor);
        if (this.isOver) this.drawDensest();
        this.drawCursor();
        this.describe();
    }

    edges() {
        const drawn = [];
        const first = Math.ceil(this.start / this.period) * this.period;
        for (let time = first; time <= this.start + this.duration; time += this.period) {
            const x = this.x(time);
            drawn.push(svg('line', {class: 'edge', x1: x, x2: x, y1: 4, y2: base + 8}));
        }
        return drawn;
    }

    /// Those of one moment are stacked.
    squares() {
        const columns = new Map();
        for (const mark of [...this.marks].sort((a, b) => a.time - b.time)) {
            const column = Math.floor(this.x(mark.time) / pitch);
            columns.set(column, [...columns.get(column) ?? [], mark]);
        }
        const tallest = Math.max(1, ...[...columns.values()].map((c) => c.length));
        const step = Math.min(pitch, (base - 6) / tallest);
        return [...columns].flatMap(([column, marks]) => marks.map(({kind}, i) => svg('rect', {
            class: `mark-${kind}`, 'stroke-width': Math.min(1.5, step / 5),
            x: column * pitch + 1, y: base - i * step - Math.min(side, step * 0.7),
            width: side, height: Math.min(side, step * 0.7), rx: 1,
        })));
    }

    drawCursor() {
        if (!this.cursor) return;
        const x = this.x(this.now);
        this.cursor.setAttribute('x1', x);
        this.cursor.setAttribute('x2', x);
        this.cursor.setAttribute('visibility', this.isOver ? 'hidden' : 'visible');
    }

    drawDensest() {
        const {count, from} = this.densest();
        if (count === 0) return;
        const left = Math.max(this.x(from), 1);
        const right = Math.min(this.x(from + this.period), this.width - 1);
        const over = count > this.limit ? ' over' : '';
        const y = base + 14;
        this.drawing.append(
            svg('path', {class: `span${over}`, d: `M${left},${y - 4}V${y}H${right}V${y - 4}`}),
            svg('text', {class: over, x: (left + right) / 2, y: y + 14, 'text-anchor': 'middle'},
                `${count} within ${this.period / 1000} s`));
    }

    describe() {
        const allowed = this.of('allowed').length;
        const failed = this.of('failed').length; // neither allowed nor denied: there was no decision
        const {count} = this.densest();
        setText(this.count, `${allowed} of ${this.marks.length}`);
        setText(this.failed, failed === 0 ? '' : `, ${failed} failed`);
        setText(this.most, `${count} within ${this.period / 1000} s`);
        this.most.classList.toggle('over', count > this.limit);
        this.drawing.setAttribute('aria-label', `${this.title}: ${allowed} of ${this.marks.length} `
            + `requests allowed${this.failed.textContent}, ${count} of them within `
            + `${this.period / 1000} s`);
    }
}
