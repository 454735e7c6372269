import { expect, test } from "@odoo/hoot";
import { pressedKey } from "@woow_paas_platform/core/keys";

test("an input method has the keys while it composes", () => {
    const press = (values) =>
        pressedKey(new KeyboardEvent("keydown", { key: "Escape", ...values }));
    expect(press({})).toBe("Escape");
    expect(press({ isComposing: true })).toBe("");
    expect(press({ keyCode: 229 })).toBe("");
});
