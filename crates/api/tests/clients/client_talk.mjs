// What each client library is put through, so that its own file only says how it is called.

import { deepEqual, equal } from 'node:assert/strict';
import { text } from 'node:stream/consumers';
import { setTimeout } from 'node:timers/promises';

/** How long what was revoked may still be taken for good: seconds, generously for a busy machine. */
const patience = 20;

/**
 * Reads from the input, as JSON, `baseUrl`, `clientId`, `scope` and either `clientSecret` or
 * `privateKey` (a JWK with `alg`), hands them to `talk` and says in a line of JSON what it answers.
 */
export async function main(talk) {
  const order = JSON.parse(await text(process.stdin));
  process.stdout.write(`${JSON.stringify(await talk(order))}\n`);
}

/**
 * Fetches a token, calls the interface with it, has it introspected and revokes it. The library's
 * `call` answers a status, and throws where the library throws; `refusal` tells what it threw.
 */
export async function useToken({ grant, call, introspect, revoke }, { scope, clientId }) {
  const granted = await grant({ scope });
  const token = granted.access_token;
  equal(granted.token_type, 'bearer');
  equal(granted.scope ?? scope, scope);
  equal(await call(token, 'GET'), 200);
  const { active, client_id, scope: introspected } = await introspect(token);
  deepEqual({ active, client_id, introspected }, { active: true, client_id: clientId, introspected: scope });

  await revoke(token);
  await until('it is introspected as inactive', async () => !(await introspect(token)).active);
  const refused = await until('it is refused', async () => {
    const refused = await refusal(call(token, 'GET'));
    return refused.status !== 200 && refused;
  });
  deepEqual(refused, { status: 401, error: 'invalid_token' });
  return { expiresIn: granted.expires_in, refused };
}

/** The status and the error of what a library threw, or the status that it answered. */
export async function refusal(outcome) {
  try {
    return { status: await outcome };
  } catch (thrown) {
    if (thrown.status === undefined) throw thrown;
    // With a challenge in the header the libraries leave the body to their callers.
    const challenge = thrown.error ?? thrown.cause[0].parameters.error;
    return { status: thrown.status, error: challenge ?? (await thrown.response.json()).error };
  }
}

/** Asks again until the answer is true, and answers it. */
async function until(what, condition) {
  const end = performance.now() + patience * 1000;
  for (;;) {
    const answer = await condition();
    if (answer) return answer;
    if (performance.now() > end) throw new Error(`${patience} s later it does not hold that ${what}`);
    await setTimeout(50);
  }
}

/** `fetch`, and whether the Basic credentials that it sent last were encoded as for a form. */
export function watchedFetch({ clientId, clientSecret }) {
  const watched = { fetch: send, formEncoded: undefined };
  function send(url, options) {
    const [, basic] = new Headers(options.headers).get('authorization')?.match(/^Basic (.*)/) ?? [];
    if (basic !== undefined) watched.formEncoded = atob(basic) !== `${clientId}:${clientSecret}`;
    return fetch(url, options);
  }
  return watched;
}
