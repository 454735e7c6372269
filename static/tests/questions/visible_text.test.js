import { describe, expect, test } from "@odoo/hoot";
import { hiddenText, visible } from "@woow_paas_platform/questions/visible_text";
import { VISIBLE_TEXTS } from "./visible_texts";

describe.current.tags("headless");

test("what does not show is told as what it is, as the server tells it", () => {
    for (const [given, shown] of VISIBLE_TEXTS) {
        expect(visible(given)).toBe(shown);
    }
});

test("only a text that hides something is told once more", () => {
    expect(hiddenText("A text\n\nof two paragraphs")).toBe("");
    expect(hiddenText(`Thanks!${" ".repeat(1300)}SECRET`)).toBe("Thanks! [␣×1300] SECRET");
    expect(hiddenText("a\u200bb")).toBe("a[U+200B]b");
});
