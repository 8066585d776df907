/** The address of the service, from `vite.config.mjs`. */
declare const SERVICE: string;
/** The id of the agent, from there too. */
declare const AGENT: string;
