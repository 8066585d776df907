// The service as seen by oauth4webapi, also as the authority whose tokens another resource server
// checks; client_talk.mjs describes input and output.

import { deepEqual, equal } from 'node:assert/strict';

import { importJWK } from 'jose';
import * as oauth from 'oauth4webapi';

import { main, refusal, useToken, watchedFetch } from './client_talk.mjs';

const loopback = { [oauth.allowInsecureRequests]: true };

await main(async (order) => {
  const { server, resource } = await discover(order);
  const methods = {};
  for (const [name, authentication] of await authentications(order)) {
    const watched = watchedFetch(order);
    const options = { ...loopback, [oauth.customFetch]: watched.fetch };
    const library = calls(server, order, authentication, options);
    methods[name] = await useToken(library, order);
    if (watched.formEncoded !== undefined) methods[name].formEncoded = watched.formEncoded;
    await checkToken(server, resource, library, order);
    methods[name].forbidden = await forbidden(library, order);
  }
  return { library: 'oauth4webapi', methods, refusals: await refusals(server, order) };
});

/** From the resource to the one who issues tokens for it, as a client that knows neither. */
async function discover({ baseUrl }) {
  const url = new URL(baseUrl);
  const described = await oauth.resourceDiscoveryRequest(url, loopback);
  const resource = await oauth.processResourceDiscoveryResponse(url, described);
  const issuer = new URL(resource.authorization_servers[0]);
  const found = await oauth.discoveryRequest(issuer, { algorithm: 'oauth2', ...loopback });
  return { server: await oauth.processDiscoveryResponse(issuer, found), resource };
}

async function authentications({ clientSecret, privateKey }) {
  if (privateKey === undefined) {
    return [
      ['client_secret_basic', oauth.ClientSecretBasic(clientSecret)],
      ['client_secret_post', oauth.ClientSecretPost(clientSecret)],
    ];
  }
  const key = { key: await importJWK(privateKey), kid: privateKey.kid };
  return [['private_key_jwt', oauth.PrivateKeyJwt(key)]];
}

function calls(server, { baseUrl, clientId }, authentication, options) {
  const client = { client_id: clientId };
  const agents = new URL('/api/agents', baseUrl);
  const asked = [server, client, authentication];
  return {
    grant: async (parameters) => {
      const answer = await oauth.clientCredentialsGrantRequest(...asked, parameters, options);
      return oauth.processClientCredentialsResponse(server, client, answer);
    },
    call: async (token, method) =>
      (await oauth.protectedResourceRequest(token, method, agents, undefined, null, options)).status,
    introspect: async (token) => {
      const answer = await oauth.introspectionRequest(...asked, token, options);
      return oauth.processIntrospectionResponse(server, client, answer);
    },
    revoke: async (token) =>
      oauth.processRevocationResponse(await oauth.revocationRequest(...asked, token, options)),
  };
}

/** Another resource server validates the token by RFC 9068 with the published keys. */
async function checkToken(server, { resource }, { grant }, { baseUrl, clientId, scope }) {
  const { access_token: token } = await grant({ scope });
  const request = new Request(baseUrl, { headers: { authorization: `Bearer ${token}` } });
  const claims = await oauth.validateJwtAccessToken(server, request, resource, loopback);
  deepEqual([claims.client_id, claims.sub, claims.scope], [clientId, clientId, scope]);
  equal(claims.exp - claims.iat, 600);
}

/** The challenge in the response to a call without the scope. */
async function forbidden({ grant, call }, { scope }) {
  const { access_token: token } = await grant({ scope });
  return refusal(call(token, 'POST'));
}

/** The library's errors for error responses of the token endpoint. */
async function refusals(server, order) {
  if (order.privateKey !== undefined) return {};
  const said = (authentication, scope) =>
    refusal(calls(server, order, authentication, loopback).grant({ scope }));
  const { clientSecret, scope } = order;
  return {
    wrongSecret: await said(oauth.ClientSecretBasic(`${clientSecret}x`), scope),
    wrongSecretInBody: await said(oauth.ClientSecretPost(`${clientSecret}x`), scope),
    unknownScope: await said(oauth.ClientSecretBasic(clientSecret), 'no:such'),
  };
}
