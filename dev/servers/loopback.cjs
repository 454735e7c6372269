// Preloaded into demo servers that would listen on every address of the machine: a port alone means the loopback.
"use strict";

const net = require("node:net");

const listen = net.Server.prototype.listen;
net.Server.prototype.listen = function (first, ...rest) {
    const isPort = typeof first === "number" || /^\d+$/.test(first);
    const hasHost = typeof rest[0] === "string";
    return isPort && !hasHost
        ? listen.call(this, Number(first), "127.0.0.1", ...rest)
        : listen.call(this, first, ...rest);
};
