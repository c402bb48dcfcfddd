// Parses what a program prints (see print_fields.cpp) with the structured-field parser of another
// project, and compares the items with the numbers of the decisions.
//
//     node parse_fields.mjs PROGRAM

import assert from 'node:assert/strict';
import {execFileSync} from 'node:child_process';
import {parseList} from 'structured-headers';

const maxInteger = 999_999_999_999_999;

function check(line) {
    const {fields, items, allowed, retry_after_us: wait} = JSON.parse(line);
    const policies = parseList(fields['RateLimit-Policy']);
    const limits = parseList(fields['RateLimit']);
    assert.equal(policies.length, items.length);
    assert.equal(limits.length, items.length);
    items.forEach(({name, limit, remaining}, i) => {
        const [policyName, policy] = policies[i];
        const [limitName, left] = limits[i];
        assert.equal(typeof policyName, 'string'); // a token would be an object
        assert.equal(policyName, name);
        assert.equal(limitName, name);
        assert.deepEqual([...policy.keys()], ['q', 'w']);
        assert.equal(policy.get('q'), Math.min(limit, maxInteger));
        assert.ok(Number.isInteger(policy.get('w')) && policy.get('w') > 0);
        assert.equal(left.get('r'), Math.min(remaining, maxInteger));
        if (left.has('t')) {
            assert.ok(Number.isInteger(left.get('t')) && left.get('t') > 0);
            if (!allowed) assert.ok(left.get('t') <= Number(fields['Retry-After']));
        }
    });
    assert.equal('Retry-After' in fields, !allowed);
    if (!allowed) {
        assert.match(fields['Retry-After'], /^[1-9][0-9]*$/);
        assert.ok(Number(fields['Retry-After']) * 1e6 >= wait);
        assert.equal(fields['Cache-Control'], 'no-store');
    }
    for (const name of ['Limit', 'Remaining', 'Reset'])
        assert.match(fields[`X-RateLimit-${name}`], /^[0-9]+$/);
}

const lines = execFileSync(process.argv[2], {encoding: 'utf8'}).trimEnd().split('\n');
assert.ok(lines.length > 500, `only ${lines.length} decisions`);
lines.forEach((line) => {
    try {
        check(line);
    } catch (error) {
        console.error(line);
        throw error;
    }
});
console.log(`${lines.length} decisions agree`);
