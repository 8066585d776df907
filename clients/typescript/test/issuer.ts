// An identity provider of the tests, whose tokens live for seconds.
import { generateKeyPairSync, sign } from "node:crypto";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

const AUDIENCE = "agent-service-tests";
/** The seconds after its expiry for which the service accepts a token, since clocks differ. */
export const LEEWAY = 30;

const encode = (value: object): string => Buffer.from(JSON.stringify(value)).toString("base64url");

export const startIssuer = async () => {
  const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const keys = [{ ...publicKey.export({ format: "jwk" }), kid: "1", alg: "ES256", use: "sig" }];
  const server = createServer((_, response) => response.setHeader("content-type", "application/json").end(JSON.stringify({ keys })));
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    /** The settings of a service that accepts the tokens. */
    settings: {
      AUTH__ISSUERS__TEST__ISSUER: issuer,
      AUTH__ISSUERS__TEST__AUDIENCES: AUDIENCE,
      AUTH__ISSUERS__TEST__JWKS_URL: `${issuer}/keys`,
    },
    /** A token that expires in so many seconds; the service accepts it longer by the leeway. */
    token(seconds: number, scope = "chat:write conversations:read events:read", sub = "ada"): string {
      const now = Math.floor(Date.now() / 1000);
      const claims = { iss: issuer, sub, aud: AUDIENCE, client_id: "page", jti: crypto.randomUUID(), iat: now, exp: now + seconds, scope };
      const signed = `${encode({ alg: "ES256", typ: "at+jwt", kid: "1" })}.${encode(claims)}`;
      return `${signed}.${sign("sha256", Buffer.from(signed), { key: privateKey, dsaEncoding: "ieee-p1363" }).toString("base64url")}`;
    },
    stop: () => server.close(),
  };
};
