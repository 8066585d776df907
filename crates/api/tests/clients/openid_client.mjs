// The service as seen by openid-client; client_talk.mjs describes input and output.

import { importJWK } from 'jose';
import * as client from 'openid-client';

import { main, refusal, useToken, watchedFetch } from './client_talk.mjs';

await main(async (order) => {
  const methods = {};
  for (const [name, authentication] of await authentications(order)) {
    const watched = watchedFetch(order);
    const configuration = await discover(order, authentication, watched.fetch);
    methods[name] = await useToken(calls(configuration, order), order);
    if (watched.formEncoded !== undefined) methods[name].formEncoded = watched.formEncoded;
  }
  return { library: 'openid-client', methods, refusals: await refusals(order) };
});

async function authentications({ clientSecret, privateKey }) {
  if (privateKey === undefined) {
    return [
      ['client_secret_basic', client.ClientSecretBasic(clientSecret)],
      ['client_secret_post', client.ClientSecretPost(clientSecret)],
    ];
  }
  const key = { key: await importJWK(privateKey), kid: privateKey.kid };
  return [['private_key_jwt', client.PrivateKeyJwt(key)]];
}

function discover({ baseUrl, clientId }, authentication, fetch) {
  return client.discovery(new URL(baseUrl), clientId, undefined, authentication, {
    algorithm: 'oauth2',
    execute: [client.allowInsecureRequests],
    [client.customFetch]: fetch,
  });
}

function calls(configuration, { baseUrl }) {
  const agents = new URL('/api/agents', baseUrl);
  return {
    grant: (parameters) => client.clientCredentialsGrant(configuration, parameters),
    call: async (token, method) =>
      (await client.fetchProtectedResource(configuration, token, agents, method)).status,
    introspect: (token) => client.tokenIntrospection(configuration, token),
    revoke: (token) => client.tokenRevocation(configuration, token),
  };
}

/** The library's errors for error responses of the token endpoint. */
async function refusals(order) {
  if (order.privateKey !== undefined) return {};
  const said = async (secret, scope) => {
    const configuration = await discover(order, client.ClientSecretBasic(secret), fetch);
    return refusal(client.clientCredentialsGrant(configuration, { scope }));
  };
  return {
    wrongSecret: await said(`${order.clientSecret}x`, order.scope),
    unknownScope: await said(order.clientSecret, 'no:such'),
  };
}
