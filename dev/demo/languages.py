"""In which language the embedded model answers: said after each question, since so small a model forgets it otherwise.

What a question is written in decides; where that is not clear (你好), the language of the person, which the engine
tells the model at the end of its system prompt. Here it is taken out again: the prompt and the tools stay the same for
everybody, so that the model has read them when it is asked.
"""

import json
from typing import NamedTuple

from services.llm.transcript import LANGUAGE


class Language(NamedTuple):
    """``hint`` ends a question, ``from_result`` a tool's result; ``only`` are characters that no other language has."""

    name: str  # as in LANGUAGE, or its begin
    hint: str
    from_result: str
    only: str


TRADITIONAL = Language(
    "Chinese, Traditional",
    "\n（請用繁體中文回答）",
    "請根據這個結果，用繁體中文一句話簡短回答我的問題。數字與名稱照抄，時間寫成 HH:MM。",
    "這個們時間現點嗎麼話說請幫與為會對應該還沒幾東倫紐約換總圖謝誰樣開關問題單報價訂購聯絡資業務員產數編刪動發選讓給從過來"
    "邊進種類語內國電郵檔條筆欄標籤戶號項銷庫計訊錄處據區萬億學專長實體經當兩頭見覺聽讀寫買賣錢車歡樂愛氣熱灣重複",
)
SIMPLIFIED = Language(
    "Chinese, Simplified",
    "\n（请用简体中文回答）",
    "请根据这个结果，用简体中文一句话简短回答我的问题。数字与名称照抄，时间写成 HH:MM。",
    "这个们时间现点吗么话说请帮为会对应该还没东伦纽约换总图谢谁样开关问题单报价订购联络资业务员产数编删动发选让给从过来"
    "边进种类语内国电邮档条笔栏标签户号项销库计讯录处据区万亿学专长实体经当两头见觉听读写买卖钱车欢乐爱气热湾",
)
ENGLISH = Language(
    "English",
    "\n(Answer in English.)",
    "Using this result, answer my question in one short sentence in English."
    " Copy numbers and names exactly as they are in the result, times as HH:MM.",
    "aeiouAEIOU",
)
ANY = Language(
    "",
    "",
    "Using this result, answer my question in one short sentence, in the language of my question."
    " Copy numbers and names exactly as they are in the result, times as HH:MM.",
    "",
)


def _literal(words: str) -> str:
    return json.dumps(words, ensure_ascii=False)


def _answer_in(language: Language) -> str:
    return (
        f"{{%- set language.hint = {_literal(language.hint)} %}}"
        f"{{%- set language.from_result = {_literal(language.from_result)} %}}"
    )


def _where_written_in(language: Language) -> str:
    characters = json.dumps(list(language.only), ensure_ascii=False)
    return f"{{%- for one in {characters} if one in message.content %}}{_answer_in(language)}{{%- endfor %}}"


# Begins the template: what the rest of it knows by the name `language`.
BEGIN = (
    "{%- set language = namespace(system='', person='', hint='', from_result="
    + _literal(ANY.from_result)
    + ") %}{%- if messages[0]['role'] == 'system' %}{%- set told = messages[0]['content'].split("
    + _literal(LANGUAGE)
    + ") %}{%- set language.system = told[0] %}"
    "{%- if told|length > 1 %}{%- set language.person = told[1] %}{%- endif %}{%- endif %}\n"
)
# After a question, `message`: sets language.hint, and how its tools' results are answered.
OF_MESSAGE = (
    _answer_in(ANY)
    # Other languages have these letters, too.
    + "{%- if not language.person or 'English' in language.person or 'Chinese' in language.person %}"
    + _where_written_in(ENGLISH)
    + "{%- endif %}"
    # The last one found counts: Chinese may quote a word of English.
    + _where_written_in(SIMPLIFIED)
    + _where_written_in(TRADITIONAL)
    + "{%- if not language.hint %}"
    + "".join(
        f"{{%- if {_literal(language.name)} in language.person %}}{_answer_in(language)}{{%- endif %}}"
        for language in (SIMPLIFIED, TRADITIONAL)
    )
    + "{%- endif %}"
)
