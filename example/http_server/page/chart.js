// Lines over the last minute, drawn as SVG. Between two states the drawing moves to the left with
// the time, unless the reader prefers less motion.

import {element, reducedMotion, setText, svg} from './elements.js';

export const shownMs = 60_000;
const width = 600;

/// The least of 1, 2, 5, 10, 20 ... that is not below the value.
function roundUp(value) {
    const power = 10 ** Math.floor(Math.log10(value));
    return [1, 2, 5, 10].map((n) => n * power).find((n) => n >= value * 0.999);
}

export class Chart {
    /// Each line is {name, area}, from the bottom to the top: with `stacked`, a line begins at the
    /// one before it. The scale reaches `least` at least, and `format` writes its end.
    constructor({lines, height, stacked = false, least, format, label}) {
        Object.assign(this, {height, stacked, least, format, label});
        this.points = []; // {time, values}
        this.top = element('span', {class: 'top'});
        this.moving = svg('g');
        this.paths = lines.map(({name, area}) => {
            const path = {line: svg('path', {class: `line-${name}`})};
            if (area) path.area = svg('path', {class: `area-${name}`});
            return path;
        });
        // The lowest line is on top: of two that coincide, the upper one is empty.
        const drawn = [...this.paths].reverse();
        this.moving.append(...drawn.flatMap(({area}) => area ?? []), ...drawn.map(({line}) => line));
        this.drawing = svg('svg', {
            viewBox: `0 0 ${width} ${height}`, height, preserveAspectRatio: 'none', role: 'img',
            'aria-label': label,
        }, ...[0.5, height / 2, height - 0.5].map(
            (y) => svg('line', {class: 'grid', x1: 0, x2: width, y1: y, y2: y})), this.moving);
        this.root = element('div', {class: 'plot'}, this.drawing, this.top);
    }

    add(time, values) {
        this.points.push({time, values});
        while (this.points[1] && this.points[1].time < time - shownMs - 1000) this.points.shift();
        this.drawnAt = performance.now();
        this.draw();
        this.move();
    }

    draw() {
        const end = this.points.at(-1).time;
        const highest = Math.max(...this.points.map(({values}) => this.stacked
            ? values.reduce((sum, v) => sum + v, 0) : Math.max(...values)));
        const top = roundUp(Math.max(highest, this.least));
        const x = (time) => (width * (1 - (end - time) / shownMs)).toFixed(1);
        const y = (value) => (this.height - 1 - (this.height - 2) * value / top).toFixed(1);
        let floor = this.points.map(() => 0);
        this.paths.forEach((path, i) => {
            const values = this.points.map(({values: v}, n) => v[i] + (this.stacked ? floor[n] : 0));
            const corners = this.points.map(({time}, n) => `${x(time)},${y(values[n])}`);
            path.line.setAttribute('d', `M${corners.join('L')}`);
            if (path.area) {
                const under = this.points.map(({time}, n) => `${x(time)},${y(floor[n])}`).reverse();
                path.area.setAttribute('d', `M${corners.concat(under).join('L')}Z`);
            }
            if (this.stacked) floor = values;
        });
        setText(this.top, this.format(top));
    }

    move() {
        if (this.points.length === 0) return;
        const passed = reducedMotion.matches ? 0 : Math.min(performance.now() - this.drawnAt, 1000);
        this.moving.setAttribute('transform', `translate(${-width * passed / shownMs} 0)`);
    }

    describe(text) { this.drawing.setAttribute('aria-label', `${this.label}: ${text}`); }
}
