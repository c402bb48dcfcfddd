// A rival: rate-limiter-flexible with ioredis on Node, 256 checks under way. rival.hpp says what a
// rival program takes and prints.
'use strict';

const Redis = require('ioredis');
const { RateLimiterRedis } = require('rate-limiter-flexible');

const callers = 256;

async function run(socket, checks, keys) {
  const client = new Redis(socket, { enableAutoPipelining: true });
  const limiter = new RateLimiterRedis({ storeClient: client, points: 1000, duration: 3600 });
  const untimed = Math.floor(checks / 10);
  let asked = 0;
  let answered = 0;
  let begin = 0n;
  let cpu = process.cpuUsage();
  const ask = async () => {
    while (asked < checks) {
      ++asked;
      await limiter.consume('user:' + (1000000 + Math.floor(Math.random() * keys)));
      if (++answered === untimed) {
        begin = process.hrtime.bigint();
        cpu = process.cpuUsage();
      }
    }
  };
  await Promise.all(Array.from({ length: callers }, ask));
  const seconds = Number(process.hrtime.bigint() - begin) / 1e9;
  const used = process.cpuUsage(cpu);
  const timed = checks - untimed;
  console.log(timed / seconds, (used.user + used.system) / timed);
  client.disconnect();
}

if (process.argv[2] === '--version') {
  const version = (name) => name + ' ' + require(name + '/package.json').version;
  console.log(version('ioredis') + ', ' + version('rate-limiter-flexible'));
} else {
  const [socket, checks, keys] = process.argv.slice(2);
  run(socket, Math.max(Number(checks), 10), Number(keys)).catch((e) => {
    console.error(e);
    process.exit(1);
  });
}
