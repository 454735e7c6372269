// A small front proxy for prefork Odoo, as `proxy.mjs PORT HTTP_PORT GEVENT_PORT`: streams and websockets go to the
// gevent port, so do requests of MCP clients that listen, and the rest to the HTTP port.
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { argv } from "node:process";
import { URL } from "node:url";

const require = createRequire(new URL("../../.dev/node_modules/index.js", import.meta.url));
const { createProxyServer } = await import(require.resolve("httpxy"));

const [port, httpPort, geventPort] = argv.slice(2).map(Number);
const LONG_LIVED = /^\/(websocket|api\/ai\/turns\/[^/?]+\/stream)(?=[/?]|$)/;

// Without an agent each request has a connection of its own: a prefork worker serves one at a time.
const proxy = createProxyServer({ agent: false });
const listens = ({ url, method, headers }) =>
    /^\/mcp(?=\?|$)/.test(url) &&
    (method === "GET" || headers["mcp-method"] === "subscriptions/listen");
const to = (request) => ({
    target: {
        host: "127.0.0.1",
        port: LONG_LIVED.test(request.url) || listens(request) ? geventPort : httpPort,
    },
});

const server = createServer({ maxHeaderSize: 65_536 }, (request, answer) =>
    proxy.web(request, answer, to(request)).catch(() => {
        if (answer.headersSent) {
            answer.destroy();
        } else {
            answer.writeHead(502).end();
        }
    })
);
server.on("upgrade", (request, socket, head) =>
    proxy.ws(request, socket, to(request), head).catch(() => socket.destroy())
);
server.keepAliveTimeout = 0; // ms; a client that keeps a connection never finds it closed
server.requestTimeout = 0; // ms; an upload may take as long as Odoo lets it
server.listen(port, "127.0.0.1", 1024);
