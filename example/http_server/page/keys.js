// The keys that were denied most.

import {element, setText} from './elements.js';

export class Keys {
    constructor(root) {
        this.none = element('p', {}, 'None so far.');
        this.list = element('ol');
        this.rows = [];
        root.append(this.none, this.list);
    }

    update({keys}) {
        this.none.hidden = keys.length > 0;
        while (this.rows.length < keys.length) this.addRow();
        const most = Math.max(...keys.map(({denied}) => denied));
        this.rows.forEach((row, i) => {
            row.root.hidden = i >= keys.length;
            if (row.root.hidden) return;
            const {key, policy, denied} = keys[i];
            setText(row.key, key);
            setText(row.policy, policy);
            setText(row.count, denied.toLocaleString('en'));
            row.bar.style.width = `${100 * denied / most}%`;
        });
    }

    addRow() {
        const row = {
            key: element('code'),
            policy: element('span', {class: 'policy'}),
            bar: element('div', {class: 'bar'}),
            count: element('span', {class: 'count'}),
        };
        row.root = element('li', {}, element('div', {class: 'who'}, row.key, row.policy),
            element('div', {class: 'track', 'aria-hidden': 'true'}, row.bar), row.count);
        this.rows.push(row);
        this.list.append(row.root);
    }
}
