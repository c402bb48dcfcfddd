// Checks the metrics of a program (see print_metrics.cpp), and the dashboard and the alerts that use
// them, with Prometheus' own parser: every metric is used, and what is used exists.
//
//     node check.mjs PROGRAM PROMTOOL FOLDER HEADER
//
// FOLDER has grafana.json, alerts.yml and alerts_test.yml; HEADER is metrics.hpp, which lists all
// metrics and their labels.

import assert from 'node:assert/strict';
import {execFileSync} from 'node:child_process';
import {mkdtempSync, readFileSync, rmSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';

const [program, tool, folder, header] = process.argv.slice(2);
const promtool = (...args) => execFileSync(tool, args, {encoding: 'utf8', stdio: 'pipe'});

// The text. The linter complains about names, units, types and help, too.
const text = execFileSync(program, {encoding: 'utf8'});
execFileSync(tool, ['check', 'metrics'], {input: text, stdio: ['pipe', 'pipe', 'pipe']});
const samples = text.trimEnd().split('\n').filter((line) => !line.startsWith('#'));
const families = [...text.matchAll(/^# TYPE (\S+) (\S+)$/gm)].map(([, name]) => name);
const names = new Set(samples.map((line) => line.match(/^[a-z_]+/)[0]));
for (const family of families)
    assert.ok([...names].some((name) => name.startsWith(family)), `${family} has no sample`);

// The labels of each metric, so that an expression with another one would be noticed.
const labels = new Map();
for (const line of samples) {
    const [, name, inner] = line.match(/^([a-z_]+)(?:\{(.*)\})? /);
    const known = labels.get(name) ?? new Set(['job', 'instance', 'alertname', 'alertstate']);
    for (const [, label] of (inner ?? '').matchAll(/([a-z_]+)="/g)) known.add(label);
    labels.set(name, known);
}

// The lists of the header. `limiter` and `file` are labels of the program.
const comments = readFileSync(header, 'utf8').replaceAll(/\s*\/\/\/\s*/g, ' ');
const listed = new Map();
for (const [, name, inner] of comments.matchAll(/`(colimit_[a-z_]+)(?:\{([a-z_, ]+)\})?`/g))
    listed.set(name, (inner ?? '').split(', ').filter(Boolean).sort());
assert.deepEqual([...listed.keys()].sort(), [...families].sort(), 'the lists of metrics.hpp');
const added = ['alertname', 'alertstate', 'file', 'instance', 'job', 'limiter'];
const own = new Set();
for (const [name, of_name] of labels) {
    const base = name.replace(/_(bucket|sum|count)$/, '');
    const shown = [...of_name].filter((label) => !added.includes(label)).sort();
    shown.forEach((label) => own.add(label));
    assert.deepEqual(shown.filter((label) => label !== 'le'), listed.get(base),
        `the labels of ${base} in metrics.hpp`);
}
const reserved = comments.match(/names that the metrics use themselves: ([^.]+)\./)[1];
assert.deepEqual([...reserved.matchAll(/`(\w+)`/g)].map(([, name]) => name).sort(),
    [...own].sort(), 'the reserved labels in metrics.hpp');

const used = new Set();
function check(expression, where) {
    for (const [, name, inner] of expression.matchAll(/\b(colimit_[a-z_]+)(?:\{([^}]*)\})?/g)) {
        assert.ok(names.has(name), `${where}: there is no metric ${name}`);
        used.add(name.replace(/_(bucket|sum|count)$/, ''));
        for (const [, label] of (inner ?? '').matchAll(/([a-z_]+) *[!=]/g))
            assert.ok(labels.get(name).has(label), `${where}: ${name} has no label ${label}`);
    }
}

// The dashboard.
const dashboard = JSON.parse(readFileSync(join(folder, 'grafana.json'), 'utf8'));
const expressions = [];
const cells = new Set();
for (const panel of dashboard.panels) {
    const {x, y, w, h} = panel.gridPos;
    assert.ok(x >= 0 && x + w <= 24, `${panel.title}: outside of the grid`);
    for (let i = 0; i < w * h; i++) {
        const cell = `${x + (i % w)},${y + Math.floor(i / w)}`;
        assert.ok(!cells.has(cell), `${panel.title}: overlaps another panel at ${cell}`);
        cells.add(cell);
    }
    if (panel.type === 'row') continue;
    assert.ok(panel.description.length > 0, `${panel.title}: no description`);
    assert.ok(panel.targets.length > 0, `${panel.title}: shows nothing`);
    for (const {expr} of panel.targets) {
        check(expr, panel.title);
        expressions.push(expr);
    }
}
const ids = dashboard.panels.map(({id}) => id);
assert.equal(new Set(ids).size, ids.length, 'two panels have one id');
const variables = dashboard.templating.list.map(({name}) => name);
for (const {query} of dashboard.templating.list.slice(1)) check(query.query, 'variables');
for (const family of families)
    assert.ok(used.has(family), `the dashboard does not show ${family}`);

// Prometheus parses what Grafana would send.
const work = mkdtempSync(join(tmpdir(), 'colimit-metrics-'));
try {
    const rules = expressions.map((expr, i) => {
        const sent = expr.replaceAll(/\$(\w+)/g, (all, name) => {
            if (name === '__rate_interval') return '1m';
            assert.ok(variables.includes(name), `there is no variable ${all}`);
            return '.*';
        });
        return `      - {record: "panel_${i}", expr: ${JSON.stringify(sent)}}`;
    });
    const file = join(work, 'panels.yml');
    writeFileSync(file, `groups:\n  - name: panels\n    rules:\n${rules.join('\n')}\n`);
    promtool('check', 'rules', file);
} finally {
    rmSync(work, {recursive: true});
}

// The alerts.
const alerts = readFileSync(join(folder, 'alerts.yml'), 'utf8');
promtool('check', 'rules', join(folder, 'alerts.yml'));
const tests = readFileSync(join(folder, 'alerts_test.yml'), 'utf8');
const all = alerts.split(/^ {6}- alert: /m).slice(1);
assert.ok(all.length > 0);
for (const alert of all) {
    const name = alert.split('\n', 1)[0];
    for (const part of ['expr', 'severity', 'summary', 'description', 'action'])
        assert.match(alert, new RegExp(`\\b${part}: `), `${name}: no ${part}`);
    check(alert.split('annotations:')[0], name);
    assert.ok(tests.includes(`alertname="${name}", instance="bad"`), `${name}: never fires`);
}
for (const [name] of `${alerts}${JSON.stringify(dashboard)}`.matchAll(/\bColimit[A-Z]\w+/g))
    assert.ok(alerts.includes(`alert: ${name}\n`), `there is no alert ${name}`);
promtool('test', 'rules', join(folder, 'alerts_test.yml'));
console.log(`${families.length} metrics, ${expressions.length} expressions, ${all.length} alerts`);
