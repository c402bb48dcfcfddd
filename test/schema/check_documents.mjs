// Makes documents of policies, valid ones and ones with a mistake, and compares what the parser of
// colimit says about them (see parse_documents.cpp) with a validator of JSON schemas.
//
//     node check_documents.mjs PROGRAM SCHEMA [SEED]

import assert from 'node:assert/strict';
import {execFileSync} from 'node:child_process';
import {readFileSync} from 'node:fs';
import Ajv from 'ajv/dist/2020.js';

const [program, schemaFile, seed = '1'] = process.argv.slice(2);
// `required` and types are stated in other parts of the schema than the properties are.
const ajv = new Ajv({strict: true, strictRequired: false, strictTypes: false});
const schema = JSON.parse(readFileSync(schemaFile, 'utf8'));
const matchesSchema = ajv.compile(schema);

let state = Number(seed) >>> 0;
function below(n) { // mulberry32
    state = (state + 0x6d2b79f5) >>> 0;
    let x = Math.imul(state ^ (state >>> 15), state | 1);
    x ^= x + Math.imul(x ^ (x >>> 7), x | 61);
    return ((x ^ (x >>> 14)) >>> 0) % n;
}
const oneOf = (...values) => values[below(values.length)];
const maybe = (object, name, make) => { if (below(3) === 0) object[name] = make(); };
const listOf = (least, most, make) => Array.from({length: least + below(most - least + 1)}, (_, i) => make(i));

const buckets = ['gcra', 'cell', 'token_bucket', 'leaky_bucket'];
const algorithms = [...buckets, 'fixed_window', 'calendar', 'sliding_window', 'sliding_log', 'distinct'];
const duration = () => oneOf('5s', '500 ms', '24h', '1d', '250us', 'minute', '30 m');
const name = (i) => oneOf('a', 'B.c', 'x-y_z', '0') + i;

function rule(i) {
    const made = {name: name(i)};
    if (below(4) !== 0) made.algorithm = oneOf(...algorithms);
    const isBucket = made.algorithm === undefined || buckets.includes(made.algorithm);
    made[isBucket ? oneOf('limit', 'count') : 'limit'] = 1 + below(1000);
    maybe(made, 'shadow', () => oneOf(true, false));
    if (made.algorithm === 'calendar') {
        made.unit = oneOf('day', 'week', 'month', 'year');
        maybe(made, 'utc_offset', () => oneOf('+05:30', '-3', 'utc', 'utc+8'));
        return made;
    }
    made.period = duration();
    if (isBucket) {
        maybe(made, oneOf('burst', 'capacity'), () => 1000 + below(1000));
        maybe(made, 'refill', () => oneOf('continuous', 'stepwise', 'aligned'));
        maybe(made, 'initially', () => below(2));
    }
    if (made.algorithm === 'fixed_window') maybe(made, 'from_first', () => oneOf(true, false));
    if (made.algorithm === 'sliding_log') maybe(made, 'count_denied', () => oneOf(true, false));
    return made;
}

const text = (i) => oneOf('100/s', '5/m burst 10', '20 per 1m sliding_log', '3 per month utc+8') + ` named ${name(i)}`;
const rules = () => below(4) === 0 ? text(0) : listOf(1, 8, (i) => below(2) === 0 ? text(i) : rule(i));
const key = () => oneOf('ip', 'ip+route', 'user|ip+route', 'global', 'header:X-Api-Key', 'query:account | ip', 'method + ip', 'tag:all+user');

// At most one per policy, and not with everything.
const withPlaces = () => ({rules: [
    {algorithm: 'concurrent', limit: 1 + below(100000), period: oneOf('100ms', '30s', '1d')},
    ...(below(2) === 0 ? ['100/m named minute'] : []),
]});

function policy() {
    if (below(3) === 0) return rules();
    const made = {rules: rules()};
    maybe(made, 'key', key);
    maybe(made, 'prevent_duplicate', duration);
    maybe(made, 'shadow', () => oneOf(true, false));
    maybe(made, 'on_failure', () => oneOf('local', 'allow', 'deny', 'error'));
    maybe(made, 'prefix', () => name(0));
    if (below(4) === 0) {
        made.rules = '1000/h';
        delete made.prevent_duplicate;
        made.leases = oneOf('100ms', '2 s', '250000us');
    }
    if (below(4) === 0) made.storage = 'per_key';
    return made;
}

