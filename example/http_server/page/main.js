// Connects the parts of the page with the states of the server.

import {setText} from './elements.js';
import {Keys} from './keys.js';
import {Policies} from './policies.js';
import {follow} from './stream.js';
import {spread} from './traffic.js';
import {Trial} from './trial.js';

const find = (id) => document.getElementById(id);

const trial = new Trial(find('trial'));
const parts = [
    trial,
    new Policies(find('policies'), find('hidden-policies')),
    new Keys(find('keys')),
];

const connection = find('connection');
function showConnection(isGood, text) {
    connection.classList.toggle('good', isGood);
    setText(connection.querySelector('.text'), text);
}

follow((state) => {
    showConnection(state.health === 'ready', `${state.store}, ${state.health}`);
    for (const part of parts) part.update(state);
}, (isConnected) => {
    if (isConnected) return;
    showConnection(false, 'no connection to the server; trying again');
    trial.enable(false); // until there is a state again
});

const greedy = find('greedy');
greedy.addEventListener('click', async () => {
    greedy.disabled = true;
    const seen = [];
    await spread(['api/hello'], 40, 200, ({status}) => seen.push(status));
    const count = (status) => seen.filter((s) => s === status).length;
    setText(find('greedy-note'), `${count(200)} of 40 requests were allowed, ${count(429)} were denied `
        + 'with status 429.');
    greedy.disabled = false;
});
