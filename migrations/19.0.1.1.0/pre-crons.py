from psycopg2.extras import Json

# XML id: its names in 19.0.1.0.0, and its name from now on.
RENAMED = {
    "ir_cron_sweep": (
        {
            "en_US": "AI: requeue the turns of runners that died",
            "zh_TW": "AI：將中斷執行者的回合重新排入佇列",
            "zh_CN": "AI：将中断执行者的回合重新排入队列",
        },
        "AI: requeue the turns of runners that stopped",
    ),
    "ir_cron_retention": (
        {
            "en_US": "AI: remove what is old of turns and tool calls",
            "zh_TW": "AI：移除回合與工具呼叫的舊資料",
            "zh_CN": "AI：移除回合与工具调用的旧数据",
        },
        "AI: clean up old turns and tool calls",
    ),
    "ir_cron_expire_decisions": (
        {
            "en_US": "AI: deny calls that nobody decided about in time",
            "zh_TW": "AI：拒絕無人及時決定的呼叫",
            "zh_CN": "AI：拒绝无人及时决定的调用",
        },
        "AI: deny tool calls whose decision timed out",
    ),
    "ir_cron_check_health": (
        {
            "en_US": "AI: check whether MCP servers are well",
            "zh_TW": "AI：檢查 MCP 伺服器是否正常",
            "zh_CN": "AI：检查 MCP 服务器是否正常",
        },
        "AI: check the health of MCP servers",
    ),
    "ir_cron_sync_tools": (
        {
            "en_US": "AI: read the tools of MCP servers again",
            "zh_TW": "AI：重新讀取 MCP 伺服器的工具",
            "zh_CN": "AI：重新读取 MCP 服务器的工具",
        },
        "AI: reload the tools of MCP servers",
    ),
}


def migrate(cr, version):
    """No update touches crons: those that nobody has renamed get today's name. What is left out of the translations
    comes with the catalogues; what somebody has translated differently stays."""
    for xml_id, (before, now) in RENAMED.items():
        cr.execute(
            """
            SELECT c.id, s.id, s.name
              FROM ir_model_data d
              JOIN ir_cron c ON c.id = d.res_id
              JOIN ir_act_server s ON s.id = c.ir_actions_server_id
             WHERE d.module = 'woow_paas_platform' AND d.model = 'ir.cron' AND d.name = %s
            """,
            [xml_id],
        )
        for cron_id, action_id, names in cr.fetchall():
            if names.get("en_US") != before["en_US"]:
                continue
            own = {lang: name for lang, name in names.items() if name != before.get(lang)}
            cr.execute(
                "UPDATE ir_act_server SET name = %s WHERE id = %s",
                [Json({**own, "en_US": now}), action_id],
            )
            cr.execute("UPDATE ir_cron SET cron_name = %s WHERE id = %s", [now, cron_id])
