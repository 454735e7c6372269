"""Wordings of the drawn questions: of each, several in each language; ``{…}`` are facts of `questions`."""

from typing import NamedTuple

LANGUAGES = ("en", "zh_TW", "zh_CN")


class Wordings(NamedTuple):
    """:ivar name: of the function in `questions` that draws the facts and says what is right"""

    kind: str
    name: str
    en: tuple[str, ...]
    zh_TW: tuple[str, ...]
    zh_CN: tuple[str, ...]


WORDINGS = (
    Wordings(
        "read",
        "email",
        (
            "What is the email address of {partner}?",
            "How can I reach {partner} by email?",
            "Give me {partner}'s email, please.",
        ),
        (
            "{partner} 的電子郵件地址是什麼？",
            "{partner} 的 email 是？",
            "請告訴我 {partner} 的電子郵件。",
        ),
        (
            "{partner} 的电子邮件地址是什么？",
            "{partner} 的邮箱是？",
            "请告诉我 {partner} 的电子邮件。",
        ),
    ),
    Wordings(
        "read",
        "city",
        (
            "In which city is {partner}?",
            "Where is {partner} located?",
            "Which city is {partner} in?",
        ),
        ("{partner} 在哪個城市？", "{partner} 位於哪個城市？", "請問 {partner} 在哪座城市？"),
        ("{partner} 在哪个城市？", "{partner} 位于哪个城市？", "请问 {partner} 在哪座城市？"),
    ),
    Wordings(
        "read",
        "customer",
        (
            "Which customer is the order {order} for?",
            "Who is the customer of {order}?",
            "Who ordered {order}?",
        ),
        ("訂單 {order} 的客戶是誰？", "{order} 是哪個客戶的訂單？", "誰下了訂單 {order}？"),
        ("订单 {order} 的客户是谁？", "{order} 是哪个客户的订单？", "谁下了订单 {order}？"),
    ),
    Wordings(
        "read",
        "total",
        (
            "What is the total amount of the order {order}?",
            "How much is {order} in total?",
            "Total of {order}?",
        ),
        ("訂單 {order} 的總金額是多少？", "{order} 總共多少錢？", "{order} 的合計金額？"),
        ("订单 {order} 的总金额是多少？", "{order} 一共多少钱？", "{order} 的合计金额？"),
    ),
    Wordings(
        "read",
        "revenue",
        (
            "What is the expected revenue of the opportunity “{lead}”?",
            "How much do we expect from the lead “{lead}”?",
            "Expected revenue of “{lead}”?",
        ),
        (
            "商機「{lead}」的預期收入是多少？",
            "「{lead}」這個商機預期有多少收入？",
            "請查「{lead}」的預期收入。",
        ),
        (
            "商机“{lead}”的预期收入是多少？",
            "“{lead}”这个商机预期有多少收入？",
            "请查“{lead}”的预期收入。",
        ),
    ),
    Wordings(
        "read",
        "stage",
        (
            "In which stage is the opportunity “{lead}”?",
            "What stage is “{lead}” in?",
            "How far along is the opportunity “{lead}”: which stage?",
        ),
        (
            "商機「{lead}」在哪個階段？",
            "「{lead}」目前是什麼階段？",
            "商機「{lead}」進行到哪個階段了？",
        ),
        (
            "商机“{lead}”处于哪个阶段？",
            "“{lead}”目前是什么阶段？",
            "商机“{lead}”进行到哪个阶段了？",
        ),
    ),
    Wordings(
        "aggregate",
        "orders_in_state",
        (
            "How many sales orders are in the state “{state}”?",
            "Count the sales orders whose state is {state}.",
            "Number of sales orders with state “{state}”?",
        ),
        (
            "有多少張銷售訂單的狀態是「{state}」？",
            "狀態為 {state} 的銷售訂單有幾張？",
            "請計算狀態「{state}」的銷售訂單數量。",
        ),
        (
            "有多少张销售订单的状态是“{state}”？",
            "状态为 {state} 的销售订单有几张？",
            "请计算状态“{state}”的销售订单数量。",
        ),
    ),
    Wordings(
        "aggregate",
        "total_of_state",
        (
            "What is the total amount of all sales orders in the state “{state}”?",
            "Add up the totals of the sales orders with state {state}.",
            "How much are all sales orders in the state “{state}” together?",
        ),
        (
            "狀態為「{state}」的所有銷售訂單總金額是多少？",
            "請加總狀態 {state} 的銷售訂單金額。",
            "狀態「{state}」的銷售訂單合計多少錢？",
        ),
        (
            "状态为“{state}”的所有销售订单总金额是多少？",
            "请汇总状态 {state} 的销售订单金额。",
            "状态“{state}”的销售订单合计多少钱？",
        ),
    ),
    Wordings(
        "aggregate",
        "contacts_in_city",
        (
            "How many contacts are in the city {city}?",
            "Count our contacts in {city}.",
            "How many of our contacts have the city {city}?",
        ),
        ("有多少聯絡人在城市 {city}？", "{city} 有幾個聯絡人？", "請計算在 {city} 的聯絡人數量。"),
        ("有多少联系人在城市 {city}？", "{city} 有几个联系人？", "请计算在 {city} 的联系人数量。"),
    ),
    Wordings(
        "aggregate",
        "revenue_of_stage",
        (
            "What is the sum of the expected revenue of all opportunities in the stage “{stage}”?",
            "How much expected revenue is in the stage “{stage}”?",
            "Add up the expected revenue of the opportunities in “{stage}”.",
        ),
        (
            "階段「{stage}」中所有商機的預期收入合計是多少？",
            "「{stage}」階段的商機預期收入加總多少？",
            "請加總階段「{stage}」的預期收入。",
        ),
        (
            "阶段“{stage}”中所有商机的预期收入合计是多少？",
            "“{stage}”阶段的商机预期收入总共多少？",
            "请汇总阶段“{stage}”的预期收入。",
        ),
    ),
    Wordings(
        "aggregate",
        "leads_in_stage",
        (
            "How many opportunities are in the stage “{stage}”?",
            "Count the opportunities in “{stage}”.",
            "Number of opportunities in the stage “{stage}”?",
        ),
        (
            "階段「{stage}」有幾個商機？",
            "「{stage}」階段有多少商機？",
            "請計算「{stage}」階段的商機數。",
        ),
        ("阶段“{stage}”有几个商机？", "“{stage}”阶段有多少商机？", "请计算“{stage}”阶段的商机数。"),
    ),
    Wordings(
        "aggregate",
        "busiest",
        (
            "Which customer has the most sales orders?",
            "Who of our customers has placed the most sales orders?",
            "Name the customer with the highest number of sales orders.",
        ),
        ("哪個客戶的銷售訂單最多？", "誰的銷售訂單數量最多？", "銷售訂單最多的客戶是誰？"),
        ("哪个客户的销售订单最多？", "谁的销售订单数量最多？", "销售订单最多的客户是谁？"),
    ),
    Wordings(
        "steps",
        "customers_email",
        (
            "What is the email address of the customer of the order {order}?",
            "How can I email whoever ordered {order}?",
            "Email of {order}'s customer?",
        ),
        (
            "訂單 {order} 的客戶電子郵件地址是什麼？",
            "{order} 的客戶 email 是？",
            "請給我 {order} 客戶的電子郵件。",
        ),
        (
            "订单 {order} 的客户电子邮件地址是什么？",
            "{order} 的客户邮箱是？",
            "请给我 {order} 客户的电子邮件。",
        ),
    ),
    Wordings(
        "steps",
        "customers_city",
        (
            "In which city is the customer of the order {order}?",
            "Where is {order}'s customer located (city)?",
            "To which city does the customer of {order} belong?",
        ),
        (
            "訂單 {order} 的客戶在哪個城市？",
            "{order} 的客戶位於哪個城市？",
            "{order} 這張訂單的客戶在哪座城市？",
        ),
        (
            "订单 {order} 的客户在哪个城市？",
            "{order} 的客户位于哪个城市？",
            "{order} 这张订单的客户在哪座城市？",
        ),
    ),
    Wordings(
        "steps",
        "best_city",
        (
            "In which city is the customer of the sales order with the highest total amount?",
            "Our largest sales order by total: which city is its customer in?",
            "Find the sales order with the highest total. In which city is its customer?",
        ),
        (
            "總金額最高的銷售訂單，其客戶在哪個城市？",
            "金額最大的銷售訂單，客戶在哪座城市？",
            "找出總金額最高的銷售訂單，客戶位於哪個城市？",
        ),
        (
            "总金额最高的销售订单，其客户在哪个城市？",
            "金额最大的销售订单，客户在哪座城市？",
            "找出总金额最高的销售订单，客户位于哪个城市？",
        ),
    ),
    Wordings(
        "steps",
        "lines",
        (
            "How many lines does the sales order {order} have?",
            "Count the order lines of {order}.",
            "Number of lines on the order {order}?",
        ),
        (
            "銷售訂單 {order} 有幾筆明細？",
            "{order} 有多少訂單明細？",
            "請計算 {order} 的明細筆數。",
        ),
        (
            "销售订单 {order} 有几条明细？",
            "{order} 有多少订单明细？",
            "请计算 {order} 的明细条数。",
        ),
    ),
    Wordings(
        "steps",
        "best_lead",
        (
            "What is the name of the opportunity with the highest expected revenue, and in which stage is it?",
            "Which opportunity promises the most expected revenue, and what is its stage?",
            "Name our opportunity with the largest expected revenue and its stage.",
        ),
        (
            "預期收入最高的商機叫什麼名稱，在哪個階段？",
            "哪個商機的預期收入最大？它在什麼階段？",
            "請說出預期收入最高的商機名稱與階段。",
        ),
        (
            "预期收入最高的商机叫什么名称，处于哪个阶段？",
            "哪个商机的预期收入最大？它在什么阶段？",
            "请说出预期收入最高的商机名称与阶段。",
        ),
    ),
    Wordings(
        "write",
        "phone",
        (
            "Set the phone number of {partner} to {phone}.",
            "{partner} has a new phone number: {phone}. Please update it.",
            "Change {partner}'s phone to {phone}.",
        ),
        (
            "請把 {partner} 的電話號碼改成 {phone}。",
            "{partner} 的新電話是 {phone}，請更新。",
            "將 {partner} 的電話設為 {phone}。",
        ),
        (
            "请把 {partner} 的电话号码改成 {phone}。",
            "{partner} 的新电话是 {phone}，请更新。",
            "将 {partner} 的电话设为 {phone}。",
        ),
    ),
    Wordings(
        "write",
        "contact",
        (
            "Create a contact with the name “{name}” in the city {town}.",
            "Add “{name}” from {town} to our contacts.",
            "New contact: {name}, city {town}.",
        ),
        (
            "請建立一個名稱為「{name}」、城市為 {town} 的聯絡人。",
            "新增聯絡人「{name}」，城市 {town}。",
            "把「{name}」（{town}）加入聯絡人。",
        ),
        (
            "请创建一个名称为“{name}”、城市为 {town} 的联系人。",
            "新增联系人“{name}”，城市 {town}。",
            "把“{name}”（{town}）加入联系人。",
        ),
    ),
    Wordings(
        "write",
        "expected",
        (
            "Set the expected revenue of the opportunity “{lead}” to {revenue}.",
            "The opportunity “{lead}” is worth {revenue} now; update its expected revenue.",
            "Change “{lead}”: expected revenue {revenue}.",
        ),
        (
            "請把商機「{lead}」的預期收入改成 {revenue}。",
            "商機「{lead}」現在值 {revenue}，請更新預期收入。",
            "將「{lead}」的預期收入設為 {revenue}。",
        ),
        (
            "请把商机“{lead}”的预期收入改成 {revenue}。",
            "商机“{lead}”现在值 {revenue}，请更新预期收入。",
            "将“{lead}”的预期收入设为 {revenue}。",
        ),
    ),
    Wordings(
        "write",
        "note",
        (
            "Write the note “{note}” on the order {order}.",
            "Log “{note}” as a note on {order}.",
            "Add an internal note to {order}: {note}",
        ),
        (
            "請在訂單 {order} 上寫一則內部備註：「{note}」。",
            "在 {order} 記錄備註「{note}」。",
            "替訂單 {order} 加上內部備註：{note}",
        ),
        (
            "请在订单 {order} 上写一条内部备注：“{note}”。",
            "在 {order} 记录备注“{note}”。",
            "给订单 {order} 加上内部备注：{note}",
        ),
    ),
    Wordings(
        "write",
        "activity",
        (
            "Schedule an activity “{note}” on the opportunity “{lead}”.",
            "Plan the to-do “{note}” for the opportunity “{lead}”.",
            "Remind me on the opportunity “{lead}”: activity “{note}”.",
        ),
        (
            "請在商機「{lead}」安排活動「{note}」。",
            "替商機「{lead}」排一個待辦「{note}」。",
            "在商機「{lead}」建立活動：「{note}」。",
        ),
        (
            "请在商机“{lead}”安排活动“{note}”。",
            "给商机“{lead}”排一个待办“{note}”。",
            "在商机“{lead}”创建活动：“{note}”。",
        ),
    ),
)
