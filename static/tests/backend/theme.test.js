import { after, describe, expect, test } from "@odoo/hoot";
import { cookie } from "@web/core/browser/cookie";
import { pageTheme } from "@woow_paas_platform/backend/theme";

describe.current.tags("headless");

test("the chat is dark where the page is, and not where a cookie alone says so", () => {
    cookie.set("color_scheme", "dark");
    after(() => cookie.delete("color_scheme"));
    expect(pageTheme()).toBe(undefined);
    const link = document.createElement("link");
    link.href = "/web/assets/0123abc/web.assets_web_dark.min.css";
    document.head.append(link);
    after(() => link.remove());
    expect(pageTheme()).toBe("dark");
});
