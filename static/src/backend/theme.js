/** As the page around: a dark chat in a page without Odoo's dark bundle would be a patch. */
export function pageTheme() {
    return document.querySelector("link[href*='web.assets_web_dark']") ? "dark" : undefined;
}
