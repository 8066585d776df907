/** The path of the console, without a slash at the end. The service writes it into the page. */
export const basePath = new URL(document.baseURI).pathname.replace(/\/$/, "");

/** The address of the service, without a slash at the end: the parent of the console. */
export const serviceUrl = new URL("..", document.baseURI).href.replace(/\/$/, "");
