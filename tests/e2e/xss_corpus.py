"""What people have used to make a page run what it should show, one payload each.

``HIT`` stands for the call of a trap, ``URL`` for an address that nothing may fetch by itself, ``B64`` for a page
that calls the trap. After the classes of OWASP's cheat sheet, the Markdown that models write and Odoo's own templates.
"""

import base64

_TEMPLATES = (
    # scripts and handlers
    "<script>HIT</script>",
    "<ScRiPt>HIT</sCrIpT>",
    "<script src=URL></script>",
    "<scr<script>ipt>HIT</scr</script>ipt>",
    "<img src=x onerror=HIT>",
    '<IMG SRC="x" ONERROR="HIT">',
    "<img/src=x/onerror=HIT>",
    "<img\tsrc=x\nonerror=HIT>",
    '<img """><script>HIT</script>">',
    "<img srcset=URL onerror=HIT>",
    "<img src=x onerror=&#x74;op.HIT>",
    "<body onload=HIT>",
    "<details open ontoggle=HIT>x</details>",
    "<video><source onerror=HIT></video>",
    "<audio src=x onerror=HIT></audio>",
    "<video poster=URL></video>",
    "<input autofocus onfocus=HIT>",
    "<select autofocus onfocus=HIT><option>x</select>",
    "<marquee onstart=HIT>x</marquee>",
    "<table background=URL><td>x</table>",
    # SVG and MathML
    "<svg onload=HIT>",
    "<svg><script>HIT</script></svg>",
    '<svg><script href="data:text/javascript,HIT"/></svg>',
    '<svg><a xlink:href="javascript:HIT"><text y=20>x</text></a></svg>',
    "<svg><animate onbegin=HIT attributeName=x dur=1s>",
    '<svg><a><animate attributeName=href values="javascript:HIT"/><text y=20>x</text></a></svg>',
    "<svg><use href=\"data:image/svg+xml,<svg id='x'><image href='1' onerror='HIT'/></svg>#x\"/></svg>",
    "<svg><foreignObject><iframe onload=HIT></iframe></foreignObject></svg>",
    '<math href="javascript:HIT">x</math>',
    '<math><maction actiontype="statusline#x" xlink:href="javascript:HIT">x</maction></math>',
    # frames, objects, documents
    '<iframe src="javascript:top.HIT"></iframe>',
    '<iframe srcdoc="<script>top.HIT</script>"></iframe>',
    '<iframe srcdoc="&lt;script&gt;top.HIT&lt;/script&gt;"></iframe>',
    '<iframe src="data:text/html,<script>HIT</script>"></iframe>',
    '<object data="javascript:HIT"></object>',
    '<object data="data:text/html;base64,B64"></object>',
    '<embed src="data:text/html;base64,B64">',
    '<meta http-equiv=refresh content="0;url=javascript:HIT">',
    '<meta http-equiv=refresh content="0;url=URL">',
    '<base href="URL/">',
    '<form action="javascript:HIT"><button autofocus>x</button></form>',
    '<button formaction="javascript:HIT">x</button>',
    # style
    '<style>@import "URL";</style>',
    "<style>*{background:url(URL)}</style>",
    '<div style="background-image:url(URL)">x</div>',
    "<style>@keyframes x{}</style><b style=animation-name:x onanimationstart=HIT>x</b>",
    "<link rel=stylesheet href=URL>",
    # links
    '<a href="javascript:HIT">x</a>',
    '<a href="java&#10;script:HIT">x</a>',
    '<a href="&#1;javascript:HIT">x</a>',
    '<a href="data:text/html;base64,B64">x</a>',
    '<a href="vbscript:HIT">x</a>',
    # out of an attribute, an element, a comment
    '"><img src=x onerror=HIT>',
    "'><svg/onload=HIT>",
    '" autofocus onfocus=HIT x="',
    "' onmouseover=HIT style='position:fixed;inset:0",
    "</title><script>HIT</script>",
    "</textarea><script>HIT</script>",
    "</script><script>HIT</script>",
    "--><script>HIT</script><!--",
    "]]><script>HIT</script>",
    # what changes its meaning when it is parsed again
    '<noscript><p title="</noscript><img src=x onerror=HIT>">',
    "<form><math><mtext></form><form><mglyph><style></math><img src=x onerror=HIT>",
    '<math><mtext><table><mglyph><style><!--</style><img title="--><img src=x onerror=HIT>">',
    '<svg></p><style><a id="</style><img src=x onerror=HIT>">',
    '<xmp><img title="</xmp><img src=x onerror=HIT>"></xmp>',
    "<template><img src=x onerror=HIT></template>",
    # written in other letters
    "&lt;img src=x onerror=HIT&gt;",
    "&amp;lt;script&amp;gt;HIT&amp;lt;/script&amp;gt;",
    "&#60;script&#62;HIT&#60;/script&#62;",
    "%3Cscript%3EHIT%3C/script%3E",
    "\\u003cscript\\u003eHIT\\u003c/script\\u003e",
    "\uff1cscript\uff1eHIT\uff1c/script\uff1e",
    "<\u017fcript>HIT</\u017fcript>",
    "<\u200bscript>HIT</script> <img src=x onerror\u00a0=HIT>",
    "\u202e<img src=x onerror=HIT>\u202c",
    # TeX
    r"\(\href{javascript:HIT}{x}\style{background:url(URL)}{x}\)",
    r"$$\text{</math><img src=x onerror=HIT>}$$",
    # Markdown
    "[x](javascript:HIT)",
    "[x](JaVaScRiPt:HIT)",
    "[x](java&#115;cript:HIT)",
    "[x](<javascript:HIT>)",
    "[x](data:text/html;base64,B64)",
    '[x](https://example.com "\\" onmouseover=HIT x=\\"")',
    '[x]: javascript:HIT "x"\n[x]',
    "![x](URL)",
    "![x](javascript:HIT)",
    "![x](data:image/svg+xml;base64,B64)",
    '![" onerror=HIT x="](URL)',
    "<javascript:HIT>",
    "https://example.com/<svg/onload=HIT>",
    '```html"onmouseover=HIT\n<img src=x onerror=HIT>\n```',
    "| a | b |\n|---|---|\n| <img src=x onerror=HIT> | [x](javascript:HIT) |",
    "- [ ] $$<img src=x onerror=HIT>$$",
    # templates
    '{{constructor.constructor("HIT")()}} ${HIT} #{HIT} <%= HIT %>',
    '<t t-out="HIT" t-on-click="() => HIT"/><div t-att-onclick="HIT">x</div>',
    '%(HIT)s %s {0.__class__} <owl-component name="x" props="HIT"/>',
    # many contexts at once
    "jaVasCript:/*-/*`/*'/*\"/**/(/* */HIT )//</stYle/</titLe/</teXtarEa/</scRipt/--!><sVg/oNloAd=HIT//>",
)


def _payload(number: int, template: str) -> str:
    hit = f"hit({number})"
    page = base64.b64encode(f"<script>{hit}</script>".encode()).decode()
    address = f"http://127.0.0.1:9/{number}"
    return template.replace("HIT", hit).replace("URL", address).replace("B64", page)


PAYLOADS = tuple(_payload(number, template) for number, template in enumerate(_TEMPLATES))
