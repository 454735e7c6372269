"""Notices whatever a page runs or fetches that it should only show."""

from urllib.parse import urlsplit

# Elements and attributes in which a payload would be more than text, whatever stops it from running here.
LIVE = r"""() => {
    const canary = /\bhit\(|127\.0\.0\.1:9\//;
    const elements = /^(script|style|link|meta|base|iframe|frame|object|embed|template|noscript)$/;
    const urls = /^(href|xlink:href|src|srcset|srcdoc|data|action|formaction|poster|background|values)$/;
    const found = [];
    const look = (root) => {
        for (const element of root.querySelectorAll("*")) {
            if (elements.test(element.localName) && canary.test(element.outerHTML)) {
                found.push(element.outerHTML);
            }
            for (const { name, value } of element.attributes) {
                const isLink = element.localName === "a" && /^https?:/i.test(value);
                const isLive =
                    /^on/i.test(name) || name === "style" || (urls.test(name) && !isLink);
                if (isLive && canary.test(decodeURIComponent(value.replace(/%(?![0-9a-f]{2})/gi, "%25")))) {
                    found.push(element.outerHTML);
                }
            }
            if (element.shadowRoot) {
                look(element.shadowRoot);
            }
        }
    };
    look(document);
    return found.map((html) => html.slice(0, 300));
}"""

# Events of what was inserted before are dispatched before those of this image.
SETTLE = """() => new Promise((settled) => {
    const image = new Image();
    image.onerror = () => requestAnimationFrame(() => setTimeout(settled));
    image.src = "data:image/png,broken";
})"""


class Trap:
    """Set in a page before it is opened; ``sprung()`` says what a payload has reached."""

    def __init__(self, page):
        self.page = page
        self.hits = []
        # in every frame, sandboxed ones and other origins too
        page.context.expose_binding("hit", lambda source, number: self.hits.append(number))
        page.on("dialog", self._on_dialog)
        page.on("request", self._on_request)
        page.context.on("page", lambda opened: self.hits.append(f"opened {opened.url}"))

    def _on_dialog(self, dialog):
        self.hits.append(f"dialog {dialog.message}")
        dialog.dismiss()

    def _on_request(self, request):
        if urlsplit(request.url).port == 9:
            self.hits.append(f"fetched {request.url}")

    def sprung(self) -> list:
        """Payloads that ran, fetched something, or stand in the page as more than text."""
        self.page.evaluate(SETTLE)
        return [*self.hits, *self.page.evaluate(LIVE)]
