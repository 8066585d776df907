/** The address of the service, from `server.mjs`. */
declare const SERVICE: string;
/** The id of the agent, from there too. */
declare const AGENT: string;
