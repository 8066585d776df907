// The test flow of all client libraries; the file of each library only contains its calls.

import { deepEqual, equal } from 'node:assert/strict';
import { text } from 'node:stream/consumers';
import { setTimeout } from 'node:timers/promises';

/** The seconds for which revoked credentials may still be accepted, generous for busy machines. */
const patience = 20;

/**
 * Reads from the input, as JSON, `baseUrl`, `clientId`, `scope` and either `clientSecret` or
 * `privateKey` (a JWK with `alg`), calls `talk` with them and prints its result as a line of JSON.
 */
export async function main(talk) {
  const order = JSON.parse(await text(process.stdin));
  process.stdout.write(`${JSON.stringify(await talk(order))}\n`);
}

/**
 * Fetches a token, calls the API with it, introspects it and revokes it. The library's `call`
 * returns a status, and throws if the library throws; `refusal` describes the error.
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

/** The status and the error that a library threw, or the status that it returned. */
export async function refusal(outcome) {
  try {
    return { status: await outcome };
  } catch (thrown) {
    if (thrown.status === undefined) throw thrown;
    // If the header contains a challenge, the libraries do not read the body.
    const challenge = thrown.error ?? thrown.cause[0].parameters.error;
    return { status: thrown.status, error: challenge ?? (await thrown.response.json()).error };
  }
}

/** Polls until the result is truthy, and returns it. */
async function until(what, condition) {
  const end = performance.now() + patience * 1000;
  for (;;) {
    const answer = await condition();
    if (answer) return answer;
    if (performance.now() > end) throw new Error(`${patience} s later it does not hold that ${what}`);
    await setTimeout(50);
  }
}

/** `fetch`, which records whether the last Basic credentials were form-encoded. */
export function watchedFetch({ clientId, clientSecret }) {
  const watched = { fetch: send, formEncoded: undefined };
  function send(url, options) {
    const [, basic] = new Headers(options.headers).get('authorization')?.match(/^Basic (.*)/) ?? [];
    if (basic !== undefined) watched.formEncoded = atob(basic) !== `${clientId}:${clientSecret}`;
    return fetch(url, options);
  }
  return watched;
}
