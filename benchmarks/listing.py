"""How long the lists of the chat take for people with many conversations, beside those of somebody with a hundred."""

import statistics
import time

from .bed import new_people
from .figures import ms, none_of, row

# Conversations of a person, folders, and of how many one is in a folder. Others are compared with the first, lists of
# folders with the first that has as many.
CASES = ((100, 1, 3), (100, 50, 3), (1_000, 50, 3), (10_000, 50, 3), (10_000, 1, 1))
ROUNDS = 60  # requests of each kind for each person, by turns
PAGE = 30  # conversations of a request of the chat
AIM = 1.2
FOLDERS = "all folders"
PATH = "/api/ai/conversations"
# Copies the only conversation of a person: five are pinned, of fifty one is archived.
FILL = """
INSERT INTO woow_paas_platform_conversation_folder (name, user_id)
SELECT 'Folder ' || g, woow_user_id FROM discuss_channel, generate_series(1, {folders}) g WHERE id = {id};
CREATE TEMP TABLE folders AS
SELECT f.id, row_number() OVER (ORDER BY f.id) - 1 AS place
  FROM woow_paas_platform_conversation_folder f JOIN discuss_channel c ON c.woow_user_id = f.user_id WHERE c.id = {id};
CREATE TEMP TABLE copies AS
SELECT nextval('discuss_channel_id_seq') AS id, g FROM generate_series(1, {total} - 1) g;
INSERT INTO discuss_channel
SELECT new.* FROM copies, discuss_channel c, LATERAL jsonb_populate_record(c, jsonb_build_object(
       'id', copies.id, 'name', 'Talk ' || g, 'uuid', left(md5(copies.id::text), 10),
       'last_interest_dt', c.last_interest_dt - g * interval '1 minute')) new
 WHERE c.id = {id};
INSERT INTO discuss_channel_member
SELECT new.*
  FROM discuss_channel_member m
  JOIN discuss_channel c ON c.id = m.channel_id
  JOIN res_users u ON u.id = c.woow_user_id
 CROSS JOIN copies
  LEFT JOIN folders ON m.partner_id = u.partner_id AND g % {apart} = 0 AND g / {apart} % {folders} = place,
       LATERAL jsonb_populate_record(m, jsonb_build_object(
       'id', nextval('discuss_channel_member_id_seq'), 'channel_id', copies.id, 'woow_folder_id', folders.id,
       'woow_is_pinned', m.partner_id = u.partner_id AND g <= 5,
       'woow_is_archived', m.partner_id = u.partner_id AND g % 50 = 0)) new
 WHERE m.channel_id = {id};
"""
# Conversations of a person outside of folders, the largest folder, and those in it, without the archive.
PLACES = """
WITH kept AS (
    SELECT m.woow_folder_id AS folder, COUNT(*)
      FROM discuss_channel c
      JOIN res_users u ON u.id = c.woow_user_id
      JOIN discuss_channel_member m ON m.channel_id = c.id AND m.partner_id = u.partner_id
     WHERE u.id = (SELECT woow_user_id FROM discuss_channel WHERE id = {id}) AND m.woow_is_archived IS NOT TRUE
     GROUP BY 1)
SELECT none.count, one.folder, one.count FROM kept one JOIN kept none ON none.folder IS NULL
 WHERE one.folder IS NOT NULL ORDER BY one.count DESC LIMIT 1
"""


def listing(odoo, _llm):
    """The list as the chat opens it, its next page, a folder, and the folders."""
    most = max(total for total, *_rest in CASES)
    limit = "woow_paas_platform.max_conversations_per_person"
    odoo.shell(f"env['ir.config_parameter'].set_param('{limit}', {most})")
    people = dict(zip(CASES, new_people(odoo, len(CASES)), strict=True))
    requests = {case: _requests(odoo, person, *case) for case, person in people.items()}
    odoo.sql("VACUUM ANALYZE")
    seconds = {(case, what): [] for case in CASES for what in requests[case]}
    wrong = dict.fromkeys(seconds, 0)
    for number in range(ROUNDS + 1):
        for case, person in people.items():
            for what, (address, expected) in requests[case].items():
                begun = time.monotonic()
                answer = person.http.get(address).raise_for_status()
                if number:  # the first fills caches
                    seconds[case, what].append(time.monotonic() - begun)
                wrong[case, what] += len(next(iter(answer.json().values()))) != expected
    for (case, what), found in seconds.items():
        first = next(one for one in CASES if what != FOLDERS or one[1] == case[1])
        base = seconds[first, what]
        ratios = [at(found) / at(base) for at in (statistics.median, p95)]
        row(
            f"{case[0]:,} conversations, folders: {case[1]}, {what}",
            f"{ms(statistics.median(found))}, p95 {ms(p95(found))}",
            "ratios {:.2f}, {:.2f}".format(*ratios) if case != first else "",
            f"≤ {AIM}" if case != first else "",
        )
    none_of(
        **{f"{what} of {case} of a wrong length": count for (case, what), count in wrong.items()}
    )


def p95(values):
    return statistics.quantiles(values, n=20, method="inclusive")[-1]


def _requests(odoo, person, total, folders, apart):
    """``{name: (address, number of its rows)}`` of what the chat asks for."""
    odoo.sql(FILL.format(id=person.id, total=total, folders=folders, apart=apart))
    outside, folder, inside = map(int, odoo.sql(PLACES.format(id=person.id)).split("|"))
    first = f"{PATH}?limit={PAGE}&folder_id=0"
    last = person.http.get(first).json()["conversations"][-1]["id"]
    return {
        "list": (first, min(PAGE, outside)),
        "next page": (f"{first}&before={last}", min(PAGE, max(outside - PAGE, 0))),
        "one folder": (f"{PATH}?limit={PAGE}&folder_id={folder}", min(PAGE, inside)),
        FOLDERS: ("/api/ai/folders", folders),
    }
