// The access tokens of three identity providers. `claims` maps the claims of oidc-provider to those of
// the imitated provider; `roles` are the rights that the test requests for the token.

import { createHash } from 'node:crypto';

const keycloakClient = 'agent-service';
const entraTenant = '6f1d2c1e-0a57-4b8b-9c55-3d2b0a8f4f10';
const entraApplication = '9b7a4a52-6f0e-4d8f-8a86-6b1c3d0c9f7e';

/** Maps a text to an identifier that is equal in each run. */
const uuidOf = (text) => {
  const digits = createHash('sha256').update(text).digest('hex').slice(0, 32);
  return digits.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
};

/** Without `typ: at+jwt`; roles in two places, of which only one is about this service. */
const keycloak = {
  path: '/realms/customers',
  audience: keycloakClient,
  algorithm: 'RS256',
  type: 'JWT',
  claims({ client_id: client, scope: _, ...standard }, { isUser, roles }) {
    const common = {
      ...standard,
      aud: [standard.aud, 'account'],
      typ: 'Bearer',
      azp: client,
      acr: '1',
      'allowed-origins': ['https://shop.example'],
      realm_access: { roles: ['offline_access', 'default-roles-customers', 'uma_authorization'] },
      resource_access: {
        [keycloakClient]: { roles },
        account: { roles: ['manage-account', 'view-profile'] },
      },
      email_verified: isUser,
    };
    if (isUser) {
      const name = { preferred_username: standard.sub, name: 'Ada Lovelace' };
      return { ...common, ...name, scope: 'openid profile email', sid: uuidOf(standard.jti) };
    }
    const name = { preferred_username: `service-account-${client}`, client_id: client };
    return { ...common, ...name, scope: 'profile email', sub: uuidOf(client) };
  },
};

/** With its RFC 9068 profile: `typ: at+jwt`, `client_id`; an issuer that ends in a slash. */
const auth0 = {
  path: '/',
  audience: 'https://agents.example/api',
  algorithm: 'RS256',
  type: 'at+jwt',
  claims(standard, { isUser, roles }) {
    if (isUser) {
      const aud = [standard.aud, `${standard.iss}userinfo`];
      return { ...standard, aud, permissions: roles };
    }
    const sub = `${standard.client_id}@clients`;
    return { ...standard, sub, gty: 'client-credentials', permissions: roles };
  },
};

/** Version 2: `scp` where a user delegates, `roles` where an application acts for itself. */
const entra = {
  path: `/${entraTenant}/v2.0`,
  audience: entraApplication,
  algorithm: 'RS256',
  type: 'JWT',
  pairwise: true,
  claims({ client_id: client, scope, jti, ...standard }, { isUser, login, roles }) {
    const common = {
      ...standard,
      nbf: standard.iat,
      azp: client,
      azpacr: '1',
      tid: entraTenant,
      uti: jti,
      ver: '2.0',
    };
    if (isUser) {
      const scp = (scope ?? '').split(' ').filter((one) => one !== 'openid').join(' ');
      const name = { preferred_username: `${login}@customers.example`, name: 'Ada Lovelace' };
      return { ...common, ...name, oid: uuidOf(login), scp };
    }
    return { ...common, idtyp: 'app', oid: uuidOf(client), sub: uuidOf(client), roles };
  },
};

export const imitations = { keycloak, auth0, entra };
