"""axe-core, the judge of accessibility, in a page of Playwright: https://github.com/dequelabs/axe-core"""

from dev.setup import node

# Colours of a tab that fades in, say, are not yet those that people read.
AT_REST = """() => Promise.allSettled(document.getAnimations()
    .filter((one) => one.effect.getComputedTiming().endTime < Infinity)
    .map((one) => one.finished))"""
TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]


def violations(page, inside: str) -> list[str]:
    """What breaks WCAG 2.2 AA inside of an element, one line each."""
    page.evaluate("document.fonts.ready")
    page.evaluate(AT_REST)
    page.evaluate((node.node_modules() / "axe-core/axe.min.js").read_text())
    found = page.evaluate(
        "([inside, tags]) => axe.run(inside, {runOnly: {type: 'tag', values: tags}})",
        [inside, TAGS],
    )
    return [
        f"{rule['id']}: {rule['help']}: {broken['html'][:200]}: {broken['failureSummary']}"
        for rule in found["violations"]
        for broken in rule["nodes"]
    ]
