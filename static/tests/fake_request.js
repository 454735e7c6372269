/** An XMLHttpRequest that asks `answer(url, init)`, as `fetch` does, and is sent whole at once. */
export class FakeRequest extends EventTarget {
    upload = new EventTarget();
    headers = {};

    constructor(answer) {
        super();
        this.answer = answer;
    }

    open(method, url) {
        Object.assign(this, { method, url: new URL(url, "http://odoo.test") });
    }

    setRequestHeader(name, value) {
        this.headers[name] = value;
    }

    getResponseHeader(name) {
        return this.response.headers.get(name);
    }

    abort() {
        this.isAborted = true;
        this.dispatchEvent(new Event("abort"));
    }

    async send(body) {
        const { method, headers } = this;
        for (const loaded of [1, 2]) {
            this.upload.dispatchEvent(new ProgressEvent("progress", { loaded, total: 2 }));
        }
        try {
            this.response = await this.answer(this.url, { method, headers, body });
            this.responseText = await this.response.text();
        } catch {
            this.dispatchEvent(new Event("error"));
            return;
        }
        if (!this.isAborted) {
            this.status = this.response.status;
            this.dispatchEvent(new Event("load"));
        }
    }
}

/** What a request brings: JSON, or the fields of a form with the names of its files. */
export function bodyOf(body) {
    if (body instanceof FormData) {
        const fields = [...body].map(([key, value]) => [key, value.name ?? value]);
        return Object.fromEntries(fields);
    }
    return body && JSON.parse(body);
}