function validDocument() {
    const names = listOf(1, 4, (i) => `p${i}`);
    const made = {policies: Object.fromEntries(names.map((n) => [n, policy()]))};
    if (below(4) === 0) made.policies.places = withPlaces(); // which no route has
    maybe(made, '$schema', () => 'policies.schema.json');
    maybe(made, 'version', () => oneOf(1, 7, 9007199254740991));
    maybe(made, 'trusted_proxies', () => oneOf(0, 32, [], ['10.0.0.0/8', '::1', '2001:db8::/32', '192.0.2.7']));
    if (made.trusted_proxies > 0 || made.trusted_proxies?.length > 0) maybe(made, 'proxy_field', () => oneOf('X-Forwarded-For', 'Forwarded'));
    maybe(made, 'ipv6_prefix', () => 1 + below(128));
    // A request names no member.
    const ofRoutes = names.filter((n) => !JSON.stringify(made.policies[n]).includes('distinct'));
    if (below(4) !== 0)
        made.routes = listOf(0, 4, (i) => {
            const route = {path: `/r${i}` + oneOf('', '/*', '/{id}', '/a/*/b')};
            maybe(route, 'methods', () => ['GET', 'POST'].slice(below(2)));
            if (ofRoutes.length > 0 && below(2) === 0) route.policy = oneOf(...ofRoutes);
            else route.policies = ofRoutes.filter(() => below(2) === 0);
            return route;
        });
    return made;
}

/// All values in a document, as a list of [parent, name].
function places(value) {
    if (value === null || typeof value !== 'object') return [];
    return Object.keys(value).flatMap((n) => [[value, n], ...places(value[n])]);
}

// Mistakes that both must find, whatever the document: wrong types, unknown fields, values out of
// their range, and fields that belong to something else.
const mistakes = {
    'an unknown field': (d) => {
        const objects = places(d).filter(([p, n]) => p[n] !== null && typeof p[n] === 'object' && !Array.isArray(p[n]) && n !== 'policies');
        const [parent, n] = oneOf([{d}, 'd'], ...objects);
        parent[n].colour = 1;
    },
    'null': (d) => { const [parent, n] = oneOf(...places(d)); parent[n] = null; },
    'a number instead of a text': (d) => {
        const [parent, n] = oneOf(...places(d).filter(([p, n]) => typeof p[n] === 'string'));
        parent[n] = 5;
    },
    'an object where none belongs': (d) => {
        const [parent, n] = oneOf(...places(d).filter(([p, n]) => typeof p[n] !== 'object'));
        parent[n] = {};
    },
    'a fraction': (d) => {
        const numbers = places(d).filter(([p, n]) => typeof p[n] === 'number');
        const [parent, n] = numbers.length > 0 ? oneOf(...numbers) : [d, 'version'];
        parent[n] = 1.5;
    },
    'no policies': (d) => { delete d.policies; },
    'a version of 0': (d) => { d.version = 0; },
    'a version that is too large': (d) => { d.version = 9007199254740992; },
    'an IPv6 prefix of 0': (d) => { d.ipv6_prefix = 0; },
    'an IPv6 prefix of 129': (d) => { d.ipv6_prefix = 129; },
    'too many proxies': (d) => { d.trusted_proxies = 33; },
    'another field of proxies': (d) => { d.trusted_proxies = 1; d.proxy_field = 'X-Real-IP'; },
    'a field of no proxies': (d) => { delete d.trusted_proxies; d.proxy_field = 'Forwarded'; },
    'a field of none': (d) => { d.trusted_proxies = oneOf(0, []); d.proxy_field = 'Forwarded'; },
    'a name as a network': (d) => { d.trusted_proxies = ['proxy.example.org']; },
    'too many networks': (d) => { d.trusted_proxies = Array(257).fill('::1'); },
    'a name of a policy with a blank': (d) => { d.policies['a b'] = '1/s'; },
    'an empty name of a policy': (d) => { d.policies[''] = '1/s'; },
    'a long name of a policy': (d) => { d.policies['x'.repeat(65)] = '1/s'; },
    'no rules': (d) => { d.policies.p0 = []; },
    'nine rules': (d) => { d.policies.p0 = listOf(9, 9, text); },
    'an empty rule text': (d) => { d.policies.p0 = ''; },
    'an unknown algorithm': (d) => { d.policies.p0 = [{...rule(0), algorithm: 'fifo'}]; },
    'a limit of 0': (d) => { d.policies.p0 = [{limit: 0, period: '1s'}]; },
    'a limit and a count': (d) => { d.policies.p0 = [{limit: 1, count: 1, period: '1s'}]; },
    'a burst and a capacity': (d) => { d.policies.p0 = [{limit: 1, burst: 1, capacity: 1, period: '1s'}]; },
    'neither a limit nor a count': (d) => { d.policies.p0 = [{period: '1s'}]; },
    'no period': (d) => { d.policies.p0 = [{limit: 1}]; },
    'a period without a unit': (d) => { d.policies.p0 = [{limit: 1, period: '60'}]; },
    'a fraction of a period': (d) => { d.policies.p0 = [{limit: 1, period: '1.5s'}]; },
    'a calendar without a unit': (d) => { d.policies.p0 = [{algorithm: 'calendar', limit: 1}]; },
    'a calendar with a period': (d) => { d.policies.p0 = [{algorithm: 'calendar', limit: 1, unit: 'day', period: '1d'}]; },
    'a strange offset': (d) => { d.policies.p0 = [{algorithm: 'calendar', limit: 1, unit: 'day', utc_offset: 'est'}]; },
    'a field of another algorithm': (d) => {
        const [field, value] = oneOf(['burst', 5], ['capacity', 5], ['refill', 'stepwise'], ['initially', 0], ['count', 1], ['unit', 'day'], ['utc_offset', '+1']);
        d.policies.p0 = [{algorithm: oneOf('sliding_log', 'sliding_window', 'fixed_window', 'distinct'), limit: 1, period: '1s', [field]: value}];
    },
    'from_first of another algorithm': (d) => { d.policies.p0 = [{limit: 1, period: '1s', from_first: true}]; },
    'a limit of concurrent above 100000': (d) => { d.policies.p0 = [{algorithm: 'concurrent', limit: 100001, period: '30s'}]; },
    'count_denied of another algorithm': (d) => { d.policies.p0 = [{algorithm: 'distinct', limit: 1, period: '1s', count_denied: true}]; },
    'a log that is too long': (d) => { d.policies.p0 = [{algorithm: 'sliding_log', limit: 100001, period: '1s'}]; },
    'an unknown failure mode': (d) => { d.policies.p0 = {rules: '1/s', on_failure: 'open'}; },
    'an unknown storage': (d) => { d.policies.p0 = {rules: '1/s', storage: 'dense'}; },
    'a prefix with a colon': (d) => { d.policies.p0 = {rules: '1/s', prefix: 'a:b'}; },
    'an empty key': (d) => { d.policies.p0 = {rules: '1/s', key: ''}; },
    'options without rules': (d) => { d.policies.p0 = {key: 'ip'}; },
    'a route without a path': (d) => { d.routes = [{policies: []}]; },
    'a path without a slash': (d) => { d.routes = [{path: 'api', policies: []}]; },
    'a path that is too long': (d) => { d.routes = [{path: '/' + 'x'.repeat(1024), policies: []}]; },
    'a route without policies': (d) => { d.routes = [{path: '/'}]; },
    'a route with policy and policies': (d) => { d.routes = [{path: '/', policy: 'p0', policies: ['p0']}]; },
    'the same policy twice': (d) => { d.routes = [{path: '/', policies: ['p0', 'p0']}]; },
    'nine policies': (d) => {
        for (let i = 0; i < 9; ++i) d.policies[`p${i}`] = '1/s';
        d.routes = [{path: '/', policies: listOf(9, 9, (i) => `p${i}`)}];
    },
    'no methods': (d) => { d.routes = [{path: '/', methods: [], policies: []}]; },
    'a method twice': (d) => { d.routes = [{path: '/', methods: ['GET', 'GET'], policies: []}]; },
    'a method with a blank': (d) => { d.routes = [{path: '/', methods: ['GET '], policies: []}]; },
    'routes as an object': (d) => { d.routes = {}; },
};

