import { animationFrame, expect, test } from "@odoo/hoot";
import { Component, useRef, useState, xml } from "@odoo/owl";
import { defineMailModels } from "@mail/../tests/mail_test_helpers";
import { mountWithCleanup } from "@web/../tests/web_test_helpers";
import { useFoundWords } from "@woow_paas_platform/thread/found_words";

defineMailModels();

/** A thread that has always earlier messages, and never the words; they stop to come after some requests. */
class Thread extends Component {
    static template = xml`<div t-ref="content"/>`;
    static props = ["*"];

    setup() {
        this.loads = 0;
        this.most = 5;
        this.state = useState({ search: null, messages: [{ key: 0 }] });
        useFoundWords(useRef("content"), {
            getSearch: () => this.state.search,
            getThread: () => ({ isLoaded: true, hasMore: true, messages: this.state.messages }),
            loadMore: () => {
                this.loads++;
                if (this.loads < this.most) {
                    const key = this.state.messages.length;
                    this.state.messages = [{ key }, ...this.state.messages];
                }
            },
            show: () => {},
        });
    }

    async search(words) {
        this.loads = 0;
        this.state.search = { words, isSaid: true };
        for (let frame = 0; frame < 60; frame++) {
            await animationFrame();
        }
        return this.loads;
    }
}

test("each search may look at as many earlier messages as the one before", async () => {
    const thread = await mountWithCleanup(Thread);
    expect(await thread.search("rates, and is left in the middle")).toBe(5);
    thread.most = Infinity;
    expect(await thread.search("rate of")).toBe(20);
    expect(await thread.search("another")).toBe(20);
});
