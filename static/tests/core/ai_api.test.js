import { advanceTime, describe, expect, mockFetch, test } from "@odoo/hoot";
import { patchTranslations } from "@web/../tests/web_test_helpers";
import { AiApi } from "@woow_paas_platform/core/ai_api";
import { REQUEST_TIMEOUT } from "@woow_paas_platform/core/api_client";

describe.current.tags("headless");

function json(data, status = 200) {
    return new Response(JSON.stringify(data), {
        status,
        headers: { "Content-Type": "application/json" },
    });
}

async function failureOf(promise) {
    try {
        await promise;
    } catch (error) {
        return error;
    }
    throw new Error("should have failed");
}

test("sends and reads JSON", async () => {
    mockFetch((url, init) => {
        expect.step(`${init.method} ${url} ${init.body}`);
        expect(new Headers(init.headers).get("Content-Type")).toBe("application/json");
        return json({ turn_id: 1 }, 202);
    });
    const answer = await new AiApi().sendMessage(5, { content: "Hi", clientToken: "t" });
    expect(answer).toEqual({ turn_id: 1 });
    expect.verifySteps([
        'POST /api/ai/conversations/5/messages {"content":"Hi","client_token":"t"}',
    ]);
});

test("puts paging in the query and leaves out what is not set", async () => {
    mockFetch((url) => {
        expect.step(url);
        return json({ conversations: [], has_more: false });
    });
    await new AiApi().conversations({ limit: 30 });
    await new AiApi().conversation(3, { limit: 30, before: 8 });
    expect.verifySteps([
        "/api/ai/conversations?limit=30",
        "/api/ai/conversations/3?limit=30&before=8",
    ]);
});

test("a decision says what was shown", async () => {
    mockFetch((url, init) => {
        expect.step(`${url} ${init.body}`);
        return json({ state: "queued", waiting_for: [] });
    });
    await new AiApi().decide(9, { id: "c1", decision: "approve_once", shown: { c1: "ab12" } });
    expect.verifySteps([
        '/api/ai/turns/9/decision {"id":"c1","decision":"approve_once","shown":{"c1":"ab12"}}',
    ]);
});

test("a decision and an answer keep the digits of long integers", async () => {
    mockFetch((url, init) => {
        expect.step(init.body ?? "");
        const asked = '{"id":"c1","question":{"args":{"id":1234567890123456789}}}';
        return new Response(asked, { headers: { "Content-Type": "application/json" } });
    });
    const api = new AiApi();
    const { args } = (await api.decision("c1")).question;
    await api.decide(9, { id: "c1", decision: "approve_once", args, unchanged: ["tags"] });
    expect.verifySteps([
        "",
        '{"id":"c1","decision":"approve_once","arguments":{"id":1234567890123456789},"unchanged":["tags"]}',
    ]);
});

test("204 is nothing", async () => {
    mockFetch(() => new Response(null, { status: 204 }));
    expect(await new AiApi().discard(1)).toBe(null);
});

test("an error of the API keeps its code and sentence", async () => {
    mockFetch(() =>
        json({ error: { code: "turn_running", message: "Busy.", details: { turn_id: 4 } } }, 409)
    );
    const error = await failureOf(new AiApi().sendMessage(1, { content: "x", clientToken: "t" }));
    expect(error.message).toBe("Busy.");
    expect({ ...error }).toMatchObject({
        code: "turn_running",
        status: 409,
        details: { turn_id: 4 },
    });
    expect(error.isTemporary).toBe(false);
});

test("an error page of a proxy becomes a sentence", async () => {
    patchTranslations();
    mockFetch(
        () =>
            new Response("<html>Bad Gateway</html>", {
                status: 502,
                headers: { "Retry-After": "3" },
            })
    );
    const error = await failureOf(new AiApi().assistants());
    expect({ ...error }).toMatchObject({ code: "http_502", status: 502, retryAfter: 3 });
    expect(error.isTemporary).toBe(true);
    expect(error.message).toMatch(/Try again/);
});

test("Odoo without its database is back in a moment", async () => {
    patchTranslations();
    mockFetch(() => new Response("<h1>Not Found</h1>No database is selected", { status: 404 }));
    expect((await failureOf(new AiApi().assistants())).isTemporary).toBe(true);
    mockFetch(() => json({ error: { code: "not_found", message: "It is gone." } }, 404));
    expect((await failureOf(new AiApi().assistants())).isTemporary).toBe(false);
});

test("a page in the place of JSON is an error too", async () => {
    patchTranslations();
    mockFetch(() => new Response("<html>Login</html>", { status: 200 }));
    const error = await failureOf(new AiApi().assistants());
    expect(error.code).toBe("bad_response");
});

test("no answer is a network error", async () => {
    patchTranslations();
    mockFetch(() => {
        throw new TypeError("Failed to fetch");
    });
    const error = await failureOf(new AiApi().assistants());
    expect({ ...error }).toMatchObject({ code: "network", status: 0 });
    expect(error.isTemporary).toBe(true);
});

test("a signed-out session is told apart", async () => {
    patchTranslations();
    mockFetch(() => json({ error: { code: "unauthenticated", message: "Send a token." } }, 401));
    const error = await failureOf(new AiApi().assistants());
    expect(error.isSignedOut).toBe(true);
    expect(error.isTemporary).toBe(false);
    expect(error.message).toBe("Your session has expired. Sign in again to continue.");
});

test("what only programmers can do something about is said in other words", async () => {
    patchTranslations();
    const said = "Unknown fields: when.";
    mockFetch(() => json({ error: { code: "unknown_field", message: said } }, 400));
    const error = await failureOf(new AiApi().sendMessage(1, { content: "x", clientToken: "t" }));
    expect(error.code).toBe("unknown_field");
    expect(error.message).toBe("The server rejected this request. Reload the page and try again.");
});

test("a request has a limit", async () => {
    patchTranslations();
    let signal = null;
    const api = new AiApi();
    api.fetch = async (method, url, options) => {
        signal = options.signal;
        return new Promise((resolve, reject) => {
            signal.addEventListener("abort", () => reject(new DOMException("x", "AbortError")));
        });
    };
    const failing = failureOf(api.assistants());
    await advanceTime(REQUEST_TIMEOUT);
    expect(signal.aborted).toBe(true);
    expect((await failing).code).toBe("network");
});

test("a stream is opened behind the last event", async () => {
    mockFetch((url, init) => {
        expect.step(`${url} ${new Headers(init.headers).get("Accept")}`);
        return new Response(null, { status: 204 });
    });
    const api = new AiApi();
    await api.openStream("/api/ai/turns/7/stream");
    await api.openStream("/api/ai/turns/7/stream", { after: 12 });
    expect.verifySteps([
        "/api/ai/turns/7/stream text/event-stream",
        "/api/ai/turns/7/stream?after=12 text/event-stream",
    ]);
});
