// oidc-provider on a loopback port, imitating another identity provider.

import { createHash } from 'node:crypto';
import { createServer } from 'node:http';

import { decodeJwt, decodeProtectedHeader, exportJWK, generateKeyPair } from 'jose';
import Provider from 'oidc-provider';

import { requestToken, signIn } from './issuer_sign_in.mjs';

const resource = 'urn:agent-service';
/** Seconds between issue and expiry of a token that is issued as already old. */
const longestLife = 600;

const digest = (text, encoding) => createHash('sha256').update(text).digest(encoding);

const clientOf = (pairwise) => ({
  client_id: 'shop',
  client_secret: 'known-to-this-process-alone',
  grant_types: ['authorization_code', 'client_credentials'],
  redirect_uris: ['https://shop.example/callback'],
  response_types: ['code'],
  subject_type: pairwise ? 'pairwise' : 'public',
  token_endpoint_auth_method: 'client_secret_post',
});

async function newKeys() {
  const kinds = [
    ['RS256', undefined],
    ['ES256', undefined],
    ['EdDSA', { crv: 'Ed25519' }],
  ];
  return Promise.all(
    kinds.map(async ([algorithm, options]) => {
      const { privateKey } = await generateKeyPair(algorithm, { ...options, extractable: true });
      return { ...(await exportJWK(privateKey)), use: 'sig' };
    }),
  );
}

export class IssuerServer {
  #answering = true;
  #client;
  #endpoints;
  #handle;
  #imitation;
  #keys;
  #order = {};
  #requests = {};
  issuer;

  static async start(imitation) {
    const server = new IssuerServer(imitation);
    await server.#listen();
    await server.rotate({ keep: false });
    await server.#discover();
    return server;
  }

  constructor(imitation) {
    this.#imitation = imitation;
    this.#client = clientOf(imitation.pairwise);
  }

  async #listen() {
    const http = createServer((request, response) => this.#answer(request, response));
    await new Promise((resolve) => http.listen(0, '127.0.0.1', resolve));
    this.issuer = `http://127.0.0.1:${http.address().port}${this.#imitation.path}`;
  }

  get #mountPath() {
    return this.#imitation.path.replace(/\/$/, '');
  }

  #answer(request, response) {
    if (!this.#answering) {
      request.socket.destroy();
      return;
    }
    const { pathname } = new URL(request.url, this.issuer);
    this.#requests[pathname] = (this.#requests[pathname] ?? 0) + 1;
    if (!pathname.startsWith(`${this.#mountPath}/`)) {
      response.writeHead(404).end();
      return;
    }
    // Informs the provider that it is mounted below a path.
    request.originalUrl = request.url;
    request.url = request.url.slice(this.#mountPath.length);
    this.#handle(request, response);
  }

  /** A provider with tokens like those of the imitated one. */
  #provider() {
    return new Provider(this.issuer, {
      clients: [this.#client],
      cookies: { keys: ['of no importance'] },
      features: {
        clientCredentials: { enabled: true },
        resourceIndicators: {
          enabled: true,
          getResourceServerInfo: () => this.#resourceServer(),
        },
      },
      formats: {
        customizers: {
          jwt: (_context, token, jwt) => this.#disguise(token, jwt),
        },
      },
      jwks: { keys: this.#keys },
      pairwiseIdentifier: (_context, account) => digest(account, 'base64url'),
      pkce: { required: () => true },
      scopes: this.#scope.split(' '),
      subjectTypes: ['public', 'pairwise'],
    });
  }

  get #scope() {
    return this.#order.scope ?? 'openid';
  }

  #resourceServer() {
    return {
      accessTokenFormat: 'jwt',
      accessTokenTTL: 300,
      audience: this.#imitation.audience,
      jwt: { sign: { alg: this.#order.algorithm ?? this.#imitation.algorithm } },
      scope: this.#scope,
    };
  }

  #disguise(token, jwt) {
    const { claims, lifetime, login, roles = [], type = this.#imitation.type } = this.#order;
    const standard = { ...jwt.payload };
    if (lifetime !== undefined) {
      standard.exp = standard.iat + lifetime;
      standard.iat = Math.min(standard.iat, standard.exp - longestLife);
    }
    const isUser = token.kind === 'AccessToken';
    const payload = this.#imitation.claims(standard, { isUser, login, roles });
    const changed = Object.entries({ ...payload, ...claims });
    jwt.payload = Object.fromEntries(changed.filter(([, value]) => value !== null));
    jwt.header = { typ: type };
  }

  async #discover() {
    const base = this.issuer.replace(/\/$/, '');
    const response = await fetch(`${base}/.well-known/openid-configuration`);
    this.#endpoints = await response.json();
    this.#requests = {};
  }

  /**
   * Has the provider sign a token, by a grant that it supports: for the user `login`, or without one
   * for the client itself. `scope`, `roles`, `algorithm`, `type`, `lifetime` (seconds, also below 0)
   * and `claims` (replace the default claims; null removes one) determine its content.
   */
  async mint(order) {
    this.#order = order;
    // Its scopes are those that are asked for.
    this.#handle = this.#provider().callback();
    const [endpoints, client] = [this.#endpoints, this.#client];
    const asked = { scope: this.#scope, resource };
    const answer =
      order.login === undefined
        ? await requestToken(endpoints, client, { grant_type: 'client_credentials', ...asked })
        : await signIn({ endpoints, client, login: order.login, ...asked });
    this.#order = {};
    const token = answer.access_token;
    return {
      token,
      header: decodeProtectedHeader(token),
      claims: decodeJwt(token),
      idToken: answer.id_token,
    };
  }

  /** Rotates the signing keys; the old ones stay published if `keep` is set. */
  async rotate({ keep }) {
    const fresh = await newKeys();
    this.#keys = keep ? [...fresh, ...this.#keys] : fresh;
    this.#handle = this.#provider().callback();
    return {};
  }

  /** Drops all connections from now on. */
  fall() {
    this.#answering = false;
    return {};
  }

  /** Answers again. */
  rise() {
    this.#answering = true;
    return {};
  }

  /** The number of requests for each path. */
  requests() {
    return { requests: this.#requests };
  }

  /** The provider's description. */
  description() {
    const { audience, algorithm } = this.#imitation;
    const { jwks_uri: jwksUri } = this.#endpoints;
    return { issuer: this.issuer, jwksUri, audience, algorithm, clientId: this.#client.client_id };
  }
}
