// Loaded before a program, so that it listens only on the loopback interface.
import { Server } from "node:net";

const listen = Server.prototype.listen;

Server.prototype.listen = function (port, ...rest) {
  const callback = rest.findLast((argument) => typeof argument === "function");
  return listen.call(this, { port: Number(port), host: "127.0.0.1" }, callback);
};