// What a schema cannot say.
const semantic = [
    {policies: {a: '5/x'}},
    {policies: {a: '1/s; 1/s'}},
    {policies: {a: [{limit: 1, period: '1s', initially: 2}]}},
    {policies: {a: [{limit: 1, period: '0s'}]}},
    {policies: {a: {rules: '1/s', key: 'ipp'}}},
    {policies: {a: {rules: '1/s sliding_log', storage: 'shared_hash'}}},
    {policies: {a: '3/30s concurrent; 3/30s concurrent named b'}},
    {policies: {a: '3/30s concurrent; 3/s distinct'}},
    {policies: {a: '3/99ms concurrent'}},
    {policies: {a: {rules: '3/30s concurrent', storage: 'shared_hash'}}},
    {policies: {a: {rules: '3/30s concurrent', on_failure: 'allow'}}},
    {policies: {a: '3/30s concurrent'}, routes: [{path: '/', policy: 'a'}]},
    {policies: {a: '1/s'}, routes: [{path: '/', policy: 'b'}]},
    {policies: {a: '1/s'}, routes: [{path: '/*', policy: 'a'}, {path: '/b', policy: 'a'}]},
    {policies: {}, trusted_proxies: ['10.0.0.1/8']},
];

const cases = [];
for (let i = 0; i < 1500; ++i) cases.push({document: validDocument(), both: true});
for (const [mistake, make] of Object.entries(mistakes))
    for (let i = 0; i < 25; ++i) {
        const document = validDocument();
        make(document);
        cases.push({document, mistake, both: false});
    }
for (const document of semantic) cases.push({document, parser: false, schema: true});

const lines = cases.map(({document}) => JSON.stringify(document));
const said = execFileSync(program, {input: lines.join('\n') + '\n', encoding: 'utf8', maxBuffer: 1 << 26}).trimEnd().split('\n');
assert.equal(said.length, cases.length);
let failures = 0;
cases.forEach(({document, mistake, both, parser = both, schema: expected = both}, i) => {
    const bySchema = matchesSchema(document);
    if ((said[i] === 'valid') === parser && bySchema === expected) return;
    ++failures;
    console.error(`${lines[i]}\n    ${mistake ?? 'no mistake'}; the parser: ${said[i]}; the schema: ${bySchema || JSON.stringify(matchesSchema.errors)}`);
});
assert.equal(failures, 0);
console.log(`${cases.length} documents: parser and schema agree`);
