// The TypeScript SDK as a client: `typescript_client.mjs MODULES URL MODE TOOL ARGUMENTS`, with a key in `KEY`, else
// after a sign-in, for which it prints the address. Prints what it has seen as JSON.
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { argv, env, stdout } from "node:process";
import { URL, pathToFileURL } from "node:url";

const [modules, url, mode, tool, given] = argv.slice(2);
const { resolve } = createRequire(pathToFileURL(`${modules}/index.js`));
const { Client, StreamableHTTPClientTransport, UnauthorizedError } = await import(
    resolve("@modelcontextprotocol/client")
);

const callback = createServer();
await new Promise((done) => callback.listen(0, "127.0.0.1", done));
const answered = new Promise((done) =>
    callback.once("request", (request, answer) => {
        answer.end("Back in the client.");
        done(new URL(request.url, url).searchParams);
    })
);

const kept = {};
const redirectUrl = `http://127.0.0.1:${callback.address().port}/callback`;
const provider = {
    redirectUrl,
    clientMetadata: {
        client_name: "TypeScript",
        redirect_uris: [redirectUrl],
        token_endpoint_auth_method: "none",
    },
    clientInformation: () => kept.client,
    saveClientInformation: (client) => (kept.client = client),
    tokens: () => kept.tokens,
    saveTokens: (tokens) => (kept.tokens = tokens),
    codeVerifier: () => kept.verifier,
    saveCodeVerifier: (verifier) => (kept.verifier = verifier),
    redirectToAuthorization: (address) => stdout.write(`${address}\n`),
};

const transport = () =>
    new StreamableHTTPClientTransport(
        new URL(url),
        env.KEY
            ? { requestInit: { headers: { Authorization: `Bearer ${env.KEY}` } } }
            : { authProvider: provider }
    );

async function connected(over) {
    const client = new Client(
        { name: "typescript", version: "1" },
        { versionNegotiation: { mode } }
    );
    try {
        await client.connect(over);
        return client;
    } catch (error) {
        if (!(error instanceof UnauthorizedError) || kept.tokens) {
            throw error;
        }
    }
    await over.finishAuth(await answered);
    return connected(transport());
}

const client = await connected(transport());
const { tools } = await client.listTools();
const called = await client.callTool({ name: tool, arguments: JSON.parse(given) });
stdout.write(
    `${JSON.stringify({
        version: client.getNegotiatedProtocolVersion(),
        tools: tools.map(({ name }) => name),
        text: called.content[0].text,
        is_error: Boolean(called.isError),
    })}\n`
);
await client.close();
callback.close();
