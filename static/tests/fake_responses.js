export function json(data, status = 200) {
    return new Response(JSON.stringify(data), {
        status,
        headers: { "Content-Type": "application/json" },
    });
}

export function refusal(status, code, message) {
    return json({ error: { code, message, details: {} } }, status);
}
