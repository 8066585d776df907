// Records the requirements of a page on another origin: its preflights, and the headers of
// responses that its libraries read.

// Headers that every page may read.
const ALWAYS_READABLE = ["cache-control", "content-language", "content-length", "content-type", "expires", "last-modified", "pragma"];

// Runs in the page: reports the names of headers that are read from responses.
const watchHeaders = () => {
  const ofResponses = new WeakSet();
  const { get: headersOf } = Object.getOwnPropertyDescriptor(Response.prototype, "headers");
  Object.defineProperty(Response.prototype, "headers", {
    configurable: true,
    get() {
      const headers = headersOf.call(this);
      if (this.type === "cors") ofResponses.add(headers);
      return headers;
    },
  });
  for (const method of ["get", "has"]) {
    const original = Headers.prototype[method];
    Headers.prototype[method] = function read(name) {
      if (ofResponses.has(this)) window.reportHeader(String(name).toLowerCase());
      return original.call(this, name);
    };
  }
};

// The path of an operation, for the path of a request to it.
const operationOf = (url) =>
  new URL(url).pathname.replace(/\/agents\/[^/]+/, "/agents/{agentId}").replace(/\/chat\/[^/]+/, "/chat/{chatId}");

export const newRecorder = (service) => {
  const preflights = new Map();
  const headersRead = new Set();
  const refused = [];

  const recordPreflights = async (page) => {
    const devtools = await page.context().newCDPSession(page);
    const open = new Map();
    const entryOf = ({ requestId }) => {
      if (!open.has(requestId)) open.set(requestId, {});
      return open.get(requestId);
    };
    // The parts of a request arrive in any order.
    const add = (event, part) => {
      const entry = Object.assign(entryOf(event), part);
      if (entry.url?.startsWith(service) && entry.headers && entry.status !== undefined) note(entry);
    };
    devtools.on("Network.requestWillBeSent", (event) => {
      if (event.request.method === "OPTIONS") add(event, { url: event.request.url });
    });
    devtools.on("Network.requestWillBeSentExtraInfo", (event) => add(event, { headers: event.headers }));
    devtools.on("Network.responseReceivedExtraInfo", (event) => add(event, { status: event.statusCode }));
    devtools.on("Network.loadingFailed", (event) => {
      const { corsError, failedParameter } = event.corsErrorStatus ?? {};
      if (corsError) refused.push(`${corsError} ${failedParameter}`);
    });
    await devtools.send("Network.enable");
    // Otherwise the browser sends no preflight for a request that an earlier preflight has allowed.
    await devtools.send("Network.setCacheDisabled", { cacheDisabled: true });
  };
  const note = ({ url, headers, status }) => {
    const named = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
    const method = named["access-control-request-method"];
    const announced = (named["access-control-request-headers"] ?? "").split(",").toSorted().join(",");
    const preflight = `${method} ${operationOf(url)} ${announced}`;
    preflights.set(preflight, status);
    if (status < 200 || status > 299) refused.push(`${preflight}: ${status}`);
  };

  return {
    // Records the requests of a page, from its first one.
    async watch(page) {
      await page.exposeFunction("reportHeader", (name) => {
        if (!ALWAYS_READABLE.includes(name)) headersRead.add(name);
      });
      await page.addInitScript(watchHeaders);
      await recordPreflights(page);
    },
    // What the pages needed, and what they were refused.
    result: () => ({ preflights: [...preflights.keys()].toSorted(), headersRead: [...headersRead].toSorted(), refused }),
  };
};
