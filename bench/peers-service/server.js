'use strict';
// The service a team would write for the same two requests: Fastify with its schemas, pg with a pool and prepared
// statements. It finds PostgreSQL by PGHOST and PGUSER; its tables are made by ../systems.py.
//
//   node server.js                  a delta is a transaction, statement by statement
//   node server.js --one-statement  it is one statement, for one way to the server and back
//   node server.js --processes N    N processes behind one port, which share the connections of the pool

const cluster = require('node:cluster');
const { createHash } = require('node:crypto');
const { parseArgs } = require('node:util');
const fastify = require('fastify')({ logger: false });
const { Pool } = require('pg');

const { values: options } = parseArgs({
  options: {
    'one-statement': { type: 'boolean', default: false },
    processes: { type: 'string', default: '1' },
    pool: { type: 'string', default: '16' }, // of 8, 16, 32 and 64 connections the best on two processors
  },
});
const processes = Number(options.processes);
const pool = new Pool({ max: Math.ceil(Number(options.pool) / processes) });
const accounts = new Map(); // by the hash of a key; a key that was seen once is not looked up again

const sql = {
  key: 'SELECT account FROM api_key WHERE hash = $1',
  get: 'SELECT * FROM pass WHERE account = $1 AND pass_id = $2',
  update: 'UPDATE pass SET balance = balance + $3, updated_at = now() WHERE account = $1 AND pass_id = $2 RETURNING balance',
  ledger: 'INSERT INTO ledger (account, pass_id, delta, balance) VALUES ($1, $2, $3, $4)',
  event: 'INSERT INTO event (account, type, pass_id, body) VALUES ($1, \'pass.balanceUpdate\', $2, $3)',
};
sql.all = `WITH changed AS (${sql.update}), kept AS
  (INSERT INTO ledger (account, pass_id, delta, balance) SELECT $1, $2, $3, balance FROM changed)
  INSERT INTO event (account, type, pass_id, body) SELECT $1, 'pass.balanceUpdate', $2,
  jsonb_build_object('id', $2::text, 'delta', $3::bigint, 'balance', balance) FROM changed`;

function ask(client, name, values) {
  return client.query({ name, text: sql[name], values });
}

async function authorize(request, reply) {
  const found = /^Bearer (\S+)$/.exec(request.headers.authorization || '');
  const hash = found && createHash('sha256').update(found[1]).digest('hex');
  if (hash && !accounts.has(hash)) {
    const { rows } = await ask(pool, 'key', [hash]);
    if (rows.length) accounts.set(hash, rows[0].account);
  }
  request.account = accounts.get(hash);
  if (request.account === undefined) return reply.code(401).send({ code: 'UNAUTHORIZED' });
}

async function changeAtOnce(account, passId, delta) {
  const { rowCount } = await ask(pool, 'all', [account, passId, delta]);
  return rowCount > 0;
}

async function changeInSteps(account, passId, delta) {
  const client = await pool.connect();
  try {
    await client.query('BEGIN');
    const { rows } = await ask(client, 'update', [account, passId, delta]);
    if (rows.length) {
      const balance = rows[0].balance;
      await ask(client, 'ledger', [account, passId, delta, balance]);
      await ask(client, 'event', [account, passId, { id: passId, delta, balance: Number(balance) }]);
    }
    await client.query('COMMIT');
    return rows.length > 0;
  } catch (error) {
    await client.query('ROLLBACK');
    throw error;
  } finally {
    client.release();
  }
}

const change = options['one-statement'] ? changeAtOnce : changeInSteps;

const delta = {
  type: 'object', additionalProperties: false, required: ['balance_to_add'],
  properties: { balance_to_add: { type: 'integer' } },
};
const text = { type: 'string' };
const pass = {
  type: 'object',
  properties: {
    id: text, visible: { type: 'object', additionalProperties: true }, hidden: { type: 'object', additionalProperties: true },
    appearance: { type: ['object', 'null'], additionalProperties: true }, qr_value: text, status: text, download_url: text,
    reinstall_blocked: { type: 'boolean' }, loyalty_type: text, balance: { type: 'integer' }, created_at: text, updated_at: text,
  },
};

fastify.addHook('onRequest', authorize);

fastify.post('/v1/passes/:id/loyalty', { schema: { body: delta } }, async (request, reply) => {
  const isThere = await change(request.account, request.params.id, request.body.balance_to_add);
  return isThere ? reply.code(202).send() : reply.code(404).send({ code: 'NOT_FOUND' });
});

fastify.get('/v1/passes/:id', { schema: { response: { 200: pass } } }, async (request, reply) => {
  const { rows } = await ask(pool, 'get', [request.account, request.params.id]);
  if (!rows.length) return reply.code(404).send({ code: 'NOT_FOUND' });
  const row = rows[0];
  const balance = Number(row.balance);
  return {
    id: row.pass_id, visible: { ...row.visible, points: balance }, hidden: row.hidden, appearance: row.appearance,
    qr_value: row.qr_value, status: row.status, download_url: `http://127.0.0.1/p/${row.download_token}`,
    reinstall_blocked: row.reinstall_blocked, loyalty_type: row.loyalty_type, balance,
    created_at: row.created_at.toISOString(), updated_at: row.updated_at.toISOString(),
  };
});

function ready(host) {
  console.log(`ready http=${host}`);
}

// One process listens itself; of several the first only hands out the connections, in turn, and goes when one fails.
if (processes === 1 || cluster.isWorker) {
  fastify.listen({ host: '127.0.0.1', port: 0 }).then((address) => {
    if (cluster.isPrimary) ready(new URL(address).host);
  });
} else {
  let listening = 0;
  cluster.on('listening', (_, { address, port }) => {
    if (++listening === processes) ready(`${address}:${port}`);
  });
  cluster.on('exit', () => process.exit(1));
  for (let i = 0; i < processes; i++) cluster.fork();
}
