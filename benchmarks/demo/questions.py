"""The first questions of `make bench-demo`, and how an answer is judged; each language has the same twenty.

A question is (kind, the question, what is right). What is right is made of

* ``now``: the answer tells the time in this zone, and no other;
* ``at``: it tells ``(time, of this zone, in that zone)``, and no other but the one that was asked about;
* ``says``: it holds one of these words; ``called``: this tool was called; ``calls_nothing``: no tool was.
"""

from typing import Any

Question = tuple[str, str, dict[str, Any]]

TAIPEI, TOKYO, PARIS = "Asia/Taipei", "Asia/Tokyo", "Europe/Paris"
LONDON, NEW_YORK, SYDNEY = "Europe/London", "America/New_York", "Australia/Sydney"
GREETING = {"calls_nothing": True}

QUESTIONS: dict[str, list[Question]] = {
    "en": [
        ("time", "What time is it in Taipei?", {"now": TAIPEI}),
        ("time", "What's the time in Tokyo right now?", {"now": TOKYO}),
        ("time", "Tell me the current time in Paris.", {"now": PARIS}),
        ("time", "What time is it in London?", {"now": LONDON}),
        ("time", "How late is it in New York?", {"now": NEW_YORK}),
        ("time", "Current time in Sydney please", {"now": SYDNEY}),
        (
            "conversion",
            "If it is 14:00 in Taipei, what time is it in Paris?",
            {"at": ("14:00", TAIPEI, PARIS)},
        ),
        (
            "conversion",
            "Convert 09:30 Tokyo time to London time.",
            {"at": ("09:30", TOKYO, LONDON)},
        ),
        (
            "conversion",
            "It is 20:15 in New York. What time is that in Taipei?",
            {"at": ("20:15", NEW_YORK, TAIPEI)},
        ),
        (
            "conversion",
            "What is 08:00 in London in Sydney time?",
            {"at": ("08:00", LONDON, SYDNEY)},
        ),
        (
            "tool",
            "Use the echo tool to say: blue harbour",
            {"called": "echo", "says": ["blue harbour"]},
        ),
        ("tool", "Echo back the words good morning", {"called": "echo", "says": ["good morning"]}),
        ("tool", "Add 17 and 25 with the sum tool.", {"called": "get-sum", "says": ["42"]}),
        (
            "tool",
            "What is 1234 plus 4321? Use your tool.",
            {"called": "get-sum", "says": ["5555", "5,555"]},
        ),
        ("tool", "Show me the tiny image.", {"called": "get-tiny-image"}),
        ("talk", "Hi", GREETING),
        ("talk", "Thank you very much!", GREETING),
        ("talk", "Who are you?", GREETING),
        ("talk", "How are you today?", GREETING),
        ("talk", "What can you do for me?", GREETING),
    ],
    "zh_TW": [
        ("time", "現在台北幾點？", {"now": TAIPEI}),
        ("time", "東京現在是什麼時間？", {"now": TOKYO}),
        ("time", "請告訴我巴黎目前的時間。", {"now": PARIS}),
        ("time", "倫敦現在幾點？", {"now": LONDON}),
        ("time", "紐約現在幾點了？", {"now": NEW_YORK}),
        ("time", "雪梨目前時間", {"now": SYDNEY}),
        ("conversion", "如果台北是 14:00，巴黎是幾點？", {"at": ("14:00", TAIPEI, PARIS)}),
        ("conversion", "請把東京時間 09:30 換算成倫敦時間。", {"at": ("09:30", TOKYO, LONDON)}),
        ("conversion", "紐約現在是 20:15，台北是幾點？", {"at": ("20:15", NEW_YORK, TAIPEI)}),
        ("conversion", "倫敦的 08:00 是雪梨的幾點？", {"at": ("08:00", LONDON, SYDNEY)}),
        ("tool", "請用 echo 工具說：藍色港口", {"called": "echo", "says": ["藍色港口"]}),
        ("tool", "請用 echo 重複「早安」", {"called": "echo", "says": ["早安"]}),
        ("tool", "請用加總工具計算 17 加 25。", {"called": "get-sum", "says": ["42"]}),
        (
            "tool",
            "1234 加 4321 是多少？請用工具。",
            {"called": "get-sum", "says": ["5555", "5,555"]},
        ),
        ("tool", "請給我看那張小圖片。", {"called": "get-tiny-image"}),
        ("talk", "你好", GREETING),
        ("talk", "非常感謝！", GREETING),
        ("talk", "你是誰？", GREETING),
        ("talk", "你今天好嗎？", GREETING),
        ("talk", "你可以幫我做什麼？", GREETING),
    ],
    "zh_CN": [
        ("time", "现在台北几点？", {"now": TAIPEI}),
        ("time", "东京现在是什么时间？", {"now": TOKYO}),
        ("time", "请告诉我巴黎目前的时间。", {"now": PARIS}),
        ("time", "伦敦现在几点？", {"now": LONDON}),
        ("time", "纽约现在几点了？", {"now": NEW_YORK}),
        ("time", "悉尼目前时间", {"now": SYDNEY}),
        ("conversion", "如果台北是 14:00，巴黎是几点？", {"at": ("14:00", TAIPEI, PARIS)}),
        ("conversion", "请把东京时间 09:30 换算成伦敦时间。", {"at": ("09:30", TOKYO, LONDON)}),
        ("conversion", "纽约现在是 20:15，台北是几点？", {"at": ("20:15", NEW_YORK, TAIPEI)}),
        ("conversion", "伦敦的 08:00 是悉尼的几点？", {"at": ("08:00", LONDON, SYDNEY)}),
        ("tool", "请用 echo 工具说：蓝色港口", {"called": "echo", "says": ["蓝色港口"]}),
        ("tool", "请用 echo 重复“早安”", {"called": "echo", "says": ["早安"]}),
        ("tool", "请用求和工具计算 17 加 25。", {"called": "get-sum", "says": ["42"]}),
        (
            "tool",
            "1234 加 4321 是多少？请用工具。",
            {"called": "get-sum", "says": ["5555", "5,555"]},
        ),
        ("tool", "请给我看那张小图片。", {"called": "get-tiny-image"}),
        ("talk", "你好", GREETING),
        ("talk", "非常感谢！", GREETING),
        ("talk", "你是谁？", GREETING),
        ("talk", "你今天好吗？", GREETING),
        ("talk", "你可以帮我做什么？", GREETING),
    ],
}
