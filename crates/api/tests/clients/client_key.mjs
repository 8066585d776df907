// Generates a client's key: `node client_key.mjs ES256`. Prints the JWK for the client and the JWK
// set for the service.

import { calculateJwkThumbprint, exportJWK, generateKeyPair } from 'jose';

const [, , alg] = process.argv;
const { privateKey, publicKey } = await generateKeyPair(alg, { extractable: true });
const kid = await calculateJwkThumbprint(publicKey);
const jwkOf = async (key) => ({ ...(await exportJWK(key)), alg, kid, use: 'sig' });
const keys = { privateKey: await jwkOf(privateKey), jwks: { keys: [await jwkOf(publicKey)] } };
process.stdout.write(`${JSON.stringify(keys)}\n`);
