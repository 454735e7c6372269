"""Words of a text, so that a question and a tool's description meet: ``list_issues`` and “listing an issue”.

Names are split where their parts begin, English words lose their endings, and Chinese, Japanese and Korean, which
are written without blanks, become pairs of characters.
"""

import re
from functools import lru_cache

MAX_TEXT = 2_000  # characters of one text that are looked at
MAX_WORD = 40  # characters

_PART = re.compile(
    r"[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\uac00-\ud7af]+"  # kana, Han, Hangul
    r"|[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\d_a-zA-Z\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\uac00-\ud7af]+"
)
_NO_BLANKS = re.compile("[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\uac00-\ud7af]")
_ARTICLES = """
a all an and any are as at be by can each for from has have if in into is it its me my not of on only or other our over
than that the their then there these this those to tool use used using was we were what when where which will with you
your
"""
_EMPTY = frozenset(_ARTICLES.split())
# What people and tools call the same; a line is a group.
_SAME = """
create add new insert make generate build write
get fetch read retrieve load show view open look check collect
find search query discover
list enumerate browse
delete remove erase drop clear
update edit modify change set replace rename
send post publish share submit deliver
save write store export
file document path txt markdown md
picture image photo png jpg screenshot
presentation powerpoint ppt pptx slide
word docx document
spreadsheet excel xls xlsx sheet workbook
website web page url site html browser link
news headline article trend trending
compute calculate math sum
summary summarize abstract
mail email message
calendar event schedule meeting appointment
map route direction navigate location place geocode address
weather forecast temperature
stock price ticker share quote market
crypto cryptocurrency bitcoin coin
run execute command shell terminal
hotel flight ticket travel trip
paper article publication
repository repo git
database sql table
user person people member contact
video youtube transcript subtitle
audio music song sound
time date clock day today current now
note memo
error bug issue problem
convert transform format
recipe dish food cook
extract parse
company organization business
invoice bill payment
customer client
order purchase
查詢 查询 搜尋 搜索 查找
新增 建立 创建 添加
刪除 删除 移除
更新 修改 編輯 编辑
郵件 邮件 信件
檔案 文件 文档
天氣 天气 氣象
"""
_GENERIC = """
get make find use generate provide help need want task step information info detail detailed data latest related
multiple different various relevant specific according based
"""
_PATH = re.compile(r"(?:^|\s)[~.]{0,2}/\w|\w\.(?:md|txt|pdf|docx?|csv|json|html?)\b")


def words(text: str) -> list[str]:
    """
    >>> words("listIssues of HTTPServers"), words("查詢天氣")
    (['list', 'issu', 'http', 'server'], ['查詢', '詢天', '天氣'])
    """
    found = []
    for match in _PART.finditer(text[:MAX_TEXT]):
        part = match[0]
        if _NO_BLANKS.match(part):
            found += [part[i : i + 2] for i in range(max(1, len(part) - 1))]
        elif (word := part[:MAX_WORD].lower()) not in _EMPTY:
            found.append(stem(word))
    return found


@lru_cache(maxsize=20_000)
def stem(word: str) -> str:
    """
    >>> [stem(word) for word in ("queries", "query", "creating", "creates", "stopped", "news")]
    ['query', 'query', 'creat', 'creat', 'stop', 'new']
    """
    if len(word) < 4 or not word.isascii():
        return word
    if word.endswith("ies") and len(word) > 4:
        return f"{word[:-3]}y"
    for ending in ("ing", "ed", "es", "s"):
        if word.endswith(ending) and len(word) - len(ending) >= 3 and not word.endswith("ss"):
            word = word[: -len(ending)]
            break
    if len(word) > 3 and word.endswith("e"):
        word = word[:-1]
    if len(word) > 3 and word[-1] == word[-2] and word[-1] not in "sl":
        word = word[:-1]
    return word


def _groups() -> dict[str, frozenset[str]]:
    same: dict[str, set[str]] = {}
    for line in _SAME.strip().splitlines():
        group = set(words(line))
        for word in group:
            same.setdefault(word, set()).update(group - {word})
    return {word: frozenset(others) for word, others in same.items()}


SYNONYMS = _groups()
GENERIC = frozenset(words(_GENERIC))


def of_query(query: str) -> list[str]:
    """The words of a query; who writes a path means a file.

    >>> of_query("save it to /home/u/report")
    ['sav', 'hom', 'u', 'report', 'fil']
    """
    return words(query) + (words("file") if _PATH.search(query[:MAX_TEXT]) else [])
