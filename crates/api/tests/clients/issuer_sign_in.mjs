// A user who signs in at oidc-provider as with a browser: authorization code flow with PKCE through
// the pages that it has for development.

import { createHash, randomBytes } from 'node:crypto';

/** A browser as far as it is needed: cookies, and redirects that are followed one by one. */
class Browser {
  #cookies = new Map();

  async #request(url, options) {
    const cookie = [...this.#cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const response = await fetch(url, { ...options, headers: { cookie }, redirect: 'manual' });
    for (const line of response.headers.getSetCookie()) {
      const [, name, value] = line.match(/^([^=]+)=([^;]*)/);
      this.#cookies.set(name, value);
    }
    return response;
  }

  /** Requests, and follows redirects up to a page or to `last`. */
  async open(url, last, options) {
    const response = await this.#request(url, options);
    const location = response.headers.get('location');
    if (location === null) {
      return { url, page: await response.text(), status: response.status };
    }
    const next = new URL(location, url).href;
    return next.startsWith(last) ? { url: next } : this.open(next, last);
  }
}

/** The address that the page's form is sent to. */
function formOf({ url, page, status }) {
  const action = page.match(/<form[^>]* action="([^"]+)"/);
  if (action === null) throw new Error(`${url}: no form in the page (${status}): ${page}`);
  return new URL(action[1], url).href;
}

/** Signs `login` in and returns the response of the token endpoint. */
export async function signIn({ endpoints, client, login, scope, resource }) {
  const verifier = randomBytes(32).toString('base64url');
  const request = new URL(endpoints.authorization_endpoint);
  const [redirect] = client.redirect_uris;
  request.search = new URLSearchParams({
    client_id: client.client_id,
    code_challenge: createHash('sha256').update(verifier).digest('base64url'),
    code_challenge_method: 'S256',
    nonce: randomBytes(16).toString('base64url'),
    redirect_uri: redirect,
    resource,
    response_type: 'code',
    scope,
  });
  const browser = new Browser();
  const send = (page, fields) =>
    browser.open(formOf(page), redirect, { method: 'POST', body: new URLSearchParams(fields) });
  let page = await browser.open(request.href, redirect);
  page = await send(page, { prompt: 'login', login, password: 'any' });
  page = await send(page, { prompt: 'consent' });

  const code = new URL(page.url).searchParams.get('code');
  if (code === null) throw new Error(`no code in ${page.url}`);
  return requestToken(endpoints, client, {
    grant_type: 'authorization_code',
    code,
    code_verifier: verifier,
    redirect_uri: redirect,
    resource,
  });
}

/** Sends a request to the token endpoint. */
export async function requestToken(endpoints, client, fields) {
  const body = new URLSearchParams({
    client_id: client.client_id,
    client_secret: client.client_secret,
    ...fields,
  });
  const response = await fetch(endpoints.token_endpoint, { method: 'POST', body });
  const answer = await response.json();
  if (!response.ok) throw new Error(`the token endpoint said ${JSON.stringify(answer)}`);
  return answer;
}
