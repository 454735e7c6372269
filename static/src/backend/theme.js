import { cookie } from "@web/core/browser/cookie";

/** Without Odoo's dark bundle the page is light; who chose dark gets the chat dark all the same. */
export function chosenTheme() {
    return cookie.get("color_scheme") === "dark" ? "dark" : undefined;
}
