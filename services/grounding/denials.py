"""Denials: sentences of an answer that there are none of something, which only a call that succeeded can tell."""

import re
from collections.abc import Iterator

from .values import Value

SENTENCE = 300  # characters of a denial before and behind its word

# That there are none of something; and what an honest answer says somewhere after its calls have failed.
_DENIAL = re.compile(
    r"\b(?:no(?! (?:problem|worries|need|longer|changes?|matter)\b)|none|nobody|zero|free|neither"
    r"|(?:is|are|was|were) empty"
    r"|nothing(?! (?:was|has been) (?:actually )?(?:chang|creat|sent|delet|search|read)))\b"
    r"|(?:\bnot|n['’]t)(?: \w{1,12}){0,2} any\b"
    r"|\b0\*{0,2} (?!(?:and|or|to)\b)[a-z]|\b0\*{0,2} ?(?![和與与到至])[\u4e00-\u9fff]|[為为是] ?0\b|\[\]"
    r"|(?<!有)[沒没]有(?!的[話话]|「|[執执建創创變变更修刪删送傳传]|[進进]行(?!中))|查[無无]|[無无](?![法論论從从權权])|未(?![來来])|不存在"
    r"|找不到|[為为是]空|空白|零|皆已|都已",
    re.IGNORECASE,
)
_FAILURE = re.compile(
    r"(?<!\bno )\b(?:errors?|fail\w{0,4}|could(?:n['’]t| not)(?! (?:find|see) any)|can(?:['’]t|not)|unable"
    r"|not able|went wrong|mistake|I have no(?:thing)?"
    r"|invalid|unknown|unavailable|unreachable|incomplete|left out|(?:the|rate) limit|denied|reject\w{0,3}|refus\w{0,3}"
    r"|blocked from|permission|access|time[sd]?[ -]?out|again|retry"
    r"|(?:not|no) (?:sure|idea|answer|response|reply|way))\b"
    r"|(?:\bnot|n['’]t) (?:allowed|permitted|know|exist|accept|cover|recogni[sz]e|respond|get|installed)\b"
    r"|something the \w{1,20} accepts"
    r"|[無无][法從从權权]|[沒没]法|[沒没][辦办]法|不能|不了|[未沒没]能|不上[來来]|不出[來来]|不[給给通]|[看讀读]不到|我查不到|限流|不知道|不[確确]定"
    r"|(?<!有)失[敗败]|(?<!不)(?<!任何)[錯错]|[無无]效|[權权]限|[逾超][時时]|拒[絕绝]|不支[援持]|故障|[擋挡]"
    r"|[沒没]有?(?:拿到|反[應应]|回[應应]|[響响][應应]|安[裝装])|[連连][線线接]|中[斷断]|[認认][識识得不]"
    r"|[重再][試试查]|[暫暂][時时]|[參参][數数]|[欄栏]位|字段",
    re.IGNORECASE,
)
_SENTENCE_END = re.compile(r"\.(?=\s|$)|[!?\n。！？]")
_IDENTIFIER = re.compile(r"[a-z]{1,40}[._/][a-z]", re.IGNORECASE)


def denials(text: str) -> Iterator[Value]:
    """Sentences that deny that there is something, except those that name an identifier, such as one that is missing.

    >>> [value.text for value in denials("There are **no** open orders. Shall I create one?")]
    ['There are **no** open orders']
    """
    last = 0
    for match in _DENIAL.finditer(text):
        if match.start() < last:
            continue
        begun = max(last, match.start() - SENTENCE)
        ends = (one.end() for one in _SENTENCE_END.finditer(text, begun, match.start()))
        begun = max(ends, default=begun)
        end = _SENTENCE_END.search(text, match.end(), match.end() + SENTENCE)
        last = end.start() if end else min(match.end() + SENTENCE, len(text))
        said = text[begun:last].strip()
        begun = text.index(said, begun)
        if not _IDENTIFIER.search(said):
            yield Value("denial", said, begun, begun + len(said), (said.casefold(),))


def admits_failure(answer: str) -> bool:
    """True if an answer says that something has failed, is not allowed or is not known."""
    return bool(_FAILURE.search(answer))
